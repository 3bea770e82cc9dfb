"""Alqahtani & Demirbas 2019: parameter server, peer-to-peer and ring all-reduce, measured on an emulated cluster."""

from __future__ import annotations

import numpy as np
import pandas as pd

import genperf as gp
from experiments.accuracy.measured_cluster import CLAIMED_SETS, FRAME, PAYLOAD, RINGS, SPEEDS, series
from experiments.accuracy.scores import errors_of, held_out_errors
from experiments.papers.claim import Outcome, of_cases, outcome

FAMILIES = ("ring-allreduce", "peer-to-peer", "parameter-server")
TITLES = [title for title, _, _ in CLAIMED_SETS]
RING, PEER, SERVER = "ring, PyTorch", "peer-to-peer, PyTorch", "one server, MXNet"
RING_TITLES = [title for title in TITLES if title.startswith("ring")]
COUNTS, KNOWN = (2, 4, 8, 16), 8
#: When gradients leave in `overlap.csv`.
LAYERS, AFTERWARDS = "layers", "afterwards"
_EXCHANGE = "2*beta*bytes*(1 - 1/workers) + 2*alpha*(workers - 1)"
#: The two laws of the ring's family.
LAWS = {
    "hides": f"c + a*batch_per_worker/3 + max(2*a*batch_per_worker/3, {_EXCHANGE})",
    "adds up": f"c + a*batch_per_worker + {_EXCHANGE}",
}


def _steps(across: str = "workers") -> pd.DataFrame:
    """Return the measured step times, with a column for each number of workers or for each architecture."""
    frame = gp.datasets.frame("allreduce_vs_server").query("link_latency_ms == 0")
    rows = pd.concat([frame.query(where).assign(measured=title) for title, where, _ in CLAIMED_SETS])
    index = [name for name in ("measured", "link_mbit", "bytes", "workers") if name != across]
    return rows.pivot_table("step_time_s", index, across, aggfunc="median")


def effect() -> Outcome:
    steps = _steps()
    common = steps.loc[RING].index.intersection(steps.loc[PEER].index)
    times = steps.loc[PEER].loc[common, 16] / steps.loc[RING].loc[common, 16]
    return outcome((times >= 2.0).all(), least=times.min(), most=times.max(), of=len(times))


def traffic() -> Outcome:
    steps = _steps()
    # One worker of a ring computes alone; one of MXNet exchanges too.
    alone = steps.loc[RING, 1].median()
    speed = 1e6 / 8 * (PAYLOAD / FRAME) * steps.index.get_level_values("link_mbit").to_numpy(float)
    size = steps.index.get_level_values("bytes").to_numpy(float)
    load = (steps - alone).mul(speed / size, axis=0).groupby("measured").median()[list(COUNTS)]
    powers = np.log(load[16] / load[4]) / np.log(4.0)
    others = [title for title in TITLES if title not in RING_TITLES]
    return outcome(
        powers[RING_TITLES].max() <= 0.3 and powers[others].min() >= 0.8,
        [[t, *(f"{load.loc[t, n]:.2f}" for n in COUNTS), f"{powers[t]:.2f}"] for t in TITLES],
        rings=" and ".join(f"n^{powers[t]:.2f}" for t in RING_TITLES),
        others=" and ".join(f"n^{powers[t]:.2f}" for t in others),
    )


def congestion() -> Outcome:
    steps = _steps()
    gain = (4.0 * steps[4] / steps[16]).groupby("measured").median()
    holds = gain[SERVER] <= 1.25 and gain[RING_TITLES].min() >= 2.5
    rings = " and ".join(f"{gain[t]:.2f}" for t in RING_TITLES)
    return outcome(holds, server=gain[SERVER], peer=gain[PEER], rings=rings)


def peers() -> Outcome:
    steps = _steps("measured").dropna(subset=[RING, PEER, SERVER])
    steps = steps[steps.index.get_level_values("workers") >= 4]
    between = (steps[RING] < steps[PEER]) & (steps[PEER] < steps[SERVER])
    middle = steps.groupby("workers").median()
    rows = [[t, *(f"{middle.loc[n, t]:.3f}" for n in middle.index)] for t in (RING, PEER, SERVER)]
    return of_cases(between.tolist(), rows, ["median step, s", *(f"n = {n:g}" for n in middle.index)])


def hiding() -> Outcome:
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
    return outcome(
        ring >= 50.0 and max(peer, server) < 0.5 * ring,
        [[name, *(f"{share:.0f} %" for share in row)] for name, row in zip(FAMILIES, shares.to_numpy(), strict=True)],
        ["hidden", *(f"n = {n}" for n in shares.columns)],
        largest=largest, ring=ring, peer=peer, server=server,
    )  # fmt: skip


def laws() -> Outcome:
    """Let the ring's family choose between hiding and adding up, from measured rings of which that is known."""
    rows, right = [], []
    for exchange, title, hides in RINGS:
        where = f"architecture == 'ring-allreduce' and exchange == '{exchange}'"
        table = gp.datasets.load("overlap", where=where, categorical="")
        far = table.frame["workers"].to_numpy() > KNOWN
        known, asked = table.take(~far), table.take(far).medians()
        fits = {law: gp.fit(known, formula, seed=0, draws=5) for law, formula in LAWS.items()}
        errors = {law: float(errors_of(fitted, asked).mean()) for law, fitted in fits.items()}
        family = gp.fit(known, "ring-allreduce", seed=0, draws=5)
        chosen = "adds up" if family.best.expression.is_sum else "hides"
        true = "hides" if hides else "adds up"
        right.append(chosen == true == min(errors, key=errors.__getitem__))
        part = family.best.values.get("serial", 0.0)
        shown = f"{chosen}, but for {100 * part:.0f} %" if part else chosen
        rows.append(
            [title, true, *(f"{errors[law]:.1f} %" for law in LAWS), shown, f"{errors_of(family, asked).mean():.1f} %"]
        )
    return of_cases(right, rows)


def families() -> Outcome:
    rows, errors, best = [], [], []
    for title, where, family in CLAIMED_SETS:
        held = []
        for speed in SPEEDS:
            table = series(f"{where} and link_mbit == {speed}")
            held.append(held_out_errors(table, FAMILIES, f"extrapolate:workers:{KNOWN}"))
        error = {name: float(np.mean([one[name] for one in held])) for name in FAMILIES}
        best.append(min(error, key=error.__getitem__) == family)
        errors.append(error[family])
        rows.append([title, *(f"{error[name]:.1f} %" for name in FAMILIES)])
    shown = ", ".join(f"{error:.1f} %" for error in errors)
    return outcome(all(best) and max(errors) <= 15.0, rows, right=sum(best), of=len(best), errors=shown)


def processes() -> Outcome:
    table = gp.datasets.load("pytorch_cpu", intrinsic="forward_flops,parameters")
    error = held_out_errors(table, FAMILIES, "extrapolate:workers:8", mapping={"work": "forward_flops"})
    return outcome(
        min(error, key=error.__getitem__) == "ring-allreduce",
        errors=", ".join(f"{m} {e:.1f} %" for m, e in error.items()),
    )
