"""How long large tables, many groups and large grids take, and how much memory.

Each is a command line in a process of its own: seconds of the clock, seconds of work (user and system together) and the
largest resident memory, as the system counts them. The rows of a run replace those of the same name in the page's
section Load. The tables and models are made first, outside the time.
"""

from __future__ import annotations

import os
import re
import shutil
import sys
import tempfile
import time
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from pathlib import Path
from statistics import median
from typing import Any

import numpy as np
import pandas as pd

from experiments.shared import DATA, chromium
from experiments.speed.benchmarking import OUT, ROWS, log_of, series_of, updated

MADE = "\nMade by `python -m experiments load`, each row once, in a process of its own."
HEAD = ("what", "clock", "work", "peak memory", "command")
#: Rows that are predicted, rows that all differ, groups that are fitted, and groups of a page.
PREDICTED, DISTINCT, GROUPS, PAGE = 1_000_000, 100_000, 5000, 500
ROLES = ("--time", "s", "--extrinsic", "workers")
#: One thread, and modules that are compiled once, as an installation does.
ENVIRONMENT = {k: v for k, v in os.environ.items() if k != "PYTHONDONTWRITEBYTECODE"}
ENVIRONMENT |= dict.fromkeys(("OPENBLAS_NUM_THREADS", "OMP_NUM_THREADS"), "1")
BATCH = (*ROLES, "--intrinsic", "batch")
CPU_FACTORS = ("--extrinsic", "workers", "--intrinsic", "batch_per_worker,layers,filters,kernel_size,hidden")


@dataclass(frozen=True)
class Used:
    """What a process used: seconds of the clock and of work, and gigabytes at most."""

    clock: float
    work: float
    peak: float


def genperf(folder: Path, *arguments: str) -> Used:
    """Run a command line in a folder and return what it used."""
    start = time.perf_counter()
    code = f"import os; os.chdir({str(folder)!r}); from genperf.cli import main; main()"
    process = os.posix_spawn(
        sys.executable,
        [sys.executable, "-c", code, *arguments],
        ENVIRONMENT,
        file_actions=[(os.POSIX_SPAWN_OPEN, 1, os.devnull, os.O_WRONLY, 0)],
    )
    _, status, usage = os.wait4(process, 0)
    if os.waitstatus_to_exitcode(status):
        raise SystemExit(f"genperf {' '.join(arguments)} ended with {os.waitstatus_to_exitcode(status)}")
    return Used(time.perf_counter() - start, usage.ru_utime + usage.ru_stime, usage.ru_maxrss / 1e6)


def once(path: Path, make: Callable[[Path], Any]) -> Path:
    """Make a file that is not there yet."""
    if not path.exists():
        make(path)
    return path


# --- the tables ------------------------------------------------------------------------------------------------------
def distinct_rows(rows: int, path: Path) -> None:
    """Write rows of four factors that are all different."""
    rng = np.random.default_rng(0)
    places = rng.choice(64 * 100 * 20 * 50, rows, replace=False)
    n, b, layers, hidden = (values + 1.0 for values in np.unravel_index(places, (64, 100, 20, 50)))
    s = (0.1 + 0.01 * b * layers**0.9 * (hidden / 10) ** 1.5 / n + 0.05 * np.log2(n)) * np.exp(
        rng.normal(0, 0.05, rows)
    )
    table = {"workers": n, "batch": b, "layers": layers, "hidden": 64 * hidden, "s": s.round(7)}
    pd.DataFrame(table).to_csv(path, index=False)


def wide_rows(factors: int, path: Path) -> None:
    """Write 300 rows of many factors, of which four act."""
    rng = np.random.default_rng(0)
    columns = {f"f{k}": 2.0 ** rng.integers(0, 7, 300) for k in range(factors - 1)}
    n = 2.0 ** rng.integers(0, 6, 300)
    s = 0.1 + 0.02 * columns["f0"] * columns["f1"] ** 0.5 / n + 0.01 * columns["f2"] + 0.03 * np.log2(n)
    columns = {"workers": n, **columns, "s": (s * np.exp(rng.normal(0, 0.05, 300))).round(7)}
    pd.DataFrame(columns).to_csv(path, index=False)


# --- what is measured ------------------------------------------------------------------------------------------------
Row = tuple[str, Used | str, str]


def measured(folder: Path, name: str, *call: str) -> Row:
    """Return the row of a command line."""
    return name, genperf(folder, *call), " ".join(call)


