"""Categorical data: reading, encoding, and cutting numbers into bins."""

from __future__ import annotations

from cslearn.data._batches import only_in_batches
from cslearn.data._frames import as_frame
from cslearn.data._labels import State, StateIndex
from cslearn.data.batching import iter_tables
from cslearn.data.benchpress import read_benchpress, write_benchpress
from cslearn.data.discretizing import Discretizer, discretize
from cslearn.data.incomplete import incomplete_codes
from cslearn.data.packed import PackedTable
from cslearn.data.packing import pack
from cslearn.data.reading import DEFAULT_NA_VALUES, as_table
from cslearn.data.table import Table, TableLike, rare_states

__all__ = [
    "DEFAULT_NA_VALUES",
    "Discretizer",
    "PackedTable",
    "State",
    "StateIndex",
    "Table",
    "TableLike",
    "as_frame",
    "as_table",
    "discretize",
    "incomplete_codes",
    "iter_tables",
    "only_in_batches",
    "pack",
    "rare_states",
    "read_benchpress",
    "write_benchpress",
]
