"""`report`: a model, or a table, as one HTML file that needs nothing else."""

import hashlib
import platform
import re
from base64 import b64encode
from bisect import bisect
from collections.abc import Mapping, Sequence
from dataclasses import replace
from functools import partial
from importlib.metadata import version
from itertools import accumulate, compress
from pathlib import Path
from typing import Any

import msgspec
import numpy as np

from genperf import __version__
from genperf.asking.ask import Question, group_of_question
from genperf.attribution import Scaling
from genperf.attribution.answers import FORM, doublings_for_people
from genperf.attribution.elasticity import doublings_by_level
from genperf.attribution.equation import equation, written_lines
from genperf.attribution.ladder import Ladder
from genperf.attribution.terms import HIDDEN
from genperf.discrepancy import kernel_script
from genperf.engine import Engine, Lost, doing, listening, run
from genperf.errors import GenperfError, counted
from genperf.facts import check_interval
from genperf.fitting import fit
from genperf.formula import JAVASCRIPT, Name, Node, call, render
from genperf.formula.amounts import amount
from genperf.panel import Table
from genperf.panel.legend import MOST_COMPARED
from genperf.panel.quantities import ONE, QUANTITIES, REPORTED_BESIDE, paid_for, quantities_of
from genperf.prediction import discrepancies_of
from genperf.prediction.member import by_label
from genperf.reporting.answers import answers, glance, ladder, summary
from genperf.reporting.engine import PageFormula, PageModel, engine, fitting, formula, judging, rules, with_formulas
from genperf.reporting.place import (
    DRAWN_MULTIPLE,
    DRAWN_STEPS,
    EVALUATED_MULTIPLE,
    SLIDER_STEPS,
    WHOLE_STOPS,
    Place,
    View,
    command_of,
    measured_text,
    place_of,
    short,
    shorts,
    thinned,
)
from genperf.reporting.proposal import asset, filled
from genperf.result import FitResult, GroupedResult
from genperf.search.problem import Goal, capacity_constraints, models_of
from genperf.search.space import split_columns
from genperf.table.content import write_file
from genperf.validation import Validation, validate
from genperf.validation.splits import split
from genperf.vocabulary.headers import UNNAMED
from genperf.vocabulary.names import column_of
from genperf.words.answer import first_of_groups
from genperf.words.growth import price_text
from genperf.words.numbers import constant_unit, heading, rate_unit
from genperf.words.verdict import LIKELY_TO_FIT

# How much a page holds.
#: Measured configurations of one group in the page: 300 points take 10 kB.
MAX_MEASURED = 300
#: Measured values of a factor at which its slider stops.
MAX_VALUES = 40
#: Constants in the table.
MAX_PAGE_CONSTANTS = 60
#: Bytes of draws and anchors: of the groups that exceed them, those after the first have a line in the table of groups
#: alone.
MAX_DRAW_BYTES = 1_500_000
#: Bytes of a draw of a constant as text, and of an anchor's coordinate.
BYTES_PER_DRAW = 3
BYTES_PER_ANCHOR = 11
#: Columns of groups that a title names.
MOST_NAMED = 2
#: Groups whose answers a page without JavaScript shows.
PLAIN_GROUPS = 40
#: Rejected rows that are listed.
MAX_REJECTED = 50
#: How configurations are held out where the user does not say it: with so many scales or more, the largest is
#: predicted from the smaller ones, as three are the least that a knee can be fitted to; else so many
#: folds, a convention.
LEAST_SCALES = 4
PAGE_FOLDS = 5


def line(place: Place, group: Mapping[str, str]) -> dict[str, Any]:
    """Return what the table of groups shows of one model."""
    names = [factor.name for factor in place.result.schema.factors]
    return {
        "summary": summary(place),
        "at": [place.values[n] for n in names],
        "counted": None if place.counted is None else names.index(place.counted.name),
        "measures": _measures(PageModel(place.result), group, place.question),
    }


