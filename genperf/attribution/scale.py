"""Which column counts the workers, which the nodes, and what one worker's work is.

Everything in `attribution` and `advice` that depends on the choice asks this module.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import numpy as np
import numpy.typing as npt

from genperf.errors import GenperfError, TableError, suggest
from genperf.formula import evaluate, names_in, parse, substitute
from genperf.models import Factors
from genperf.models.family import share
from genperf.prediction import Schema
from genperf.result import FitResult
from genperf.table import Factor
from genperf.table.names import column_of
from genperf.table.target import Scaling
from genperf.table.work import evaluated

Array = npt.NDArray[np.float64]
Kind = Scaling


def scale_factor(result: FitResult, along: str | None) -> Factor:
    """Return the factor that counts the workers.

    It is the one named in `along`. Without a name it is `workers`, or else `nodes`, by the field's names, where they
    vary; or else the only positive extrinsic factor that varies.

    Raises
    ------
    TableError
        Where there is none, or where its values reach zero.
    """
    factors = result.schema.factors
    numeric = [f.name for f in factors if f.numeric]
    if along is not None:
        named = [f for f in factors if f.name == result.schema.column(along) and f.numeric]
        if not named:
            hint = suggest(along, numeric) or f"one of {', '.join(numeric) or 'none'}"
            raise TableError(f"the model has no numeric factor '{along}'", hint=hint)
        chosen = named[0]
    else:
        by_name = [f for f in map(result.named.find, ("workers", "nodes")) if f is not None and f.distinct > 1]
        extrinsic = [f for f in factors if f.role == "extrinsic" and f.positive and f.distinct > 1]
        if not by_name and len(extrinsic) != 1:
            raise TableError(
                "no factor of the model counts the workers", hint=f"--along COLUMN, one of {', '.join(numeric)}"
            )
        chosen = by_name[0] if by_name else extrinsic[0]
    if not chosen.positive:
        raise TableError(f"'{chosen.name}' counts no workers: it goes down to {chosen.lower:g}", hint="--along COLUMN")
    return chosen


def named_scale_factor(result: FitResult) -> Factor | None:
    """Return the factor that the field's names call workers, or else nodes; None without one."""
    return result.named.find("workers") or result.named.find("nodes")


def factors_along(result: FitResult, along: Factor) -> Factors:
    """Return the factors by the field's names; the factor of the scale stands for the workers if no other does."""
    factors = result.named
    workers = factors.find("workers")
    if workers is not None and along in (workers, factors.find("nodes")):
        return factors
    return Factors(factors.factors, {**factors.mapping, "workers": along.name})


def columns_of_work(
    factors: Factors, counts: Array, values: Mapping[str, Any], kind: Kind | None
) -> dict[str, npt.NDArray[Any]]:
    """Return the columns of work that a kind of scaling changes with the count, beginning with the given values.

    Strong scaling lets the batch (and the operations) of one worker fall as 1/n. Weak scaling lets the global batch
    grow as n, where no column holds the batch of one worker.

    Parameters
    ----------
    counts : ndarray of shape (rows,)
        Of workers, rising.
    values : mapping of str to value
        The factors at the first count.
    kind : {"weak", "strong", "job"} or None
        None and "job" change nothing.
    """
    shrinking = counts[0] / counts
    if kind == "strong":
        columns = [c for c in (factors.find("batch"), factors.find("work")) if c is not None and c.name in values]
        return {c.name: float(values[c.name]) * shrinking for c in columns}
    whole = factors.find("global_batch")
    if kind == "weak" and factors.find("batch") is None and whole is not None and whole.name in values:
        return {whole.name: float(values[whole.name]) / shrinking}
    return {}


def relative_work(factors: Factors, columns: Mapping[str, Any], counts: Array, kind: Kind | None) -> Array | None:
    """Return one worker's work W(n)/W(n₀), relative to that at the first count.

    W is `samples/workers` for times of whole jobs, then the operations or the samples of one worker's step, see
    `genperf.models.family.share`. Where no column tells, it is constant in weak scaling, and W(n) ~ 1/n in strong.

    Parameters
    ----------
    columns : mapping of str to ndarray of shape (rows,)
    counts : ndarray of shape (rows,)
        Of workers, rising.
    kind : {"weak", "strong", "job"} or None
        Where no column tells the work of one worker; that of a job is shared by the workers whatever the columns say.

    Returns
    -------
    ndarray of shape (rows,) or None
        None where neither a column nor the kind tells.
    """
    if kind == "job":
        return np.asarray(counts[0] / counts)
    worker_share = share(factors, job=True)
    if not worker_share.known:
        return None if kind is None else np.ones(len(counts)) if kind == "weak" else counts[0] / counts
    tree = parse(worker_share.per_worker).node
    nodes = {name: factors.node(name) for name in names_in(tree)}
    if any(node is None for node in nodes.values()):
        return np.asarray(counts[0] / counts)
    value = evaluate(substitute(tree, {k: v for k, v in nodes.items() if v is not None}), columns)
    work = np.broadcast_to(np.asarray(value, float), (len(counts),))
    return np.asarray(work / work[0])


def work_of_throughput(schema: Schema, columns: Mapping[str, Any], counts: Array, kind: Kind | None) -> Array:
    """Return one worker's work W(n)/W(n₀) by the work of a step that was divided by the throughput.

    Parameters
    ----------
    columns : mapping of str to ndarray of shape (rows,)
    counts : ndarray of shape (rows,)
        Of workers, rising.
    kind : {"weak", "strong"} or None
        As the user says.

    Raises
    ------
    GenperfError
        Where the user says another kind than the work.
    """
    text = schema.target.work
    work = evaluated(text, columns, len(counts)) / counts
    work = np.asarray(work / work[0])
    by_work = kind_of_scaling(work, counts)
    if kind is not None and by_work != kind:
        raise GenperfError(
            f"the scaling is said to be {kind}, and with the work '{text}' of a step it is {by_work}",
            hint="leave --scaling out",
        )
    return work


def group_kind(schema: Schema) -> Kind | None:
    """Return the kind of scaling that a group column of a batch tells: a global one is shared by the workers."""
    if column_of("global_batch", schema.group) is not None:
        return "strong"
    return None if column_of("batch", schema.group) is None else "weak"


def kind_of_scaling(work: Array, counts: Array) -> str:
    """Return "weak" where one worker's work stays, "strong" where it falls as 1/n, "mixed" otherwise."""
    if np.allclose(work, 1.0):
        return "weak"
    return "strong" if np.allclose(work * counts, counts[0]) else "mixed"
