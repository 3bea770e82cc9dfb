"""The answer of `optimize`: the best configurations."""

from collections.abc import Collection
from dataclasses import dataclass
from typing import Any

import numpy as np
import pandas as pd

from genperf.attribution.answers import Line, Shown, described, records
from genperf.errors import Note
from genperf.prediction.predict import THROUGHPUT
from genperf.table import Target
from genperf.words.numbers import duration_text, three_digits
from genperf.words.quantity import heading


@dataclass(frozen=True, eq=False)
class Optimum(Shown):
    """The best configurations of a grid."""

    #: What is least, or most where it is `maximized`.
    minimize: str
    #: Nominal coverage of the intervals.
    interval: float
    #: Seconds, kept by the upper end of the interval.
    deadline: float | None
    #: `configurations`, `feasible`: how many there are, and how many satisfy the constraints and keep the deadline by
    #: their central time.
    configurations: int
    feasible: int
    #: The best first: the configuration, `objective`, the predicted value in a column with the quantity's name
    #: (`time`), `lower, upper` (of a new run), `fits` where runs failed (the probability that one does not), `total`
    #: where there are steps, `cost` where machines are counted, `wins` (the share of the ensemble's draws in which it
    #: is the best of these that are feasible in the draw), `verdict, reason`.
    best: pd.DataFrame
    #: The Pareto front of total time against cost, the fastest first, with the same columns but `objective` and `wins`;
    #: `keeps_deadline` where there is one. Where a capacity is given, or the verdict decides, of the configurations
    #: that were looked at and keep them. Empty where machines are not counted, or no time is predicted.
    front: pd.DataFrame
    #: A row per constraint: `constraint`, `excludes` (how many configurations fail it), `alone` (how many fail it and
    #: no other).
    excluded: pd.DataFrame
    #: What is predicted.
    quantity: Target
    notes: tuple[Note, ...] = ()
    maximized: bool = False
    #: By which share the best is worse than the best of those shown, at most with the probability `interval`; infinite
    #: where it is infeasible in more of the draws; None for several groups, whose draws are independent.
    regret: float | None = None

    @property
    def configuration(self) -> dict[str, Any]:
        """The best configuration by name."""
        end = list(self.best.columns).index("objective")
        return {str(k): v for k, v in self.best.iloc[0, :end].to_dict().items()}

    def to_dict(self) -> dict[str, Any]:
        """Return it as plain values, for JSON."""
        return {
            "quantity": described(self.quantity),
            "maximize" if self.maximized else "minimize": self.minimize,
            "interval": self.interval,
            "deadline": self.deadline,
            "configurations": self.configurations,
            "feasible": self.feasible,
            "best": records(self.best),
            "front": records(self.front),
            "excluded": records(self.excluded),
            "regret": self.regret if self.regret is not None and np.isfinite(self.regret) else None,
            "notes": [{"kind": n.kind, "text": n.text} for n in self.notes],
        }

    @property
    def title(self) -> str:
        """What was searched, in a line."""
        kept = f", {duration_text(self.deadline)} kept by the upper end" if self.deadline is not None else ""
        what = self.minimize
        if what == self.quantity.name and not self.quantity.is_time:
            what = heading(self.quantity)
        size = "most" if self.maximized else "least"
        return f"{size} {what} of {self.feasible:,} feasible of {self.configurations:,} configurations{kept}"

    @property
    def reason(self) -> str:
        """How far the best configuration's prediction can be trusted, in a line."""
        first = self.best.iloc[0]
        text = f"the best is '{first['verdict']}': {first['reason']}"
        if self.regret is None or (len(self.best) < 2 and np.isfinite(self.regret)):
            return text
        if not np.isfinite(self.regret):
            odds = f"{100 * (1.0 - self.interval):.3g} %"
            return f"{text}\nit misses a condition that reads the prediction in more than {odds} of the model's draws"
        odds = f"{100 * self.interval:g} % probability"
        if self.regret <= 0.0:
            return f"{text}\nit is the best of those shown with at least {odds}"
        return f"{text}\nit is at most {100.0 * self.regret:.1f} % worse than the best of those shown, with {odds}"

    @property
    def per_unit(self) -> bool:
        """Whether time and cost are those of one unit of the work."""
        rates = {"throughput", "total"} <= set(self.best)
        return rates and bool(np.allclose(self.best["throughput"] * self.best["total"], 1.0))

    @property
    def tables(self) -> list[tuple[str, pd.DataFrame]]:
        """What is shown to a person: titles and tables, without the reasons of every row."""
        shown = [(self.title, self.best)]
        if len(self.front):
            front = "throughput against the cost of one unit of work" if self.per_unit else "time against cost"
            some = self.front.head(len(self.best))
            count = f", {len(some)} of {len(self.front)}" if len(some) < len(self.front) else ""
            shown.append((f"Pareto front of {front}{count}", some))
        tables = []
        for title, frame in shown:
            table, same = _for_people(frame, self.quantity, list(self.configuration))
            tables.append((f"{title}; each with {same}" if same else title, table))
        return tables

    @property
    def content(self) -> list[Line]:
        """The tables, how far the best can be trusted, and the notes."""
        return [*self.tables, self.reason, *(f"note: {n}" for n in self.notes)]


def _for_people(frame: pd.DataFrame, target: Target, settings: Collection[str]) -> tuple[pd.DataFrame, str]:
    """Return a table of configurations to print, and what is the same in all; settings keep all their digits."""
    shown = frame.drop(columns=_redundant(frame, target))
    same = {
        name: _cell(name, shown[name].iloc[0], settings)
        for name in (*settings, "fits")
        if name in shown and len(shown) > 1 and len(set(shown[name])) == 1
    }
    shown = shown.drop(columns=list(same))
    cells = {str(name): [_cell(str(name), value, settings) for value in shown[name]] for name in shown.columns}
    # That every run fits goes without a word.
    constants_shown = [f"{name}={value}" for name, value in same.items() if (name, value) != ("fits", "1")]
    return pd.DataFrame(cells), ", ".join(constants_shown)


def _redundant(frame: pd.DataFrame, target: Target) -> list[str]:
    """Return the columns that say again what another says, or mean nothing to a person."""
    gone = ["reason"] if "reason" in frame else []
    gone += [name for name in frame.columns if str(name).endswith("_lower") and name not in THROUGHPUT]
    if "objective" in frame and any(
        frame["objective"].equals(frame[name]) for name in ("throughput", "total", "cost", target.name) if name in frame
    ):
        gone.append("objective")
    if {"throughput", "total"} <= set(frame) and np.allclose(frame["throughput"] * frame["total"], 1.0):
        gone.append("total")
    if target.throughput and "throughput" in frame:
        # The time is that of one unit of the work, or of a step that nobody measured.
        gone += [target.name, "lower", "upper"]
    elif "throughput" in frame:
        gone += [name for name in THROUGHPUT[1:] if name in frame]
    return gone


def _cell(name: str, value: object, settings: Collection[str]) -> str:
    """Return a cell as text."""
    if not isinstance(value, int | float) or isinstance(value, bool):
        return str(value)
    if name in settings:
        return f"{value:.15g}"
    if name == "wins":
        return f"{100 * value:.0f} %"
    return duration_text(value) if name == "total" else three_digits(value)
