"""Slow and obvious twins of the algorithms in cslearn: plain Python, no shortcut, no shared code.

A context is a dict from a variable's position to a state; a staging is a list of contexts; a level is a list of
cardinalities; data are lists of rows of integer codes.
"""

from fractions import Fraction
from functools import cache
from itertools import combinations, permutations, product
from math import comb, exp, inf, lgamma, log, prod


# ---------------------------------------------------------------- stagings
def contexts(cards, beta, candidates=None):
    """Every context of at most beta candidates."""
    candidates = range(len(cards)) if candidates is None else candidates
    for size in range(beta + 1):
        for variables in combinations([v for v in candidates if cards[v] > 1], size):
            for states in product(*(range(cards[v]) for v in variables)):
                yield dict(zip(variables, states, strict=True))


def outcomes(cards):
    return list(product(*(range(d) for d in cards)))


def agrees(outcome, context):
    return all(outcome[v] == s for v, s in context.items())


def is_staging(cards, contexts):
    """Whether every outcome agrees with exactly one of the contexts."""
    return all(sum(agrees(outcome, c) for c in contexts) == 1 for outcome in outcomes(cards))


def fault(cards, contexts):
    """What keeps contexts from being a staging, found by comparing all pairs: "overlap", "hole" or nothing."""
    for one, other in combinations(contexts, 2):
        if all(other.get(v, s) == s for v, s in one.items()):
            return "overlap"
    covered = sum(Fraction(1, prod(cards[v] for v in context)) for context in contexts)
    return "hole" if covered < 1 else None


def stagings_by_subsets(cards, beta):
    """Every set of contexts that is a staging. Tries all of them."""
    everything = list(contexts(cards, beta))
    for size in range(1, prod(cards) + 1):
        for chosen in combinations(everything, size):
            if is_staging(cards, chosen):
                yield list(chosen)


def stagings(cards, beta, candidates=None, allowed=None):
    """Every staging (of allowed contexts): cover the first uncovered outcome in every possible way, then the next."""
    cells = {
        frozenset(c.items()): {o for o in outcomes(cards) if agrees(o, c)}
        for c in contexts(cards, beta, candidates)
        if allowed is None or frozenset(c.items()) in allowed
    }

    def extend(uncovered, chosen):
        if not uncovered:
            yield [dict(c) for c in chosen]
            return
        first = min(uncovered)
        for context, cell in cells.items():
            if first in cell and cell <= uncovered:
                yield from extend(uncovered - cell, [*chosen, context])

    return list(extend(set(outcomes(cards)), []))


def as_key(staging):
    """A hashable form of a staging, for comparing sets of stagings."""
    return frozenset(frozenset(context.items()) for context in staging)


def log_sum(values):
    values = list(values)
    top = max(values, default=-inf)
    return top if top == -inf else top + log(sum(exp(v - top) for v in values))


# ---------------------------------------------------------------- score
def log_z(rows, weights, cards, target, context, ess):
    """CS-BDeu log marginal likelihood of the target in the rows that agree with the context."""
    a_stage = ess / prod(cards[v] for v in context)
    a_cell = a_stage / cards[target]
    counts = [0.0] * cards[target]
    for row, weight in zip(rows, weights, strict=True):
        if agrees(row, context):
            counts[row[target]] += weight
    score = lgamma(a_stage) - lgamma(a_stage + sum(counts))
    return score + sum(lgamma(a_cell + c) - lgamma(a_cell) for c in counts)


def parts(staging, variables):
    """The stages by the states of variables that all of them hold, without these."""
    found = {}
    for context in staging:
        rest = {v: s for v, s in context.items() if v not in variables}
        found.setdefault(tuple(context[v] for v in variables), []).append(rest)
    return list(found.values())


def common(staging):
    """The variables that all stages hold."""
    return sorted(set.intersection(*(set(context) for context in staging)))


def is_tree(staging):
    """Whether a decision tree draws the staging."""
    if staging == [{}]:
        return True
    return any(all(is_tree(part) for part in parts(staging, [v])) for v in common(staging))


