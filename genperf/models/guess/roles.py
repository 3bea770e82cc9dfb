"""The roles of columns, guessed from their names: which one was measured, which ones count the workers."""

from __future__ import annotations

import shlex
from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

import numpy as np
import numpy.typing as npt

from genperf.errors import TableError
from genperf.formula import quote_name
from genperf.models.guess.counts import EXTRINSIC, in_the_singular, not_counted
from genperf.models.guess.endings import ending_column
from genperf.models.guess.measured import Measured, is_measurement, is_result, measured_column
from genperf.models.guess.runs import is_provenance, is_repeat, refuse_job_steps, series_columns
from genperf.models.guess.settings import (
    SETTINGS,
    is_product,
    is_switch,
    often_empty,
    repeated_kinds,
    same_numbers,
    sparse,
)
from genperf.table import phase_columns
from genperf.table.cells import Cells
from genperf.table.clean import labels, mostly_numbers, numbers
from genperf.table.headers import header_of
from genperf.table.names import canonical_of, column_of, plain_name
from genperf.table.roles import names_of
from genperf.table.transformer_names import WAYS

#: The roles of `read_table` that name columns.
_SINGLE = ("time", "throughput", "quantity", "weight", "repeat")
_SEVERAL = ("intrinsic", "extrinsic", "categorical", "group")
#: The name of the devices that follow from the ways of a layout.
DEVICES = "devices"
#: Switches of a run: names of kinds even where they are written 0 and 1.
_SWITCHES = ("zero", "recomputation", "precision", "offload")


@dataclass(frozen=True)
class GuessSettings:
    """When a column of texts names kinds of runs."""

    #: Different texts per row: a column with more of them numbers or describes the runs. A guess.
    max_levels: float = 0.5


GUESS = GuessSettings()


@dataclass(frozen=True)
class Guess:
    """Roles for the columns of a table."""

    #: For `read_table`: `time`, `throughput`, `quantity`, `unit`, `intrinsic`, `extrinsic`, …; columns with commas.
    roles: dict[str, str]
    #: Field's name → column, for counts whose name is in the singular, such as `gpu`.
    mapping: dict[str, str] = field(default_factory=dict)
    #: The column that counts the workers, or else the nodes.
    counts: str | None = None
    #: Columns in no role.
    left_out: tuple[str, ...] = ()
    #: Columns to derive for `read_table`: the throughput of all workers from that of one, the time of a step from steps
    #: per second.
    derived: dict[str, str] = field(default_factory=dict)

    def at(self, values: Mapping[str, str]) -> dict[str, str]:
        """Return a configuration under the columns' names: `gpu=64` for `num_gpus`, `model=bert` for `Model`."""
        columns = [n for role in _SEVERAL for n in names_of(self.roles.get(role, ""))]
        by_meaning = {key: n for n in reversed(columns) for key in (plain_name(n), canonical_of(n)) if key is not None}
        meant = {n: (plain_name(n), canonical_of(n), canonical_of(f"{n}s")) for n in values}
        columns_of = {n: next((by_meaning[key] for key in meant[n] if key in by_meaning), n) for n in values}
        return {n if n in columns else columns_of[n]: v for n, v in values.items()}

    @property
    def options(self) -> str:
        """The roles as options of a command, quoted for a shell."""
        words = [f"--{role}" for role in self.roles]
        pairs = [
            *zip(words, self.roles.values(), strict=True),
            *(("--let", f"{n}={f}") for n, f in self.derived.items()),
        ]
        pairs += [("--map", f"{name}={column}") for name, column in self.mapping.items()]
        return " ".join(f"{option} {shlex.quote(value)}" for option, value in pairs)

    def __str__(self) -> str:
        counted = self.mapping.get("workers") or self.counts
        meant = "nodes" if counted and canonical_of(counted) == "nodes" else "workers"
        workers = [f"{meant} = {counted}"] if counted else []
        shown = []
        for role in (*_SINGLE[:3], *_SEVERAL, *_SINGLE[3:], "status", "failed"):
            columns = ", ".join(n for n in names_of(self.roles.get(role, "")) if n != counted)
            columns = self.derived.get(columns, columns).replace("`", "")
            unit = self.roles.get("unit", "") if role == "time" else ""
            if columns:
                shown.append(f"{role} = {columns}{f' ({unit})' if unit and columns[-1] not in ')]' else ''}")
        return f"read as: {', '.join([*workers, *shown])}"


