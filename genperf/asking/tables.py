"""A table and a question → the columns' meaning, the series that is meant, and an answer for each measured quantity."""

import difflib
import re
import shlex
from collections.abc import Callable, Collection, Mapping, Sequence
from contextlib import suppress
from functools import cache, partial
from itertools import chain, product
from operator import itemgetter
from pathlib import Path
from typing import Any, NamedTuple, cast

import numpy as np
import pandas as pd
from msgspec import Struct, field
from msgspec.structs import replace

from genperf.arrays import Array, Mask
from genperf.asking.answer import COST, UNMEASURED, Answer, Value, wanted_of, with_limit
from genperf.asking.ask import (
    ONE,
    Measured,
    Question,
    facts_at,
    group_of_question,
    in_names_of_files,
    measured,
    measured_text,
    question_of,
    reading_of_one_configuration,
    rows_with,
)
from genperf.asking.energy import energy_of
from genperf.asking.one_run import row_in, row_of_note, row_of_run, run_answer
from genperf.errors import GenperfError, Note, TableError, attempted, counted, did_you_mean, listed
from genperf.facts import Facts, Paid, Plan, Planned, StepPart, are_whole
from genperf.fitting import fit_prepared, model_of, prepared_auto
from genperf.fitting.model import Model
from genperf.formula import Node, evaluate, names_in, parse, quote_name, values_of
from genperf.formula.amounts import amount
from genperf.panel import Table
from genperf.panel.assemble import earlier_predictions
from genperf.panel.configurations import forecast_at, kept_beside
from genperf.panel.evidence import HIGH_PERCENTILE, MONEY, Consequence, TableColumn, is_size
from genperf.panel.legend import MOST_COMPARED, SCALE, newest_first, same
from genperf.panel.machine import PARTS, PLACES, is_a_part
from genperf.panel.panel import SECONDS
from genperf.panel.phrases import SeveralValuesError
from genperf.panel.prices import currency_in
from genperf.panel.question import SEVERAL, Requested, in_columns, in_factors
from genperf.panel.read import Recognised, read_with_roles, recognised
from genperf.panel.reading import MAY_NAME, Reading
from genperf.panel.words import OF_MACHINE, row_of_cells, source_of_words, wanted_in_words
from genperf.prediction import Schema, stack_of
from genperf.prediction.predict import THROUGHPUT
from genperf.prediction.schema import is_list
from genperf.result import FitResult, GroupedResult, is_model
from genperf.search.problem import models_of
from genperf.search.space import read_grid
from genperf.table.cells import Source, source_of_columns
from genperf.table.clean import Rejection, is_number, label, rows_of
from genperf.table.opened import open_files, open_source
from genperf.table.unread import UNREAD
from genperf.vocabulary import words_of
from genperf.vocabulary.headers import DEVICE_WORDS, NODE_WORDS, STEP_WORDS, TIME_UNITS, Header, header_of
from genperf.vocabulary.names import (
    LEVELS,
    LOAD_IN_WORDS,
    WAYS,
    canonical_of,
    column_named,
    column_of,
    command_about,
    counts_devices,
    counts_scale,
    is_efficiency,
    is_relative,
    meant_by,
    words_in,
)
from genperf.words.answer import LEAST_CHANGE
from genperf.words.growth import plan_in_short
from genperf.words.numbers import duration_text, join_values, prose, rate_unit, three_digits, whole_percent, with_unit
from genperf.words.verdict import BLIND, fits_text, trust_text

#: What a question is about, beside a model: one run by column, or a table.
Subject = dict[str, Any] | Recognised
#: `auto` prepared for the groups of a table, and these.
Prepared = tuple[Model, dict[tuple[str, ...], Table]]
#: Models with the table of each, by quantity, series, roles and the number of their source, which stands beside.
Fits = dict[tuple[str, tuple[str, ...], str, int], tuple[FitResult, Table, Source]]

#: What some columns were in the runs of a configuration, with the least time of each, infinite where none is known.
MeasuredWith = Callable[[Mapping[str, str], Sequence[str]], Mapping[tuple[str, ...], float]]

#: The kinds of notes that an answer repeats, of the table and of the fit.
TABLE_NOTES = (
    "rows_rejected",
    "runs_failed",
    "runs_stopped",
    "job",
    "job_likely",
    "work_grows",
    "repeats_apart",
    "earlier_predictions",
)
FIT_NOTES = ("hint", "hint_contradicted", "outlier", "mixture")

# Which series of a table answer a question, and how many answers there are.
#: Configurations of one question at most: each takes two lines.
MOST_CONFIGURATIONS = 12
#: Levels that a message lists, and other series whose answers are shown.
SERIES_MAX_LEVELS = 6
#: Rows times quantities of a table of several factors that are fitted: a hundred take two seconds.
MOST_CELLS = 100
#: Quantities of which the other series of a table inform the selected one, the likeliest: each takes most of a second.
MOST_INFORMED = 2
#: Quantities that are fitted: a server's log has dozens, which take 0.1 s each.
MAX_QUANTITIES = 12
#: Relative difference up to which runs of different names may be repeats, and the ratio of the ends of what was
#: measured above which its median may be of different things: few steps take four times as long as others. Guesses.
SAME_VALUES, FAR_APART = 0.05, 4.0
#: Relative difference of two rates of one step that are one, written with three digits.
_ROUNDED = 0.03
#: Doublings of the largest count at which the share of a part of a step is told.
MOST_DOUBLINGS = 4
#: What a question in words has, and the name of a quantity has not: a number, or a sign.
_QUESTION = re.compile(r"(?<!\S)[$€£]?\d|=")
#: Without a question also so many times the largest count.
FARTHEST_MULTIPLE = 8.0


def ask(
    table: FitResult | GroupedResult | Table | str | Path | Sequence[str | Path] | pd.DataFrame,
    want: str | None = None,
    at: Mapping[str, Any] | None = None,
    *,
    price: str | None = None,
    per: str | None = None,
    work: str | None = None,
    samples: str | float | None = None,
    deadline: str | float | None = None,
    budget: str | float | None = None,
    tokens: str | float | None = None,
    peak: str | float | None = None,
    hints: Mapping[str, str | float] | None = None,
    roles: Mapping[str, Any] | None = None,
    **configuration: Any,
) -> Any:
    """Answer one configuration from a table whose columns are recognised, from a model, or about one run.

    Returns
    -------
    Answer
        Its `value`, `interval`, `verdict`, `throughput` and `sentences`; a list of answers where a factor has several
        values; of one run in words an `OneRun`.

    Parameters
    ----------
    table : FitResult, GroupedResult, Table, path, list of paths, DataFrame or str
        Or a machine in words, `8xh100`, whose run the configuration describes; `tokens` and `price` are then of a
        training at the counts of `at`.
    want : str, optional
        The quantity: a header or a kind; every measured one is answered where omitted, the likeliest first. Or a
        question in words, `"fsdp on 64 gpus"`.
    at : mapping, optional
        The configuration, by columns whose names are no identifiers; a list of values for several answers.
    price, per : str, optional
        Of a machine, `2/h`; and what counts the machines.
    work : str, optional
        The samples of a step, a formula over the columns.
    samples, deadline, budget : str or float, optional
        A piece of work, `1.2B`, done within `5d` or seconds, for so much money: answered by how many that takes.
    tokens, peak : str or float, optional
        Of a training, `300B`, and of a device, `h100` or operations per second.
    hints : mapping, optional
        Of the network, as for `genperf.fit`: what its exchange should cost is answered as well.
    roles : mapping, optional
        As the options of the command: `{"time": "step_s", "extrinsic": "gpus"}`; others are recognised.

    Raises
    ------
    GenperfError
        Where nothing was measured, nothing is scaled, or the table lacks a level that is requested.

    Examples
    --------
    >>> runs = pd.DataFrame({"gpus": [1, 2, 4, 8], "images_per_s": [410.2, 792.5, 1530.0, 2905.4]})
    >>> answer = ask(runs, gpus=16)
    >>> answer.answers[0].quantity, answer.verdict, answer.value == answer.throughput
    ('images_per_s', 'caution', True)
    >>> [round(one.value, -3) for one in ask(runs, gpus=[2, 8])]
    [1000.0, 3000.0]
    >>> round(ask("8xh100", model="7B", tokens_per_s=76800).to_dict()["mfu"], 3)
    0.408
    """
    question = question_of(
        price=price, per=per, work=work, tokens=tokens, peak=peak, hints=hints,
        samples=samples, deadline=deadline, budget=budget,
    )  # fmt: skip
    is_path = isinstance(table, str | Path)
    # `8xh100` is a run in words, but not where a file of that name is asked about.
    is_file = is_path and bool(at or configuration) and Path(str(table)).is_file()
    source = source_of_words([str(table)]) if is_path and not is_file else None
    run_in_words = row_in([str(table)]) if is_path and not is_file and source is None else {}
    requested = {**(at or {}), **({} if run_in_words else configuration)}
    is_model = isinstance(table, FitResult | GroupedResult | Table) or is_model_file(table)
    if not (is_model or run_in_words or source is not None):
        try:
            source = open_files([str(table)]) if is_path else open_source(cast(Any, table))
        except GenperfError:
            run_in_words = row_of_note([str(table)]) if is_path else {}
            if not run_in_words:
                raise
    if want is not None and (source is None or want not in source.columns):
        # `step time` is a quantity, and so is what a header has in full; `is it normal` is none.
        in_headers = source is not None and any(words_in(want) <= words_in(column) for column in source.columns)
        if _QUESTION.search(want) or (" " in want.strip() and not (header_of(want).kind or in_headers)):
            requested[SCALE], want = want, None
    lists = {n: list(values) for n, values in requested.items() if is_list(values)}
    places = list[dict[str, str]]()
    for values in product(*lists.values()):
        place = {**requested, **dict(zip(lists, values, strict=True))}
        places.append({name: label(value) for name, value in place.items()})
    about: FitResult | GroupedResult | Subject
    if source is not None:
        options = {**(roles or {}), "work": work}
        about = subject_of(source, question, lambda cells: recognised(cells, options, tokens=tokens is not None))
    elif run_in_words:
        about = row_of_cells(configuration) | run_in_words
    else:
        about = model_of(cast(Any, table))
    places, answers = answers_about(about, places, want, question)
    return answers if lists or len(places) > 1 else answers[0]


