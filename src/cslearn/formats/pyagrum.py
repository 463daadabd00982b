"""Models of the pyAgrum package, both ways (extra ``pyagrum``)."""

from __future__ import annotations

from typing import Any

import numpy as np

from cslearn._checked import checked
from cslearn.cstree import CStree
from cslearn.errors import InputError
from cslearn.formats._extra import optional
from cslearn.formats._network import Factor, as_cstree, factors
from cslearn.formats._text import state_names

__all__ = ["from_pyagrum", "to_pyagrum"]


@checked
def to_pyagrum(tree: CStree) -> Any:
    """Return a CStree with parameters as a ``pyagrum.BayesNet``.

    Labels of pyAgrum are text. States that are increasing integers become an integer variable; other numbers and
    booleans become their text. Contexts are not part of the model: tables are given in full.

    Examples
    --------
    >>> from cslearn.datasets import chickenpox_model
    >>> from cslearn.formats import from_pyagrum, to_pyagrum
    >>> network = to_pyagrum(chickenpox_model())  # doctest: +SKIP
    >>> network.cpt("diagnosis").tolist()  # doctest: +SKIP
    [0.7, 0.3]
    """
    gum = optional("pyagrum", "pyagrum")
    tables = factors(tree)
    network = gum.BayesNet()
    try:
        for variable, states in tree.states.items():
            network.add(_variable(gum, variable, states))
        for factor in tables:
            for parent in factor.parents:
                network.addArc(parent, factor.variable)
        for factor in tables:
            cpt = network.cpt(factor.variable)
            # The axes of a table of pyAgrum are its names in reverse.
            axes = [*factor.parents, factor.variable]
            cpt[:] = np.ascontiguousarray(factor.table.transpose([axes.index(name) for name in reversed(cpt.names)]))
    except gum.GumException as error:
        raise InputError(f"pyAgrum does not take this model: {error}") from None
    return network


def _variable(gum: Any, name: str, states: tuple[Any, ...]) -> Any:
    whole = all(isinstance(state, int) and not isinstance(state, bool) for state in states)
    if whole and len(states) > 1 and list(states) == sorted(states):
        return gum.IntegerVariable(name, name, list(states))
    return gum.LabelizedVariable(name, name, state_names(name, states))


@checked
def from_pyagrum(network: Any) -> CStree:
    """Return a pyAgrum network as a CStree.

    Parameters
    ----------
    network : pyagrum.BayesNet
        The labels of range and integer variables become integers, all others stay text.
    """
    gum = optional("pyagrum", "pyagrum")
    if not isinstance(network, gum.BayesNet):
        raise InputError(f"a network of pyAgrum is asked for, not {type(network).__name__}")
    states: dict[str, tuple[Any, ...]] = {}
    tables = []
    for node in sorted(network.nodes()):
        variable = network.variable(node)
        whole = variable.varType() in (gum.VarType_RANGE, gum.VarType_INTEGER)
        states[variable.name()] = tuple(int(label) if whole else label for label in variable.labels())
    for node in network.topologicalOrder():
        name = network.variable(node).name()
        cpt = network.cpt(node)
        axes = list(reversed(cpt.names))
        parents = [v for v in axes if v != name]
        values = np.asarray(cpt.tolist(), dtype=float).reshape([len(states[v]) for v in axes])
        table = values.transpose([axes.index(v) for v in (*parents, name)])
        tables.append(Factor(name, tuple(parents), table))
    return as_cstree(states, tables)
