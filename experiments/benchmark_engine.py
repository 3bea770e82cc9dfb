"""How fast the engine is, beside what one would use instead, and how far from what the machine could do.

    python experiments/benchmark_engine.py [--quick] [--only NAME,…] [-o docs/performance.md]

Every figure is a ratio of two times measured in one run, each the median of several. Extra-P pins an old numpy and is
measured in an environment of its own, which is made for it. One thread of linear algebra throughout. `--quick` is for
trying the script out: fewer repeats and smaller sizes, and nothing is written.
"""

from __future__ import annotations

import argparse
import json
import os
import platform
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from importlib.metadata import version
from pathlib import Path
from statistics import median
from typing import Any

import numpy as np
import pandas as pd
from extrapolation import extra_p_python
from scipy.optimize import Bounds, OptimizeResult, differential_evolution
from threadpoolctl import threadpool_limits

import genperf as gp
from genperf.estimate import FitOptions, estimate_alike
from genperf.estimate.bootstrap import bootstrap
from genperf.estimate.problem import problem_of
from genperf.losses import loss_named, penalty_named
from genperf.models import family_named
from genperf.models.generic import generic, structure_named
from genperf.solver import Problem, solve
from genperf.solver.search import RESTARTS

COMMAND = "python experiments/benchmark_engine.py"
OUT = Path(__file__).parents[1] / "docs" / "performance.md"
STRUCTURES = ("separable", "per-term")
SCALES = np.array([1.0, 2, 4, 8, 16])
#: Where a search has no bound of its own, plain differential evolution is given that of `solver="de"`.
REACH = 10.0


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
        """The row as it is printed."""
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


# --- one fit ---------------------------------------------------------------------------------------------------------


def cpu_problem(structure: str) -> Problem:
    table = gp.datasets.load("pytorch_cpu")
    expression = generic(table.factors, structure_named(structure))  # type: ignore[arg-type]
    return problem_of(expression, table.medians(), loss_named("relative"), penalty_named("l2", 1e-4))


def plain_objective(structure: str) -> Callable[[np.ndarray], float]:
    """Write the cost as one would by hand: numpy over the rows, one set of constants at a time."""
    table = gp.datasets.load("pytorch_cpu")
    expression = generic(table.factors, structure_named(structure))  # type: ignore[arg-type]
    medians, problem = table.medians(), cpu_problem(structure)
    names = list(expression.constant_names)
    scaled = {f.name: medians.columns[f.name] / float(f"{f.centre:.3g}") for f in table.factors}
    inside = [f.name for f in table.factors if f.role == "intrinsic"]
    workers, measured = scaled["workers"], medians.seconds
    shared = "q_workers" in names
    at = {name: j for j, name in enumerate(names)}
    q = [at["q_workers" if shared else f"q_{f}_workers"] for f in inside]
    a, p = [at[f"a_{f}"] for f in inside], [at[f"p_{f}"] for f in inside]
    constant, columns = at["C"], [scaled[f] for f in inside]
    scale, penalised = problem.scale, problem.penalised

    def cost(x: np.ndarray) -> float:
        times = np.full(measured.size, x[constant])
        for i, column in enumerate(columns):
            times += x[a[i]] * column ** x[p[i]] * workers ** x[q[i]]
        return float(np.mean((times / measured - 1.0) ** 2) + 0.5e-4 * np.sum(np.where(penalised, x / scale, 0.0) ** 2))

    check = np.where(problem.coefficient, problem.scale * 0.3, 0.4)
    assert abs(cost(check) / problem.cost(check[None])[0] - 1.0) < 1e-9, "the two costs are not the same"
    return cost