def sheet(place: Place) -> dict[str, Any]:
    """Return what the page's script draws of one model, by the script's names; `line` has what its table shows."""
    result, interval, model = place.result, place.question.interval, PageModel(place.result)
    names, target = [*model.places], result.schema.target
    symbol = "T" if target.is_time else target.name
    return {
        **_predicting(result, interval),
        "model": result.model,
        "formula": "\n".join(written_lines(result)) or f"{symbol} = {result.best.expression.text(result.best.values)}",
        "latex": equation(result) if result.is_formula else None,
        "answers": [msgspec.structs.asdict(a) for a in answers(place)],
        "glance": glance(place),
        "ladder": ladder(place),
        "along": None if place.along is None else names.index(place.along.name),
        "path": None if place.scaling is None else _path(place.scaling.steps, names),
        "efficiency": _efficiency(place.scaling),
        "constants": _constants(result, interval),
        "doublings": _doublings(result, interval),
        "members": [[entry.label, round(entry.weight, 4)] for entry in by_label(result.members)],
        "facts": _facts(result),
        "notes": [str(n) for n in result.notes],
        "feasibility": fitting(model),
        "further": [
            {"name": name, "unit": further_result.schema.target.unit, **_predicting(further_result, interval)}
            for name, further_result in result.further.items()
        ],
        "splits": _splits(model),
    }


def quantity_of(result: FitResult) -> dict[str, Any]:
    """Return what the page needs of the predicted quantity: of a measured throughput, that it comes first."""
    target, share = result.schema.target, result.schema.share_of_peak
    share_name = "" if share is None else share[0]
    return {
        "name": target.name,
        "unit": target.unit,
        "heading": heading(target),
        "isTime": target.is_time,
        "ofSteps": result.schema.of_steps,
        "rate": _rate_unit(result),
        "column": share_name or target.throughput or target.column,
        "called": share_name or "throughput",
        "first": "throughput" if target.work else "value",
        "beside": {name: [QUANTITIES[name].label, QUANTITIES[name].unit] for name in REPORTED_BESIDE},
    }


def _rate_unit(result: FitResult) -> str:
    """Return the unit of the throughput: `images/s` of `images_per_s`, else samples, or the steps of one worker."""
    schema = result.schema
    if schema.share_of_peak is not None:
        return schema.share_of_peak.unit
    if schema.target.throughput:
        return rate_unit(schema.target.samples)
    group_has_batch = any(column_of(name, schema.group) is not None for name in ("batch", "global_batch"))
    counts_samples = result.panel.step.known == "columns" or group_has_batch
    return "samples/s" if counts_samples else "worker steps/s"


def _rounded_or_none(value: float | None) -> float | None:
    """Round to four digits; None for infinity or a missing number."""
    return None if value is None or not np.isfinite(value) else short(value, 4)


def _predicting(result: FitResult, interval: float) -> dict[str, Any]:
    """Return what the page needs to predict a quantity, and what was measured."""
    model, medians, factors = PageModel(result), result.schema.medians, []
    for index, factor in enumerate(result.schema.factors):
        measured = sorted({float(m.values[index]) for m in medians})[:MAX_VALUES] if factor.numeric else []
        factors.append({**msgspec.structs.asdict(factor), "numeric": factor.numeric, "measured": measured})
    return {
        "factors": factors,
        "measured": [[*m.values, *shorts([m.value, m.lowest, m.highest]), m.repeats] for m in medians[:MAX_MEASURED]],
        "engine": engine(model, interval),
        "judging": judging(model),
    }


def _path(path: Ladder, names: list[str]) -> dict[str, Any]:
    """Return the counts at which the slider stops, and the factors that follow them."""
    # The slider stops at so many counts a doubling, and at every small whole one.
    rows = thinned(path.counts, SLIDER_STEPS, np.arange(1.0, WHOLE_STOPS + 1.0))
    counts = path.counts[rows]
    drawn = thinned(counts, DRAWN_STEPS, np.array([path.along.upper]))
    return {
        "counts": counts.tolist(),
        "follow": {
            str(names.index(n)): values[rows].tolist()
            for n, values in path.columns.items()
            if n != path.along.name and n in names and len({*values.tolist()}) > 1
        },
        "work": None if path.work is None else shorts(path.work[rows], 9),
        "drawn": drawn[counts[drawn] <= path.along.upper * DRAWN_MULTIPLE * 1.0001].tolist(),
    }