def guess_roles(
    columns: Mapping[str, Cells | Sequence[Any]],
    given: Mapping[str, Any] | None = None,
    mapping: Mapping[str, str] | None = None,
    wanted: Collection[str] = (),
) -> Guess:
    """Guess what each column of a table is, from its name and its cells.

    A column with a given role keeps it. Where several columns may be the time, or none, and where no column counts the
    workers, the answer is a question.

    Parameters
    ----------
    given : mapping of str to str, optional
        Roles that the user gave, as `read_table` takes them.
    mapping : mapping of str to str, optional
        Field's name → column, as the user mapped it.
    wanted : collection of str
        Columns that a question names: they are factors, also where others tell them.

    Raises
    ------
    TableError
        With the option that answers the question.

    Examples
    --------
    >>> guess = guess_roles({"num_gpus": [1, 2, 4], "images_per_s": [410.2, 792.5, 1530.0], "note": ["a", "b", "c"]})
    >>> print(guess)
    read as: workers = num_gpus, throughput = images_per_s
    >>> guess.left_out
    ('note',)
    >>> guess_roles({"gpus": [1, 2], "step_s": [1, 2], "total_ms": [3, 4]})
    Traceback (most recent call last):
    ...
    genperf.errors.TableError: two columns may be the measured time: step_s, total_ms
      try: name the one that was measured: --time step_s
    """
    if len(columns) > SETTINGS.max_columns:
        raise TableError(
            f"the roles of at most {SETTINGS.max_columns:,} columns are guessed, and there are {len(columns):,}",
            hint="genperf fit with the roles by name: --time COL --extrinsic COL; or a table with fewer columns",
        )
    refuse_job_steps(columns)
    known = (*_SINGLE, *_SEVERAL, "unit")
    roles = {role: text for role in known if (value := (given or {}).get(role)) and (text := _listed(value))}
    mapped = dict(mapping or {})
    taken = {name for role in (*_SINGLE, *_SEVERAL) for name in names_of(roles.get(role, ""))}
    if "quantity" in roles:
        taken.add(roles["quantity"].partition(":")[0])
    free = [name for name in columns if name not in taken]
    measured = Measured({}, "")
    if not {"time", "throughput", "quantity"} & set(roles):
        measured = measured_column(free, mapped.get("workers") or column_of("workers", columns))
        roles.update(measured.roles)
    elif "time" in roles and "unit" not in roles and (unit := header_of(roles["time"]).unit) not in ("", "s"):
        roles["unit"] = unit
    taken |= {measured.column, *(roles[role].partition(":")[0] for role in _SINGLE if role in roles)}
    phases = set(phase_columns(free).values())
    left = [n for n in free if n not in taken and n not in phases and not is_result(n) and not is_measurement(n)]
    if not any((given or {}).get(option) for option in ("status", "failed")):
        roles.update(ending_column({n: columns[n] for n in left}))
    ending = {roles.get("status", ""), roles.get("failed", "").partition("=")[0]} - {""}
    left = [n for n in left if n not in ending and (n in wanted or not often_empty(columns[n]))]
    repeats = [n for n in left if is_repeat(n, columns[n])]
    if "repeat" not in roles and repeats:
        roles["repeat"] = repeats[0]
        left.remove(repeats[0])
    numeric = [n for n in left if _is_number(n, columns[n])]
    named = {n: c for n in [*names_of(roles.get("extrinsic", "")), *numeric] if (c := canonical_of(n)) in EXTRINSIC}
    if not {"workers", "nodes"} & {*named.values(), *mapped} and (single := in_the_singular(numeric)):
        named |= single
    mapped.update({c: n for n, c in named.items() if c not in mapped and canonical_of(n) is None})
    derived = dict(measured.derived)
    ways = [n for n in named if named[n] in WAYS]
    if len(ways) > 1 and not {"workers", "nodes"} & {*named.values(), *mapped} and DEVICES not in columns:
        # The ways of a layout multiply to its devices.
        columns = {**columns, DEVICES: np.prod([numbers(columns[n])[0] for n in ways], axis=0).tolist()}
        derived[DEVICES] = "*".join(map(quote_name, ways))
        named[DEVICES] = "workers"
        numeric = [DEVICES, *numeric]
    counted = mapped.get("workers") or next((n for c in ("workers", "nodes") for n in named if named[n] == c), None)
    if counted is None and not roles.get("extrinsic"):
        raise not_counted(numeric, {n: columns[n] for n in left if n not in numeric})
    _add(roles, "extrinsic", [n for n in numeric if n in named or n in mapped.values()])
    rest = [n for n in numeric if n not in names_of(roles["extrinsic"])]
    texts = [n for n in left if n not in numeric and n != roles.get("repeat") and _names_kinds(columns[n])]
    kinds = {n: labels(columns[n]) for n in texts if not is_provenance(n)}
    implied = repeated_kinds(kinds, wanted)
    texts = [n for n in texts if n not in implied]
    rest = [n for n in rest if n in wanted or not _whole_batch(n, rest, counted, columns)]
    # A number that is the count of workers in every row is that count by another name.
    rest = [n for n in rest if n in wanted or counted is None or not same_numbers(columns[n], columns[counted])]
    of_a_worker = column_of("batch", columns)
    batches = [n for n in rest if n == of_a_worker or canonical_of(n) in ("batch", "global_batch")]
    others = [n for n in rest if n not in batches and _varies(columns[n])]
    series: dict[str, npt.NDArray[np.object_]] = {}
    if texts and not others and "categorical" not in roles and "group" not in roles:
        # Nothing but the scale varies within these names: each combination is a series.
        per_worker = [n for n in batches if canonical_of(n) != "global_batch" and _varies(columns[n])]
        series = series_columns({n: labels(columns[n]) for n in [*texts, *per_worker]}, texts, wanted)
        if counted is not None and sparse(series, columns[counted]):
            series = {}
    if series:
        roles["group"] = ",".join(series)
        rest = [n for n in rest if n not in series and (n in batches or _varies(columns[n]))]
        rest = [n for n in rest if not (set(series) & set(batches) and canonical_of(n) == "global_batch")]
    elif texts:
        grouped = names_of(roles.get("group", ""))
        _add(roles, "categorical", [n for n in texts if n not in grouped and not is_provenance(n)])
    _add(roles, "intrinsic", rest)
    used = {n.partition(":")[0] for role in (*_SINGLE, *_SEVERAL) for n in names_of(roles.get(role, ""))}
    kept = {role: text for role, text in roles.items() if text}
    used |= {measured.column, *ending}
    return Guess(kept, mapped, counted, tuple(n for n in columns if n not in used), derived)


