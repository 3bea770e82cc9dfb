"""The layout of the model file.

A part of a model that is data is declared where it belongs (`Schema`, `Factor`, `Discrepancy`, …) and is in the
file as it is. Declared here is what differs in the file: a formula is a text, members refer to a discrepancy by its
place, and discrepancies of the same measurements have these once.
"""

from __future__ import annotations

from typing import Literal

import msgspec
import numpy as np
import numpy.typing as npt

from genperf.discrepancy import Extrapolation, RandomWalk
from genperf.discrepancy.stack import Stack
from genperf.errors import Note
from genperf.expression import Kind, Meaning
from genperf.prediction import Evidence, Feasibility, Schema, Spread, Status

Array = npt.NDArray[np.float64]


class TermRecord(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """A named part of the target."""

    name: str
    formula: str


class ConstantRecord(msgspec.Struct, frozen=True, kw_only=True, omit_defaults=True, forbid_unknown_fields=True):
    """A constant with its fitted value; a bound of None is infinite. Of a default nothing is written."""

    name: str
    kind: Kind
    value: float
    interval: tuple[float, float]
    unit: str
    lower: float | None = 0.0
    upper: float | None = None
    start: float = 1.0
    penalised: bool = True
    size: float = 1.0
    at_bound: bool = False
    identified: bool = True
    #: Absent where its family gives none.
    meaning: Meaning | None = None


class MemberRecord(msgspec.Struct, frozen=True, eq=False, omit_defaults=True, forbid_unknown_fields=True):
    """A fitted expression. `discrepancy` is a place among the model's discrepancies."""

    family: str
    label: str
    weight: float
    text: str
    terms: tuple[TermRecord, ...]
    total: str | None
    constants: tuple[ConstantRecord, ...]
    status: Status
    draws: Array
    discrepancy: int | None = None
    central: Array | None = None


class DiscrepancyRecord(
    msgspec.Struct, frozen=True, eq=False, kw_only=True, omit_defaults=True, forbid_unknown_fields=True
):
    """A `Discrepancy`. What is left out is as in the discrepancy before it: those of a series differ in little."""

    kernel: RandomWalk | msgspec.UnsetType = msgspec.UNSET
    anchors: dict[str, Array] | msgspec.UnsetType = msgspec.UNSET
    logarithms: Array | msgspec.UnsetType = msgspec.UNSET
    variances: Array | msgspec.UnsetType = msgspec.UNSET
    noise: float
    scales: Array
    extrapolation: Extrapolation | msgspec.UnsetType = msgspec.UNSET
    offsets: Array | None = None


class ModelRecord(msgspec.Struct, frozen=True, eq=False, forbid_unknown_fields=True):
    """What one fit gave."""

    model: str
    table: Schema
    members: tuple[MemberRecord, ...]
    spread: Spread
    evidence: tuple[Evidence, ...]
    options: dict[str, str | int | float | None]
    seed: int
    metrics: dict[str, float]
    notes: tuple[Note, ...]
    discrepancies: tuple[DiscrepancyRecord, ...] = ()
    feasibility: Feasibility | None = None
    stack: Stack | None = None
    further: dict[str, ModelRecord] = {}


class GroupRecord(msgspec.Struct, frozen=True, eq=False, forbid_unknown_fields=True):
    """The model of one group; without groups the key is empty."""

    key: tuple[str, ...]
    model: ModelRecord


class FailureRecord(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """A group that could not be fitted."""

    key: tuple[str, ...]
    reason: str


class File(msgspec.Struct, frozen=True, eq=False, forbid_unknown_fields=True):
    """The whole file."""

    program: Literal["genperf"]
    schema_version: int
    group: tuple[str, ...]
    groups: tuple[GroupRecord, ...]
    failures: tuple[FailureRecord, ...]
