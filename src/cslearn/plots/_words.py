"""The words on pictures: contexts in short, keys for a legend, names in lines."""

from __future__ import annotations

import unicodedata
from collections.abc import Iterable, Iterator, Mapping, Sequence
from itertools import count, product
from string import ascii_letters
from textwrap import wrap
from typing import Any

from cslearn._wording import condition

__all__ = ["boxed", "context_lines", "keys", "name_lines", "one_line"]

NAME_WIDTH = 22  # characters in a line of a name
NAME_LINES = 4
# Contexts of a label that are written out, and those that are looked at to write them in short.
MOST_PATTERNS, MOST_CONTEXTS = 6, 60
# Small l, capital I and one look alike, and capital O and zero.
KEY_LETTERS = "".join(letter for letter in ascii_letters if letter not in "lIO")


def one_line(text: Any) -> str:
    r"""Return a name on one line: line ends and other signs that steer a printer become spaces.

    Examples
    --------
    >>> from cslearn.plots._words import one_line
    >>> one_line("two\nlines")
    'two lines'
    """
    kept = "".join(" " if unicodedata.category(sign) in ("Cc", "Cs", "Zl", "Zp") else sign for sign in str(text))
    return " ".join(kept.split(" ")).strip() or "(blank)"


def name_lines(text: Any, width: int = NAME_WIDTH) -> str:
    """Return a name in lines of bounded length; what is longer than a few lines ends in an ellipsis."""
    line = one_line(text)
    if len(line) <= width + 2:
        return line
    # A name of many parts is broken after a part where it can be: a_long_name, a.long.name.
    for sign in "_.-/":
        line = line.replace(sign, sign + "\u200b")
    lines = _wrapped(line, width)
    if len(lines) > NAME_LINES:
        lines = [*lines[: NAME_LINES - 1], lines[NAME_LINES - 1][: width - 1] + "…"]
    return "\n".join(lines)


def _wrapped(line: str, width: int) -> list[str]:
    """Break a line at spaces, at zero-width spaces, or anywhere in a word that is too long."""
    marked = line.replace(" ", " \u200b").split("\u200b")
    lines = [""]
    for part in marked:
        if len(lines[-1]) + len(part.rstrip()) > width and lines[-1]:
            lines.append("")
        lines[-1] += part
        while len(lines[-1].rstrip()) > width:
            lines[-1:] = [lines[-1][:width], lines[-1][width:]]
    return [piece.strip() for piece in lines if piece.strip()]


# ---------------------------------------------------------------- contexts
def boxed(
    contexts: Iterable[Mapping[str, Any]], states: Mapping[str, Sequence[Any]]
) -> list[dict[str, tuple[Any, ...]]]:
    """Return contexts as fewer patterns in which a variable may have several states.

    Two patterns that differ in one variable alone are joined; a variable that may have every state is left out. The
    outcomes that agree with a pattern are together exactly those that agree with a context.

    Examples
    --------
    >>> from cslearn.plots._words import boxed
    >>> boxed([{"odor": "foul"}, {"odor": "musty"}], {"odor": ("none", "foul", "musty")})
    [{'odor': ('foul', 'musty')}]
    """
    patterns = [{v: (x,) for v, x in context.items()} for context in contexts]
    joined = True
    while joined:
        joined = False
        for second in range(1, len(patterns)):
            for first in range(second):
                both = _join(patterns[first], patterns[second], states)
                if both is not None:
                    patterns[first] = both
                    del patterns[second]
                    joined = True
                    break
            if joined:
                break
    return patterns


def _join(
    one: dict[str, tuple[Any, ...]], two: dict[str, tuple[Any, ...]], states: Mapping[str, Sequence[Any]]
) -> dict[str, tuple[Any, ...]] | None:
    if set(one) != set(two):
        return None
    differing = [v for v in one if set(one[v]) != set(two[v])]
    if len(differing) > 1:
        return None
    if not differing:
        return one
    (v,) = differing
    union = tuple(x for x in states[v] if x in one[v] or x in two[v])
    if len(union) == len(states[v]):
        return {u: x for u, x in one.items() if u != v}
    return {**one, v: union}


def context_lines(contexts: Iterable[Mapping[str, Any]], states: Mapping[str, Sequence[Any]]) -> list[str]:
    """Return contexts in short, one line for each pattern: ``odor=foul|musty, ring=one`` or ``odor≠none``.

    More than six patterns, or more than sixty contexts, are too many to read: of these only the number is told.

    Examples
    --------
    >>> from cslearn.plots._words import context_lines
    >>> contexts = [{"odor": "foul"}, {"odor": "musty"}, {"odor": "none", "ring": "one"}]
    >>> context_lines(contexts, {"odor": ("none", "foul", "musty"), "ring": ("one", "two", "no")})
    ['odor≠none', 'odor=none, ring=one']
    """
    given = list(contexts)
    patterns = boxed(given, states) if len(given) <= MOST_CONTEXTS else []
    if len(given) > MOST_CONTEXTS or len(patterns) > MOST_PATTERNS:
        return [f"in {len(given)} contexts"]
    lines = []
    for pattern in patterns:
        words = []
        for v, chosen in pattern.items():
            others = [x for x in states[v] if x not in chosen]
            if len(others) == 1 and len(chosen) > 1:
                words.append(f"{one_line(v)}≠{one_line(others[0])}")
            else:
                words.append(condition(one_line(v), "|".join(map(one_line, chosen))))
        lines.append(", ".join(words) or "always")
    return lines


def legend_lines(lines: Iterable[str], width: int) -> list[str]:
    """Return the patterns of a label one after the other, separated by semicolons and broken into lines."""
    text = "; ".join(lines)
    return wrap(text, width, break_long_words=True, break_on_hyphens=False) or [""]


def keys() -> Iterator[str]:
    """Yield the keys of a legend: a, ..., z, A, ..., Z, aa, ab, ..., without letters that look like others.

    Examples
    --------
    >>> from itertools import islice
    >>> from cslearn.plots._words import keys
    >>> list(islice(keys(), 12))[-3:], list(islice(keys(), 50))[-3:]
    (['j', 'k', 'm'], ['Y', 'Z', 'aa'])
    """
    for length in count(1):
        for letters in product(KEY_LETTERS, repeat=length):
            yield "".join(letters)
