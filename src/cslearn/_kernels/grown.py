"""Contexts of targets with their splits ranked, and the sum over the decision trees that are grown from them.

A context of a target knows its rows, its log z, and the *gain* of a split on every other variable ``k``, the sum over
the states of ``k`` of log z minus its own, from the largest on. Given the set of variables before the target the splits
that are made are found by walking down these lists (:func:`choose`), so what is summed depends on that set alone.
"""

from collections import namedtuple
from math import exp, inf, lgamma, log, log1p, nan

import numpy as np

from cslearn._kernels import inner, maker, outer

__all__ = [
    "Known",
    "Memo",
    "Paused",
    "Rules",
    "Wanted",
    "check_age",
    "choose",
    "expand",
    "log_add",
    "log_of_set",
    "log_sum",
    "log_sum_of_set",
    "log_sum_of_sets",
    "new_stack",
    "parent_sets",
    "rank",
    "rehash",
    "want",
]

# Contexts: target, context above and (variable, state) that was added to it, number of variables, outcomes of these,
# rows, counts of the target's states, log z, its splits first:last, the log of the sum of exp(gain) over these, a key
# that does not depend on the order in which variables were added, and which of its splits is on which variable (-1:
# none). Splits: variable, gain, where their parts begin in `part` (-1: not there yet), which lists contexts. `slots` is
# a hash table from keys to contexts. `age` tells how often all contexts were forgotten.
Memo = namedtuple(
    "Memo",
    "target parent variable state depth outcomes rows own log_z first last gains key rank"
    " split gain parts part slots age",
)
# How trees are grown. By the number of variables in the context: log-probabilities to stop and to split, how many
# splits are summed at most, and how far their promise may be below the best one's; `price[t, d]` is what a split into
# d parts costs beside the choice of its variable, and `top[t]` the least that one costs. A split is not made if it
# promises less than -slack. Near the root (below `look` variables) and with `enough` rows what a split promises
# includes the best split of each of its parts, if it is one of the first `ahead`. At most `sets` sets of parents are
# summed, or all of them if that is 0, and none that promises less than the best by more than `within`; `log_more` is
# what another parent weighs, `log_fewest[m]` what none of m weighs, and `log_fact` has log factorials. `log_pairs` is
# what trees of at most two context variables weigh beside them, and `wide` how far a split there may be below the best
# alternative. Exclusive ors of
# `words`, of a target, of parents and of a variable that is left out, are keys of sums that are known already.
Rules = namedtuple(
    "Rules",
    "bound stop split price top width near slack look enough ahead cards log_of"
    " sets within log_more log_fewest log_fact log_pairs wide words",
)
# Splits whose parts are not there yet: pairs of context and split, and their number.
Wanted = namedtuple("Wanted", "pairs number")
# Sums over trees that are known already, by key; a later one takes the place of an earlier one.
Known = namedtuple("Known", "key value")
# Room for a walk; then for the sets of parents: leaves, values and a mask while they are looked for; their members,
# sizes, keys and what they promise; then what splits of a root weigh, and which are taken.
Stack = namedtuple(
    "Stack",
    "node found at state total product chosen promise leaves value inside members size key height"
    " known_key known_value of_split taken",
)

# Searches for sets of parents that wait for contexts, by number: how many parents there are (0: not begun), the leaves
# before they are split on the last one, what the sets promise and the best of that, and the parents; then the age of
# the contexts. Without it a search would begin anew each time that contexts are wanted, about ten times.
Paused = namedtuple("Paused", "size number leaves height top members age")

# Contexts in which the variables that are to be parents are looked for; there are hardly ever so many.
MOST_LEAVES = 1 << 12
LOG_4 = log(4.0)


@inner
def log_add(a, b):
    if a < b:
        a, b = b, a
    return a if b == -inf else a + log1p(exp(b - a))


