"""CStrees drawn from the posterior, and single ones that stand for it."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from math import prod
from typing import TYPE_CHECKING, Literal

import numpy as np
from numpy.typing import ArrayLike, NDArray

from cslearn._numerics import RandomState, as_generator
from cslearn.counts import draw_states, stage_of_rows
from cslearn.cstree import CStree
from cslearn.data import Table
from cslearn.errors import InputError
from cslearn.posterior.levels import N_ORDERS, Floats, Level, draw_levels, evenly_spread
from cslearn.stagings import Context, Staging
from cslearn.stagings.level import LevelWeights
from cslearn.stagings.tree_weights import TreeWeights

if TYPE_CHECKING:
    import pandas as pd

    from cslearn.posterior.posterior import CStreePosterior

__all__ = [
    "central_tree",
    "drawn_structures",
    "parameter_intervals",
    "point_estimate",
    "sample",
    "structure_of",
    "tails_of",
    "tree_of",
]

Stages = tuple[tuple[tuple[int, int], ...], ...]
"""The stages of a variable as pairs of column and code."""

Picker = Callable[[LevelWeights | TreeWeights, int], Sequence[Iterable[tuple[tuple[int, int], ...]]]]
"""What gives as many stagings of a level as are asked for."""

# The central CStree: drawn orders that are compared, rows that are drawn of each of their CStrees, standard errors by
# which it must be nearer than that of the best order, and how far below the best order of all, as a log, the best of a
# chain may be; one further below has not come to where orders are good.
CENTRAL_ORDERS, CENTRAL_ROWS, CLEARLY, STUCK = 10, 1000, 2.0, 20.0


def _best_stages(weights: LevelWeights | TreeWeights, number: int) -> list[list[tuple[tuple[int, int], ...]]]:
    return [weights.maximum()[1]] * number


def sample(
    posterior: CStreePosterior,
    n: int,
    *,
    parameters: Literal["draw", "mean"] = "draw",
    random_state: RandomState = None,
) -> list[CStree]:
    """Draw CStrees from the posterior.

    Parameters
    ----------
    n : int
    parameters : {"draw", "mean"}
        Draw the parameters from their Dirichlet distributions, or take their posterior means.
    random_state : int, Generator or None

    Returns
    -------
    list of CStree
        Each with one of the drawn orders, or after an exact search with an order drawn anew, and stagings drawn
        exactly given the order.

    Examples
    --------
    >>> from cslearn import CStreeLearner
    >>> from cslearn.datasets import chickenpox_model
    >>> data = chickenpox_model().sample(1000, random_state=0)
    >>> posterior = CStreeLearner(search="exact").fit(data).posterior_
    >>> [tree.n_stages for tree in posterior.sample(3, random_state=0)]
    [9, 7, 7]
    """
    rng = as_generator(random_state)
    orders, stagings = drawn_structures(posterior, n, rng)
    return [_with_parameters(posterior, *drawn, parameters, rng) for drawn in zip(orders, stagings, strict=True)]


def drawn_structures(
    posterior: CStreePosterior, n: int, rng: np.random.Generator
) -> tuple[list[tuple[int, ...]], list[tuple[Stages, ...]]]:
    """Draw orders, and the stages of each variable in each order."""
    if isinstance(n, bool) or not isinstance(n, int | np.integer) or n < 1:
        raise InputError(f"the number of CStrees to draw is a whole number, at least 1, not {n!r}")
    if posterior.exact is not None:
        orders = posterior.exact.draw(int(n), rng)
    else:
        orders = posterior.orders[rng.integers(len(posterior.orders), size=n)]
    stagings = _stages_in(posterior, orders, lambda weights, draws: [weights.draw(rng) for _ in range(draws)])
    return [tuple(order) for order in orders.tolist()], stagings


def _stages_in(posterior: CStreePosterior, orders: NDArray[np.integer], pick: Picker) -> list[tuple[Stages, ...]]:
    """Return stages of each variable in each order, picked once for each level and all orders that have it."""
    scores, by_variable = posterior._scores, []
    for i, levels in enumerate(draw_levels(scores, orders)):
        found: list[Stages] = [()] * len(orders)
        with_level: dict[Level, list[int]] = {}
        for number, level in enumerate(levels):
            with_level.setdefault(level, []).append(number)
        for level, numbers in with_level.items():
            columns = scores.candidates[i][list(level)].tolist()
            picked = pick(posterior._levels.weights(i, level), len(numbers))
            for number, staging in zip(numbers, picked, strict=True):
                found[number] = tuple(tuple((columns[k], x) for k, x in pairs) for pairs in staging)
        by_variable.append(found)
    return list(zip(*by_variable, strict=True))


def _contexts(posterior: CStreePosterior, stages: Stages) -> list[Context]:
    table = posterior._scores.table
    return [Context((table.variables[c], table.states[c][x]) for c, x in pairs) for pairs in stages]


def structure_of(posterior: CStreePosterior, order: Sequence[int], stagings: Sequence[Stages]) -> CStree:
    """Return the CStree with these stages, without parameters."""
    states, names = posterior._scores.table.state_map, posterior.order_names(np.array(order))
    scopes = {v: {u: states[u] for u in names[:t]} for t, v in enumerate(names)}
    found = {
        v: Staging.trusted(scopes[v], _contexts(posterior, stagings[i])) for v, i in zip(names, order, strict=True)
    }
    return CStree(names, found, states=states)


def _with_parameters(
    posterior: CStreePosterior,
    order: Sequence[int],
    stagings: Sequence[Stages],
    parameters: str,
    rng: np.random.Generator,
) -> CStree:
    structure, values = structure_of(posterior, order, stagings), {}
    for name, i in zip(structure.order, order, strict=True):
        alphas = dict(zip(_contexts(posterior, stagings[i]), _alphas(posterior, i, stagings[i]), strict=True))
        rows = [alphas[context] for context in structure.stagings[name]]
        values[name] = np.array([rng.dirichlet(row) if parameters == "draw" else row / row.sum() for row in rows])
    return structure.with_parameters(values)


def _alphas(posterior: CStreePosterior, i: int, stages: Stages) -> Floats:
    """Return the parameters of the posterior Dirichlet distribution of variable `i` in each stage."""
    table, scores = posterior._scores.table, posterior._scores
    cells = [scores.a_stage(prod(table.cards[c] for c, _ in pairs)) / table.cards[i] for pairs in stages]
    return scores.cells(i, stages) + np.array(cells)[:, None]


def _means(posterior: CStreePosterior, i: int, stages: Stages) -> Floats:
    alphas = _alphas(posterior, i, stages)
    return alphas / alphas.sum(axis=1, keepdims=True)


def point_estimate(
    posterior: CStreePosterior,
    kind: Literal["best", "hamming", "divergence"] = "best",
    *,
    n_draws: int = N_ORDERS,
    random_state: RandomState = 0,
) -> CStree:
    """Return one CStree that stands for the posterior.

    Parameters
    ----------
    kind : {"best", "hamming", "divergence"}
        ``"best"``: the CStree with the largest posterior probability. After an exact search it is the best of all,
        over orders and stagings together, which takes about as long as the search itself (for four context
        variables and more under a prior that weighs trees, up to what
        :attr:`cslearn.orders.SubsetScores.best` leaves out); otherwise the best among
        CStrees drawn from the posterior, the best stagings of drawn orders, and those of the best orders met.
        Of the same, the one with the smallest expected number of edges that differ from the truth's
        (``"hamming"``), or with the smallest expected divergence from the truth (``"divergence"``), as judged on
        rows drawn from the averaged prediction.
    n_draws : int
    random_state : int, Generator or None
    """
    if kind == "best" and posterior.exact is not None:
        return posterior.tree_of(posterior.exact.best_joint()[0])
    rng = as_generator(random_state)
    met = [chain.best_order for chain in posterior.chains]
    orders = np.unique(np.vstack([*met, posterior._some_orders(n_draws)]), axis=0)
    drawn = posterior.sample(n_draws, parameters="mean", random_state=rng)
    trees = [*_best_trees(posterior, orders), *drawn]
    if kind == "best":
        return max(trees, key=posterior._scores.cstree_score)
    if kind == "hamming":
        chances = posterior.edge_shares()
        return min(trees, key=lambda tree: _expected_distance(posterior, tree, chances))
    if kind == "divergence":
        codes = np.concatenate([tree.sample_table(20, random_state=rng).codes for tree in drawn])
        rows = Table(codes, posterior._scores.table.variables, posterior._scores.table.states)
        return max(trees, key=lambda tree: float(tree.log_prob(rows).mean()))
    raise InputError(f"there is no point estimate {kind!r}; choose 'best', 'hamming' or 'divergence'")


def central_tree(
    posterior: CStreePosterior, n_orders: int = CENTRAL_ORDERS, *, random_state: RandomState = 0
) -> CStree:
    """Return the CStree in the middle of those of drawn orders, which is what is learned after a search by chains.

    Among many variables the best order met is one of very many that are about as probable, and no better than they.
    So the CStrees with the best stagings of some drawn orders are compared, and that of the best order with them:
    the one is taken that has the least divergence from those of the drawn orders on average, judged on rows drawn
    from these. It stays with the best order where no other is nearer by two standard errors, those of the rows.
    A tenth of the rows are those of a drawn order itself, and none those of the best order, which favours the drawn
    ones a little. Chains that have stayed in a region of far worse orders do not count; with a single draw the best
    order is taken.

    Parameters
    ----------
    n_orders : int
        Drawn orders that are compared.
    random_state : int, Generator or None
        Seed of the rows.

    Returns
    -------
    CStree
        With the posterior means of its parameters.

    Examples
    --------
    >>> from cslearn import Chains, CStreeLearner, random_cstree
    >>> data = random_cstree(20, random_state=2).sample_table(500, random_state=2)
    >>> posterior = CStreeLearner(beta=2, search=Chains(n_iter=500), random_state=0).fit(data).posterior_
    >>> posterior.central_tree().order == posterior.order_names(posterior.best.best_order)
    False
    """
    best, rng = posterior.best, as_generator(random_state)
    least = best.best_log_score - STUCK
    drawn = np.vstack([chain.orders for chain in posterior.chains if chain.best_log_score >= least])
    some = evenly_spread(drawn, n_orders) if len(drawn) else drawn
    if len(some) < 2:  # of chains that are short or were interrupted early
        return posterior.tree_of(best.best_order)
    orders = np.vstack([best.best_order, some])
    stagings = _stages_in(posterior, orders, _best_stages)
    # Most variables have the same stages in many of the orders.
    distinct = {of for stages in stagings for of in enumerate(stages)}
    means = {of: _means(posterior, *of) for of in distinct}
    rows = _draw_rows(posterior, orders[1:], stagings[1:], means, rng)

    def logs(i: int, stages: Stages) -> Floats:
        return np.log(means[i, stages])[stage_of_rows(rows, stages), rows[:, i]]

    values = {of: logs(*of).mean() for of in means}
    nearest = int(np.argmax([sum(values[of] for of in enumerate(stages)) for stages in stagings]))
    gain = np.zeros(len(rows))
    for i, (stages, of_best) in enumerate(zip(stagings[nearest], stagings[0], strict=True)):
        if stages != of_best:
            gain += logs(i, stages) - logs(i, of_best)
    taken = nearest if gain.mean() > CLEARLY * gain.std() / len(rows) ** 0.5 else 0
    return _with_parameters(posterior, orders[taken].tolist(), stagings[taken], "mean", rng)


def _draw_rows(
    posterior: CStreePosterior,
    orders: NDArray[np.integer],
    stagings: Sequence[Sequence[Stages]],
    means: Mapping[tuple[int, Stages], Floats],
    rng: np.random.Generator,
) -> NDArray[np.integer]:
    """Draw as many rows of each order with its stages, whose means are given."""
    kind = np.min_scalar_type(max(posterior._scores.table.cards))
    rows = np.zeros((len(orders) * CENTRAL_ROWS, orders.shape[1]), dtype=kind, order="F")
    for number, (order, of_order) in enumerate(zip(orders, stagings, strict=True)):
        part = rows[number * CENTRAL_ROWS : (number + 1) * CENTRAL_ROWS]
        for i in order:
            part[:, i] = draw_states(stage_of_rows(part, of_order[i]), means[i, of_order[i]], rng)
    return rows


def tree_of(posterior: CStreePosterior, order: ArrayLike) -> CStree:
    """Return the CStree with the best stagings of an order.

    Parameters
    ----------
    order : array-like of int
        The variables as columns of the data, as in :attr:`orders`.

    Returns
    -------
    CStree
        With the posterior means of its parameters.

    Examples
    --------
    >>> from cslearn import CStreeLearner
    >>> from cslearn.datasets import chickenpox_model
    >>> posterior = CStreeLearner().fit(chickenpox_model().sample(1000, random_state=0)).posterior_
    >>> posterior.tree_of([3, 2, 1, 0]).order
    ('carrier', 'exposed', 'diagnosis', 'background')
    """
    columns, p = np.asarray(order), len(posterior.variables)
    if columns.dtype.kind not in "iu" or columns.ndim != 1 or sorted(columns) != list(range(p)):
        raise InputError(
            f"an order is each of the columns 0 to {p - 1} once, as in `orders`, not {order!r}; the names of"
            " one are `order_names(order)`"
        )
    return _best_trees(posterior, columns[None])[0]


def _best_trees(posterior: CStreePosterior, orders: NDArray[np.integer]) -> list[CStree]:
    stagings = _stages_in(posterior, orders, _best_stages)
    pairs = zip(orders.tolist(), stagings, strict=True)
    return [_with_parameters(posterior, order, of_order, "mean", as_generator(0)) for order, of_order in pairs]


def _expected_distance(posterior: CStreePosterior, tree: CStree, chances: Floats) -> float:
    """Return the expected number of directed edges in which the DAG of a CStree differs from the truth's."""
    import networkx as nx

    has = nx.to_numpy_array(tree.to_dag(), nodelist=list(posterior.variables)) > 0
    return float(np.where(has, 1 - chances, chances).sum())


