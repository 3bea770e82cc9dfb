"""What to expect, how sure that is, whether growing pays, how many machines the work takes, and the next run."""

import re
from collections.abc import Mapping, Sequence

import numpy as np

from genperf.facts import Choice, Expectation, GrowthCounts, Interval, NextRun, Plan, Planned, Training, Turn
from genperf.vocabulary.headers import RELATIVE, UNNAMED, in_multiples
from genperf.vocabulary.names import counted_by, counts_devices, noun_of
from genperf.words.limit import term_in_words
from genperf.words.numbers import (
    LEAST_DECIDED,
    LETTERS,
    MOST_EFFICIENCY,
    WORDS_LEAST_SHARE,
    count_text,
    ends_text,
    error_text,
    interval_note,
    join_values,
    million_of,
    prose,
    rate_unit,
    singular,
    suited_unit,
    texts_in_unit,
    three_digits,
    whole_percent,
    with_article,
    with_unit,
)
from genperf.words.verdict import BLIND, LIKELY_TO_FIT, fits_text, trust_text

#: Times as many workers from which on a rate that stays the same may be that of each: fewer may share a slow link. A
#: guess.
LEAST_GROWN = 4.0
#: By how much the rate of each worker may fall there. A guess.
MOST_SLOWED = 2.0
#: Of a plan that no count keeps.
NONE_ENOUGH = "no count is enough"
#: What is least at the count that a plan asks for → what that count is called.
SOUGHT = {"cost": "cheapest", "total": "fastest"}
#: Which limit of a plan a machine breaks → how, in a sentence.
BREAKS = {"late": ("take", "longer"), "too dear": ("cost", "more")}
#: The time that a price is for, as it is given → as it is printed.
HOURS = {"s": "second", "min": "minute", "h": "hour", "d": "day"}
#: What a point is → what turns, what it then does, what it does not, and from where.
POINTS = {
    "efficiency": ("efficiency, 100 % at {of},", "falls", "does not fall", " below {level:g} %"),
    "efficiency of the best": ("efficiency, 100 % at its best, {of},", "falls", "does not fall", " below {level:g} %"),
    "slower": ("{timed}", "gets slower", "does not get slower", ""),
    "throughput": ("throughput", "falls", "does not fall", ""),
}
#: What stands before the count at which it happens.
BEYOND = {"efficiency": "at", "efficiency of the best": "at", "slower": "beyond", "throughput": "beyond"}


def expect_sentence(expected: Expectation, growth: GrowthCounts, places: str, further: Sequence[str] = ()) -> str:
    """Return the prediction: a throughput where the work of a step is known, with speed-up and efficiency."""
    middle = expected.value.value
    plain = " ".join(texts_in_unit(middle)) if expected.is_time else with_unit(three_digits(middle), expected.unit)
    if not expected.is_time:
        return prose(f"expect {with_article(expected.name)} of {plain} at {places}", *further)
    efficiency = "the efficiency is not known"
    if growth.target.efficiency is not None:
        text = f"the efficiency is {percent_text(growth.target.efficiency, expected.interval)}"
        efficiency = ", which is ".join(filter(None, (text, doubted_efficiency(growth))))
    if growth.target.rate is None:
        step = f"expect a {'step' if growth.of_steps else 'time'} of {plain} at {places}"
        question = f"the work of a step: {growth.work_option}"
        if growth.target.efficiency is None:
            return prose(step, *further, f"throughput and efficiency need {question}")
        return prose(step, growth.assumption, efficiency, *further, f"the throughput needs {question}")
    smallest = count_text(growth.smallest.count, growth.name)
    grows = growth.target.count > growth.smallest.count
    speedup = three_digits(growth.speedup or 1.0)
    if growth.whole:
        text = f"expect {with_article(growth.sample)} of {plain} at {places}"
        text += f": {speedup} x as fast as on {smallest}" if grows else ""
        return prose(text, efficiency if grows else "", *further)
    rate = with_unit(*texts_in_unit(growth.target.rate, unit=rate_unit(growth.sample)))
    text = f"expect {'a throughput of ' if growth.sample == UNNAMED else ''}{rate} at {places}"
    text += f": {speedup} x that of {smallest}" if grows else ""
    step = f"a step takes {plain}" if growth.of_steps else ""
    return prose(text, "; ".join(filter(None, (efficiency if grows else "", step))), *further)


