"""Interventions: what the model says would follow if variables were set from outside.

Read causally, the order and the stagings of a CStree say how each variable comes about from those before it. Setting a
variable replaces its own mechanism and leaves the others as they are: its staging becomes a single stage, in which the
chosen state has probability one. What is computed here is right if the model is a true causal one: no common cause of
its variables is left out, and directions are as in the world. Data alone do not tell that.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import TYPE_CHECKING, Any

import numpy as np

from cslearn.errors import InputError

if TYPE_CHECKING:
    import pandas as pd

    from cslearn.cstree import CStree

__all__ = ["average_causal_effect", "causal_effect", "do", "effect_over"]


def do(tree: CStree, interventions: Mapping[str, Any]) -> CStree:
    """See :meth:`cslearn.CStree.do`."""
    from cslearn.cstree import CStree

    if not isinstance(interventions, Mapping):
        raise InputError(f"interventions are a mapping such as {{'x': 'a'}}, not {interventions!r}")
    parameters: dict[str, Any] = dict(tree.needed_parameters())
    stagings: dict[str, Any] = dict(tree.stagings)
    coder = tree.queries.coder
    for name, value in interventions.items():
        coder.variable(name)
        if isinstance(value, Mapping):
            row = coder.weights(name, value)
            if not row.any():
                raise InputError(f"the weights that {name!r} is set with are all zero")
        else:
            row = np.zeros(len(tree.states[name]))
            row[coder.state(name, value)] = 1.0
        stagings[name] = [{}]
        parameters[name] = [row / row.sum()]
    return CStree(tree.order, stagings, parameters, states=tree.states)


def causal_effect(
    tree: CStree, treatment: str, outcome: str, evidence: Mapping[str, Any] | None = None
) -> pd.DataFrame:
    """See :meth:`cslearn.CStree.causal_effect`."""
    import pandas as pd

    from cslearn.inference.queries import labels_index

    coder = tree.queries.coder
    coder.variable(treatment), coder.variable(outcome)
    if treatment == outcome:
        raise InputError(f"{treatment!r} is both treatment and outcome")
    if evidence and treatment in evidence:
        raise InputError(f"{treatment!r} is set, so there can be no evidence on it")
    rows = [do(tree, {treatment: state}).query(outcome, evidence).to_numpy() for state in tree.states[treatment]]
    index = labels_index(tree.states[treatment], treatment)
    return pd.DataFrame(rows, index=index, columns=labels_index(tree.states[outcome], outcome))


def average_causal_effect(
    tree: CStree,
    treatment: str,
    outcome: str,
    change: tuple[Any, Any],
    value: Any = None,
    evidence: Mapping[str, Any] | None = None,
) -> float:
    """See :meth:`cslearn.CStree.average_causal_effect`."""
    coder = tree.queries.coder
    coder.variable(treatment), coder.variable(outcome)
    before, after = (coder.state(treatment, state) for state in change)
    values = _values(tree, outcome, value)
    table = causal_effect(tree, treatment, outcome, evidence).to_numpy()
    return float((table[after] - table[before]) @ values)


def _values(tree: CStree, outcome: str, value: Any) -> Any:
    """Return the number that each state of the outcome counts for."""
    states = tree.states[outcome]
    if isinstance(value, Mapping):
        numbers = dict.fromkeys(range(len(states)), None)
        for state, number in value.items():
            numbers[tree.queries.coder.state(outcome, state)] = number
        lacking = [states[code] for code, number in numbers.items() if number is None]
        if lacking:
            raise InputError(f"value= gives no number for {outcome!r} = {lacking[0]!r}")
        return np.array(list(numbers.values()), dtype=float)
    if value is not None:
        return (np.arange(len(states)) == tree.queries.coder.state(outcome, value)).astype(float)
    if all(isinstance(state, int | float) for state in states):
        return np.array(states, dtype=float)
    raise InputError(
        f"the states of {outcome!r} are not numbers: say by value= which state's probability is meant, or what number"
        " each state counts for"
    )


def effect_over(
    trees: Iterable[CStree],
    treatment: str,
    outcome: str,
    change: tuple[Any, Any],
    value: Any = None,
    evidence: Mapping[str, Any] | None = None,
) -> pd.Series[float]:
    """Return the average causal effect over several models, such as draws from a posterior.

    The spread says how far the data leave the model open, order included. It does not say how true the causal reading
    is.

    Parameters
    ----------
    trees : iterable of CStree
    treatment, outcome, change, value, evidence
        As for :meth:`cslearn.CStree.average_causal_effect`.

    Returns
    -------
    pandas.Series
        ``mean``, ``sd``, the quantiles ``5%``, ``50%`` and ``95%``, and ``models``, how many there were.

    Examples
    --------
    >>> from cslearn.datasets import chickenpox_model
    >>> from cslearn.inference import effect_over
    >>> tree = chickenpox_model()
    >>> refits = [tree.fit_parameters(tree.sample(1000, random_state=seed)) for seed in range(20)]
    >>> effect_over(refits, "exposed", "carrier", change=("no", "yes"), value="yes").round(2)
    mean       0.6...
    sd         0.0...
    5%         0.5...
    50%        0.6...
    95%        0.6...
    models    20.00
    dtype: float64
    """
    import pandas as pd

    effects = np.array([average_causal_effect(tree, treatment, outcome, change, value, evidence) for tree in trees])
    if not len(effects):
        raise InputError("there are no models to take the effect over")
    low, middle, high = np.quantile(effects, [0.05, 0.5, 0.95])
    spread = effects.std(ddof=1) if len(effects) > 1 else np.nan
    return pd.Series(
        {"mean": effects.mean(), "sd": spread, "5%": low, "50%": middle, "95%": high, "models": len(effects)}
    )
