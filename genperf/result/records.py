"""A fit result as a record of the model file, and back."""

from __future__ import annotations

import math
import re
from collections.abc import Iterable, Sequence
from typing import Any

import msgspec
import numpy as np
import numpy.typing as npt

from genperf.discrepancy import Discrepancy, Process, Stack
from genperf.errors import ModelError
from genperf.expression import Constant, Expression, Meaning, Part, Term
from genperf.formula import Node, names_in, parse, render
from genperf.prediction import Member, discrepancies_of, stack_of
from genperf.result.arrays import encoded, unpacked
from genperf.result.checks import check_record, refusal
from genperf.result.fit_result import FitResult
from genperf.result.layout import ConstantRecord, DiscrepancyRecord, MemberRecord, ModelRecord, TermRecord
from genperf.table import Factor

#: Characters of a term that are read at most: a term of many levels is longer than what a person would write.
LONGEST_TERM = 100_000
#: Digits of an interval's ends: those of single precision.
INTERVAL_DIGITS = 7
#: What the record of a discrepancy leaves out where it is as in the record before.
SHARED = ("kernel", "anchors", "logarithms", "variances", "extrapolation")
#: The families whose constants are named after factors; earlier files hold no meanings.
NAMED = ("generic", "transformer")
_PARTS: dict[str, Part] = {"a": "scale", "p": "intrinsic", "q": "extrinsic", "d": "step"}
_NAME = re.compile(r"(?P<letter>[apqd])(?P<term>\d*)(?:_(?P<factors>.+?))?(?:\[(?P<level>.*)\])?")
#: The fields of a constant that have a default.
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
    ends = member.constant_interval()
    expression = member.expression
    constants = tuple(
        _constant_record(
            name=c.name,
            kind=c.kind,
            lower=_bound(c.lower),
            upper=_bound(c.upper),
            start=c.start,
            penalised=c.penalised,
            size=c.size,
            unit=c.unit,
            value=float(member.constants[j]),
            interval=(_short(ends[j, 0]), _short(ends[j, 1])),
            at_bound=c.name in member.at_bound,
            identified=c.name not in member.unidentified,
            meaning=c.meaning,
        )
        for j, c in enumerate(expression.constants)
    )
    return MemberRecord(
        family=expression.family,
        label=member.label,
        weight=member.weight,
        text=expression.text(member.values),
        terms=tuple(TermRecord(t.name, render(t.node)) for t in expression.terms),
        total=None if expression.total is None else render(expression.total),
        constants=constants,
        status=member.status,
        draws=member.draws,
        discrepancy=place,
        central=member.central,
    )


def _constant_record(**fields: Any) -> ConstantRecord:
    """Return the record of a constant; a field that equals its default is left to it, and is then not written."""
    return ConstantRecord(**{k: v for k, v in fields.items() if k not in DEFAULTS or v != DEFAULTS[k]})


def _short(value: float) -> float:
    """Return the end of an interval with as many digits as the draws behind it have."""
    return float(f"{value:.{INTERVAL_DIGITS}g}")


def _bound(value: float) -> float | None:
    return float(value) if math.isfinite(value) else None


def result_of(record: ModelRecord) -> FitResult:
    """Return the result of a record."""
    discrepancies = _discrepancies_from(record.discrepancies)
    check_record(record, discrepancies)
    schema = record.table
    return FitResult(
        model=record.model,
        schema=schema,
        members=tuple(_member(m, schema.factors, discrepancies, record.stack, k) for k, m in enumerate(record.members)),
        spread=record.spread,
        evidence=record.evidence,
        options=dict(record.options),
        seed=record.seed,
        metrics=dict(record.metrics),
        notes=record.notes,
        feasibility=record.feasibility,
        further={name: result_of(one) for name, one in record.further.items()},
    )


