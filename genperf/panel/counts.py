"""Columns that count workers or nodes, and other factors of how a run is executed."""

from __future__ import annotations

import re
import shlex
from collections.abc import Mapping, Sequence
from typing import Any

from genperf.errors import TableError
from genperf.table.cells import Cells
from genperf.table.clean import labels
from genperf.vocabulary.names import WAYS, canonical_of, plain_name

#: Factors of how a run is executed; the field's other names are those of the program.
EXTRINSIC = (
    *("workers", "nodes", "devices_per_node", "servers", "partitions", "threads"),
    *(*WAYS, "expert_parallel", "virtual_stages"),
)


def is_size(name: str) -> bool:
    """Tell whether a column is a number of the program, as its batch or its layers: no count that a run is scaled by.

    Examples
    --------
    >>> is_size("batch_size"), is_size("gpus"), is_size("cores")
    (True, False, False)
    """
    canonical = canonical_of(name)
    return canonical is not None and canonical not in EXTRINSIC


def in_the_singular(names: Sequence[str]) -> dict[str, str]:
    """Return the columns of numbers that count workers or nodes by a name in the singular: `gpu`, `node`.

    Parameters
    ----------
    names : sequence of str
        Columns of numbers.
    """
    meant = {n: canonical_of(f"{plain_name(n)}s") for n in names}
    return {n: c for n, c in meant.items() if c in ("workers", "nodes")}


def not_counted(numeric: Sequence[str], texts: Mapping[str, Cells | Sequence[Any]]) -> TableError:
    """Return the error that asks for the column of the workers.

    Parameters
    ----------
    numeric : sequence of str
        Columns of numbers.
    texts : mapping of str to cells
        The others.
    """
    hint = f"name the one that does: --extrinsic {shlex.quote(numeric[0]) if numeric else 'COLUMN'}"
    inside = next((n for n, cells in texts.items() if _counts_devices(cells)), None)
    if inside is not None:
        hint = f"'{inside}' tells counts among words: write them as numbers in a column of their own, such as gpus"
    return TableError(f"no column is known to count the workers ({', '.join(numeric) or 'no numbers'})", hint=hint)


def _counts_devices(cells: Cells | Sequence[Any]) -> bool:
    """Tell whether a column of texts begins each with a count: `8xA100`, `4 x V100`."""
    texts = {*labels(cells).tolist()} - {""}
    return bool(texts) and all(re.match(r"\d+\s?[x×*]\s?[A-Za-z]", text) for text in texts)
