"""Alqahtani & Demirbas 2019: parameter server, peer-to-peer and ring all-reduce, measured on an emulated cluster."""

from __future__ import annotations

import numpy as np
import pandas as pd

import genperf as gp
from experiments.papers.claim import MEASURED, Claim, verdict

FAMILIES = ("ring-allreduce", "peer-to-peer", "parameter-server")
#: The measured architectures: title, rows of `allreduce_vs_server.csv`, family.
MEASURED_SETS = (
    ("ring, PyTorch", "framework == 'pytorch' and architecture == 'ring-allreduce'", "ring-allreduce"),
    ("ring, TensorFlow", "framework == 'tensorflow'", "ring-allreduce"),
    ("peer-to-peer, PyTorch", "architecture == 'peer-to-peer'", "peer-to-peer"),
    ("one server, MXNet", "servers == 1", "parameter-server"),
)
PEER, SERVER = "peer-to-peer, PyTorch", "one server, MXNet"
SPEEDS, COUNTS, KNOWN = (100, 200), (2, 4, 8, 16), 8
#: A frame of the link carries 1448 bytes of the message in 1514.
PAYLOAD = 1448 / 1514
DATA = "data/allreduce_vs_server.csv"
OVERLAP = "data/overlap.csv"
#: When gradients leave in it.
LAYERS, AFTERWARDS = "layers", "afterwards"
#: Its rings: when gradients leave, what that is, whether anything is hidden.
RINGS = (
    (LAYERS, "a bucket a layer", True),
    ("one bucket", "one bucket", False),
    (AFTERWARDS, "`no_sync`, exchange by hand", False),
)
_EXCHANGE = "2*beta*bytes*(1 - 1/workers) + 2*alpha*(workers - 1)"
#: The two laws of the ring's family.
LAWS = {
    "hides": f"c + a*batch_per_worker/3 + max(2*a*batch_per_worker/3, {_EXCHANGE})",
    "adds up": f"c + a*batch_per_worker + {_EXCHANGE}",
}


def claims() -> list[Claim]:
    return [_effect(), _traffic(), _congestion(), _between(), _hiding(), _families(), _processes(), _laws()]


def _steps(across: str = "workers") -> pd.DataFrame:
    """Return the measured step times, with a column for each number of workers or for each architecture."""
    frame = gp.datasets.frame("allreduce_vs_server").query("link_latency_ms == 0")
    rows = pd.concat([frame.query(where).assign(measured=title) for title, where, _ in MEASURED_SETS])
    index = [name for name in ("measured", "link_mbit", "bytes", "workers") if name != across]
    return rows.pivot_table("step_time_s", index, across, aggfunc="median")


def _titles() -> list[str]:
    return [title for title, _, _ in MEASURED_SETS]


def _effect() -> Claim:
    steps = _steps()
    common = steps.loc["ring, PyTorch"].index.intersection(steps.loc[PEER].index)
    times = steps.loc[PEER].loc[common, 16] / steps.loc["ring, PyTorch"].loc[common, 16]
    return Claim(
        "The architecture has a very significant effect on the time of training",
        "PyTorch's ring and its exchange among peers, at 16 workers, the same bytes and links. Refuted if one does not "
        "take at least twice as long as the other in every case.",
        verdict(bool((times >= 2.0).all())),
        f"peers take {times.min():.1f} to {times.max():.1f} times as long in {len(times)} cases.",
        MEASURED,
        DATA,
    )


def _traffic() -> Claim:
    steps = _steps()
    # One worker of a ring computes alone; one of MXNet exchanges too.
    alone = steps.loc["ring, PyTorch", 1].median()
    speed = 1e6 / 8 * PAYLOAD * steps.index.get_level_values("link_mbit").to_numpy(float)
    size = steps.index.get_level_values("bytes").to_numpy(float)
    load = (steps - alone).mul(speed / size, axis=0).groupby("measured").median()[list(COUNTS)]
    powers = np.log(load[16] / load[4]) / np.log(4.0)
    rings = [title for title in _titles() if title.startswith("ring")]
    others = [title for title in _titles() if title not in rings]
    return Claim(
        "Ring all-reduce decouples the network's load from the number of workers",
        "how long the links are busy in a step, in transfers of the model over one link: (step − "
        "computation)·speed/bytes, the median over sizes and speeds. Refuted if a ring's grows faster than n^0.3 from "
        "4 to 16 workers, or the others' slower than n^0.8.",
        verdict(bool(powers[rings].max() <= 0.3 and powers[others].min() >= 0.8)),
        f"the rings' load grows as {' and '.join(f'n^{powers[t]:.2f}' for t in rings)}, the others' as "
        f"{' and '.join(f'n^{powers[t]:.2f}' for t in others)}.",
        MEASURED,
        DATA,
        ["transfers of the model over a link", *(f"n = {n}" for n in COUNTS), "power of n"],
        [[t, *(f"{load.loc[t, n]:.2f}" for n in COUNTS), f"{powers[t]:.2f}"] for t in _titles()],
    )


