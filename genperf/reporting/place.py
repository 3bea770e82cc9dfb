"""What a page is about: how its model was fitted, what is asked, and the predictions along the count of workers."""

import re
import shlex
from collections.abc import Callable, Iterable, Mapping
from functools import cached_property
from typing import Any, Self

import numpy as np
import pandas as pd
from msgspec import Struct, field
from msgspec.structs import replace

from genperf.arrays import Array, Index
from genperf.asking.answer import Answer, answer_of
from genperf.asking.ask import (
    Question,
    expectation,
    facts_of,
    kept_by_plan,
    kept_open,
    planned,
    question_of,
    steps_of_plan,
    work_of,
)
from genperf.asking.tables import value_at, with_share
from genperf.attribution import Scaling
from genperf.attribution.ladder import Ladder, steps_along_workers
from genperf.attribution.scaling import scaling_along
from genperf.errors import GenperfError, counted
from genperf.estimate.options import QUICK_DRAWS
from genperf.facts import ENDS, Expectation, Facts, Interval, Planned
from genperf.panel.configurations import NEXT_DOUBLING, forecast_at, left_open
from genperf.panel.quantities import QUANTITIES, REPORTED_BESIDE, beside, paid_by_runs, paid_for, quantities_of
from genperf.prediction import Query, Schema, read_query
from genperf.prediction.schema import checked_values, roles_of
from genperf.result import FitResult, answering
from genperf.table import Factor
from genperf.table.cells import frame_of
from genperf.words.numbers import (
    count_text,
    heading,
    join_values,
    rate_unit,
    singular,
    suited_unit,
    three_digits,
    whole_percent,
    with_article,
)
from genperf.words.verdict import LIKELY_TO_FIT, REASONS

#: The defaults of the command line.
_USUAL = {"structure": "auto", "loss": "relative", "penalty": "l2", "lam": "None", "solver": "projected"}
_OPTION = {"lam": "lambda", "hints": "hint"}


def command_of(result: FitResult, *, pooled: bool = False) -> str:
    """Return the command that fits the same model again; the hash of the data shows whether the rows are those."""
    schema = result.schema
    source = schema.source if schema.source not in ("", "DataFrame", "-") else "TABLE"
    reading = dict(schema.reading)
    words = ["genperf", "fit", source]
    for option, role_value in roles_of(schema).items():
        if option not in reading:
            words += [f"--{option}", role_value if isinstance(role_value, str) else ",".join(role_value)]
    # A kind of scaling that follows from the work of a step or from the header needs no option.
    follows = schema.scaling is None or schema.target.work or any(note.kind == "job" for note in result.notes)
    if not follows:
        words += ["--scaling", str(schema.scaling)]
    lets = [("let", f"{name}={formula}") for name, formula in schema.derived.items() if "let" not in reading]
    for option, value in dict.fromkeys([*lets, *schema.reading]):
        words += filter(None, [f"--{option}", value])
    words += ["--model", result.model]
    for name, further_result in result.further.items():
        if further_result.model != "auto":
            words += ["--also-model", f"{name}={further_result.model}"]
    for name, column in schema.mapping.items():
        words += ["--map", f"{name}={column}"]
    requested = _requested(result)
    if requested.get("draws") == str(QUICK_DRAWS):
        words.append("--quick")
    for name, usual in _USUAL.items():
        value = requested.get(name, usual)
        if value != usual:
            words += [f"--{_OPTION.get(name, name)}", value]
    for name in ("fix", "hints"):
        for key, value in _pairs_in(requested.get(name, "")).items():
            words += [f"--{_OPTION.get(name, name)}", f"{key}={value}"]
    if pooled:
        words.append("--pool")
    return shlex.join([*words, "--seed", str(result.seed), "-o", "model.json"])


def _requested(result: FitResult) -> dict[str, str]:
    """Return the options of a fit by name, which a text such as `structure=auto hints={latency: 1us}` holds."""
    return dict(re.findall(r"(\w+)=(\{[^}]*\}|\S+)", str(result.options.get("request", ""))))


