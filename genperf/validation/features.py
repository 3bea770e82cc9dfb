"""A table's factors as the columns of a learner: logarithms, standardised, a column per level."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, Literal, NamedTuple

import numpy as np
import numpy.typing as npt
import pandas as pd

from genperf.table import Factor, Table

Array = npt.NDArray[np.float64]


class Forecast(NamedTuple):
    """Predictions of a table's target."""

    #: Shape (rows,). In the target's unit; NaN where there is none.
    predicted: Array
    lower: Array
    upper: Array

    @classmethod
    def of_logarithms(cls, *logarithms: Array) -> Forecast:
        """Return predictions and bounds from their logarithms; a value that overflows is no prediction.

        Examples
        --------
        >>> Forecast.of_logarithms(np.log([2.0]), np.zeros(1), np.log([4.0])).upper.round(6)
        array([4.])
        """
        with np.errstate(over="ignore", invalid="ignore"):
            columns = [np.exp(column) for column in logarithms]
        return cls(*(np.where(np.isfinite(column), column, np.nan) for column in columns))


@dataclass(frozen=True)
class Axis:
    """How one numeric factor is read."""

    name: str
    #: ln x where all values are above zero; ln(1 + x/centre) where one is zero; x/centre where one is negative.
    scale: Literal["log", "log1p", "linear"]
    #: The factor's centre (see `Factor`).
    centre: float

    @classmethod
    def of(cls, factor: Factor) -> Axis:
        """Return the axis of a numeric factor."""
        scale: Literal["log", "log1p", "linear"] = "log" if factor.positive else "log1p"
        return cls(factor.name, "linear" if factor.lower < 0 else scale, factor.centre)

    def read(self, data: Mapping[str, Any] | pd.DataFrame) -> Array:
        """Return the values; not finite where the factor has none on this scale.

        Examples
        --------
        >>> Axis("servers", "log1p", 2.0).read({"servers": [0, 2]}).round(3)
        array([0.   , 0.693])
        """
        values = np.asarray(data[self.name], dtype=float)
        with np.errstate(all="ignore"):
            if self.scale == "log":
                return np.asarray(np.log(values))
            return np.asarray(np.log1p(values / self.centre) if self.scale == "log1p" else values / self.centre)


@dataclass(frozen=True, eq=False)
class Encoder:
    """Factors → matrix, learned from the training part alone."""

    #: The numeric factors with more than one value.
    axes: tuple[Axis, ...]
    #: Categorical factor and level, a column of 0 and 1 each.
    levels: tuple[tuple[str, str], ...]
    #: Shape (axes,). The mean and the standard deviation of each axis: it is shifted by the one and divided by the
    #: other.
    shift: Array
    spread: Array

    @classmethod
    def of(cls, train: Table, plain: bool = False) -> Encoder:
        """Learn the encoding of a table; a plain one is not standardised, and has no column of the first level."""
        axes = tuple(Axis.of(f) for f in train.numeric if f.distinct > 1)
        levels = tuple((f.name, level) for f in train.categorical if f.distinct > 1 for level in f.levels[plain:])
        shift, spread = np.zeros(len(axes)), np.ones(len(axes))
        if axes and not plain:
            read = np.stack([a.read(train.frame) for a in axes], axis=1)
            shift, spread = read.mean(axis=0), read.std(axis=0)
        return cls(axes, levels, shift, np.where(spread > 0, spread, 1.0))

    @property
    def names(self) -> list[str]:
        """The columns' names."""
        return [a.name for a in self.axes] + [f"{factor}={level}" for factor, level in self.levels]

    def matrix(self, data: pd.DataFrame) -> Array:
        """Return the matrix, shape (rows, columns).

        Examples
        --------
        >>> from genperf.table import read_table
        >>> runs = pd.DataFrame({"n": [1, 4], "net": ["a", "b"], "t": [4.0, 1.0]})
        >>> Encoder.of(read_table(runs, time="t", extrinsic="n", categorical="net")).matrix(runs)
        array([[-1.,  1.,  0.],
               [ 1.,  0.,  1.]])
        """
        parts = [(a.read(data) - m) / s for a, m, s in zip(self.axes, self.shift, self.spread, strict=True)]
        parts += [(data[factor] == level).to_numpy(dtype=float) for factor, level in self.levels]
        return np.stack(parts, axis=1) if parts else np.zeros((len(data), 0))


def half_width(residuals: Array, interval: float) -> float:
    """Return what to add and subtract so that a share `interval` of new residuals of the same kind lies within.

    The rank ⌈(n + 1)·interval⌉ of the n absolute residuals (split conformal prediction); NaN where n is too small.

    Examples
    --------
    >>> half_width(np.array([0.1, -0.2, 0.3, -0.4]), 0.8), half_width(np.array([0.1]), 0.9)
    (0.4, nan)
    """
    absolute = np.sort(np.abs(residuals[np.isfinite(residuals)]))
    rank = int(np.ceil((len(absolute) + 1) * interval - 1e-9))
    return float(absolute[rank - 1]) if 0 < rank <= len(absolute) else float("nan")