def _congestion() -> Claim:
    steps = _steps()
    gain = (4.0 * steps[4] / steps[16]).groupby("measured").median()
    rings = [title for title in _titles() if title.startswith("ring")]
    return Claim(
        "One parameter server is congested",
        "how many times more samples per second 16 workers process than 4, all together; the median over sizes and "
        "speeds. Refuted if one server's rate grows more than 1.25 times, or a ring's less than 2.5 times.",
        verdict(bool(gain[SERVER] <= 1.25 and gain[rings].min() >= 2.5)),
        f"the rate grows {gain[SERVER]:.2f} times with one server, {gain[PEER]:.2f} times peer-to-peer and "
        f"{' and '.join(f'{gain[t]:.2f}' for t in rings)} times with the rings.",
        MEASURED,
        DATA,
    )


def _between() -> Claim:
    steps = _steps("measured").dropna(subset=["ring, PyTorch", PEER, SERVER])
    steps = steps[steps.index.get_level_values("workers") >= 4]
    between = (steps["ring, PyTorch"] < steps[PEER]) & (steps[PEER] < steps[SERVER])
    middle = steps.groupby("workers").median()
    titles = ["ring, PyTorch", PEER, SERVER]
    return Claim(
        "Peer-to-peer fares better than one server, and still suffers from the network",
        "step times of the same bytes and links. Refuted if peer-to-peer is not slower than the ring and quicker than "
        "one server in every case from 4 workers on.",
        verdict(bool(between.all())),
        f"it lies between in {int(between.sum())} of {len(between)} cases.",
        MEASURED,
        DATA,
        ["median step, s", *(f"n = {n:g}" for n in middle.index)],
        [[t, *(f"{middle.loc[n, t]:.3f}" for n in middle.index)] for t in titles],
    )


def _hiding() -> Claim:
    """Compare exchanges that begin in the backward pass with those that follow it."""
    frame = gp.datasets.frame("overlap")
    frame = frame[(frame["bytes"] == frame["bytes"].min()) & (frame["workers"] > 1)]
    frame = frame.assign(waits=frame["batch_per_worker"] * (frame.forward_per_sample_s + frame.backward_per_sample_s))
    index = ["architecture", "workers", "batch_per_worker", "waits"]
    steps = frame.pivot_table("step_time_s", index, "exchange", aggfunc="median").reset_index()
    steps["hidden"] = 100 * (steps[AFTERWARDS] - steps[LAYERS]) / (steps[AFTERWARDS] - steps["waits"])
    shares = steps.pivot_table("hidden", "architecture", "workers", aggfunc="median").loc[list(FAMILIES)]
    largest = shares.columns.max()
    ring, peer, server = shares[largest]
    return Claim(
        "Ring all-reduce hides communication behind computation, and the others fail to",
        "what share of an exchange of the same bytes is hidden where a layer's gradients leave as soon as the backward "
        f"pass has made them: (all after the pass − layer by layer) / (all after the pass − waits), at {largest} "
        "workers, the median of two batches. Refuted if the ring hides less than half, or another half as much as the "
        "ring or more (experiments/protocols/overlap.md, written before the first run).",
        verdict(bool(ring >= 50.0 and max(peer, server) < 0.5 * ring)),
        f"at {largest} workers the ring hides {ring:.0f} %, peer-to-peer {peer:.0f} %, one server {server:.0f} %: the "
        "backward pass is as long as ever, and the ring's exchange nearly so.",
        MEASURED,
        OVERLAP,
        ["hidden", *(f"n = {n}" for n in shares.columns)],
        [[name, *(f"{share:.0f} %" for share in row)] for name, row in zip(FAMILIES, shares.to_numpy(), strict=True)],
    )


