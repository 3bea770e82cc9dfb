"""Steps that end in an exchange of gradients: with servers, with every other worker, around a ring; or overlapping."""

from genperf.expression import Constant, Expression
from genperf.models.compose import SERIAL, SYNCHRONISATION, compose, measured_alone, together, with_computation
from genperf.models.family import Family
from genperf.panel import Panel, share


def parameter_server(factors: Panel) -> list[Expression]:
    """Write one step with S parameter servers.

        T = c + a·w + 2·β·M·max(n/S, 1) + α·n/S

    After Alqahtani & Demirbas (2019), "Performance analysis and comparison of distributed machine learning systems":
    each server takes in the gradients of its share of the model from all n workers and sends the weights back. The
    formula is our derivation. With fewer workers than servers the links of the workers are full, which carry M bytes
    each way. Where the table has runs of one worker, it exchanges with the servers like several, or runs without them;
    then several may also have a cost of synchronisation.
    """
    exchange = through_servers(factors)
    exchanges = [exchange]
    if measured_alone(factors):
        of_several = {name: together(formula) for name, formula in exchange.items()}
        exchanges += [of_several, of_several | SYNCHRONISATION]
    return [with_computation("parameter-server", factors, terms) for terms in exchanges]


def through_servers(factors: Panel) -> dict[str, str]:
    """Return the terms of an exchange with servers, 2·β·M·max(n/S, 1) + α·n/S, as far as columns show them."""
    load = "max(workers/servers, 1)" if factors.has("servers") else "workers"
    requests = {"requests": "alpha*workers/servers"} if factors.varies("bytes") else {}
    return {"bandwidth": f"2*beta*bytes*{load}", **requests}


PARAMETER_SERVER = Family(
    name="parameter-server",
    equation="c + a·batch + 2·β·bytes·max(workers/servers, 1) + α·workers/servers",
    source="Alqahtani & Demirbas 2019",
    purpose="parameter servers that congest as workers are added",
    uses=("servers", "batch", "work", "bytes"),
    build=parameter_server,
)


def peer_to_peer(factors: Panel) -> list[Expression]:
    """Write one step with all-to-all exchange, without and with a cost of several workers that one alone saves.

        T = c + a·w + β·M·(n−1) + α·(n−1)

    After Alqahtani & Demirbas (2019): each worker's link carries M bytes to each of the n − 1 others. The formula is
    our derivation.
    """
    exchange = among_peers(factors)
    costs = [{}, SYNCHRONISATION] if measured_alone(factors) else [{}]
    return [with_computation("peer-to-peer", factors, exchange | cost) for cost in costs]


def among_peers(factors: Panel) -> dict[str, str]:
    """Return the terms of an exchange of every worker with every other, β·M·(n−1) + α·(n−1)."""
    messages = {"messages": "alpha*(workers - 1)"} if factors.varies("bytes") else {}
    return {"bandwidth": "beta*bytes*(workers - 1)", **messages}


PEER_TO_PEER = Family(
    name="peer-to-peer",
    equation="c + a·batch + β·bytes·(workers − 1) + α·(workers − 1)",
    source="Alqahtani & Demirbas 2019",
    purpose="every worker sends to every other",
    uses=("batch", "work", "bytes"),
    build=peer_to_peer,
)


_EXCHANGE = "bandwidth + latency"
#: What of the ring hides behind the backward pass: all that is as long, all but a share, nothing.
_RING_TOTALS = (
    f"forward + max(backward, {_EXCHANGE})",
    f"forward + serial*(backward + {_EXCHANGE}) + (1 - serial)*max(backward, {_EXCHANGE})",
    None,
)


