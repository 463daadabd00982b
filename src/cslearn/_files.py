"""Writing files so that a failure leaves the old file as it was, and reading models without trusting them."""

from __future__ import annotations

import contextlib
import gzip
import json
import os
import secrets
import stat
import zlib
from pathlib import Path
from typing import Any

from cslearn.errors import FileError, InputError, LimitError

__all__ = ["atomic_write", "check_many", "read_bytes", "read_json", "read_text"]

# What is read of a model: bytes, variables (a CStree grows with the square of their number), states of all variables
# together, and values of a JSON document.
SIZE_LIMIT = 1 << 26
VARIABLE_LIMIT = 1 << 11
STATE_TOTAL = 1 << 20
VALUE_LIMIT = 1 << 22


def atomic_write(path: str | os.PathLike[str], data: str | bytes) -> None:
    """Write a whole file, or leave the one that is there untouched.

    The data go to a temporary file in the same directory, which takes the place of ``path`` once it is safely
    on disk. Text is written as UTF-8 with its line ends as they are. A symbolic link is followed, and the
    permissions of a file that is replaced are kept.

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
    content = data.encode("utf-8") if isinstance(data, str) else data
    # The real path: replacing a symbolic link would cut it off from the file it points to.
    target = Path(os.path.realpath(path))
    if target.is_dir():
        raise FileError(f"Cannot write {os.fspath(path)}: it is a directory. Give the name of a file.")
    if not target.parent.is_dir():
        raise FileError(
            f"Cannot write {os.fspath(path)}: the directory {target.parent} does not exist. Create it first."
        )
    # os.open, and not tempfile, so that a new file gets the permissions that the umask gives to any new file.
    temporary = target.with_name(f".{target.name[:100]}.{secrets.token_hex(6)}.tmp")
    try:
        descriptor = os.open(temporary, os.O_WRONLY | os.O_CREAT | os.O_EXCL | getattr(os, "O_BINARY", 0), 0o666)
        try:
            with os.fdopen(descriptor, "wb") as file:
                file.write(content)
                file.flush()
                os.fsync(file.fileno())
            if target.exists():
                os.chmod(temporary, stat.S_IMODE(target.stat().st_mode))
            os.replace(temporary, target)
        except BaseException:
            with contextlib.suppress(OSError):
                temporary.unlink()
            raise
    except OSError as error:
        reason = error.strerror or str(error)
        raise FileError(
            f"Cannot write {os.fspath(path)}: {reason}. Check the permissions and the free space of its directory."
        ) from error


def read_bytes(path: str | os.PathLike[str]) -> bytes:
    """Return the content of a file, unpacked if its name ends in ``.gz``; never more than :data:`SIZE_LIMIT` bytes."""
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
    except OSError as error:
        raise FileError(f"cannot read {file}: {error.strerror or error}") from None
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
    if sum(map(text.count, "{[,:")) > VALUE_LIMIT:
        raise InputError(f"it has more than {VALUE_LIMIT:,} values, the most that are read")
    return json.loads(text, **options)


def check_many(n_variables: int, n_states: int = 0) -> None:
    """Refuse a file with very many variables, or states of all variables together, before a model is made of it."""
    if n_variables > VARIABLE_LIMIT:
        raise LimitError(f"it has more than {VARIABLE_LIMIT:,} variables, the most that are read")
    if n_states > STATE_TOTAL:
        raise LimitError(f"its variables have more than {STATE_TOTAL:,} states together, the most that are read")
