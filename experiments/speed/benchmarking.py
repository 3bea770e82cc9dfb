"""What the benchmarks share: how much is measured, one figure of the table, and time."""

from __future__ import annotations

import time
from collections.abc import Callable
from dataclasses import dataclass
from statistics import median
from typing import Any


@dataclass(frozen=True)
class Sizes:
    """How much is measured: of everything the figures speak of, or enough to see that the script runs."""

    repeats: int = 5
    peer_repeats: int = 3
    peer_generations: int = 1000
    replicates: int = 1000
    series: int = 10_000
    peer_series: int = 1000
    fits: int = 2000
    rows: tuple[int, ...] = (100_000, 1_000_000, 10_000_000)
    starts: int = 15


QUICK = Sizes(1, 1, 20, 100, 500, 50, 40, (10_000, 100_000, 1_000_000), 3)


@dataclass(frozen=True)
class Row:
    """One figure: what was done, what it is compared with, the ratio and what it should be."""

    name: str
    ours: str
    other: str
    ratio: str
    target: str
    met: bool | None

    @property
    def cells(self) -> list[str]:
        met = {True: "yes", False: "no", None: ""}[self.met]
        return [self.name, self.ours, self.other, self.ratio, self.target, met]


def timed(action: Callable[[], Any], clock: Callable[[], float] = time.process_time) -> tuple[float, Any]:
    """Return seconds and the result: of this process's work, which does not depend on what else the machine does."""
    start = clock()
    result = action()
    return clock() - start, result


def median_time(action: Callable[[], Any], repeats: int) -> float:
    return median(timed(action)[0] for _ in range(repeats))


def show(seconds: float) -> str:
    for unit, size in (("s", 1.0), ("ms", 1e-3), ("µs", 1e-6)):
        if seconds >= size:
            return f"{seconds / size:.3g} {unit}"
    return f"{seconds * 1e9:.3g} ns"
