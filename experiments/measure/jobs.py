"""Many jobs into one table, resumed where it was left, with a bar that tells how far it is."""

from __future__ import annotations

import argparse
import signal
import sys
from collections.abc import Callable, Mapping, Sequence
from contextlib import nullcontext, suppress
from dataclasses import replace
from pathlib import Path
from types import FrameType
from typing import Any

import click
from cluster import Cluster, Link, ThisMachine
from launch import Case, Job, Windows, run
from problems import MeasureError
from record import Recorder


def positive(text: str, kind: Callable[[str], Any]) -> tuple[Any, ...]:
    """Read numbers of a kind above 0 with commas between them, as an argument."""
    with suppress(ValueError):
        found = tuple(kind(part) for part in text.split(","))
        if all(0 < number < float("inf") for number in found):
            return found
    raise argparse.ArgumentTypeError(f"'{text}' is not one or more numbers above 0 with commas between them")


def measure(
    jobs: Sequence[Job],
    recorder: Recorder,
    describe: Callable[[Job, Case], Mapping[str, Any]],
    link: Link | None,
    windows: Windows,
) -> list[str]:
    """Measure every case that the table lacks, and return what could not be measured.

    On an emulated cluster whose hosts hang on `link`, or on this machine's loopback interface. `describe` gives the
    factors of a case as columns.
    """
    report: list[str] = []
    lacking = [
        replace(job, cases=cases)
        for job in jobs
        if (cases := [case for case in job.cases if not recorder.has(describe(job, case))])
    ]
    total = sum(len(job.cases) for job in lacking)
    if not total:
        return report
    cluster = Cluster(max(job.hosts for job in lacking), link) if link else nullcontext(ThisMachine())
    bar = click.progressbar(length=total, file=sys.stderr, hidden=not sys.stderr.isatty())
    with cluster as hosts, bar:
        for job in lacking:
            bar.label = f"{job.framework} {job.workers}" + (f"+{job.servers}" if job.servers else "")
            try:
                for case, rows in run(job, hosts, windows, report):
                    recorder.add({**describe(job, case), **row} for row in rows)
                    bar.update(1)
            except MeasureError as error:
                report += [] if str(error) in report else [str(error)]
    return report


def finish(report: Sequence[str], path: Path) -> None:
    """Say what was left out, and leave with status 1 if something was."""
    for line in report:
        print(f"error: {line}", file=sys.stderr)
    if report:
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
