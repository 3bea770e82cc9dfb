"""Processes about several means of ln T, and the pool of what they predict."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from functools import cached_property
from statistics import NormalDist
from typing import Any

import msgspec
import numpy as np
import numpy.typing as npt

from genperf.discrepancy.product import Product
from genperf.formula import evaluate, parse

Array = npt.NDArray[np.float64]
Columns = Mapping[str, Any]
#: The normal quantile of a 90 % interval: the width that a stack's `width` takes the place of.
NORMAL = NormalDist().inv_cdf(0.95)
#: Query rows × anchors that are held in memory at once.
BLOCK = 2_000_000


class Part(msgspec.Struct, frozen=True, eq=False, forbid_unknown_fields=True):
    """The process about one mean."""

    kernel: Product
    #: Shape (k,). ln T − ln f at the first k anchors, which are those that the part knows.
    residuals: Array
    #: Standard deviation of ln T of a new run.
    noise: float
    #: Shape (k,). By which an anchor's noise variance is multiplied.
    factors: Array
    #: Inside the measured range.
    weight: float
    #: By categorical factor: variance of ln f at a level that no anchor has, where f has an effect of each level.
    unseen: dict[str, float] = {}


class Beyond(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """Weights and width beyond the largest value of a factor, from looking back along it."""

    #: A quoted column, or a formula over several.
    factor: str
    #: The largest measured value.
    upper: float
    #: Of the parts, in their order.
    weights: tuple[float, ...]
    #: As `Stack.width`.
    width: float

    def values(self, columns: Columns) -> Array:
        """Return the factor at each row."""
        return np.asarray(evaluate(parse(self.factor).node, columns), float)


class Stack(msgspec.Struct, frozen=True, eq=False, dict=True, forbid_unknown_fields=True):
    """A pool of processes with the same anchors.

        ln T = Σ_k a_k·(ln f_k + E[g_k]),   a_k(x) ∝ w_k(x)/sd_k(x)

    The weights w go from those of held-out folds inside the range to those of look-backs over the first doubling
    beyond it, and so does the width.
    """

    #: Shape (anchors,). The factors where T was measured: numbers, or labels.
    anchors: dict[str, Array]
    parts: tuple[Part, ...]
    #: Standard deviations to either side of a 90 % interval inside the range.
    width: float
    beyond: tuple[Beyond, ...] = ()
    #: Standard deviation of ln T of repeats: a new run differs from the mean by no less.
    repeats: float = 0.0

    @property
    def factors(self) -> tuple[str, ...]:
        """The factors that the processes depend on."""
        return tuple(dict.fromkeys(name for part in self.parts for name in part.kernel.factors))

    @cached_property
    def _solved(self) -> list[tuple[Array, Array]]:
        """The inverse of the Cholesky factor of each part's covariance, and (κ + noise)⁻¹·residuals."""
        out = []
        for part in self.parts:
            anchors = self.known_to(part)
            covariance = part.kernel.covariance(anchors, anchors)
            covariance[np.diag_indices(len(covariance))] += part.noise**2 * part.factors
            whiten = np.linalg.inv(np.linalg.cholesky(covariance))
            out.append((whiten, whiten.T @ (whiten @ part.residuals)))
        return out

    def known_to(self, part: Part) -> dict[str, Array]:
        """Return the anchors that a part knows."""
        return {name: values[: len(part.residuals)] for name, values in self.anchors.items()}

    def dual(self, place: int) -> Array:
        """Return (κ + noise)⁻¹·residuals of a part."""
        return self._solved[place][1]

    def forecast(self, columns: Columns) -> tuple[Array, Array]:
        """Return the mean and variance of each part's process, each of shape (parts, rows)."""
        rows = len(next(iter(columns.values())))
        block = max(1, BLOCK // len(next(iter(self.anchors.values()))))
        means, variances = [], []
        for start in range(0, max(rows, 1), block):
            some = {name: np.asarray(columns[name])[start : start + block] for name in self.anchors}
            mean, variance = [], []
            for part, (whiten, dual) in zip(self.parts, self._solved, strict=True):
                across = part.kernel.covariance(self.known_to(part), some)
                known = whiten @ across
                mean.append(across.T @ dual)
                left = np.maximum(part.kernel.variance(some) - np.sum(known**2, axis=0), 0.0)
                for name, more in part.unseen.items():
                    left = left + more * ~np.isin(some[name].astype(str), self.anchors[name].astype(str))
                variance.append(left)
            means.append(np.array(mean))
            variances.append(np.array(variance))
        return np.concatenate(means, axis=1), np.concatenate(variances, axis=1)

    def covariance(self, columns: Columns, place: int) -> Array:
        """Return the covariance of a part's process between rows, given the anchors."""
        part, (whiten, _) = self.parts[place], self._solved[place]
        across = part.kernel.covariance(self.known_to(part), columns)
        known = whiten @ across
        return np.asarray(part.kernel.covariance(columns, columns) - known.T @ known)

    def together(self, columns: Columns, variance: Array) -> Array:
        """Return the covariance of the pool between rows: the parts' mean correlation with the pool's variances.

        Parameters
        ----------
        variance : ndarray of shape (rows,)
            Of the pool's mean, see `pooled`.
        """
        shares = self.weights(columns)[0].mean(axis=1)
        each = [w * self.covariance(columns, place) for place, w in enumerate(shares) if w > 0.0]
        covariance = np.sum(each, axis=0)
        sd = np.sqrt(np.maximum(np.diag(covariance), 1e-300))
        correlation = covariance / np.outer(sd, sd)
        np.fill_diagonal(correlation, 1.0)
        return np.asarray(correlation * np.sqrt(np.outer(variance, variance)))

    def weights(self, columns: Columns) -> tuple[Array, Array]:
        """Return w of each part and the width at each row, shapes (parts, rows) and (rows,)."""
        rows = len(next(iter(columns.values())))
        inside = np.array([part.weight for part in self.parts])
        logarithm = np.tile(np.log(np.maximum(inside, 1e-12))[:, None], (1, rows))
        width, away = np.full(rows, self.width), np.zeros(rows)
        for beyond in self.beyond:
            with np.errstate(all="ignore"):
                far = np.clip(np.nan_to_num(np.log2(beyond.values(columns) / beyond.upper)), 0.0, 1.0)
            # Of several factors the one that is exceeded most decides.
            more = far > away
            weights = np.log(np.maximum(beyond.weights, 1e-12))
            mixed = (1.0 - far) * np.log(np.maximum(inside, 1e-12))[:, None] + far * weights[:, None]
            logarithm = np.where(more, mixed, logarithm)
            width = np.where(more, (1.0 - far) * self.width + far * beyond.width, width)
            away = np.maximum(away, far)
        weights = np.exp(logarithm)
        return weights / weights.sum(axis=0), width

    def pooled(
        self, curves: Array, columns: Columns, places: Sequence[int] | None = None
    ) -> tuple[Array, Array, Array]:
        """Return the pool's ln T and the variances of its mean and of a new run, each of shape (rows,).

        Parameters
        ----------
        curves : ndarray of shape (parts, rows)
            ln f of the parts.
        places : sequence of int, optional
            The parts that count; all where omitted.
        """
        process, variance = self.forecast(columns)
        mean = curves + process
        weights, width = self.weights(columns)
        noise = np.array([part.noise**2 for part in self.parts])[:, None]
        chosen = list(range(len(self.parts)) if places is None else places)
        share = (weights / np.sqrt(variance + noise))[chosen]
        share = share / share.sum(axis=0)
        centre = np.sum(share * mean[chosen], axis=0)
        apart = np.sum(share * (variance[chosen] + (mean[chosen] - centre) ** 2), axis=0)
        scale = (width / NORMAL) ** 2
        new = np.maximum(scale * np.sum(share * noise[chosen], axis=0), self.repeats**2)
        return centre, scale * apart, scale * apart + new

    def fault(self) -> str | None:
        """Say what does not fit together, of a stack that was read from a file; None where all does."""
        count = len(next(iter(self.anchors.values()), ()))
        even = all(v.shape == (count,) for v in self.anchors.values())
        sizes = [min(p.residuals.size, count) for p in self.parts]
        even &= all(p.residuals.shape == p.factors.shape == (k,) for p, k in zip(self.parts, sizes, strict=True))
        if not count or not even or min(sizes, default=0) == 0:
            return "the anchors are not of one length"
        if any(p.weight < 0.0 or not p.noise > 0.0 or np.any(p.factors <= 0.0) for p in self.parts):
            return "a weight, a noise or a factor of noise is not above zero"
        if any(not v >= 0.0 or name not in self.anchors for p in self.parts for name, v in p.unseen.items()):
            return "the variance of a level that was not measured does not match the anchors"
        if not sum(p.weight for p in self.parts) > 0.0 or not self.width > 0.0 or not self.repeats >= 0.0:
            return "the weights, the width or the noise of repeats are not above zero"
        for beyond in self.beyond:
            names = parse(beyond.factor).names
            if not names or any(n not in self.anchors or self.anchors[n].dtype == object for n in names):
                return f"'{beyond.factor}' is no number of the anchors"
            if len(beyond.weights) != len(self.parts) or min(beyond.weights) < 0.0 or not beyond.width > 0.0:
                return f"the weights beyond '{beyond.factor}' do not match the parts"
        for part in self.parts:
            fault = part.kernel.fault(self.anchors)
            if fault is not None:
                return fault
        try:
            with np.errstate(all="ignore"):
                good = all(np.isfinite(dual).all() for _, dual in self._solved)
        except (np.linalg.LinAlgError, ValueError):
            good = False
        return None if good else "a covariance has no square root"


class Process:
    """One part of a stack, as the member that it belongs to holds it."""

    def __init__(self, stack: Stack, place: int) -> None:
        self.stack, self.place = stack, place
