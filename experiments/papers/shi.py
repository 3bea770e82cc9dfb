"""Shi, Wang & Chu 2018: the phases of synchronous SGD, on published series and on planted causes."""

from __future__ import annotations

import itertools
from functools import cache

import numpy as np
import pandas as pd

import genperf as gp
from experiments.accuracy.scores import errors_of
from experiments.papers.claim import Outcome, outcome
from experiments.papers.planted import CLASSES, PUBLISHED, by_class, cause_of, pairs, published
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


def ratios() -> Outcome:
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
    alike = at.groupby(["model", "precision", "batch_per_device"], sort=False).indices.values()
    pairs = sorted(pair for rows in alike for pair in itertools.combinations(at.index[rows], 2))
    pairs = [(a, b) for a, b in pairs if at.framework[a] != at.framework[b]]
    true = np.array([np.log(at.step_time_s[a] / at.step_time_s[b]) for a, b in pairs])
    clear = np.abs(true) > np.log(1.05)
    rows, right, off = [], {}, {}
    for name in MODELS:
        guess = np.array([np.log(at[name][a] / at[name][b]) for a, b in pairs])
        right[name] = 100 * float(np.mean(np.sign(guess[clear]) == np.sign(true[clear])))
        off[name] = 100 * float(np.median(np.expm1(np.abs(guess - true))))
        shown = {"last": "as at 16 devices", CHOSEN: "s-sgd, which chooses"}.get(name, name)
        rows.append([shown, f"{errors[name]:.1f} %", f"{right[name]:.0f} %", f"{off[name]:.1f} %"])
    return outcome(
        right[CHOSEN] >= 90.0 and off[CHOSEN] <= 10.0,
        rows,
        frameworks=at.framework.nunique(), pairs=len(pairs), clear=int(clear.sum()),
        right=right[CHOSEN], off=off[CHOSEN], last=right["last"], last_off=off["last"],
    )  # fmt: skip


def labelled() -> Outcome:
    """Ask why one published configuration is slower than another, where that is known."""
    fits = gp.fit(published(), CHOSEN, seed=0, draws=20)
    rows, right = [], 0
    for planted, *names, batch in PUBLISHED:
        row = [" → ".join(names), planted]
        for devices in LABELLED_AT:
            at = {"devices": devices, "nodes": devices // 8, "batch_per_device": batch}
            slower, quicker = (fits[name,] for name in names)
            sides = [{f.name: at[f.name] for f in fit.schema.factors} for fit in (slower, quicker)]
            changes = compare(slower, *sides, other=quicker).terms.set_index("term")["change"]
            cause = cause_of(changes.to_dict())
            right += cause == planted
            row.append(cause)
        rows.append(row)
    asked = len(PUBLISHED) * len(LABELLED_AT)
    return outcome(right >= 0.9 * asked, rows, right=right, of=asked)


def phases() -> Outcome:
    """Predict a measured ring from its phases, each fitted to its column."""
    errors = {}
    for speed in (100, 200):
        frame = gp.datasets.frame("allreduce_vs_server").query(f"{RINGS} and link_mbit == {speed}")
        roles = {"time": "step_time_s", "extrinsic": "workers", "intrinsic": "bytes", "repeat": "repeat"}
        table = gp.read_table(frame, **roles)
        far = table.frame["workers"].to_numpy() > 8
        errors[speed] = errors_of(gp.fit(table.take(~far), CHOSEN, seed=0, draws=20), table.take(far).medians())
    means = {speed: float(error.mean()) for speed, error in errors.items()}
    shown = " and ".join(f"{error:.1f} % at {speed} Mbit/s" for speed, error in means.items())
    return outcome(max(means.values()) <= 8.0, errors=shown, largest=max(error.max() for error in errors.values()))


@cache
def _planted() -> tuple[pd.DataFrame, pd.DataFrame, list[list[str]]]:
    """Ask what makes one measured configuration slower than another, where that was planted."""
    found = pd.DataFrame(pairs())
    classes = by_class(found)
    rows = [
        [name, CLASSES[str(name)], *(f"{row[x]:g}" for x in ("pairs", "right", "near")), f"{100 * row['off']:.0f} %"]
        for name, row in classes.iterrows()
    ]
    return found, classes, rows


def causes() -> Outcome:
    found, classes, rows = _planted()
    return outcome(
        (classes["right"] >= 0.9 * classes["pairs"]).all(),
        [row[:4] for row in rows],
        frameworks=found["framework"].nunique(),
        counts=", ".join(map(str, sorted(found["workers"].unique()))),
        right=int(classes["right"].sum()), of=len(found),
    )  # fmt: skip


def seconds() -> Outcome:
    found, classes, rows = _planted()
    near = (classes["near"] >= 0.9 * classes["pairs"]).all()
    return outcome(near, [[row[0], row[2], *row[4:]] for row in rows], right=int(classes["near"].sum()), of=len(found))
