"""What an answer is made of: numbers with names about a fitted model at one configuration, without words."""

import math
import re
from collections.abc import Callable, Mapping, Sequence
from functools import cached_property, partial
from numbers import Real
from typing import Any, ClassVar, Literal, Self

from msgspec import Struct
from msgspec.structs import asdict, replace

from genperf.errors import GenperfError


def check_interval(interval: float) -> None:
    """Refuse a nominal coverage that no interval has."""
    if not (isinstance(interval, Real) and 0.0 < interval < 1.0):
        raise GenperfError(f"the interval must lie between 0 and 1, not {interval}", hint="--interval 0.9")


def ends_of(interval: float) -> tuple[float, float]:
    """Return the levels of the two quantiles between which an interval of some nominal coverage lies."""
    check_interval(interval)
    tail = (1.0 - interval) / 2.0
    return tail, 1.0 - tail


#: Signs and letters of money beside a price.
CURRENCY_SIGN = r"R\$|[$€£¥₽₹₩₺元円원]|(?<![^\W\d_])(?:zł|kr|kč)(?![^\W\d_])"
CURRENCY = rf"{CURRENCY_SIGN}|[A-Z]{{3}}"
#: Relative narrowing below which no run is worth its name. Half and double change no answer
#: (experiments/results/settings.md).
NOTICEABLE = 0.05
#: Share of a step from which on its measured parts are all of it.
MAKE_UP = 0.9
#: What stands behind the name of a quantity, of its value and of the ends of its interval.
ENDS = ("", "_lower", "_upper")


class Interval(Struct, frozen=True):
    """A number with its interval, whose ends may be infinite."""

    value: float
    lower: float
    upper: float

    @classmethod
    def named(cls, row: Any, name: str) -> Self:
        """Return a number of a row with the ends that stand beside it: `cost, cost_lower, cost_upper`."""
        return cls(*(float(row[f"{name}{end}"]) for end in ENDS))

    @property
    def ends(self) -> tuple[float, float, float]:
        """The number, then the ends of its interval."""
        return self.value, self.lower, self.upper

    def dividing(self, number: float) -> Self:
        """Return a number over this one, whose ends change places."""
        return type(self)(number / self.value, number / self.upper, number / self.lower)


class Expectation(Struct, frozen=True):
    """The prediction at a configuration."""

    #: The predicted quantity, its unit, and whether it is a time.
    name: str
    unit: str
    is_time: bool
    value: Interval
    #: Nominal coverage.
    interval: float
    verdict: str
    reason: str
    fits: float  #: The probability that such a run does not fail.
    #: Error on held-out measurements in %, and what was predicted from what; None where nothing was held out.
    held_out: float | None = None
    held_out_of: str = ""

    @property
    def fails(self) -> bool:
        """Whether such a run most likely fails."""
        return self.fits < 0.5


class Stage(Struct, frozen=True):
    """A count of workers on the way to a configuration, and what is predicted there."""

    count: float
    value: float  #: The predicted value.
    rate: float | None  #: Samples a second, or whole jobs a second; None where the work of a step is not known.
    efficiency: Interval | None  #: Work done per second and worker, relative to the smallest count.
    machines: float  #: What is paid for.
    #: Of one sample, in machine-seconds, or in money where there is a price; None where the work is not known.
    cost: float | None = None


class Paid(Struct, frozen=True):
    """A price: what it is for, and how it was given."""

    per_second: float
    text: str
    per: str | None = None  #: The column, field's name or formula that counts it; the workers where None.

    @property
    def currency(self) -> str:
        """The sign or the letters of the money, as they were given: `€` of `2€/h`."""
        return "".join(re.findall(CURRENCY, self.text))


