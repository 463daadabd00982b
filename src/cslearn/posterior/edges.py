"""Edges: how probable each is, how far the chains disagree about that, and what tells whether they can be trusted.

Here as in the other modules whose first argument is a posterior: the functions are its methods.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING, Any

import numpy as np

from cslearn.errors import InputError
from cslearn.orders.diagnostics import MAX_ERROR, Quantities, error_of
from cslearn.orders.lookup import are_looked_up
from cslearn.posterior.levels import MOST_NUMBERS, Floats, evenly_spread

if TYPE_CHECKING:
    import networkx as nx
    import pandas as pd

    from cslearn.plots._figure import Picture
    from cslearn.posterior.posterior import CStreePosterior

__all__ = [
    "edge_draws",
    "edge_errors",
    "edge_probabilities",
    "edge_quantities",
    "edge_shares",
    "edge_standards",
    "graph",
    "plot_edge_probabilities",
    "plot_graph",
    "share_errors",
]

# Operations that the edge probabilities of drawn orders may take.
EDGE_WORK = 6 * 10**7
# Edges that are diagnosed: those whose probability varies by this much from order to order, of these not more than so
# many, and none if that is too much work for so many draws of each chain. More draws than these, of all chains, are not
# looked at; where scores are looked up there are enough of them for standard errors.
LEAST_SPREAD = 0.01
MAX_EDGES = 5000
LEAST_DRAWS, MOST_DRAWS, DRAWS_FOR_ERRORS = 200, 2000, 4000


def edge_probabilities(
    posterior: CStreePosterior, directed: bool = True, *, n_orders: int | None = None
) -> pd.DataFrame:
    """Return how probable it is that one variable is a context variable of another.

    Parameters
    ----------
    directed : bool
        True: that the variable of the row is a context variable, in at least one stage, of that of the column.
        False: that one of the two is a context variable of the other.
    n_orders : int, optional
        Orders to average over, by default all that were drawn or as many as take about a second; not needed after
        an exact search.

    Returns
    -------
    DataFrame
        With the variables as index (from) and columns (to).
    """
    found = posterior.edge_shares(n_orders)
    return posterior._frame(found if directed else np.minimum(found + found.T, 1.0))


def edge_shares(posterior: CStreePosterior, n_orders: int | None = None) -> Floats:
    """Return :meth:`edge_probabilities` as an array, shape (p, p), from row to column."""
    if posterior.exact is not None:
        return posterior.exact.context_probabilities
    p = len(posterior.variables)
    orders = posterior._some_orders(EDGE_WORK // posterior._levels.cost_of_edges + 1 if n_orders is None else n_orders)
    parts = np.array_split(orders, len(orders) * p**2 // MOST_NUMBERS + 1)
    return sum((posterior._levels.edges(part).sum(axis=0) for part in parts), np.zeros((p, p))) / len(orders)


def edge_errors(posterior: CStreePosterior) -> pd.DataFrame:
    """Return the standard errors of the edge probabilities: how far the chains disagree about them.

    That is the standard deviation of the probabilities by chain, over the root of the number of chains. It needs no
    convergence to be honest, and is rough if there are few chains. Zero after an exact search; not a number if
    there is one chain.

    Returns
    -------
    DataFrame
        With the variables as index (from) and columns (to).

    Examples
    --------
    >>> from cslearn import Chains, CStreeLearner
    >>> from cslearn.datasets import chickenpox_model
    >>> data = chickenpox_model().sample(1000, random_state=0)
    >>> posterior = CStreeLearner(search=Chains(n_iter=500), random_state=0).fit(data).posterior_
    >>> float(posterior.edge_errors().to_numpy().max()) < 0.2
    True
    """
    return posterior._frame(posterior.share_errors())


def share_errors(posterior: CStreePosterior) -> Floats:
    """Return :meth:`edge_errors` as an array, shape (p, p), from row to column."""
    p, n = len(posterior.variables), len(posterior.chains)
    if posterior.exact is not None:
        return np.zeros((p, p))
    if n < 2:
        return np.full((p, p), np.nan)
    most = max(1, EDGE_WORK // posterior._levels.cost_of_edges // n)
    means = [posterior._levels.edges(evenly_spread(chain.orders, most)).mean(axis=0) for chain in posterior.chains]
    return np.std(means, axis=0, ddof=1) / np.sqrt(n)


def edge_draws(posterior: CStreePosterior, n_orders: int | None = None) -> Floats:
    """Return the edge probabilities given each of the drawn orders, shape (orders, p, p), from row to column."""
    return posterior._levels.edges(posterior._some_orders(n_orders))


def graph(
    posterior: CStreePosterior, threshold: float = 0.5, *, directed: bool = True, n_orders: int | None = None
) -> nx.DiGraph | nx.Graph:
    """Return the graph of the edges that are more probable than a threshold.

    Parameters
    ----------
    threshold : float
        From one half on no edge stands in both directions; a longer cycle is possible, though hardly met.
    directed : bool
        False: an undirected graph of the pairs of which one is a context variable of the other, whichever. It has
        the edges whose direction the data leave open, which may miss the threshold in both directions.
    n_orders : int, optional
        As for :meth:`edge_probabilities`.

    Returns
    -------
    networkx.DiGraph or networkx.Graph
        Edges have the attribute ``probability``.

    Examples
    --------
    >>> from cslearn import CStreeLearner
    >>> from cslearn.datasets import chickenpox_model
    >>> posterior = CStreeLearner().fit(chickenpox_model().sample(1000, random_state=0)).posterior_
    >>> sorted(posterior.graph(0.8).edges)
    [('diagnosis', 'carrier'), ('exposed', 'carrier')]
    >>> len(posterior.graph(0.8, directed=False).edges)
    3
    """
    import networkx as nx

    if not 0 <= threshold < 1:
        raise InputError(f"the threshold is a probability below 1, not {threshold!r}")
    found = posterior.edge_shares(n_orders)
    values = found if directed else np.minimum(found + found.T, 1.0)
    graph = nx.DiGraph() if directed else nx.Graph()
    graph.add_nodes_from(posterior.variables)
    for parent, child in np.argwhere(values > threshold).tolist():
        graph.add_edge(
            posterior.variables[parent], posterior.variables[child], probability=float(values[parent, child])
        )
    return graph


def plot_graph(posterior: CStreePosterior, threshold: float = 0.5) -> Picture:
    """Draw the graph of the probable edges with their probabilities: see :func:`cslearn.plots.plot_edge_graph`.

    Examples
    --------
    >>> from cslearn import CStreeLearner
    >>> from cslearn.datasets import chickenpox_model
    >>> posterior = CStreeLearner().fit(chickenpox_model().sample(1000, random_state=0)).posterior_
    >>> "<svg" in posterior.plot_graph().to_svg()
    True
    """
    from cslearn.plots import plot_edge_graph

    return plot_edge_graph(posterior.edge_probabilities(), threshold)


def plot_edge_probabilities(posterior: CStreePosterior, directed: bool = True) -> Picture:
    """Draw :meth:`edge_probabilities` as a heat map: see :func:`cslearn.plots.plot_edge_probabilities`."""
    from cslearn.plots import plot_edge_probabilities

    return plot_edge_probabilities(posterior.edge_probabilities(directed))


def edge_quantities(posterior: CStreePosterior) -> Iterator[Quantities]:
    if posterior.scores is None or posterior.exact is not None:
        return
    n, p = min(len(chain.orders) for chain in posterior.chains), len(posterior.variables)
    number = _draws_for_edges(posterior)
    if not number:
        return
    some = np.unique(np.linspace(0, n - 1, number).astype(int)) - n
    orders = np.concatenate([chain.orders[some] for chain in posterior.chains])
    # Two digits of each probability: further ones would only be rounding errors for the ranks.
    draws = posterior._levels.edges(orders).round(2).reshape(len(posterior.chains), len(some), p * p)
    spread = draws.std(axis=(0, 1))
    chosen = np.sort(np.argsort(-spread, kind="stable")[:MAX_EDGES])
    chosen = chosen[spread[chosen] >= LEAST_SPREAD]
    names = [f"{posterior.variables[k // p]} -> {posterior.variables[k % p]}" for k in chosen]
    yield Quantities("edge", names, draws[:, :, chosen])


def edge_standards(posterior: CStreePosterior) -> dict[str, Any]:
    if posterior.scores is None or posterior.exact is not None:
        return {}
    number, p = _draws_for_edges(posterior), len(posterior.variables)
    if not number:
        return {"note": f"edges were not looked at, which would take long with {p} variables"}
    if not are_looked_up(posterior.scores):
        return {"max_error": error_of(len(posterior.chains))}
    if number * len(posterior.chains) < DRAWS_FOR_ERRORS and number < min(
        len(chain.orders) for chain in posterior.chains
    ):
        return {"note": f"edges were looked at in {number} draws of each chain, too few for their standard errors"}
    return {"max_error": MAX_ERROR}


def _draws_for_edges(posterior: CStreePosterior) -> int:
    """Return the draws of each chain in which edges are looked at; zero if that takes too long."""
    n, p = min(len(chain.orders) for chain in posterior.chains), len(posterior.variables)
    most = min(EDGE_WORK // posterior._levels.cost_of_edges, MOST_NUMBERS // p**2) // len(posterior.chains)
    if most < min(n, LEAST_DRAWS):
        return 0
    enough = DRAWS_FOR_ERRORS if are_looked_up(posterior._scores) else MOST_DRAWS
    return min(n, most, max(-(-enough // len(posterior.chains)), LEAST_DRAWS))