def subject_of(source: Source, question: Question, recognise: Callable[[Source], Recognised]) -> Subject:
    """Return what a question to a table is about: the only row, where it is a run, or the table as it is recognised.

    Where a row is a run but for an unknown device or network, the table's notes say so.
    """
    run = row_of_run(source, question.training.peak) or row_of_note([source.name]) if len(source) == 1 else None
    if isinstance(run, GenperfError):
        source = replace(source, steps=(*source.steps, Note(f"{run.message}; {run.hint}", "run")))
    return run if run and isinstance(run, dict) else recognise(source)


def answers_about(
    subject: FitResult | GroupedResult | Subject,
    places: list[dict[str, str]],
    want: str | None,
    question: Question,
    seed: int = 0,
) -> tuple[list[dict[str, str]], list[Any]]:
    """Return configurations, as `ask_each` does, with the answer of a model, of one run, or of a table to each."""
    fits: Fits = {}
    if isinstance(subject, FitResult | GroupedResult):
        return ask_each(places, lambda place: ask_fitted(subject, place, question, want), partial(_in_models, subject))
    if isinstance(subject, Recognised):
        words = places[0].get(SCALE, "")
        table = subject.with_compared_headers(words) if " " in words else subject
        answer = partial(ask_recognised, table, want=want, question=question, seed=seed, fits=fits)
        try:
            return ask_each(places, answer, partial(_in_table, table))
        except GenperfError as error:
            unread = next((note.text for note in subject.source.steps if note.kind == UNREAD), "")
            error.hint = f"a line for each run, '8 GPUs: 410 img/s'; not read is {unread}" if unread else error.hint
            raise
    counts = str(subject.get(OF_MACHINE, "")).split(",")
    if len(counts) > 1 and not any(places):
        # `64 or 128 gpus` beside one run
        places = [{SCALE: count} for count in counts]
    try:
        return places, [run_answer(subject, place, question) for place in places]
    except SeveralValuesError as error:
        if not error.places:
            raise
        return error.places, [run_answer(subject, place, question) for place in error.places]


def configurations(at: Mapping[str, str], levels_of: Callable[[str], Collection[str]]) -> list[dict[str, str]]:
    """Return the configurations of a question: `gpus=64,256`, `gpus=8:64:*2` and `strategy=DDP,FSDP` are several.

    `levels_of` returns the cells of a column by its name in the question.
    """
    lists = [_values(name, text, levels_of) if "," in text or ":" in text else [text] for name, text in at.items()]
    places = [dict(zip(at, values, strict=True)) for values in product(*lists)]
    check_number(places)
    return places


def ask_each(
    places: list[dict[str, str]], answer: Callable[[dict[str, str]], Answer], measured_with: MeasuredWith
) -> tuple[list[dict[str, str]], list[Answer]]:
    """Return configurations with their answers; of one whose words have several values of a name, those of each."""
    try:
        answers = [answer(place) for place in places]
    except SeveralValuesError as error:
        if not error.places:
            raise
        check_number(error.places)
        tried = [(place, attempted(answer, place)) for place in error.places]
        faults = [of for _, of in tried if isinstance(of, GenperfError)]
        if len(faults) > len(tried) - 2:
            raise faults[0] from None
        # A level whose runs all failed is answered by none.
        places = [place for place, of in tried if isinstance(of, Answer)]
        answers = [of for _, of in tried if isinstance(of, Answer)]
        if faults:
            answers[0] = replace(answers[0], notes=(*answers[0].notes, *(fault.message for fault in faults)))
    if len(answers) == 1 and "each" in answers[0].topics:
        # Which is the best of what is left open: all that were measured stand beside each other.
        texts = {name: text for name, text in answers[0].answers[0].at.items() if isinstance(text, str)}
        names = [name for name in answers[0].taken or texts if meant_by(name) not in (*LEVELS, *WAYS)]
        measured, note = _fastest_of(measured_with(places[0], names), names, places[0].get(SCALE, ""))
        if len(measured) > 1:
            places = [{**places[0], **dict(zip(names, values, strict=True))} for values in measured]
            answers = [answer(place) for place in places]
            if len({of.answers[0].value for of in answers}) == 1:
                what = f"which of {len(measured)} is best is asked, and the runs do not tell them apart"
                raise GenperfError(what, hint=f"measure each {listed(names)} at a second configuration")
            answers[0] = replace(answers[0], notes=(*note, *answers[0].notes))
    return _alike(places, answers, answer, measured_with) if len(answers) > 1 else (places, answers)


def _fastest_of(
    measured: Mapping[tuple[str, ...], float], names: Sequence[str], words: str
) -> tuple[list[tuple[str, ...]], list[str]]:
    """Return what stands beside each other where the best is asked, at most the fastest `MOST_COMPARED`, and a note."""
    if len(measured) <= MOST_COMPARED:
        return sorted(measured), []
    what = f"which of {len(measured)} is best is asked, and {MOST_COMPARED} at most stand beside each other"
    is_worst = not {*words.lower().split()}.isdisjoint(words_of("headers.worst"))
    if is_worst or np.isfinite([*measured.values()]).sum() < MOST_COMPARED:
        raise GenperfError(what, hint=f"genperf compare ranks all; or name some of {listed(names)}")
    fastest = sorted(sorted(measured, key=lambda cells: (measured[cells], cells))[:MOST_COMPARED])
    return fastest, [f"of {len(measured)} that were measured these are the fastest; genperf compare ranks all"]


def _alike(
    places: list[dict[str, str]],
    answers: list[Answer],
    answer: Callable[[dict[str, str]], Answer],
    measured_with: MeasuredWith,
) -> tuple[list[dict[str, str]], list[Answer]]:
    """Return configurations with their answers, of which what they leave open is the same, where it can be."""
    growths = [of.facts.growth for of in answers if of.facts is not None and of.facts.plan is None]
    if not growths or any(of.facts is not None and of.facts.plan is not None for of in answers):
        return places, answers
    largest = max(growths, key=lambda growth: growth.target.count)
    names_count = {n for n in chain(*places) if n == SCALE or meant_by(n) in LEVELS or column_named(n, [largest.name])}
    are_curves = len(growths) == len(answers)
    if are_curves and len({growth.target.count for growth in growths}) > 1 and not names_count:
        places = [{**place, largest.name: label(largest.target.count)} for place in places]
        answers = [answer(place) for place in places]
    names = [n for n in dict.fromkeys(chain(*(of.taken for of in answers))) if meant_by(n) not in WAYS]
    left_open = [tuple(label(of.taken[n]) if n in of.taken else "" for n in names) for of in answers]
    if len({*left_open}) == 1:
        return places, answers
    common = set.intersection(*({*measured_with(place, names)} for place in places))
    if not common:
        return places, answers
    # That of the first answer whose cells were measured with each, else the first by its letters.
    chosen = next((cells for cells in left_open if cells in common), min(common))
    taken = dict(zip(names, chosen, strict=True))
    places = [{**taken, **place} for place in places]
    return places, [replace(of, taken={**taken, **of.taken}) for of in map(answer, places)]


def _in_table(opened: Recognised, place: Mapping[str, str], names: Sequence[str]) -> dict[tuple[str, ...], float]:
    """Return what some columns were in the runs of a configuration, at whatever count, with the least time of each."""
    reading = opened.reading
    columns, measured = reading.columns, reading.columns[reading.quantities[0]]
    settings = {n: text for n, text in in_columns(opened.legend, place).at.items() if n in columns}
    rows = np.ones(len(opened.source), dtype=bool)
    for name in settings.keys() - ({reading.scale} if not is_size(reading.scale or "") else set()):
        rows &= columns[name].rows_with(settings[name])
    texts = [columns[n].texts[rows].tolist() if n in columns else [""] * int(rows.sum()) for n in names]
    # The larger a rate, the faster the run.
    times = measured.values[rows] * {"time": 1.0, "rate": -1.0}.get(measured.kind, np.nan)
    combinations = dict[tuple[str, ...], float]()
    for *cells, time in zip(*texts, times.tolist(), strict=True):
        combinations[tuple(cells)] = min(combinations.get(tuple(cells), np.inf), time)
    return combinations


