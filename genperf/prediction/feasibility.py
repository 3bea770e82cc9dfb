"""Whether a configuration fits: the probability that a run of it does not fail.

A run fits where its demand is below the capacity. In logarithms the margin is linear in the factors,

    η(x) = h − Σ_j β_j ln(x_j/c_j) − Σ_l γ_l − s·ln M(x),    P(fits) = Φ(η),

with the headroom h at the centres c, a demand β_j per factor and an offset γ_l per level: a probit (Bliss, 1934).
Where the factors give the layout of a transformer, M is what it needs of a device's memory, and s how sharp the limit
is. What was measured bounds it: a configuration that needs no more than one that succeeded fits, and one that needs
no less than one that failed does not.
"""

from collections.abc import Sequence
from typing import Annotated, Literal

import msgspec
import numpy as np

from genperf.arrays import Array, Columns, Mask
from genperf.discrepancy.product import Positive
from genperf.formula import evaluate, parse

Values = tuple[float | str, ...]
#: Which values of a factor need more: larger ones, smaller ones, or none that can be compared.
Direction = Literal["larger", "smaller", "unordered"]

#: The probability of what was measured: that a configuration fits which needs no more than one that succeeded.
CERTAINTY = 0.99
#: Two values of a factor are equal up to this share: files keep nine digits.
SAME = 1e-9


class Demand(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """The demand of a numeric factor."""

    slope: float  #: β: by how much the margin falls as the logarithm of the factor grows by one.
    centre: Positive  #: c.
    logarithmic: bool  #: Whether all values were above zero; otherwise x/c takes the place of ln(x/c).
    more: Direction  #: The values that need more.

    def scaled(self, values: Array) -> Array:
        """Return ln(x/c), or x/c."""
        ratio = values / self.centre
        return np.log(np.maximum(ratio, np.finfo(float).tiny)) if self.logarithmic else ratio


class Need(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """What a configuration needs of a device's memory."""

    formula: str  #: M over the factors, above zero.
    slope: Positive  #: s: by how much the margin falls as ln M grows by one.

    def demanded(self, columns: Columns) -> Array:
        """Return s·ln M(x), shape (rows,)."""
        with np.errstate(all="ignore"):
            need = np.asarray(evaluate(parse(self.formula).node, columns), float)
        return np.asarray(self.slope * np.log(np.maximum(need, np.finfo(float).tiny)))


class Feasibility(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """The probability that a configuration fits, learned from runs that succeeded and runs that failed."""

    runs: int  #: How many runs failed.
    headroom: float  #: h: the margin at the centres.
    demands: dict[str, Demand]  #: By numeric factor.
    #: γ by categorical factor and level. One that was not measured needs as much as the most demanding measured one.
    offsets: dict[str, dict[str, float]]
    #: `succeeded`, `failed`: the most demanding configurations that succeeded, and the least demanding ones that
    #: failed: values in the order of `demands`, then `offsets`.
    succeeded: tuple[Values, ...] = ()
    failed: tuple[Values, ...] = ()
    contradicted: tuple[Values, ...] = ()  #: Configurations that failed, although one succeeded that needs no less.
    need: Need | None = None  #: Of a transformer's layout.
    #: The probability that a configuration fits which needs no more than one that succeeded, and fails which needs
    #: no less than one that failed: `CERTAINTY`, or less where measured outcomes contradicted it.
    certain: Annotated[float, msgspec.Meta(ge=0.0, le=1.0)] = CERTAINTY
    #: The probability that the runs that failed did so by chance, whatever their configuration.
    by_chance: Annotated[float, msgspec.Meta(ge=0.0, le=1.0)] = 0.0

    @property
    def names(self) -> tuple[str, ...]:
        """The factors that it reads."""
        return (*self.demands, *self.offsets)

    def probability(self, columns: Columns) -> Array:
        """Return the probability that each configuration fits, shape (rows,)."""
        # Where no run failed, `genperf predict` need not wait for this import.
        from scipy.special import ndtr

        margin = np.full(len(next(iter(columns.values()))), self.headroom)
        for name, demand in self.demands.items():
            margin -= demand.slope * demand.scaled(np.asarray(columns[name], float))
        for name, levels in self.offsets.items():
            most = max(levels.values(), default=0.0)
            margin -= np.array([levels.get(str(level), most) for level in columns[name].tolist()])
        if self.need is not None:
            margin -= self.need.demanded(columns)
        probability = ndtr(margin)
        demanded = self.demanded(columns)
        fits = surpassed(demanded, self._demanded_by(self.succeeded), -1)
        fails = surpassed(demanded, self._demanded_by(self.failed), 1)
        probability = np.where(fits, np.maximum(self.certain, probability), probability)
        probability = np.where(fails, np.minimum(1.0 - self.certain, probability), probability)
        return np.asarray(1.0 - (1.0 - self.by_chance) * (1.0 - probability))

    def known_to_fail(self, columns: Columns) -> Mask:
        """Return which configurations need no less than one that failed, or just what a contradicted one needs."""
        demanded, contradicted = self.demanded(columns), self._demanded_by(self.contradicted)
        # One that needs more than a contradicted configuration may succeed: some that need no less did.
        needs_the_same = surpassed(demanded, contradicted, 1) & surpassed(demanded, contradicted, -1)
        return surpassed(demanded, self._demanded_by(self.failed), 1) | needs_the_same

    def demanded(self, columns: Columns) -> Array:
        """Return what configurations need, (rows, demands): of a factor without an order x and −x."""
        demand_columns: list[Array] = []
        for name, demand in self.demands.items():
            values = np.asarray(columns[name], float)
            if demand.more != "smaller":
                demand_columns.append(values)
            if demand.more != "larger":
                demand_columns.append(-values)
        for name, levels in self.offsets.items():
            places = {level: float(k) for k, level in enumerate(levels)}
            codes = np.array([places.get(str(level), -1.0) for level in columns[name].tolist()])
            demand_columns += [codes, -codes]
        return np.column_stack(demand_columns)

    def _demanded_by(self, configurations: Sequence[Values]) -> Array:
        columns = np.array(configurations, dtype=object).reshape(-1, len(self.names)).T
        return self.demanded(dict(zip(self.names, columns, strict=True)))


def surpassed(demanded: Array, others: Array, sign: int) -> Mask:
    """Return which configurations need no less (1), or no more (−1), than any of some others."""
    holds = np.zeros(len(demanded), dtype=bool)
    for need in others:
        holds |= np.all(sign * (demanded - need) >= -SAME * np.abs(need), axis=1)
    return holds