@maker
def new_stack(rules, known):
    depth, widest = rules.bound + 2, 1
    sets = rules.sets if rules.sets else 1 << (len(rules.cards) - 1)
    for t in range(rules.bound):
        widest = max(widest, rules.width[t])
    return Stack(
        np.empty(depth, np.int64),
        np.empty(depth, np.int64),
        np.empty(depth, np.int64),
        np.empty(depth, np.int64),
        np.empty(depth),
        np.empty(depth),
        np.empty((depth, widest), np.int64),
        np.empty((depth, widest)),
        np.empty(MOST_LEAVES, np.int64),
        np.empty(len(rules.cards)),
        np.zeros(len(rules.cards), np.bool_),
        np.zeros((sets, rules.sets if rules.sets else len(rules.cards)), np.int64),
        np.zeros(sets, np.int64),
        np.zeros(sets, np.uint64),
        np.zeros(sets),
        known.key,
        known.value,
        np.empty(len(rules.cards)),
        np.empty(len(rules.cards), np.int64),
    )


@inner
def check_age(memo, paused):
    """Begin all searches for parents anew if contexts were forgotten meanwhile."""
    if paused.age[0] != memo.age:
        paused.age[0] = memo.age
        paused.size[:] = 0


@inner
def want(wanted, node, e):
    number = wanted.number[0]
    if number < len(wanted.pairs):
        wanted.pairs[number, 0] = node
        wanted.pairs[number, 1] = e
        wanted.number[0] = number + 1


@inner
def choose(memo, rules, node, parents, m, chosen, promise, wanted):
    """Find the splits of a context that are made given its `m` parents; -1 if some are not known yet.

    They are those that promise most, as long as they may pay, and are near the best. Where the parts of a split are
    needed and are not there, they are put on the list of what is wanted.
    """
    t = memo.depth[node]
    found, width, unknown = 0, rules.width[t], False
    ahead = t < rules.look and memo.rows[node] >= rules.enough and t + 1 < min(rules.bound, m)
    for a in range(m):
        k = parents[a]
        if memo.rank[node, k] < 0:
            continue
        e = memo.first[node] + memo.rank[node, k]
        value = memo.gain[e] + rules.price[t, rules.cards[k]] - rules.log_of[m - t]
        if ahead:
            parts = memo.parts[e]
            if parts < 0:
                unknown = True
                want(wanted, node, e)
                continue
            for x in range(rules.cards[k]):
                part, best = memo.part[parts + x], 0.0
                for b in range(m):
                    j = parents[b]
                    if memo.rank[part, j] >= 0:
                        gain = memo.gain[memo.first[part] + memo.rank[part, j]]
                        best = max(best, gain + rules.price[t + 1, rules.cards[j]] - rules.log_of[m - t - 1])
                value += best
        if value < -rules.slack or (found == width and value <= promise[found - 1]):
            continue
        place = found if found < width else width - 1
        while place > 0 and promise[place - 1] < value:
            promise[place] = promise[place - 1]
            chosen[place] = chosen[place - 1]
            place -= 1
        promise[place] = value
        chosen[place] = e
        found = min(found + 1, width)
    while found > 1 and promise[found - 1] < promise[0] - rules.near[t]:
        found -= 1
    if not unknown:
        for c in range(found):
            if memo.parts[chosen[c]] < 0:
                unknown = True
                want(wanted, node, chosen[c])
    return -1 if unknown else found


