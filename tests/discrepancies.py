"""Discrepancies written down by hand, for tests of everything that reads them."""

from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np

from genperf.discrepancy import Discrepancy, Effect, Exponential, Extrapolation
from genperf.discrepancy.distances import Metric
from genperf.discrepancy.kernels.random_walk import walk_from


def walk_along(
    factor: str,
    anchors: Sequence[float],
    logarithms: Sequence[float] | np.ndarray,
    *,
    step: float = 0.1,
    noise: float = 0.01,
    slope: float = 0.0,
    scales: Sequence[float] = (1.0, 1.0),
    variances: Sequence[float] | np.ndarray | None = None,
) -> Discrepancy:
    """Return a random walk along one factor, with constant work."""
    columns = {factor: np.array(anchors, float)}
    own = np.zeros(len(anchors)) if variances is None else np.array(variances, float)
    return Discrepancy(
        walk_from((factor,), step, columns),
        columns,
        np.array(logarithms, float),
        own,
        noise,
        np.array(scales, float),
        per_draw=True,
        extrapolation=Extrapolation((factor,), "1", slope),
    )


def kriged(
    anchors: Mapping[str, tuple[Metric, Sequence[Any]]],
    effects: Sequence[tuple[float, dict[str, float]]],
    residuals: Sequence[float] | np.ndarray,
    sigma: float,
) -> Discrepancy:
    """Return a shared discrepancy: residuals at anchors, effects of so many times σ²."""
    columns = {
        name: np.array(values, dtype=object if metric == "level" else float)
        for name, (metric, values) in anchors.items()
    }
    kernel = Exponential(
        {name: metric for name, (metric, _) in anchors.items()}, tuple(Effect(size, rates) for size, rates in effects)
    )
    count = len(residuals)
    return Discrepancy(kernel, columns, np.array(residuals, float), np.zeros(count), 1.0, np.array([sigma]))
