"""The choice of a layout from a fifth of the runs: how much slower the picked layout is than the best one.

    python -m experiments transformers_choice [--draws 50]

A fifth of rubick's layouts with even placements is drawn at random, and `auto` is fitted to it. In each group of one
network and one count of devices with at least 15 layouts, the layout of least predicted time is picked. Its measured
time is compared with the least of the group: beside a layout picked at random, and the best of those in the fifth.
"""

from __future__ import annotations

import numpy as np
import pandas as pd

import genperf as gp
from experiments.accuracy.transformers import CASES, table_of
from experiments.shared import markdown

COMMAND = "python -m experiments transformers_choice"
CASE = CASES["rubick, even placements"]
SHARE, LEAST = 0.2, 15
GROUP = ["model", "devices"]


def groups_of(frame: pd.DataFrame) -> dict[tuple[str, ...], np.ndarray]:
    """Return the rows of each group that has enough layouts."""
    return {key: rows for key, rows in frame.groupby(GROUP).indices.items() if len(rows) >= LEAST}


def regrets(frame: pd.DataFrame, rng: np.random.Generator) -> list[dict[str, object]]:
    """Return by how many % each way of picking is slower than the best, in every group."""
    known = np.sort(rng.permutation(len(frame))[: round(SHARE * len(frame))])
    roles = {k: v for k, v in {**gp.datasets.roles(CASE.table), **CASE.options}.items() if k != "where"}
    fitted = gp.fit(gp.read_table(frame.iloc[known].reset_index(drop=True), **roles), "auto", draws=20)
    predicted = fitted.predict(frame)["time"].to_numpy()
    measured, rows = frame[roles["time"]].to_numpy(dtype=float), []
    for key, members in groups_of(frame).items():
        seconds = measured[members]
        inside = np.intersect1d(members, known)
        picked = {
            "auto": measured[members[np.argmin(predicted[members])]],
            "at random": rng.choice(seconds),
            "best of the fifth": measured[inside].min() if inside.size else rng.choice(seconds),
        }
        rows.append(
            {"group": f"{key[0]}, {float(key[1]):.0f}"} | {k: 100 * (v / seconds.min() - 1) for k, v in picked.items()}
        )
    return rows


def run(draws: int = 50) -> str:
    """Draw fifths of the layouts, and pick by the fit of each."""
    frame = table_of(CASE).frame
    rng = np.random.default_rng(0)
    every = pd.DataFrame([row for _ in range(draws) for row in regrets(frame, rng)])
    ways = [name for name in every if name != "group"]
    rows = [
        [name, *(f"{part[way].median():.1f}, {part[way].quantile(0.9):.1f}" for way in ways)]
        for name, part in [("all", every), *every.groupby("group")]
    ]
    head = "# How good is a layout that is picked from a fifth of the runs?"
    reading = f"""Made by `{COMMAND}`. By how many % the picked layout is slower than the best of its group
(network, devices): median and nine tenths of {draws} draws. A fifth of rubick's {len(frame)} layouts with even
placements is drawn; `auto` is fitted to it, and picks the least predicted time of each group of at least {LEAST}."""
    return "\n\n".join([head, reading, markdown(["group", *ways], rows)])
