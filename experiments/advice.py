"""Is the advice true? Worlds with known laws are drawn, and every answer is held against its law.

    python experiments/advice.py [--seeds 5] [-o docs/results/advice.md]

A world is a law of the step time T(n, m) of n workers on m nodes of four, with noise of 1 to 3 % on each run. `auto`
is fitted to the counts 1 to 16, and asked for efficiencies, ratios, elasticities, the knee, the best count and whether
growing pays. Nothing here was used to set a prior. An interval of nominal 90 % should hold the truth in 85 to 95 %.
"""

from __future__ import annotations

import argparse
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from pathlib import Path

import numpy as np
import pandas as pd
from threadpoolctl import threadpool_limits

import genperf as gp
from genperf.advice.ask import Question, ask

COMMAND = "python experiments/advice.py"
OUT = Path(__file__).parents[1] / "docs" / "results" / "advice.md"
MEASURED = np.array([1.0, 2.0, 4.0, 8.0, 16.0])
ASKED = 64.0
PER_NODE = 4.0
NOISE = (0.01, 0.02, 0.03)
#: A further sample pays while it costs at most so many times one at the largest measured count.
MOST_COST = 2.0
#: From this chance on the sentence is that it pays, and up to one less it that it does not.
SURE = 0.95
LAWS: dict[str, tuple[str, Callable[[np.ndarray, np.ndarray], np.ndarray]]] = {
    "ring": ("weak", lambda n, m: 0.3 + 0.05 * (n - 1) / n + 0.06 * (m - 1) / m),
    "logarithm": ("weak", lambda n, m: 0.3 + 0.02 * np.log2(n)),
    "linear": ("weak", lambda n, m: 0.3 + 0.004 * n),
    "server": ("weak", lambda n, m: np.maximum(0.3, 0.03 * n) + 0.01),
    "second node": ("weak", lambda n, m: 0.3 + 0.15 * (m > 1) + 0.02 * np.log2(m)),
    "Amdahl": ("strong", lambda n, m: 0.05 + 5.0 / n),
    "contention": ("strong", lambda n, m: 5.0 / n + 0.02 + 0.004 * n),
}


@dataclass(frozen=True)
class World:
    """A law with one seed and one noise."""

    law: str
    seed: int
    noise: float

    @property
    def kind(self) -> str:
        """Weak or strong scaling."""
        return LAWS[self.law][0]

    def time(self, n: np.ndarray | float) -> np.ndarray:
        """Return the true seconds of a step."""
        n = np.atleast_1d(np.asarray(n, float))
        return LAWS[self.law][1](n, np.ceil(n / PER_NODE))

    def rate(self, n: np.ndarray | float) -> np.ndarray:
        """Return the true work per second, relative."""
        return (np.atleast_1d(n) if self.kind == "weak" else 1.0) / self.time(n)

    def runs(self, counts: np.ndarray) -> pd.DataFrame:
        """Return one run of each count."""
        rng = np.random.default_rng([self.seed, *self.law.encode()])
        seconds = self.time(counts) * np.exp(self.noise * rng.standard_normal(len(counts)))
        return pd.DataFrame({"gpus": counts, "nodes": np.ceil(counts / PER_NODE), "t": seconds})


def fitted(world: World, counts: np.ndarray = MEASURED, nodes: bool = True) -> gp.FitResult:
    """Fit `auto` to a world's runs."""
    extrinsic = "gpus,nodes" if nodes else "gpus"
    return gp.fit(gp.read_table(world.runs(counts), time="t", extrinsic=extrinsic, scaling=world.kind))


def held(row: pd.Series, truth: float, name: str = "") -> bool:
    """Tell whether an interval holds the truth, to rounding."""
    prefix = f"{name}_" if name else ""
    return bool(row[f"{prefix}lower"] * (1 - 1e-9) <= truth <= row[f"{prefix}upper"] * (1 + 1e-9))