@inner
def log_sum(memo, rules, root, parents, m, banned, wanted, stack):
    """Return log F of a context: the sum over all prunings of the tree that is grown from it.

    Trees that split on the variable `banned` are left out. Not a number if a context is not there yet.
    """
    level, node, value, known = 0, root, 0.0, True
    while True:
        # Down: into a context.
        t = memo.depth[node]
        value = memo.log_z[node]
        going_down = False
        if memo.rows[node] == 0:
            value = 0.0
        elif t < rules.bound and t < m:
            value += rules.stop[t]
            chosen = stack.chosen[level]
            found = choose(memo, rules, node, parents, m, chosen, stack.promise[level], wanted)
            if found < 0:
                known = False
            else:
                if banned >= 0:
                    left = 0
                    for c in range(found):
                        if memo.split[chosen[c]] != banned:
                            chosen[left] = chosen[c]
                            left += 1
                    found = left
                if found:
                    stack.node[level] = node
                    stack.found[level] = found
                    stack.at[level] = 0
                    stack.state[level] = 0
                    stack.total[level] = value
                    stack.product[level] = rules.split[t] - rules.log_of[m - t]
                    node = memo.part[memo.parts[chosen[0]]]
                    level += 1
                    going_down = True
        # Up: until there is another part to go into.
        while not going_down:
            level -= 1
            if level < 0:
                return value if known else nan
            stack.product[level] += value
            stack.state[level] += 1
            e = stack.chosen[level, stack.at[level]]
            if stack.state[level] == rules.cards[memo.split[e]]:
                stack.total[level] = log_add(stack.total[level], stack.product[level])
                stack.at[level] += 1
                if stack.at[level] == stack.found[level]:
                    value = stack.total[level]
                    continue
                t = memo.depth[stack.node[level]]
                stack.state[level] = 0
                stack.product[level] = rules.split[t] - rules.log_of[m - t]
                e = stack.chosen[level, stack.at[level]]
            node = memo.part[memo.parts[e] + stack.state[level]]
            level += 1
            going_down = True


@inner
def log_of_set(rules, size, m):
    """Return the log-weight of a set of so many parents among `m` variables."""
    log_number = rules.log_fact[m] - rules.log_fact[size] - rules.log_fact[m - size]
    return rules.log_fewest[m] + size * rules.log_more - log_number


@inner
def _split_leaves(memo, rules, parents, size, leaves, number, wanted):
    """Split the leaves of a tree on parents, while that pays; returns their number, below zero if more are wanted."""
    at, unknown = 0, False
    while at < number:
        node = leaves[at]
        t = memo.depth[node]
        best, chosen = 0.0, -1
        for a in range(size):
            k = parents[a]
            if memo.rank[node, k] >= 0:
                e = memo.first[node] + memo.rank[node, k]
                value = memo.gain[e] + rules.price[t, rules.cards[k]] - rules.log_of[size - t]
                if value > best:
                    best, chosen = value, e
        if chosen < 0:
            at += 1
        elif memo.parts[chosen] < 0:
            unknown = True
            want(wanted, node, chosen)
            at += 1
        else:
            parts, states = memo.parts[chosen], rules.cards[memo.split[chosen]]
            if number + states > len(leaves):
                break
            leaves[at] = memo.part[parts]
            for x in range(1, states):
                leaves[number] = memo.part[parts + x]
                number += 1
    return -number if unknown else number


@inner
def _first_parent(memo, rules, root, before, m, value, wanted):
    """Fill what each variable promises as the first parent; returns -1 if that is not known yet, otherwise 0.

    With enough rows it includes what the best split of each part gains, which finds pairs that matter only together.
    """
    unknown = False
    ahead = rules.look > 0 and memo.rows[root] >= rules.enough and min(rules.bound, m) > 1
    for e in range(memo.first[root], memo.last[root]):
        k = memo.split[e]
        if not before[k]:
            continue
        value[k] = memo.gain[e] + rules.price[0, rules.cards[k]]
        if ahead and e - memo.first[root] < rules.ahead:
            parts = memo.parts[e]
            if parts < 0:
                unknown = True
                want(wanted, root, e)
            if unknown:
                continue
            for x in range(rules.cards[k]):
                part = memo.part[parts + x]
                for f in range(memo.first[part], memo.last[part]):
                    j = memo.split[f]
                    if before[j]:
                        more = memo.gain[f] + rules.price[1, rules.cards[j]] - rules.log_of[m - 1]
                        value[k] += max(0.0, more)
                        break
    return -1 if unknown else 0


@inner
def _copy(values, number, into):
    """Copy the first values; slices that are assigned need a copy in between."""
    for a in range(number):
        into[a] = values[a]


@inner
def _pause(stack, size, number, top, paused, at):
    """Keep how far a search for parents has come, before the leaves are split on the last one."""
    paused.size[at], paused.number[at], paused.top[at] = size, number, top
    _copy(stack.leaves, number, paused.leaves[at])
    _copy(stack.members[size], size, paused.members[at])
    _copy(stack.height, size + 1, paused.height[at])


