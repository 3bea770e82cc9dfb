"""Runs one job: the workers (and servers) of a framework on some hosts, case after case, under a watch.

A worker that dies or hangs costs the case it was at, and no other: the job is begun again from the next case.
"""

from __future__ import annotations

import json
import subprocess
import tempfile
import time
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

from cluster import Hosts
from environments import interpreter
from meeting import STOP, Meeting

Case = dict[str, Any]
Row = dict[str, Any]

_EVERY = 0.005
#: The first port of a job on its hosts.
PORT = 29500
#: Every worker is a core. Frameworks read this when they are imported.
ONE_THREAD = {"OMP_NUM_THREADS": "1", "MKL_NUM_THREADS": "1"}
_HERE = Path(__file__).parent


@dataclass(frozen=True)
class Windows:
    """How long and how often a case is timed."""

    #: Windows of a case.
    repeats: int = 3
    #: A window is about this long,
    seconds: float = 0.5
    #: and has between so many and so many steps.
    steps: tuple[int, int] = (3, 30)


@dataclass(frozen=True)
class Job:
    """Workers started once, and the cases they measure."""

    #: pytorch, tensorflow or mxnet.
    framework: str
    #: One on each host.
    workers: int
    #: Parameter servers, each on a host of its own behind the workers'.
    servers: int
    #: What `worker_*.py` reads of a case; `link_mbit`, if there, is what its links are shaped to.
    cases: Sequence[Case]
    #: The worker, if it is not the framework's.
    script: str = ""
    #: A program that serves the workers from a host of its own behind all others, if there is one.
    beside: str = ""

    @property
    def hosts(self) -> int:
        """How many hosts the job takes."""
        return self.workers + self.servers + bool(self.beside)

    @property
    def program(self) -> str:
        return self.script or f"worker_{self.framework}.py"


@dataclass(frozen=True)
class Limits:
    """How long the launcher waits, seconds: for a job's workers to be ready, and for a case."""

    start_s: float = 300.0
    case_s: float = 300.0


LIMITS = Limits()


def run(
    job: Job, hosts: Hosts, windows: Windows, report: list[str], limits: Limits = LIMITS, port: int = PORT
) -> Iterator[tuple[Case, list[Row]]]:
    """Measure the cases of a job, handing on each as it is done; `report` gets a line for what did not work."""
    python = interpreter(job.framework)
    left = list(job.cases)
    while left:
        hosts.check_port(port)
        done = 0
        try:
            with _started(replace(job, cases=left), hosts, python, windows, port) as crew:
                crew.until_ready(limits.start_s)
                for case in left:
                    if "link_mbit" in case:
                        hosts.shape(case["link_mbit"])
                    rows = crew.measure(done, limits.case_s)
                    done += 1
                    yield case, rows
                crew.dismiss(len(left))
            return
        except _LostError as lost:
            if not crew.ready:
                report.append(f"{_named(job)}: {lost}; none of its {len(left)} cases was measured")
                return
            report.append(f"{_named(job)}: {lost}; left out: {json.dumps(left[done], sort_keys=True)}")
            done += 1
        left = left[done:]


class _LostError(Exception):
    """A worker died, or the time was up."""


