"""How far a prediction can be trusted, in words."""

from __future__ import annotations

import math
from collections.abc import Callable, Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from functools import partial
from itertools import repeat
from typing import Any, Literal

import msgspec
import numpy as np
import numpy.typing as npt

from genperf.panel.following import grow_with_workers
from genperf.prediction.combinations import apart
from genperf.prediction.query import Query
from genperf.prediction.schema import Schema
from genperf.table import Factor
from genperf.words.verdict import doublings_text, error_text, reason

Verdict = Literal["ok", "caution", "extrapolating-blind"]
VERDICTS: tuple[Verdict, ...] = ("ok", "caution", "extrapolating-blind")


#: The term that appears with the second node.
STEP = "leaving the node"


@dataclass(frozen=True)
class VerdictSettings:
    """Thresholds of the verdicts, set by hand on P1 and P2 of DLPerf (`docs/decisions.md`)."""

    #: `near`, `blind`: doublings beyond the measured range up to which a prediction is near, and beyond which it is
    #: blind. The same counts for a combination of values that lies in the ranges, and so far from every run.
    near: float = 1.0
    blind: float = 2.0
    #: `wide`, `very_wide`: ln(upper/lower) of the 90 % prediction interval above which a prediction is at most
    #: `caution`, and blind, inside the measured range. There a width is noise that was measured.
    wide: float = 0.6
    very_wide: float = 2.0
    #: `wide_beyond`, `very_wide_beyond`: the same beyond the range, where a width is ignorance.
    wide_beyond: float = 0.25
    very_wide_beyond: float = 0.7
    #: `error`, `large_error`: mean |ln(predicted/measured)| at the largest scale above which one form is at most
    #: `caution`, and blind.
    error: float = 0.1
    large_error: float = 0.3
    #: "As at the largest scale" has won if it was nearer by more than this, in ln T.
    nearer: float = 0.02
    #: Scales at which a factor must have been measured before anything is predicted beyond them.
    fewest_scales: int = 3
    #: Doublings by which two distances may differ and count as equal.
    rounding: float = 1e-9


RULES = VerdictSettings()


