"""The layout of the model file, and whether its parts fit each other.

A part of a model that is data is declared where it belongs (`Schema`, `Factor`, `Discrepancy`, …) and is in the
file as it is. Declared here is what differs in the file: a formula is a text, members refer to a discrepancy by its
place, and discrepancies of the same measurements have these once. What types cannot declare is a rule, which names the
field at fault.
"""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Sequence
from typing import Annotated, Literal

import msgspec
import numpy as np

from genperf.arrays import Array, Columns
from genperf.discrepancy import Discrepancy, Extrapolation, RandomWalk, Stack
from genperf.discrepancy.product import NotNegative
from genperf.errors import ModelError, Note
from genperf.expression import ConstantMeaning, Kind
from genperf.formula import parse
from genperf.panel.legend import Legend
from genperf.panel.panel import Median
from genperf.prediction import Evidence, Feasibility, Schema, Spread, Status
from genperf.prediction.member import LARGEST_LOGARITHM
from genperf.table import Factor

SOME = msgspec.Meta(min_length=1)


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
    meaning: ConstantMeaning | None = None  #: Absent where its family gives none.

    @property
    def bounds(self) -> tuple[float, float]:
        """The lower and the upper bound."""
        return -math.inf if self.lower is None else self.lower, math.inf if self.upper is None else self.upper


class MemberRecord(msgspec.Struct, frozen=True, eq=False, omit_defaults=True, forbid_unknown_fields=True):
    """A fitted expression. `discrepancy` is a place among the model's discrepancies."""

    family: str
    label: str
    weight: NotNegative
    text: str
    terms: Annotated[tuple[TermRecord, ...], SOME]
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


class ModelRecord(msgspec.Struct, frozen=True, eq=False, rename={"schema": "table"}, forbid_unknown_fields=True):
    """What one fit gave."""

    model: str
    schema: Schema
    members: Annotated[tuple[MemberRecord, ...], SOME]
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
    legend: Legend | None = None  #: Of the table that all groups are of; None in older files.


#: Relative distance of a number from its bound: files keep nine digits of a cell.
ROUNDING = 1e-6
#: Whether something is wrong, and what; a rule may rely on those before it.
_Rules = Iterator[tuple[object, str]]


def refused(rules: Iterable[tuple[object, str]]) -> None:
    """Refuse a file that breaks a rule."""
    for wrong, complaint in rules:
        if wrong:
            raise ModelError(f"is not a whole model file: {complaint}")


def of_record(record: ModelRecord, discrepancies: Sequence[Discrepancy]) -> _Rules:
    """Yield the rules of a model: of each whether it is broken, and the complaint."""
    schema = record.schema
    yield schema.substituted, "table.substituted: a fitted model has no levels that replace others"
    yield from _of_names("table.factors", (f.name for f in schema.factors))
    for factor in schema.factors:
        yield from _of_factor(factor)
    for median in schema.medians:
        yield from _of_median(median, schema.factors)
    yield not 0.0 <= schema.lowest <= schema.highest, "table.lowest, table.highest: the measured values are not a range"
    if schema.target.work:
        parse(schema.target.work, {f.name for f in schema.factors if f.numeric}, value="number or comparison")
    for discrepancy in discrepancies:
        yield from _of_discrepancy(discrepancy, schema.factors)
    has_weight = sum(m.weight for m in record.members) > 0.0
    yield not has_weight, "members.weight: the weights do not add up to a share above zero"
    for member in record.members:
        yield from _of_member(member, schema, discrepancies)
    unknown_factors = {look_back.factor for look_back in record.evidence} - {f.name for f in schema.factors}
    yield unknown_factors, "evidence.factor: it was not measured"
    if record.stack is not None:
        yield from _of_stack(record.stack, len(record.members), schema.factors)
    if record.feasibility is not None:
        yield from _of_feasibility(record.feasibility, schema.factors)
    factor_kinds = [(f.name, f.numeric) for f in schema.factors]
    kinds_of_further = ([(f.name, f.numeric) for f in other.schema.factors] for other in record.further.values())
    yield any(kinds != factor_kinds for kinds in kinds_of_further), "further: its factors are not those of the table"


def of_groups(file: File) -> _Rules:
    """Yield the rules of groups, as `of_record` does."""
    keys = [*(g.key for g in file.groups), *(f.key for f in file.failures)]
    complete = all(len(key) == len(file.group) for key in keys) and len(set(keys)) == len(keys)
    yield not complete, "groups.key: the groups do not have one value of each group column, or one is there twice"
    # The work of a step has the batch of a group in it, where that is one of its columns.
    targets = {msgspec.structs.replace(g.model.schema.target, work="") for g in file.groups}
    yield len(targets) > 1, "groups.model.table.target: the groups measure different quantities"