def _efficiency(scaling: Scaling | None) -> dict[str, Any] | None:
    """Return the curve of the efficiency; None where there is none."""
    if scaling is None or scaling.refusal:
        return None
    counts = scaling.curve[scaling.along].to_numpy(float)
    largest = scaling.upto * DRAWN_MULTIPLE / EVALUATED_MULTIPLE
    rows = [i for i in thinned(counts, DRAWN_STEPS, np.empty(0)) if counts[i] <= largest * 1.0001]
    rows_of_curve = scaling.curve.iloc[rows]
    points = scaling.points[scaling.points["what"] == "efficiency"]
    return {
        "counts": rows_of_curve[scaling.along].tolist(),
        "middle": shorts(rows_of_curve["efficiency"], 4),
        "lower": shorts(rows_of_curve["efficiency_lower"], 4),
        "upper": shorts(rows_of_curve["efficiency_upper"], 4),
        "knees": [[short(c), level] for c, level in points[["count", "level"]].dropna().to_numpy().tolist()],
        "reference": scaling.reference,
    }


def _constants(result: FitResult, interval: float) -> list[list[Any]]:
    """Return a row a constant of the heaviest member of each label: member, name, value, lower, upper, unit, state."""
    target = result.schema.target
    heaviest = sorted(entry.places[0] for entry in by_label(result.members))
    return [
        [member, name, *shorts(ends, 5), constant_unit(unit, target), state]
        for place in heaviest
        for member, name, *ends, unit, state in result.members[place].constant_rows(interval)
    ][:MAX_PAGE_CONSTANTS]


def _doublings(result: FitResult, interval: float) -> dict[str, Any] | None:
    """Return by what doubling each factor multiplies the value at each level; None where no categorical one varies."""
    by_level = doublings_by_level(result, interval=interval)
    if by_level.empty:
        return None
    printed = doublings_for_people(by_level).fillna("–")
    return {"head": list(printed.columns), "rows": printed.to_numpy().tolist()}


#: Options of a fit that the page shows as the command and the held-out error.
SHOWN_APART = ("request", "held_out_error")


def _facts(result: FitResult) -> dict[str, Any]:
    """Return what the page tells of the fit: its runs, noise, options and held-out error."""
    schema, error = result.schema, result.held_out_error
    return {
        **{name: getattr(schema, name) for name in ("rows", "configurations", "rejected", "sha256")},
        "column": schema.target.column,
        "noise": _rounded_or_none(schema.noise),
        "smallest": short(schema.lowest),
        "largest": short(schema.highest),
        "error": _rounded_or_none(result.metrics.get("mape")),
        "options": {k: v for k, v in result.options.items() if v is not None and k not in SHOWN_APART},
        "heldOut": "not known" if error is None else f"{error:.1f} % ({result.held_out_of})",
        "seed": result.seed,
    }


#: What the page's formulas read beside the factors → the number that the script passes for it.
GIVEN = {"value": "c[0]", "price": "c[1]", "samples": "c[2]"}


def _measures(model: PageModel, group: Mapping[str, str], question: Question) -> dict[str, Any]:
    """Return what the page needs for each quantity, as formulas; None where it is unknown."""
    panel = model.result.panel.within(group)
    paid_name, paid = "", None
    is_priced = question.price is not None or question.per is not None
    if panel.target is not None and panel.target.is_time and (is_priced or panel.counted_node is not None):
        paid_name, paid = paid_for(panel, question.per, question.price)
    work = None if panel.step.whole else panel.step.total
    formulas: dict[str, Node | None] = {name: Name(name) for name in ("value", "price")}
    if work is not None and panel.step.unit != UNNAMED:
        formulas["steps"] = call("divide", Name("samples"), work)
    quantities = quantities_of(panel, {**formulas, "machines": paid})

    def written(name: str, needs: Node | None = work, over: Node = ONE) -> PageFormula | None:
        """Return the formula of a quantity over `over`; None where it is not known, or what it `needs` is not."""
        if needs is None or not quantities.has(name):
            return None
        node = quantities.node(name)
        return formula(node if over is ONE else call("divide", node, over), model.factors, GIVEN)

    share = model.result.schema.share_of_peak
    of_samples = _rate_unit(model.result) == "samples/s"
    return {
        "throughput": written("throughput", over=ONE if share is None else share.devices),
        "tokens": written("tokens_per_s") if of_samples else None,
        "cost": written("cost"),
        "duration": written("total"),
        "beside": {name: written(name, ONE) for name in REPORTED_BESIDE},
        "paid": written("machines", ONE),
        "price": question.price and question.price.per_second * 3600.0,
        "paidName": paid_name,
        "paidUnit": price_text("1/h", paid_name).removeprefix("1"),
    }


