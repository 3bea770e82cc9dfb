"""The answer to a question: facts, the numbers and sentences that they make, and a card of at most 14 lines."""

from __future__ import annotations

import re
from collections.abc import Collection, Iterator, Mapping, Sequence
from functools import cached_property, partial
from importlib.util import find_spec
from io import StringIO
from textwrap import wrap
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np
from msgspec import Struct, field
from msgspec.structs import replace
from rich.console import Console
from rich.text import Text

from genperf.errors import GenperfError, counted, listed
from genperf.facts import ENDS, Curve, Facts, GrowthCounts, Interval
from genperf.formula.amounts import DURATIONS, amount
from genperf.panel.assemble import EARLIER
from genperf.panel.panel import SECONDS
from genperf.panel.quantities import QUANTITIES
from genperf.panel.question import notes_of_absent
from genperf.panel.reading import Reading
from genperf.panel.words import number_of
from genperf.prediction.predict import THROUGHPUT
from genperf.table.clean import finite, label
from genperf.vocabulary import any_of, words_of
from genperf.vocabulary.headers import (
    MONEY_IN_NAME,
    RELATIVE,
    STEP_WORDS,
    TIME_UNITS,
    bare,
    bytes_of,
    header_of,
    in_multiples,
    time_called,
    unit_of,
)
from genperf.vocabulary.names import LOAD, LOAD_IN_WORDS, counted_by, is_efficiency, is_relative, plain_name, words_in
from genperf.words.answer import (
    COLORS,
    MARKS,
    fastest_text,
    next_line,
    record_line,
    sentences_of,
    split_line,
    verdict_line,
)
from genperf.words.growth import cost_unit, doubted_efficiency, in_cents, next_sentence, plan_line, plan_sentence
from genperf.words.limit import MOST_NAMED
from genperf.words.numbers import (
    MILLIONS,
    count_text,
    join_values,
    prose,
    rate_unit,
    setting_text,
    singular,
    texts_in_unit,
    three_digits,
    whole_percent,
    with_article,
    with_unit,
)
from genperf.words.verdict import BLIND, fits_text

if TYPE_CHECKING:
    from matplotlib.figure import Figure


#: Seconds from which on a time is hardly that of a step, so that its work may be the same at every count. A guess.
LONGEST_STEP = 60.0
#: Lines of a card, and its width in columns: wider ones are harder to read across.
MOST_LINES, LEAST_WIDTH, MOST_WIDTH = 14, 60, 96
#: Columns of the four parts of a row: what it is, its value, its interval, its value beside.
COLUMNS = (12, 20, 22, 12)
#: What shows a measured run in the picture.
MEASURED = "●"
#: Characters of the name of a file that stay.
LEAST_NAME = 12
#: Rows of the picture.
PICTURE_ROWS = 4
#: Rows of the table at most: with header, picture, verdict and next step they fill the card.
MOST_ROWS = 5
_JOB = ("whole job", "job's cost")
#: Rows that answer an amount of work in the question: they stand before what follows from the step.
OF_THE_QUESTION = {*_JOB, *(QUANTITIES[name].label for name in ("days", "training_cost"))}
#: Numbers of a unit of time from which on they are written in seconds.
LARGE = 1e5
#: Further measured quantities of a card at most: the others are in `--full`.
MOST_FURTHER = 2
#: Difference of two rates, of one of them, below which they are one.
SAME = 0.01


class Value(Struct, frozen=True, eq=False, dict=True):
    """The predicted value of one measured column, in the column's unit."""

    quantity: str
    unit: str
    value: float
    lower: float
    upper: float
    verdict: str
    reason: str
    at: dict[str, Any]
    texts: Mapping[str, str] = field(default_factory=dict)  #: Sentences about it by themselves.
    #: What is known of the configuration, and which of its sentences follow; all where none is named.
    facts: Facts | None = None
    only: tuple[str, ...] = ()
    share_of_limit: Interval | None = None  #: Of the limit that is asked, such as a device's memory; None without one.

    @cached_property
    def sentences(self) -> dict[str, str]:
        """What is known of the value in words, by what a sentence is about: `expect`, `sure`, …."""
        of_facts = {} if self.facts is None else sentences_of(self.facts)
        return {**self.texts, **{key: text for key, text in of_facts.items() if not self.only or key in self.only}}

    def to_dict(self) -> dict[str, Any]:
        """Return it as plain values, for JSON."""
        names = ("quantity", "unit", "value", "lower", "upper", "verdict", "reason", "at")
        return {**{name: getattr(self, name) for name in names}, "sentences": dict(self.sentences)}

    @property
    def expected(self) -> Interval:
        """The value with its interval."""
        return Interval(self.value, self.lower, self.upper)

    def ends(self, likeliest: Value | None = None) -> str:
        """Return the value, its interval and its verdict, as a duration in the unit of another value of its column."""
        is_duration = self.unit == SECONDS or (self.unit in TIME_UNITS and (likeliest or self.value >= LARGE))
        size, unit = (np.divide(*TIME_UNITS[self.unit]), SECONDS) if is_duration else (1.0, self.unit)
        ends = (size * end for end in ((likeliest or self).value, *self.expected.ends))
        _, value, lower, upper, unit = texts_in_unit(*ends, unit=unit)
        interval = "" if value == lower == upper else f"{lower} to {upper}; "
        return f"{with_unit(value, unit)} ({interval}{self.verdict})"


