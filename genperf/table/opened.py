"""Where a table comes from: files, standard input, a DataFrame or runs themselves → unchecked cells."""

from __future__ import annotations

import io
from collections import Counter
from collections.abc import Callable, Sequence
from dataclasses import replace
from importlib import import_module
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np

from genperf.errors import TableError, listed
from genperf.table.cells import step
from genperf.table.content import CONTENT, decoded, files_of, read_content, refuse_other_text
from genperf.table.delimited import column_names, read_delimited
from genperf.table.records import looks_like_json, read_records
from genperf.table.source import Source, source_of

if TYPE_CHECKING:
    import pandas as pd


def open_source(source: str | Path | pd.DataFrame, delimiter: str | None = None) -> Source:
    """Read the cells of a file, of standard input ("-") or of a DataFrame, before anything is understood of them.

    Tables of other libraries that have `to_pandas` (polars, pyarrow, cuDF) are read as DataFrames are.

    Delimited text in UTF-8 (UTF-16 with its mark), a drawn table, or JSON, also compressed (gzip, bz2, xz, zstd), or
    Parquet: told apart by content, not by name. Lines that start with `#` are comments.

    Raises
    ------
    TableError
        If there is nothing to read, or it is not a table.
    """
    if not isinstance(source, str | Path):
        import pandas as pd

        frame = source if isinstance(source, pd.DataFrame) else getattr(source, "to_pandas", lambda: None)()
        if isinstance(frame, pd.DataFrame):
            return _from_frame(frame, "DataFrame")
        raise TableError(f"a table is read from a path or a DataFrame, not from {type(source).__name__}")
    name, data = read_content(source)
    if data[:4] == b"PAR1":
        return _from_parquet(data, name)
    text = decoded(data, name)
    refuse_other_text(text, name)
    json = delimiter is None and looks_like_json(text)
    return read_records(text, name) if json else read_delimited(text, name, delimiter)


def open_files(sources: Sequence[str], delimiter: str | None = None) -> Source:
    """Read files, and patterns of files, of the same columns, as one table.

    Raises
    ------
    TableError
        Where a file has other columns than the first, or a pattern matches nothing.
    """
    files = [file for source in sources for file in ([source] if source == "-" else files_of(source))]
    first, *others = opened = [open_source(file, delimiter) for file in files]
    if not others:
        return first
    names = list(map(str, first.cells))
    for other in others:
        if sorted(map(str, other.cells)) != sorted(names):
            raise TableError(
                f"has the columns {listed(list(map(str, other.cells)))}, and {first.name} has {listed(names)}",
                hint="files of one table have the same columns; genperf import reads the logs of other programs",
                where=other.name,
            )
    cells = {name: np.concatenate([np.asarray(one.cells[name], object) for one in opened]) for name in names}
    rows = sum(len(one.lines) for one in opened)
    ragged = tuple(rejection for one in opened for rejection in one.ragged)
    counts = Counter(done.text for one in opened for done in one.steps)
    steps = tuple(step(f"{text} (in {n} of {len(opened)} files)") for text, n in counts.items())
    return replace(
        first,
        name=" ".join(sources),
        cells=cells,
        lines=np.arange(1, rows + 1),
        unit="row",
        ragged=ragged,
        steps=steps,
    )


def source_of_runs(runs: Sequence[Sequence[str]]) -> Source:
    """Return a table of counts of workers with the throughput of each.

    Examples
    --------
    >>> source_of_runs([("1", "410"), ("2", "792")]).columns["throughput"].tolist()
    ['410', '792']
    """
    return source_of("runs", ("workers", "throughput"), runs, range(1, len(runs) + 1), "run")


def read_text(source: str | Path) -> tuple[str, str]:
    """Read a text file of any kind, or standard input ("-"): compressed or not, UTF-8, or UTF-16 with its mark.

    Returns
    -------
    name : str
        What messages call it.

    Raises
    ------
    TableError
        If it cannot be read, or is not text.
    """
    name, data = read_content(source)
    return name, decoded(data, name)


def _from_parquet(data: bytes, name: str) -> Source:
    try:
        import_module("pyarrow")
        parquet = import_module("pyarrow.parquet")
    except ImportError:
        raise TableError("reading Parquet needs pyarrow", hint='pip install "genperf[parquet]"', where=name) from None
    import pandas as pd

    read: Callable[[Any], pd.DataFrame] = pd.read_parquet
    try:
        counts = parquet.read_metadata(io.BytesIO(data))
        cells = counts.num_rows * counts.num_columns
        if cells > CONTENT.max_parquet_cells:
            raise TableError(
                f"holds {counts.num_rows:,} rows of {counts.num_columns} columns; at most "
                f"{CONTENT.max_parquet_cells:,} cells are read into memory",
                hint='--aggregate summarises them while they are read, with pip install "genperf[large]"',
                where=name,
            )
        frame = read(io.BytesIO(data))
    except TableError:
        raise
    except Exception as error:  # pyarrow's errors have no common class of their own
        reason = str(error).split("\n")[0]
        raise TableError(f"is not a Parquet file that can be read ({reason})", where=name) from None
    return _from_frame(frame, name)


def _from_frame(frame: pd.DataFrame, name: str) -> Source:
    import pandas as pd

    # A named index is data (as after groupby or set_index); a row number is not, nor what is a column as well.
    twice = [label for label in frame.index.names if label is not None and label in frame.columns]
    if twice:
        frame = frame.reset_index(level=twice, drop=True)
    if any(label is not None for label in frame.index.names):
        frame = frame.reset_index()
    if not len(frame.columns):
        raise TableError("the table has no columns", where=name)
    columns = column_names([str(c) for c in frame.columns], name)
    if not len(frame):
        raise TableError("the table has columns and no rows", where=name)
    frame = frame.set_axis(pd.Index(columns), axis=1).reset_index(drop=True)
    return Source(name, frame, np.arange(len(frame), dtype=np.int64), "row")