class GrowthCounts(Struct, frozen=True):
    """Counts of workers side by side: the smallest, the one that growth begins at, and that of the configuration."""

    #: The column that counts the workers, and that of what is paid for.
    name: str
    paid_name: str
    smallest: Stage
    start: Stage
    target: Stage
    #: What a rate counts: images, samples; or the whole job in the singular where all share one amount of work.
    sample: str
    whole: bool
    of_steps: bool  #: Whether the time of a step means something.
    of_all_or_each: bool  #: Whether a rate was measured that may be of all workers or of each.
    timed: str = "step"  #: What a time is of: a step, an epoch or a job.
    assumption: str = ""  #: What is assumed of the work of a step, in words; empty where it is known.
    work_option: str = ""  #: The option that shows the samples of a step, where nothing does.
    gain: Interval | None = None  #: The throughput over that at the start.
    #: The cost of a further sample over that of one at the start; infinite where the throughput falls.
    marginal: Interval | None = None
    #: The probability that growing pays.
    chance: float = 0.0
    price: Paid | None = None
    peak: float | None = None  #: The count of the largest measured throughput, where a larger one was measured too.

    @property
    def grows(self) -> bool:
        """Whether the configuration has more workers than growth begins at."""
        return self.target.count > self.start.count

    @property
    def rated(self) -> bool:
        """Whether throughputs are reported: not of jobs, nor of work that is not known."""
        return self.target.rate is not None and not self.whole

    @property
    def speedup(self) -> float | None:
        """The rate of work over that of the smallest count."""
        efficiency = self.target.efficiency
        return None if efficiency is None else efficiency.value * self.target.count / self.smallest.count

    @property
    def costs(self) -> tuple[float, float] | None:
        """What a million samples, or a whole job, cost at both counts; None without a price or the work of a step."""
        if self.price is None or self.start.cost is None or self.target.cost is None:
            return None
        size = 1.0 if self.whole else 1e6
        return size * self.start.cost, size * self.target.cost

    def throughput(self, value: Interval) -> Interval | None:
        """Return the throughput at the configuration for a predicted time; None for jobs, and for unknown work."""
        if self.target.rate is None or not self.rated:
            return None
        work = self.target.rate * self.target.value
        return Interval(self.target.rate, work / value.upper, work / value.lower)


class Part(Struct, frozen=True):
    """A term of the predicted value, or several of one shape."""

    label: str
    terms: tuple[str, ...]
    share: Interval  #: Of the predicted value.


class Doubling(Struct, frozen=True):
    """By what the value is multiplied when a factor doubles, with the factors that follow it."""

    factor: str
    followers: tuple[str, ...]
    ratio: float


class Limit(Struct, frozen=True):
    """What limits a configuration: the largest parts, or the strongest factors where no part has a name."""

    #: The predicted quantity, and what is reported first of it (a throughput where one was measured).
    name: str
    reported: str
    interval: float  #: Nominal coverage.
    parts: tuple[Part, ...] = ()  #: The largest first; empty where the terms have no names of the field.
    doublings: tuple[Doubling, ...] = ()  #: The strongest first; empty where there are parts.
    counts_nodes: bool = True  #: Whether nodes count the workers: terms are then named after nodes.
    worker: str = "workers"  #: What one of the workers is called.
    #: Whether a worker computes for longer than where it was alone: the efficiency is below the computation's share.
    slowed: bool = False


class Training(Struct, frozen=True):
    """What is asked about a training."""

    tokens: float | None = None  #: How many it has.
    peak: float | None = None  #: Operations per second of a device at most (`genperf.peaks`).
    per_second: bool = False  #: Whether its tokens of a second are asked for.

    def shows(self, priced: bool) -> dict[str, str]:
        """Return the quantities that are asked about, each as the formula of its own name: see `derived_columns`."""
        tokens, peak = self.tokens is not None, self.peak is not None
        answering = {
            "tokens_per_s": tokens or peak or self.per_second,
            "days": tokens,
            "training_cost": tokens and priced,
            "mfu": peak,
        }
        return {name: name for name, is_answer in answering.items() if is_answer}

    @property
    def given(self) -> dict[str, float]:
        """The tokens and the peak by name, as formulas read them, where they are given."""
        return {name: value for name, value in (("tokens", self.tokens), ("peak", self.peak)) if value is not None}


