"""What residuals tell of the configurations near them: how much of it there is, the likelihood says; then kriging.

    r(x) = u(x) + Σ_c v_c(x) + e

u depends on all factors, so that configurations which agree in much are off alike; v_c is a level effect of an
extrinsic count c, the same for all configurations measured at it. Any of them may come to nothing.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
import numpy.typing as npt
from scipy.optimize import minimize

from genperf.ensemble.positive_definite import inverse_of
from genperf.estimate.robust import robust_sd
from genperf.prediction.kriging import Axis, Effect, Kind, Kriging, likeness
from genperf.table import Factor, Table

Array = npt.NDArray[np.float64]

#: Log-normal prior of how fast configurations become unlike: medians, per doubling of a numeric factor and for another
#: level of a categorical one; the standard deviation of the logarithms, and how far they may go from there.
NUMERIC, LEVEL, RATE_SD, REACH = 0.3, 1.0, 1.0, 4.0
#: The same for a level effect, fixed: it falls to 1/e within half a doubling, neighbouring counts share a seventh.
ALONG_COUNT = 2.0
#: A count with fewer levels has no level effects.
FEWEST_LEVELS = 3
#: Sizes (variances in units of the noise's) at which a search begins, of the effect of all factors and of a count; the
#: smallest and largest it may find; and what is nothing.
SIZE, COUNT_SIZE, SMALLEST, LARGEST, NOTHING = 2.7, 0.37, 1e-4, 1100.0, 1e-3
#: Sizes that are supposed while nothing is known.
FIRST_SIZE, FIRST_COUNT_SIZE = 10.0, 0.1
#: Robust standard deviations at which a residual is cut, from what the others say of it.
FAR = 3.0
#: Rounds of cutting with sizes of no more than `FIRST_SIZE` in all (larger ones take every wild run for an effect), and
#: with those that were found; and searches, each on residuals cut anew.
CUTS, CUTS_AFTER, SEARCHES = 3, 3, 3
#: Steps of a search, and what may be left to gain.
STEPS, ENOUGH = 60, 1e-7
#: Residuals smaller than this are rounding.
ROUNDING = 1e-9


def counts_of(factors: Sequence[Factor]) -> list[Factor]:
    """Return the extrinsic factors above zero with enough levels to tell one from the others."""
    return [f for f in factors if f.role == "extrinsic" and f.positive and f.distinct >= FEWEST_LEVELS]


def axes_of(table: Table) -> tuple[Axis, ...]:
    """Return the factors that vary in a table, as axes along which its configurations are apart."""
    return tuple(Axis(f.name, _kind(f), table.columns[f.name]) for f in table.factors if f.distinct > 1)


def fit_effects(table: Table, residuals: Array) -> tuple[Effect, ...]:
    """Learn how residuals depend on the factors; nothing, where noise explains them as well.

    The rates and sizes are those of the largest posterior density. Before each search, residuals that lie far off what
    the others say of them are cut: one wild run is no effect, several that are off alike are.

    Parameters
    ----------
    table : Table
        One row per configuration.
    residuals : ndarray of shape (rows,)
        ln(measured/fitted).

    Examples
    --------
    >>> import pandas as pd
    >>> from genperf.table import read_table
    >>> runs = pd.DataFrame([(n, m) for m in "abcd" for n in (1, 2, 4, 8)], columns=["workers", "net"]).assign(t=1.0)
    >>> table = read_table(runs, time="t", extrinsic="workers", categorical="net")
    >>> off = runs.net.map({"a": 0.2, "b": -0.2, "c": 0.1, "d": -0.1}).to_numpy() + 0.01 * np.sin(np.arange(16.0))
    >>> [sorted(e.rates) for e in fit_effects(table, off)]
    [['net', 'workers']]
    """
    # Of residuals most of which are rounding, nothing is left that is not cut.
    if not any(f.distinct > 1 for f in table.factors) or robust_sd(residuals) < ROUNDING:
        return ()
    search = _search_of(table)
    supposed, found = search.start(FIRST_SIZE, FIRST_COUNT_SIZE), search.start(SIZE, COUNT_SIZE)
    cut = _cut(residuals, inverse_of(search.covariance(supposed))[0], CUTS)
    for _ in range(SEARCHES - 1):
        found = search.best(found, cut)
        cut = _cut_with(residuals, search.covariance(found))
    found = search.best(found, cut)
    return search.effects(found) if search.explains(found, cut) else ()


def krige(effects: Sequence[Effect], axes: Sequence[Axis], residuals: Array) -> Kriging:
    """Carry residuals to other configurations, the effects being known.

    Parameters
    ----------
    effects : sequence of Effect
        At least one.
    axes : sequence of Axis
        Of the rows.
    residuals : ndarray of shape (rows,)

    Returns
    -------
    Kriging
        With the variance of largest likelihood.
    """
    columns = {a.factor: a.values for a in axes}
    covariance = likeness(axes, effects, columns) + np.eye(len(residuals))
    cut = _cut_with(residuals, covariance)
    weights = inverse_of(covariance)[0] @ cut
    return Kriging(tuple(axes), tuple(effects), weights, float(cut @ weights) / len(cut))


def _cut_with(residuals: Array, covariance: Array) -> Array:
    """Cut residuals, the effects being known: first as if they were smaller, then as they are."""
    noise = np.eye(len(residuals))
    smaller = min(1.0, FIRST_SIZE / float(covariance[0, 0] - 1.0))
    first = _cut(residuals, inverse_of(smaller * (covariance - noise) + noise)[0], CUTS)
    return _cut(residuals, inverse_of(covariance)[0], CUTS_AFTER, first)


def _cut(residuals: Array, inverse: Array, rounds: int, cut: Array | None = None) -> Array:
    """Cut residuals that lie far off what the others, as cut before, say of them.

    The mean of one given the others is r − (K⁻¹r)/diag(K⁻¹), its variance 1/diag(K⁻¹) in units of the noise's; how far
    is far is told by the median of all that lie off.
    """
    now = residuals if cut is None else cut
    own = np.sqrt(np.diag(inverse))
    for _ in range(rounds):
        others = now - (inverse @ now) / own**2
        off = (residuals - others) * own
        far = FAR * float(robust_sd(off))
        now = others + np.clip(off, -far, far) / own
    return np.asarray(now)


@dataclass(frozen=True, eq=False)
class _Search:
    """A search for the effects, in the logarithms of: the rates, the size over all factors, the size of each count.

    Attributes
    ----------
    kinds : tuple of tuple of str
        Factors that share a rate: the numeric ones, the categorical ones.
    widths : dict of str to float
        Of a factor that is compared by differences: what counts as one.
    apart : ndarray of shape (rates, rows, rows)
        Distances, summed over the factors that share a rate.
    medians : ndarray of shape (rates,)
        Of the rates' logarithms, a priori.
    counts : tuple of str
    alike : ndarray of shape (counts, rows, rows)
        exp(−distance) of level effects.
    """

    kinds: tuple[tuple[str, ...], ...]
    widths: dict[str, float]
    apart: Array
    medians: Array
    counts: tuple[str, ...]
    alike: Array

    def start(self, size: float, count_size: float) -> Array:
        return np.array([*self.medians, np.log(size), *[np.log(count_size)] * len(self.counts)])

    def covariance(self, found: Array) -> Array:
        """Return κ + 1 between the rows."""
        parts = self._parts(found)
        return np.asarray(parts.sum(axis=0) + np.eye(parts.shape[1]))

    def _parts(self, found: Array) -> Array:
        rates = len(self.medians)
        whole = np.exp(found[rates] - np.tensordot(np.exp(found[:rates]), self.apart, 1))
        return np.concatenate([whole[None], np.exp(found[rates + 1 :, None, None]) * self.alike])

    def best(self, start: Array, residuals: Array) -> Array:
        """Return the logarithms of largest posterior density, beginning near some."""
        sizes = len(start) - len(self.medians)
        low = [*self.medians - REACH, *[np.log(SMALLEST)] * sizes]
        high = [*self.medians + REACH, *[np.log(LARGEST)] * sizes]
        found = minimize(
            self._cost,
            start,
            (residuals,),
            jac=True,
            method="L-BFGS-B",
            bounds=list(zip(low, high, strict=True)),
            options={"maxiter": STEPS, "ftol": ENOUGH},
        )
        return np.asarray(found.x)

    def _cost(self, found: Array, residuals: Array) -> tuple[float, Array]:
        """Return −ln posterior density up to a constant, the noise's variance at its best, and the gradient."""
        rates, rows = len(self.medians), len(residuals)
        parts = self._parts(found)
        inverse, half_determinant = inverse_of(parts.sum(axis=0) + np.eye(rows))
        dual = inverse @ residuals
        square = float(residuals @ dual)
        off = (found[:rates] - self.medians) / RATE_SD
        slope = 0.5 * (inverse - np.outer(dual, dual) * (rows / square))
        pulled = slope * parts
        gradient = np.empty_like(found)
        gradient[:rates] = off / RATE_SD - np.exp(found[:rates]) * np.tensordot(self.apart, pulled[0], 2)
        gradient[rates:] = pulled.sum(axis=(1, 2))
        return float(0.5 * rows * np.log(square / rows) + half_determinant + 0.5 * off @ off), gradient

    def explains(self, found: Array, residuals: Array) -> bool:
        """Say whether residuals are likelier with the effects than without any."""
        inverse, half_determinant = inverse_of(self.covariance(found))
        left = float(residuals @ inverse @ residuals) / float(residuals @ residuals)
        return bool(0.5 * len(residuals) * np.log(left) + half_determinant < 0.0)

    def effects(self, found: Array) -> tuple[Effect, ...]:
        """Return the effects that are not nothing."""
        rates, sizes = np.exp(found[: len(self.medians)]), np.exp(found[len(self.medians) :])
        whole = {
            name: float(rate) / self.widths.get(name, 1.0)
            for names, rate in zip(self.kinds, rates, strict=True)
            for name in names
        }
        asked = [whole, *({name: ALONG_COUNT} for name in self.counts)]
        return tuple(Effect(float(s), r) for s, r in zip(sizes, asked, strict=True) if s > NOTHING)


