"""Is the next run that `suggest` proposes worth its cost? Worlds with known laws are drawn, and the runs are made.

    python -m experiments next_runs [--seeds 3]

The worlds are those of `advice.py`: a law of the step time of n workers on nodes of four, noise of 1 to 3 %.
`auto` is fitted to the counts 1 to 8 and asked for 64. A budget in machine-seconds is that of one run at 16, or at 32.
`suggest` proposes a run that can be paid, the run is made and the model fitted again, until the budget is spent.
Beside it stands the simplest plan: the largest count that can be paid, alone.
"""

from __future__ import annotations

import numpy as np
import pandas as pd

import genperf as gp
from experiments.advice.advice import ASKED, LAWS, MEASURED, NOISE, PER_NODE, World, fitted, held
from experiments.shared import markdown, page

KNOWN = MEASURED[:4]
TARGET = {"gpus": ASKED, "nodes": ASKED / PER_NODE}
#: Counts whose run at the true time is the budget.
BUDGETS = (16.0, 32.0)
#: Errors that differ by less are equal.
EQUAL = 0.002


def cost(world: World, count: float) -> float:
    """Return the machine-seconds of a run."""
    return count * float(world.time(count)[0])


def advised(world: World, budget: float) -> np.ndarray:
    """Return the counts that are known once the budget is spent on what `suggest` proposes."""
    counts, left = KNOWN, budget
    while True:
        options = [n for n in 2.0 ** np.arange(6) if n not in counts and cost(world, n) <= left * (1.0 + 1e-9)]
        if not options:
            return counts
        candidates = pd.DataFrame({"gpus": options, "nodes": np.ceil(np.array(options) / PER_NODE)})
        chosen = gp.suggest(fitted(world, counts), TARGET, candidates=candidates).chosen
        if chosen.empty:
            return counts
        count = float(chosen["gpus"].iloc[0])
        counts, left = np.sort([*counts, count]), left - cost(world, count)


def judged(world: World, counts: np.ndarray) -> tuple[float, bool]:
    """Return the error of the prediction at the target in %, and whether the interval holds the truth."""
    row = fitted(world, counts).predict(TARGET).iloc[0]
    truth = float(world.time(ASKED)[0])
    return 100.0 * abs(row["time"] / truth - 1.0), held(row, truth)


def rows(seeds: int) -> pd.DataFrame:
    """Return what both plans reach in each world."""
    out = []
    for law in LAWS:
        for seed in range(seeds):
            world = World(law, seed, NOISE[seed % len(NOISE)])
            for largest in BUDGETS:
                for plan, counts in (
                    ("suggest", advised(world, cost(world, largest))),
                    ("largest", np.append(KNOWN, largest)),
                ):
                    error, inside = judged(world, counts)
                    out.append({"law": law, "plan": plan, "error": error, "held": 100.0 * inside})
    return pd.DataFrame(out)


def run(seeds: int = 3) -> str:
    """Draw the worlds, make the runs, and return the page."""
    found = rows(seeds)
    errors = found.pivot_table("error", "law", "plan", aggfunc="median").reindex(list(LAWS))
    covered = found.pivot_table("held", "law", "plan", aggfunc="mean").reindex(list(LAWS))
    head = ["law", "error, suggest", "error, largest run", "held, suggest", "held, largest run"]
    lines = [
        [law, *(f"{t.loc[law, plan]:.1f}" for t in (errors, covered) for plan in ("suggest", "largest"))]
        for law in LAWS
    ]
    no_worse = int(np.sum(errors["suggest"] <= errors["largest"] + 100.0 * EQUAL))
    return page(
        "next-runs",
        globals(),
        seeds=seeds,
        head=(__doc__ or "").split("\n\n", 2)[2].strip(),
        table=markdown(head, lines),
        no_worse=no_worse,
    )