class Answer(Struct, frozen=True, eq=False, dict=True):
    """What is known of one configuration: the likeliest quantity in sentences, every measured one as a value."""

    answers: tuple[Value, ...]  #: The quantities, the likeliest first.
    facts: Facts | None = None  #: Of the first one; None where its answer is no more than a value.
    reading: Reading | None = None  #: How the table was read; None for a model.
    notes: tuple[str, ...] = ()  #: What was done to read the table, and what its rows show.
    #: The factors that the question leaves open, as they are taken.
    taken: dict[str, Any] = field(default_factory=dict)
    others: tuple[str, ...] = ()  #: Lines of the same quantity in the other series that the question may mean.
    beyond: str = ""  #: Without a count in the question: the first quantity at eight times the largest one.
    #: In one line, where the runs came from and which rows are left out; empty for a table that is read as it is.
    read_back: str = ""
    unread: tuple[str, ...] = ()  #: Sentences about runs that were not read, each with its line.
    measured: str = ""  #: What the runs measured where it is asked; empty where there is none.
    shares: str = ""  #: The share of a step that its part which grows most is likely at larger counts.
    left_out: tuple[str, ...] = ()  #: Columns that no part of the answer reads.
    coverage: float | None = None  #: Nominal coverage of the intervals of predictions; None for measured values.
    #: Where the runs are from, and how many they are; of a model its facts have both.
    source: str = ""
    runs: int = 0
    topics: tuple[str, ...] = ()  #: What the words of the question are about: normal, why.
    requested: tuple[str, ...] = ()  #: What they ask for: cost, tokens/s.

    @cached_property
    def lacks(self) -> tuple[tuple[str, str], ...]:
        """What is asked for and not answered, each with the reason and the option that gives it."""
        if self.facts is None:
            names = [value.quantity.lower() for value in self.answers]
            reasons = {what: _lack_of_one(names, what) for what in self.requested}
            return tuple((what, why) for what, why in reasons.items() if why)
        called = dict[str, str]()
        # A price in the question asks for what it costs.
        priced = (COST,) if "price" in self.topics else ()
        for what in (*self.requested, *priced):
            called.setdefault(_lack_of(self, self.facts, what), {"job": _JOB[0], "step": "step time"}.get(what, what))
        return tuple((name, why) for why, name in called.items() if why)

    @property
    def lacking(self) -> list[str]:
        """What is asked for and not answered, in sentences."""
        return [f"{name} is asked for, and {why}" for name, why in self.lacks]

    @property
    def sentences(self) -> dict[str, str]:
        """What is known of the first quantity, in words (`genperf.words.answer`)."""
        return self.answers[0].sentences

    def sentences_about(self, keys: Collection[str]) -> list[str]:
        """Return the sentences by their keys, with the verdict where that is blind, and what the runs lack."""
        fastest = fastest_text(self.facts) if self.facts is not None and "fastest" in keys else ""
        sentences = [self.sentences[key] for key in keys if key in self.sentences]
        sentences += [text for text in (self._parts_ahead, self.shares) if text and "parts" in keys]
        sentences += [self.sentences["sure"]] if sentences and self.verdict == BLIND else []
        return [*([fastest] if fastest else []), *sentences, *self.lacking]

    def cost_of_job(self, value: Value) -> tuple[Interval, str] | None:
        """Return what the job costs whose time was measured beside, and the currency; None without a price."""
        price = None if self.facts is None else self.facts.growth.price
        columns = () if self.reading is None else self.reading.columns
        if price is None or self.facts is None or self.reading is None or value.quantity not in columns:
            return None
        seconds, above = TIME_UNITS.get(value.unit, (0.0, 1.0))
        if not seconds or not self.reading.is_of_job(value.quantity):
            return None
        per_unit = self.facts.growth.target.machines * price.per_second * seconds / above
        return Interval(*(per_unit * end for end in value.expected.ends)), price.currency

    @property
    def _parts_ahead(self) -> str:
        """The largest parts of a step, as they are predicted beyond the counts at which they were measured."""
        facts = self.facts
        if facts is None or not facts.parts or facts.growth.target.count <= facts.parts[0].counts[1]:
            return ""
        columns = {part.column for part in facts.parts}
        predicted = [value for value in self.answers if value.quantity in columns]
        largest = sorted(predicted, key=lambda value: -value.value)[:MOST_NAMED]
        texts = [f"{part.quantity} {part.ends(self.answers[0])}" for part in largest]
        return prose(f"at {join_values(facts.place)} expect {listed(texts)}") if len(predicted) == len(columns) else ""

    @property
    def verdict(self) -> str:
        """The verdict of the first prediction: ok, caution or extrapolating-blind."""
        return self.answers[0].verdict

    @property
    def reason(self) -> str:
        """The reason of the first prediction's verdict."""
        return self.answers[0].reason

    @property
    def value(self) -> float:
        """The first quantity, in its own unit."""
        return self.answers[0].value

    @property
    def interval(self) -> tuple[float, float]:
        """The ends of its interval for a new run."""
        return self.answers[0].lower, self.answers[0].upper

    @property
    def throughput(self) -> float | None:
        """Samples a second of all workers; None where the work of a step is not known."""
        rate = None if self.facts is None else self.facts.growth.throughput(self.facts.expected.value)
        return None if rate is None else rate.value

    @cached_property
    def numbers(self) -> dict[str, Any]:
        """The predicted value and its interval, and what is known of `throughput`, `efficiency`, `marginal_cost`, …."""
        facts = self.facts
        if facts is None:
            return {}
        expected, growth, value = facts.expected, facts.growth, facts.expected.value
        numbers: dict[str, Any] = {}
        if growth.of_steps or growth.whole or growth.throughput(value) is None:
            # Of a throughput without the work of a step no time means anything.
            numbers = {expected.name: value.value, "lower": value.lower, "upper": value.upper}
        if (efficiency := growth.target.efficiency) is not None:
            numbers |= {"speedup": growth.speedup, "efficiency": efficiency.value}
            numbers |= {"efficiency_lower": efficiency.lower, "efficiency_upper": efficiency.upper}
            if (rate := growth.throughput(value)) is not None:
                numbers |= dict(zip(THROUGHPUT, rate.ends, strict=True))
            ending = "" if growth.whole else "_per_million"
            if (cost := cost_of(growth, value)) is not None:
                numbers |= dict(zip((f"cost{ending}{end}" for end in ENDS), cost[0].ends, strict=True))
            if growth.grows and growth.marginal is not None:
                # Whether growing pays, and what it costs: infinitely much where a further sample takes for ever.
                ratio = growth.marginal.value
                numbers["pays"] = growth.chance
                if ratio == float("inf"):
                    numbers["marginal_cost"] = None
                else:
                    numbers["marginal_cost_ratio"] = ratio
                    if growth.costs is not None:
                        numbers[f"marginal_cost{ending}"] = growth.costs[0] * ratio
        if facts.can_fail:
            numbers["fits"] = expected.fits
        numbers |= facts.quantities
        if (turn := facts.turn()) is not None:
            ends = zip(("count", "lower", "upper"), turn.count.ends, strict=True)
            numbers["best"] = {**finite(dict(ends)), "chance": turn.reached, "upto": turn.upto}
        return {**numbers, **facts.published().numbers, **({} if facts.plan is None else facts.plan.numbers)}

    @property
    def read_as(self) -> str:
        """How the table was read, as options that can be copied; empty for a model."""
        left_out = f"; left out: {listed(self.left_out)}" if self.left_out else ""
        return "" if self.reading is None else f"read as: {self.reading.options}{left_out}"

    def to_dict(self) -> dict[str, Any]:
        """Return it as plain values, for JSON."""
        plain, reading, facts = dict[str, Any](), self.reading, self.facts
        if reading is not None:
            plain |= {"roles": reading.roles.texts, "mapping": reading.mapping, "read_as": reading.read_as()}
            plain["left_out"] = list(self.left_out)
        plain["notes"] = [*self.notes, *self.lacking]
        plain |= {"at": self.answers[0].at if facts is None else dict(facts.at), "taken": self.taken, **self.numbers}
        if facts is not None:
            plain |= {"verdict": facts.expected.verdict, "reason": facts.expected.reason}
            shares = {"shares": self.shares} if self.shares else {}
            plain |= {"sentences": {**self.sentences, **shares}, **_beside(facts)}
        return plain | {"answers": [answer.to_dict() for answer in self.answers]}

    def card(self, width: int = 80) -> str:
        """Return the answer at a glance, in at most 14 lines."""
        return "\n".join(line.plain for line in card(self, width))

    def __repr__(self) -> str:
        return self.card()

    def _repr_html_(self) -> str:
        """Return the card as a notebook shows it; names in it are text, never markup."""
        console = Console(record=True, width=MOST_WIDTH, file=StringIO(), force_terminal=True)
        for line in card(self, MOST_WIDTH):
            console.print(line)
        code = "<pre style=\"line-height:1.2;font-family:Menlo,Consolas,'DejaVu Sans Mono',monospace\">{code}</pre>"
        return console.export_html(inline_styles=True, code_format=code)

    def plot(self) -> Figure:
        """Draw the measured runs and the predicted band along the count of workers, with matplotlib."""
        import genperf as gp

        if self.facts is None:
            raise GenperfError("one value has no curve to draw", hint="measure a second count")
        figure: Figure = gp.plots.answer_curve(self.facts.curve())
        return figure

    def __str__(self) -> str:
        lines = [*self.sentences.values(), *filter(None, [self.shares])]
        if len(self.answers) > 1:
            lines.append("Also measured:")
        for value in self.answers[1:]:
            cost, paid = self.cost_of_job(value), ""
            if cost is not None:
                middle, low, high = map(three_digits, cost[0].ends)
                paid = f"; such a job costs {with_unit(middle, cost[1])} ({low} to {high})"
            lines.append(f"  {value.quantity}: {value.ends()}{paid}")
        if self.beyond:
            lines.append(self.beyond)
        if self.others:
            lines += ["The table has other series:", *(f"  {line}" for line in self.others)]
        return "\n".join(lines)