def _splits(model: PageModel) -> dict[str, Any] | None:
    """Return what the page needs to propose other splits of the same devices; None for a model without ways."""
    columns = split_columns(model.result)
    if columns is None or len(columns.varied) < 2:
        return None
    ways, panel = columns.ways, model.result.panel
    single = {"tensor": ways.get("tensor_parallel"), "data": ways.get("data_parallel")}
    single |= {"workers": panel.workers, "nodes": panel.nodes}
    return {
        "ways": [model.places[way.name] for way in ways.values()],
        "varied": [model.places[way.name] for way in columns.varied],
        **{name: None if column is None else model.places[column.name] for name, column in single.items()},
        "devices": None if columns.devices is None else model.formula(render(columns.devices)),
        "further": panel.machine.further_ways,
        "inside": columns.inside,
        "conditions": [model.formula(text) for text in columns.conditions],
    }


def capacity_of(result: FitResult, capacity: Mapping[str, float]) -> dict[str, float | None]:
    """Return the capacity of each quantity that may have one: None where the user gave none."""
    Goal(capacity=capacity).check()
    capacity_constraints(capacity, result.schema, result.further)
    target = result.schema.target
    bounded = [name for name in (target.name, *result.further) if name != target.name or not target.is_time]
    if unbounded := [name for name in capacity if name not in bounded]:
        what = f"a page compares no {unbounded[0]} with a capacity"
        raise GenperfError(what, hint="--capacity memory=80, of a further quantity")
    return {name: float(capacity[name]) if name in capacity else None for name in bounded}


#: The scripts of a page, in the order in which they define what later ones use.
_SCRIPTS = ("charts", "discrepancy", "engine", "measures", "figures", "groups", "page")
#: A content security policy: this style and this script, by their hashes, and nothing from anywhere.
_POLICY = (
    "default-src 'none'; style-src 'sha256-{}'; script-src 'sha256-{}'; img-src data:; base-uri 'none'; "
    "form-action 'none'"
)
#: What a model is shown beside.
BASELINES = ("last-point", "linear", "random-forest")
#: Characters that end a script or begin a comment, written otherwise.
_ENDS = re.compile("[&<>\u2028\u2029]")


def report(
    what: FitResult | GroupedResult | Table,
    path: str | Path,
    view: View | None = None,
    *,
    table: Table | None = None,
    validation: Validation | str | None = None,
    model: str = "auto",
    seed: int = 0,
    workers: int = 1,
) -> Path:
    """Write a report page: one HTML file that makes no request and works from a file path; same input, same bytes.

    It answers in sentences how well it scales, where the knee is, what is the largest part and what to measure next,
    with figures and sliders that predict in the page what `predict` does, and says how to fit it again.

    Parameters
    ----------
    what : FitResult, GroupedResult or Table
        A table is fitted by `model`, with `seed` and so many processes as `workers`, and compared with baselines on
        held-out configurations.
    table : Table, optional
        What a model was fitted to, where that is at hand: its rejected rows are then listed.
    validation : Validation or str, optional
        From `genperf.validate`, to show; or a scheme by which a table is validated.

    Examples
    --------
    >>> import tempfile
    >>> runs = pd.DataFrame({"workers": [1, 2, 4, 8, 16], "seconds": [9.0, 5.0, 3.0, 2.0, 1.5]})
    >>> result = gp.fit(gp.read_table(runs, time="seconds", extrinsic="workers"), model="amdahl")
    >>> written = report(result, Path(tempfile.mkdtemp()) / "report.html", View({"workers": 64}))
    >>> "What takes the time?" in written.read_text()
    True
    """
    if isinstance(what, Table):
        table, scheme, view = what, validation if isinstance(validation, str) else None, view or View()
        if not isinstance(validation, Validation):
            validation = held_out(table, model, scheme=scheme, along=view.along, seed=seed, workers=workers)
        what = fit(table, model, seed=seed, workers=workers)
    write_file(path, page(what, view, table=table, validation=validation, workers=workers))
    return Path(path)


