"""All distances between two models at once."""

from __future__ import annotations

from dataclasses import dataclass
from math import isfinite
from typing import Any

from cslearn._checked import checked
from cslearn._numerics import RandomState
from cslearn.cstree import CStree
from cslearn.metrics.distances import EdgeScores, edge_scores, ldag_distance, shd
from cslearn.metrics.divergence import Divergence, check_same_states, kl_divergence
from cslearn.metrics.likelihood import HeldOut, held_out
from cslearn.metrics.orders import backward_edges, kendall_distance
from cslearn.metrics.relations import csi_scores

__all__ = ["Comparison", "compare"]


@dataclass(frozen=True)
class Comparison:
    """How a model compares with a reference; see the functions of :mod:`cslearn.metrics` for what each number means.

    Attributes
    ----------
    shd, shd_cpdag : int
    ldag_distance : float
    edges, skeleton, relations : EdgeScores
    kendall : float
        Share of the pairs of variables that the orders put in different order.
    backward : int
        Edges of the reference that point backwards in the order of the model.
    divergence, reverse_divergence : Divergence or None
        D(reference || model) and D(model || reference); None if one of them has no probabilities.
    held_out : tuple of HeldOut, or None
        Of the reference and of the model, if there were data.
    """

    shd: int
    shd_cpdag: int
    ldag_distance: float
    edges: EdgeScores
    skeleton: EdgeScores
    relations: EdgeScores
    kendall: float
    backward: int
    divergence: Divergence | None
    reverse_divergence: Divergence | None
    held_out: tuple[HeldOut | None, HeldOut | None] | None

    def document(self) -> dict[str, Any]:
        """Return the comparison as a JSON document; infinite and undefined numbers are null."""

        def number(value: float) -> float | None:
            return float(value) if isfinite(value) else None

        def scores(found: EdgeScores) -> dict[str, Any]:
            return {
                "reference": found.n_reference,
                "model": found.n_model,
                "precision": found.precision,
                "recall": found.recall,
                "f1": found.f1,
            }

        def divergence(found: Divergence | None) -> dict[str, Any] | None:
            if found is None:
                return None
            return {
                "nats": number(found),
                "infinite": not isfinite(found),
                "method": found.method,
                "standard_error": number(found.standard_error),
            }

        def rows(found: HeldOut | None) -> dict[str, Any] | None:
            if found is None:
                return None
            return {
                "mean_log_prob": number(found.mean),
                "standard_error": number(found.standard_error),
                "rows": found.n,
                "impossible_rows": found.n_impossible,
            }

        return {
            "shd": self.shd,
            "shd_cpdag": self.shd_cpdag,
            "ldag_distance": self.ldag_distance,
            "edges": scores(self.edges),
            "skeleton": scores(self.skeleton),
            "csi_relations": scores(self.relations),
            "order_distance": self.kendall,
            "backward_edges": self.backward,
            "divergence": divergence(self.divergence),
            "reverse_divergence": divergence(self.reverse_divergence),
            "held_out": None
            if self.held_out is None
            else {"reference": rows(self.held_out[0]), "model": rows(self.held_out[1])},
        }


@checked
def compare(
    reference: CStree,
    model: CStree,
    data: Any = None,
    *,
    n_samples: int = 100_000,
    random_state: RandomState = 0,
    **options: Any,
) -> Comparison:
    """Compare a model with a reference, such as a learned model with the one that the data were drawn from.

    Parameters
    ----------
    reference, model : CStree
        Of the same variables with the same states, in whatever order.
    data : table, optional
        Rows for the held-out log-probability of both.
    n_samples, random_state
        Of the Monte Carlo estimate of the divergence where the joint space is too large for exact sums.
    **options
        Options of :func:`cslearn.data.as_table` for the data, such as ``sample_weight``.

    Examples
    --------
    >>> from cslearn import CStreeLearner
    >>> from cslearn.datasets import chickenpox_model
    >>> from cslearn.metrics import compare
    >>> truth = chickenpox_model()
    >>> learned = truth.fit_parameters(truth.sample(500, random_state=0))
    >>> found = compare(truth, learned)
    >>> found.shd, found.relations.recall, found.divergence < 0.02
    (0, 1.0, True)
    """
    check_same_states(reference, model)
    both = reference.parameters is not None and model.parameters is not None

    def divergence(p: CStree, q: CStree) -> Divergence | None:
        return kl_divergence(p, q, n_samples=n_samples, random_state=random_state) if both else None

    def rows(tree: CStree) -> HeldOut | None:
        return held_out(tree, data, **options) if tree.parameters is not None else None

    return Comparison(
        shd=shd(reference, model),
        shd_cpdag=shd(reference, model, cpdag=True),
        ldag_distance=ldag_distance(reference, model),
        edges=edge_scores(reference, model),
        skeleton=edge_scores(reference, model, skeleton=True),
        relations=csi_scores(reference, model),
        kendall=float(kendall_distance(reference.order, model.order, normalised=True)),
        backward=backward_edges(model.order, reference),
        divergence=divergence(reference, model),
        reverse_divergence=divergence(model, reference),
        held_out=None if data is None else (rows(reference), rows(model)),
    )
