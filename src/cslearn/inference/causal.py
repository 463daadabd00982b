"""Interventions: what the model says would follow if variables were set from outside.

Read causally, the order and the stagings of a CStree say how each variable comes about from those before it. Setting a
variable replaces its own mechanism and leaves the others as they are: its staging becomes a single stage, in which the
chosen state has probability one. What is computed here is right if the model is a true causal one: no common cause of
its variables is left out, and directions are as in the world. Data alone do not tell that.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING, Any

import numpy as np

from cslearn.errors import InputError

if TYPE_CHECKING:
    import pandas as pd

    from cslearn.cstree import CStree

__all__ = ["average_causal_effect", "causal_effect", "do", "expected_value"]


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


def expected_value(
    tree: CStree,
    outcome: str,
    interventions: Mapping[str, Any] | None = None,
    value: Any = None,
    evidence: Mapping[str, Any] | None = None,
) -> float:
    """Return what the states of an outcome count for on average, once variables are set from outside.

    Parameters
    ----------
    tree : CStree
    outcome : str
    interventions : mapping of str to state or odds, optional
        As for :meth:`cslearn.CStree.do`.
    value, evidence
        As for :meth:`cslearn.CStree.average_causal_effect`.
    """
    tree.queries.coder.variable(outcome)
    for name, what in ((outcome, "asked for"), *((name, "evidence") for name in evidence or ())):
        if name in (interventions or ()):
            raise InputError(f"{name!r} is set, so it cannot be {what}")
    values = _values(tree, outcome, value)
    after = do(tree, interventions) if interventions else tree
    return float(after.query(outcome, evidence).to_numpy() @ values)


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