def rows(folder: Path) -> Iterator[Row]:
    most = ROWS[-1]
    for kind, name in (("csv", "CSV"), ("parquet", "Parquet")):
        path = once(folder / f"log{most}.{kind}", lambda p: log_of(most, p))
        fit = ("fit", path.name, *BATCH, "--model", "generic", "-q", "-o", f"{kind}.json")
        size = f"{path.stat().st_size / 1e6:.0f} MB"
        yield measured(folder, f"{most:.0e} rows of {name} ({size}) read, summarised and fitted", *fit)


def grid(folder: Path) -> Iterator[Row]:
    once(folder / "few.csv", lambda p: log_of(2000, p))
    once(
        folder / "few.json", lambda _: genperf(folder, "fit", "few.csv", *BATCH, "--model", "generic", "-o", "few.json")
    )
    call = ("optimize", "few.json", "--over", f"workers=1:{ROWS[-1] // 100}", "--over", "batch=1:100")
    yield measured(folder, f"`optimize` over {ROWS[-1]:.0e} configurations", *call)


def families(folder: Path) -> Iterator[Row]:
    once(folder / "few.csv", lambda p: log_of(2000, p))
    n, side = PREDICTED, 100
    counts = pd.DataFrame({"workers": 1 + np.arange(n)})
    different = pd.DataFrame({"workers": 1 + np.arange(n) // side, "batch": 1 + np.arange(n) % side})
    model = ("few.csv", *ROLES, "--model", "amdahl")
    yield predicted(folder, f"{n:.0e} rows of different counts, `amdahl`", model, counts)
    model = ("few.csv", *BATCH, "--model", "generic")
    yield predicted(folder, f"{n:.0e} different configurations, `generic`", model, different)


def series(folder: Path) -> Iterator[Row]:
    once(folder / "series.csv", lambda p: series_of(1).to_csv(p, index=False))
    n, model = PREDICTED, ("series.csv", *ROLES)
    repeated = pd.DataFrame({"workers": 1 + np.arange(n) % 1000})
    yield predicted(folder, f"{n:.0e} rows of 1,000 counts, a series of `auto`", model, repeated)
    for rows in (n // 10, n):
        different = pd.DataFrame({"workers": 1 + np.arange(rows)})
        yield predicted(folder, f"{rows:.0e} different counts, a series of `auto`", model, different)


def predicted(folder: Path, name: str, fit: tuple[str, ...], asked: pd.DataFrame) -> Row:
    """Fit a model and measure one prediction of many rows."""
    genperf(folder, "fit", *fit, "-q", "-o", "model.json")
    asked.to_csv(folder / "asked.csv", index=False)
    call = ("predict", "model.json", "--data", "asked.csv", "-q", "-o", "predicted.csv")
    return measured(folder, f"`predict` of {name}", *call)


def fits(folder: Path) -> Iterator[Row]:
    cpu = ("pytorch_cpu.csv", "--time", "step_time_s", *CPU_FACTORS, "--repeat", "repeat")
    four = ("--intrinsic", "batch,layers,hidden")
    distinct = once(folder / f"distinct{DISTINCT}.csv", lambda p: distinct_rows(DISTINCT, p)).name
    calls = {
        "`generic` on `pytorch_cpu.csv`": (*cpu, "--model", "generic"),
        "`auto` on `pytorch_cpu.csv`": cpu,
        f"`auto` on {DISTINCT:.0e} distinct rows of four factors": (distinct, *ROLES, *four),
    }
    for factors in (20, 40):
        wide = once(folder / f"wide{factors}.csv", lambda p, k=factors: wide_rows(k, p)).name
        names = ",".join(f"f{k}" for k in range(factors - 1))
        calls[f"`auto` on 300 rows of {factors} factors"] = (wide, *ROLES, "--intrinsic", names)
    once(folder / "pytorch_cpu.csv", lambda p: shutil.copy(DATA / p.name, p))
    for name, call in calls.items():
        used = genperf(folder, "fit", *call, "-q", "-o", "fitted.json")
        yield name, used, re.sub(r"f0,\S+", "f0,…", " ".join(("fit", *call)))


def answers(folder: Path) -> Iterator[Row]:
    once(folder / "series.csv", lambda p: series_of(1).to_csv(p, index=False))
    once(folder / "rubick.csv", lambda p: shutil.copy(DATA / p.name, p))
    series = ("ask", "series.csv", *ROLES[:2], "--at", "workers=64")
    yield measured(folder, "`ask` of a series of five counts, start-up included", *series)
    rubick = ("ask", "rubick.csv", "--at", "devices=32")
    yield measured(folder, "`ask` of `rubick.csv`, 535 rows of 16 columns", *rubick)
    yield measured(folder, "`demo`", "demo", "demo", "-q")


def page(folder: Path) -> Iterator[Row]:
    once(folder / f"groups{PAGE}.csv", lambda p: series_of(PAGE).to_csv(p, index=False))
    model = f"groups{PAGE}.json"
    fit = ("fit", f"groups{PAGE}.csv", *ROLES, "--group", "net", "-q", "-o", model)
    once(folder / model, lambda _: genperf(folder, *fit))
    call = ("report", model, "-q", "-o", "page.html")
    used = genperf(folder, *call)
    size = (folder / "page.html").stat().st_size / 1e6
    yield f"the page of {PAGE} groups ({size:.1f} MB) written", used, " ".join(call)
    seconds = opened(folder / "page.html")
    if seconds is not None:
        yield "that page opened in Chromium until it is ready, the median of three", f"{seconds:.1f} s", "page.html"


def opened(path: Path) -> float | None:
    """Return the seconds until Chromium shows a page that is ready; None without Chromium."""
    driver = chromium("--host-resolver-rules=MAP * ~NOTFOUND")
    if driver is None:
        return None
    times = []
    for _ in range(3):
        driver.get("about:blank")
        start = time.perf_counter()
        driver.get(path.as_uri())
        while driver.execute_script("return document.documentElement.dataset.ready") != "yes":
            time.sleep(0.01)
        times.append(time.perf_counter() - start)
    driver.quit()
    return median(times)


def groups(folder: Path) -> Iterator[Row]:
    for count in (PAGE, GROUPS):
        once(folder / f"groups{count}.csv", lambda p, n=count: series_of(n).to_csv(p, index=False))
        fit = ("fit", f"groups{count}.csv", *ROLES, "--group", "net", "-q", "--workers", "2", "-o", "groups.json")
        yield measured(folder, f"`auto` on {count:,} groups of five counts, 2 workers", *fit)


def alike(folder: Path) -> Iterator[Row]:
    """Measure what one group more takes of equal counts: the work of many groups less that of a tenth of them."""
    for kind, model, groups in (
        ("series of one layout, `auto`", "auto", PAGE),
        ("linear series", "ernest", GROUPS),
    ):
        work = []
        for count in (groups // 10, groups):
            path = once(folder / f"nodes{count}.csv", lambda p, n=count: series_of(n, 4.0).to_csv(p, index=False))
            roles = (*ROLES[:3], "workers,nodes", "--group", "net", "--model", model)
            fit = ("fit", path.name, *roles, "-q", "-o", "alike.json")
            work.append(genperf(folder, *fit).work)
        each = 1e3 * (work[1] - work[0]) / (groups - groups // 10)
        yield f"a {kind}, five counts with their nodes: work of one among {groups:,}", f"{each:.2g} ms", " ".join(fit)


PARTS: dict[str, Callable[[Path], Iterator[Row]]] = {
    part.__name__: part for part in (rows, grid, families, series, fits, answers, page, groups, alike)
}


def cells(row: Row) -> list[str]:
    name, used, call = row
    figures = [used, "", ""]
    if isinstance(used, Used):
        figures = [f"{used.clock:.3g} s", f"{used.work:.3g} s", f"{used.peak:.2g} GB"]
    return [powers(name), *figures, f"`{call}`"]


def powers(text: str) -> str:
    """Write 1e+06 as 10⁶."""
    raised = str.maketrans("0123456789", "⁰¹²³⁴⁵⁶⁷⁸⁹")
    return re.sub(r"1e\+0?(\d+)", lambda m: "10" + m[1].translate(raised), text)


def run(only: str = ",".join(PARTS)) -> None:
    """Measure some parts, or all."""
    with tempfile.TemporaryDirectory() as folder:
        for name in only.split(","):
            for row in PARTS[name](Path(folder)):
                print(*cells(row), sep=" | ", flush=True)
                first, load, rest = OUT.read_text(encoding="utf-8").partition("\n## Load\n")
                OUT.write_text(first + load + updated(rest, MADE, HEAD, [cells(row)]), encoding="utf-8")
