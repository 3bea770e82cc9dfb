"""The model file: JSON with a schema version. Reading one never runs anything from it."""

from __future__ import annotations

import json
import math
import re
from collections.abc import Iterator
from pathlib import Path
from typing import Annotated, Literal

import numpy as np
from pydantic import BaseModel, ConfigDict, Field, ValidationError

from genperf.errors import FormulaError, ModelError, Note
from genperf.expression import Constant, Expression, Kind, Term
from genperf.formula import Node, parse, render
from genperf.prediction import Evidence, Member, Schema, Shift, Spread, Status, Walk
from genperf.prediction.medians import Median
from genperf.result.fit_result import FitResult, GroupedResult
from genperf.table import Factor, Role

VERSION = 1
#: Stands for a line of numbers while the text around it is written: no cell or name holds a NUL.
HELD = "\0"
_LINE = json.JSONEncoder(ensure_ascii=False, allow_nan=False)

#: Characters of a term that are read at most: one of many levels is longer than what a person would write.
LONGEST = 100_000

Finite = Annotated[float, Field(allow_inf_nan=False)]


class _Strict(BaseModel):
    model_config = ConfigDict(extra="forbid", frozen=True)


class _Factor(_Strict):
    name: str
    role: Role
    lower: Finite
    upper: Finite
    centre: Finite
    distinct: int
    levels: list[str]
    integer: bool
    positive: bool


class _Schema(_Strict):
    factors: list[_Factor]
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


class _Constant(_Strict):
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


class _Term(_Strict):
    name: str
    formula: str


class _Status(_Strict):
    solver: str
    cost: Finite
    settled: bool
    evaluations: int
    restarts: int
    agreed: int


class _Walk(_Strict):
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


class _Shift(_Strict):
    factor: str
    levels: list[Finite]
    weights: list[Finite]
    length: Finite


class _Member(_Strict):
    family: str
    label: str
    weight: Finite
    text: str
    terms: list[_Term]
    total: str | None
    constants: list[_Constant]
    status: _Status
    draws: list[list[Finite]]
    # Files written before there were these have none.
    walk: _Walk | None = None
    shift: _Shift | None = None


class _Spread(_Strict):
    noise: Finite
    misfit: Finite
    per_doubling: Finite


class _Evidence(_Strict):
    factor: str
    held_out: Finite
    doublings: Finite
    error: Finite
    last_point: Finite | None


class _Note(_Strict):
    text: str
    kind: str


class _Model(_Strict):
    model: str
    table: _Schema
    members: list[_Member]
    spread: _Spread
    evidence: list[_Evidence]
    options: dict[str, str | Finite | None]
    seed: int
    metrics: dict[str, Finite | None]
    notes: list[_Note]


class _Group(_Strict):
    key: list[str]
    model: _Model


class _Failure(_Strict):
    key: list[str]
    reason: str


class _File(_Strict):
    program: Literal["genperf"]
    schema_version: int
    group: list[str]
    groups: list[_Group]
    failures: list[_Failure]


def dump_model(result: FitResult | GroupedResult) -> str:
    """Return the model file's text: the same result gives the same bytes.

    Examples
    --------
    >>> import genperf as gp
    >>> import pandas as pd
    >>> runs = pd.DataFrame({"workers": [1, 2, 4, 8], "seconds": [9.0, 5.0, 3.0, 2.0]})
    >>> result = gp.fit(gp.read_table(runs, time="seconds", extrinsic="workers"), model="amdahl")
    >>> again = parse_model(dump_model(result))
    >>> bool((again.predict({"workers": 16}).time == result.predict({"workers": 16}).time).all())
    True
    """
    return "".join(model_pieces(result))