def tree_prior(m, staging, beta=2, root=0.8, split=0.3, same=0.1, depth=0, deeper=0.3):
    """Probability that the tree prior draws a staging of m candidates: the sum over the ways in which it can."""
    most = min(m, beta) - depth
    chance = (root, split)[depth] if depth < 2 else deeper
    if staging == [{}]:
        return 1 - chance if most else 1.0
    total = 0.0
    for size in range(1, most + 1):
        of_size = same ** (size - 1) * (1 - same if size < most else 1)
        for variables in combinations(common(staging), size):
            rest = (beta, root, split, same, depth + size, deeper)
            below = prod(tree_prior(m, s, *rest) for s in parts(staging, variables))
            total += chance * of_size / comb(m - depth, size) * below
    return total


def tree_prior_of_all(cards, beta, root=0.8, split=0.3, same=0.1, deeper=0.3, forbidden=()):
    """The same of every staging that a tree draws, as sets of contexts: all trees are drawn, one after the other.

    Stagings with a stage that is forbidden are left out.
    """
    m = len(cards)

    def below(context):
        depth = len(context)
        most = min(m, beta) - depth
        chance = 0.0 if not most else (root, split)[depth] if depth < 2 else deeper
        found = {} if context in forbidden else {frozenset([context]): 1 - chance}
        left = [k for k in range(m) if k not in {v for v, _ in context}]
        for size in range(1, most + 1):
            of_size = same ** (size - 1) * (1 - same if size < most else 1)
            for variables in combinations(left, size):
                states = product(*(range(cards[k]) for k in variables))
                parts = [below(context.union(zip(variables, x, strict=True))).items() for x in states]
                for chosen in product(*parts):
                    staging = frozenset().union(*(part for part, _ in chosen))
                    weight = chance * of_size / comb(m - depth, size) * prod(w for _, w in chosen)
                    found[staging] = found.get(staging, 0.0) + weight
        return found

    return below(frozenset())


def log_prior_weight(prior, cards, level, staging, beta=2):
    """Unnormalised log prior of a staging of a level of candidates."""
    if not is_tree(staging):
        return -inf
    if prior == "uniform":
        return 0.0
    if prior == "tree":
        return log(tree_prior(len(level), staging, beta))
    return sum(-log(comb(len(level), len(c))) / prod(cards[v] for v in c) for c in staging)


def level_stagings(cards, level, beta):
    """Every staging of the level made by the candidates in `level`."""
    return stagings([d if v in level else 1 for v, d in enumerate(cards)], beta, level)


def log_joint_terms(rows, weights, cards, target, level, beta, ess, prior):
    """For every staging of the level: log of (normalised prior times marginal likelihood)."""
    level = tuple(v for v in level if cards[v] > 1)
    scores = {}  # a context stands in many stagings

    def score(context):
        key = frozenset(context.items())
        if key not in scores:
            scores[key] = log_z(rows, weights, cards, target, context, ess)
        return scores[key]

    return [
        (log_prior + sum(map(score, staging)), staging)
        for log_prior, staging in level_priors(tuple(map(int, cards)), level, beta, prior)
    ]


@cache
def level_priors(cards, level, beta, prior):
    """Every staging of the level with its log prior, normalised; the same whatever the data."""
    everything = level_stagings(cards, level, beta)
    priors = [log_prior_weight(prior, cards, level, s, beta) for s in everything]
    normaliser = log_sum(priors)
    return [(p - normaliser, s) for p, s in zip(priors, everything, strict=True)]


def local_order_score(rows, weights, cards, target, level, beta, ess, prior):
    return log_sum(v for v, _ in log_joint_terms(rows, weights, cards, target, level, beta, ess, prior))


def best_tree(cards, beta, log_stage, split_weight, context=None):
    """The largest log-weight of a decision tree below a context: it stops, or splits on a set of further variables."""
    context = {} if context is None else context
    t, left = len(context), [v for v in range(len(cards)) if v not in context]
    best = log_stage(context)
    for r in range(1, min(beta - t, len(left)) + 1):
        weight = split_weight(t, r)
        for chosen in combinations(left, r) if weight > 0 else ():
            below = 0.0
            for states in product(*(range(cards[v]) for v in chosen)):
                more = {**context, **dict(zip(chosen, states, strict=True))}
                below += best_tree(cards, beta, log_stage, split_weight, more)
            best = max(best, log(weight) + below)
    return best


