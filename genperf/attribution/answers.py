"""The answers of attribution: frozen, printable, plain values for JSON. Definitions: docs/attribution.md."""

from collections.abc import Callable, Collection, Iterable, Iterator, Mapping
from functools import cached_property
from html import escape
from typing import Any, TypeAlias

import numpy as np
import pandas as pd
from msgspec import Struct, field
from msgspec.structs import asdict

from genperf.attribution.draws import Curves
from genperf.attribution.ladder import Ladder
from genperf.errors import LISTED, counted, listed
from genperf.facts import Interval, Turn
from genperf.panel.panel import Target
from genperf.prediction.bands import MixtureForecast
from genperf.prediction.verdict import VERDICTS
from genperf.table.cells import records
from genperf.table.clean import finite
from genperf.words.growth import crossover_sentence, overlap_sentence, turn_sentence
from genperf.words.numbers import (
    LEAST_DECIDED,
    capitalised,
    count_text,
    heading,
    join_values,
    only_for_times,
    scaling_question,
    term_column,
    three_digits,
)
from genperf.words.verdict import TRUST, trust_text


def described(target: Target) -> dict[str, str]:
    """Return the predicted quantity for JSON: `{"name": "time", "unit": "s"}`."""
    return {"name": target.name, "unit": target.unit}


#: Lines of an answer that a session of Python shows by itself: those of a card.
SHORT = 13
#: A term whose share is below this at every configuration, with its interval, is only counted, as are those behind the
#: largest `LISTED`.
LEAST_SHARE_SHOWN = 0.005
#: Share that a term which has none may have by its interval, from which on it is shown.
POSSIBLE_SHARE_SHOWN = 0.1
#: Row for what the prediction knows beside the expression: how the measurements depart from its form.
FORM = "unexplained"
#: Row that makes the terms of a `max` total add up: what one term hides behind another.
HIDDEN = "hidden by overlap"
#: The largest share of `FORM` with which the terms are shown.
MOST_UNEXPLAINED = 0.25
#: A sentence, or a table with its title.
Line: TypeAlias = str | tuple[str, pd.DataFrame]


def for_people(
    frame: pd.DataFrame, settings: Collection[str], known: Mapping[str, Any] | None = None
) -> tuple[pd.DataFrame, str]:
    """Return a table to print in three digits, and the settings of all its rows, but what a `known` one contradicts."""
    constant = {name: frame[name].iloc[0] for name in settings if name in frame and len(set(frame[name])) == 1}
    same = [name for name, value in constant.items() if known is None or value == known[name]]
    printed = frame.drop(columns=same)
    for name in printed.columns:
        if name not in settings and printed[name].dtype.kind == "f":
            # A sum with zero has no minus where it rounds to zero.
            values = printed[name].tolist()
            texts = [f"{round(100.0 * v, 1) + 0.0:.1f} %" if name == "share" else three_digits(v) for v in values]
            printed[name] = texts
    return printed, join_values({name: constant[name] for name in same})


def doublings_for_people(doublings: pd.DataFrame) -> pd.DataFrame:
    """Return a row per kind of levels, within each other's intervals, and a column per factor that doubles."""
    rows = []
    for categorical, of_one in doublings.groupby("categorical", sort=False):
        # Rows are factor by factor, all levels of each: arrays of shape (levels, factors).
        levels, factors = of_one["level"].astype(str).unique().tolist(), of_one["factor"].unique()
        ends = of_one[["times", "lower", "upper"]].to_numpy().reshape(len(factors), len(levels), 3)
        times, lower, upper = ends.transpose(2, 1, 0)
        # Whether the times of one level lie in the intervals of another one, of every factor.
        inside = np.all((lower[:, None] <= times) & (times <= upper[:, None]), axis=2)
        kinds: list[list[int]] = []
        # Each level joins the first kind with all of whose levels it agrees, or begins another one.
        for level, agrees_with in enumerate(inside & inside.T):
            agreeing = [kind for kind in kinds if agrees_with[kind].all()]
            if agreeing:
                agreeing[0].append(level)
            else:
                kinds.append([level])
        for kind in kinds:
            names = listed([levels[level] for level in kind], 3)
            row = {"level": f"any {categorical}" if len(kind) == len(levels) > 1 else f"{categorical} = {names}"}
            middle = np.exp(np.log(times[kind]).mean(axis=0))
            intervals = zip(factors, middle, lower[kind].min(axis=0), upper[kind].max(axis=0), strict=True)
            rows.append({**row, **{name: f"{x:.2f} ({low:.2f}–{high:.2f})" for name, x, low, high in intervals}})
    return pd.DataFrame(rows)


