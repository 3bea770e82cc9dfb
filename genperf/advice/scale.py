"""Which columns count machines, nodes, one worker's work and the samples of a step, for advice.

Every choice of a column by the field's names in this room is made here.
"""

from __future__ import annotations

from collections.abc import Sequence

from genperf.attribution.scale import scale_factor
from genperf.formula import Name, Node, quote_name
from genperf.models import ALIASES, Factors
from genperf.prediction import Query
from genperf.result import FitResult
from genperf.table import Factor

#: Factors that are 1 where a configuration is reduced to one worker.
_REDUCED = ("workers", "nodes", "devices_per_node")


def one_worker_names(factors: Factors, names: Sequence[str]) -> tuple[str, ...]:
    """Return the factors of a configuration that are 1 on one worker."""
    return tuple(f.name for f in map(factors.find, _REDUCED) if f is not None and f.name in names)


def machines_formula(factors: Factors, names: Sequence[str]) -> str | None:
    """Return what counts the machines: nodes; or workers, each on as many as it has partitions, and servers.

    None where no column of the configuration counts them.
    """
    column = {n: f.name for n in ("nodes", "workers", "partitions", "servers") if (f := factors.find(n)) is not None}
    quoted = {canonical: quote_name(name) for canonical, name in column.items() if name in names}
    if "nodes" in quoted:
        return quoted["nodes"]
    if "workers" not in quoted:
        return None
    replicas = "*".join(quoted[n] for n in ("workers", "partitions") if n in quoted)
    return f"{replicas} + {quoted['servers']}" if "servers" in quoted else replicas


def samples_formula(factors: Factors) -> tuple[str, set[str]] | None:
    """Return the samples of a step as a formula, with the columns it reads.

    None where no column tells them, or where the times are those of a whole job.
    """
    batch, workers = factors.find("batch"), factors.find("workers")
    if batch is None or factors.has("samples"):
        return None
    columns = {f.name for f in (batch, workers) if f is not None}
    return quote_name(batch.name) + (f"*{quote_name(workers.name)}" if workers is not None else ""), columns


def devices_per_node(result: FitResult, query: Query, count: Factor) -> float | None:
    """Return how many workers a node holds at a configuration on several nodes; None elsewhere.

    Parameters
    ----------
    result : FitResult
    query : Query
        One configuration.
    count : Factor
        The factor that counts the workers.
    """
    nodes = result.named.find("nodes")
    if nodes is None or nodes == count or float(query.columns[nodes.name][0]) <= 1:
        return None
    return float(query.columns[count.name][0]) / float(query.columns[nodes.name][0])


def node_of(result: FitResult, name: str) -> Node | None:
    """Return what a field's name stands for in a model, as a formula over its columns; None for an unknown one."""
    node = result.named.node(name) if name in ALIASES else None
    return Name(scale_factor(result, None).name) if node is None and name == "workers" else node
