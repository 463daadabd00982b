"""Files of spreadsheets and of other statistical programs, read by pandas."""

from __future__ import annotations

from pathlib import Path
from typing import Any

from cslearn._files import check_file
from cslearn.errors import FileError, MissingExtraError

__all__ = ["DOCUMENTS", "read_document"]

# What a file is called in messages, and the function of pandas that reads it.
DOCUMENTS = {
    ".xlsx": ("an Excel workbook", "read_excel"),
    ".dta": ("a Stata file", "read_stata"),
    ".sav": ("an SPSS file", "read_spss"),
}


def read_document(path: Path) -> Any:
    """Return the table in a file: the first sheet of a workbook; labels of values, where there are any, as the states.

    A first column without a name holds row names, as in a text file, and is left out.
    """
    import pandas as pd

    check_file(path)
    kind, reader = DOCUMENTS[path.suffix.lower()]
    try:
        frame = getattr(pd, reader)(path)
    except ImportError as error:
        raise MissingExtraError(
            f'Reading {kind} needs a package that is not installed: pip install "cslearn[files]"'
        ) from error
    except Exception as error:  # pandas and its readers raise errors of many kinds
        raise FileError(f"{path} is not {kind}, or a damaged one: {error}. Save it again, or as CSV.") from error
    if len(frame.columns) > 1 and str(frame.columns[0]).startswith("Unnamed: 0"):
        frame = frame.iloc[:, 1:]
    return frame