def doubted_efficiency(growth: GrowthCounts) -> str:
    """Return why an efficiency may be wrong: it is far above 100 %, or the rate may be that of each device; else empty.

    A rate that hardly changes along the devices is likely that of each: its speed-up then is the efficiency.
    """
    efficiency = growth.target.efficiency
    if efficiency is not None and efficiency.value > MOST_EFFICIENCY:
        return f"hardly so: the runs show little of what {noun_of(growth.name)} alone change"
    has_grown = growth.target.count >= LEAST_GROWN * growth.smallest.count
    may_be_of_each = growth.of_all_or_each and growth.sample != RELATIVE and counts_devices(growth.name)
    speedup = (growth.speedup if may_be_of_each and has_grown else None) or 0.0
    if not 1.0 / MOST_SLOWED < speedup < MOST_EFFICIENCY:
        return ""
    device = singular(growth.name)
    header = f"its header then ends in '/{device}'"
    return f"wrong if the rate is of each {device} ({header}): it is {100 * speedup:.0f} % then"


def percent_text(share: Interval, interval: float) -> str:
    """Return a share in per cent with its interval: `62 % (90 %: 51 to 70 %)`."""
    middle, low, high = map(whole_percent, share.ends)
    return f"{middle} %{interval_note(interval, low, high, middle, '%')}"


def sure_sentence(expected: Expectation, growth: GrowthCounts, worth: str = "") -> str:
    """Return how sure a prediction is: its interval, the held-out error, the verdict with its reason, and its `worth`.

    `worth` is what forecasts like this one were worth on published series.
    """
    # Reasons are one text: the first belongs to the verdict, the others are sentences.
    verdict_reason, *reasons = expected.reason.split("; ")
    rate = growth.throughput(expected.value)
    if rate is not None:
        _, low, high, unit = texts_in_unit(*rate.ends, unit=rate_unit(growth.sample))
    elif expected.is_time:
        _, low, high, unit = texts_in_unit(*expected.value.ends)
    else:
        _, low, high, unit = *map(three_digits, expected.value.ends), expected.unit
    # The verdict's reason may report the held-out error already: `predicting workers=16 from smaller scales …`.
    is_reported = f"predicting {expected.held_out_of.partition(' predicted ')[0]} from" in expected.reason
    held_out = "" if is_reported else "nothing could be held out to test it"
    if expected.held_out is not None and not is_reported:
        held_out = f"the held-out error is {error_text(expected.held_out, 1)} ({expected.held_out_of})"
    at_best = "if it does not, it lies" if expected.fails else "a new run lies"
    # Nobody relies on the time of a run that fails.
    trusted = [] if expected.fails else [trust_text(expected.verdict, verdict_reason), *reasons]
    return prose(
        fits_text(expected.fits),
        f"{at_best} between {low} and {with_unit(high, unit)} ({100 * expected.interval:g} % interval)",
        held_out,
        *trusted,
        worth,
    )


def price_text(price: str, name: str) -> str:
    """Return a price with its unit: `2 per gpu-hour` of `2/h` and gpus, `2/h for each of 8*nodes` of a formula."""
    number, _, time = in_cents(price).partition("/")
    if time not in HOURS or not (name.isidentifier() or counted_by(name)):
        return f"{price} for each of {name}"
    # A currency behind the number stands apart, as in `2 $`.
    return f"{re.sub('(?<=[0-9])(?![0-9.,])(?=.)', ' ', number)} per {singular(name)}-{HOURS[time]}"


def in_cents(price: str) -> str:
    """Return a price with no more digits than cents, or three: `4.1/h` of `4.09625/h`."""
    digits = re.match(r"\D*(\d+\.\d{3,})", price)
    if digits is None:
        return price
    amount = float(digits[1])
    return price.replace(digits[1], f"{amount:.2f}".rstrip("0") if amount > 1.0 else three_digits(amount))