def _in_models(
    fitted: FitResult | GroupedResult, at: Mapping[str, str], names: Sequence[str]
) -> dict[tuple[str, ...], float]:
    """Return what some columns were in the runs of a configuration that models saw, at whatever count."""
    models, named = models_of(fitted, fitted.requested(at).at)
    combinations = set[tuple[str, ...]]()
    for levels, model in models:
        panel = model.panel
        settings = {n: text for n, text in named.items() if n != panel.along().name and n in panel.measured}
        runs = [{n: label(value) for n, value in run.items()} | levels for run in panel.runs]
        runs = [run for run in runs if all(same(run[n], text) for n, text in settings.items())]
        combinations |= {tuple(run.get(n, "") for n in names) for run in runs}
    return dict.fromkeys(combinations, np.inf)


def check_number(places: Sequence[object]) -> None:
    """Refuse more configurations than are answered at once."""
    if len(places) > MOST_CONFIGURATIONS:
        what = f"ask answers for at most {MOST_CONFIGURATIONS} configurations, and these are {len(places)}"
        raise GenperfError(what, hint="a range of doublings, as gpus=8:1024:*2; predict and optimize take more")


def _values(name: str, text: str, levels_of: Callable[[str], Collection[str]]) -> list[str]:
    """Return the values of a text: numbers of a list or of a range, levels of a list, else the text itself."""
    values = [value.strip() for value in text.split(",")]
    if SEVERAL.fullmatch(text) and ":" in text:
        return [label(value) for value in read_grid({name: text})[name].tolist()]
    if SEVERAL.fullmatch(text):
        return values
    levels = {*levels_of(name)}
    return values if text not in levels and levels.issuperset(values) else [text]


def is_model_file(source: object) -> bool:
    """Tell whether what is asked is the file of a model, rather than one of a table."""
    path = Path(source) if isinstance(source, str | Path) else None
    return path is not None and path.suffix == ".json" and path.is_file() and is_model(path)


def ask_fitted(
    fitted: FitResult | GroupedResult, at: Mapping[str, str], question: Question | None = None, want: str | None = None
) -> Answer:
    """Answer one configuration from a model; of several groups, from the one that the question names or means.

    What is wanted comes first where it follows from what the model predicts.
    """
    requested = fitted.requested(at)
    models, named = models_of(fitted.blind_by(requested.notes), requested.at)
    wanted = {name: text if (value := amount(text)) is None else value for name, text in named.items()}
    question = question or Question()
    options = dict(requested.options)
    want_in_words, scaling = options.pop("want", None), options.pop("scaling", None)
    if scaling not in (None, models[0][1].panel.kind):
        raise GenperfError(f"the model is not of {scaling} scaling", hint=f"genperf fit TABLE --scaling {scaling}")
    if options:
        question = question.with_words(options)
    if question.match:
        question = question.as_fast_as(ask_fitted(fitted, {SCALE: question.match}))
    group, fitted = group_of_question(models, wanted, question)
    question = question.about(fitted, group)
    schema, axis = fitted.schema, fitted.panel.axis.factor
    if not (question.plan or question.times):
        wanted = forecast_at(fitted.panel, wanted)
    if question.plan is None and (axis is None or axis.distinct < 2):
        # One count has no curve to speak of.
        of_one_count = value_at(fitted, wanted, question.interval)
        return Answer((of_one_count,), notes=requested.notes, coverage=question.interval)
    series = {n: level for n, level in group.items() if n in requested.at}
    left_open = {n: level for n, level in group.items() if any(other[n] != level for other, _ in models)}
    facts = facts_at(fitted, wanted, question)
    facts = replace(facts, series=series, taken={**facts.taken, **left_open})
    measured_value, _ = _in_unit_of_column(schema.measured, schema, facts.at, facts.predicted)
    answer = Answer((replace(measured_value, facts=facts),), facts, taken=dict(facts.taken), notes=requested.notes)
    answer = replace(answer, topics=question.topics, requested=question.requested)
    answer = with_share(with_limit(answer, question.limit), schema)
    wanted_name = wanted_in_words(want or want_in_words or "")
    derived = wanted_of(answer, wanted_name) or energy_of(answer, wanted_name) if wanted_name else None
    return answer if derived is None else replace(answer, answers=(derived, *answer.answers[1:]))


def value_at(model: FitResult, configuration: Mapping[str, Any], interval: float) -> Value:
    """Return the prediction at a configuration in the unit of the measured column, without further facts."""
    at, row = _predicted_at(model, configuration, interval)
    return _worded(_in_unit_of_column(model.schema.measured, model.schema, at, row)[0], at)


def _predicted_at(model: FitResult, at: Mapping[str, Any], interval: float) -> tuple[dict[str, Any], dict[str, Any]]:
    """Return a complete configuration, and of each column of `predict` the cell there."""
    query = model.query(at)
    predicted = model.predict_columns(source_of_columns(query.columns), interval)
    return query.single(ONE), {name: cells[0] for name, cells in predicted.items()}


def _in_unit_of_column(
    column: tuple[str, Node | None],
    schema: Schema,
    at: Mapping[str, Any],
    row: Mapping[str, Any],
    header: Header | None = None,
    unit: str | None = None,
) -> tuple[Value, float]:
    """Return a prediction as a value of the measured column, in its unit, and the factor between both columns."""
    name, formula = column
    target, header = schema.target, header or header_of(name)
    unit_of_time = dict(schema.reading).get("unit", SECONDS)
    rated = bool(target.throughput)
    ends = np.array([row[n] for n in (THROUGHPUT if rated else (target.name, "lower", "upper"))], float)
    factor = 1.0
    if formula is not None:
        # The formula at a value of 1 is the factor; of a quotient the lower end is that of the highest value.
        columns: dict[str, Any] = {n: np.array([v] * 2, dtype=float) for n, v in at.items() if is_number(v)}
        factor, at_two = np.broadcast_to(values_of(formula, {**columns, name: np.array([1.0, 2.0])}), 2).tolist()
        ends = factor / ends[[0, 2, 1]] if at_two < factor else ends / factor
    if header.kind == "time" and target.is_time:
        numerator, denominator = TIME_UNITS[unit_of_time]
        ends = ends * denominator / numerator
    if unit is None and rated and target.counted and not header.counted:
        unit = rate_unit(target.samples)
    elif unit is None:
        unit = unit_of_column(name, header, unit_of_time) if target.is_time else target.unit
    if rated and not header.kind and schema.legend is not None and name in schema.legend.headers:
        # A value of a wide table has no header of its own.
        name = THROUGHPUT[0]
    middle, lower, upper = ends.tolist()
    verdict, reason = str(row["verdict"]), str(row["reason"])
    if fails := fits_text(float(row.get("fits", 1.0))):
        verdict, reason = BLIND, "; ".join(filter(None, (fails, reason)))
    return Value(name, unit, middle, lower, upper, verdict, reason, dict(at)), factor


def with_share(answer: Answer, schema: Schema) -> Answer:
    """Return an answer whose first value is the share of its peak that each device reaches, where that was measured."""
    if schema.share_of_peak is None or answer.facts is None:
        return answer
    name, unit, devices = schema.share_of_peak
    likeliest = answer.answers[0]
    # The throughput is the share of each device times their number.
    count = float(evaluate(devices, {n: v for n, v in likeliest.at.items() if is_number(v)}))
    value, lower, upper = (float(answer.facts.predicted[end]) / count for end in THROUGHPUT)
    share = replace(likeliest, quantity=name, unit=unit, value=value, lower=lower, upper=upper, facts=answer.facts)
    return replace(answer, answers=(_value_of_column(share, likeliest.at, count), *answer.answers[1:]))


def _value_of_column(value: Value, at: Mapping[str, Any], factor: float) -> Value:
    """Return the value of a column that is the throughput over a factor, such as a share, with its sentences."""
    worded = _worded(value, at)
    if worded.facts is None or worded.facts.column is not None:
        # Of facts about a time that is not that of a step only its parts and the next run are reported.
        return replace(worded, only=("parts", "next"))
    in_unit = replace(worded.facts, column=(value.quantity, value.unit, 1.0 / factor))
    return replace(worded, facts=in_unit, only=("pays", "parts", "limit", "normal", "nodes", "next"))


