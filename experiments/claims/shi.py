"""Shi, Wang & Chu 2018: the phases of synchronous SGD, on published series and on simulated frameworks."""

from __future__ import annotations

import itertools
from collections.abc import Callable
from dataclasses import replace

import numpy as np
import pandas as pd
from simulate.training import Hardware, Program, layers_of, train

import genperf as gp
from claims.claim import Claim, Section, verdict

FAMILIES = ("s-sgd", "s-sgd-input", "s-sgd-none")
#: Each overlap, for each framework's configuration the one that fits it best, and that a time stays as it was.
MODELS = (*FAMILIES, "best", "last")
#: Devices up to which published series are fitted, and the count asked about; of a node.
KNOWN, ASKED = 16, 32
PAIRS, COUNTS, BATCHES, NODE, SIZES = 24, (1, 2, 4, 8, 16), (16, 32, 64), 4, (5e7, 1e8)

#: What makes a framework slower, and the terms in which that shows.
TERMS: dict[str, tuple[str, ...]] = {
    "computation": ("forward", "backward", "update"),
    "input": ("input", "transfer"),
    "exchange": ("inside nodes", "between nodes", "latency", "ring"),
    "no overlap": ("hidden by overlap",),
}


def section() -> Section:
    return Section(
        "shi",
        "Shi, Wang & Chu 2018, *Performance Modeling and Evaluation of Distributed Deep Learning Frameworks on GPUs* "
        "(arXiv:1711.05979)",
        "`s-sgd`, `s-sgd-input`, `s-sgd-none`",
        "One iteration of synchronous SGD is input, transfer, forward, backward, exchange and update; frameworks "
        "differ in how long each takes and in "
        "which they overlap. Models of the phases explain the differences and point at what to mend.",
        "`T = max(t_io + t_h2d, t_f + max(t_b, t_c) + t_u)` with input prefetched and gradients exchanged during the "
        "backward pass, the plain sum "
        "without; `t_io` grows with the devices of a node, `t_c` has a ring inside the nodes and one between them.",
        [_ratios(), _causes()],
    )


def _ratios() -> Claim:
    """Predict how much slower one framework is than another at a count that neither was fitted to."""
    table = gp.datasets.load("dlperf", categorical="", group="config", where="data != 'synthetic'")
    keys = ["config", "batch_per_device"]
    counts = table.frame.groupby(keys)["devices"].transform("nunique")
    table = table.take((counts >= 5).to_numpy())
    known = table.take(table.frame["devices"].to_numpy() <= KNOWN)
    fits = {f: gp.fit(known, f, draws=5) for f in FAMILIES}
    # Configurations with too few measurements for the constants of a family are left out.
    fitted = set.intersection(*(set(fit.results) for fit in fits.values()))
    table = table.take(np.array([(c,) in fitted for c in table.frame["config"]]))
    medians = table.medians().frame
    measured = medians[medians.devices == ASKED]
    last = known.medians().frame.sort_values("devices", kind="stable").groupby(keys)["step_time_s"].last()
    asked = measured[[*keys, "nodes", "devices"]]
    times = {name: fit.predict(asked)["time"].to_numpy() for name, fit in fits.items()}
    chosen = [min(FAMILIES, key=lambda f: fits[f][c].metrics["mape"]) for c in asked["config"]]
    times["best"] = np.array([times[name][i] for i, name in enumerate(chosen)])
    at = measured.assign(last=last.loc[list(map(tuple, measured[keys].to_numpy()))].to_numpy(), **times)
    errors = {n: 100 * float(np.mean(np.abs(at[n] / at.step_time_s - 1))) for n in MODELS}
    pairs = [
        (a, b)
        for a, b in itertools.combinations(at.index, 2)
        if at.framework[a] != at.framework[b]
        and at.model[a] == at.model[b]
        and at.precision[a] == at.precision[b]
        and at.batch_per_device[a] == at.batch_per_device[b]
    ]
    true = np.array([np.log(at.step_time_s[a] / at.step_time_s[b]) for a, b in pairs])
    clear = np.abs(true) > np.log(1.05)
    rows, right, off = [], {}, {}
    for name in MODELS:
        guess = np.array([np.log(at[name][a] / at[name][b]) for a, b in pairs])
        right[name] = 100 * float(np.mean(np.sign(guess[clear]) == np.sign(true[clear])))
        off[name] = 100 * float(np.median(np.expm1(np.abs(guess - true))))
        shown = {"last": "as at 16 devices", "best": "the overlap that fits best"}.get(name, name)
        rows.append([shown, f"{errors[name]:.1f} %", f"{right[name]:.0f} %", f"{off[name]:.1f} %"])
    return Claim(
        "Phase models explain the differences between frameworks",
        f"published series of {at.framework.nunique()} frameworks (`data/dlperf.csv`), fitted to {KNOWN} devices and "
        f"fewer, all batches of a framework's configuration together. Of every two of "
        f"different frameworks with the same network, precision and batch ({len(pairs)} pairs, of which "
        f"{int(clear.sum())} differ by more than 5 %), which is slower at "
        f"{ASKED} devices, and by how much? Refuted if the phase model, with the overlap that fits a framework best, "
        f"names the wrong one for more than one clear pair in ten, or if its ratio is off by "
        "more than 10 % in the median.",
        verdict(right["best"] >= 90.0 and off["best"] <= 10.0),
        f"it names the slower one in {right['best']:.0f} % and is off by {off['best']:.1f} %. That it stays as at 16 "
        f"devices, says "
        f"{right['last']:.0f} % and is off by {off['last']:.1f} %.",
        ["model", "mean error of the time at 32", "slower one named", "median error of the ratio"],
        rows,
    )