class Plan(Struct, frozen=True):
    """How much is to be done, by when, and for how much."""

    samples: float  #: In the unit of the throughput or the batch; whole jobs where all workers share one.
    #: Seconds, and money in the unit of the price: both are kept by the upper end of the interval.
    deadline: float | None = None
    budget: float | None = None
    #: Whether it is in tokens, which the runs have to count, in steps, and whether it is the job that was timed.
    of_tokens: bool = False
    of_steps: bool = False
    of_job: bool = False
    fastest: bool = False  #: Whether the fastest count is asked for, and not the cheapest.

    @property
    def aim(self) -> Literal["total", "cost"]:
        """What is least at the count that is asked for: the time if a budget alone limits it, else the cost."""
        is_fastest = self.fastest or (self.deadline is None and self.budget is not None)
        return "total" if is_fastest else "cost"

    @property
    def is_speed(self) -> bool:
        """Whether it is the work of a second, and so a throughput."""
        return self.deadline == 1.0 and not (self.of_job or self.of_steps)

    @property
    def is_of_a_step(self) -> bool:
        """Whether it is a single step: a limit of its time."""
        return self.of_steps and self.samples == 1.0


class Choice(Struct, frozen=True):
    """A count of workers that does the work in all."""

    count: float
    #: Seconds, and money (machine-hours without a price).
    total: Interval
    cost: Interval
    verdict: str
    at: dict[str, Any] = {}  #: The whole configuration.

    def to_dict(self, name: str) -> dict[str, Any]:
        """Return it as plain values, for JSON."""
        both = {"total": self.total, "cost": self.cost}
        amounts = {f"{what}{end}": v for what, amount in both.items() for end, v in zip(ENDS, amount.ends, strict=True)}
        return {name: self.count, **amounts, "verdict": self.verdict}


class Planned(Struct, frozen=True):
    """The cheapest count that keeps a plan, and the fastest."""

    plan: Plan
    #: The column that counts the workers, the smallest and the largest count that were tried.
    name: str
    tried: tuple[float, float]
    #: What its work counts, in the singular where all workers share one amount.
    sample: str
    whole: bool
    #: What is paid for, and its price; without one the cost is in machine-hours.
    paid: str
    price: Paid | None
    interval: float  #: Nominal coverage.
    #: The cheapest and the fastest count, of those that keep the plan where there are any.
    cheapest: Choice
    fastest: Choice
    #: The probability that no other count is better by the aim of the plan; None where none keeps the plan.
    best: float | None = None
    #: Where none keeps the plan: whether each may fail, is late, is too dear.
    fails: bool = False
    late: bool = False
    dear: bool = False
    #: The machine that the question names, where it names one, as its values, and why it does not keep the plan.
    named: Choice | None = None
    named_at: tuple[tuple[str, Any], ...] = ()
    breaks: tuple[str, ...] = ()

    @property
    def sought(self) -> Choice:
        """The best count by the aim of the plan, or what comes nearest where none keeps the plan."""
        is_fastest = self.late if self.best is None else self.plan.aim == "total"
        return self.fastest if is_fastest else self.cheapest

    @property
    def chosen(self) -> Choice:
        """The machine that the question names, else the count that is sought."""
        return self.named or self.sought

    @property
    def rank(self) -> tuple[float, float]:
        """A key that sorts plans, the best first: by time or cost, whatever their aim; those that are not kept last.

        Of these the one comes first whose upper end, of the time if it is late and else of the cost, is least.
        """
        is_kept = self.best is not None and not self.breaks
        amount = float(getattr(self.chosen, self.plan.aim).value) if is_kept else float("inf")
        return amount, self.chosen.total.upper if self.late else self.chosen.cost.upper

    @property
    def numbers(self) -> dict[str, Any]:
        """The field `plan` of the JSON: the best count with its total and cost, and the count of the other aim.

        A machine that the question names stands beside, `named`; it stands alone where no count keeps the plan.
        """
        named = {} if self.named is None else {"named": {**self.named.to_dict(self.name), "breaks": [*self.breaks]}}
        if self.best is None:
            return {"plan": named or None}
        # Beside the cheapest count the fastest one is told, and beside the fastest the cheapest.
        name, other = ("fastest", self.fastest) if self.plan.aim == "cost" else ("cheapest", self.cheapest)
        return {"plan": {**self.sought.to_dict(self.name), "best": self.best, name: other.to_dict(self.name), **named}}