def _beside(facts: Facts) -> dict[str, Any]:
    """Return by name the runs, what the count that growth begins at does, and what the next run narrows the ends to."""
    growth, expected, start = facts.growth, facts.expected, facts.start
    plain: dict[str, Any] = {"runs": facts.runs, "counts": list(facts.counts)}
    if growth.grows:
        efficiency = None if start.efficiency is None else start.efficiency.value
        timed = {expected.name: start.value} if growth.of_steps or growth.whole or start.rate is None else {}
        plain["start"] = {"count": start.count, **timed, "efficiency": efficiency}
        plain["start"][THROUGHPUT[0]] = start.rate
        if growth.price is not None and start.cost is not None:
            plain["start"] |= {"cost": start.cost} if growth.whole else {"cost_per_million": 1e6 * start.cost}
    run, why_none = facts.advice()
    if run is None or not run.places:
        why_none = why_none if run is None else next_sentence(run, expected.unit)
        return plain | {"next": {"runs": [], "reason": why_none}}
    narrowed = run.narrowed(expected.value)
    if not (growth.of_steps or growth.whole):
        narrowed = growth.throughput(narrowed) or narrowed
    ends = {"lower": narrowed.lower, "upper": narrowed.upper}
    if growth.target.efficiency is not None:
        narrowed = run.narrowed(growth.target.efficiency)
        ends |= {"efficiency_lower": narrowed.lower, "efficiency_upper": narrowed.upper}
    return plain | {"next": {"runs": [*map(dict, run.places)], **ends}}


def answer_of(facts: Facts) -> Answer:
    """Return the answer of a model: its predicted quantity, with all that is known of the configuration."""
    expected, at = facts.expected, dict(facts.at)
    trust = expected.verdict, expected.reason
    value = Value(expected.name, expected.unit, *expected.value.ends, *trust, at, facts=facts)
    return Answer((value,), facts, taken=dict(facts.taken))


def with_limit(answer: Answer, limit: str) -> Answer:
    """Return an answer whose first value tells whether it stays below a limit, such as a device's memory, `80GB`."""
    likeliest = answer.answers[0]
    number = re.match(r"[\d.,]+", limit)
    if number is None:
        return answer
    limit_unit = limit[number.end() :]
    kind, size, per = unit_of(likeliest.unit)
    limit_kind, limit_size, limit_per = unit_of(limit_unit)
    if kind != limit_kind:
        note, *_ = notes_of_absent([limit])
        return replace(answer, answers=(replace(likeliest, verdict=BLIND, reason=note), *answer.answers[1:]))
    most = float(number[0].replace(",", "")) * (limit_size / limit_per)
    lower, value, upper = (end * (size / per) / most for end in (likeliest.lower, likeliest.value, likeliest.upper))
    stays, exceeds = ("fits in", "does not fit in") if bytes_of(likeliest.unit) else ("stays below", "exceeds")
    if lower > 1.0:
        how, end = exceeds, f"lower end of the interval is {three_digits(likeliest.lower)}"
    else:
        how = stays if upper <= 1.0 else f"likely {stays if value <= 1.0 else exceeds}"
        end = f"upper end of the interval is {three_digits(likeliest.upper)}"
    fits = prose(f"{how} {with_unit(number[0], limit_unit)}: the {with_unit(end, likeliest.unit)}")
    share = Interval(value, lower, upper)
    likeliest = replace(likeliest, texts={**likeliest.texts, "fits": fits}, share_of_limit=share)
    return replace(answer, answers=(likeliest, *answer.answers[1:]))


#: What it costs, how many times as fast it is, and before a device what that does, among the names that a question
#: may want.
COST, _SPEEDUP, _PER, _IN, _FOR = "cost", "speed-up", "per ", "in ", "for "
#: Energy that follows from a power, and what is done with so much of it.
ENERGY, PER_ENERGY = "energy", " per "
#: The column of the part of a step that the network takes.
EXCHANGE = re.compile(any_of("phases.exchange"))
#: Why what is asked for follows from nothing.
UNMEASURED = "no time and no rate was measured"
#: What has a row and a sentence of its own.
_BY_ITSELF = re.compile(rf"{_SPEEDUP}|{_PER}|{_IN}|{_FOR}|{ENERGY}|[^/]+{PER_ENERGY}\w?(?:Wh|J)$")