def ask_recognised(
    opened: Recognised,
    at: Mapping[str, str],
    want: str | None = None,
    question: Question | None = None,
    seed: int = 0,
    fits: Fits | None = None,
) -> Answer:
    """Answer one configuration from a table whose columns are recognised, with roles that were given.

    `fits` are the models of other configurations of one question, to which those of this one are added.
    """
    table = opened
    opened = table.for_question(at, want)
    wanted, notes_of_question = opened.want, opened.notes
    try:
        reading = reading_of_one_configuration(opened)
    except TableError:
        # No column has that name: it may follow from what was measured.
        opened = replace(opened, want=None, given=table.given)
        answer = ask_recognised(opened, at, "", question, seed, fits) if wanted else None
        if answer is None:
            raise
        by_price = next((of for of in answer.answers if wanted == COST and of.quantity.startswith(COST)), None)
        if (value := wanted_of(answer, str(wanted)) or energy_of(answer, str(wanted)) or by_price) is not None:
            return replace(answer, answers=(value, *answer.answers[1:]))
        # Words that the runs lack something for are answered with what that is.
        answer = replace(answer, requested=(*answer.requested, str(wanted)))
        if want is not None or not answer.lacks:
            raise
        return answer
    question = question or Question()
    if opened.options:
        question = question.with_words(opened.options)
    if question.match:
        question = question.as_fast_as(ask_recognised(table, {SCALE: question.match}, "", seed=seed, fits=fits))
    if reading is not None:
        answer = with_limit(_measured(opened, reading), question.limit)
        if question.plan or question.training.tokens:
            answer = replace(answer, answers=(_time_of_work(answer, question),))
        if question.price is not None:
            cost = _cost_of(answer.answers[0], question.price, reading, rows_with(reading, opened.at))
            answer = replace(answer, answers=(*answer.answers, cost))
        return replace(answer, notes=(*notes_of_question, *answer.notes))
    reading, resolved = opened.reading, _requested_cells(opened)
    series, notes = _series(reading, resolved), list[str]()
    fits = {} if fits is None else fits
    if question.plan is not None and series.others:
        series = _SeriesAnswers(opened, reading, series, question, seed, fits=fits).with_best_plan(resolved)
    # Most tables have no prices to look through.
    if question.price is None and opened.legend.prices:
        price = question.paid_by(opened.legend, series.levels)
        question = replace(question, price=price)
        if price is not None:
            notes.append(f"the price is {price.text} by '{opened.legend.price_column}'; --price sets it")
    if not {"peak", "limit"}.isdisjoint(question.topics):
        question = question.on_device([*{**opened.legend.constants, **resolved, **series.levels}.values()])
    answer = _SeriesAnswers(opened, reading, series, question, seed, fits=fits).answered(resolved)
    has_work = question.plan is not None or question.training.tokens is not None
    if answer.facts is None and has_work:
        answer = replace(answer, answers=(_time_of_work(answer, question),))
    if answer.facts is None and question.price is not None and (has_work or COST in question.requested):
        cost = _cost_of(answer.answers[0], question.price, reading, series.rows)
        answer = replace(answer, answers=(*answer.answers, cost))
    header, measured_header = header_of(wanted or ""), reading.columns[reading.quantities[0]].header
    is_of_load = LOAD_IN_WORDS.fullmatch(f"{str(wanted).rpartition('/')[2]}s") is not None
    is_of_each = (header.shared or is_of_load) and not measured_header.shared
    if measured_header.kind == "rate" and (header.kind == "time" or is_of_each):
        # The time of a step is wanted, or the rate of each device, and a rate of all was measured.
        answer = replace(answer, answers=(wanted_of(answer, str(wanted)) or answer.answers[0], *answer.answers[1:]))
    answer = with_limit(answer, question.limit) if question.limit else answer
    return replace(answer, notes=(*notes_of_question, *notes, *answer.notes))


def _measured(opened: Recognised, reading: Reading) -> Answer:
    """Return what the runs of one configuration measured; it is blind to what of the question they do not show."""
    source, wanted = opened.source, header_of(opened.want or "")
    at = {name: text for name, text in opened.at.items() if name != SCALE}
    rows = rows_with(reading, opened.at, source.unit == "file")
    count = reading.scale or "gpus"
    another_scale = f"One scale was measured: a run at another count of {count} shows how it scales "
    another_scale += f"(genperf ask RUN1 RUN2 --at {count}=64)."
    names = reading.quantities if opened.want is None else reading.quantities[:1]
    requested = opened.options.get("requested", "").split(", ")
    asks_speed = any(header_of(of).kind in ("time", "rate") for of in requested)
    # `Time to train (minutes) for results/run_8.txt` is one, whatever its unit seems to be of.
    kinds = {reading.columns[name].kind for name in names}
    kinds |= {header_of(name.partition(" (")[0]).kind or "quantity" for name in names}
    if asks_speed and kinds <= {"quantity"}:
        raise TableError(UNMEASURED, hint=f"measured was {listed(names)}", where=source.name)
    lacks_epoch = "epoch" in requested and "samples" not in opened.options
    lacks_epoch &= {*words_of("headers.epoch")}.isdisjoint(chain(*map(words_in, names)))
    answers = list[Value]()
    for name in names[:MAX_QUANTITIES]:
        value = measured(source, reading, name, rows)
        if value is None:
            continue
        header = reading.columns[name].header
        quantity, unit = name, unit_of_column(name, header, header.unit)
        counts_steps = header.kind == "rate" and header.counted in STEP_WORDS and not header.shared
        if counts_steps and (wanted.kind, wanted.of) == ("time", "step"):
            # The time of a step is wanted, and steps per second were measured.
            middle, low, high, how = value
            value = 1.0 / middle, 1.0 / high, 1.0 / low, how
            quantity, unit = str(opened.want), "s"
        if opened.notes or lacks_epoch:
            judged = BLIND, (*opened.notes, "the runs do not say how long an epoch takes")[0]
        else:
            doubt = _doubt_of(reading, value, rows)
            judged = ("caution", doubt) if doubt else ("ok", "it was measured")
        texts = {"expect": measured_text(quantity, unit, value, at), "next": another_scale}
        answers.append(Value(quantity, unit, *value[:3], *judged, dict(at), texts))
    if not answers:
        raise TableError("no run has what is asked", hint="genperf check shows the runs", where=source.name)
    notes = *(step.text for step in source.steps), *map(str, earlier_predictions(source.columns, names[0]))
    return Answer(
        tuple(answers),
        reading=reading,
        notes=notes,
        read_back=_origin_text(source),
        unread=tuple(note.text for note in source.steps if note.kind == UNREAD),
        source=source.name,
        runs=len(source),
        requested=tuple(filter(None, requested)),
    )


def _time_of_work(answer: Answer, question: Question) -> Value:
    """Return how long some work takes at the only configuration, by its time of a step or its rate of such work."""
    plan = question.plan or Plan(float(question.training.tokens or 0.0), of_tokens=True)
    is_limited = not (plan.deadline is plan.budget is None)
    for value in () if is_limited else answer.answers:
        header = header_of(value.quantity)
        above, below = TIME_UNITS.get(value.unit if header.kind == "time" else header.unit, (1.0, 1.0))
        is_step = (header.kind, header.of) == ("time", "step")
        is_epoch = header.kind == "time" and not words_in(value.quantity).isdisjoint(words_of("headers.epoch"))
        is_rate = header.kind == "rate" and not header.shared
        is_rate &= (header.counted == "tokens") == plan.of_tokens and (
            header.counted in STEP_WORDS or not plan.of_steps
        )
        if is_rate or (is_step and plan.of_steps) or (is_epoch and not (plan.of_steps or plan.of_tokens)):
            amounts = (plan.samples / end if is_rate else plan.samples * end for end in value.expected.ends)
            middle, *ends = (amount * above / below for amount in amounts)
            text = f"It takes {duration_text(middle)}, at what was measured of {value.quantity}."
            texts = {**value.texts, "expect": text}
            return replace(
                value, quantity="time", unit=SECONDS, value=middle, lower=min(ends), upper=max(ends), texts=texts
            )
    what = "how long a training takes needs a time of such a step or a rate of such work, or several counts"
    if is_limited:
        what = "the runs are of one configuration: how many a training needs is answered of several counts"
    raise TableError(what, hint="of one run in words as well: genperf 8xh100 7B 76800tok/s --tokens 300B")


def _cost_of(value: Value, price: Paid, reading: Reading, rows: Mask) -> Value:
    """Return what a time costs that was measured of one configuration, or a million samples of a rate, as a value."""
    columns, of, header = reading.columns, price.per or "workers", header_of(value.quantity)
    counts = [column_of(name, columns) for name in ((of,) if column_of(of, columns) else ("nodes", "devices_per_node"))]
    machines = np.prod([columns[name].values for name in counts if name], axis=0) if any(counts) else np.nan
    machines = float(np.median(np.broadcast_to(machines, len(rows))[rows])) if not header.shared else np.nan
    if not (machines > 0.0 and header.kind in ("time", "rate")):
        raise TableError("the price is that of a machine, and no column counts them", hint="a column gpus or nodes")
    above, below = TIME_UNITS.get(value.unit if header.kind == "time" else header.unit, (1.0, 1.0))
    paid = price.per_second * machines * above / below
    amounts = [1e6 * paid / end if header.kind == "rate" else paid * end for end in value.expected.ends]
    name = f"cost per million {header.counted}" if header.kind == "rate" else "cost"
    texts = {
        **value.texts,
        "expect": f"It costs {with_unit(three_digits(amounts[0]), price.currency)} at {price.text}.",
    }
    ends = {"value": amounts[0], "lower": min(amounts), "upper": max(amounts)}
    return replace(value, quantity=name, unit=price.currency, texts=texts, **ends)


def _doubt_of(reading: Reading, value: Measured, rows: Mask) -> str:
    """Return why a median may be over different things: each run has another name, or values lie far apart; else ""."""
    _, low, high, _ = value
    label_columns = [c for c in reading.with_role("label") if not (c.numeric or c.is_provenance)]
    naming = next((c for c in label_columns if rows.sum() == len({*c.texts[rows]}) > 1), None)
    if naming is not None and high > (1.0 + SAME_VALUES) * low:
        return f"each run has another '{naming.name}': --at {shlex.quote(f'{naming.name}={naming.texts[rows][0]}')}"
    return "the median is over values that differ more than fourfold" if high > FAR_APART * low > 0.0 else ""


def _origin_text(source: Source, table: Table | None = None) -> str:
    """Return in one line where the runs came from, and which rows are left out."""
    texts = [step.text for step in source.steps if step.kind == "read_back"]
    return "; ".join([*texts, *([_rejected_rows_text(table.rejected)] if table is not None and table.rejected else [])])


