"""The partitioned campaign: layouts predicted and chosen from a fifth of them.

The protocol is experiments/protocols/partitioned.md.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import numpy as np
import pandas as pd

import genperf as gp
from experiments.accuracy.scores import held_out_errors
from experiments.shared import RESULTS, page
from genperf.arrays import AnyArray as Array

COMMAND = "python -m experiments partitioned_layouts --draws 50"
PAGE = RESULTS / "partitioned.md"
TABLE = "partitioned"
SHARE, LEAST, DRAWS = 0.2, 15, 50
FITTED = ("transformer", "auto")
LEARNERS = ("gradient-boosting", "gaussian-process")
#: Of the tables that are fitted: each transformer alone, and both.
TABLES = ("narrow", "wide", "both")
#: Factors of a table of both; those that do not vary in one of them are left out by themselves.
DRAWN = "drawn"
RANDOM, BEST_KNOWN = "at random", "best of the fifth"
#: Replicates of a fit whose intervals are not used.
REPLICATES = 5


def frame_of(name: str) -> pd.DataFrame:
    """Return the medians of a transformer's layouts, or of both."""
    frame = gp.datasets.frame(TABLE)
    frame = frame if name == "both" else frame[frame["model"] == name]
    timed = ["repeat", "steps", "startup_s", "memory_mb", "step_time_s", "step_time_mean_s", "step_time_std_s"]
    same = [column for column in frame if column not in timed]
    return frame.groupby(same, sort=False)[["step_time_s", "memory_mb"]].median().reset_index()


def roles(**changed: str | None) -> dict[str, Any]:
    kept = {k: v for k, v in gp.datasets.roles(TABLE).items() if k != "repeat"}
    return {k: v for k, v in {**kept, **changed}.items() if v is not None}


def from_a_fifth(frame: pd.DataFrame, rng: np.random.Generator) -> tuple[dict[str, float], list[dict[str, Any]]]:
    """Draw a fifth of the layouts, predict the others, and choose among all."""
    known = fifth(frame, rng)
    measured = frame["step_time_s"].to_numpy(dtype=float)
    errors, predicted = {}, {}
    table = gp.read_table(frame[known].reset_index(drop=True), **roles())
    for name in FITTED:
        predicted[name] = gp.fit(table, name, draws=REPLICATES).predict(frame)["time"].to_numpy(dtype=float)
        errors[name] = 100 * float(np.mean(np.abs(predicted[name] / measured - 1)[~known]))
    split = gp.read_table(frame.assign(**{DRAWN: np.where(known, 0, 1)}), **roles())
    errors |= held_out_errors(split, LEARNERS, f"extrapolate:{DRAWN}:0")
    return errors, choices(frame, measured, known, predicted, rng)


def fifth(frame: pd.DataFrame, rng: np.random.Generator) -> Array:
    """Draw the layouts that are known."""
    known = np.zeros(len(frame), dtype=bool)
    known[rng.permutation(len(frame))[: round(SHARE * len(frame))]] = True
    return known


def choices(
    frame: pd.DataFrame, measured: Array, known: Array, predicted: Mapping[str, Array], rng: np.random.Generator
) -> list[dict[str, Any]]:
    """Return by how many % each choice is slower than the best, in every group of a network and a count."""
    return [
        {"group": f"{model}, {float(devices):.0f}"} | regrets(measured, members, known, predicted, rng)
        for (model, devices), members in frame.groupby(["model", "devices"]).indices.items()
        if len(members) >= LEAST
    ]


def middle_and_ninth(rows: pd.DataFrame) -> dict[str, str]:
    """Return the median and the ninth tenth of each column of figures."""
    return {name: f"{rows[name].median():.1f}, {rows[name].quantile(0.9):.1f}" for name in rows if name != "group"}


def regrets(
    measured: Array, members: Array, known: Array, predicted: Mapping[str, Array], rng: np.random.Generator
) -> dict[str, float]:
    """Return by how many % each choice among some layouts is slower than the best of them."""
    seconds = measured[members]
    inside = seconds[known[members]]
    chosen = {name: seconds[np.argmin(times[members])] for name, times in predicted.items()}
    chosen |= {RANDOM: rng.choice(seconds), BEST_KNOWN: inside.min() if inside.size else rng.choice(seconds)}
    return {name: 100 * float(time / seconds.min() - 1) for name, time in chosen.items()}


def between_and_beyond() -> pd.DataFrame:
    """Return mean errors in 5-fold cross-validation and at 8 hosts, and those of memory."""
    rows = []
    for name in TABLES:
        frame = frame_of(name)
        for scheme in ("kfold:5", "extrapolate:devices:4"):
            found = _errors(gp.read_table(frame, **roles()), FITTED, scheme)
            rows.append({"table": name, "quantity": "time", "predicted": scheme} | found)
        memory = gp.read_table(frame, **roles(time=None, quantity="memory_mb:MB"))
        found = _errors(memory, ("transformer-memory", "auto"), "kfold:5")
        rows.append({"table": name, "quantity": "memory", "predicted": "kfold:5"} | found)
    return pd.DataFrame(rows)


def _errors(table: gp.Table, models: tuple[str, ...], scheme: str) -> dict[str, str]:
    found = held_out_errors(table, (*models, *LEARNERS), scheme)
    return {m.removesuffix("-memory"): "" if np.isnan(error) else f"{error:.1f}" for m, error in found.items()}


def drawn(draws: int) -> tuple[pd.DataFrame, pd.DataFrame]:
    """Return the tables of errors and of choices over random fifths."""
    error_rows, choice_rows = [], []
    for name in TABLES:
        frame, rng = frame_of(name), np.random.default_rng(0)
        outcomes = [from_a_fifth(frame, rng) for _ in range(draws)]
        errors = pd.DataFrame([errors for errors, _ in outcomes])
        error_rows.append({"table": name, "layouts": str(len(frame))} | middle_and_ninth(errors))
        chosen = pd.DataFrame([row for _, rows in outcomes for row in rows])
        for group, rows in chosen.groupby("group"):
            choice_rows.append({"fitted to": name, "chosen for": f"{group} hosts"} | middle_and_ninth(rows))
    return pd.DataFrame(error_rows), pd.DataFrame(choice_rows)


def run(draws: int = DRAWS) -> dict[str, str]:
    """Draw fifths of the layouts, predict the others and choose among all."""
    errors, chosen = drawn(draws)
    beyond = between_and_beyond()
    return {
        "partitioned": page("partitioned", command=COMMAND, draws=draws, errors=errors, choices=chosen, beyond=beyond)
    }
