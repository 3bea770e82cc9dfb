"""Columns of cells: what the rows of a question and of its answer are made of, without pandas until it is wanted."""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING, Any, TypeAlias, Union

import numpy as np
import numpy.typing as npt

from genperf.errors import Note

if TYPE_CHECKING:
    import pandas as pd

#: The cells of one column, of shape (rows,): an array, or a Series of a DataFrame that was given.
Cells: TypeAlias = Union[npt.NDArray[Any], "pd.Series[Any]"]


def frame_of(columns: Mapping[str, Cells]) -> pd.DataFrame:
    """Return columns as a DataFrame; pandas finds the types of Python's values.

    Examples
    --------
    >>> frame_of({"workers": np.array([8, 64], dtype=object), "framework": np.array(["mxnet"] * 2)}).dtypes["workers"]
    dtype('int64')
    """
    import pandas as pd

    return pd.DataFrame({name: _typed(cells) for name, cells in columns.items()})


def columns_of(frame: pd.DataFrame) -> dict[str, npt.NDArray[Any]]:
    """Return the columns of a DataFrame as arrays by name."""
    return {str(name): cells.to_numpy() for name, cells in frame.items()}


def _typed(cells: Cells) -> Any:
    return cells.tolist() if isinstance(cells, np.ndarray) and cells.dtype == object else cells


def neutral(text: str) -> str:
    """Return a cell that no spreadsheet takes for a formula: an apostrophe stands before it where it could be one.

    Examples
    --------
    >>> neutral("=1+1"), neutral("-1.5"), neutral("fp16")
    ("'=1+1", '-1.5', 'fp16')
    """
    if not text.startswith(("=", "+", "-", "@", "\t", "\r")):
        return text
    try:
        float(text)
    except ValueError:
        return f"'{text}"
    return text


def with_columns(frame: pd.DataFrame, columns: Mapping[str, Any]) -> pd.DataFrame:
    """Return a frame with some columns added or replaced, whatever their names: `assign` cannot take `self`.

    Examples
    --------
    >>> import pandas as pd
    >>> with_columns(pd.DataFrame({"n": [1, 2]}), {"self": [3, 4]}).columns.tolist()
    ['n', 'self']
    """
    import pandas as pd

    # One frame of all at once: columns that are added one by one make it slow.
    together: dict[str, Any] = {str(name): cells for name, cells in frame.items()}
    return pd.DataFrame({**together, **columns}, index=frame.index)


def step(text: str) -> Note:
    """Return the report of one change of a table's shape."""
    return Note(text, "shape")