def parameter_intervals(posterior: CStreePosterior, tree: CStree, interval: float = 0.95) -> pd.DataFrame:
    """Return posterior means and credible intervals of the parameters of a CStree, given its structure.

    Parameters
    ----------
    tree : CStree
    interval : float
        Posterior probability of the intervals, with equal tails.

    Returns
    -------
    DataFrame
        Columns ``variable``, ``context``, ``state``, ``rows``, ``mean``, ``lower``, ``upper``.
    """
    import pandas as pd
    from scipy.stats import beta

    tails = tails_of(interval)
    table, found = posterior._scores.table, []
    for name in tree.order:
        i = posterior._column(name)
        contexts = list(tree.stagings[name])
        coded = [[posterior._coded(v, state) for v, state in context.items()] for context in contexts]
        counts = posterior._scores.cells(i, coded)
        for context, pairs, row in zip(contexts, coded, counts, strict=True):
            cell = posterior._scores.a_stage(prod(table.cards[c] for c, _ in pairs)) / table.cards[i]
            alpha = row + cell
            rest = alpha.sum() - alpha
            lower, upper = (beta.ppf(tail, alpha, rest) for tail in tails)
            for code, state in enumerate(table.states[i]):
                mean = alpha[code] / alpha.sum()
                found.append((name, str(context), state, row.sum(), mean, lower[code], upper[code]))
    columns = ["variable", "context", "state", "rows", "mean", "lower", "upper"]
    return pd.DataFrame(found, columns=columns)


def tails_of(interval: float) -> tuple[float, float]:
    if not 0 < interval < 1:
        raise InputError(f"interval is a probability between 0 and 1, not {interval!r}")
    return (1 - interval) / 2, (1 + interval) / 2
