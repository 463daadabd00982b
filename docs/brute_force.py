"""Every number of ``docs/mathematics.md``, by brute force.

``python docs/brute_force.py`` lists, for small cases, all stagings and all orders there are, compares what it counts
with the tables of the page and with what the package computes, and says so. ``--full`` takes the larger cases as well,
which is some minutes' work, and ``--write`` writes the tables into the page.

What is brute force here shares no code with the package: stagings are listed as the ways to cover all outcomes, and
orders as permutations.
"""

from __future__ import annotations

import argparse
import random
import re
from collections import Counter
from collections.abc import Callable, Iterator, Mapping, Sequence
from functools import cache
from itertools import combinations, permutations, product
from math import comb, exp, factorial, fsum, log, prod
from pathlib import Path
from typing import Any

PAGE = Path(__file__).parent / "mathematics.md"
TOLERANCE = 1e-9

Context = tuple[tuple[int, int], ...]
"""Pairs of a variable and its state, by ascending variables."""
Listed = tuple[Context, ...]
"""A staging."""
Rows = list[list[str]]


# ---------------------------------------------------------------- stagings, one by one
def contexts_of(cards: Sequence[int], beta: int) -> Iterator[Context]:
    """Yield the contexts of at most `beta` variables."""
    for size in range(min(beta, len(cards)) + 1):
        for variables in combinations(range(len(cards)), size):
            for states in product(*(range(cards[v]) for v in variables)):
                yield tuple(zip(variables, states, strict=True))


def stagings(cards: Sequence[int], beta: int) -> Iterator[Listed]:
    """Yield the stagings: the first outcome that is in no stage yet gets one of the contexts it agrees with."""
    outcomes = list(product(*map(range, cards)))
    through: list[list[tuple[int, Context]]] = [[] for _ in outcomes]
    for context in contexts_of(cards, beta):
        cells = [cell for cell, outcome in enumerate(outcomes) if all(outcome[v] == x for v, x in context)]
        mask = sum(1 << cell for cell in cells)
        for cell in cells:
            through[cell].append((mask, context))

    def extend(left: int, chosen: Listed) -> Iterator[Listed]:
        if not left:
            yield chosen
            return
        for mask, context in through[(left & -left).bit_length() - 1]:
            if not mask & ~left:
                yield from extend(left & ~mask, (*chosen, context))

    return extend((1 << len(outcomes)) - 1, ())


def common(staging: Sequence[Context]) -> set[int]:
    """Return the variables that all contexts hold."""
    return set.intersection(*({v for v, _ in context} for context in staging))


def is_tree(staging: Sequence[Context]) -> bool:
    """Tell whether a decision tree draws the staging."""
    if len(staging) == 1:
        return not staging[0]
    roots = common(staging)
    if not roots:
        return False
    root = min(roots)
    parts: dict[int, list[Context]] = {}
    for context in staging:
        parts.setdefault(dict(context)[root], []).append(tuple(pair for pair in context if pair[0] != root))
    return all(map(is_tree, parts.values()))


@cache
def census(cards: tuple[int, ...], beta: int) -> tuple[int, int, dict[int, int]]:
    """Return the number of stagings, of those that a tree draws, and how many use how many variables."""
    total, trees, used = 0, 0, Counter[int]()
    for staging in stagings(cards, beta):
        total += 1
        trees += is_tree(staging)
        used[len({v for context in staging for v, _ in context})] += 1
    return total, trees, dict(used)


# ---------------------------------------------------------------- what the page claims in formulas
def two(cards: Sequence[int]) -> int:
    """Return the number of stagings with contexts of at most two variables."""
    return 1 - comb(len(cards), 2) + sum(len(cards) ** d for d in cards)


def trees_three(n: int) -> int:
    """Return the number of stagings of n binary variables that trees of depth three draw."""
    below = 1 + (n - 1) ** 3 - (n - 1) * (n - 2) // 2
    return 1 + n * below**2 - comb(n, 2) * (n - 1) ** 4 + comb(n, 3)


def others_three(n: int) -> int:
    """Return the number of those that none draws."""
    return 8 * comb(n, 3) * (n - 2) ** 3 + 8 * comb(n, 4)