def wanted_of(answer: Answer, want: str) -> Value | None:
    """Return what follows from the first quantity and is wanted by a name of the field; None for any other name.

    The names are those of a rate, a time, a speed-up, an efficiency, a cost, and those of `QUANTITIES`: from a measured
    step time `throughput`, `efficiency` and `mfu` follow.
    """
    if answer.facts is None:
        return None
    what, _, period = want.partition("/")
    seconds, beside = amount(period), rate_beside(answer, what)
    interval: Interval | None
    if seconds is not None and beside is not None and rate_of(answer.facts, what) is None:
        # `epochs/1h`, beside a throughput
        lasts = re.sub(r"(?<=\d)(?=[a-z])", " ", period)
        name, unit, interval = f"{_IN}{lasts}", what, Interval(*(seconds * end for end in beside.ends))
    else:
        name, unit, interval = _derived_value(answer.facts, answer.answers[0], want)
    if interval is None:
        return None
    low, high = sorted(interval.ends[1:])
    value = replace(answer.answers[0], quantity=name, unit=unit, value=interval.value, lower=low, upper=high)
    if not _BY_ITSELF.match(name):
        return value
    return in_sentence(value, answer.coverage)


def in_sentence(value: Value, coverage: float | None) -> Value:
    """Return a value with the sentence of what is wanted, `energy: 51.6 kWh (90 %: 48 to 60)`."""
    row = _value_row(value)
    between = f" ({100 * (coverage or 0.9):g} %: {row.interval.replace(' – ', ' to ')})" if row.interval else ""
    return replace(value, texts={"wanted": prose(f"{value.quantity}: {row.value}{between}"), **value.texts})


def _derived_value(facts: Facts, likeliest: Value, want: str) -> tuple[str, str, Interval | None]:
    """Return the name, the unit and the value of what is wanted and follows from facts; None where none follows."""
    growth, expected, efficiency = facts.growth, facts.expected, facts.growth.target.efficiency
    plain, wanted, measured = plain_name(want), header_of(want), header_of(likeliest.quantity)
    for key, quantity in QUANTITIES.items():
        if plain in (key, plain_name(quantity.label)) and key in facts.quantities:
            return quantity.label, quantity.unit, Interval.named(facts.quantities, key)
    if plain == COST:
        cost, unit = cost_of(growth, expected.value) or (None, "")
        return COST, unit, cost
    # Throughput in a period, `tokens/d`, or for so much money, `tokens/100$`.
    what, _, period = want.partition("/")
    what = growth.sample if what == "work" else what
    seconds = amount(period)
    currency = "" if growth.price is None else growth.price.currency
    if period.endswith("$"):
        paid = rate_of(facts, COST)
        if paid is None:
            # Without a price what they cost is lacking.
            what, seconds = COST, 1.0
        else:
            seconds = (number_of(period[:-1]) or 0.0) / paid.value
    if seconds is not None:
        if (rate := rate_of(facts, what)) is None and growth.rated and what != COST:
            raise GenperfError(f"the runs count {growth.sample}, and no {what}", hint=f"{growth.sample} of a period")
        if rate is None:
            lacking, hint = ("a price", "--price 2/h") if what == COST else ("the work of a step", "--work '32*gpus'")
            raise GenperfError(f"the {what} of a period cannot be told without {lacking}", hint=hint)
        name = f"{_FOR}{period[:-1]} {currency}" if "$" in period else f"{_IN}{period}"
        unit = currency if what == COST else what
        return re.sub(r"(?<=\d)(?=[a-z])", " ", name), unit, Interval(*(seconds * end for end in rate.ends))
    above, _, below = want.rpartition("/")
    load = next(filter(LOAD.fullmatch, facts.at), None)
    if load is not None and header_of(above).kind == "rate" and LOAD_IN_WORDS.fullmatch(f"{below}s"):
        of_all = growth.throughput(expected.value)
        of_each = None if of_all is None else Interval(*(end / float(facts.at[load]) for end in of_all.ends))
        return f"{_PER}{below}", rate_unit(growth.sample), of_each
    if wanted.kind == "rate" and wanted.shared:
        of_all = growth.throughput(expected.value)
        is_along = counted_by(growth.name) == wanted.level
        count = growth.target.count if is_along else facts.machines.get(wanted.level)
        of_each = None if of_all is None or count is None else Interval(*(end / count for end in of_all.ends))
        return _per_one(growth, wanted.level), rate_unit(growth.sample), of_each
    if wanted.kind == "rate" and (wanted.counted or plain in words_of("headers.rate")):
        return "throughput", rate_unit(growth.sample), growth.throughput(expected.value)
    # Of a job no time of a step follows, nor the other way round: how many steps it has is not known.
    if wanted.kind == "time" and {wanted.of, measured.of} != {"step", "job"}:
        if measured.counted in STEP_WORDS:
            # A step takes one over the steps per second.
            return "step", SECONDS, likeliest.expected.dividing(1.0)
        if expected.is_time and (growth.whole or growth.of_steps):
            return "step" if growth.of_steps else growth.sample, expected.unit, expected.value
    if is_relative(want) and "speed" in plain and efficiency is not None:
        times = growth.target.count / growth.smallest.count
        return _SPEEDUP, "x", Interval(*(times * end for end in efficiency.ends))
    return "efficiency", "", efficiency if is_relative(want) and "eff" in plain else None


def _lack_of_one(names: Collection[str], quantity: str) -> str:
    """Return why something that is asked of one configuration is none of the values with these names."""
    if is_relative(quantity) or is_efficiency(quantity):
        return "one scale was measured: a run at another count shows it"
    if quantity == COST and not any(name.startswith(COST) or MONEY_IN_NAME.fullmatch(name) for name in names):
        return "no price is known: --price 2/h"
    kind = header_of(quantity).kind
    is_missing = kind in ("time", "rate") and kind not in {header_of(name).kind for name in names}
    return f"no {kind} was measured" if is_missing else ""


