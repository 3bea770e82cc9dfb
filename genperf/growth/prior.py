"""What is known of a series before it is measured: sizes of the overheads, which of them arise, and how it wanders."""

from __future__ import annotations

import json
from collections.abc import Mapping
from dataclasses import dataclass
from functools import cache
from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt

Array = npt.NDArray[np.float64]


@dataclass(frozen=True)
class PriorSettings:
    """The parts of the prior that are not in `prior.json`."""

    #: Standard deviation of ln of the common strength of communication, in which the overheads take part.
    strength: float = 0.60
    #: Share of the networks between nodes of which nothing is known. Set, not learned: no corpus holds all networks.
    unseen: float = 0.4
    #: `unseen_median`, `unseen_spread`: of ln of such a network's step to the second node, relative to the computation.
    unseen_median: float = -2.3
    unseen_spread: float = 3.3
    #: `usual_time`, `usual_range`: overheads are about constant in seconds, thus relatively smaller for steps longer
    #: than the usual time; far from it, in units of ln, nothing is concluded.
    usual_time: float = 0.3
    usual_range: float = 1.8
    #: Standard deviation of the slope of ln T beyond the data per doubling, in units of the walk's step.
    slope: float = 0.75

    def shorter(self, seconds: Array) -> Array:
        """Return h = −τ·exp(−½(τ/range)²), τ = ln(T/usual): how far ln of an overhead's relative size is moved."""
        tau = np.log(seconds / self.usual_time)
        return np.asarray(-tau * np.exp(-0.5 * (tau / self.usual_range) ** 2))


@dataclass(frozen=True, eq=False)
class Prior:
    """The prior of a series; arrays of overheads are in the order of `names`."""

    #: Of the overheads.
    names: tuple[str, ...]
    #: Shape (overheads,). Of each size relative to the computation at the largest scale: its median, the standard
    #: deviation of its logarithm, and how much it takes part in the common strength.
    median: Array
    spread: Array
    strength: Array
    #: Shape (overheads,). How much of `PriorSettings.shorter` moves it.
    seconds: Array
    #: Shape (classes,). Of series with overheads, with a cost per doubling, with few overheads.
    class_share: Array
    #: Shape (classes, overheads). Probability that an overhead arises.
    present: Array
    #: Shape (walks,). Standard deviation of ln T per doubling, and the prior share.
    walk_step: Array
    walk_share: Array
    #: Standard deviation of one configuration, over that of its walk per doubling.
    noise: float
    settings: PriorSettings = PriorSettings()


def prior_of(plain: Mapping[str, Any]) -> Prior:
    """Return the prior that plain values describe, as `prior.json` holds them."""
    classes, walks = plain["classes"].values(), plain["walks"]
    return Prior(
        tuple(plain["overheads"]),
        np.array(plain["median"]),
        np.array(plain["spread"]),
        np.array(plain["strength"]),
        np.array(plain["seconds"]),
        np.array([each["share"] for each in classes]),
        np.array([each["present"] for each in classes]),
        np.array(walks["step"]),
        np.array(walks["share"]),
        walks["noise"],
    )


@cache
def shipped() -> Prior:
    """Return the prior that is shipped."""
    return prior_of(json.loads(Path(__file__).with_name("prior.json").read_text(encoding="utf-8")))
