"""A fit result as a record of the model file, and back."""

from __future__ import annotations

import math
from collections.abc import Sequence

import msgspec
import numpy as np
import numpy.typing as npt

from genperf.discrepancy import Discrepancy
from genperf.errors import ModelError
from genperf.expression import Constant, Expression, Term
from genperf.formula import Node, parse, render
from genperf.prediction import Feasibility, Member, Schema, discrepancies_of
from genperf.result.arrays import encoded, unpacked
from genperf.result.fit_result import FitResult
from genperf.result.layout import ConstantRecord, MemberRecord, ModelRecord, TermRecord
from genperf.table import Factor

#: Characters of a term that are read at most: a term of many levels is longer than what a person would write.
LONGEST_TERM = 100_000
#: Digits of an interval's ends: those of single precision.
INTERVAL_DIGITS = 7


def record_of(result: FitResult) -> ModelRecord:
    """Return the record of a result."""
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
        discrepancies=tuple(discrepancies),
        feasibility=result.feasibility,
    )


def _member_record(member: Member, place: int | None) -> MemberRecord:
    ends = member.constant_interval()
    expression = member.expression
    constants = tuple(
        ConstantRecord(
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
    )


def _short(value: float) -> float:
    """Return the end of an interval with as many digits as the draws behind it have."""
    return float(f"{value:.{INTERVAL_DIGITS}g}")


def _bound(value: float) -> float | None:
    return float(value) if math.isfinite(value) else None


def result_of(record: ModelRecord) -> FitResult:
    """Return the result of a record.

    Raises
    ------
    ModelError
        Where its parts do not fit each other.
    FormulaError
        For a formula that is refused.
    """
    schema = record.table
    _check_schema(schema)
    for discrepancy in record.discrepancies:
        _check_discrepancy(discrepancy, schema.factors)
    if record.feasibility is not None:
        _check_feasibility(record.feasibility, schema.factors)
    return FitResult(
        model=record.model,
        schema=schema,
        members=tuple(_member(m, schema.factors, record.discrepancies) for m in record.members),
        spread=record.spread,
        evidence=record.evidence,
        options=dict(record.options),
        seed=record.seed,
        metrics=dict(record.metrics),
        notes=record.notes,
        feasibility=record.feasibility,
    )


def _refuse(complaint: str) -> ModelError:
    return ModelError(f"is not a whole model file: {complaint}")


def _check_schema(schema: Schema) -> None:
    kinds = [f.numeric for f in schema.factors]
    if any([not isinstance(v, str) for v in m.values] != kinds for m in schema.medians):
        raise _refuse("table.medians: the measured configurations do not match the factors")
    for factor in schema.factors:
        if factor.numeric and not (factor.lower <= factor.upper and (factor.lower > 0.0 or not factor.positive)):
            raise _refuse(f"table.factors: the measured range of '{factor.name}' is not one")


def _member(record: MemberRecord, factors: tuple[Factor, ...], discrepancies: Sequence[Discrepancy]) -> Member:
    """Return the member of a record.

    Parameters
    ----------
    record : MemberRecord
    factors : tuple of Factor
    discrepancies : sequence of Discrepancy
        Of the model; a member refers to one by place.
    """
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
        )
        for c in record.constants
    )
    total = None if record.total is None else read(record.total, {t.name for t in terms})
    draws = record.draws
    if draws.ndim != 2 or not len(draws) or draws.shape[1] != len(constants):
        raise _refuse("members.draws: the draws do not match the constants")
    discrepancy = None
    if record.discrepancy is not None:
        if not 0 <= record.discrepancy < len(discrepancies):
            raise _refuse("members.discrepancy: there is none at this place")
        discrepancy = discrepancies[record.discrepancy]
        if discrepancy.per_draw and len(discrepancy.scales) != len(draws):
            raise _refuse("discrepancies.scales: they do not match the draws")
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
    )


def _check_discrepancy(discrepancy: Discrepancy, factors: tuple[Factor, ...]) -> None:
    """Refuse a discrepancy whose parts do not fit the factors or each other.

    Raises
    ------
    ModelError, FormulaError
        Naming the field.
    """
    count = len(discrepancy.logarithms)
    numeric = {f.name: f.numeric for f in factors}
    anchors = discrepancy.anchors
    vectors = [*anchors.values(), discrepancy.logarithms, discrepancy.variances]
    if not anchors or count == 0 or any(v.shape != (count,) for v in vectors):
        raise _refuse("discrepancies.anchors: they are not of one length")
    if any(numeric.get(name) is (values.dtype == object) for name, values in anchors.items()):
        raise _refuse("discrepancies.anchors: they do not match the factors")
    if not set(anchors) <= set(numeric):
        raise _refuse("discrepancies.anchors: they are not factors of the table")
    scales = discrepancy.scales
    if scales.ndim != 1 or not len(scales) or np.any(scales < 0.0) or discrepancy.noise <= 0.0:
        raise _refuse("discrepancies.scales: a scale or the noise is not above zero")
    if np.any(discrepancy.variances < 0.0):
        raise _refuse("discrepancies.variances: one is negative")
    fault = discrepancy.kernel.fault(anchors)
    if fault is not None:
        raise _refuse(f"discrepancies.kernel: {fault}")
    beyond = discrepancy.extrapolation
    for text in () if beyond is None else (*beyond.axes, beyond.work, beyond.nodes):
        parse(text, set(anchors))
    offsets = discrepancy.offsets
    if offsets is not None and (offsets.ndim != 2 or len(offsets) != len(scales) or not 0 < offsets.shape[1] < count):
        raise _refuse("discrepancies.offsets: what is borrowed does not match the draws or the anchors")


def _check_feasibility(feasibility: Feasibility, factors: tuple[Factor, ...]) -> None:
    """Refuse a probability of fitting whose parts do not fit the factors."""
    numeric = {f.name for f in factors if f.numeric}
    if set(feasibility.demands) != numeric or set(feasibility.names) != {f.name for f in factors}:
        raise _refuse("feasibility: its factors are not those of the table")
    if any(not demand.centre > 0.0 for demand in feasibility.demands.values()):
        raise _refuse("feasibility.demands: a centre is not above zero")
    kinds = [name not in numeric for name in feasibility.names]
    configurations = (*feasibility.succeeded, *feasibility.failed, *feasibility.contradicted)
    if any([isinstance(value, str) for value in values] != kinds for values in configurations):
        raise _refuse("feasibility: a measured configuration does not match the factors")


def encode_hook(value: object) -> object:
    """Return what msgspec cannot write by itself as plain values."""
    if isinstance(value, np.ndarray):
        return encoded(value)
    if isinstance(value, np.generic):
        return value.item()
    raise NotImplementedError(f"a model file holds no {type(value).__name__}")


def decode_hook(kind: type, value: object) -> npt.NDArray[np.float64]:
    """Return an array from plain values; msgspec names the field where that fails."""
    if not str(kind).startswith("numpy.ndarray"):
        raise NotImplementedError(f"a model file holds no {kind}")
    return unpacked(value)


ENCODER = msgspec.json.Encoder(enc_hook=encode_hook)