def page(
    what: FitResult | GroupedResult,
    view: View | None = None,
    *,
    table: Table | None = None,
    validation: Validation | str | None = None,
    workers: int = 1,
) -> str:
    """Return the page: data as JSON, scripts and style, the answers in words, and the `table`'s rejected rows."""
    view = view or View()
    check_interval(view.interval)
    question_group: tuple[str, ...] | None = None
    names_group = any(name in (view.target or {}) for name in getattr(what, "group", ()))
    if isinstance(what, GroupedResult) and (names_group or view.question.plan is not None):
        # The groups that the question leaves, and first the one that `ask` takes of them.
        groups_meant, target = models_of(what, view.target or {})
        question_group = tuple(group_of_question(groups_meant, target, view.question)[0].values())
        what = replace(what, results={tuple(group.values()): result for group, result in groups_meant})
    view = view.priced(models_of(what, {})[0])
    result, groups = what.first, _groups(what, view, workers, question_group)
    first_group = dict(zip(what.group, next(iter(what.results)), strict=True))
    data = {**_question_of_page(result, view, first_group), "groups": groups, "groupColumns": list(what.group)}
    data["validation"] = _validation_of_page(validation)
    try:
        text, formulas = with_formulas(data)
    except ValueError:
        text = "the model gives values that are not finite: no page can show them"
        raise GenperfError(text, hint="fit it again") from None
    style, scripts = asset("page.css"), ['"use strict";', JAVASCRIPT.prelude, formulas, kernel_script()]
    script = "\n".join([*scripts, *(asset(f"{name}.js") for name in _SCRIPTS)])
    rejected = [str(r) for r in table.rejected] if table is not None else []
    packages = {name: version(name) for name in ("numpy", "scipy", "pandas", "scikit-learn")}
    versions = {"genperf": __version__, "Python": platform.python_version(), **packages}
    hashes = (b64encode(hashlib.sha256(content.encode()).digest()).decode() for content in (style, script))
    return filled(
        "page.html",
        policy=_POLICY.format(*hashes),
        title=view.title or _title(result, groups, what.group),
        look=_first_look(groups),
        lead=_basis_text(what),
        quantity=data["quantity"],
        style=style,
        script=script,
        # Nothing in it can end the script or begin a comment.
        data=_ENDS.sub(lambda end: f"\\u{ord(end[0]):04x}", text),
        several=len(groups) > 1,
        group_columns=", ".join(what.group),
        plain_groups=[
            {"name": g["name"], **{name: g["sheet"][name] for name in ("answers", "glance")}}
            for g in groups[:PLAIN_GROUPS]
            if "answers" in g.get("sheet", {})
        ],
        validated=data["validation"] is not None,
        rejected=rejected[:MAX_REJECTED],
        rejected_more=max(0, len(rejected) - MAX_REJECTED),
        command=command_of(result, pooled=any("pooled_share" in r.options for r in what.results.values())),
        versions=", ".join(f"{name} {number}" for name, number in versions.items()),
    )


def _question_of_page(result: FitResult, view: View, group: Mapping[str, str]) -> dict[str, Any]:
    """Return what a page is asked: the quantity, the price, the work in all, the capacity, and how it judges."""
    paid, plan = view.question.price, view.question.plan
    shown_price = paid or view.about(result, group).price
    # Tokens without a limit are the work in all where the throughput counts them.
    tokens = view.question.training.tokens if _rate_unit(result) == "tokens/s" else None
    work = tokens if plan is None or plan.of_tokens else plan.samples
    return {
        "rules": rules(),
        "interval": view.interval,
        "beside": [HIDDEN, FORM],
        "quantity": quantity_of(result),
        "job": {"price": paid and paid.per_second * 3600.0, "size": work},
        "currency": "" if shown_price is None else shown_price.currency,
        "capacity": capacity_of(result, view.capacity),
        "likelyToFit": LIKELY_TO_FIT,
    }


