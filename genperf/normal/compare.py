"""Where a measured efficiency stands among published series of the same kind of step."""

import json
from collections.abc import Mapping
from dataclasses import dataclass
from functools import cache
from pathlib import Path
from typing import Any, Literal

import numpy as np
import numpy.typing as npt

from genperf.arrays import Array
from genperf.table.axis import several_nodes

Kind = Literal["inside", "second", "beyond"]

FILE = Path(__file__).parent / "steps.json"


@dataclass(frozen=True)
class NormalSettings:
    """Which published series an efficiency is compared with."""

    #: Series and clusters below which nothing is compared: an end of "nine in ten" is the second of thirty.
    fewest_series: int = 30
    fewest_clusters: int = 3
    #: Series and sources that must be left where a comparison is narrowed. Clusters differ more than series of one do:
    #: nine in ten of thirty series of three clusters hold four in five of another source (`experiments/normal.py`).
    narrowed_series: int = 100
    narrowed_sources: int = 5
    #: The shares of published series below the two ends.
    low: float = 0.05
    high: float = 0.95
    #: A share below it, or above the rest of it, is in the lower or the upper quarter.
    quarter: float = 0.25
    #: What narrows the comparison, in this order, while enough is left: the number of doublings first, since the first
    #: costs more than the next.
    narrowing: tuple[str, ...] = ("doublings", "between", "devices_per_node", "framework")


NORMAL = NormalSettings()


@dataclass(frozen=True)
class Step:
    """Two counts of one series, and how the rate grew between them."""

    #: `inside` a node, from one node to the `second` (or at once to more), or `beyond` the first count of several.
    kind: Kind
    #: Devices and nodes before and after.
    before: tuple[float, float]
    after: tuple[float, float]
    #: What each device or node does after, as a part of what it did before.
    efficiency: float

    @property
    def doublings(self) -> float:
        """How often the count doubles."""
        by = 0 if self.before[0] != self.after[0] else 1
        return round(float(np.log2(self.after[by] / self.before[by])), 3)


@dataclass(frozen=True)
class Normal:
    """Where an efficiency stands: fractions, but for the percentile; `low` and `high` hold 90 % of the series."""

    step: Step
    value: float
    percentile: float
    median: float
    low: float
    high: float
    series: int
    clusters: int
    #: What the comparison was narrowed by, of `NORMAL.narrowing`.
    narrowed: tuple[str, ...]

    def to_dict(self) -> dict[str, Any]:
        """Return it as plain values, for JSON."""
        names = ("value", "percentile", "median", "low", "high", "series", "clusters")
        rounded = {name: round(getattr(self, name), 4) for name in names}
        return {"of": "efficiency", "step": self.step.kind, **rounded, "narrowed": list(self.narrowed)}


@dataclass(frozen=True)
class Lack:
    """Why an efficiency is not compared: too few series are published of such a step."""

    step: Step
    series: int
    clusters: int


def step_to(devices: Array, nodes: Array, rates: Array, at: int) -> Step | None:
    """Return the step of a series that ends at one of its rows; None at its first count, and where no rate is known.

    Inside a node the step begins at the smallest count, to the second node at the largest count on one, and beyond at
    the smallest count on several.

    Parameters
    ----------
    devices, nodes, rates : ndarray of shape (rows,)
        Counts, and the work of all devices in a second, above zero.
    at : int
        The row at which the step ends.

    Examples
    --------
    >>> devices, nodes = np.array([1.0, 8.0, 16.0, 32.0]), np.array([1.0, 1.0, 2.0, 4.0])
    >>> step_to(devices, nodes, np.array([100.0, 720.0, 1152.0, 2188.8]), 2)
    Step(kind='second', before=(8.0, 1.0), after=(16.0, 2.0), efficiency=0.8)
    """
    earlier = np.flatnonzero((devices * nodes < devices[at] * nodes[at]) & (nodes <= nodes[at]))
    single = earlier[~several_nodes(nodes[earlier])]
    several = earlier[several_nodes(nodes[earlier])]
    kind: Kind
    if not several_nodes(nodes[at]):
        kind, base = "inside", single[np.argsort(devices[single])][:1]
    elif several.size:
        kind, base = "beyond", several[np.argsort(nodes[several])][:1]
    else:
        kind, base = "second", single[np.argsort(devices[single])][-1:]
    if not base.size:
        return None
    first = int(base[0])
    before, after = ((float(devices[j]), float(nodes[j])) for j in (first, at))
    by = 0 if before[0] != after[0] else 1
    efficiency = float(rates[at] / rates[first] * before[by] / after[by])
    return Step(kind, before, after, efficiency)


