"""Exponential covariances over several factors: regression kriging, and likeness between groups."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any

import msgspec
import numpy as np
import numpy.typing as npt

from genperf.discrepancy.distances import Metric, distances

Array = npt.NDArray[np.float64]


class Effect(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """A part of the discrepancy that depends on some of the factors.

    Attributes
    ----------
    size : float
        Its variance, in units of the variance of one configuration's noise.
    rates : dict of str to float
        By factor: how fast the correlation falls with the distance. An effect without rates is the same everywhere.
    """

    size: float
    rates: dict[str, float]


class Exponential(msgspec.Struct, frozen=True, tag="exponential", omit_defaults=True, forbid_unknown_fields=True):
    """A sum of effects, each with an exponential covariance over its factors.

        κ(x, y) = Σ_k size_k·exp(−Σ_j rate_kj·d_j(min(x, h), min(y, h)))

    Attributes
    ----------
    metrics : dict of str to Metric
        By factor: how two of its values are apart.
    carried : dict of str to float
        h, of the factors along which a table is extrapolated: their largest anchors. Beyond h the process stays as it
        is at h. It is carried on unchanged, and does not revert to its mean.
    stands : dict of str to dict of str to str
        By factor: the measured level that stands for one that was not measured. A model file has none.

    Examples
    --------
    >>> kernel = Exponential({"n": "doublings"}, (Effect(1.0, {"n": 2.0}),))
    >>> kernel.covariance({"n": np.array([1.0, 2.0])}, {"n": np.array([1.0])}).round(3)
    array([[1.   ],
           [0.135]])
    >>> beyond = Exponential({"n": "doublings"}, (Effect(1.0, {"n": 2.0}),), {"n": 2.0})
    >>> beyond.covariance({"n": np.array([1.0, 2.0])}, {"n": np.array([64.0])}).round(3)
    array([[0.135],
           [1.   ]])
    """

    metrics: dict[str, Metric]
    effects: tuple[Effect, ...]
    carried: dict[str, float] = {}
    stands: dict[str, dict[str, str]] = {}

    @staticmethod
    def correlation(distance: Array) -> Array:
        """Return exp(−distance)."""
        return np.asarray(np.exp(-distance))

    @staticmethod
    def slope(distance: Array) -> Array:
        """Return the derivative of the correlation by the distance."""
        return np.asarray(-np.exp(-distance))

    @property
    def factors(self) -> tuple[str, ...]:
        """The factors that the covariance depends on."""
        return tuple(name for name in self.metrics if any(name in effect.rates for effect in self.effects))

    def covariance(self, a: Mapping[str, Any], b: Mapping[str, Any]) -> Array:
        """Return the covariance between two lists of configurations, shape (rows of a, rows of b)."""
        apart = {n: distances(self._within(n, a[n]), self._within(n, b[n]), m) for n, m in self.metrics.items()}
        rows, columns = len(next(iter(a.values()))), len(next(iter(b.values())))
        total = np.zeros((rows, columns))
        for effect in self.effects:
            far = np.zeros((rows, columns))
            for name, rate in effect.rates.items():
                far += rate * apart[name]
            total += effect.size * self.correlation(far)
        return total

    def _within(self, name: str, values: Any) -> npt.NDArray[Any]:
        """Return the values of a factor: none larger than where it is carried from, and levels that were measured."""
        values = np.asarray(values)
        if name in self.stands:
            return np.array([self.stands[name].get(level, level) for level in values.tolist()], dtype=object)
        return np.asarray(np.minimum(values, self.carried[name])) if name in self.carried else values

    def standing(self, stands: Mapping[str, Mapping[str, str]]) -> Exponential:
        """Return the kernel with measured levels in the place of those that were not.

        Examples
        --------
        >>> kernel = Exponential({"gpu": "level"}, (Effect(1.0, {"gpu": 2.0}),)).standing({"gpu": {"B200": "V100"}})
        >>> measured, new = {"gpu": np.array(["A100", "V100"])}, {"gpu": np.array(["B200"])}
        >>> kernel.covariance(measured, new).round(3)
        array([[0.135],
               [1.   ]])
        """
        read = {name: dict(levels) for name, levels in stands.items() if name in self.metrics}
        return msgspec.structs.replace(self, stands=read)

    def variance(self, columns: Mapping[str, Any]) -> Array:
        """Return the diagonal of the covariance, shape (rows,)."""
        return np.full(len(next(iter(columns.values()))), sum(effect.size for effect in self.effects))

    def fault(self, anchors: Mapping[str, npt.NDArray[Any]]) -> str | None:
        """Say what does not fit the anchors, of a kernel that was read from a file; None where all does."""
        rates = [(name, rate) for effect in self.effects for name, rate in effect.rates.items()]
        if not {name for name, _ in rates} <= set(self.metrics) <= set(anchors) or not self.effects:
            return "the effects do not match the anchors"
        if self.stands:
            return "levels stand for others"
        if any(rate <= 0.0 for _, rate in rates) or any(effect.size <= 0.0 for effect in self.effects):
            return "a rate or a size is not above zero"
        if any(self.metrics.get(name, "level") == "level" for name in self.carried):
            return "a factor that is carried on has no numbers"
        for name, metric in self.metrics.items():
            if (metric == "level") is not (anchors[name].dtype == object):
                return f"the metric of '{name}' does not match the anchors"
            if metric in ("doublings", "squared doublings") and np.any(anchors[name] <= 0.0):
                return f"an anchor's '{name}' is not above zero"
        return None

    def numbered(self, places: Mapping[str, int], formula: Callable[[str], int]) -> dict[str, Any]:
        """Return the kernel as plain data, for a page that knows factors and formulas by number.

        Parameters
        ----------
        places : mapping of str to int
            Of the factors.
        formula : callable
            Text → number.
        """
        axes = {name: j for j, name in enumerate(self.metrics)}
        return {
            "metrics": [[places[name], metric, self.carried.get(name)] for name, metric in self.metrics.items()],
            "effects": [[e.size, [[axes[name], rate] for name, rate in e.rates.items()]] for e in self.effects],
        }
