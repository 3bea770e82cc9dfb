"""Laws of few constants along the workers: Amdahl, USL, Ernest, the logarithm, a power, rings of nodes."""

from msgspec.structs import replace

from genperf.expression import Expression, exponent
from genperf.models.compose import compose, with_computation
from genperf.models.family import Family, Overhead
from genperf.panel import Panel, share


def amdahl(factors: Panel) -> Expression:
    """Write Amdahl's law for a fixed amount of work, or for a batch per worker.

        T = c + a/n                    a fixed amount of work
        T = c + s·n·b + a·b            b samples per worker: the serial part of the work grows with all of it

    Amdahl (1967), "Validity of the single processor approach to achieving large scale computing capabilities". The
    second form is our derivation: c is what a step costs whatever its work; with b = B/n it is the first.
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

        T = c + a/n + k·(n−1)                            σ = c/(a + c), κ = k/(a + c)
        T = c + a·b + s·n·b + k·n·(n−1)·b                σ = s/(a + s), κ = k/(a + s)

    Gunther (2007), *Guerrilla Capacity Planning*: n workers do n/(1 + σ(n−1) + κn(n−1)) times the work of one, so that
    one worker's work w takes T = τ·w·(1 + σ·(n−1) + κ·n·(n−1)), here with w = 1/n or w = b samples, expanded.
    The c of the second form, what a step costs whatever its work, is our addition.
    """
    work = share(factors, job=True)
    coherency = f"k*{work.whole}*(workers - 1)" if work.known else "k*(workers - 1)"
    law, added = amdahl(factors), compose("usl", {"coherency": coherency}, factors)
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


# T = c + a·w + b·log2 n + d·n: a fixed cost, the data divided by the machines (here one worker's work w), aggregation
# in a tree, and costs for each machine ("Ernest: efficient performance prediction for large-scale advanced analytics",
# equation 1).
ERNEST = Family(
    name="ernest",
    equation="c + a·batch + b·log2(workers) + d·workers, or a/workers",
    source="Venkataraman et al. 2016",
    purpose="jobs and steps whose communication is a tree or one message per worker",
    uses=("batch", "work", "samples"),
    build=lambda factors: with_computation(
        "ernest", factors, {"tree": "b*log2(workers)", "per worker": "d*workers"}, job=True
    ),
    overheads=(
        Overhead("constant", "c", "c", "constant"),
        # One message after another, or faster: sharded optimizers on hundreds of nodes. Its size is that on nine nodes.
        Overhead("one after another", "gamma", "gamma*((nodes - 1)/8)**p", "growing", shape="p"),
    ),
)


# T = c + a·w + b·log2 n, with a·w where the table shows the work of one worker: the fewest constants with which a step
# can grow slowly.
LOGARITHMIC = Family(
    name="logarithmic",
    equation="c + a·batch + b·log2(workers)",
    source="reference",
    purpose="a step that grows slowly: the fewest constants",
    uses=("batch", "work", "samples"),
    build=lambda factors: with_computation("logarithmic", factors, {"tree": "b*log2(workers)"}, job=True, known=True),
    overheads=(Overhead("per doubling", "delta", "delta*log2(workers)", "doubling"),),
)


#: Steeper than n² or 1/n² is no scaling that training shows. Half and double err as much (settings.md).
EXPONENT = exponent("q", -2.0, 2.0, start=0.5)
# T = c + a·w + b·n^q, with a·w where the table shows the work of one worker. Negative q is strong scaling (a fixed
# amount of work is shared), positive q a growing cost of working together.
POWER_LAW = Family(
    name="power-law",
    equation="c + a·batch + b·workers^q",
    source="reference",
    purpose="growth or shrinkage of any power between −2 and 2",
    uses=("batch", "work", "samples"),
    build=lambda factors: with_computation(
        "power-law", factors, {"power": "b*workers**q"}, job=True, known=True, shapes=[EXPONENT]
    ),
)


def topology(factors: Panel) -> Expression:
    """Write a hierarchical all-reduce on m nodes of g = n/m devices.

        T = c + a·w + β_r·M·(g−1)/g + β_n·M·(m−1)/m + α·log2 m

    Our derivation: the bandwidth-optimal ring of k members moves 2·M·(k−1)/k bytes over each link (Patarasuk & Yuan
    2009), once inside the nodes and once between them; the factor 2 is in the coefficients. Where the nodes have two
    values the latency cannot be separated from the second ring, and is left out.
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