def _is_number(name: str, cells: Cells | Sequence[Any]) -> bool:
    """Tell whether a column is a number of a run, and no name and no switch."""
    return mostly_numbers(list(cells)) and canonical_of(name) not in _SWITCHES and not is_switch(cells)


def _whole_batch(
    name: str, names: Sequence[str], counted: str | None, columns: Mapping[str, Cells | Sequence[Any]]
) -> bool:
    """Tell whether a column is the batch of all workers, where another holds that of one and nothing else is in it."""
    if counted is None or canonical_of(name) != "global_batch":
        return False
    batches = [n for n in names if canonical_of(n) == "batch"]
    return any(is_product(columns[name], columns[n], columns[counted]) for n in batches)


def _listed(value: Any) -> str:
    return value if isinstance(value, str) else ",".join(value)


def _add(roles: dict[str, str], role: str, names: Collection[str]) -> None:
    """Add columns to a role that holds several."""
    roles[role] = ",".join(dict.fromkeys([*names_of(roles.get(role, "")), *names]))


def _varies(cells: Cells | Sequence[Any]) -> bool:
    return len({*labels(cells).tolist()} - {""}) > 1


def _names_kinds(cells: Cells | Sequence[Any]) -> bool:
    """Tell whether a column of texts names kinds of runs: several, and not almost one for each row."""
    levels = {*labels(cells).tolist()} - {""}
    return 1 < len(levels) <= max(2.0, GUESS.max_levels * len(cells))
