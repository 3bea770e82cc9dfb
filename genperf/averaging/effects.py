"""How residuals depend on the factors: the kernel that their likelihood speaks for.

    r(x) = u(x) + Σ_c v_c(x) + e

u depends on all factors, so that configurations which agree in much are off alike. v_c is a level effect of an
extrinsic count c, the same for all configurations measured at it. Each of them may come to nothing.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from genperf.discrepancy import Discrepancy, Effect, Exponential
from genperf.discrepancy.distances import Metric, distances, width_of
from genperf.discrepancy.positive_definite import inverse_of
from genperf.discrepancy.robust import CLIP, clipped, clipped_with, robust_sd
from genperf.discrepancy.search import Search
from genperf.table import Factor, Table

Array = npt.NDArray[np.float64]


@dataclass(frozen=True)
class EffectSettings:
    """How effects are learned. The priors are guesses that `experiments/generic_model.py` was run with.

    Attributes
    ----------
    numeric_rate, level_rate : float
        Medians of the log-normal priors of the rates: per standard deviation of a numeric factor's logarithms (half of
        the range that was measured, or a third), and for another level.
    rate_sd, rate_reach : float
        Standard deviation of the rates' logarithms, and how far from the median a rate may go, in the same unit.
    count_rate : float
        Rate of a level effect along its count, fixed: neighbouring counts share a seventh.
    fewest_counts : int
        A count with fewer values has no level effect.
    start_size, start_count_size : float
        Variances, in units of the noise's, at which a search begins: of the effect of all factors, and of a count.
    supposed_count_size : float
        Variance of a count's effect while wild residuals are first cut.
    smallest_size, largest_size : float
        Bounds of the variances.
    negligible_size : float
        A variance below this is nothing.
    searches : int
        Searches, each on residuals that were cut anew.
    steps, tolerance
        Iterations of a search at most, and the relative decrease of the cost at which it ends.
    rounding : float
        Residuals smaller than this are rounding errors.
    """

    numeric_rate: float = 0.5
    level_rate: float = 0.5
    rate_sd: float = 1.5
    rate_reach: float = 6.0
    count_rate: float = 2.0
    fewest_counts: int = 3
    start_size: float = 2.7
    start_count_size: float = 0.37
    supposed_count_size: float = 0.1
    smallest_size: float = 1e-4
    largest_size: float = 1100.0
    negligible_size: float = 1e-3
    searches: int = 3
    steps: int = 60
    tolerance: float = 1e-7
    rounding: float = 1e-9


EFFECTS = EffectSettings()


def counts_of(factors: Sequence[Factor]) -> list[Factor]:
    """Return the extrinsic factors above zero with enough values to tell one from the others."""
    return [f for f in factors if f.role == "extrinsic" and f.positive and f.distinct >= EFFECTS.fewest_counts]


def metrics_of(table: Table) -> dict[str, Metric]:
    """Return the factors that vary in a table, with how two of their values are apart."""
    return {f.name: _metric(f) for f in table.factors if f.distinct > 1}


def fit_effects(table: Table, residuals: Array) -> tuple[Effect, ...]:
    """Learn how residuals depend on the factors; nothing, where noise explains them as well.

    The rates and sizes are those of the largest posterior density. Before each search, residuals that lie far from what
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
    # Where most residuals are rounding errors, every other one would be cut.
    if not any(f.distinct > 1 for f in table.factors) or robust_sd(residuals) < EFFECTS.rounding:
        return ()
    model = _model_of(table)
    search = model.search
    supposed = model.start(CLIP.size, EFFECTS.supposed_count_size)
    logarithms = model.start(EFFECTS.start_size, EFFECTS.start_count_size)
    cut = clipped(residuals, inverse_of(search.covariance(supposed))[0], CLIP.first_rounds)
    for _ in range(EFFECTS.searches - 1):
        logarithms = search.best(logarithms, cut, EFFECTS.steps, EFFECTS.tolerance)
        cut = clipped_with(residuals, search.covariance(logarithms))
    logarithms = search.best(logarithms, cut, EFFECTS.steps, EFFECTS.tolerance)
    return model.effects(logarithms) if search.explains(logarithms, cut) else ()