def _lack_of(answer: Answer, facts: Facts, quantity: str) -> str:
    """Return why something that is asked for is not answered, and what gives it; empty where it is answered."""
    growth, plan, is_time = facts.growth, facts.plan, facts.expected.is_time
    if is_efficiency(quantity):
        return ""
    if quantity in ("exchange", "faster network"):
        exchange = next((of.column for of in facts.parts if EXCHANGE.search(of.column.lower())), "")
        if not exchange:
            return "no run measured the exchange apart: a column such as comm_ms does"
        return f"one twice as fast saves at most half of {exchange}" if quantity != "exchange" else ""
    if quantity == "gpu-hours" and growth.price is None:
        return "" if plan is not None or "days" in facts.quantities else "its work is not known: --samples 1M"
    headers = [header_of(value.quantity) for value in answer.answers]
    is_job = growth.whole and growth.sample not in STEP_WORDS
    option = growth.work_option or ("--work 256" if growth.whole else f"--work '32*{growth.name}'")
    no_work = f"the samples of a step are not known: {option}"
    if not is_time and not any(of.kind in ("time", "rate") for of in headers):
        follows = quantity in (COST, "job", "epoch", "step") or header_of(quantity).kind in ("time", "rate")
        has_money = any(MONEY_IN_NAME.fullmatch(value.quantity.lower()) for value in answer.answers)
        return UNMEASURED if follows and not has_money else ""
    if quantity in ("time", "step", "job", "epoch") and growth.sample == RELATIVE:
        return "no time was measured, to which a speed-up is relative"
    if quantity == "speed" or (quantity == "time" and any(of.kind == "time" for of in headers)):
        return ""
    if quantity == COST:
        is_priced = growth.costs is not None or (plan is not None and plan.price is not None)
        names = [*(value.quantity for value in answer.answers), *facts.further]
        if is_priced or any(MONEY_IN_NAME.fullmatch(name.lower()) for name in names):
            return ""
        return no_work if growth.price is not None else "no price is known: --price 2/h"
    of_jobs = {"job"} == {of.of for of in headers if of.kind in ("time", "rate")}
    if (quantity == "step" and of_jobs) or (quantity == "epoch" and is_job and growth.sample == "job"):
        return f"what was measured is of a whole job, whose {quantity}s are not known"
    if is_job and header_of(quantity).kind == "rate" and not any(of.kind == "rate" for of in headers):
        return f"how much {with_article(growth.sample)} does is not known: --work 1M"
    if not is_time or is_job:
        return ""
    if quantity in ("job", "epoch", "time"):
        wanted = answer.answers[0]
        above, below = TIME_UNITS.get(wanted.unit, (0.0, 1.0)) if headers[0].kind == "time" else (0.0, 1.0)
        # What elapsed in many steps is of the job.
        is_of_job = headers[0].of != "step" and above * wanted.value > below * facts.expected.value.value * (1.0 + SAME)
        if plan is not None or "days" in facts.quantities or is_of_job:
            return ""
        of_tokens = growth.sample == "tokens"
        work, amount_of_work = growth.sample, "300B" if of_tokens else "1M"
        if not growth.rated:
            work, amount_of_work = "steps", "'10000 steps'"
        return f"its {work} are not known: --{'tokens' if of_tokens else 'samples'} {amount_of_work}"
    if quantity == "step":
        is_shown = growth.of_steps or any(of.kind == "time" and of.of == "step" for of in headers)
        return "" if is_shown else no_work
    rate = header_of(quantity)
    if any(of.kind == "rate" and of.counted in (rate.counted, "") for of in headers):
        return ""
    if not growth.rated:
        return no_work
    is_known = rate.counted != "tokens" or growth.sample == "tokens" or "tokens_per_s" in facts.quantities
    return "" if is_known else "the tokens of a sample are not known: --let seq_length=2048"


def _per_one(growth: GrowthCounts, level: str) -> str:
    """Return the name of a rate of one device or one node: `per gpu`."""
    alike = counted_by(growth.name) == level
    return f"{_PER}{singular(growth.name) if alike else 'node' if level == 'nodes' else 'device'}"


def rate_beside(answer: Answer, what: str) -> Interval | None:
    """Return how many a second follow from the time of one that was measured, such as an epoch; None without it."""
    timed = (v for v in answer.answers if v.unit in TIME_UNITS and singular(what) in words_in(v.quantity))
    if (of_one := next(timed, None)) is None:
        return None
    seconds = np.divide(*TIME_UNITS[of_one.unit])
    return Interval(*(float(seconds) * end for end in of_one.expected.ends)).dividing(1.0)


def rate_of(facts: Facts, what: str) -> Interval | None:
    """Return how much a second does of something: samples, tokens, steps, or whole epochs, or costs; None unknown."""
    growth, value = facts.growth, facts.expected.value
    if what == COST and growth.costs is not None:
        of_all = value.dividing(1.0) if growth.whole else growth.throughput(value)
        paid = None if of_all is None else growth.costs[1] * of_all.value / (1.0 if growth.whole else 1e6)
        return None if paid is None else Interval(paid, paid, paid)
    is_sample = what in (growth.sample, f"{growth.sample}s", "samples")
    if growth.sample == "samples":
        is_sample = what in words_of("headers.of_a_batch")
    if is_sample and not growth.whole:
        return growth.throughput(value)
    if what == "tokens":
        return Interval.named(facts.quantities, "tokens_per_s") if "tokens_per_s" in facts.quantities else None
    is_timed = growth.whole and what == f"{growth.sample}s"
    return value.dividing(1.0) if is_timed or (growth.of_steps and what in STEP_WORDS) else None


#: A value with `M` for `million`, for which a line has no room.
in_a_line = partial(re.compile(r" ([mbt])r?illion").sub, lambda multiple: f" {multiple[1].upper()}")


class Row(NamedTuple):
    """One quantity of a card as texts: its name, its value, the ends of its interval, and the value beside it."""

    name: str
    value: str
    interval: str = ""
    beside: str = ""
    ends: tuple[float, ...] = ()  # as numbers, of which those of several configurations are told in one unit
    unit: str = ""


def card(answer: Answer, width: int = 80, picture: bool = True, footer: bool = False) -> list[Text]:
    """Return the lines of the card, each with its styles: the question, rows, a picture, the verdict, the reading."""
    facts = answer.facts
    width = max(LEAST_WIDTH, min(width, MOST_WIDTH))
    # What the question left open, without the count, which stands in the first line.
    settings = dict(answer.taken)
    if facts is not None:
        settings = {name: v for name, v in {**facts.series, **settings}.items() if name != facts.growth.name}
    subtitle = wrap(f"of {join_values(settings)}", width) if settings else [""]
    # The last of its lines is also that of the columns' titles where there is room.
    room = COLUMNS[0] + COLUMNS[1]
    before_titles = subtitle.pop() if len(subtitle[-1]) < room else ""
    interval_head, beside_head = heads_of(facts, answer.coverage)
    titles = before_titles.ljust(room) + f" {interval_head}".rjust(COLUMNS[2]) + f" {beside_head}".rjust(COLUMNS[3])
    heads = [_header(answer, width), *(Text(line, style="dim") for line in (*subtitle, titles))]
    lines = [*(line for line in heads if line.plain.strip()), *map(_row, rows_of(answer))]
    closing = [*_verdict_and_next_step(answer, width)]
    if footer:
        closing += footer_of(answer)
    rows_left = MOST_LINES - len(lines) - len(closing) - 1
    if picture and facts is not None and rows_left >= 2:
        # Drawn is what all devices do together, which no share of each is.
        likeliest = answer.answers[0]
        of_each = likeliest.facts is not None and likeliest.facts.column is not None and facts.growth.sample == RELATIVE
        if likeliest.unit != "%" and not of_each:
            curve = facts.curve()
            axis_unit, scale = curve.unit, 1.0
            if facts.column is not None and facts.column[1] in TIME_UNITS:
                _, axis_unit, scale = facts.column
            lines += _picture(curve, width, min(PICTURE_ROWS, rows_left), axis_unit, scale)
    lines += closing
    for line in lines:
        line.truncate(width, overflow="ellipsis")
        line.rstrip()
    return [line if line.plain else Text(" ") for line in lines[:MOST_LINES]]


