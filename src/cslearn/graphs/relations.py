"""Context-specific conditional independence (CSI) relations, as values and in words."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

from cslearn.stagings import Context

if TYPE_CHECKING:
    from cslearn.cstree import CStree

__all__ = ["CSIRelation", "defining_relations"]


@dataclass(frozen=True)
class CSIRelation:
    """``target _||_ independent_of | context``: in the context, the target depends on none of these variables.

    Parameters
    ----------
    target : str
    independent_of : tuple of str
    context : Context

    Examples
    --------
    >>> from cslearn.graphs import CSIRelation
    >>> from cslearn.stagings import Context
    >>> relation = CSIRelation("carrier", ("background", "diagnosis"), Context({"exposed": "no"}))
    >>> print(relation)
    carrier _||_ background, diagnosis | exposed=no
    >>> print(relation.in_words())
    carrier does not depend on background and diagnosis once exposed is no
    """

    target: str
    independent_of: tuple[str, ...]
    context: Context

    def __str__(self) -> str:
        return f"{self.target} _||_ {', '.join(self.independent_of)} | {self.context}"

    def in_words(self) -> str:
        """Return the relation as an English sentence without its full stop."""
        once = _listed([f"{variable} is {state}" for variable, state in self.context.items()])
        return f"{self.target} does not depend on {_listed(list(self.independent_of))} once {once}"


def defining_relations(tree: CStree) -> list[CSIRelation]:
    """Return the relations of the stages that a DAG cannot say: see :meth:`cslearn.CStree.csi_relations`."""
    relations = []
    for variable in tree.order:
        for context in tree.stagings[variable]:
            left_out = tuple(v for v in tree.parents[variable] if v not in context)
            if left_out:
                relations.append(CSIRelation(variable, left_out, context))
    return relations


def _listed(words: list[str]) -> str:
    return " and ".join([", ".join(words[:-1]), words[-1]] if len(words) > 1 else words)
