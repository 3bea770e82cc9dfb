"""`auto` on a table of many factors: one process about several means, stacked."""

from collections.abc import Iterator, Sequence

import numpy as np
from msgspec.structs import replace

from genperf.arrays import Array, Mask
from genperf.discrepancy import Beyond, MeanProcess, Process, Product, Stack
from genperf.discrepancy.form import positions
from genperf.discrepancy.product import KernelAxis, logarithms, usual_sizes
from genperf.discrepancy.sizes import fit_sizes
from genperf.discrepancy.stack import NORMAL
from genperf.engine import doing
from genperf.errors import Note
from genperf.estimate import FitOptions
from genperf.estimate.prepare import CONTENT_SEED
from genperf.formula import names_in, parse, quote_name, render, values_of
from genperf.gaussian import student_widening
from genperf.panel import Table
from genperf.panel.table import by_content, design_notes, one_at_a_time
from genperf.prediction import Ensemble, Member, Spread, Status
from genperf.process.growth import growth_of
from genperf.process.means import TERM_DRAWS, Coefficients, between_sets, derived, means_of, terms_of
from genperf.process.stacking import DEALS, Members, StackCandidate, folds_of, looked_back, predict_held_out, stacked

#: Rows that are kept, and from which sizes are learned: the time grows with their cube.
MOST_ANCHORS, MOST_SEARCHED = 600, 300
#: Medians of the local part and of the size s of a level.
LOCAL_PART, LEVEL_SIZE = 0.1, 3.0
#: Pseudo-rows of each kind of member.
MEMBER_PRIOR = {"work": 1.0, "sum": 1.0, "server": 0.01, "physics": 4.0, "growth": 1.0}
#: Kinds of means of what adds up; about the others the effects of all factors multiply.
ADDED = ("sum", "server")
#: As `LEVEL_SIZE`, of runs of one factor at a time, which do not show what two factors do together: grids of the laws
#: of `experiments/accuracy/factors_told.py` show 0.8, but the interval holds a sum, a product and divided work beside.
APART_SIZE = 1.5
#: Median of a level's size there. One difference shows the size, and how the level changes other effects is in
#: proportion to it: with the 0.3 of other tables a level that differs by 0.05 has 0.13, and may be slower elsewhere.
APART_LEVEL = 0.1
#: Quantile of |z| of folds that becomes the width of the 90 % interval.
INSIDE_QUANTILE = 0.92


def fit_factors(table: Table, options: FitOptions) -> Ensemble:
    """Fit the stacked processes to a table of many factors."""
    medians, notes = _kept(by_content(table).medians())
    noise = float(np.nan_to_num(table.noise(), posinf=0.0))
    doing("fitting the process")
    fitted = _fitted(medians, noise)
    look_backs = list(looked_back(fitted))
    mean_processes, members = zip(*_written(fitted), strict=True)
    # The sum that shows the terms predicts nothing.
    weightless = (0.0,) * (len(members) - len(fitted.candidates))
    extrapolations = tuple(replace(beyond, weights=beyond.weights + weightless) for beyond, _ in look_backs)
    stack = Stack(_known(fitted, extrapolations), mean_processes, fitted.width, extrapolations, noise)
    shares = [f"{m.label} {100.0 * m.weight:.0f} %" for m in members if m.weight > 0.01]
    error = 100.0 * float(np.mean(np.abs(np.expm1(fitted.folds.errors(fitted.weights)[0]))))
    text = f"one process about {', '.join(shares)}; held-out configurations erred by {error:.1f} %"
    return Ensemble(
        tuple(replace(member, process=Process(stack, place)) for place, member in enumerate(members)),
        Spread(noise=noise, misfit=fitted.candidates[0].fit.noise),
        tuple(evidence for _, evidence in look_backs if evidence is not None),
        {"approach": "process", "held_out_error": error},
        (*design_notes(table), *notes, Note(text, "chosen")),
    )


def _kept(medians: Table) -> tuple[Table, list[Note]]:
    """Return the configurations and factors that are fitted, and what is left out of them."""
    notes, configurations = [], len(medians)
    varying = [f for f in medians.factors if f.distinct > 1]
    # A level for each configuration: nothing of it is known at the next one.
    labels = [f.name for f in varying if not f.numeric and f.distinct == configurations]
    if 0 < len(labels) < len(varying):
        medians = medians.without(labels)
        notes.append(Note(f"left out {', '.join(labels)}: each configuration has a level of its own", "fewer_terms"))
    if configurations > MOST_ANCHORS:
        rows = np.random.default_rng([CONTENT_SEED, 1]).permutation(configurations)[:MOST_ANCHORS]
        medians = medians.take(np.sort(rows))
        notes.append(Note(f"of {configurations} configurations {len(medians)} are kept, chosen at random", "anchors"))
    return medians, notes


