"""Which columns count machines, nodes, one worker's work and the samples of a step, for advice.

Every choice of a column by the field's names in this room is made here.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from genperf.attribution.scale import group_kind, scale_factor
from genperf.formula import Name, Node, Number, call, names_in, parse, quote_name, render
from genperf.formula.amounts import amount
from genperf.models import ALIASES, Factors
from genperf.prediction import Query
from genperf.result import FitResult
from genperf.table import Factor
from genperf.table.names import column_of

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
    if factors.batch_is_of_a_pass:
        whole = factors.node("global_batch")
        return None if whole is None else (render(whole), set(names_in(whole)))
    columns = {f.name for f in (batch, workers) if f is not None}
    return quote_name(batch.name) + (f"*{quote_name(workers.name)}" if workers is not None else ""), columns


def work_of_step(result: FitResult, group: Mapping[str, str] | None = None) -> Node | None:
    """Return the work of a step as a formula over the factors: what a throughput is the work per second of.

    It is the work that was divided by a measured throughput, or else what the columns of the batch tell. Where these
    tell nothing but the work of one worker stays as they grow (weak scaling), it is the number of workers. None where
    nothing tells it, as in strong scaling, where the work of a step is one and the same.

    Parameters
    ----------
    group : mapping of str to str, optional
        The values of the group: one of them may be the batch.
    """
    schema = result.schema
    if not schema.target.is_time:
        return None
    if schema.target.work:
        return parse(schema.target.work).node
    columns = work_of_columns(result)
    if columns is not None:
        return parse(columns).node
    known_work = work_of_group(result, group or {})
    if known_work is not None:
        return known_work
    workers = result.named.find("workers")
    weak = (schema.scaling or group_kind(schema)) == "weak" and not schema.target.throughput
    return Name(workers.name) if weak and workers is not None else None


def work_of_group(result: FitResult, group: Mapping[str, str]) -> Node | None:
    """Return the samples of a step where one of a group's values is the batch; None elsewhere, and of a job.

    Parameters
    ----------
    group : mapping of str to str
        The values of the group.
    """
    if result.schema.scaling == "job":
        return None
    workers = result.named.find("workers")
    batches = {name: value for name, text in group.items() if (value := amount(text)) is not None}
    for canonical in ("global_batch", "batch"):
        name = column_of(canonical, batches)
        batch = None if name is None else batches[name]
        if batch is not None and canonical == "global_batch":
            return Number(batch)
        if batch is not None and workers is not None:
            return call("multiply", Number(batch), Name(workers.name))
    return None


def sequence_of(result: FitResult) -> str | None:
    """Return the factor that counts the tokens of a sample, by the field's names; None without one."""
    factor = result.named.find("sequence")
    return factor.name if factor is not None and factor.numeric else None


def work_of_columns(result: FitResult) -> str | None:
    """Return the samples of a step from the columns of the batch; None where there are none, and of a job."""
    if result.schema.scaling == "job":
        return None
    whole = result.named.find("global_batch")
    if whole is not None:
        return quote_name(whole.name)
    if result.named.find("micro_batches") is not None and (node := result.named.node("global_batch")) is not None:
        return render(node)
    known = samples_formula(result.named)
    return None if known is None else known[0]


def devices_per_node(result: FitResult, query: Query, count: Factor) -> float | None:
    """Return how many workers a node holds at a configuration on several nodes; None elsewhere.

    Parameters
    ----------
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
