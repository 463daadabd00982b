"""Models of the pgmpy package, both ways (extra ``pgmpy``)."""

from __future__ import annotations

from typing import Any

import numpy as np

from cslearn._checked import checked
from cslearn.cstree import CStree
from cslearn.errors import InputError
from cslearn.formats._extra import optional
from cslearn.formats._network import Factor, as_cstree, factors

__all__ = ["from_pgmpy", "to_pgmpy"]


@checked
def to_pgmpy(tree: CStree) -> Any:
    """Return a CStree with parameters as a ``pgmpy.models.DiscreteBayesianNetwork``.

    States keep their types. Contexts are not part of the model: tables are given in full.

    Examples
    --------
    >>> from cslearn.datasets import chickenpox_model
    >>> from cslearn.formats import from_pgmpy, to_pgmpy
    >>> network = to_pgmpy(chickenpox_model())  # doctest: +SKIP
    >>> network.get_cpds("diagnosis").values  # doctest: +SKIP
    array([0.7, 0.3])
    """
    models = optional("pgmpy.models", "pgmpy")
    tabular = optional("pgmpy.factors.discrete", "pgmpy").TabularCPD
    network = models.DiscreteBayesianNetwork()
    network.add_nodes_from(tree.variables)
    for factor in factors(tree):
        card = len(tree.states[factor.variable])
        network.add_edges_from((parent, factor.variable) for parent in factor.parents)
        network.add_cpds(
            tabular(
                factor.variable,
                card,
                factor.table.reshape(-1, card).T,
                evidence=list(factor.parents) or None,
                evidence_card=[len(tree.states[v]) for v in factor.parents] or None,
                state_names={v: list(tree.states[v]) for v in (factor.variable, *factor.parents)},
            )
        )
    return network


@checked
def from_pgmpy(network: Any) -> CStree:
    """Return a pgmpy network, with a table for each of its nodes, as a CStree.

    Parameters
    ----------
    network : pgmpy.models.DiscreteBayesianNetwork
        Its nodes are named by strings.
    """
    if not hasattr(network, "get_cpds"):
        raise InputError(f"a network of pgmpy is asked for, not {type(network).__name__}")
    tables, states = [], {}
    for node in network.nodes:
        cpd = network.get_cpds(node)
        if cpd is None:
            raise InputError(f"the network has no table for {node!r}: add it with add_cpds")
        states[node] = tuple(cpd.state_names[node])
        values = np.asarray(cpd.get_values(), dtype=float)
        parents = tuple(cpd.variables[1:])
        shape = [len(cpd.state_names[v]) for v in parents]
        tables.append((node, parents, values.T.reshape([*shape, len(states[node])]), cpd.state_names))
    found = []
    for node, parents, table, names in tables:
        for axis, parent in enumerate(parents):
            # A table may list the states of a parent in an order of its own.
            if parent not in states or set(names[parent]) != set(states[parent]):
                raise InputError(f"the table of {node!r} gives {parent!r} other states than its own table")
            table = table.take([list(names[parent]).index(state) for state in states[parent]], axis=axis)
        found.append(Factor(node, parents, table))
    return as_cstree(states, found)
