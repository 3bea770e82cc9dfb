"""The universal scalability law: Amdahl's law and the cost of keeping workers coherent."""

from dataclasses import replace

from genperf.expression import Expression
from genperf.models import amdahl
from genperf.models.compose import compose
from genperf.models.family import Family, Overhead
from genperf.panel import Panel, share


def build(factors: Panel) -> Expression:
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
    >>> print(build(roles_of({"extrinsic": "workers"}).panel))
    c + a/workers + k*(workers - 1)
    """
    work = share(factors, job=True)
    coherency = f"k*{work.whole}*(workers - 1)" if work.known else "k*(workers - 1)"
    law = amdahl.build(factors)
    added = compose("usl", {"coherency": coherency}, factors)
    return replace(law, family="usl", terms=law.terms + added.terms, constants=law.constants + added.constants)


FAMILY = Family(
    name="usl",
    equation="c + a/workers + k·(workers − 1), or c + (s·workers + a + k·workers·(workers − 1))·batch",
    source="Gunther 2007",
    purpose="a serial part, a parallel one, and coherency that makes many workers slower",
    uses=("batch", "work", "samples"),
    build=build,
    # Coherency among the workers of a node, which share its memory and its host.
    overheads=(Overhead("contention", "kappa", "kappa*(workers/nodes - 1)**2", "inside"),),
)
