"""The work of a step and of one worker: what the columns, the group and the kind of scaling show of it."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
import numpy.typing as npt

from genperf.errors import GenperfError
from genperf.formula import Name, Node, Number, call, evaluate, names_in, parse, quote_name, render, substitute
from genperf.formula.amounts import amount
from genperf.panel.panel import Panel
from genperf.scaling import KINDS, Scaling
from genperf.table.axis import UNITS, several_nodes
from genperf.table.work import evaluated
from genperf.vocabulary import words_of
from genperf.vocabulary.headers import header_of
from genperf.vocabulary.names import column_of, counts_devices

Array = npt.NDArray[np.float64]

#: The kinds that are possible where nothing shows one.
POSSIBLE: tuple[Scaling, ...] = ("weak", "strong")


@dataclass(frozen=True)
class LimitSettings:
    """Where a scale may exhaust what one machine has: cores, memory, slots of a server."""

    #: Probability that a doubling is the last one that helps. A guess.
    chance: float = 0.2
    #: Doublings beyond the largest measured count between which a limit may lie. Guesses.
    beyond: tuple[float, ...] = (0.0, 0.5, 1.0, 2.0, 3.0)
    #: Powers in which a step grows with the count beyond a limit, each with its probability: in the first power more
    #: only wait, and in the second they hinder each other, so that the work in a second falls. Chosen for drawn loads
    #: that turn beyond the data (`experiments/turning.py`): with no second power 78 % are covered, with half 93 %.
    powers: tuple[tuple[float, float], ...] = ((1.0, 0.7), (2.0, 0.3))


LIMIT = LimitSettings()
_SERVED = frozenset(words_of("headers.served"))


@dataclass(frozen=True)
class Work:
    """A possible formula of the work that one worker does in a step."""

    #: Over canonical names; `1` is work that stays constant as the scale grows.
    formula: str
    #: Whether a column of the table gives it. Otherwise it is an assumption.
    from_table: bool


@dataclass(frozen=True)
class Share:
    """The work that one worker does, as families write it."""

    #: One worker's work, as a formula over canonical names.
    per_worker: str
    #: All workers' work.
    whole: str
    #: Of a coefficient that multiplies it: seconds per work.
    unit: str

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
    >>> from genperf.table import Factor
    >>> share(Panel((Factor("gpus", "extrinsic"), Factor("global_batch", "extrinsic")))).per_worker
    'batch'
    >>> share(Panel((Factor("gpus", "extrinsic"),))).per_worker
    '1/workers'
    """
    if job and panel.has("samples"):
        return Share("samples/workers", "samples", "s/sample")
    for name in ("work", "batch"):
        if panel.has(name):
            return Share(name, f"{name}*workers", f"s/{UNITS[name]}")
    return Share("1/workers", "1", "s")


def possible_work(panel: Panel) -> tuple[Work, ...]:
    """Return what one worker's work may be, most specific first; a single entry where the table decides.

    That of an epoch or a whole job is shared, `1/workers`. Otherwise it is decided in this order:

    1. a column of the global batch: `global_batch/workers`;
    2. a column of one worker's batch: `batch`;
    3. a group column with one of the names of a global batch: every group shares a fixed amount, `1/workers`;
    4. a group column with one of the names of one worker's batch: it is constant, `1`;
    5. otherwise the kind of scaling, where it is known;
    6. otherwise both constant work, `1`, and shared work, `1/workers`, are possible.

    Where only nodes are counted, a node takes the place of a worker. Along nodes, one of workers that stay as they are
    does what it did.
    """
    panel = panel.with_axis
    fixed_workers = panel.axis().canonical == "nodes" and panel.workers is not None
    counted = "workers" if panel.has("workers") else "nodes"
    if panel.of_jobs and panel.has(counted) and not fixed_workers:
        return (Work(f"1/{counted}", True),)
    if panel.find("global_batch") is not None and panel.has(counted):
        return (Work(f"global_batch/{counted}", True),)
    if panel.find("batch") is not None:
        return (Work("batch", True),)
    if fixed_workers or not panel.has(counted):
        return (Work("1", False),)
    known = _kind_of_group(panel) or panel.scaling
    return tuple(Work(KINDS[name].over(counted), False) for name in ([known] if known else POSSIBLE))


