"""Variance-based sensitivity: which factors make the prediction vary over a domain (Sobol indices)."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, Literal

import numpy as np
import numpy.typing as npt
import pandas as pd

from genperf.arrays import Array
from genperf.attribution.answers import Sensitivity
from genperf.attribution.draws import curves_of, ends_of, quantiles, shares, thinned
from genperf.attribution.elasticity import factors_read
from genperf.errors import GenperfError, suggest
from genperf.panel import Panel
from genperf.panel.configurations import following
from genperf.prediction import central_times
from genperf.prediction.query import model_names
from genperf.result import FitResult
from genperf.table import Factor

Of = Literal["time", "log"]


@dataclass(frozen=True)
class SensitivitySettings:
    """How finely the variance is sampled."""

    #: Points of each of the two base samples, a power of two. At 1024 the Monte Carlo error of an index is about 0.01
    #: (docs/attribution.md).
    samples: int = 1024
    #: Draws of the ensemble with which the intervals are made. A guess: 64 place the ends of a 90 % interval between
    #: the third and the fourth draw from either end, at a sixteenth of the time of a thousand.
    draws: int = 64


SENSITIVITY = SensitivitySettings()


@dataclass(frozen=True)
class Sobol:
    """What `explain` tells of sensitivity."""

    #: Variance of the predicted value T, or of ln T.
    of: Of = "time"
    #: Factor → (lowest, highest), one value, or levels, in the place of what was measured.
    within: Mapping[str, Any] = field(default_factory=dict)
    #: Points of each of the two base samples, a power of two.
    samples: int = SENSITIVITY.samples
    #: Of the samples.
    seed: int = 0


def sensitivity(result: FitResult, about: Sobol | None = None, interval: float = 0.9) -> Sensitivity:
    """Share out the variance of the prediction T over a domain among the factors (Sobol 2001; Saltelli et al. 2010).

    The *first-order* index of a factor is the share of the variance that goes when it is known,
    `Var(E[T|x])/Var(T)`; the *total* index the share that is left when all others are known,
    `E[Var(T|others)]/Var(T)`. The factors vary independently: a numeric one evenly over the logarithm of its range
    (evenly over the range where it has values of zero or below; whole numbers where only whole numbers were measured),
    a categorical one evenly over its levels.

    The model is evaluated `samples·(factors + 2)` times for each draw. The intervals
    hold the uncertainty of the constants and families.

    Raises
    ------
    GenperfError
        Where no factor varies, or a range is empty.

    Examples
    --------
    For T = a·x + c, x makes all the variance.

    >>> import genperf as gp
    >>> runs = pd.DataFrame({"x": [1, 2, 4, 8], "seconds": [2.0, 3.0, 5.0, 9.0]})
    >>> result = gp.fit(gp.read_table(runs, time="seconds", intrinsic="x"), model="a*x + c")
    >>> sensitivity(result).indices[["factor", "first", "total"]].round(2)
      factor  first  total
    0      x    1.0    1.0
    """
    from scipy.stats import sobol_indices, uniform

    about = about or Sobol()
    of, samples = about.of, about.samples
    if of not in ("time", "log"):
        raise GenperfError(f"unknown quantity '{of}'", hint="time or log")
    if samples < 2 or samples & (samples - 1):
        raise GenperfError(f"{samples} samples are not a power of two", hint=str(SENSITIVITY.samples))
    columns_of = model_names(about.within, result.schema)
    within = {columns_of[name]: values for name, values in about.within.items()}
    domain = _domain(result, within)
    factors, count = result.panel, result.panel.counted
    follow = _following(domain, factors, count, within)
    varying = [d for d in domain if d.varies and d.factor.name not in follow]
    if not varying:
        raise GenperfError("no factor varies over the domain", hint="a wider domain")
    members = thinned(result.members, SENSITIVITY.draws)
    walks = any(m.discrepancy is not None for m in result.members)

    def evaluated(points: Array) -> Array:
        u = dict(zip((d.factor.name for d in varying), points, strict=True))
        columns = {d.factor.name: d.at(u.get(d.factor.name, np.zeros(points.shape[1]))) for d in domain}
        if count is not None:
            after = following(factors, count, columns, {d.factor.name for d in domain} - follow)
            columns.update({name: values for name, values in after.items() if name in follow})
        drawn = curves_of(result, columns, members).paths
        # The median of draws that walk costs a sort a row: their mean logarithm stands for it.
        centre = shares(members) @ drawn if walks else np.log(central_times(result.members, columns))
        out = np.vstack([centre, drawn])
        return out if of == "log" else np.exp(out)

    indices = sobol_indices(
        func=evaluated,
        n=samples,
        dists=[uniform()] * len(varying),  # type: ignore[list-item]
        rng=np.random.default_rng(about.seed),
    )
    columns: dict[str, Array] = {}
    for name, each in (("first", indices.first_order), ("total", indices.total_order)):
        values = np.asarray(each, float).reshape(-1, len(varying))
        lower, upper = quantiles(values[1:], shares(members), ends_of(interval))
        columns |= {name: values[0], f"{name}_lower": lower, f"{name}_upper": upper}
    names, over = ([d.factor.name for d in varying], [d.text for d in varying])
    table = pd.DataFrame({"factor": names, **columns, "over": over})
    notes = [
        (", ".join(sorted(follow)), "follows from the count of workers"),
        (", ".join(d.factor.name for d in domain if not d.varies and d.read), "held at one value"),
        (", ".join(d.factor.name for d in domain if not d.read), "without effect in this model"),
    ]
    return Sensitivity(
        of,
        table.sort_values("total", ascending=False, kind="stable", ignore_index=True),
        samples,
        result.schema.target,
        tuple(f"{text}: {names}" for names, text in notes if names),
    )


@dataclass(frozen=True)
class _Axis:
    """One factor's values over the domain."""

    factor: Factor
    #: The lowest and the highest number, or the levels.
    values: tuple[Any, ...]
    #: Whether the prediction depends on the factor.
    read: bool

    @property
    def varies(self) -> bool:
        """Whether it has several values that make a difference."""
        return self.read and len({*self.values}) > 1

    @property
    def text(self) -> str:
        """The values, as a table shows them."""
        if not self.factor.numeric:
            return f"{len(self.values)} levels"
        return " to ".join(f"{value:g}" for value in self.values)

    def at(self, u: Array) -> npt.NDArray[Any]:
        """Return the values at points between 0 and 1."""
        if not self.factor.numeric:
            place = np.minimum((u * len(self.values)).astype(int), len(self.values) - 1)
            return np.asarray(np.array(self.values, dtype=object)[place])
        low, high = self.values
        if not self.varies:
            return np.full(u.shape, low)
        whole = self.factor.integer and low == round(low) and high == round(high)
        values = low * (high / low) ** u if self.factor.positive else low + (high - low) * u
        return np.asarray(np.clip(np.round(values), low, high) if whole else values)


