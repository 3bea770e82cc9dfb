"""A result as the model file lays it out, and back."""

from __future__ import annotations

import math

import numpy as np

from genperf.errors import ModelError, Note
from genperf.expression import Constant, Expression, Term
from genperf.formula import Node, parse, render
from genperf.prediction import Evidence, Kriging, Member, Schema, Spread, Status, Walk, krigings_of, which_kriging
from genperf.prediction.medians import Median
from genperf.result import layout
from genperf.result.fit_result import FitResult
from genperf.result.kriging import kriging_along, kriging_of, layout_of
from genperf.table import Factor, Target

#: Characters of a term that are read at most: one of many levels is longer than what a person would write.
LONGEST = 100_000


def model_of(result: FitResult) -> layout.Model:
    """Lay a result out."""
    krigings = krigings_of(result.members)
    return layout.Model(
        model=result.model,
        table=_schema(result.schema),
        members=[_member(m, krigings) for m in result.members],
        spread=layout.Spread(
            noise=result.spread.noise, misfit=result.spread.misfit, per_doubling=result.spread.per_doubling
        ),
        evidence=[
            layout.Evidence(
                factor=e.factor,
                held_out=e.held_out,
                doublings=e.doublings,
                error=e.error,
                last_point=_or_none(e.last_point),
            )
            for e in result.evidence
        ],
        options=result.options,
        seed=result.seed,
        metrics={k: _or_none(v) for k, v in result.metrics.items()},
        notes=[layout.Note(text=n.text, kind=n.kind) for n in result.notes],
        krigings=[layout_of(k) for k in krigings],
    )


def _or_none(value: float) -> float | None:
    return float(value) if math.isfinite(value) else None


def _schema(schema: Schema) -> layout.Schema:
    return layout.Schema(
        factors=[
            layout.Factor(
                name=f.name,
                role=f.role,
                lower=f.lower,
                upper=f.upper,
                centre=f.centre,
                distinct=f.distinct,
                levels=list(f.levels),
                integer=f.integer,
                positive=f.positive,
            )
            for f in schema.factors
        ],
        time=schema.target.column,
        group=list(schema.group),
        derived=schema.derived,
        source=schema.source,
        sha256=schema.sha256,
        rows=schema.rows,
        configurations=schema.configurations,
        rejected=schema.rejected,
        noise=_or_none(schema.noise),
        shortest=schema.lowest,
        longest=schema.highest,
        medians=[[*m.values, m.value, m.lowest, m.highest, m.repeats] for m in schema.medians],
        mapping=schema.mapping,
    )


def _member(member: Member, krigings: list[Kriging]) -> layout.Member:
    ends = member.constant_interval()
    expression = member.expression
    return layout.Member(
        family=expression.family,
        label=member.label,
        weight=member.weight,
        text=expression.text(member.values),
        terms=[layout.Term(name=t.name, formula=render(t.node)) for t in expression.terms],
        total=None if expression.total is None else render(expression.total),
        constants=[
            layout.Constant(
                name=c.name,
                kind=c.kind,
                lower=_or_none(c.lower),
                upper=_or_none(c.upper),
                start=c.start,
                penalised=c.penalised,
                unit=c.unit,
                value=float(member.constants[j]),
                interval=(float(ends[j, 0]), float(ends[j, 1])),
                at_bound=c.name in member.at_bound,
                identified=c.name not in member.unidentified,
            )
            for j, c in enumerate(expression.constants)
        ],
        status=layout.Status(
            solver=member.status.solver,
            cost=member.status.cost,
            settled=member.status.settled,
            evaluations=member.status.evaluations,
            restarts=member.status.restarts,
            agreed=member.status.agreed,
        ),
        draws=member.draws.tolist(),
        walk=None if member.walk is None else _walk(member.walk),
        kriging=which_kriging(member, krigings),
    )


def _walk(walk: Walk) -> layout.Walk:
    return layout.Walk(
        axes=list(walk.axes),
        work=walk.work,
        anchors={name: values.tolist() for name, values in walk.anchors.items()},
        logarithms=walk.logarithms.tolist(),
        variances=walk.variances.tolist(),
        step=walk.step,
        noise=walk.noise,
        trend=walk.trend,
        sizes=walk.sizes.tolist(),
        offsets=None if walk.offsets is None else walk.offsets.tolist(),
        nodes=walk.nodes,
    )


