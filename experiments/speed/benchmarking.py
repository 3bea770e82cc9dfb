"""What the benchmarks share: how much is measured, one figure of the table, and time."""

from __future__ import annotations

import os
import platform
import re
import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from importlib.metadata import version
from pathlib import Path
from statistics import median
from typing import Any

import numpy as np
import pandas as pd

from experiments.shared import ROOT, markdown, tables

OUT = ROOT / "experiments" / "performance.md"


#: Runs of a measurement, and of that of another tool.
REPEATS, PEER_REPEATS = 5, 3
#: Rows of the large tables.
ROWS = (100_000, 1_000_000, 10_000_000)
#: Counts of the drawn series.
COUNTS = np.array([1.0, 2, 4, 8, 16])


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


def updated(part: str, made: str, head: Sequence[str], rows: Sequence[list[str]]) -> str:
    """Return a part of the page with rows in the place of earlier ones of the same name; the size of a file aside."""
    earlier = [row for table in tables(part) for row in table.rows]
    known = {re.sub(r" \([\d.]+ MB\)", "", row[0]): row for row in [*earlier, *rows]}
    prose = re.sub(r"\A.*\n\|[^\n]*\n", "", part, flags=re.DOTALL) if earlier else part
    return f"{made}\n\nMeasured on: {machine()}.\n\n{markdown(head, known.values())}\n{prose}"


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


def machine() -> str:
    names = ("numpy", "scipy", "pandas", "joblib", "duckdb", "pyarrow")
    model = platform.processor() or platform.machine()
    if Path("/proc/cpuinfo").exists():
        lines = Path("/proc/cpuinfo").read_text(encoding="utf-8").splitlines()
        model = next((line.split(":")[1].strip() for line in lines if line.startswith("model name")), model)
    load = f"; load {os.getloadavg()[0]:.1f} at the start" if hasattr(os, "getloadavg") else ""
    versions = ", ".join(f"{name} {version(name)}" for name in names)
    return f"{model}, {os.cpu_count()} cores{load}; Python {platform.python_version()}, {versions}"


def series_of(count: int, devices: float = 0.0) -> pd.DataFrame:
    """Return series of five counts, each with a curve and noise of its own; with nodes of so many devices, if any."""
    rng = np.random.default_rng(0)
    c, a, b, d = (rng.uniform(0.1, 1.0, (count, 1)) * size for size in (1.0, 10.0, 0.1, 0.01))
    times = (c + a / COUNTS + b * np.log2(COUNTS) + d * COUNTS) * np.exp(rng.normal(0.0, 0.02, (count, 5)))
    names = np.repeat([f"net{i}" for i in range(count)], 5)
    frame = pd.DataFrame({"net": names, "workers": np.tile(COUNTS, count), "s": times.ravel()})
    return frame.assign(nodes=np.maximum(frame["workers"] / devices, 1.0)) if devices else frame


def log_of(rows: int, path: Path, networks: bool = False) -> None:
    """Write rows of two factors, or of three networks' steps, some at a time, as CSV or Parquet."""
    rng = np.random.default_rng(0)
    writer = None
    for start in range(0, rows, 1_000_000):
        size = min(1_000_000, rows - start)
        n, b = 2 ** rng.integers(0, 6, size), rng.choice([16, 32, 64, 128], size)
        s = (0.01 * b + 0.5 / n + 0.1) * np.exp(rng.normal(0, 0.05, size))
        part = pd.DataFrame({"workers": n, "batch": b, "s": s.round(7)})
        if networks:
            part = part.assign(net=rng.choice(["resnet50", "vgg16", "bert"], size), step=np.arange(start, start + size))
        if path.suffix == ".csv":
            part.to_csv(path, mode="a", header=start == 0, index=False)
            continue
        import pyarrow as pa
        import pyarrow.parquet as pq

        whole = pa.Table.from_pandas(part, preserve_index=False)
        writer = writer or pq.ParquetWriter(path, whole.schema)
        writer.write_table(whole)
    if writer is not None:
        writer.close()
