"""The work of a step and of one worker: what columns, the group, a throughput and the kind of scaling show of it."""

from __future__ import annotations

from collections.abc import Collection, Mapping
from typing import TYPE_CHECKING

import numpy as np
from msgspec import Struct
from msgspec.structs import replace

from genperf.arrays import Array
from genperf.errors import FormulaError, Note, TableError
from genperf.formula import Name, Node, call, evaluate, render
from genperf.panel.options import Roles
from genperf.panel.panel import LEAST_FALL, Panel, samples_of
from genperf.scaling import KINDS, LISTED, Scaling
from genperf.vocabulary import words_of
from genperf.vocabulary.headers import header_of
from genperf.vocabulary.names import COUNTED, canonical_of, column_of, counts_devices, noun_of

if TYPE_CHECKING:
    from genperf.panel.table import Table

# Where a scale may exhaust what one machine has: cores, memory, slots of a server.
#: Probability that a doubling is the last one that helps. A guess.
LIMIT_CHANCE = 0.2
#: Doublings beyond the largest measured count between which a limit may lie. Guesses.
LIMIT_DOUBLINGS: tuple[float, ...] = (0.0, 0.5, 1.0, 2.0, 3.0)
#: Powers in which a step grows with the count beyond a limit, each with its probability: in the first power more
#: only wait, and in the second they hinder each other, so that the work in a second falls. Chosen for drawn loads
#: that turn beyond the data (`experiments/accuracy/turning.py`): with no second power 78 % are covered, with half 93 %.
LIMIT_POWERS: tuple[tuple[float, float], ...] = ((1.0, 0.7), (2.0, 0.3))


_SERVED = frozenset(words_of("headers.served"))


class Share(Struct, frozen=True):
    """The work that one worker does, as families write it."""

    #: One worker's work, as a formula over canonical names.
    per_worker: str
    #: All workers' work.
    whole: str

    @property
    def known(self) -> bool:
        """Whether the table says how much work there is; if not, a fixed amount is shared."""
        return self.per_worker != "1/workers"

    def of(self, coefficient: str) -> str:
        """Return the time of one worker's work, as a formula with a coefficient of seconds per unit of work."""
        return f"{coefficient}*{self.per_worker}" if self.known else f"{coefficient}/workers"


def share(panel: Panel, job: bool = False) -> Share:
    """Return what one worker's computation is proportional to, from the factors of the table.

    The first that the table has: the operations of one worker's step (`work`); its samples (`batch`, also
    `global_batch/workers`); otherwise a fixed amount shared by the workers (`1/workers`). A table with a factor
    `samples` has times of a whole job or epoch. For laws of whole jobs (`job`), `samples/workers` then comes first.

    A batch per worker that is constant along a series is weak scaling, one that falls as `1/workers` strong scaling;
    the same formula holds for both and for series in between.

    Examples
    --------
    >>> from genperf.panel.options import Roles
    >>> share(Roles.of({"extrinsic": "gpus, global_batch"}).panel).per_worker
    'batch'
    >>> share(Roles.of({"extrinsic": "gpus"}).panel).per_worker
    '1/workers'
    """
    if job and panel.has("samples"):
        return Share("samples/workers", "samples")
    for name in ("work", "batch"):
        if panel.has(name):
            return Share(name, f"{name}*workers")
    return Share("1/workers", "1")


def limits(panel: Panel, counts: Array) -> tuple[tuple[float, float], ...]:
    """Return counts of the scale, of the measured ones, beyond which more may only wait, each with its probability.

    Threads, processes, users or environments share one machine, whose cores or slots end somewhere, and so do workers
    that serve requests; devices and nodes bring further ones, and so do processes on several nodes.

    Examples
    --------
    >>> from genperf.panel.options import Roles
    >>> scales = [Roles.of({"extrinsic": name}).panel for name in ("gpus", "threads")]
    >>> ends = [limits(panel, np.array([1.0, 2.0])) for panel in scales]
    >>> [[(round(count, 2), round(chance, 2)) for count, chance in each] for each in ends]
    [[], [(1.0, 0.2), (2.38, 0.08), (3.36, 0.08), (5.66, 0.13), (11.31, 0.1)]]
    """
    factor = panel.axis.factor
    if factor is None or (panel.nodes is not None and panel.only_node is None):
        return ()
    if counts_devices(factor.name) and panel.counted_by_throughput not in _SERVED:
        return ()
    inside = np.unique(counts)
    doublings = np.log2(inside / inside[0])
    beyond = doublings[-1] + np.array(LIMIT_DOUBLINGS)
    left = (1.0 - LIMIT_CHANCE) ** np.concatenate([doublings[:-1], beyond])
    # Within the measured range a limit is looked for at the counts themselves.
    ends = inside[0] * 2.0 ** np.concatenate([doublings[:-1], 0.5 * (beyond[1:] + beyond[:-1])])
    return tuple(zip(ends.tolist(), (-np.diff(left)).tolist(), strict=True))


#: Relative differences below this are rounding errors of a formula.
SAME = 1e-9


def counted_column(roles: Roles) -> str | None:
    """Return the column that counts the workers, or else the nodes; None for one of servers or threads."""
    axis = roles.panel.axis
    return None if axis.factor is None or axis.counts_other else axis.factor.name