def plain_evolution(problem: Problem, cost: Callable[[np.ndarray], float], goal: float, seed: int, most: int) -> Any:
    """Run scipy's differential evolution as it comes, until it reaches a cost or its own end."""
    reach = REACH * problem.scale
    lower = np.where(np.isfinite(problem.lower), problem.lower, -reach)
    upper = np.where(np.isfinite(problem.upper), problem.upper, reach)
    reached: list[float] = []
    start = time.process_time()

    def enough(intermediate_result: OptimizeResult) -> bool:
        if intermediate_result.fun <= goal and not reached:
            reached.append(time.process_time() - start)
        return bool(reached)

    found = differential_evolution(cost, Bounds(lower, upper), rng=seed, callback=enough, maxiter=most)
    return (reached[0] if reached else time.process_time() - start), float(found.fun), bool(reached)


def search(sizes: Sizes) -> Iterator[Row]:
    for structure in STRUCTURES:
        problem, cost = cpu_problem(structure), plain_objective(structure)
        best = solve(problem, seed=100, restarts=sizes.starts).cost
        runs = {
            restarts: [timed(lambda s=seed, p=problem, r=restarts: solve(p, seed=s, restarts=r)) for seed in range(n)]
            for restarts, n in ((1, 4 * sizes.repeats), (RESTARTS, sizes.repeats))
        }
        best = min([best, *(found.cost for some in runs.values() for _, found in some)])
        most, goal = sizes.peer_generations, 1.001 * best
        peers = [plain_evolution(problem, cost, goal, seed, most) for seed in range(sizes.peer_repeats)]
        theirs = median(t for t, _, _ in peers)
        reached = sum(done for *_, done in peers)
        off = median(value for _, value, _ in peers) / best - 1.0
        for restarts, some in runs.items():
            ours, worst = median(t for t, _ in some), max(found.cost for _, found in some) / best - 1.0
            yield Row(
                f"`generic`, {structure} ({problem.start.size} constants), `pytorch_cpu.csv`: "
                + ("one projected search" if restarts == 1 else f"a fit, which searches {restarts} times to see optima")
                + ", against one plain `differential_evolution`",
                f"{show(ours)}, at most {worst:.2%} above the best known",
                f"{show(theirs)}; {reached} of {len(peers)} came within 0.1 %, the median ended {off:.1%} above",
                f"{theirs / ours:.0f} × faster",
                "≥ 50 ×, < 1 s, ≤ 0.1 %",
                theirs / ours >= 50 and ours < 1.0 and worst <= 1e-3,
            )


def replicates(sizes: Sizes) -> Iterator[Row]:
    for structure in STRUCTURES:
        problem = cpu_problem(structure)
        one, found = timed(lambda p=problem: solve(p))
        one = median([one, *(timed(lambda p=problem: solve(p))[0] for _ in range(sizes.repeats - 1))])
        many = median_time(
            lambda p=problem, c=found.constants: bootstrap(p, c, sizes.replicates, np.random.default_rng(0)),
            sizes.repeats,
        )
        yield Row(
            f"{sizes.replicates} bootstrap replicates of the {structure} fit, against one fit",
            show(many),
            show(one),
            f"{many / one:.1f} × one fit",
            "< 20 ×",
            many / one < 20,
        )


def limit(sizes: Sizes) -> Iterator[Row]:
    """Compare a search with the plain numpy arithmetic of the evaluations that it made."""
    for structure in STRUCTURES:
        problem = cpu_problem(structure)
        seconds = median_time(lambda p=problem: solve(p), sizes.repeats)
        evaluations = solve(problem).evaluations
        rows, n = problem.measured.size, problem.start.size
        terms = int(problem.coefficient.sum())
        free = n - terms
        rng = np.random.default_rng(0)
        block = 200
        exponents, logarithms = rng.normal(size=(block, 2)), rng.normal(size=(2, rows))
        basis, jacobian = rng.random((block, rows, terms)), rng.random((block, rows, n))

        def one_block() -> None:
            for _ in range(terms):  # noqa: B023
                np.exp(exponents @ logarithms)  # noqa: B023
            np.swapaxes(basis, 1, 2) @ basis  # noqa: B023

        def derivatives() -> None:
            np.swapaxes(jacobian, 1, 2) @ jacobian  # noqa: B023

        # Every evaluation needs its terms and their products; every second one of a polish its derivatives too.
        plain = (median_time(one_block, 5) + 0.5 * median_time(derivatives, 5)) * evaluations / block
        work = evaluations * rows * (terms * (20 + 4 + 2 * terms) + n * n)
        moved = evaluations * rows * 8 * (2 * terms + n)
        yield Row(
            f"the limit of the {structure} search: {evaluations} evaluations of {rows} rows, {terms} terms, {free} "
            f"non-linear constants; {work / 1e9:.2g} Gflop, {moved / 1e9:.2g} GB",
            show(seconds),
            f"{show(plain)} of plain numpy of that shape on one core ({work / plain / 1e9:.1f} Gflop/s)",
            f"{seconds / plain:.1f} × the limit",
            "reported",
            None,
        )


