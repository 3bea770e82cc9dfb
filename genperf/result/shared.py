"""Discrepancies in the model file: what several have alike is written once.

The discrepancies of a series differ in their scales and their noise. Their kernel, their anchors and what was measured
there are mostly the same.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import Any

import msgspec
import numpy as np

from genperf.discrepancy import Discrepancy
from genperf.result.checks import refusal
from genperf.result.layout import DiscrepancyRecord

#: What a record leaves out where it is as in the record before.
SHARED = ("kernel", "anchors", "logarithms", "variances", "extrapolation")


def discrepancy_records(discrepancies: Iterable[Discrepancy]) -> tuple[DiscrepancyRecord, ...]:
    """Return the records of a model's discrepancies, in their order."""
    records: list[DiscrepancyRecord] = []
    before: Discrepancy | None = None
    for discrepancy in discrepancies:
        fields = msgspec.structs.asdict(discrepancy)
        for name in SHARED:
            if before is not None and _alike(fields[name], getattr(before, name)):
                del fields[name]
        records.append(DiscrepancyRecord(**fields))
        before = discrepancy
    return tuple(records)


def discrepancies_from(records: Sequence[DiscrepancyRecord]) -> tuple[Discrepancy, ...]:
    """Return the discrepancies of a model's records, in their order.

    Raises
    ------
    ModelError
        Where the first leaves something out.
    """
    discrepancies: list[Discrepancy] = []
    before: dict[str, Any] = {"extrapolation": None}
    for record in records:
        fields = {k: v for k, v in msgspec.structs.asdict(record).items() if v is not msgspec.UNSET}
        before = {name: fields.get(name, before.get(name, msgspec.UNSET)) for name in SHARED}
        lacking = [name for name, value in before.items() if value is msgspec.UNSET]
        if lacking:
            raise refusal(f"discrepancies.{lacking[0]}: it is missing")
        discrepancies.append(Discrepancy(**{**fields, **before}))
    return tuple(discrepancies)


def _alike(one: Any, other: Any) -> bool:
    """Tell whether two parts are the same: kernels, arrays, arrays by name."""
    if isinstance(one, dict) and isinstance(other, dict):
        return list(one) == list(other) and all(_alike(one[name], other[name]) for name in one)
    if isinstance(one, np.ndarray) and isinstance(other, np.ndarray):
        return one.dtype == other.dtype and np.array_equal(one, other)
    return bool(one == other)
