"""`suggest`: which configurations to measure next, so that the interval at a target narrows most for its cost."""

from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt
import pandas as pd

from genperf.advice.narrowing import Knowledge, knowledge
from genperf.arrays import Array
from genperf.attribution.answers import Line, Shown
from genperf.errors import FormulaError, GenperfError, listed
from genperf.errors import suggest as similar
from genperf.formula import Node, evaluate, parse_number, substitute
from genperf.panel.configurations import devices_on_several, divisible, following
from genperf.prediction import (
    Band,
    Query,
    central_times,
    distance_beyond,
    forecasts,
    predicted_columns,
    read_query,
)
from genperf.prediction.verdict import VERDICTS
from genperf.result import FitResult
from genperf.table import Target
from genperf.words.numbers import join_values


@dataclass(frozen=True, eq=False)
class Suggestions(Shown):
    """Which configurations to measure next, so that the interval at a target narrows."""

    #: The configuration that the decision is about.
    target: dict[str, Any]
    #: `value`, `lower`, `upper`: the prediction there now, in the quantity's unit; the confidence interval, of the
    #: mean.
    value: float
    lower: float
    upper: float
    #: Nominal coverage.
    interval: float
    #: Relative half width of the target's interval now.
    width: float
    #: The width that is enough.
    within: float | None
    #: Whether the target's interval meets `within` already; nothing is then suggested.
    met: bool
    #: The batch to measure, in order: the factors, the predicted value in a column with the quantity's name (`time`),
    #: `cost` (machine-seconds), `width` (half width of the target's interval afterwards, relative), `gain` (the share
    #: of the width that goes), `gain_per_cost`.
    chosen: pd.DataFrame
    #: Every candidate as if it were the next: the same columns, the best first.
    candidates: pd.DataFrame
    #: The answer in words.
    sentence: str
    #: What is predicted.
    quantity: Target

    def to_dict(self) -> dict[str, Any]:
        """Return it as plain values, for JSON."""
        return {self.quantity.name if name == "value" else name: value for name, value in super().to_dict().items()}

    @property
    def content(self) -> list[Line]:
        """The batch to measure, and the answer in words."""
        return [("what to measure next", self.chosen), self.sentence]


def suggest(
    result: FitResult,
    target: Mapping[str, Any],
    *,
    cost: str = "workers",
    candidates: str | Path | pd.DataFrame | None = None,
    k: int = 1,
    within: float | None = None,
    interval: float = 0.9,
    band: Band = "confidence",
) -> Suggestions:
    """Return what to measure next.

    A candidate's *gain* is the share of its width that the target's interval is expected to lose by one measurement
    there (see `Knowledge.gains`). Candidates are ranked by gain per cost. The gain counts the uncertainty of the
    constants, of the family and of the form, with the chance of a new regime beyond the data; it needs no measurement,
    only the fitted model.

    Parameters
    ----------
    target : mapping
        The configuration that the decision is about; factors left out are those of a measured run (`typical_run`).
    cost : str
        What a second costs, a formula over the factors: `workers` counts machine-seconds. One that reads the predicted
        quantity (`time`) is the whole cost, as is every formula where the model predicts no time.
    candidates : path or DataFrame, optional
        What could be measured, a column a factor; by default powers of two below the target's count of workers.
    k : int
        How many to measure before the next fit: each is chosen as if those before it had been measured.
    within : float, optional
        The relative half width of the target's interval that is enough, such as 0.1. No more is suggested than is
        expected to reach it; while the verdict at the target is blind, a run is suggested all the same.
    interval : float
        Nominal coverage of the target's interval.
    band : {"confidence", "prediction"}
        Of the mean, or of a new run, whose noise no measurement takes away.

    Raises
    ------
    GenperfError
        For a target of several configurations, a `k` or `within` that is not positive, or where there is nothing to
        measure.

    Examples
    --------
    >>> import genperf as gp
    >>> runs = pd.DataFrame({"workers": [1, 2, 4, 8], "seconds": [9.1, 4.9, 3.2, 2.1]})
    >>> result = gp.fit(gp.read_table(runs, time="seconds", extrinsic="workers"), model="amdahl")
    >>> advice = suggest(result, {"workers": 64})
    >>> sorted(advice.candidates["workers"]), len(advice.chosen)
    ([16.0, 32.0], 1)
    """
    if not isinstance(result, FitResult):
        raise GenperfError("suggest takes one model, and this holds those of several groups", hint="result[GROUP]")
    if not isinstance(k, int) or k < 1:
        raise GenperfError(f"{k} is not a number of measurements", hint="1 or more")
    if within is not None and not (np.isfinite(within) and within > 0):
        raise GenperfError(f"an interval cannot be within {within:g}", hint="0.1 is 10 %")
    query = result.query(target)
    if query.rows != 1:
        raise GenperfError(f"suggest takes one target, got {query.rows}", hint="one value for each factor")
    values = {n: v[0] for n, v in query.columns.items()}
    given = {result.schema.column(str(n)) for n in target}
    named = {n: v for n, v in values.items() if n in given} or values
    quantity = result.schema.target
    predicted = predicted_columns(result, query, interval, band)
    value, lower, upper = (float(predicted[c][0]) for c in (quantity.name, "lower", "upper"))
    width = (upper - lower) / (2.0 * value)

    def answer(chosen: pd.DataFrame, ranked: pd.DataFrame, met: bool, sentence: str) -> Suggestions:
        return Suggestions(
            values, value, lower, upper, interval, width, within, met, chosen, ranked, sentence, quantity
        )

    blind = predicted["verdict"][0] == VERDICTS[-1]
    if within is not None and width <= within and not blind:
        nothing = pd.DataFrame(columns=[*query.columns, quantity.name, "cost", "width", "gain", "gain_per_cost"])
        text = f"the interval at {join_values(named)} is ±{100 * width:.3g} % already: nothing needs measuring"
        return answer(nothing, nothing, True, text)
    options = _candidates(result, query, candidates)
    both = {n: np.concatenate([options.columns[n], query.columns[n]]) for n in query.columns}
    parts = forecasts(result.members, both)
    central = central_times(result.members, both, parts)[:-1]
    prices = _costs(result, options, central, cost)
    start = knowledge(result, both, parts)
    run = float(start.noise[-1]) if band == "prediction" else 0.0
    frame = pd.DataFrame({**options.columns, quantity.name: central, "cost": prices})
    ranking = _Ranking(frame, start, width, run)
    ranked = ranking.of(start)
    chosen = ranking.batch(ranked, k, within)
    beyond = bool(distance_beyond(result.schema, query.columns)[0] > 0.0)
    return answer(chosen, ranked, False, _sentence(values, named, chosen, (width, within), beyond))


