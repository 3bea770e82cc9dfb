"""The model file: a fit result as JSON with a schema version, and back. Reading one never runs anything from it."""

import math
import shlex
from collections.abc import Collection, Iterable, Iterator, Sequence
from functools import lru_cache
from pathlib import Path
from typing import Any

import msgspec
import numpy as np

from genperf.arrays import Array
from genperf.discrepancy import Discrepancy, Process
from genperf.errors import FormulaError, ModelError
from genperf.expression import Constant, Expression, Term
from genperf.formula import Node, parse, render
from genperf.panel.legend import Legend
from genperf.prediction import Member, discrepancies_of, stack_of
from genperf.result import layout
from genperf.result.arrays import LARGEST, encoded, unpacked
from genperf.result.fit_result import FitResult, GroupedResult
from genperf.table.content import MAX_FILE_BYTES, OF_TABLES, names_several, read_bounded, write_file
from genperf.table.text import DELIMITERS

_MAKE = "make one with genperf fit TABLE … -o model.json"
#: The version of the layout that this genperf writes.
VERSION = 3
#: Bytes in which a model file names its version.
_HEAD_BYTES = 300
#: Characters of a term that are read at most: a term of many levels is longer than what a person would write.
LONGEST_TERM = 100_000
#: Digits of an interval's ends: those of single precision.
INTERVAL_DIGITS = 7
#: What the record of a discrepancy leaves out where it is as in the record before.
SHARED = ("kernel", "anchors", "logarithms", "variances", "extrapolation")
#: What the record of a model has of its result as it is, that of a member of the member, that of a constant of the
#: constant.
OF_RESULT = ("model", "schema", "spread", "evidence", "options", "seed", "notes", "feasibility")
OF_MEMBER = ("label", "weight", "status", "draws", "central")
OF_CONSTANT = ("name", "kind", "start", "penalised", "unit", "size", "meaning")
#: The fields of a constant's record that have a default.
DEFAULTS = {f.name: f.default for f in msgspec.structs.fields(layout.ConstantRecord) if not f.required}


def dump_model(result: FitResult | GroupedResult) -> str:
    """Return the model file's text: the same result gives the same bytes."""
    return "".join(model_pieces(result))


def model_pieces(result: FitResult | GroupedResult) -> Iterator[str]:
    """Yield the model file's text piece by piece, a group to a line: the text of a fleet is large."""
    head: dict[str, Any] = {"program": "genperf", "schema_version": VERSION, "group": result.group}
    legends = [legend for fitted in result.results.values() if (legend := fitted.schema.legend) is not None]
    head |= {"legend": legends[0]} if legends else {}
    yield _text(head)[:-1] + ',"groups":['
    between = "\n"
    for key, fitted in result.results.items():
        yield between + _text(layout.GroupRecord(key, record_of(fitted)))
        between = ",\n"
    failures = [layout.FailureRecord(key, why) for key, why in result.failures.items()]
    yield '\n],"failures":' + _text(failures) + "}\n"


def _text(value: object) -> str:
    return _ENCODER.encode(value).decode("utf-8")


def parse_model(text: str | bytes, where: str = "model") -> FitResult | GroupedResult:
    """Read a model file's text."""
    plain = _plain(text, where)
    if (place := _extreme(plain)) is not None:
        raise ModelError(f"is not a whole model file: {place}: larger than {LARGEST:g} in size", where=where)
    try:
        file = msgspec.convert(plain, layout.File, dec_hook=_decode_hook)
        layout.refused(layout.of_groups(file))
        results = {group.key: result_of(group.model, file.legend) for group in file.groups}
    except msgspec.ValidationError as error:
        complaint, _, place = str(error).partition(" - at `$.")
        complaint_text = f"{place.rstrip('`')}: {complaint.lower()}" if place else complaint.lower()
        raise ModelError(f"is not a whole model file: {complaint_text}", where=where) from None
    except FormulaError as error:
        raise ModelError(f"holds a formula that is refused: {error}", where=where) from None
    except ModelError as error:
        raise ModelError(error.message, where=where, hint=error.hint) from None
    if not file.group:
        if len(results) != 1:
            raise ModelError("holds no model", where=where)
        return next(iter(results.values()))
    return GroupedResult(file.group, results, {failure.key: failure.reason for failure in file.failures})


def _extreme(value: object) -> str | None:
    """Return the place of the first number that no fit writes and nothing can be computed with; None without one."""
    if isinstance(value, int | float):
        return "" if abs(value) > LARGEST else None
    items: Iterable[tuple[str, object]] = value.items() if isinstance(value, dict) else ()
    if isinstance(value, list):
        items = ((f"[{n}]", item) for n, item in enumerate(value))
    for key, item in items:
        if key != "seed" and (place := _extreme(item)) is not None:
            return f"{key}{place}" if place[:1] in ("", "[") else f"{key}.{place}"
    return None


