"""Constants, shares, elasticities and probabilities beside the laws that drew the tables.

Ten laws are written down in `factors_told.toml`, and drawn with seeds. The first of each kind was looked at while the
package was changed; the second, its *fresh* half, is run at the end. Every law is drawn with other constants in every
world and measured on four designs. Both models, `auto` and `generic`, answer the same questions through the public
functions. Differences of these laws are large, so that few of the stated probabilities are neither high nor low: laws
of *close* choices, in halves as well, are asked for probabilities alone. Writes factors-told.md.
"""

from __future__ import annotations

import sys
import warnings
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from itertools import product
from typing import Any

import numpy as np
import pandas as pd
from scipy.stats import binomtest, qmc

import genperf as gp
from experiments.shared import beside, computed, page
from genperf.attribution import compare, sensitivity
from genperf.attribution.terms import FORM
from genperf.errors import GenperfError

SEED = 41
INTERVAL = 0.9
DRAWS = 60
MODELS = ("auto", "generic")
DESIGNS = ("grid", "half", "one at a time", "correlated")
#: Worlds of each law and design, and of those of close choices.
WORLDS, CLOSE_WORLDS = 5, 8
#: ln of the ratio below which alternatives are close, and pairs of a world that are so by prediction.
NEAR, NEAR_PAIRS = 0.08, 10
#: % of the answers that are to be true at least, and where one factor was varied at a time; and at most.
ASKED, MOST_ASKED = (85.0, 80.0), 95.0
#: Points by which what is stated and what comes true may differ, and the level of the interval of what came true.
NEAR_ENOUGH, OF_SAMPLE = 5.0, 0.95
BINS = {"≤30": 0.3, "≤60": 0.6, "≤80": 0.8, "≤95": 0.95, "≤100": 1.01}
NUMERIC = ("batch", "layers", "workers")
_FILE = beside(__file__)
VALUES, LINES = _FILE["values"], _FILE["lines"]
#: Every configuration of the values.
GRID = pd.DataFrame(list(product(*VALUES.values())), columns=list(VALUES))


Columns = Mapping[str, Any]
#: A sum of the constant and of terms of which the model has others of a kind beside it.
NO_COUNTERPART = "a sum with the constant, without a counterpart in the law"


@dataclass(frozen=True)
class Form:
    """A law whose constants each world draws: parts over `batch`, `layers`, the workers `n`, and `y`, 1 of level y."""

    #: Name → ends of a uniform distribution, in the order in which they are drawn.
    constants: Mapping[str, tuple[float, float]]
    parts: Mapping[str, str]
    #: Of the generic expression itself, its name of each constant.
    named: Mapping[str, str] = field(default_factory=dict)


@dataclass(frozen=True)
class Law:
    """A form with the constants of one world."""

    form: Form
    values: Mapping[str, float]

    @property
    def constants(self) -> Mapping[str, float]:
        """The constants of the generic expression; none for another law."""
        return {name: self.values[constant] for name, constant in self.form.named.items()}

    def parts(self, c: Columns) -> dict[str, Any]:
        """Return the seconds of the parts by the factors of each: `""` of none, `"batch layers"` of both."""
        n = np.atleast_1d(np.asarray(c["workers"], float))
        y = (np.asarray(c["framework"]).astype(str) == "y").astype(float)
        known = {**self.values, "batch": c["batch"], "layers": c["layers"], "n": n, "y": y}
        return {name: computed(part, **known) for name, part in self.form.parts.items()}

    def time(self, c: Columns) -> np.ndarray:
        return sum(self.parts(c).values(), np.zeros(np.size(c["workers"])))

    def at(self, at: Mapping[str, Any]) -> float:
        """Return the time of one configuration."""
        return float(self.time(_frame(at))[0])

    def of_a_sample(self, at: Mapping[str, Any]) -> float:
        """Return the time of one configuration over the samples of its step."""
        return self.at(at) / (at["batch"] * at["workers"])