def sum_two(cards: Sequence[int], z: Mapping[Context, float]) -> float:
    """Return S(L) for contexts of at most two variables."""
    level = range(len(cards))

    def at(*pairs: tuple[int, int]) -> float:
        return z[tuple(sorted(pairs))]

    def bracket(k: int, x: int) -> float:
        return at((k, x)) + sum(prod(at((k, x), (j, y)) for y in range(cards[j])) for j in level if j != k)

    roots = sum(prod(bracket(k, x) for x in range(cards[k])) for k in level)
    pairs = sum(
        prod(at((j, y), (k, x)) for y in range(cards[j]) for x in range(cards[k])) for j, k in combinations(level, 2)
    )
    return z[()] + roots - pairs


def sum_trees(cards: Sequence[int], beta: int, z: Mapping[Context, float], context: Context = ()) -> float:
    """Return F(context) by the recursion."""
    total = z[context]
    left = [v for v in range(len(cards)) if v not in dict(context)]
    for r in range(1, min(beta - len(context), len(left)) + 1):
        for chosen in combinations(left, r):
            below = prod(
                sum_trees(cards, beta, z, tuple(sorted((*context, *zip(chosen, states, strict=True)))))
                for states in product(*(range(cards[v]) for v in chosen))
            )
            total += (-1) ** (r + 1) * below
    return total


# ---------------------------------------------------------------- the stagings of three variables that no tree draws
TRIPLE = ("000", "111", "01*", "*01", "1*0")
QUADRUPLE = ("000*", "0*10", "*011", "*100", "01*1", "10*0", "1*01", "111*")


def skeletons(cells: Sequence[str]) -> set[frozenset[str]]:
    """Return what permuting the variables and exchanging their states makes of a staging."""
    size = len(cells[0])
    flip = {"0": "1", "1": "0", "*": "*"}
    return {
        frozenset("".join(flip[cell[v]] if flips[v] else cell[v] for v in order) for cell in cells)
        for order in permutations(range(size))
        for flips in product((False, True), repeat=size)
    }


def families(n: int) -> set[frozenset[Context]]:
    """Return the two families for n binary variables."""
    found = set()

    def as_context(cell: str, variables: Sequence[int]) -> Context:
        return tuple((v, int(x)) for v, x in zip(variables, cell, strict=True) if x != "*")

    for cells in skeletons(QUADRUPLE):
        for variables in combinations(range(n), 4):
            found.add(frozenset(as_context(cell, variables) for cell in cells))
    for cells in skeletons(TRIPLE):
        for variables in combinations(range(n), 3):
            outside = [None, *(v for v in range(n) if v not in variables)]
            options = []
            for context in (as_context(cell, variables) for cell in sorted(cells)):
                splits = [None] if len(context) == 3 else outside
                options.append(
                    [[context] if v is None else [tuple(sorted((*context, (v, x)))) for x in (0, 1)] for v in splits]
                )
            found.update(frozenset(c for part in parts for c in part) for parts in product(*options))
    return found


# ---------------------------------------------------------------- tables
def table_two(full: bool) -> Rows:
    """Count stagings with contexts of at most two variables."""
    from cslearn.stagings import count

    rows = [["cardinalities", "listed", "formula"]]
    for cards in [(2, 2), (2, 2, 2), (2, 2, 2, 2), (2, 3), (2, 3, 4), (3, 3, 3), (2, 2, 3, 3)]:
        listed = census(cards, 2)[0]
        assert listed == two(cards) == count(cards, 2), cards
        rows.append([", ".join(map(str, cards)), f"{listed:,}", f"{two(cards):,}"])
    return rows


def table_shapes(full: bool) -> Rows:
    """Count the stagings of binary variables, contexts of at most three, that use all of v variables."""
    rows = [["$v$", "0", "1", "2", "3", "4", "5", "6", "7", "8"]]
    most = 8 if full else 5
    rows.append(["$u(v)$", *(f"{census((2,) * v, 3)[2].get(v, 0):,}" for v in range(most + 1))])
    return rows