class NextRun(Struct, frozen=True):
    """What to measure next, so that the interval at a configuration narrows."""

    #: The configuration as it was named, and the configurations to measure: what differs from it.
    target: Mapping[str, Any]
    places: tuple[Mapping[str, Any], ...]
    now: Interval  #: The prediction there with its interval now.
    #: Relative half widths of the interval that runs narrow: now, after these runs, and the one that is enough.
    width: float
    after: float
    within: float | None = None
    #: Whether the interval is narrow enough already, whether the configuration lies beyond the data, or was measured.
    met: bool = False
    beyond: bool = False
    measured: bool = False

    @property
    def little(self) -> bool:
        """Whether the interval hardly narrows."""
        return self.after > (1.0 - NOTICEABLE) * self.width

    def differing(self, at: Mapping[str, Any], name: str) -> Self:
        """Return the configurations to measure by their count, the column `name`, and by what does not follow from it.

        Left out is what is the same in the configuration `at`, and what no question named and grows with the count.
        """
        places: list[dict[str, Any]] = []
        for place in self.places:
            different = {n: v for n, v in place.items() if n == name or v != at.get(n)}
            growing = {n for n, v in different.items() if n not in {name, *self.target} and isinstance(v, int | float)}
            grown = {n for n in growing if place[n] * at[name] == at.get(n, math.nan) * place.get(name, math.nan)}
            places.append({n: v for n, v in different.items() if n not in grown})
        return replace(self, places=tuple(places))

    def narrowed(self, value: Interval) -> Interval:
        """Return an interval as it is expected after the runs: ln of its ends over its value narrows in one ratio."""
        ratio = math.asinh(self.after) / math.asinh(self.width) if self.width > 0.0 else 1.0
        ends = (value.value * (end / value.value) ** ratio for end in (value.lower, value.upper))
        return Interval(value.value, *ends)


def growth_between(before: tuple[float, float], after: tuple[float, float]) -> float:
    """Return the devices after over those before; of nodes, where the devices stay."""
    by = 0 if before[0] != after[0] else 1
    return after[by] / before[by]


class Step(Struct, frozen=True):
    """Two counts of one series, and how the rate grew between them."""

    #: `inside` a node, from one node to the `second` (or at once to more), or `beyond` the first count of several.
    kind: Literal["inside", "second", "beyond"]
    #: Devices and nodes before and after.
    before: tuple[float, float]
    after: tuple[float, float]
    efficiency: float  #: What each device or node does after, as a part of what it did before.

    @property
    def doublings(self) -> float:
        """How often the count doubles."""
        return round(math.log2(growth_between(self.before, self.after)), 3)


class Normal(Struct, frozen=True):
    """Where an efficiency stands: fractions, but for the percentile; `low` and `high` hold 90 % of the series."""

    step: Step
    value: float
    percentile: float
    median: float
    low: float
    high: float
    series: int
    clusters: int
    judged: str  #: What the percentile means, in a word or three: `usual`, `in the lowest quarter`, `low`.
    narrowed: tuple[str, ...]  #: What the comparison was narrowed by: the number of doublings, the network, ….

    def to_dict(self) -> dict[str, Any]:
        """Return it as plain values, for JSON."""
        names = ("value", "percentile", "median", "low", "high", "series", "clusters")
        rounded = {name: round(getattr(self, name), 4) for name in names}
        return {"of": "efficiency", "step": self.step.kind, **rounded, "narrowed": list(self.narrowed)}


class AmongPublished(Struct, frozen=True):
    """Where the efficiency of a series lies among published ones."""

    placed: Normal
    #: The column of the count, and the devices that are taken for a node where nothing counts the nodes.
    count: str
    assumed: float | None
    #: What is known of the work of a step: "assumed" where nothing is and each device has the same, "total" where all
    #: devices share one amount, else empty.
    work: str
    low: bool  #: Whether a cause of it is worth looking for: it is in the lowest quarter.


class PublishedPlace(Struct, frozen=True):
    """Where a value lies among published ones, as fractions but for the percentile: the fields of the JSON."""

    of: str
    value: float | None
    percentile: float | None
    median: float
    low: float
    high: float
    runs: int
    sources: int
    among: str  #: What the counted runs have in common: `H100 runs of 3 to 15 B`.