class Evidence(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """What predicting the largest measured scale from the smaller ones showed."""

    #: The extrinsic factor along which it was done.
    factor: str
    #: The scale that was predicted.
    held_out: float
    #: From the largest scale before it.
    doublings: float
    #: Mean |ln(predicted/measured)| of the model there.
    error: float
    #: The same for "it stays as it was at the largest scale before"; None where no rows can be compared.
    last_point: float | None

    def __post_init__(self) -> None:
        if self.last_point is not None and not math.isfinite(self.last_point):
            msgspec.structs.force_setattr(self, "last_point", None)


def doublings_beyond(factor: Factor, values: npt.NDArray[np.float64]) -> npt.NDArray[np.float64]:
    """Return how many doublings each value lies outside the measured range of a factor, 0 inside.

    A factor that has values of zero or below is measured in shares of its range instead.

    Examples
    --------
    >>> doublings_beyond(Factor("workers", "extrinsic", 1, 16, positive=True), np.array([8.0, 64.0, 0.5]))
    array([0., 2., 1.])
    """
    if factor.positive and factor.lower > 0 and np.all(values > 0):
        above, below = np.log2(values / factor.upper), np.log2(factor.lower / values)
    else:
        width = max(factor.upper - factor.lower, abs(factor.upper), 1e-300)
        above, below = (values - factor.upper) / width, (factor.lower - values) / width
    return np.maximum(np.maximum(above, below), 0.0) + 0.0


@dataclass(frozen=True)
class Basis:
    """What the verdicts need of a model's members."""

    #: Whether several forms were weighed by how they predict, so that the interval contains the form too.
    several_forms: bool = False
    #: Factors that follow the scale of a series (nodes beside devices) and are not counted beside it.
    followers: Collection[str] = ()
    #: Shape (rows,). Terms that are zero wherever the series was measured, and the rows where they are not.
    unmeasured: Mapping[str, npt.NDArray[np.bool_]] = field(default_factory=dict)
    #: Constants the data does not determine.
    unidentified: Sequence[str] = ()
    #: Values of the factors at which measurements were borrowed from other groups.
    borrowed: Mapping[str, npt.NDArray[np.float64]] = field(default_factory=dict)


#: The reason of some rows: one text for all of them, or a function of their places that returns a text for each.
_Reason = str | Callable[[npt.NDArray[np.intp]], Sequence[str]]


class _Grades:
    """The worst grade of every row so far, with the reasons for it."""

    def __init__(self, rows: int) -> None:
        self.grade = np.zeros(rows, int)
        self._marks: list[tuple[npt.NDArray[np.bool_], _Reason]] = []

    def mark(self, where: npt.NDArray[np.bool_], level: int, text: _Reason) -> None:
        """Give some rows at least a grade."""
        if where.any():
            self.grade[where] = np.maximum(self.grade[where], level)
            self._marks.append((where, text))

    def texts(self) -> list[str]:
        """Return the reasons of every row in the order they were given, each once."""
        out = np.full(len(self.grade), reason("inside"), dtype=object)
        if not self._marks:
            return out.tolist()
        marked = np.array([where for where, _ in self._marks])
        alike, of_row = np.unique(np.packbits(marked, axis=0), axis=1, return_inverse=True)
        order = np.argsort(of_row.ravel(), kind="stable")
        for rows in np.split(order, np.cumsum(np.bincount(of_row.ravel(), minlength=alike.shape[1]))[:-1]):
            reasons = [text for (_, text), here in zip(self._marks, marked[:, rows[0]], strict=True) if here]
            if not reasons:
                continue
            if all(isinstance(text, str) for text in reasons):
                out[rows] = _joined(reasons)
            else:
                each = [repeat(r, len(rows)) if isinstance(r, str) else r(rows) for r in reasons]
                out[rows] = [_joined(texts) for texts in zip(*each, strict=True)]
        return out.tolist()


def _joined(texts: Iterable[Any]) -> str:
    return "; ".join(dict.fromkeys(texts))


def verdicts(
    schema: Schema,
    query: Query,
    evidence: Sequence[Evidence],
    basis: Basis,
    log_width: npt.NDArray[np.float64],
) -> tuple[list[Verdict], list[str]]:
    """Judge every row.

    Parameters
    ----------
    log_width : ndarray of shape (rows,)
        ln(upper/lower) of the 90 % prediction interval.
    """
    grades = _Grades(query.rows)
    together = {*basis.followers, *grow_with_workers(schema.panel, basis.followers)}
    outside = all_doublings(schema, query, together) > 0
    reach = reaching(schema, basis.borrowed)
    total = all_doublings(reach, query, together)
    scales = _by_range(reach, query, basis, grades)
    _by_distance(total, sum((far > 0).astype(int) for _, far in scales.values()) > 1, grades)
    combination = apart(schema, query, basis.followers)
    grades.mark(combination.doublings > RULES.near, 1, combination.texts)
    grades.grade[combination.doublings > RULES.blind] = 2
    for name, where in basis.unmeasured.items():
        if name == STEP:
            grades.mark(where, 2, reason("second_node"))
        else:
            grades.mark(where & (grades.grade < 2), 2, reason("unmeasured", term=name))
    extrinsic = {name: far for name, (factor, far) in scales.items() if factor.role == "extrinsic"}
    for look_back in evidence:
        beyond = extrinsic[look_back.factor] > 0 if look_back.factor in extrinsic else total > 0
        _by_evidence(look_back, basis.several_forms, beyond, grades)
    for factor in schema.factors if basis.borrowed else ():
        if factor.numeric and factor.role == "extrinsic" and factor.name not in basis.followers:
            text = reason("borrowed", name=factor.name, value=factor.upper)
            grades.mark(outside & (query.columns[factor.name] > factor.upper), 0, text)
    _by_width(log_width, outside | (combination.doublings > RULES.near), grades)
    if basis.unidentified:
        names = basis.unidentified
        shown = ", ".join(names[:4]) + (", …" if len(names) > 4 else "")
        about = "undetermined_effect" if basis.several_forms else "undetermined"
        grades.mark(total > RULES.near, 1, reason(about, names=shown))
    for name, far in extrinsic.items():
        following = 2.0 * scales[name][0].upper
        needed = (grades.grade > 0) & (far > RULES.near) & (query.columns[name] > following)
        grades.mark(needed, 0, reason("measure", name=name, value=following))
    chosen: list[Verdict] = [VERDICTS[g] for g in grades.grade.tolist()]
    return chosen, grades.texts()


def _by_range(
    schema: Schema, query: Query, basis: Basis, grades: _Grades
) -> dict[str, tuple[Factor, npt.NDArray[np.float64]]]:
    """Judge by the range of each factor."""
    near = 0 if basis.several_forms and not basis.borrowed else 1
    known = reason("known_borrowed" if basis.borrowed else "known")
    scales = {}
    by_name = {f.name: f for f in schema.factors}
    settled = {
        name: doublings_beyond(by_name[workers], query.columns[workers])
        for name, workers in grow_with_workers(schema.panel, basis.followers).items()
    }
    for factor in schema.factors:
        if not factor.numeric:
            continue
        values = query.columns[factor.name]
        far = doublings_beyond(factor, values)
        if factor.distinct == 1:
            grades.mark(far > 0, 2, reason("one_value", name=factor.name, value=factor.lower))
            continue
        if factor.name in basis.followers:
            continue
        outside = far > 0
        if factor.name in settled:
            # They go as far as the workers do: only what exceeds that is news.
            outside = outside & (far > settled[factor.name] + RULES.rounding)
        grades.mark(outside, near, partial(_outside, factor, known, values, far))
        few = reason("few", name=factor.name, count=factor.distinct)
        grades.mark((far > 0) & (factor.distinct < RULES.fewest_scales), 2, few)
        if factor.name not in settled:
            scales[factor.name] = (factor, far)
    return scales


def _outside(
    factor: Factor,
    known: str,
    values: npt.NDArray[np.float64],
    far: npt.NDArray[np.float64],
    rows: npt.NDArray[np.intp],
) -> list[str]:
    """Return how far some rows lie outside the range of a factor."""
    measured = {"name": factor.name, "known": known, "lower": factor.lower, "upper": factor.upper}
    # A value has one distance: each is written once.
    each, first, of_row = np.unique(values[rows], return_index=True, return_inverse=True)
    pairs = zip(each.tolist(), far[rows][first].tolist(), strict=True)
    texts = [reason("outside", value=v, far=doublings_text(d), **measured) for v, d in pairs]
    return [texts[place] for place in of_row.tolist()]


def _by_distance(total: npt.NDArray[np.float64], several: npt.NDArray[np.bool_] | bool, grades: _Grades) -> None:
    """Judge by the distance from the data in all."""
    caution, blind = (total > RULES.near) & (total <= RULES.blind), total > RULES.blind

    def texts(rows: npt.NDArray[np.intp]) -> list[str]:
        return [reason("in_all", far=doublings_text(t)) for t in total[rows].tolist()]

    for where, level in ((caution, 1), (blind, 2)):
        grades.mark(where & several, level, texts)
        grades.grade[where] = np.maximum(grades.grade[where], level)


def _by_width(log_width: npt.NDArray[np.float64], outside: npt.NDArray[np.bool_], grades: _Grades) -> None:
    """Judge by the width of the 90 % interval."""
    wide = np.where(outside, RULES.wide_beyond, RULES.wide)
    very_wide = np.where(outside, RULES.very_wide_beyond, RULES.very_wide)
    grades.mark((log_width > wide) & (log_width <= very_wide), 1, reason("wide"))
    grades.mark(log_width > very_wide, 2, reason("very_wide"))


def all_doublings(schema: Schema, query: Query, followers: Collection[str] = ()) -> npt.NDArray[np.float64]:
    """Return how many doublings each row lies outside the data in all, shape (rows,).

    Factors that follow the scale of a series are not counted beside it: of them and the scale the farthest counts.
    """
    total = np.zeros(query.rows)
    followed = np.zeros(query.rows)
    for factor in schema.factors:
        if not factor.numeric:
            continue
        far = doublings_beyond(factor, query.columns[factor.name])
        if factor.name in followers:
            followed = np.maximum(followed, far)
        else:
            total = total + far
    return np.maximum(total, followed)


def distance_beyond(schema: Schema, columns: Mapping[str, npt.NDArray[Any]]) -> npt.NDArray[np.float64]:
    """Return how far each row lies outside the data in doublings, shape (rows,): what an interval widens with.

    The errors of extrapolating different factors are independent of each other, so that it is the root of the sum of
    squares. Factors that grow with the workers are not counted beside them: of these and the workers the farthest
    counts.

    Examples
    --------
    >>> from genperf.table import Target
    >>> names = ("gpus", "nodes", "batch")
    >>> factors = tuple(Factor(n, "extrinsic", 1, 8, distinct=4, positive=True) for n in names)
    >>> columns = {"gpus": np.array([64.0]), "nodes": np.array([16.0]), "batch": np.array([128.0])}
    >>> distance_beyond(Schema(factors, Target("s")), columns)
    array([5.])
    """
    settled = grow_with_workers(schema.panel)
    far = {f.name: doublings_beyond(f, np.asarray(columns[f.name], float)) for f in schema.factors if f.numeric}
    for name, workers in settled.items():
        far[workers] = np.maximum(far[workers], far[name])
    alone = [values for name, values in far.items() if name not in settled]
    return np.asarray(np.linalg.norm(alone, axis=0)) if alone else np.zeros(len(next(iter(columns.values()))))


def reaching(schema: Schema, borrowed: Mapping[str, npt.NDArray[np.float64]]) -> Schema:
    """Return the schema with the ranges up to what was borrowed."""
    factors = []
    for factor in schema.factors:
        more = borrowed.get(factor.name, np.empty(0))
        more = more[(more > factor.upper) | (more < factor.lower)]
        if len(more):
            more = np.unique(more)
            lower, upper = min(factor.lower, float(more[0])), max(factor.upper, float(more[-1]))
            factor = msgspec.structs.replace(factor, lower=lower, upper=upper, distinct=factor.distinct + len(more))
        factors.append(factor)
    return msgspec.structs.replace(schema, factors=tuple(factors))


def _by_evidence(look_back: Evidence, several_forms: bool, beyond: npt.NDArray[np.bool_], grades: _Grades) -> None:
    """Judge by the largest measured scale; of several forms the interval contains their errors already."""
    error, last_point = look_back.error, look_back.last_point
    text = reason("look_back", name=look_back.factor, value=look_back.held_out, error=error_text(error))
    if last_point is not None and error > last_point + RULES.nearer:
        beaten = reason("look_back_beaten", look_back=text, last=error_text(last_point))
        grades.mark(beyond, 1 if several_forms else 2, beaten)
    elif error > RULES.error and not several_forms:
        grades.mark(beyond, 2 if error > RULES.large_error else 1, text)