def _first_look(groups: Sequence[Mapping[str, Any]]) -> str:
    """Return in words which group to look at first by its efficiency; empty where fewer than two have one."""
    summaries = {group["name"]: group["sheet"]["summary"] for group in groups if "sheet" in group}
    efficiencies = {
        name: (summary["efficiency"], summary["efficiencyUpper"], summary["at"])
        for name, summary in summaries.items()
        if summary["efficiency"] is not None
    }
    # The rates of groups at one and the same place, as many as can be looked through.
    rates = {name: summary["rate"] for name, summary in summaries.items()}
    is_alike = len({summary["at"] for summary in summaries.values()}) == 1 and len(groups) <= MOST_COMPARED
    rates = rates if is_alike and all(rates.values()) else {}
    return first_of_groups(efficiencies, rates) if len(efficiencies) > 1 else ""


def _basis_text(what: FitResult | GroupedResult) -> str:
    """Return what the page is based on: "From 6 runs of 6 configurations: step_s, fitted by the model 'auto'."."""
    schemas = [fitted.schema for fitted in what.results.values()]
    rows, configurations = sum(s.rows for s in schemas), sum(s.configurations for s in schemas)
    of_groups = f" in {counted(len(schemas), 'group')} ({', '.join(what.group)})" if what.group else ""
    runs = f"{counted(rows, 'run')} of {counted(configurations, 'configuration')}{of_groups}"
    return f"From {runs}: {measured_text(schemas[0])}, fitted by the model '{what.first.model}'."


def _groups(
    fitted: FitResult | GroupedResult, view: View, workers: int, first: tuple[str, ...] | None
) -> list[dict[str, Any]]:
    """Return the contents of all groups in order: the `first`, then the least efficient, last those without a page."""
    alone = len(fitted.results) == 1

    def contents_of(results: Mapping[tuple[str, ...], FitResult], whole: bool) -> dict[tuple[str, ...], dict[str, Any]]:
        """Return the contents of some groups; `whole` ones have their draws, so that the page predicts for them."""
        keys, contents = [*results], dict[tuple[str, ...], dict[str, Any]]()
        doing("answering for groups", 0, len(keys))
        work = partial(_group, names=fitted.group, view=view, whole=whole, alone=alone)
        for number, outcome in run(work, results.items(), Engine(workers=workers)):
            contents[keys[number]] = {"failed": outcome.reason} if isinstance(outcome, Lost) else outcome
            doing("answering for groups", len(contents), len(keys))
        return {key: contents[key] for key in keys}

    sizes = {key: _bytes(result) for key, result in fitted.results.items()}
    all_whole = alone or sum(sizes.values()) <= MAX_DRAW_BYTES
    groups: dict[tuple[str, ...], dict[str, Any]] = {key: {"failed": why} for key, why in fitted.failures.items()}
    groups |= contents_of(fitted.results, all_whole)
    summaries = {key: group["sheet"]["summary"] for key, group in groups.items() if "sheet" in group}
    if not summaries:
        key, group = next(iter(groups.items()))
        raise GenperfError(f"none of {len(groups)} groups can be shown; {', '.join(key)}: {group['failed']}")

    def rank(key: tuple[str, ...]) -> tuple[bool, bool, float]:
        """Return a key that sorts groups by efficiency; those without one follow, the most measured first."""
        efficiency = summaries[key]["efficiency"]
        most_measured_first = -fitted.results[key].schema.configurations
        return key != first, efficiency is None, most_measured_first if efficiency is None else efficiency

    order = [*sorted(summaries, key=rank), *(key for key in groups if key not in summaries)]
    if not all_whole:
        sizes_together = list(accumulate(sizes[key] for key in order if key in summaries))
        room = max(1, bisect(sizes_together, MAX_DRAW_BYTES))
        groups |= contents_of({key: fitted.results[key] for key in order[:room]}, True)
    differs = [len(levels) > 1 for levels in map(set, zip(*groups, strict=True))]
    columns = [*compress(fitted.group, differs)]
    names = [_name_of(columns, [*compress(key, differs)]) or " · ".join(key) for key in order]
    return [{"key": list(key), "name": name, **groups[key]} for key, name in zip(order, names, strict=True)]


