"""The order posterior in brief: small enough to be kept in a model file and shown in a report."""

from __future__ import annotations

from math import isfinite
from typing import Any

from cslearn.orders.chains import Chain
from cslearn.orders.posterior import OrderPosterior

__all__ = ["summarise"]

TRACE_POINTS = 400
# The precedence of more variables than this takes more room than the model itself.
PRECEDENCE_LIMIT = 200


def summarise(posterior: OrderPosterior) -> dict[str, Any]:
    """Return a JSON document of what the chains did and what their draws say.

    Parameters
    ----------
    posterior : OrderPosterior

    Returns
    -------
    dict
        ``variables``; ``exact``, whether all orders were searched; for each of the ``chains`` its number of ``moves``,
        how many of these ``changed`` the order, the number of ``draws``, the log order score at the ``start`` and of
        the ``best`` order met, and a ``trace``: the log order score after every so many moves (``every``).
        ``precedence`` has for each variable the share of the draws in which it comes before each of the later variables
        of the list (after an exact search the share of all orders), or is None if there are many variables. ``verdict``
        is what :attr:`OrderPosterior.verdict` says.

    Examples
    --------
    >>> from cslearn import Chains, CStreeLearner
    >>> from cslearn.datasets import chickenpox_model
    >>> learner = CStreeLearner(search=Chains(n_iter=500)).fit(chickenpox_model().sample(1000, random_state=0))
    >>> summary = summarise(learner.posterior_)
    >>> summary["chains"][0]["moves"], summary["chains"][0]["trace"]["every"], summary["chains"][0]["draws"]
    (500, 2, 400)
    >>> [len(row) for row in summary["precedence"]]
    [3, 2, 1, 0]
    """
    p = len(posterior.variables)
    drawn = all(len(chain.orders) for chain in posterior.chains)
    verdict = posterior.verdict if drawn else None
    together = posterior.precedence_shares() if drawn and p <= PRECEDENCE_LIMIT else None
    return {
        "variables": list(posterior.variables),
        "exact": getattr(posterior, "exact", None) is not None,
        "chains": [_chain(chain) for chain in posterior.chains],
        "precedence": None if together is None else [together[i, i + 1 :].round(3).tolist() for i in range(p)],
        "verdict": None
        if verdict is None
        else {
            "converged": verdict.converged,
            "r_hat": _number(verdict.r_hat),
            "ess": _number(verdict.ess),
            "reason": verdict.reason,
            "note": verdict.note,
        },
    }


def _chain(chain: Chain) -> dict[str, Any]:
    every = max(1, -(-chain.n_iter // TRACE_POINTS))
    return {
        "moves": chain.n_iter,
        "changed": int(chain.moved),
        "draws": len(chain.orders),
        "start": _number(chain.start_log_score),
        "best": _number(chain.best_log_score),
        "trace": {"every": every, "log_scores": [_number(x) for x in chain.trace[every - 1 :: every].tolist()]},
    }


def _number(value: float) -> float | None:
    return round(float(value), 3) if isfinite(value) else None