def gain_of_one_more(rows, weights, cards, target, parents, variable, ess):
    """By how much one more variable improves the log marginal likelihood: as a split below a parent, or above them all.

    A tree splits on a root, and then each of its states on at most one other variable.
    """

    def z(context):
        return log_z(rows, weights, cards, target, context, ess)

    def below(root, state, others):
        """The best that can be done for a state of the root."""
        stop = z({root: state})
        return max([stop, *(sum(z({root: state, j: y}) for y in range(cards[j])) for j in others if j != root)])

    if not parents:
        return sum(z({variable: y}) for y in range(cards[variable])) - z({})
    states = [(k, x) for k in parents for x in range(cards[k])]
    split = max(sum(z({k: x, variable: y}) for y in range(cards[variable])) - below(k, x, parents) for k, x in states)
    before = max(sum(below(k, x, parents) for x in range(cards[k])) for k in parents)
    return max(split, sum(below(variable, y, parents) for y in range(cards[variable])) - before)


def bdeu_family(rows, weights, cards, target, parents, ess):
    """The textbook BDeu family score of a Bayesian network."""
    q = prod(cards[v] for v in parents)
    score = 0.0
    for states in product(*(range(cards[v]) for v in parents)):
        counts = [0.0] * cards[target]
        for row, weight in zip(rows, weights, strict=True):
            if tuple(row[v] for v in parents) == states:
                counts[row[target]] += weight
        score += lgamma(ess / q) - lgamma(ess / q + sum(counts))
        cell = ess / (q * cards[target])
        score += sum(lgamma(cell + c) - lgamma(cell) for c in counts)
    return score


# ---------------------------------------------------------------- counting CStrees
def count_cstrees(cards, beta):
    """Sum over all orders of the product over levels of the number of stagings listed."""
    return sum(
        prod(len(stagings([cards[v] for v in order[:i]], beta)) for i in range(len(order)))
        for order in permutations(range(len(cards)))
    )


# ---------------------------------------------------------------- packed tables
def planes(rows, cards, n):
    """The bits of the codes: for each variable and each bit of its codes, the rows as a number, in words of 64 bits."""
    result = []
    for j, card in enumerate(cards):
        width = 1
        while 2**width < card:
            width += 1
        for bit in range(width):
            number = sum((rows[r][j] // 2**bit % 2) * 2**r for r in range(n))
            result.append([number // 2 ** (64 * word) % 2**64 for word in range((n + 63) // 64)])
    return result


def distinct(rows):
    """The different rows in their order, each with how often it occurs."""
    return [(row, rows.count(list(row))) for row in sorted(set(map(tuple, rows)))]


def turned_to_their_rows(trees, weights, logs, table, interventions, strength):
    """The parameters of the members of a mixture after one round of expectation-maximisation, row by row."""
    found = []
    for k, tree in enumerate(trees):
        parameters = {}
        for variable, first in tree.parameters.items():
            column = table.variables.index(variable)
            counts = [[strength * chance for chance in stage] for stage in first]
            for r in range(table.n):
                if interventions is not None and interventions[r, column]:
                    continue
                chances = [w * exp(log[r]) for w, log in zip(weights, logs, strict=True)]
                row = {v: states[x] for v, states, x in zip(table.variables, table.states, table.codes[r], strict=True)}
                contexts = list(tree.stagings[variable])
                (stage,) = [s for s, c in enumerate(contexts) if all(row[v] == x for v, x in c.items())]
                share = chances[k] / sum(chances) * (1.0 if table.weights is None else table.weights[r])
                counts[stage][table.codes[r, column]] += share
            parameters[variable] = [[count / sum(stage) for count in stage] for stage in counts]
        found.append(parameters)
    return found
