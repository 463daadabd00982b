"""Writing files so that a failure leaves the old file as it was, and reading models without trusting them."""

from __future__ import annotations

import contextlib
import errno
import glob
import gzip
import json
import os
import re
import secrets
import stat
import sys
import zlib
from collections.abc import Callable, Iterable, Iterator
from pathlib import Path
from typing import Any, BinaryIO

from cslearn.errors import CslearnError, FileError, InputError, LimitError

__all__ = [
    "atomic_file",
    "atomic_write",
    "check_file",
    "check_many",
    "check_not_read",
    "check_writable",
    "find_files",
    "is_standard_output",
    "n_values",
    "read_bytes",
    "read_json",
    "read_text",
    "same_file",
]

# What is read of a model: bytes, variables (a CStree grows with the square of their number), states of all variables
# together, and values of a JSON document.
SIZE_LIMIT = 1 << 26
VARIABLE_LIMIT = 1 << 11
STATE_TOTAL = 1 << 20
VALUE_LIMIT = 1 << 22

_STANDARD = {"/dev/stdout": 1, "/dev/stderr": 2}


def atomic_write(path: str | os.PathLike[str], data: str | bytes) -> None:
    """Write a whole file, or leave the one that is there untouched.

    The data go to a temporary file in the same directory, which takes the place of ``path`` once it is safely
    on disk. Text is written as UTF-8 with its line ends as they are. A symbolic link is followed, and the
    permissions of a file that is replaced are kept. What is not a regular file cannot be replaced and is written
    in place: a device, a named pipe, ``/dev/stdout`` wherever it leads.

    Parameters
    ----------
    path : str or path-like
        The file to write. Its directory must exist.
    data : str or bytes
        The content.

    Raises
    ------
    FileError
        If the directory is missing or the file cannot be written.

    Examples
    --------
    >>> import pathlib, tempfile
    >>> from cslearn._files import atomic_write
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     target = pathlib.Path(folder, "note.txt")
    ...     atomic_write(target, "one line")
    ...     target.read_text(encoding="utf-8")
    'one line'
    """
    with atomic_file(path) as stream:
        stream.write(data.encode("utf-8") if isinstance(data, str) else data)


@contextlib.contextmanager
def atomic_file(path: str | os.PathLike[str], check: Callable[[], None] | None = None) -> Iterator[BinaryIO]:
    """Give a stream to write a file bit by bit; otherwise as :func:`atomic_write`.

    `check` is called when the new file is on disk: if it raises an error, nothing is replaced.
    """
    with _errors_of_writing(path):
        target = _target(path)
        if target is None:
            with _in_place(path) as stream:
                yield stream
            return
        with _temporary(target) as (temporary, stream):
            yield stream
            stream.flush()
            os.fsync(stream.fileno())
            if check is not None:
                check()
            if target.exists():
                os.chmod(temporary, stat.S_IMODE(target.stat().st_mode))
            stream.close()  # Windows does not rename an open file
            os.replace(temporary, target)


def check_writable(path: str | os.PathLike[str]) -> None:
    """Raise the :class:`FileError` that :func:`atomic_write` would raise, before the work that leads to it.

    Examples
    --------
    >>> from cslearn._files import check_writable
    >>> check_writable("no/such/directory/model.json")
    Traceback (most recent call last):
    cslearn.errors.FileError: Cannot write no/such/directory/model.json: the directory ... does not exist. ...
    """
    with _errors_of_writing(path):
        target = _target(path)
        if target is None:
            if _descriptor(path) is None and not os.access(path, os.W_OK):
                raise PermissionError(errno.EACCES, os.strerror(errno.EACCES))
            return
        with _temporary(target):
            pass