def prices_text(prices: Sequence[str]) -> str:
    """Return the prices of some groups, each once: `2 per gpu-hour or 4 per gpu-hour, by the runs`."""
    different = list(dict.fromkeys(prices))
    return " or ".join(different) + (", by the runs" if len(different) > 1 else "")


def pays_judged(growth: GrowthCounts, interval: float) -> str:
    """Return whether growing pays, as far as the data decide it: `pays`, `likely pays`, `undecided`, …."""
    marginal = growth.marginal
    if marginal is None:
        return "is not known to pay"
    if growth.chance >= interval:
        return "pays"
    if growth.chance <= 1.0 - interval:
        return "hardly pays" if marginal.value != float("inf") else "does not pay"
    if growth.chance >= 1.0 - LEAST_DECIDED:
        return "likely pays"
    return "likely does not pay" if growth.chance <= LEAST_DECIDED else "undecided"


def pays_text(growth: GrowthCounts, interval: float) -> str:
    """Return whether growing pays: `growing from 8 to 64 gpus likely pays (a chance of 80 % that it pays)`."""
    start, target = (count_text(stage.count, growth.name) for stage in (growth.start, growth.target))
    if "=" not in target:
        start = f"{growth.start.count:g}"
    judged, growing = pays_judged(growth, interval), f"growing from {start} to {target}"
    if judged == "undecided":
        return f"whether {growing} pays is undecided (a chance of {100 * growth.chance:.0f} %)"
    chance = f" (a chance of {100 * growth.chance:.0f} % that it pays)" if judged.startswith("likely") else ""
    return f"{growing} {judged}{chance}"


def pays_sentence(growth: GrowthCounts, expected: Expectation, in_plan: bool = False) -> str:
    """Return what a further sample costs, in money where there is a price, else in times one at the smaller scale."""
    if not expected.is_time:
        return f"a price is paid for time, and this predicts {expected.name}" if growth.price else ""
    start, target = growth.start, growth.target
    small = count_text(start.count, growth.name)
    if target.machines <= start.machines:
        return money_text(growth, expected, in_plan)
    if growth.marginal is None:
        ratio = target.value * target.machines / (start.value * start.machines)
        unit_name = singular(growth.paid_name)
        return prose(
            "whether it pays needs the work of a step (--work)",
            f"a step uses {three_digits(ratio)} x the {unit_name}-seconds",
        )
    sample = growth.sample if growth.whole else in_multiples(growth.sample)[1].removesuffix("s")
    if growth.marginal.upper == float("inf") and growth.gain is not None:
        note = _ratio_note(growth.gain, expected.interval)
        further = f"the throughput is {three_digits(growth.gain.value)} x that at {small}{note}"
    else:
        note = _ratio_note(growth.marginal, expected.interval)
        further = f"a further {sample} costs {three_digits(growth.marginal.value)} x one at {small}{note}"
    return prose(pays_text(growth, expected.interval), further, money_text(growth, expected, in_plan))


def money_text(growth: GrowthCounts, expected: Expectation, in_plan: bool) -> str:
    """Return what a million samples, or a job, cost at the start and here, with the price unless a plan tells it.

    There is nothing without a price.
    """
    start, target, price = growth.start, growth.target, growth.price
    if price is None:
        return ""
    if growth.costs is None:
        needed = "what the throughput counts" if growth.sample == UNNAMED else "the work of a step (--work)"
        return f"what it costs needs {needed}"
    cost_at_start, cost = growth.costs
    low, high = (three_digits(cost * end / target.value) for end in (expected.value.lower, expected.value.upper))
    note = interval_note(expected.interval, low, high, three_digits(cost))
    what = f"{with_article(growth.sample)} costs" if growth.whole else f"{million_of(growth.sample)} cost"
    large, cost_text = count_text(target.count, growth.name), with_unit(three_digits(cost), price.currency)
    if growth.grows:
        before = f"{with_unit(three_digits(cost_at_start), price.currency)} at {count_text(start.count, growth.name)}"
        text = f"{what} {before} and {cost_text} at {target.count:g}{note}"
    else:
        text = f"{what} {cost_text} at {large}{note}"
    return prose(text, "" if in_plan else f"the price is {price_text(price.text, growth.paid_name)}")