class _Crew:
    """The processes of a job."""

    def __init__(self, job: Job, meeting: Meeting, processes: Sequence[tuple[str, subprocess.Popen[bytes]]]) -> None:
        self.job, self.meeting, self.processes = job, meeting, processes
        self.ready: dict[int, Any] = {}

    def until_ready(self, limit: float) -> None:
        self._wait([f"ready-{rank}" for rank in range(self.job.workers)], limit, "started")
        self.ready = {rank: self.meeting.get(f"ready-{rank}") for rank in range(self.job.workers)}

    def measure(self, number: int, limit: float) -> list[Row]:
        self.meeting.put(f"go-{number}", None)
        self._wait([f"done-{number}-{rank}" for rank in range(self.job.workers)], limit, "finished the case")
        first = self.ready[0]
        startup = max(one["startup_s"] for one in self.ready.values())
        own = {"framework_version": first["version"], "startup_s": startup}
        return [{**own, "repeat": i, **row} for i, row in enumerate(self.meeting.get(f"result-{number}"))]

    def dismiss(self, number: int) -> None:
        self.meeting.put(f"go-{number}", STOP)
        end = time.monotonic() + 10
        # What serves the workers may go on for ever; it is ended with the job.
        for process in [process for name, process in self.processes if name.startswith("worker")]:
            try:
                process.wait(max(0.1, end - time.monotonic()))
            except subprocess.TimeoutExpired:
                return

    def _wait(self, names: Sequence[str], limit: float, what: str) -> None:
        end = time.monotonic() + limit
        missing = list(names)
        while missing:
            missing = [name for name in missing if not self.meeting.there(name)]
            # Looked at after the processes' files: a worker may finish and leave.
            dead = [name for name, process in self.processes if process.poll() not in (None, 0)]
            if missing and dead:
                raise _LostError(f"{dead[0]} died ({self._last_words(dead[0])})")
            if missing and time.monotonic() > end:
                late = ", ".join(name.rsplit("-", 1)[-1] for name in missing[:4])
                raise _LostError(f"worker {late} has not {what} within {limit:g} s")
            time.sleep(_EVERY)

    def _last_words(self, name: str) -> str:
        path = self.meeting.folder / f"{name.replace(' ', '-')}.err"
        lines = [line.strip() for line in path.read_text(errors="replace").splitlines() if line.strip()]
        return lines[-1][:160] if lines else "without a word"


@contextmanager
def _started(job: Job, hosts: Hosts, python: Path, windows: Windows, port: int) -> Iterator[_Crew]:
    """Start the processes of a job; end them all on leaving."""
    with tempfile.TemporaryDirectory(prefix="genperf-measure-") as folder:
        meeting = Meeting(folder)
        meeting.put("job.json", {
            "workers": job.workers,
            "servers": job.servers,
            "cases": list(job.cases),
            "repeats": windows.repeats,
            "seconds": windows.seconds,
            "steps": windows.steps,
            "port": port,
            "interface": hosts.interface,
            "addresses": [hosts.address(host) for host in range(job.hosts)],
        })  # fmt: skip
        processes: list[tuple[str, subprocess.Popen[bytes]]] = []
        try:
            for name, program, host, rank, extra in _roles(job, hosts, port):
                variables = [f"{variable}={value}" for variable, value in {**ONE_THREAD, **extra}.items()]
                with (Path(folder) / f"{name.replace(' ', '-')}.err").open("wb") as words:
                    process = subprocess.Popen(
                        [*hosts.command(host), "env", *variables, python, _HERE / program, folder, str(rank)],
                        stdout=subprocess.DEVNULL,
                        stderr=words,
                    )
                processes.append((name, process))
            yield _Crew(job, meeting, processes)
        finally:
            for _, process in processes:
                process.kill()
            for _, process in processes:
                process.wait()


def _roles(job: Job, hosts: Hosts, port: int) -> Iterator[tuple[str, str, int, int, Mapping[str, str]]]:
    """Name each process of a job, its program, its host, its rank and what it finds in its environment."""
    if job.beside:
        yield job.beside, job.beside, job.workers + job.servers, 0, {}
    if not job.servers:
        for rank in range(job.workers):
            yield f"worker {rank}", job.program, rank, rank, {}
        return
    # Behind the workers' hosts come the servers'; the scheduler, which only introduces them, sits with the first.
    roles = [("scheduler", job.workers, 0, "scheduler")]
    roles += [(f"server {i}", job.workers + i, i, "server") for i in range(job.servers)]
    roles += [(f"worker {rank}", rank, rank, "worker") for rank in range(job.workers)]
    for name, host, rank, role in roles:
        yield name, job.program, host, rank, {
            "DMLC_ROLE": role,
            "DMLC_PS_ROOT_URI": hosts.address(job.workers),
            "DMLC_PS_ROOT_PORT": str(port),
            "DMLC_NUM_WORKER": str(job.workers),
            "DMLC_NUM_SERVER": str(job.servers),
            "DMLC_INTERFACE": hosts.interface,
            "DMLC_NODE_HOST": hosts.address(host),
            # Arrays above this many elements are cut evenly over the servers; smaller ones go whole to one of them.
            "MXNET_KVSTORE_BIGARRAY_BOUND": "1000",
        }  # fmt: skip


def _named(job: Job) -> str:
    servers = f", {job.servers} servers" if job.servers else ""
    return f"{job.framework}, {job.workers} workers{servers}"
