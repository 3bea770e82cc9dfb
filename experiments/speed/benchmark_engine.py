"""How fast the engine is, beside what one would use instead.

    python -m experiments benchmark_engine [--only NAME,…]

Every figure is a ratio of two times measured in one run, each the median of several. Extra-P pins an old numpy and is
measured in an environment of its own, which is made for it. One thread of linear algebra throughout.
"""

from __future__ import annotations

import subprocess
import sys
import tempfile
import time
from collections.abc import Callable, Iterator
from itertools import pairwise
from pathlib import Path
from statistics import median

import genperf as gp
from experiments.accuracy.extra_p import extra_p_python, fit_extra_p
from experiments.speed.benchmark_search import replicates, search
from experiments.speed.benchmarking import (
    COUNTS,
    OUT,
    PEER_REPEATS,
    REPEATS,
    ROWS,
    Row,
    log_of,
    median_time,
    series_of,
    show,
    timed,
    updated,
)  # fmt: skip
from genperf.estimate import FitOptions, estimate_alike
from genperf.models import family_named

MADE = (
    "# Performance\n\nMade by `python -m experiments benchmark_engine`; each row by the same command with what stands "
    "beside it. Times are medians of several runs, ratios are of times measured in one run. What runs in one process "
    "is told in seconds of its work; workers, start-up and large tables in seconds of the clock. One thread of linear "
    "algebra."
)
#: Drawn series, those that Extra-P fits, and fits on two workers.
SERIES, PEER_SERIES, FITS = 10_000, 1000, 2000
HEAD = ["what", "genperf", "beside it", "ratio", "wanted", "met", "command"]


# --- many series -----------------------------------------------------------------------------------------------------


def extra_p() -> tuple[float, str] | None:
    """Return Extra-P's seconds a model, and its versions; None where it cannot be had."""
    python = extra_p_python()
    if python is None:
        return None
    times = series_of(PEER_SERIES)["s"].to_numpy().reshape(-1, 5).tolist()
    series = [(COUNTS.tolist(), row, []) for row in times]
    runs = [run for run in (fit_extra_p(python, series) for _ in range(PEER_REPEATS)) if run]
    return (median(run.seconds for run in runs) / len(times), runs[0].versions) if runs else None


