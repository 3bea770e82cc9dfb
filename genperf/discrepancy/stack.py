"""Processes about several means of ln T, and the pool of what they predict."""

from collections.abc import Sequence
from functools import cached_property
from statistics import NormalDist
from typing import Annotated, NamedTuple

import msgspec
import numpy as np

from genperf.arrays import Array, Columns, Integers, Mask
from genperf.discrepancy.product import NotNegative, Positive, Product
from genperf.formula import evaluate, parse

#: The normal quantile of a 90 % interval: the width that a stack's `width` takes the place of.
NORMAL = NormalDist().inv_cdf(0.95)
#: What a variance from noise grows by beside, over what all variances do, up to which it is left out: it is less than
#: 5 % of a standard deviation.
LEAST_MORE = 0.1
#: Share of the variance of forecasts, anchors that not all parts know, that is an error of all of them: one belief made
#: them. Without it 91 % of seven laws' times at two and four times the largest count are held, and 64 beside a large
#: constant; with it 94 and 76, and intervals of measured tables are as wide.
TOGETHER = 0.5
#: Query rows × anchors that are held in memory at once.
BLOCK = 2_000_000


class MeanProcess(msgspec.Struct, frozen=True, eq=False, forbid_unknown_fields=True):
    """The process about one mean."""

    kernel: Product
    residuals: Array  #: Shape (k,). ln T − ln f at the first k anchors, which are those that the part knows.
    noise: Positive  #: Standard deviation of ln T of a new run.
    factors: Array  #: Shape (k,). By which an anchor's noise variance is multiplied.
    weight: NotNegative  #: Inside the measured range.
    #: By categorical factor: variance of ln f at a level that no anchor has, where f has an effect of each level.
    unseen: dict[str, NotNegative] = {}
    #: By how much an interval that rests on the noise widens, since few residuals show it: the sizes and the constants
    #: of the mean take the others.
    unsure: Positive = 1.0
    #: The number of its form: parts of different forms are weighed by their weights alone, however sure each is.
    form: int = 0