def table_three(full: bool) -> Rows:
    """Compare the count for contexts of at most three binary variables with the formula."""
    from cslearn.stagings import count

    rows = [["$n$", "stagings listed", "$N_3(n)$", "drawn by a tree", "by none", "share of these"]]
    for n in range(9 if full else 6):
        total, trees, _ = census((2,) * n, 3)
        assert trees == trees_three(n) and total - trees == others_three(n) and total == count([2] * n, 3), n
        if 3 <= n <= (7 if full else 5):
            unlike = {frozenset(staging) for staging in stagings((2,) * n, 3) if not is_tree(staging)}
            assert unlike == families(n), n
        formula = trees_three(n) + others_three(n)
        share = f"{100 * (total - trees) / total:.1f} %"
        rows.append([str(n), f"{total:,}", f"{formula:,}", f"{trees:,}", f"{total - trees:,}", share])
    return rows


def table_share(full: bool) -> Rows:
    """Count what no tree draws for larger cardinalities and bounds."""
    from cslearn.stagings import count

    rows = [["cardinalities", "$\\beta$", "stagings", "drawn by a tree", "share of the others"]]
    small = [((2, 2, 3), 3), ((2, 3, 3), 3), ((3, 3, 3), 3), ((2, 2, 2, 3), 3)]
    large = [((2, 3, 4), 3), ((2, 2, 3, 3), 3), ((2, 2, 2, 2), 4)]
    for cards, beta in [*small, *large] if full else small:
        total, trees, _ = census(cards, beta)
        assert total == count(cards, beta), cards
        assert trees == sum_trees(cards, beta, dict.fromkeys(contexts_of(cards, beta), 1.0)), cards
        rows.append(
            [", ".join(map(str, cards)), str(beta), f"{total:,}", f"{trees:,}", f"{100 * (1 - trees / total):.1f} %"]
        )
    return rows


def example() -> Any:
    """Return the scores of 200 made-up children with the uniform prior."""
    from cslearn.datasets import chickenpox_model
    from cslearn.scores import Scores

    return Scores(chickenpox_model().sample(200, random_state=0), prior="uniform", ess=1.0)


def log_z(counts: Sequence[float], stage: float) -> float:
    """Return log z of a stage: the marginal likelihood of its counts."""
    from math import lgamma

    cell = stage / len(counts)
    return lgamma(stage) - lgamma(stage + sum(counts)) + sum(lgamma(cell + c) - lgamma(cell) for c in counts)


def listed_level(scores: Any, target: int, level: Sequence[int]) -> list[tuple[Listed, float]]:
    """Return every staging of a level with its weight, the product of the z of its stages (uniform prior)."""
    codes, cards = scores.table.codes, scores.table.cards
    sizes = [cards[v] for v in level]
    weights = {}
    for context in contexts_of(sizes, 2):
        rows = codes[[all(row[level[k]] == x for k, x in context) for row in codes]]
        counts = [float((rows[:, target] == state).sum()) for state in range(cards[target])]
        weights[context] = log_z(counts, scores.ess / prod(sizes[k] for k, _ in context))
    return [(staging, exp(sum(weights[c] for c in staging))) for staging in stagings(sizes, 2)]


def table_orders(full: bool) -> Rows:
    """Score the 24 orders of four variables one by one, and compare with the dynamic programme."""
    import numpy as np

    from cslearn.orders import ExactOrders, SubsetScores

    scores = example()
    names, p = list(scores.table.variables), scores.table.p

    @cache
    def local(i: int, before: frozenset[int]) -> float:
        listed = listed_level(scores, i, sorted(before))
        return log(fsum(weight for _, weight in listed) / len(listed))

    logs = {
        order: sum(local(i, frozenset(order[:t])) for t, i in enumerate(order)) - log(factorial(p))
        for order in permutations(range(p))
    }
    evidence = log(fsum(map(exp, logs.values())))
    exact = ExactOrders(SubsetScores(scores))
    assert abs(evidence - exact.log_evidence) < TOLERANCE
    posterior = {order: exp(value - evidence) for order, value in logs.items()}
    best = max(logs, key=logs.__getitem__)
    assert abs(logs[best] - exact.best_order()[1]) < TOLERANCE
    before = {
        (i, j): fsum(q for order, q in posterior.items() if order.index(i) < order.index(j))
        for i in range(p)
        for j in range(p)
    }
    assert np.allclose(exact.precedence, [[before[i, j] for j in range(p)] for i in range(p)], atol=TOLERANCE)
    assert stationary(posterior) < TOLERANCE
    rows = [["quantity", "value"], ["$\\log P(\\text{data})$", f"{evidence:.4f}"]]
    rows.append(["$\\log P(\\text{data}, \\pi)$ of the best order", f"{logs[best]:.4f}"])
    rows.append(["P(exposed before carrier)", f"{before[names.index('exposed'), names.index('carrier')]:.4f}"])
    return rows


