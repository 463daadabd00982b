"""Parameters averaged over the stagings of an order.

The best staging was selected among very many, so some of its splits are noise, and the frequencies in its stages
exaggerate the difference between them. Given the order, the posterior mean of the probabilities of the target after an
outcome ``x`` is, over all stagings,

    sum over the contexts c' that agree with x of P(c' is a stage | data, order) * mean(c'),

as exactly one stage of each staging agrees with `x`; ``mean(c')`` is the posterior mean of that stage. Averaged over
the rows in a stage ``c`` of the best staging, that is

    theta(c) = sum over contexts c' of P(c' is a stage) * mean(c') * N(c and c') / N(c).

A split of which the data are sure keeps its frequencies, a doubtful one is drawn towards what it was split from. Of all
parameters of that staging these have the least expected divergence from the truth, given order and data, for rows like
those of the data.
"""

from __future__ import annotations

from math import prod

import numpy as np
from numpy.typing import NDArray

from cslearn.counts import stage_counts, stage_of_rows
from cslearn.cstree import CStree
from cslearn.cstree.parameters import estimate
from cslearn.grown import GrownLevel, GrownScores
from cslearn.grown.level import codes_of_contexts
from cslearn.scores import Scores

__all__ = ["SMALLEST", "averaged_parameters"]

# Contexts that are less probably stages are left out.
SMALLEST = 1e-3
# The same for deep stagings, in which there are more and less probable ones.
SMALLEST_GROWN = 1e-5
# Places of contexts that are compared with stages at once: many states make many of both.
AT_ONCE = 1 << 24
# Numbers are counted in an array of all that there may be, if these are at most so many times the rows.
DENSE = 4

Floats = NDArray[np.float64]


def averaged_parameters(tree: CStree, scores: Scores, smallest: float = SMALLEST) -> dict[str, Floats]:
    """Return the parameters of a CStree, averaged over all stagings of its order.

    Parameters
    ----------
    tree : CStree
        Its stagings are within the bounds of `scores`.
    scores : Scores
        Of the data, with the prior over stagings and the equivalent sample size.
    smallest : float
        Contexts whose probability to be a stage is smaller are left out, and the rest makes up for it.

    Returns
    -------
    dict of str to ndarray, shape (stages, cardinality)

    Examples
    --------
    >>> from cslearn.datasets import chickenpox_model
    >>> from cslearn.estimators.averaging import averaged_parameters
    >>> from cslearn.scores import Scores
    >>> truth = chickenpox_model()
    >>> data = truth.sample_table(200, random_state=0)
    >>> truth.fit_parameters(data, ess=5.0).parameters["exposed"].round(2)
    array([[0.89, 0.11],
           [0.49, 0.51],
           [0.65, 0.35]])
    >>> averaged_parameters(truth, Scores(data, prior="tree", ess=5.0))["exposed"].round(2)
    array([[0.87, 0.13],
           [0.52, 0.48],
           [0.64, 0.36]])
    """
    return {v: _averaged(tree, v, tree.order[:t], scores, smallest) for t, v in enumerate(tree.order)}


def _averaged(tree: CStree, target: str, before: tuple[str, ...], scores: Scores, smallest: float) -> Floats:
    i = scores.index[target]
    columns = scores.candidates[i]
    level = np.flatnonzero(np.isin(columns, [scores.index[v] for v in before]))
    if isinstance(scores, GrownScores):
        return _averaged_grown(tree, target, scores, scores.predicting_level(i, level))
    weights = scores.level_weights(i, level)
    table = scores.counted(i)
    codes, d, cards = table.codes, table.cards[i], np.array(table.cards)

    contexts = [
        [(scores.index[v], table.states[scores.index[v]].index(x)) for v, x in context.items()]
        for context in tree.stagings[target]
    ]
    stage = stage_of_rows(codes, contexts)
    rows = np.bincount(stage, weights=table.weights, minlength=len(contexts))
    empty = np.flatnonzero(rows == 0)
    total, mass = np.zeros((len(contexts), d)), np.zeros(len(contexts))
    for variables, probabilities in weights.stage_probabilities(smallest).items():
        there = columns[level[list(variables)]]
        cell = np.zeros(table.n, dtype=np.intp)
        for column in there:
            cell = cell * cards[column] + codes[:, column]
        size = probabilities.size
        of_cell = np.bincount(cell * d + codes[:, i], weights=table.weights, minlength=size * d).reshape(size, d)
        a_stage = scores.ess / size
        mean = (of_cell + a_stage / d) / (of_cell.sum(axis=1, keepdims=True) + a_stage)
        chance = np.where(probabilities >= smallest, probabilities, 0.0).ravel()
        # Stages and cells that have rows in common: there are no more of them than rows.
        both, common = _counted(stage * size + cell, len(contexts) * size, table.weights)
        here, cell = np.divmod(both, size)
        common = common * chance[cell]
        mass += np.bincount(here, weights=common, minlength=len(contexts))
        for state in range(d):
            total[:, state] += np.bincount(here, weights=common * mean[cell, state], minlength=len(contexts))
        # A stage without data is as if its rows were spread evenly over what agrees with it.
        for at in empty:
            share = _agreement(contexts[at], there, cards) * chance
            total[at] += share @ mean
            mass[at] += share.sum()
    a_stages = np.array([scores.ess / prod(cards[v] for v, _ in pairs) for pairs in contexts])
    alone = estimate(stage_counts(table, i, contexts), a_stages, "mean")
    return np.where(mass[:, None] > 0, total / np.where(mass > 0, mass, 1.0)[:, None], alone)