def same_file(one: str | os.PathLike[str], other: str | os.PathLike[str]) -> bool:
    """Say whether two paths lead to one regular file, which writing to either would replace.

    Examples
    --------
    >>> from cslearn._files import same_file
    >>> same_file("model.json", "./model.json"), same_file("model.json", "data.csv")
    (True, False)
    """
    try:
        here, there = os.stat(one), os.stat(other)
    except (OSError, ValueError):  # what is not there yet is known by its name alone
        return os.path.realpath(one) == os.path.realpath(other)
    return stat.S_ISREG(here.st_mode) and os.path.samestat(here, there)


def check_not_read(
    path: str | os.PathLike[str], inputs: Iterable[str | os.PathLike[str]], called: str = "the file"
) -> None:
    """Refuse to write a file that is read: what was in it would be lost.

    Examples
    --------
    >>> from cslearn._files import check_not_read
    >>> check_not_read("parts/new.cspack", ["parts/a.csv", "parts/b.csv"])
    """
    for source in inputs:
        if same_file(path, source):
            name = os.fspath(path)
            raise InputError(f"{called} {name} would replace {os.fspath(source)}, which is read: give another name")


@contextlib.contextmanager
def _errors_of_writing(path: str | os.PathLike[str]) -> Iterator[None]:
    try:
        yield
    except (OSError, ValueError) as error:  # a path with a NUL character is a ValueError
        if isinstance(error, CslearnError | BrokenPipeError):  # of what is written, not of writing
            raise
        reason = getattr(error, "strerror", None) or str(error)
        raise FileError(
            f"Cannot write {os.fspath(path)}: {reason}. Check the permissions and the free space of its directory."
        ) from error


def _target(path: str | os.PathLike[str]) -> Path | None:
    """Return the regular file that is written or replaced, or None for what is written in place."""
    name = os.fspath(path)
    if _descriptor(path) is not None:
        return None
    try:
        mode = os.stat(path).st_mode
    except FileNotFoundError:
        mode = stat.S_IFREG
    if stat.S_ISDIR(mode):
        raise FileError(f"Cannot write {name}: it is a directory. Give the name of a file.")
    if not stat.S_ISREG(mode):
        return None
    # The real path: replacing a symbolic link would cut it off from the file it points to.
    target = Path(os.path.realpath(path))
    if not target.parent.is_dir():
        raise FileError(f"Cannot write {name}: the directory {target.parent} does not exist. Create it first.")
    return target


def _descriptor(path: str | os.PathLike[str]) -> int | None:
    """Return the open file that a name such as /dev/stdout stands for: opened again it would begin at its start."""
    name = os.path.abspath(os.fspath(path))
    if name in _STANDARD:
        return _STANDARD[name]
    found = re.fullmatch(r"(?:/dev/fd|/proc/self/fd)/([0-9]+)", name)
    return int(found[1]) if found else None


def is_standard_output(path: str | os.PathLike[str]) -> bool:
    """Tell whether a name stands for standard output.

    Examples
    --------
    >>> from cslearn._files import is_standard_output
    >>> is_standard_output("/dev/stdout"), is_standard_output("model.json")
    (True, False)
    """
    return _descriptor(path) == 1


@contextlib.contextmanager
def _in_place(path: str | os.PathLike[str]) -> Iterator[BinaryIO]:
    descriptor = _descriptor(path)
    if sys.stdout is not None:
        sys.stdout.flush()  # what was printed before comes first
    opened = os.open(path, os.O_WRONLY | getattr(os, "O_BINARY", 0)) if descriptor is None else os.dup(descriptor)
    with os.fdopen(opened, "wb") as stream:
        yield stream


@contextlib.contextmanager
def _temporary(target: Path) -> Iterator[tuple[Path, BinaryIO]]:
    """Give a new file beside a target, which is gone afterwards unless it was moved away."""
    # A name has at most 255 bytes, and a character up to four of them.
    path = target.with_name(f".{target.name[:40]}.{secrets.token_hex(6)}.tmp")
    # os.open, and not tempfile, so that a new file gets the permissions that the umask gives to any new file.
    descriptor = os.open(path, os.O_WRONLY | os.O_CREAT | os.O_EXCL | getattr(os, "O_BINARY", 0), 0o666)
    try:
        with os.fdopen(descriptor, "wb") as stream:
            yield path, stream
    finally:
        with contextlib.suppress(OSError):
            path.unlink()