def model_pieces(result: FitResult | GroupedResult) -> Iterator[str]:
    """Yield the model file's text piece by piece, a group at a time: of a fleet the whole is large."""
    whole = result if isinstance(result, GroupedResult) else GroupedResult((), {(): result})
    file = _File(
        program="genperf",
        schema_version=VERSION,
        group=list(whole.group),
        groups=[],
        failures=[_Failure(key=list(key), reason=why) for key, why in whole.failures.items()],
    )
    head, tail = _text(file.model_dump(mode="json")).split(' "groups": []')
    yield head + ' "groups": ['
    between = "\n  "
    for key, held in whole.results.items():
        yield between + _group_text(list(key), held).replace("\n", "\n  ")
        between = ",\n  "
    yield ("\n ]" if whole.results else "]") + tail + "\n"


def _group_text(key: list[str], result: FitResult) -> str:
    """Write a group. Numbers by the thousand are written a line at a time, by the encoder that is fast."""
    group = _Group(key=key, model=_model(result)).model_dump(mode="json")
    table, members = group["model"]["table"], group["model"]["members"]
    held = [_rows([_LINE.encode(row) for row in table["medians"]], 4)]
    table["medians"] = HELD
    for member in members:
        # Nothing but numbers: encoded at once, the lines are cut apart again.
        held.append(_rows([f"[{line}]" for line in _LINE.encode(member["draws"])[2:-2].split("], [")], 5))
        member["draws"] = HELD
    written = iter(held)
    return re.sub(json.dumps(HELD).replace("\\", r"\\"), lambda _: next(written), _in_line(_text(group)))


def _rows(lines: list[str], depth: int) -> str:
    """Write a list of lists, one to a line."""
    between = "\n" + " " * depth
    return f"[{between}" + f",{between}".join(lines) + f"{between[:-1]}]" if lines else "[]"


def _text(value: object) -> str:
    return json.dumps(value, indent=1, ensure_ascii=False, allow_nan=False)


def _in_line(text: str) -> str:
    """Write short lists of numbers on one line."""
    return re.sub(r"\[\n\s+(-?[\d.eE+-]+(?:,\n\s+-?[\d.eE+-]+)*)\n\s+\]", _one_line, text)


def _one_line(match: re.Match[str]) -> str:
    return "[" + ", ".join(part.strip() for part in match[1].split(",")) + "]"


def parse_model(text: str, where: str = "model") -> FitResult | GroupedResult:
    """Read a model file's text.

    Parameters
    ----------
    text : str
    where : str
        What messages call it.

    Raises
    ------
    ModelError
        For a file that is cut off, of another program, of a newer schema, or not whole.
    """
    try:
        read = json.loads(text)
    except (ValueError, RecursionError):
        hint = "it may be cut off: fit again with -o, or restore it"
        raise ModelError("is not a whole model file", where=where, hint=hint) from None
    if not isinstance(read, dict) or read.get("program") != "genperf":
        raise ModelError("is not a genperf model", where=where, hint="make one with genperf fit TABLE … -o model.json")
    version = read.get("schema_version")
    if isinstance(version, int) and version > VERSION:
        raise ModelError(
            f"has schema version {version}; this genperf reads up to {VERSION}", where=where, hint="update genperf"
        )
    try:
        file = _File.model_validate(read)
        results = {tuple(g.key): _result(g.model) for g in file.groups}
    except ValidationError as error:
        first = error.errors()[0]
        place = ".".join(str(p) for p in first["loc"])
        raise ModelError(
            f"is not a whole model file: {place}: {first['msg'].lower()} ({error.error_count()} faults)", where=where
        ) from None
    except FormulaError as error:
        raise ModelError(f"holds a formula that is refused: {error}", where=where) from None
    if not file.group:
        if len(results) != 1:
            raise ModelError("holds no model", where=where)
        return next(iter(results.values()))
    return GroupedResult(tuple(file.group), results, {tuple(f.key): f.reason for f in file.failures})


def save_model(result: FitResult | GroupedResult, path: str | Path) -> None:
    """Write a model file.

    Parameters
    ----------
    result : FitResult or GroupedResult
    path : str or Path
    """
    Path(path).write_text(dump_model(result), encoding="utf-8")


