"""Amdahl's law: a serial part that stays and a parallel part that the workers share."""

from genperf.expression import Expression
from genperf.models.compose import compose
from genperf.models.family import Family, Overhead
from genperf.panel import Panel, share


def build(factors: Panel) -> Expression:
    """Write Amdahl's law for a fixed amount of work, or for a batch per worker.

        T = c + a/n                    a fixed amount of work
        T = c + s·n·b + a·b            b samples per worker: the serial part of the work grows with all of it

    Amdahl (1967), "Validity of the single processor approach to achieving large scale computing capabilities". In the
    second form, our derivation, c is what a step costs whatever its work; with b = B/n (a fixed global batch B) it is
    the first.

    Examples
    --------
    >>> from genperf.panel.options import roles_of
    >>> print(build(roles_of({"extrinsic": "workers"}).panel))
    c + a/workers
    >>> print(build(roles_of({"extrinsic": "workers, batch"}).panel))
    c + s*batch*workers + a*batch
    """
    work = share(factors, job=True)
    serial = {"serial": f"s*{work.whole}"} if work.known else {}
    terms = {"constant": "c", **serial, "parallel": work.of("a")}
    return compose("amdahl", terms, factors, spare={"constant": "parallel"})


FAMILY = Family(
    name="amdahl",
    equation="c + a/workers, or c + s·batch·workers + a·batch",
    source="Amdahl 1967",
    purpose="a serial part and a parallel one, no communication",
    uses=("batch", "work", "samples"),
    build=build,
    # What all divide among them, as a sharded optimizer its update. Its size is that on eight workers.
    overheads=(Overhead("divided among all", "eps", "eps*8/workers", "anywhere"),),
)