def training_sentence(training: Training, numbers: Mapping[str, float], planned: Planned | None = None) -> str:
    """Return how long the tokens of a training take unless a plan says it, their cost, and the use of a device."""
    in_plan = planned is not None and planned.plan.of_tokens
    # A plan of tokens has a sentence of its own: this one then adds the use of a device, where its peak is given.
    if "tokens_per_s" not in numbers or (in_plan and training.peak is None):
        return ""
    text = f"{_amount(numbers['tokens_per_s'])} tokens/s"
    if training.tokens is not None and not in_plan:
        seconds = (86400.0 * days for days in Interval.named(numbers, "days").ends)
        middle, least, most, unit = texts_in_unit(*seconds)
        text = f"{_amount(training.tokens)} tokens take {middle} {unit} ({least} to {most} {unit}) at {text}"
        if "training_cost" in numbers:
            text += f", and cost {_amount(numbers['training_cost'])}"
    return f"{text}; MFU is {100.0 * numbers['mfu']:.0f} %" if training.peak is not None else text


def _amount(value: float) -> str:
    """Return a number as people write it: 1.5T, 300B, 80,500."""
    for size, letter in LETTERS:
        if value >= size:
            return f"{three_digits(value / size)}{letter}"
    return three_digits(value)


def _ratio_note(value: Interval, interval: float) -> str:
    """Return the interval of a ratio in brackets: ` (90 %: 1.2 to no end)` where its upper end is infinite."""
    low, high = (three_digits(v) if v != float("inf") else "no end" for v in (value.lower, value.upper))
    return interval_note(interval, low, high, three_digits(value.value))


def turn_sentence(turn: Turn) -> str:
    """Return where the efficiency falls below a level, or where more workers stop to help."""
    subject, falls, stays, where = POINTS[turn.what]
    subject = subject.format(timed=with_article(turn.timed), of=count_text(turn.of, turn.along))
    where = where.format(level=100 * turn.level)
    upto = f"up to {count_text(turn.upto, turn.along)}"
    chance = f"(a chance of {100 * turn.reached:.0f} %"
    if _is_decided(turn):
        likely = "" if np.isfinite(turn.count.upper) else "likely "
        return f"{subject} {likely}{falls}{where} {BEYOND[turn.what]} {count_with_note(turn.count, turn)}"
    if turn.reached < WORDS_LEAST_SHARE:
        return f"{subject} {stays}{where} {upto}"
    if turn.reached <= LEAST_DECIDED:
        return f"{subject} likely {stays}{where} {upto} {chance} that it does)"
    if turn.reached >= 1.0 - LEAST_DECIDED:
        # Most of the possible curves turn, each at a count of its own, so that the one in their middle need not.
        return f"{subject} likely {falls}{where} at some count {upto} {chance}), though the central forecast does not"
    central = ""
    if np.isfinite(turn.count.value):
        central = f": the central forecast does {BEYOND[turn.what]} {count_text(turn.count.value, turn.along)}"
    return f"whether {subject} {falls}{where} at some count {upto} is undecided {chance}){central}"


def turn_short(turn: Turn) -> str:
    """Return the count of a turn in a few words, or how far there is none."""
    if _is_decided(turn):
        likely = "" if np.isfinite(turn.count.upper) else "likely "
        return likely + count_text(turn.count.value, turn.along)
    if turn.reached <= LEAST_DECIDED:
        return f"none up to {count_text(turn.upto, turn.along)}"
    return "undecided" if turn.reached < 1.0 - LEAST_DECIDED else f"likely below {count_text(turn.upto, turn.along)}"


def overlap_sentence(before: str, after: str, turn: Turn) -> str:
    """Return from where on one branch of an overlap takes longer than another, or that one does at every count."""
    if before != after and np.isfinite(turn.count.upper):
        return f"of what overlaps, '{after}' takes longer than '{before}' from {count_with_note(turn.count, turn)} on"
    return _stays(f"'{before}'", "the longest of what overlaps", turn)