def _pairs_in(text: str) -> dict[str, str]:
    """Return the pairs in a text such as `{bandwidth: 25Gbit/s, latency: 20us}`, or in an empty one."""
    return dict(pair.split(": ", 1) for pair in filter(None, text.strip("{}").split(", ")))


def measured_text(schema: Schema) -> str:
    """Return what was measured, and where: `the time of a step (column step_s)`."""
    target = schema.target
    if schema.share_of_peak is not None:
        return f"what each device reaches (column {schema.share_of_peak.column})"
    if target.throughput:
        return f"the throughput (column {target.throughput})"
    what = f"the time of {with_article(schema.panel.timed)}" if target.is_time else target.name
    return f"{what} (column {target.column})"


# How far a page looks, in times the largest measured count.
#: Up to it efficiency and knee are looked for, as `explain` does.
EVALUATED_MULTIPLE = 16.0
#: The figures end there: three doublings, one more than a verdict trusts.
DRAWN_MULTIPLE = 8.0
#: Counts per doubling in the figures, and on the slider. Guesses: a curve through 3
#: looks smooth, and 8 leave stops 9 % apart.
DRAWN_STEPS = 3
SLIDER_STEPS = 8
#: The slider stops at every whole count up to this one.
WHOLE_STOPS = 16
#: Rows of a proposal: more do not print on two pages.
PROPOSAL_ROWS = 20

ONE = "a report is about one target"


class View(Struct, frozen=True, dict=True):
    """The question that a report page answers."""

    #: The configuration that the answers are about; twice the largest measured count of workers where omitted.
    target: Mapping[str, Any] | None = None
    along: str | None = None  #: The factor that counts the workers; chosen by the field's names where omitted.
    interval: float = 0.9  #: Nominal coverage of all intervals.
    title: str | None = None  #: Made of the table's name where omitted.
    #: The price of one worker, or of what `per` counts (a column, or a formula over the factors): `2/h`; where omitted
    #: that which the table has for all runs, or for those of each group. The page begins with it, and shows costs.
    price: str | None = None
    per: str | None = None
    #: The work in all, in the unit of the throughput or of the batch: `300B`; done within `5d`, for so much money at
    #: most. The page then begins with it, and shows durations.
    samples: str | None = None
    deadline: str | None = None
    budget: str | None = None
    #: The tokens of a training, `1T`, in the place of the work in all: the page shows its days and its cost.
    tokens: str | None = None
    peak: str | None = None  #: The peak of a device, `h100` or `312T`: the page then has the utilisation (MFU).
    #: Predicted quantities by name, each with the most that a run may have: the page then shows what fits.
    capacity: Mapping[str, float] = field(default_factory=dict)

    @cached_property
    def question(self) -> Question:
        """What is asked beside the configuration, read from the texts of the view."""
        names = ("price", "per", "samples", "deadline", "budget", "tokens", "peak")
        return replace(question_of(**{name: getattr(self, name) for name in names}), interval=self.interval)

    def priced(self, models: Iterable[tuple[Mapping[str, str], FitResult]]) -> Self:
        """Return the view at the price that the table has for all runs of some groups, unless one is given."""
        if self.price is not None:
            return self
        prices = {paid_by_runs(result.panel.legend, group) for group, result in models}
        paid = prices.pop() if len(prices) == 1 else None
        return self if paid is None else replace(self, price=paid.text, per=self.per or paid.per)

    def about(self, result: FitResult, group: Mapping[str, str]) -> Question:
        """Return the question about the model of a group, at the price of the page or of the group's runs."""
        hints = _pairs_in(_requested(result).get("hints", ""))
        return replace(self.question, hints=hints).about(result, group)


