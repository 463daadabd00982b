"""Files of packed tables.

A file begins with eight bytes that name its kind, the version of the format, the length of a description in JSON and
the SHA-256 of that text. The description, which names the variables, their states and the checksum of each plane,
follows; then, from the next multiple of 4,096 bytes on, the planes one after the other, and the weights if there are
any. All numbers are little-endian. The head is written last, so that a file without an end has no beginning either.
"""

from __future__ import annotations

import hashlib
import json
import os
import struct
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import Any, BinaryIO

import numpy as np
from numpy.typing import NDArray

from cslearn._files import atomic_file, check_file, read_json
from cslearn.data._labels import State
from cslearn.data._planes import Words, digest, words_of
from cslearn.errors import FileError

__all__ = ["Content", "FileSink", "description", "new_file", "read_content"]

MAGIC = b"CSPACK\r\n"  # a transfer as text would change the end of the line
VERSION = 1
_HEAD = struct.Struct("<8sIQ32s")
_PAGE = 4096
_HEADER_LIMIT = 1 << 28
_AGAIN = "Pack the data again."

Content = tuple[Words, NDArray[np.float64] | None, dict[str, Any]]


def description(
    variables: Sequence[str],
    states: Sequence[Sequence[State]],
    n: int,
    planes: Sequence[str],
    weights: str | None,
) -> dict[str, Any]:
    """Return what a file says of its content; the fingerprint of a packed table is that of this description."""
    return {
        "variables": list(variables),
        "states": [list(labels) for labels in states],
        "rows": n,
        "planes": list(planes),
        "weights": weights,
    }


class FileSink:
    """Planes that go to a file whose size is known; see :class:`cslearn.data._planes.Sink`."""

    def __init__(
        self,
        file: BinaryIO,
        variables: Sequence[str],
        states: Sequence[Sequence[State]],
        n: int,
        n_planes: int,
        weighted: bool,
    ) -> None:
        self._file, self._variables, self._states, self._n = file, variables, states, n
        self._words = words_of(n)
        self._digests = [hashlib.sha256() for _ in range(n_planes)]
        self._weights = hashlib.sha256() if weighted else None
        self._offset = _data_offset(len(self._text()))

    def write(self, block: Words, at: int) -> None:
        """Write words of all planes, in their order."""
        for plane, words in enumerate(block):
            data = np.ascontiguousarray(words).view(np.uint8).data
            self._digests[plane].update(data)
            self._put(self._offset + 8 * (plane * self._words + at), data)

    def write_weights(self, weights: NDArray[np.float64], at: int) -> None:
        """Write weights, in their order."""
        assert self._weights is not None
        data = np.ascontiguousarray(weights, dtype=np.float64).view(np.uint8).data
        self._weights.update(data)
        self._put(self._offset + 8 * (len(self._digests) * self._words + at), data)

    def close(self) -> None:
        """Write the head and the description."""
        text = self._text()
        end = self._offset + 8 * (len(self._digests) * self._words + (self._n if self._weights else 0))
        self._file.truncate(end)
        self._put(_HEAD.size, text)
        self._put(0, _HEAD.pack(MAGIC, VERSION, len(text), hashlib.sha256(text).digest()))

    def _text(self) -> bytes:
        planes = [one.hexdigest() for one in self._digests]
        weights = self._weights.hexdigest() if self._weights else None
        content = description(self._variables, self._states, self._n, planes, weights)
        return json.dumps(content, allow_nan=False).encode("ascii")

    def _put(self, at: int, data: bytes | memoryview) -> None:
        self._file.seek(at)
        self._file.write(data)


@contextmanager
def new_file(
    path: str | os.PathLike[str],
    variables: Sequence[str],
    states: Sequence[Sequence[State]],
    n: int,
    n_planes: int,
    weighted: bool,
    check: Callable[[], None] | None = None,
) -> Iterator[FileSink]:
    """Give the sink of a file that takes the place of `path` once it is whole; `check` has the last word."""
    with atomic_file(path, check) as file:
        sink = FileSink(file, variables, states, n, n_planes, weighted)
        yield sink
        sink.close()


