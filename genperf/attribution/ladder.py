"""More and more workers, all else as it was: where efficiency, knee and crossovers are read."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, Literal

import numpy as np
import numpy.typing as npt
import pandas as pd

from genperf.attribution.following import following
from genperf.errors import GenperfError, TableError, suggest
from genperf.formula import evaluate as value_of
from genperf.formula import names_in, parse, substitute
from genperf.models import Factors
from genperf.models.family import share
from genperf.prediction import read_query
from genperf.result import FitResult
from genperf.table import Factor

Array = npt.NDArray[np.float64]
Kind = Literal["weak", "strong"]

#: Steps to the octave, and how many octaves beyond the largest measured count are looked at.
STEPS, OCTAVES = 16, 4
#: The most counts that are looked at.
MOST = 2000


@dataclass(frozen=True, eq=False)
class Ladder:
    """Configurations that differ in the count of workers.

    Attributes
    ----------
    along : Factor
    counts : ndarray of shape (steps,)
        Rising; whole numbers where only whole numbers were measured.
    columns : dict of str to ndarray of shape (steps,)
        Every factor there.
    work : ndarray of shape (steps,)
        One worker's work, relative to that at the first count.
    kind : {"weak", "strong", "mixed"}
    at : dict
        The other factors, where they stay as they are.
    """

    along: Factor
    counts: Array
    columns: dict[str, npt.NDArray[Any]]
    work: Array
    kind: str
    at: dict[str, Any]


def counted(result: FitResult, along: str | None) -> Factor:
    """Return the factor that counts the workers: the one named, or `workers` and `nodes` by the field's names.

    Raises
    ------
    TableError
        Where there is none.
    """
    factors = result.schema.factors
    numeric = [f.name for f in factors if f.numeric]
    if along is not None:
        named = [f for f in factors if f.name == result.schema.column(along) and f.numeric]
        if not named:
            hint = suggest(along, numeric) or f"one of {', '.join(numeric) or 'none'}"
            raise TableError(f"the model has no numeric factor '{along}'", hint=hint)
        found = named[0]
    else:
        known = result.named
        by_name = [f for f in (known.find(name) for name in ("workers", "nodes")) if f is not None and f.distinct > 1]
        extrinsic = [f for f in factors if f.role == "extrinsic" and f.positive and f.distinct > 1]
        if not by_name and len(extrinsic) != 1:
            raise TableError(
                "no factor of the model counts the workers", hint=f"--along COLUMN, one of {', '.join(numeric)}"
            )
        found = by_name[0] if by_name else extrinsic[0]
    if not found.positive:
        raise TableError(f"'{found.name}' counts no workers: it goes down to {found.lower:g}", hint="--along COLUMN")
    return found


def ladder(
    result: FitResult,
    at: Mapping[str, Any],
    along: str | None = None,
    upto: float | None = None,
    kind: Kind | None = None,
    given: frozenset[str] = frozenset(),
) -> Ladder:
    """Write the configurations down.

    Parameters
    ----------
    result : FitResult
    at : mapping
        A value for every factor but the one along which it goes.
    along : str, optional
        The factor that counts the workers.
    upto : float, optional
        The largest count; 16 times the largest measured where omitted.
    kind : {"weak", "strong"}, optional
        Whether the work of one worker, or that of all together, stays as it is. By default the columns decide: a
        batch (or work) per worker stays as it is, which is weak scaling; a global batch, samples of a whole job, or
        nothing at all is shared by the workers, which is strong scaling.
    given : frozenset of str
        The factors that the user gave: those that would follow from the count of workers (nodes; the batch that
        belongs to a global one) then stay.

    Raises
    ------
    TableError
        For a factor that is not there, or a range that is none.
    """
    factor = counted(result, along)
    if kind not in (None, "weak", "strong"):
        raise GenperfError(f"unknown kind of scaling '{kind}'", hint="weak or strong")
    counts = _counts(factor, upto)
    values = {name: value for name, value in at.items() if name != factor.name}
    frame = pd.DataFrame({factor.name: counts, **{k: [v] * len(counts) for k, v in values.items()}})
    found = _by_name(result, factor)
    frame = frame.assign(**_scaled(found, counts, values, kind))
    frame = frame.assign(**following(found, factor, {str(name): frame[name].to_numpy() for name in frame}, given))
    derived = [
        name
        for name, text in result.schema.derived.items()
        if name in frame and name not in given and set(parse(text).names) <= set(frame.columns)
    ]
    query = read_query(frame.drop(columns=derived), result.schema)
    work = _work(found, query.columns, counts, kind)
    held = {k: v for k, v in values.items() if len(set(query.columns.get(k, [v]))) == 1}
    return Ladder(factor, counts, query.columns, work, _kind(work, counts), held)


def _by_name(result: FitResult, factor: Factor) -> Factors:
    """Find the factors by the field's names, the one along which it goes standing for the workers if none does."""
    found = result.named
    workers = found.find("workers")
    if workers is not None and factor in (workers, found.find("nodes")):
        return found
    return Factors(found.factors, {**found.mapping, "workers": factor.name})


def _counts(factor: Factor, upto: float | None) -> Array:
    last = factor.upper * 2.0**OCTAVES if upto is None else float(upto)
    if not np.isfinite(last) or last <= factor.lower:
        raise GenperfError(
            f"there is nothing to look at from {factor.lower:g} up to {last:g} {factor.name}",
            hint="a larger count",
        )
    octaves = np.log2(last / factor.lower)
    steps = min(MOST, max(2, int(np.ceil(octaves * STEPS)) + 1))
    counts = np.append(factor.lower * 2.0 ** np.linspace(0.0, octaves, steps)[:-1], last)
    doublings = factor.lower * 2.0 ** np.arange(int(octaves + 1e-9) + 1)
    counts = np.concatenate([counts, doublings, [c for c in (factor.upper,) if c <= last]])
    counts = np.round(counts) if factor.integer else np.round(counts, 12)
    return np.unique(np.minimum(counts, np.floor(last) if factor.integer else last))


def _scaled(found: Factors, counts: Array, values: Mapping[str, Any], kind: Kind | None) -> dict[str, npt.NDArray[Any]]:
    """Return the columns of work that a kind of scaling asks for, beginning with the given values."""
    shrinking = counts[0] / counts
    if kind == "strong":
        columns = [c for c in (found.find("batch"), found.find("work")) if c is not None and c.name in values]
        return {c.name: float(values[c.name]) * shrinking for c in columns}
    whole = found.find("global_batch")
    if kind == "weak" and found.find("batch") is None and whole is not None and whole.name in values:
        return {whole.name: float(values[whole.name]) / shrinking}
    return {}


def _work(found: Factors, columns: Mapping[str, Any], counts: Array, kind: Kind | None) -> Array:
    """Return one worker's work relative to the first count's."""
    each = share(found, job=True)
    if not each.known and kind == "weak":
        return np.ones(len(counts))
    tree = parse(each.per_worker).node
    nodes = {name: found.node(name) for name in names_in(tree)}
    if any(node is None for node in nodes.values()):
        return np.asarray(counts[0] / counts)
    value = value_of(substitute(tree, {k: v for k, v in nodes.items() if v is not None}), columns)
    work = np.broadcast_to(np.asarray(value, float), (len(counts),))
    return np.asarray(work / work[0])


def _kind(work: Array, counts: Array) -> str:
    if np.allclose(work, 1.0):
        return "weak"
    return "strong" if np.allclose(work * counts, counts[0]) else "mixed"