def _plain(text: str | bytes, where: str) -> dict[str, Any]:
    """Return the file as plain values, of a version that is known."""
    try:
        plain = msgspec.json.decode(text)
    except (msgspec.DecodeError, UnicodeDecodeError, RecursionError):
        # Parquet, compressed, or lines with one delimiter.
        head = text[:4096].encode() if isinstance(text, str) else text[:4096]
        lines = [line for line in head.decode("utf-8", "replace").splitlines() if line.strip() and line[0] != "#"]
        is_json = head.lstrip(b"\xef\xbb\xbf \r\n\t").startswith((b"{", b"["))
        is_csv = bool(lines) and "\0" not in lines[0] and any(lines[0].count(mark) for mark in DELIMITERS)
        if head.startswith(OF_TABLES) or (is_csv and not is_json):
            hint = f"fit it first: genperf fit {where} -o model.json, which says what is missing"
            raise ModelError("is a table of runs, not a model", where=where, hint=hint) from None
        hint = "it may be cut off: fit again with -o, or restore it"
        raise ModelError("is not a whole model file", where=where, hint=hint) from None
    if not isinstance(plain, dict) or plain.get("program") != "genperf":
        raise ModelError("is not a genperf model", where=where, hint=_MAKE)
    version = plain.get("schema_version")
    if not isinstance(version, int) or isinstance(version, bool):
        raise ModelError("is not a whole model file: schema_version: expected a whole number", where=where)
    if version != VERSION:
        age, hint = "a later", "update genperf"
        if version < VERSION:
            age, hint = "an earlier", f"fit its table again: genperf fit TABLE … -o {shlex.quote(where)}"
        what = f"was written by {age} genperf (schema version {version}; this one reads {VERSION})"
        raise ModelError(what, where=where, hint=hint)
    return plain


def save_model(result: FitResult | GroupedResult, path: str | Path) -> None:
    """Write a model file.

    Parameters
    ----------
    path : str or Path
        The file is JSON, and is replaced where it exists.

    Examples
    --------
    >>> import pathlib, tempfile
    >>> runs = pd.DataFrame({"workers": [1, 2, 4, 8], "seconds": [9.0, 5.0, 3.0, 2.0]})
    >>> result = gp.fit(gp.read_table(runs, time="seconds", extrinsic="workers"), model="amdahl")
    >>> path = pathlib.Path(tempfile.mkdtemp()) / "model.json"
    >>> save_model(result, path)
    >>> load_model(path).model
    'amdahl'
    """
    write_file(path, dump_model(result))


def load_model(path: str | Path) -> FitResult | GroupedResult:
    """Read a model file, as `genperf fit -o` or `save_model` wrote it.

    Nothing in the file is run: it is data, and its formulas are read by genperf's own parser.

    Raises
    ------
    ModelError
        Where there is no such file, or it cannot be used: the field is named.
    """
    where = str(path)
    try:
        return parse_model(read_bounded(path, MAX_FILE_BYTES), where)
    except FileNotFoundError:
        raise ModelError("no such file", where=where, hint=_MAKE) from None
    except IsADirectoryError:
        raise ModelError("is a directory, not a model", where=where, hint=_MAKE) from None
    except (OSError, ValueError) as error:
        reason = (error.strerror if isinstance(error, OSError) else None) or str(error)
        raise ModelError(f"cannot be read ({reason})", where=where) from None


def is_model(path: str | Path) -> bool:
    """Tell whether a path is that of a model file, or may be: a pipe, or what cannot be read, but no folder."""
    place = Path(path).expanduser()
    if place.is_fifo():
        return True
    if names_several(path):
        return False
    try:
        with place.open("rb") as file:
            start = file.read(_HEAD_BYTES)
    except (OSError, ValueError):
        return True
    if start.startswith(OF_TABLES):
        return False
    return not start.strip() or b'"genperf"' in start or b'"schema_version"' in start or b"\0" in start


def record_of(result: FitResult) -> layout.ModelRecord:
    """Return the record of a result."""
    if result.schema.substituted:
        levels_text = ", ".join(f"{name}={levels[0]}" for name, levels in result.schema.substituted.items())
        raise ModelError(f"a model that answers for {levels_text} is not written", hint="write the fitted model")
    discrepancies = discrepancies_of(result.members)
    place_of = {id(discrepancy): place for place, discrepancy in enumerate(discrepancies)}
    records: list[layout.DiscrepancyRecord] = []
    previous: dict[str, Any] = {}
    for fields in map(msgspec.structs.asdict, discrepancies):
        as_before = {name for name in SHARED if previous and _text(fields[name]) == _text(previous[name])}
        records.append(layout.DiscrepancyRecord(**{k: v for k, v in fields.items() if k not in as_before}))
        previous = fields
    return layout.ModelRecord(
        **{name: getattr(result, name) for name in OF_RESULT if name != "schema"},
        schema=msgspec.structs.replace(result.schema, legend=None),
        members=tuple(_member_record(m, place_of.get(id(m.discrepancy))) for m in result.members),
        metrics={name: value for name, value in result.metrics.items() if math.isfinite(value)},
        discrepancies=tuple(records),
        stack=stack_of(result.members),
        further={name: record_of(further_result) for name, further_result in result.further.items()},
    )


