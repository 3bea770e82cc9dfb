"""How the change from one scale to a larger one may be shared between groups: in seconds, as a share, or in between."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

Array = npt.NDArray[np.float64]

#: Below about twice this share of the first time, `log` counts a change as so many seconds, and above it by its
#: logarithm.
BEND = 0.03


@dataclass(frozen=True)
class Change:
    """A way to count the change from a time to a later one, and to add it to another time.

    Attributes
    ----------
    name : str
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


def _log_of(first: Array, second: Array) -> Array:
    return np.asarray(np.arcsinh((second - first) / (2.0 * BEND * first)) + np.log(BEND * first))


def _log_onto(first: Array, change: Array) -> Array:
    # Beyond 700 the exponential is no longer a number; such a time is as good as infinite.
    return np.asarray(first + 2.0 * BEND * first * np.sinh(np.clip(change - np.log(BEND * first), -700.0, 700.0)))


#: Communication costs the same seconds whatever is computed: hence the odds of `seconds`.
CHANGES = (
    Change("seconds", lambda first, second: second - first, lambda first, change: first + change, 4.0),
    Change(
        "relative",
        lambda first, second: np.asarray(np.log(second / first)),
        lambda first, change: np.asarray(first * np.exp(np.clip(change, -700.0, 700.0))),
    ),
    Change("log", _log_of, _log_onto),
)