class Beyond(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """Weights and width beyond the largest value of a factor, from looking back along it."""

    factor: str  #: A quoted column, or a formula over several.
    upper: float  #: The largest measured value.
    weights: tuple[NotNegative, ...]  #: Of the parts, in their order.
    width: Positive  #: As `Stack.width`.
    #: Share of an error that configurations have in common which differ in their levels alone.
    common: Annotated[float, msgspec.Meta(ge=0.0, le=1.0)] = 1.0


class Stack(msgspec.Struct, frozen=True, eq=False, dict=True, forbid_unknown_fields=True):
    """A pool of processes with the same anchors.

        ln T = Σ_k a_k·(ln f_k + E[g_k]),   a_k(x) ∝ w_k(x)/sd_k(x) among parts of one form

    The weights w go from those of held-out folds inside the range to those of look-backs over the first doubling
    beyond it, and so does the width.

    Anchors that not all parts know are forecasts, and err together (`TOGETHER`): with C = κ + noise of a part and s the
    standard deviation of what they have in common, 0 at runs, (sᵀ·C⁻¹·k)² is added to its variance.
    """

    #: Shape (anchors,). The factors where T was measured: numbers, or labels.
    anchors: dict[str, Array]
    parts: tuple[MeanProcess, ...]
    #: Standard deviations to either side of a 90 % interval inside the range.
    width: Positive
    beyond: tuple[Beyond, ...] = ()
    repeats: NotNegative = 0.0  #: Standard deviation of ln T of repeats: a new run differs from the mean by no less.

    @property
    def factors(self) -> tuple[str, ...]:
        """The factors that the processes depend on."""
        return tuple(dict.fromkeys(name for process in self.parts for name in process.kernel.factors))

    @cached_property
    def _solved(self) -> list[tuple[dict[str, Array], Array, Array, Array]]:
        """Of each part its anchors, the inverse of the Cholesky factor of C, C⁻¹·residuals and C⁻¹·s."""
        out, runs = [], min(len(process.residuals) for process in self.parts)
        for process in self.parts:
            anchors = {name: values[: len(process.residuals)] for name, values in self.anchors.items()}
            noise = process.noise**2 * process.factors
            whiten = np.linalg.inv(np.linalg.cholesky(process.kernel.covariance(anchors, anchors) + np.diag(noise)))
            together = np.where(np.arange(len(noise)) < runs, 0.0, np.sqrt(TOGETHER * noise))
            dual, shared = (whiten.T @ (whiten @ values) for values in (process.residuals, together))
            out.append((anchors, whiten, dual, shared))
        return out

    def dual(self, place: int) -> Array:
        """Return C⁻¹·residuals of a part."""
        return self._solved[place][2]

    def forecast(self, columns: Columns) -> tuple[Array, Array]:
        """Return the mean and variance of each part's process, each of shape (parts, rows)."""
        # kᵀ = κ(x, anchors): the mean is kᵀ·C⁻¹·residuals, the variance κ(x, x) − kᵀ·C⁻¹·k + (sᵀ·C⁻¹·k)².
        mean, variance = np.empty((2, len(self.parts), len(next(iter(columns.values())))))
        for k, (process, (anchors, whiten, dual, shared)) in enumerate(zip(self.parts, self._solved, strict=True)):
            across = process.kernel.covariance(anchors, columns)
            mean[k] = across.T @ dual
            explained = np.sum((whiten @ across) ** 2, axis=0)
            variance[k] = np.maximum(process.kernel.variance(columns) - explained, 0.0) + (shared @ across) ** 2
            for name, more in process.unseen.items():
                variance[k] += more * self._unseen(name, columns)
        return mean, variance

    def covariance(self, columns: Columns, place: int, smooth: bool = False) -> Array:
        """Return the covariance of a part's process between rows, given the anchors; perhaps of its smooth part.

        Rows of one level that no anchor has share what is not known of it.
        """
        process, (anchors, whiten, _, shared) = self.parts[place], self._solved[place]
        kernel = process.kernel.smooth if smooth else process.kernel
        across = kernel.covariance(anchors, columns)
        whitened, error = whiten @ across, shared @ across
        covariance = kernel.covariance(columns, columns) - whitened.T @ whitened + np.outer(error, error)
        for name, more in process.unseen.items():
            level = np.asarray(columns[name]).astype(str)
            covariance += more * (self._unseen(name, columns) & (level[:, None] == level))
        return np.asarray(covariance)

    def noise_root(self, columns: Columns, place: int) -> Array:
        """Return R = ν·√F·C⁻¹·κ(anchors, x), (anchors, rows): Rᵀ·R is what the anchors' noise adds to cov."""
        process, (anchors, whiten, *_) = self.parts[place], self._solved[place]
        weights = whiten.T @ (whiten @ process.kernel.covariance(anchors, columns))
        return np.asarray(process.noise * np.sqrt(process.factors)[:, None] * weights)

    def _unseen(self, name: str, columns: Columns) -> Mask:
        """Return whether each row has a level that no anchor has."""
        return ~np.isin(np.asarray(columns[name]).astype(str), self.anchors[name].astype(str))

    def weights(self, columns: Columns) -> tuple[Array, Array, Array]:
        """Return w of each part, the width and the common share of errors at each row; w of shape (parts, rows).

        Over the first doubling beyond the range they go from those inside to those beyond, the weights in logarithms;
        the width then grows by g = √((1 + doublings)/2), as errors grow faster than look-backs of a doubling show, and
        the common share c with it: levels differ by no more than at a doubling, (1 − c)·g² stays.
        """
        with np.errstate(all="ignore"):
            ratios = [evaluate(parse(beyond.factor).node, columns) / beyond.upper for beyond in self.beyond]
            doublings = np.nan_to_num(np.log2([np.ones(len(next(iter(columns.values())))), *ratios]), posinf=1.0)
        # Of several factors the one that is exceeded most decides.
        far, most = np.clip(doublings, 0.0, 1.0).max(axis=0), np.clip(doublings, 0.0, 1.0).argmax(axis=0)
        growth = np.maximum(0.5 * (1.0 + doublings.max(axis=0)), 1.0)
        # A column for the inside and one for each factor.
        inside = (*(process.weight for process in self.parts), self.width, 1.0)
        table = np.array([inside, *((*b.weights, b.width, b.common) for b in self.beyond)]).T
        table[:-2] = np.log(np.maximum(table[:-2], 1e-12))
        *log_weights, width, common = (1.0 - far) * table[:, :1] + far * table[:, most]
        weights = np.exp(log_weights)
        return weights / weights.sum(axis=0), np.sqrt(growth) * width, 1.0 - (1.0 - common) / growth

    def pooled(self, curves: Array, columns: Columns, places: Sequence[int]) -> tuple[Array, Array, Array]:
        """Return ln T of the pool of the parts at some places, and the variances of its mean and of a new run.

        Each is of shape (rows,). `curves` has ln f of all parts, shape (parts, rows); the symbols are those of
        `together`, whose diagonal is the variance of the mean: that of a new run has the noise beside it.
        """
        rows, step, blocks = curves.shape[1], BLOCK // len(next(iter(self.anchors.values()))) + 1, []
        for block in (slice(start, start + step) for start in range(0, rows, step)):
            some = {name: np.asarray(cells)[block] for name, cells in columns.items()}
            centre, away, share, variance, noise, scale, more = self._pool(curves[:, block], some, places)
            new = np.maximum(scale * np.sum(share * noise, axis=0), self.repeats**2)
            mean = scale * np.sum(share * (variance + away**2), axis=0)
            further = np.zeros(len(centre))
            if more.any():
                noisy = [np.sum(self.noise_root(some, k) ** 2, axis=0) for k in places]
                further = np.sum(share * more * noisy, axis=0)
            # What held-out rows show is the error of a new run: it is no less than that of the mean.
            blocks.append((centre, mean + further, mean + np.maximum(new, further)))
        centre, mean, new = np.hstack(blocks)
        return centre, mean, new

    def together(self, curves: Array, columns: Columns, places: Sequence[int], smooth: bool = False) -> Array:
        """Return the covariance of the pool's ln T between rows, with the variances of `pooled` on its diagonal.

            Σ_k √(a_k(x)·a_k(z))·(cov g_k(x, z) + δ_k(x)·δ_k(z)),   δ_k = ln f_k + E[g_k] − centre

        and of the noise of the runs as much more as it is unsure. Of it, rows of different levels have in common what
        look-backs found them to have. Of the smooth part of the processes it is that of a slope.
        """
        _, away, share, _, _, scale, more = self._pool(curves, columns, places)
        root, common = np.sqrt(share * scale), np.sqrt(self.weights(columns)[2])
        covariance = np.zeros((len(common), len(common)))
        for k, a, d, further in zip(places, root, away, np.sqrt(share * more), strict=True):
            covariance += np.outer(a, a) * (self.covariance(columns, k, smooth) + np.outer(d, d))
            if further.any():
                noisy = self.noise_root(columns, k) * further
                covariance += noisy.T @ noisy
        labels = [np.asarray(columns[n]).astype(str) for n, levels in self.anchors.items() if levels.dtype == object]
        alike = np.all([texts[:, None] == texts for texts in labels], axis=0) if labels else True
        return np.asarray(covariance * np.where(alike, 1.0, np.outer(common, common)))

    def _pool(self, curves: Array, columns: Columns, places: Sequence[int]) -> tuple[Array, ...]:
        """Return the pool of the parts at some places, what is of each part of shape (places, rows) or (places, 1).

        - the centre, δ, a, and variance and noise of ln T by each part
        - what the variances grow by: (width/`NORMAL`)², as held-out rows show the width
        - what the variance from the anchors' noise grows by beside: held-out rows that the process predicts better than
          it says do not show that the runs have less noise; 0 where it is little
        """
        chosen = list(places)
        process, variance = (values[chosen] for values in self.forecast(columns))
        weights, width, _ = self.weights(columns)
        noise, unsure = (np.array([[getattr(self.parts[k], n) ** 2] for k in chosen]) for n in ("noise", "unsure"))
        forms = np.array([self.parts[k].form for k in chosen])
        share, centre, away = pool(weights[chosen], curves[chosen] + process, np.sqrt(variance + noise), forms)
        scale = (width / NORMAL) ** 2
        more = np.maximum(scale, 1.0) * unsure - scale
        return centre, away, share, variance, noise, scale, np.where(more > LEAST_MORE * scale, more, 0.0)


def pool(weights: Array, mean: Array, sd: Array, forms: Integers) -> tuple[Array, Array, Array]:
    """Return a_k, the centre Σ a_k·mean_k, and each mean's distance from it, of shape (parts, rows).

    a_k ∝ w_k/sd_k of parts of one form; those of a form have its weight together.
    """
    share = weights / sd
    several = len(np.unique(forms)) > 1
    for of_form in (forms == form for form in np.unique(forms) if several):
        share[of_form] *= weights[of_form].sum(axis=0) / share[of_form].sum(axis=0)
    share = share / share.sum(axis=0)
    centre = np.sum(share * mean, axis=0)
    return share, centre, mean - centre


class Process(NamedTuple):
    """One part of a stack, as the member that it belongs to holds it."""

    stack: Stack
    place: int