def _measure(program: Program, hardware: Hardware, seed: list[int]) -> pd.DataFrame:
    rows = []
    for n, batch, size in itertools.product(COUNTS, BATCHES, SIZES):
        rng = np.random.default_rng([*seed, n, batch, int(size)])
        own = replace(program, layers=tuple(replace(p, size=p.size * size) for p in program.layers))
        run = train("ring", own, hardware, n, batch, rng, steps=3)
        rows.append((n, max(1, n // NODE), batch, size, run.step))
    return pd.DataFrame(rows, columns=["workers", "nodes", "batch", "bytes", "seconds"])


def _explained(frame: pd.DataFrame, at: dict[str, float]) -> dict[str, float]:
    """Fit the phases with the overlap that fits best, and return the seconds of each cause."""
    table = gp.read_table(frame, time="seconds", intrinsic="batch,bytes", extrinsic="workers,nodes")
    fits = [gp.fit(table, family, draws=5) for family in FAMILIES]
    best = min(fits, key=lambda fit: fit.metrics["mape"])
    terms = gp.explain(best, at).terms.set_index("term")["seconds"]
    return {cause: float(sum(terms.get(t, 0.0) for t in own)) for cause, own in TERMS.items()}


def _causes() -> Claim:
    """Make one of two equal frameworks slower in one way, and ask in which."""
    changes: dict[str, Callable[[Program, Hardware], tuple[Program, Hardware]]] = {
        "computation": lambda p, h: (replace(p, layers=layers_of(3, 1.5 * _seconds(p), 1.0)), h),
        "input": lambda p, h: (p, replace(h, storage=h.storage / 8)),
        "exchange": lambda p, h: (p, replace(h, bandwidth=h.bandwidth / 3, inside=h.inside / 3)),
        "no overlap": lambda p, h: (replace(p, overlap=False), h),
    }
    said = {cause: dict.fromkeys(TERMS, 0) for cause in changes}
    for k in range(PAIRS):
        cause = list(changes)[k % len(changes)]
        rng = np.random.default_rng([18, k])
        seconds, sample = float(rng.uniform(0.003, 0.006)), 1.5e5
        program = Program(layers_of(3, seconds, 1.0), fixed=0.005, update=0.005, sample_bytes=sample)
        # Storage that keeps up with a full node, with some room.
        storage = NODE * sample / seconds * float(rng.uniform(1.5, 3.0))
        hardware = Hardware(float(rng.uniform(0.8e9, 2.5e9)), per_node=NODE, inside=8e9, storage=storage)
        at = {"workers": COUNTS[-1], "nodes": COUNTS[-1] // NODE, "batch": 64, "bytes": SIZES[-1]}
        one = _explained(_measure(program, hardware, [k, 0]), at)
        other = _explained(_measure(*changes[cause](program, hardware), [k, 1]), at)
        slower = {c: other[c] - one[c] for c in TERMS}
        said[cause][max(slower, key=lambda c: slower[c])] += 1
    right = sum(said[c][c] for c in said)
    return Claim(
        "The models show which phase makes one framework slower",
        f"{PAIRS} pairs of simulated frameworks that differ in one thing: kernels 1.5 times as slow, an eighth of the "
        f"storage's speed, a third of the "
        f"network's, or gradients that leave only after the backward pass. From step times alone, at up to "
        f"{COUNTS[-1]} workers. Refuted if the phase whose "
        "seconds differ most is the planted one in fewer than four of five pairs.",
        verdict(right >= 0.8 * PAIRS),
        f"named in {right} of {PAIRS} pairs.",
        ["planted", *(f"named {c}" for c in TERMS)],
        [[cause, *(str(said[cause][c]) for c in TERMS)] for cause in said],
    )


def _seconds(program: Program) -> float:
    return sum(layer.forward + layer.backward for layer in program.layers)
