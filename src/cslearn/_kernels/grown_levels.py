"""The score of a level: the sum over sets of parents and their grown trees, and over trees of at most two variables.

Greedy growth follows one chain of sets of parents. Where many pairs of variables explain a target about as well, and a
few rows cannot tell which, most of the sum is elsewhere. Trees with at most two context variables are few enough to be
summed beside them: the root is split on any variable, and each of its parts again on any other. Only gains are needed,
those of the root and of its parts, which are ranked; a walk down a list ends where what is left weighs nothing.
"""

from math import exp, inf, log, nan

from cslearn._kernels import inner, outer
from cslearn._kernels.grown import check_age, log_add, log_sum_of_sets, new_stack, want

__all__ = ["add_edges_of_pairs", "choose_pairs", "evaluate", "log_sum_of_level", "log_sum_of_pairs"]


@inner
def _log_part(memo, rules, part, before, m):
    """Return the log sum of a part of the root: it ends there, or is split once more."""
    if memo.rows[part] == 0:
        return 0.0
    if m == 1:
        return memo.log_z[part]
    base, top, total, first = rules.split[1] - rules.log_of[m - 1], rules.stop[1], 1.0, True
    for f in range(memo.first[part], memo.last[part]):
        if before[memo.split[f]]:
            value = base + memo.gain[f]
            if first and value > top:
                total, top = exp(top - value), value
            first = False
            if value < top - rules.wide:
                break
            total += exp(value - top)
    return memo.log_z[part] + top + log(total)


@inner
def _last_of_root(memo, rules, root):
    """Return where the splits of a root end that may be taken: those whose parts are looked at anyway."""
    return min(memo.last[root], memo.first[root] + rules.ahead) if rules.look > 0 else memo.last[root]


@inner
def _most_of_split(memo, rules, root, e, m):
    """Return a bound of what a split of the root weighs, whatever comes before: that of all splits of its parts."""
    most = rules.split[0] - rules.log_of[m] + memo.log_z[root] + memo.gain[e]
    if m > 1:
        base = rules.split[1] - rules.log_of[m - 1]
        for x in range(rules.cards[memo.split[e]]):
            part = memo.part[memo.parts[e] + x]
            if memo.rows[part] > 0:
                most += log_add(rules.stop[1], base + memo.gains[part])
    return most


@inner
def _of_splits(memo, rules, root, before, m, wanted, stack):
    """Fill what each split of a root weighs; returns the largest of these and of no split, no number if not known.

    Splits that cannot matter have an upper bound instead.
    """
    top, unknown = memo.log_z[root] + rules.stop[0], False
    for e in range(memo.first[root], _last_of_root(memo, rules, root)):
        k = memo.split[e]
        if not before[k]:
            continue
        parts = memo.parts[e]
        if parts < 0:
            unknown = True
            want(wanted, root, e)
        if unknown:
            continue
        value = _most_of_split(memo, rules, root, e, m)
        if value >= top - rules.wide:
            value = rules.split[0] - rules.log_of[m]
            for x in range(rules.cards[k]):
                value += _log_part(memo, rules, memo.part[parts + x], before, m)
            top = max(top, value)
        stack.of_split[k] = value
    return nan if unknown else top


@inner
def log_sum_of_pairs(memo, rules, root, before, m, wanted, stack):
    """Return the log sum over trees of at most two of the `m` variables before; no number if parts are not there."""
    if memo.rows[root] == 0:
        return 0.0
    if m == 0:
        return memo.log_z[root]
    top = _of_splits(memo, rules, root, before, m, wanted, stack)
    if top != top:
        return nan
    total = exp(memo.log_z[root] + rules.stop[0] - top)
    for e in range(memo.first[root], _last_of_root(memo, rules, root)):
        k = memo.split[e]
        if before[k] and stack.of_split[k] >= top - rules.wide:
            total += exp(stack.of_split[k] - top)
    return top + log(total)


@inner
def choose_pairs(memo, rules, node, before, m, wanted, stack):
    """Find the splits of a context in trees of at most two variables, as they are summed; -1 if some are not known.

    They go into ``stack.taken``.
    """
    t, found, unknown = memo.depth[node], 0, False
    if memo.rows[node] == 0 or t >= min(m, 2):
        return 0
    if t == 0:
        top = _of_splits(memo, rules, node, before, m, wanted, stack)
        if top != top:
            return -1
        for e in range(memo.first[node], _last_of_root(memo, rules, node)):
            k = memo.split[e]
            if before[k] and stack.of_split[k] >= top - rules.wide:
                stack.taken[found] = e
                found += 1
        return found
    base, top = rules.split[1] - rules.log_of[m - 1], rules.stop[1]
    for f in range(memo.first[node], memo.last[node]):
        if before[memo.split[f]]:
            top = max(top, base + memo.gain[f])
            if base + memo.gain[f] < top - rules.wide:
                break
            if memo.parts[f] < 0:
                unknown = True
                want(wanted, node, f)
            stack.taken[found] = f
            found += 1
    return -1 if unknown else found


@inner
def add_edges_of_pairs(memo, rules, root, before, m, share, found, wanted, stack, none):
    """Add to ``found[k]`` how probable `k` is in a context, times `share`, in trees of at most two variables.

    ``none[j]`` is room for the probability that no part of the root is split on `j`.
    """
    whole = log_sum_of_pairs(memo, rules, root, before, m, wanted, stack)
    if m == 0 or memo.rows[root] == 0:
        return
    number = choose_pairs(memo, rules, root, before, m, wanted, stack)
    for c in range(number):
        e = stack.taken[c]
        k = memo.split[e]
        chance = share * exp(stack.of_split[k] - whole)
        found[k] += chance
        if m == 1:
            continue
        base = rules.split[1] - rules.log_of[m - 1]
        for twice in range(2):
            for x in range(rules.cards[k]):
                part = memo.part[memo.parts[e] + x]
                if memo.rows[part] == 0:
                    continue
                total, top = _log_part(memo, rules, part, before, m) - memo.log_z[part], rules.stop[1]
                for f in range(memo.first[part], memo.last[part]):
                    j = memo.split[f]
                    if before[j]:
                        value = base + memo.gain[f]
                        top = max(top, value)
                        if value < top - rules.wide:
                            break
                        if twice == 0:
                            none[j] *= 1.0 - exp(value - total)
                        else:
                            found[j] += chance * (1.0 - none[j])
                            none[j] = 1.0


@inner
def log_sum_of_level(memo, rules, root, before, m, wanted, stack, paused, at):
    """Return log F of a target given the `m` variables before; not a number if a context is not there yet."""
    value = log_sum_of_sets(memo, rules, root, before, m, wanted, stack, paused, at)
    if rules.log_pairs == -inf:
        return value
    pairs = log_sum_of_pairs(memo, rules, root, before, m, wanted, stack)
    return nan if value != value or pairs != pairs else log_add(value, rules.log_pairs + pairs)


@outer
def evaluate(memo, rules, targets, before, wanted, known, paused, out):
    """Fill what is no number in `out` with log F of targets, given the variables before; ``before[r, k]``."""
    stack = new_stack(rules, known)
    check_age(memo, paused)
    for r in range(len(targets)):
        if out[r] != out[r]:
            m = 0
            for k in range(before.shape[1]):
                m += before[r, k]
            at = r if r < len(paused.size) else -1
            out[r] = log_sum_of_level(memo, rules, targets[r], before[r], m, wanted, stack, paused, at)
