"""The splits of a transformer over a number of devices: a grid and the conditions that a layout must keep."""

from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np
from msgspec import Struct

from genperf.errors import GenperfError, Note
from genperf.formula import Name, parse, quote_name, render, substitute, values_of
from genperf.result import FitResult
from genperf.table import Factor
from genperf.vocabulary.names import WAYS

#: Conditions over canonical names; one is left out where the model lacks a name.
CONDITIONS: tuple[str, ...] = (
    "heads % tensor_parallel == 0",
    "hidden % tensor_parallel == 0",
    "layers % pipeline_parallel == 0",
    "global_batch % (data_parallel*micro_batch) == 0",
    "micro_batches == global_batch/(data_parallel*micro_batch)",
)


class Layouts(Struct, frozen=True):
    """A grid of layouts."""

    #: For `optimize`.
    over: dict[str, Any]
    #: Conditions over its names.
    where: list[str]
    #: What was supposed.
    notes: tuple[Note, ...]


class LayoutColumns(Struct, frozen=True):
    """The columns of a model that tell how a transformer is split."""

    #: By canonical name.
    ways: dict[str, Factor]
    #: `workers`, `nodes`: what counts the devices and the nodes.
    workers: Factor | None
    nodes: Factor | None
    #: The most devices that a node had in a measured run; None where no column tells it.
    inside: int | None
    #: What a layout must keep beside its devices, over the columns.
    conditions: list[str]

    @property
    def varied(self) -> list[Factor]:
        """The ways of which some run had more than one."""
        return [way for way in self.ways.values() if way.distinct > 1 or way.upper > 1.0]


def split_columns(result: FitResult) -> LayoutColumns | None:
    """Return the columns that tell how a transformer is split; None where the model has too few of them."""
    factors = result.panel
    ways = {way: column for way in WAYS if (column := factors.find(way)) is not None}
    if "data_parallel" not in ways and len(ways) < 2:
        return None
    inside, node = factors.find("devices_per_node"), factors.node("devices_per_node")
    most = None if inside is None else int(inside.upper)
    if inside is None and node is not None and result.schema.medians:
        most = max(1, int(np.max(values_of(node, factors.measured))))
    named = {name: Name(column.name) for name, column in factors.columns.items()}
    conditions_read = [parse(text) for text in CONDITIONS]
    conditions = [render(substitute(test.node, named)) for test in conditions_read if test.names <= {*named}]
    return LayoutColumns(ways, factors.workers, factors.nodes, most, conditions)


def layouts(
    result: FitResult, devices: int, over: Mapping[str, Any] | None = None, where: Sequence[str] = ()
) -> Layouts:
    """Propose every split of a transformer over some devices, beside what the user fixes or varies.

    The ways run over the divisors of the devices and multiply to them; heads divide by the tensor ways, layers by the
    pipeline's stages, the global batch by a pass of all ways. Tensor ways stay inside a node unless the user varies
    them or a condition names them. The micro-batch runs over the powers of two between those that were measured. Other
    factors are the user's.

    Parameters
    ----------
    over : mapping of str to values, optional
        What the user varies or fixes, as `optimize` takes it: stays as it is.
    where : sequence of str
        The user's conditions, which are kept.

    Raises
    ------
    GenperfError
        Where the model has no column of a way, or the devices are not a whole number.

    Examples
    --------
    >>> import genperf as gp
    >>> import pandas as pd
    >>> runs = pd.DataFrame({"dp": [1, 2, 4, 1, 2], "tp": [1, 1, 1, 2, 4], "s": [8, 4.2, 2.2, 4.5, 1.3]})
    >>> result = gp.fit(gp.read_table(runs, time="s", extrinsic="dp,tp"), "generic", structure="separable", draws=5)
    >>> proposed = layouts(result, 6)
    >>> proposed.over, proposed.where
    ({'dp': [1.0, 2.0, 3.0, 6.0], 'tp': [1.0, 2.0, 3.0, 6.0]}, ['dp*tp == 6'])
    """
    if devices < 1:
        raise GenperfError(f"{devices} devices cannot be split", hint="--devices 64")
    requested = {result.schema.panel.column(name): values for name, values in (over or {}).items()}
    factors, notes, columns = result.panel, [], split_columns(result)
    if columns is None:
        raise GenperfError(
            "the model has no columns of the ways to split a transformer",
            hint="fit with columns such as data_parallel and tensor_parallel, or --map tensor_parallel=COLUMN",
        )
    out: dict[str, Any] = dict(requested)
    divisors = [float(k) for k in range(1, devices + 1) if devices % k == 0]
    for way in columns.varied:
        out.setdefault(way.name, divisors)
    conditions = [*where, f"{'*'.join(quote_name(c.name) for c in columns.ways.values())} == {devices}"]
    if columns.workers is not None:
        out.setdefault(columns.workers.name, [float(devices)])
    inside = columns.inside
    if columns.nodes is not None and inside is not None:
        out.setdefault(columns.nodes.name, [float(-(-devices // inside))])
    tensor = columns.ways.get("tensor_parallel")
    if tensor is not None and tensor.name not in requested and not any(tensor.name in text for text in where):
        if inside is None:
            notes.append(Note("the devices of a node are not known: tensor ways may span nodes", "placement"))
        else:
            conditions.append(f"{quote_name(tensor.name)} <= {inside}")
            notes.append(Note(f"tensor ways stay inside a node of {inside} devices", "placement"))
    passes = "micro_batches" if factors.find("global_batch") is not None else "micro_batch"
    for batch in filter(None, map(factors.find, dict.fromkeys(("micro_batch", passes)))):
        if batch.distinct > 1:
            # The powers of two between those that were measured.
            doublings = int(np.log2(batch.upper / batch.lower) + 1e-9)
            out.setdefault(batch.name, [batch.lower * 2.0**k for k in range(doublings + 1)])
    return Layouts(out, conditions + columns.conditions, tuple(notes))
