r"""BIF, the text format of Bayesian networks that bnlearn, JavaBayes, pgmpy and pyAgrum read and write.

A file declares variables with their states, and then a table for each variable::

    variable rain {
      type discrete [ 2 ] { no, yes };
    }
    probability ( wet | rain ) {
      (no) 0.9, 0.1;
      (yes) 0.2, 0.8;
    }

The rules of reading:

* A word is either in double quotes, with the escapes of JSON strings, or a run of characters without white space and
  without any of ``{ } ( ) [ ] , ; | "``. So ``<5``, ``12+`` and ``Asy/Patch`` of the files in circulation are words.
* ``//`` and ``/* */`` begin comments where a word could begin. Properties are skipped.
* ``table`` lists the numbers with the state of the variable itself moving slowest and that of the last parent fastest,
  as JavaBayes does. ``default`` is for the rows that are not listed.

Writing puts names in quotes only where they are not plain words, so that other programs, most of which know no
quotes, read the rest. The variables stand in the order of the columns and the tables in the order of the CStree.
States that are numbers or booleans are written as text with a property beside them, from which they are read back as
what they were.
"""

from __future__ import annotations

import json
import re
from collections.abc import Iterator
from itertools import product
from math import isfinite, prod
from os import PathLike

import numpy as np
from numpy.typing import NDArray

from cslearn._checked import checked
from cslearn._files import atomic_write
from cslearn.cstree import CStree
from cslearn.errors import InputError
from cslearn.formats._network import Factor, as_cstree, check_size, factors
from cslearn.formats._text import (
    STATE_LIMIT,
    check_many,
    naming,
    read_text,
    restored_states,
    shown,
    state_names,
    typed_states,
)

__all__ = ["from_bif", "read_bif", "to_bif", "write_bif"]

DEFAULT_LIMIT = 1 << 12

_PLAIN = re.compile(r"[A-Za-z0-9_<>=+.:-]+(/[A-Za-z0-9_<>=+.:-]+)*")
_TOKEN = re.compile(
    r"""(?:\s+|//[^\n]*|/\*(?s:.*?)\*/)*+
    (?: (?P<sign>[{}()\[\],;|]) | (?P<quoted>"(?:[^"\\]|\\.)*+") | (?P<word>(?!/\*)[^\s{}()\[\],;|"]++)
      | (?P<end>\Z) )""",
    re.VERBOSE,
)
_PROPERTY = re.compile(r'\s*+(?:"(?P<quoted>(?:[^"\\]|\\.)*+)"\s*+;|(?P<bare>[^;{}]*+);)')
_NUMBER = re.compile(r"[+-]?(?:[0-9]++(?:\.[0-9]*+)?|\.[0-9]++)(?:[eE][+-]?[0-9]{1,4})?")


# ---------------------------------------------------------------- writing
@checked
def to_bif(tree: CStree) -> str:
    """Return a CStree with parameters as BIF text: its DAG, with the table of each variable given its parents.

    Contexts are not part of BIF: a row that holds for a whole stage is repeated for each joint state of the parents.

    Raises
    ------
    LimitError
        If a table would be too large.

    Examples
    --------
    >>> from cslearn.datasets import chickenpox_model
    >>> from cslearn.formats import to_bif
    >>> print(to_bif(chickenpox_model()))
    network unknown {
    ...
    probability ( exposed | background, diagnosis ) {
      (rural, no) 0.8, 0.2;
      (rural, yes) 0.65, 0.35;
      (urban, no) 0.55, 0.45;
      (urban, yes) 0.65, 0.35;
    }
    ...
    """
    tables = factors(tree)
    lines = ["network unknown {", "}"]
    for variable, states in tree.states.items():
        names = ", ".join(map(_word, state_names(variable, states)))
        lines += [f"variable {_word(variable)} {{", f"  type discrete [ {len(states)} ] {{ {names} }};"]
        typed = typed_states(states)
        lines += [f"  property {typed};"] if typed else []
        lines.append("}")
    for factor in tables:
        given = " | " + ", ".join(map(_word, factor.parents)) if factor.parents else ""
        lines.append(f"probability ( {_word(factor.variable)}{given} ) {{")
        if not factor.parents:
            lines.append(f"  table {_numbers(factor.table)};")
        else:
            names_of = [[_word(name) for name in state_names(v, tree.states[v])] for v in factor.parents]
            rows = factor.table.reshape(-1, factor.table.shape[-1])
            for outcome, row in zip(product(*names_of), rows, strict=True):
                lines.append(f"  ({', '.join(outcome)}) {_numbers(row)};")
        lines.append("}")
    return "\n".join(lines) + "\n"


def _word(name: str) -> str:
    return name if _PLAIN.fullmatch(name) else json.dumps(name, ensure_ascii=False)


def _numbers(row: NDArray[np.float64]) -> str:
    return ", ".join(map(repr, row.tolist()))