def load_model(path: str | Path) -> FitResult | GroupedResult:
    """Read a model file.

    Raises
    ------
    ModelError
        Where there is none, or it cannot be used.
    """
    where = str(path)
    try:
        return parse_model(Path(path).read_text(encoding="utf-8"), where)
    except FileNotFoundError:
        raise ModelError("no such file", where=where, hint="make one with genperf fit TABLE … -o model.json") from None
    except IsADirectoryError:
        raise ModelError("is a directory, not a model", where=where) from None
    except UnicodeDecodeError:
        raise ModelError("is not a genperf model (not text)", where=where) from None


def _model(result: FitResult) -> _Model:
    return _Model(
        model=result.model,
        table=_schema(result.schema),
        members=[_member(m) for m in result.members],
        spread=_Spread(noise=result.spread.noise, misfit=result.spread.misfit, per_doubling=result.spread.per_doubling),
        evidence=[
            _Evidence(
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
        notes=[_Note(text=n.text, kind=n.kind) for n in result.notes],
    )


def _or_none(value: float) -> float | None:
    return float(value) if math.isfinite(value) else None


def _schema(schema: Schema) -> _Schema:
    return _Schema(
        factors=[
            _Factor(
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
        time=schema.time,
        group=list(schema.group),
        derived=schema.derived,
        source=schema.source,
        sha256=schema.sha256,
        rows=schema.rows,
        configurations=schema.configurations,
        rejected=schema.rejected,
        noise=_or_none(schema.noise),
        shortest=schema.shortest,
        longest=schema.longest,
        medians=[[*m.values, m.seconds, m.shortest, m.longest, m.repeats] for m in schema.medians],
    )


def _member(member: Member) -> _Member:
    ends = member.constant_interval()
    expression = member.expression
    return _Member(
        family=expression.family,
        label=member.label,
        weight=member.weight,
        text=expression.text(member.values),
        terms=[_Term(name=t.name, formula=render(t.node)) for t in expression.terms],
        total=None if expression.total is None else render(expression.total),
        constants=[
            _Constant(
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
        status=_Status(
            solver=member.status.solver,
            cost=member.status.cost,
            settled=member.status.settled,
            evaluations=member.status.evaluations,
            restarts=member.status.restarts,
            agreed=member.status.agreed,
        ),
        draws=member.draws.tolist(),
        walk=None if member.walk is None else _walk(member.walk),
        shift=None if member.shift is None else _shift(member.shift),
    )


def _walk(walk: Walk) -> _Walk:
    return _Walk(
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
    )


def _shift(shift: Shift) -> _Shift:
    return _Shift(
        factor=shift.factor, levels=shift.levels.tolist(), weights=shift.weights.tolist(), length=shift.length
    )


def _result(model: _Model) -> FitResult:
    table = model.table
    factors = tuple(
        Factor(f.name, f.role, f.lower, f.upper, f.centre, f.distinct, tuple(f.levels), f.integer, f.positive)
        for f in table.factors
    )
    schema = Schema(
        factors,
        table.time,
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
    )
    return FitResult(
        model=model.model,
        schema=schema,
        members=tuple(_read_member(m, factors) for m in model.members),
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


def _read_member(member: _Member, factors: tuple[Factor, ...]) -> Member:
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
        None if member.shift is None else _read_shift(member.shift, factors),
    )


def _read_walk(walk: _Walk, factors: tuple[Factor, ...], draws: int) -> Walk:
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
    )


def _read_offsets(offsets: list[list[float]] | None, anchors: int, draws: int) -> np.ndarray | None:
    if offsets is None:
        return None
    widths = {len(row) for row in offsets}
    if len(offsets) != draws or len(widths) != 1 or not 0 < min(widths) < anchors:
        raise ModelError("is not a whole model file: what is borrowed does not match the draws or the anchors")
    return np.array(offsets)


def _read_shift(shift: _Shift, factors: tuple[Factor, ...]) -> Shift:
    numeric = {f.name for f in factors if f.numeric}
    if shift.factor not in numeric or len(shift.levels) != len(shift.weights) or shift.length <= 0.0:
        raise ModelError("is not a whole model file: the shift does not match the factors")
    return Shift(shift.factor, np.array(shift.levels), np.array(shift.weights), shift.length)
