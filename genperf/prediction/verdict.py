"""How far a prediction can be trusted: a grade of each row by its distance from what was measured, with the reasons.

A point can lie in the range of every factor and yet far from every run: 30 billion parameters were measured, and so was
a micro-batch of 128, but never both. For two factors and a direction in each, such as large and large, the runs make a
staircase. The *shortfall* of a point x is how far the nearest run stops short of it in these directions:

    shortfall(x) = min over runs r of Σ over both factors f of max(0, s_f (x_f − r_f)),

with s_f = ±1 and the positions x_f in doublings. It is zero where a run is at least as extreme in both factors, so
everywhere inside a full factorial design.
"""

from collections.abc import Callable, Collection, Iterable, Mapping, Sequence
from functools import cached_property, lru_cache
from itertools import combinations, product
from typing import Any, Literal, NamedTuple, get_args

import msgspec
import numpy as np
from msgspec import Struct, field

from genperf.arrays import AnyArray, Array, Columns, Index, Integers, Mask, front_of
from genperf.discrepancy.product import NotNegative
from genperf.expression import Expression
from genperf.formula import Node, Number, evaluate, names_in, parse, quote_name, render, substitute
from genperf.panel.machine import rises_with
from genperf.prediction.member import Deviation, Member, stack_of
from genperf.prediction.schema import Schema
from genperf.table import Factor
from genperf.words.numbers import join_values
from genperf.words.verdict import Mark

Verdict = Literal["ok", "caution", "extrapolating-blind"]
VERDICTS: tuple[Verdict, ...] = get_args(Verdict)
#: The term that appears with the second node.
STEP = "leaving the node"
#: Expressions at some anchors whose terms are kept.
KEPT_TERMS = 256
#: Relative difference of two batches that are one, rounded to whole samples.
ROUNDED = 0.02
#: What may end where the count of threads or processes passes the cores of the one machine that was measured.
CORES = "one machine"


class CombinationSettings(Struct, frozen=True):
    """How distances between combinations are counted."""

    #: Doublings that another level of a categorical factor counts as. More than one and less than two: two levels that
    #: were never measured together are a reason for caution, and alone no reason to call a prediction blind.
    level: float = 1.5
    #: Shortfall in doublings up to which a combination counts as measured: no less than the usual step of a grid.
    largest_untested: float = 1.0
    #: Correlation of two factors among the runs, in doublings, from which on these are a diagonal: what either does
    #: alone is not known. There a doubling counts as so many, more than one: it is a reason for caution.
    diagonal: float = 0.9
    off_diagonal: float = 1.5
    named: int = 4  #: Factors of the nearest run that are named, at most.
    digits: int = 9  #: Decimal places of a distance that are compared: the page computes with other logarithms.
    numbers: int = 1_000_000  #: Rows times runs whose distances are computed at once: 8 MB an array.


COMBINATIONS = CombinationSettings()


class VerdictSettings(Struct, frozen=True):
    """Thresholds of the verdicts; the widths beyond the range by published forecasts (`experiments corpus`)."""

    #: `near`, `blind`: doublings beyond the measured range up to which a prediction is near, and beyond which it is
    #: blind: further, few published forecasts were judged. The same counts for a combination of values that lies in
    #: the ranges, and so far from every run. Between the two, a series is judged by its interval.
    near: float = 1.0
    blind: float = 2.0
    #: `wide`, `very_wide`: ln(upper/lower) of the 90 % prediction interval above which a prediction is at most
    #: `caution`, and blind, inside the measured range. There a width is noise that was measured.
    wide: float = 0.6
    very_wide: float = 2.0
    #: `wide_beyond`, `very_wide_beyond`: the same beyond the range, where a width is ignorance. Published forecasts of
    #: series, at twice and four times the largest count, erred by 5 % in the mean below the first, by 10 % between the
    #: two, and by 40 % above.
    wide_beyond: float = 0.3
    very_wide_beyond: float = 1.0
    #: `error`, `large_error`: mean |ln(predicted/measured)| at the largest scale above which a prediction is at most
    #: `caution`, and one form blind. Published forecasts of narrow intervals erred by 3 % up to the first, else by 9 %.
    error: float = 0.07
    large_error: float = 0.3
    #: "As at the largest scale" has won if it was nearer by more than this, in ln T: then one form is blind.
    nearer: float = 0.02
    #: Scales at which a factor must have been measured before anything is predicted beyond them.
    fewest_scales: int = 3
    rounding: float = 1e-9  #: Doublings by which two distances may differ and count as equal.