def stationary(posterior: Mapping[tuple[int, ...], float]) -> float:
    """Return by how much a relocation move changes a distribution over orders, at most; also check the balance."""
    after: Counter[tuple[int, ...]] = Counter()
    flow: Counter[tuple[tuple[int, ...], tuple[int, ...]]] = Counter()
    for order, probability in posterior.items():
        for v in order:
            rest = [u for u in order if u != v]
            places = [(*rest[:t], v, *rest[t:]) for t in range(len(order))]
            whole = fsum(posterior[place] for place in places)
            for place in places:
                share = probability * posterior[place] / whole / len(order)
                after[place] += share
                flow[order, place] += share
    assert all(abs(value - flow[b, a]) < TOLERANCE for (a, b), value in flow.items())
    return max(abs(after[order] - probability) for order, probability in posterior.items())


def table_predictive(full: bool) -> Rows:
    """Average over all stagings of a level, and compare with the mixture over stages."""
    import numpy as np

    from cslearn.posterior.levels import Levels

    scores = example()
    table = scores.table
    names = list(table.variables)
    target = names.index("carrier")
    level = [names.index(v) for v in ("background", "diagnosis", "exposed")]
    child = {"background": "urban", "diagnosis": "no", "exposed": "yes"}
    states = [table.state_map[names[v]].index(child[names[v]]) for v in level]
    listed = listed_level(scores, target, level)
    whole = fsum(weight for _, weight in listed)
    probability, mean = Counter[Context](), {}
    for staging, weight in listed:
        (context,) = (c for c in staging if all(states[k] == x for k, x in c))
        probability[context] += weight / whole
        rows = table.codes[[all(row[level[k]] == x for k, x in context) for row in table.codes]]
        prior = scores.ess / prod(table.cards[level[k]] for k, _ in context)
        carriers = float((rows[:, target] == table.state_map["carrier"].index("yes")).sum())
        mean[context] = (carriers + prior / 2) / (len(rows) + prior)
    average = fsum(q * mean[c] for c, q in probability.items())
    assert abs(sum(probability.values()) - 1) < TOLERANCE
    code = np.zeros((1, table.p), dtype=np.int64)
    code[0, level], code[0, target] = states, table.state_map["carrier"].index("yes")
    place = [list(scores.candidates[target]).index(v) for v in level]
    order = np.argsort(place)
    found = Levels(scores).predictive(target, [tuple(place[k] for k in order)], code)[0, 0]
    assert abs(found - average) < TOLERANCE
    lines = [["stage that the child is in", "posterior probability", "mean of P(carrier = yes) there"]]
    for context, q in sorted(probability.items(), key=lambda item: -item[1]):
        label = ", ".join(f"{names[level[k]]}={table.state_map[names[level[k]]][x]}" for k, x in context) or "(always)"
        if q >= 0.00005:
            lines.append([label, f"{q:.4f}", f"{mean[context]:.4f}"])
    lines.append(["all together", f"{sum(probability.values()):.4f}", f"{average:.4f}"])
    return lines


TABLES: dict[str, Callable[[bool], Rows]] = {
    "two": table_two,
    "shapes": table_shapes,
    "three": table_three,
    "share": table_share,
    "orders": table_orders,
    "predictive": table_predictive,
}


# ---------------------------------------------------------------- identities that have no table
def check_sums(problems: int = 30) -> None:
    """Compare the sums over stagings with lists, at random weights, some of them zero."""
    rng = random.Random(0)
    for _ in range(problems):
        cards = [rng.choice((2, 2, 3)) for _ in range(rng.randint(1, 3))]
        for beta in range(4):
            z = {c: rng.choice((0.0, rng.random(), 1.0, 5 * rng.random())) for c in contexts_of(cards, beta)}
            listed = [(s, prod(z[c] for c in s)) for s in stagings(cards, beta)]
            drawn = fsum(weight for staging, weight in listed if is_tree(staging))
            assert abs(sum_trees(cards, beta, z) - drawn) <= TOLERANCE * max(1.0, drawn)
            if beta <= 2:
                assert all(is_tree(staging) for staging, _ in listed)
            if beta == 2:
                assert abs(sum_two(cards, z) - drawn) <= TOLERANCE * max(1.0, drawn)
            # What is added and subtracted: each staging as often as its common variables have subsets.
            assert all(len(common(s)) <= beta for s, _ in listed)


