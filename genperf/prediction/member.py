"""A fitted expression: its constants, their uncertainty, and how the search for them went."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

import numpy as np
import numpy.typing as npt

from genperf.expression import Expression
from genperf.prediction.shift import Shift
from genperf.prediction.walk import Walk

Array = npt.NDArray[np.float64]


@dataclass(frozen=True)
class Status:
    """How the search for the constants ended.

    Attributes
    ----------
    solver : str
    cost : float
    settled : bool
        Whether the last steps of the polish moved nothing.
    evaluations : int
    restarts, agreed : int
        Searches made, and how many of them reached the best cost: fewer than all means several optima.
    """

    solver: str
    cost: float
    settled: bool
    evaluations: int
    restarts: int
    agreed: int


@dataclass(frozen=True, eq=False)
class Member:
    """One expression with its constants.

    Attributes
    ----------
    expression : Expression
    constants : ndarray of shape (n,)
        Best values, in the order of the expression's constants.
    draws : ndarray of shape (draws, n)
        Plausible values: bootstrap replicates over configurations, or draws from a posterior.
    weight : float
        Share of the ensemble.
    status : Status
    at_bound, unidentified : tuple of str
        Constants that ended at a bound, and constants the data does not determine.
    label : str
        What messages call it; the family where empty.
    walk : Walk or None
        Of a series: how the truth may wander from the expression, and the measured series that holds it.
    shift : Shift or None
        Of a table of many factors: the level effects of a count, a factor on the whole time.
    """

    expression: Expression
    constants: Array
    draws: Array
    weight: float
    status: Status
    at_bound: tuple[str, ...] = ()
    unidentified: tuple[str, ...] = ()
    label: str = field(default="")
    walk: Walk | None = None
    shift: Shift | None = None

    @property
    def name(self) -> str:
        """What messages call it."""
        return self.label or self.expression.family

    @property
    def values(self) -> dict[str, float]:
        """The constants by name."""
        return dict(zip(self.expression.constant_names, map(float, self.constants), strict=True))

    def times(self, columns: Mapping[str, Any]) -> Array:
        """Return the seconds of the best constants, shape (rows,)."""
        return self.expression.evaluate(columns, self.values) * self.level(columns)

    def time_draws(self, columns: Mapping[str, Any]) -> Array:
        """Return the seconds of every draw, shape (draws, rows)."""
        return self.expression.evaluate(columns, self.draw_values()) * self.level(columns)

    def level(self, columns: Mapping[str, Any]) -> Array | float:
        """Return what the shift multiplies every time and every term by, shape (rows,); 1 without one."""
        return 1.0 if self.shift is None else np.exp(self.shift.logarithm(columns))

    def forecast(self, columns: Mapping[str, Any]) -> tuple[Array, Array]:
        """Return the mean and variance of ln T for every draw, each of shape (draws, rows).

        The variance holds what the expression does not know of the mean time; it is zero without a walk.
        """
        with np.errstate(all="ignore"):
            drawn = np.log(self.time_draws(columns))
        if self.walk is None:
            return drawn, np.zeros_like(drawn)
        return self.walk.forecast(np.log(self.time_draws(self.walk.anchors)), drawn, columns)

    def draw_values(self) -> dict[str, Array]:
        """Return the draws by name, each of shape (draws, 1)."""
        return {name: self.draws[:, j : j + 1] for j, name in enumerate(self.expression.constant_names)}

    def constant_interval(self, level: float = 0.9) -> Array:
        """Return the lower and upper ends of each constant's interval, shape (n, 2)."""
        tail = (1.0 - level) / 2.0
        return np.quantile(self.draws, [tail, 1.0 - tail], axis=0).T