def crossover_sentence(before: str, after: str, turn: Turn) -> str:
    """Return where the largest term changes from one to another, or that it does not where both are the same."""
    term_before, term_after = map(term_in_words, (before, after))
    if before != after and np.isfinite(turn.count.upper):
        return f"the largest term changes from {term_before} to {term_after} at {count_with_note(turn.count, turn)}"
    return _stays(term_before, "the largest term", turn)


def _stays(subject: str, what: str, turn: Turn) -> str:
    """Return whether a `subject` stays `what` it is, such as the largest, up to the last count: surely or likely."""
    stays, upto = f"stays {what}", f"up to {count_text(turn.upto, turn.along)}"
    if turn.reached < WORDS_LEAST_SHARE:
        return f"{subject} {stays} {upto}"
    chance = f"(a chance of {100 * turn.reached:.0f} % that it does not)"
    if LEAST_DECIDED < turn.reached < 1.0 - LEAST_DECIDED:
        return f"whether {subject} {stays} {upto} is undecided {chance}"
    likely = stays if turn.reached <= LEAST_DECIDED else f"does not stay {what}"
    return f"{subject} likely {likely} {upto} {chance}"


def _is_decided(turn: Turn) -> bool:
    """Tell whether the central forecast and most of the draws turn."""
    return bool(np.isfinite(turn.count.value)) and turn.reached >= 1.0 - LEAST_DECIDED


def count_with_note(count: Interval, turn: Turn) -> str:
    """Return a count with its interval, whose ends may lie beyond the last one that was evaluated."""
    beyond = f"beyond {turn.upto:g}"
    lower, upper = (f"{end:g}" if np.isfinite(end) else beyond for end in (count.lower, count.upper))
    return count_text(count.value, turn.along) + interval_note(turn.interval, lower, upper, f"{count.value:g}")


def limits_text(plan: Plan) -> list[str]:
    """Return the limits of a plan as text: `within 5 d`, `for 2,000 at most`."""
    limits = [] if plan.deadline is None or plan.is_speed else [" ".join(("within", *texts_in_unit(plan.deadline)))]
    return limits + ([] if plan.budget is None else [f"for {three_digits(plan.budget)} at most"])


def work_in_all(plan: Plan, unit: str, whole: bool) -> str:
    """Return the work of a plan as text: `1.2 billion images`, `a job`."""
    if plan.is_speed:
        return with_unit(three_digits(plan.samples), rate_unit(unit))
    one_unit = with_article(singular(unit))
    return one_unit if plan.samples == 1.0 else f"{three_digits(plan.samples)} {unit}{'s' if whole else ''}"


def plan_sentence(planned: Planned) -> str:
    """Return the cheapest count that keeps a plan, or why none does."""
    limits, name, (smallest, last) = limits_text(planned.plan), planned.name, planned.tried
    work_text = work_in_all(planned.plan, planned.sample, planned.whole)
    at_named = [] if planned.named is None else [_named_text(planned, planned.named, work_text)]
    aim = " ".join(("for", work_text, " and ".join(limits))).strip()
    if planned.best is None:
        total, cost = planned.sought.total.value, planned.sought.cost.value
        is_likely = total <= (planned.plan.deadline or total) and cost <= (planned.plan.budget or cost)
        text = f"{aim}, none of {count_text(last, name, smallest)} is {'surely ' if is_likely else ''}enough"
        return prose(*at_named, text, *_why_none(planned))
    price = "" if planned.price is None else f"the price is {price_text(planned.price.text, planned.paid)}"
    keep = " that keeps " + ("both" if len(limits) > 1 else "it") if limits else ""
    if planned.named is not None and not limits:
        return prose(*at_named, price)
    sought, best = planned.sought, SOUGHT[planned.plan.aim]
    texts = [
        *at_named,
        f"{aim}, the {best} count of {smallest:g} to {last:g}{keep} is {count_text(sought.count, name)}",
        f"it takes {choice_text(planned, sought, notes=True)}",
        *_blind_text(sought),
        price,
        f"it is the {best} with a probability of {100 * planned.best:.0f} %",
    ]
    for other, choice in (("fastest", planned.fastest), ("cheapest", planned.cheapest)):
        if choice.count != sought.count:
            text = f"the {other}{keep} is {count_text(choice.count, name)}: {choice_text(planned, choice)}"
            texts += [text, *(_blind_text(choice) if sought.verdict != BLIND else [])]
    return prose(*texts)


