"""The choice of a layout from a fifth of the runs: how much slower the picked layout is than the best one.

    python experiments/transformers_choice.py [--draws 50] [--write]

A fifth of rubick's layouts with even placements is drawn at random, and `auto` is fitted to it. In each group of one
network and one count of devices with at least 15 layouts, the layout of least predicted time is picked. Its measured
time is compared with the least of the group: beside a layout picked at random, and the best of those in the fifth.
"""

from __future__ import annotations

import argparse
from pathlib import Path

import numpy as np
import pandas as pd
from transformers import CASES, table_of

import genperf as gp

COMMAND = "python experiments/transformers_choice.py --write"
PAGE = Path(__file__).parents[1] / "experiments" / "results" / "transformers-choice.md"
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


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--draws", type=int, default=50)
    parser.add_argument("--write", action="store_true")
    options = parser.parse_args()
    frame = table_of(CASE).frame
    rng = np.random.default_rng(0)
    every = pd.DataFrame([row for _ in range(options.draws) for row in regrets(frame, rng)])
    ways = [name for name in every if name != "group"]
    lines = ["| group | " + " | ".join(ways) + " |", "| --- |" + " --- |" * len(ways)]
    for name, rows in [("all", every), *every.groupby("group")]:
        cells = [f"{rows[way].median():.1f}, {rows[way].quantile(0.9):.1f}" for way in ways]
        lines.append(f"| {name} | " + " | ".join(cells) + " |")
    head = "# How good is a layout that is picked from a fifth of the runs?"
    reading = f"""Made by `{COMMAND}`. By how many % the picked layout is slower than the best of its group
(network, devices): median and nine tenths of {options.draws} draws. A fifth of rubick's {len(frame)} layouts with even
placements is drawn; `auto` is fitted to it, and picks the least predicted time of each group of at least {LEAST}."""
    text = "\n\n".join([head, reading, "\n".join(lines)]) + "\n"
    print(text)
    if options.write:
        PAGE.write_text(text, encoding="utf-8")


if __name__ == "__main__":
    main()