def _fitted(table: Table, noise: float) -> Members:
    """Fit every mean with its process to all rows, and weigh them by rows that were held out."""
    single_changes, apart, rows = one_at_a_time(table), between_sets(table), np.arange(len(table))
    candidates = _candidates(table, single_changes)
    if apart and not single_changes:
        # Whether the effects of sets of factors add up, as in sums, or multiply, no held-out row can tell.
        candidates = [replace(candidate, form=int(candidate.mean.kind in ADDED)) for candidate in candidates]
    kinds = [candidate.mean.kind for candidate in candidates]
    growth = growth_of(table, noise)
    if growth is not None and (anchors := growth.anchors(rows)) is not None:
        candidates.append(replace(candidates[0], anchors=anchors))
        kinds.append("growth")
    doing("weighing its means")
    folds = predict_held_out(candidates, folds_of(len(rows), np.random.default_rng([CONTENT_SEED, 3])))
    prior = np.array([MEMBER_PRIOR[kind] for kind in kinds])
    # The others' effects multiply. Work that a count divides does neither: with it as a form, changes beyond the range
    # are held in 86 % (79) and inside it in 85 (78) of 16 worlds of laws with such work or a soft maximum.
    if single_changes:
        sums = np.isin(kinds, ADDED)
        prior[sums] = prior[~sums].sum()
    weights = prior / prior.sum() if single_changes else stacked([folds], [1.0 / DEALS], prior)
    # The sizes that predict held-out rows were learned from them too, one of each axis at least: the variance of new
    # rows is 1 + 2p/N times theirs (Akaike 1970, final prediction error).
    widening = np.sqrt(1.0 + 2.0 * len(candidates[0].fit.kernel.axes) / len(rows))
    # Nor do they show how far two forms lie apart elsewhere.
    width = max(float(widening) * folds.width(weights, INSIDE_QUANTILE), NORMAL if apart else 0.0)
    order = sorted(range(len(weights)), key=lambda place: -weights[place])
    return Members(table, candidates, growth, folds, prior, weights, width, order, single_changes)


def _candidates(table: Table, apart: bool) -> list[StackCandidate]:
    """Return every mean with its process about the residuals; the first's sizes are where the others' begin."""
    y, axes = np.log(table.measured), _axes_of(table)
    x = [axis.coordinates(table.columns) for axis in axes]
    if apart:
        axes = tuple(replace(axis, linear=APART_LEVEL) if axis.kind == "level" else axis for axis in axes)
    prior = Product(axes, APART_SIZE if apart else LEVEL_SIZE, LOCAL_PART)
    measured = np.random.default_rng([CONTENT_SEED, 2]).permutation(np.flatnonzero(~_defined(table)))
    searched = np.sort(measured[:MOST_SEARCHED])
    candidates: list[StackCandidate] = []
    for mean in means_of(table):
        basis = mean.basis(table.columns)
        constants = basis.without_traces(basis.fitted(y), y)
        if not np.all(basis.at(constants.powers) @ constants.columns > 0.0):
            # Each row has a level of its own, which makes up for terms that are zero on one worker.
            continue
        residual = y - basis.log_sum(constants)
        first_fit = candidates[0].fit if candidates else None
        # A sum that fits such runs knows no more of two factors together than their product does.
        fit = first_fit if apart and first_fit else fit_sizes(x, residual - residual.mean(), prior, searched, first_fit)
        candidates.append(StackCandidate(mean, basis, constants, y, fit, x))
    return candidates


def _axes_of(table: Table) -> tuple[KernelAxis, ...]:
    """Return an axis for each factor that varies or is a count, and for the work of a transformer's device."""
    axes = {}
    for f in table.factors:
        name, extrinsic = quote_name(f.name), f.role == "extrinsic" and f.numeric
        if not f.numeric and f.distinct > 1:
            axes[name] = KernelAxis(name, "level", **usual_sizes("level"))
        elif f.distinct > 1 or extrinsic:
            values = np.unique(table.columns[f.name].astype(float))
            axes[name] = _number(name, values, extrinsic and f.lower >= 1.0)
    work = derived(table).get("work")
    if work is not None and len(names_in(work)) > 1:
        with np.errstate(all="ignore"):
            values = values_of(work, table.columns)
        if values.min() > 0.0 and values.max() < np.inf and values.max() > values.min() * (1.0 + 1e-9):
            # What several columns amount to has few values in common.
            axes.setdefault(render(work), replace(_number(render(work), values, False), each=0.0))
    return tuple(axes.values())