def _of_names(place: str, names: Iterable[str]) -> _Rules:
    """Yield whether a name at a place of the file is empty, or there twice."""
    counts = Counter(names)
    yield "" in counts, f"{place}: a name is empty"
    for name, count in counts.items():
        yield count > 1, f"{place}: '{name}' is there twice"


def _of_factor(factor: Factor) -> _Rules:
    """Yield whether a factor breaks a rule, with what is wrong then."""
    place = f"table.factors: '{factor.name}'"
    yield factor.distinct < 1, f"{place} has no value"
    if factor.numeric:
        ordered = factor.lower <= factor.upper and (factor.lower > 0.0 or not factor.positive)
        yield not ordered, f"table.factors: the measured range of '{factor.name}' is not one"
        yield not factor.centre > 0.0, f"{place} has a centre that is not above zero"
    else:
        once = len(factor.levels) == factor.distinct == len(set(factor.levels))
        yield not once, f"{place} does not have each of its levels once"


def _of_median(median: Median, factors: Sequence[Factor]) -> _Rules:
    """Yield whether a measured configuration breaks a rule, with what is wrong then."""
    numeric = [not isinstance(v, str) for v in median.values]
    yield numeric != [f.numeric for f in factors], "table.medians: the measured configurations do not match the factors"
    ordered = 0.0 < median.lowest <= median.value <= median.highest and median.repeats >= 1
    yield not ordered, "table.medians: what was measured of a configuration is not a range above zero"
    for factor, value in zip(factors, median.values, strict=True):
        room = ROUNDING * max(abs(factor.lower), abs(factor.upper))
        in_range = not isinstance(value, str) and factor.lower - room <= value <= factor.upper + room
        measured = value in factor.levels if isinstance(value, str) else in_range
        yield not measured, f"table.medians: '{value}' is outside of what was measured of '{factor.name}'"


def _of_member(member: MemberRecord, schema: Schema, discrepancies: Sequence[Discrepancy]) -> _Rules:
    """Yield whether a member breaks a rule, with what is wrong then."""
    yield from _of_names("members.terms", (t.name for t in member.terms))
    yield from _of_names("members.constants", [*(c.name for c in member.constants), *(f.name for f in schema.factors)])
    for constant in member.constants:
        (lower, upper), room = constant.bounds, ROUNDING * max(1.0, abs(constant.value))
        # A constant of a fixed value has that value as both bounds.
        inside = lower <= upper and lower - room * (lower != 0.0) <= constant.value <= upper + room
        yield not inside, f"members.constants: '{constant.name}' is outside of its bounds"
    draws, central, place = member.draws, member.central, member.discrepancy
    draws_match = draws.ndim == 2 and len(draws) and draws.shape[1] == len(member.constants)
    yield not draws_match, "members.draws: the draws do not match the constants"
    shared = central is None or (central.shape == draws.shape[:1] and (central > 0.0).any())
    yield not shared, "members.central: the shares for the central value do not match the draws"
    if place is not None:
        yield not 0 <= place < len(discrepancies), "members.discrepancy: there is none at this place"
        alike = len(discrepancies[place].scales) == len(draws)
        yield not alike, "discrepancies.scales: they do not match the draws"


def _of_anchors(place: str, anchors: Columns, factors: tuple[Factor, ...], *others: Array) -> _Rules:
    """Yield whether anchors, columns by factor, and what is known of each are of one length, and of the factors."""
    numeric = {f.name: f.numeric for f in factors}
    count = next(iter(anchors.values()), np.empty(0)).size
    lengths = {values.shape for values in (*anchors.values(), *others)}
    yield count == 0 or lengths != {(count,)}, f"{place}: they are not of one length"
    mismatched = any(numeric.get(name) is not (values.dtype != object) for name, values in anchors.items())
    yield mismatched, f"{place}: they do not match the factors"


