"""A fit result as a record of the model file, and back."""

import math
from collections.abc import Iterable, Sequence
from typing import Any

import msgspec
import numpy as np
import numpy.typing as npt

from genperf.discrepancy import Discrepancy, Process
from genperf.errors import ModelError
from genperf.expression import Constant, Expression, Term
from genperf.formula import Node, names_in, parse, render
from genperf.prediction import Member, discrepancies_of, stack_of
from genperf.result.arrays import encoded, unpacked
from genperf.result.fit_result import FitResult
from genperf.result.layout import (
    ConstantRecord,
    DiscrepancyRecord,
    MemberRecord,
    ModelRecord,
    TermRecord,
    of_record,
    refused,
)

#: Characters of a term that are read at most: a term of many levels is longer than what a person would write.
LONGEST_TERM = 100_000
#: Digits of an interval's ends: those of single precision.
INTERVAL_DIGITS = 7
#: What the record of a discrepancy leaves out where it is as in the record before.
SHARED = ("kernel", "anchors", "logarithms", "variances", "extrapolation")
#: What the record of a constant has of the constant as it is.
PLAIN = ("name", "kind", "start", "penalised", "unit", "size", "meaning")
#: The fields of a constant's record that have a default.
DEFAULTS = {f.name: f.default for f in msgspec.structs.fields(ConstantRecord) if not f.required}


def record_of(result: FitResult) -> ModelRecord:
    """Return the record of a result."""
    if result.schema.substituted:
        shown = ", ".join(f"{name}={levels[0]}" for name, levels in result.schema.substituted.items())
        raise ModelError(f"a model that answers for {shown} is not written", hint="write the fitted model")
    discrepancies = discrepancies_of(result.members)
    places = {id(d): k for k, d in enumerate(discrepancies)}
    return ModelRecord(
        model=result.model,
        table=result.schema,
        members=tuple(_member_record(m, places.get(id(m.discrepancy))) for m in result.members),
        spread=result.spread,
        evidence=result.evidence,
        options=result.options,
        seed=result.seed,
        metrics={name: value for name, value in result.metrics.items() if math.isfinite(value)},
        notes=result.notes,
        discrepancies=_discrepancy_records(discrepancies),
        feasibility=result.feasibility,
        stack=stack_of(result.members),
        further={name: record_of(one) for name, one in result.further.items()},
    )


def _member_record(member: Member, place: int | None) -> MemberRecord:
    expression, constants = member.expression, []
    for constant, value, ends in zip(expression.constants, member.constants, member.constant_interval(), strict=True):
        lower, upper = (float(end) if math.isfinite(end) else None for end in (constant.lower, constant.upper))
        fields = {
            **{name: getattr(constant, name) for name in PLAIN},
            "lower": lower,
            "upper": upper,
            "value": float(value),
            # With as many digits as the draws behind it have.
            "interval": tuple(float(f"{end:.{INTERVAL_DIGITS}g}") for end in ends),
            "at_bound": constant.name in member.at_bound,
            "identified": constant.name not in member.unidentified,
        }
        # A field that equals its default is left to it, and is then not written.
        given = {k: v for k, v in fields.items() if k not in DEFAULTS or v != DEFAULTS[k]}
        constants.append(ConstantRecord(**given))
    return MemberRecord(
        family=expression.family,
        label=member.label,
        weight=member.weight,
        text=expression.text(member.values),
        terms=tuple(TermRecord(t.name, render(t.node)) for t in expression.terms),
        total=None if expression.total is None else render(expression.total),
        constants=tuple(constants),
        status=member.status,
        draws=member.draws,
        discrepancy=place,
        central=member.central,
    )