@inner
def _go_on(rules, stack, paused, at):
    """Set a search to where it has paused; returns the numbers of parents and leaves, and the best promise."""
    size, number = paused.size[at], paused.number[at]
    _copy(paused.leaves[at], number, stack.leaves)
    _copy(paused.height[at], size + 1, stack.height)
    for s in range(1, size + 1):
        k = paused.members[at, s - 1]
        _copy(paused.members[at], s, stack.members[s])
        stack.size[s], stack.key[s] = s, stack.key[s - 1] ^ rules.words[1, k]
        stack.inside[k] = True
    return size, number, paused.top[at]


@inner
def parent_sets(memo, rules, root, before, m, wanted, stack, paused, at):
    """Find the sets of parents that are summed given the `m` variables before; returns their number, -1 if not known.

    They go into ``stack.members``, each one larger than the one before it. The next parent is the one that gains most
    if the leaves of a greedy tree on the parents so far are split on it wherever that pays. It ends when the next one
    gains nothing, or when what a set promises is by more than the slack below the best before it. Sets that promise
    much less than the best one are left out in the end. A search that is asked for again goes on where number `at` of
    `paused` has come, unless that is negative.
    """
    stack.size[0], stack.key[0], stack.height[0] = 0, rules.words[0, root], 0.0
    if rules.sets == 0:
        return _all_sets(rules, before, stack)
    inside, leaves, value = stack.inside, stack.leaves, stack.value
    for k in range(len(before)):
        inside[k] = not before[k]
        value[k] = -inf
    number, leaves[0], size, top = 1, root, 0, 0.0
    paused_here = at >= 0 and paused.size[at] > 0
    if paused_here:
        size, number, top = _go_on(rules, stack, paused, at)
    while paused_here or (size + 1 < rules.sets and size < m):
        if not paused_here:
            if size == 0:
                if _first_parent(memo, rules, root, before, m, value, wanted) < 0:
                    return -1
            else:
                _next_parent(memo, rules, leaves, number, size, value)
            best, chosen = -inf, -1
            for k in range(len(before)):
                if not inside[k] and value[k] > best:
                    best, chosen = value[k], k
            height = stack.height[size] + (best + log_of_set(rules, size + 1, m) - log_of_set(rules, size, m))
            if chosen < 0 or height < top - rules.slack or (size > 0 and best <= 0):
                break
            top = max(top, height)
            size += 1
            inside[chosen] = True
            members = stack.members[size]
            _copy(stack.members[size - 1], size - 1, members)
            members[size - 1] = chosen
            stack.size[size], stack.key[size] = size, stack.key[size - 1] ^ rules.words[1, chosen]
            stack.height[size] = height
            if at >= 0:
                _pause(stack, size, number, top, paused, at)
        paused_here = False
        if size == 1:
            # The first one splits the root, whether that pays at once or with those that follow.
            first = stack.members[1, 0]
            e = memo.first[root] + memo.rank[root, first]
            if memo.parts[e] < 0:
                want(wanted, root, e)
                return -1
            number = rules.cards[first]
            for x in range(number):
                leaves[x] = memo.part[memo.parts[e] + x]
        number = _split_leaves(memo, rules, stack.members[size], size, leaves, number, wanted)
        if number < 0:
            return -1
    return _likely_sets(rules, size + 1, top, stack)


@inner
def _next_parent(memo, rules, leaves, number, size, value):
    """Fill what each variable promises as another parent: the gains of all leaves that it pays to split on it."""
    for k in range(len(value)):
        value[k] = 0.0
    for at in range(number):
        node = leaves[at]
        t = memo.depth[node]
        for e in range(memo.first[node], memo.last[node]):
            if memo.gain[e] + rules.top[t] <= 0:
                break
            k = memo.split[e]
            more = memo.gain[e] + rules.price[t, rules.cards[k]] - rules.log_of[size + 1 - t]
            if more > 0:
                value[k] += more


