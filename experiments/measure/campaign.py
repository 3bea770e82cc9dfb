"""A campaign: many jobs into one table, resumed where it was left, with a bar that tells how far it is."""

from __future__ import annotations

import argparse
import signal
import sys
import time
from collections.abc import Callable, Iterable, Mapping, Sequence
from contextlib import nullcontext
from dataclasses import replace
from pathlib import Path
from types import FrameType
from typing import Any

from cluster import Cluster, Link
from hosts import Hosts, ThisMachine
from launch import Case, Job, Limits, Report, Row, Windows, run
from networks import BYTES_PER_PARAMETER, forward_flops, parameter_count
from problems import MeasureError
from record import Recorder

#: What a network and its timing give, whatever the campaign.
NETWORK = ["batch_per_worker", "layers", "filters", "kernel_size", "hidden", "image_size", "optimizer", "activation"]
TIMES = ["repeat", "steps", "startup_s", "forward_s", "backward_s", "exchange_s", "update_s",
         "step_time_s", "step_time_mean_s", "step_time_std_s"]  # fmt: skip
FACTORS = ["framework", "architecture", "workers", "servers", "link_mbit", "link_latency_ms", *NETWORK]
COLUMNS = ["framework", "framework_version", *FACTORS[1:], "parameters", "bytes", "forward_flops", *TIMES]


def counts(text: str) -> tuple[int, ...]:
    """Read whole numbers above 0 with commas between them, as an argument."""
    return tuple(int(number) for number in _positive(text, int))


def speeds(text: str) -> tuple[float, ...]:
    """Read numbers above 0 with commas between them, as an argument."""
    return tuple(_positive(text, float))


def _positive(text: str, kind: Callable[[str], float]) -> list[float]:
    try:
        found = [kind(part) for part in text.split(",")]
    except ValueError:
        found = [0]
    if not all(0 < number < float("inf") for number in found):
        raise argparse.ArgumentTypeError(f"'{text}' is not one or more numbers above 0 with commas between them")
    return found


def described(job: Job, case: Case) -> dict[str, Any]:
    """Return the factors of a case, as columns."""
    parameters = parameter_count(case)
    return {
        "framework": job.framework,
        "workers": job.workers,
        "servers": job.servers,
        **case,
        "parameters": parameters,
        "bytes": BYTES_PER_PARAMETER * parameters,
        "forward_flops": forward_flops(case),
    }


def measure(
    jobs: Sequence[Job],
    recorder: Recorder,
    *,
    link: Link | None = None,
    between: Link | None = None,
    windows: Windows | None = None,
    limits: Limits | None = None,
    port: int = 29500,
    describe: Callable[[Job, Case], Mapping[str, Any]] = described,
) -> Report:
    """Measure every case that the table lacks.

    Parameters
    ----------
    jobs : sequence of Job
        In the order they are to be measured.
    recorder : Recorder
        The table.
    link : Link, optional
        On an emulated cluster whose hosts hang on such links; on this machine's loopback interface if not given.
    between : Link, optional
        The cluster stands in two racks with this link between them.
    windows, limits
        How long.
    port : int
        The first port that workers may use.
    describe : callable
        The factors of a case as columns.

    Returns
    -------
    Report
        What could not be measured.

    Raises
    ------
    MeasureError
        If a cluster cannot be emulated, or a framework is not installed and nothing else was left to measure.
    """
    report = Report()
    lacking = [
        replace(job, cases=cases)
        for job in jobs
        if (cases := [case for case in job.cases if not recorder.has(describe(job, case))])
    ]
    total = sum(len(job.cases) for job in lacking)
    if not total:
        return report
    bar = _Bar(total)
    with Cluster(max(job.hosts for job in lacking), link, between) if link is not None else nullcontext() as cluster:
        hosts: Hosts = ThisMachine() if cluster is None else cluster
        for job in lacking:
            bar.at(f"{job.framework} {job.workers}" + (f"+{job.servers}" if job.servers else ""))
            try:
                done = run(
                    job,
                    hosts,
                    shape=_unshaped if cluster is None else cluster.shape,
                    windows=windows or Windows(),
                    limits=limits or Limits(),
                    port=port,
                    report=report,
                )
                for case, rows in done:
                    recorder.add(_joined(describe(job, case), rows))
                    bar.step()
            except MeasureError as error:
                if str(error) not in report.lines:
                    report.lines.append(str(error))
    bar.close()
    return report


def finish(report: Report, path: Path) -> None:
    """Say what was left out, and leave with status 1 if something was."""
    for line in report.lines:
        print(f"error: {line}", file=sys.stderr)
    if report.lines:
        sys.exit(1)
    print(f"{path}: complete")


def guarded(main: Callable[[], None]) -> None:
    """Run a campaign's `main`: errors are one line, and a signal takes the cluster down as Ctrl-C does."""

    def stop(number: int, frame: FrameType | None) -> None:
        raise KeyboardInterrupt

    signal.signal(signal.SIGTERM, stop)
    try:
        main()
    except MeasureError as error:
        sys.exit(f"error: {error}")
    except KeyboardInterrupt:
        sys.exit("stopped; what was measured is in the table, and the same command goes on from there")


def _joined(factors: Mapping[str, Any], rows: Iterable[Row]) -> list[Row]:
    return [{**factors, **row} for row in rows]


def _unshaped(mbit: float) -> None:
    raise MeasureError("the loopback interface has no bandwidth to set: measure on an emulated cluster")


class _Bar:
    """One line on a terminal: how far, where, how long still. Nothing elsewhere."""

    def __init__(self, total: int) -> None:
        self.total, self.done, self.where = total, 0, ""
        self.begun = time.monotonic()

    def at(self, where: str) -> None:
        self.where = where
        self._show()

    def step(self) -> None:
        self.done += 1
        self._show()

    def close(self) -> None:
        if sys.stderr.isatty():
            print(file=sys.stderr)

    def _show(self) -> None:
        if not sys.stderr.isatty():
            return
        left = (time.monotonic() - self.begun) / self.done * (self.total - self.done) if self.done else float("nan")
        filled = 30 * self.done // self.total
        bar = "#" * filled + "." * (30 - filled)
        remaining = f", {left / 60:.1f} min left" if self.done else ""
        print(f"\r[{bar}] {self.done}/{self.total} {self.where}{remaining}\033[K", end="", file=sys.stderr, flush=True)