RULES = VerdictSettings()


class Evidence(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """What predicting the largest measured scale from the smaller ones showed."""

    factor: str  #: The extrinsic factor along which it was done.
    held_out: float  #: The scale that was predicted.
    doublings: NotNegative  #: From the largest scale before it.
    error: Deviation  #: Mean |ln(predicted/measured)| of the model there.
    #: The same for "it stays as it was at the largest scale before"; None where no rows can be compared.
    last_point: Deviation | None


class Corner(NamedTuple):
    """Two directions in which no run reaches the ends of both ranges."""

    places: tuple[int, int]  #: Of the two factors, in the schema.
    #: Above zero towards large values, below towards small ones, by what a doubling counts as; 0 for levels.
    signs: tuple[float, float]
    runs: Array  #: Shape (runs, 2). Positions of the runs of the staircase.


class Basis(Struct, frozen=True, eq=False, dict=True):
    """What the verdicts of a model rest on, whatever it predicts."""

    schema: Schema
    #: Whether several forms were weighed by how they predict, so that the interval contains the form too.
    several_forms: bool = False
    series: bool = False  #: Whether it is a series, whose intervals were judged on published ones.
    #: Factors that follow the scale of a series (nodes beside devices) and are not counted beside it.
    followers: Sequence[str] = ()
    #: Terms that are zero wherever the series was measured, as formulas over the factors: above zero where they count.
    unmeasured: Mapping[str, Node] = field(default_factory=dict)
    unidentified: Sequence[str] = ()  #: Constants the data does not determine.
    #: Values of the factors at which measurements were borrowed from other groups.
    borrowed: Mapping[str, Array] = field(default_factory=dict)
    evidence: Sequence[Evidence] = ()
    unheeded: Sequence[str] = ()  #: What a question names and no run shows, in words.

    @cached_property
    def settled(self) -> dict[str, str]:
        """Factors that grow with the workers -> the column of workers, without those that follow a series' scale."""
        growing = self.schema.panel.growing.items()
        return {name: workers for name, workers in growing if not {name, workers} & {*self.followers}}

    @cached_property
    def reach(self) -> tuple[Factor, ...]:
        """The factors with their ranges up to what was borrowed."""
        factors = []
        for factor in self.schema.factors:
            values = self.borrowed.get(factor.name, np.empty(0))
            if len(more := np.unique(values[(values > factor.upper) | (values < factor.lower)])):
                ends = {"lower": min(factor.lower, float(more[0])), "upper": max(factor.upper, float(more[-1]))}
                factor = msgspec.structs.replace(factor, **ends, distinct=factor.distinct + len(more))
            factors.append(factor)
        return tuple(factors)

    @cached_property
    def places(self) -> list[int]:
        """The places of the factors whose combinations count: those that vary and follow no other factor."""
        schema, left_out = self.schema, {*self.followers, *self.schema.derived}
        # What models leave out that keep only some of their configurations may have been measured.
        if not schema.medians or schema.configurations > len(schema.medians):
            return []
        return [i for i, f in enumerate(schema.factors) if f.distinct > 1 and f.name not in left_out]

    @cached_property
    def corners(self) -> list[Corner]:
        """The pairs of directions, as large batch and many nodes, in which the ranges reach far beyond every run."""
        factors, panel = self.schema.factors, self.schema.panel
        corners = list[Corner]()
        columns = {i: positions(factors[i], panel.measured[factors[i].name]) for i in self.places}
        directions = {i: (1, -1) if factors[i].numeric else (0,) for i in self.places}
        # Nodes are settled by the devices on them; any other two that were measured along a diagonal were set.
        settled = [{name, of} for name, of in panel.growing.items() if of in panel.settled_by.get(name, ())]
        for i, j in combinations(self.places, 2):
            if {factors[i].name, factors[j].name} in settled:
                continue
            # Shape (runs, 2).
            runs = np.unique(np.column_stack([columns[i], columns[j]]), axis=0)
            weight = COMBINATIONS.off_diagonal if _on_diagonal(runs, columns[i], columns[j]) else 1.0
            for signs in product(directions[i], directions[j]):
                outermost = runs
                if 0 not in signs:
                    # Those that no other equals or exceeds along both; levels have no order.
                    outermost = runs[np.sort(front_of(*(-runs * signs).T))]
                corner = Corner((i, j), (weight * signs[0], weight * signs[1]), outermost)
                # The shortfall grows towards the corner: the worst point is at the end of each range, or a level.
                ends: dict[int, Callable[[Array], Any]] = {1: np.max, -1: np.min, 0: np.unique}
                worst = [np.atleast_1d(ends[sign](values)) for sign, values in zip(signs, runs.T, strict=True)]
                if shortfalls(np.array(list(product(*worst)), float), corner).max() > COMBINATIONS.largest_untested:
                    corners.append(corner)
        return corners


def _on_diagonal(runs: Array, first: AnyArray, second: AnyArray) -> bool:
    """Tell whether two numeric factors rose or fell together, in steps of a doubling, in the runs of a table."""
    if first.dtype.kind in "OU" or second.dtype.kind in "OU" or np.ptp(first) * np.ptp(second) == 0.0:
        return False
    steps = [np.diff(np.unique(column)).max() for column in runs.T]
    correlation = abs(float(np.corrcoef(first.astype(float), second.astype(float))[0, 1]))
    return bool(max(steps) <= COMBINATIONS.largest_untested and correlation >= COMBINATIONS.diagonal)


def basis_of(members: Sequence[Member], schema: Schema, evidence: Sequence[Evidence] = ()) -> Basis:
    """Return what verdicts rest on: undetermined constants, factors that follow others, terms that no run shows."""
    count = schema.panel.one_machine
    beyond_cores = {} if count is None else {CORES: parse(f"{quote_name(count.name)} - {count.upper!r}").node}
    another = _another_batch(schema) if any(map(schema.panel.node, ("batch", "global_batch"))) else {}
    plain = [member for member in members if member.discrepancy is None]
    undetermined = {c for member in plain for c in member.expression.constants if c.name in member.unidentified}
    several = len(members) > 1
    # The constants of one formula are known by their names; of an average only the factors whose effects they are.
    effects = {constant.meaning.effect for constant in undetermined if constant.meaning is not None}
    unidentified = [f.name for f in schema.factors if f.name in effects]
    if not several:
        unidentified = sorted({constant.name for constant in undetermined})
    series = [member.discrepancy for member in members if member.discrepancy is not None]
    if not series:
        nodes = schema.panel.only_node if stack_of(members) is not None else None
        second_node = {} if nodes is None else {STEP: parse(f"{quote_name(nodes)} - 1").node}
        unmeasured = {**second_node, **another, **beyond_cores}
        return Basis(schema, several, False, (), unmeasured, unidentified, evidence=evidence)
    factors_of_series = {name for discrepancy in series for name in discrepancy.factors}
    # A batch that falls as the workers grow is work that no run had: it is counted by itself, and passes are not.
    scale, passes = schema.panel.axis.factor, schema.panel.find("micro_batches")
    runs = schema.panel.measured
    followers = list[str]()
    for factor in schema.factors:
        if not factor.numeric or factor.name in factors_of_series:
            continue
        may_fall = factor.distinct > 1 and factor != passes
        if scale is None or not may_fall or not rises_with(-runs[factor.name].astype(float), runs[scale.name]):
            followers.append(factor.name)
    # Where the factors count neither workers nor nodes (a model's size), no term appears with a node.
    counts_neither = schema.panel.workers is None and schema.panel.nodes is None
    unmeasured = {} if counts_neither else _unmeasured_terms(members)
    unmeasured |= {**another, **beyond_cores}
    return Basis(schema, True, True, followers, unmeasured, unidentified, series[0].borrowed, evidence)


def _another_batch(schema: Schema) -> dict[str, Node]:
    """Return how far a batch of a worker, or of all, that follows from columns is from the one or two of the runs."""
    terms = dict[str, Node]()
    # Of a worker two are no range, as of any factor; that of all grows with the workers, but for strong scaling.
    for canonical, most in (("batch", RULES.fewest_scales - 1), ("global_batch", 1)):
        batch = schema.panel.node(canonical)
        if batch is None or len(names_in(batch)) < 2:
            continue
        measured = np.sort(np.asarray(evaluate(batch, schema.panel.measured), float))
        if not len(measured) or not measured[0] > 0.0:
            continue
        apart = measured[np.append(True, np.diff(np.log(measured)) > ROUNDED)]
        if len(apart) <= most:
            text, low, high = render(batch), float(measured[0]), float(measured[-1])
            away = parse(f"max(max(({text})/{high!r}, {low!r}/({text})) - 1 - {ROUNDED!r}, 0)").node
            terms[f"another {text} than {' or '.join(f'{of:g}' for of in apart)}"] = away
    return terms


def _unmeasured_terms(members: Sequence[Member]) -> dict[str, Node]:
    """Return the formulas of terms that are zero at every measured count of every member, such as between nodes."""
    zero_terms: dict[str, Node] = {}
    measured: set[str] = set()
    for member in members:
        if member.discrepancy is not None:
            anchors = tuple((name, tuple(values.tolist())) for name, values in member.discrepancy.anchors.items())
            zero_here, measured_here = _at_anchors(member.expression, anchors)
            zero_terms |= zero_here
            measured |= measured_here
    return {name: node for name, node in zero_terms.items() if name not in measured}


# Members of many groups have the same terms at the same counts.
@lru_cache(maxsize=KEPT_TERMS)
def _at_anchors(
    expression: Expression, anchors: tuple[tuple[str, tuple[Any, ...]], ...]
) -> tuple[dict[str, Node], frozenset[str]]:
    """Return the terms that are zero at every anchor, with each constant as 1, and the names of the other terms."""
    columns = {name: np.array(values) for name, values in anchors}
    there = expression.term_values(columns, dict.fromkeys(expression.constant_names, 1.0))
    reached = frozenset(name for name, values in there.items() if values.any())
    numbers = {name: Number(1.0) for name in expression.constant_names}
    return {t.name: substitute(t.node, numbers) for t in expression.terms if t.name not in reached}, reached


class _Grades(Struct):
    """The worst grade of every row so far, with the reasons for it."""

    grade: Integers
    marks: list[Mark] = field(default_factory=list)

    def mark(self, where: Mask, level: int | Integers, about: str, **values: Any) -> None:
        """Give the rows `where` at least a grade for a reason; levels and values are one for all rows, or (rows,)."""
        if where.any():
            marked_level = level[where] if isinstance(level, np.ndarray) else level
            marked_values = {n: v[where] if isinstance(v, np.ndarray) else v for n, v in values.items()}
            self.grade[where] = np.maximum(self.grade[where], marked_level)
            self.marks.append(Mark(np.flatnonzero(where), about, marked_level, marked_values))


def verdicts(basis: Basis, columns: Columns, log_width: Array) -> tuple[Integers, list[Mark]]:
    """Return the worst grade of each row (0 ok, 1 caution, 2 extrapolating blind) and the marks with its reasons."""
    schema, several, rows = basis.schema, basis.several_forms, len(log_width)
    grades = _Grades(np.zeros(rows, int))
    together = {*basis.followers, *basis.settled}
    # Doublings outside the range of each factor, borrowed runs included, and outside all ranges.
    far = doublings(basis.reach, columns)
    total = doublings_in_all(far, together, rows)
    # By what no run shows of the question, and by the cores of the one machine.
    for text in basis.unheeded:
        grades.mark(np.ones(rows, bool), 2, "unheeded", text=text)
    appearing = {name: np.asarray(evaluate(node, columns), float) > 0.0 for name, node in basis.unmeasured.items()}
    if CORES in appearing:
        grades.mark(appearing.pop(CORES), 1, "one_machine")
    scales = [f for f in basis.reach if f.numeric and f.distinct != 1 and f.name not in together]
    _by_range(grades, basis, columns, far, total, [f.name for f in scales])
    far_from_runs = _by_combination(grades, basis, columns)
    # By terms that were zero wherever something was measured.
    for name, appears in appearing.items():
        if name == STEP:
            grades.mark(appears, 2, "second_node")
        else:
            grades.mark(appears & (grades.grade < 2), 2, "unmeasured", term=name)
    extrinsic = {f.name for f in scales if f.role == "extrinsic"}
    for look_back in basis.evidence:
        beyond = (far[look_back.factor] if look_back.factor in extrinsic else total) > 0
        _by_look_back(grades, look_back, beyond, several)
    # By the range of the runs, without borrowed ones.
    outside = doublings_in_all(doublings(schema.factors, columns), together, rows) > 0
    for factor in schema.factors:
        is_scale = factor.numeric and factor.role == "extrinsic" and factor.name not in basis.followers
        if basis.borrowed and is_scale:
            above = outside & (columns[factor.name] > factor.upper)
            grades.mark(above, 0, "borrowed", name=factor.name, value=factor.upper)
    # By the interval.
    beyond = outside | (far_from_runs > RULES.near)
    wide = np.where(beyond, RULES.wide_beyond, RULES.wide)
    very_wide = np.where(beyond, RULES.very_wide_beyond, RULES.very_wide)
    grades.mark((log_width > wide) & (log_width <= very_wide), 1, "wide")
    grades.mark(log_width > very_wide, 2, "very_wide")
    if unidentified := basis.unidentified:
        names_text = ", ".join(unidentified[:4]) + (", …" if len(unidentified) > 4 else "")
        grades.mark(total > RULES.near, 1, "undetermined_effect" if several else "undetermined", names=names_text)
    return grades.grade, grades.marks


def _by_look_back(grades: _Grades, look_back: Evidence, beyond: Mask, several_forms: bool) -> None:
    """Judge rows `beyond` the runs by how well the smaller scales predicted the largest one."""
    error, last_point = look_back.error, look_back.last_point
    if not error > RULES.error:
        return
    about, values = "look_back", {"name": look_back.factor, "value": look_back.held_out, "error": error}
    beaten = last_point is not None and error > last_point + RULES.nearer
    if beaten:
        about, values = "look_back_beaten", {"look_back": (about, values), "last": last_point}
    # The interval of several forms contains large errors already.
    is_blind = not several_forms and (beaten or error > RULES.large_error)
    grades.mark(beyond, 2 if is_blind else 1, about, **values)


def _by_range(
    grades: _Grades, basis: Basis, columns: Columns, far: Mapping[str, Array], total: Array, scales: Collection[str]
) -> None:
    """Judge by how `far` a row is outside the range of each factor, and in `total` outside those of all `scales`."""
    blind, borrowed = total > RULES.blind, bool(basis.borrowed)
    # The interval of several forms contains their differences: being outside the range is named, and no caution.
    level = np.where(blind, 2, 0 if basis.several_forms and not borrowed else 1)
    known_range: tuple[str, dict[str, Any]] = ("known_borrowed" if borrowed else "known", {})
    for factor in (f for f in basis.reach if f.numeric):
        name, away = factor.name, far[factor.name]
        if factor.distinct == 1:
            of = "one_value_of_group" if basis.schema.panel.group else "one_value"
            grades.mark(away > 0, 2, of, name=name, value=factor.lower)
        elif name not in basis.followers:
            # Those that grow with the workers go as far as these do: only what exceeds that is news.
            exceeds = away > (far[basis.settled[name]] + RULES.rounding if name in basis.settled else 0)
            ends = {"known": known_range, "lower": factor.lower, "upper": factor.upper}
            grades.mark(exceeds, level, "outside", name=name, value=columns[name], far=away, **ends)
            few = (away > 0) & (factor.distinct < RULES.fewest_scales)
            grades.mark(few, 2, "few", name=name, count=factor.distinct)
    along = sum((far[name] > 0 for name in scales), np.zeros(len(total)))
    level = np.where(blind, 2, (total > RULES.near) & (borrowed or not basis.series))
    grades.mark((total > RULES.near) & (along > 1), level, "in_all", far=total)
    grades.grade = np.maximum(grades.grade, level)


def _by_combination(grades: _Grades, basis: Basis, columns: Columns) -> Array:
    """Judge by the combination of values that lies farthest from every run, and return how far, shape (rows,)."""
    schema, rows = basis.schema, len(grades.grade)
    short, corner = apart(schema.factors, basis.corners, columns, rows)
    untested = np.flatnonzero(short > RULES.near)
    names = [f.name for f in schema.factors]
    # Of each row the pair of values that no run has, and the nearest run, in words.
    pairs, runs = np.full((2, rows), "", dtype=object)
    for row, run in zip(untested.tolist(), nearest_runs(schema, basis.places, columns, untested), strict=True):
        pair = basis.corners[int(corner[row])].places
        point, values = [columns[name][row] for name in names], schema.medians[run].values
        differing = [i for i in basis.places if i not in pair and values[i] != point[i]]
        pairs[row] = " and ".join(join_values({names[i]: point[i]}) for i in pair)
        runs[row] = join_values({names[i]: values[i] for i in [*pair, *differing][: COMBINATIONS.named]})
    grades.mark(short > RULES.near, 1, "apart", pair=pairs, nearest=runs)
    grades.grade[short > RULES.blind] = 2
    return short


def doublings(factors: Iterable[Factor], columns: Columns) -> dict[str, Array]:
    """Return by name how many doublings, or ranges where values are not above zero, each row lies outside, 0 inside."""
    far = {}
    for factor in (f for f in factors if f.numeric):
        values = np.asarray(columns[factor.name], float)
        if factor.positive and np.all(values > 0):
            above, below = np.log2(values / factor.upper), np.log2(factor.lower / values)
        else:
            width = max(factor.upper - factor.lower, abs(factor.upper), 1e-300)
            above, below = (values - factor.upper) / width, (factor.lower - values) / width
        # With + 0.0 no zero is negative, and none is printed so.
        far[factor.name] = np.maximum(np.maximum(above, below), 0.0) + 0.0
    return far


def distance_beyond(schema: Schema, columns: Columns) -> Array:
    """Return √Σ(doublings outside the data)² of each row, of factors that grow with the workers the farthest.

    >>> from genperf.panel.panel import Target
    >>> names = ("gpus", "nodes", "batch")
    >>> factors = tuple(Factor(n, "extrinsic", 1, 8, distinct=4, positive=True) for n in names)
    >>> columns = {"gpus": np.array([64.0]), "nodes": np.array([16.0]), "batch": np.array([128.0])}
    >>> distance_beyond(Schema(factors, Target("s")), columns)
    array([5.])
    """
    far, growing = doublings(schema.factors, columns), schema.panel.growing
    for name, workers in growing.items():
        far[workers] = np.maximum(far[workers], far[name])
    alone = [values for name, values in far.items() if name not in growing]
    if not alone:
        return np.zeros(len(next(iter(columns.values()))))
    # Sorted, so that the sum is the same to the last digit in any order of the factors.
    return np.asarray(np.linalg.norm(np.sort(alone, axis=0), axis=0))


def doublings_in_all(far: Mapping[str, Array], together: Collection[str], rows: int) -> Array:
    """Return the sum of distances, shape (rows,), of which those that go together count once: the farthest of them."""
    alone = np.sort([np.zeros(rows), *(values for name, values in far.items() if name not in together)], axis=0)
    return np.asarray(np.maximum.reduce([alone.sum(axis=0), *(far[name] for name in far if name in together)]))


def positions(factor: Factor, values: AnyArray) -> Array:
    """Return where values lie along a factor: in doublings, in shares of its range, or the places of its levels."""
    if not factor.numeric:
        place = {level: number for number, level in enumerate(factor.levels)}
        return np.array([place[str(v)] for v in values], float)
    numbers = np.asarray(values, float)
    if factor.positive and factor.lower > 0:
        return np.asarray(np.log2(numbers))
    return numbers / max(factor.upper - factor.lower, abs(factor.upper), 1e-300)


def shortfalls(points: Array, corner: Corner) -> Array:
    """Return how far every run stops short of each point, positions along the two factors, in a corner."""
    distance = np.zeros((len(points), len(corner.runs)))
    for k, sign in enumerate(corner.signs):
        apart = points[:, k, None] - corner.runs[None, :, k]
        distance += COMBINATIONS.level * (apart != 0) if sign == 0 else np.maximum(0.0, sign * apart)
    return np.asarray(np.round(distance.min(axis=1), COMBINATIONS.digits))


def apart(factors: Sequence[Factor], tested: Sequence[Corner], columns: Columns, rows: int) -> tuple[Array, Array]:
    """Return how far each row, put inside the ranges, lies from every run, and in which corner, each (rows,)."""
    far, worst = np.zeros(rows), np.zeros(rows)
    at = {}
    for i in {i for corner in tested for i in corner.places}:
        factor, values = factors[i], columns[factors[i].name]
        at[i] = positions(factor, np.clip(values, factor.lower, factor.upper) if factor.numeric else values)
    for k, corner in enumerate(tested):
        short = shortfalls(np.column_stack([at[i] for i in corner.places]), corner)
        worst = np.where(short > far, k, worst)
        far = np.maximum(far, short)
    return far, worst


def nearest_runs(schema: Schema, places: Sequence[int], columns: Columns, rows: Index) -> list[int]:
    """Return the place of the run nearest to each of some rows, over the factors at some places."""
    nearest: list[int] = []
    if not len(rows):
        return nearest
    measured = [(f, positions(f, schema.panel.measured[f.name])) for f in (schema.factors[i] for i in places)]
    block = max(1, COMBINATIONS.numbers // max(len(schema.medians), 1))
    for start in range(0, len(rows), block):
        block_rows = rows[start : start + block]
        # Shape (rows of the block, runs).
        distance = np.zeros((len(block_rows), len(schema.medians)))
        for factor, of_runs in measured:
            gap = np.abs(positions(factor, columns[factor.name][block_rows])[:, None] - of_runs)
            distance += gap if factor.numeric else COMBINATIONS.level * (gap != 0)
        nearest += np.argmin(np.round(distance, COMBINATIONS.digits), axis=1).tolist()
    return nearest