def _member(
    record: MemberRecord,
    factors: tuple[Factor, ...],
    discrepancies: Sequence[Discrepancy],
    stack: Stack | None,
    place: int,
) -> Member:
    """Return the member of a record."""
    texts = tuple(f.name for f in factors if not f.numeric)
    names = {f.name for f in factors} | {c.name for c in record.constants}

    def read(text: str, more: set[str] | None = None) -> Node:
        return parse(text, names | (more or set()), texts, LONGEST_TERM).node

    terms = tuple(Term(t.name, read(t.formula)) for t in record.terms)
    constants = tuple(
        Constant(
            c.name,
            c.kind,
            -math.inf if c.lower is None else c.lower,
            math.inf if c.upper is None else c.upper,
            c.start,
            c.penalised,
            c.unit,
            c.size,
            c.meaning or _meaning_of(c.name, record.family, factors),
        )
        for c in record.constants
    )
    total = None if record.total is None else read(record.total, {t.name for t in terms})
    draws = record.draws
    if draws.ndim != 2 or not len(draws) or draws.shape[1] != len(constants):
        raise refusal("members.draws: the draws do not match the constants")
    if record.central is not None and (record.central.shape != draws.shape[:1] or not (record.central > 0.0).any()):
        raise refusal("members.central: the shares for the central value do not match the draws")
    discrepancy = None
    if record.discrepancy is not None:
        if not 0 <= record.discrepancy < len(discrepancies):
            raise refusal("members.discrepancy: there is none at this place")
        discrepancy = discrepancies[record.discrepancy]
        if len(discrepancy.scales) != len(draws):
            raise refusal("discrepancies.scales: they do not match the draws")
        # The terms are evaluated at the anchors of a series.
        lacking = {n for term in terms for n in names_in(term.node)} & {f.name for f in factors} - set(
            discrepancy.anchors
        )
        if lacking:
            raise refusal(f"discrepancies.anchors: '{min(lacking)}' is not among them, and a term reads it")
    return Member(
        Expression(record.family, terms, constants, total, texts),
        np.array([c.value for c in record.constants]),
        draws,
        record.weight,
        record.status,
        tuple(c.name for c in record.constants if c.at_bound),
        tuple(c.name for c in record.constants if not c.identified),
        record.label,
        discrepancy,
        central=record.central,
        process=None if stack is None else Process(stack, place),
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
    before: dict[str, Any] = {"extrapolation": None}
    for record in records:
        fields = {k: v for k, v in msgspec.structs.asdict(record).items() if v is not msgspec.UNSET}
        before = {name: fields.get(name, before.get(name, msgspec.UNSET)) for name in SHARED}
        lacking = [name for name, value in before.items() if value is msgspec.UNSET]
        if lacking:
            raise refusal(f"discrepancies.{lacking[0]}: it is missing")
        fields.pop("per_draw")
        discrepancies.append(Discrepancy(**{**fields, **before}))
    return tuple(discrepancies)


def _meaning_of(name: str, family: str, factors: Sequence[Factor]) -> Meaning | None:
    """Return what a constant means for the factors, by its name, where a file of earlier versions does not hold it."""
    named = _NAME.fullmatch(name)
    if named is None or family not in NAMED or (family == "transformer" and named["level"] is None):
        return None
    part, term, text = _PARTS[named["letter"]], int(named["term"] or 0), named["factors"] or ""
    categorical = ""
    if named["level"] is not None:
        categorical = _end(text, [f.name for f in factors if not f.numeric])
        text = text.removesuffix(categorical).removesuffix("_")
    factor = _end(text, [f.name for f in factors if f.numeric])
    whole = "level" if categorical and not factor else part
    return Meaning(whole, factor, categorical, named["level"] or "", term)


def _end(text: str, names: Sequence[str]) -> str:
    """Return the longest name, or names with colons between, with which a text ends."""
    for start in sorted({0, *(place.end() for place in re.finditer("_", text))}):
        if all(name in names for name in text[start:].split(":")):
            return text[start:]
    return ""


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
