"""A grid of configurations: every combination of ranges, values and levels, read in blocks."""

from __future__ import annotations

import math
import re
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
import numpy.typing as npt
import pandas as pd

from genperf.errors import GenperfError


@dataclass(frozen=True)
class GridSettings:
    """How large a grid may be."""

    #: More are refused. Ten million take about ten seconds (docs/results/optimize.md).
    max_configurations: int = 20_000_000
    #: A range reaches its last value where it is so near to it, in steps: rounding errors.
    relative_slack: float = 1e-9
    #: A range of more values is refused without their count: a number of hundreds of digits tells nobody anything.
    countable: float = 1e18


GRID = GridSettings()
_NUMBER = r"[-+]?(?:\d+\.?\d*|\.\d+)(?:[eE][-+]?\d+)?"
_RANGE = re.compile(rf"^({_NUMBER})\s*:\s*({_NUMBER})(?:\s*:\s*(\*?)\s*({_NUMBER}))?$")


@dataclass(frozen=True, eq=False)
class Axis:
    """One name and the values it may take: floats, or texts for levels."""

    name: str
    values: npt.NDArray[Any]

    @property
    def numeric(self) -> bool:
        """Whether the values are numbers."""
        return self.values.dtype != object


@dataclass(frozen=True, eq=False)
class Grid:
    """Every combination of the axes' values; the last axis runs fastest.

    Examples
    --------
    >>> grid = read_grid({"workers": "1:4:*2", "batch": [32, 64]})
    >>> grid.size, {name: values.tolist() for name, values in grid.columns(1, 4).items()}
    (6, {'workers': [1.0, 2.0, 2.0], 'batch': [64.0, 32.0, 64.0]})
    """

    axes: tuple[Axis, ...]

    @property
    def size(self) -> int:
        """How many configurations there are."""
        return math.prod(len(a.values) for a in self.axes)

    def columns(self, start: int, stop: int) -> dict[str, npt.NDArray[Any]]:
        """Return the configurations from `start` to before `stop`, by name."""
        return self.take(np.arange(start, stop))

    def take(self, positions: npt.NDArray[np.int64]) -> dict[str, npt.NDArray[Any]]:
        """Return the configurations at some positions, by name."""
        columns: dict[str, npt.NDArray[Any]] = {}
        left = np.asarray(positions)
        for axis in reversed(self.axes):
            left, place = np.divmod(left, len(axis.values))
            columns[axis.name] = axis.values[place]
        return {a.name: columns[a.name] for a in self.axes}


def read_grid(over: Mapping[str, Any]) -> Grid:
    """Read the values of each axis.

    Parameters
    ----------
    over : mapping of str to values
        A value, a sequence of values, or a text of items with commas between them: numbers, levels, and ranges `a:b`
        (steps of 1), `a:b:step` and `a:b:*factor`, ends included.

    Raises
    ------
    GenperfError
        For a range that holds nothing, values that are not finite, or too many configurations.

    Examples
    --------
    >>> read_grid({"workers": "1:3,8:32:*2", "precision": "fp16,fp32"}).axes[0].values
    array([ 1.,  2.,  3.,  8., 16., 32.])
    """
    if not over:
        raise GenperfError("nothing is varied", hint="--over workers=1:256")
    spans = {name: [_span(name, item) for item in _items(given)] for name, given in over.items()}
    counts = {name: sum(s.count for s in parts) for name, parts in spans.items()}
    for name, count in counts.items():
        if count == 0:
            raise GenperfError(f"'{name}' is given no value", hint=f"--over {name}=1,2,4")
    if math.prod(counts.values()) > GRID.max_configurations:
        _refuse_size(counts, spans)
    return Grid(tuple(_axis(name, parts) for name, parts in spans.items()))


@dataclass(frozen=True)
class _Span:
    """Part of an axis: `count` values from `first` on; or one text."""

    first: float | str
    count: int = 1
    step: float = 1.0
    power: bool = False

    def values(self) -> npt.NDArray[np.float64]:
        steps = np.arange(self.count, dtype=float)
        return float(self.first) * self.step**steps if self.power else float(self.first) + self.step * steps