def _number(formula: str, values: Array, count: bool) -> KernelAxis:
    """Return the axis of a number or a count with its prior sizes."""
    positive, sizes = bool(values.min() > 0.0), usual_sizes("count" if count else "number")
    centre = 0.0 if count else float(np.mean(logarithms(values, positive)))
    return KernelAxis(formula, "ln" if positive else "ln1p", centre=centre, **sizes)


def _defined(table: Table) -> Mask:
    """Return which rows have one value by definition, as every speed-up at the smallest count, and show no noise."""
    count = table.panel.axis.factor
    if count is None or count.distinct < 2:
        return np.zeros(len(table), bool)
    smallest = np.asarray(table.columns[count.name] == count.lower)
    has_one_value = int(smallest.sum()) > 2 and float(np.ptp(table.measured[smallest])) == 0.0
    return smallest if has_one_value else np.zeros(len(table), bool)


def _written(fitted: Members) -> Iterator[tuple[MeanProcess, Member]]:
    """Yield the parts of the stack and their expressions, the heaviest first, then the one that shows the terms."""
    table, columns = fitted.table, {f.name for f in fitted.table.factors}
    weighted = [(fitted.candidates[k], float(fitted.weights[k])) for k in fitted.order]
    # A transformer's terms are one of the means.
    has_terms = any(candidate.mean.family for candidate in fitted.candidates)
    if not has_terms and (terms := terms_of(table)) is not None:
        first_candidate = fitted.candidates[0]
        weighted.append((replace(first_candidate, mean=terms, basis=terms.basis(table.columns)), 0.0))
    for candidate, weight in weighted:
        constants = candidate.constants
        # Only these means are read as terms; the constants of the others have no draws that differ.
        shows_terms = candidate.mean.kind in ("physics", "terms")
        fits: list[Coefficients] = []
        if shows_terms:
            places = positions(table.factors, table.columns)
            constants, fits = candidate.mean.drawn(candidate.basis, candidate.y, places, fitted.apart)
        level, residual, variance = candidate.residuals(np.arange(len(candidate.y)), constants, candidate.anchors)
        factor_of_level, noise = np.array([f.name for f, _ in candidate.mean.levels]), candidate.fit.noise
        # Var(effects)·(1 + 1/levels)·t²: Student's prediction of one more level from the measured ones.
        effects = {name: constants.levels[factor_of_level == name] for name in dict.fromkeys(factor_of_level.tolist())}
        widening = {n: (1.0 + 1.0 / len(e)) * student_widening(len(e) - 1) ** 2 for n, e in effects.items()}
        unseen = {name: float(np.var(e, ddof=1) * widening[name]) for name, e in effects.items()}
        expression, coefficient_count, values, drawn = candidate.mean.expression(constants, columns, fits)
        draws = drawn if shows_terms else np.tile(values, (TERM_DRAWS, 1))
        # The level is in the coefficients, which are the first `coefficient_count` constants.
        factor = np.exp(-level if candidate.mean.inverse else level)
        scale = np.where(np.arange(len(values)) < coefficient_count, factor, 1.0)
        status = Status("process", float(np.var(residual[: len(candidate.y)])), True, 0, 1, 1)
        kernel, used = candidate.fit.kernel, int(np.count_nonzero(values))
        noise_widening = 1.0 if candidate.anchors is not None else _noise_widening(candidate.fit.freedom, used)
        ratios = variance / noise**2
        process = MeanProcess(kernel, residual, noise, ratios, weight, unseen, noise_widening, candidate.form)
        label = candidate.mean.label if candidate.anchors is None else "growth of its series"
        yield process, Member(expression, values * scale, draws * scale, weight, status, label=label)


def _known(fitted: Members, beyond: Sequence[Beyond]) -> dict[str, Array]:
    """Return the factors that the stack reads, at the rows and at what is forecast of the series."""
    names = [*fitted.candidates[0].fit.kernel.factors, *(n for b in beyond for n in parse(b.factor).names)]
    rows = {f.name: fitted.table.columns[f.name] for f in fitted.table.factors if f.name in names}
    anchors = fitted.candidates[-1].anchors
    if anchors is None:
        return rows
    return {name: np.concatenate([values, anchors.columns[name]]) for name, values in rows.items()}


def _noise_widening(freedom: float, constants: int) -> float:
    """Return by how much an interval widens that rests on noise estimated from residuals of a fitted mean.

    √(f/(f − p))·t(f)/z: of f residuals the p constants of the mean took one each, which the process does not know; at
    most half of them, as a mean is pulled towards fewer. Differences of measured runs are then held in 87 % where 82
    were (`experiments/accuracy/factors_told.py`, worlds 5 to 8 of the tuning laws in crossed designs).
    """
    left = max(freedom - min(constants, freedom / 2.0), 1.0)
    return student_widening(max(freedom, 1.0)) * float(np.sqrt(max(freedom / left, 1.0)))