#: Half → kind of law → its form: which is added or multiplied, overlaps, fills up, scales otherwise with a level.
LAWS = {half: {kind: Form(**_FILE[name]) for kind, name in laws.items()} for half, laws in _FILE["halves"].items()}
HALVES = tuple(LAWS)


def _close(law: str, **ends: tuple[float, float]) -> Form:
    """Return the form of a law with other ends of some constants."""
    form = Form(**_FILE[law])
    return replace(form, constants={**form.constants, **ends}, named={})


CLOSE = {f"close {half}": half for half in HALVES}
LAWS |= {name: {kind: _close(**law) for kind, law in _FILE["close"][half].items()} for name, half in CLOSE.items()}


@dataclass(frozen=True)
class World:
    """A law, measured on a design with noise."""

    law: Law
    runs: pd.DataFrame
    #: Of what is asked.
    seed: tuple[int, ...]
    #: Whether it is asked for probabilities alone.
    is_close: bool = False

    def table(self, more: pd.DataFrame | None = None) -> Any:
        """Return the measured table, perhaps with further runs."""
        runs = self.runs if more is None else pd.concat([self.runs, more], ignore_index=True)
        return gp.read_table(
            runs, time="seconds", intrinsic=["batch", "layers"], extrinsic=["workers"], categorical=["framework"]
        )


def world(half: str, kind: str, design: str, number: int) -> World:
    place = [list(LAWS).index(half), sum(map(ord, kind)), DESIGNS.index(design), number]
    rng = np.random.default_rng([SEED, *place])
    form = LAWS[half][kind]
    law = Law(form, {name: rng.uniform(*ends) for name, ends in form.constants.items()})
    noise = float(np.exp(rng.uniform(np.log(0.01), np.log(0.05))))
    points = _points(design, rng)
    times = law.time(points) * np.exp(noise * rng.standard_normal(len(points)))
    return World(law, points.assign(seconds=times), tuple(place), half in CLOSE)


