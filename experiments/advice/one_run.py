"""Whether one run's utilisation is that of its source, and whether published runs show what is normal.

reads `data/published/runs.csv`. FURTHER has the same facts of runs that are not bundled: they judge as well.
"""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pandas as pd

from experiments.shared import IMAGES, page, pyplot
from experiments.tables.published_runs import LICENCES, LONGEST, repository, usual_runs
from genperf import datasets
from genperf.asking.one_run import SAME, run_of_row, utilisation_of
from genperf.errors import GenperfError
from genperf.normal import runs as published
from genperf.normal.runs import place_of_run

#: Facts of a run that are given to `run_of_row`: not what its source states.
FACTS = ["model", "params", "seq_length", "device", "devices", "devices_per_node", "precision", "global_batch_samples"]
FACTS += ["tokens_per_s", "tokens_per_s_per_device", "step_time_s", "checkpointing", "mfu_stated"]


def conventions(table: pd.DataFrame) -> pd.DataFrame:
    """Return for each run with a rate and a stated MFU whether a convention gives it, and which."""
    rows = []
    for _, row in table[table["mfu_stated"].notna()].iterrows():
        try:
            used = utilisation_of(run_of_row(row[[name for name in FACTS if name in row]].dropna().to_dict()))
        except GenperfError:
            continue
        if not used.mfu_by_convention:
            continue
        nearest = min(abs(value / row["mfu_stated"] - 1.0) for value in used.mfu_by_convention.values())
        rows.append((row["repository"], nearest <= SAME, used.mfu_convention if nearest <= SAME else ""))
    return pd.DataFrame(rows, columns=["source", "same", "convention"])


def coverage(table: pd.DataFrame, known: pd.DataFrame, left_out: bool = True) -> pd.DataFrame:
    """Return for each run whether it lies inside the range of the other sources, and the width of that."""
    ranges, rows = {}, []
    for _, row in table.iterrows():
        active = row["active"] if row["active"] == row["active"] else 7e9
        of = (row["family"], active, row["precision_class"], bool(row["mixture"]))
        key = (row["repository"], *of)
        if key not in ranges:
            others = known[known["repository"] != row["repository"]].reset_index(drop=True)
            place = place_of_run(None, *of, others if left_out else known)
            ranges[key] = (place.low, place.high)
        low, high = ranges[key]
        rows.append((row["repository"], row["family"], row["mfu"], low, high, low <= row["mfu"] <= high))
    return pd.DataFrame(rows, columns=["source", "family", "mfu", "low", "high", "inside"])


def by_source(rows: pd.DataFrame, column: str) -> float:
    """Return the mean of a column in the mean of the sources, in %."""
    return 100.0 * float(rows.groupby("source")[column].mean().mean())


def further_runs(file: Path) -> pd.DataFrame:
    """Return the runs of a file whose sources are not bundled."""
    rows = []
    for row, run, value in usual_runs(file):
        if repository(row["source"]) in LICENCES or (row["seq_length"] or 0) >= LONGEST:
            continue
        of = {"repository": row["source"].split(" ")[0], "family": run.device.family}
        size = {"active": run.network.active or 7e9, "mixture": run.network.is_mixture}
        rows.append({**of, "precision_class": run.precision or "16-bit", **size, "mfu": value})
    return pd.DataFrame(rows)


def with_weights(table: pd.DataFrame, known: pd.DataFrame) -> pd.DataFrame:
    """Return the shares inside with half and double weights."""
    rows = []
    usual, kernel = dict(published.OTHER), published.KERNEL
    for factor in (0.5, 1.0, 2.0):
        published.OTHER.update({name: min(factor * value, 1.0) for name, value in usual.items()})
        published.KERNEL = factor * kernel
        shares = coverage(table, known)
        row = {"weights": f"x {factor:g}", "runs inside": 100.0 * shares["inside"].mean()}
        width = 100.0 * (shares["high"] - shares["low"]).mean()
        rows.append({**row, "sources inside": by_source(shares, "inside"), "width": width})
    published.OTHER.update(usual)
    published.KERNEL = kernel
    return pd.DataFrame(rows)


def picture(rows: pd.DataFrame, path: Path) -> None:
    """Draw the utilisations of each source, and the ranges of the other sources behind them."""
    figure, ax = pyplot().subplots(figsize=(8.0, 5.0), layout="constrained")
    sources = sorted(rows["source"].unique(), reverse=True)
    for place, source in enumerate(sources):
        mine = rows[rows["source"] == source]
        spread = np.linspace(-0.25, 0.25, len(mine))
        ax.hlines(place + spread, 100 * mine["low"], 100 * mine["high"], color="0.88", lw=1)
        ax.plot(100 * mine["mfu"], place + spread, "k.", ms=3)
    ax.set(yticks=range(len(sources)), yticklabels=sources, xlabel="MFU, %", xlim=(0, 90))
    ax.tick_params(axis="y", labelsize=7)
    figure.savefig(path, dpi=110)


def run(further: Path | None = None) -> str:
    """Return the page, with docs/images/one-run.png beside it; `further` is a file of runs that are not bundled."""
    table = datasets.runs()
    table["mixture"] = table["mixture"].fillna(0.0) > 0.0
    same, inside = conventions(table), coverage(table, table)
    fits = same.groupby("source").agg(runs=("same", "size"), same=("same", lambda of: 100.0 * of.mean())).reset_index()
    names = same[same["same"]].groupby("source")["convention"].agg(lambda of: ", ".join(of.value_counts().index))
    fits["conventions"] = fits["source"].map(names).fillna("")
    each = inside.groupby("source").agg(runs=("inside", "size"), inside=("inside", lambda of: 100.0 * of.mean()))
    text = (
        "Sources that are not bundled, since no licence of theirs is known, judge as well where their runs are at hand."
    )
    if further is not None:
        rows = coverage(further_runs(further), table, left_out=False)
        text = (
            f"Of {len(rows)} runs of {rows['source'].nunique()} sources that are not bundled, papers and threads, "
            f"{100.0 * rows['inside'].mean():.0f} % lie inside the range of all bundled sources."
        )
    picture(inside, IMAGES / "one-run.png")
    return page(
        "one-run",
        runs=len(table),
        sources=table["repository"].nunique(),
        stated=len(same),
        same=100.0 * same["same"].mean(),
        same_sources=by_source(same, "same"),
        conventions=fits,
        inside=100.0 * inside["inside"].mean(),
        inside_sources=by_source(inside, "inside"),
        coverage=each.reset_index(),
        further=text,
        weights=with_weights(table, table),
    )