class Place(Struct, frozen=True, eq=False, dict=True):
    """A model at the configuration that a page answers for."""

    result: FitResult
    question: Question  #: The price, the work of a step, and the nominal coverage.
    values: dict[str, Any]  #: Every factor of the configuration.
    #: The predictions along the count of workers; why there are none.
    scaling: Scaling | None = None
    why_not: str = ""
    #: Whether the user gave the count of workers: the advice is then about it, and about no larger one.
    target_given: bool = False
    plan: Planned | None = None  #: The count that keeps the plan of the question, where it has one.
    #: What counts the workers, where one configuration is all that was measured: nothing shows how it scales.
    only: Factor | None = None
    taken: dict[str, Any] = {}  #: The factors of the configuration that the target leaves open, as they are taken.
    #: These and the ones that it names, without the count: where one level or size is answered for of several.
    settings: dict[str, Any] = {}

    @property
    def along(self) -> Factor | None:
        """The factor that counts the workers."""
        return None if self.scaling is None else self.scaling.steps.along

    @property
    def counted(self) -> Factor | None:
        """The factor that counts the workers, also where only one count was measured."""
        return self.along or self.only

    @property
    def count(self) -> float:
        """The count of workers of the configuration; NaN where no factor counts them."""
        return float("nan") if self.along is None else float(self.values[self.along.name])

    @cached_property
    def query(self) -> Query:
        """The configuration as one row."""
        return read_query(self.values, self.result.schema)

    @cached_property
    def facts(self) -> Facts | None:
        """The facts about the configuration as `ask` gathers them; None where no factor counts the workers."""
        if self.scaling is None:
            return None
        result = answering(self.result, self.values)
        query = read_query(self.values, result.schema)
        varying = {factor.name for factor in result.schema.factors if factor.distinct > 1}
        named = {name: value for name, value in self.scaling.at.items() if name in varying}
        named[self.scaling.along] = self.count
        return facts_of(result, self.question, query, self.scaling, named, self.plan)

    @cached_property
    def expected(self) -> Expectation:
        """The prediction at the configuration."""
        if self.facts is not None:
            return self.facts.expected
        return expectation(self.result, self.query, self.question.interval)[0]

    @cached_property
    def answer(self) -> Answer:
        """The answer at the configuration as `ask` has it; of its value alone where no factor counts the workers."""
        if self.facts is not None:
            return with_share(answer_of(self.facts), self.result.schema)
        return Answer((value_at(self.result, self.values, self.question.interval),))

    @property
    def shown(self) -> str:
        """The configuration in a sentence."""
        if self.counted is not None:
            return count_text(self.values[self.counted.name], self.counted.name)
        return join_values({n: v for n, v in self.values.items() if n not in self.taken}) or "the centre of the data"


def place_of(
    result: FitResult, question: Question, target: Mapping[str, Any] | None, along: str | None, whole: bool = True
) -> Place:
    """Choose a configuration: the target, at a plan's count or twice the largest one where it names none."""
    configuration = checked_values(target or {}, result.schema)
    try:
        factor = result.panel.along(along)
    except GenperfError as error:
        if along is not None:
            raise
        return _place_without_scaling(result, question, configuration, error.message)
    name = factor.name
    named, kind = kept_by_plan(result.panel, configuration)
    count_given = name in configuration or bool(named)
    requested = configuration
    configuration = configuration if count_given else forecast_at(result.panel, configuration, name)
    at = result.query(configuration).single(ONE)
    answered, work, plan = answering(result, at), work_of(result, question), None

    def steps_to(at: Mapping[str, Any]) -> Ladder:
        """Return the counts up to that of a configuration, and as far as efficiency and knee are looked for."""
        upto = max(float(at[name]), EVALUATED_MULTIPLE * factor.upper)
        return steps_along_workers(answered, at, name, upto, work=work)

    steps = steps_to(at)
    if question.plan is not None and result.schema.target.is_time and steps.kind != "unknown":
        start = at if count_given else result.query(requested).single(ONE)
        plan = planned(answered, start, question, {name: float(at[name])} if count_given else {}, kind)
        if not count_given:
            fixed_settings = kept_open(result.panel, plan, requested)
            at = result.query({**requested, **fixed_settings, name: plan.sought.count}).single(ONE)
            steps = steps_to(at)
    count = float(at[name])
    steps = steps if whole else steps.taken(np.unique(steps.of_growth(count)))
    # Intervals are those of the figure, of the answers and of the ladder.
    answered_steps = [steps.nearest(steps.along.upper), *steps.of_growth(count), *page_ladder(count, steps)]
    places = np.unique([*thinned(steps.counts, DRAWN_STEPS, np.empty(0)), *answered_steps])
    curve = scaling_along(answered, steps, interval=question.interval, places=places)
    row = curve.steps.nearest(count)
    values = {name: column[row] for name, column in curve.steps.columns.items()}
    taken = left_open(result.panel, values, {*configuration, name})
    named = {n: values[n] for n in configuration if n in steps.at}
    settings = taken | named
    return Place(result, question, values, curve, target_given=count_given, plan=plan, taken=taken, settings=settings)