def limits(panel: Panel, counts: Array) -> tuple[tuple[float, float], ...]:
    """Return counts of the scale, of the measured ones, beyond which more may only wait, each with its probability.

    Threads, processes, users or environments share one machine, whose cores or slots end somewhere, and so do workers
    that serve requests; devices and nodes bring further ones, and so do processes on several nodes.

    Examples
    --------
    >>> from genperf.table import Factor
    >>> scales = [Factor(name, "extrinsic", 1, 2, distinct=2, positive=True) for name in ("gpus", "threads")]
    >>> ends = [limits(Panel((scale,)), np.array([1.0, 2.0])) for scale in scales]
    >>> [[(round(count, 2), round(chance, 2)) for count, chance in each] for each in ends]
    [[], [(1.0, 0.2), (2.38, 0.08), (3.36, 0.08), (5.66, 0.13), (11.31, 0.1)]]
    """
    factor, nodes = panel.axis().factor, panel.nodes
    if factor is None or (nodes is not None and several_nodes(nodes.upper)):
        return ()
    served = panel.target is not None and header_of(panel.target.throughput).counted in _SERVED
    if counts_devices(factor.name) and not served:
        return ()
    inside = np.unique(counts)
    doublings = np.log2(inside / inside[0])
    beyond = doublings[-1] + np.array(LIMIT.beyond)
    left = (1.0 - LIMIT.chance) ** np.concatenate([doublings[:-1], beyond])
    # Within the measured range a limit is looked for at the counts themselves.
    ends = inside[0] * 2.0 ** np.concatenate([doublings[:-1], 0.5 * (beyond[1:] + beyond[:-1])])
    return tuple(zip(ends.tolist(), (-np.diff(left)).tolist(), strict=True))


def _kind_of_group(panel: Panel) -> Scaling | None:
    """Return the kind of scaling that a group column of a batch shows: a global one is shared by the workers."""
    if column_of("global_batch", panel.group) is not None:
        return "strong"
    return None if column_of("batch", panel.group) is None else "weak"


def kind_of_scaling(work: Array, counts: Array) -> str:
    """Return the kind in which one worker's work, relative to that at the first count, changes; "mixed" for none."""
    kinds = {name: kind for name, kind in KINDS.items() if not kind.whole}
    return next((name for name, k in kinds.items() if np.allclose(work / k.relative(counts), 1.0)), "mixed")


def columns_of_work(
    panel: Panel, counts: Array, values: Mapping[str, Any], kind: Scaling | None
) -> dict[str, npt.NDArray[Any]]:
    """Return the columns of work that a kind of scaling changes with the count, beginning with the given values.

    The batch (and the operations) of one worker change as its work, the global batch as that of all, where no column
    holds the batch of one worker: strong scaling lets the first fall as 1/n, weak scaling the second grow as n. Work
    that is shared whatever the batch changes nothing. The counts of workers, of shape (rows,), rise.
    """
    if kind is None or KINDS[kind].whole:
        return {}
    each = KINDS[kind].relative(counts)
    changes = dict.fromkeys(("batch", "work"), each)
    if panel.find("batch") is None:
        changes["global_batch"] = each * (counts / counts[0])
    columns = {f.name: change for name, change in changes.items() if (f := panel.find(name)) is not None}
    changed = {n: change for n, change in columns.items() if n in values and not np.allclose(change, 1.0)}
    return {n: float(values[n]) * change for n, change in changed.items()}


def relative_work(panel: Panel, columns: Mapping[str, Any], counts: Array, kind: Scaling | None) -> Array | None:
    """Return one worker's work W(n)/W(n₀), relative to that at the first count; None where nothing shows it.

    W is the work of a step that was divided by a throughput, over n. Without one it is `samples/workers` for times of
    whole jobs, then the operations or the samples of one worker's step (`share`). Where no column shows it, it is
    constant in weak scaling, and W(n) ~ 1/n in strong. That of a job is shared whatever the columns. The counts of
    workers, of shape (rows,), rise.

    Raises
    ------
    GenperfError
        Where the user gives another kind than the work of a step.
    """
    if panel.target is not None and panel.target.work:
        return _work_of_throughput(panel.target.work, columns, counts, kind)
    kind = kind or panel.scaling or _kind_of_group(panel)
    if kind is not None and KINDS[kind].whole:
        return KINDS[kind].relative(counts)
    worker_share = share(panel, job=True)
    if not worker_share.known:
        return None if kind is None else KINDS[kind].relative(counts)
    tree = parse(worker_share.per_worker).node
    nodes = {name: panel.node(name) for name in names_in(tree)}
    if any(node is None for node in nodes.values()):
        return KINDS["strong"].relative(counts)
    value = evaluate(substitute(tree, {k: v for k, v in nodes.items() if v is not None}), columns)
    work = np.broadcast_to(np.asarray(value, float), (len(counts),))
    return np.asarray(work / work[0])


