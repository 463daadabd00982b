"""The Kullback-Leibler divergence of two models, exact or by Monte Carlo."""

from __future__ import annotations

from math import inf, prod
from typing import Literal

import numpy as np

from cslearn._checked import checked
from cslearn._numerics import RandomState
from cslearn._parameters import Row, Table, check, kind, whole
from cslearn._wording import wording
from cslearn.cstree import CStree
from cslearn.cstree.joint import log_joint
from cslearn.errors import InputError

__all__ = ["Divergence", "check_same_states", "kl_divergence"]

EXACT_LIMIT = 1 << 22


class Divergence(float):
    """A Kullback-Leibler divergence: a float that says how it was computed.

    Attributes
    ----------
    method : {"exact", "monte carlo"}
    standard_error : float
        Zero if exact.
    n_samples : int
        Number of draws; zero if exact.
    """

    method: Literal["exact", "monte carlo"]
    standard_error: float
    n_samples: int

    def __new__(cls, value: float, n_samples: int = 0, standard_error: float = 0.0) -> Divergence:
        self = super().__new__(cls, value)
        self.method = "monte carlo" if n_samples else "exact"
        self.standard_error = standard_error
        self.n_samples = n_samples
        return self

    def __repr__(self) -> str:
        if not self.n_samples:
            return f"{float(self)} (exact)"
        return f"{float(self):.6g} ± {self.standard_error:.2g} (Monte Carlo, {self.n_samples:,} draws)"


ALLOWED: Table = {
    "p": Row(kind("a CStree", CStree)),
    "q": Row(kind("a CStree", CStree)),
    "method": Row("auto", "exact", "monte carlo"),
    "n_samples": Row(whole(2)),
}


@checked
def kl_divergence(
    p: CStree,
    q: CStree,
    *,
    method: Literal["auto", "exact", "monte carlo"] = "auto",
    n_samples: int = 100_000,
    random_state: RandomState = 0,
) -> Divergence:
    """Return the Kullback-Leibler divergence ``D(p || q) = sum_x p(x) log(p(x) / q(x))``, in nats.

    Parameters
    ----------
    p, q : CStree
        Two models with parameters, of the same variables with the same states, in whatever order.
    method : {"auto", "exact", "monte carlo"}
        ``auto`` is exact for joint spaces of up to 2^22 outcomes and Monte Carlo beyond.
    n_samples : int
        Number of outcomes to draw from `p` for Monte Carlo.
    random_state : int, Generator or None
        Seed for Monte Carlo.

    Returns
    -------
    Divergence
        A float with the attributes `method`, `standard_error` and `n_samples`. Infinite exactly if `q` gives
        probability zero to an outcome that `p` does not, also for Monte Carlo.

    Examples
    --------
    >>> from cslearn import kl_divergence, random_cstree
    >>> from cslearn.datasets import chickenpox_model
    >>> tree = chickenpox_model()
    >>> kl_divergence(tree, tree)
    0.0 (exact)
    >>> fitted = tree.fit_parameters(tree.sample(1000, random_state=0))
    >>> kl_divergence(tree, fitted) < 0.01
    True
    >>> big = random_cstree(50, random_state=0)
    >>> kl_divergence(big, big, n_samples=1000)
    0 ± 0 (Monte Carlo, 1,000 draws)
    """
    check(ALLOWED, locals())
    _check_same_variables(p, q)
    size = prod(map(len, p.states.values()))
    if method == "exact" or (method == "auto" and size <= EXACT_LIMIT):
        if size > EXACT_LIMIT:
            raise InputError(
                f"the joint space has {size:,} outcomes and the exact divergence is limited to {EXACT_LIMIT:,}:"
                " use method='monte carlo'"
            )
        return _exact(p, q)
    if _leaves_support(p, q):
        return Divergence(inf)
    drawn = p.sample_table(n_samples, random_state)
    ratios = p.log_prob(drawn) - q.log_prob(drawn.to_frame() if drawn.states != _states_of(q, p) else drawn)
    return Divergence(float(ratios.mean()), n_samples, float(ratios.std(ddof=1) / np.sqrt(n_samples)))


