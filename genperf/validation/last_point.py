"""`last-point`: everything stays as it was at the nearest, and so the largest, measured configuration."""

from __future__ import annotations

from collections.abc import Mapping

import numpy as np
import numpy.typing as npt
import pandas as pd

from genperf.formula import evaluate
from genperf.models.family import Factors
from genperf.table import Table
from genperf.validation.features import Array, Axis, Forecast, forecast, half_width

_BLOCK = 256
# Distances are sums of logarithms: equal ones may differ in the last digits.
_TIE = 1e-9


def last_point(
    train: Table, data: pd.DataFrame, interval: float, seed: int, mapping: Mapping[str, str] | None = None
) -> Forecast:
    """Predict each configuration by the nearest measured one, with its time per sample kept.

    T = T' · b/b'

    with T' and b' the step time and the batch per worker of the nearest measured configuration, b the batch per
    worker asked for; T' where the table has no such factor. Nearest is, in this order: the fewest categorical factors
    that differ; the smallest distance in the intrinsic factors; in the extrinsic ones; in the batch. So along a series
    it is the largest measured configuration below the one asked for, and in a table of many programs it is the same
    program at the nearest scale. Distances are Euclidean in the factors' logarithms; of two scales equally far away,
    the larger is taken.

    The interval comes from predicting each configuration of the training part from its others.

    Parameters
    ----------
    train : Table
        One row per configuration.
    data : DataFrame
        The configurations asked for.
    interval : float
    seed : int
        Not used: nothing is random.
    mapping : mapping of str to str, optional
        ``{"batch": column}`` where the batch per worker has an unusual name.

    Examples
    --------
    >>> from genperf.table import read_table
    >>> runs = pd.DataFrame({"workers": [1, 2, 4], "batch": [32, 32, 32], "t": [1.0, 1.1, 1.2]})
    >>> table = read_table(runs, time="t", extrinsic="workers", intrinsic="batch")
    >>> last_point(table, pd.DataFrame({"workers": [8, 8], "batch": [32, 16]}), 0.9, 0).time
    array([1.2, 0.6])
    """
    order = np.argsort(-_size(train), kind="stable")
    train = train.take(order)
    batch = Factors(train.factors, mapping or {}).node("batch")

    def samples(frame: pd.DataFrame) -> Array:
        if batch is None:
            return np.ones(len(frame))
        columns = {f.name: frame[f.name].to_numpy(dtype=float) for f in train.numeric}
        return np.broadcast_to(np.asarray(evaluate(batch, columns), dtype=float), (len(frame),))

    known, asked = samples(train.frame), samples(data)

    def log_time(frame: pd.DataFrame, wanted: Array, apart: bool = False) -> Array:
        near = _nearest(train, frame, mapping, apart)
        with np.errstate(all="ignore"):
            ratio = wanted / known[near]
        return np.asarray(np.log(train.measured[near]) + np.log(np.where((ratio > 0) & np.isfinite(ratio), ratio, 1.0)))

    half = float("nan")
    if len(train) > 1:
        half = half_width(np.log(train.measured) - log_time(train.frame, known, apart=True), interval)
    return forecast(log_time(data, asked), half)


def _nearest(train: Table, data: pd.DataFrame, mapping: Mapping[str, str] | None, apart: bool) -> npt.NDArray[np.int64]:
    """Return the training row nearest to each row of data; never the row of the same number where `apart`."""
    found = Factors(train.factors, mapping or {})
    batches = {f.name for f in (found.find("batch"), found.find("global_batch")) if f is not None}
    tiers = [
        [f for f in train.numeric if f.role == "intrinsic" and f.name not in batches],
        [f for f in train.numeric if f.role == "extrinsic" and f.name not in batches],
        [f for f in train.numeric if f.name in batches],
    ]
    axes = [[Axis.of(f) for f in tier if f.distinct > 1] for tier in tiers]
    there = [[a.read(train.frame) for a in tier] for tier in axes]
    here = [[a.read(data) for a in tier] for tier in axes]
    nearest = np.empty(len(data), dtype=np.int64)
    for start in range(0, len(data), _BLOCK):
        rows = slice(start, min(start + _BLOCK, len(data)))
        differ = np.zeros((rows.stop - start, len(train)))
        for f in train.categorical:
            differ += data[f.name].to_numpy()[rows, None] != train.frame[f.name].to_numpy()[None, :]
        distances = [differ]
        for near, far in zip(here, there, strict=True):
            squares = [(x[rows, None] - y[None, :]) ** 2 for x, y in zip(near, far, strict=True)]
            distances.append(np.sqrt(np.nan_to_num(sum(squares, np.zeros_like(differ)), posinf=1e300)))
        open_ = np.ones_like(differ, dtype=bool)
        if apart:
            open_[np.arange(rows.stop - start), np.arange(start, rows.stop)] = False
        for distance in distances:
            least = np.where(open_, distance, np.inf).min(axis=1, keepdims=True)
            open_ &= distance <= least * (1 + _TIE) + _TIE
        nearest[rows] = open_.argmax(axis=1)
    return nearest


def _size(table: Table) -> Array:
    """Return how large each row's extrinsic factors are, in logarithms."""
    axes = [Axis.of(f) for f in table.numeric if f.role == "extrinsic"]
    return np.asarray(sum((a.read(table.frame) for a in axes), np.zeros(len(table))))
