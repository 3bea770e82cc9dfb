"""Alqahtani & Demirbas 2019: parameter server, peer-to-peer and ring all-reduce, simulated."""

from __future__ import annotations

import numpy as np
import pandas as pd
from simulate.training import Architecture, Hardware, Program, layers_of, train

import genperf as gp
from claims.claim import Claim, Section, verdict

ARCHITECTURES: dict[Architecture, str] = {
    "ring": "ring-allreduce",
    "peer": "peer-to-peer",
    "server": "parameter-server",
}
COUNTS = (1, 2, 4, 8, 16, 32, 64)
KNOWN = 16
#: A network of 25 million parameters; 10 Gb/s.
SIZE, SECONDS, BATCH = 1e8, 0.004, 64
HARDWARE = Hardware(1.25e9)


def section() -> Section:
    runs = _runs()
    return Section(
        "alqahtani",
        "Alqahtani & Demirbas 2019, *Performance Analysis and Comparison of Distributed Machine Learning Systems* "
        "(arXiv:1909.02061)",
        "`parameter-server`, `peer-to-peer`, `ring-allreduce`",
        "In synchronous SGD the architecture decides how the network's load grows with the workers n. The time of a "
        "step is "
        "computation plus communication, with a communication term of its own for a parameter server, for workers that "
        "send to all others, and for a ring.",
        "α–β costs of the field: the servers' ports carry every worker's M bytes in and out, `2·β·M·n/S + α·n/S`; "
        "every "
        "worker sends M bytes to n − 1 others, `β·M·(n−1) + α·(n−1)`; the bandwidth-optimal ring passes on 2(n−1) "
        "parts "
        "of M/n bytes, `2·β·M·(n−1)/n + 2·α·(n−1)`, hidden behind the backward pass by `max`.",
        [_traffic(runs), _congestion(runs), _between(runs), _overlap(), _families(), _measured()],
    )


def _program(size: float = SIZE, overlap: bool = True) -> Program:
    return Program(layers_of(4, SECONDS, size), fixed=0.01, overlap=overlap)


def _run(
    architecture: Architecture, n: int, batch: int = BATCH, size: float = SIZE, overlap: bool = True
) -> list[float]:
    rng = np.random.default_rng([n, batch, int(size), overlap])
    found = train(architecture, _program(size, overlap), HARDWARE, n, batch, rng, steps=3)
    return [found.step, found.busiest]


def _runs() -> pd.DataFrame:
    rows = [(a, n, *_run(a, n)) for a in ARCHITECTURES for n in COUNTS]
    return pd.DataFrame(rows, columns=["architecture", "n", "step", "busiest"]).set_index(["architecture", "n"])


def _slope(values: pd.Series) -> float:
    """Return the exponent of n between 4 and 64 workers."""
    return float(np.log(values[64] / values[4]) / np.log(16))


def _traffic(runs: pd.DataFrame) -> Claim:
    slopes = {a: _slope(runs.loc[a]["busiest"]) for a in ARCHITECTURES}
    rows = [
        [ARCHITECTURES[a], *(f"{runs.loc[a, n]['busiest'] / SIZE:.2f}" for n in COUNTS), f"{slopes[a]:.2f}"]
        for a in ARCHITECTURES
    ]
    ring = runs.loc["ring"]["busiest"]
    return Claim(
        "Ring all-reduce decouples the network's load from the number of workers",
        "bytes through the busiest port in a simulated step, in sizes of the model. Refuted if the ring's exceed 2, or "
        "grow faster than n^0.2 from 4 to 64 workers, or the others' slower than n^0.8.",
        verdict(
            ring.max() <= 2 * SIZE * 1.001 and slopes["ring"] <= 0.2 and min(slopes["peer"], slopes["server"]) >= 0.8
        ),
        f"the ring's load grows as n^{slopes['ring']:.2f}, the others' as n^{slopes['peer']:.2f} and "
        f"n^{slopes['server']:.2f}.",
        ["busiest port, model sizes a step", *(f"n = {n}" for n in COUNTS), "power of n"],
        rows,
    )


def _congestion(runs: pd.DataFrame) -> Claim:
    rate = {a: pd.Series({n: n * BATCH / runs.loc[a, n]["step"] for n in COUNTS}) for a in ARCHITECTURES}
    gain = {a: rate[a][64] / rate[a][16] for a in ARCHITECTURES}
    return Claim(
        "One parameter server is congested",
        "samples per second of all workers together, simulated. Refuted if four times the workers (16 to 64) bring one "
        "server more than 1.25 times the rate, or the ring less than 3 times.",
        verdict(gain["server"] <= 1.25 and gain["ring"] >= 3.0),
        f"from 16 to 64 workers the rate grows {gain['server']:.2f} times with one server, {gain['peer']:.2f} times "
        f"peer-to-peer and {gain['ring']:.2f} times with the ring.",
        ["samples/s", *(f"n = {n}" for n in COUNTS)],
        [[ARCHITECTURES[a], *(f"{rate[a][n]:.0f}" for n in COUNTS)] for a in ARCHITECTURES],
    )


