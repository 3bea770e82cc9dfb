"""A fitted expression: its constants, their uncertainty, and how the search for them went."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

import numpy as np
import numpy.typing as npt

from genperf.expression import Expression
from genperf.prediction.kriging import Kriging
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
    kriging : Kriging or None
        Of a table of many factors: what configurations near the asked one lie off the expression by, a factor on the
        whole time. Members may share one.
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
    kriging: Kriging | None = None

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
        return np.asarray(np.exp(log_times([self], columns)[0]))

    def log_draws(self, columns: Mapping[str, Any]) -> Array:
        """Return the ln of the expression's seconds in every draw, shape (draws, rows)."""
        with np.errstate(all="ignore"):
            return np.asarray(np.log(self.expression.evaluate(columns, self.draw_values())))

    def forecast(self, columns: Mapping[str, Any]) -> tuple[Array, Array]:
        """Return the mean and variance of ln T for every draw, each of shape (draws, rows).

        The variance holds what the expression does not know of the mean time, by its walk or by kriging; else it is 0.
        """
        return forecasts([self], columns)[0]

    def draw_values(self) -> dict[str, Array]:
        """Return the draws by name, each of shape (draws, 1)."""
        return {name: self.draws[:, j : j + 1] for j, name in enumerate(self.expression.constant_names)}

    def constant_interval(self, level: float = 0.9) -> Array:
        """Return the lower and upper ends of each constant's interval, shape (n, 2)."""
        tail = (1.0 - level) / 2.0
        return np.quantile(self.draws, [tail, 1.0 - tail], axis=0).T


def krigings_of(members: Sequence[Member]) -> list[Kriging]:
    """Return the kriging of members, once where they share one."""
    return list({id(m.kriging): m.kriging for m in members if m.kriging is not None}.values())


def which_kriging(member: Member, krigings: Sequence[Kriging]) -> int | None:
    """Return which one is the member's; None where it has none."""
    return next((k for k, kriging in enumerate(krigings) if kriging is member.kriging), None)


def log_times(members: Sequence[Member], columns: Mapping[str, Any]) -> Array:
    """Return the ln of the seconds of every member's best constants, shape (members, rows)."""
    krigings = krigings_of(members)
    level = [k.mean(columns) for k in krigings]
    found = []
    for member in members:
        own = which_kriging(member, krigings)
        found.append(np.log(member.expression.evaluate(columns, member.values)) + (0.0 if own is None else level[own]))
    return np.array(found)


def forecasts(members: Sequence[Member], columns: Mapping[str, Any]) -> list[tuple[Array, Array]]:
    """Return the mean and variance of ln T for every draw of every member, each of shape (draws, rows)."""
    krigings = krigings_of(members)
    level = [k.forecast(columns) for k in krigings]
    found = []
    for member in members:
        own, drawn = which_kriging(member, krigings), member.log_draws(columns)
        if member.walk is not None:
            found.append(member.walk.forecast(member.log_draws(member.walk.anchors), drawn, columns))
        elif own is None:
            found.append((drawn, np.zeros_like(drawn)))
        else:
            mean, variance = level[own]
            found.append((drawn + mean, np.broadcast_to(variance, drawn.shape).copy()))
    return found
