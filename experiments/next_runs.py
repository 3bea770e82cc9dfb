"""Is the next run that `suggest` proposes worth its cost? Worlds with known laws are drawn, and the runs are made.

    python experiments/next_runs.py [--seeds 3] [-o experiments/results/next-runs.md]

The worlds are those of `advice.py`: a law of the step time of n workers on nodes of four, noise of 1 to 3 %.
`auto` is fitted to the counts 1 to 8 and asked for 64. A budget in machine-seconds is that of one run at 16, or at 32.
`suggest` proposes a run that can be paid, the run is made and the model fitted again, until the budget is spent.
Beside it stands the simplest plan: the largest count that can be paid, alone.
"""

from __future__ import annotations

import argparse
from pathlib import Path

import numpy as np
import pandas as pd
from advice import ASKED, LAWS, MEASURED, NOISE, PER_NODE, World, fitted, held
from threadpoolctl import threadpool_limits

import genperf as gp

COMMAND = "python experiments/next_runs.py"
OUT = Path(__file__).parents[1] / "experiments" / "results" / "next-runs.md"
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


def page(found: pd.DataFrame, seeds: int) -> str:
    """Return the page."""
    errors = found.pivot_table("error", "law", "plan", aggfunc="median").reindex(list(LAWS))
    covered = found.pivot_table("held", "law", "plan", aggfunc="mean").reindex(list(LAWS))
    lines = [
        "| law | error, suggest | error, largest run | held, suggest | held, largest run |",
        "|---|---|---|---|---|",
    ]
    for law in LAWS:
        cells = [f"{t.loc[law, plan]:.1f}" for t in (errors, covered) for plan in ("suggest", "largest")]
        lines.append(f"| {law} | " + " | ".join(cells) + " |")
    no_worse = int(np.sum(errors["suggest"] <= errors["largest"] + 100.0 * EQUAL))
    head = (__doc__ or "").split("\n\n", 2)
    return "\n".join(
        [
            "# Is the next run worth its cost, in worlds whose law is known?",
            "",
            f"Written by `{COMMAND}`: {len(LAWS)} laws, {seeds} seeds, {len(BUDGETS)} budgets.",
            "",
            head[2].strip(),
            "",
            "*Error*: the median error at 64 in %. *Held*: the share of 90 % intervals that hold the truth, in %.",
            "",
            *lines,
            "",
            f"For {no_worse} of {len(LAWS)} laws the advice is no worse than the largest run.",
            "",
        ]
    )


def main() -> None:
    """Draw the worlds, make the runs, and write the page."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--seeds", type=int, default=3)
    parser.add_argument("-o", "--output", type=Path, default=OUT)
    given = parser.parse_args()
    with threadpool_limits(1):
        given.output.write_text(page(rows(given.seeds), given.seeds), encoding="utf-8")
    print(given.output.read_text(encoding="utf-8"))


if __name__ == "__main__":
    main()
