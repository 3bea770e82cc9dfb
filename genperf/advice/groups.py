"""The best configurations of all groups of a model."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
import numpy.typing as npt
import pandas as pd

from genperf.advice.front import Front
from genperf.advice.optimum import Optimum
from genperf.advice.search import best_first, winners
from genperf.advice.solve import OPTIMUM, Solved, Task, solve
from genperf.errors import GenperfError, Note
from genperf.result import GroupedResult
from genperf.table.clean import label
from genperf.words.numbers import join_values

Key = tuple[str, ...]


@dataclass(frozen=True)
class GroupSettings:
    """How groups are compared."""

    #: Draws in which each group's curve is drawn independently of the others': a share of one half is then known to
    #: half a per cent.
    joint_draws: int = 10_000
    #: Groups without an answer that are named. A guess: they fit on a screen.
    max_failures: int = 3


GROUPS = GroupSettings()


def best_of_groups(fitted: GroupedResult, task: Task) -> Optimum:
    """Return the best configurations of all groups, or of those that `over` names.

    Raises
    ------
    GenperfError
        Where no group has a feasible configuration: the first one's reason.
    """
    wanted = {name: values for name, values in task.over.items() if name in fitted.group}
    kept = {name: _labels(values) for name, values in wanted.items()}
    inner = replace(task, over={name: values for name, values in task.over.items() if name not in wanted})
    solved: list[tuple[Key, Solved]] = []
    failures: list[tuple[Key, GenperfError]] = []
    for key, result in fitted.results.items():
        group = dict(zip(fitted.group, key, strict=True))
        if any(group[name] not in values for name, values in kept.items()):
            continue
        try:
            solved.append((key, solve(result, inner, group)))
        except GenperfError as error:
            failures.append((key, error))
    if not solved and failures:
        raise failures[0][1]
    if not solved:
        some = "; ".join(", ".join(key) for key in list(fitted.results)[:4])
        raise GenperfError(f"no group has {join_values(wanted)}", hint=f"the groups are {some}")
    notes = [Note(f"{', '.join(key)}: {error.message}", "group_infeasible") for key, error in failures]
    return optimum_of(solved, fitted.group, task, notes[: GROUPS.max_failures])


def _labels(values: Any) -> set[str]:
    """Return the values of a group column that are named: `a,b`, or a sequence."""
    if isinstance(values, str):
        return {text.strip() for text in values.split(",")}
    return {label(value) for value in (values if isinstance(values, Iterable) else [values])}


def optimum_of(
    solved: Sequence[tuple[Key, Solved]], group: Sequence[str], task: Task, notes: Sequence[Note] = ()
) -> Optimum:
    """Return the best of what models answer, each with the share of joint draws in which it is the best.

    Parameters
    ----------
    solved : sequence of (tuple of str, Solved)
        By the group's values; one of no group.
    group : sequence of str
        The group columns.
    notes : sequence of Note
        On groups without an answer.
    """
    first = solved[0][1]
    goal = first.search.goal
    frames, fronts = [], []
    for place, (key, one) in enumerate(solved):
        frames.append(_with_group(one.best, group, key).assign(_model=place, _row=np.arange(len(one.best))))
        fronts.append(_with_group(one.front, group, key))
    best = pd.concat(frames, ignore_index=True)
    objective = best["objective"].to_numpy(float) * (1.0 if goal.maximize is None else -1.0)
    order = best_first(objective, best["cost"].to_numpy(float) if "cost" in best else 0.0 * objective)
    best = best.iloc[order[: task.top]].reset_index(drop=True)
    wins = _wins([one for _, one in solved], best)
    words = ["verdict", "reason"]
    plain = best.drop(columns=[*words, "_model", "_row"])
    excluded = pd.concat([one.excluded for _, one in solved])
    counts = excluded.groupby("constraint", sort=False, as_index=False)[["excludes", "alone"]].sum()
    group_notes = dict.fromkeys(note for _, one in solved for note in one.notes)
    return Optimum(
        minimize=first.minimize,
        interval=task.interval,
        deadline=goal.deadline,
        configurations=sum(one.search.space.grid.size for _, one in solved),
        feasible=sum(one.evaluation.feasible for _, one in solved),
        best=plain.assign(wins=wins, **{word: best[word] for word in words}),
        front=_front(fronts),
        excluded=counts if len(solved) > 1 else first.excluded,
        quantity=first.search.result.schema.target,
        notes=(*group_notes, *notes),
        maximized=goal.maximize is not None,
        regret=first.search.regret(first.positions[: len(best)], task.interval) if len(solved) == 1 else None,
    )


def _with_group(frame: pd.DataFrame, group: Sequence[str], key: Key) -> pd.DataFrame:
    """Return rows with the values of their group first."""
    named = {name: [value] * len(frame) for name, value in zip(group, key, strict=True)}
    return frame if not named or frame.empty else pd.concat([pd.DataFrame(named), frame], axis=1)


def _wins(solved: Sequence[Solved], best: pd.DataFrame) -> npt.NDArray[np.float64]:
    """Return the share of the draws in which each row is the best; groups are drawn independently of each other."""
    places = best["_model"].to_numpy(dtype=int)
    rows = best["_row"].to_numpy(dtype=int)
    used = list(dict.fromkeys(places.tolist()))
    if len(used) == 1:
        one = solved[used[0]]
        return np.asarray(one.search.wins(one.positions[rows]))
    drawn = np.empty((GROUPS.joint_draws, len(best)))
    for place in used:
        mine = places == place
        drawn[:, mine] = solved[place].search.joint(solved[place].positions[rows[mine]], GROUPS.joint_draws, (place,))
    return np.asarray(winners(drawn).mean(axis=0))


def _front(fronts: Sequence[pd.DataFrame]) -> pd.DataFrame:
    """Return the Pareto front of several, thinned where it is long."""
    filled = [front for front in fronts if not front.empty]
    if len(filled) < 2:
        return filled[0] if filled else pd.DataFrame()
    together = pd.concat(filled, ignore_index=True)
    names = [str(name) for name in together.columns]
    time = "total" if "total" in names else names[names.index("lower") - 1]
    joint = Front()
    joint.add(together[time].to_numpy(float), together["cost"].to_numpy(float), np.arange(len(together)))
    positions = joint.positions
    if positions.size > OPTIMUM.shown_front:
        positions = positions[np.linspace(0, positions.size - 1, OPTIMUM.shown_front).round().astype(int)]
    return together.iloc[positions].reset_index(drop=True)
