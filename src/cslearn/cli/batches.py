"""Commands that go through a table row by row: large tables in batches, with output as it comes."""

from __future__ import annotations

import json
import re
import sys
import warnings
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING, Any, BinaryIO

from cslearn.cli.streams import note

if TYPE_CHECKING:
    import pandas as pd

__all__ = ["RowWriter", "few_notes", "records", "row_writer"]

# What differs between notes of the same kind: numbers, and what is quoted from the data.
_PARTICULARS = re.compile(r"'[^']*'|\d[\d,.]*")


def records(frame: pd.DataFrame) -> list[dict[str, Any]]:
    """Return the rows of a frame in a form that JSON can hold."""
    return [
        {str(name): getattr(value, "item", lambda value=value: value)() for name, value in row.items()}
        for row in frame.astype(object).to_dict("records")
    ]


class RowWriter:
    """Writes frames one after the other as one CSV table, or as one list in JSON."""

    def __init__(self, stream: BinaryIO | None, as_json: bool) -> None:
        self._stream, self._json, self._begun = stream, as_json, False

    def write(self, frame: pd.DataFrame) -> None:
        """Write rows."""
        if self._json:
            rows = json.dumps(records(frame))[1:-1]
            self.text((", " if self._begun and rows else "" if self._begun else "[") + rows)
        else:
            self.text(frame.to_csv(index=False, header=not self._begun))
        self._begun = True

    def text(self, text: str) -> None:
        """Write text as it is."""
        if self._stream is None:
            sys.stdout.write(text)
        else:
            self._stream.write(text.encode("utf-8"))

    def close(self) -> None:
        """Write the end."""
        if self._json:
            self.text("]\n" if self._begun else "[]\n")


@contextmanager
def row_writer(output: Path | None, as_json: bool) -> Iterator[RowWriter]:
    """Give what writes rows to a file, which is there when all are written, or to standard output."""
    from cslearn._files import atomic_file

    if output is None:
        writer = RowWriter(None, as_json)
        yield writer
        writer.close()
        return
    with atomic_file(output) as stream:
        writer = RowWriter(stream, as_json)
        yield writer
        writer.close()


@contextmanager
def few_notes() -> Iterator[None]:
    """Tell of the first warning of a kind at once, and at the end in how many more batches there was the like."""
    told: dict[str, int] = {}
    show = warnings.showwarning

    def show_first(message: Warning | str, *args: Any, **options: Any) -> None:
        kind = _PARTICULARS.sub("", str(message))
        told[kind] = told.get(kind, 0) + 1
        if told[kind] == 1:
            show(message, *args, **options)

    warnings.showwarning = show_first
    try:
        yield
    finally:
        warnings.showwarning = show
        more = sum(count - 1 for count in told.values())
        if more:
            note(f"the table was read in batches; in later ones there was cause for {more:,} more notes of these kinds")
