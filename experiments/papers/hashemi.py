"""Hashemi et al. 2016: shared storage, one server and whole jobs, measured on an emulated cluster."""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import dataclass
from functools import cache

import numpy as np
import pandas as pd

import genperf as gp
from experiments.accuracy.scores import errors_of
from experiments.papers.claim import Outcome, of_cases, outcome
from genperf.arrays import Array
from genperf.attribution import Knee
from genperf.panel import Table

#: The family that is fitted to the measured server, and the term of initialisation, fitted to measured starts.
SERVED, READING = "cntk", "i0 + i1*samples*workers**q"
#: Whole jobs that were measured, those that share a work, and counts up to which fits know and knees are sought.
SERVERS = ("synchronous", "asynchronous")
WORK, WORK_BATCH, KNOWN, UPTO = 48, 2, 8, 64


@dataclass(frozen=True)
class Jobs:
    """Measured jobs of several kinds, with their runs, and those that share a work, their medians."""

    several: Table
    shared: Table


def starts() -> Outcome:
    table = gp.datasets.load("initialisation", where="reading == 'whole'", categorical="").medians()
    workers = table.columns["workers"]
    known, asked = table.take(workers <= 8), table.take(workers > 8)
    result = gp.fit(known, READING, seed=0, draws=5)
    error = errors_of(result, asked)
    frame = table.frame.assign(seconds=table.measured)
    times = frame[frame["samples"] == frame["samples"].max()].set_index("workers")["seconds"]
    one, many = times[1], times[16]
    holds = error.mean() <= 5.0 and many >= 8.0 * one
    return outcome(holds, error=error.mean(), q=result.best.values["q"], one=one, many=many, ratio=many / one)


def server() -> Outcome:
    """Find where a measured step takes twice as long as with one worker, from the counts below that."""
    frame = gp.datasets.frame("server_knee")
    rows, close = [], []
    for compute in sorted(frame["compute_s"].unique()):
        for servers in sorted(frame["servers"].unique()):
            where = f"servers == {servers} and compute_s == {compute}"
            table = gp.datasets.load("server_knee", where=where).medians()
            workers, order = table.columns["workers"], np.argsort(table.columns["workers"])
            slow = np.interp(2.0 * table.measured[order][0], table.measured[order], workers[order], right=np.inf)
            known = table.take(workers < slow)
            scaling = gp.explain(gp.fit(known, SERVED, seed=0), {}, knee=Knee(kind="weak", upto=64)).scaling
            knee = float(scaling.points["count"].iloc[0]) if scaling is not None else math.nan
            reached = math.isfinite(slow)
            close.append(abs(knee - math.ceil(slow)) <= 1.0 if reached else knee > workers.max())
            measured = f"{slow:.1f}" if reached else f"beyond {workers.max():g}"
            rows.append([f"{servers}", f"{compute:g}", measured, f"{known.columns['workers'].max():g}", f"{knee:.0f}"])
    return of_cases(close, rows)


def _jobs(server: str) -> Jobs:
    """Return the measured jobs of a kind of server."""
    table = gp.datasets.load("whole_jobs", where=f"server == '{server}'", categorical="")
    shared = table.columns["workers"] * table.columns["iterations"] == WORK
    shared &= table.columns["batch_per_worker"] == WORK_BATCH
    return Jobs(table.take(~shared), table.take(shared).medians())


def _whole(known: Table) -> gp.FitResult:
    return gp.fit(known, SERVED, seed=0, draws=5)


def dominates() -> Outcome:
    rows, errors, measured, without_stalls = [], [], [], []
    for server in SERVERS:
        jobs = _jobs(server).several
        workers = jobs.columns["workers"]
        alone = jobs.frame[jobs.frame["workers"] == 1].astype({"initialisation_s": float})
        one = alone.groupby("samples")["initialisation_s"].median()
        result, asked = _whole(jobs.take(workers <= 12)), jobs.take(workers > 12)
        truth = asked.frame.assign(share=asked.frame["initialisation_s"].astype(float) / asked.frame["job_s"])
        for at, runs in truth.groupby([f.name for f in asked.factors]):
            point = dict(zip([f.name for f in asked.factors], at, strict=True))
            shares = gp.explain(result, point).terms.set_index("term")["share"]
            fitted = float(shares.reindex(["initialisation", "reading"]).sum())
            true = float(runs["share"].median())
            reading = float(one[point["samples"]]) * point["workers"]
            at_the_rate = float(np.median(reading / (reading + runs["iterations_s"].astype(float))))
            without_stalls.append(100 * abs(at_the_rate - true))
            errors.append(100 * abs(fitted - true))
            measured.append(100 * true)
            rows.append([server, *(f"{value:g}" for value in at), f"{100 * true:.0f} %", f"{100 * fitted:.0f} %"])
    return outcome(
        np.mean(np.array(errors) <= 5.0) >= 0.9,
        rows,
        close=100 * float(np.mean(np.array(errors) <= 5.0)),
        of=len(errors), least=min(measured), most=max(measured), median=float(np.median(errors)), largest=max(errors),
        without_stalls=100 * float(np.mean(np.array(without_stalls) <= 5.0)),
    )  # fmt: skip


