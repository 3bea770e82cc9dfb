"""Several configurations of one question: the answers beside each other, a line each."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from itertools import chain
from textwrap import wrap
from typing import Any

import numpy as np
from rich.text import Text

from genperf.asking.answer import (
    COST,
    MEASURED,
    PER_ENERGY,
    Answer,
    Row,
    cost_of,
    footer_of,
    in_a_line,
    in_unit_of,
    lacking_of,
    rows_of,
)
from genperf.attribution.draws import curves_of
from genperf.facts import Facts, Interval, ends_of
from genperf.panel.evidence import is_size
from genperf.panel.legend import SCALE, same
from genperf.panel.machine import BATCHES
from genperf.table.clean import is_number, label
from genperf.vocabulary.headers import canonical_time, header_of, unit_of
from genperf.vocabulary.names import LEVELS, LOAD, column_named, meant_by, plain_name
from genperf.words.answer import COLORS, MARKS, next_line, verdict_line
from genperf.words.growth import limits_kept_text, limits_text, work_in_all
from genperf.words.numbers import count_text, interval_note, join_values, three_digits
from genperf.words.verdict import BLIND, fits_text

#: Columns of a configuration's name at least, and at most: the values beside it need as many.
LEAST_WIDTH, MOST_WIDTH = 12, 40
#: What there is no room for goes first: the throughput shows the time of a step as well.
STEP = "step"
#: What is asked of what the fastest has: the highest rate, the least time.
_OF_THE_FASTEST = frozenset({("highest_value", "rate"), ("lowest_value", "time")})
#: What is spent, by its unit: a memory, a power, an energy; less of it is better.
SPENT = frozenset({"B", "W", "J", "Wh"})


def beside(answers: Sequence[Answer], places: Sequence[Mapping[str, str]], width: int) -> list[Text]:
    """Return the answers at some configurations as lines of at most a width, in columns."""
    lines = [*_lines(answers, places, width)]
    for line in lines:
        line.truncate(width, overflow="ellipsis")
        line.rstrip()
    return lines


def _lines(answers: Sequence[Answer], places: Sequence[Mapping[str, str]], width: int) -> Iterator[Text]:
    """Yield the answers as lines: of each its values and below them their intervals, then what their verdicts mean."""
    # What the question leaves open, or what follows from it, and differs, tells rows apart as well.
    followed = [answer.facts.series if answer.facts is not None else {} for answer in answers]
    open_names = dict.fromkeys(chain(*(answer.taken for answer in answers), *followed))
    settings = [{**_settings_of(answer), **answer.taken} for answer in answers]
    left_open = [{name: str(of[name]) for name in open_names if name in of} for of in settings]
    taken_apart = differing_values(left_open)
    apart = [of_question | taken for of_question, taken in zip(differing_values(places), taken_apart, strict=True)]
    whole_names = [_name_of(*of_answer) for of_answer in zip(answers, apart, strict=True)]
    if max(map(len, whole_names)) > MOST_WIDTH:
        # `128 gpus, horovod, fp16, 256`: the values without their names, where these tell them apart.
        bare = [", ".join(text.partition("=")[2] or text for text in name.split(", ")) for name in whole_names]
        whole_names = bare if len({*bare}) == len(bare) else whole_names
    names = [name if len(name) <= MOST_WIDTH else f"{name[: MOST_WIDTH - 1]}…" for name in whole_names]
    first_width = max(LEAST_WIDTH, max(map(len, names)) + 3)
    heads, *values_and_ends = map("".join, zip(*_columns(answers, width - first_width), strict=True))
    facts = answers[0].facts
    source = answers[0].source if facts is None else facts.source
    coverage = answers[0].coverage if facts is None else facts.expected.interval
    intervals = "" if coverage is None else f" · below each value its {100 * coverage:g} % interval"
    yield Text(f"{source}{intervals}", style="bold")
    open_settings = settings[0] if facts is None else {**facts.series, **answers[0].taken}
    of_question = {text.lower() for place in places for text in place.values()}
    taken = {n: v for n, v in open_settings.items() if all(of.get(n) == v for of in settings)}
    taken = {n: v for n, v in taken.items() if n in answers[0].taken or str(v).lower() not in of_question}
    if taken:
        yield Text(f"of {join_values(taken)}", style="dim")
    yield Text(" " * first_width + heads, style="dim")
    for answer, name, values, ends in zip(answers, names, values_and_ends[::2], values_and_ends[1::2], strict=True):
        is_failing = answer.facts is not None and answer.facts.expected.fails
        verdict = BLIND if is_failing else answer.answers[0].verdict
        mark = (MARKS[verdict], f"bold {COLORS[verdict]}")
        yield Text.assemble(mark, " ", name.ljust(first_width - 2), (values, "bold"))
        yield Text(" " * first_width + ends)
    best = _nearest_limit(answers, apart, whole_names)
    for answer, name in zip(answers, names, strict=True):
        plan = None if best or answer.facts is None else answer.facts.plan
        if plan is not None and (plan.breaks or limits_text(plan.plan)):
            is_kept = not plan.breaks and (plan.best is not None or plan.named is not None)
            sign, style = (MEASURED, "") if is_kept else (MARKS[BLIND], f"bold {COLORS[BLIND]}")
            yield Text(f"{sign} {name}: {limits_kept_text(plan)}", style=style)
        if fits := answer.answers[0].texts.get("fits", ""):
            yield Text(f"{MEASURED} {name}: {fits[0].lower()}{fits[1:].partition(':')[0]}")
        if answer.facts is not None and (fails := fits_text(answer.facts.expected.fits)):
            yield Text(f"{MARKS[BLIND]} {name}: {fails}", style=f"bold {COLORS[BLIND]}")
    # More work takes longer: of different sizes, or loads, no time is the best.
    numbers = [name for name, value in apart[0].items() if is_number(value)]
    # So does a step of a larger batch, in whatever micro-batches.
    is_step = header_of(answers[0].answers[0].quantity).of == "step"
    free = {n for n in numbers if meant_by(n) in BATCHES and (not is_step or "micro" in plain_name(n))}
    of_sizes = any((is_size(n) and n not in free) or LOAD.fullmatch(n) for n in numbers)
    of_answers = [answer.facts for answer in answers]
    subjects = [
        name if of is None else name.partition(", ")[2] or name
        for name, of in zip(whole_names, of_answers, strict=True)
    ]
    best = best or _scales_best(answers, subjects)
    best = best or _best_value(answers, subjects, of_sizes)
    if best := best or _best_line(of_answers, subjects, of_sizes):
        yield from (Text(line, style="bold") for line in wrap(f"★ {best}", width))
    if ratio := _ratio_line(answers, whole_names):
        yield Text(f"{MEASURED} {ratio}")
    # The farthest of a verdict has its reason.
    by_count = sorted(answers, key=lambda answer: answer.facts.growth.target.count if answer.facts else 0.0)
    farthest = {answer.answers[0].verdict: answer for answer in by_count}
    for verdict, answer in farthest.items():
        mark = (f"{MARKS[verdict]} {verdict}", f"bold {COLORS[verdict]}")
        yield Text.assemble(mark, "  ", verdict_line(answer.answers[0].reason))
    yield from lacking_of(answers[0])
    steps = [next_line(answer.facts) for answer in answers if answer.facts is not None]
    for step in [*dict.fromkeys(filter(None, steps))][-1:]:
        yield Text.assemble(("→ next", "bold"), "  ", step)
    yield from footer_of(answers[0])


def _ratio_line(answers: Sequence[Answer], names: Sequence[str]) -> str:
    """Return how many times as fast the larger of two counts is; empty for any other configurations."""
    timed = [(a.facts, name) for a, name in zip(answers, names, strict=True) if a.facts and a.facts.expected.is_time]
    counts = {facts.growth.target.count for facts, _ in timed}
    if len(counts) != 2 or len(answers) != 2:
        return ""
    (smaller, of_smaller), (larger, of_larger) = sorted(timed, key=lambda of: of[0].growth.target.count)
    rates = list[Interval]()
    for facts in (smaller, larger):
        growth, time = facts.growth, facts.expected.value
        rate = growth.throughput(time)
        if rate is None and not growth.whole and growth.gain is None:
            return ""
        # Of a work that is not known each worker keeps its own.
        rates.append(rate or time.dividing(1.0 if growth.whole else growth.target.count))
    times = _times(_ratio(rates[1], rates[0], larger, smaller), of_smaller, larger.expected.interval)
    # `tp=8` is no number of things.
    if "=" in of_larger.partition(",")[0]:
        return f"{of_larger} is {times}"
    return f"{of_larger} are {times}, with {three_digits(max(counts) / min(counts))} x as many"


def _ratio(above: Interval, below: Interval, of_above: Facts, of_below: Facts) -> Interval:
    """Return the ratio of two rates in joint draws of their model; of two models relative errors add as squares do."""
    (result, columns), (other, others) = of_above.predicted_by(), of_below.predicted_by()
    ratio, expected = above.value / below.value, of_above.expected
    if result.members is other.members and not result.schema.substituted:
        both = {name: np.concatenate([cells, others[name]]) for name, cells in columns.items()}
        # ln of the time of the first over that of the second, less what is predicted of it.
        ends = curves_of(result, both, exact=True).ratios(0, 1).quantiles(ends_of(expected.interval)).ravel()
        low, high = ends - np.log(expected.value.value / of_below.expected.value.value)
        return Interval(ratio, ratio * float(np.exp(-max(high, 0.0))), ratio * float(np.exp(-min(low, 0.0))))
    with np.errstate(divide="ignore"):
        # How far each end lies from its value, in ln; a throughput may fall to zero.
        down_above, up_above = np.abs(np.log(np.divide(above.ends[1:], above.value)))
        down_below, up_below = np.abs(np.log(np.divide(below.ends[1:], below.value)))
    down, up = np.hypot(down_above, up_below), np.hypot(up_above, down_below)
    return Interval(ratio, ratio * float(np.exp(-down)), ratio * float(np.exp(up)))


def _times(ratio: Interval, other: str, coverage: float) -> str:
    """Return a ratio of speeds in words: 1.3 x as fast as another (90 %: 1.2 to 1.4)."""
    return f"{three_digits(ratio.value)} x as fast as {other}{_note(ratio, coverage)}"


def _note(ratio: Interval, coverage: float, unit: str = "") -> str:
    return interval_note(coverage, three_digits(ratio.lower), three_digits(ratio.upper), "", unit)


def _nearest_limit(answers: Sequence[Answer], apart: Sequence[Mapping[str, str]], names: Sequence[str]) -> str:
    """Return which number of what is asked is the last that keeps a limit; "" without a limit, or of other settings."""
    plans = [None if answer.facts is None else answer.facts.plan for answer in answers]
    plan, keeps = plans[0], "keeps the limit"
    if plan is not None and plan.plan.is_speed:
        keeps = f"does {work_in_all(plan.plan, plan.sample, plan.whole)}"
        shares = [plan.named.total for plan in plans if plan is not None and plan.named is not None]
    else:
        shares = [share for answer in answers if (share := answer.answers[0].share_of_limit) is not None]
    numbers = [float(value) for of in apart for value in of.values() if len(of) == 1 and is_number(value)]
    if len(answers) < 3 or not len(shares) == len(numbers) == len(answers):
        return ""
    ranked = sorted(zip(numbers, shares, names, strict=True))
    is_rising = ranked[-1][1].value >= ranked[0][1].value
    # From what is farthest below the limit.
    ranked = ranked if is_rising else ranked[::-1]
    surely = [name for _, share, name in ranked if share.upper <= 1.0]
    likely = [name for _, share, name in ranked if share.value <= 1.0 < share.upper]
    if not surely:
        return f"none of these surely {keeps}{f'; {likely[-1]} may' if likely else ''}"
    most, doubt = "largest" if is_rising else "smallest", f"; {likely[-1]} may as well" if likely else ""
    return f"the {most} of these that surely {keeps} is {surely[-1]}{doubt}"


def _best_value(answers: Sequence[Answer], names: Sequence[str], of_sizes: bool) -> str:
    """Return which configuration of one count needs least of a memory, a power or an energy that is asked; else ""."""
    extreme = next((topic for topic in ("highest_value", "lowest_value") if topic in answers[0].topics), "")
    rates = [next((v for v in answer.answers if header_of(v.quantity).kind == "rate"), None) for answer in answers]
    asks_rate = bool(extreme) and not {"throughput", "speed"}.isdisjoint(answers[0].requested)
    values = [answer.answers[0] for answer in answers]
    if (asks_rate or (not extreme and of_sizes)) and None not in rates:
        values = [rate for rate in rates if rate is not None]
    costs = [next((v for v in answer.answers if v.quantity.startswith(COST)), None) for answer in answers]
    asks_cost = COST in answers[0].requested and None not in costs
    values = [cost for cost in costs if cost is not None] if asks_cost else values
    counts = {None if answer.facts is None else answer.facts.growth.target.count for answer in answers}
    quantity, unit = values[0].quantity, values[0].unit
    if len(counts) == 1 and None not in counts and (extreme, header_of(quantity).kind) in _OF_THE_FASTEST:
        # Of one curve each joint draws tell how much faster (`_best_line`).
        return ""
    # `images per kWh`
    is_most = not (unit or asks_cost) and PER_ENERGY in quantity
    kind = "" if asks_cost or counts != {None} else header_of(quantity).kind or header_of(f"x ({unit})").kind
    is_fastest = kind == "rate" or (kind == "time" and not of_sizes)
    is_spent = is_most or asks_cost or unit_of(unit)[0] in SPENT
    is_one_count = len(counts) == 1 and (is_fastest or is_spent)
    if not (extreme or is_one_count) or len({(v.quantity, v.unit) for v in values}) > 1:
        return ""
    is_most = extreme == "highest_value" or (not extreme and (is_most or kind == "rate"))
    ranked = sorted(zip(values, names, strict=True), key=lambda pair: pair[0].value, reverse=is_most)
    (best, best_name), (second, second_name), *_ = ranked
    if best.value == second.value:
        return ""
    overlap = any(max(best.lower, value.lower) < min(best.upper, value.upper) for value, _ in ranked[1:])
    doubt = ", but not surely" if overlap or BLIND in (best.verdict, second.verdict) else ""
    amounts = [f"{three_digits(value.value)} {unit}".rstrip() for value in (best, second)]
    most, least = ("most", "least") if is_spent else ("highest", "lowest")
    verb = "is fastest" if is_fastest and not extreme else f"has the {most if is_most else least} {quantity}"
    verb = f"costs least{quantity.removeprefix(COST)}" if asks_cost else verb
    return f"{best_name} {verb}{doubt}: {amounts[0]}, {second_name} {amounts[1]}"


def _scales_best(answers: Sequence[Answer], names: Sequence[str]) -> str:
    """Return which of several configurations of one count has the highest efficiency where that is asked; else ""."""
    targets = [answer.facts.growth.target for answer in answers if answer.facts is not None]
    efficiencies = {n: target.efficiency for n, target in zip(names, targets, strict=False) if target.efficiency}
    is_known = len(efficiencies) == len(answers) and len({target.count for target in targets}) == 1
    if "efficiency" not in answers[0].requested or not is_known:
        return ""
    best, second, *_ = sorted(efficiencies, key=lambda name: -efficiencies[name].value)
    may_be_higher = max(of.upper for name, of in efficiencies.items() if name != best) > efficiencies[best].lower
    doubt = ", but not surely" if may_be_higher or BLIND in [answer.verdict for answer in answers] else ""
    percents = [f"{100.0 * efficiencies[name].value:.0f} %" for name in (best, second)]
    if len({*percents}) == 1:
        return f"{best} and {second} scale about as well: efficiency {percents[0]}"
    return f"{best} scales best{doubt}: efficiency {percents[0]}, {second} {percents[1]}"


def _best_line(of_answers: Sequence[Facts | None], names: Sequence[str], of_sizes: bool) -> str:
    """Return which of several configurations of one count is fastest, and which costs least; else ""."""
    timed = [facts for facts in of_answers if facts is not None and facts.expected.is_time]
    knows_work = not of_sizes or all(facts.growth.throughput(facts.expected.value) for facts in timed)
    if len(timed) < len(names) or len({facts.growth.target.count for facts in timed}) > 1 or not knows_work:
        return ""
    runs = {name: of for name, of in zip(names, timed, strict=True) if not fits_text(of.expected.fits)}
    rates = {n: of.growth.throughput(of.expected.value) or of.expected.value.dividing(1.0) for n, of in runs.items()}
    costs = {n: cost[0].dividing(1.0) for n, of in runs.items() if (cost := cost_of(of.growth, of.expected.value))}
    texts = list[str]()
    if len(rates) > 1:
        texts.append(_best_of(rates, runs, "is fastest", timed[0].expected.interval))
    if len(costs) > 1:
        texts.append(_best_of(costs, runs, "costs least", None))
    return "; ".join(texts)


def _best_of(values: Mapping[str, Interval], of: Mapping[str, Facts], verb: str, coverage: float | None) -> str:
    """Return which of several values is the largest, whether surely, and of speeds, how far before the next one."""
    best, second, *_ = sorted(values, key=lambda name: -values[name].value)
    ratios = {n: _ratio(values[best], value, of[best], of[n]) for n, value in values.items() if n != best}
    near = [name for name, ratio in ratios.items() if ratio.lower < 1.0]
    is_blind = BLIND in (of[best].expected.verdict, of[second].expected.verdict)
    doubt = ", but not surely" if near or is_blind else ""
    # Names have commas themselves.
    near_text = " or ".join(name for name in near if coverage is None or name != second)
    if coverage is None:
        return f"{best} {verb}{doubt}{near_text and f': {near_text} may cost as little'}"
    as_fast = f"; so may be {near_text}" if near_text else ""
    if three_digits(ratios[second].value) == "1":
        return f"{best} and {second} are about as fast{_note(ratios[second], coverage, 'x')}{as_fast}"
    return f"{best} {verb}{doubt}: {_times(ratios[second], second, coverage)}{as_fast}"


def _columns(answers: Sequence[Answer], room: int) -> list[tuple[str, ...]]:
    """Return the texts of the quantities that a width has room for, those of the first answer."""
    rows = [{row.name: row for row in rows_of(answer)} for answer in answers]
    reference = next((k for k, answer in enumerate(answers) if answer.facts is not None), 0)
    for answer, row_of in zip(answers, rows, strict=True):
        # Of a kind that ran once the column is known, and nothing that follows from it.
        (row, *others), is_value = row_of.values(), answer.facts is None and rows[reference] is not row_of
        alike = [name for name, of in rows[reference].items() if is_value and not others and _of_one_unit(row, of)]
        row_of |= {name: row._replace(name=name) for name in alike[:1]}
    columns, requested = list[tuple[str, ...]](), answers[0].requested
    for name in sorted(rows[reference], key=lambda name: (name not in requested, name == STEP)):
        texts = _column([row_of.get(name, Row(name, "–")) for row_of in rows])
        if not columns or sum(len(column[0]) for column in (*columns, texts)) <= room:
            columns.append(texts)
    return columns


def _of_one_unit(row: Row, other: Row) -> bool:
    return row.unit == other.unit or None not in (canonical_time(row.unit), canonical_time(other.unit))


def _column(rows: Sequence[Row]) -> tuple[str, ...]:
    """Return the texts of a quantity, each of one width: its name, and of each configuration a value and its ends."""
    texts = [rows[0].name, *(in_a_line(text) for row in rows for text in in_unit_of(row, rows)[1:3])]
    return tuple(text.rjust(max(map(len, texts)) + 2) for text in texts)


def differing_values(places: Sequence[Mapping[str, str]]) -> list[dict[str, str]]:
    """Return of each configuration the values in which they differ."""
    names = dict.fromkeys(name for place in places for name in place)
    apart = [name for name in names if len({place.get(name) for place in places}) > 1]
    return [{name: place[name] for name in apart if name in place} for place in places]


def _settings_of(answer: Answer) -> dict[str, Any]:
    """Return the levels and numbers that an answer is of, by column."""
    return answer.answers[0].at if answer.facts is None else {**answer.facts.series, **answer.facts.at}


def _name_of(answer: Answer, apart: Mapping[str, str]) -> str:
    """Return what tells a configuration from the others: its count, and the settings that vary."""
    facts, at = answer.facts, _settings_of(answer)
    columns = {name: column_named(name, at) or name for name in apart}
    # The `gpu` of `gpu=a100` is no count of gpus.
    columns |= {n: n for n, column in columns.items() if is_number(at.get(column, "")) and not is_number(apart[n][:1])}
    for name, value in apart.items():
        alike = [c for c in at if plain_name(name) in plain_name(c).split("_") and same(label(at[c]), value)]
        columns |= {name: alike[0]} if len(alike) == 1 else {}
    settings = {column: at.get(column, apart[name]) for name, column in columns.items()}
    if facts is None:
        return join_values(settings)
    count = count_text(facts.growth.target.count, facts.growth.name)
    nodes = [c for c in settings if meant_by(c) == "nodes" and is_number(settings[c])]
    if nodes and facts.growth.name not in settings and SCALE not in settings:
        # Counted as in the question.
        count = count_text(float(settings[nodes[0]]), nodes[0])
    # The devices show which nodes are meant; `gpu` may be a kind of them.
    counts = {c for c, value in settings.items() if is_number(value) and meant_by(c) in (*LEVELS, "devices_per_node")}
    settings = {c: value for c, value in settings.items() if c not in counts and c != facts.growth.name}
    price = settings.pop("--price", "")
    # `64 A100` has the count.
    scale = settings.pop(SCALE, "")
    count = count if is_number(scale) else scale or count
    return ", ".join(filter(None, [count, join_values(settings), f"at {price}" if price else ""]))
