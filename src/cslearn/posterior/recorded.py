"""Edge probabilities in a model file: what is kept of them, and the table that is made of it."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from cslearn._checked import checked
from cslearn._wording import option
from cslearn.errors import InputError

if TYPE_CHECKING:
    import pandas as pd

    from cslearn.cstree import CStree
    from cslearn.posterior.posterior import CStreePosterior

__all__ = ["edge_error", "edge_record", "edge_rows", "edge_table", "is_of_one_order"]

# Edges that are less probable, in both directions together, are not kept.
LEAST = 0.01
# A direction is identified if it has at least this share of the probability of the pair.
IDENTIFIED = 0.95


@checked
def edge_record(posterior: CStreePosterior) -> list[dict[str, Any]] | None:
    """Return the edge probabilities as a model file keeps them; None if there are no draws to tell them from.

    Parameters
    ----------
    posterior : CStreePosterior

    Returns
    -------
    list of dict
        For each pair of variables that is joined with a probability of at least 0.01: ``between``, the two names, and
        the probabilities of an edge from the first to the second (``forward``) and back (``backward``).

    Examples
    --------
    >>> from cslearn import CStreeLearner
    >>> from cslearn.datasets import chickenpox_model
    >>> posterior = CStreeLearner().fit(chickenpox_model().sample(1000, random_state=0)).posterior_
    >>> edge_record(posterior)[-1]["between"]
    ['exposed', 'carrier']
    """
    if posterior.exact is None and not all(len(chain.orders) for chain in posterior.chains):
        return None
    values = posterior.edge_shares()
    names, p = posterior.variables, len(posterior.variables)
    return [
        {
            "between": [names[i], names[j]],
            "forward": round(float(values[i, j]), 4),
            "backward": round(float(values[j, i]), 4),
        }
        for i in range(p)
        for j in range(i + 1, p)
        if values[i, j] + values[j, i] >= LEAST
    ]


@checked
def edge_error(posterior: CStreePosterior) -> float | None:
    """Return the largest standard error of the edge probabilities, as chains tell it; None if there are fewer than two.

    Examples
    --------
    >>> from cslearn import CStreeLearner
    >>> from cslearn.datasets import chickenpox_model
    >>> edge_error(CStreeLearner().fit(chickenpox_model().sample(1000, random_state=0)).posterior_)  # all orders
    0.0
    """
    if posterior.exact is None and (len(posterior.chains) < 2 or not all(len(c.orders) for c in posterior.chains)):
        return None
    return round(float(posterior.share_errors().max()), 4)


@checked
def is_of_one_order(tree: CStree) -> bool:
    """Tell whether the edge probabilities that a model file keeps are those given a single order.

    They are where a search ends at a first good order: then they say nothing of directions.

    Examples
    --------
    >>> from cslearn import CStreeLearner
    >>> from cslearn.datasets import chickenpox_model
    >>> data = chickenpox_model().sample(1000, random_state=0)
    >>> [is_of_one_order(CStreeLearner(search=search).fit(data).cstree_) for search in ("greedy", "exact")]
    [True, False]
    """
    orders: dict[str, Any] | None = (tree.learning or {}).get("orders")
    return orders is not None and not orders.get("exact") and sum(chain["draws"] for chain in orders["chains"]) == 1


@checked
def edge_table(tree: CStree, threshold: float = 0.0) -> pd.DataFrame:
    """Return the edge probabilities that a model file keeps, the most probable pairs first.

    Parameters
    ----------
    tree : CStree
        With the record of a fit, as :attr:`CStreeLearner.cstree_ <cslearn.CStreeLearner>` and its file have it.
    threshold : float
        Pairs that are joined with a smaller probability are left out.

    Returns
    -------
    DataFrame
        A row for each pair of variables: ``from`` and ``to``, in the more probable direction; ``directed``, whether
        that direction has at least 95% of the pair's probability, and more than one order was looked at;
        ``probability`` of an edge in that direction if it is directed, of an edge either way if not; ``forward`` and
        ``backward``, the probabilities of the two directions; and ``in_model``, the edge of the model itself: ``"->"``,
        ``"<-"`` or an empty text.

    Raises
    ------
    InputError
        If the file keeps no edge probabilities.

    Examples
    --------
    >>> from cslearn import CStreeLearner
    >>> from cslearn.datasets import chickenpox_model
    >>> from cslearn.posterior import edge_table
    >>> tree = CStreeLearner().fit(chickenpox_model().sample(1000, random_state=0)).cstree_
    >>> edge_table(tree, threshold=0.8)[["from", "to", "directed", "probability"]].round(2)
            from          to  directed  probability
    0  diagnosis     carrier     False         1.00
    1    exposed     carrier      True         0.96
    2    exposed  background     False         0.99
    """
    import pandas as pd

    columns = ["from", "to", "directed", "probability", "forward", "backward", "in_model"]
    return pd.DataFrame(edge_rows(tree, threshold), columns=columns).astype({"directed": bool})


@checked
def edge_rows(tree: CStree, threshold: float = 0.0) -> list[dict[str, Any]]:
    """Return the rows of :func:`edge_table`, as mappings.

    Examples
    --------
    >>> from cslearn import CStreeLearner
    >>> from cslearn.datasets import chickenpox_model
    >>> tree = CStreeLearner().fit(chickenpox_model().sample(1000, random_state=0)).cstree_
    >>> edge_rows(tree, 0.8)[0]["from"]
    'diagnosis'
    """
    if not 0 <= threshold <= 1:
        raise InputError(f"{option('threshold')} is a probability, from 0 to 1, not {threshold!r}")
    kept = (tree.learning or {}).get("edges")
    if kept is None:
        raise InputError(
            "this model keeps no edge probabilities: it was not learned from data, or by a version that did not write"
            " them. Learn it again with cslearn fit or CStreeLearner."
        )
    rows, one_order = [], is_of_one_order(tree)
    for first, second, forward, backward in map(_pair, kept):
        if (forward, first in tree.parents.get(second, ())) < (backward, second in tree.parents.get(first, ())):
            first, second, forward, backward = second, first, backward, forward
        directed = forward >= IDENTIFIED * (forward + backward) and not one_order
        arrow = "->" if first in tree.parents.get(second, ()) else "<-" if second in tree.parents.get(first, ()) else ""
        both = min(forward + backward, 1.0)
        if both >= threshold:
            rows.append(
                {
                    "from": first,
                    "to": second,
                    "directed": directed,
                    "probability": forward if directed else both,
                    "forward": forward,
                    "backward": backward,
                    "in_model": arrow,
                }
            )
    return sorted(rows, key=lambda row: (-row["forward"] - row["backward"], row["from"], row["to"]))


def _pair(entry: Any) -> tuple[str, str, float, float]:
    try:
        first, second = entry["between"]
        return str(first), str(second), float(entry["forward"]), float(entry["backward"])
    except (TypeError, KeyError, ValueError):
        raise InputError(f"the model's record of edge probabilities is damaged: {entry!r}. Learn it again.") from None
