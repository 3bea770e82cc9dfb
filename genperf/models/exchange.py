"""An exchange between workers: which of its cost one worker alone saves, and how much a backward pass hides."""

from __future__ import annotations

from genperf.expression import Constant, coefficient
from genperf.panel import Panel

#: The coefficient of a cost of working together that neither the workers nor the bytes change, and its term.
SYNCHRONISATION_COST: Constant = coefficient("d")
SYNCHRONISATION = {"synchronisation": f"where(workers > 1, {SYNCHRONISATION_COST.name}, 0)"}

#: Worker counts that separate a step between one worker and two from growth with the workers: 1 and two more.
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
    """Return a formula that is zero for one worker."""
    return f"where(workers > 1, {formula}, 0)"


#: The share of backward pass and exchange that one follows the other in: a layer of as many equal ones. All values that
#: it may have; a search begins at a quarter, as four layers have it.
SERIAL = Constant("serial", "shape", 0.0, 1.0, start=0.25, penalised=False)


def hidden(backward: str, exchange: str) -> str:
    """Return the time of a backward pass and an exchange of which the shorter one hides."""
    return f"max({backward}, {exchange})"


def partly_hidden(backward: str, exchange: str) -> str:
    """Return the time of a backward pass and an exchange of which a share does not hide.

        t = s·(t_b + t_c) + (1 − s)·max(t_b, t_c)

    Of L equal layers the last gradients leave when the pass is done, and the first ones when one layer is: the time is
    max(t_b + t_c/L, t_b/L + t_c), which is this with s = 1/L.

    Examples
    --------
    >>> partly_hidden("backward", "ring")
    'serial*(backward + ring) + (1 - serial)*max(backward, ring)'
    """
    return f"serial*({backward} + {exchange}) + (1 - serial)*{hidden(backward, exchange)}"