def result_of(record: ModelRecord) -> FitResult:
    """Return the result of a record."""
    discrepancies = _discrepancies_from(record.discrepancies)
    refused(of_record(record, discrepancies))
    return FitResult(
        model=record.model,
        schema=record.table,
        members=tuple(_member(record, place, discrepancies) for place in range(len(record.members))),
        spread=record.spread,
        evidence=record.evidence,
        options=dict(record.options),
        seed=record.seed,
        metrics=dict(record.metrics),
        notes=record.notes,
        feasibility=record.feasibility,
        further={name: result_of(one) for name, one in record.further.items()},
    )


def _member(whole: ModelRecord, place: int, discrepancies: Sequence[Discrepancy]) -> Member:
    """Return the member at a place of a record."""
    record, factors = whole.members[place], {f.name: f.numeric for f in whole.table.factors}
    texts = tuple(name for name, numeric in factors.items() if not numeric)
    names = {*factors, *(c.name for c in record.constants)}

    def read(text: str, more: Iterable[str] = ()) -> Node:
        return parse(text, names | {*more}, texts, LONGEST_TERM).node

    terms = tuple(Term(t.name, read(t.formula)) for t in record.terms)
    constants = []
    for c in record.constants:
        bounds = (-math.inf if c.lower is None else c.lower, math.inf if c.upper is None else c.upper)
        constants.append(Constant(lower=bounds[0], upper=bounds[1], **{name: getattr(c, name) for name in PLAIN}))
    total = None if record.total is None else read(record.total, (t.name for t in terms))
    discrepancy = None if record.discrepancy is None else discrepancies[record.discrepancy]
    if discrepancy is not None:
        # The terms are evaluated at the anchors of a series.
        lacking = {n for term in terms for n in names_in(term.node)} & {*factors} - {*discrepancy.anchors}
        name = min(lacking, default="")
        refused([(lacking, f"discrepancies.anchors: '{name}' is not among them, and a term reads it")])
    return Member(
        Expression(record.family, terms, tuple(constants), total),
        np.array([c.value for c in record.constants]),
        record.draws,
        record.weight,
        record.status,
        tuple(c.name for c in record.constants if c.at_bound),
        tuple(c.name for c in record.constants if not c.identified),
        record.label,
        discrepancy,
        central=record.central,
        process=None if whole.stack is None else Process(whole.stack, place),
    )


def _discrepancy_records(discrepancies: Iterable[Discrepancy]) -> tuple[DiscrepancyRecord, ...]:
    """Return the records of a model's discrepancies, in their order."""
    records: list[DiscrepancyRecord] = []
    before: Discrepancy | None = None
    for discrepancy in discrepancies:
        fields = msgspec.structs.asdict(discrepancy)
        for name in SHARED:
            if before is not None and ENCODER.encode(fields[name]) == ENCODER.encode(getattr(before, name)):
                del fields[name]
        records.append(DiscrepancyRecord(**fields))
        before = discrepancy
    return tuple(records)


def _discrepancies_from(records: Sequence[DiscrepancyRecord]) -> tuple[Discrepancy, ...]:
    """Return the discrepancies of a model's records, in their order."""
    discrepancies: list[Discrepancy] = []
    fields: dict[str, Any] = {}
    for record in records:
        given = {k: v for k, v in msgspec.structs.asdict(record).items() if v is not msgspec.UNSET}
        fields = {**fields, **given}
        refused((name not in fields, f"discrepancies.{name}: it is missing") for name in SHARED)
        discrepancies.append(Discrepancy(**fields))
    return tuple(discrepancies)


def encode_hook(value: object) -> object:
    """Return what msgspec cannot write by itself as plain values."""
    if isinstance(value, np.ndarray):
        return encoded(value)
    if isinstance(value, np.generic):
        return value.item()
    raise TypeError(f"a model file holds no {type(value).__name__}")


def decode_hook(kind: type, value: object) -> npt.NDArray[np.float64]:
    """Return an array from plain values; msgspec names the field where that fails."""
    if not str(kind).startswith("numpy.ndarray"):
        raise TypeError(f"a model file holds no {kind}")
    return unpacked(value)


ENCODER = msgspec.json.Encoder(enc_hook=encode_hook)
