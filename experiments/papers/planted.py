"""Measured steps that one known thing makes slower, and what `genperf explain --versus` says of them."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass

import pandas as pd

import genperf as gp
from genperf.attribution import compare
from genperf.attribution.answers import Comparison

#: Class of a pair (`planted` in causes.csv) → the cause that is to be named.
CLASSES = {
    "slow storage": "input",
    "slow kernel": "computation",
    "slow link": "exchange",
    "no prefetch": "no prefetch",
    "no overlap": "no overlap",
    "larger batch": "computation",
}
SOUND, LARGER = "none", "larger batch"
#: Cause → the terms whose seconds it changes.
TERMS = {
    "input": ("input", "transfer"),
    "computation": ("forward", "backward", "update"),
    "exchange": ("ring", "latency", "bandwidth"),
}
#: A missing overlap → the phase that is no longer hidden.
OVERLAPS = {"no prefetch": "input", "no overlap": "exchange"}
#: Cause → the missing overlap whose hidden seconds change with it.
BESIDE = {"input": "no prefetch", "computation": "no overlap", "exchange": "no overlap"}
#: Measured times that differ by less, relative to the smaller one, have no cause.
CLEAR = 0.05
BATCHES = (2, 4)


@dataclass(frozen=True)
class Named:
    """A pair, and what was said of it."""

    framework: str
    planted: str
    #: `workers`, `batch`: Of the slower one.
    workers: int
    batch: int
    #: Measured, s.
    gap: float
    #: The named one.
    cause: str
    #: Of the planted cause, as the models have it.
    seconds: float

    @property
    def right(self) -> bool:
        """Whether the planted cause was named."""
        return self.cause == CLASSES[self.planted]

    @property
    def off(self) -> float:
        """Relative error of the seconds."""
        return abs(self.seconds / self.gap - 1.0)


def seconds_of(terms: Mapping[str, float], hidden: Mapping[str, float]) -> dict[str, float]:
    """Return how many seconds longer each cause makes a step: of phases, and of what is no longer hidden."""
    changes = {cause: sum(terms.get(name, 0.0) for name in names) for cause, names in TERMS.items()}
    for missing, phase in OVERLAPS.items():
        of_phase = [
            label
            for label in hidden
            if any({*branch.split(" + ")} <= set(TERMS[phase]) for branch in label.split(" | "))
        ]
        changes[missing] = sum(hidden[label] for label in of_phase)
    return changes


def named(comparison: Comparison) -> tuple[str, dict[str, float]]:
    """Return the cause whose seconds change most, and the change of each."""
    terms, hidden = (f.set_index(f.columns[0])["change"].to_dict() for f in (comparison.terms, comparison.hidden))
    changes = seconds_of(terms, hidden)
    return max(changes, key=lambda cause: abs(changes[cause])), changes


def pairs() -> Iterator[Named]:
    """Compare the sound configuration with each other, at every count and batch where they clearly differ."""
    frame = gp.datasets.frame("causes")
    for framework, runs in frame.groupby("framework"):
        where = f"framework == '{framework}'"
        table = gp.datasets.load("causes", where=where, categorical="", group="planted")
        fits = gp.fit(table, "s-sgd", seed=0, draws=20)
        steps = runs.groupby(["planted", "workers", "batch_per_worker"])["step_time_s"].median()
        for planted in CLASSES:
            for workers in sorted(set(runs["workers"])):
                for batch in BATCHES if planted != LARGER else BATCHES[1:]:
                    config, smaller = (SOUND, BATCHES[0]) if planted == LARGER else (planted, batch)
                    # Not every configuration was measured on every count.
                    quick, slow = (steps.get((name, workers, b)) for name, b in ((SOUND, smaller), (config, batch)))
                    if quick is None or slow is None or slow < (1.0 + CLEAR) * quick:
                        continue
                    at = [{"workers": workers, "batch_per_worker": size} for size in (smaller, batch)]
                    other = None if planted == LARGER else fits[config,]
                    cause, changes = named(compare(fits[SOUND,], *at, other=other))
                    seconds = _seconds(planted, changes)
                    yield Named(str(framework), planted, workers, batch, float(slow - quick), cause, seconds)


def _seconds(planted: str, changes: Mapping[str, float]) -> float:
    """Return the seconds of the planted cause, with those of the overlap that it takes part in."""
    if planted == LARGER:
        return sum(changes.values())
    cause = CLASSES[planted]
    return changes[cause] + (changes[BESIDE[cause]] if cause in BESIDE else 0.0)


def by_class(found: list[Named]) -> pd.DataFrame:
    """Return a row per class: pairs, named right, and seconds within 20 %."""
    frame = pd.DataFrame(
        {"planted": p.planted, "framework": p.framework, "right": p.right, "near": p.off <= 0.2, "off": p.off}
        for p in found
    )
    return frame.groupby("planted", sort=False).agg(
        pairs=("right", "size"), right=("right", "sum"), near=("near", "sum"), off=("off", "median")
    )
