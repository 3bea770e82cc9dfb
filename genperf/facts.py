"""What an answer is made of: numbers with names about a fitted model at one configuration, without words."""

from dataclasses import dataclass

from genperf.errors import GenperfError


def check_interval(interval: float) -> None:
    """Refuse a nominal coverage that no interval has."""
    if not 0.0 < interval < 1.0:
        raise GenperfError(f"the interval must lie between 0 and 1, not {interval}", hint="--interval 0.9")


def ends_of(interval: float) -> tuple[float, float]:
    """Return the levels of the two quantiles between which an interval of some nominal coverage lies."""
    check_interval(interval)
    tail = (1.0 - interval) / 2.0
    return tail, 1.0 - tail


#: What stands behind the name of a quantity, of its value and of the ends of its interval.
ENDS = ("", "_lower", "_upper")


@dataclass(frozen=True)
class Interval:
    """A number with its interval, whose ends may be infinite."""

    value: float
    lower: float
    upper: float

    @property
    def ends(self) -> tuple[float, float, float]:
        """The number, then the ends of its interval."""
        return self.value, self.lower, self.upper


@dataclass(frozen=True)
class Expectation:
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
    #: The probability that such a run does not fail.
    fits: float
    #: Error on held-out measurements in %, and what was predicted from what; None where nothing was held out.
    held_out: float | None = None
    held_out_of: str = ""


@dataclass(frozen=True)
class Stage:
    """A count of workers on the way to a configuration, and what is predicted there."""

    count: float
    #: The predicted value.
    value: float
    #: Samples a second, or whole jobs a second; None where the work of a step is not known.
    rate: float | None
    #: Work done per second and worker, relative to the smallest count.
    efficiency: Interval | None
    #: What is paid for.
    machines: float
    #: Of one sample, in machine-seconds, or in money where there is a price; None where the work is not known.
    cost: float | None = None


@dataclass(frozen=True)
class Paid:
    """A price: what it is for, and how it was given."""

    per_second: float
    text: str
    #: The column, field's name or formula that counts it; the workers where None.
    per: str | None = None


@dataclass(frozen=True)
class Growth:
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
    #: Whether the time of a step means something.
    of_steps: bool
    #: The throughput over that at the start.
    gain: Interval | None = None
    #: The cost of a further sample over that of one at the start; infinite where the throughput falls.
    marginal: Interval | None = None
    #: The probability that growing pays.
    chance: float = 0.0
    price: Paid | None = None
    #: Counts on the way to the configuration, which is the last: a quarter, a half.
    beside: tuple[Stage, ...] = ()
    #: The count of the largest measured throughput, where a larger one was measured too.
    peak: float | None = None

    @property
    def grows(self) -> bool:
        """Whether the configuration has more workers than growth begins at."""
        return self.target.count > self.start.count

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
        """Return the throughput at the configuration for a predicted time; None of jobs, and of work not known."""
        if self.target.rate is None or self.whole:
            return None
        work = self.target.rate * self.target.value
        return Interval(self.target.rate, work / value.upper, work / value.lower)


@dataclass(frozen=True)
class Part:
    """A term of the predicted value, or several of one shape."""

    label: str
    terms: tuple[str, ...]
    #: Of the predicted value.
    share: Interval


@dataclass(frozen=True)
class Doubling:
    """By what the value is multiplied when a factor doubles, with the factors that follow it."""

    factor: str
    followers: tuple[str, ...]
    ratio: float


@dataclass(frozen=True)
class Limit:
    """What limits a configuration: the largest parts, or the strongest factors where no part has a name."""

    #: The predicted quantity, and what is reported first of it (a throughput where one was measured).
    name: str
    reported: str
    #: Nominal coverage.
    interval: float
    #: The largest first; empty where the terms have no names of the field.
    parts: tuple[Part, ...] = ()
    #: The strongest first; empty where there are parts.
    doublings: tuple[Doubling, ...] = ()
    #: Whether nodes count the workers: terms are then named after nodes.
    counts_nodes: bool = True
    #: What one of the workers is called.
    worker: str = "workers"


@dataclass(frozen=True)
class Training:
    """What is asked about a training."""

    #: How many it has.
    tokens: float | None = None
    #: Operations per second of a device at most (`genperf.peaks`).
    peak: float | None = None

    def shows(self, priced: bool) -> dict[str, str]:
        """Return the quantities of its answers, for `derived_columns`; none where nothing is asked.

        Examples
        --------
        >>> Training(tokens=3e11).shows(priced=True)
        {'tokens_per_s': 'tokens_per_s', 'days': 'days', 'training_cost': 'training_cost'}
        """
        names = ["tokens_per_s"] if self.given else []
        if self.tokens is not None:
            names += ["days", "training_cost"] if priced else ["days"]
        if self.peak is not None:
            names.append("mfu")
        return {name: name for name in names}

    @property
    def given(self) -> dict[str, float]:
        """What formulas read of it."""
        return {name: value for name, value in (("tokens", self.tokens), ("peak", self.peak)) if value is not None}
