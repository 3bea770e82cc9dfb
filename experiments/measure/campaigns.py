"""The campaigns that measured the tables of data/: their jobs, their columns, and one command for all.

    python experiments/measure/campaigns.py NAME [--out data/NAME.csv] [OPTIONS]
    python experiments/measure/campaigns.py causes --hosts 2,4 --frameworks pytorch

Options are the parameters of the campaign's function. All but `single_worker` need root, since the cluster is made of
network namespaces, or --local: on this machine's loopback interface, without shaped links. All need the frameworks'
environments (environments.py). The same command goes on where it stopped.
"""

from __future__ import annotations

import argparse
import inspect
import random
import tomllib
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import partial
from itertools import groupby
from pathlib import Path
from typing import Any

from cluster import Link
from jobs import finish, guarded, measure, positive
from launch import Case, Job, Windows
from networks import BASE, BYTES_PER_PARAMETER, Network, forward_flops, parameter_count, sample
from partition_design import DEVICES, FULL, TINY, of_case
from partition_design import cases as layouts_of
from record import Recorder
from stages import AFTERWARDS, LAYERS, ONE_BUCKET

FRAMEWORKS = ("pytorch", "tensorflow", "mxnet")
HOSTS = (1, 2, 3, 4, 6, 8, 12, 16)
MBIT = 200.0
#: Levels, settings and columns.
_FILE = tomllib.loads(Path(__file__).with_suffix(".toml").read_text(encoding="utf-8"))


def described(job: Job, case: Case) -> dict[str, Any]:
    """Return the factors of a case as columns, with what follows from them."""
    row = {"framework": job.framework, "workers": job.workers, "servers": job.servers, **case}
    if "filters" in case:
        row |= {"parameters": parameter_count(case), "forward_flops": forward_flops(case)}
    elif "hidden" in case:
        row["parameters"] = case.get("layers", 1) * case["hidden"] ** 2
    if "parameters" in row:
        row["bytes"] = BYTES_PER_PARAMETER * row["parameters"]
    if "data_parallel" in case:
        shape, layout = of_case(case)
        passes = shape.batch // (layout.replicas * layout.micro)
        row |= {"devices": job.workers, "grad_accumulation": passes, "params": shape.parameters()}
    return row


# --- ring, servers and peers -----------------------------------------------------------------------------------------

#: Widths of the dense layers. A ring carries about 1, 2 and 4 MB: less would measure the machine's cores at 16 hosts.
#: Servers and peers, whose traffic grows with the hosts, carry 0.5, 1 and 2 MB: more would take hours.
WIDTHS = {"ring-allreduce": (500, 708, 1000), "peer-to-peer": (354, 500, 708), "parameter-server": (354, 500, 708)}
#: One-way latency of each host's link in the part of the campaign that has one, ms, and what is measured there.
LATENCY_MS, LATENCY_HOSTS = 10.0, (2, 4, 8)


def idle_networks(hidden: Sequence[int]) -> list[Network]:
    """Return networks that compute next to nothing."""
    small = {"batch_per_worker": 2, "layers": 1, "filters": 8, "kernel_size": 3, "image_size": 8}
    return [{**BASE, **small, "hidden": width} for width in hidden]


def allreduce_vs_server(
    hosts: Sequence[int] = HOSTS,
    servers: Sequence[int] = (1, 2, 4),
    mbit: Sequence[float] = (100.0, 200.0),
    hidden: Sequence[int] = (),
    frameworks: Sequence[str] = FRAMEWORKS,
) -> list[Job]:
    """Time three sizes of a network whose computation is small beside its communication, two speeds of the links."""

    def job(framework: str, workers: int, behind: int, architectures: Sequence[str], latency_ms: float = 0.0) -> Job:
        return Job(framework, workers, behind, [
            {"architecture": architecture, "link_mbit": speed, "link_latency_ms": latency_ms, **network}
            for architecture in architectures
            for speed in (mbit[-1:] if latency_ms else mbit)
            for network in idle_networks(hidden or WIDTHS[architecture])
        ])  # fmt: skip

    jobs = []
    for workers in hosts:
        if "pytorch" in frameworks:
            jobs.append(job("pytorch", workers, 0, ("ring-allreduce", "peer-to-peer")))
        if "tensorflow" in frameworks:
            jobs.append(job("tensorflow", workers, 0, ("ring-allreduce",)))
        if "mxnet" in frameworks:
            jobs += [job("mxnet", workers, behind, ("parameter-server",)) for behind in servers]
    late = [workers for workers in LATENCY_HOSTS if workers in hosts and "pytorch" in frameworks]
    return jobs + [job("pytorch", workers, 0, ("ring-allreduce", "peer-to-peer"), LATENCY_MS) for workers in late]


