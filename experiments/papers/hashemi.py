"""Hashemi et al. 2016: shared storage, one server and whole jobs, measured on an emulated cluster."""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import dataclass

import numpy as np
import numpy.typing as npt
import pandas as pd

import genperf as gp
from experiments.papers.claim import MEASURED, Claim, untested, verdict
from genperf.attribution import Knee
from genperf.panel import Table

Array = npt.NDArray[np.float64]

#: The family that is fitted to the measured server, and the term of initialisation, fitted to measured starts.
SERVED, READING = "cntk", "i0 + i1*samples*workers**q"
#: Whole jobs that were measured, those that share a work, and counts up to which fits know and knees are sought.
WHOLE, SERVERS = "data/whole_jobs.csv", ("synchronous", "asynchronous")
WORK, WORK_BATCH, KNOWN, UPTO = 48, 2, 8, 64


@dataclass(frozen=True)
class Jobs:
    """Measured jobs of several kinds, with their runs, and those that share a work, their medians."""

    several: Table
    shared: Table


def claims() -> list[Claim]:
    return [_starts(), _dominates(), *_scaling(), _server(), _knees(), _smaller_batches(), _elsewhere()]


def _starts() -> Claim:
    table = gp.datasets.load("initialisation", where="reading == 'whole'", categorical="").medians()
    workers = table.columns["workers"]
    known, asked = table.take(workers <= 8), table.take(workers > 8)
    result = gp.fit(known, READING, seed=0, draws=5)
    error = 100 * np.abs(result.predict(asked.frame[["workers", "samples"]])["time"].to_numpy() / asked.measured - 1)
    frame = table.frame.assign(seconds=table.measured)
    times = frame[frame["samples"] == frame["samples"].max()].set_index("workers")["seconds"]
    return Claim(
        "Initialisation is excessive: it grows with the workers that read",
        "starts of a job on 1 to 16 hosts that read a data set through one storage host's link (`initialisation.csv`): "
        "the reading term of `cntk` fitted to at most 8 hosts. Refuted if it errs by more than 5 % at 12 and 16 in the "
        "mean, or if a start on 16 hosts takes less than 8 times one on 1.",
        verdict(error.mean() <= 5.0 and times[16] >= 8.0 * times[1]),
        f"the mean error is {error.mean():.1f} %, with q = {result.best.values['q']:.2f}; the largest data set is read "
        f"in {times[1]:.1f} s on 1 host and in {times[16]:.1f} s on 16, {times[16] / times[1]:.1f} times as long.",
        MEASURED,
        "data/initialisation.csv",
    )


def _server() -> Claim:
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
    return Claim(
        "One server becomes the bottleneck past a knee, measured",
        "MXNet's synchronous servers on 1 to 16 hosts, whose computation is known (`server_knee.csv`). The knee is the "
        f"first count at which a step takes twice as long as with one worker; `{SERVED}` is fitted to the counts below "
        "it. Refuted if one named knee is more than one worker off, or inside the measured counts where there is none.",
        verdict(all(close)),
        f"within one worker for {sum(close)} of {len(close)}.",
        MEASURED,
        "data/server_knee.csv",
        ["servers", "a worker computes, s", "measured knee", "known up to", "named"],
        rows,
    )


def _jobs(server: str) -> Jobs:
    """Return the measured jobs of a kind of server."""
    table = gp.datasets.load("whole_jobs", where=f"server == '{server}'", categorical="")
    shared = table.columns["workers"] * table.columns["iterations"] == WORK
    shared &= table.columns["batch_per_worker"] == WORK_BATCH
    return Jobs(table.take(~shared), table.take(shared).medians())


def _whole(known: Table) -> gp.FitResult:
    return gp.fit(known, SERVED, seed=0, draws=5)