def _member_record(member: Member, place: int | None) -> layout.MemberRecord:
    """Return a member as the model file has it, with its discrepancy by place."""
    expression, constants = member.expression, []
    # With as many digits as the draws behind it have.
    intervals = [[float(f"{end:.{INTERVAL_DIGITS}g}") for end in ends] for ends in member.constant_interval().tolist()]
    for constant, value, ends in zip(expression.constants, member.constants.tolist(), intervals, strict=True):
        state = {"at_bound": constant.name in member.at_bound, "identified": constant.name not in member.unidentified}
        lower, upper = (float(end) if math.isfinite(end) else None for end in (constant.lower, constant.upper))
        fitted = {"lower": lower, "upper": upper, "value": value, "interval": tuple(ends), **state}
        fields = {name: getattr(constant, name) for name in OF_CONSTANT} | fitted
        # Without what equals its default.
        written = {n: v for n, v in fields.items() if n not in DEFAULTS or v != DEFAULTS[n]}
        constants.append(layout.ConstantRecord(**written))
    return layout.MemberRecord(
        **{name: getattr(member, name) for name in OF_MEMBER},
        family=expression.family,
        text=expression.text(member.values),
        terms=tuple(layout.TermRecord(t.name, t.text) for t in expression.terms),
        total=None if expression.total is None else render(expression.total),
        constants=tuple(constants),
        discrepancy=place,
    )


def result_of(record: layout.ModelRecord, legend: Legend | None = None) -> FitResult:
    """Return the result of a record, with the legend of its table."""
    discrepancies: list[Discrepancy] = []
    fields: dict[str, Any] = {}
    for discrepancy in record.discrepancies:
        fields |= {k: v for k, v in msgspec.structs.asdict(discrepancy).items() if v is not msgspec.UNSET}
        layout.refused((name not in fields, f"discrepancies.{name}: it is missing") for name in SHARED)
        discrepancies.append(Discrepancy(**fields))
    layout.refused(layout.of_record(record, discrepancies))
    return FitResult(
        **{name: getattr(record, name) for name in (*OF_RESULT, "metrics") if name != "schema"},
        schema=msgspec.structs.replace(record.schema, legend=legend),
        members=tuple(_member(record, place, discrepancies) for place in range(len(record.members))),
        further={name: result_of(further_record, legend) for name, further_record in record.further.items()},
    )


def _member(model: layout.ModelRecord, place: int, discrepancies: Sequence[Discrepancy]) -> Member:
    """Return the member at a place of a record."""
    record, factors = model.members[place], {f.name: f.numeric for f in model.schema.factors}
    constants = tuple(
        Constant(lower=c.bounds[0], upper=c.bounds[1], **{name: getattr(c, name) for name in OF_CONSTANT})
        for c in record.constants
    )
    expression = _expression(record.family, record.terms, constants, record.total, tuple(factors.items()))
    discrepancy = None if record.discrepancy is None else discrepancies[record.discrepancy]
    if discrepancy is not None:
        # The terms are evaluated at the anchors of a series.
        lacking = {n for term in expression.terms for n in term.names} & {*factors} - {*discrepancy.anchors}
        name = min(lacking, default="")
        layout.refused([(lacking, f"discrepancies.anchors: '{name}' is not among them, and a term reads it")])
    return Member(
        expression,
        np.array([c.value for c in record.constants]),
        **{name: getattr(record, name) for name in OF_MEMBER},
        at_bound=tuple(c.name for c in record.constants if c.at_bound),
        unidentified=tuple(c.name for c in record.constants if not c.identified),
        discrepancy=discrepancy,
        process=None if model.stack is None else Process(model.stack, place),
    )


# Members of many groups have the same expression: what it keeps of itself is then made once.
@lru_cache(maxsize=1024)
def _expression(
    family: str,
    terms: tuple[layout.TermRecord, ...],
    constants: tuple[Constant, ...],
    total: str | None,
    factors: tuple[tuple[str, bool], ...],
) -> Expression:
    """Return the expression of a record, over factors of which each is a number or not."""
    names = {*(name for name, _ in factors), *(c.name for c in constants)}
    texts = tuple(name for name, numeric in factors if not numeric)

    def read(text: str, more: Collection[str] = ()) -> Node:
        # A term may be called as a column is.
        texts_read = [name for name in texts if name not in more]
        return parse(text, names | {*more}, texts_read, LONGEST_TERM, "number or comparison").node

    of_terms = tuple(Term(t.name, read(t.formula)) for t in terms)
    return Expression(family, of_terms, constants, None if total is None else read(total, [t.name for t in terms]))


def _encode_hook(value: object) -> object:
    """Return what msgspec cannot write by itself as plain values."""
    if isinstance(value, np.ndarray | np.generic):
        return encoded(value) if isinstance(value, np.ndarray) else value.item()
    raise TypeError(f"a model file holds no {type(value).__name__}")


def _decode_hook(kind: type, value: object) -> Array:
    """Return an array from plain values; msgspec names the field where that fails."""
    if not str(kind).startswith("numpy.ndarray"):
        raise TypeError(f"a model file holds no {kind}")
    return unpacked(value)


_ENCODER = msgspec.json.Encoder(enc_hook=_encode_hook)
