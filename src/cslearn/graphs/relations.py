"""Context-specific conditional independence (CSI) relations, as values and in words.

A relation ``A _||_ B | C, x_S`` says that in every joint state of ``C``, and while the variables of ``S`` are in the
states of the context ``x_S``, the variables of ``A`` are independent of those of ``B``.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping, Sequence
from typing import TYPE_CHECKING, Any

from cslearn._checked import checked
from cslearn._wording import condition
from cslearn.errors import InputError
from cslearn.stagings import Context
from cslearn.stagings.types import frozen

if TYPE_CHECKING:
    from cslearn.cstree import CStree
    from cslearn.graphs.ldag import LDAG

__all__ = ["CSIRelation", "defining_relations", "label_relations"]


@checked
class CSIRelation:
    """``left _||_ right | given, context``: a context-specific conditional independence.

    Relations are equal if their sides, conditions and contexts hold the same variables and states, in any order. The
    two sides may be exchanged by :func:`cslearn.graphs.symmetry`; that gives another value.

    Parameters
    ----------
    left, right : str or iterable of str
        Variables that are independent of each other.
    context : Context or mapping of variable to state
    given : str or iterable of str
        Variables that are conditioned on, whatever their states.

    Examples
    --------
    >>> from cslearn.graphs import CSIRelation
    >>> relation = CSIRelation("carrier", ("background", "diagnosis"), {"exposed": "no"})
    >>> print(relation)
    carrier _||_ background, diagnosis | exposed=no
    >>> print(relation.in_words())
    carrier does not depend on background or diagnosis once exposed is no
    >>> print(CSIRelation("a", "b", {"s": 1}, given=["c", "d"]))
    a _||_ b | c, d, s=1
    """

    __slots__ = ("context", "given", "left", "right")

    left: tuple[str, ...]
    right: tuple[str, ...]
    context: Context
    given: tuple[str, ...]

    def __init__(
        self,
        left: str | Iterable[str],
        right: str | Iterable[str],
        context: Context | Mapping[str, Any] | None = None,
        given: str | Iterable[str] = (),
    ) -> None:
        for name, variables in (("left", left), ("right", right), ("given", given)):
            object.__setattr__(self, name, (variables,) if isinstance(variables, str) else tuple(variables))
        object.__setattr__(self, "context", context if isinstance(context, Context) else Context(context or {}))
        if not self.left or not self.right:
            raise InputError("a CSI relation has at least one variable on each side of `_||_`")
        named = [*self.left, *self.right, *self.given, *self.context]
        twice = next((v for v in named if named.count(v) > 1), None)
        if twice is not None:
            raise InputError(f"a CSI relation names each variable once, but {twice!r} is named more than once")

    __setattr__ = frozen

    @classmethod
    def parse(cls, text: str, states: Mapping[str, Sequence[Any]]) -> CSIRelation:
        """Read a relation such as ``carrier _||_ background, diagnosis | exposed=no``.

        Parameters
        ----------
        text : str
            ``⊥``, ``⫫`` and ``⊥⊥`` may stand for ``_||_``. Names and states that hold one of ``, | = "`` or a space at
            an end are written in double quotes, a quote within them doubled. What ``str(relation)`` gives can be read.
        states : mapping of str to sequence of states
            The variables and states that the relation may name, such as ``tree.states``.

        Examples
        --------
        >>> CSIRelation.parse("a _||_ b | c, s=1", {v: (0, 1) for v in "abcs"})
        CSIRelation(left=('a',), right=('b',), context=Context({'s': 1}), given=('c',))
        """
        from cslearn.graphs.statements import parse_relation

        return parse_relation(text, states)

    @property
    def target(self) -> str:
        """The variable on the left, if it is a single one, as in the relation of a stage."""
        if len(self.left) != 1:
            raise InputError(f"({self}) has {len(self.left)} variables on its left, so no single target")
        return self.left[0]

    @property
    def independent_of(self) -> tuple[str, ...]:
        """The variables on the right."""
        return self.right

    @property
    def variables(self) -> frozenset[str]:
        """All variables that the relation names."""
        return frozenset((*self.left, *self.right, *self.given, *self.context))

    def _key(self) -> tuple[Any, ...]:
        return frozenset(self.left), frozenset(self.right), frozenset(self.given), self.context

    def __eq__(self, other: object) -> bool:
        return self._key() == other._key() if isinstance(other, CSIRelation) else NotImplemented

    def __hash__(self) -> int:
        return hash(self._key())

    def __reduce__(self) -> tuple[Any, ...]:
        return CSIRelation, (self.left, self.right, self.context, self.given)

    def __str__(self) -> str:
        sides = " _||_ ".join(", ".join(map(quoted, side)) for side in (self.left, self.right))
        fixed = [f"{quoted(v)}={quoted(x)}" for v, x in self.context.items()]
        conditions = [*map(quoted, self.given), *fixed]
        return sides + (f" | {', '.join(conditions)}" if conditions else "")

    def __repr__(self) -> str:
        return f"CSIRelation(left={self.left}, right={self.right}, context={self.context!r}, given={self.given})"

    def in_words(self, *, dependent: bool = False) -> str:
        """Return the relation as an English sentence without its full stop; its opposite if `dependent`.

        Examples
        --------
        >>> relation = CSIRelation(["a", "b"], "c", {"s": 1}, given="d")
        >>> relation.in_words()
        'a and b do not depend on c once s is 1, whatever d is'
        >>> relation.in_words(dependent=True)
        'a and b depend on c once s is 1, whatever d is'
        """
        verb = "does not depend" if len(self.left) == 1 else "do not depend"
        if dependent:
            verb = "depends" if len(self.left) == 1 else "depend"
        words = f"{_listed(self.left)} {verb} on {_listed(self.right, 'and' if dependent else 'or')}"
        if self.context:
            words += " once " + _listed([condition(v, x, " is ") for v, x in self.context.items()])
        if self.given and self.context:
            words += f", whatever {_listed(self.given)} {'is' if len(self.given) == 1 else 'are'}"
        elif self.given:
            words += f" given {_listed(self.given)}"
        return words

    def to_latex(self) -> str:
        r"""Return the relation as a LaTeX formula, without the dollar signs.

        Examples
        --------
        >>> print(CSIRelation("a_1", "b", {"s": "50%"}).to_latex())
        \text{a\_1} \perp\!\!\!\perp \text{b} \mid \text{s}=\text{50\%}
        """
        names = [", ".join(f"\\text{{{latex(v)}}}" for v in side) for side in (self.left, self.right)]
        fixed = [f"\\text{{{latex(v)}}}=\\text{{{latex(x)}}}" for v, x in self.context.items()]
        conditions = [*(f"\\text{{{latex(v)}}}" for v in self.given), *fixed]
        return " \\perp\\!\\!\\!\\perp ".join(names) + (f" \\mid {', '.join(conditions)}" if conditions else "")

    def check(self, states: Mapping[str, Sequence[Any]]) -> None:
        """Raise an :class:`InputError` if the relation names a variable or a state that is not in `states`."""
        for v in (*self.left, *self.right, *self.given, *self.context):
            if v not in states:
                raise InputError(f"({self}) names {v!r}, but there is no such variable (there are {', '.join(states)})")
        for v, x in self.context.items():
            if x not in states[v]:
                raise InputError(f"({self}): {v!r} has no state {x!r} (it has {', '.join(map(str, states[v]))})")


def defining_relations(tree: CStree) -> list[CSIRelation]:
    """Return the relations of the stages that a DAG cannot say: see :meth:`cslearn.CStree.csi_relations`."""
    relations = []
    for variable in tree.order:
        for context in tree.stagings[variable]:
            left_out = tuple(v for v in tree.parents[variable] if v not in context)
            if left_out:
                relations.append(CSIRelation(variable, left_out, context))
    return relations


def label_relations(ldag: LDAG) -> list[CSIRelation]:
    """Return the relations of the labels of an LDAG: see :meth:`cslearn.LDAG.csi_relations`."""
    relations = []
    for parent, child in ldag.graph.edges:
        others = [v for v in ldag.graph.predecessors(child) if v != parent]
        relations += [
            CSIRelation(child, parent, context, [v for v in others if v not in context])
            for context in ldag.labels.get((parent, child), ())
        ]
    return relations


def quoted(name: Any) -> str:
    """Return a name or state as it is written in a relation: in double quotes if it needs them.

    Examples
    --------
    >>> quoted("odor"), quoted('a "b", c')
    ('odor', '"a ""b"", c"')
    """
    text = str(name)
    plain = text and text == text.strip() and not re.search('[",|=⊥⫫]', text)
    return text if plain else '"' + text.replace('"', '""') + '"'


_LATEX = {
    "\\": r"\textbackslash{}", "~": r"\textasciitilde{}", "^": r"\textasciicircum{}", "<": r"\textless{}",
    ">": r"\textgreater{}", "|": r"\textbar{}", '"': r"\textquotedbl{}", **{c: "\\" + c for c in "&%$#_{}"},
}  # fmt: skip


def latex(name: Any) -> str:
    """Return a name or state with the characters escaped that mean something to LaTeX."""
    return "".join(_LATEX.get(character, character) for character in str(name))


def _listed(words: Sequence[str], last: str = "and") -> str:
    return f" {last} ".join([", ".join(words[:-1]), words[-1]] if len(words) > 1 else words)
