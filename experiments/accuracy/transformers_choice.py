"""The choice of a layout from a fifth of the runs: how much slower the picked layout is than the best one.

A fifth of rubick's layouts with even placements is drawn at random, and `auto` is fitted to it. In each group of one
network and one count of devices with at least 15 layouts, the layout of least predicted time is picked. Its measured
time is compared with the least of the group: beside a layout picked at random, and the best of those in the fifth.
"""

from __future__ import annotations

import numpy as np
import pandas as pd

import genperf as gp
from experiments.accuracy.partitioned_layouts import LEAST, choices, fifth, middle_and_ninth
from experiments.accuracy.transformers import CASES, table_of
from experiments.shared import page

CASE = CASES["rubick, even placements"]


def slower(frame: pd.DataFrame, rng: np.random.Generator) -> list[dict[str, object]]:
    """Return by how many % each way of picking is slower than the best, in every group."""
    known = fifth(frame, rng)
    roles = {k: v for k, v in {**gp.datasets.roles(CASE.table), **CASE.options}.items() if k != "where"}
    fitted = gp.fit(gp.read_table(frame[known].reset_index(drop=True), **roles), "auto", draws=20)
    predicted = {"auto": fitted.predict(frame)["time"].to_numpy()}
    measured = frame[roles["time"]].to_numpy(dtype=float)
    return choices(frame, measured, known, predicted, rng)


def run(draws: int = 50) -> str:
    """Draw fifths of the layouts, and pick by the fit of each."""
    frame = table_of(CASE).frame
    rng = np.random.default_rng(0)
    every = pd.DataFrame([row for _ in range(draws) for row in slower(frame, rng)])
    rows = [{"group": name} | middle_and_ninth(part) for name, part in [("all", every), *every.groupby("group")]]
    return page("transformers-choice", draws=draws, layouts=len(frame), least=LEAST, table=pd.DataFrame(rows))
