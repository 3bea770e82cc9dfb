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
from genperf.prediction import Query, central_times, read_query, stack_of
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
    read = {name for m in result.members for name in m.expression.factors}
    stack = stack_of(result.members)
    read |= set(() if stack is None else stack.factors)
    names = [f.name for f in result.schema.factors if f.numeric and f.name in read]
    rows = query.rows
    frames = []
    for name in names:
        x = np.asarray(query.columns[name], float)
        method = EXACT if _is_smooth(result, name) else DOUBLING
        value, (lower, upper) = (_derivative if method == EXACT else _doubled)(result, query.columns, name, levels)
        known = x > 0 if method == DOUBLING else np.ones(rows, bool)
        answer = {
            "factor": np.full(rows, name, dtype=object),
            "elasticity": np.where(known, value, np.nan),
            "lower": np.where(known, lower, np.nan),
            "upper": np.where(known, upper, np.nan),
            "method": np.full(rows, method, dtype=object),
        }
        given = {factor: query.columns[factor] for factor in shown if factor not in answer}
        frames.append(pd.DataFrame({**given, **answer}))
    columns = list(dict.fromkeys([*shown, "factor", "elasticity", "lower", "upper", "method"]))
    if not frames:
        return pd.DataFrame(columns=columns)
    together = pd.concat(frames)
    return together.sort_index(kind="stable").reset_index(drop=True)


def _is_smooth(result: FitResult, name: str) -> bool:
    """Tell whether the prediction is the exact value of an expression without steps in a factor."""
    return stack_of(result.members) is None and all(
        m.discrepancy is None and not _steps(m.expression.node, name) for m in result.members
    )


def _steps(node: Node, name: str) -> bool:
    """Tell whether a function that jumps reads a factor."""
    if not isinstance(node, Call) or name not in names_in(node):
        return False
    return node.function in STEPS or any(_steps(a, name) for a in node.arguments)


def _derivative(
    result: FitResult, columns: Mapping[str, Any], name: str, levels: tuple[float, float]
) -> tuple[Array, Array]:
    """Return ∂ln T/∂ln x = (x/T)·∂T/∂x, and the ends of its interval."""
    x = np.asarray(columns[name], float)
    total = sum(m.weight for m in result.members)
    value = np.zeros(x.shape)
    drawn = []
    for member in result.members:
        for constants in (member.values, member.draw_values()):
            predicted, slopes = member.expression.gradient(columns, constants, [name])
            with np.errstate(all="ignore"):
                elasticity = slopes[name] * x / predicted
            if elasticity.ndim == 1:
                value = value + member.weight / total * elasticity
            else:
                drawn.append(elasticity)
    return value, quantiles(np.vstack(drawn), shares(result.members), levels)


def _doubled(
    result: FitResult, columns: Mapping[str, Any], name: str, levels: tuple[float, float]
) -> tuple[Array, Array]:
    """Return ln(T(2x)/T(x))/ln 2, and the ends of its interval."""
    twice = {**columns, name: 2.0 * np.asarray(columns[name], float)}
    both = {k: np.concatenate([np.atleast_1d(v), twice[k]]) for k, v in columns.items()}
    places = np.arange(len(twice[name]))
    with np.errstate(all="ignore"):
        value = np.log(central_times(result.members, twice) / central_times(result.members, columns))
        ends = curves_of(result, both).ratios(places + len(places), places).quantiles(levels)
    return value / np.log(2.0), ends / np.log(2.0)


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
    effects = {name: float(_effect(result, frame, name)[0][0]) for name in _doubled_factors(result, frame)}
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
        others = {name: _first(value) for name, value in given.items() if name != categorical.name}
        frame = pd.concat([result.completed({**others, categorical.name: [level]}) for level in levels])
        frame = frame.reset_index(drop=True)
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


def _first(value: Any) -> Any:
    """Return the value, or the first of several."""
    return value[0] if isinstance(value, (list, tuple, np.ndarray)) else value


def _with_doubles(result: FitResult, frame: pd.DataFrame, name: str) -> Query:
    """Return configurations, and after them the same with a factor doubled."""
    reads = {n: parse(text).names for n, text in result.schema.derived.items() if n in frame}
    moved = doubled(result.panel, columns_of(frame), name)
    follow = [n for n, columns in reads.items() if {*moved} & {*columns} and set(columns) <= set(frame)]
    both = pd.concat([frame, with_columns(frame, moved)], ignore_index=True)
    return read_query(both.drop(columns=follow), result.schema)


def _effect(result: FitResult, frame: pd.DataFrame, name: str, interval: float | None = None) -> list[Array]:
    """Return ln of what doubling a factor multiplies the value by at each row, and with an interval its ends."""
    query, rows = _with_doubles(result, frame, name), np.arange(len(frame))
    central = np.log(central_times(result.members, query.columns))
    effects = [central[len(rows) :] - central[: len(rows)]]
    if interval is not None:
        ratios = curves_of(result, query.columns).ratios(rows + len(rows), rows)
        effects += ratios.quantiles(ends_of(interval)).tolist()
    if not result.schema.target.work:
        return [np.asarray(effect) for effect in effects]
    work = np.log(np.asarray(evaluated(result.schema.target.work, query.columns, query.rows), float))
    middle, *ends = (work[len(rows) :] - work[: len(rows)] - effect for effect in effects)
    return [middle, *ends[::-1]]