def _items(given: Any) -> Iterable[Any]:
    if isinstance(given, str):
        return [part.strip() for part in given.split(",")] if given.strip() else []
    if isinstance(given, Sequence | range | np.ndarray | pd.Series | pd.Index):
        return given
    return [given]


def _span(name: str, item: Any) -> _Span:
    if isinstance(item, str):
        if not item.strip():
            raise GenperfError(f"a value of '{name}' is empty", hint=f"--over {name}=1,2,4")
        if "_" in item or not item.isascii():
            # Python would read 1_000 and the digits of other scripts; a table does not.
            return _Span(item.strip())
        match = _RANGE.match(item.strip())
        if match:
            return _range(name, match)
        try:
            item = float(item)
        except ValueError:
            if ":" in item:
                raise GenperfError(
                    f"'{item}' of '{name}' is not a range", hint=f"{name}=1:256, {name}=0:64:8 or {name}=1:256:*2"
                ) from None
            return _Span(item.strip())
    number = float(item)
    if not math.isfinite(number):
        raise GenperfError(f"'{name}' is given {number}, which is not finite", hint=f"--over {name}=1:256")
    return _Span(number)


def _range(name: str, match: re.Match[str]) -> _Span:
    """Return the values of a range `first:last`, `first:last:step` or `first:last:*factor`."""
    first, last, star, by = match.groups()
    low, high, step, power = float(first), float(last), float(by or 1.0), star == "*"
    range_ = f"the range {match.string} of '{name}'"
    if high < low:
        raise GenperfError(f"{range_} runs downwards", hint=f"{name}={last}:{first}")
    if power:
        if low <= 0 or step <= 1:
            raise GenperfError(f"{range_} needs a start above 0 and a factor above 1", hint=f"{name}=1:256:*2")
        return _Span(low, int(math.log(high / low) / math.log(step) + GRID.relative_slack) + 1, step, power=True)
    if step <= 0:
        raise GenperfError(f"{range_} needs a step above 0", hint=f"{name}={first}:{last}:1")
    count = (high - low) / step + GRID.relative_slack
    if not count < GRID.countable:
        most = f"at most {GRID.max_configurations:,} are evaluated"
        raise GenperfError(f"{range_} holds too many values: {most}", hint=f"{name}={first}:{last}:*2")
    return _Span(low, int(count) + 1, step)


def _axis(name: str, spans: Sequence[_Span]) -> Axis:
    if all(isinstance(s.first, float) for s in spans):
        return Axis(name, np.asarray(pd.unique(np.concatenate([s.values() for s in spans]))))
    texts = list(dict.fromkeys(s.first if isinstance(s.first, str) else f"{s.first:g}" for s in spans))
    values = np.empty(len(texts), dtype=object)
    values[:] = texts
    return Axis(name, values)


def _refuse_size(counts: Mapping[str, int], spans: Mapping[str, Sequence[_Span]]) -> None:
    size = math.prod(counts.values())
    shown = " × ".join(f"{name} ({count:,})" for name, count in counts.items())
    longest = max(counts, key=lambda name: counts[name])
    numbers = [s for s in spans[longest] if isinstance(s.first, float)]
    low = min(float(s.first) for s in numbers)
    high = max(
        float(s.first) * s.step ** (s.count - 1) if s.power else s.first + s.step * (s.count - 1)
        for s in numbers
        if isinstance(s.first, float)
    )
    if low > 0:
        coarse, left = f"{low:g}:{high:.15g}:*2", int(math.log2(high / low)) + 1
    else:
        coarse, left = f"{low:g}:{high:.15g}:{(high - low) / 16:.6g}", 17
    raise GenperfError(
        f"{shown} make {size:,} configurations; at most {GRID.max_configurations:,} are evaluated",
        hint=f"{longest}={coarse} leaves {size // counts[longest] * left:,}",
    )