class PrintedAnswer(Struct, frozen=True, eq=False):
    """An answer that is printed as tables and sentences; its first table is its frame."""

    @property
    def content(self) -> Iterable[Line]:
        """What a person reads, in order; each answer has its own."""
        return ()

    def frame(self) -> pd.DataFrame:
        """Return the first table."""
        return next(value for value in asdict(self).values() if isinstance(value, pd.DataFrame))

    def to_dict(self) -> dict[str, Any]:
        """Return the fields by name as plain values, for JSON: frames as rows, an answer inside as its own fields."""
        plain: dict[str, Any] = {}
        for name, value in asdict(self).items():
            if callable(value):
                # What is computed once it is asked for.
                name = name.removeprefix("find_")
                value = getattr(self, name)
            if isinstance(value, Target):
                plain = {"quantity": described(value)} | plain
            elif isinstance(value, pd.DataFrame):
                plain[name] = records(value)
            elif isinstance(value, tuple):
                plain[name] = [list(item) if isinstance(item, tuple) else item for item in value]
            elif isinstance(value, PrintedAnswer):
                plain[name] = value.to_dict()
            elif not isinstance(value, (Curves, MixtureForecast, Ladder)):
                plain[name] = value
        return dict(finite(plain))

    def __str__(self) -> str:
        texts = list[str]()
        for line in self.content:
            title, frame = (line, None) if isinstance(line, str) else line
            texts.append(title)
            if frame is not None:
                texts.append(frame.to_string(index=False, na_rep="–") if len(frame) else "–")
        return "\n".join(texts)

    def __repr__(self) -> str:
        lines = str(self).splitlines()
        omitted = [f"… {len(lines) - SHORT} more lines: print(…)"] if len(lines) > SHORT else []
        return "\n".join([*lines[:SHORT], *omitted])

    def _repr_html_(self) -> str:
        html = ""
        for line in self.content:
            title, frame = (line, None) if isinstance(line, str) else line
            if frame is not None:
                # Names in a table are text, never markup.
                table = frame.to_html(index=False, border=0, na_rep="–")
                html += f"<p><strong>{escape(title)}</strong></p>{table}"
            elif title:
                html += f"<p>{escape(title)}</p>"
        return html


