"""The work of a step and of one worker: what the columns, the group and the kind of scaling show of it."""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import NamedTuple

import numpy as np

from genperf.arrays import Array
from genperf.panel.panel import Panel
from genperf.scaling import KINDS, Scaling
from genperf.vocabulary import words_of
from genperf.vocabulary.names import counts_devices

#: The kinds that are possible where nothing shows one.
POSSIBLE: tuple[Scaling, ...] = ("weak", "strong")


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


class WorkFormula(NamedTuple):
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
    >>> from genperf.panel.options import roles_of
    >>> share(roles_of({"extrinsic": "gpus, global_batch"}).panel).per_worker
    'batch'
    >>> share(roles_of({"extrinsic": "gpus"}).panel).per_worker
    '1/workers'
    """
    if job and panel.has("samples"):
        return Share("samples/workers", "samples")
    for name in ("work", "batch"):
        if panel.has(name):
            return Share(name, f"{name}*workers")
    return Share("1/workers", "1")


def possible_work(panel: Panel) -> tuple[WorkFormula, ...]:
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
    fixed_workers = panel.axis.canonical != "workers" and panel.workers is not None
    counted = panel.counted_as or "nodes"
    if panel.of_jobs and panel.has(counted) and not fixed_workers:
        return (WorkFormula(f"1/{counted}", True),)
    if panel.find("global_batch") is not None and panel.has(counted):
        return (WorkFormula(f"global_batch/{counted}", True),)
    if panel.find("batch") is not None:
        return (WorkFormula("batch", True),)
    if fixed_workers or not panel.has(counted):
        return (WorkFormula("1", False),)
    kinds = POSSIBLE if panel.kind is None else (panel.kind,)
    return tuple(WorkFormula(KINDS[name].over(counted), False) for name in kinds)


def limits(panel: Panel, counts: Array) -> tuple[tuple[float, float], ...]:
    """Return counts of the scale, of the measured ones, beyond which more may only wait, each with its probability.

    Threads, processes, users or environments share one machine, whose cores or slots end somewhere, and so do workers
    that serve requests; devices and nodes bring further ones, and so do processes on several nodes.

    Examples
    --------
    >>> from genperf.panel.options import roles_of
    >>> scales = [roles_of({"extrinsic": name}).panel for name in ("gpus", "threads")]
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


def one_worker_names(panel: Panel, names: Sequence[str]) -> tuple[str, ...]:
    """Return the factors of a configuration that are 1 on one worker."""
    counts = (*panel.counts, panel.find("devices_per_node"))
    return tuple(f.name for f in counts if f is not None and f.name in names)
