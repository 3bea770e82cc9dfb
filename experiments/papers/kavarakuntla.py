"""Kavarakuntla et al. 2023: the generic expression on three frameworks, against random forest and SVR."""

from __future__ import annotations

from statistics import median

import numpy as np

import genperf as gp
from experiments.accuracy.generic_model import TABLES
from experiments.accuracy.scores import held_out_errors
from experiments.accuracy.three_frameworks import ALL, BETWEEN, COMBINATIONS, COMBINED, LARGEST, NETWORKS, PAGE
from experiments.accuracy.three_frameworks import FRAMEWORKS as CORE_FRAMEWORKS
from experiments.papers.claim import Outcome, of_cases, outcome
from experiments.shared import rows_of_page
from genperf.panel import Table

#: Framework → the rows of `dlperf.csv`.
FRAMEWORKS = {title: where for title, (_, where) in TABLES.items() if where}
#: Finite differences: between these counts of workers, each held out for one of so many folds of the networks; an
#: elasticity within so much of the measured one is close.
DOUBLINGS, FOLDS, CLOSE = ((2, 4), (4, 8), (8, 16)), 5, 0.1
_ENDS = ("seconds", "fitted")
#: Rows whose phases are measured too.
UNTOUCHED = "framework == 'pytorch' and architecture == 'ring-allreduce' and link_latency_ms == 0 and link_mbit == 200"


#: The paper's own comparison; shown beside it genperf's default, which averages several families.
OTHERS = ("random-forest", "svr")
SHOWN = ("generic", *OTHERS, "auto")
DATA = "data/core_experiment.csv"
SAMPLE = (
    f"160 configurations of 40 sampled networks on 1 to 8 workers of an emulated cluster, in each framework (`{DATA}`, "
    "[protocol](protocols/core-experiment.md), written before the measurements; figures of "
    f"[results](results/{PAGE.name}))"
)


def _errors(framework: str, question: str) -> dict[str, float]:
    """Return the mean error of every model, %: the median over split seeds."""
    rows = [
        row for row in rows_of_page(PAGE.stem) if row["rows"] == framework and row["predicted"].startswith(question)
    ]
    return {model: median(float(row[model]) for row in rows) for model in SHOWN}


def _judged(label: str, framework: str, question: str) -> tuple[bool, list[str]]:
    found = _errors(framework, question)
    return found["generic"] < min(found[m] for m in OTHERS), [label, *(f"{found[m]:.1f} %" for m in SHOWN)]


def _least(outcomes: list[tuple[bool, list[str]]]) -> Outcome:
    """Return whether the generic model errs less than both others in every case."""
    return of_cases([least for least, _ in outcomes], [row for _, row in outcomes], ["mean error", *SHOWN])


def between() -> Outcome:
    """Judge 5-fold cross-validation on each framework."""
    return _least([_judged(framework, framework, BETWEEN) for framework in CORE_FRAMEWORKS])


def beyond() -> Outcome:
    """Judge what lies beyond the measured configurations."""
    outcomes = [
        _judged(f"{framework}, {question}", framework, question)
        for question in (LARGEST, NETWORKS)
        for framework in CORE_FRAMEWORKS
    ]
    for factor in COMBINED:
        question = f"{COMBINATIONS}: {factor}"
        outcomes += [_judged(f"{name}, {question}", f"{name}, of all three", question) for name in CORE_FRAMEWORKS]
    return _least(outcomes)


def together() -> Outcome:
    """Judge one expression that is fitted to the three frameworks at once."""
    return _least(
        [
            _judged(f"{name}, {question}", rows, question)
            for question in (BETWEEN, LARGEST, NETWORKS)
            for name, rows in [(ALL, ALL), *((name, f"{name}, of all three") for name in CORE_FRAMEWORKS)]
        ]
    )


def _on_published(models: tuple[str, ...], splits: dict[str, tuple[Table, str]]) -> Outcome:
    """Return whether the generic model errs less than both others on every table and scheme."""
    rows, better = [], []
    for label, (table, scheme) in splits.items():
        error = held_out_errors(table, models, scheme)
        better.append(error["generic"] < min(error[m] for m in OTHERS))
        rows.append([label, *(f"{value:.1f} %" for value in error.values())])
    return of_cases(better, rows, ["mean error", *models])


def frameworks() -> Outcome:
    splits = {}
    for framework, named in FRAMEWORKS.items():
        table = gp.datasets.load("dlperf", where=f"({named}) and data != 'synthetic'")
        splits[f"{framework}, {len(table.medians())} configurations"] = table, "kfold:5"
    return _on_published(SHOWN, splits)


def networks() -> Outcome:
    table, far = gp.datasets.load("pytorch_cpu"), "12 and 16 workers from at most 8"
    return _on_published(("generic", *OTHERS), {"5-fold": (table, "kfold:5"), far: (table, "extrapolate:workers:8")})


def interpretable() -> Outcome:
    """Compare fitted slopes along the workers with measured ones, on rows that the fit does not have."""
    table = gp.datasets.load("pytorch_cpu").medians()
    names = [factor.name for factor in table.factors]
    network = [name for name in names if name != "workers"]
    frame = table.frame[names].assign(seconds=table.measured)
    frame["network"] = frame.groupby(network).ngroup()
    fold = np.random.default_rng(0).permutation(frame["network"].nunique()) % FOLDS
    slopes = []
    for low, high in DOUBLINGS:
        for k in range(FOLDS):
            held = (fold[frame["network"]] == k) & frame["workers"].isin([low, high]).to_numpy()
            result = gp.fit(table.take(~held), "generic", seed=0, draws=5)
            rows = frame[held].assign(fitted=result.predict(frame[held][names])["time"].to_numpy())
            for _, ends in rows.groupby("network"):
                if len(ends) == 2:
                    ends = ends.sort_values("workers")
                    slopes.append([np.log2(ends[column].iloc[1] / ends[column].iloc[0]) for column in _ENDS])
    measured, fitted = np.array(slopes).T
    off, right = np.abs(fitted - measured), np.sign(fitted) == np.sign(measured)
    return outcome(
        np.mean(off <= CLOSE) >= 0.8,
        close=100 * float(np.mean(off <= CLOSE)), of=len(off), off=float(np.median(off)),
        least=measured.min(), most=measured.max(), right=100 * float(np.mean(right)),
    )  # fmt: skip


def untouched() -> Outcome:
    """Fit a table of measured phases with those columns and without."""
    frame = gp.datasets.frame("allreduce_vs_server").query(UNTOUCHED)
    phases = [name for name in frame if name in ("startup_s", "forward_s", "backward_s", "exchange_s", "update_s")]
    roles = {"time": "step_time_s", "intrinsic": "bytes", "extrinsic": "workers", "repeat": "repeat"}
    kept = ["workers", "bytes", "repeat", "step_time_s"]
    tables = [gp.read_table(frame[columns], **roles) for columns in ([*kept, *phases], kept)]
    with_phases, without = (
        gp.fit(table, "generic", seed=0, draws=5).predict(frame[["workers", "bytes"]]) for table in tables
    )
    change = float(np.abs(with_phases["time"] / without["time"] - 1.0).max())
    return outcome(change == 0.0, phases=len(phases), change=100 * change)