# --- many series -----------------------------------------------------------------------------------------------------


def fleet(series: int, seed: int = 0) -> pd.DataFrame:
    rng = np.random.default_rng(seed)
    c, a, b, d = (rng.uniform(0.1, 1.0, (series, 1)) * size for size in (1.0, 10.0, 0.1, 0.01))
    times = (c + a / SCALES + b * np.log2(SCALES) + d * SCALES) * np.exp(rng.normal(0.0, 0.02, (series, 5)))
    names = np.repeat([f"series {i}" for i in range(series)], 5)
    return pd.DataFrame({"series": names, "workers": np.tile(SCALES, series), "s": times.ravel()})


PEER = """
import io, json, logging, sys, time, warnings
from contextlib import redirect_stderr
warnings.filterwarnings("ignore"); logging.disable(logging.WARNING)
from extrap.entities.callpath import Callpath
from extrap.entities.coordinate import Coordinate
from extrap.entities.experiment import Experiment
from extrap.entities.measurement import Measure, Measurement
from extrap.entities.metric import Metric
from extrap.entities.parameter import Parameter
from extrap.modelers import single_parameter
from extrap.modelers.model_generator import ModelGenerator
given = json.load(sys.stdin)
times = []
for _ in range(given["repeats"]):
    experiment, metric = Experiment(), Metric("time")
    experiment.add_parameter(Parameter("n")); experiment.add_metric(metric)
    for i, row in enumerate(given["series"]):
        callpath = Callpath(str(i)); experiment.add_callpath(callpath)
        for a, b in zip(given["scales"], row):
            at = Coordinate(float(a)); experiment.add_coordinate(at)
            experiment.add_measurement(Measurement(at, callpath, metric, [float(b)]))
    generator = ModelGenerator(experiment, modeler=single_parameter.all_modelers["Basic"](), use_measure=Measure.MEAN)
    start = time.process_time()
    with redirect_stderr(io.StringIO()):
        generator.model_all()
    times.append((time.process_time() - start) / len(given["series"]))
import extrap, numpy
json.dump({"times": times, "extrap": extrap.__version__, "numpy": numpy.__version__}, sys.stdout)
"""


def extra_p(sizes: Sizes) -> tuple[float, str] | None:
    """Return Extra-P's seconds a model, and its versions; None where it cannot be had."""
    python = extra_p_python()
    if python is None:
        return None
    times = fleet(sizes.peer_series)["s"].to_numpy().reshape(-1, 5).tolist()
    given = json.dumps({"repeats": sizes.peer_repeats, "scales": SCALES.tolist(), "series": times})
    run = subprocess.run([python, "-c", PEER], input=given, capture_output=True, text=True, check=True)
    found = json.loads(run.stdout)
    return median(found["times"]), f"Extra-P {found['extrap']} with numpy {found['numpy']}"


