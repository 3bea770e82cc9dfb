"""How the change from one scale to a larger one may be shared between groups: in seconds, as a share, or in between."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

Array = npt.NDArray[np.float64]


@dataclass(frozen=True)
class ChangeSettings:
    """How changes are counted.

    Attributes
    ----------
    bend : float
        Below about twice this share of the first time, `log` counts a change as so many seconds, and above it by its
        logarithm. A guess: a few percent is the noise of a step.
    seconds_odds : float
        Odds of `seconds` against the others before anything is predicted: communication costs the same seconds
        whatever is computed (`docs/decisions.md`).
    largest_exponent : float
        Beyond it the exponential is no longer a number; such a time is as good as infinite.
    """

    bend: float = 0.03
    seconds_odds: float = 4.0
    largest_exponent: float = 700.0


SETTINGS = ChangeSettings()


@dataclass(frozen=True)
class Change:
    """A way to count the change from a time to a later one, and to add it to another time.

    Attributes
    ----------
    of : callable
        (first, second) → change.
    onto : callable
        (first, change) → second.
    odds : float
        Before anything is predicted, against the others.
    """

    name: str
    of: Callable[[Array, Array], Array]
    onto: Callable[[Array, Array], Array]
    odds: float = 1.0


def _exponential(change: Array) -> Array:
    return np.asarray(np.exp(np.clip(change, -SETTINGS.largest_exponent, SETTINGS.largest_exponent)))


def _log_of(first: Array, second: Array) -> Array:
    unit = SETTINGS.bend * first
    return np.asarray(np.arcsinh((second - first) / (2.0 * unit)) + np.log(unit))


def _log_onto(first: Array, change: Array) -> Array:
    unit = SETTINGS.bend * first
    limit = SETTINGS.largest_exponent
    return np.asarray(first + 2.0 * unit * np.sinh(np.clip(change - np.log(unit), -limit, limit)))


#: Every way to count a change.
CHANGES = (
    Change(
        "seconds",
        lambda first, second: second - first,
        lambda first, change: first + change,
        SETTINGS.seconds_odds,
    ),
    Change(
        "relative",
        lambda first, second: np.asarray(np.log(second / first)),
        lambda first, change: np.asarray(first * _exponential(change)),
    ),
    Change("log", _log_of, _log_onto),
)