def _points(design: str, rng: np.random.Generator) -> pd.DataFrame:
    if design == "one at a time":
        centre = {"batch": 64.0, "layers": 8.0, "workers": 4.0, "framework": "x"}
        rows = [{**centre, name: value} for name, values in LINES.items() for value in values]
        return pd.DataFrame(rows).drop_duplicates(ignore_index=True)
    if design == "grid":
        return GRID
    if design == "half":
        return GRID.iloc[np.sort(rng.permutation(len(GRID))[: len(GRID) // 2])].reset_index(drop=True)
    # Large networks were run with large batches on many workers: rank correlations of about 0.8.
    rows = []
    for _ in range(40):
        size = rng.uniform()
        near = {n: np.clip(size + 0.22 * rng.standard_normal(), 0.0, 0.999) for n in NUMERIC}
        row: dict[str, Any] = {n: VALUES[n][int(near[n] * len(VALUES[n]))] for n in NUMERIC}
        rows.append({**row, "framework": str(rng.choice(["x", "y"]))})
    return pd.DataFrame(rows).drop_duplicates(ignore_index=True)


@dataclass(frozen=True)
class Asked:
    """One answer beside the truth."""

    question: str
    #: Of the answer, how far off it is, and the width of its interval.
    off: float
    width: float
    #: Whether the interval holds the truth, or what was said came true.
    true: bool
    #: The stated probability, or the promised width over that which came.
    stated: float = float("nan")


def _within(question: str, truth: float, value: float, lower: float, upper: float) -> Asked:
    # Rounding of a result that is exact is no error.
    slack = 1e-9 + 1e-6 * abs(truth)
    return Asked(question, abs(value - truth), upper - lower, bool(lower - slack <= truth <= upper + slack))


def _frame(at: Mapping[str, Any]) -> dict[str, np.ndarray]:
    return {n: np.array([v], float if n != "framework" else object) for n, v in at.items()}


def _true_slope(law: Law, at: Mapping[str, Any], name: str, method: str) -> float:
    """Return the elasticity of a law as the answer's method defines it."""
    low, high = {"derivative": (1e-4, 1e-4), "doubling": (0.0, np.log(2.0))}.get(method, (np.log(2.0) / 2.0,) * 2)
    ends = [law.at({**at, name: at[name] * np.exp(move)}) for move in (-low, high)]
    return float(np.log(ends[1] / ends[0]) / (low + high))


def _explained(w: World, result: Any, rng: np.random.Generator) -> Iterator[Asked]:
    """Ask for the elasticities and the share of the constant at one measured place."""
    # One place: a world takes half the time, and there are three times as many worlds.
    at = w.runs.iloc[rng.permutation(len(w.runs))[0]].drop("seconds").to_dict()
    explained = gp.explain(result, at)
    for row in explained.elasticities.to_dict("records"):
        truth = _true_slope(w.law, at, row["factor"], row["method"])
        question = "elasticity at one worker" if at[row["factor"]] == 1.0 else "elasticity"
        yield _within(question, truth, row["elasticity"], row["lower"], row["upper"])
    yield from _share_of_the_constant(w.law, at, explained)


def _questions(w: World, result: Any, model: str, design: str) -> Iterator[Asked]:
    """Ask one fitted model everything."""
    rng = np.random.default_rng([SEED, 7, *w.seed])
    yield from _explained(w, result, rng)
    yield from _versus(w, result, rng)
    yield from _sobol(w.law, result, design)
    yield from _compared(w.law, result, rng)
    yield from _optimized(w.law, result)
    # Of every other world: a second fit costs as much as all other answers.
    if w.seed[-1] % 2 == 0:
        yield from _suggested(w, result, model)


def _drawn(rng: np.random.Generator, some: pd.DataFrame) -> dict[str, Any]:
    """Return one of some configurations, by chance."""
    drawn: dict[str, Any] = some.iloc[int(rng.integers(len(some)))].to_dict()
    return drawn


def _versus(w: World, result: Any, rng: np.random.Generator) -> Iterator[Asked]:
    """Ask how much longer one configuration takes than another, between and beyond the measured ones."""
    measured = w.runs.drop(columns="seconds")
    for where, some in (("measured", measured), ("unmeasured", GRID), *[("beyond", GRID.assign(workers=32.0))] * 2):
        one, other = (_drawn(rng, some) for _ in range(2))
        if where == "beyond":
            one = _drawn(rng, measured)
        if one != other:
            told, seconds = compare(result, one, other), w.law.at(one)
            asked = _within(f"versus, {where}", w.law.at(other) - seconds, told.change, told.lower, told.upper)
            yield replace(asked, off=asked.off / seconds, width=asked.width / seconds)


def _best(law: Law, result: Any, rng: np.random.Generator) -> Iterator[Asked]:
    """Ask which framework is the best at two configurations that were not measured."""
    for _ in range(2):
        at = _drawn(rng, GRID)
        at["batch"] = float(rng.choice([24.0, 48.0, 96.0]))
        at.pop("framework")
        ranking = gp.compare(result, at, over="framework").table
        first, second = (law.at({**at, "framework": framework}) for framework in ranking["framework"])
        # Of two that take the same time neither is the best.
        if abs(first / second - 1.0) > 1e-9:
            yield Asked("compare: best", 0.0, 0.0, first < second, float(ranking["best"].iloc[0]))


def _compared(law: Law, result: Any, rng: np.random.Generator) -> Iterator[Asked]:
    """Ask which framework is the best, and which of two configurations that differ by less than 8 %."""
    yield from _best(law, result, rng)
    # Probabilities between a half and one.
    for _ in range(3):
        one, other = (_drawn(rng, GRID) for _ in range(2))
        for _ in range(200):
            if one != other and abs(np.log(law.of_a_sample(one) / law.of_a_sample(other))) < NEAR:
                yield _closest("compare: closest", law, result, one, other)
                break
            other = _drawn(rng, GRID)


def _optimized(law: Law, result: Any) -> Iterator[Asked]:
    """Ask for the two best counts and batches, between and beyond the measured counts."""
    for what, workers in (("wins", [1, 2, 4, 8]), ("wins beyond", [8, 16, 32])):
        yield from _wins(law, result, what, workers, {"layers": 8.0, "framework": "y"})


def _wins(
    law: Law, result: Any, what: str, workers: Sequence[int], at: Columns, work: str = "batch*workers"
) -> Iterator[Asked]:
    """Ask for the two best counts and batches by the time over some work."""
    batches = [32, 64, 128]
    over = {"workers": workers, "batch": batches, **{name: [value] for name, value in at.items()}}
    best = gp.optimize(result, over=over, minimize=f"time/({work})").best

    def value(n: float, b: float) -> float:
        """Return what the law makes of a count and a batch."""
        return law.at({**at, "workers": n, "batch": b}) / float(computed(work, batch=b, workers=n))

    least = min(value(n, b) for n, b in product(workers, batches))
    for row in best.head(2).to_dict("records"):
        is_best = value(row["workers"], row["batch"]) <= least * (1.0 + 1e-9)
        yield Asked(what, 0.0, 0.0, bool(is_best), float(row["wins"]))


def _close_choices(w: World, result: Any) -> Iterator[Asked]:
    """Ask which framework is the best, and which counts and batches are by powers of both, which may be the law's."""
    rng = np.random.default_rng([SEED, 11, *w.seed])
    for _ in range(2):
        yield from _best(w.law, result, rng)
    for what, workers in (("wins", [1, 2, 4, 8]), ("wins beyond", [8, 16, 32])) * 3:
        at, work = _drawn(rng, GRID), f"batch**{rng.uniform(0.2, 1.0):.3f}*workers**{rng.uniform(-0.1, 0.6):.3f}"
        yield from _wins(w.law, result, what, workers, {name: at[name] for name in ("layers", "framework")}, work)


def _closest(question: str, law: Law, result: Any, one: Mapping[str, Any], other: Mapping[str, Any]) -> Asked:
    """Ask which of two configurations is better for the same work."""
    ranked = gp.compare(result, one, over=[other]).table
    right = (law.of_a_sample(one) < law.of_a_sample(other)) == (str(ranked.iloc[0, 0]) == "as it is")
    return Asked(question, 0.0, 0.0, right, float(ranked["best"].iloc[0]))


def _closest_by_prediction(w: World, result: Any) -> Iterator[Asked]:
    """Ask about alternatives that are near by the answers themselves, as one who asks sees them."""
    each = np.log(np.asarray(result.predict(GRID)["time"]) / (GRID["batch"] * GRID["workers"]).to_numpy())
    i, j = np.triu_indices(len(GRID), 1)
    near = np.flatnonzero(np.abs(each[i] - each[j]) < NEAR)
    for place in np.random.default_rng([SEED, 10, *w.seed]).permutation(near)[:NEAR_PAIRS]:
        pair = (GRID.iloc[int(k)].to_dict() for k in (i[place], j[place]))
        yield _closest("compare: closest as predicted", w.law, result, *pair)


def _share_of_the_constant(law: Law, at: Mapping[str, Any], explained: Any) -> Iterator[Asked]:
    """Compare the share of the constant, or of the sum that it is in, with that of the same parts of the law."""
    shares = explained.terms.groupby("term", sort=False)["share"].sum()
    if "constant" not in shares:
        yield Asked("share of the constant", 0.0, 0.0, False)
        return
    sums = explained.together.to_dict("records")
    row = next((one for one in sums if "constant" in one["terms"]), None)
    question = "share of the constant" if row is None else "share of the constant with other terms"
    if row is None:
        row = {**explained.terms.set_index("term").loc["constant"].to_dict(), "terms": ("constant",)}
    elif {*map(_kind, row["terms"])} & {
        _kind(t) for t in shares.index[shares > 0.005] if t not in (*row["terms"], FORM)
    }:
        # A part of the law would be in the sum and beside it.
        yield Asked(NO_COUNTERPART, 0.0, 0.0, True)
        return
    parts = law.parts(_frame(at))
    held = [float(np.ravel(part)[0]) for name, part in parts.items() if _kind(name) in {*map(_kind, row["terms"])}]
    scale = 100.0 * float(explained.terms["share"].sum()) / float(explained.terms["seconds"].sum())
    ends = [scale * float(row[end]) for end in ("lower", "upper")]
    yield _within(question, 100.0 * sum(held) / law.at(at), 100.0 * float(row["share"]), *ends)


def _kind(name: str) -> frozenset[str]:
    """Return the sizes that a part or a term depends on, or the workers where it depends on them alone.

    n^q is a power in a law and several functions of n in a model, so that `batch × workers` and `batch` are of a kind.
    """
    factors = frozenset(factor for factor in NUMERIC if factor in name)
    return factors - {"workers"} or factors


def _sobol(law: Law, result: Any, design: str) -> Iterator[Asked]:
    """Ask for the shares of the variance."""
    ranges = LINES if design == "one at a time" else VALUES
    # With so many points the truth errs by 0.002 at most.
    u = qmc.Sobol(2 * len(ranges), rng=np.random.default_rng([SEED, 9]), bits=64).random(1 << 14)
    halves = (zip(ranges, half, strict=True) for half in np.split(u.T, 2))
    base = [{name: _over(name, ranges[name], column) for name, column in columns} for columns in halves]
    first = law.time(base[0])
    variance = float(np.var(np.concatenate([first, law.time(base[1])])))
    for row in sensitivity(result).indices.to_dict("records"):
        name = row["factor"]
        total = float(np.mean((first - law.time({**base[0], name: base[1][name]})) ** 2)) / (2.0 * variance)
        yield _within("Sobol total", total, row["total"], row["total_lower"], row["total_upper"])


def _over(name: str, values: Sequence[Any], u: np.ndarray) -> np.ndarray:
    """Return a factor's values over its range, evenly over the logarithm, in whole numbers."""
    if name == "framework":
        return np.array(values, object)[(u * len(values)).astype(int)]
    return np.asarray(np.clip(np.round(values[0] * (values[-1] / values[0]) ** u), values[0], values[-1]))


def _suggested(w: World, result: Any, model: str) -> Iterator[Asked]:
    """Follow the advice, fit again, and compare the width that came with the promised one."""
    target = {"batch": 64.0, "layers": 8.0, "workers": 32.0, "framework": "x"}
    if model == "generic":
        # With the package's own draws: of fewer, more of what a run shows is taken for chance.
        result = gp.fit(w.table(), model, seed=0)
    advice = gp.suggest(result, target)
    truth = w.law.at(target)
    now = result.predict(target, INTERVAL, band="confidence").iloc[0]
    logarithms = np.log([now[end] / truth for end in ("time", "lower", "upper")]).tolist()
    yield _within("target beyond", 0.0, *logarithms)
    if not len(advice.chosen):
        yield Asked("suggest: no candidate", 0.0, 0.0, False)
        return
    row = advice.chosen.iloc[0]
    at = {n: row[n] for n in VALUES}
    noise = float(np.exp(0.02 * np.random.default_rng([SEED, 8, *w.seed]).standard_normal()))
    more = pd.DataFrame([{**at, "seconds": w.law.at(at) * noise}])
    after = gp.fit(w.table(more), model, seed=0).predict(target, INTERVAL, band="confidence").iloc[0]
    width = float(after["upper"] - after["lower"]) / (2.0 * float(after["time"]))
    yield Asked("suggest: width", 0.0, width, True, float(row["width"]) / width)


def _constants(w: World, result: Any, structure: str) -> Iterator[Asked]:
    """Compare the constants of the generic expression with those of its law."""
    member = result.best
    interval = dict(zip(member.expression.constant_names, member.constant_interval(INTERVAL), strict=True))
    what = "constant, structure given" if structure != "auto" else "constant, structure chosen"
    for name, truth in w.law.constants.items():
        found = [n for n in interval if n == name or (name == "d" and n.startswith("d_framework"))]
        if not found:
            continue
        sign = -1.0 if name == "d" and found[0].endswith("[x]") else 1.0
        ends = sorted((sign * interval[found[0]]).tolist())
        kind = {"d": "level", "C": "C"}.get(name, "exponent")
        yield _within(f"{what}: {kind}", truth, sign * member.values[found[0]], *ends)


def _asked(w: World, model: str, design: str) -> Iterator[Asked]:
    """Fit a model to a world, and ask it everything."""
    result = gp.fit(w.table(), model, seed=0, draws=DRAWS)
    if w.is_close:
        yield from _close_choices(w, result)
        return
    yield from _closest_by_prediction(w, result)
    yield from _questions(w, result, model, design)
    if model == "generic" and w.law.constants:
        given = gp.fit(w.table(), "generic", structure="separable", seed=0, draws=DRAWS)
        yield from _constants(w, given, "separable")
        if "q_workers" in result.best.expression.constant_names:
            yield from _constants(w, result, "auto")


def rows_of(half: str, kind: str, design: str, number: int, models: Sequence[str]) -> list[dict[str, Any]]:
    """Ask both models about one world."""
    w, out = world(half, kind, design, number), []
    for model in models:
        asked: list[Asked] = []
        try:
            # A question that ends in an error has been answered as far as it came.
            asked.extend(_asked(w, model, design))
        except GenperfError as error:
            print(f"{model} {half} {kind} {design} {number}: {error}", file=sys.stderr)
        place = {"model": model, "half": half, "law": kind, "design": design, "world": number}
        out += [{**place, **vars(one)} for one in asked]
    return out


def _of_intervals(rows: pd.DataFrame) -> pd.DataFrame:
    """Return the answers with an interval, all designs but one as `others`."""
    rows = rows.assign(design=np.where(rows["design"] == "one at a time", "one at a time", "others"))
    return rows[rows["stated"].isna() & (rows["question"] != NO_COUNTERPART)]


def _rate(true: int, answers: int) -> tuple[float, float, float]:
    """Return how many % were true, and the ends of its binomial interval (Clopper & Pearson 1934)."""
    ends = binomtest(true, answers).proportion_ci(OF_SAMPLE, "exact")
    return 100.0 * true / answers, 100.0 * ends.low, 100.0 * ends.high


def summary(rows: pd.DataFrame) -> pd.DataFrame:
    """Return how many answers were true, with the interval of its sample, by question, model and design."""
    grouped = _of_intervals(rows).groupby(["question", "model", "design"], sort=False)
    columns = {"answers": ("true", "size"), "true": ("true", "sum")}
    table = grouped.agg(**columns, off=("off", "median"), width=("width", "median")).round(4).reset_index()
    told = [_held(row.design, *_rate(int(row.true), row.answers)) for row in table.itertuples()]
    return table.assign(true=told)


def _held(design: str, true: float, low: float, high: float) -> str:
    """Return what was true with its interval, bold where all of it is below what is asked, italic where above."""
    text = f"{true:.0f} ({low:.0f}–{high:.0f})"
    mark = "**" if high < ASKED[design == "one at a time"] else "*" if low > MOST_ASKED else ""
    return f"{mark}{text}{mark}"


def missed(rows: pd.DataFrame) -> pd.DataFrame:
    """Return how many answers were true of each law, of questions where fewer than asked were in a half."""
    plain, keys = _of_intervals(rows), ["question", "model", "design"]
    plain = plain.assign(law=plain["half"] + " " + plain["law"], true=100.0 * plain["true"])
    halves = plain.pivot_table("true", keys, "half", sort=False)
    asked = np.where(halves.index.get_level_values("design") == "others", *ASKED)
    few = halves.index[halves.min(axis=1) < asked - 0.5]
    laws = [f"{half} {law}" for half in HALVES for law in LAWS[half]]
    return plain.pivot_table("true", keys, "law", sort=False).round(0).reindex(few, columns=laws).reset_index()


def stated(rows: pd.DataFrame, by: Sequence[str] = ("model",)) -> pd.DataFrame:
    """Return how often stated probabilities came true, in bins, a column for each model, or model and half."""
    some = rows[rows["stated"].notna() & ~rows["question"].str.startswith("suggest")]
    some = some.assign(bin=pd.cut(some["stated"], [-0.01, *BINS.values()], labels=[*BINS]))
    grouped = some.groupby(["question", "bin", *by], observed=True)
    table = grouped.agg(answers=("true", "size"), stated=("stated", "mean"), true=("true", "sum"))
    table = table.assign(told=[_came_true(row) for row in table.itertuples()]).reset_index()
    wide = table.pivot_table("told", ["question", "bin"], [*by], aggfunc="first", observed=True).fillna("")
    wide.columns = [" ".join([name] if isinstance(name, str) else name) for name in wide.columns]
    return wide.reset_index()


def _came_true(row: Any) -> str:
    """Return `88 → 98 (89–100) of 50`: bold where they differ too much, with a `?` where the sample cannot tell."""
    stated, (true, low, high) = 100.0 * row.stated, _rate(int(row.true), row.answers)
    text = f"{stated:.0f} → {true:.0f} ({low:.0f}–{high:.0f}) of {row.answers}"
    if low > stated + NEAR_ENOUGH or high < stated - NEAR_ENOUGH:
        return f"**{text}**"
    if high - low > 2.0 * NEAR_ENOUGH:
        return f"{text} ?"
    return f"**{text}**" if abs(true - stated) > NEAR_ENOUGH else text


def promised(rows: pd.DataFrame) -> pd.DataFrame:
    """Return promised widths over those that came."""
    some = rows[rows["question"] == "suggest: width"].assign(logarithm=lambda r: np.log(r["stated"]))
    grouped = some.groupby(["model", "design"], sort=False)["logarithm"]
    table = grouped.agg(["size", "median", lambda v: np.quantile(v, 0.1), lambda v: np.quantile(v, 0.9)])
    table.columns = ["answers", "median", "10 %", "90 %"]
    return pd.concat([table[["answers"]], np.exp(table[["median", "10 %", "90 %"]])], axis=1).round(2).reset_index()


def _worlds(rows: pd.DataFrame) -> str:
    """Return how many worlds of each half a model was asked about."""
    asked = rows[["model", "half", "law", "design", "world"]].drop_duplicates().groupby(["model", "half"]).size()
    counts = {half: CLOSE_WORLDS if half in CLOSE else WORLDS for half in LAWS}
    all_of = {half: count * len(DESIGNS) * len(LAWS[half]) for half, count in counts.items()}
    of_models = [(m, [f"{asked.get((m, h), 0)} of {count} {h}" for h, count in all_of.items()]) for m in MODELS]
    return "; ".join(f"`{model}` {' and '.join(counts)}" for model, counts in of_models)


def page_of(rows: pd.DataFrame) -> str:
    close = rows[rows["half"].isin([*CLOSE])]
    close, rows_of_all, rows = close.replace({"half": CLOSE}), rows, rows[~rows["half"].isin([*CLOSE])]
    both = [summary(rows[rows["half"] == half]).set_index(["question", "model", "design"]) for half in HALVES]
    return page(
        "factors-told",
        worlds=_worlds(rows_of_all[~rows_of_all["question"].str.startswith("compare: closest as")]),
        left_out=(rows["question"] == NO_COUNTERPART).sum(),
        answers=both[0].join(both[1], how="outer", lsuffix=", tuning", rsuffix=", fresh", sort=False).reset_index(),
        missed=missed(rows),
        stated=stated(rows),
        close=stated(close, ("model", "half")),
        together=stated(close),
        promised=promised(rows),
    )


def run(models: str = ",".join(MODELS)) -> str:
    """Draw the worlds, and ask the models about each."""
    warnings.simplefilter("ignore")
    rows: list[dict[str, Any]] = []
    for half, design in product(LAWS, DESIGNS):
        for kind, number in product(LAWS[half], range(CLOSE_WORLDS if half in CLOSE else WORLDS)):
            rows += rows_of(half, kind, design, number, models.split(","))
    return page_of(pd.DataFrame(rows))
