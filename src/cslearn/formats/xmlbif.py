"""XMLBIF 0.3, the XML format of Bayesian networks of Weka, JavaBayes, SamIam, pgmpy and pyAgrum (``.bifxml``).

The numbers of a ``TABLE`` are in counting order: the state of the variable itself moves fastest, then that of the last
parent. The text of an element is read without the white space around it, unless it has ``xml:space="preserve"``, which
is written for names that begin or end with white space.

Declarations of entities are refused, whatever they say: they serve attacks and nothing that a network needs. The
depth of the tree and the size of the file are limited. Nothing outside the file is ever fetched.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from itertools import chain
from math import isfinite
from os import PathLike
from xml.sax.saxutils import escape

import numpy as np

from cslearn._checked import checked
from cslearn._files import atomic_write
from cslearn.cstree import CStree
from cslearn.errors import InputError
from cslearn.formats._network import Factor, as_cstree, check_size, factors
from cslearn.formats._text import check_many, naming, read_bytes, restored_states, shown, state_names, typed_states
from cslearn.formats._xml import Element, check_writable, parse

__all__ = ["from_xmlbif", "read_xmlbif", "to_xmlbif", "write_xmlbif"]

_NUMBER = re.compile(r"[+-]?(?:[0-9]++(?:\.[0-9]*+)?|\.[0-9]++)(?:[eE][+-]?[0-9]{1,4})?")
_HEAD = '<?xml version="1.0" encoding="UTF-8"?>\n'


# ---------------------------------------------------------------- writing
@checked
def to_xmlbif(tree: CStree) -> str:
    """Return a CStree with parameters as XMLBIF text: its DAG, with the table of each variable given its parents.

    Examples
    --------
    >>> from cslearn.datasets import chickenpox_model
    >>> from cslearn.formats import to_xmlbif
    >>> print(to_xmlbif(chickenpox_model()))
    <?xml version="1.0" encoding="UTF-8"?>
    ...
    <DEFINITION>
      <FOR>diagnosis</FOR>
      <TABLE>0.7 0.3</TABLE>
    </DEFINITION>
    ...
    """
    lines = ['<BIF VERSION="0.3">', "<NETWORK>", "<NAME>unknown</NAME>"]
    tables = factors(tree)
    for variable, states in tree.states.items():
        lines += ['<VARIABLE TYPE="nature">', _element("NAME", variable)]
        lines += [_element("OUTCOME", name) for name in state_names(variable, states)]
        typed = typed_states(states)
        lines += [_element("PROPERTY", typed)] if typed else []
        lines.append("</VARIABLE>")
    for factor in tables:
        numbers = " ".join(map(repr, factor.table.ravel().tolist()))
        lines += ["<DEFINITION>", _element("FOR", factor.variable)]
        lines += [_element("GIVEN", parent) for parent in factor.parents]
        lines += [f"  <TABLE>{numbers}</TABLE>", "</DEFINITION>"]
    return _HEAD + "\n".join([*lines, "</NETWORK>", "</BIF>", ""])


def _element(tag: str, text: str) -> str:
    check_writable(text)
    keep = ' xml:space="preserve"' if text != text.strip() else ""
    return f"  <{tag}{keep}>{escape(text, {chr(13): '&#13;'})}</{tag}>"


@checked
def write_xmlbif(tree: CStree, path: str | PathLike[str]) -> None:
    """Write a CStree with parameters as an XMLBIF file; see :func:`to_xmlbif`.

    Examples
    --------
    >>> import pathlib, tempfile
    >>> from cslearn import kl_divergence
    >>> from cslearn.datasets import chickenpox_model
    >>> from cslearn.formats import read_xmlbif, write_xmlbif
    >>> path = pathlib.Path(tempfile.mkdtemp()) / "model.xml"
    >>> write_xmlbif(chickenpox_model(), path)
    >>> kl_divergence(chickenpox_model(), read_xmlbif(path))
    0.0 (exact)
    """
    atomic_write(path, to_xmlbif(tree))


# ---------------------------------------------------------------- reading
@checked
def read_xmlbif(path: str | PathLike[str]) -> CStree:
    """Read an XMLBIF file, which may be gzipped; a :class:`FileError` says what is wrong with it."""
    content = read_bytes(path)
    with naming(path):
        return from_xmlbif(content)


@checked
def from_xmlbif(text: str | bytes) -> CStree:
    """Return the Bayesian network that XMLBIF text describes, as a CStree.

    Examples
    --------
    >>> from cslearn.datasets import chickenpox_model
    >>> from cslearn.formats import from_xmlbif, to_xmlbif
    >>> from_xmlbif(to_xmlbif(chickenpox_model())).order
    ('background', 'diagnosis', 'exposed', 'carrier')
    """
    root = parse(text)
    if root.tag.upper() != "BIF":
        raise InputError(f"it is XML, but not XMLBIF: its first element is {shown(root.tag)}")
    networks = root.named("NETWORK")
    if len(networks) != 1:
        raise InputError(f"it has {len(networks)} networks, and one is read")
    states: dict[str, tuple[object, ...]] = {}
    cards: dict[str, int] = {}
    declared = networks[0].named("VARIABLE")
    check_many(len(declared))
    for element in declared:
        name = _one(element, "NAME").words()
        outcomes = [child.words() for child in chain(element.named("OUTCOME"), element.named("VALUE"))]
        if not name or not outcomes:
            raise element.error("a variable has no name, or no states")
        if name in states:
            raise element.error(f"the variable {shown(name)} is declared twice")
        if len(set(outcomes)) != len(outcomes):
            raise element.error(f"{shown(name)} has a state twice")
        states[name] = restored_states(outcomes, [child.words() for child in element.named("PROPERTY")])
        cards[name] = len(outcomes)
    check_many(len(cards), sum(cards.values()))
    if not states:
        raise InputError("it declares no variables")
    definitions = [
        _definition(element, cards)
        for element in chain(networks[0].named("DEFINITION"), networks[0].named("PROBABILITY"))
    ]
    defined = {factor.variable for factor in definitions}
    lacking = [v for v in states if v not in defined]
    if lacking:
        raise InputError(f"it has no table for {shown(lacking[0])}")
    return as_cstree(states, definitions)


def _one(element: Element, tag: str) -> Element:
    found = element.named(tag)
    if len(found) != 1:
        raise element.error(f"{shown(element.tag)} has {len(found)} elements {tag}, and needs one")
    return found[0]


def _definition(element: Element, cards: dict[str, int]) -> Factor:
    variable = _one(element, "FOR").words()
    parents = [child.words() for child in element.named("GIVEN")]
    for name in (variable, *parents):
        if name not in cards:
            raise element.error(f"there is a table for or given {shown(name)}, which is not a variable")
    if len({variable, *parents}) != len(parents) + 1:
        raise element.error(f"the table of {shown(variable)} names a variable twice")
    check_size(cards, {variable: parents})
    shape = [cards[v] for v in (*parents, variable)]
    words = _one(element, "TABLE").words().replace(",", " ").split()
    if len(words) != np.prod(shape, dtype=int):
        raise element.error(f"the table of {shown(variable)} has {len(words)} numbers, not {_times(shape)}")
    for word in words:
        if not _NUMBER.fullmatch(word) or not isfinite(float(word)):
            raise element.error(f"the table of {shown(variable)} has {shown(word)} where a number is expected")
    return Factor(variable, tuple(parents), np.array([float(word) for word in words]).reshape(shape))


def _times(shape: Sequence[int]) -> str:
    return " x ".join(map(str, shape))
