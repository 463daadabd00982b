"""Writing files so that a failure leaves the old file as it was."""

from __future__ import annotations

import contextlib
import os
import secrets
import stat
from pathlib import Path

from cslearn.errors import FileError

__all__ = ["atomic_write"]


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