def linear(sizes: Sizes) -> Iterator[Row]:
    table = gp.read_table(fleet(sizes.series), time="s", extrinsic="workers", group="series")
    parts = [part for _, part in table.groups()]
    (expression,) = family_named("ernest").expressions(parts[0].factors)
    peer = extra_p(sizes)
    asked = FitOptions(lam="cv", draws=1)
    few = parts[: min(1000, len(parts))]
    measured = {
        "fit, λ by 5-fold cross-validation and the look back, in one batch": (
            median_time(lambda: estimate_alike(expression, parts, asked, 0), sizes.repeats) / len(parts),
            "≥ 50 ×",
        ),
        "the same with 200 bootstrap replicates": (
            median_time(lambda: estimate_alike(expression, few, FitOptions(lam="cv"), 0), sizes.repeats) / len(few),
            "reported",
        ),
        "`fit` as a whole: groups, hashes, the same without replicates, and a result object for each": (
            median_time(lambda: gp.fit(table, "ernest", lam="cv", draws=1), max(1, sizes.repeats // 2)) / len(parts),
            "reported",
        ),
    }
    for name, (ours, target) in measured.items():
        ratio = peer[0] / ours if peer else float("nan")
        yield Row(
            f"{sizes.series} series of five points, Ernest: {name}",
            f"{show(ours)} a model",
            f"{show(peer[0])} a model ({peer[1]}, Basic modeler)" if peer else "Extra-P could not be had",
            f"{ratio:.0f} × faster" if peer else "",
            target,
            (ratio >= 50 if target.startswith("≥") else None) if peer else None,
        )


def two_workers(sizes: Sizes) -> Iterator[Row]:
    table = gp.read_table(fleet(sizes.fits), time="s", extrinsic="workers", group="series")

    def run(workers: int) -> Callable[[], Any]:
        return lambda: gp.fit(table, "a/workers**p + c", draws=20, workers=workers)

    gp.fit(gp.read_table(fleet(4), time="s", extrinsic="workers", group="series"), "a/workers**p + c", workers=2)
    wall = time.perf_counter
    pairs = [(timed(run(1), wall)[0], timed(run(2), wall)[0]) for _ in range(max(1, sizes.repeats // 2))]
    one, two = (median(values) for values in zip(*pairs, strict=True))
    yield Row(
        f"{sizes.fits} non-linear fits, 2 workers against 1",
        f"{sizes.fits / two:.3g} fits/s",
        f"{sizes.fits / one:.3g} fits/s",
        f"{one / two:.2f} × the throughput",
        "≥ 1.8 ×",
        one / two >= 1.8,
    )


# --- large tables ----------------------------------------------------------------------------------------------------


def write_log(path: Path, rows: int) -> None:
    import pyarrow as pa
    import pyarrow.parquet as pq

    rng = np.random.default_rng(0)
    writer = None
    for start in range(0, rows, 1_000_000):
        size = min(1_000_000, rows - start)
        n, b = 2.0 ** rng.integers(0, 6, size), rng.choice([16, 32, 64, 128], size)
        s = (0.01 * b + 0.5 / n + 0.02 * np.log2(n) + 0.1) * np.exp(rng.normal(0, 0.05, size))
        net = rng.choice(["resnet50", "vgg16", "bert"], size)
        part = pa.table(
            {"workers": n.astype(int), "batch": b, "net": net, "step": np.arange(start, start + size), "s": s}
        )
        writer = writer or pq.ParquetWriter(path, part.schema)
        writer.write_table(part)
    assert writer is not None
    writer.close()


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
found = by.agg(["count", "median", "mean", "var"]), by.quantile([0.05, 0.25, 0.75, 0.95])
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


def large(sizes: Sizes) -> Iterator[Row]:
    repeats = min(3, sizes.repeats)
    with tempfile.TemporaryDirectory() as folder:
        ours: dict[int, tuple[float, float]] = {}
        for rows in sizes.rows:
            path = Path(folder) / f"{rows}.parquet"
            write_log(path, rows)
            ours[rows] = watched(READ["genperf"], path, repeats)
        most = sizes.rows[-1]
        theirs = watched(READ["pandas"], Path(folder) / f"{most}.parquet", repeats)
        yield Row(
            f"{most:.0e} rows of Parquet summarised and fitted, against pandas' read and groupby alone",
            f"{show(ours[most][0])}, peak {ours[most][1]:.2f} GB",
            f"{show(theirs[0])}, peak {theirs[1]:.2f} GB",
            f"{ours[most][0] / theirs[0]:.2f} of its time",
            "≤ 0.33, < 1 GB",
            ours[most][0] / theirs[0] <= 1 / 3 and ours[most][1] < 1.0,
        )
        first = sizes.rows[0]
        marginal = [(ours[b][0] - ours[a][0]) / (b - a) for a, b in zip(sizes.rows, sizes.rows[1:], strict=False)]
        yield Row(
            "the same from " + " to ".join(f"{rows:.0e}" for rows in (first, most)) + " rows",
            ", ".join(f"{rows:.0e}: {show(ours[rows][0])}, {ours[rows][1]:.2f} GB" for rows in sizes.rows),
            "seconds for each further million rows: " + ", ".join(f"{1e6 * m:.2f}" for m in marginal),
            f"{marginal[-1] / marginal[0]:.1f} × a row's time between the sizes",
            "linear",
            marginal[-1] <= 1.5 * marginal[0],
        )


# --- start-up --------------------------------------------------------------------------------------------------------


def start_up(sizes: Sizes) -> Iterator[Row]:
    with tempfile.TemporaryDirectory() as folder:
        model = Path(folder) / "model.json"
        part = gp.read_table(fleet(1).drop(columns="series"), time="s", extrinsic="workers")
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
        for _ in range(4 * sizes.repeats):
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


PARTS: dict[str, Callable[[Sizes], Iterator[Row]]] = {
    "search": search,
    "replicates": replicates,
    "linear": linear,
    "workers": two_workers,
    "large": large,
    "start-up": start_up,
    "limit": limit,
}


def machine() -> str:
    names = ("numpy", "scipy", "pandas", "joblib", "duckdb", "pyarrow")
    model = platform.processor() or platform.machine()
    if Path("/proc/cpuinfo").exists():
        lines = Path("/proc/cpuinfo").read_text(encoding="utf-8").splitlines()
        model = next((line.split(":")[1].strip() for line in lines if line.startswith("model name")), model)
    load = f"; load {os.getloadavg()[0]:.1f} at the start" if hasattr(os, "getloadavg") else ""
    versions = ", ".join(f"{name} {version(name)}" for name in names)
    return f"{model}, {os.cpu_count()} cores{load}; Python {platform.python_version()}, {versions}"


def main() -> None:
    reader = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    reader.add_argument("--quick", action="store_true", help="small sizes, to try the script out; nothing is written")
    reader.add_argument("--only", metavar="NAME,…", default=",".join(PARTS), help=f"some of {', '.join(PARTS)}")
    reader.add_argument("-o", "--output", type=Path, default=OUT)
    given = reader.parse_args()
    sizes = QUICK if given.quick else Sizes()
    os.environ.update(dict.fromkeys(("OPENBLAS_NUM_THREADS", "OMP_NUM_THREADS", "MKL_NUM_THREADS"), "1"))
    threadpool_limits(limits=1)
    on = machine()
    head = ["what", "genperf", "beside it", "ratio", "wanted", "met", "command"]
    lines = ["| " + " | ".join(head) + " |", "|" + "---|" * len(head)]
    for name in given.only.split(","):
        for row in PARTS[name](sizes):
            print(" | ".join(row.cells), file=sys.stderr, flush=True)
            lines.append("| " + " | ".join([*row.cells, f"`--only {name}`"]) + " |")
    text = (
        "# Performance\n\n"
        f"Made by `{COMMAND}`; each row by the same command with what stands beside it. Times are medians of several "
        "runs, ratios are of times measured in one run. What runs in one process is told in seconds of its work; "
        "workers, start-up and large tables in seconds of the clock. One thread of linear algebra.\n\n"
        f"Measured on: {on}.\n\n" + "\n".join(lines) + "\n"
    )
    if given.quick or given.only != ",".join(PARTS):
        print(text)
        return
    given.output.write_text(text, encoding="utf-8")


if __name__ == "__main__":
    main()
