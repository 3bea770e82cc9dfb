"""Training with parameter servers, whose links carry every worker's gradients and weights."""

from collections.abc import Sequence
from typing import Literal, get_args

from genperf.expression import Expression
from genperf.models.compose import SYNCHRONISATION, measured_alone, together, with_computation
from genperf.models.family import Family
from genperf.panel import Panel

#: What one worker alone does: it exchanges with the servers like several, or it runs without them. Then several
#: workers may also have a cost of synchronisation.
Alone = Literal["exchanges", "runs by itself", "saves synchronisation"]
ALONE: tuple[Alone, ...] = get_args(Alone)


def build(factors: Panel, alone: Alone = "exchanges") -> Expression:
    """Write one step with S parameter servers.

        T = c + a·w + 2·β·M·max(n/S, 1) + α·n/S

    After Alqahtani & Demirbas (2019), "Performance analysis and comparison of distributed machine learning systems":
    each server takes in the gradients of its share of the model from all n workers and sends the weights back. The
    formula is our derivation. With fewer workers than servers the links of the workers are full, which carry M bytes
    each way. Without a column of servers their number is in the coefficients; without bytes that vary the two terms of
    the servers are one.

    Examples
    --------
    >>> from genperf.panel.options import roles_of
    >>> panel = roles_of({"extrinsic": "workers, servers, batch, bytes"}).panel
    >>> print(build(panel))
    c + a*batch + 2*beta*bytes*max(workers/servers, 1) + alpha*workers/servers
    >>> print(build(roles_of({"extrinsic": "workers"}).panel, "saves synchronisation"))
    c + a/workers + where(workers > 1, 2*beta*workers, 0) + where(workers > 1, d, 0)
    """
    exchange = through_servers(factors)
    if alone != "exchanges":
        exchange = {name: together(formula) for name, formula in exchange.items()}
    if alone == "saves synchronisation":
        exchange |= SYNCHRONISATION
    return with_computation("parameter-server", factors, exchange)


def through_servers(factors: Panel) -> dict[str, str]:
    """Return the terms of an exchange with servers.

        t_c = 2·β·M·max(n/S, 1) + α·n/S

    Examples
    --------
    >>> from genperf.panel.options import roles_of
    >>> through_servers(roles_of({"extrinsic": "workers"}).panel)
    {'bandwidth': '2*beta*bytes*workers'}
    """
    load = "max(workers/servers, 1)" if factors.has("servers") else "workers"
    terms = {"bandwidth": f"2*beta*bytes*{load}"}
    if factors.varies("bytes"):
        terms["requests"] = "alpha*workers/servers"
    return terms


def candidates(factors: Panel) -> Sequence[Expression]:
    """Return the expressions for what one worker alone may do, where the table has runs of it."""
    return [build(factors, alone) for alone in (ALONE if measured_alone(factors) else ALONE[:1])]


FAMILY = Family(
    name="parameter-server",
    equation="c + a·batch + 2·β·bytes·max(workers/servers, 1) + α·workers/servers",
    source="Alqahtani & Demirbas 2019",
    purpose="parameter servers that congest as workers are added",
    uses=("servers", "batch", "work", "bytes"),
    build=candidates,
)