class Scaling(PrintedAnswer, frozen=True, eq=False, dict=True):
    """The predicted value along the count of workers; for a time also how well more workers are used."""

    along: str  #: The factor that counts the workers.
    kind: str  #: Whether one worker's work stays as it is, falls as 1/n, or neither; unknown where nothing tells it.
    at: dict[str, Any]  #: The values of the other factors.
    reference: float  #: The count that efficiency is relative to: the smallest measured one.
    best: float | None  #: The count of the largest efficiency; None where there is none.
    upto: float  #: The largest count that was evaluated.
    interval: float  #: Nominal coverage of the intervals.
    #: A row per count: the factor, the predicted value in a column with the quantity's name (`time`), `lower, upper`.
    #: For a time whose kind of scaling is known also `speedup` (in the rate of work, relative to the reference), and
    #: `efficiency, efficiency_lower, efficiency_upper`; where a throughput was measured, first `throughput,
    #: throughput_lower, throughput_upper`. Last the `verdict` of each prediction.
    curve: pd.DataFrame
    #: Computes `points`, which not every answer shows: it takes a path of each draw.
    find_points: Callable[[], pd.DataFrame]
    #: A row per change of the largest term along the factor, or of the longest branch of an overlap (`what`): `member,
    #: weight, what, before, after, count, lower, upper, reached`.
    crossovers: pd.DataFrame
    quantity: Target
    steps: Ladder  #: The configurations of the curve.
    #: ln of the predicted value of each draw there: how the rows vary together, and each by itself.
    curves: Curves
    forecast: MixtureForecast
    timed: str = "step"  #: What a time is of: a step.

    @cached_property
    def points(self) -> pd.DataFrame:
        """Where the curve turns, a row per question.

        `what` (`efficiency`, `efficiency of the best`, `slower`, `throughput`), `level`, `count` (NaN: not reached),
        `lower`, `upper` (infinite: beyond `upto`), `reached` (the share of the draws that reach it), `of` (the count
        that an efficiency is relative to). Empty where the quantity is not a time; only `slower` where the kind of
        scaling is unknown.
        """
        return self.find_points()

    def efficiency(self, count: float) -> Interval:
        """Return the efficiency at a count, of a time whose kind of scaling is known."""
        return Interval.named(self.curve.iloc[self.steps.nearest(count)], "efficiency")

    @property
    def refusal(self) -> str:
        """Why there is neither efficiency nor knee; empty where there are."""
        if not self.quantity.is_time:
            return only_for_times("efficiency, speed-up, knee and throughput", self.quantity)
        return scaling_question(self.along) if self.kind == "unknown" else ""

    @property
    def content(self) -> Iterator[Line]:
        """The curve at its doublings, and the answers in words."""
        kind = "" if self.kind == "unknown" else f"{self.kind} "
        doublings = self.curve[self.along].isin([*(self.reference * 2.0 ** np.arange(64)), self.upto])
        # Of a measured throughput, the seconds of one sample say nothing to anybody.
        is_rate = self.quantity.throughput and "throughput" in self.curve
        rows = self.curve[doublings].drop(columns=[self.quantity.name, "lower", "upper"] if is_rate else [])
        yield f"{kind}scaling along {self.along}, relative to {self.reference:g}", rows
        if self.refusal:
            yield self.refusal
        if self.steps.assumption:
            yield capitalised(self.steps.assumption)
        # With work that grows with the workers every step gets longer; where they share it, both are one.
        repeated = [{"weak": "slower", "strong": "throughput"}.get(self.kind, "")]
        # The efficiency relative to its largest repeats that relative to the first count, where that is its largest.
        counts = {turn.count for turn in self.turns if turn.what.startswith("efficiency")}
        if self.best == self.reference or len(counts) == 1:
            repeated.append("efficiency of the best")
        yield from (turn_sentence(turn) for turn in self.turns if turn.what not in repeated)
        blind = self.curve["verdict"] == VERDICTS[-1]
        if blind.any():
            largest = self.curve.loc[~blind, self.along].max()
            where = "at every count" if blind.all() else f"beyond {count_text(float(largest), self.along)}"
            yield f"{where} the verdict is {VERDICTS[-1]}: {TRUST[VERDICTS[-1]]}"
        yield from self.decided_changes(self.crossovers.to_dict("records"))

    def decided_changes(self, rows: Iterable[Mapping[Any, Any]]) -> Iterator[str]:
        """Yield sentences of the heaviest member's changes, of each kind only those before one that is undecided.

        A change is decided where its count has an upper end, or where hardly a draw has a change at all.
        """
        rows, undecided = [*rows], set[str]()
        for row in rows:
            none_likely = row["before"] == row["after"] and row["reached"] <= LEAST_DECIDED
            if not (none_likely or np.isfinite(row["upper"])):
                undecided.add(row["what"])
            if row["member"] == rows[0]["member"] and row["what"] not in undecided:
                yield self.crossover(row)

    def turn(self, what: str) -> Turn | None:
        """Return the point of a kind, such as `slower`; None where there is none."""
        return next((turn for turn in self.turns if turn.what == what), None)

    @cached_property
    def turns(self) -> list[Turn]:
        """The points as numbers that a sentence is made of."""
        return [self._turn(str(row["what"]), row) for row in self.points.to_dict("records")]

    def _turn(self, what: str, row: Mapping[Any, Any]) -> Turn:
        """Return a row of `points` or `crossovers` as a turn: where the curve falls below a `level` of that at `of`."""
        count = np.inf if np.isnan(row["count"]) else float(row["count"])
        ends = Interval(count, float(row["lower"]), float(row["upper"]))
        level, of = (float(row.get(name, np.nan)) for name in ("level", "of"))
        return Turn(what, ends, float(row["reached"]), self.along, self.upto, self.interval, self.timed, level, of)

    @property
    def crossover_sentences(self) -> list[str]:
        """The sentences of where the largest term changes, each after its label where these differ."""
        rows = self.crossovers.to_dict("records")
        texts = [self.crossover(row) for row in rows]
        several = len({row["member"] for row in rows}) > 1 and len({*texts}) > 1
        return [f"{row['member']}: {text}" if several else text for row, text in zip(rows, texts, strict=True)]

    def crossover(self, row: Mapping[Any, Any]) -> str:
        """Return a change of the largest term, or of the longest branch of an overlap, as a sentence."""
        sentence = overlap_sentence if row["what"] == "overlap" else crossover_sentence
        return sentence(str(row["before"]), str(row["after"]), self._turn("", row))

    def to_dict(self) -> dict[str, Any]:
        """Return it as plain values, for JSON."""
        plain = super().to_dict()
        del plain["timed"]
        for row, text in zip(plain["points"], map(turn_sentence, self.turns), strict=True):
            del row["of"]
            row["sentence"] = text
        for row, text in zip(plain["crossovers"], self.crossover_sentences, strict=True):
            row["sentence"] = text
        return plain | ({"refusal": self.refusal} if self.refusal else {})