class Exchange(Struct, frozen=True):
    """The least time of the exchange between nodes, beside what the step to several nodes cost."""

    #: Of the nominal rate, what the step to the second node used on four published clusters whose links are known: the
    #: median of the exchange over the step's cost, overlap included (`experiments/results/hints.md`).
    typical: ClassVar[float] = 0.25
    #: Seconds at the nominal rate, as `least_exchange` returns them.
    ways: dict[str, float]
    nodes: float
    message: float  #: Bytes.
    #: Seconds of a step on several nodes, and by how much it is longer than one node's, where they are known.
    step: float | None
    cost: float | None

    def to_dict(self) -> dict[str, Any]:
        """Return it as plain values, for JSON."""
        return {**self.ways, "least": min(self.ways.values()), "cost": self.cost}


class Record(Struct, frozen=True):
    """Predictions of one protocol, and of one verdict: each cluster is one vote, as the next one is one cluster."""

    #: Protocol of the published benchmark → counts over the largest measured one up to which a prediction is like its
    #: forecasts. Beyond the last no published series was judged.
    reaches: ClassVar[Mapping[str, float]] = {"near": 2.0, "far": 4.0, "farther": 8.0, "farthest": 16.0}
    longest: ClassVar[float] = max(reaches.values())
    protocol: str
    #: Empty for all.
    verdict: str
    predictions: int
    clusters: int
    coverage: float  #: In %, of 90 % intervals that held.
    #: `median_error`, `nine_in_ten`: |predicted/measured − 1| in %, of which half and nine in ten lay below.
    median_error: float
    nine_in_ten: float


class Cause(Struct, frozen=True):
    """A cause, with its probability among the causes and none, and what speaks for and against it."""

    cause: str
    probability: float
    supports: str
    against: str
    decide_by: str

    def to_dict(self) -> dict[str, Any]:
        """Return it as plain values, for JSON."""
        plain = {"for" if name == "supports" else name: value for name, value in asdict(self).items()}
        return {**plain, "probability": round(self.probability, 3)}


class Turn(Struct, frozen=True):
    """Where a curve along the count of workers turns, or that it does not."""

    what: str  #: `throughput`, `slower`, `efficiency` or `efficiency of the best`.
    count: Interval  #: The count, infinite where none was found, and the ends of its interval.
    reached: float  #: The share of the draws that turn.
    #: The column of the count, the largest one that was evaluated, and the nominal coverage.
    along: str
    upto: float
    interval: float
    timed: str  #: What a time is of: a step.
    #: Of an efficiency: the level below which it falls, and the count that it is relative to.
    level: float = math.nan
    of: float = math.nan


class Published(Struct, frozen=True):
    """How a measured series compares with published ones, what its exchange should cost, and why it is slow."""

    normal: AmongPublished | None = None
    exchange: Exchange | None = None
    #: The causes of a low efficiency, the likeliest first, with the probability that nothing is wrong.
    causes: tuple[Cause, ...] = ()
    sound: float = 0.0
    training: bool = False  #: Whether a cause was looked for.
    utilisation: PublishedPlace | None = None  #: Where the utilisation of the peak lies among published runs.

    @property
    def numbers(self) -> dict[str, Any]:
        """What is known, as the JSON names it: `normal`, `exchange`, `utilisation`, `causes`."""
        numbers: dict[str, Any] = {} if self.normal is None else {"normal": self.normal.placed.to_dict()}
        if self.exchange is not None:
            numbers["exchange"] = self.exchange.to_dict()
        if self.utilisation is not None:
            numbers["utilisation"] = asdict(self.utilisation)
        return {**numbers, **({"causes": [cause.to_dict() for cause in self.causes]} if self.training else {})}


class Curve(Struct, frozen=True):
    """Predictions along the count of workers, for a picture: what is reported first of each, and the measured runs."""

    along: str
    #: What is shown and its unit.
    name: str
    unit: str
    #: Nominal coverage.
    interval: float
    counts: tuple[float, ...]
    values: tuple[Interval, ...]
    measured: tuple[tuple[float, float], ...]


class StepPart(Struct, frozen=True, forbid_unknown_fields=True):
    """A measured part of a step, such as the exchange, with its share of the step at two counts."""

    column: str
    #: The least and the largest count with a run, and the share there, the median of the runs.
    counts: tuple[float, float]
    shares: tuple[float, float]
    levels: dict[str, str] = {}  #: The levels of the group columns of these runs; none where the table has no groups.


def are_whole(parts: Sequence[StepPart]) -> bool:
    """Tell whether the measured parts of one series are all of a step at the largest count."""
    return bool(sum(part.shares[1] for part in parts) > MAKE_UP)