def _axis(factor: Factor, given: Sequence[Any] | None, read: bool) -> _Axis:
    """Return the values of a factor that were measured, or those that are given in their place."""
    if factor.numeric:
        ends = [factor.lower, factor.upper] if given is None else [_number(factor, value) for value in given]
        if factor.positive and min(ends) <= 0:
            raise GenperfError(f"'{factor.name}' is above zero, and the domain begins at {min(ends):g}")
        return _Axis(factor, (min(ends), max(ends)), read)
    levels = factor.levels if given is None else tuple(map(str, given))
    if unknown := [level for level in levels if level not in factor.levels]:
        hint = suggest(unknown[0], factor.levels) or f"one of {', '.join(factor.levels[:8])}"
        raise GenperfError(f"'{unknown[0]}' is not a measured level of '{factor.name}'", hint=hint)
    return _Axis(factor, levels, read)


def _number(factor: Factor, value: Any) -> float:
    try:
        number = float(value)
    except (TypeError, ValueError):
        number = float("nan")
    if not np.isfinite(number):
        raise GenperfError(f"'{value}' is not a value of '{factor.name}'", hint=f"{factor.name}=LOWEST,HIGHEST")
    return number


def _domain(result: FitResult, within: Mapping[str, Any]) -> list[_Axis]:
    """Return the values of each factor; a single value given for one is a list of it."""
    factors = result.schema.factors
    known = [f.name for f in factors]
    if unknown := [name for name in within if name not in known]:
        hint = suggest(unknown[0], known) or f"one of {', '.join(known)}"
        raise GenperfError(f"the model has no factor '{unknown[0]}'", hint=hint)
    listed, read = {name: np.atleast_1d(v).tolist() for name, v in within.items()}, factors_read(result)
    return [_axis(f, listed.get(f.name), f.name in read) for f in factors]


def _following(domain: Sequence[_Axis], factors: Panel, count: Factor | None, within: Mapping[str, Any]) -> set[str]:
    """Return the factors that cannot vary beside the count of workers, because they follow from it."""
    varying = {d.factor.name for d in domain if d.varies}
    if count is None or count.name not in varying:
        return set()
    ones = {d.factor.name: np.ones(1) for d in domain if d.factor.numeric}
    return set(following(factors, count, ones)) & varying - set(within)
