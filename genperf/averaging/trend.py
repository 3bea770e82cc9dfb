"""How much of an expression's trend is believed beyond the largest measured counts.

Beyond them a residual is carried on unchanged, and a configuration grows from where it was measured:

    ln T(x) = ln f(c) + r(c) + s·(ln f(x) − ln f(c))

c is x with the counts of the scale at most as large as measured, the work of one worker being that of x. s = 0 is
the last point, s = 1 the expression's trend. s is learned by predicting the larger counts of a table from the smaller.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
import numpy.typing as npt

from genperf.discrepancy.robust import robust_sd
from genperf.expression import Expression, Term
from genperf.formula import Name, Node, call, evaluate, parse, substitute
from genperf.models import scale_of
from genperf.prediction import Member
from genperf.table import Table

Array = npt.NDArray[np.float64]
Mask = npt.NDArray[np.bool_]


@dataclass(frozen=True)
class TrendSettings:
    """How the share of the trend is learned (`docs/decisions/share-of-the-trend.md`).

    Attributes
    ----------
    prior, prior_sd : float
        Mean and standard deviation of s before the larger counts are looked at. Guesses: half of a trend that nothing
        has confirmed, and little conviction.
    prior_of_layouts : float
        The mean where a transformer's ways are columns: how a layout divides the work is known, and the last point is
        one of another layout (`docs/decisions/share-of-the-trend.md`).
    together : int
        Counts above one that a turn is predicted from at least: a trend has two ends.
    most_turns : int
        Turns at most, from the largest count down: each refits every member.
    wild : float
        Robust standard deviations beyond which an error counts no more. Huber's customary 1.5.
    smallest_sd : float
        Of errors in ln T: measurements of a step agree no better.
    rounds : int
        Rounds in which Huber's weights settle.
    least : float
        A share this near to 0 or 1 is 0 or 1: a member that hardly counts is left out.
    """

    prior: float = 0.5
    prior_sd: float = 0.5
    prior_of_layouts: float = 1.0
    together: int = 2
    most_turns: int = 3
    wild: float = 1.5
    smallest_sd: float = 1e-3
    rounds: int = 20
    least: float = 0.05


TREND = TrendSettings()


@dataclass(frozen=True)
class Axis:
    """The counts along which a table is extrapolated: its scale, and the nodes.

    Attributes
    ----------
    names : tuple of str
        Columns, the scale first.
    work : Node or None
        One worker's work as a formula over the columns. None where nothing tells it.
    ways : str or None
        The column of a transformer's data-parallel ways, which the devices of c are fewer by: with its other ways x
        keeps at least the devices that hold one replica.
    """

    names: tuple[str, ...]
    work: Node | None
    ways: str | None = None

    def limits(self, columns: Mapping[str, Any]) -> dict[str, float]:
        """Return the largest value of each count."""
        return {name: float(np.max(columns[name])) for name in self.names}

    def limited(self, columns: Mapping[str, Any], limits: Mapping[str, float]) -> dict[str, Any]:
        """Return columns whose counts are at most as large as some limits."""
        moved = self._moved(limits)
        return {name: evaluate(moved[name], columns) if name in moved else values for name, values in columns.items()}

    def _moved(self, limits: Mapping[str, float]) -> dict[str, Node]:
        """Return the columns that differ between x and c, as formulas over those of x."""
        moved: dict[str, Node] = {name: call("min", Name(name), most) for name, most in limits.items()}
        if self.ways is not None and self.names[0] in limits:
            scale, ways = Name(self.names[0]), Name(self.ways)
            moved[self.names[0]] = call("max", moved[self.names[0]], call("divide", scale, ways))
            moved[self.ways] = call("divide", call("multiply", ways, moved[self.names[0]]), scale)
        return moved

    def work_ratio(self, limits: Mapping[str, float]) -> Node | None:
        """Return the work at a configuration over that at its limited counts; None where it is the same."""
        if self.work is None:
            return None
        there = substitute(self.work, self._moved(limits))
        return None if there == self.work else call("divide", self.work, there)

    def log_work_ratio(self, columns: Mapping[str, Any], limits: Mapping[str, float]) -> Array | float:
        """Return the logarithm of `work_ratio`."""
        ratio = self.work_ratio(limits)
        return 0.0 if ratio is None else np.asarray(np.log(evaluate(ratio, columns)))

    def flattened(self, expression: Expression, limits: Mapping[str, float]) -> Expression:
        """Return an expression that stays, beyond some limits, as it is at them but for the work of one worker.

        Examples
        --------
        >>> from genperf.expression import coefficient
        >>> from genperf.formula import parse
        >>> usual = Expression("mine", (Term("exchange", parse("a*gpus").node),), (coefficient("a"),))
        >>> str(Axis(("gpus",), parse("batch").node).flattened(usual, {"gpus": 16.0}))
        'a*min(gpus, 16)'
        """
        ratio = self.work_ratio(limits)
        moved = self._moved(limits)
        terms = [Term(t.name, substitute(t.node, moved)) for t in expression.terms]
        if ratio is not None:
            terms = [Term(t.name, call("multiply", t.node, ratio)) for t in terms]
        total = None if expression.total is None else substitute(expression.total, moved)
        return replace(expression, terms=tuple(terms), total=total)


def axis_of(table: Table, mapping: Mapping[str, str] | None = None) -> Axis | None:
    """Return the counts along which a table is extrapolated; None where no column counts workers or nodes.

    Parameters
    ----------
    mapping : mapping of str to str, optional
        Canonical name → column.

    Examples
    --------
    >>> import pandas as pd
    >>> from genperf.table import read_table
    >>> runs = pd.DataFrame({"gpus": [1, 2, 4], "nodes": [1, 1, 2], "batch": [8, 16, 8], "t": [1.0, 2.0, 1.1]})
    >>> axis_of(read_table(runs, time="t", extrinsic="gpus,nodes", intrinsic="batch")).names
    ('gpus', 'nodes')
    >>> layouts = pd.DataFrame({"gpus": [2, 4, 8], "dp": [2, 2, 4], "tp": [1, 2, 2], "t": [1.0, 0.6, 0.4]})
    >>> axis = axis_of(read_table(layouts, time="t", extrinsic="gpus,dp,tp"))
    >>> inside = axis.limited({"gpus": np.array([8.0, 8.0]), "dp": np.array([4.0, 1.0])}, {"gpus": 4.0})
    >>> inside["gpus"].tolist(), inside["dp"].tolist()
    ([4.0, 8.0], [2.0, 1.0])
    """
    scale = scale_of(table.factors, mapping, kind=table.scaling)
    known = {f.name for f in table.factors if f.role == "extrinsic" and f.positive}
    if scale.column is None or scale.column not in known or table.factor(scale.column).distinct < 2:
        return None
    nodes = scale.factors.find("nodes")
    names = dict.fromkeys([scale.column, *([nodes.name] if nodes is not None and nodes.name in known else [])])
    work = scale.works[0]
    formula = parse(scale.over_columns(work.formula)).node if work.from_table else None
    ways = scale.factors.find("data_parallel")
    return Axis(tuple(names), formula, ways.name if ways is not None and ways.name in known else None)


@dataclass(frozen=True)
class Trend:
    """How an ensemble goes on beyond the largest counts.

    Attributes
    ----------
    axis : Axis or None
        None where no column counts workers or nodes.
    share : float
        s.
    """

    axis: Axis | None
    share: float

    def members(self, members: Sequence[Member], columns: Mapping[str, Any]) -> list[Member]:
        """Return members whose mean of ln T has the share of the trend.

        Each member is there twice: as it is, with the share s, and flattened, with 1 − s. The draws are dealt out
        between the two.

        Parameters
        ----------
        columns : mapping of str to ndarray of shape (rows,)
            The measured configurations.
        """
        if self.axis is None or self.share == 1.0:
            return list(members)
        limits = self.axis.limits(columns)
        flat = [
            replace(
                m,
                expression=self.axis.flattened(m.expression, limits),
                draws=m.draws[1::2],
                weight=(1.0 - self.share) * m.weight,
                label=f"{m.label}, flat beyond {self.axis.names[0]} = {limits[self.axis.names[0]]:g}",
            )
            for m in members
        ]
        steep = [replace(m, draws=m.draws[::2], weight=self.share * m.weight) for m in members]
        return [*steep, *flat] if self.share > 0.0 else flat


@dataclass(frozen=True, eq=False)
class Turn:
    """A count of the scale that is predicted from the smaller ones.

    Attributes
    ----------
    train, held : ndarray of bool of shape (rows,)
    """

    train: Mask
    held: Mask


def turns_of(axis: Axis, table: Table) -> list[Turn]:
    """Return the turns in which a trend can be judged, largest count first.

    The training part has `TrendSettings.together` counts above one. Rows that differ in more than the scale are not
    judged: those on several nodes where the training part has one.

    Parameters
    ----------
    table : Table
        One row per configuration.
    """
    scale, others = axis.names[0], axis.names[1:]
    values = table.columns[scale]
    levels = np.unique(values)
    turns = []
    for k in range(len(levels) - 1, 0, -1):
        train, held = values < levels[k], values == levels[k]
        for name in others:
            if not np.any(table.columns[name][train] > 1.0):
                held = held & (table.columns[name] <= 1.0)
        if np.sum(levels[:k] > 1.0) >= TREND.together and held.any():
            turns.append(Turn(train, held))
    return turns[: TREND.most_turns]


def share_of_trend(changes: Sequence[Array], errors: Sequence[Array], axis: Axis) -> float:
    """Return s: the share of the expressions' change beyond the smaller counts that the measurements followed.

    The errors are s·change and a normal error, with a normal prior of s; wild errors count less. Without a turn s is
    its prior mean where the work of one worker is known. Where it is not, s is 1: constant work and shared work would
    have different last points.

    Parameters
    ----------
    changes : sequence of ndarray of shape (held,)
        ln f(x) − ln f(c), of each turn.
    errors : sequence of ndarray of shape (held,)
        ln(measured/predicted) with s = 0.

    Examples
    --------
    >>> axis = Axis(("gpus",), Name("batch"))
    >>> change = np.linspace(0.1, 0.3, 12)
    >>> round(share_of_trend([change], [0.75 * change + 0.01 * np.sin(np.arange(12))], axis), 2)
    0.75
    >>> share_of_trend([], [], axis)
    0.5
    """
    change, error = np.concatenate([*changes, []]), np.concatenate([*errors, []])
    finite = np.isfinite(change) & np.isfinite(error)
    change, error = change[finite], error[finite]
    share = prior = TREND.prior if axis.ways is None else TREND.prior_of_layouts
    if not change.size:
        return prior if axis.work is not None else 1.0
    for _ in range(TREND.rounds):
        left = error - share * change
        sd = max(float(robust_sd(left)), TREND.smallest_sd)
        weights = np.minimum(1.0, TREND.wild * sd / np.maximum(np.abs(left), TREND.smallest_sd)) / sd**2
        precision = weights @ change**2 + TREND.prior_sd**-2
        share = float((weights @ (change * error) + prior * TREND.prior_sd**-2) / precision)
    # More digits than two are those of the search, which ends where the cost hardly changes.
    share = round(min(max(share, 0.0), 1.0), 2)
    near = round(share)
    return float(near) if abs(share - near) <= TREND.least else share