def footer_of(answer: Answer) -> Iterator[Text]:
    """Yield which rows are left out, how many notes there are, and how the table was read."""
    if answer.read_back:
        yield Text(f"read: {answer.read_back}", style="dim")
    if answer.reading:
        notes = f"{counted(len(answer.notes), 'note')}, " if answer.notes else ""
        yield Text(f"{notes}all: --full · {answer.read_as}", style="dim")


def _header(answer: Answer, width: int) -> Text:
    """Return the head of a card: at the left the source, the runs and their range, at the right the question."""
    facts, reach = answer.facts, ""
    if facts is None:
        name, runs = answer.source, answer.runs
        # A setting that was the same in every run, and is requested at that value, is left out.
        columns = {} if answer.reading is None else answer.reading.columns
        at = answer.answers[0].at
        constants = [n for n, c in columns.items() if n in at and not c.varies and c.rows_with(label(at[n])).any()]
        question = join_values({n: value for n, value in at.items() if n not in constants})
    else:
        name, runs = facts.source, facts.runs
        counted_column, target = facts.growth.name, facts.growth.target.count
        others = {n: v for n, v in facts.place.items() if n not in facts.series and n != counted_column}
        question = ", ".join(filter(None, (count_text(target, counted_column), join_values(others))))
        smallest, largest = facts.counts
        reach = f", {count_text(largest, counted_column, smallest)}" if largest > smallest else ""
    counts = f" · {counted(runs, 'run')}{reach}" if runs else ""
    # A long name of a file is cut, the question is not.
    room = max(width - len(question) - len(counts) - 2, LEAST_NAME)
    source = (name if len(name) <= room else f"{name[: room - 1]}…") + counts
    source_text = Text(source, style="bold") if source else Text()
    return Text.assemble(source_text, " " * max(2, width - len(source) - len(question)), (question, "bold"))


def heads_of(facts: Facts | None, coverage: float | None) -> tuple[str, str]:
    """Return the heads of the columns of the interval and of the value beside: `90 % interval`, `at 8`."""
    coverage = coverage if facts is None else facts.expected.interval
    beside = f"at {setting_text(facts.growth.start.count)}" if facts is not None and facts.growth.grows else ""
    return "interval" if coverage is None else f"{100 * coverage:g} % interval", beside


def _row(row: Row) -> Text:
    """Return a row as a line: its name, the value in bold, the interval, and the value beside."""
    value, interval, beside = map(in_a_line, row[1:4])
    # A column of a nested object is called by its whole path: its end says what it is.
    name, room = bare(row.name), COLUMNS[0] + COLUMNS[1] - len(value) - 1
    name = (name if len(name) <= room else f"{name[: room - 1]}…").ljust(COLUMNS[0])
    value_cell = value.rjust(COLUMNS[0] + COLUMNS[1] - len(name))
    return Text.assemble(name, (value_cell, "bold"), interval.rjust(COLUMNS[2]), (beside.rjust(COLUMNS[3]), "dim"))


def rows_of(answer: Answer) -> list[Row]:
    """Return the rows of the card and of the page: what is wanted, the amounts that are asked about, the others.

    Of each those with a value beside come first, and the utilisation, which is one more; of rows of one value and
    interval the first stays.
    """
    wanted, mfu = answer.answers[0].quantity, QUANTITIES["mfu"].label
    of_answer = [*_known_rows(answer)]
    # Of the job that was timed the cost stands below its time.
    of_question = OF_THE_QUESTION if any(row.name == _JOB[0] for row in of_answer) else OF_THE_QUESTION - {_JOB[1]}
    leading = {mfu, *of_question}
    # False comes before True.
    of_answer.sort(
        key=lambda row: (row.name != wanted, row.name not in of_question, not (row.beside or row.name in leading))
    )
    row_of_value = dict[tuple[str, str], Row]()
    for row in of_answer:
        row_of_value.setdefault((row.value, row.interval or row.name), row)
    rows = list(row_of_value.values())
    most_rows = MOST_ROWS + 1 if any(row.name == mfu for row in rows) else MOST_ROWS
    return rows[:most_rows]


def _known_rows(answer: Answer) -> Iterator[Row]:
    """Yield a row of each quantity that is known, in this order."""
    facts, (likeliest, *others) = answer.facts, answer.answers
    if facts is None or likeliest.facts is None:
        yield from map(_value_row, answer.answers)
        if (cost := answer.cost_of_job(likeliest)) is not None:
            yield _interval_row(_JOB[1], *cost)
    if facts is None:
        return
    growth, expected = facts.growth, facts.expected
    start = facts.start if growth.grows else None
    rate, samples_per_s = growth.throughput(expected.value), rate_unit(growth.sample)
    relative = rate is not None and growth.sample == RELATIVE and likeliest.unit in ("x", "%")
    above, below = TIME_UNITS.get(likeliest.unit, (0.0, 1.0))
    # The hours of all devices, or what elapsed in many steps.
    summed = (
        expected.is_time
        and likeliest.facts is not None
        and header_of(likeliest.quantity).kind == "time"
        and abs(likeliest.value * above / (below * expected.value.value) - 1.0) > SAME
    )
    if facts.column is not None:
        _, _, of_a_second = facts.column
        value_at_start = None if start is None else of_a_second * start.value
        yield _value_row(likeliest, value_at_start if rate is None or start is None else start.rate)
    by_itself = summed or _BY_ITSELF.match(likeliest.quantity) is not None
    if (relative and likeliest.quantity.lower() != "efficiency") or by_itself:
        # A speed-up, a share of the peak, or the throughput of each device.
        yield _value_row(likeliest)
    # Unit → the value in it that a row shows.
    by_unit = dict[str, float]()
    if rate is not None and growth.sample == "samples":
        # A measured rate of that value says what the samples are.
        of_images = (v.unit for v in others if v.unit.endswith("/s") and abs(v.value / rate.value - 1.0) <= SAME)
        samples_per_s = next(of_images, samples_per_s)
    if facts.column is None and rate is not None and not relative:
        # Of several rates of one kind each has the name of its column.
        same_unit = likeliest.unit == samples_per_s and samples_per_s in [other.unit for other in others]
        name = likeliest.quantity if same_unit else "throughput"
        yield _interval_row(name, rate, samples_per_s, start.rate if start else None)
        by_unit[samples_per_s] = rate.value
        by_unit |= {"steps/s": 1.0 / expected.value.value} if expected.is_time and growth.of_steps else {}
        if (measured := header_of(likeliest.quantity)).kind == "rate" and measured.shared:
            # As it was measured, of one device.
            # `tokens/s/gpu` of replicas of 8 GPUs
            level = measured.level if facts.machines.get("workers", growth.target.count) == growth.target.count else ""
            yield _value_row(replace(likeliest, quantity=_per_one(growth, level), unit=samples_per_s))
    if facts.column is None and (rate is None or growth.of_steps):
        column = "" if likeliest.facts is None or summed else likeliest.quantity
        usual = growth.sample if growth.whole else growth.timed
        name = time_called(column, usual) if expected.is_time else expected.name
        yield _interval_row(name, expected.value, expected.unit, start.value if start else None)
        if expected.is_time:
            by_unit |= {unit: expected.value.value * below / above for unit, (above, below) in TIME_UNITS.items()}
    others = [v for v in others[:MOST_FURTHER] if abs(v.value / by_unit.get(v.unit, np.inf) - 1.0) > SAME]
    if facts.column is None and (efficiency := growth.target.efficiency) is not None:
        # A measured column such as `Efficiency (%)` is the scaling efficiency, by its name and value.
        def shows_efficiency(column: Value) -> bool:
            share = column.value / (100.0 if column.unit == "%" else 1.0)
            return is_efficiency(column.quantity) and efficiency.lower <= share <= efficiency.upper

        others = [other for other in others if not shows_efficiency(other)]
        if likeliest.facts is not None or not shows_efficiency(likeliest):
            # That of weak scaling, where nothing shows the work of a step.
            name = "efficiency, weak" if growth.assumption else "efficiency"
            middle, lower, upper = map(whole_percent, efficiency.ends)
            before = f"{whole_percent(start.efficiency.value)} %" if start and start.efficiency else ""
            yield Row(name, f"{middle} %", f"{lower} – {upper}" if lower != upper else "", before)
    yield from _following_rows(facts)
    for other in others:
        yield _value_row(other)
        if (cost := answer.cost_of_job(other)) is not None:
            yield _interval_row(_JOB[1], *cost)