@checked
def write_bif(tree: CStree, path: str | PathLike[str]) -> None:
    """Write a CStree with parameters as a BIF file; see :func:`to_bif`.

    Examples
    --------
    >>> import pathlib, tempfile
    >>> from cslearn import kl_divergence
    >>> from cslearn.datasets import chickenpox_model
    >>> from cslearn.formats import read_bif, write_bif
    >>> path = pathlib.Path(tempfile.mkdtemp()) / "model.bif"
    >>> write_bif(chickenpox_model(), path)
    >>> kl_divergence(chickenpox_model(), read_bif(path))
    0.0 (exact)
    """
    atomic_write(path, to_bif(tree))


# ---------------------------------------------------------------- reading
@checked
def read_bif(path: str | PathLike[str]) -> CStree:
    """Read a BIF file, which may be gzipped (``.bif.gz``).

    Returns
    -------
    CStree
        With one stage for each joint state of the parents of a variable.

    Raises
    ------
    FileError
        If the file is missing, damaged, too large, or not BIF; the message names the line.
    """
    text = read_text(path)
    with naming(path):
        return from_bif(text)


@checked
def from_bif(text: str) -> CStree:
    """Return the Bayesian network that BIF text describes, as a CStree; an :class:`InputError` names the line.

    Examples
    --------
    >>> from cslearn.formats import from_bif
    >>> tree = from_bif('''
    ... network example { }
    ... variable rain { type discrete [2] { no, yes }; }
    ... variable wet { type discrete [2] { no, yes }; }
    ... probability ( rain ) { table 0.7, 0.3; }
    ... probability ( wet | rain ) { (no) 0.9, 0.1; (yes) 0.2, 0.8; }
    ... ''')
    >>> print(tree.stagings["wet"])
    rain=no | rain=yes
    """
    reader = _Reader(text)
    states: dict[str, tuple[object, ...]] = {}
    names: dict[str, dict[str, int]] = {}
    tables: list[Factor] = []
    done: set[str] = set()
    n_states, started = 0, False
    while not reader.at_end():
        keyword = reader.word("`network`, `variable` or `probability`")
        if keyword == "network" and not started:
            reader.network()
        elif keyword == "variable":
            variable, outcomes, properties = reader.variable()
            if variable in states:
                raise reader.error(f"the variable {shown(variable)} is declared twice")
            if not variable:
                raise reader.error("a variable has no name")
            states[variable] = restored_states(outcomes, properties)
            n_states += len(outcomes)
            check_many(len(states), n_states)
            names[variable] = {name: x for x, name in enumerate(outcomes)}
            if len(names[variable]) != len(outcomes):
                raise reader.error(f"{shown(variable)} has a state twice")
        elif keyword == "probability":
            factor = reader.probability(names)
            if factor.variable in done:
                raise reader.error(f"there are two tables for {shown(factor.variable)}")
            done.add(factor.variable)
            tables.append(factor)
        else:
            raise reader.error(f"expected `network`, `variable` or `probability`, not {shown(keyword)}")
        started = True
    if not states:
        raise InputError("it declares no variables, so it is not BIF")
    lacking = [v for v in states if v not in done]
    if lacking:
        raise InputError(f"it has no table for {shown(lacking[0])}; is it cut off?")
    return as_cstree(states, tables)