def _search_of(table: Table) -> _Search:
    axes = axes_of(table)
    factors = {f.name: f for f in table.factors}
    widths = {a.factor: _width(factors[a.factor]) for a in axes if a.kind == "difference"}
    between = {a.factor: a.distances(a.values) / widths.get(a.factor, 1.0) for a in axes}
    numeric = tuple(a.factor for a in axes if a.kind != "level")
    levels = tuple(a.factor for a in axes if a.kind == "level")
    kinds = tuple(names for names in (numeric, levels) if names)
    medians = np.log([NUMERIC if names is numeric else LEVEL for names in kinds])
    counts = tuple(f.name for f in counts_of(table.factors))
    rows = len(table)
    alike = [np.exp(-ALONG_COUNT * between[name]) for name in counts]
    return _Search(
        kinds,
        widths,
        np.stack([np.sum([between[name] for name in names], axis=0) for names in kinds]),
        medians,
        counts,
        np.reshape(alike, (len(counts), rows, rows)),
    )


def _kind(factor: Factor) -> Kind:
    if not factor.numeric:
        return "level"
    return "doublings" if factor.positive and factor.lower > 0.0 else "difference"


def _width(factor: Factor) -> float:
    """Return the difference that counts as one: the range that was measured."""
    return max(factor.upper - factor.lower, 1e-300)