def _averaged_grown(tree: CStree, target: str, scores: Scores, weights: GrownLevel) -> Floats:
    """Average over the prunings of a grown tree; a stage without rows is as if all rows had the states of its context.

    It takes ``N(c and c')`` for the stages c of the tree and all contexts c' that are probably stages. Most of these
    lie within each other, and every set of rows is counted once.
    """
    i, place = scores.index[target], {int(c): k for k, c in enumerate(weights.columns)}
    states = scores.table.states
    contexts = [
        [(place[c], states[c].index(x)) for c, x in ((scores.index[v], x) for v, x in context.items())]
        for context in tree.stagings[target]
    ]
    stages = codes_of_contexts(contexts, weights.size)
    others, chances, means = weights.stage_means(SMALLEST_GROWN)
    there = np.flatnonzero((others >= 0).any(axis=0) | (stages >= 0).any(axis=0))
    stages, others = stages[:, there], others[:, there]
    empty = np.flatnonzero(_rows_in(scores, i, weights.columns[there], stages) == 0)
    s, o = _meeting(stages, others)
    joined = np.where(others[o] >= 0, others[o], stages[s])
    joined[np.isin(s, empty)[:, None] & (stages[s] >= 0)] = -1
    share = _rows_in(scores, i, weights.columns[there], joined) * chances[o]
    total = np.zeros((len(stages), means.shape[1]))
    np.add.at(total, s, share[:, None] * means[o])
    return total / total.sum(axis=1, keepdims=True)


def _meeting(stages: NDArray[np.int16], others: NDArray[np.int16]) -> tuple[NDArray[np.intp], NDArray[np.intp]]:
    """Return which stages and which contexts, given as rows of codes, have outcomes in common: pairs of numbers."""
    step, found = max(1, AT_ONCE // max(1, others.size)), []
    for begin in range(0, len(stages), step):
        some = stages[begin : begin + step, None]
        s, o = np.nonzero(((others == some) | (others < 0) | (some < 0)).all(axis=2))
        found.append((s + begin, o))
    first, second = zip(*found, strict=True)
    return np.concatenate(first), np.concatenate(second)


def _rows_in(scores: Scores, i: int, columns: NDArray[np.integer], codes: NDArray[np.int16]) -> Floats:
    """Return how many rows of a target agree with contexts, given as rows of codes; equal ones are counted once."""
    where: dict[bytes, int] = {}
    which = [where.setdefault(row.tobytes(), len(where)) for row in codes]
    first = np.unique(which, return_index=True)[1]
    named = columns.tolist()
    pairs = [[(c, x) for c, x in zip(named, row, strict=True) if x >= 0] for row in codes[first].tolist()]
    return scores.cells(i, pairs).sum(axis=1)[which]


def _counted(
    numbers: NDArray[np.intp], most: int, weights: Floats | None
) -> tuple[NDArray[np.intp], Floats | NDArray[np.intp]]:
    """Return which numbers below `most` there are, and the weight of each, in memory for those that there are."""
    if most <= DENSE * len(numbers):
        counts = np.bincount(numbers, weights=weights, minlength=most)
        found = np.flatnonzero(counts)
        return found, counts[found]
    found, place = np.unique(numbers, return_inverse=True)
    return found, np.bincount(place.reshape(-1), weights=weights, minlength=len(found))


def _agreement(context: list[tuple[int, int]], columns: NDArray[np.intp], cards: NDArray[np.intp]) -> Floats:
    """Return the share of a context that agrees with each outcome of some variables."""
    result, states = np.ones(1), dict(context)
    for column in columns:
        d = int(cards[column])
        share = np.arange(d) == states[column] if column in states else np.full(d, 1 / d)
        result = np.outer(result, share).ravel()
    return result
