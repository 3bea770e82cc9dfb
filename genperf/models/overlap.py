"""An exchange of gradients during the backward pass: all of it hides, or all but what the last layer's gradients take.

Read by `ring_allreduce`, which has the total alone, and by `s_sgd`, which may have the phases.
"""

from __future__ import annotations

from genperf.expression import Constant

#: The share of backward pass and exchange that one follows the other in: a layer of as many equal ones. All values that
#: it may have; a search begins at a quarter, as four layers have it.
SERIAL = Constant("serial", "shape", 0.0, 1.0, start=0.25, penalised=False)


def hidden(backward: str, exchange: str) -> str:
    """Return the time of a backward pass and an exchange of which the shorter one hides.

    Examples
    --------
    >>> hidden("backward", "ring + latency")
    'max(backward, ring + latency)'
    """
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
