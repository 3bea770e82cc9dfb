"""Join a DLPerf table of medians with the individual runs behind it: one row per run where the runs are printed.

    python -m experiments compile_dlperf SUMMARY.csv REPEATS.csv OUT.csv

A table's figure is the median of its runs. Where a README prints the runs and their median is the table's figure
(`matches_table` = 1), the runs take the figure's place; otherwise the figure stands alone, as `repeat` 0 of the
`run_set` "table". Printed runs of another campaign than the table are left out. `table_samples_per_s` keeps the table's
figure on every row, so that the source's table can be had back exactly.
"""

from __future__ import annotations

from pathlib import Path

import pandas as pd

KEY = ["config", "batch_per_device", "nodes", "devices"]
# The source says nothing about loader workers in most cases; its other columns already use this word for that.
UNSTATED = {"loader_workers": "unspecified"}


def join(summary: pd.DataFrame, repeats: pd.DataFrame) -> pd.DataFrame:
    """Return one row per run where the runs match the table, else the table's row; in the table's order.

    Both frames hold text, so that every figure keeps the digits of the source.
    """
    printed = repeats[repeats["matches_table"] == "1"].drop(columns=["matches_table", "source"])
    runs = summary.drop(columns=["samples_per_s", "step_time_s", "global_batch"]).assign(
        table_samples_per_s=summary["samples_per_s"], order=range(len(summary))
    )
    individual = runs.merge(
        printed[[*KEY, "run_set", "repeat", "samples_per_s", "global_batch", "step_time_s"]], on=KEY
    )
    single = summary[~runs["order"].isin(individual["order"])]
    measured = {name: single[name] for name in ("samples_per_s", "global_batch", "step_time_s")}
    figures = runs.loc[single.index].assign(run_set="table", repeat="0", **measured)
    joined = pd.concat([individual, figures]).sort_values("order", kind="stable").drop(columns="order")
    for column, word in UNSTATED.items():
        if column in joined:
            joined[column] = joined[column].replace("", word)
    return joined[[c for c in joined if c not in {"table_samples_per_s", "source"}] + ["table_samples_per_s", "source"]]


def run(summary: Path, repeats: Path, out: Path) -> None:
    """Read the two tables, write the joined one, and say how far its medians are from the table's figures."""
    figures, runs = (pd.read_csv(path, dtype=str, keep_default_na=False) for path in (summary, repeats))
    joined = join(figures, runs)
    out.write_text(joined.to_csv(index=False, lineterminator="\n"))

    medians = joined.astype({"step_time_s": float}).groupby(KEY, sort=False)["step_time_s"].median()
    difference = (medians / figures.astype({"step_time_s": float}).set_index(KEY)["step_time_s"] - 1).abs()
    print(f"{len(figures)} figures, {(joined['run_set'] != 'table').sum()} runs in the place of", end=" ")
    print(f"{joined[joined['run_set'] != 'table'].drop_duplicates(KEY).shape[0]}; {len(joined)} rows")
    print(f"largest difference between a median and its figure: {difference.max():.1e} (relative)")