def _rejected_rows_text(rejected: Sequence[Rejection]) -> str:
    """Return how many rows are left out, and why the first of them is."""
    return f"{counted(rows_of(rejected), 'row')} left out ({rejected[0].complaint})"


def _hint_beside(opened: Recognised, name: str) -> str:
    """Return what to ask in place of a name that the table lacks: its settings, or the command that a word is about."""
    if opened.source.unit == "file" and counts_scale(name):
        return in_names_of_files(name)
    settings = opened.reading.names_in_role("made", "setting", "kind")
    hint = did_you_mean(name, settings, otherwise=f"--at with one of {listed(settings) or 'none'}")
    unread = " ".join(word.lower() for word in opened.at if word not in opened.reading.columns)
    if (command := command_about(unread)) is None:
        return hint
    scale = opened.reading.scale if command == "suggest" else None
    at = "" if scale is None else f" --at {shlex.quote(scale)}={2 * opened.reading.columns[scale].values.max():g}"
    # An option behind the table, which it would take for its value.
    name, *options = command.split()
    return f"{' '.join(['genperf', name, shlex.quote(opened.source.name), *options])}{at}, or {hint}"


def _requested_cells(opened: Recognised) -> dict[str, str]:
    """Return the values that a question asks for by column; a column or a level that no run has is refused."""
    reading, wanted = opened.reading, dict[str, str]()
    for name, text in in_columns(opened.legend, opened.at).at.items():
        if name not in reading.columns:
            if not is_a_part(name, reading.columns):
                raise TableError(f"the table has no setting '{name}'", hint=_hint_beside(opened, name))
            wanted[name] = text
            continue
        evidence = reading.columns[name]
        value = amount(text) if evidence.numeric else None
        rows = evidence.rows_with(text)
        # Of a factor the measured levels answer for one that no run has; several are no configuration.
        one_level = not any(evidence.rows_with(level.strip()).any() for level in text.split(","))
        is_known = value is not None or rows.any() or (name in reading.roles.categorical and one_level)
        if not (evidence.numeric or rows.any()) and command_about(text.lower()) is not None:
            others = (f" --at {shlex.quote(f'{n}={cell}')}" for n, cell in opened.at.items() if n != name)
            hint = f"genperf compare {shlex.quote(opened.source.name)} --over {shlex.quote(name)}{''.join(others)}"
            raise TableError(f"no run has {name}={text}", hint=hint)
        # Half a device does not run.
        is_no_count = (value or 0.0) <= 0.0 or ((value or 0.0) % 1.0 > 0.0 and counts_devices(name))
        if not is_known or (name == reading.scale and is_no_count):
            raise _unknown_level_error(name, text, evidence)
        wanted[name] = text if evidence.numeric or not rows.any() else str(evidence.texts[rows][0])
    return wanted


def _unknown_level_error(name: str, text: str, evidence: TableColumn) -> TableError:
    """Return the error of a level that no run has, with the nearest ones; a count may be any above zero."""
    levels = list(evidence.levels)
    if evidence.numeric and amount(text) is not None:
        largest = 2.0 * float(np.max(evidence.known))
        return TableError(f"{name} is a whole count above zero, and not {text}", hint=f"--at {name}={largest:g}")
    # A count is no misspelling of another one.
    alike = [] if evidence.numeric else difflib.get_close_matches(text, levels, SERIES_MAX_LEVELS, 0.4)
    return TableError(f"no run has {name}={text}", hint=f"one of {', '.join(alike or levels[:SERIES_MAX_LEVELS])}")


class _Series(Struct, frozen=True, eq=False):
    """The series of a table that a question means; all rows where the table is read as one."""

    rows: Mask  #: Shape (rows,).
    levels: dict[str, str]  #: The levels of its group columns.
    #: Those of them that the question leaves open, and what they are in the other series that it may mean.
    taken: dict[str, str]
    others: tuple[dict[str, str], ...]


def _series(reading: Reading, at: Mapping[str, str]) -> _Series:
    """Return the series that a question means: the only one with its levels, or else the richest (`_richest`)."""
    names = reading.roles.group
    texts = [reading.columns[name].texts.astype(str).tolist() for name in names]
    count = len(next(iter(reading.columns.values())).texts)
    # The key of each run; without group columns all runs have the key ().
    keys = list(zip(*texts, strict=True)) if names else [()] * count
    rows = np.ones(count, dtype=bool)
    for name in names:
        if name in at:
            rows &= reading.columns[name].rows_with(at[name])
    matching = sorted({keys[row] for row in np.flatnonzero(rows)})
    if not matching:
        examples = "; ".join(", ".join(key) for key in list(dict.fromkeys(keys))[:4])
        raise TableError(f"no run has {join_values({n: at[n] for n in names if n in at})}", hint=f"one of {examples}")
    rows_of = {key: np.array([run_key == key for run_key in keys]) for key in matching}
    best = matching[0] if len(matching) == 1 else _richest(rows_of, reading, at)
    # The levels of each series by column, those of the best first.
    levels = {key: dict(zip(names, key, strict=True)) for key in (best, *(k for k in matching if k != best))}
    free = [n for n in names if n not in at and len({of_key[n] for of_key in levels.values()}) > 1]
    taken, *others = ({n: of_key[n] for n in free} for of_key in levels.values())
    return _Series(rows_of[best], levels[best], taken, tuple(others[:SERIES_MAX_LEVELS]))


def _richest(rows_of: Mapping[tuple[str, ...], Mask], reading: Reading, at: Mapping[str, str]) -> tuple[str, ...]:
    """Return the key of the series, by their rows, that shows most of a question."""
    count = np.array([0.0]) if reading.scale is None else reading.columns[reading.scale].values
    # A series that only failed has no count.
    ended = np.isfinite(reading.columns[reading.quantities[0]].values)
    columns = [(reading.columns[n], text) for n, text in at.items() if n in reading.columns and n != reading.scale]
    numbers = [(column.values, column.rows_with(text)) for column, text in columns if column.numeric]

    def rank(key: tuple[str, ...]) -> tuple[list[float], list[tuple[int, str]]]:
        """Return a key that sorts the richest series first."""
        rows = rows_of[key]
        counts = np.broadcast_to(count, rows.shape)[rows & ended]
        has_number = [bool((rows & has).any()) for _, has in numbers]
        varied = [has or np.ptp(v[rows]) > 0.0 for has, (v, _) in zip(has_number, numbers, strict=True)]
        sizes = sum(varied), sum(has_number), len(np.unique(counts)), np.nanmax(counts, initial=0.0)
        return [-float(size) for size in sizes], [*map(newest_first, key)]

    return min(rows_of, key=rank)