@cache
def _scaling() -> tuple[list[list[str]], list[bool], list[bool]]:
    """Find where measured jobs that share a work are shortest, with and without reading: rows, and what is right."""
    rows, earlier, close = [], [], []
    for server in SERVERS:
        jobs = _jobs(server)
        result = _whole(jobs.several.take(jobs.several.columns["workers"] <= KNOWN))
        for samples in sorted(set(jobs.shared.columns["samples"])):
            asked = jobs.shared.take(jobs.shared.columns["samples"] == samples)
            counts = asked.columns["workers"]
            alone = gp.datasets.frame("whole_jobs").query(
                f"server == '{server}' and samples == {samples} and batch_per_worker == {WORK_BATCH} "
                f"and workers*iterations == {WORK}"
            )
            free = alone.groupby("workers")["iterations_s"].median()
            best, without = counts[np.argmin(asked.measured)], float(free.idxmin())
            guess = int(np.argmin(result.predict(asked.frame)["time"].to_numpy()))
            excess = float(asked.measured[guess] / asked.measured.min() - 1)
            earlier.append(bool(best < without))
            close.append(excess <= 0.05)
            shown = [f"{value:g}" for value in (samples, best, without, counts[guess])]
            rows.append([server, *shown, f"{100 * excess:.1f} %"])
    return rows, earlier, close


def limited() -> Outcome:
    rows, earlier, _ = _scaling()
    return of_cases(earlier, [row[:4] for row in rows])


def foreseen() -> Outcome:
    rows, _, close = _scaling()
    return of_cases(close, [[*row[:3], *row[4:]] for row in rows])


def knees() -> Outcome:
    """Find where an iteration of a job takes twice as long as with one worker, from the times of jobs below that."""
    rows, close = [], []
    for server in SERVERS:
        jobs = _jobs(server).several
        frame = jobs.frame.assign(each=jobs.frame["iterations_s"].astype(float) / jobs.frame["iterations"])
        for batch, runs in frame.groupby("batch_per_worker"):
            times = runs.groupby("workers")["each"].median()
            slow = float(np.interp(2.0 * times.iloc[0], times.to_numpy(), times.index.to_numpy(float), right=np.inf))
            result = _whole(jobs.take(jobs.columns["workers"] < slow))
            counts = np.arange(1, 1 + UPTO)
            kinds = runs[["batch_per_worker", "iterations", "samples"]].drop_duplicates()
            each = np.median([_iteration(result, kind, counts) for kind in kinds.to_dict("records")], axis=0)
            knee = float(counts[np.argmax(each >= 2 * each[0])]) if each[-1] >= 2 * each[0] else math.inf
            reached = math.isfinite(slow)
            close.append(abs(knee - math.ceil(slow)) <= 1.0 if reached else knee > times.index.max())
            measured = f"{slow:.1f}" if reached else f"beyond {times.index.max():g}"
            known = f"{jobs.columns['workers'][jobs.columns['workers'] < slow].max():g}"
            named = f"{knee:g}" if math.isfinite(knee) else f"beyond {UPTO}"
            rows.append([server, f"{batch:g}", measured, known, named])
    return of_cases(close, rows)


def _iteration(result: gp.FitResult, job: Mapping[str, float], counts: Array) -> Array:
    """Return the mean length of an iteration: what the job takes without initialisation and reading."""
    asked = pd.DataFrame({"workers": counts, **job})
    columns = {name: asked[name].to_numpy(float) for name in asked}
    terms = result.best.expression.term_values(columns, result.best.values)
    start = terms["initialisation"] + terms["reading"]
    return np.asarray((result.predict(asked)["time"].to_numpy() - start) / job["iterations"])