class BestSplit(Struct, frozen=True):
    """The ways in which devices are split best, of all that multiply to them, and the micro-batch where it varied."""

    ways: Mapping[str, float]
    #: How many splits there are, whether this one can be relied on, and the share of draws in which it is the best of
    #: ten.
    splits: int
    trusted: bool
    chance: float


def _same(value: Any) -> Any:
    """Return a value as it is."""
    return value


class Facts(Struct, frozen=True, eq=False, dict=True):
    """What is known of one configuration: numbers with names, each computed once."""

    #: The configuration, the factors of it that were named, and those that vary and follow no named one.
    at: Mapping[str, Any]
    given: frozenset[str]
    taken: Mapping[str, Any]
    #: The prediction, and the columns of `predict` at the configuration.
    expected: Expectation
    predicted: Mapping[str, Any]
    #: Where the runs are from, how many they are, and the smallest and largest count of workers among them.
    source: str
    runs: int
    counts: tuple[float, float]
    growth: GrowthCounts  #: What growing to the configuration brings.
    #: The measured counts along the workers, each with what is reported first: a throughput where these are known.
    runs_along: tuple[tuple[float, float], ...]
    #: What not every answer shows, computed once where one does: the prediction along the workers, what to measure
    #: next or why nothing is proposed, where more workers do less, what limits it, how the series compares.
    curve: Callable[[], Curve]
    advice: Callable[[], tuple[NextRun | None, str]]
    turn: Callable[[], Turn | None]
    limit: Callable[[], Limit]
    published: Callable[[], Published]
    #: The model that predicts, and the columns of the configuration: two of one model are compared in its joint draws.
    predicted_by: Callable[[], tuple[Any, Mapping[str, Any]]]
    record: Record | None  #: Predictions of `auto` on published series that were judged like this one.
    unmeasured: Mapping[str, str]  #: Levels that no measured run shows.
    can_fail: bool  #: Whether some run of the table failed.
    #: The `workers` and the `nodes` of the configuration, of these what the columns show.
    machines: Mapping[str, float]
    #: What is asked about a training; the quantities that follow from the prediction, each with its ends.
    training: Training
    quantities: Mapping[str, float]
    further: Mapping[str, str]  #: The units of further predicted quantities, by name.
    #: The median of the runs at the configuration, their ends, and how many they are; None where none was measured.
    measured: tuple[Interval, int] | None = None
    plan: Planned | None = None
    split: BestSplit | None = None  #: Where the best split of the devices is asked for, how it stands among the others.
    falls: Turn | None = None  #: Where the efficiency falls below the level that is asked about.
    parts: tuple[StepPart, ...] = ()  #: The measured parts of a step.
    series: Mapping[str, str] = {}  #: The named levels of the series that is meant, where the table has several.
    #: The column of what is no step of workers: its name, its unit, and how much of it a second is.
    column: tuple[str, str, float] | None = None

    def __reduce__(self) -> tuple[Any, ...]:
        # What is computed once it is asked for is pickled, or copied, as it is computed.
        values = (getattr(self, name) for name in self.__struct_fields__)
        return Facts, tuple(partial(_same, value()) if callable(value) else value for value in values)

    @cached_property
    def start(self) -> Stage:
        """The count that growth begins at, with what was measured there in the place of what is predicted."""
        growth, start = self.growth, self.growth.start
        measured, predicted = dict(self.runs_along).get(start.count), start.rate if growth.rated else start.value
        if measured is None or not predicted:
            return start
        # The measured time over the predicted one.
        ratio = predicted / measured if growth.rated else measured / predicted
        efficiency = start.efficiency
        if efficiency is not None and start.count > growth.smallest.count:
            efficiency = replace(efficiency, value=efficiency.value / ratio)
        rate = None if start.rate is None else start.rate * (1.0 / ratio)
        cost = None if start.cost is None else start.cost * ratio
        return replace(start, value=start.value * ratio, rate=rate, cost=cost, efficiency=efficiency)

    @property
    def place(self) -> dict[str, Any]:
        """The configuration as it was named: its factors, the count, and the series."""
        named = {n: v for n, v in self.at.items() if n in self.given or n == self.growth.name}
        return {**named, **self.series}