def _laws() -> Claim:
    """Let the ring's family choose between hiding and adding up, from measured rings of which that is known."""
    rows, right = [], []
    for exchange, title, hides in RINGS:
        where = f"architecture == 'ring-allreduce' and exchange == '{exchange}'"
        table = gp.datasets.load("overlap", where=where, categorical="")
        far = table.frame["workers"].to_numpy() > KNOWN
        known, asked = table.take(~far), table.take(far).medians()
        errors = {}
        for law, formula in LAWS.items():
            times = gp.fit(known, formula, seed=0, draws=5).predict(asked.frame)["time"].to_numpy()
            errors[law] = 100 * float(np.mean(np.abs(times / asked.measured - 1)))
        family = gp.fit(known, "ring-allreduce", seed=0, draws=5)
        chosen = "adds up" if family.best.expression.is_sum else "hides"
        true = "hides" if hides else "adds up"
        right.append(chosen == true == min(errors, key=errors.__getitem__))
        error = 100 * float(np.mean(np.abs(family.predict(asked.frame)["time"].to_numpy() / asked.measured - 1)))
        part = family.best.values.get("serial", 0.0)
        shown = f"{chosen}, but for {100 * part:.0f} %" if part else chosen
        rows.append([title, true, *(f"{errors[law]:.1f} %" for law in LAWS), shown, f"{error:.1f} %"])
    return Claim(
        "Only what overlaps is hidden: the ring's model tells measured rings with overlap from those without",
        "PyTorch's DistributedDataParallel with a bucket a layer, with one bucket, and with `no_sync` and an exchange "
        f"after the backward pass, fitted at n ≤ {KNOWN}, asked about 12 and 16. Refuted if `ring-allreduce` chooses "
        "the wrong law of the two inside the training part, or if the wrong law errs less at 12 and 16, in one of the "
        "three (experiments/protocols/overlap.md, written before the first run).",
        verdict(all(right)),
        f"right in {sum(right)} of {len(right)}.",
        MEASURED,
        OVERLAP,
        ["measured", "known", *(f"mean error, {law}" for law in LAWS), "chosen", "mean error of the chosen"],
        rows,
    )


def _families() -> Claim:
    families = list(FAMILIES)
    rows, errors, best = [], [], []
    for title, where, family in MEASURED_SETS:
        held = []
        for speed in SPEEDS:
            rows_of = f"{where} and link_mbit == {speed} and link_latency_ms == 0"
            table = gp.datasets.load("allreduce_vs_server", where=rows_of, extrinsic="workers", categorical="")
            found = gp.validate(table, families, f"extrapolate:workers:{KNOWN}", seed=0)
            held.append({score.model: float(score.mape) for score in found.models})
        error = {name: float(np.mean([one[name] for one in held])) for name in families}
        best.append(min(error, key=error.__getitem__) == family)
        errors.append(error[family])
        rows.append([title, *(f"{error[name]:.1f} %" for name in families)])
    return Claim(
        "A performance model of each architecture describes it",
        f"each family fitted to each measured architecture at n ≤ {KNOWN} (three sizes; either speed of the links), "
        "and asked about 12 and 16. Refuted if another family predicts an architecture better than the one that was "
        "written for it, or that one errs by more than 15 %.",
        verdict(all(best) and max(errors) <= 15.0),
        f"its family is the best of the three for {sum(best)} of {len(best)} measured architectures, with mean errors "
        f"of {', '.join(f'{error:.1f} %' for error in errors)}.",
        MEASURED,
        DATA,
        ["mean error at 12 and 16", *families],
        rows,
    )


def _processes() -> Claim:
    table = gp.datasets.load("pytorch_cpu", intrinsic="forward_flops,parameters")
    found = gp.validate(table, list(FAMILIES), "extrapolate:workers:8", mapping={"work": "forward_flops"})
    error = {s.model: s.mape for s in found.models}
    best = min(error, key=lambda m: error[m])
    return Claim(
        "The same where computation is most of a step",
        "PyTorch DistributedDataParallel over gloo, which is a ring, between the processes of one machine: fitted at "
        "n ≤ 8, asked about 12 and 16. Refuted if another family than `ring-allreduce` predicts it best.",
        verdict(best == "ring-allreduce"),
        f"mean errors: {', '.join(f'{m} {e:.1f} %' for m, e in error.items())}.",
        MEASURED,
        "data/pytorch_cpu.csv",
    )


QUICK = (_effect, _traffic, _congestion, _between)
