"""A fitted expression: its constants, their uncertainty, and how the search for them went."""

from __future__ import annotations

from collections.abc import Sequence
from functools import cached_property
from typing import Annotated, Any

import msgspec
import numpy as np
from msgspec import Struct, field
from msgspec.structs import replace

from genperf.arrays import AnyArray, Array, Columns
from genperf.discrepancy import Discrepancy, Process, Stack
from genperf.expression import Expression
from genperf.facts import ends_of
from genperf.prediction.bands import MixtureForecast, quantiles

#: Size of a number that is a logarithm of a time, or its standard deviation. Times are 1e-30 to 1e30: ln T spans 140.
LARGEST_LOGARITHM = 1000.0
#: A standard deviation or an error of ln T.
Deviation = Annotated[float, msgspec.Meta(ge=0.0, le=LARGEST_LOGARITHM)]


class Status(msgspec.Struct, frozen=True, forbid_unknown_fields=True, omit_defaults=True):
    """How the search for the constants ended."""

    solver: str
    cost: float
    #: Whether the last steps of the polish moved nothing.
    settled: bool
    evaluations: int
    #: `restarts`, `agreed`: searches made, and how many of them reached the best cost: fewer than all means several
    #: optima.
    restarts: int
    agreed: int
    #: `population`, `mutation`, `crossover`: of differential evolution: members of each search, the range of the factor
    #: of a step between two members, the chance of a constant to come from the mutant.
    population: int = 0
    mutation: tuple[float, float] | None = None
    crossover: float | None = None


class Spread(msgspec.Struct, frozen=True):
    """Standard deviations of ln T beside the constants' uncertainty."""

    noise: Deviation = 0.0  #: Of repeats of one configuration.
    #: Of a configuration inside the measured range that was not fitted: noise and form together, less what the
    #: discrepancy explains.
    misfit: Deviation = 0.0
    #: What each doubling beyond the measured range adds, from predicting the largest scale from the smaller ones.
    per_doubling: Deviation = 0.0
    #: Of the form of one expression of several factors (`genperf.discrepancy.form`): the part of the misfit that
    #: neighbouring configurations have in common.
    form: Deviation = 0.0


class Member(Struct, frozen=True, eq=False, dict=True):
    """One expression with its constants."""

    expression: Expression
    constants: Array  #: Shape (n,). Best values, in the order of the expression's constants.
    #: Shape (draws, n). Plausible values: bootstrap replicates over configurations, or draws from a posterior.
    draws: Array
    #: Share of the ensemble.
    weight: float
    status: Status
    #: `at_bound`, `unidentified`: constants that ended at a bound, and constants the data does not determine.
    at_bound: tuple[str, ...] = ()
    unidentified: tuple[str, ...] = ()
    label: str = field(default="")  #: What messages call it; the family where empty.
    #: What the expression of a series leaves out, on which each draw conditions by itself. Members may share one.
    discrepancy: Discrepancy | None = None
    #: Shape (draws,). What a draw's share is multiplied by for the central value: a heavy tail belongs to the interval.
    central: Array | None = None
    #: Its place in the stack of a table of many factors, where the expression is a mean.
    process: Process | None = None

    @property
    def name(self) -> str:
        """What messages call it."""
        return self.label or self.expression.family

    @property
    def values(self) -> dict[str, float]:
        """The constants by name."""
        return dict(zip(self.expression.constant_names, map(float, self.constants), strict=True))

    def kept(self, draws: AnyArray) -> Member:
        """Return the member with some of its draws, by position."""
        return replace(
            self,
            draws=self.draws[draws],
            discrepancy=None if self.discrepancy is None else self.discrepancy.kept(draws),
            central=None if self.central is None else self.central[draws],
        )

    def log_draws(self, columns: Columns) -> Array:
        """Return ln of the expression in every draw, shape (draws, rows)."""
        with np.errstate(all="ignore"):
            return np.asarray(np.log(self.expression.evaluate(columns, self.draw_values())))

    @cached_property
    def log_at_anchors(self) -> Array:
        """The same where its discrepancy was measured, shape (draws, anchors)."""
        assert self.discrepancy is not None
        return self.log_draws(self.discrepancy.anchors)

    def forecast(self, columns: Columns) -> tuple[Array, Array]:
        """Return the mean and variance of ln T for every draw, of shape (draws, rows) or (1, rows)."""
        if self.discrepancy is None:
            curve = self.log_draws(columns)
            return curve, np.zeros((1, curve.shape[1]))
        limited = self.discrepancy.limited(columns, self.log_at_anchors, self.log_draws(columns))
        return self.discrepancy.forecast(columns, self.log_at_anchors, limited)

    def mean_variance(self, spread: Spread, doublings: Array) -> Array:
        """Return the variance that distance from the data adds, shape (1, rows); a series' own discrepancy has it."""
        return np.square((0.0 if self.discrepancy is not None else spread.per_doubling) * doublings)[None, :]

    def run_variance(self, spread: Spread) -> Array:
        """Return the variance that one new run adds, shape (draws, 1) or (1, 1)."""
        if self.discrepancy is not None:
            return self.discrepancy.run_variance(spread.noise)
        return np.array([[max(spread.misfit, spread.noise) ** 2]])

    def draw_values(self) -> dict[str, Array]:
        """Return the draws by name, each of shape (draws, 1)."""
        return {name: self.draws[:, j : j + 1] for j, name in enumerate(self.expression.constant_names)}

    def constant_interval(self, level: float = 0.9) -> Array:
        """Return the ends of each constant's interval, shape (n, 2), moved so that its value is in it."""
        # Between the ordered draws below and above each end, shape (2,).
        place = np.array(ends_of(level)) * (len(self.draws) - 1)
        below = place.astype(int)
        above = np.minimum(below + 1, len(self.draws) - 1)
        draws = np.partition(np.ascontiguousarray(self.draws.T), [*below.tolist(), *above.tolist()], axis=1)
        low, high = (draws[:, below] + (place - below) * (draws[:, above] - draws[:, below])).T
        return np.array([np.minimum(low, self.constants), np.maximum(high, self.constants)]).T

    def constant_rows(self, level: float = 0.9) -> list[tuple[Any, ...]]:
        """Return of each constant the member, its name, value, lower and upper end, unit and state."""
        states = {"at its bound": self.at_bound, "not determined": self.unidentified}
        rows = list[tuple[Any, ...]]()
        ends = self.constant_interval(level).tolist()
        for constant, value, interval in zip(self.expression.constants, self.constants.tolist(), ends, strict=True):
            state = ", ".join(text for text, names in states.items() if constant.name in names)
            rows.append((self.name, constant.name, value, *interval, constant.unit, state))
        return rows