def _between(runs: pd.DataFrame) -> Claim:
    step = runs["step"]
    between = [n for n in COUNTS if n >= 4 and step["ring", n] < step["peer", n] < step["server", n]]
    return Claim(
        "Peer-to-peer fares better than one server, and still suffers from the network",
        "simulated step times. Refuted if peer-to-peer is not slower than the ring and quicker than one server at "
        "every n "
        "from 4 on.",
        verdict(len(between) == sum(n >= 4 for n in COUNTS)),
        f"it lies between at n = {', '.join(map(str, between)) or 'none'}.",
        ["step, s", *(f"n = {n}" for n in COUNTS)],
        [[ARCHITECTURES[a], *(f"{step[a, n]:.3f}" for n in COUNTS)] for a in ARCHITECTURES],
    )


def _overlap() -> Claim:
    size, counts = 2e7, (2, 8, 32, 64)
    rows, least = [], {}
    for a in ARCHITECTURES:
        hidden = []
        for n in counts:
            # A server also carries the weights of one worker: what counts as computation is a worker without a network.
            alone = _run("ring", 1, size=size)[0]
            shown, whole = (_run(a, n, size=size, overlap=o)[0] - alone for o in (True, False))
            hidden.append(1.0 - shown / whole)
        least[a] = hidden[-1]
        rows.append([ARCHITECTURES[a], *(f"{100 * h:.0f} %" for h in hidden)])
    return Claim(
        "Ring all-reduce hides communication behind computation, and the others fail to",
        "all three send a layer's gradients as soon as the backward pass has made them. What share of the time that "
        "communication adds without this is hidden with it, for a fifth of the traffic above. Refuted if at 64 workers "
        "the ring "
        "hides less than half, or another hides half as much as the ring or more.",
        verdict(least["ring"] >= 0.5 and max(least["peer"], least["server"]) < 0.5 * least["ring"]),
        f"at 64 workers the ring hides {100 * least['ring']:.0f} %, peer-to-peer {100 * least['peer']:.0f} %, one "
        f"server "
        f"{100 * least['server']:.0f} %: the backward pass is as long as ever and their communication is not.",
        ["hidden", *(f"n = {n}" for n in counts)],
        rows,
    )


def _table(architecture: Architecture, overlap: bool) -> pd.DataFrame:
    rows = [
        (n, b, size, _run(architecture, n, b, size, overlap)[0])
        for n in COUNTS
        for b in (16, 64)
        for size in (2e7, 1e8, 3e8)
    ]
    return pd.DataFrame(rows, columns=["workers", "batch", "bytes", "seconds"])


def _families() -> Claim:
    cases: list[tuple[Architecture, bool]] = [
        ("ring", True),
        ("peer", False),
        ("server", False),
        ("peer", True),
        ("server", True),
    ]
    rows, own, best = [], [], []
    for architecture, overlap in cases:
        table = gp.read_table(
            _table(architecture, overlap), time="seconds", intrinsic="batch,bytes", extrinsic="workers"
        )
        found = gp.validate(table, list(ARCHITECTURES.values()), f"extrapolate:workers:{KNOWN}")
        error = {s.model: float(s.mape) for s in found.models}
        family = ARCHITECTURES[architecture]
        best.append(min(error, key=lambda m: error[m]) == family)
        own.append(error[family])
        how = "during" if overlap else "after"
        rows.append([f"{family}, {how} the backward pass", *(f"{error[m]:.1f} %" for m in ARCHITECTURES.values())])
    return Claim(
        "A performance model of each architecture describes it",
        f"each family fitted to each simulated architecture at n ≤ {KNOWN} (two batches, three sizes), and asked about "
        f"32 and 64; the ring "
        "exchanges during the backward pass, the others after it, as in the paper. Refuted if another family predicts "
        "an architecture "
        "better than its own, or its own errs by more than 15 %.",
        verdict(all(best[:3]) and max(own[:3]) <= 15.0),
        f"its own family is the best of the three for {sum(best[:3])} of 3 architectures, with mean errors of "
        f"{', '.join(f'{e:.1f} %' for e in own[:3])}. If the others exchange during the backward pass too, which their "
        f"models do "
        f"not describe, their errors are {own[3]:.1f} and {own[4]:.1f} %.",
        ["mean error at 32 and 64", *ARCHITECTURES.values()],
        rows,
    )


def _measured() -> Claim:
    table = gp.datasets.load("pytorch_cpu", intrinsic="forward_flops,parameters")
    found = gp.validate(table, list(ARCHITECTURES.values()), "extrapolate:workers:8", mapping={"work": "forward_flops"})
    error = {s.model: s.mape for s in found.models}
    best = min(error, key=lambda m: error[m])
    return Claim(
        "The same on measurements",
        "PyTorch DistributedDataParallel over gloo, which is a ring (`data/pytorch_cpu.csv`): fitted at n ≤ 8, asked "
        "about 12 "
        "and 16. Refuted if another family than `ring-allreduce` predicts it best. There is no measured table of "
        "servers or "
        "of peer-to-peer here.",
        verdict(best == "ring-allreduce"),
        f"mean errors: {', '.join(f'{m} {e:.1f} %' for m, e in error.items())}.",
    )