def result_of(model: layout.Model) -> FitResult:
    """Return the result that is laid out.

    Raises
    ------
    ModelError
        Where its parts do not fit each other.
    FormulaError
        For a formula that is refused.
    """
    table = model.table
    factors = tuple(
        Factor(f.name, f.role, f.lower, f.upper, f.centre, f.distinct, tuple(f.levels), f.integer, f.positive)
        for f in table.factors
    )
    schema = Schema(
        factors,
        Target(table.time),
        tuple(table.group),
        dict(table.derived),
        table.source,
        table.sha256,
        table.rows,
        table.configurations,
        table.rejected,
        float("nan") if table.noise is None else table.noise,
        table.shortest,
        table.longest,
        tuple(_median(m, factors) for m in table.medians),
        dict(table.mapping),
    )
    krigings = [kriging_of(k, factors) for k in model.krigings]
    return FitResult(
        model=model.model,
        schema=schema,
        members=tuple(_read_member(m, factors, krigings) for m in model.members),
        spread=Spread(model.spread.noise, model.spread.misfit, model.spread.per_doubling),
        evidence=tuple(
            Evidence(e.factor, e.held_out, e.doublings, e.error, float("nan") if e.last_point is None else e.last_point)
            for e in model.evidence
        ),
        options=dict(model.options),
        seed=model.seed,
        metrics={k: float("nan") if v is None else v for k, v in model.metrics.items()},
        notes=tuple(Note(n.text, n.kind) for n in model.notes),
    )


def _median(line: list[float | str], factors: tuple[Factor, ...]) -> Median:
    kinds = [f.numeric for f in factors] + [True] * 4
    if [not isinstance(v, str) for v in line] != kinds:
        raise ModelError("is not a whole model file: the measured configurations do not match the factors")
    seconds, shortest, longest, repeats = (float(v) for v in line[-4:])
    return Median(tuple(line[:-4]), seconds, shortest, longest, int(repeats))


def _read_member(member: layout.Member, factors: tuple[Factor, ...], krigings: list[Kriging]) -> Member:
    texts = tuple(f.name for f in factors if not f.numeric)
    names = {f.name for f in factors} | {c.name for c in member.constants}

    def read(text: str, more: set[str] | None = None) -> Node:
        return parse(text, names | (more or set()), texts, LONGEST).node

    terms = tuple(Term(t.name, read(t.formula)) for t in member.terms)
    constants = tuple(
        Constant(
            c.name,
            c.kind,
            -math.inf if c.lower is None else c.lower,
            math.inf if c.upper is None else c.upper,
            c.start,
            c.penalised,
            c.unit,
        )
        for c in member.constants
    )
    total = None if member.total is None else read(member.total, {t.name for t in terms})
    if any(len(draw) != len(constants) for draw in member.draws) or not member.draws:
        raise ModelError("is not a whole model file: the draws do not match the constants")
    status = member.status
    return Member(
        Expression(member.family, terms, constants, total, texts),
        np.array([c.value for c in member.constants]),
        np.array(member.draws),
        member.weight,
        Status(status.solver, status.cost, status.settled, status.evaluations, status.restarts, status.agreed),
        tuple(c.name for c in member.constants if c.at_bound),
        tuple(c.name for c in member.constants if not c.identified),
        member.label,
        None if member.walk is None else _read_walk(member.walk, factors, len(member.draws)),
        _read_kriging(member, factors, krigings),
    )


def _read_walk(walk: layout.Walk, factors: tuple[Factor, ...], draws: int) -> Walk:
    numeric = {f.name for f in factors if f.numeric}
    anchors = len(walk.logarithms)
    lengths = {len(values) for values in (*walk.anchors.values(), walk.logarithms, walk.variances)}
    whole = lengths == {anchors} and anchors > 0 and walk.axes and len(walk.sizes) == draws
    if not whole or not set(walk.anchors) <= numeric or walk.step <= 0.0 or walk.noise <= 0.0:
        raise ModelError("is not a whole model file: the walk does not match the draws or the factors")
    names = set(walk.anchors)
    return Walk(
        tuple(render(parse(text, names).node) for text in walk.axes),
        render(parse(walk.work, names).node),
        {name: np.array(values) for name, values in walk.anchors.items()},
        np.array(walk.logarithms),
        np.array(walk.variances),
        walk.step,
        walk.noise,
        walk.trend,
        np.array(walk.sizes),
        _read_offsets(walk.offsets, anchors, draws),
        render(parse(walk.nodes, names).node),
    )


def _read_offsets(offsets: list[list[float]] | None, anchors: int, draws: int) -> np.ndarray | None:
    if offsets is None:
        return None
    widths = {len(row) for row in offsets}
    if len(offsets) != draws or len(widths) != 1 or not 0 < min(widths) < anchors:
        raise ModelError("is not a whole model file: what is borrowed does not match the draws or the anchors")
    return np.array(offsets)


def _read_kriging(member: layout.Member, factors: tuple[Factor, ...], krigings: list[Kriging]) -> Kriging | None:
    if member.kriging is None:
        return None if member.shift is None else kriging_along(member.shift, factors)
    if not 0 <= member.kriging < len(krigings):
        raise ModelError("is not a whole model file: a member refers to kriging that is not there")
    return krigings[member.kriging]
