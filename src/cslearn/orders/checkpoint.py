"""Files from which an interrupted search goes on to the very same result.

For each chain a checkpoint holds the state of its random numbers, all arrays of the kernel's state bit by bit, and the
draws so far. When it is written does not matter: moves and random numbers do not depend on how a chain is cut into
blocks. It also holds what the search is for, a mapping of settings that must be the same when it is read again.
"""

from __future__ import annotations

import os
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

import numpy as np

from cslearn.errors import FileError
from cslearn.orders.files import read_arrays, write_arrays

__all__ = ["Checkpoint"]

KIND = "checkpoint"

# A chain in a file: numbers and strings, and arrays.
Saved = tuple[dict[str, Any], dict[str, np.ndarray]]


@dataclass(frozen=True)
class Checkpoint:
    """Where and how often a search is written to a file, and what it is a search for.

    Parameters
    ----------
    path : str or path-like
    every : float
        Seconds between two writes; no more than this is lost.
    settings : mapping of str to JSON values
        What must be the same for the file to be used again.

    Examples
    --------
    >>> from cslearn.orders import Checkpoint
    >>> Checkpoint("run.ckpt", settings={"beta": 2}).read() is None  # no such file: a search starts from the beginning
    True
    """

    path: str | os.PathLike[str]
    every: float = 60.0
    settings: Mapping[str, Any] = field(default_factory=dict)

    def read(self) -> tuple[int, list[Saved]] | None:
        """Return the moves that were aimed at and the chains, or None if there is no file to go on from.

        Raises
        ------
        FileError
            If the file is damaged, or was written for other data or with other settings.
        """
        if not os.path.exists(self.path):
            return None
        header, arrays = read_arrays(self.path, KIND, oldest=2)
        try:
            differences = self._differences(header["settings"])
            if differences:
                raise self.refused(", ".join(differences))
            chains: list[Saved] = []
            for c, chain in enumerate(header["chains"]):
                prefix = f"{c}."
                parts = {key[len(prefix) :]: array for key, array in arrays.items() if key.startswith(prefix)}
                chains.append((dict(chain), parts))
            return int(header["goal"]), chains
        except (KeyError, TypeError, ValueError, AttributeError) as error:
            if isinstance(error, FileError):
                raise
            raise self.damaged(error) from error

    def write(self, goal: int, chains: list[Saved]) -> None:
        """Write all chains, whole or not at all."""
        arrays = {f"{c}.{name}": array for c, (_, parts) in enumerate(chains) for name, array in parts.items()}
        header = {"settings": dict(self.settings), "goal": goal, "chains": [values for values, _ in chains]}
        write_arrays(self.path, KIND, header, arrays)

    def damaged(self, error: object) -> FileError:
        """Return the error for a file that lacks something."""
        return FileError(f"{os.fspath(self.path)} is damaged: {error}. Delete it to start over.")

    def refused(self, reason: str) -> FileError:
        """Return the error for a file of another search."""
        return FileError(
            f"{os.fspath(self.path)} is the checkpoint of another search: {reason}. Use the data and settings that it"
            " was written with, or give another file, or delete this one to start over."
        )

    def _differences(self, found: Mapping[str, Any]) -> list[str]:
        """Return, in words, what the settings found in a file differ in."""
        differences = []
        for name in sorted({*found, *self.settings}):
            there, here = found.get(name), self.settings.get(name)
            if there != here:
                # Long strings are hashes, which tell people nothing.
                hashed = any(isinstance(value, str) and len(value) == 64 for value in (there, here))
                differences.append(
                    f"{name} {'are' if name.endswith('s') or name == 'data' else 'is'} not the same"
                    if hashed
                    else f"{name} was {there!r} and is now {here!r}"
                )
        return differences
