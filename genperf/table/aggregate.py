"""Tables too large for memory: one row per configuration, counted and summarised where the rows are.

DuckDB reads the files in parallel and a part at a time. Exact medians of very many rows are found in two passes: the
first brackets each configuration's median and the second looks only between, so that a few per cent of the times are
held at once.
"""

from __future__ import annotations

import glob
from collections.abc import Sequence
from dataclasses import dataclass, field
from pathlib import Path
from types import TracebackType
from typing import Any

import numpy as np
import numpy.typing as npt
import pandas as pd

from genperf.errors import TableError
from genperf.table.source import Source, guess_delimiter

#: Files larger than this together are aggregated without being asked, bytes.
LARGE = 64_000_000
#: Rows up to which every time of a configuration is held for its quantiles.
EXACT_ROWS = 20_000_000
#: How far from the middle the first pass brackets a median, as a share of the rows.
BRACKET = 0.01
#: What DuckDB may hold at once; what does not fit goes to temporary files.
MEMORY = "1GB"
#: More combinations of values than this are not the settings of runs.
MOST_CONFIGURATIONS = 1_000_000
#: The quantiles that are kept beside the median.
QUANTILES = {"_q05": 0.05, "_q25": 0.25, "_q75": 0.75, "_q95": 0.95}
#: Sums of many numbers depend on the order in which threads add them from the sixteenth digit on; these are kept.
DIGITS = 12
#: Rows from which the columns' kinds are seen.
SAMPLE = 1000

STATISTICS = ("_repeats", "_mean", "_variance", "_shortest", "_longest", *QUANTILES)


def files_of(source: str | Path) -> list[str]:
    """Return the files that a path or a pattern names.

    Raises
    ------
    TableError
        Where a pattern matches nothing.
    """
    text = str(Path(source).expanduser())
    if Path(text).is_file() or not any(c in text for c in "*?["):
        return [text]
    found = sorted(name for name in glob.glob(text, recursive=True) if Path(name).is_file())
    if not found:
        raise TableError("no file matches", hint="quote the pattern, and check the folder", where=str(source))
    return found


def worth_aggregating(source: Any) -> bool:
    """Tell whether a source names several files or a large one."""
    if not isinstance(source, str | Path) or str(source) == "-":
        return False
    files = files_of(source)
    sizes = [Path(name).stat().st_size for name in files if Path(name).is_file()]
    return len(files) > 1 or (sum(sizes) > LARGE and _installed())


def _installed() -> bool:
    from importlib.util import find_spec

    return find_spec("duckdb") is not None


@dataclass(frozen=True, eq=False)
class Asked:
    """What is to be summarised.

    Attributes
    ----------
    keys : tuple of str
        Columns whose combinations of values are the configurations.
    value : str
        The measured column.
    inverse : bool
        Whether 1/value is summarised: the time per unit of work, of a speed.
    weight : str or None
        A column whose sum is wanted.
    """

    keys: tuple[str, ...]
    value: str
    inverse: bool = False
    weight: str | None = None


