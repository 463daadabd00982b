"""Arrays in files: one NumPy archive with a JSON header. Nothing in such a file is executed when it is read."""

from __future__ import annotations

import json
import os
import zipfile
from collections.abc import Mapping
from io import BytesIO
from typing import Any

import numpy as np

from cslearn._files import atomic_write
from cslearn.errors import FileError

__all__ = ["read_arrays", "write_arrays"]

FORMAT = 1
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
    text = json.dumps({"kind": kind, "format": FORMAT, **header}, ensure_ascii=False)
    content = BytesIO()
    np.savez(content, **{HEADER: np.frombuffer(text.encode("utf-8"), dtype=np.uint8)}, **arrays)  # type: ignore[arg-type]
    atomic_write(path, content.getvalue())


def read_arrays(path: str | os.PathLike[str], kind: str) -> tuple[dict[str, Any], dict[str, np.ndarray]]:
    """Return the header and the arrays of a file.

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
    except (OSError, EOFError, ValueError, KeyError, TypeError, AttributeError, zipfile.BadZipFile) as error:
        raise FileError(f"{name} is damaged, or it does not hold {_a(kind)}: {error}") from error
    if found != kind:
        raise FileError(f"{name} holds {_a(found)}, not {_a(kind)}.")
    if version != FORMAT:
        raise FileError(f"{name} has format {version}, and this version of cslearn reads format {FORMAT}. Update it.")
    return header, arrays


def _a(kind: str) -> str:
    return f"{'an' if kind[0] in 'aeiou' else 'a'} {kind}"
