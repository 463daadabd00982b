"""Standard output and standard error: what is printed there can be printed, and does the terminal no harm."""

from __future__ import annotations

import os
import re
import sys
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from typing import Any

__all__ = ["end_output", "keeping_output", "note", "plain", "prepare_streams", "tell"]

# Control characters but tab and line feed, among them the escape that begins a command to the terminal; signs that turn
# the direction of writing round; and halves of characters, which no encoding can write.
_HARMFUL = re.compile("[\x00-\x08\x0b-\x1f\x7f-\x9f\u200e\u200f\u202a-\u202e\u2066-\u2069\ud800-\udfff]")


def plain(text: str) -> str:
    r"""Return text in which names and states cannot give the terminal commands.

    Examples
    --------
    >>> from cslearn.cli.streams import plain
    >>> plain("age" + chr(27) + "[31m")
    'age\\x1b[31m'
    """
    return _HARMFUL.sub(lambda found: found[0].encode("unicode_escape").decode("ascii"), text)


def tell(text: str) -> None:
    """Print a line for people."""
    print(plain(text))


def note(text: str, kind: str = "note") -> None:
    """Print a note, or an error, on standard error."""
    with suppress(OSError, ValueError):  # there is nobody left to tell
        print(f"{kind}: {plain(text)}", file=sys.stderr)


def prepare_streams() -> None:
    """Let characters that the encoding of a stream lacks be written as escapes, and a closed stream swallow all."""
    for name in ("stdout", "stderr"):
        stream: Any = getattr(sys, name)
        if stream is None:
            setattr(sys, name, open(os.devnull, "w", encoding="utf-8"))  # noqa: SIM115 - open until the end
        elif hasattr(stream, "reconfigure"):
            stream.reconfigure(errors="backslashreplace")


@contextmanager
def keeping_output() -> Iterator[None]:
    """Have standard output be what it was when a command ends that told elsewhere what is not its file."""
    usual = sys.stdout
    try:
        yield
    finally:
        sys.stdout = usual


def end_output() -> None:
    """Give up standard output, so that what could not be written is not tried again on the way out."""
    with suppress(OSError, ValueError, AttributeError):
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
