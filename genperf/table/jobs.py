"""Times of an epoch or a whole job: told by the header, or by times that fall too much for a batch of each worker."""

from __future__ import annotations

from dataclasses import dataclass, replace

import numpy as np
import numpy.typing as npt

from genperf.errors import Note
from genperf.table.axis import axis_of
from genperf.table.factor import Factor
from genperf.table.table import Table
from genperf.vocabulary.headers import header_of
from genperf.vocabulary.names import COUNTED, canonical_of, column_of, noun_of

Array = npt.NDArray[np.float64]


@dataclass(frozen=True)
class JobSettings:
    """When times contradict that each worker has a batch of its own."""

    #: The median of T(fewest workers)/T(most workers), at the same batch, from which on all share one amount of work.
    #: Weak scaling has at most 1, but for noise and caches. A guess.
    least_fall: float = 1.5


JOBS = JobSettings()


def by_header(table: Table) -> Note | None:
    """Return a note where the times of a table are those of an epoch or a whole job by their header; None elsewhere.

    The work of all workers together is then the same at every count, whatever the batch of each.

    Examples
    --------
    >>> import pandas as pd
    >>> from genperf.table import read_table
    >>> runs = pd.DataFrame({"gpus": [1, 2, 4], "epoch_s": [100.0, 52.0, 27.0]})
    >>> read_table(runs, time="epoch_s", extrinsic="gpus").scaling
    'job'
    """
    target = table.target
    counted = any(f.distinct > 1 for f in _counts(table))
    if not target.true_seconds or not counted or header_of(target.column).of != "job":
        return None
    text = (
        f"'{target.column}' is read as the time of an epoch or a whole job: its work is the same at every count of "
        "workers; --scaling weak says otherwise"
    )
    return Note(text, "job")


def by_times(table: Table) -> Note | None:
    """Say that times fall as the workers grow, though the batch of each stays: all share one amount of work.

    So they are read where no column is a batch as well: nothing then says that each worker has one of its own. None
    where they do not fall, where a column is the batch of all, and where the kind of scaling is known.

    Examples
    --------
    >>> import pandas as pd
    >>> from genperf.table import read_table
    >>> runs = pd.DataFrame({"gpus": [1, 2, 4], "batch": [32, 32, 32], "time": [100.0, 52.0, 27.0]})
    >>> print(by_times(read_table(runs, time="time", extrinsic="gpus", intrinsic="batch")).text)
    at the same batch the time falls from 100 to 27 s from 1 to 4 gpus: too much for a batch each; --scaling job for an
    epoch, --map global_batch=batch for a batch of all
    """
    target, names = table.target, [f.name for f in table.numeric]
    batch = column_of("batch", [*names, *table.group])
    axis = axis_of(table.factors)
    workers = None if axis.factor is None or axis.assumed else axis.factor.name
    other = column_of("global_batch", [*names, *table.group])
    if not target.true_seconds or table.scaling is not None or workers is None or other is not None:
        return None
    counts = {workers, *(f.name for f in _counts(table))}
    keys = list(dict.fromkeys([*(f.name for f in table.factors if f.name not in counts), *table.group]))
    times = table.frame.groupby([*keys, workers], as_index=False, sort=True)[target.column].median()
    cells = times.groupby(keys) if keys else times.groupby(np.zeros(len(times)))
    first, last = cells.first(), cells.last()
    several = (last[workers] > first[workers]).to_numpy()
    first, last = first[several], last[several]
    falls = (first[target.column] / last[target.column]).to_numpy()
    if not len(falls) or np.median(falls) < JOBS.least_fall:
        return None
    widest = int(np.argmax((last[workers] / first[workers]).to_numpy()))
    few, many = (float(ends[workers].iloc[widest]) for ends in (first, last))
    slow, fast = (float(ends[target.column].iloc[widest]) for ends in (first, last))
    scales = f"{few:g} to {many:g} {noun_of(workers)}"
    falls_so = f"the time falls from {_seconds(slow)} to {_seconds(fast)} s from {scales}: too much for a batch each"
    if batch is None:
        return Note(f"{falls_so}; --scaling job for work that all share", "job_likely")
    remedy = f"--scaling job for an epoch, --map global_batch={batch} for a batch of all"
    return Note(f"at the same {batch} {falls_so}; {remedy}", "job_likely")


def taken_as_job(table: Table) -> Table:
    """Return the table with times of a job, where they fall too much for steps and there is one batch alone.

    Of several batches nothing is taken: their steps may share one batch of all workers.
    """
    likely = next((note for note in table.notes if note.kind == "job_likely"), None)
    batches = [f for f in table.numeric if canonical_of(f.name) == "batch"]
    if likely is None or any(f.distinct > 1 for f in batches):
        return table
    reason = likely.text.partition(";")[0]
    taken = Note(f"{reason}, so all are taken to share one amount of work; --scaling weak says otherwise", "job")
    return replace(table, scaling="job", notes=tuple(taken if note is likely else note for note in table.notes))


def _counts(table: Table) -> list[Factor]:
    """Return the factors that count workers, nodes or servers by their names."""
    return [f for f in table.factors if f.numeric and canonical_of(f.name) in COUNTED]


def _seconds(value: float) -> str:
    return f"{value:,.0f}" if value >= 1000.0 else f"{value:.3g}"
