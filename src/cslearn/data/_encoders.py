"""Codes for the cells of a column that comes in batches, by labels that are found on the way."""

from __future__ import annotations

from collections.abc import Callable, Collection
from dataclasses import replace
from typing import Any

import numpy as np
from numpy.typing import NDArray

from cslearn._wording import keyword, wording
from cslearn.data._columns import Column, column_of_series, make_column
from cslearn.data._labels import State, natural_order, state_key, to_label
from cslearn.data._markers import DEFAULT_NA_VALUES, markers_of
from cslearn.data._text import column_of_text
from cslearn.errors import InputError

__all__ = ["MAX_LABELS", "Encoder"]

MAX_LABELS = 1 << 15  # more different cells than that are no categories, and would fill the memory
_FIRST_ROOM = 1 << 6
_NONE: NDArray[np.bool_] = np.empty(0, dtype=np.bool_)
_BITS = {1: np.uint8, 2: np.uint16, 4: np.uint32, 8: np.uint64}


class Encoder:
    """Gives each different cell of a column the next code; a missing cell is the label None.

    Parameters
    ----------
    name : str
        The column, for messages.
    text : bool
        Whether the cells are texts of a file, of which some may stand for missing cells.
    plain : bool
        Whether a dictionary that comes with the cells is a matter of storage, and not a list of categories.
    """

    def __init__(self, name: str, *, text: bool = False, plain: bool = False) -> None:
        self.name, self.text, self.plain = name, text, plain
        self.labels: list[State | None] = []
        self.fixed: bool | None = None  # not known before the first batch
        self.all_seen = True  # whether there are cells of all labels, unless they are fixed
        self._codes: dict[tuple[bool, State] | None, int] = {}
        self._floats = False
        self._clear()

    def _clear(self) -> None:
        """Forget the codes of bits and of dictionaries, which are found again from the labels."""
        self._keys = np.zeros(_FIRST_ROOM, dtype=np.uint64)
        self._slots = np.full(_FIRST_ROOM, -1, dtype=np.int32)
        self._n_keys = 0
        self._dtype: np.dtype[Any] | None = None
        self._dictionary: Any = None
        self._table = np.empty(0, dtype=np.int32)

    # ------------------------------------------------------------ cells
    def encode(self, cells: Any, out: NDArray[np.uint16]) -> None:
        """Write the codes of an Arrow array or a pandas series into `out`."""
        if type(cells).__module__.startswith("pyarrow"):
            self._encode_arrow(cells, out)
        else:
            self._encode_series(cells, out)

    def _encode_arrow(self, array: Any, out: NDArray[np.uint16]) -> None:
        import pyarrow as pa

        kind = array.type
        if pa.types.is_boolean(kind):
            self._settle_kind(fixed=False)
            valid = _valid(array)
            bits = np.frombuffer(array.buffers()[1], dtype=np.uint8)[array.offset // 8 :]
            indices = np.unpackbits(bits[: len(array) // 8 + 2], bitorder="little")[array.offset % 8 :][: len(array)]
            self._translate(indices, valid, bool, out)
        elif kind.bit_width in (8, 16, 32, 64) if pa.types.is_integer(kind) else kind in (pa.float32(), pa.float64()):
            values = np.frombuffer(array.buffers()[1], dtype=kind.to_pandas_dtype())[array.offset :][: len(array)]
            self._encode_numbers(values, _valid(array), out)
        elif pa.types.is_dictionary(kind):
            self._encode_dictionary(array, out, fixed=not self.plain)
        else:
            try:
                encoded = array.dictionary_encode()
            except (pa.ArrowNotImplementedError, pa.ArrowInvalid):
                self._encode_series(array.to_pandas(integer_object_nulls=True), out)
            else:
                self._encode_dictionary(encoded, out, fixed=False)

    def _encode_dictionary(self, array: Any, out: NDArray[np.uint16], *, fixed: bool) -> None:
        self._settle_kind(fixed=fixed)
        if self._dictionary is None or not array.dictionary.equals(self._dictionary):
            # Labels through pandas, as where a whole table is read.
            column = column_of_series(self.name, array.dictionary.to_pandas(integer_object_nulls=True), whole=False)
            self._dictionary, self._dictionary_labels = array.dictionary, column
            self._table = np.full(len(column.codes), -1, dtype=np.int32)
            if self.fixed:
                for label in column.labels:
                    self._code(label)

        def label_of(index: int) -> State | None:
            code = self._dictionary_labels.codes[index]
            return None if code < 0 else self._dictionary_labels.labels[code]

        indices = array.indices
        values = np.frombuffer(indices.buffers()[1], dtype=indices.type.to_pandas_dtype())[indices.offset :]
        self._translate(values[: len(array)], _valid(indices), label_of, out)

    def _encode_series(self, series: Any, out: NDArray[np.uint16]) -> None:
        dtype = series.dtype
        if isinstance(dtype, np.dtype) and dtype.kind in "iuf" and dtype.itemsize in _BITS and dtype != np.float16:
            self._encode_numbers(series.to_numpy(), _NONE, out)
            return
        column = column_of_series(self.name, series, whole=False)
        self._settle_kind(fixed=column.fixed, labels=column.labels)
        self._floats |= str(dtype).lower().startswith(("float", "double"))
        self._dictionary, self._table = None, np.full(len(column.labels) + 1, -1, dtype=np.int32)
        if self.fixed:
            for label in column.labels:
                self._code(label)
        labels = [*column.labels, None]
        self._translate(np.where(column.codes < 0, len(column.labels), column.codes), _NONE, labels.__getitem__, out)

    def _translate(
        self,
        indices: NDArray[Any],
        valid: NDArray[np.bool_],
        label_of: Callable[[int], State | None],
        out: NDArray[np.uint16],
    ) -> None:
        from cslearn._kernels.packing import translate

        if label_of is bool and len(self._table) != 2:
            self._table = np.full(2, -1, dtype=np.int32)
        missing, at = self._missing(valid), 0
        while (at := translate(indices, valid, missing, self._table, at, out)) < len(indices):
            index = int(indices[at])
            self._table[index] = self._code(label_of(index))

    def _encode_numbers(self, values: NDArray[Any], valid: NDArray[np.bool_], out: NDArray[np.uint16]) -> None:
        from cslearn._kernels.packing import find_known

        self._settle_kind(fixed=False)
        self._floats |= values.dtype.kind == "f"
        if values.dtype != self._dtype:  # the same bits may be another number
            self._clear()
            self._dtype = values.dtype
        bits = values.view(_BITS[values.dtype.itemsize])
        missing, at = self._missing(valid), 0
        while (at := find_known(bits, valid, missing, self._keys, self._slots, at, out)) < len(bits):
            value = values[at]
            self._insert(bits[at], self._code(None if value != value else to_label(value)))

    def _insert(self, key: Any, code: int) -> None:
        from cslearn._kernels.packing import insert_known

        self._n_keys += 1
        if 2 * self._n_keys > len(self._keys):
            known = self._slots >= 0
            keys, codes = self._keys[known], self._slots[known]
            self._keys = np.zeros(4 * len(self._keys), dtype=np.uint64)
            self._slots = np.full(len(self._keys), -1, dtype=np.int32)
            for old_key, old_code in zip(keys, codes, strict=True):
                insert_known(old_key, old_code, self._keys, self._slots)
        insert_known(np.uint64(key), code, self._keys, self._slots)

    # ------------------------------------------------------------ labels
    def _missing(self, valid: NDArray[np.bool_]) -> int:
        return self._code(None) if len(valid) else -1

    def _code(self, label: State | None) -> int:
        key = None if label is None else state_key(label)
        code = self._codes.setdefault(key, len(self._codes))
        if code == len(self.labels):
            if code >= MAX_LABELS:
                raise InputError(
                    f"Column {self.name!r} has more than {MAX_LABELS:,} different values. Cut it into bins with "
                    f"{wording('cslearn.data.discretize', '`cslearn discretize`')} if they are measurements, or leave"
                    f" it out ({keyword('leave_out')})."
                )
            self.labels.append(label)
        return code

    def _settle_kind(self, *, fixed: bool, labels: tuple[State, ...] | None = None) -> None:
        """Keep whether the labels are categories, whose order counts: only if they are in all batches.

        Categories of Arrow, which stores them with each batch, may grow; those of pandas are the same in all batches.
        """
        if self.fixed is None:
            self.fixed = fixed
        elif not fixed or (labels is not None and [x for x in self.labels if x is not None] != list(labels)):
            self.all_seen &= not self.fixed
            self.fixed = False

    def sort(self) -> NDArray[np.uint16] | None:
        """Bring the codes into the order of the labels; gives the new code of each, or None if they are as before."""
        known = [code for code, label in enumerate(self.labels) if label is not None]
        order = known if self.fixed else [known[i] for i in natural_order([self._label(code) for code in known])]
        order += [code for code, label in enumerate(self.labels) if label is None]
        if order == list(range(len(order))):
            return None
        self.labels = [self.labels[code] for code in order]
        self._codes = {None if x is None else state_key(x): code for code, x in enumerate(self.labels)}
        self._clear()
        return np.argsort(order).astype(np.uint16)

    def _label(self, code: int) -> State:
        label = self.labels[code]
        assert label is not None
        return label

    def column(self, na_values: Collection[str], states: Collection[State]) -> Column:
        """Give the column that has each label in one row, in the order of the codes, as if it had been read at once.

        `na_values` are the cells of a text file that are missing, unless they are among given `states`.
        """
        if self.text:
            cells = [str(label) for label in self.labels]
            markers = markers_of(cells, na_values, [str(state) for state in states])
            column = column_of_text(self.name, np.arange(len(cells), dtype=np.int32), cells, markers)
            listed = frozenset(na_values) != frozenset(DEFAULT_NA_VALUES)
            return column if listed else replace(column, markers=tuple(sorted(markers)))
        known = [code for code, label in enumerate(self.labels) if label is not None]
        labels = [self._label(code) for code in known]
        if self._floats:
            labels = [float(x) if isinstance(x, int) and not isinstance(x, bool) else x for x in labels]
        codes = np.full(len(self.labels), -1, dtype=np.int32)
        codes[known] = np.arange(len(known))
        return make_column(self.name, codes, labels, fixed=bool(self.fixed))


def _valid(array: Any) -> NDArray[np.bool_]:
    """Give which cells are not missing; empty if all are there."""
    return array.is_valid().to_numpy(zero_copy_only=False) if array.null_count else _NONE