def _value_row(value: Value, beside: float | None = None) -> Row:
    """Return a row of a column's value, by the name and unit of the column."""
    return _interval_row(value.quantity, value.expected, value.unit, beside)


def in_unit_of(row: Row, rows: Sequence[Row]) -> Row:
    """Return a row of one of several configurations in the unit that suits the largest of their values."""
    if not row.ends:
        return row
    largest = max(other.ends[0] for other in rows if other.unit == row.unit and other.ends)
    return _interval_row(row.name, Interval(*row.ends), row.unit, reference=largest)


def _interval_row(name: str, ends: Interval, unit: str, beside: float | None = None, reference: float = 0.0) -> Row:
    """Return a row of a quantity, with its value beside, in the unit that suits it, or the reference if not zero."""
    values = ends.ends if beside is None else (*ends.ends, beside)
    _, middle, lower, upper, *before, written_unit = texts_in_unit(reference or ends.value, *values, unit=unit)
    _, blank, multiple = upper.partition(" ")
    # `2.5 – 8.4 million`: a multiple of both ends stands once.
    between = f"{lower.removesuffix(blank + multiple)} – {upper}" if lower != upper else ""
    if before and unit == SECONDS:
        # Only a duration has its unit beside as well.
        before.append(written_unit)
    return Row(name, with_unit(middle, written_unit), between, " ".join(before), ends.ends, unit)


def _following_rows(facts: Facts) -> Iterator[Row]:
    """Yield `QUANTITIES` with a label, what a million samples or a job cost, the plan, and what is fitted beside."""
    growth, value = facts.growth, facts.expected.value
    # A throughput in tokens, and a plan of tokens, have rows of their own.
    shown_elsewhere = {"tokens_per_s"} if growth.sample == "tokens" else set()
    if facts.plan is not None and facts.plan.plan.of_tokens:
        shown_elsewhere |= {"days", "training_hours", "training_cost"}
    for name, quantity in QUANTITIES.items():
        if quantity.label and name in facts.quantities and name not in shown_elsewhere:
            ends, unit = Interval.named(facts.quantities, name), quantity.unit
            if unit == "d":
                # A short training is told in minutes.
                ends, unit = Interval(*(DURATIONS[unit] * end for end in ends.ends)), SECONDS
            if quantity.is_share:
                ends, unit = Interval(*(100.0 * end for end in ends.ends)), "%"
            # The hours of machines are named by what is paid for.
            paid_in = {"training_hours": f"{singular(growth.paid_name)}-hours"}
            paid_in |= {} if growth.price is None else {"training_cost": growth.price.currency}
            yield _interval_row(quantity.label, ends, paid_in.get(name, unit))
    plan = facts.plan
    # The job that was timed has a row already.
    has_row_of_job = plan is not None and plan.plan.of_job and plan.chosen.count == growth.target.count
    if (cost := cost_of(growth, value)) is not None and growth.costs is not None:
        yield _interval_row(COST, *cost, growth.costs[0] if growth.grows else None)
    if plan is not None and not (plan.plan.is_speed or plan.plan.is_of_a_step):
        paid, chosen = plan.price, plan.chosen
        middle, lower, upper, unit = texts_in_unit(*chosen.total.ends)
        elsewhere = "" if chosen.count == growth.target.count else f"at {chosen.count:g}"
        if not has_row_of_job:
            yield Row(_JOB[0], with_unit(middle, unit), f"{lower} – {upper}", elsewhere)
        if not (has_row_of_job and cost):
            row = _interval_row(_JOB[1], chosen.cost, cost_unit(plan))
            price_text = "" if paid is None else f"at {in_cents(paid.text)}"
            yield row._replace(beside=price_text if len(price_text) < COLUMNS[3] else price_text.partition("/")[0])
    for name, unit in facts.further.items():
        if np.isfinite(facts.predicted[name]):
            yield _interval_row(name, Interval.named(facts.predicted, name), unit)


def cost_of(growth: GrowthCounts, value: Interval) -> tuple[Interval, str] | None:
    """Return what a million samples or a job cost, with the unit; None without a price or the work of a step."""
    if growth.costs is None or growth.price is None:
        return None
    _, cost = growth.costs
    multiple, plain = in_multiples(growth.sample)
    per = with_article(growth.sample) if growth.whole else f"per {MILLIONS[multiple][0]} {plain}"
    ends = Interval(cost, cost * value.lower / value.value, cost * value.upper / value.value)
    return ends, f"{growth.price.currency} {per}".strip()