def answers(world: World) -> Iterator[tuple[str, float]]:
    """Yield what is asked of a world, and whether (or how much of) the answer is true."""
    result = fitted(world)
    explained = gp.explain(result, {"gpus": 16.0}, versus={"gpus": 32.0}, knee=True)
    assert explained.scaling is not None
    assert explained.comparison is not None
    curve = explained.scaling.curve.set_index("gpus")
    efficiency = lambda n: float(world.rate(n)[0] / n / (world.rate(1.0)[0]))  # noqa: E731
    for n in (8.0, 16.0):
        yield "efficiency at a measured count", held(curve.loc[n], efficiency(n), "efficiency")
        yield "time at a measured count", held(curve.loc[n], float(world.time(n)[0]))
    for n in (32.0, ASKED):
        row = curve.loc[n] if n in curve.index else curve.iloc[np.argmin(np.abs(curve.index - n))]
        yield "efficiency beyond", held(row, efficiency(float(row.name)), "efficiency")
    change = float(world.time(32.0)[0] - world.time(16.0)[0])
    yield "--versus 32 gpus", explained.comparison.lower <= change <= explained.comparison.upper
    alone = gp.explain(fitted(world, nodes=False), {"gpus": 8.0}).elasticities.iloc[0]
    step = float(np.log2(world.time(16.0)[0] / world.time(8.0)[0]))
    slope = float(np.log(world.time(8.0 * 1.001)[0] / world.time(8.0 / 1.001)[0]) / np.log(1.001**2))
    yield "elasticity", bool(alone["lower"] <= (step if alone["method"] == "doubling" else slope) <= alone["upper"])
    points = explained.scaling.points.set_index("what")
    whole = np.arange(1.0, explained.scaling.upto + 1)
    below = whole[world.rate(whole) / whole / world.rate(1.0) < 0.5]
    yield "knee at half", _at(points.loc["efficiency"], below[0] if len(below) else np.inf)
    best = whole[int(np.argmax(world.rate(whole)))]
    yield "best count", _at(points.loc["throughput"], np.inf if best == whole[-1] else best)
    answer = ask(result, {"gpus": ASKED}, Question(work="gpus" if world.kind == "weak" else "gpus/gpus"))
    cost = (ASKED - 16.0) / float(world.rate(ASKED)[0] - world.rate(16.0)[0]) * float(world.rate(16.0)[0]) / 16.0
    pays = 0.0 < cost <= MOST_COST
    chance = float(answer.numbers["pays"])
    if not pays:
        yield "false 'pays'", chance >= SURE
    else:
        yield "false 'does not pay'", chance <= 1.0 - SURE
    yield "'may pay or not'", 1.0 - SURE < chance < SURE


def _at(point: pd.Series, truth: float) -> bool:
    """Tell whether the interval of a count holds the true one; counts are a step of the ladder apart."""
    return bool(point["lower"] * 0.95 <= truth <= point["upper"] * 1.05)


def without_nodes(world: World) -> Iterator[tuple[str, float]]:
    """Yield whether 64 is held from 1 to 8 where the nodes are not counted, and where one node is."""
    counts = MEASURED[:4]
    truth = float(world.time(ASKED)[0])
    unknown = fitted(world, counts, nodes=False).predict(gpus=ASKED).iloc[0]
    one = gp.fit(
        gp.read_table(world.runs(counts).assign(nodes=1), time="t", extrinsic="gpus,nodes", scaling=world.kind)
    )
    known = one.predict(gpus=ASKED, nodes=ASKED / max(counts)).iloc[0]
    yield "64 from 8, nodes not counted", held(unknown, truth)
    yield "64 from 8, one node counted", held(known, truth)
    # Up to a tenth of the width, which the draws leave open.
    open_ends = (known["upper"] / known["lower"]) ** 0.1
    wider = unknown["lower"] <= known["lower"] * open_ends and unknown["upper"] >= known["upper"] / open_ends
    yield "64 from 8, not counted is as wide", bool(wider)


def page(rows: pd.DataFrame, seeds: int) -> str:
    """Return the page."""
    table = rows.pivot_table("true", "question", "law", aggfunc="mean").reindex(columns=list(LAWS))
    table.insert(0, "all", rows.groupby("question")["true"].mean())
    lines = ["| question | " + " | ".join(table.columns) + " |", "|---" * (len(table.columns) + 1) + "|"]
    for name, row in table.iterrows():
        lines.append(f"| {name} | " + " | ".join("" if np.isnan(v) else f"{100 * v:.0f}" for v in row) + " |")
    head = (__doc__ or "").split("\n\n", 2)
    return "\n".join(
        [
            "# Is the advice true, in worlds whose law is known?",
            "",
            f"Written by `{COMMAND}`: {len(LAWS)} laws, {seeds} seeds, noise of 1, 2 and 3 %.",
            "",
            head[2].strip(),
            "",
            "Shares in %. Intervals: of answers that hold the truth. *False 'pays'*: of worlds in which growing",
            f"from 16 to {ASKED:.0f} does not pay (a further sample costs more than {MOST_COST:.0f} x one at 16),",
            f"those in which it is said to pay, with a chance of {100 * SURE:.0f} % or more; *false 'does not pay'*",
            "is the reverse. *As wide*: of worlds, those in which the interval at 64 without a count of nodes is at",
            "least as wide as with one node counted, up to a tenth of the width, which the draws leave open.",
            "",
            *lines,
            "",
        ]
    )


def main() -> None:
    """Draw the worlds, ask, and write the page."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--seeds", type=int, default=5)
    parser.add_argument("-o", "--output", type=Path, default=OUT)
    given = parser.parse_args()
    rows = []
    with threadpool_limits(1):
        for law in LAWS:
            for seed in range(given.seeds):
                world = World(law, seed, NOISE[seed % len(NOISE)])
                for question, true in [*answers(world), *without_nodes(world)]:
                    rows.append({"law": law, "question": question, "true": float(true)})
    given.output.write_text(page(pd.DataFrame(rows), given.seeds), encoding="utf-8")
    print(given.output.read_text(encoding="utf-8"))


if __name__ == "__main__":
    main()