class _Reader:
    """BIF text as a sequence of words and signs, read from the left, one at a time."""

    def __init__(self, text: str) -> None:
        self.text = text
        self.position = 0
        self.start = 0
        self.kind = ""
        self.token = ""
        self.cells = 0
        self.advance()

    def error(self, what: str) -> InputError:
        return InputError(f"line {self.text.count(chr(10), 0, self.start) + 1}: {what}")

    def advance(self) -> None:
        match = _TOKEN.match(self.text, self.position)
        if match is None:
            self.start = self.position
            raise self.error(f"a quote or comment is not closed at {shown(self.text[self.position :].lstrip())}")
        self.kind = str(match.lastgroup)
        self.token, self.start, self.position = match[self.kind], match.start(self.kind), match.end()

    def at_end(self) -> bool:
        return self.kind == "end"

    def at(self, sign: str) -> bool:
        return self.kind == "sign" and self.token == sign

    def found(self) -> str:
        return "the end of the file" if self.at_end() else shown(self.token)

    def sign(self, sign: str) -> None:
        if not self.at(sign):
            raise self.error(f"expected `{sign}`, not {self.found()}")
        self.advance()

    def skip(self, sign: str) -> bool:
        there = self.at(sign)
        if there:
            self.advance()
        return there

    def word(self, what: str) -> str:
        if self.kind == "quoted":
            try:
                value = str(json.loads(self.token, strict=False))
            except ValueError:
                raise self.error(f"{shown(self.token)} has an escape that JSON strings do not have") from None
        elif self.kind == "word":
            value = self.token
        else:
            raise self.error(f"expected {what}, not {self.found()}")
        self.advance()
        return value

    def number(self) -> float:
        if self.kind != "word" or not _NUMBER.fullmatch(self.token):
            raise self.error(f"expected a number, not {self.found()}")
        value = float(self.token)
        if not isfinite(value):
            raise self.error(f"{shown(self.token)} is too large for a number")
        self.advance()
        return value

    def property(self) -> str:
        """Read a property, whose text may be anything up to a semicolon; the word `property` is the current token."""
        match = _PROPERTY.match(self.text, self.position)
        if match is None:
            raise self.error("a property is not ended by `;`")
        self.position = match.end()
        self.advance()
        return match["bare"] if match["bare"] is not None else match["quoted"]

    def network(self) -> None:
        if not self.at("{"):
            self.word("the name of the network")
        self.sign("{")
        while not self.skip("}"):
            if self.kind != "word" or self.token != "property":
                raise self.error(f"expected `property` or `}}`, not {self.found()}")
            self.property()

    def variable(self) -> tuple[str, list[str], list[str]]:
        name = self.word("the name of a variable")
        outcomes: list[str] | None = None
        properties: list[str] = []
        self.sign("{")
        while not self.skip("}"):
            if self.kind == "word" and self.token == "property":
                properties.append(self.property())
            elif outcomes is None and self.word("`type`") == "type":
                outcomes = self.outcomes(name)
            else:
                raise self.error(f"expected one `type` of the variable {shown(name)}")
        if outcomes is None:
            raise self.error(f"the variable {shown(name)} has no `type`")
        return name, outcomes, properties

    def outcomes(self, variable: str) -> list[str]:
        kind = self.word("`discrete`")
        if kind != "discrete":
            raise self.error(f"{shown(variable)} is of type {shown(kind)}, but only discrete variables are read")
        declared = None
        if self.skip("["):
            declared = self.word("the number of states")
            if not re.fullmatch(r"[0-9]{1,9}", declared) or int(declared) > STATE_LIMIT:
                raise self.error(f"the number of states of {shown(variable)} is {shown(declared)}")
            self.sign("]")
        self.sign("{")
        outcomes = [self.word("a state")]
        while not self.skip("}"):
            self.skip(",")
            outcomes.append(self.word("a state"))
            if len(outcomes) > (STATE_LIMIT if declared is None else int(declared)):
                raise self.error(f"{shown(variable)} has more than {declared or STATE_LIMIT} states")
        if declared is not None and int(declared) != len(outcomes):
            raise self.error(f"{shown(variable)} has {len(outcomes)} states where {declared} are declared")
        self.sign(";")
        return outcomes

    def probability(self, names: dict[str, dict[str, int]]) -> Factor:
        self.sign("(")
        variable = self.known(names)
        parents: list[str] = []
        if self.skip("|") and not self.at(")"):
            parents.append(self.known(names))
            while self.skip(","):
                parents.append(self.known(names))
        self.sign(")")
        if len({variable, *parents}) != len(parents) + 1:
            raise self.error(f"the table of {shown(variable)} names a variable twice")
        cards = {v: len(names[v]) for v in (variable, *parents)}
        self.cells = check_size(cards, {variable: parents}, self.cells)
        shape = [len(names[v]) for v in (*parents, variable)]
        table = np.full(shape, np.nan)
        listed = np.zeros(shape[:-1], dtype=bool)
        default: list[float] | None = None
        self.sign("{")
        while not self.skip("}"):
            if self.at("("):
                row = tuple(self.row_states(parents, names))
                if listed[row]:
                    raise self.error(f"the table of {shown(variable)} has a row twice")
                listed[row] = True
                table[row] = self.numbers(shape[-1])
            elif self.kind == "word" and self.token == "property":
                self.property()
            elif (keyword := self.word("a row")) == "table" and not listed.any():
                listed[...] = True
                # The variable itself moves slowest, the last parent fastest.
                table = np.moveaxis(np.reshape(self.numbers(prod(shape)), [shape[-1], *shape[:-1]]), 0, -1)
            elif keyword == "default" and default is None:
                default = self.numbers(shape[-1])
            else:
                raise self.error(f"did not expect {shown(keyword)} in the table of {shown(variable)}")
        if not listed.all():
            if default is None:
                raise self.error(
                    f"the table of {shown(variable)} lacks {int((~listed).sum())} of its {listed.size} rows"
                )
            if (~listed).sum() > DEFAULT_LIMIT:
                raise self.error(f"`default` stands for more than {DEFAULT_LIMIT:,} rows of {shown(variable)}")
            table[~listed] = default
        return Factor(variable, tuple(parents), table)

    def known(self, names: dict[str, dict[str, int]]) -> str:
        name = self.word("the name of a variable")
        if name not in names:
            raise self.error(f"there is no variable {shown(name)}, or it is declared after its table")
        return name

    def row_states(self, parents: list[str], names: dict[str, dict[str, int]]) -> Iterator[int]:
        self.sign("(")
        for index, parent in enumerate(parents):
            if index:
                self.skip(",")
            state = self.word(f"a state of {shown(parent)}")
            if state not in names[parent]:
                raise self.error(f"{shown(parent)} has no state {shown(state)}")
            yield names[parent][state]
        self.sign(")")

    def numbers(self, n: int) -> list[float]:
        found = [self.number()]
        while not self.skip(";"):
            self.skip(",")
            found.append(self.number())
            if len(found) > n:
                raise self.error(f"there are more than {n} numbers")
        if len(found) != n:
            raise self.error(f"there are {len(found)} numbers where {n} are needed")
        return found