class Labelled(Struct, frozen=True):
    """The members with one label."""

    label: str
    weight: float  #: Their share of the ensemble, together.
    places: tuple[int, ...]  #: Where they stand in the ensemble, the heaviest first.


def by_label(members: Sequence[Member]) -> list[Labelled]:
    """Return the labels of an ensemble, the heaviest first; weights of equal labels are added up."""
    total = sum(m.weight for m in members)
    places: dict[str, list[int]] = {}
    for place in sorted(range(len(members)), key=lambda k: -members[k].weight):
        places.setdefault(members[place].name, []).append(place)
    labels = [Labelled(name, sum(members[k].weight for k in ks) / total, tuple(ks)) for name, ks in places.items()]
    return sorted(labels, key=lambda entry: -entry.weight)


def discrepancies_of(members: Sequence[Member]) -> list[Discrepancy]:
    """Return the discrepancies of members, once where they share one."""
    return list({id(m.discrepancy): m.discrepancy for m in members if m.discrepancy is not None}.values())


def stack_of(members: Sequence[Member]) -> Stack | None:
    """Return the stack that members are the means of; None for others."""
    process = members[0].process if members else None
    return None if process is None else process.stack


def pooled(members: Sequence[Member], columns: Columns) -> tuple[Array, Array, Array]:
    """Return ln T of stacked members, and the variances of its mean and of a new run, each of shape (rows,)."""
    stack, curves, places = stacked(members, columns)
    return stack.pooled(curves, columns, places)


def pooled_covariance(members: Sequence[Member], columns: Columns, smooth: bool = False) -> Array:
    """Return the covariance of ln T of stacked members between rows, perhaps of the smooth part of their processes."""
    stack, curves, places = stacked(members, columns)
    return stack.together(curves, columns, places, smooth)


def pooled_root(members: Sequence[Member], columns: Columns, places: int) -> Array:
    """Return R of shape (rows, k) with R·Rᵀ about the covariance of stacked members between many rows.

    R = K(x, Z)·K(Z, Z)^(−1/2),   Z some of the rows, drawn in a fixed order (Nyström's approximation)
    """
    rows = len(next(iter(columns.values())))
    chosen = np.random.default_rng(0).permutation(rows)[:places]
    some = {name: np.asarray(values)[chosen] for name, values in columns.items()}
    values, vectors = np.linalg.eigh(pooled_covariance(members, some))
    used = values > 1e-8 * values.max()
    root, out = vectors[:, used] / np.sqrt(values[used]), []
    for start in range(0, rows, places):
        both = {n: np.concatenate([some[n], np.asarray(v)[start : start + places]]) for n, v in columns.items()}
        out.append(pooled_covariance(members, both)[places:, :places] @ root)
    return np.vstack(out)