def _data_offset(text_length: int) -> int:
    return -(-(_HEAD.size + text_length) // _PAGE) * _PAGE


def read_content(path: str | os.PathLike[str], *, verify: bool = True) -> Content:
    """Map the planes and the weights of a file into memory, and read its description.

    Everything that the file says is compared with what is there, with `verify` the checksums of the planes too.
    """
    check_file(path)
    file = Path(path)
    try:
        with file.open("rb") as stream:
            size = os.fstat(stream.fileno()).st_size
            content, offset = _read_description(file, stream, size)
            words, n, count = words_of(content["rows"]), content["rows"], len(content["planes"])
            expected = offset + 8 * (count * words + (n if content["weights"] is not None else 0))
            if size != expected:
                state = "was cut off" if size < expected else "is longer than it should be"
                raise FileError(f"{file} {state}: {size:,} bytes instead of {expected:,}. {_AGAIN}")
            planes = _mapped(stream, np.uint64, offset, (count, words))
            weights = None
            if content["weights"] is not None:
                weights = _mapped(stream, np.float64, offset + 8 * count * words, (n,))
    except OSError as error:
        raise FileError(f"{file} cannot be read: {error.strerror or error}.") from None
    if verify:
        damaged = [j for j, plane in enumerate(planes) if digest(plane) != content["planes"][j]]
        if damaged or (weights is not None and digest(weights) != content["weights"]):
            raise FileError(f"{file} is damaged: its content does not fit its checksums. {_AGAIN}")
    return planes, weights, content


def _mapped(stream: BinaryIO, dtype: Any, offset: int, shape: tuple[int, ...]) -> NDArray[Any]:
    if 0 in shape:  # nothing can be mapped there
        return np.empty(shape, dtype=dtype)
    # A plain array over the map, which stays open as long as the array does.
    return np.asarray(np.memmap(stream, dtype=dtype, mode="r", offset=offset, shape=shape))


def _read_description(path: Path, stream: BinaryIO, size: int) -> tuple[dict[str, Any], int]:
    head = stream.read(_HEAD.size)
    if len(head) < _HEAD.size or not head.startswith(MAGIC):
        raise FileError(f"{path} is no packed table: `cslearn pack` or cslearn.pack(...) writes one.")
    _, version, length, checksum = _HEAD.unpack(head)
    if version > VERSION:
        raise FileError(
            f"{path} has version {version} of the format of packed tables; this cslearn reads up to version"
            f" {VERSION}. Install a newer cslearn."
        )
    if version < 1 or length > min(size, _HEADER_LIMIT):
        raise FileError(f"{path} is damaged: its first bytes make no sense. {_AGAIN}")
    text = stream.read(length)
    if len(text) < length or hashlib.sha256(text).digest() != checksum:
        raise FileError(f"{path} is damaged: its description does not fit its checksum. {_AGAIN}")
    try:
        content = read_json(text.decode("ascii"))
        _check_description(content)
    except (ValueError, RecursionError, KeyError, TypeError) as error:
        raise FileError(f"{path} is no packed table that this cslearn can read: {error}. {_AGAIN}") from None
    return content, _data_offset(length)


def _check_description(content: Any) -> None:
    """Raise an error unless the description has what it needs, in the right types."""
    names, states, rows = content["variables"], content["states"], content["rows"]
    planes, weights = content["planes"], content["weights"]
    if type(rows) is not int or rows < 0:
        raise ValueError("the number of rows is none")
    if not isinstance(names, list) or not all(isinstance(name, str) for name in names):
        raise ValueError("the names of the variables are no texts")
    if not isinstance(states, list) or not all(isinstance(labels, list) for labels in states):
        raise ValueError("the states are no lists")
    if not all(isinstance(label, bool | int | float | str) for labels in states for label in labels):
        raise ValueError("a state is neither text nor number")
    checksums = [*planes, *([] if weights is None else [weights])]
    if not isinstance(planes, list) or not all(isinstance(text, str) for text in checksums):
        raise ValueError("the checksums are no texts")
