"""`last-point`: the value of the nearest measured configuration, which along a series is the largest."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

import numpy as np
import numpy.typing as npt
import pandas as pd

from genperf.formula import Node, Number, call, evaluate
from genperf.panel import Panel
from genperf.scaling import is_whole
from genperf.table import Table
from genperf.table.target import SECONDS
from genperf.validation.features import Array, Axis, Forecast, forecast, half_width


@dataclass(frozen=True)
class LastPointSettings:
    """Numbers of the search for the nearest configuration."""

    #: Rows whose distances to all training rows are in memory at a time: a block and 100 000 training rows take 200 MB
    #: for each array of distances.
    block: int = 256
    #: Distances are sums of logarithms: those that differ by less are equal up to rounding.
    relative_tolerance: float = 1e-9


LAST_POINT = LastPointSettings()


def last_point(
    train: Table, data: pd.DataFrame, interval: float, seed: int, mapping: Mapping[str, str] | None = None
) -> Forecast:
    """Predict each configuration by the nearest measured one, with the same value per sample.

    T = T' · b/b'

    with T' and b' the measured value and the batch per worker of the nearest measured configuration, and b the batch
    per worker of the predicted one; of a job, 1/n in the place of b. It is T' where the table has no such factor, or
    where the target is not a time: a memory is not proportional to the batch. Nearest is, in this order: the fewest
    categorical factors that differ; the smallest distance in the intrinsic factors; in the extrinsic ones; in the
    batch. So along a series it is the largest measured configuration below the predicted one, and in a table of many
    programs it is the same program at the nearest scale. Distances are Euclidean in the factors' logarithms; of two
    scales equally far away, the larger is used.

    The interval comes from predicting each configuration of the training part from its others.

    Examples
    --------
    >>> from genperf.table import read_table
    >>> runs = pd.DataFrame({"workers": [1, 2, 4], "batch": [32, 32, 32], "t": [1.0, 1.1, 1.2]})
    >>> table = read_table(runs, time="t", extrinsic="workers", intrinsic="batch")
    >>> last_point(table, pd.DataFrame({"workers": [8, 8], "batch": [32, 16]}), 0.9, 0).predicted
    array([1.2, 0.6])
    """
    order = np.argsort(-_size(train), kind="stable")
    train = train.take(order)
    batch = _one_worker(train, mapping or {})

    def samples(frame: pd.DataFrame) -> Array:
        if batch is None:
            return np.ones(len(frame))
        columns = {f.name: frame[f.name].to_numpy(dtype=float) for f in train.numeric}
        return np.broadcast_to(np.asarray(evaluate(batch, columns), dtype=float), (len(frame),))

    measured = samples(train.frame)

    def logarithms(frame: pd.DataFrame, apart: bool = False) -> Array:
        nearest = _nearest(train, frame, mapping, apart)
        with np.errstate(all="ignore"):
            ratio = samples(frame) / measured[nearest]
        usable = (ratio > 0) & np.isfinite(ratio)
        return np.asarray(np.log(train.measured[nearest]) + np.log(np.where(usable, ratio, 1.0)))

    half = float("nan")
    if len(train) > 1:
        half = half_width(np.log(train.measured) - logarithms(train.frame, apart=True), interval)
    return forecast(logarithms(data), half)


def _one_worker(train: Table, mapping: Mapping[str, str]) -> Node | None:
    """Return the work of one worker as a formula; None where the time stays as it is."""
    factors = Panel(train.factors, mapping)
    if train.target.unit != SECONDS:
        return None
    if is_whole(train.scaling) and (workers := factors.counted_node) is not None:
        return call("divide", Number(1.0), workers)
    return factors.node("batch")


def _nearest(train: Table, data: pd.DataFrame, mapping: Mapping[str, str] | None, apart: bool) -> npt.NDArray[np.int64]:
    """Return the number of the training row nearest to each row of data."""
    factors = Panel(train.factors, mapping or {})
    batches = {f.name for f in (factors.find("batch"), factors.find("global_batch")) if f is not None}
    tiers = [
        [f for f in train.numeric if f.role == "intrinsic" and f.name not in batches],
        [f for f in train.numeric if f.role == "extrinsic" and f.name not in batches],
        [f for f in train.numeric if f.name in batches],
    ]
    axes = [[Axis.of(f) for f in tier if f.distinct > 1] for tier in tiers]
    measured = [[a.read(train.frame) for a in tier] for tier in axes]
    wanted = [[a.read(data) for a in tier] for tier in axes]
    nearest = np.empty(len(data), dtype=np.int64)
    for start in range(0, len(data), LAST_POINT.block):
        rows = slice(start, min(start + LAST_POINT.block, len(data)))
        different = np.zeros((rows.stop - start, len(train)))
        for f in train.categorical:
            different += data[f.name].to_numpy()[rows, None] != train.frame[f.name].to_numpy()[None, :]
        distances = [different]
        for tier, training in zip(wanted, measured, strict=True):
            squares = [(x[rows, None] - y[None, :]) ** 2 for x, y in zip(tier, training, strict=True)]
            distances.append(np.sqrt(np.nan_to_num(sum(squares, np.zeros_like(different)), posinf=1e300)))
        candidates = np.ones_like(different, dtype=bool)
        if apart:
            candidates[np.arange(rows.stop - start), np.arange(start, rows.stop)] = False
        for distance in distances:
            minimum = np.where(candidates, distance, np.inf).min(axis=1, keepdims=True)
            tolerance = LAST_POINT.relative_tolerance
            candidates &= distance <= minimum * (1 + tolerance) + tolerance
        nearest[rows] = candidates.argmax(axis=1)
    return nearest


def _size(table: Table) -> Array:
    """Return the sum of the logarithms of each row's extrinsic factors, shape (rows,)."""
    axes = [Axis.of(f) for f in table.numeric if f.role == "extrinsic"]
    return np.asarray(sum((a.read(table.frame) for a in axes), np.zeros(len(table))))
