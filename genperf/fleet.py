"""A fleet: one model per group, on any engine; resumable, and a group that fails does not stop the others."""

import itertools
import time
from collections.abc import Callable, Iterator, Sequence

from genperf.engine import Engine, Lost, run
from genperf.errors import FitError
from genperf.panel import Table
from genperf.result import FitResult, GroupedResult

Key = tuple[str, ...]
#: A group: its place in the table, and its key.
Group = tuple[int, Key]
Outcome = FitResult | str
#: Fits one model to each of some tables; a text is the reason why one could not be fitted.
Work = Callable[[Sequence[Table]], list[Outcome]]
Progress = Callable[[int, int], None]
Checkpoint = Callable[[GroupedResult], None]


class _Done:
    """The outcomes so far, saved seldom enough that saving takes little of the time."""

    #: Seconds after which a checkpoint is due: the work that a kill may cost.
    interval_s = 30.0
    #: Least time between checkpoints over the duration of one, so that saving takes at most about 9 % of the time.
    pause_ratio = 10.0

    def __init__(self, table: Table, progress: Progress | None, checkpoint: Checkpoint | None) -> None:
        self.group, self.total = table.group, table.group_count
        self.progress = progress or (lambda done, total: None)
        self.checkpoint = checkpoint or (lambda result: None)
        self.outcomes: dict[Group, Outcome] = {}
        self.due = time.monotonic() + self.interval_s

    def result(self) -> GroupedResult:
        """Return the outcomes in the table's order."""
        ordered = [(group[1], self.outcomes[group]) for group in sorted(self.outcomes)]
        return GroupedResult(
            self.group,
            {key: outcome for key, outcome in ordered if isinstance(outcome, FitResult)},
            {key: reason for key, reason in ordered if isinstance(reason, str)},
        )

    def add(self, groups: Sequence[Group], outcomes: list[Outcome] | Lost) -> None:
        """Add the outcomes of a task, or its failure for each of its groups; save where it is due."""
        listed = [outcomes.reason] * len(groups) if isinstance(outcomes, Lost) else outcomes
        self.outcomes.update(zip(groups, listed, strict=True))
        now = time.monotonic()
        if now >= self.due:
            self.save()
            end = time.monotonic()
            self.due = end + max(self.interval_s, self.pause_ratio * (end - now))
        self.progress(len(self.outcomes), self.total)

    def save(self) -> None:
        """Save the outcomes so far, if there are any."""
        if self.outcomes:
            self.checkpoint(self.result())


def fit_fleet(
    table: Table,
    work: Work,
    engine: Engine,
    *,
    together: int = 1,
    earlier: Callable[[Key, Table], FitResult | None] | None = None,
    progress: Progress | None = None,
    checkpoint: Checkpoint | None = None,
) -> GroupedResult:
    """Fit every group of a table, in its order and the same on every engine; an error where none could be fitted."""
    done = _Done(table, progress, checkpoint)
    try:
        lost: list[tuple[Group, Table]] = []
        for task, outcomes in _outcomes(_fresh(table, done, earlier), work, engine, together):
            if isinstance(outcomes, Lost) and len(task) > 1:
                lost += task
            else:
                done.add([group for group, _ in task], outcomes)
        for ((group, _),), outcomes in _outcomes(iter(lost), work, engine, 1):
            done.add([group], outcomes)
    except BaseException:
        done.save()
        raise
    done.progress(len(done.outcomes), done.total)
    result = done.result()
    if not result.results:
        key, reason = next(iter(result.failures.items()))
        raise FitError(f"none of {len(result.failures)} groups could be fitted; {', '.join(key)}: {reason}")
    return result


def _fresh(
    table: Table, done: _Done, earlier: Callable[[Key, Table], FitResult | None] | None
) -> Iterator[tuple[Group, Table]]:
    """Yield the groups that have no result yet, and add the results of the others."""
    for number, (key, group_table) in enumerate(table.groups()):
        result = earlier(key, group_table) if earlier is not None else None
        if result is not None:
            done.outcomes[number, key] = result
        else:
            yield (number, key), group_table


def _outcomes(
    waiting: Iterator[tuple[Group, Table]], work: Work, engine: Engine, together: int
) -> Iterator[tuple[list[tuple[Group, Table]], list[Outcome] | Lost]]:
    """Run the tasks, each some groups, and yield them with their outcomes as they are done."""
    sent: dict[int, list[tuple[Group, Table]]] = {}

    def tasks() -> Iterator[list[Table]]:
        """Yield the tables of each task, and keep what was sent under its number."""
        number = groups = 0
        # At most as many as all before: results come soon, and a stop keeps them.
        while task := list(itertools.islice(waiting, min(together, max(1, groups)))):
            sent[number] = task
            yield [series for _, series in task]
            number, groups = number + 1, groups + len(task)

    for number, outcomes in run(work, tasks(), engine):
        yield sent.pop(number), outcomes