def _of_discrepancy(discrepancy: Discrepancy, factors: tuple[Factor, ...]) -> _Rules:
    """Yield whether the discrepancy of a series breaks a rule, with what is wrong then."""
    count, anchors, scales = discrepancy.logarithms.size, discrepancy.anchors, discrepancy.scales
    yield from _of_anchors("discrepancies.anchors", anchors, factors, discrepancy.logarithms, discrepancy.variances)
    extreme = np.any(np.abs(discrepancy.logarithms) > LARGEST_LOGARITHM)
    yield extreme, "discrepancies.logarithms: one is not a logarithm of what was measured"
    deviations = np.append(scales, discrepancy.noise)
    positive = scales.ndim == 1 and len(scales) and np.all(deviations > 0.0)
    yield not positive, "discrepancies.scales: a scale or the noise is not above zero"
    extreme = deviations.max() > LARGEST_LOGARITHM
    yield extreme, "discrepancies.scales: a scale or the noise is not a standard deviation of ln T"
    yield np.any(discrepancy.variances < 0.0), "discrepancies.variances: one is negative"
    walk, beyond = discrepancy.kernel, discrepancy.extrapolation
    matching = walk.axes and len(walk.axes) == len(walk.origin) and walk.step > 0.0
    yield not matching, "discrepancies.kernel: axes, origin and step do not match"
    for name in (f.name for f in factors if f.numeric and f.positive and f.name in anchors):
        yield np.any(anchors[name] <= 0.0), f"discrepancies.anchors: an anchor's '{name}' is not above zero"
    for text in (*walk.axes, *beyond.axes, beyond.work, beyond.nodes):
        parse(text, set(anchors), value="number or comparison")
    offsets = discrepancy.offsets
    fitting = offsets is None or (offsets.ndim == 2 and len(offsets) == len(scales) and 0 < offsets.shape[1] < count)
    yield not fitting, "discrepancies.offsets: what is borrowed does not match the draws or the anchors"
    solvable = _finite(lambda: discrepancy.geometry[:1])
    yield not solvable, "discrepancies.kernel: a size is so large beside the noise that nothing can be computed"


def _finite(solved: Callable[[], Iterable[Array]]) -> bool:
    """Return whether the covariance of a process at its anchors has a square root, as every fitted one has."""
    try:
        with np.errstate(all="ignore"):
            return all(np.isfinite(array).all() for array in solved())
    except (np.linalg.LinAlgError, ValueError):
        return False


def _of_stack(stack: Stack, members: int, factors: tuple[Factor, ...]) -> _Rules:
    """Yield whether the processes of a table of many factors break a rule, with what is wrong then."""
    anchors, processes = stack.anchors, stack.parts
    yield len(processes) != members, "stack.parts: they do not match the members"
    yield from _of_anchors("stack.anchors", anchors, factors)
    extreme = any(np.any(np.abs(process.residuals) > LARGEST_LOGARITHM) for process in processes)
    yield extreme, "stack.parts.residuals: one is not a logarithm of what was measured"
    count, numbers = next(iter(anchors.values())).size, {n for n, v in anchors.items() if v.dtype != object}
    even = all(p.residuals.shape == p.factors.shape == (p.residuals.size,) for p in processes)
    even &= all(0 < p.residuals.size <= count for p in processes)
    yield not even, "stack.parts: the residuals do not match the anchors"
    positive = all(np.all(p.factors > 0.0) for p in processes) and sum(p.weight for p in processes) > 0.0
    yield not positive, "stack.parts: the weights or the factors of noise are not above zero"
    unknown = any(name not in anchors for p in processes for name in p.unseen)
    yield unknown, "stack.parts.unseen: the variance of a level that was not measured does not match the anchors"
    for beyond in stack.beyond:
        names = parse(beyond.factor).names
        yield not names or not numbers.issuperset(names), f"stack.beyond: '{beyond.factor}' is no number of the anchors"
        mismatched = len(beyond.weights) != len(processes)
        yield mismatched, f"stack.beyond: the weights beyond '{beyond.factor}' do not match the parts"
    for kernel in (process.kernel for process in processes):
        complete = kernel.axes and set(anchors).issuperset(kernel.factors)
        yield not complete, "stack.parts.kernel: the axes do not match the anchors"
        for axis in kernel.axes:
            number, at = axis.scale != "level", f"stack.parts.kernel: the axis '{axis.formula}'"
            yield numbers.issuperset(parse(axis.formula).names) is not number, f"{at} does not match the anchors"
            finite = not number or np.all(np.isfinite(axis.coordinates(anchors)))
            yield not finite, f"{at} has no logarithm at an anchor"
    solvable = _finite(lambda: map(stack.dual, range(len(processes))))
    yield not solvable, "stack: a covariance has no square root"


def _of_feasibility(feasibility: Feasibility, factors: tuple[Factor, ...]) -> _Rules:
    """Yield whether what tells which runs fit breaks a rule, with what is wrong then."""
    numeric, texts = ({f.name for f in factors if f.numeric is kind} for kind in (True, False))
    same_factors = set(feasibility.demands) == numeric and set(feasibility.names) == numeric | texts
    yield not same_factors, "feasibility: its factors are not those of the table"
    if feasibility.need is not None:
        # For its error alone: a formula of other names, or one whose value is no number.
        parse(feasibility.need.formula, numeric | texts, texts, value="number or comparison")
    kinds = [name in texts for name in feasibility.names]
    configurations = (*feasibility.succeeded, *feasibility.failed, *feasibility.contradicted)
    mismatched = any([isinstance(value, str) for value in values] != kinds for values in configurations)
    yield mismatched, "feasibility: a measured configuration does not match the factors"
