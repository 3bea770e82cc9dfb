"""Shi, Wang & Chu 2018: the phases of synchronous SGD, on published series and on planted causes."""

from __future__ import annotations

import itertools

import numpy as np

import genperf as gp
from experiments.papers.claim import MEASURED, PUBLISHED, Claim, verdict
from experiments.papers.pairs import PAIRS, cause_of, runs
from experiments.papers.planted import CLASSES, by_class, pairs
from genperf.attribution import compare

CHOSEN, FAMILIES = "s-sgd", ("s-sgd-full", "s-sgd-input", "s-sgd-none")
#: The overlap that held-out configurations choose, each overlap for all, and that a time stays as it was.
MODELS = (CHOSEN, *FAMILIES, "last")
#: Devices up to which published series are fitted, and the count asked about; of a node.
KNOWN, ASKED = 16, 32
#: Devices at which pairs are compared: one node, and four.
LABELLED_AT = (8, 32)
#: Rows of the measured rings with their phases.
RINGS = "framework == 'pytorch' and architecture == 'ring-allreduce' and link_latency_ms == 0"


def claims() -> list[Claim]:
    return [_ratios(), _labelled(), _phases(), *_planted()]


def _ratios() -> Claim:
    """Predict how much slower one framework is than another at a count that neither was fitted to."""
    table = gp.datasets.load("dlperf", categorical="", group="config", where="data != 'synthetic'")
    keys = ["config", "batch_per_device"]
    counts = table.frame.groupby(keys)["devices"].transform("nunique")
    table = table.take((counts >= 5).to_numpy())
    known = table.take(table.frame["devices"].to_numpy() <= KNOWN)
    fits = {f: gp.fit(known, f, draws=5) for f in (CHOSEN, *FAMILIES)}
    # Configurations with too few measurements for the constants of a family are left out.
    fitted = set.intersection(*(set(fit.results) for fit in fits.values()))
    table = table.take(np.array([(c,) in fitted for c in table.frame["config"]]))
    medians = table.medians().frame
    measured = medians[medians.devices == ASKED]
    last = known.medians().frame.sort_values("devices", kind="stable").groupby(keys)["step_time_s"].last()
    asked = measured[[*keys, "nodes", "devices"]]
    times = {name: fit.predict(asked)["time"].to_numpy() for name, fit in fits.items()}
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
        shown = {"last": "as at 16 devices", CHOSEN: "s-sgd, which chooses"}.get(name, name)
        rows.append([shown, f"{errors[name]:.1f} %", f"{right[name]:.0f} %", f"{off[name]:.1f} %"])
    return Claim(
        "Phase models explain the differences between frameworks",
        f"published series of {at.framework.nunique()} frameworks (`data/dlperf.csv`), fitted to {KNOWN} devices and "
        f"fewer, all batches of a framework's configuration together. Of every two of "
        f"different frameworks with the same network, precision and batch ({len(pairs)} pairs, of which "
        f"{int(clear.sum())} differ by more than 5 %), which is slower at "
        f"{ASKED} devices, and by how much? Refuted if the phase model, with the overlap that held-out configurations "
        f"choose, names the wrong one for more than one clear pair in ten, or if its ratio is off by "
        "more than 10 % in the median.",
        verdict(right[CHOSEN] >= 90.0 and off[CHOSEN] <= 10.0),
        f"it names the slower one in {right[CHOSEN]:.0f} % and is off by {off[CHOSEN]:.1f} %. That it stays as at 16 "
        f"devices, says "
        f"{right['last']:.0f} % and is off by {off['last']:.1f} %.",
        PUBLISHED,
        "data/dlperf.csv",
        ["model", "mean error of the time at 32", "slower one named", "median error of the ratio"],
        rows,
    )


