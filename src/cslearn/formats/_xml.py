"""A small XML reader that refuses what could do harm: entity declarations, deep nesting, very many elements.

It is the expat parser of the standard library. An entity that is declared could expand to any size or fetch a file, so
the first declaration ends the reading; the five that XML itself defines need none.
"""

from __future__ import annotations

import re
from dataclasses import dataclass, field
from typing import Any
from xml.parsers import expat

from cslearn.errors import InputError

__all__ = ["Element", "check_writable", "parse"]

DEPTH_LIMIT = 32
# Elements and attributes take much more memory than the text of them: every tag has a `<`, every attribute a `=`.
TAG_LIMIT = 1 << 18
ATTRIBUTE_LIMIT = 1 << 20
_FORBIDDEN = re.compile("[\x00-\x08\x0b\x0c\x0e-\x1f\ufffe\uffff\ud800-\udfff]")


@dataclass(slots=True)
class Element:
    """An element of an XML document."""

    tag: str
    attributes: dict[str, str]
    line: int
    text: list[str] = field(default_factory=list)
    children: list[Element] = field(default_factory=list)

    def named(self, tag: str) -> list[Element]:
        """Return the children with a tag, in capitals or not."""
        return [child for child in self.children if child.tag.upper() == tag]

    def words(self) -> str:
        """Return the text without the white space around it, unless the element says that it counts."""
        text = "".join(self.text)
        return text if self.attributes.get("xml:space") == "preserve" else text.strip()

    def error(self, what: str) -> InputError:
        return InputError(f"line {self.line}: {what}")


def parse(text: str | bytes) -> Element:
    """Return the root of an XML document."""
    content = text.encode("utf-8", "surrogatepass") if isinstance(text, str) else text
    if content.count(b"<") > TAG_LIMIT or content.count(b"=") > ATTRIBUTE_LIMIT:
        raise InputError(
            f"it has more than {TAG_LIMIT:,} tags or {ATTRIBUTE_LIMIT:,} attributes, the most that are read"
        )
    parser = expat.ParserCreate("utf-8" if isinstance(text, str) else None)
    parser.buffer_text = True
    top = Element("", {}, 0)
    open_elements = [top]

    def start(tag: str, attributes: dict[str, str]) -> None:
        if len(open_elements) > DEPTH_LIMIT:
            raise InputError(f"line {parser.CurrentLineNumber}: elements are nested more than {DEPTH_LIMIT} deep")
        element = Element(tag, attributes, parser.CurrentLineNumber)
        open_elements[-1].children.append(element)
        open_elements.append(element)

    def end(tag: str) -> None:
        open_elements.pop()

    def entity(*declaration: Any) -> None:
        raise InputError(
            f"line {parser.CurrentLineNumber}: it declares the entity {declaration[0]!r}, which is refused because"
            " entities can expand to any size: replace it by its text"
        )

    def skipped(name: str, is_parameter_entity: bool) -> None:
        raise InputError(f"line {parser.CurrentLineNumber}: it uses the entity {name!r}, which it does not declare")

    parser.StartElementHandler = start
    parser.EndElementHandler = end
    parser.CharacterDataHandler = lambda data: open_elements[-1].text.append(data)
    parser.EntityDeclHandler = entity
    parser.SkippedEntityHandler = skipped
    try:
        parser.Parse(content, True)
    except expat.ExpatError as error:
        what = expat.ErrorString(error.code)
        raise InputError(f"line {error.lineno}: it is not well-formed XML ({what})") from None
    except (ValueError, LookupError) as error:
        if isinstance(error, InputError):
            raise
        raise InputError(f"it is in an encoding that is not read ({error})") from None
    return top.children[0]


def check_writable(text: str) -> None:
    """Refuse a name with a character that XML has no way to write."""
    match = _FORBIDDEN.search(text)
    if match:
        raise InputError(f"{text!r} holds the character {match[0]!r}, which XML cannot hold: give it another name")