def check_file(path: str | os.PathLike[str]) -> None:
    """Raise a :class:`FileError` if there is no such file, or it may not be reached."""
    name = os.fspath(path)
    try:
        mode = os.stat(path).st_mode
    except FileNotFoundError:
        raise FileError(f"There is no file {name}. Check the name and the directory.") from None
    except (OSError, ValueError) as error:  # a path with a NUL character is a ValueError
        raise FileError(f"{name} cannot be read: {getattr(error, 'strerror', None) or error}.") from None
    if stat.S_ISDIR(mode):
        raise FileError(f"{name} is a directory. Give the name of a file.")


def find_files(path: str | os.PathLike[str]) -> list[Path]:
    """Return the file, or the files in the order of their names if there are wildcards (``*``, ``?``, ``[a-z]``)."""
    text = os.fspath(path)
    if not glob.has_magic(text) or os.path.exists(text):
        return [Path(text)]
    found = sorted(Path(name) for name in glob.glob(text, recursive=True) if os.path.isfile(name))
    if not found:
        raise FileError(f"There is no file that {text} fits. Check the name and the directory.")
    return found


def read_bytes(path: str | os.PathLike[str]) -> bytes:
    """Return the content of a file, unpacked if its name ends in ``.gz``; never more than :data:`SIZE_LIMIT` bytes."""
    if not isinstance(path, str | os.PathLike):
        raise InputError(f"a file is given by its name or path, not by {path!r}")
    file = Path(path)
    try:
        if file.suffix.lower() == ".gz":
            with gzip.open(file, "rb") as stream:
                content = stream.read(SIZE_LIMIT + 1)
        else:
            with file.open("rb") as stream:
                content = stream.read(SIZE_LIMIT + 1)
    except FileNotFoundError:
        raise FileError(f"there is no file {file}") from None
    except (EOFError, zlib.error, gzip.BadGzipFile) as error:
        raise FileError(f"cannot read {file}: it is not a whole gzip file ({error})") from None
    except (OSError, ValueError) as error:  # a path with a NUL character is a ValueError
        raise FileError(f"cannot read {file}: {getattr(error, 'strerror', None) or error}") from None
    if len(content) > SIZE_LIMIT:
        raise FileError(f"cannot read {file}: it holds more than {SIZE_LIMIT >> 20} MB, too much for a model")
    return content


def read_text(path: str | os.PathLike[str]) -> str:
    """Return the text of a UTF-8 file; see :func:`read_bytes`."""
    try:
        return read_bytes(path).decode("utf-8-sig")
    except UnicodeDecodeError as error:
        raise FileError(f"cannot read {path}: it is not UTF-8 text (byte {error.start + 1:,})") from None


def read_json(text: str, **options: Any) -> Any:
    """Return what JSON text holds, unless it holds very many values; `options` are those of ``json.loads``.

    Values take much more memory than the text of them: every value but the first of a list follows a comma.
    """
    if n_values(text) > VALUE_LIMIT:
        raise InputError(f"it has more than {VALUE_LIMIT:,} values, the most that are read")
    return json.loads(text, **options)


def n_values(text: str) -> int:
    """Return how many values JSON text holds at most."""
    return sum(map(text.count, "{[,:"))


def check_many(n_variables: int, n_states: int = 0) -> None:
    """Refuse a file with very many variables, or states of all variables together, before a model is made of it."""
    if n_variables > VARIABLE_LIMIT:
        raise LimitError(f"it has more than {VARIABLE_LIMIT:,} variables, the most that are read")
    if n_states > STATE_TOTAL:
        raise LimitError(f"its variables have more than {STATE_TOTAL:,} states together, the most that are read")