def stacked(members: Sequence[Member], columns: Columns) -> tuple[Stack, Array, list[int]]:
    """Return the stack of members, ln of the expression of each of its parts, and the parts that count."""
    stack = stack_of(members)
    assert stack is not None
    curves = np.zeros((len(stack.parts), len(next(iter(columns.values())))))
    places = set[int]()
    for member in members:
        assert member.process is not None
        places.add(member.process.place)
        with np.errstate(all="ignore"):
            curves[member.process.place] = np.log(member.expression.evaluate(columns, member.values))
    return stack, curves, sorted(places)


def log_times(members: Sequence[Member], columns: Columns) -> Array:
    """Return ln T of every member's best constants with its process, shape (members, rows)."""
    with np.errstate(all="ignore"):
        curves = np.array([np.log(m.expression.evaluate(columns, m.values)) for m in members])
    stack = stack_of(members)
    if stack is None:
        return curves
    process, _ = stack.forecast(columns)
    return np.asarray(curves + process[[m.process.place for m in members if m.process is not None]])


def forecasts(members: Sequence[Member], columns: Columns) -> list[tuple[Array, Array]]:
    """Return the mean and variance of ln T for every draw of each member, (draws, rows) or (1, rows)."""
    if stack_of(members) is not None:
        centre, variance, _ = pooled(members, columns)
        return _of_each(members, centre, variance)
    return [member.forecast(columns) for member in members]


def _of_each(members: Sequence[Member], centre: Array, variance: Array) -> list[tuple[Array, Array]]:
    """Return what a pool predicts as the forecast of every draw of each of its members."""
    return [(np.tile(centre, (len(m.draws), 1)), np.tile(variance, (len(m.draws), 1))) for m in members]


def forecast_of(
    members: Sequence[Member],
    spread: Spread,
    columns: Columns,
    doublings: Array,
    predictions: Sequence[tuple[Array, Array]] | None = None,
) -> MixtureForecast:
    """Return what all draws of some members predict, as arrays; `predictions` are their `forecasts`, where known."""
    if stack_of(members) is not None:
        centre, variance, total = pooled(members, columns)
        of_members = _of_each(members, centre, variance)
        return MixtureForecast(centre[None], np.ones(1), variance[None], total[None], centre, parts=of_members)
    predictions = forecasts(members, columns) if predictions is None else predictions
    means = np.vstack([mean for mean, _ in predictions])
    # The draws of all members have one variance where none has a discrepancy.
    series = any(m.discrepancy is not None for m in members)
    distinct = list(zip(members, predictions, strict=True)) if series else [(members[0], (means[:1], np.zeros((1, 1))))]
    variances, totals = list[Array](), list[Array]()
    for member, (mean, variance) in distinct:
        variances.append(np.broadcast_to(variance + member.mean_variance(spread, doublings), mean.shape))
        totals.append(variances[-1] + member.run_variance(spread))
    shares = np.concatenate([np.full(len(m.draws), m.weight / len(m.draws)) for m in members])
    central = shares * np.concatenate([np.ones(len(m.draws)) if m.central is None else m.central for m in members])
    middle = None if series else _log_mean(members, columns)
    return MixtureForecast(means, shares, np.vstack(variances), np.vstack(totals), middle, central, predictions)


def _log_mean(members: Sequence[Member], columns: Columns) -> Array:
    """Return the weighted mean of ln T of the members, shape (rows,)."""
    weights = np.array([m.weight for m in members])
    return np.asarray(weights @ log_times(members, columns) / weights.sum())


def central_times(
    members: Sequence[Member], columns: Columns, predictions: Sequence[tuple[Array, Array]] | None = None
) -> Array:
    """Return the central values: the members' geometric mean, the median of series' draws, or a stack's pool."""
    if stack_of(members) is not None:
        return np.asarray(np.exp(pooled(members, columns)[0] if predictions is None else predictions[0][0][0]))
    if all(m.discrepancy is None for m in members):
        return np.asarray(np.exp(_log_mean(members, columns)))
    return forecast_of(members, Spread(), columns, np.zeros(1), predictions).central()


def central_of_each(members: Sequence[Member], columns: Columns, predictions: Sequence[tuple[Array, Array]]) -> Array:
    """Return what every member predicts by itself, (members, rows): of a series the median of what its draws expect."""
    out = []
    for member, (mean, variance) in zip(members, predictions, strict=True):
        if member.discrepancy is None:
            out.append(central_times([member], columns, [(mean, variance)]))
        else:
            shares = np.ones(len(mean)) if member.central is None else member.central
            out.append(np.exp(quantiles(mean, shares, [0.5])[0]))
    return np.array(out)
