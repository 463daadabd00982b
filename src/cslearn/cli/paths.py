"""The files that a command writes: checked before it begins, and written the same way by all of them."""

from __future__ import annotations

import sys
from collections.abc import Iterable, Mapping
from itertools import combinations
from pathlib import Path

from cslearn._files import atomic_write, check_not_read, check_writable, find_files, is_standard_output, same_file
from cslearn.cli.streams import plain
from cslearn.errors import InputError

__all__ = ["check_outputs", "write_output"]


def check_outputs(outputs: Mapping[str, Path | None], inputs: Iterable[Path | None] = ()) -> None:
    """Refuse outputs that cannot be written, that would replace an input, or of which two are one file.

    Where one is standard output, the command tells the rest on standard error.

    Parameters
    ----------
    outputs : mapping of str to path or None
        The files that will be written, by the options that name them; None was not asked for.
    inputs : iterable of path or None
        The files that are read; names may have wildcards.
    """
    sources = [file for source in inputs if source is not None for file in find_files(source)]
    given = {option: path for option, path in outputs.items() if path is not None}
    for option, path in given.items():
        check_not_read(path, sources, option)
        check_writable(path)
    for (first, one), (second, other) in combinations(given.items(), 2):
        if same_file(one, other):
            raise InputError(f"{first} and {second} are the same file, {one}: give each a name of its own")
    if any(map(is_standard_output, given.values())):
        sys.stdout = sys.stderr  # what is told must not be read as the file; see `keeping_output`


def write_output(text: str, output: Path | None) -> None:
    """Write text to a file, or to standard output if there is none: as it is, unless that is a terminal."""
    if output is None:
        sys.stdout.write(plain(text) if sys.stdout.isatty() else text)
    else:
        atomic_write(output, text)
