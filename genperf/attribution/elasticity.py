"""By how much the predicted value moves with a factor: elasticities, and what a doubling does at each level."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
import pandas as pd

from genperf.arrays import Array
from genperf.attribution.draws import curves_of, ends_of, quantiles, shares
from genperf.formula import Call, Node, names_in, parse
from genperf.panel.configurations import doubled, following_workers
from genperf.prediction import Member, Query, central_times, read_query, stack_of
from genperf.result import FitResult
from genperf.table.cells import columns_of, with_columns
from genperf.table.work import evaluated

#: Functions that jump: their derivative tells nothing of the next step.
STEPS = frozenset({"ceil", "floor", "remainder"})

EXACT, DOUBLING = "derivative", "doubling"


def elasticity_table(
    result: FitResult, query: Query, shown: Sequence[str], levels: tuple[float, float]
) -> pd.DataFrame:
    """Return a row per configuration and numeric factor: elasticity, interval and method.

    `derivative` is ∂ln T/∂ln x, exact, all members by weight. Where T is a step function of the factor, or has a part
    that is not an expression, it is `doubling`: ln(T(2x)/T(x))/ln 2. That is the mean of the elasticity on the way from
    the factor's value to twice it.
    """
    read, frames, stack = factors_read(result), [], stack_of(result.members)
    for name in (f.name for f in result.schema.factors if f.numeric and f.name in read):
        smooth = stack is None and all(
            m.discrepancy is None and not _steps(m.expression.node, name) for m in result.members
        )
        ends = (_derivative if smooth else _doubled)(result, query.columns, name, levels)
        known = smooth | (np.asarray(query.columns[name], float) > 0.0)
        columns = zip(("elasticity", "lower", "upper"), ends, strict=True)
        answer = {"factor": name, **{column: np.where(known, values, np.nan) for column, values in columns}}
        answer["method"] = EXACT if smooth else DOUBLING
        given = {factor: query.columns[factor] for factor in shown if factor not in answer}
        frames.append(pd.DataFrame({**given, **answer}))
    if not frames:
        return pd.DataFrame(columns=list(dict.fromkeys([*shown, "factor", "elasticity", "lower", "upper", "method"])))
    return pd.concat(frames).sort_index(kind="stable").reset_index(drop=True)


def factors_read(result: FitResult) -> set[str]:
    """Return the factors that the prediction depends on."""
    stack = stack_of(result.members)
    read = {name for m in result.members for name in m.expression.factors}
    read |= {name for m in result.members if m.discrepancy is not None for name in m.discrepancy.factors}
    return read if stack is None else read | {*stack.factors}


def _steps(node: Node, name: str) -> bool:
    """Tell whether a function that jumps reads a factor."""
    if not isinstance(node, Call) or name not in names_in(node):
        return False
    return node.function in STEPS or any(_steps(a, name) for a in node.arguments)


def _derivative(
    result: FitResult, columns: Mapping[str, Any], name: str, levels: tuple[float, float]
) -> tuple[Array, Array, Array]:
    """Return ∂ln T/∂ln x = (x/T)·∂T/∂x, and the ends of its interval."""
    members, total = result.members, sum(m.weight for m in result.members)

    def of(member: Member, constants: Mapping[str, Any]) -> Array:
        predicted, slopes = member.expression.gradient(columns, constants, [name])
        with np.errstate(all="ignore"):
            return np.asarray(slopes[name] * np.asarray(columns[name], float) / predicted)

    value = np.sum([m.weight / total * of(m, m.values) for m in members], axis=0)
    lower, upper = quantiles(np.vstack([of(m, m.draw_values()) for m in members]), shares(members), levels)
    return value, lower, upper


def _doubled(result: FitResult, columns: Mapping[str, Any], name: str, levels: tuple[float, float]) -> list[Array]:
    """Return ln(T(2x)/T(x))/ln 2, and the ends of its interval."""
    twice = {**columns, name: 2.0 * np.asarray(columns[name], float)}
    both = {k: np.concatenate([np.atleast_1d(v), twice[k]]) for k, v in columns.items()}
    return [ratio / np.log(2.0) for ratio in _log_ratios(result, both, levels)]


def _log_ratios(
    result: FitResult, columns: Mapping[str, Any], levels: tuple[float, float] | None = None
) -> list[Array]:
    """Return ln of the second half of the predicted values over the first, and with levels the ends of its interval."""
    with np.errstate(all="ignore"):
        first, second = np.split(np.log(central_times(result.members, columns)), 2)
        rows = np.arange(len(first))
        if levels is None:
            return [second - first]
        return [second - first, *curves_of(result, columns).ratios(rows + len(rows), rows).quantiles(levels)]


@dataclass(frozen=True)
class DoublingSettings:
    """How much is told of levels."""

    #: Levels of a categorical factor, in the model's order. A guess: with more nobody reads the table.
    max_levels: int = 30


DOUBLINGS = DoublingSettings()


def doublings(result: FitResult, at: Mapping[str, Any] | None = None) -> dict[str, float]:
    """Return by what the predicted value is multiplied when a factor doubles, largest change first.

    The other factors stay, but for those that follow: the nodes and the data-parallel ways grow with the workers, and
    are no factors of their own here. Where a throughput was measured, it is the throughput: the length of a step
    depends on the unit of its work.

    Parameters
    ----------
    at : mapping, optional
        The configuration; factors left out are those of a measured run (`typical_run`).

    Returns
    -------
    dict of str to float
        A number for each numeric factor above zero that was measured at several values.

    Examples
    --------
    >>> import genperf as gp
    >>> runs = pd.DataFrame({"workers": [1, 2, 4, 8], "seconds": [8.0, 4.0, 2.0, 1.0]})
    >>> result = gp.fit(gp.read_table(runs, time="seconds", extrinsic="workers"), model="a/workers")
    >>> round(doublings(result)["workers"], 3)
    0.5
    """
    frame = result.completed(at).iloc[:1]
    names = _doubled_factors(result, frame)
    effects = {name: float(_effect(result, frame, name)[0][0]) for name in names}
    return {name: float(np.exp(effect)) for name, effect in sorted(effects.items(), key=lambda item: -abs(item[1]))}


def doublings_by_level(
    result: FitResult, at: Mapping[str, Any] | pd.DataFrame | None = None, interval: float = 0.9
) -> pd.DataFrame:
    """Return by what the predicted value is multiplied when a factor doubles, for each level of each categorical one.

    A level stands for a measured run with it (`typical_run`), unless `at` names the other factors. The intervals hold
    the uncertainty of the constants, and of the form of the expression.

    Returns
    -------
    DataFrame
        A row per factor and level: `factor`, `from` (the value that is doubled), `categorical`, `level`, `times`,
        `lower`, `upper`. No row where no categorical factor varies. Of a measured throughput it is the throughput.

    Examples
    --------
    >>> import genperf as gp
    >>> rows = [(b, n, net) for net in ("resnet", "vgg") for b in (8, 16, 32) for n in (1, 2, 4, 8)]
    >>> runs = pd.DataFrame(rows, columns=["batch", "workers", "net"])
    >>> runs["t"] = runs.batch / runs.workers ** runs.net.map({"resnet": 1.0, "vgg": 0.5})
    >>> table = gp.read_table(runs, time="t", intrinsic="batch", extrinsic="workers", categorical="net")
    >>> doubled = doublings_by_level(gp.fit(table, "generic", draws=20))
    >>> print(doubled[doubled.factor == "workers"][["factor", "level", "times"]].round(2).to_string(index=False))
     factor  level  times
    workers resnet   0.50
    workers    vgg   0.71
    """
    given = {} if at is None else dict(at.iloc[0] if isinstance(at, pd.DataFrame) else at)
    rows = []
    for categorical in (f for f in result.schema.factors if len(f.levels) > 1):
        levels = categorical.levels[: DOUBLINGS.max_levels]
        others = {n: v if np.isscalar(v) else v[0] for n, v in given.items() if n != categorical.name}
        each = [result.completed({**others, categorical.name: [level]}) for level in levels]
        frame = pd.concat(each, ignore_index=True)
        for name in _doubled_factors(result, frame):
            cells = (frame[name], levels, *np.exp(_effect(result, frame, name, interval)))
            rows += [(name, start, categorical.name, *values) for start, *values in zip(*cells, strict=True)]
    return pd.DataFrame(rows, columns=["factor", "from", "categorical", "level", "times", "lower", "upper"])


def doublings_for_people(doublings: pd.DataFrame) -> pd.DataFrame:
    """Return what a doubling does by level: a row per level, and a column per factor with the interval behind.

    Examples
    --------
    >>> row = {"factor": "gpus", "from": 8.0, "categorical": "net", "level": "vgg"}
    >>> print(doublings_for_people(pd.DataFrame([{**row, "times": 1.05, "lower": 1.01, "upper": 1.1}])))
           level            gpus
    0  net = vgg  1.05 (1.01–1.10)
    """
    rows: dict[str, dict[str, str]] = {}
    for one in doublings.to_dict("records"):
        level = f"{one['categorical']} = {one['level']}"
        text = f"{one['times']:.2f} ({one['lower']:.2f}–{one['upper']:.2f})"
        rows.setdefault(level, {"level": level})[one["factor"]] = text
    return pd.DataFrame(list(rows.values()))


def _doubled_factors(result: FitResult, frame: pd.DataFrame) -> list[str]:
    """Return the numeric factors above zero that were measured at several values, and follow from no other column."""
    names = [f.name for f in result.schema.factors if f.numeric and f.positive and f.distinct > 1]
    follow = {*result.schema.derived, *following_workers(result.panel, columns_of(frame))}
    return [n for n in names if n not in follow and n in frame]


def _effect(result: FitResult, frame: pd.DataFrame, name: str, interval: float | None = None) -> list[Array]:
    """Return ln of what doubling a factor multiplies the value by at each row, and with an interval its ends."""
    reads = {n: parse(text).names for n, text in result.schema.derived.items() if n in frame}
    moved = doubled(result.panel, columns_of(frame), name)
    follow = [n for n, columns in reads.items() if {*moved} & {*columns} and set(columns) <= set(frame)]
    both = pd.concat([frame, with_columns(frame, moved)], ignore_index=True).drop(columns=follow)
    query, work = read_query(both, result.schema), result.panel.measured_work
    effects = _log_ratios(result, query.columns, None if interval is None else ends_of(interval))
    if work is None:
        return effects
    before, after = np.split(np.log(evaluated(work, query.columns, query.rows)), 2)
    middle, *ends = (after - before - effect for effect in effects)
    return [middle, *ends[::-1]]
