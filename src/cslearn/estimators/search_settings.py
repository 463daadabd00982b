"""What a search over orders is for: the settings and data that its draws and checkpoints belong to."""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from hashlib import sha256
from importlib.metadata import version
from typing import Any

import numpy as np
from numpy.typing import NDArray

from cslearn.counts import counts_of
from cslearn.data import Table, TableLike

__all__ = ["search_settings"]


def search_settings(
    table: TableLike,
    candidates: Mapping[str, Sequence[str]],
    before: NDArray[np.bool_],
    interventions: NDArray[np.bool_] | None = None,
    **settings: Any,
) -> dict[str, Any]:
    """Return JSON values that are equal for two searches if both have the same data and settings.

    Large things are told by their SHA-256.

    Examples
    --------
    >>> import numpy as np
    >>> from cslearn.data import Table
    >>> from cslearn.estimators.search_settings import search_settings
    >>> table = Table([[0, 1]], ["rain", "mood"], [["no", "yes"], ["bad", "good"]])
    >>> known = search_settings(table, {"rain": [], "mood": ["rain"]}, np.zeros((2, 2), dtype=bool), beta=2)
    >>> sorted(known)
    ['beta', 'candidates', 'cslearn', 'data', 'interventions', 'knowledge']
    """
    plain = {name: value.item() if isinstance(value, np.generic) else value for name, value in settings.items()}
    # Labels with their types: the states 1, True and "1" are not the same.
    names = json.dumps([table.variables, [[repr(label) for label in labels] for labels in table.states]])
    rows: tuple[bytes, ...]
    if isinstance(table, Table):
        rows = table.codes.tobytes(order="F"), b"" if table.weights is None else table.weights.tobytes()
    else:
        rows = (counts_of(table).fingerprint.encode(),)
    return {
        "cslearn": version("cslearn"),
        "data": _hash(names.encode(), *rows),
        "candidates": _hash(json.dumps([[v, *sorted(candidates[v])] for v in table.variables]).encode()),
        "knowledge": _hash(before.tobytes()),
        "interventions": None if interventions is None else _hash(np.ascontiguousarray(interventions).tobytes()),
        **{
            name: value if isinstance(value, str | int | float | None) else repr(value) for name, value in plain.items()
        },
    }


def _hash(*parts: bytes) -> str:
    # Lengths keep apart what would be equal when joined.
    digest = sha256()
    for part in parts:
        digest.update(len(part).to_bytes(8, "little"))
        digest.update(part)
    return digest.hexdigest()
