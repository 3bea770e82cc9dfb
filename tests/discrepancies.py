"""Discrepancies written down by hand, for tests of everything that reads them."""

from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np

from genperf.discrepancy import Discrepancy, Extrapolation, KernelAxis, MeanProcess, Process, Product, Stack
from genperf.discrepancy.series import walk_from
from genperf.discrepancy.stack import NORMAL


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
        extrapolation=Extrapolation((factor,), "1", slope),
    )


def stacked(
    anchors: Mapping[str, Sequence[Any]],
    residuals: Sequence[float] | np.ndarray,
    axes: Sequence[KernelAxis],
    *,
    size: float = 1e-6,
    local: float = 1.0,
    noise: float = 1e-6,
    weights: Sequence[float] = (1.0,),
) -> list[Process]:
    """Return the processes of a stack of equal parts, whose covariance is its local part and next to no level."""
    columns = {
        name: np.array(values, dtype=object if isinstance(values[0], str) else float)
        for name, values in anchors.items()
    }
    kernel = Product(tuple(axes), size, local)
    ones = np.ones(len(residuals))
    parts = tuple(MeanProcess(kernel, np.array(residuals, float), noise, ones, w) for w in weights)
    stack = Stack(columns, parts, NORMAL)
    return [Process(stack, k) for k in range(len(parts))]
