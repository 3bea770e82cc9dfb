"""Laws of few constants along the workers: Amdahl, USL, Ernest, the logarithm, a power, rings of nodes."""

from dataclasses import replace

from genperf.expression import Expression, exponent
from genperf.models.compose import compose, with_computation
from genperf.models.family import Family, Overhead
from genperf.panel import Panel, share


def amdahl(factors: Panel) -> Expression:
    """Write Amdahl's law for a fixed amount of work, or for a batch per worker.

        T = c + a/n                    a fixed amount of work
        T = c + s·n·b + a·b            b samples per worker: the serial part of the work grows with all of it

    Amdahl (1967), "Validity of the single processor approach to achieving large scale computing capabilities". In the
    second form, our derivation, c is what a step costs whatever its work; with b = B/n (a fixed global batch B) it is
    the first.

    Examples
    --------
    >>> from genperf.panel.options import roles_of
    >>> print(amdahl(roles_of({"extrinsic": "workers"}).panel))
    c + a/workers
    >>> print(amdahl(roles_of({"extrinsic": "workers, batch"}).panel))
    c + s*batch*workers + a*batch
    """
    work = share(factors, job=True)
    serial = {"serial": f"s*{work.whole}"} if work.known else {}
    terms = {"constant": "c", **serial, "parallel": work.of("a")}
    return compose("amdahl", terms, factors, spare={"constant": "parallel"})


AMDAHL = Family(
    name="amdahl",
    equation="c + a/workers, or c + s·batch·workers + a·batch",
    source="Amdahl 1967",
    purpose="a serial part and a parallel one, no communication",
    uses=("batch", "work", "samples"),
    build=amdahl,
    # What all divide among them, as a sharded optimizer its update. Its size is that on eight workers.
    overheads=(Overhead("divided among all", "eps", "eps*8/workers", "anywhere"),),
)


def usl(factors: Panel) -> Expression:
    """Write the universal scalability law as the time of one worker's work.

    Gunther (2007), *Guerrilla Capacity Planning*: n workers do n/(1 + σ(n−1) + κn(n−1)) times the work of one. The time
    of one step is one worker's work w over its speed there,

        T = τ·w·(1 + σ·(n−1) + κ·n·(n−1))

    with w = 1/n for a fixed amount of work (strong scaling) and w = b for b samples per worker (weak scaling). Expanded
    it is linear in the coefficients, and without the last term it is Amdahl's law:

        T = c + a/n + k·(n−1)                            σ = c/(a + c), κ = k/(a + c)
        T = c + a·b + s·n·b + k·n·(n−1)·b                σ = s/(a + s), κ = k/(a + s)

    The c of the second form, what a step costs whatever its work, is our addition.

    Examples
    --------
    >>> from genperf.panel.options import roles_of
    >>> print(usl(roles_of({"extrinsic": "workers"}).panel))
    c + a/workers + k*(workers - 1)
    """
    work = share(factors, job=True)
    coherency = f"k*{work.whole}*(workers - 1)" if work.known else "k*(workers - 1)"
    law = amdahl(factors)
    added = compose("usl", {"coherency": coherency}, factors)
    return replace(law, family="usl", terms=law.terms + added.terms, constants=law.constants + added.constants)


USL = Family(
    name="usl",
    equation="c + a/workers + k·(workers − 1), or c + (s·workers + a + k·workers·(workers − 1))·batch",
    source="Gunther 2007",
    purpose="a serial part, a parallel one, and coherency that makes many workers slower",
    uses=("batch", "work", "samples"),
    build=usl,
    # Workers of a node share its memory, its bus and its host: beyond a few of them, each further one adds as much.
    overheads=(Overhead("contention", "kappa", "kappa*max(workers/nodes - limit, 0)", "inside", shape="limit"),),
)


def ernest(factors: Panel) -> Expression:
    """Write Ernest's four terms.

        T = c + a·w + b·log2 n + d·n

    Venkataraman et al. (2016), "Ernest: efficient performance prediction for large-scale advanced analytics",
    equation 1: a fixed cost, the data divided by the machines (here w, one worker's work), aggregation in a tree, and
    costs for each machine. Fitted by non-negative least squares there and here.

    Examples
    --------
    >>> from genperf.panel.options import roles_of
    >>> print(ernest(roles_of({"extrinsic": "nodes"}, mapping={"workers": "nodes"}).panel))
    c + a/nodes + b*log2(nodes) + d*nodes
    """
    exchange = {"tree": "b*log2(workers)", "per worker": "d*workers"}
    return with_computation("ernest", factors, exchange, job=True)