def _states_of(model: CStree, like: CStree) -> tuple[tuple[object, ...], ...]:
    return tuple(model.states[v] for v in like.variables)


def _exact(p: CStree, q: CStree) -> Divergence:
    log_p = log_joint(p)
    log_q = log_joint(q, p.variables)
    axes = [v for v in p.variables if len(p.states[v]) > 1]
    if axes:
        # q may list the states of a variable in another order.
        log_q = log_q[np.ix_(*([q.states[v].index(x) for x in p.states[v]] for v in axes))]
    possible = log_p > -inf
    if (log_q[possible] == -inf).any():
        return Divergence(inf)
    log_p, log_q = log_p[possible], log_q[possible]
    # Each term p log(p/q) + q - p is >= 0, so a divergence near zero has no cancellation and never is negative.
    ratio = log_q - log_p
    near = np.minimum(ratio, 1.0)
    terms = np.where(
        ratio <= 1.0,
        np.exp(log_p) * (np.expm1(near) - near),
        np.exp(log_q) - np.exp(log_p) * (1.0 + ratio),
    )
    return Divergence(float(terms.sum() + max(0.0, 1.0 - float(np.exp(log_q).sum()))))


def _check_same_variables(p: CStree, q: CStree) -> None:
    for model, name in ((p, "p"), (q, "q")):
        if model.parameters is None:
            remedy = wording("estimate them with fit_parameters(data)", "`cslearn fit` writes models that have them")
            raise InputError(f"{name} has no parameters: {remedy}")
    check_same_states(p, q)


def check_same_states(p: CStree, q: CStree) -> None:
    """Refuse two models that are not of the same variables with the same states."""
    if set(p.variables) != set(q.variables):
        odd = sorted(set(p.variables) ^ set(q.variables))
        raise InputError(f"the models have different variables: {', '.join(odd)}")
    for variable in p.variables:
        if set(p.states[variable]) != set(q.states[variable]):
            raise InputError(
                f"the models have different states of {variable!r}: {list(p.states[variable])} and"
                f" {list(q.states[variable])}"
            )


def _leaves_support(p: CStree, q: CStree) -> bool:
    """Tell whether an outcome that `p` can produce has probability zero under `q`.

    `q` gives zero to the outcomes that agree with a context and a state of the target in it; for each such partial
    assignment it is searched whether `p` can produce it.
    """
    import networkx as nx

    assert q.parameters is not None
    if all((rows > 0).all() for rows in p.needed_parameters().values()):  # then every outcome can be produced
        return any((rows == 0).any() for rows in q.parameters.values())
    dag = p.to_dag()
    for variable in q.order:
        for context, row in zip(q.stagings[variable], q.parameters[variable], strict=True):
            for state, probability in zip(q.states[variable], row, strict=True):
                if probability == 0:
                    assignment = {**context, variable: state}
                    relevant = set(assignment).union(*(nx.ancestors(dag, v) for v in assignment))
                    if _can_produce(p, [v for v in p.order if v in relevant], assignment):
                        return True
    return False


def _can_produce(tree: CStree, order: list[str], assignment: dict[str, object]) -> bool:
    """Tell whether a partial assignment has positive probability, by a search over its variables and their ancestors.

    `order` has these in the order of the tree. One after the other gets a state that is possible given those before it;
    where there is none left the search goes back to the one before.
    """
    parameters = tree.needed_parameters()
    outcome: dict[str, object] = {}
    untried: list[list[object]] = []
    while len(untried) < len(order):
        variable = order[len(untried)]
        row = parameters[variable][tree.stagings[variable].stage_of(outcome)]
        possible = [state for state, chance in zip(tree.states[variable], row, strict=True) if chance > 0]
        untried.append([state for state in possible if assignment.get(variable, state) == state])
        while not untried[-1]:
            untried.pop()
            if not untried:
                return False
            del outcome[order[len(untried) - 1]]
        outcome[order[len(untried) - 1]] = untried[-1].pop()
    return True