@dataclass(frozen=True)
class SuggestSettings:
    """Which candidates are worth their cost."""

    #: Candidates with less than this share of the largest gain stand behind the others, however little they cost. With
    #: a half, the largest run that could be paid was better for most laws (`docs/results/next-runs.md`).
    least_share: float = 0.75
    #: Relative narrowing below which no run is worth its name. A guess.
    noticeable: float = 0.05


SUGGEST = SuggestSettings()


@dataclass(frozen=True, eq=False)
class _Ranking:
    """The candidates, and what one measurement at each would do to the target's interval."""

    #: A row per candidate: the factors, the predicted value, `cost`.
    options: pd.DataFrame
    #: The uncertainty now, at the candidates and then at the target.
    start: Knowledge
    #: Relative half width of the target's interval now.
    width: float
    #: Variance of ln T that stays whatever is measured: the noise of a new run.
    run: float

    def of(self, now: Knowledge) -> pd.DataFrame:
        """Return every candidate as if it were the next, the best first."""
        target = len(now.covariance) - 1
        shares = now.gains(target)[:-1]
        # Where the target is certain, nothing narrows.
        whole = max(self.start.covariance[target, target] + self.run, np.finfo(float).tiny)
        before = now.covariance[target, target]
        widths = np.array([self._width((before * (1.0 - s) + self.run) / whole) for s in shares])
        unchanged = self._width((before + self.run) / whole)
        gain = 1.0 - widths / unchanged if unchanged > 0 else np.zeros(len(widths))
        frame = self.options.assign(width=widths, gain=gain, gain_per_cost=gain / self.options["cost"].to_numpy(float))
        # A cheap run that narrows next to nothing is no advice: those with a good part of the largest gain come first.
        # Of equal gains, such as none, the cheaper first.
        order = np.lexsort((frame["cost"], -frame["gain_per_cost"], gain < SUGGEST.least_share * gain.max(initial=0.0)))
        return frame.iloc[order]

    def batch(self, ranked: pd.DataFrame, k: int, within: float | None) -> pd.DataFrame:
        """Return up to k candidates in order, each chosen as if those before it had been measured."""
        now, rows = self.start, list[pd.DataFrame]()
        while len(ranked) and ranked["gain"].iloc[0] > 0.0:
            rows.append(ranked.iloc[:1])
            if len(rows) == k or (within is not None and ranked["width"].iloc[0] <= within):
                break
            now = now.after(int(ranked.index[0]))
            ranked = self.of(now).drop(index=[row.index[0] for row in rows])
        return pd.concat(rows, ignore_index=True) if rows else ranked.iloc[:0]

    def _width(self, ratio: float) -> float:
        """Return the relative half width when the variance of ln T falls to a share of what it is now."""
        return float(np.sinh(np.arcsinh(self.width) * np.sqrt(max(ratio, 0.0))))