def _dominates() -> Claim:
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
    close = float(np.mean(np.array(errors) <= 5.0))
    return Claim(
        "Initialisation is excessive and dominates the whole execution time",
        "whether the model, fitted to the times of whole jobs on at most 12 hosts (`whole_jobs.csv`), tells the share "
        "of the same jobs on 16 and 24 that is initialisation, which is measured and not shown to it. Refuted if more "
        "than one in ten is off by more than 5 points (experiments/protocols/whole-jobs.md, written before the first "
        "run). How large the share is, the storage and the length of the jobs decide, so that is no test.",
        verdict(close >= 0.9),
        f"within 5 points in {100 * close:.0f} % of {len(errors)} jobs, of which {min(measured):.0f} to "
        f"{max(measured):.0f} % are initialisation; the median error is {float(np.median(errors)):.1f} points, the "
        f"largest {max(errors):.1f}. Most of the starts on 16 and 24 hosts stall for packets that are lost: with the "
        "rate at which one host reads and the iterations as measured it would be "
        f"{100 * float(np.mean(np.array(without_stalls) <= 5.0)):.0f} %.",
        MEASURED,
        WHOLE,
        ["server", "batch", "iterations", "samples", "workers", "measured", "from the times of jobs"],
        rows,
    )


def _scaling() -> list[Claim]:
    """Find where measured jobs that share a work are shortest, with and without reading."""
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
    head = ["server", "samples", "shortest job", "shortest iterations", "named", "the named one takes longer by"]
    work = f"jobs of one work, {WORK} iterations of batch {WORK_BATCH} shared by 1 to 24 hosts (`whole_jobs.csv`)"
    limited = Claim(
        "Because of it the system does not scale beyond a few nodes",
        f"{work}. Refuted if without reading, whose time is measured, the count of the shortest job is not larger for "
        "some server or data set.",
        verdict(all(earlier)),
        f"it is larger in {sum(earlier)} of {len(earlier)} cases.",
        MEASURED,
        WHOLE,
        head[:4],
        [row[:4] for row in rows],
    )
    foreseen = Claim(
        "The performance model tells how far the system scales",
        f"{work}, and the model fitted to other jobs on at most {KNOWN}. Refuted if the count that it names makes the "
        "measured job more than 5 % longer than the shortest measured one in one of the cases "
        "(experiments/protocols/whole-jobs.md, written before the first run).",
        verdict(all(close)),
        f"within 5 % in {sum(close)} of {len(close)} cases.",
        MEASURED,
        WHOLE,
        [*head[:3], *head[4:]],
        [[*row[:3], *row[4:]] for row in rows],
    )
    return [limited, foreseen]


def _knees() -> Claim:
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
    return Claim(
        "The knee follows from whole jobs below it",
        "the first count at which an iteration takes twice as long as with one worker, for each batch and server "
        f"(`whole_jobs.csv`), over the same jobs, as measured and as `{SERVED}` has it, fitted to the times of all "
        "jobs at the counts below. Refuted if one named knee is more than one worker off, or inside the measured "
        "counts where there is none (experiments/protocols/whole-jobs.md, written before the first run).",
        verdict(all(close)),
        f"within one worker for {sum(close)} of {len(close)}.",
        MEASURED,
        WHOLE,
        ["server", "batch", "measured knee", "known up to", "named"],
        rows,
    )


def _iteration(result: gp.FitResult, job: Mapping[str, float], counts: Array) -> Array:
    """Return the mean length of an iteration: what the job takes without initialisation and reading."""
    asked = pd.DataFrame({"workers": counts, **job})
    columns = {name: asked[name].to_numpy(float) for name in asked}
    terms = result.best.expression.term_values(columns, result.best.values)
    start = terms["initialisation"] + terms["reading"]
    return np.asarray((result.predict(asked)["time"].to_numpy() - start) / job["iterations"])


def _smaller_batches() -> Claim:
    return untested(
        "The knee follows from smaller batches (16 nodes in the paper)",
        "no measured jobs of a batch whose knee lies beyond those of smaller batches are at hand.",
        "that a knee follows from jobs below it is tested above.",
    )


def _elsewhere() -> Claim:
    return untested(
        "On Blue Waters CNTK scales to 4 nodes, and its server holds to 16",
        "no measurements of CNTK on clusters are at hand.",
        "what can be tested is whether such limits are found in advance where they are: see above.",
    )


QUICK = (_starts, _server)