def _name_of(columns: Sequence[str], levels: Sequence[str]) -> str:
    """Return the name of a group, its levels of some columns, a number with its column: `resnet · nodes=4`."""
    named = zip(columns, levels, strict=True)
    return " · ".join(f"{column}={level}" if amount(level) is not None else level for column, level in named)


def _group(
    group: tuple[tuple[str, ...], FitResult], names: tuple[str, ...], view: View, whole: bool, alone: bool
) -> dict[str, Any]:
    """Return the `line` of one group, or its `sheet` if `whole`; why there is none, or an error where it is `alone`."""
    key, result = group
    levels = dict(zip(names, key, strict=True))
    try:
        # What one group takes is not reported: it is a small part of the whole.
        with listening(None):
            place = place_of(result, view.about(result, levels), view.target, view.along, whole)
            contents = line(place, levels)
            return {"sheet": contents | sheet(place) if whole else contents}
    except GenperfError as error:
        if alone:
            raise
        return {"failed": error.message}


def _bytes(result: FitResult) -> int:
    """Return about how many bytes of a page are a model's draws and anchors, and those of its further quantities."""
    drawn = sum(m.draws.size * BYTES_PER_DRAW for m in result.members)
    anchors = sum(len(d.logarithms) * (len(d.anchors) + 1) for d in discrepancies_of(result.members))
    return drawn + anchors * BYTES_PER_ANCHOR + sum(map(_bytes, result.further.values()))


def _title(result: FitResult, groups: list[dict[str, Any]], names: Sequence[str]) -> str:
    """Return the title: the table's name, and the question."""
    of = "" if result.schema.target.is_time else f"{result.schema.target.name} of "
    source = Path(result.schema.source).name
    table = source if source not in ("", "-", "DataFrame") else "these runs"
    configurations = {group["sheet"]["summary"]["at"] for group in groups if "sheet" in group}
    at = f" at {configurations.pop()}" if len(configurations) == 1 else ""
    if len(groups) > 1:
        levels = zip(*(group["key"] for group in groups), strict=True)
        differing = [name for name, values in zip(names, levels, strict=True) if len({*values}) > 1]
        which = " and ".join(differing) if len(differing) <= MOST_NAMED else "group"
        return f"{of}{table} by {which}{at}: what to expect"
    series = "".join(f", {_name_of(names, group['key']).replace(' · ', ', ')}" for group in groups if group["key"])
    return f"{of}{table}{series}{at}: what to expect"


def scheme_of(table: Table, along: str | None = None) -> str:
    """Choose how to hold configurations out: of at least four counts the largest, `extrapolate:gpus:8`, else folds."""
    panel = table.panel
    named = [f for f in table.numeric if along and f.name in (along, panel.mapping.get(along))]
    for factor in named or panel.counts:
        scales = np.unique(table.columns[factor.name])
        if len(scales) >= LEAST_SCALES:
            return f"extrapolate:{factor.name}:{scales[-2]:g}"
    return f"kfold:{min(PAGE_FOLDS, len(table.medians()))}"


def held_out(
    table: Table,
    model: str,
    *,
    scheme: str | None = None,
    along: str | None = None,
    seed: int = 0,
    workers: int = 1,
    **options: Any,
) -> Validation | str:
    """Return the errors of a model beside those of the baselines; or why there are none."""
    table = table.mapped(options.pop("mapping", None) or {})
    if scheme is not None:
        # One that was given is refused where it does not suit the table.
        split(table, scheme, seed)
    chosen = scheme or scheme_of(table, along)
    try:
        return validate(table, [model, *BASELINES], chosen, seed=seed, workers=workers, **options)
    except GenperfError as error:
        return error.message


def _validation_of_page(validation: Validation | str | None) -> dict[str, Any] | None:
    """Return a validation as the page shows it, a row per model with errors in %; or why there is none."""
    if not isinstance(validation, Validation):
        return {"why": validation} if validation else None
    rows = [
        [m.model, *map(_rounded_or_none, (m.median_ape, m.mape, m.coverage, m.width)), m.predicted, m.failed or ""]
        for m in validation.models
    ]
    return {
        "scheme": validation.scheme,
        "interval": validation.interval,
        "configurations": max((len(m.predictions) for m in validation.models), default=0),
        "rows": rows,
        "notes": [str(n) for n in validation.notes],
    }