def assumed_work(roles: Roles, mapping: Mapping[str, str], where: str, tokens: bool = False) -> str:
    """Return the work of a step where the user gives none: its samples, as columns show them, or one for each worker.

    Where the throughput counts `tokens`, a step has those of its samples, if a column has the length of a sequence.
    """
    panel = (replace(roles.panel, mapping=mapping) if mapping else roles.panel).with_axis
    names = [*(f.name for f in roles.factors if f.numeric), *roles.group]
    counted, batch = panel.counted_node, column_of("batch", names)
    samples = samples_of(panel, {name: Name(name) for name in roles.group})
    if samples is None and counted is not None and batch is not None:
        samples = call("multiply", Name(batch), counted)
    if samples is not None:
        sequence = column_of("sequence", names) if tokens else None
        return render(samples if sequence is None else call("multiply", samples, Name(sequence)))
    if counted is None:
        what = "no column counts the workers, and a throughput alone does not show the work of a step"
        hint = '--extrinsic with the column of the workers, or --work "batch*workers", the samples of a step'
        raise TableError(what, hint=hint, where=where)
    return render(counted)


def kind_of_work(work: Array, counts: Array) -> Scaling | None:
    """Return the kind of scaling that the work of a step shows in every row; None where none or several fit."""
    if not len(work) or not np.all(np.isfinite(work)) or np.any(counts <= 0.0) or np.any(work <= 0.0):
        return None
    relative = {name: work / counts / kind.relative(counts) for name, kind in KINDS.items() if not kind.whole}
    fitting = [name for name, values in relative.items() if np.ptp(np.log(values)) < SAME]
    return fitting[0] if len(fitting) == 1 else None


def checked_scaling(scaling: str, by_work: Scaling | None, work: str) -> Scaling | None:
    """Return the kind of scaling that the user gives or the work of a step shows; None where neither does."""
    if not scaling:
        return by_work
    named = next((kind for kind in KINDS if kind == scaling), None)
    if named is None:
        raise TableError(f"unknown kind of scaling '{scaling}'", hint=LISTED)
    if by_work is not None and named != by_work:
        what = f"the scaling is given as {named}, and with the work '{work}' of a step it is {by_work}"
        raise TableError(what, hint="leave --scaling out, or give the --work of a step")
    return named


def work_notes(work: str, given: bool, kind: Scaling | None) -> tuple[Note, ...]:
    """Say which work of a step is assumed, where the user has not given it, or that it makes the scaling strong."""
    follows = "" if kind is None else f", which is {kind} scaling"
    if not given:
        return (Note(f"the work of a step is taken as {work}{follows}; --work FORMULA says otherwise", "work"),)
    if kind is not None and KINDS[kind].shared:
        return (Note(f"the work of a step, {work}, is the same at every count of workers{follows}", "work"),)
    return ()


def evaluated(work: Node, columns: Mapping[str, Array], rows: int) -> Array:
    """Return the work of a step, a formula over the columns, in each row."""
    values = np.broadcast_to(np.asarray(evaluate(work, columns), float), (rows,))
    if not np.all(values > 0.0):
        text = render(work)
        raise FormulaError("the work of a step is not above zero here", text=text, column=0, width=len(text))
    return values


def with_job(table: Table, of_all: bool = False) -> Table:
    """Take times of epochs and whole jobs as such by their header, else say where times fall as those of jobs do.

    They do where a batch is mapped as that `of_all`. The work of all workers together is then the same at every count,
    whatever the batch of each.
    """
    target, names = table.target, [*(f.name for f in table.numeric), *table.group]
    if table.scaling is not None or not target.true_seconds:
        return table
    counts = {f.name: f.distinct for f in table.numeric if canonical_of(f.name) in COUNTED}
    if max(counts.values(), default=1) > 1 and header_of(target.column).of == "job":
        read = f"'{target.column}' is read as the time of an epoch or a whole job"
        text = f"{read}: its work is the same at every count of workers; --scaling weak says otherwise"
        return replace(table, scaling="job", notes=(*table.notes, Note(text, "job")))
    if table.scaled_by_group:
        return table if table.group else replace(table, scaling=table.kind_by_times(table.frame), scaled_by_group=False)
    axis = table.panel.axis
    if not of_all and column_of("global_batch", names) is None and axis.factor is not None and not axis.assumed:
        fall = _fall(table, axis.factor.name, counts)
        batch = column_of("batch", names)
        remedy = f"--scaling job for an epoch, --map global_batch={batch} for a batch of all"
        by_batch = f"at the same {batch} the time {fall}; {remedy}"
        text = by_batch if batch is not None else f"the time {fall}; --scaling job for work that all share"
        return table.noted(Note(text, "job_likely")) if fall else table
    return table


def _fall(table: Table, workers: str, counts: Collection[str]) -> str:
    """Return how far times fall as the workers grow and all but counts stays; empty where each may have a batch."""
    keys = [*(f.name for f in table.factors if f.name not in {workers, *counts}), *table.group]
    column, keys = table.target.column, list(dict.fromkeys(keys))
    times = table.frame.groupby([*keys, workers], as_index=False, sort=True)[column].median()
    cells = times.groupby(keys or np.zeros(len(times)))[[workers, column]]
    (few, slow), (many, fast) = (ends.to_numpy(dtype=float).T for ends in (cells.first(), cells.last()))
    several = many > few
    if not several.any() or np.median((slow / fast)[several]) < LEAST_FALL:
        return ""
    widest = int(np.argmax(np.where(several, many / few, 0.0)))
    slowest, fastest = (f"{t:,.0f}" if t >= 1000.0 else f"{t:.3g}" for t in (slow[widest], fast[widest]))
    scales = f"{few[widest]:g} to {many[widest]:g} {noun_of(workers)}"
    return f"falls from {slowest} to {fastest} s from {scales}: too much for a batch each"
