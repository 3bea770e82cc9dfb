"""One worker alone: it may run without the exchange of several workers."""

from __future__ import annotations

from genperf.expression import Constant, coefficient
from genperf.panel import Panel

#: The cost of working together that neither the workers nor the bytes change, and its coefficient.
SYNCHRONISATION = "synchronisation"
SYNCHRONISATION_COST: Constant = coefficient("d")

#: Worker counts that tell a step between one worker and two from growth with the workers: 1 and two more.
LEAST_COUNTS = 3


def measured_alone(factors: Panel) -> bool:
    """Return whether a table has runs of one worker beside two larger counts, so that a step between them shows.

    Examples
    --------
    >>> from genperf.table.factor import measure
    >>> [measured_alone(Panel((measure("gpus", "extrinsic", n),))) for n in ([1, 2, 4], [1, 2], [2, 4, 8])]
    [True, False, False]
    """
    workers = factors.workers
    return workers is not None and workers.lower <= 1.0 and workers.distinct >= LEAST_COUNTS


def together(formula: str) -> str:
    """Return a formula that is zero for one worker.

    Examples
    --------
    >>> together("alpha*workers")
    'where(workers > 1, alpha*workers, 0)'
    """
    return f"where(workers > 1, {formula}, 0)"


def synchronisation() -> dict[str, str]:
    """Return the term of `SYNCHRONISATION_COST`: its name and its formula."""
    return {SYNCHRONISATION: together(SYNCHRONISATION_COST.name)}
