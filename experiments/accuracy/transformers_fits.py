"""Which layouts of a transformer run out of memory: outcomes of held-out runs, on tables with emulated failures.

Runs whose measured memory is above a capacity are declared failed.
"""

from __future__ import annotations

import numpy as np
import pandas as pd

import genperf as gp
from experiments.accuracy.transformers import CASES, table_of
from experiments.shared import page
from genperf.arrays import AnyArray as Array

TABLES = ("bigscience, memory", "GPT, memory")
#: Shares of the runs whose memory is below the capacity.
SHARES = (0.5, 0.65, 0.8)
FOLDS, REPEATS = 5, 3
COLUMNS = (
    *("table", "measured", "below the capacity %", "near %", "right %", "right of those not near %"),
    *("failed: right %", "failed: left out %", "succeeded: kept %"),
)


def runs_of(name: str) -> tuple[pd.DataFrame, dict[str, str]]:
    """Return a row per configuration, with its memory as `gb`, and the roles of its factors."""
    table = table_of(CASES[name]).medians()
    roles = {r: [f.name for f in table.factors if f.role == r] for r in ("intrinsic", "extrinsic", "categorical")}
    frame = pd.DataFrame({f.name: table.columns[f.name] for f in table.factors}).assign(gb=table.measured)
    return frame, {role: ",".join(names) for role, names in roles.items() if names}


def probabilities(runs: pd.DataFrame, roles: dict[str, str], capacity: float, seed: int, *, beside: bool) -> np.ndarray:
    """Return the probability of fitting of each run, from those of other folds."""
    fold = np.random.default_rng(seed).permutation(len(runs)) % FOLDS
    failed = (runs.gb > capacity).to_numpy()
    memory = np.where(failed, "", runs.gb.astype(str))
    marked = runs.drop(columns="gb").assign(s=np.where(failed, "OOM", "1"), memory=memory)
    also = {"also": "memory=memory:GB"} if beside else {}
    out = np.ones(len(runs))
    for k in range(FOLDS):
        train = marked[fold != k] if beside else marked[fold != k].drop(columns="memory")
        # Times are of no interest here: a constant is fitted to them.
        models = {"also_models": {"memory": "c*1"}} if beside else {}
        result = gp.fit(gp.read_table(train, time="s", **roles, **also), "c*1", draws=5, **models)
        # Not `predict`, which refuses the levels that only this fold has.
        out[fold == k] = result.feasibility.probability({n: runs[n].to_numpy()[fold == k] for n in runs})
    return out


def row_of(head: tuple[str, ...], memory: Array, capacity: float, fails: Array, out: Array) -> dict[str, str]:
    """Return a row of runs of which some are said to fail, and some are left out."""
    failed, near = memory > capacity, np.abs(np.log(memory / capacity)) < np.log(1.1)
    right = fails == failed
    values = (near, right, right[~near], right[failed], out[failed], ~out[~failed])
    return dict(zip(COLUMNS, (*head, *(f"{100 * np.mean(of):.0f}" for of in values)), strict=True))


def rows_of(name: str) -> list[dict[str, str]]:
    """Return a row per capacity and kind of table."""
    runs, roles = runs_of(name)
    memory = np.tile(runs.gb.to_numpy(), REPEATS)
    rows = []
    for beside in (False, True):
        for share in SHARES:
            capacity = float(runs.gb.quantile(share))
            fits = np.concatenate(
                [probabilities(runs, roles, capacity, seed, beside=beside) for seed in range(REPEATS)]
            )
            head = (name.removesuffix(", memory"), "memory" if beside else "times", f"{100 * share:.0f}")
            rows.append(row_of(head, memory, capacity, fits < 0.5, fits < 0.95))
    return [*rows, *kept_by_capacity(name)]


def kept_by_capacity(name: str) -> list[dict[str, str]]:
    """Return a row per capacity of a memory that is measured in all runs: what `--capacity` leaves out, held out."""
    held_out = gp.validate(table_of(CASES[name]), "auto", f"kfold:{FOLDS}", seed=0).predictions()
    quantity = held_out.columns[list(held_out.columns).index("measured") + 1]
    measured, predicted, upper = (held_out[name].to_numpy() for name in ("measured", quantity, "upper"))
    rows = []
    for share in SHARES:
        capacity = held_out.measured.quantile(share)
        head = (name.removesuffix(", memory"), "memory of all runs", f"{100 * share:.0f}")
        rows.append(row_of(head, measured, capacity, predicted > capacity, upper > capacity))
    return rows


def run() -> str:
    """Judge the tables."""
    return page("transformers-fits", table=pd.DataFrame(row for name in TABLES for row in rows_of(name)))