def check_four(problems: int = 3) -> None:
    """Compare the sum over trees with the list of all stagings of four binary variables, contexts of up to four."""
    rng = random.Random(1)
    cards = (2, 2, 2, 2)
    listed = [staging for staging in stagings(cards, 4) if is_tree(staging)]
    for _ in range(problems):
        z = {c: rng.choice((0.0, rng.random(), 1.0, 2 * rng.random())) for c in contexts_of(cards, 4)}
        drawn = fsum(prod(z[c] for c in staging) for staging in listed)
        assert abs(sum_trees(cards, 4, z) - drawn) <= TOLERANCE * max(1.0, drawn)


def check_priors() -> None:
    """Check that the weights of the priors are as the page says."""
    import numpy as np

    from cslearn.priors import PRIORS
    from cslearn.stagings import Staging

    for cards in [(2, 2, 2), (2, 3, 4), (3, 3, 2, 2)]:
        sizes = np.array(cards)
        for beta in (0, 1, 2, 3):
            assert abs(PRIORS["tree"].log_normaliser(sizes, beta)) < TOLERANCE
        for r in range(3):
            for chosen in combinations(range(len(cards)), r):
                split = [dict(zip(chosen, x, strict=True)) for x in product(*(range(cards[v]) for v in chosen))]
                staging = Staging({v: tuple(range(d)) for v, d in enumerate(cards)}, split)
                weight = PRIORS["sparse"].log_weight(staging, len(cards), 2)
                assert abs(weight + log(comb(len(cards), r))) < TOLERANCE


CHECKS = (check_sums, check_four, check_priors)


# ---------------------------------------------------------------- the page
def markdown(rows: Rows) -> str:
    """Return the rows as a table of the page."""
    head, *body = (f"| {' | '.join(row)} |" for row in rows)
    return "\n".join([head, "|" + " --- |" * len(rows[0]), *body])


def block(text: str, name: str) -> str:
    """Return the table of that name in the text of the page."""
    found = re.search(rf"<!-- numbers: {name} -->\n\n(.*?)\n\n<!-- end -->", text, re.DOTALL)
    if found is None:
        raise SystemExit(f"{PAGE.name} has no table {name!r}")
    return found[1]


def differences(text: str, name: str, full: bool) -> list[str]:
    """Return the rows that were computed and are not on the page; with `full` also those that are on it only."""
    there = [[cell.strip() for cell in line.strip("|").split("|")] for line in block(text, name).splitlines()]
    rows = TABLES[name](full)
    wrong = [
        f"{name}: {row} is not on the page"
        for row in rows
        if not any(line == row if full else line[: len(row)] == row for line in there)
    ]
    if full and len(there) != len(rows) + 1:
        wrong.append(f"{name}: the page has rows that were not computed")
    return wrong


def main() -> None:
    """Compare the page with what is computed, or write it."""
    parser = argparse.ArgumentParser(description="compare docs/mathematics.md with brute force")
    parser.add_argument("--full", action="store_true", help="also the larger cases, some minutes")
    parser.add_argument("--write", action="store_true", help="write the tables into the page (takes the larger cases)")
    options = parser.parse_args()
    for check in CHECKS:
        check()
        print(f"{check.__name__}: holds")
    text = PAGE.read_text(encoding="utf-8")
    if options.write:
        for name, table in TABLES.items():
            text = text.replace(block(text, name), markdown(table(True)))
            print(f"{name}: written")
        PAGE.write_text(text, encoding="utf-8")
        return
    wrong = [line for name in TABLES for line in differences(text, name, options.full)]
    if wrong:
        raise SystemExit("\n".join(wrong))
    print(f"{', '.join(TABLES)}: as on the page")


if __name__ == "__main__":
    main()
