"""Steps that one known thing makes slower, and what `genperf explain --versus` says of them.

In measured ones it was planted. In published ones compiled kernels compute faster, and a better loader reads faster.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any

import pandas as pd

import genperf as gp
from experiments.shared import beside
from genperf.attribution import compare
from genperf.attribution.answers import Comparison

_FILE = beside(__file__)
#: Class of a pair (`planted` in causes.csv) → the cause that is to be named.
CLASSES: dict[str, str] = _FILE["classes"]
SOUND, LARGER = "none", "larger batch"
#: Cause → the terms whose seconds it changes; a missing overlap → the phase that is no longer hidden; cause → the
#: missing overlap whose hidden seconds change with it.
TERMS, OVERLAPS, BESIDE = _FILE["terms"], _FILE["overlaps"], _FILE["beside"]
#: Measured times that differ by less, relative to the smaller one, have no cause.
CLEAR = 0.05
BATCHES = (2, 4)


#: What a term's seconds are spent on in published runs, and pairs of these whose cause is known.
CAUSES = _FILE["causes"]
PUBLISHED = [(one["cause"], one["slower"], one["quicker"], one["batch"]) for one in _FILE["published"]]


def published() -> gp.Table:
    """Return the runs of the published pairs, a group for each configuration."""
    configs = {name for _, *both, _ in PUBLISHED for name in both}
    table = gp.datasets.load("dlperf", categorical="", group="config", where="data != 'synthetic'")
    return table.take(table.frame["config"].isin(configs).to_numpy())


def largest(changes: Mapping[str, float]) -> str:
    """Return the cause whose seconds change most."""
    return max(changes, key=lambda cause: abs(changes[cause]))


def cause_of(terms: Mapping[str, float]) -> str:
    """Return the cause whose seconds change most between published runs."""
    return largest({cause: sum(terms.get(name, 0.0) for name in names) for cause, names in CAUSES.items()})


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
    return largest(changes), changes


def pairs() -> Iterator[dict[str, Any]]:
    """Compare the sound configuration with each other, at every count and batch where they clearly differ.

    Of a pair: whether the planted cause was named, and the relative error of its seconds.
    """
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
                    off = abs(_seconds(planted, changes) / float(slow - quick) - 1.0)
                    pair = {"framework": framework, "planted": planted, "workers": workers}
                    yield {**pair, "right": cause == CLASSES[planted], "near": off <= 0.2, "off": off}


def _seconds(planted: str, changes: Mapping[str, float]) -> float:
    """Return the seconds of the planted cause, with those of the overlap that it takes part in."""
    if planted == LARGER:
        return sum(changes.values())
    cause = CLASSES[planted]
    return changes[cause] + (changes[BESIDE[cause]] if cause in BESIDE else 0.0)


def by_class(found: pd.DataFrame) -> pd.DataFrame:
    """Return a row per class: pairs, named right, and seconds within 20 %."""
    return found.groupby("planted", sort=False).agg(
        pairs=("right", "size"), right=("right", "sum"), near=("near", "sum"), off=("off", "median")
    )
