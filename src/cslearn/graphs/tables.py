"""Tables of CSI relations with the evidence for them: as text, HTML, data frames, CSV and LaTeX."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from html import escape
from typing import TYPE_CHECKING, Any, overload

from cslearn.graphs.relations import CSIRelation

if TYPE_CHECKING:
    import pandas as pd

__all__ = ["RelationTable", "SupportedRelation"]


@dataclass(frozen=True)
class SupportedRelation:
    """A CSI relation with what the data say for it; what is not known is None.

    Attributes
    ----------
    relation : CSIRelation
    log_bayes_factor : float or None
        Natural log of the Bayes factor for the relation against splitting its stage on one of the variables that it
        leaves out, the best of them.
    n_rows : float or None
        Number (or total weight) of the rows in the relation's context.
    probability : float or None
        Posterior probability of the relation.

    Examples
    --------
    >>> from cslearn.graphs import CSIRelation, SupportedRelation
    >>> SupportedRelation(CSIRelation("a", "b", {"s": 1}), log_bayes_factor=2.5, n_rows=100.0).n_rows
    100.0
    """

    relation: CSIRelation
    log_bayes_factor: float | None = None
    n_rows: float | None = None
    probability: float | None = None


# Columns of evidence: attribute, name in frames and CSV, heading for people, format.
_EVIDENCE = (
    ("log_bayes_factor", "log_bayes_factor", "log Bayes factor", "{:.1f}"),
    ("n_rows", "rows", "rows", "{:,.0f}"),
    ("probability", "probability", "probability", "{:.3f}"),
)


class RelationTable(Sequence[SupportedRelation]):
    """CSI relations with the evidence for them, in the order given.

    It is a sequence of :class:`SupportedRelation`. Columns of evidence that no relation has are left out.

    Parameters
    ----------
    relations : iterable of CSIRelation or SupportedRelation

    Examples
    --------
    >>> from cslearn.datasets import chickenpox_model
    >>> from cslearn.graphs import RelationTable
    >>> table = RelationTable(chickenpox_model().csi_relations())
    >>> print(table)
    relation
    exposed _||_ background | diagnosis=yes
    carrier _||_ background, diagnosis | exposed=no
    carrier _||_ background | exposed=yes, diagnosis=no
    >>> table.to_frame().columns.tolist()
    ['relation', 'in_words']
    """

    def __init__(self, relations: Iterable[CSIRelation | SupportedRelation]) -> None:
        self._rows = tuple(SupportedRelation(r) if isinstance(r, CSIRelation) else r for r in relations)

    @overload
    def __getitem__(self, index: int) -> SupportedRelation: ...
    @overload
    def __getitem__(self, index: slice) -> RelationTable: ...
    def __getitem__(self, index: int | slice) -> SupportedRelation | RelationTable:
        return RelationTable(self._rows[index]) if isinstance(index, slice) else self._rows[index]

    def __len__(self) -> int:
        return len(self._rows)

    def __eq__(self, other: object) -> bool:
        return self._rows == other._rows if isinstance(other, RelationTable) else NotImplemented

    def __hash__(self) -> int:
        return hash(self._rows)

    def __repr__(self) -> str:
        return f"RelationTable({len(self)} relations)"

    def _columns(self) -> list[tuple[str, str, str, str]]:
        return [c for c in _EVIDENCE if any(getattr(row, c[0]) is not None for row in self._rows)]

    def _cells(self, relation: Any) -> tuple[list[str], list[list[str]]]:
        """Return the headings and rows for people; `relation` writes a relation."""
        columns = self._columns()
        rows = []
        for row in self._rows:
            values = [(getattr(row, name), form) for name, _, _, form in columns]
            rows.append([relation(row.relation), *("" if x is None else form.format(x) for x, form in values)])
        return ["relation", *(heading for _, _, heading, _ in columns)], rows

    def __str__(self) -> str:
        headings, rows = self._cells(str)
        widths = [max(map(len, column)) for column in zip(headings, *rows, strict=True)]
        lines = []
        for first, *numbers in [headings, *rows]:
            right = [number.rjust(width) for number, width in zip(numbers, widths[1:], strict=True)]
            lines.append("  ".join([first.ljust(widths[0]), *right]).rstrip())
        return "\n".join(lines)

    def to_frame(self) -> pd.DataFrame:
        """Return one row for each relation: as text, in words, and the evidence that there is.

        Examples
        --------
        >>> from cslearn.graphs import CSIRelation, RelationTable, SupportedRelation
        >>> table = RelationTable([SupportedRelation(CSIRelation("a", "b", {"s": 1}), 2.5, 100.0)])
        >>> table.to_frame()
               relation                             in_words  log_bayes_factor   rows
        0  a _||_ b | s=1  a does not depend on b once s is 1               2.5  100.0
        """
        import pandas as pd

        columns: dict[str, list[Any]] = {
            "relation": [str(row.relation) for row in self._rows],
            "in_words": [row.relation.in_words() for row in self._rows],
        }
        for name, short, _, _ in self._columns():
            columns[short] = [getattr(row, name) for row in self._rows]
        return pd.DataFrame(columns)

    def to_csv(self) -> str:
        """Return the table as CSV, with the columns of :meth:`to_frame`."""
        return str(self.to_frame().to_csv(index=False, lineterminator="\n"))

    def to_latex(self) -> str:
        r"""Return the table as a LaTeX ``tabular``; it needs the package ``amsmath``.

        Examples
        --------
        >>> from cslearn.graphs import CSIRelation, RelationTable, SupportedRelation
        >>> print(RelationTable([SupportedRelation(CSIRelation("a", "b", {"s": 1}), 2.5, 100.0)]).to_latex())
        \begin{tabular}{lrr}
        \hline
        relation & log Bayes factor & rows \\
        \hline
        $\text{a} \perp\!\!\!\perp \text{b} \mid \text{s}=\text{1}$ & 2.5 & 100 \\
        \hline
        \end{tabular}
        """
        headings, rows = self._cells(lambda relation: f"${relation.to_latex()}$")
        lines = [" & ".join(row) + r" \\" for row in [headings, *rows]]
        return "\n".join(
            [
                rf"\begin{{tabular}}{{l{'r' * (len(headings) - 1)}}}",
                r"\hline",
                lines[0],
                r"\hline",
                *lines[1:],
                r"\hline",
                r"\end{tabular}",
            ]
        )

    def _repr_html_(self) -> str:
        headings, rows = self._cells(str)
        head = "".join(f"<th>{escape(cell)}</th>" for cell in headings)
        body = "".join("<tr>" + "".join(f"<td>{escape(cell)}</td>" for cell in row) + "</tr>" for row in rows)
        return f"<table><thead><tr>{head}</tr></thead><tbody>{body}</tbody></table>"