def _verdict_and_next_step(answer: Answer, width: int) -> Iterator[Text]:
    """Yield the verdict with its reason, what such forecasts were worth elsewhere, and what to do next."""
    likeliest, facts = answer.answers[0], answer.facts
    plan = None if facts is None else facts.plan
    if plan is not None and (plan.best is None or plan.breaks):
        # The rows do not show that a limit is broken.
        yield from (Text(line, style=f"bold {COLORS[BLIND]}") for line in wrap(plan_sentence(plan), width))
    elif plan is not None and (kept_text := plan_line(plan)):
        yield from (Text(line) for line in wrap(f"{MEASURED} {kept_text}", width))
    if fits := likeliest.texts.get("fits", ""):
        yield Text(f"{MEASURED} {fits}", style="bold")
    if facts is not None and facts.split is not None:
        yield Text.assemble(("★ layout", "bold"), f"  {split_line(facts.split)}")
    if answer.measured:
        yield Text(f"{MEASURED} {answer.measured.rstrip('.')}")
    if answer.measured and facts is not None and facts.measured is not None:
        (run, _), ends = facts.measured, facts.expected.value
        if not ends.lower <= run.value <= ends.upper:
            yield Text("  which lies outside the interval: the other runs let expect another value", style="bold")
    if facts is not None and (fails := fits_text(facts.expected.fits)):
        yield Text(f"{MARKS[BLIND]} {fails}", style=f"bold {COLORS[BLIND]}")
    else:
        mark = f"{MARKS[likeliest.verdict]} {likeliest.verdict}"
        reason_line, *further_lines = wrap(verdict_line(likeliest.reason), width - len(mark) - 2) or [""]
        yield Text.assemble((mark, f"bold {COLORS[likeliest.verdict]}"), "  ", reason_line)
        yield from (Text(f"  {line}") for line in wrap(" ".join(further_lines), width - 2))
    if answer.others:
        # Of one column, which the head of the card names, the levels alone.
        columns = {line.partition("=")[0] for line in answer.others}
        is_one = len(columns) == 1 and all(line.partition(": ")[0].count("=") == 1 for line in answer.others)
        lines = "; ".join(line.partition("=")[2] if is_one else line for line in answer.others)
        short = re.sub(r" \([^()]*; [a-z-]+\)", "", lines) if len(answer.others) > 1 else lines
        yield Text.assemble(("  other series", "bold"), "  ", short)
    if facts is not None:
        if doubt := doubted_efficiency(facts.growth):
            yield from (Text(f"  {line}") for line in wrap(f"such an efficiency is {doubt}", width - 2))
        earlier = (note for note in answer.notes if note.startswith(EARLIER))
        if worth := next(earlier, record_line(facts)):
            yield Text("  " + worth)
    if answer.requested or answer.topics:
        yield from lacking_of(answer)
    if facts is not None and facts.growth.assumption and facts.expected.value.value > LONGEST_STEP:
        yield Text.assemble(("? work", "bold"), "  each device is taken to keep its own; of one job: --scaling job")
    yield from (Text.assemble(("? not read", "bold"), "  ", sentence) for sentence in answer.unread)
    if facts is not None and (step := next_line(facts)):
        yield Text.assemble(("→ next", "bold"), "  ", step)


def lacking_of(answer: Answer) -> Iterator[Text]:
    """Yield what is asked for and not answered, with what gives it, a line each."""
    yield from (Text.assemble((f"? {name}", "bold"), "  ", why) for name, why in answer.lacks)


def _picture(curve: Curve, width: int, rows: int, axis_unit: str, scale: float) -> list[Text]:
    """Return lines with the measured points and the predicted band on logarithmic axes; none without what draws it."""
    if find_spec("uniplot") is None or len(curve.counts) < 2:
        return []
    from uniplot import plot_to_string

    # Left of the band stand the labels and `┤`; two columns at the right stay free.
    columns = width - COLUMNS[0] - 3
    log_counts = np.log2(curve.counts)
    values, lower, upper = np.log([interval.ends for interval in curve.values]).T
    measured = np.log([value for _, value in curve.measured])
    least, most = np.min([*lower, *measured]), np.max([*upper, *measured])
    height = max(most - least, 1e-9)  # above zero also of a flat band
    marked = {*(count for count, _ in curve.measured), curve.counts[0], curve.counts[-1]}
    shares_of_width = {n: (np.log2(n) - log_counts[0]) / (log_counts[-1] - log_counts[0]) for n in marked}
    column_of = {n: round(float(share * (columns - 1))) for n, share in shares_of_width.items()}
    bounds = {"x_min": log_counts[0], "x_max": log_counts[-1], "y_min": least, "y_max": most}
    bare_axes = {"x_gridlines": [], "y_gridlines": [], "x_labels": False, "y_labels": False}
    drawn = plot_to_string(
        xs=[log_counts] * 3,
        ys=[lower, upper, values],
        lines=True,
        color=["cyan", "cyan", "blue"],
        character_set="braille",
        width=columns,
        height=rows,
        **bounds,
        **bare_axes,
    )
    framed = [line for line in drawn.splitlines() if line.startswith("│")]
    canvas = [text[1 : text.plain.rindex("│")] for text in map(Text.from_ansi, framed)][:rows]
    for (count, _), log_value in zip(curve.measured, measured, strict=True):
        place = column_of[count]
        row = min(rows - 1, int((most - log_value) / height * rows))
        line = canvas[row]
        if 0 <= place < len(line):
            canvas[row] = Text.assemble(line[:place], (MEASURED, "bold red"), line[place + 1 :])
    # In the unit in which the row of the answer has it.
    ends = (scale * np.exp([most, least])).tolist()
    _, top, bottom, unit = texts_in_unit(scale * curve.values[-1].value, *ends, unit=axis_unit)
    sides = [top, *[""] * (rows - 2), bottom]
    if rows > 2:
        sides[1] = unit or curve.name
    lines = [
        Text.assemble((f"{side[: COLUMNS[0]].rjust(COLUMNS[0])}┤", "dim"), line)
        for side, line in zip(sides, canvas, strict=True)
    ]
    return [*lines, _axis(column_of, columns, f"{MEASURED} measured" if curve.measured else "")]


def _axis(column_of: Mapping[float, int], width: int, legend: str) -> Text:
    """Return the axis of the counts, each written at its column where there is room, the largest first."""
    cells = [" "] * width
    for count in sorted(column_of, reverse=True):
        text = setting_text(count)
        start = max(0, min(column_of[count], width - len(text)))
        if all(cell == " " for cell in cells[max(0, start - 2) : start + len(text) + 2]):
            cells[start : start + len(text)] = text
    return Text(legend.ljust(COLUMNS[0]) + "└" + "".join(cells).rstrip(), style="dim")
