"""The partitioned campaign: layouts predicted and chosen from a fifth of them.

The protocol is experiments/protocols/partitioned.md.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import numpy as np
import numpy.typing as npt
import pandas as pd

import genperf as gp
from experiments.shared import RESULTS, page

Array = npt.NDArray[Any]
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
    known = np.zeros(len(frame), dtype=bool)
    known[rng.permutation(len(frame))[: round(SHARE * len(frame))]] = True
    measured = frame["step_time_s"].to_numpy(dtype=float)
    errors, predicted = {}, {}
    table = gp.read_table(frame[known].reset_index(drop=True), **roles())
    for name in FITTED:
        predicted[name] = gp.fit(table, name, draws=REPLICATES).predict(frame)["time"].to_numpy(dtype=float)
        errors[name] = 100 * float(np.mean(np.abs(predicted[name] / measured - 1)[~known]))
    split = gp.read_table(frame.assign(**{DRAWN: np.where(known, 0, 1)}), **roles())
    for score in gp.validate(split, LEARNERS, f"extrapolate:{DRAWN}:0").models:
        errors[score.model] = float(score.mape) if score.mape is not None else float("nan")
    groups = frame.groupby(["model", "devices"]).indices
    rows = []
    for (model, devices), members in groups.items():
        if len(members) >= LEAST:
            rows.append({"group": f"{model}, {devices} hosts"} | regrets(measured, members, known, predicted, rng))
    return errors, rows


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
            scores = gp.validate(gp.read_table(frame, **roles()), (*FITTED, *LEARNERS), scheme).models
            rows.append({"table": name, "quantity": "time", "predicted": scheme} | _errors(scores))
        memory = gp.read_table(frame, **roles(time=None, quantity="memory_mb:MB"))
        scores = gp.validate(memory, ("transformer-memory", "auto", *LEARNERS), "kfold:5").models
        found = {"transformer" if k == "transformer-memory" else k: v for k, v in _errors(scores).items()}
        rows.append({"table": name, "quantity": "memory", "predicted": "kfold:5"} | found)
    return pd.DataFrame(rows)


def _errors(scores: Any) -> dict[str, str]:
    return {score.model: "" if score.mape is None else f"{score.mape:.1f}" for score in scores}


def drawn(draws: int) -> tuple[pd.DataFrame, pd.DataFrame]:
    """Return the tables of errors and of choices over random fifths."""
    error_rows, choice_rows = [], []
    for name in TABLES:
        frame, rng = frame_of(name), np.random.default_rng(0)
        outcomes = [from_a_fifth(frame, rng) for _ in range(draws)]
        errors = pd.DataFrame([errors for errors, _ in outcomes])
        cells = {model: f"{errors[model].median():.1f}, {errors[model].quantile(0.9):.1f}" for model in errors}
        error_rows.append({"table": name, "layouts": str(len(frame))} | cells)
        choices = pd.DataFrame([row for _, rows in outcomes for row in rows])
        for group, rows in choices.groupby("group"):
            ways = [way for way in rows if way != "group"]
            cells = {way: f"{rows[way].median():.1f}, {rows[way].quantile(0.9):.1f}" for way in ways}
            choice_rows.append({"fitted to": name, "chosen for": str(group)} | cells)
    return pd.DataFrame(error_rows), pd.DataFrame(choice_rows)


def run(draws: int = DRAWS) -> str:
    """Draw fifths of the layouts, predict the others and choose among all."""
    errors, choices = drawn(draws)
    beyond = between_and_beyond()
    return page("partitioned", command=COMMAND, draws=draws, errors=errors, choices=choices, beyond=beyond)