class Sensitivity(PrintedAnswer, frozen=True, eq=False):
    """The share of the prediction's variance over a domain that each factor makes (Sobol indices)."""

    of: str  #: Variance of the predicted quantity (whatever it is), or of its logarithm.
    #: A row per factor: `factor, first, first_lower, first_upper, total, total_lower, total_upper, over`.
    indices: pd.DataFrame
    samples: int
    quantity: Target
    notes: tuple[str, ...] = ()

    def to_dict(self) -> dict[str, Any]:
        """Return it as plain values, for JSON."""
        return super().to_dict() | {"of": self.quantity.name if self.of == "time" else self.of}

    @property
    def content(self) -> Iterator[Line]:
        """The indices, and the notes."""
        logarithm = "" if self.of == "time" else "logarithm of the "
        yield f"shares of the variance of the {logarithm}{self.quantity.name} (Sobol indices)", self.indices
        yield from self.notes


class Importance(PrintedAnswer, frozen=True, eq=False):
    """By how much a learner's error grows when a factor's values are shuffled."""

    #: A row per model and factor: `model, factor, importance, deviation, error`; in per cent.
    scores: pd.DataFrame
    folds: int
    repeats: int

    @property
    def content(self) -> Iterator[Line]:
        """The scores."""
        yield "by how many % the error grows when a factor is shuffled", self.scores


