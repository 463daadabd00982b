"""Distances between orders.

Different orders may describe the same model: variables of which neither is an ancestor of the other can change places,
and equivalent DAGs turn edges around. So a large distance of orders does not mean a large distance of models.
:func:`backward_edges` asks the weaker question, how many edges of a model an order contradicts.
"""

from __future__ import annotations

from collections.abc import Sequence

from cslearn._checked import checked
from cslearn.errors import InputError
from cslearn.metrics.distances import Model, graph_of

__all__ = ["backward_edges", "kendall_distance"]


@checked
def kendall_distance(a: Sequence[str], b: Sequence[str], *, normalised: bool = False) -> float:
    """Return Kendall's distance: the number of pairs of variables that the two orders put in different order.

    Parameters
    ----------
    a, b : sequence of str
        Orders of the same variables.
    normalised : bool
        Divide by the number of pairs; Kendall's tau is then one minus twice the result.

    Examples
    --------
    >>> from cslearn.metrics import kendall_distance
    >>> kendall_distance("abcd", "bacd"), kendall_distance("abcd", "dcba", normalised=True)
    (1, 1.0)
    """
    if len(set(a)) != len(a) or set(a) != set(b) or len(a) != len(b):
        raise InputError("the orders are not of the same variables, each once")
    place = {variable: position for position, variable in enumerate(b)}
    swapped, _ = _inversions([place[variable] for variable in a])
    pairs = len(a) * (len(a) - 1) // 2
    return swapped / pairs if normalised and pairs else float(swapped) if normalised else swapped


def _inversions(places: list[int]) -> tuple[int, list[int]]:
    """Return the number of pairs in the wrong order, and the sorted places, by merging."""
    if len(places) < 2:
        return 0, places
    half = len(places) // 2
    (left_count, left), (right_count, right) = _inversions(places[:half]), _inversions(places[half:])
    count, merged, i = left_count + right_count, [], 0
    for place in right:
        while i < len(left) and left[i] < place:
            merged.append(left[i])
            i += 1
        count += len(left) - i
        merged.append(place)
    return count, merged + left[i:]


@checked
def backward_edges(order: Sequence[str], model: Model) -> int:
    """Return how many edges of a model's DAG point backwards in an order; 0 if the order is one of the DAG's own.

    Examples
    --------
    >>> from cslearn.datasets import chickenpox_model
    >>> from cslearn.metrics import backward_edges
    >>> backward_edges(["diagnosis", "background", "exposed", "carrier"], chickenpox_model())
    0
    >>> backward_edges(["carrier", "exposed", "diagnosis", "background"], chickenpox_model())
    5
    """
    graph = graph_of(model)
    place = {variable: position for position, variable in enumerate(order)}
    if len(place) != len(order) or set(place) != set(graph):
        raise InputError("the order is not one of the variables of the model, each once")
    return sum(place[parent] > place[child] for parent, child in graph.edges)