def _labelled() -> Claim:
    """Ask why one published configuration is slower than another, where that is known."""
    fits = gp.fit(runs(), CHOSEN, seed=0, draws=20)
    rows, right = [], 0
    for pair in PAIRS:
        row = [f"{pair.slower} → {pair.quicker}", pair.cause]
        for devices in LABELLED_AT:
            at = {"devices": devices, "nodes": devices // 8, "batch_per_device": pair.batch}
            slower, quicker = (fits[name,] for name in (pair.slower, pair.quicker))
            sides = [{f.name: at[f.name] for f in fit.schema.factors} for fit in (slower, quicker)]
            changes = compare(slower, *sides, other=quicker).terms.set_index("term")["change"]
            cause = cause_of(changes.to_dict())
            right += cause == pair.cause
            row.append(cause)
        rows.append(row)
    asked = len(PAIRS) * len(LABELLED_AT)
    return Claim(
        "The models show which factor makes the gap between two implementations",
        "published configurations that differ in one thing whose effect is known: XLA compiles the computation; DALI, "
        "or more loader workers, prepare the input. From step times alone. Refuted if the phase whose seconds differ "
        "most is another one in more than one case of ten.",
        verdict(right >= 0.9 * asked),
        f"named in {right} of {asked}.",
        PUBLISHED,
        "data/dlperf.csv",
        ["slower → quicker", "known", *(f"named at {devices} devices" for devices in LABELLED_AT)],
        rows,
    )


def _phases() -> Claim:
    """Predict a measured ring from its phases, each fitted to its column."""
    errors = {}
    for speed in (100, 200):
        frame = gp.datasets.frame("allreduce_vs_server").query(f"{RINGS} and link_mbit == {speed}")
        roles = {"time": "step_time_s", "extrinsic": "workers", "intrinsic": "bytes", "repeat": "repeat"}
        table = gp.read_table(frame, **roles)
        far = table.frame["workers"].to_numpy() > 8
        asked = table.take(far).medians()
        fitted = gp.fit(table.take(~far), CHOSEN, seed=0, draws=20).predict(asked.frame[["workers", "bytes"]])
        errors[speed] = 100 * np.abs(fitted["time"].to_numpy() / asked.measured - 1)
    means = {speed: float(error.mean()) for speed, error in errors.items()}
    return Claim(
        "Models of the phases describe measured phases",
        "PyTorch's rings on the emulated hosts, whose forward pass, backward pass, exchange and update are measured "
        "(three sizes): each phase fitted to its column at n ≤ 8, the step composed from them at 12 and 16. Refuted "
        "if the mean error at either speed of the links exceeds 8 %.",
        verdict(max(means.values()) <= 8.0),
        f"mean errors {' and '.join(f'{error:.1f} % at {speed} Mbit/s' for speed, error in means.items())}; the "
        f"largest {max(error.max() for error in errors.values()):.1f} %.",
        MEASURED,
        "data/allreduce_vs_server.csv",
    )


def _planted() -> list[Claim]:
    """Ask what makes one measured configuration slower than another, where that was planted."""
    found = list(pairs())
    classes = by_class(found)
    frameworks = len({pair.framework for pair in found})
    counts = ", ".join(map(str, sorted({pair.workers for pair in found})))
    tested = (
        f"steps of {frameworks} frameworks on {counts} emulated hosts that differ in one thing, their phases timed by "
        "themselves (`causes.csv`); `s-sgd` fitted to each configuration, compared by `genperf explain --versus`"
    )
    written = "(experiments/protocols/causes.md, written before the first run)"
    right, near = (classes[name] >= 0.9 * classes["pairs"] for name in ("right", "near"))
    rows = [
        [name, CLASSES[str(name)], *(f"{row[x]:g}" for x in ("pairs", "right", "near")), f"{100 * row['off']:.0f} %"]
        for name, row in classes.iterrows()
    ]
    head = ["planted", "to be named", "pairs", "named right", "seconds within 20 %", "median error of the seconds"]
    return [
        Claim(
            "The models show what makes one implementation slower, in three frameworks",
            f"{tested}. Refuted if fewer than nine of ten causes of a class are named right {written}.",
            verdict(bool(right.all())),
            f"{int(classes['right'].sum())} of {len(found)} are named right.",
            MEASURED,
            "data/causes.csv",
            head[:4],
            [row[:4] for row in rows],
        ),
        Claim(
            "And by how many seconds",
            f"the same pairs. Refuted if the seconds of the planted cause are off by more than 20 % of the measured "
            f"gap in more than one in ten of a class {written}.",
            verdict(bool(near.all())),
            f"{int(classes['near'].sum())} of {len(found)} are within 20 %.",
            MEASURED,
            "data/causes.csv",
            [head[0], head[2], *head[4:]],
            [[row[0], row[2], *row[4:]] for row in rows],
        ),
    ]


QUICK = (_labelled, _phases)