@inner
def _likely_sets(rules, number, top, stack):
    """Keep the sets of parents that promise enough, in their order; returns their number."""
    kept = 0
    for s in range(number):
        if stack.height[s] >= top - rules.within:
            _copy(stack.members[s], s, stack.members[kept])
            stack.size[kept], stack.key[kept] = stack.size[s], stack.key[s]
            kept += 1
    return kept


@inner
def _all_sets(rules, before, stack):
    """List all sets of the variables before; returns their number."""
    number = 1
    for k in range(len(before)):
        if before[k]:
            for s in range(number):
                size = stack.size[s]
                _copy(stack.members[s], size, stack.members[number + s])
                stack.members[number + s, size] = k
                stack.size[number + s] = size + 1
                stack.key[number + s] = stack.key[s] ^ rules.words[1, k]
            number *= 2
    return number


@inner
def log_sum_of_set(memo, rules, root, s, banned, wanted, stack):
    """Return the log sum over the trees on the parents number `s`, without splits on the variable `banned`."""
    key = stack.key[s]
    if banned >= 0:
        key ^= rules.words[2, banned]
    place = np.int64(key & np.uint64(len(stack.known_key) - 1))
    if stack.known_key[place] == key:
        return stack.known_value[place]
    value = log_sum(memo, rules, root, stack.members[s], stack.size[s], banned, wanted, stack)
    if value == value:
        stack.known_key[place], stack.known_value[place] = key, value
    return value


@inner
def log_sum_of_sets(memo, rules, root, before, m, wanted, stack, paused, at):
    """Return log F of a target: the sum over the sets of parents, and over all prunings of the tree grown on each.

    Not a number if a context is not there yet.
    """
    total = -inf
    for s in range(parent_sets(memo, rules, root, before, m, wanted, stack, paused, at)):
        below = log_sum_of_set(memo, rules, root, s, -1, wanted, stack)
        total = log_add(total, below + log_of_set(rules, stack.size[s], m))
    return nan if total == -inf else total


@inner
def _slot(key, slots, keys):
    """Return the slot of a key in the hash table, or the free one where it belongs."""
    mask = len(slots) - 1
    slot = np.int64(key & np.uint64(mask))
    while slots[slot] >= 0 and keys[slots[slot]] != key:
        slot = (slot + 1) & mask
    return slot


@outer
def rehash(keys, number, slots):
    """Put the first keys into an empty hash table."""
    for node in range(number):
        slots[_slot(keys[node], slots, keys)] = node


@outer
def expand(memo, cards, marks, pairs, n_nodes, n_parts, begins):
    """Find the contexts that the wanted splits lead to, new ones where they are not there yet.

    ``begins[r]`` gets where those of split `r` begin in the list of parts: the split itself is told later, when the new
    contexts are ranked. Returns the numbers of contexts and of parts.
    """
    for r in range(len(pairs)):
        node, e = pairs[r]
        begins[r] = n_parts
        k = memo.split[e]
        for x in range(cards[k]):
            key = memo.key[node] ^ marks[k, x]
            slot = _slot(key, memo.slots, memo.key)
            if memo.slots[slot] < 0:
                memo.slots[slot] = n_nodes
                memo.key[n_nodes] = key
                memo.target[n_nodes] = memo.target[node]
                memo.parent[n_nodes] = node
                memo.variable[n_nodes] = k
                memo.state[n_nodes] = x
                memo.depth[n_nodes] = memo.depth[node] + 1
                memo.outcomes[n_nodes] = memo.outcomes[node] * cards[k]
                n_nodes += 1
            memo.part[n_parts] = memo.slots[slot]
            n_parts += 1
    return n_nodes, n_parts


@inner
def _rise(table, a, log_gamma, count):
    """Return ``lgamma(a + count) - lgamma(a)``; whole counts are looked up while the table lasts."""
    if count < len(table) and count == int(count):
        return table[int(count)]
    return lgamma(a + count) - log_gamma