def krige(table: Table, effects: Sequence[Effect], residuals: Array, carried: Sequence[str] = ()) -> Discrepancy:
    """Carry residuals to other configurations, the effects being known.

    Parameters
    ----------
    table : Table
        One row per anchor.
    effects : sequence of Effect
        At least one.
    residuals : ndarray of shape (rows,)
    carried : sequence of str
        Factors beyond whose largest value residuals are carried on unchanged.

    Returns
    -------
    Discrepancy
        Shared by all draws, with the scale of largest likelihood.
    """
    metrics = metrics_of(table)
    anchors = {name: table.columns[name] for name in metrics}
    kernel = Exponential(metrics, tuple(effects), {n: float(np.max(anchors[n])) for n in carried if n in anchors})
    covariance = kernel.covariance(anchors, anchors) + np.eye(len(residuals))
    # Single precision: more digits of a residual say nothing, and a model file packs it in half the bytes.
    cut = clipped_with(residuals, covariance).astype(np.float32).astype(float)
    scale = np.sqrt(float(cut @ inverse_of(covariance)[0] @ cut) / len(cut))
    return Discrepancy(kernel, anchors, cut, np.zeros(len(cut)), 1.0, np.array([scale]))


@dataclass(frozen=True, eq=False)
class _EffectModel:
    """A search over the effects of a table.

    Attributes
    ----------
    widths : dict of str to float
        By factor: the distance that counts as one. Each has a rate.
    counts : tuple of str
        Extrinsic counts with level effects.
    """

    search: Search
    widths: dict[str, float]
    counts: tuple[str, ...]

    def start(self, size: float, count_size: float) -> Array:
        """Return logarithms with the rates' medians and some sizes."""
        rates = self.search.mean[: len(self.widths)]
        return np.array([*rates, np.log(size), *[np.log(count_size)] * len(self.counts)])

    def effects(self, logarithms: Array) -> tuple[Effect, ...]:
        """Return the effects that are not negligible."""
        rates, sizes = np.exp(logarithms[: len(self.widths)]), np.exp(logarithms[len(self.widths) :])
        whole = {name: float(rate) / width for (name, width), rate in zip(self.widths.items(), rates, strict=True)}
        by_effect = [whole, *({name: EFFECTS.count_rate} for name in self.counts)]
        return tuple(
            Effect(float(size), r) for size, r in zip(sizes, by_effect, strict=True) if size > EFFECTS.negligible_size
        )


def _model_of(table: Table) -> _EffectModel:
    metrics = metrics_of(table)
    widths = {name: width_of(table.columns[name], metric) for name, metric in metrics.items()}
    between = {name: distances(table.columns[name], table.columns[name], metric) for name, metric in metrics.items()}
    medians = np.log([EFFECTS.level_rate if m == "level" else EFFECTS.numeric_rate for m in metrics.values()])
    counts = tuple(f.name for f in counts_of(table.factors))
    rows, sizes = len(table), 1 + len(counts)
    correlations = [Exponential.correlation(EFFECTS.count_rate * between[name]) for name in counts]
    size_bounds = (float(np.log(EFFECTS.smallest_size)), float(np.log(EFFECTS.largest_size)))
    search = Search(
        shape=Exponential,
        distances=np.stack([between[name] / width for name, width in widths.items()]),
        correlations=np.reshape(correlations, (len(counts), rows, rows)),
        constant=0.0,
        mean=np.r_[medians, np.zeros(sizes)],
        sd=np.r_[np.full(len(widths), EFFECTS.rate_sd), np.full(sizes, np.inf)],
        bounds=(*((m - EFFECTS.rate_reach, m + EFFECTS.rate_reach) for m in medians.tolist()), *[size_bounds] * sizes),
        noise_known=False,
    )
    return _EffectModel(search, widths, counts)


def _metric(factor: Factor) -> Metric:
    if not factor.numeric:
        return "level"
    return "doublings" if factor.positive and factor.lower > 0.0 else "difference"
