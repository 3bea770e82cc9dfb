"""Whether series that turn within two doublings beyond the data are covered, and their best count is found.

Worlds are drawn from three laws of the work done in a second, with 2 % of noise, and measured from one on in doublings:

    peak          λn/(1 + σ(n − 1) + κn(n − 1))         Gunther's law: most at sqrt((1 − σ)/κ)
    saturation    λn/(1 + (n/c)^p)^(1/p)                a server of c slots: beyond them requests only wait
    boundary      λn/(1 + σ(n − 1)) for n ≤ b; beyond, a step is longer by a share h of what it was at b

The turn lies one to four times beyond the largest count. Worlds with an even seed were there to choose settings, those
with an odd seed confirm them. Bundled series are those of `genperf.datasets.world()` whose work in a second has its
largest value inside; the counts from there on are held out. No bundled table is of a time that turns.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass

import numpy as np
import pandas as pd

import genperf as gp
from experiments.shared import beside, computed, markdown_of, page
from genperf.arrays import Array
from genperf.datasets import world

#: Worlds of each law, half of them to confirm.
WORLDS = 40
NOISE = 0.02
#: What the scale is called, in turn: a user's word for each kind of load.
SCALES = ("concurrency", "num_envs", "threads", "executors", "tensor_parallel")


#: Law → the formula of its rate, and what it draws beside the scale, the turn and sigma.
LAWS = beside(__file__)


@dataclass(frozen=True)
class World:
    """A drawn load."""

    law: str
    constants: Mapping[str, float]
    #: The largest measured count.
    largest: float

    def rate(self, n: Array) -> Array:
        """Return the work that n do in a second."""
        return np.asarray(computed(LAWS[self.law]["rate"], n=n, **self.constants))

    @property
    def best(self) -> float:
        """The count of the largest rate up to two doublings beyond the data; infinite where that is the last."""
        counts = np.arange(1.0, 4.0 * self.largest + 1.0)
        place = int(np.argmax(self.rate(counts)))
        return float(counts[place]) if place < len(counts) - 1 else np.inf


def drawn(law: str, seed: int) -> World:
    """Return a world whose turn lies one to four times beyond its largest measured count."""
    generator = np.random.default_rng((seed, len(law)))
    largest = 2.0 ** generator.integers(2, 6)
    turn = largest * 4.0 ** generator.uniform(0.0, 1.0)
    constants = {"scale": 10.0 ** generator.uniform(0.0, 3.0), "turn": turn, "sigma": generator.uniform(0.0, 0.1)}
    constants |= {name: generator.uniform(*ends) for name, ends in LAWS[law].get("drawn", {}).items()}
    return World(law, constants, largest)


def judged(table: pd.DataFrame, scale: str, rate: str, targets: dict[float, float]) -> Iterator[dict[str, object]]:
    """Ask about each count, and compare with what is true."""
    for count, truth in targets.items():
        answer = gp.ask(table, want=rate, at={scale: count})
        first = answer.answers[0]
        yield {
            "times": count / float(table[scale].max()),
            "covered": first.lower <= truth <= first.upper,
            "error": abs(np.log(first.value / truth)),
            "width": np.log(first.upper / first.lower),
            "blind": first.verdict == "extrapolating-blind",
            "best": answer.numbers.get("best"),
        }


def of_worlds() -> pd.DataFrame:
    """Return a row per world and target."""
    rows = []
    for law in LAWS:
        for seed in range(WORLDS):
            one = drawn(law, seed)
            counts = 2.0 ** np.arange(np.log2(one.largest) + 1.0)
            noise = np.exp(NOISE * np.random.default_rng((seed, 7)).standard_normal(len(counts)))
            scale = SCALES[seed % len(SCALES)]
            table = pd.DataFrame({scale: counts.astype(int), "requests_per_s": one.rate(counts) * noise})
            targets = {k * one.largest: float(one.rate(np.array([k * one.largest]))[0]) for k in (2.0, 4.0)}
            for row in judged(table, scale, "requests_per_s", targets):
                found = row.pop("best")
                low, high = (np.inf if found[end] is None else found[end] for end in ("lower", "upper"))
                inside = low <= one.best <= high
                rows.append({"law": law, "half": "confirmed" if seed % 2 else "chosen", **row, "best": inside})
    return pd.DataFrame(rows)


def of_series() -> pd.DataFrame:
    """Return a row per bundled series and held-out count."""
    rows = []
    for (cluster, _), runs in world().groupby(["cluster", "series"]):
        runs = runs.groupby("devices", as_index=False)["rate"].median().sort_values("devices")
        peak = int(runs["rate"].argmax())
        before = runs.iloc[:peak]
        if peak == len(runs) - 1 or len(before) < 2:
            continue
        largest = float(before["devices"].max())
        after = runs.iloc[peak:]
        after = after[after["devices"] <= 4.0 * largest]
        table = pd.DataFrame({"gpus": before["devices"].astype(int), "images_per_s": before["rate"]})
        targets = dict(zip(after["devices"].astype(float), after["rate"].astype(float), strict=True))
        # A number of a name that is the same in every run.
        half = "confirmed" if sum(str(cluster).encode()) % 2 else "chosen"
        rows += [{"half": half, **row} for row in judged(table, "gpus", "images_per_s", targets)]
    return pd.DataFrame(rows)


def shown(rows: pd.DataFrame, by: list[str]) -> str:
    """Return the shares as a table."""
    grouped = rows.groupby(by, sort=False)
    table = grouped.agg(
        predictions=("covered", "size"),
        covered=("covered", lambda c: f"{100 * c.mean():.0f} %"),
        error=("error", lambda e: f"{100 * np.expm1(e.median()):.0f} %"),
        width=("width", lambda w: f"{np.exp(w.median()):.2g} x"),
        blind=("blind", lambda c: f"{100 * c.mean():.0f} %"),
        **({"best inside": ("best", lambda c: f"{100 * c.mean():.0f} %")} if "law" in rows else {}),
    ).reset_index()
    return markdown_of(table)


def run() -> str:
    worlds, series = of_worlds(), of_series()
    return page(
        "turning",
        globals(),
        drawn=shown(worlds, ["half", "law", "times"]) + "\n\n" + shown(worlds, ["half"]),
        bundled=shown(series, ["half"]),
    )