def server_knee(hosts: Sequence[int] = HOSTS, servers: Sequence[int] = (1, 2)) -> list[Job]:
    """Find where servers begin to hold up workers whose computation is a wait, as for an accelerator."""
    cases = [
        {"architecture": "parameter-server", "link_mbit": MBIT, "link_latency_ms": 0.0, "compute_s": seconds, **network}
        for seconds in (0.3, 0.6)
        for network in idle_networks((500,))
    ]
    return [Job("mxnet", workers, behind, cases) for workers in hosts for behind in servers]


# --- what an exchange hides, and what makes a step slow --------------------------------------------------------------


def overlap(
    hosts: Sequence[int] = (1, 2, 4, 8, 12, 16),
    hidden: Sequence[int] = (),
    batches: Sequence[int] = (2, 4),
    frameworks: Sequence[str] = ("pytorch", "mxnet"),
) -> list[Job]:
    """Time what an exchange during the backward pass hides: rings, peers and one server.

    The passes are waits, layer by layer: with 0.12 and 0.24 s backward, a ring of 16 hosts takes about 0.1 and 0.4 s,
    so that either is the longer one in some configurations. A layer of 0.33 MB is what every architecture exchanges;
    rings also exchange layers of 1.3 MB.
    """
    widths = {"ring-allreduce": (289, 578), "peer-to-peer": (289,), "parameter-server": (289,)}

    def cases(architecture: str, exchanges: Sequence[str]) -> list[Case]:
        return [
            {"architecture": architecture, "exchange": exchange, "batch_per_worker": batch, "layers": 4,
             "hidden": width, "forward_per_sample_s": 0.03, "backward_per_sample_s": 0.06, "link_mbit": MBIT}
            for exchange in exchanges
            for batch in batches
            for width in hidden or widths[architecture]
        ]  # fmt: skip

    jobs: list[Job] = []
    if "pytorch" in frameworks:
        rings, peers = (
            cases("ring-allreduce", (LAYERS, ONE_BUCKET, AFTERWARDS)), cases("peer-to-peer", (LAYERS, AFTERWARDS))
        )  # fmt: skip
        jobs += [Job("pytorch", workers, 0, rings, "worker_stages_pytorch.py") for workers in hosts]
        jobs += [Job("pytorch", workers, 0, peers, "worker_stages_pytorch.py") for workers in hosts if workers > 1]
    if "mxnet" in frameworks:
        served = cases("parameter-server", (LAYERS, AFTERWARDS))
        jobs += [Job("mxnet", workers, 1, served, "worker_stages_mxnet.py") for workers in hosts]
    return jobs


#: The sound configuration, and what is different in the others.
SOUND, PLANTED = _FILE["sound"], _FILE["planted"]
#: Architecture, servers and width of each framework.
EXCHANGES = _FILE["exchanges"]


def causes(
    hosts: Sequence[int] = (2, 4, 8),
    batches: Sequence[int] = (2, 4),
    frameworks: Sequence[str] = FRAMEWORKS,
    faster: float = 1.0,
) -> list[Job]:
    """Time steps that one thing makes slower, which `genperf explain --versus` is to find; `faster` divides all waits.

    Computation, reading and copying are waits; the exchange is real. The phases are timed one after another in steps
    of their own. Of eight layers, what cannot be hidden is the exchange of one.
    """

    def case(framework: str, cause: str, batch: int) -> Case:
        architecture, _, width = EXCHANGES[framework]
        stages = {**SOUND, **PLANTED[cause]}
        stages = {name: value / faster if name.endswith("_sample_s") else value for name, value in stages.items()}
        network = {"batch_per_worker": batch, "layers": 8, "hidden": width, "phases": 1}
        return {"architecture": architecture, "planted": cause, **network, **stages}

    return [
        Job(framework, workers, EXCHANGES[framework][1],
            [case(framework, cause, batch) for cause in PLANTED for batch in batches], f"worker_stages_{framework}.py")
        for framework in frameworks
        for workers in hosts
    ]  # fmt: skip


# --- starts and whole jobs, as in the CNTK paper (Hashemi et al. 2016) -----------------------------------------------

#: A 32 × 32 picture in three colours and its label.
SAMPLE_BYTES = 3073


def initialisation(hosts: Sequence[int] = HOSTS, samples: Sequence[int] = (2000, 5000, 10000)) -> list[Job]:
    """Time a start where every worker reads the data set, or its share of it, from one storage host."""
    cases = [
        {"reading": reading, "samples": count, "sample_bytes": SAMPLE_BYTES, "link_mbit": MBIT}
        for reading in ("whole", "share")
        for count in samples
    ]
    return [Job("pytorch", workers, 0, cases, "worker_reading.py", "storage.py") for workers in hosts]