def plan_line(planned: Planned) -> str:
    """Return in a line that a plan is kept, and by which count best; empty for a plan without limits."""
    limits = " and ".join(limits_text(planned.plan))
    if planned.best is None or planned.breaks or not (limits or planned.named is None or planned.plan.is_speed):
        return ""
    sought, best = planned.sought, SOUGHT[planned.plan.aim]
    if planned.named is None:
        smallest, last = planned.tried
        if planned.plan.is_speed:
            limits = f"whose interval lies above {work_in_all(planned.plan, planned.sample, planned.whole)}"
        text = f"of {count_text(last, planned.name, smallest)} the {best} {limits}".strip()
        (other,) = {*SOUGHT.values()} - {best}
        choice = planned.fastest if other == "fastest" else planned.cheapest
        if planned.plan.deadline is not None or choice.count == sought.count:
            return text
        # Without a deadline the other is asked as well.
        return f"{text}; {other} with {count_text(choice.count, planned.name)}: {choice_text(planned, choice)}"
    if planned.plan.is_speed:
        return _speed_text(planned, planned.named)
    elsewhere = f"; {best} with {count_text(sought.count, planned.name)}: {choice_text(planned, sought)}"
    return f"done {limits}" + ("" if sought.count == planned.named.count else elsewhere)


def limits_kept_text(planned: Planned) -> str:
    """Return whether a machine, or any, keeps the limits of a plan, or how it breaks them; empty without limits."""
    if planned.breaks:
        return " and ".join(_breaks_text(planned, limit) for limit in planned.breaks)
    return NONE_ENOUGH if planned.best is None and planned.named is None else plan_line(planned)


def _breaks_text(planned: Planned, limit: str) -> str:
    """Return that the named machine breaks a limit, surely where even the lower end of the interval does."""
    if limit not in BREAKS or planned.named is None:
        return limit
    if planned.plan.is_speed and limit == "late":
        return _speed_text(planned, planned.named)
    verb, more = BREAKS[limit]
    low, most = planned.named.cost.lower, planned.plan.budget
    if limit == "late":
        low, most = planned.named.total.lower, planned.plan.deadline
    surely = most is not None and low > most
    return f"it {f'{verb}s' if surely else f'may {verb}'} {more} than the limit"


def plan_in_short(planned: Planned) -> str:
    """Return the count of a plan with how long it takes and what it costs: `24 gpus, 58.1 d and 42,000 $`."""
    if planned.best is None and planned.named is None:
        return NONE_ENOUGH
    breaks = f": {' and '.join(planned.breaks)}" if planned.breaks else ""
    return f"{count_text(planned.chosen.count, planned.name)}, {choice_text(planned, planned.chosen)}{breaks}"


def _named_text(planned: Planned, choice: Choice, work_text: str) -> str:
    """Return what the work takes on the machine that the question names, and whether that keeps the plan."""
    if planned.plan.is_speed:
        return prose(_speed_text(planned, choice), *_blind_text(choice))
    limits = limits_text(planned.plan)
    takes = "takes" if planned.plan.samples == 1.0 else "take"
    keeps = f"it keeps {'both limits' if len(limits) > 1 else 'the limit'}" if limits else ""
    return prose(
        f"{work_text} {takes} {choice_text(planned, choice, notes=True)} at {join_values(dict(planned.named_at))}",
        *_blind_text(choice),
        limits_kept_text(planned) if planned.breaks else keeps,
    )