def _place_without_scaling(result: FitResult, question: Question, configuration: dict[str, Any], reason: str) -> Place:
    """Return a place whose page has no efficiency and no knee, for a `reason`: no factor counts the workers."""
    # One configuration may have a count that does not vary.
    only_count = None if result.schema.varying else result.panel.axis.factor
    if only_count is not None:
        configuration.setdefault(only_count.name, NEXT_DOUBLING * only_count.upper)
        count_measured = count_text(only_count.upper, only_count.name)
        reason = f"measured at {count_measured} only: efficiency and knee need a second count"
    values = result.query(configuration).single(ONE)
    taken = {name: value for name, value in values.items() if name not in configuration}
    return Place(result, question, values, why_not=reason, only=only_count, taken=taken, settings=taken)


def thinned(counts: Array, steps: int, keep: Array) -> Index:
    """Return the places of about `steps` counts per doubling, with both ends and those nearest to the counts `keep`."""
    doublings = np.log2(counts / counts[0])
    evenly_spaced = np.arange(0.0, doublings[-1] + 1e-9, 1.0 / steps)
    nearest = np.abs(doublings[:, None] - evenly_spaced).argmin(axis=0)
    required = [int(np.argmin(np.abs(counts - k))) for k in keep if counts[0] <= k <= counts[-1]]
    return np.unique([*nearest, *required, len(counts) - 1]).astype(int)


def ladder_places(steps: Ladder, upto: float, further: float, most: int) -> Index:
    """Return `most` steps at most: both ends of the runs, a `further` count, then other runs and doublings `upto`."""
    counts, largest = steps.counts, steps.along.upper
    beyond = largest * 2.0 ** np.arange(1.0, np.floor(np.log2(max(upto / largest, 1.0)) + 1e-9) + 1.0)
    named = np.unique([steps.nearest(count) for count in (counts[0], largest, further)])
    others = np.setdiff1d([*steps.measured[0], *map(steps.nearest, beyond)], named)
    room = max(min(most - len(named), len(others)), 0)
    chosen = np.unique(np.linspace(0, len(others) - 1, room).round().astype(int))
    return np.union1d(named, others[chosen]).astype(np.int64)