class Comparison(PrintedAnswer, frozen=True, eq=False):
    """Why the predicted value differs between configurations A and B."""

    #: `a`, `b`: the two configurations (with the group, where two models are compared).
    a: dict[str, Any]
    b: dict[str, Any]
    #: `name_a`, `name_b`: what messages call them: what differs.
    name_a: str
    name_b: str
    #: A row per term, the largest change first: `term, a, b, change, lower, upper, share`; in the quantity's unit, and
    #: the share of the whole change.
    terms: pd.DataFrame
    #: A row per overlap: `overlap, a, b, change`, in the quantity's unit. They add up to the row `hidden by overlap`.
    hidden: pd.DataFrame
    #: `value_a`, `value_b`, `change`: the predicted values, in the quantity's unit; `change` is `value_b − value_a`,
    #: the sum of the terms' changes.
    value_a: float
    value_b: float
    change: float
    #: `lower`, `upper`: interval of the change.
    lower: float
    upper: float
    #: The answer in words.
    sentence: str
    quantity: Target
    #: What it is printed in: the size of a unit and its name, `%` of A where the time is that of no step.
    unit: tuple[float, str] = (1.0, "")

    def waterfall(self) -> pd.DataFrame:
        """Return the bars of a waterfall: `bar, start, end` in the quantity's unit, from A over the terms to B."""
        levels = np.cumsum([self.value_a, *self.terms["change"]])
        bars = {
            "bar": [self.name_a, *self.terms["term"], self.name_b],
            "start": [0.0, *levels[:-1], 0.0],
            "end": [*levels, self.value_b],
        }
        return pd.DataFrame(bars)

    def to_dict(self) -> dict[str, Any]:
        """Return it as plain values, for JSON."""
        plain = super().to_dict()
        del plain["unit"]
        for side in ("a", "b"):
            at, name, amount = (plain.pop(key) for key in (side, f"name_{side}", f"value_{side}"))
            plain[side] = {"name": name, "at": at, self.quantity.name: amount}
        return plain

    @property
    def content(self) -> Iterator[Line]:
        """The answer in words above the terms that change, each configuration under its name."""
        changes, amounts = self.terms["change"].abs(), ["a", "b", "change", "lower", "upper"]
        large = changes > LEAST_SHARE_SHOWN * changes.max()
        rows = self.terms[large].assign(**{name: self.terms[name] / self.unit[0] for name in amounts})
        # Shares of a difference that may be none mislead.
        rows = rows.drop(columns="share") if self.lower <= 0.0 <= self.upper else rows
        heads = {"a": self.name_a, "b": self.name_b, "change": f"change ({self.unit[1]})"}
        yield self.sentence, for_people(rows.rename(columns=heads), [])[0]
        of_either = (self.terms[["a", "b"]] != 0.0).any(axis=1)
        if others := int((of_either & ~large).sum()):
            yield f"{counted(others, 'other term')}: no change, or less"
        # With one overlap its row is among the terms already.
        if len(self.hidden) > 1:
            sizes = {name: self.hidden[name] / self.unit[0] for name in amounts[:3]}
            yield "what each overlap hides", self.hidden.assign(**sizes)


