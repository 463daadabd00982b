"""Tables of CSI relations with the evidence for them: as text, HTML, data frames, CSV and LaTeX."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from html import escape
from math import log
from typing import TYPE_CHECKING, Any, Literal, overload

from cslearn._checked import checked
from cslearn.graphs.relations import CSIRelation
from cslearn.stagings import Context

if TYPE_CHECKING:
    import pandas as pd

__all__ = ["RelationTable", "WeighedRelation"]


Verdict = Literal["supported", "undecided", "ignored"]
# The data decide for or against a relation where the Bayes factor is at least three, one way or the other.
DECISIVE = log(3.0)


@dataclass(frozen=True)
class WeighedRelation:
    """A CSI relation of a model with what the data say of it; what is not known is None.

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
    against : str or None
        The variable of that best split.

    Examples
    --------
    >>> from cslearn.graphs import CSIRelation, WeighedRelation
    >>> relation = CSIRelation("a", "b", {"s": 1})
    >>> for factor in (2.5, 0.3, -40.0):
    ...     weighed = WeighedRelation(relation, log_bayes_factor=factor, n_rows=100.0, against="b")
    ...     print(f"{weighed.verdict}: {weighed.in_words()}")
    supported: a does not depend on b once s is 1
    undecided: whether a depends on b once s is 1 is undecided
    ignored: a depends on b once s is 1, which the model ignores
    """

    relation: CSIRelation
    log_bayes_factor: float | None = None
    n_rows: float | None = None
    probability: float | None = None
    against: str | None = None

    @property
    def verdict(self) -> Verdict | None:
        """What the data say: they support the relation, leave it undecided, or the model ignores what they say.

        Supported and ignored are relations whose Bayes factor is at least three for and against them. An ignored
        dependence is one that the context bound, or the search, kept out of the model. None without data.
        """
        if self.log_bayes_factor is None:
            return None
        if self.log_bayes_factor >= DECISIVE:
            return "supported"
        return "ignored" if self.log_bayes_factor <= -DECISIVE else "undecided"

    def in_words(self) -> str:
        """Return what is known as an English sentence without its full stop.

        Only a relation that the data support, or that no data were asked about, is said to hold.
        """
        if self.verdict in (None, "supported"):
            return self.relation.in_words()
        if self.verdict == "undecided":
            return f"whether {self.relation.in_words(dependent=True)} is undecided"
        return f"{self.dependence()}, which the model ignores"

    def dependence(self) -> str:
        """Return in words the dependence that speaks most strongly against the relation."""
        shown = self.relation
        if self.against is not None:
            shown = CSIRelation(shown.left, self.against, shown.context, shown.given)
        return shown.in_words(dependent=True)

    def in_symbols(self, latex: bool = False) -> str:
        """Return the relation with its sign of independence, questioned or struck out if the data do not support it."""
        text = self.relation.to_latex() if latex else str(self.relation)
        sign = r"\perp\!\!\!\perp" if latex else "_||_"
        struck = {"undecided": rf"\overset{{?}}{{{sign}}}" if latex else f"?{sign}",
                  "ignored": rf"\not{sign}" if latex else f"not {sign}"}  # fmt: skip
        return text.replace(f" {sign} ", f" {struck.get(self.verdict or '', sign)} ", 1)


# Columns of evidence: attribute, name in frames and CSV, heading for people, format.
_EVIDENCE = (
    ("verdict", "verdict", "verdict", "{}"),
    ("log_bayes_factor", "log_bayes_factor", "log Bayes factor", "{:.1f}"),
    ("n_rows", "rows", "rows", "{:,.0f}"),
    ("probability", "probability", "probability", "{:.3f}"),
)


def _merged(rows: Iterable[WeighedRelation], states: Mapping[str, Sequence[Any]]) -> list[WeighedRelation]:
    # What was found to matter is part of what is said where the model ignores it, and only there.
    kept = {(row.relation, row.verdict, row.against if row.verdict == "ignored" else None): row for row in rows}
    families: dict[Any, list[Any]] = {}
    left = list(kept)
    for key in left:  # joined relations are appended
        relation, verdict, against = key
        for v in relation.context if key in kept else ():
            rest = Context((u, x) for u, x in relation.context.items() if u != v)
            whole = CSIRelation(relation.left, relation.right, rest, (*relation.given, v))
            family = families.setdefault((whole, verdict, against), [])
            family.append(key)
            members = [member for member in dict.fromkeys(family) if member in kept and v in member[0].context]
            if len(members) < len(states[v]):
                continue
            parts = [kept.pop(member) for member in members]
            factors, counts = [p.log_bayes_factor for p in parts], [p.n_rows for p in parts]
            kept[whole, verdict, against] = WeighedRelation(
                whole, _sum(factors), _sum(counts), parts[0].probability if len(parts) == 1 else None, against
            )
            left.append((whole, verdict, against))
            break
    found = list(kept.values())
    if any(row.log_bayes_factor is not None for row in found):
        found.sort(key=lambda row: -(row.log_bayes_factor or 0.0))
    return found


def _sum(values: list[float | None]) -> float | None:
    known = [value for value in values if value is not None]
    return sum(known) if len(known) == len(values) else None


@checked
class RelationTable(Sequence[WeighedRelation]):
    """CSI relations with the evidence for them, in the order given.

    It is a sequence of :class:`WeighedRelation`. Columns of evidence that no relation has are left out.

    Parameters
    ----------
    relations : iterable of CSIRelation or WeighedRelation

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

    def __init__(self, relations: Iterable[CSIRelation | WeighedRelation]) -> None:
        self._rows = tuple(WeighedRelation(r) if isinstance(r, CSIRelation) else r for r in relations)

    @overload
    def __getitem__(self, index: int) -> WeighedRelation: ...
    @overload
    def __getitem__(self, index: slice) -> RelationTable: ...
    def __getitem__(self, index: int | slice) -> WeighedRelation | RelationTable:
        return RelationTable(self._rows[index]) if isinstance(index, slice) else self._rows[index]

    def __len__(self) -> int:
        return len(self._rows)

    def __eq__(self, other: object) -> bool:
        return self._rows == other._rows if isinstance(other, RelationTable) else NotImplemented

    def __hash__(self) -> int:
        return hash(self._rows)

    def __repr__(self) -> str:
        return f"RelationTable({len(self)} relations)"

    def with_verdict(self, verdict: Verdict | None) -> RelationTable:
        """Return the relations with a verdict; with None, those that no data were asked about.

        Examples
        --------
        >>> from cslearn.graphs import CSIRelation, RelationTable, WeighedRelation
        >>> factors = {"b": 2.5, "c": -40.0}
        >>> table = RelationTable([WeighedRelation(CSIRelation("a", v, {"s": 1}), x) for v, x in factors.items()])
        >>> print(table)
        relation               verdict  log Bayes factor
        a _||_ b | s=1       supported               2.5
        a not _||_ c | s=1     ignored             -40.0
        >>> len(table.with_verdict("supported")), len(table.with_verdict("undecided"))
        (1, 0)
        """
        return RelationTable(row for row in self._rows if row.verdict == verdict)

    def merged(self, states: Mapping[str, Sequence[Any]]) -> RelationTable:
        """Return the table with relations joined that differ in the states of a variable alone, and have all of them.

        By absorption the variable is given then, whatever its state. Relations with different verdicts stay apart. The
        log Bayes factors and the rows of joined relations are summed; their probabilities are left out.

        Examples
        --------
        >>> from cslearn.graphs import CSIRelation, RelationTable
        >>> table = RelationTable([CSIRelation("a", "b", {"s": 1, "t": x}) for x in ("no", "yes")])
        >>> print(table.merged({"s": (0, 1), "t": ("no", "yes")}))
        relation
        a _||_ b | t, s=1
        """
        return RelationTable(_merged(self._rows, states))

    def _columns(self) -> list[tuple[str, str, str, str]]:
        return [c for c in _EVIDENCE if any(getattr(row, c[0]) is not None for row in self._rows)]

    def _cells(self, relation: Any) -> tuple[list[str], list[list[str]]]:
        """Return the headings and rows for people; `relation` writes a relation."""
        columns = self._columns()
        rows = []
        for row in self._rows:
            values = [(getattr(row, name), form) for name, _, _, form in columns]
            rows.append([relation(row), *("" if x is None else form.format(x) for x, form in values)])
        return ["relation", *(heading for _, _, heading, _ in columns)], rows

    def __str__(self) -> str:
        headings, rows = self._cells(WeighedRelation.in_symbols)
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
        >>> from cslearn.graphs import CSIRelation, RelationTable, WeighedRelation
        >>> table = RelationTable([WeighedRelation(CSIRelation("a", "b", {"s": 1}), 2.5, 100.0)])
        >>> table.to_frame().iloc[0].to_dict()
        {'relation': 'a _||_ b | s=1', 'in_words': 'a does not depend on b once s is 1', 'verdict': 'supported',
         'log_bayes_factor': 2.5, 'rows': 100.0}
        """
        import pandas as pd

        columns: dict[str, list[Any]] = {
            "relation": [str(row.relation) for row in self._rows],
            "in_words": [row.in_words() for row in self._rows],
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
        >>> from cslearn.graphs import CSIRelation, RelationTable, WeighedRelation
        >>> print(RelationTable([WeighedRelation(CSIRelation("a", "b", {"s": 1}), 2.5, 100.0)]).to_latex())
        \begin{tabular}{llrr}
        \hline
        relation & verdict & log Bayes factor & rows \\
        \hline
        $\text{a} \perp\!\!\!\perp \text{b} \mid \text{s}=\text{1}$ & supported & 2.5 & 100 \\
        \hline
        \end{tabular}
        """
        headings, rows = self._cells(lambda row: f"${row.in_symbols(latex=True)}$")
        lines = [" & ".join(row) + r" \\" for row in [headings, *rows]]
        return "\n".join(
            [
                rf"\begin{{tabular}}{{l{''.join('l' if h == 'verdict' else 'r' for h in headings[1:])}}}",
                r"\hline",
                lines[0],
                r"\hline",
                *lines[1:],
                r"\hline",
                r"\end{tabular}",
            ]
        )

    def _repr_html_(self) -> str:
        headings, rows = self._cells(WeighedRelation.in_symbols)
        head = "".join(f"<th>{escape(cell)}</th>" for cell in headings)
        body = "".join("<tr>" + "".join(f"<td>{escape(cell)}</td>" for cell in row) + "</tr>" for row in rows)
        return f"<table><thead><tr>{head}</tr></thead><tbody>{body}</tbody></table>"