def linear() -> Iterator[Row]:
    table = gp.read_table(series_of(SERIES), time="s", extrinsic="workers", group="net")
    parts = [part for _, part in table.groups()]
    (expression,) = family_named("ernest").expressions(parts[0].panel)
    peer = extra_p()
    asked = FitOptions(lam="cv", draws=1)
    few = parts[: min(1000, len(parts))]
    measured = (
        (
            "fit, λ by 5-fold cross-validation and the look back, in one batch",
            median_time(lambda: estimate_alike(expression, parts, asked), REPEATS) / len(parts),
            "≥ 50 ×",
        ),
        (
            "the same with 200 bootstrap replicates",
            median_time(lambda: estimate_alike(expression, few, FitOptions(lam="cv")), REPEATS) / len(few),
            "reported",
        ),
        (
            "`fit` as a whole: groups, hashes, the same without replicates, and a result object for each",
            median_time(lambda: gp.fit(table, "ernest", lam="cv", draws=1), max(1, REPEATS // 2)) / len(parts),
            "reported",
        ),
    )
    for name, ours, target in measured:
        ratio = peer[0] / ours if peer else float("nan")
        met = ratio >= 50 if peer and target.startswith("≥") else None
        faster = f"{ratio:.0f} × faster" if peer else ""
        title = f"{SERIES} series of five points, Ernest: {name}"
        yield Row(title, f"{show(ours)} a model", beside(peer, " a model"), faster, target, met)


def beside(peer: tuple[float, str] | None, what: str = "") -> str:
    return f"{show(peer[0])}{what} ({peer[1]}, Basic modeler)" if peer else "Extra-P could not be had"


def one_series() -> Iterator[Row]:
    """Fit series by `auto`, each by itself as `gp.fit` does."""
    peer = extra_p()
    for name, nodes, target in (("workers only", 0.0, 0.02), ("4 workers a node", 4.0, 0.01)):
        series = series_of(4 * REPEATS, nodes).groupby("net")
        counted = "workers,nodes" if nodes else "workers"
        tables = [gp.read_table(part.drop(columns="net"), time="s", extrinsic=counted) for _, part in series]
        gp.fit(tables[0])
        ours = median(timed(lambda t=t: gp.fit(t))[0] for t in tables)
        yield Row(
            f"`auto` on a series of five points, {name}: the median of {len(tables)}",
            show(ours),
            beside(peer),
            f"{ours / peer[0]:.1f} × its time" if peer else "",
            f"≤ {show(target)}",
            ours <= target,
        )


def two_workers() -> Iterator[Row]:
    few, table = (gp.read_table(series_of(n), time="s", extrinsic="workers", group="net") for n in (4, FITS))

    def seconds(workers: int) -> float:
        return timed(lambda: gp.fit(table, "a/workers**p + c", draws=20, workers=workers), time.perf_counter)[0]

    gp.fit(few, "a/workers**p + c", workers=2)
    pairs = [(seconds(1), seconds(2)) for _ in range(max(1, REPEATS // 2))]
    one, two = (median(values) for values in zip(*pairs, strict=True))
    yield Row(
        f"{FITS} non-linear fits, 2 workers against 1",
        f"{FITS / two:.3g} fits/s",
        f"{FITS / one:.3g} fits/s",
        f"{one / two:.2f} × the throughput",
        "≥ 1.8 ×",
        one / two >= 1.8,
    )


# --- large tables ----------------------------------------------------------------------------------------------------


READ = {
    "genperf": """
import duckdb, genperf as gp
from genperf import fitting, table
---
table = gp.read_table(path, time="s", extrinsic="workers", intrinsic="batch", group="net", aggregate=True)
gp.fit(table, "a*batch + b/workers + d*log2(workers) + c", draws=20)
""",
    "pandas": """
import pandas as pd, pyarrow.parquet
---
frame = pd.read_parquet(path)
by = frame.groupby(["workers", "batch", "net"]).s
found = by.agg(["count", "median", "mean", "var", "min", "max"])
""",
}
WATCH = """
import resource, sys, time
path = sys.argv[1]
{imports}
start = time.perf_counter()
{work}
print(time.perf_counter() - start, resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1e6)
"""


def watched(code: str, path: Path, repeats: int) -> tuple[float, float]:
    """Return seconds, without those of imports, and peak gigabytes of a process of its own."""
    runs = []
    imports, work = code.split("---")
    for _ in range(repeats):
        command = [sys.executable, "-c", WATCH.format(imports=imports, work=work), str(path)]
        run = subprocess.run(command, capture_output=True, text=True, check=True)
        runs.append([float(word) for word in run.stdout.split()])
    return median(r[0] for r in runs), max(r[1] for r in runs)


def large() -> Iterator[Row]:
    repeats = min(3, REPEATS)
    with tempfile.TemporaryDirectory() as folder:
        ours: dict[int, tuple[float, float]] = {}
        for rows in ROWS:
            path = Path(folder) / f"{rows}.parquet"
            log_of(rows, path, networks=True)
            ours[rows] = watched(READ["genperf"], path, repeats)
        most = ROWS[-1]
        theirs = watched(READ["pandas"], Path(folder) / f"{most}.parquet", repeats)
        yield Row(
            f"{most:.0e} rows of Parquet summarised and fitted, against pandas' read and groupby alone",
            f"{show(ours[most][0])}, peak {ours[most][1]:.2f} GB",
            f"{show(theirs[0])}, peak {theirs[1]:.2f} GB",
            f"{ours[most][0] / theirs[0]:.2f} of its time",
            "≤ 0.33, < 1 GB",
            ours[most][0] / theirs[0] <= 1 / 3 and ours[most][1] < 1.0,
        )
        first = ROWS[0]
        marginal = [(ours[b][0] - ours[a][0]) / (b - a) for a, b in pairwise(ROWS)]
        yield Row(
            "the same from " + " to ".join(f"{rows:.0e}" for rows in (first, most)) + " rows",
            ", ".join(f"{rows:.0e}: {show(ours[rows][0])}, {ours[rows][1]:.2f} GB" for rows in ROWS),
            "seconds for each further million rows: " + ", ".join(f"{1e6 * m:.2f}" for m in marginal),
            f"{marginal[-1] / marginal[0]:.1f} × a row's time between the sizes",
            "linear",
            marginal[-1] <= 1.5 * marginal[0],
        )


# --- start-up --------------------------------------------------------------------------------------------------------


def start_up() -> Iterator[Row]:
    with tempfile.TemporaryDirectory() as folder:
        model = Path(folder) / "model.json"
        part = gp.read_table(series_of(1).drop(columns="net"), time="s", extrinsic="workers")
        gp.save_model(gp.fit(part, "ernest"), model)
        commands = {
            "import": [sys.executable, "-c", "import numpy"],
            "help": [sys.executable, "-m", "genperf", "--help"],
            "predict": [sys.executable, "-m", "genperf", "predict", str(model), "--at", "workers=64"],
        }
        # Compiled once before it is measured.
        for command in commands.values():
            subprocess.run(command, capture_output=True, check=True)
        runs: dict[str, list[float]] = {name: [] for name in commands}
        for _ in range(4 * REPEATS):
            for name, command in commands.items():
                run = lambda c=command: subprocess.run(c, capture_output=True, check=True)  # noqa: E731
                runs[name].append(timed(run, time.perf_counter)[0])
    took = {name: median(times) for name, times in runs.items()}
    for name, target, shown in (
        ("help", 2.0, "`genperf --help`"),
        ("predict", 4.0, "`genperf predict` on a saved model"),
    ):
        ratio = took[name] / took["import"]
        other = f'{show(took["import"])} for `python -c "import numpy"`'
        yield Row(shown, show(took[name]), other, f"{ratio:.2f} ×", f"≤ {target:g} ×", ratio <= target)


PARTS: dict[str, Callable[[], Iterator[Row]]] = {
    "search": search,
    "replicates": replicates,
    "linear": linear,
    "series": one_series,
    "workers": two_workers,
    "large": large,
    "start-up": start_up,
}


def run(only: str = ",".join(PARTS)) -> None:
    """Measure some parts, or all; the rows are written to experiments/performance.md."""
    rows = []
    for name in only.split(","):
        for row in PARTS[name]():
            print(" | ".join(row.cells), file=sys.stderr, flush=True)
            rows.append([*row.cells, f"`--only {name}`"])
    first, load, rest = OUT.read_text(encoding="utf-8").partition("\n## Load\n")
    OUT.write_text(updated(first, MADE, HEAD, rows) + load + rest, encoding="utf-8")