class Explanation(PrintedAnswer, frozen=True, eq=False):
    """The parts of a predicted value, and how the factors move it."""

    model: str
    quantity: Target
    #: A row per configuration and term: the factors, `term`, the term's part, `lower, upper, share`, all members by
    #: weight. The column of the part is `seconds` for a time, else the quantity's name.
    terms: pd.DataFrame
    #: A row per configuration and numeric factor: the factors, `factor, elasticity, lower, upper, method`.
    elasticities: pd.DataFrame
    #: A row per configuration and sum of terms that the data cannot tell apart: the columns of `terms`, and the `terms`
    #: by name. Empty where there are none.
    together: pd.DataFrame = field(default_factory=pd.DataFrame)
    #: The terms of each member by itself: `member, weight` and the columns of `terms`; members with equal labels are
    #: one. Empty for a single one.
    members: pd.DataFrame = field(default_factory=pd.DataFrame)
    scaling: Scaling | None = None
    sensitivity: Sensitivity | None = None
    comparison: Comparison | None = None
    importance: Importance | None = None
    notes: tuple[str, ...] = ()
    #: A row per configuration: the factors, the predicted value with the interval of a new run, `verdict, reason`.
    verdicts: pd.DataFrame = field(default_factory=pd.DataFrame)
    #: A row per numeric factor and level of a categorical one: `factor, from, categorical, level, times, lower, upper`;
    #: see `doublings_by_level`. Empty where no categorical factor varies.
    doublings: pd.DataFrame = field(default_factory=pd.DataFrame)

    def to_dict(self) -> dict[str, Any]:
        """Return it as plain values, for JSON: `aliased` before `together`, and nothing that is None or empty so."""
        plain: dict[str, Any] = {}
        for name, value in super().to_dict().items():
            if name == "together":
                plain["aliased"] = [list(terms) for terms in self.aliased]
            if value or (value is not None and name not in ("together", "doublings")):
                plain[name] = value
        return plain

    @property
    def aliased(self) -> tuple[tuple[str, ...], ...]:
        """The terms of which the data determine only the sum, at some configuration."""
        return tuple(dict.fromkeys(self.together["terms"])) if len(self.together) else ()

    def _lines_of_terms(self, settings: list[str]) -> Iterator[Line]:
        """Yield the table of the terms that matter and how many do not, or that what no term explains is too much."""
        target, terms = self.quantity, self.terms
        # Terms of which only the sum is known are one row.
        for row in self.together.to_dict("records"):
            summed = terms["term"].isin(row["terms"])
            for name in settings:
                summed &= terms[name] == row[name]
            sum_row = pd.DataFrame([row], index=terms.index[summed][:1])[list(terms.columns)]
            terms = pd.concat([terms[~summed], sum_row]).sort_index(kind="stable")
        largest = terms["share"].abs().groupby(terms["term"]).max()
        possible = largest
        if term_column(target) in terms:
            of_one = terms.groupby(settings or np.zeros(len(terms)), dropna=False)[term_column(target)]
            ends = terms[["lower", "upper"]].abs().max(axis=1) / of_one.transform("sum")
            possible = ends.fillna(0.0).clip(lower=terms["share"].abs()).groupby(terms["term"]).max()
        # What departs from the terms, and what they hide, is shown beside them.
        ranked = largest.drop([FORM, HIDDEN], errors="ignore").sort_values(ascending=False, kind="stable")
        is_listed = (ranked >= LEAST_SHARE_SHOWN) | (possible[ranked.index] >= POSSIBLE_SHARE_SHOWN)
        small = ranked[~is_listed | (is_listed.cumsum() > LISTED)]
        unexplained = terms.loc[terms["term"] == FORM, "share"].abs().max()
        not_drawn = "lower" in terms and terms.loc[terms["term"] != FORM, "lower"].isna().all()
        not_shown = {*small.index, *possible.index[possible < LEAST_SHARE_SHOWN]}
        terms, constant_settings = for_people(terms[~terms["term"].isin(not_shown)], settings)
        if constant_settings:
            yield f"at {constant_settings}"
        if unexplained > MOST_UNEXPLAINED:
            # Shares of terms that do not add to the value would mislead.
            percent_off = f"its terms are {100 * unexplained:.0f} % off here"
            yield f"what the {target.name} is made of is not determined: {percent_off}"
        else:
            amount = f"{'seconds' if target.is_time else heading(target)} and " if term_column(target) in terms else ""
            yield f"{amount}share of each term", terms.drop(columns=["lower", "upper"]) if not_drawn else terms
            if not_drawn:
                yield "without intervals: the constants of these terms were not drawn"
            if len(small):
                together = ", together" if len(small) > 1 else ""
                # The next tenth of a per cent above their sum.
                most = np.floor(1e3 * small.sum() + 1.0) / 10.0
                most_of_one = possible[small.index].max()
                may = f"; one may have up to {100.0 * most_of_one:.0f} %" if most_of_one >= LEAST_SHARE_SHOWN else ""
                yield f"{counted(len(small), 'other term')}{together} under {most:.1f} %{may}"

    @property
    def content(self) -> Iterator[Line]:
        """Terms and elasticities, what the verdicts mean, what cannot be told apart, then what was requested beside."""
        target, settings = self.quantity, list(self.terms.columns[: self.terms.columns.get_loc("term")])
        yield from self._lines_of_terms(settings)
        if len(self.members):
            yield "the same by each member of the ensemble", self.members
        heading_text = f"elasticity: the change of {target.name} in %, for one % more of a factor"
        yield heading_text, for_people(self.elasticities.dropna(subset=["elasticity"]), settings)[0]
        if len(self.doublings):
            title = f"by what doubling a factor multiplies the {target.reported}, by level: alike ones share a row"
            yield title, doublings_for_people(self.doublings)
        yield from self.trust
        yield from (f"this data cannot tell {' and '.join(terms)} apart, only their sum" for terms in self.aliased)
        yield from self.notes
        for part in (self.scaling, self.comparison, self.sensitivity, self.importance):
            if part is not None:
                yield from ("", *part.content)

    @property
    def trust(self) -> list[str]:
        """What the verdicts mean: a sentence for each, with the reason of one configuration."""
        if not len(self.verdicts):
            return []
        if len(self.verdicts) == 1:
            return [trust_text(*self.verdicts[["verdict", "reason"]].iloc[0])]
        judged = list(self.verdicts["verdict"])
        levels = [verdict for verdict in VERDICTS if verdict in judged]
        return [f"{judged.count(v)} of {len(judged)} configurations: {trust_text(v)}" for v in levels]