def _work_of_throughput(text: str, columns: Mapping[str, Any], counts: Array, kind: Scaling | None) -> Array:
    """Return one worker's work W(n)/W(n₀) by the work of a step that was divided by the throughput."""
    work = evaluated(text, columns, len(counts)) / counts
    work = np.asarray(work / work[0])
    by_work = kind_of_scaling(work, counts)
    if kind is not None and by_work != kind:
        raise GenperfError(
            f"the scaling is given as {kind}, and with the work '{text}' of a step it is {by_work}",
            hint="leave --scaling out",
        )
    return work


def samples_formula(panel: Panel) -> tuple[str, set[str]] | None:
    """Return the samples of a step as a formula, with the columns it reads.

    None where no column shows them, or where the times are those of a whole job.
    """
    batch, workers = panel.find("batch"), panel.workers
    if batch is None or panel.has("samples"):
        return None
    if panel.batch_is_of_a_pass:
        whole = panel.node("global_batch")
        return None if whole is None else (render(whole), set(names_in(whole)))
    columns = {f.name for f in (batch, workers) if f is not None}
    return quote_name(batch.name) + (f"*{quote_name(workers.name)}" if workers is not None else ""), columns


def work_of_columns(panel: Panel) -> str | None:
    """Return the samples of a step from the columns of the batch; None where there are none, and of a job."""
    if panel.of_jobs:
        return None
    whole = panel.find("global_batch")
    if whole is not None:
        return quote_name(whole.name)
    if panel.find("micro_batches") is not None and (node := panel.node("global_batch")) is not None:
        return render(node)
    known = samples_formula(panel)
    return None if known is None else known[0]


def work_of_group(panel: Panel, group: Mapping[str, str]) -> Node | None:
    """Return the samples of a step where one of a group's values is the batch; None elsewhere, and of a job."""
    if panel.of_jobs:
        return None
    batches = {name: value for name, text in group.items() if (value := amount(text)) is not None}
    whole, each = column_of("global_batch", batches), column_of("batch", batches)
    if whole is not None:
        return Number(batches[whole])
    if each is None or panel.workers is None:
        return None
    return call("multiply", Number(batches[each]), Name(panel.workers.name))


def work_of_step(panel: Panel, group: Mapping[str, str] | None = None) -> Node | None:
    """Return the work of a step as a formula over the factors: what a throughput is the work per second of.

    It is the work that was divided by a measured throughput, or else what the columns of the batch show. Where these
    show nothing but the work of one worker stays as they grow (weak scaling), it is the number of workers. None where
    nothing shows it, as in strong scaling, where the work of a step is one and the same. One of the values of the
    group may be the batch.
    """
    target = panel.target
    if target is None or not target.is_time:
        return None
    if target.work:
        return parse(target.work).node
    columns, of_group = work_of_columns(panel), work_of_group(panel, group or {})
    if columns is not None or of_group is not None:
        return of_group if columns is None else parse(columns).node
    kind = panel.scaling or _kind_of_group(panel)
    if kind is None or KINDS[kind].shared or target.throughput or panel.workers is None:
        return None
    count = quote_name(panel.workers.name)
    return parse(count if KINDS[kind].power == 0.0 else f"{count}*{KINDS[kind].over(count)}").node


def one_worker_names(panel: Panel, names: Sequence[str]) -> tuple[str, ...]:
    """Return the factors of a configuration that are 1 on one worker."""
    counts = (*panel.counts, panel.find("devices_per_node"))
    return tuple(f.name for f in counts if f is not None and f.name in names)