def _speed_text(planned: Planned, choice: Choice) -> str:
    """Return the throughput of a named machine, and whether it is as much as is sought."""
    rate, sought = planned.plan.samples / np.array(choice.total.ends)[[0, 2, 1]], planned.plan.samples
    middle, low, high = map(three_digits, rate)
    less = "less" if rate[2] < sought else "perhaps less" if rate[1] < sought else "more"
    value = with_unit(middle, unit := rate_unit(planned.sample)) + interval_note(planned.interval, low, high, middle)
    return f"{join_values(dict(planned.named_at))} does {value}: {less} than {with_unit(three_digits(sought), unit)}"


def cost_unit(planned: Planned) -> str:
    """Return the unit of what a choice costs: money, or hours of the machines."""
    return f"{singular(planned.paid)}-hours" if planned.price is None else planned.price.currency


def choice_text(planned: Planned, choice: Choice, notes: bool = False) -> str:
    """Return how long a choice takes and what it costs, perhaps with the intervals."""
    *times, unit = texts_in_unit(*choice.total.ends)
    costs = [three_digits(value) for value in choice.cost.ends]
    intervals = (interval_note(planned.interval, low, high, middle) for middle, low, high in (times, costs))
    of_time, of_cost = intervals if notes else ("", "")
    joined = "and" if (money := cost_unit(planned)) else "at a cost of"
    return f"{times[0]} {unit}{of_time} {joined} {with_unit(costs[0], money)}{of_cost}"


def _why_none(planned: Planned) -> list[str]:
    """Return why no count keeps a plan: all may fail, or the fastest is late, or the cheapest too dear."""
    if planned.fails:
        return [f"each may fail with a probability above {100 * (1 - LIKELY_TO_FIT):.0f} %"]
    texts = []
    if planned.late:
        total, nearest = planned.fastest.total, f"nearest comes {planned.fastest.count:g}, which"
        middle, _, most, unit = texts_in_unit(*total.ends)
        text = f"{nearest} takes {middle} {unit} and up to {most}"
        if planned.plan.is_speed:
            middle, least = (three_digits(planned.plan.samples / seconds) for seconds in (total.value, total.upper))
            text = f"{nearest} does {with_unit(middle, rate_unit(planned.sample))} and at least {least}"
        texts.append(text)
    if planned.dear:
        least, _, most = map(three_digits, planned.cheapest.cost.ends)
        cost = with_unit(least, cost_unit(planned))
        texts.append(f"nearest comes {planned.cheapest.count:g}, which costs {cost} and up to {most}")
    return texts or ["none keeps both limits at once"]


def _blind_text(choice: Choice) -> list[str]:
    """Return that a choice cannot be relied on, where its verdict says so."""
    return [trust_text(choice.verdict)] if choice.verdict == BLIND else []


def next_sentence(run: NextRun, unit: str, reported: Interval | None = None) -> str:
    """Return what to measure next, and how the interval at the configuration is expected to narrow."""
    where, now = join_values(run.target), reported or run.now
    size, unit = suited_unit(now.value, unit)
    now = Interval(*(end / size for end in now.ends))
    if run.met:
        return f"the interval at {where} is {_range_text(now, unit)}, narrow enough: nothing needs measuring"
    if not run.places and run.measured:
        return f"nothing to measure: {where} was measured"
    if not run.places:
        return f"no candidate narrows the interval at {where}, {_range_text(now, unit)}"
    places = "; ".join(join_values(place) for place in run.places)
    narrowed = run.narrowed(now)
    if run.little or _range_text(now) == _range_text(narrowed):
        return f"no other run narrows the interval at {where} noticeably: measure {where} itself"
    unknown = ", unless a new bottleneck appears" if run.beyond else ""
    whose = "its interval" if places == where else f"the interval at {where}"
    text = f"{whose} then narrows from {_range_text(now)} to {_range_text(narrowed, unit)}{unknown}"
    if run.within is None:
        return prose(f"measure {places}", text)
    more = f"a half width of {100 * run.within:.3g} % needs more runs"
    return prose(f"measure {places}", text, "that is enough" if run.after <= run.within else more)


def _range_text(value: Interval, unit: str = "") -> str:
    """Return the ends of an interval: `0.2–0.45 s`."""
    return with_unit(ends_text(three_digits(value.lower), three_digits(value.upper)), unit)
