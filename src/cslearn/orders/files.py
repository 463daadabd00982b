"""Arrays in files: one NumPy archive with a JSON header. Nothing in such a file is executed when it is read."""

from __future__ import annotations

import json
import os
import zipfile
import zlib
from collections.abc import Mapping
from hashlib import sha256
from io import BytesIO
from typing import Any

import numpy as np

from cslearn._files import atomic_write
from cslearn.errors import FileError

__all__ = ["read_arrays", "write_arrays"]

FORMAT = 2  # format 1 had no checksum
CHECKSUM = "sha256"
HEADER = "header"


def write_arrays(
    path: str | os.PathLike[str], kind: str, header: Mapping[str, Any], arrays: Mapping[str, np.ndarray]
) -> None:
    """Write arrays and a header of JSON values, whole or not at all.

    Parameters
    ----------
    path : str or path-like
    kind : str
        What the file holds, such as "order posterior".
    header : mapping
    arrays : mapping of str to ndarray
        No name is "header".
    """
    content_of = {"kind": kind, "format": FORMAT, **header}
    text = json.dumps({**content_of, CHECKSUM: _checksum(content_of, arrays)}, ensure_ascii=False)
    content = BytesIO()
    np.savez(content, **{HEADER: np.frombuffer(text.encode("utf-8"), dtype=np.uint8)}, **arrays)  # type: ignore[arg-type]
    atomic_write(path, content.getvalue())


def read_arrays(
    path: str | os.PathLike[str], kind: str, oldest: int = 1
) -> tuple[dict[str, Any], dict[str, np.ndarray]]:
    """Return the header and the arrays of a file of at least the format `oldest`.

    Raises
    ------
    FileError
        If the file is missing, damaged, of another kind, or of a later format.
    """
    name = os.fspath(path)
    try:
        # The name is opened here: an array file that is no archive must not be taken for one.
        with open(path, "rb") as file, np.load(file, allow_pickle=False) as archive:
            arrays = {key: archive[key] for key in archive.files}
        header = json.loads(arrays.pop(HEADER).tobytes().decode("utf-8"))
        found, version = header["kind"], header["format"]
    except FileNotFoundError as error:
        raise FileError(f"There is no file {name}. Check the name and the directory.") from error
    except (
        OSError,
        EOFError,
        ValueError,
        NotImplementedError,
        MemoryError,
        zlib.error,
        KeyError,
        TypeError,
        AttributeError,
        zipfile.BadZipFile,
    ) as error:
        raise FileError(f"{name} is damaged, or it does not hold {_a(kind)}: {error}") from error
    if found != kind:
        raise FileError(f"{name} holds {_a(found)}, not {_a(kind)}.")
    if version not in range(oldest, FORMAT + 1):
        raise FileError(
            f"{name} has format {version}, and this version of cslearn reads formats {oldest} to {FORMAT}. Read it with"
            " the version that wrote it, or make it again."
        )
    if version > 1 and header.pop(CHECKSUM, None) != _checksum(header, arrays):
        raise FileError(
            f"{name} is damaged: it was changed after it was written, since its checksum is that of another content."
        )
    return header, arrays


def _checksum(header: Mapping[str, Any], arrays: Mapping[str, np.ndarray]) -> str:
    """Return the SHA-256 of everything that a file holds."""
    digest = sha256(json.dumps(header, sort_keys=True).encode("ascii"))
    for name, array in sorted(arrays.items()):
        array = np.asarray(array)
        digest.update(json.dumps([name, array.dtype.str, array.shape]).encode("ascii"))
        digest.update(np.ascontiguousarray(array).tobytes())
    return digest.hexdigest()


def _a(kind: str) -> str:
    return f"{'an' if kind[0] in 'aeiou' else 'a'} {kind}"