def page_ladder(count: float, steps: Ladder) -> Index:
    """Return the steps of the ladder of a page: up to the configuration, and one doubling at least."""
    return ladder_places(steps, max(count, NEXT_DOUBLING * steps.along.upper), count, PROPOSAL_ROWS // 2)


def short(value: float, digits: int = 6) -> float:
    """Round to some significant digits: what is only drawn needs no more."""
    return float(f"{value:.{digits}g}")


def shorts(values: Iterable[float], digits: int = 6) -> list[float]:
    """Round numbers to some significant digits."""
    return [short(value, digits) for value in values]


def ladder_table(rows: pd.DataFrame, hours: str, interval: float) -> tuple[list[str], list[list[str]]]:
    """Return the rows as text under a head: the count, its runs or the verdict of its forecast, and the rest."""
    name, rate, ends = rows.columns[0], rows.columns[3], f"({100 * interval:g} %)"
    counted_rows = rows.to_dict("records")
    cells = {
        name: [f"{row[name]:g}" for row in counted_rows],
        "based on": [
            counted(int(row["runs"]), "run") if row["runs"] else f"forecast: {judged_of(row)}" for row in counted_rows
        ],
        rate: [three_digits(row[rate]) for row in counted_rows],
        "speed-up": [f"{row['speedup']:.3g}" for row in counted_rows],
        f"efficiency {ends}": [with_ends(row, "efficiency", whole_percent, " %") for row in counted_rows],
    }
    labels = {name: QUANTITIES[name].label for name in REPORTED_BESIDE} | {"machine_hours": hours}
    for column in (name for name in labels if name in rows):
        cells[f"{labels[column]} {ends}"] = [with_ends(row, column, three_digits) for row in counted_rows]
    return [*cells], [[*row] for row in zip(*cells.values(), strict=True)]


def judged_of(row: Mapping[Any, Any]) -> str:
    """Return how a row of `ladder_rows` is judged: its verdict, or that it may fail."""
    return REASONS["fails"] if row["fits"] < LIKELY_TO_FIT else str(row["verdict"])


def with_ends(row: Mapping[Any, Any], name: str, written: Callable[[float], str], unit: str = "") -> str:
    """Return a value of a row with the ends of its interval: `62 % (51 to 70)`."""
    middle, low, high = map(written, Interval.named(row, name).ends)
    return f"{middle}{unit}" + ("" if low == middle == high else f" ({low} to {high})")


def ladder_rows(result: FitResult, answer: Scaling, places: Index, question: Question) -> tuple[str, pd.DataFrame]:
    """Return what a machine is called, as `node`, and a row for each count: measured or predicted, efficiency, cost."""
    steps, target, work = answer.steps, answer.quantity, work_of(result, question)
    columns = {name: cells[places] for name, cells in steps.columns.items()}
    counts, curve = steps.counts[places], answer.curve.iloc[places].reset_index(drop=True)
    predicted = result.predict(frame_of(columns), question.interval)
    value, lower, upper = (predicted[name].to_numpy(float) for name in (target.name, "lower", "upper"))
    measured_runs = result.panel.runs_at(columns)
    seconds = np.array([v if run is None else run.value for run, v in zip(measured_runs, value, strict=True)])
    assert steps.work is not None
    # E(n) = (n₀/n)·R(n)/R(n₀), of measured times where there are such: the work of one worker over its time.
    efficiency = steps.work[places] * seconds[0] / seconds
    kinds = ["extrapolated" if run is None else "measured" for run in measured_runs]
    rows: dict[str, Any] = {answer.along: counts, "kind": kinds}
    rows["runs"] = [0 if run is None else run.repeats for run in measured_runs]
    samples = work.at(columns)
    if target.throughput and samples is not None:
        rate_name = rate_unit(work.unit) or "throughput"
        rows |= {rate_name: samples / seconds, "lower": samples / upper, "upper": samples / lower}
    else:
        size, unit = suited_unit(float(seconds[-1]), target.unit)
        rows |= {heading(replace(target, unit=unit)): seconds / size, "lower": lower / size, "upper": upper / size}
    # Ends of the interval of a mean are moved so that what was measured lies between them.
    at_least = np.minimum(curve["efficiency_lower"].to_numpy(float), efficiency)
    at_most = np.maximum(curve["efficiency_upper"].to_numpy(float), efficiency)
    ends = dict(zip(ENDS, (efficiency, at_least, at_most), strict=True))
    for quantity, factor in (("speedup", counts / counts[0]), ("efficiency", 1.0)):
        rows |= {f"{quantity}{end}": values * factor for end, values in ends.items()}
    rows |= {name: predicted[name].to_numpy() for name in ("verdict", "fits")}
    # Hours are those of nodes, unless a price is that of something else.
    per = question.per or ("nodes" if result.panel.nodes is not None and question.price is None else None)
    if question.plan is not None:
        of_plan = steps_of_plan(result.panel, question.plan, work, question.steps)
        quantities = quantities_of(result.panel, {"steps": of_plan}, per=per)
        spent = quantities.intervals(["total", "machine_hours"], columns, [value, lower, upper])
        rows |= {f"hours{end}": spent[f"total{end}"] / 3600.0 for end in ENDS}
        rows |= {f"machine_hours{end}": spent[f"machine_hours{end}"] for end in ENDS}
    rows |= beside(result.panel, columns, [seconds, lower, upper])
    # Where nothing counts what is paid for, what is scaled stands for it.
    uncounted = per is None and result.panel.counted_node is None
    return singular(answer.along if uncounted else paid_for(result.panel, per)[0]), pd.DataFrame(rows)