@inner
def _log_z(counts, d, kind, tables):
    a, look_up, log_gammas = tables
    total, value = 0.0, 0.0
    for y in range(d):
        total += counts[y]
        value += _rise(look_up[kind, 1], a[kind] / d, log_gammas[kind, 1], counts[y])
    return value - _rise(look_up[kind, 0], a[kind], log_gammas[kind, 0], total)


@inner
def _gains_of(memo, node, own, counts, starts, cards, allowed, kinds, tables, look, enough, least, bound, scratch):
    """Score a new context, and find the splits of it that are kept; returns their number, and whether it looks ahead.

    `scratch` is room: gains below zero and variables of these splits, then what is used, and counts of two parts.
    """
    gains, variables, used, left, cell = scratch
    p, i = len(starts) - 1, memo.target[node]
    d, rank = cards[i], memo.rank[node]
    total, seen = 0.0, 0
    for y in range(d):
        total += own[y]
        seen += own[y] > 0
        memo.own[node, y] = own[y]
    z = _log_z(own, d, kinds[p], tables)
    memo.rows[node], memo.log_z[node], memo.gains[node] = total, z, -inf
    for k in range(p):
        rank[k] = -1
    depth = memo.depth[node]
    if seen < 2 or depth >= bound:
        return 0, False
    for k in range(p):
        used[k] = not allowed[i, k]
    above = node
    while memo.parent[above] >= 0:
        used[memo.variable[above]] = True
        above = memo.parent[above]
    ahead = depth < look and total >= enough
    # Where contexts split as readily as their parts do, the prior takes at least log 4 from a gain.
    worth = least + LOG_4 if 1 < depth < bound - 1 else least
    kept = 0
    for k in range(p):
        if used[k]:
            continue
        value, full, rest = -z, 0, total
        for y in range(d):
            left[y] = own[y]
        for c in range(starts[k], starts[k + 1]):
            part = 0.0
            for y in range(d):
                cell[y] = counts[y, c]
                part += cell[y]
                left[y] -= cell[y]
            if part > 0:
                value += _log_z(cell, d, kinds[k], tables)
                rest -= part
                full += 1
        if rest > 0:
            value += _log_z(left, d, kinds[k], tables)
            full += 1
        if full > 1 and (ahead or value > worth):
            gains[kept], variables[kept] = -value, k
            kept += 1
    return kept, ahead


@inner
def _keep_splits(memo, node, gains, variables, ranked, n_splits):
    """Write down the splits of a context, the largest gains first."""
    rank = memo.rank[node]
    for s in range(len(ranked)):
        gain, k = -gains[ranked[s]], variables[ranked[s]]
        rank[k] = s
        memo.split[n_splits + s], memo.gain[n_splits + s], memo.parts[n_splits + s] = k, gain, -1
        memo.gains[node] = log_add(memo.gains[node], gain)


@outer
def rank(memo, first_node, own, counts, starts, cards, allowed, kinds, tables, limits, n_splits):
    """Score new contexts and rank their splits, given their counts; returns the number of splits there are now.

    ``kinds[r, k]`` tells which prior count the stages have after a split on `k`, ``kinds[r, p]`` that of the context.
    The limits are the context bound, where it looks ahead (see `Rules`), and elsewhere the least gain of a split that
    is kept and how many are.
    """
    bound, look, enough, least, most = limits
    p, d = len(starts) - 1, own.shape[1]
    gains, variables = np.empty(p), np.empty(p, np.int64)
    scratch = gains, variables, np.zeros(p, np.bool_), np.empty(d), np.empty(d)
    for r in range(len(own)):
        node = first_node + r
        kept, ahead = _gains_of(
            memo, node, own[r], counts[r], starts, cards, allowed, kinds[r], tables, look, enough, least, bound, scratch
        )
        ranked = np.argsort(gains[:kept], kind="mergesort")[: kept if ahead else min(kept, most)]
        memo.first[node] = n_splits
        _keep_splits(memo, node, gains, variables, ranked, n_splits)
        n_splits += len(ranked)
        memo.last[node] = n_splits
    return n_splits