#: Jobs: batch, iterations, samples of the data set (1.2 and 4.9 MB). None of them shares the work below.
JOBS = ((2, 5, 400), (2, 10, 400), (2, 5, 1600), (1, 5, 400), (4, 5, 400))
#: Jobs that share a work: iterations of all workers together, with batches of 2. All hosts divide it.
WORK, WORK_BATCH, WORK_SAMPLES = 48, 2, (400, 1600)


def whole_jobs(
    hosts: Sequence[int] = (*HOSTS, 24),
    kinds: Sequence[str] = ("synchronous", "asynchronous"),
    samples_scale: int = 1,
    work: int = WORK,
) -> list[Job]:
    """Time whole jobs: every worker reads the data set, then all iterate against one server.

    At the server workers wait for each other or do not. A sample computes for 0.06 s; gradients of 0.5 MB keep a link
    busy for 0.02 s. `samples_scale` divides the data sets.
    """

    def cases(kind: str, workers: int) -> list[Case]:
        every = [*JOBS, *((WORK_BATCH, work // workers, samples) for samples in WORK_SAMPLES)]
        return [
            {"server": kind, "batch_per_worker": batch, "iterations": iterations, "samples": samples // samples_scale,
             "sample_bytes": SAMPLE_BYTES, "compute_per_sample_s": 0.06, "hidden": 354, "link_mbit": MBIT}
            for batch, iterations, samples in dict.fromkeys(every)
        ]  # fmt: skip

    return [
        Job("mxnet", workers, 1, cases(kind, workers), "worker_job_mxnet.py", "storage.py")
        for kind in kinds
        for workers in hosts
    ]


# --- sampled networks ------------------------------------------------------------------------------------------------


def single_worker(networks: int = 64, seed: int = 0, frameworks: Sequence[str] = FRAMEWORKS) -> list[Job]:
    """Time steps of sampled networks, one worker on one core of this machine."""
    return [Job(framework, 1, 0, sample(networks, seed)) for framework in frameworks]


#: The core experiment: what a network is, and how it is trained; experiments/protocols/core-experiment.md says why.
INTRINSIC: dict[str, Sequence[Any]] = _FILE["intrinsic"]
EXTRINSIC: dict[str, Sequence[int]] = _FILE["extrinsic"]
WORKERS = (1, 2, 3, 4, 6, 8)
#: Settings (workers, batch, chunks) of each network; pixels along an edge; the dearest forward pass of a worker, 1e6
#: operations, about 10 ms of a core for a step.
SETTINGS, IMAGE_SIZE, MAX_MFLOP = 4, 16, 120.0
#: Seconds of a worker's device for one of a core: 8 workers share 2 cores, and 4 would leave no time. Links, Mbit/s, by
#: which the exchange takes about as long as the computation. Servers of MXNet: one would hold up 8 workers.
SLOWDOWN, SLOW_LINK, SERVERS = 8.0, 100.0, 2


def configurations(networks: int = 40, seed: int = 15, workers: Sequence[int] = WORKERS) -> list[Network]:
    """Return the sample of the core experiment: each network with settings of different counts of workers."""
    rng = random.Random(seed)

    def drawn(factors: Mapping[str, Sequence[Any]]) -> dict[str, Any]:
        return {name: rng.choice(levels) for name, levels in factors.items()}

    def fits(case: Network) -> bool:
        return "batch_per_worker" in case and forward_flops({"image_size": IMAGE_SIZE, **case}) <= MAX_MFLOP * 1e6

    chosen: list[Network] = []
    while len(chosen) < networks:
        network = drawn(INTRINSIC)
        smallest = {name: levels[0] for name, levels in EXTRINSIC.items()}
        if network not in chosen and fits({**network, **smallest}):
            chosen.append(network)
    cases = []
    for number, network in enumerate(chosen):
        for count in sorted(rng.sample(list(workers), min(SETTINGS, len(workers)))):
            case = {"network": number, **network, "image_size": IMAGE_SIZE, "workers": count}
            while not fits(case):
                case.update(drawn(EXTRINSIC))
            cases.append(case)
    return cases


def core_experiment(
    workers: Sequence[int] = WORKERS, networks: int = 40, seed: int = 15, frameworks: Sequence[str] = FRAMEWORKS
) -> list[Job]:
    """Time sampled networks on 1 to 8 workers, the same in three frameworks in turn, the counts rising."""
    common = {"link_mbit": SLOW_LINK, "slowdown": SLOWDOWN}
    drawn = configurations(networks, seed, workers)
    jobs = []
    for count in sorted(workers):
        of_count = [case for case in drawn if case["workers"] == count]
        cases = [{**common, **{n: v for n, v in case.items() if n != "workers"}} for case in of_count]
        for framework in frameworks:
            behind = SERVERS if framework == "mxnet" else 0
            jobs.append(Job(framework, count, behind, cases, f"worker_core_{framework}.py"))
    return jobs


def partitioned(devices: Sequence[int] = DEVICES, tiny: bool = False) -> list[Job]:
    """Time two small transformers in every layout, in an order of chance: what drifts is not mistaken for a layout.

    A host's device takes 6 s for one of a core: 8 hosts share 2 cores, and 4 would leave no time.
    """
    jobs = []
    for count in devices:
        cases = [{"link_mbit": MBIT, "slowdown": 6.0, **case} for case in layouts_of(TINY if tiny else FULL, count)]
        random.Random(14).shuffle(cases)
        jobs.append(Job("pytorch", count, 0, cases, "worker_partitioned_pytorch.py"))
    return jobs


# --- the command -----------------------------------------------------------------------------------------------------


@dataclass(frozen=True)
class Campaign:
    """What is measured: the jobs, the columns that tell cases apart, those of the table, and how long a window is."""

    jobs: Callable[..., list[Job]]
    factors: Sequence[str]
    #: The columns behind the factors.
    measured: Sequence[str]
    windows: Windows

    @property
    def columns(self) -> list[str]:
        """The header of the table: the framework's version stands behind the framework."""
        behind = [name for name in self.factors[1:] if name not in self.measured]
        return [self.factors[0], "framework_version", *behind, *self.measured]


CAMPAIGNS = {
    name: Campaign(globals()[name], one["factors"].split(), one["measured"].split(), Windows(**one["windows"]))
    for name, one in _FILE["campaigns"].items()
}


def link_of(job: Job) -> Link | None:
    """Return the links that a job begins on; None on this machine's own interface."""
    first = job.cases[0]
    return Link(first["link_mbit"], first.get("link_latency_ms", 0.0)) if "link_mbit" in first else None


def unlinked(jobs: Sequence[Job]) -> list[Job]:
    """Return jobs for this machine's own interface: without links, each case once."""
    seen, out = set(), []
    for job in jobs:
        cases = [{name: value for name, value in case.items() if not name.startswith("link_")} for case in job.cases]
        rows = [(job.framework, job.workers, job.servers, *sorted(case.items())) for case in cases]
        new = [case for case, row in zip(cases, rows, strict=True) if not (row in seen or seen.add(row))]
        out += [replace(job, cases=new)] if new else []
    return out


def run(campaign: Campaign, jobs: Sequence[Job], out: Path, windows: Windows) -> list[str]:
    """Measure the jobs that the table lacks; those on links of another latency on a cluster of their own."""
    recorder = Recorder(out, campaign.columns, campaign.factors, windows.repeats)
    report = []
    for _, some in groupby(jobs, key=lambda job: link_of(job) and link_of(job).latency_ms):  # type: ignore[union-attr]
        group = list(some)
        report += measure(group, recorder, described, link_of(group[0]), windows)
    return report


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    names = parser.add_subparsers(dest="name", required=True, metavar="NAME")
    for name, campaign in CAMPAIGNS.items():
        one = names.add_parser(name, help=campaign.jobs.__doc__.splitlines()[0], description=campaign.jobs.__doc__)
        one.add_argument("--out", type=Path, default=Path(f"data/{name}.csv"))
        one.add_argument("--local", action="store_true", help="on this machine's loopback interface")
        one.add_argument("--seconds", type=float, default=campaign.windows.seconds, help="length of a timing window")
        for parameter in inspect.signature(campaign.jobs).parameters.values():
            option, default = f"--{parameter.name.replace('_', '-')}", parameter.default
            if isinstance(default, bool):
                one.add_argument(option, action="store_true")
                continue
            texts = isinstance(default, tuple) and isinstance((*default, 0)[0], str)
            numbers = partial(positive, kind=float if "mbit" in option else int)
            kind = numbers if isinstance(default, tuple) else type(default)
            one.add_argument(option, type=(lambda t: tuple(t.split(","))) if texts else kind, default=default)
    options = vars(parser.parse_args())
    local = options.pop("local")
    campaign, out, seconds = CAMPAIGNS[options.pop("name")], options.pop("out"), options.pop("seconds")
    windows = Windows(campaign.windows.repeats, seconds, campaign.windows.steps)
    jobs = campaign.jobs(**options)
    finish(run(campaign, unlinked(jobs) if local else jobs, out, windows), out)


if __name__ == "__main__":
    guarded(main)
