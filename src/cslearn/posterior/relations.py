"""How probable it is that the CStree entails a relation."""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from typing import TYPE_CHECKING

from cslearn._numerics import RandomState, as_generator
from cslearn.cstree import CStree
from cslearn.graphs import CSIRelation
from cslearn.posterior.draws import drawn_structures, structure_of
from cslearn.posterior.levels import N_ORDERS

if TYPE_CHECKING:
    from cslearn.posterior.posterior import CStreePosterior

__all__ = ["relation_probabilities", "relation_probability"]


def relation_probability(
    posterior: CStreePosterior, relation: CSIRelation | str, *, n_draws: int = N_ORDERS, random_state: RandomState = 0
) -> float:
    """Return the probability that the CStree entails a CSI relation: that it holds for all its parameters.

    It is the share, of CStrees drawn from the posterior, of those that :meth:`cslearn.CStree.implies` it. Whether a
    relation holds depends on the stagings of all variables between its sides, so that there is no closed form. The
    standard error of a probability `q` is the square root of ``q (1 - q) / n_draws``: at most 0.035 for 200.

    Parameters
    ----------
    relation : CSIRelation or str
        A text is read by :meth:`cslearn.graphs.CSIRelation.parse`.
    n_draws : int
        CStrees that are drawn.
    random_state : int, Generator or None

    Raises
    ------
    LimitError
        If a drawn CStree is too large to decide; see :meth:`cslearn.CStree.implies`.

    Examples
    --------
    >>> from cslearn import CStreeLearner
    >>> from cslearn.datasets import chickenpox_model
    >>> posterior = CStreeLearner().fit(chickenpox_model().sample(1000, random_state=0)).posterior_
    >>> posterior.relation_probability("diagnosis _||_ carrier") < 0.05
    True
    >>> posterior.relation_probability("background _||_ carrier | exposed=no") > 0.5
    True
    """
    if isinstance(relation, str):
        relation = CSIRelation.parse(relation, posterior._scores.table.state_map)
    return _relation_probabilities(posterior, [relation], n_draws, random_state)[relation]


def relation_probabilities(
    posterior: CStreePosterior, tree: CStree, *, n_draws: int = N_ORDERS, random_state: RandomState = 0
) -> dict[CSIRelation, float]:
    """Return :meth:`relation_probability` of all relations of a CStree, as ``relation_table`` takes them.

    Examples
    --------
    >>> from cslearn import CStreeLearner
    >>> from cslearn.datasets import chickenpox_model
    >>> learner = CStreeLearner().fit(chickenpox_model().sample(1000, random_state=0))
    >>> probabilities = learner.posterior_.relation_probabilities(learner.cstree_)
    >>> all(0 <= p <= 1 for p in probabilities.values())
    True
    """
    return _relation_probabilities(posterior, tree.csi_relations(), n_draws, random_state)


def _relation_probabilities(
    posterior: CStreePosterior, relations: Sequence[CSIRelation], n_draws: int, random_state: RandomState
) -> dict[CSIRelation, float]:
    from cslearn.graphs.entailment import Entailment

    # Few variables have few structures, which are drawn again and again.
    drawn = Counter(zip(*drawn_structures(posterior, n_draws, as_generator(random_state)), strict=True))
    found = dict.fromkeys(relations, 0)
    for (order, stagings), times in drawn.items():
        holds = Entailment(structure_of(posterior, order, stagings))
        for relation in relations:
            found[relation] += times * holds.implies(relation)
    return {relation: number / n_draws for relation, number in found.items()}