ERNEST = Family(
    name="ernest",
    equation="c + a·batch + b·log2(workers) + d·workers, or a/workers",
    source="Venkataraman et al. 2016",
    purpose="jobs and steps whose communication is a tree or one message per worker",
    uses=("batch", "work", "samples"),
    build=ernest,
    overheads=(
        Overhead("constant", "c", "c", "constant"),
        # One message after another, or faster: sharded optimizers on hundreds of nodes. Its size is that on nine nodes.
        Overhead("one after another", "gamma", "gamma*((nodes - 1)/8)**p", "growing", shape="p"),
    ),
)


def logarithmic(factors: Panel) -> Expression:
    """Write `T = c + a·w + b·log2 n`, with the computation a·w where the table shows the work of one worker.

    The fewest constants with which a step can grow slowly: a reference that the others should beat.

    Examples
    --------
    >>> from genperf.panel.options import roles_of
    >>> print(logarithmic(roles_of({"extrinsic": "workers"}).panel))
    c + b*log2(workers)
    """
    return with_computation("logarithmic", factors, {"tree": "b*log2(workers)"}, job=True, known=True)


LOGARITHMIC = Family(
    name="logarithmic",
    equation="c + a·batch + b·log2(workers)",
    source="reference",
    purpose="a step that grows slowly: the fewest constants",
    uses=("batch", "work", "samples"),
    build=logarithmic,
    overheads=(Overhead("per doubling", "delta", "delta*log2(workers)", "doubling"),),
)


#: Steeper than n² or 1/n² is no scaling that training shows. Half and double err as much
#: (experiments/results/settings.md).
EXPONENT = exponent("q", -2.0, 2.0, start=0.5)


def power_law(factors: Panel) -> Expression:
    """Write `T = c + a·w + b·n^q`, with the computation a·w where the table shows the work of one worker.

    Negative q is strong scaling (a fixed amount of work is shared), positive q a growing cost of working together.

    Examples
    --------
    >>> from genperf.panel.options import roles_of
    >>> print(power_law(roles_of({"extrinsic": "workers"}).panel))
    c + b*workers**q
    """
    power = {"power": "b*workers**q"}
    return with_computation("power-law", factors, power, job=True, known=True, shapes=[EXPONENT])


POWER_LAW = Family(
    name="power-law",
    equation="c + a·batch + b·workers^q",
    source="reference",
    purpose="growth or shrinkage of any power between −2 and 2",
    uses=("batch", "work", "samples"),
    build=power_law,
)


def topology(factors: Panel) -> Expression:
    """Write a hierarchical all-reduce on m nodes of g = n/m devices.

        T = c + a·w + β_r·M·(g−1)/g + β_n·M·(m−1)/m + α·log2 m

    Our derivation: the bandwidth-optimal ring of k members moves 2·M·(k−1)/k bytes over each link (Patarasuk & Yuan
    2009), once inside the nodes and once between them; the factor 2 is in the coefficients. The second ring appears
    as a step when the second node is added, and flattens as (m−1)/m does. The latency is left out where the nodes have
    two values: it cannot be separated from the ring then.

    Examples
    --------
    >>> from genperf.panel.options import roles_of
    >>> print(topology(roles_of({"extrinsic": "gpus, nodes"}).panel))
    c + a/gpus + beta_r*(1 - nodes/gpus) + beta_n*(1 - 1/nodes) + alpha*log2(nodes)
    """
    exchange = {"inside nodes": "beta_r*bytes*(1 - nodes/workers)", "between nodes": "beta_n*bytes*(1 - 1/nodes)"}
    if factors.varies("nodes", 3) or factors.varies("bytes"):
        exchange["latency"] = "alpha*log2(nodes)"
    return with_computation("topology", factors, exchange)


TOPOLOGY = Family(
    name="topology",
    equation="c + a·batch + β_r·bytes·(g − 1)/g + β_n·bytes·(m − 1)/m + α·log2 m, m nodes of g devices",
    source="Patarasuk & Yuan 2009",
    purpose="a step where training leaves the first node",
    requires=("workers", "nodes"),
    uses=("batch", "work", "bytes"),
    build=topology,
    overheads=(
        Overhead("inside nodes", "beta_r", "beta_r*max(1 - nodes/workers, 0)", "inside"),
        # What the second node costs at once, whatever the bytes: another transport, another path through the host.
        Overhead("leaving the node", "d", "d*where(nodes > 1, 1, 0)", "between"),
        Overhead("between nodes", "beta_n", "beta_n*(1 - 1/nodes)", "between"),
        Overhead("latency", "alpha", "alpha*log2(nodes)", "between"),
    ),
)