def compared(step: Step, known: Mapping[str, Any] | None = None) -> Normal | Lack:
    """Return where the efficiency of a step stands among the published series.

    An efficiency e over k doublings is compared as e^(1/k), the efficiency of one, so that steps of another length are
    comparable where too few have the same. A series counts once, however many steps it has.

    Parameters
    ----------
    known : mapping, optional
        `devices_per_node`, `between` (rdma, ethernet, slingshot) and `framework` in small letters, where known.

    Examples
    --------
    >>> found = compared(Step("second", (8.0, 1.0), (16.0, 2.0), 0.3))
    >>> isinstance(found, Normal) and found.percentile < 10.0 and found.low < found.median < found.high
    True
    """
    return placed(step, {**(known or {}), "doublings": step.doublings}, published())


def placed(step: Step, known: Mapping[str, Any], steps: Mapping[str, npt.NDArray[Any]]) -> Normal | Lack:
    """Return where a step stands among given ones, arrays by name as `published` returns them."""
    keep = np.flatnonzero(steps["kind"] == step.kind)
    series, clusters = (_distinct(steps[name][keep]) for name in ("series", "cluster"))
    if series < NORMAL.fewest_series or clusters < NORMAL.fewest_clusters:
        return Lack(step, series, clusters)
    narrowed = []
    for name in NORMAL.narrowing:
        fewer = keep[steps[name][keep] == known.get(name)]
        series, sources = (_distinct(steps[of][fewer]) for of in ("series", "source"))
        if series >= NORMAL.narrowed_series and sources >= NORMAL.narrowed_sources:
            keep = fewer
            narrowed.append(name)
    values, power = steps["efficiency"][keep] ** (1.0 / steps["doublings"][keep]), step.doublings
    _, members, repeats = np.unique(steps["series"][keep], return_inverse=True, return_counts=True)
    weights = 1.0 / repeats[members]
    each = step.efficiency ** (1.0 / power)
    below = weights @ (values < each) + 0.5 * (weights @ (values == each))
    ends = _quantiles(values, weights, (NORMAL.low, 0.5, NORMAL.high))
    # Beyond the second node a doubling is what people compare; a step elsewhere is compared as a whole.
    scale = 1.0 if step.kind == "beyond" else power
    low, median, high = (float(end**scale) for end in ends)
    share = 100.0 * float(below / weights.sum())
    series, clusters = (_distinct(steps[name][keep]) for name in ("series", "cluster"))
    return Normal(step, float(each**scale), share, median, low, high, series, clusters, tuple(narrowed))


@cache
def published() -> dict[str, npt.NDArray[Any]]:
    """Return the steps of the published series as arrays by name, what is known of a series beside each."""
    content = json.loads(FILE.read_text(encoding="utf-8"))
    steps = {name: np.asarray(values) for name, values in content["steps"].items()}
    steps["kind"] = np.asarray(content["kinds"])[steps["kind"]]
    of_series = {name: np.asarray(values)[steps["series"]] for name, values in content["series"].items()}
    return {**steps, **of_series}


def _distinct(values: npt.NDArray[Any]) -> int:
    """Return how many values differ."""
    return len(np.unique(values))


def _quantiles(values: Array, weights: Array, shares: tuple[float, ...]) -> Array:
    """Return weighted quantiles, linear between the middles of the weights."""
    order = np.argsort(values)
    middles = np.cumsum(weights[order]) - 0.5 * weights[order]
    return np.interp(shares, middles / weights.sum(), values[order])
