"""Columns that are sizes, that count, number the runs, tell where they were written down, or how they ended."""

import re
import shlex
from collections.abc import Collection, Mapping, Sequence
from typing import Any

import numpy as np
import numpy.typing as npt

from genperf.errors import TableError
from genperf.panel.evidence import alone
from genperf.table.cells import Cells
from genperf.table.clean import labels, mostly_numbers
from genperf.table.roles import says_failed
from genperf.vocabulary import words_of
from genperf.vocabulary.names import WAYS, canonical_of, plain_name

#: Factors of how a run is executed; the field's other names are those of the program.
EXTRINSIC = (
    *("workers", "nodes", "devices_per_node", "servers", "partitions", "threads"),
    *(*WAYS, "expert_parallel", "virtual_stages"),
)


_REPEATS, _PROVENANCE = (frozenset(words_of(f"columns.{kind}")) for kind in ("repeat", "provenance"))
#: A run by its number or letter: `run1`, `trial-2`, `a`.
_NUMBERED = re.compile(r"([a-z]*[ _-]?)(\d+|[a-z])")
#: A part of a job, as Slurm numbers it.
_JOB_STEP = re.compile(r"\d+(_\d+)?\.(batch|extern|\d+)")


def is_size(name: str) -> bool:
    """Tell whether a column is a number of the program, as its batch or its layers: no count that a run is scaled by.

    Examples
    --------
    >>> is_size("batch_size"), is_size("gpus"), is_size("cores")
    (True, False, False)
    """
    canonical = canonical_of(name)
    return canonical is not None and canonical not in EXTRINSIC


def not_counted(numeric: Sequence[str], texts: Mapping[str, Cells | Sequence[Any]]) -> TableError:
    """Return the error that asks for the column of the workers, by the columns of numbers and the others."""
    hint = f"name the one that does: --extrinsic {shlex.quote(numeric[0]) if numeric else 'COLUMN'}"
    inside = next((n for n, cells in texts.items() if _counts_devices(cells)), None)
    if inside is not None:
        hint = f"'{inside}' tells counts among words: write them as numbers in another column, such as gpus"
    return TableError(f"no column is known to count the workers ({', '.join(numeric) or 'no numbers'})", hint=hint)


def _counts_devices(cells: Cells | Sequence[Any]) -> bool:
    """Tell whether a column of texts begins each with a count: `8xA100`, `4 x V100`."""
    texts = {*labels(cells).tolist()} - {""}
    return bool(texts) and all(re.match(r"\d+\s?[x×*]\s?[A-Za-z]", text) for text in texts)


def is_repeat(name: str, cells: Cells | Sequence[Any]) -> bool:
    """Tell whether a column numbers the repeats of a configuration, or the lines of a log, by its name and its cells.

    Examples
    --------
    >>> is_repeat("run", ["run1", "run2"]), is_repeat("run", ["baseline", "tuned"]), is_repeat("epoch", [0, 1, 2])
    (True, False, True)
    """
    return plain_name(name) in _REPEATS and _numbers_runs(cells)


def is_provenance(name: str) -> bool:
    """Tell whether a column says where a run was written down: it may separate series, and is no factor.

    Examples
    --------
    >>> is_provenance("Source"), is_provenance("network")
    (True, False)
    """
    return plain_name(name) in _PROVENANCE


def refuse_job_steps(columns: Mapping[str, Cells | Sequence[Any]]) -> None:
    """Refuse a list of Slurm's that has the steps of jobs beside the jobs: each would count as a run."""
    for name in (n for n in columns if plain_name(n) in ("jobid", "job_id")):
        step = next((text for text in labels(columns[name]) if _JOB_STEP.fullmatch(text)), None)
        if step is not None:
            raise TableError(
                f"column '{name}' holds steps of jobs beside the jobs, such as {step}: each would count as a run",
                hint="sacct -X writes the jobs alone",
            )


def series_columns(
    cells: dict[str, npt.NDArray[np.object_]], texts: Sequence[str], wanted: Collection[str]
) -> dict[str, npt.NDArray[np.object_]]:
    """Return the columns whose combinations are series: without unwanted `texts` of where a run was written down."""
    kept = dict(cells)
    for name in [n for n in texts if is_provenance(n) and n not in wanted]:
        if alone(kept) and len(kept) > 1:
            # Each run is written down in another place: that separates no series.
            del kept[name]
    return kept


def _numbers_runs(cells: Cells | Sequence[Any]) -> bool:
    """Tell whether a column numbers the runs: by numbers or letters, perhaps behind one and the same word."""
    if mostly_numbers(list(cells)):
        return True
    matches = [_NUMBERED.fullmatch(text.lower()) for text in {*labels(cells).tolist()} - {""}]
    return bool(matches) and all(matches) and len({m[1] for m in matches if m is not None}) == 1


_ENDINGS, _FAILED, _SUCCEEDED = (
    frozenset(words_of(f"columns.{kind}")) for kind in ("ending", "ending_failed", "ending_succeeded")
)
_ON, _OFF = (frozenset(words_of(f"cells.{switch}")) for switch in ("on", "off"))


def ending_column(columns: Mapping[str, Cells | Sequence[Any]]) -> dict[str, str]:
    """Return the option of `read_table` that separates failed runs: `status` or `failed`; empty without one.

    Examples
    --------
    >>> ending_column({"status": ["ok", "OOM", "ok"]}), ending_column({"oom": [0, 1, 0]})
    ({'status': 'status'}, {'failed': 'oom=1'})
    >>> ending_column({"success": ["True", "False"]}), ending_column({"status": ["ok", "ok"]})
    ({'failed': 'success=False'}, {})
    """
    for name, cells in columns.items():
        plain = plain_name(name)
        if plain not in _ENDINGS | _FAILED | _SUCCEEDED:
            continue
        values = sorted({*labels(cells).tolist()} - {""})
        for failing, words in ((_FAILED, _ON), (_SUCCEEDED, _OFF)):
            if plain in failing and {v.lower() for v in values} <= _ON | _OFF:
                failed = [v for v in values if v.lower() in words]
                if failed and len(values) > 1:
                    return {"failed": f"{name}={','.join(failed)}"}
        if plain in _ENDINGS | _FAILED and any(map(says_failed, values)):
            return {"status": name}
    return {}
