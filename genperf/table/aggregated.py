"""A table that holds one row per configuration, with statistics of the rows behind it."""

from __future__ import annotations

from functools import cached_property

import numpy as np

from genperf.table.table import REPEATS, FloatArray, Positions, Table


class AggregatedTable(Table):
    r"""A table whose rows were counted and summarised while they were read.

    The frame has a row per configuration: its measured value is the median, its weight the sum, and beside the
    columns of a `Table` it has `_repeats, _mean, _variance, _shortest, _longest` and the quantiles
    `_q05, _q25, _q75, _q95` of the measured values.

    Examples
    --------
    >>> import tempfile, pathlib
    >>> from genperf.table import read_table
    >>> folder = pathlib.Path(tempfile.mkdtemp())
    >>> _ = (folder / "a.csv").write_text("workers,s\n1,0.9\n1,1.1\n")
    >>> _ = (folder / "b.csv").write_text("workers,s\n2,0.5\n")
    >>> table = read_table(folder / "*.csv", time="s", extrinsic="workers")
    >>> table.rows, table.measured.tolist(), round(table.noise(), 4)
    (3, [1.0, 0.5], 0.1414)
    """

    @property
    def rows(self) -> int:
        """How many rows were measured."""
        return int(self.repeats.sum())

    @cached_property
    def repeats(self) -> Positions:
        """Rows behind each configuration."""
        return self.frame[REPEATS].to_numpy(dtype=np.int64)

    @property
    def extremes(self) -> tuple[FloatArray, FloatArray]:
        """The smallest and the largest measured value of each configuration, in the target's unit."""
        return tuple(self.frame[name].to_numpy(dtype=float) for name in ("_shortest", "_longest"))  # type: ignore[return-value]

    @cached_property
    def _medians(self) -> Table:
        return self

    def noise(self) -> float:
        """Return the relative standard deviation of repeats, pooled as `Table.noise` does."""
        freedom = self.repeats - 1
        if freedom.sum() == 0:
            return float("nan")
        mean, variance = (self.frame[name].to_numpy(dtype=float) for name in ("_mean", "_variance"))
        squares = np.where(freedom > 0, freedom * variance / mean**2, 0.0)
        return float(np.sqrt(np.sum(squares) / freedom.sum()))