def ring_allreduce(factors: Panel) -> list[Expression]:
    """Write one step of ring all-reduce, each overlap without and with a cost d that one worker alone saves.

        full   T = c + a·w/3 + max(t_b, t_c)
        part   T = c + a·w/3 + s·(t_b + t_c) + (1 − s)·max(t_b, t_c)
        none   T = c + a·w/3 + t_b + t_c

    with t_b = 2·a·w/3 and t_c = 2·β·M·(n−1)/n + 2·α·(n−1). After Alqahtani & Demirbas (2019): the ring keeps every
    link's traffic below 2·M bytes whatever n, and gradients travel while the backward pass computes the next. The
    formula is our derivation; backward takes twice the time of forward. Of L equal layers one cannot hide, which is
    `part` with s = 1/L.

    Only a table whose work per worker varies shows that an exchange hides in part; any other, whether the time grows
    from the second worker on or later. The cost of several workers shows by runs of one worker, and where the work of
    a step is known: a fixed work that is shared falls as 1/n, as the part of the ring's traffic that depends on n.
    """
    work = share(factors)
    passes = {"forward": f"{work.of('a')}/3", "backward": f"{work.of('2*a')}/3"}
    ring = {"bandwidth": "2*beta*bytes*(1 - 1/workers)", "latency": "2*alpha*(workers - 1)"}
    full, part, none = _RING_TOTALS
    grown = (full, part, none) if factors.varies(work.per_worker) else (full, none)
    totals = grown if work.known else (full,)
    costs = [{}, SYNCHRONISATION] if measured_alone(factors) and work.known else [{}]
    return [
        compose(
            "ring-allreduce",
            {**passes, **ring, **cost, "constant": "c"},
            factors,
            total and " + ".join([total, *cost, "constant"]),
            [SERIAL],
            spare={"constant": "forward"},
        )
        for total in totals
        for cost in costs
    ]


RING_ALLREDUCE = Family(
    name="ring-allreduce",
    equation=(
        "a·batch/3 + max(2·a·batch/3, 2·β·bytes·(workers − 1)/workers + 2·α·(workers − 1)) + c, their sum, or between"
    ),
    source="Alqahtani & Demirbas 2019",
    purpose="synchronous steps whose all-reduce overlaps the backward pass, all of it or in part, or follows it",
    uses=("batch", "work", "bytes"),
    build=ring_allreduce,
)


#: The order γ: 1 is no overlap, infinity is complete overlap. 10 is within 8 % of complete overlap: the two parts are
#: at most 2^(1/10) of the larger one.
ORDER = Constant("gamma", "shape", 1.0, 10.0, start=2.0, penalised=False)


def goodput(factors: Panel, growing: bool = True, overlapping: bool = True) -> Expression:
    """Write the step time that Pollux's goodput is made of.

        T = (T_grad^γ + T_sync^γ)^(1/γ)
        T_grad = c + a·w
        T_sync = 0 for n = 1, α_r + β_r·(n−2) inside one node, α_n + β_n·(n−2) across nodes

    Qiao et al. (2021), "Pollux: co-adaptive cluster scheduling for goodput-optimized deep learning", section 3.2; w is
    one worker's work. Without nodes there is one T_sync for all n > 1; β_n is left out where the nodes have two values.
    Few configurations do not determine all constants, so that the authors fit all batches of a job at once: without
    `growing` β is 0, as theirs is until a job was run on more than two devices, and without `overlapping` γ is 1.
    """
    per_worker = {name: f" + beta_{name}*(workers - 2)" if growing else "" for name in "rn"}
    sync = {"synchronisation": f"where(workers > 1, alpha_n{per_worker['n']}, 0)"}
    if factors.has("nodes"):
        inside = f"where(workers > 1 and nodes <= 1, alpha_r{per_worker['r']}, 0)"
        between = f"where(nodes > 1, alpha_n{per_worker['n'] if factors.varies('nodes', 3) else ''}, 0)"
        sync = {"inside nodes": inside, "between nodes": between}
    exchange = " + ".join(f"`{name}`" for name in sync)
    total = f"((constant + compute)**gamma + ({exchange})**gamma)**(1/gamma)" if overlapping else None
    return with_computation("goodput", factors, sync, total=total, shapes=[ORDER])


GOODPUT = Family(
    name="goodput",
    equation="((c + a·batch)^γ + (α + β·(workers − 2))^γ)^(1/γ), α and β of the node or of the network",
    source="Qiao et al. 2021",
    purpose="computation and synchronisation that overlap in part",
    uses=("nodes", "batch", "work"),
    # The whole expression, then those with fewer constants.
    build=lambda factors: [goodput(factors), goodput(factors, False), goodput(factors, False, False)],
    choice="largest",
)
