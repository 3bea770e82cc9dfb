"""A fleet: one model per group, on any engine, resumed from what is there, failures reported and the rest kept."""

from __future__ import annotations

import time
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, field

from genperf.engine import Engine, Lost, run
from genperf.errors import FitError
from genperf.result import FitResult, GroupedResult
from genperf.table import Table

Key = tuple[str, ...]
Outcome = FitResult | str
#: Fits one model to each of some tables; a text says why one could not be fitted.
Work = Callable[[Sequence[Table]], list[Outcome]]
Progress = Callable[[int, int], None]
Checkpoint = Callable[[GroupedResult], None]

#: Seconds between checkpoints, and how many times its own duration one has to wait.
INTERVAL, REST = 30.0, 10.0


@dataclass
class _Done:
    """What is known so far, by the group's place in the table."""

    group: tuple[str, ...]
    keys: list[Key] = field(default_factory=list)
    outcomes: dict[int, Outcome] = field(default_factory=dict)

    def result(self) -> GroupedResult:
        """Return it in the table's order, whatever the order in which it came."""
        ordered = [(self.keys[i], self.outcomes[i]) for i in sorted(self.outcomes)]
        return GroupedResult(
            self.group,
            {key: found for key, found in ordered if isinstance(found, FitResult)},
            {key: why for key, why in ordered if isinstance(why, str)},
        )


def fit_fleet(
    table: Table,
    work: Work,
    engine: Engine,
    *,
    together: int = 1,
    kept: Callable[[Key, Table], FitResult | None] | None = None,
    progress: Progress | None = None,
    checkpoint: Checkpoint | None = None,
) -> GroupedResult:
    """Fit every group of a table.

    Groups are cut from the table as workers become free, so that beside the results only those under way are held.

    Parameters
    ----------
    table : Table
        With group columns.
    work : callable
    engine : Engine
    together : int
        How many groups are handed to a worker at once. Where a worker dies with several, each is tried alone.
    kept : callable, optional
        Returns the result that a group already has, if it has one.
    progress : callable, optional
        Called with the number of groups done and of all.
    checkpoint : callable, optional
        Called now and then, and when the work is interrupted, with the results so far.

    Returns
    -------
    GroupedResult
        In the table's order, the same on every engine.

    Raises
    ------
    FitError
        Where no group could be fitted; the first one's reason.
    """
    done = _Done(table.group)
    total = table.group_count
    saved = _Saver(done, checkpoint)
    try:
        lost: list[tuple[int, Table]] = []
        for numbers, parts, outcomes in _outcomes(_fresh(table, done, kept), work, engine, together):
            if isinstance(outcomes, Lost) and len(numbers) > 1:
                lost += zip(numbers, parts, strict=True)
                continue
            _note(done, numbers, outcomes)
            saved.now_and_then()
            if progress is not None:
                progress(len(done.outcomes), total)
        for numbers, _, outcomes in _outcomes(iter(lost), work, engine, 1):
            _note(done, numbers, outcomes)
            if progress is not None:
                progress(len(done.outcomes), total)
    except BaseException:
        saved.at_the_end()
        raise
    if progress is not None:
        progress(len(done.outcomes), total)
    found = done.result()
    if not found.results:
        key, why = next(iter(found.failures.items()))
        raise FitError(f"none of {len(found.failures)} groups could be fitted; {', '.join(key)}: {why}")
    return found


def _note(done: _Done, numbers: Sequence[int], outcomes: list[Outcome] | Lost) -> None:
    each = [outcomes.reason] * len(numbers) if isinstance(outcomes, Lost) else outcomes
    done.outcomes.update(zip(numbers, each, strict=True))


def _fresh(
    table: Table, done: _Done, kept: Callable[[Key, Table], FitResult | None] | None
) -> Iterator[tuple[int, Table]]:
    """Yield the groups that have no result yet, with their place; note those that have."""
    for number, (key, part) in enumerate(table.groups()):
        done.keys.append(key)
        had = kept(key, part) if kept is not None else None
        if had is not None:
            done.outcomes[number] = had
        else:
            yield number, part


def _outcomes(
    parts: Iterator[tuple[int, Table]], work: Work, engine: Engine, together: int
) -> Iterator[tuple[list[int], list[Table], list[Outcome] | Lost]]:
    """Yield the places and tables of each task with what came back, in the order it came."""
    sent: dict[int, tuple[list[int], list[Table]]] = {}

    def tasks() -> Iterator[list[Table]]:
        task: list[tuple[int, Table]] = []
        count = 0
        for part in parts:
            task.append(part)
            if len(task) == together:
                sent[count] = [n for n, _ in task], [t for _, t in task]
                yield sent[count][1]
                task, count = [], count + 1
        if task:
            sent[count] = [n for n, _ in task], [t for _, t in task]
            yield sent[count][1]

    for number, outcome in run(work, tasks(), engine):
        numbers, tables = sent.pop(number)
        yield numbers, tables, outcome


class _Saver:
    """Hands the results so far on, seldom enough that writing them takes little of the time."""

    def __init__(self, done: _Done, checkpoint: Checkpoint | None) -> None:
        self.done, self.checkpoint = done, checkpoint
        self.next = time.monotonic() + INTERVAL

    def now_and_then(self) -> None:
        if self.checkpoint is None or time.monotonic() < self.next:
            return
        start = time.monotonic()
        self.checkpoint(self.done.result())
        end = time.monotonic()
        self.next = end + max(INTERVAL, REST * (end - start))

    def at_the_end(self) -> None:
        if self.checkpoint is not None and self.done.outcomes:
            self.checkpoint(self.done.result())