class _SeriesAnswers(Struct, frozen=True, eq=False):
    """The answers of one series of a table, each quantity by a model of its own."""

    opened: Recognised
    reading: Reading
    series: _Series
    question: Question
    seed: int
    #: What the series of a table share by quantity: the table as it is read, and what prepares `auto` for it once.
    tables: dict[str, tuple[Table, Callable[[], Prepared]]] = field(default_factory=dict)
    fits: Fits = field(default_factory=dict)  #: The models of the question's other configurations as well.

    def answered(self, at: dict[str, str]) -> Answer:
        """Return the answers at a configuration, of the wanted quantity or of all, the likeliest first.

        The likeliest quantity is fitted and has all facts, where the table has a curve; with its plan and its open
        settings the others are answered at the same configuration, and so is the likeliest in other series.
        """
        reading, source, want = self.reading, self.opened.source, self.opened.want
        name, *others = reading.quantities
        if want is not None and (answer := self._wanted_by_arithmetic(name, at)) is not None:
            return answer
        column, unit = reading.columns[name], self._unit(name)
        if want is not None and column.kind == "quantity" and not column.varies:
            numbers = {n: amount(text) or text for n, text in at.items()}
            value = float(column.known[0])
            texts = {"expect": f"{name} is {with_unit(three_digits(value), unit)} in every run."}
            same = Value(name, unit, value, value, value, "caution", "it is the same in every run", numbers, texts)
            return Answer((same,), None, reading, source=source.name, runs=int(self.series.rows.sum()))
        # What is the same in every run tells nothing.
        one_quantity = want is not None or self.opened.given.measured_column is not None
        others = [] if one_quantity else [column for column in others if reading.columns[column].varies]
        model, table = self.fitted(name)
        scale = next((f for f in model.schema.factors if f.name == reading.scale), None)
        if table.rejected and scale is not None and scale.distinct < 2 and len(np.unique(self._counts)) > 1:
            if at and want is not None:
                # What was measured there is known all the same.
                with suppress(TableError):
                    return _measured(self.opened, reading)
            what = f"only {scale.name}={scale.upper:g} can be used: {_rejected_rows_text(table.rejected)}"
            raise TableError(what, hint="mend these rows; genperf check shows them", where=source.name)
        model, configuration = self._question_of(model, at)
        count_is_open = reading.scale not in (None, *at) and {*map(meant_by, at)}.isdisjoint(PLACES)
        # Of a count that may be zero nothing is known along it: a question about another factor has no curve.
        is_about_sizes = bool(at) and count_is_open and model.panel.axis.factor is None
        facts = None if is_about_sizes else self._facts(name, model, configuration, at)
        taken, requested = {} if facts is None else facts.taken, at
        if facts is not None and facts.plan is not None:
            # The count of a plan, and what it leaves open, is that of the other quantities as well.
            configuration, open_names = (
                dict(facts.at),
                {reading.scale, *taken, *(n for n in at if meant_by(n) in LEVELS)},
            )
            at = at | {n: label(value) for n, value in configuration.items() if n in open_names}
        if facts is not None and facts.split is not None:
            configuration = dict(facts.at)
            at = at | {name: label(ways) for name, ways in facts.split.ways.items()}
        likeliest = self._value(name, model, configuration, facts)
        facts = likeliest.facts if facts is not None and facts.column is not None else facts
        # What was measured at the same configuration, with what the question left open.
        sentence = self._measured(name, {**{setting: label(value) for setting, value in taken.items()}, **at})
        if sentence and (facts is None or facts.measured is None):
            likeliest = replace(likeliest, texts={"measured": sentence, **likeliest.texts})
        one_curve = stack_of(model.members) is None
        answers, notes = self._with_others(others, at, {name: likeliest}, one_curve)
        shares = self._shares_ahead(name, facts.parts) if facts is not None and "why" in self.question.topics else ""
        place = {} if facts is None else dict(facts.at)
        in_others = [self._in_another_series(likeliest, requested, place, levels) for levels in self.series.others]
        read = {*answers, self.opened.legend.price_column}
        beyond = ""
        if one_curve and count_is_open and self.question.plan is None:
            farthest = {reading.scale or "": float(FARTHEST_MULTIPLE * np.nanmax(self._counts))}
            there = self._value(name, model, farthest, None)
            named = "" if there.unit else f"{there.quantity} of "
            beyond = f"At {join_values(farthest)}: {named}{there.ends(likeliest)}."
        return Answer(
            answers=tuple(answers.values()),
            facts=facts,
            reading=reading,
            notes=(*(step.text for step in source.steps), *notes, *self._notes(name, model, table)),
            taken={**self.series.taken, **taken},
            beyond=beyond,
            others=tuple(line for _, line in sorted(filter(None, in_others), key=itemgetter(0))),
            read_back=_origin_text(source, table),
            unread=tuple(note.text for note in source.steps if note.kind == UNREAD),
            measured=sentence,
            shares=shares,
            left_out=tuple(column for column in reading.left_out if column not in read),
            coverage=self.question.interval,
            source=source.name,
            runs=int(self.series.rows.sum()),
            topics=self.question.topics,
            requested=self.question.requested,
        )

    def _in_another_series(
        self, likeliest: Value, at: dict[str, str], place: dict[str, Any], levels: dict[str, str]
    ) -> tuple[float, str] | None:
        """Return a line for another series that may be meant, at the same configuration; None without a model."""
        if self.question.plan is not None:
            plan = self._plan_in(at, levels)
            return None if plan is None else (plan.rank[0], f"{join_values(levels)}: {plan_in_short(plan)}")
        another = replace(self, series=_series(self.reading, {**at, **levels}))
        name = self.reading.quantities[0]
        with suppress(GenperfError):
            model, _ = another.fitted(name)
            factors = {f.name for f in model.schema.factors}
            start = {n: value for n, value in place.items() if n in factors}
            # Without a curve there is no other place than the one that is asked.
            point = kept_beside(model.panel, at, start, levels) if start else at
            requested = {n: label(value) for n, value in point.items()}
            value = another._value(name, *another._question_of(model, requested), None)
            scale = self.reading.scale or ""
            count = value.at.get(scale, np.max(another._counts, initial=0.0))
            if len({*another._counts.tolist()}) == 1 and count not in another._counts:
                return None  # the series has one count, which does not show how it scales
            elsewhere = f", at {join_values({scale: count})}" if scale in place and place[scale] != count else ""
            return 0.0, f"{join_values(levels)}: {value.ends(likeliest)}{elsewhere}"
        return None

    def _shares_ahead(self, name: str, parts: Sequence[StepPart]) -> str:
        """Return the share of a step that the part which grows most likely is at the next doublings; "" without one."""
        part = max(parts, key=lambda of: of.shares[1] - of.shares[0], default=None)
        scale = self.reading.scale
        if part is None or scale is None or part.shares[1] - part.shares[0] < LEAST_CHANGE:
            return ""
        texts, columns = list[str](), [of.column for of in parts] if are_whole(parts) else [name]
        with suppress(GenperfError):
            for count in (part.counts[1] * 2.0**doublings for doublings in range(1, MOST_DOUBLINGS + 1)):
                seconds = dict[str, float]()
                for column in {*columns, part.column}:
                    model, _ = self.fitted(column)
                    at = {**self.series.levels, scale: label(count)}
                    value = self._value(column, *self._question_of(model, at), None)
                    seconds[column] = value.value * float(np.divide(*TIME_UNITS[value.unit]))
                share = seconds[part.column] / sum(seconds[column] for column in columns)
                texts.append(f"{whole_percent(min(share, 1.0))} % at {count:g}")
        return prose(f"of a step, {part.column} is likely {listed(texts)} {scale}") if texts else ""

    def _plan_in(self, at: dict[str, str], levels: dict[str, str]) -> Planned | None:
        """Return the plan in the series of some levels, each at the price of its own runs; None without a model."""
        legend, question, name = self.opened.legend, self.question, self.reading.quantities[0]
        another = replace(self, series=_series(self.reading, {**at, **levels}))
        if question.price == question.paid_by(legend, self.series.levels) or question.price is None:
            price = question.paid_by(legend, another.series.levels)
            another = replace(another, question=replace(question, price=price))
        with suppress(GenperfError):
            facts = another._facts(name, *another._question_of(another.fitted(name)[0], at), at)
            return None if facts is None else facts.plan
        return None

    def with_best_plan(self, at: dict[str, str]) -> _Series:
        """Return the series, of those that the question leaves open, whose plan is best by its aim."""
        left_open = [self.series.taken, *self.series.others]
        plans = [(plan, levels) for levels in left_open if (plan := self._plan_in(at, levels)) is not None]
        if not plans:
            return self.series
        _, levels = min(plans, key=lambda of: of[0].rank)
        others = tuple(other for other in left_open if other != levels)
        return replace(_series(self.reading, {**at, **levels}), taken=levels, others=others)

    def _wanted_by_arithmetic(self, name: str, at: dict[str, str]) -> Answer | None:
        """Return the answer of a wanted column that follows from another one, as `images_per_s` from `step_s`."""
        # The table as it is read when no quantity is wanted; below it is read again with the base as the wanted one.
        usual = replace(self.opened, want=None, tokens=False).reading
        if usual.columns[name].kind and (self.question.plan is not None or self.question.training.tokens is not None):
            # How long tokens take is answered from their rate.
            return None
        follows = usual.columns[name].follows
        base = next(iter(usual.quantities), name)
        if usual.columns[base].kind not in ("time", "rate"):
            # A share may follow from a column that is neither a time nor a rate.
            bases = [n for n in (follows.factors if follows is not None else ()) if usual.columns[n].kind]
            base = bases[0] if len(bases) == 1 else name
        if base == name or follows is None or base not in follows.factors:
            return None
        opened = replace(self.opened, want=base)
        answer = replace(self, opened=opened, reading=opened.reading, tables={}).answered(at)
        value = replace(self, reading=usual)._by_arithmetic(name, {base: answer.answers[0]})
        alone = replace(answer, measured=self._measured(name, at), others=(), beyond="")
        return None if value is None else replace(alone, answers=(value,))

    def _facts(self, name: str, model: FitResult, configuration: dict[str, Any], at: Mapping[str, str]) -> Facts | None:
        """Return all that is known of the likeliest quantity; None where one count was measured, which is no curve."""
        reading = self.reading
        if len(np.unique(self._counts)) < 2 or is_size(reading.scale or ""):
            return None
        target, panel = model.schema.target, model.panel
        # Of an epoch the table may say it, of a step its panel does.
        work = self.opened.given.work or (reading.roles.work if not target.throughput else "") or None
        constants = panel.within(self.series.levels).constants if self.series.levels else {}
        header = reading.columns[name].header
        counted = panel.counted_by_throughput or header.counted
        # Of the time of steps that was made from a rate of them, what a batch holds is counted.
        sample = counted if counted and (target.throughput or counted not in STEP_WORDS) else target.samples
        if sample == "tokens" and not target.throughput and not target.counted and not work:
            # The work of a step is in samples, of which nothing tells the tokens.
            sample = "samples"
        column = self._column_of_no_step(name, model)
        if header.kind == "time" and column is not None:
            sample = ""
        question = replace(
            self.question,
            work=work,
            sample=sample,
            steps=model.schema.of_steps,
            constants={**constants, **self.question.constants},
            # The framework and the network, perhaps.
            words=tuple(self.series.levels.values()),
        )
        # With the levels that follow from those of the question: another batch, where only it was measured so.
        series = {n: level for n, level in self.series.levels.items() if n not in self.series.taken}
        facts = replace(facts_at(model, configuration, question), series=series, column=column)
        if facts.expected.is_time and self._unit(name) == "x":
            # A time over another has no seconds.
            expected, curve_in_seconds = replace(facts.expected, unit="x"), facts.curve
            facts = replace(facts, expected=expected, curve=lambda: replace(curve_in_seconds(), unit="x"))
        return facts

    def _with_others(
        self, others: list[str], at: dict[str, str], answers: dict[str, Value], one_curve: bool
    ) -> tuple[dict[str, Value], list[str]]:
        """Return the answers with those of other quantities, by arithmetic or fitted, and notes on the rest."""
        reading, notes = self.reading, list[str]()
        most_answers = MAX_QUANTITIES if one_curve else max(1, MOST_CELLS // len(self._counts))
        if self.opened.want is None:
            arithmetic = [c for c in reading.with_role("ratio", "consequence") if c.follows is not None]
            others += [c.name for c in arithmetic if c.name != self.opened.legend.price_column]
        if of_unknown := [name for name in others if reading.is_of_unknown_work(name)]:
            others = [name for name in others if name not in of_unknown]
            # `runtime.loss` is no time that something took.
            times = [name for name in of_unknown if header_of(name.rpartition(".")[2]).kind == "time"]
            by_itself = f"--want {quote_name(times[0])} answers it" if times else ""
            notes += [f"how much the runs did in {listed(times)} is not known: {by_itself}"] if times else []
        names = [*answers, *others]
        for name in sorted(others, key=lambda column: reading.columns[column].follows is not None):
            value = self._by_arithmetic(name, answers)
            if value is not None:
                answers[name] = value
            elif name in reading.quantities and len(answers) < most_answers:
                try:
                    model, table = self.fitted(name)
                    answers[name] = self._value(name, *self._question_of(model, at), None)
                    if without := [rejection for rejection in table.rejected if rejection.column == name]:
                        notes.append(f"{name}: {_rejected_rows_text(without)}")
                except GenperfError as error:
                    notes.append(f"{name} is not answered: {error.message}")
        unanswered = [column for column in names if column not in answers and column in reading.quantities]
        if unanswered and len(answers) >= most_answers:
            notes.append(f"measured as well, and answered by --want: {listed(unanswered)}")
        return {column: answers[column] for column in names if column in answers}, notes

    def _notes(self, name: str, model: FitResult, table: Table) -> list[str]:
        """Return what the user should know of the table and of the fit."""
        reading = self.reading
        unclear = [n for n in reading.names_in_role("label") if MAY_NAME in reading.columns[n].reasons]
        notes = [f"'{n}' holds {MAY_NAME}; --want {quote_name(n)} predicts it" for n in unclear]
        notes += [note.text for note in table.notes if note.kind in TABLE_NOTES]
        notes += [note.text for note in model.notes if note.kind in FIT_NOTES]
        notes += [text for text in model.unheeded if text not in self.opened.notes]
        if not self.opened.given.scaling and reading.roles.scaling and model.schema.scaling:
            # The user gave no scaling: what was assumed, why, and the option for the other one.
            assumed, reason = reading.scaling_by(name)
            if not reason:
                times, counts = reading.columns[name].values[self.series.rows], self._counts
                at_first = " at first" if times[counts.argmax()] >= times[counts.argmin()] else ""
                changes = "rises" if reading.columns[name].kind == "rate" else f"falls{at_first}"
                reason = f"'{name}' {changes} as {reading.scale} grows"
            is_weak = assumed == "weak"
            work, other = ("keep their work", "strong") if is_weak else ("share one amount of work", "weak")
            notes.append(f"{reason}, so all are taken to {work}; --scaling {other} says otherwise")
        is_read = reading.columns[name].kind != "" or self.opened.given.measured_column is not None
        if not is_read and header_of(re.split(r"[(\[]", name)[0]).kind == "time":
            notes.append(f"the unit of '{name}' is not known; --time {shlex.quote(name)} --unit h, of hours, says it")
        rate = reading.columns.get(reading.roles.measured.get("throughput", ""))
        if rate is not None and not rate.header.kind and self.opened.given.measured_column is None:
            what = f"'{rate.name}' has no unit and rises with {reading.scale}: it is taken for a throughput"
            notes.append(f"{what}; --time {shlex.quote(rate.name)} says otherwise")
        return notes

    def _measured(self, name: str, at: Mapping[str, str]) -> str:
        """Return the sentence of what the runs of the series measured at a configuration; empty where none was made."""
        requested = {n: text for n, text in at.items() if n in self.reading.columns}
        # A batch by another name than its column's is no run's.
        is_other = any(meant_by(n) not in {*PLACES, None} for n in at if n not in requested)
        if is_other or not requested:
            return ""
        try:
            rows = rows_with(self.reading, requested) & self.series.rows
        except TableError:
            return ""
        if self.reading.scale not in requested and rows.sum() > 1:
            return ""  # they may be of other configurations
        values = measured(self.opened.source, self.reading, name, rows)
        if values is None:
            return ""
        named = {n: text for n, text in requested.items() if n in self.opened.at or n == self.reading.scale}
        if values[1] == values[2] and (efficiency := self._efficiency(name, rows)) is not None:
            values = *values[:3], f"{whole_percent(efficiency)} % efficiency"
        return measured_text(name, self._unit(name), values, named)

    def _efficiency(self, name: str, rows: Mask) -> float | None:
        """Return the measured rate of each worker over that at the smallest count; None there or for another."""
        column, scale = self.reading.columns[name], self.reading.scale
        # What a step does may grow with the workers.
        if column.kind != "rate" or column.header.counted in STEP_WORDS or scale is None or not counts_devices(scale):
            return None
        counts = self.reading.columns[scale].values
        # Of another network or kind it is no efficiency.
        settings = [c for c in self.reading.with_role("setting", "kind") if c.canonical not in PARTS]
        alike = [np.isin(c.texts.astype(str), c.texts[rows].astype(str)) for c in settings if c.name != scale]
        series = self.series.rows & np.all([rows | True, *alike], axis=0)
        smallest = series & (counts == np.min(counts[series]))
        of_each = column.values / (1.0 if column.header.shared else counts)
        efficiency = float(np.nanmedian(of_each[rows]) / np.nanmedian(of_each[smallest]))
        return efficiency if np.isfinite(efficiency) and not (rows & smallest).any() else None

    @property
    def _counts(self) -> Array:
        """The counts of the scale in the series; ones where nothing is scaled."""
        rows, scale = self.series.rows, self.reading.scale
        return np.ones(int(rows.sum())) if scale is None else self.reading.columns[scale].values[rows]

    def fitted(self, name: str) -> tuple[FitResult, Table]:
        """Fit the model that answers for one quantity, with the table that it was fitted to."""
        key, source, roles = tuple(self.series.levels.values()), self.opened.source, self.opened.roles(name)
        place = name, key, repr(roles), id(source)
        if place in self.fits:
            result, table, _ = self.fits[place]
            return result.blind_by(self.opened.notes), table
        if key and name not in (*self.reading.quantities[:1], *self.reading.ranked[:MOST_INFORMED]):
            # What the other series show of the nodes and the network takes longer.
            key, source, roles = (), source.take(np.flatnonzero(self.series.rows)), replace(roles, group=())
        tables = self.tables if key else {}
        if name not in tables:
            roles = replace(roles, skip_bad_rows=True)
            table = read_with_roles(source, roles, self.reading.mapping, self.opened.legend)
            tables[name] = table, cache(partial(prepared_auto, table, self.question.hints))
        table, prepared = tables[name]
        model, groups = prepared()
        if key not in groups:
            what = f"no run of {join_values(self.series.levels)} ended with a value"
            raise TableError(what, where=table.source, hint="genperf check shows how they ended")
        result = fit_prepared(model, groups[key], self.seed)
        # The source is kept, so that no other one has its number.
        self.fits[place] = result, table, self.opened.source
        return result.blind_by(self.opened.notes), table

    def _question_of(self, model: FitResult, at: Mapping[str, str]) -> tuple[FitResult, dict[str, Any]]:
        """Return a model, blind to what it has no factor for, and the question as values of its factors."""
        of_none = {*self.series.levels, *(self.reading.divisors if self.reading.derived else ())}
        of_runs = Requested({name: text for name, text in at.items() if name not in of_none})
        requested = in_factors(model.schema.panel, of_runs)
        out: dict[str, Any] = dict(requested.at)
        factors = {f.name: f for f in model.schema.factors}
        for name, text in out.items():
            if (value := amount(text)) is not None and (name not in factors or factors[name].numeric):
                out[name] = value
        scale = self.reading.scale if self.reading.scale in factors else None
        if not (self.question.plan or self.question.times) and scale not in out:
            out = forecast_at(model.panel, out, scale)
        return model.blind_by((*model.unheeded, *requested.notes)) if requested.notes else model, out

    def _unit(self, name: str) -> str:
        """Return the unit of a column: as its header has it, else as its cells do; of a share per cent."""
        column = self.reading.columns[name]
        roles = attempted(self.opened.roles, name)  # of device-hours without a count of devices
        unit = "" if isinstance(roles, GenperfError) else roles.measured.get("unit")
        unit = unit or column.header.unit or SECONDS
        unit = unit_of_column(name, column.header, unit)
        unit = unit or self.opened.source.units.get(name, "")
        if MONEY in column.reasons and not column.kind:
            unit = currency_in(f"{name} {unit}")
        # An efficiency in percent may not say so.
        in_percent = is_efficiency(name) and self.reading.is_in_percent(name)
        return unit or ("%" if "%" in name or in_percent else "")

    def _value(self, name: str, model: FitResult, configuration: Mapping[str, Any], facts: Facts | None) -> Value:
        """Return the predicted value of a column in its own unit."""
        header = self.reading.columns[name].header
        if facts is not None:
            at, row = dict(facts.at), facts.predicted
        else:
            at, row = _predicted_at(model, configuration, self.question.interval)
        unit = self._unit(name)
        target, lets = model.schema.target, self.opened.roles(name).derived
        fitted = target.throughput or target.column
        formula = parse(lets[fitted]).node if fitted in lets and fitted != name else None
        divisors = set() if formula is None else names_in(formula) - {name}
        # As many epochs as the question says.
        of_question = {n: amount(text) for n, text in self.opened.at.items() if n in divisors - {self.reading.scale}}
        at |= {n: number for n, number in of_question.items() if number is not None}
        if formula is not None and not divisors <= {*at}:
            # What elapsed in steps of any number is told of one of them, and a rate of all.
            unit = unit_of_column(fitted, replace(header, shared=False), unit) if header.kind == "rate" else unit
            name, header, formula = fitted, header_of(fitted), None
        value, factor = _in_unit_of_column((name, formula), model.schema, at, row, header, unit)
        if facts is not None and facts.column is not None and header.kind == "time":
            # What is told beside a time of several steps is of as many.
            facts = replace(facts, column=(*facts.column[:2], facts.column[2] / factor))
        value = replace(value, facts=facts)
        # A share of each device, as of the peak, or a time over another; of an efficiency the speed-up is told.
        relative = unit in ("%", "x") and (header.shared or header.kind == "time") and not is_efficiency(name)
        if facts is not None and facts.column is None and not relative:
            return value
        levels = {n: level for n, level in self.series.levels.items() if n in self.opened.at}
        return _value_of_column(value, {**configuration, **levels}, factor)

    def _column_of_no_step(self, name: str, model: FitResult) -> tuple[str, str, float] | None:
        """Return a column of another quantity than the time of a step, with its unit and a second in it; else None."""
        columns, target, scale = self.reading.columns, model.schema.target, self.reading.scale or ""
        header = columns[name].header
        is_step = (
            bool(self.question.work or model.schema.scaling or target.throughput)
            or not target.is_time
            or counts_devices(scale)
            or canonical_of(scale) == "data_parallel"
            or "global_batch" in self.reading.mapping
            # The time of a step is one where columns show its samples, whatever the count is called.
            or (header.of == "step" and model.panel.step.known == "columns")
            # So many steps a second show the time of one.
            or header.counted in STEP_WORDS
        )
        # `allreduce_s` is a part of a step, of which no throughput follows.
        is_part = name in [part.column for part in self.opened.legend.parts]
        is_of_no_step = is_part or self.reading.is_of_no_step(name) or HIGH_PERCENTILE.search(name.lower())
        scale_has_unit = scale in columns and columns[scale].kind != ""
        if is_step and not is_of_no_step and not scale_has_unit:
            return None
        unit = self.opened.roles(name).measured.get("unit", "s")
        numerator, denominator = TIME_UNITS[unit] if columns[name].kind == "time" else (1, 1)
        return name, self._unit(name), denominator / numerator

    def _by_speed(self, name: str, base: str, answers: Mapping[str, Value]) -> Value | None:
        """Return y = c·v, c·v/n, of a step c·W/v or c·v/W, by the speed v of n workers and the work W of a step.

        v is the answered rate, or W over the answered time. Of runs with a batch each, or one batch of all, y is in
        proportion to other columns as well, by which another batch would be answered wrongly.
        """
        first, answer, columns = next(iter(answers.values())), answers[base], self.reading.columns
        panel = None if first.facts is None else first.facts.predicted_by()[0].panel
        if first.facts is None or panel is None or panel.axis.factor is None:
            return None
        count, work = panel.axis.factor.name, panel.step.total
        place, names = first.facts.at, {count, *(() if work is None else names_in(work))}
        if not names <= columns.keys() & place.keys():
            return None

        of_base, of_name = (_powers_of(n, columns[n].header) for n in (base, name))
        if of_base is None or of_name is None or (work is None and (of_base.work or of_name.work)):
            return None

        def proportion(at: Mapping[str, Any], value: Any, powers: _Powers) -> Any:
            """Return what the column is in proportion to, by a value of the answered one."""
            done, workers = 1.0 if work is None else evaluate(work, at), np.asarray(at[count])
            speed = (value / (done**of_base.work * workers**of_base.workers)) ** of_base.speed
            return speed**powers.speed * done**powers.work * workers**powers.workers

        runs = {n: columns[n].values[self.series.rows] for n in names}
        values, base_values = (columns[n].values[self.series.rows] for n in (name, base))
        # Operations a second are those of all workers, or of each.
        for powers in (of_name, of_name._replace(workers=-1.0))[: 2 if columns[name].header.kind == "" else 1]:
            factors = values / proportion(runs, base_values, powers)
            factors = factors[np.isfinite(factors)]
            if len(factors) and np.max(factors) <= (1.0 + _ROUNDED) * np.min(factors):
                there, factor = {n: float(place[n]) for n in names}, float(np.median(factors))
                middle, *ends = (factor * float(proportion(there, end, powers)) for end in answer.expected.ends)
                value = Value(
                    name, self._unit(name), middle, min(ends), max(ends), answer.verdict, answer.reason, answer.at
                )
                return _worded(value, answer.at)
        return None

    def _by_arithmetic(self, name: str, answers: Mapping[str, Value]) -> Value | None:
        """Return y = c·x^p·Π s^q, the answer of a column by an answered x and settings s; None for another column."""
        columns, rows = self.reading.columns, self.series.rows
        follows = columns[name].follows
        for base in answers:
            if (by_speed := self._by_speed(name, base, answers)) is not None:
                return by_speed
        for base, of in ((base, columns[base].follows) for base in answers):
            if follows is None and of is not None and (power := of.factors.get(name)) is not None:
                # An answer that follows from this column, samples/s from the time, gives it as well: the powers are ±1.
                of_settings = {n: -power * exponent for n, exponent in of.factors.items() if n != name}
                follows = Consequence({base: power, **of_settings})
        bases = [n for n in follows.factors if n in answers] if follows is not None else []
        if follows is None or len(bases) != 1:
            return None
        base = bases[0]
        answer, power = answers[base], follows.factors[base]
        requested = answer.at
        # It follows within one combination of kinds.
        for kind in self.reading.names_in_role("kind"):
            if kind in requested:
                rows = rows & columns[kind].rows_with(str(requested[kind]))
        if not rows.any():
            return None
        # ln c of each run, and ln of Π s^q in the question.
        log_constant = np.log(columns[name].values) - power * np.log(columns[base].values)
        log_settings = 0.0
        for setting, exponent in follows.factors.items():
            if setting == base:
                continue
            values = np.log(columns[setting].values)
            if setting in requested:
                log_constant = log_constant - exponent * values
                log_settings += exponent * float(np.log(requested[setting]))
            elif np.ptp(values[rows]) > 0.0:
                return None
        if np.isnan(log_constant[rows]).all():
            # It was measured in other series alone.
            return None
        factor = float(np.exp(np.nanmedian(log_constant[rows]) + log_settings))
        middle, *ends = (factor * end**power for end in answer.expected.ends)
        lower, upper = sorted(ends)
        value = Value(name, self._unit(name), middle, lower, upper, answer.verdict, answer.reason, requested)
        return _worded(value, requested)


class _Powers(NamedTuple):
    """The powers of the speed v, of the work W of a step and of the workers n to which a column is in proportion."""

    speed: float
    work: float
    workers: float


def _powers_of(name: str, header: Header) -> _Powers | None:
    """Return the powers of a rate, of the time of a step or of operations a second; None of what follows no speed."""
    if header.kind == "rate":
        is_of_steps = header.counted in STEP_WORDS
        return _Powers(1.0, -1.0 if is_of_steps else 0.0, -1.0 if header.shared and not is_of_steps else 0.0)
    if "flops" in name.lower() or not words_in(name).isdisjoint(words_of("one_run.mfu")):
        return _Powers(1.0, 0.0, 0.0)
    return _Powers(-1.0, 1.0, 0.0) if header.kind == "time" and header.of == "step" else None


def unit_of_column(name: str, header: Header, unit: str) -> str:
    """Return the unit of a column as an answer writes it: the given one of a time, `tokens/s/gpu` of a rate."""
    if header.kind == "time":
        return "x" if is_relative(name) else unit or SECONDS
    if header.kind == "quantity" or header.unit == "%":
        return header.unit
    if header.kind != "rate" or (not header.counted and is_relative(name)):
        return ""
    words = re.findall(r"[a-z]+", name.lower())
    device = next((word for word in reversed(words) if word in DEVICE_WORDS | NODE_WORDS), "device")
    rate = rate_unit(header.counted or "samples")
    return rate if rate == "x" else f"{rate.removesuffix('/s')}/{header.unit}" + (f"/{device}" if header.shared else "")


def _worded(value: Value, configuration: Mapping[str, Any]) -> Value:
    """Return a value with two sentences: what to expect of it at a configuration, and how sure that is."""
    middle, lower, upper = map(three_digits, (value.value, value.lower, value.upper))
    expect = f"Expect {value.quantity} of {with_unit(middle, value.unit)} at {join_values(configuration)}."
    trust = trust_text(value.verdict, value.reason)
    sure = f"A new run lies between {lower} and {with_unit(upper, value.unit)}; {trust}."
    return replace(value, texts={"expect": expect, "sure": sure})
