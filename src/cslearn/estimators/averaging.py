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

import numpy as np
from numpy.typing import NDArray

from cslearn.counts import Contexts
from cslearn.cstree import CStree
from cslearn.cstree.parameters import estimate
from cslearn.grown import GrownScores
from cslearn.grown.level import codes_of_contexts
from cslearn.scores import Scores

__all__ = ["SMALLEST", "averaged_parameters"]

# Contexts that are less probably stages are left out.
SMALLEST = 1e-3
# The same for deep stagings, in which there are more and less probable ones.
SMALLEST_GROWN = 1e-5
# Places of contexts that are compared with stages at once: many states make many of both.
AT_ONCE = 1 << 24

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
    """Average over the stagings of a level.

    It takes ``N(c and c')`` for the stages c of the tree and all contexts c' that are probably stages. Most of these
    lie within each other, and every set of rows is counted once.
    """
    i = scores.index[target]
    columns = scores.candidates[i]
    level = np.flatnonzero(np.isin(columns, [scores.index[v] for v in before]))
    if isinstance(scores, GrownScores):
        of_level = scores.predicting_level(i, level)
        there = of_level.columns
        others, chances, means = of_level.stage_means(SMALLEST_GROWN)
    else:
        there = columns[level]
        others, chances, means = _stage_means(scores, i, level, smallest)
    place = {int(c): k for k, c in enumerate(there)}
    contexts = [
        [(place[c], scores.table.states[c].index(x)) for c, x in ((scores.index[v], x) for v, x in context.items())]
        for context in tree.stagings[target]
    ]
    stages = codes_of_contexts(contexts, len(there))
    used = np.flatnonzero((others >= 0).any(axis=0) | (stages >= 0).any(axis=0))
    stages, others, there = stages[:, used], others[:, used], there[used]
    empty = _counts_of_codes(scores, i, there, stages).sum(axis=1) == 0
    s, o = _meeting(stages, others)
    joined = np.where(others[o] >= 0, others[o], stages[s])
    joined[empty[s, None] & (stages[s] >= 0)] = -1
    share = _counts_of_codes(scores, i, there, joined).sum(axis=1) * chances[o]
    if not scores.grown:
        # A stage without data is as if its rows were spread evenly over what agrees with it.
        free = (others[o] >= 0) & (stages[s] < 0)
        evenly = np.where(free, 1 / scores.counts.cards[there], 1.0).prod(axis=1)
        share = np.where(empty[s], evenly * chances[o], share)
    total = np.zeros((len(stages), means.shape[1]))
    np.add.at(total, s, share[:, None] * means[o])
    mass = total.sum(axis=1, keepdims=True)
    if (mass > 0).all():
        return total / mass
    own = _counts_of_codes(scores, i, there, stages)
    return np.where(mass > 0, total / np.where(mass > 0, mass, 1.0), _means(scores, there, stages, own))


def _meeting(stages: NDArray[np.int16], others: NDArray[np.int16]) -> tuple[NDArray[np.intp], NDArray[np.intp]]:
    """Return which stages and which contexts, given as rows of codes, have outcomes in common: pairs of numbers."""
    step, found = max(1, AT_ONCE // max(1, others.size)), []
    for begin in range(0, len(stages), step):
        some = stages[begin : begin + step, None]
        s, o = np.nonzero(((others == some) | (others < 0) | (some < 0)).all(axis=2))
        found.append((s + begin, o))
    first, second = zip(*found, strict=True)
    return np.concatenate(first), np.concatenate(second)


def _stage_means(
    scores: Scores, i: int, level: NDArray[np.intp], smallest: float
) -> tuple[NDArray[np.int16], Floats, Floats]:
    """Return the contexts that are probably stages as rows of codes, how probably, and their posterior means."""
    columns = scores.candidates[i][level]
    codes, chances = [np.zeros((0, len(level)), dtype=np.int16)], [np.zeros(0)]
    for variables, probabilities in scores.level_weights(i, level).stage_probabilities(smallest).items():
        probable = probabilities >= smallest
        found = np.full((int(probable.sum()), len(level)), -1, dtype=np.int16)
        found[:, list(variables)] = np.argwhere(probable)
        codes.append(found)
        chances.append(probabilities[probable])
    contexts = np.concatenate(codes)
    means = _means(scores, columns, contexts, _counts_of_codes(scores, i, columns, contexts))
    return contexts, np.concatenate(chances), means


def _means(scores: Scores, columns: NDArray[np.integer], codes: NDArray[np.int16], counts: Floats) -> Floats:
    """Return the posterior means of the parameters in contexts, given as rows of codes, from their counts."""
    sizes = np.where(codes >= 0, scores.counts.cards[columns], 1).astype(float).prod(axis=1)
    return estimate(counts, np.array([scores.a_stage(size) for size in sizes]), "mean")


def _counts_of_codes(scores: Scores, i: int, columns: NDArray[np.integer], codes: NDArray[np.int16]) -> Floats:
    """Return how often each state of a target stands in contexts, rows of codes; equal ones are counted once."""
    where: dict[bytes, int] = {}
    which = [where.setdefault(row.tobytes(), len(where)) for row in codes]
    first = np.unique(which, return_index=True)[1]
    return scores.counts.own(Contexts.of_codes(i, columns, codes[first]))[which, : scores.counts.cards[i]]
