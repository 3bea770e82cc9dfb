"""Energy that follows from a measured power: of a job, of a sample or a step, and what is done with so much of it."""

from __future__ import annotations

import math

from msgspec.structs import replace

from genperf.asking.answer import ENERGY, PER_ENERGY, Answer, Value, in_sentence, rate_beside, rate_of
from genperf.facts import Facts, Interval
from genperf.formula.amounts import DURATIONS
from genperf.prediction.verdict import VERDICTS
from genperf.vocabulary import section
from genperf.vocabulary.headers import DEVICE_WORDS, NODE_WORDS, unit_of
from genperf.vocabulary.names import words_in
from genperf.words.numbers import singular

#: What a question calls an energy, with its unit; the usual one of a job or a sample where it names none.
UNITS = {ENERGY: "", **{word: unit for unit, words in section("energies").items() for word in words}}
#: Joules of each unit of energy.
JOULES = {"J": 1.0, "Wh": 3600.0}
#: Exponent along the scale below which a power is that of each device or node: a power of all grows with their number.
LEAST_GROWTH_OF_ALL = 0.5


def energy_of(answer: Answer, want: str) -> Value | None:
    """Return the wanted energy, `energy`, `J/image` or `images/kWh`; None without a measured power, or of other names.

    E = P·t of the job of a plan or a training, else of one sample. The intervals of the power P and the time t are
    joined as if their errors were independent: log-widths add in quadrature.
    """
    above, _, below = want.partition("/")
    is_energy_below = below.lower() in UNITS
    facts, power = answer.facts, _power_of(answer)
    if facts is None or power is None or not (is_energy_below or above.lower() in UNITS):
        return None
    watts, verdict, reason = power
    counted = (above if is_energy_below else below) or facts.growth.sample
    seconds = None if below else _seconds_of_job(facts)
    name, usual = ENERGY, "kWh"
    if seconds is None:
        rate = rate_of(facts, counted) or rate_of(facts, f"{counted}s")
        rate = rate or rate_beside(answer, counted)
        if rate is None:
            return None
        seconds, name, usual = rate.dividing(1.0), f"{ENERGY} per {singular(counted)}", "J"
    unit = UNITS[(below if is_energy_below else above).lower()] or usual
    base, multiple, _ = unit_of(unit)
    energy = _product(watts, seconds, 1.0 / (JOULES[base] * multiple))
    likeliest = answer.answers[0]
    worst = max((verdict, reason), (likeliest.verdict, likeliest.reason), key=lambda of: VERDICTS.index(of[0]))
    if is_energy_below:
        energy, name, unit = energy.dividing(1.0), f"{counted}{PER_ENERGY}{unit}", ""
    value, lower, upper = energy.ends
    value_of_want = replace(likeliest, quantity=name, unit=unit, value=value, lower=lower, upper=upper)
    return in_sentence(replace(value_of_want, verdict=worst[0], reason=worst[1]), answer.coverage)


def _power_of(answer: Answer) -> tuple[Interval, str, str] | None:
    """Return the power of all devices in watts at the configuration, with its verdict; None where none was measured."""
    facts = answer.facts
    value = next((of for of in answer.answers if unit_of(of.unit)[0] == "W"), None)
    if facts is None:
        return None
    if value is not None:
        name, unit, expected, verdict, reason = value.quantity, value.unit, value.expected, value.verdict, value.reason
    else:
        further = ((name, unit) for name, unit in facts.further.items() if unit_of(unit)[0] == "W")
        name, unit = next(further, ("", ""))
        if not name:
            return None
        expected, verdict, reason = Interval.named(facts.predicted, name), facts.expected.verdict, facts.expected.reason
    words, of_each = words_in(name), words_in(name).isdisjoint({"total", "all"})
    if answer.reading is not None and name in answer.reading.columns:
        of_each &= answer.reading.growth(name) < LEAST_GROWTH_OF_ALL
    else:
        of_each &= not words.isdisjoint(DEVICE_WORDS | NODE_WORDS)
    # Devices are at least as many as nodes.
    largest = max(facts.machines.values(), default=1.0)
    number = largest if words.isdisjoint(NODE_WORDS) else facts.machines.get("nodes", largest)
    count = number if of_each else 1.0
    return Interval(*(end * unit_of(unit)[1] * count for end in expected.ends)), verdict, reason


def _seconds_of_job(facts: Facts) -> Interval | None:
    """Return how long the work in the question takes; None where it names none."""
    if facts.plan is not None:
        return facts.plan.chosen.total
    if "days" in facts.quantities:
        return Interval(*(DURATIONS["d"] * end for end in Interval.named(facts.quantities, "days").ends))
    return None


def _product(left: Interval, right: Interval, factor: float) -> Interval:
    """Return the product of two numbers whose relative errors are independent."""
    value = factor * left.value * right.value
    lower, upper = (
        math.hypot(math.log(one / left.value), math.log(other / right.value))
        for one, other in ((left.lower, right.lower), (left.upper, right.upper))
    )
    return Interval(value, value * math.exp(-lower), value * math.exp(upper))
