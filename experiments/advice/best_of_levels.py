"""Is the probability of being the best true? Levels of drawn worlds, each with a growth of its own.

    python -m experiments best_of_levels [--worlds 160]

A world has three frameworks with a computation and a law of communication each, drawn at random, and runs of two
batches at 1 to 8 workers of nodes of four with noise of 2 %. `compare --over framework` is asked which is the fastest,
at 8 workers and at four times the largest count, as levels of one model and as groups. Nothing here was used to set a
prior.
"""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np
import pandas as pd

import genperf as gp
from experiments.shared import markdown

COMMAND = "python -m experiments best_of_levels"
FRAMEWORKS = ["a", "b", "c"]
COUNTS, BATCHES, PER_NODE, NOISE = (1, 2, 4, 8), (32, 64), 4, 0.02
ASKED = {"inside": 8, "at four times": 32}
#: Seconds of communication at n workers on m nodes, per second of computation at the smaller batch.
LAWS = (
    lambda n, m: 0.3 * (n - 1) / n + 0.3 * (m - 1) / m,
    lambda n, m: 0.1 * np.log2(n),
    lambda n, m: 0.02 * (n - 1),
    lambda n, m: 0.4 * (m > 1) + 0.05 * np.log2(n),
    lambda n, m: 0.0 * n,
)


class World:
    """Frameworks with a law each."""

    def __init__(self, seed: int) -> None:
        rng = np.random.default_rng([29, seed])
        self.rng = rng
        self.computes = 0.1 * np.exp(0.05 * rng.standard_normal(len(FRAMEWORKS)))
        self.laws = rng.integers(len(LAWS), size=len(FRAMEWORKS))
        self.sizes = np.exp(0.7 * rng.standard_normal(len(FRAMEWORKS)))

    def time(self, framework: str, n: int, batch: int) -> float:
        """Return the true seconds of a step."""
        k = FRAMEWORKS.index(framework)
        communication = float(LAWS[self.laws[k]](np.float64(n), np.ceil(n / PER_NODE)))
        return float(self.computes[k] * (batch / BATCHES[0] + self.sizes[k] * communication))

    def runs(self) -> pd.DataFrame:
        """Return one run of each configuration."""
        rows = [(f, n, -(-n // PER_NODE), b, self.time(f, n, b)) for f in FRAMEWORKS for n in COUNTS for b in BATCHES]
        frame = pd.DataFrame(rows, columns=["framework", "gpus", "nodes", "batch", "seconds"])
        return frame.assign(seconds=frame.seconds * np.exp(NOISE * self.rng.standard_normal(len(frame))))


def answers(seed: int) -> Iterator[dict[str, object]]:
    """Yield each level's stated probability, and whether it is the best."""
    world = World(seed)
    frame = world.runs()
    roles = {"time": "seconds", "extrinsic": "gpus,nodes", "intrinsic": "batch"}
    models = {
        "levels": gp.fit(frame, categorical="framework", **roles),
        "groups": gp.fit(frame, group="framework", **roles),
    }
    for (kind, model), (where, n) in ((m, w) for m in models.items() for w in ASKED.items()):
        at = {"gpus": n, "nodes": -(-n // PER_NODE), "batch": BATCHES[0]}
        ranking = gp.compare(model, at, over="framework")
        best = min(FRAMEWORKS, key=lambda f: world.time(f, n, BATCHES[0]))
        for place, row in enumerate(ranking.table.to_dict("records")):
            right = row["framework"] == best
            first = place == 0
            yield {"as": kind, "asked": where, "stated": float(row["best"]), "best": right, "first": first,
                   "certain": first and ranking.certain}  # fmt: skip


def summary(frame: pd.DataFrame) -> str:
    """Return how often the first was stated to be the best and was, and how often it was called certain."""
    rows = []
    for (kind, where), part in frame[frame["first"]].groupby(["as", "asked"], sort=False):
        sure = part[part["certain"]]
        shares = (f"{part[name].mean():.2f}" for name in ("stated", "best"))
        rows.append([kind, where, *shares, f"{len(sure)} of {len(part)}", int(sure["best"].sum())])
    return markdown(["as", "asked", "stated of the first", "it is", "called certain", "of which right"], rows)


def tenths(frame: pd.DataFrame) -> str:
    """Return the share that is the best of the levels of each stated tenth."""
    rows = []
    for (kind, where), part in frame.groupby(["as", "asked"], sort=False):
        for tenth, some in part.groupby((10.0 * part["stated"]).clip(upper=9.999).astype(int)):
            ends = f"{0.1 * tenth:.1f} to {0.1 * (tenth + 1):.1f}"
            rows.append([kind, where, ends, len(some), f"{some['stated'].mean():.2f}", f"{some['best'].mean():.2f}"])
    return markdown(["as", "asked", "stated", "levels", "mean stated", "are the best"], rows)


def run(worlds: int = 160) -> str:
    """Draw the worlds, ask, and return the page."""
    frame = pd.DataFrame([row for seed in range(worlds) for row in answers(seed)])
    return f"""# Is the probability of being the best true?

Made by `{COMMAND}`: {worlds} worlds of three frameworks, each with a computation and a law of
communication; runs of two batches at 1 to 8 workers with noise of 2 %. `compare --over framework` names the fastest
at 8 workers (*inside*) and at 32, four times the largest count. *Certain*: the 90 % interval of the difference between
the first two excludes zero.

{summary(frame)}

Every level's stated probability beside the share that is the best, by tenths:

{tenths(frame)}
"""
