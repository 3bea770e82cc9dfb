"""The layout of the model file: what stands in it, and of which kinds. Fields that came later have defaults."""

from __future__ import annotations

from typing import Annotated, Literal

from pydantic import BaseModel, ConfigDict, Field

from genperf.expression import Kind
from genperf.table import Role

Finite = Annotated[float, Field(allow_inf_nan=False)]


class Strict(BaseModel):
    """A part of the file: nothing else may stand in it."""

    model_config = ConfigDict(extra="forbid", frozen=True)


class Factor(Strict):
    """A column that the time may depend on."""

    name: str
    role: Role
    lower: Finite
    upper: Finite
    centre: Finite
    distinct: int
    levels: list[str]
    integer: bool
    positive: bool


class Schema(Strict):
    """The table behind a model, without its rows."""

    factors: list[Factor]
    time: str
    unit: Literal["s"] = "s"
    group: list[str]
    derived: dict[str, str]
    source: str
    sha256: str
    rows: int
    configurations: int
    rejected: int
    noise: Finite | None
    shortest: Finite
    longest: Finite
    #: A configuration to a line: the factors' values in their order; seconds, shortest, longest; repeats.
    medians: list[list[Finite | str]] = []
    #: The field's names of factors, with the columns that the user said they are.
    mapping: dict[str, str] = {}


class Constant(Strict):
    """A constant with what was found."""

    name: str
    kind: Kind
    lower: Finite | None
    upper: Finite | None
    start: Finite
    penalised: bool
    unit: str
    value: Finite
    interval: tuple[Finite, Finite]
    at_bound: bool
    identified: bool


class Term(Strict):
    """A named part of the time."""

    name: str
    formula: str


class Status(Strict):
    """How the search for the constants ended."""

    solver: str
    cost: Finite
    settled: bool
    evaluations: int
    restarts: int
    agreed: int


class Walk(Strict):
    """How a series may wander from its expression."""

    axes: list[str]
    work: str
    anchors: dict[str, list[Finite]]
    logarithms: list[Finite]
    variances: list[Finite]
    step: Finite
    noise: Finite
    trend: Finite
    sizes: list[Finite]
    offsets: list[list[Finite]] | None = None
    nodes: str = "1"


class Axis(Strict):
    """A factor along which configurations are apart: values of the anchors, or the places of their labels."""

    factor: str
    kind: Literal["doublings", "difference", "level"]
    labels: list[str]
    values: list[Finite]


class Effect(Strict):
    """A part of what the expressions miss."""

    size: Finite
    rates: dict[str, Finite]


class Kriging(Strict):
    """What the measured times lie off the expressions by."""

    axes: list[Axis]
    effects: list[Effect]
    weights: list[Finite]
    variance: Finite


class Shift(Strict):
    """The level effects of a count: kriging along it, in files of before there was any other."""

    factor: str
    levels: list[Finite]
    weights: list[Finite]
    length: Finite


class Member(Strict):
    """A fitted expression."""

    family: str
    label: str
    weight: Finite
    text: str
    terms: list[Term]
    total: str | None
    constants: list[Constant]
    status: Status
    draws: list[list[Finite]]
    # Files written before there were these have none.
    walk: Walk | None = None
    kriging: int | None = None
    # Never written again.
    shift: Shift | None = Field(default=None, exclude=True)


class Spread(Strict):
    """What predictions err by beside the draws."""

    noise: Finite
    misfit: Finite
    per_doubling: Finite


class Evidence(Strict):
    """The largest scale, predicted from the smaller ones."""

    factor: str
    held_out: Finite
    doublings: Finite
    error: Finite
    last_point: Finite | None


class Note(Strict):
    """What the user should know."""

    text: str
    kind: str


class Model(Strict):
    """What one fit gave."""

    model: str
    table: Schema
    members: list[Member]
    spread: Spread
    evidence: list[Evidence]
    options: dict[str, str | Finite | None]
    seed: int
    metrics: dict[str, Finite | None]
    notes: list[Note]
    #: Members refer to them by place.
    krigings: list[Kriging] = []


class Group(Strict):
    """The model of one group; of no groups, the key is empty."""

    key: list[str]
    model: Model


class Failure(Strict):
    """A group that could not be fitted."""

    key: list[str]
    reason: str


class File(Strict):
    """The whole file."""

    program: Literal["genperf"]
    schema_version: int
    group: list[str]
    groups: list[Group]
    failures: list[Failure]