def _sentence(
    target: Mapping[str, Any],
    named: Mapping[str, Any],
    chosen: pd.DataFrame,
    widths: tuple[float, float | None],
    beyond: bool,
) -> str:
    """Return the advice in words; of a target beyond the data with what nobody can promise."""
    width, within = widths
    where, now = join_values(named), f"±{100 * width:.3g} %"
    if chosen.empty:
        return f"no candidate narrows the interval at {where}, {now}: measure nearer to it"
    differing = [n for n in target if not (chosen[n] == target[n]).all()] or list(target)
    if not {*differing} & {*named}:
        # Only what follows from the target differs: what was asked about comes first.
        differing = [*named, *(n for n in differing if n not in named)]
    places = "; ".join(join_values({str(n): row[n] for n in differing}) for row in chosen[differing].to_dict("records"))
    after = float(chosen["width"].iloc[-1])
    then = f"±{100 * after:.3g} %"
    if after > (1.0 - SUGGEST.noticeable) * width:
        return f"no candidate narrows the interval at {where}, {now}, noticeably; the most for its cost has {places}"
    text = f"measure {places}: the interval at {where} is expected to narrow from {now} to {then}"
    unknown = ", unless a new regime begins" if beyond else ""
    if within is None:
        return text + unknown
    reached = f", within {100 * within:.3g} %" if after <= within else f"; {100 * within:.3g} % needs more"
    return text + reached + unknown


def _candidates(result: FitResult, target: Query, candidates: str | Path | pd.DataFrame | None) -> Query:
    """Return the configurations that could be measured, given or by default.

    By default they are the powers of two from the smallest measured count of workers to below the target's, in whole
    nodes, all else as at the target; the target itself where none of them is left. Left out are those that were
    measured or are known to fail, and those that a transformer's split does not divide.
    """
    if candidates is not None:
        return read_query(candidates, result.schema)
    factor = result.panel.along()
    last = float(target.columns[factor.name][0])
    per_node = devices_on_several(result.panel, target.columns, factor)
    counts = np.append(_doublings(factor.lower, last, per_node), last)
    columns: dict[str, npt.NDArray[Any]] = {k: np.repeat(v, len(counts)) for k, v in target.columns.items()}
    columns[factor.name] = counts
    columns.update(following(result.panel, factor, columns, per_node=per_node))
    columns = {name: np.append(cells[:-1], target.columns[name]) for name, cells in columns.items()}
    exists = divisible(result.panel, columns)
    names = [f.name for f in result.schema.factors]
    known = {median.values for median in result.schema.medians}
    feasibility = result.feasibility
    fails = np.zeros(len(counts), bool) if feasibility is None else feasibility.known_to_fail(columns)
    new = [
        i for i in np.flatnonzero(exists & ~fails).tolist() if tuple(columns[name][i] for name in names) not in known
    ]
    below = [i for i in new if i < len(counts) - 1] or new
    if not below:
        measured = listed([f"{count:g}" for count in dict.fromkeys(counts.tolist())])
        raise GenperfError(
            f"the runs at {factor.name} = {measured} were measured already"
            + (", or known to fail" if fails.any() else "")
            + ("" if exists.all() else ", or no multiple of the target's split"),
            hint="--candidates CSV, with the configurations that could be",
        )
    return read_query(pd.DataFrame({k: v[below] for k, v in columns.items()}), result.schema)


def _doublings(first: float, last: float, per_node: float | None) -> Array:
    """Return powers of two from one count to below another, those on several nodes times the workers of a full node."""
    counts = 2.0 ** np.arange(np.ceil(np.log2(first) - 1e-9), 64.0)
    if per_node is not None:
        counts = np.concatenate([counts[counts < per_node], per_node * 2.0 ** np.arange(64.0)])
    return np.asarray(counts[(counts >= first) & (counts < last)])


def _costs(result: FitResult, query: Query, predicted: Array, cost: str) -> Array:
    """Return what measuring each configuration costs, shape (rows,).

    For a model of a time it is the formula times the predicted seconds. A formula that reads the predicted quantity by
    its name (`time`) is the whole cost, as is every formula for another quantity: how long a run takes is not known.
    """
    quantity = result.schema.target
    formula = parse_number(cost, None, [f.name for f in result.schema.factors if not f.numeric], logical=False)
    nodes: dict[str, Node] = {}
    for name in formula.names:
        if name in query.columns or name == quantity.name:
            continue
        node = result.panel.formula(name)
        if node is None:
            known = [*query.columns, quantity.name]
            raise FormulaError(
                f"'{name}' is not a factor of the model",
                text=cost,
                column=max(cost.find(name), 0),
                width=len(name),
                hint=similar(name, known) or f"one of {', '.join(known)}",
            )
        nodes[name] = node
    columns: Mapping[str, Any] = {**query.columns, quantity.name: predicted}
    value = np.broadcast_to(np.asarray(evaluate(substitute(formula.node, nodes), columns), float), predicted.shape)
    whole = value if quantity.name in formula.names or not quantity.is_time else value * predicted
    if not np.all(np.isfinite(whole) & (whole > 0)):
        row = int(np.argmin(np.isfinite(whole) & (whole > 0)))
        given = ", ".join(f"{k}={v[row]}" for k, v in query.columns.items())
        raise GenperfError(f"the cost '{cost}' is {whole[row]:g} at {given}", hint="a cost is above zero")
    return np.asarray(whole)