@dataclass
class LargeSource:
    """Files of rows, asked by SQL that is written here alone.

    Attributes
    ----------
    name : str
        What messages call it.
    files : list of str
    delimiter : str or None
        Of text files; found where omitted.
    """

    name: str
    files: list[str]
    delimiter: str | None = None
    _connection: Any = field(default=None, init=False)

    def __enter__(self) -> LargeSource:
        try:
            import duckdb
        except ImportError:
            raise TableError(
                "reading several or large files needs DuckDB", hint='pip install "genperf[large]"', where=self.name
            ) from None
        self._connection = duckdb.connect(config={"memory_limit": MEMORY})
        # It would be drawn on standard output, where results stand.
        self._run("set enable_progress_bar = false")
        self._rows()
        return self

    def __exit__(self, kind: type[BaseException] | None, error: BaseException | None, at: TracebackType | None) -> None:
        self._connection.close()

    def _rows(self) -> None:
        """Make the view `rows`: text files as text, so that every cell is judged by the same rules as in small ones."""
        listed = "[" + ", ".join(_text(name) for name in self.files) + "]"
        heads = [_head(name) for name in self.files]
        if all(head[:4] == b"PAR1" for head in heads):
            self._run(f"create view rows as select * from read_parquet({listed}, union_by_name=true)")
            return
        if any(head[:4] == b"PAR1" for head in heads):
            raise TableError("some files are Parquet and some are text", hint="name one kind", where=self.name)
        first = heads[0].decode("utf-8", "replace")
        separator = self.delimiter or ("," if heads[0][:2] == b"\x1f\x8b" else guess_delimiter(first))
        self._run(
            f"create view rows as select * from read_csv({listed}, delim={_text(separator)}, header=true, "
            "all_varchar=true, union_by_name=true, comment='#', strict_mode=true)"
        )

    def _run(self, query: str) -> Any:
        import duckdb

        try:
            return self._connection.execute(query)
        except duckdb.Error as error:
            said = str(error).split("\n")[0]
            raise TableError(f"cannot be read as one table ({said})", where=self.name) from None

    def sample(self) -> Source:
        """Return the first rows, from which the kinds of columns are seen."""
        frame = self._run(f"select * from rows limit {SAMPLE}").df()
        if frame.empty:
            raise TableError("the table has columns and no rows", where=self.name)
        return Source(self.name, frame, np.arange(len(frame), dtype=np.int64), "row")

    def summarise(self, asked: Asked) -> pd.DataFrame:
        """Return a row per combination of the keys' values, sorted by them.

        Columns: the keys; the value's column with its median; the weight's with its sum; `STATISTICS`; `_unusable`, the
        rows whose value is not above zero and finite, and `_example`, one such value.
        """
        self._values(asked, ", ".join(f"{_name(k)} as k{i}" for i, k in enumerate(asked.keys)), "")
        names = [f"k{i}" for i in range(len(asked.keys))]
        found = self._statistics(asked, names)
        return found.rename(columns=dict(zip(names, asked.keys, strict=True)))

    def summarise_by(self, asked: Asked, keys: pd.DataFrame, number: npt.NDArray[np.int64]) -> pd.DataFrame:
        """Return a row per number, given which combinations of the keys' values have it: 8 and 8.0 are one setting."""
        same = keys.set_axis([f"c{i}" for i in range(keys.shape[1])], axis=1).assign(k0=number)
        self._connection.register("same", same)
        matched = " and ".join(f"rows.{_name(k)} is not distinct from same.c{i}" for i, k in enumerate(asked.keys))
        self._values(asked, "same.k0", f"join same on {matched}")
        return self._statistics(asked, ["k0"]).drop(columns="k0")

    def _values(self, asked: Asked, keys: str, joined: str) -> None:
        number = f"try_cast(rows.{_name(asked.value)} as double)"
        weight = f"try_cast(rows.{_name(asked.weight)} as double)" if asked.weight else "1.0"
        usable = f"{number} > 0 and isfinite({number})"
        self._run(
            f"create or replace temp view measured as select {keys}, {usable} is true as good, "
            f"{'1.0 / ' if asked.inverse else ''}{number} as x, {weight} as w, "
            f"rows.{_name(asked.value)} as said from rows {joined}"
        )

    def _statistics(self, asked: Asked, names: Sequence[str]) -> pd.DataFrame:
        rows = int(self._run("select count(*) from rows").fetchone()[0])
        exact = rows <= EXACT_ROWS
        shares = [0.5, *QUANTILES.values()]
        ends = [] if exact else [0.5 - BRACKET, 0.5 + BRACKET]
        function = "quantile_cont" if exact else "approx_quantile"
        by = ", ".join(names)
        self._run(
            f"create or replace temp table found as select {by}, count(*) filter (good) as _repeats, "
            "avg(x) filter (good) as _mean, var_samp(x) filter (good) as _variance, min(x) filter (good) as _shortest, "
            f"max(x) filter (good) as _longest, {function}(x, {shares + ends}) filter (good) as q, "
            "sum(w) filter (good) as weight, count(*) filter (not good) as _unusable, "
            f"cast(any_value(said) filter (not good) as varchar) as _example from measured group by {by} order by {by}"
        )
        count = self._run("select count(*) from found").fetchone()[0]
        if count > MOST_CONFIGURATIONS:
            raise TableError(
                f"{count} different settings: a column that differs from row to row is named as a factor or a group",
                hint="name only what was set",
                where=self.name,
            )
        found: pd.DataFrame = self._run("select * from found").df()
        found = found.sort_values(list(names), kind="stable", key=_in_order).reset_index(drop=True)
        nothing = [np.nan] * len(shares + ends)
        quantiles = np.array([nothing if np.ndim(q) == 0 else q for q in found.pop("q")], float)
        middle = quantiles[:, 0] if exact else self._medians(found, quantiles[:, -2:], names)
        found[asked.value] = middle
        for j, name in enumerate(QUANTILES, start=1):
            found[name] = quantiles[:, j]
        for name in ("_mean", "_variance"):
            found[name] = _rounded(found[name].to_numpy(dtype=float, na_value=np.nan))
        weight = found.pop("weight")
        return found.assign(**{asked.weight: weight}) if asked.weight else found

    def _medians(self, found: pd.DataFrame, ends: npt.NDArray[np.float64], names: Sequence[str]) -> Any:
        """Return exact medians, given for each configuration an interval that most likely holds it."""
        inside = found[list(names)].assign(lo=ends[:, 0], hi=ends[:, 1], number=np.arange(len(found)))
        self._connection.register("bracket", inside)
        matched = " and ".join(f"measured.{n} is not distinct from bracket.{n}" for n in names)
        joined = f"from measured join bracket on {matched} where good"
        held = self._run(
            "select number, count(*) filter (x < lo) as below, list_sort(list(x) filter (x between lo and hi)) as v "
            f"{joined} group by number"
        ).fetchall()
        out = np.full(len(found), np.nan)
        repeats = found["_repeats"].to_numpy()
        missed = []
        for number, below, values in held:
            low, high = (repeats[number] - 1) // 2 - below, repeats[number] // 2 - below
            if values is not None and low >= 0 and high < len(values):
                out[number] = 0.5 * (values[low] + values[high])
            else:
                missed.append(int(number))
        for number in missed:
            answer = self._run(f"select quantile_cont(x, 0.5) {joined} and number = {number}").fetchone()
            out[number] = answer[0]
        return out


def _head(name: str) -> bytes:
    try:
        with open(name, "rb") as file:
            return file.read(1 << 16)
    except OSError as error:
        raise TableError(f"cannot be read ({error.strerror or error})", where=name) from None


def _in_order(cells: pd.Series) -> pd.Series:
    """Return what cells are sorted by: 8 before 16, also where they are text."""
    as_numbers = pd.to_numeric(cells, errors="coerce")
    return cells.astype(str) if as_numbers.isna().any() else as_numbers


def _rounded(values: npt.NDArray[np.float64]) -> npt.NDArray[np.float64]:
    return np.array([float(f"{v:.{DIGITS - 1}e}") for v in values])


def _name(column: str) -> str:
    return '"' + column.replace('"', '""') + '"'


def _text(value: str) -> str:
    return "'" + value.replace("'", "''") + "'"
