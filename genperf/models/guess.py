"""The roles of columns, guessed from their names: which one was measured, which ones count the workers."""

from __future__ import annotations

import re
from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

from genperf.errors import TableError
from genperf.models.guess_settings import SETTINGS, alone, is_product, is_switch, mostly_empty, repeated_kinds
from genperf.table import phase_columns
from genperf.table.cells import Cells
from genperf.table.clean import labels, mostly_numbers
from genperf.table.names import ALIASES, canonical_of
from genperf.table.roles import names_of
from genperf.table.transformer_names import WAYS

#: The roles of `read_table` that name columns.
_SINGLE = ("time", "throughput", "quantity", "weight", "repeat")
_SEVERAL = ("intrinsic", "extrinsic", "categorical", "group")
#: Factors of how a run is executed; the field's other names are those of the program.
_EXTRINSIC = (
    *("workers", "nodes", "devices_per_node", "servers", "partitions", "threads"),
    *(*WAYS, "expert_parallel", "virtual_stages"),
)
#: Switches of a run: names of kinds even where they are written 0 and 1.
_SWITCHES = ("zero", "recomputation", "precision", "offload")
#: The end of a column of times → its unit.
_ENDS = {
    **dict.fromkeys(("s", "sec", "secs", "seconds", "time"), "s"),
    **dict.fromkeys(("ms", "msec", "milliseconds"), "ms"),
    **dict.fromkeys(("us", "usec", "microseconds"), "us"),
    "ns": "ns",
    **dict.fromkeys(("min", "minutes"), "min"),
    **dict.fromkeys(("h", "hours"), "h"),
}
_TIMES = frozenset({"time", "seconds", "secs", "duration", "elapsed", "runtime", "latency"})
_RATES = re.compile(r"throughput|tps|fps|(^|.*_)(per_s|per_sec|per_second)(_.*)?|.*/s(ec|econd)?|.*speed")
_REPEATS = frozenset({"repeat", "repetition", "rep", "run", "trial", "seed", "replicate"})
#: Ends of columns of other quantities, with their unit.
_QUANTITY_ENDS = {"gb": "GB", "gib": "GiB", "mb": "MB", "mib": "MiB", "j": "J", "joules": "J", "w": "W", "watts": "W"}
_QUANTITIES = frozenset({"memory", "mem", "peak", "energy", "power"})
#: What is computed from measurements, or describes their spread: never a factor.
_RESULTS = re.compile(
    r"(^|.*_)(mfu|hfu|tflops|gflops|loss|accuracy|speedup|efficiency|std|stdev|var|mean|median|utilization|startup)(_.*)?"
)
#: Columns that tell where a run was written down: they may tell series apart, and are no factor.
_PROVENANCE = frozenset(
    {
        *("source", "file", "filename", "path", "url", "link", "reference", "note", "notes", "comment", "document"),
        *(
            "run_set",
            "session",
            "campaign",
            "experiment",
            "date",
            "timestamp",
            "commit",
            "user",
            "job",
            "job_id",
            "run_id",
        ),
    }
)
#: A column of times with one of these words is that of a whole step or run; another one may be a part of it.
_WHOLE = re.compile(
    r"(^|[_ ])(step|iter|iteration|epoch|time|total|duration|elapsed|runtime|latency|seconds|batch)(?![a-z])"
)


@dataclass(frozen=True)
class GuessSettings:
    """When a column of texts names kinds of runs.

    Attributes
    ----------
    max_levels : float
        Different texts per row: a column with more of them numbers or describes the runs. A guess.
    """

    max_levels: float = 0.5


GUESS = GuessSettings()


@dataclass(frozen=True)
class Guess:
    """Roles for the columns of a table.

    Attributes
    ----------
    roles : dict of str to str
        For `read_table`: `time`, `throughput`, `quantity`, `unit`, `intrinsic`, `extrinsic`, …; columns with commas.
    mapping : dict of str to str
        Field's name → column, for counts with a name such as `num_gpus`.
    counts : str or None
        The column that counts the workers, or else the nodes.
    left_out : tuple of str
        Columns in no role.
    """

    roles: dict[str, str]
    mapping: dict[str, str] = field(default_factory=dict)
    counts: str | None = None
    left_out: tuple[str, ...] = ()

    def at(self, values: Mapping[str, str]) -> dict[str, str]:
        """Return a configuration under the columns' names: `gpus=64` also where the column is `num_gpus`."""
        columns = [n for role in _SEVERAL for n in names_of(self.roles.get(role, ""))]
        by_meaning = {canonical_of(n): n for n in reversed(columns)}
        return {n if n in columns else by_meaning.get(canonical_of(n) or n, n): v for n, v in values.items()}

    def __str__(self) -> str:
        counted = self.mapping.get("workers") or self.counts
        workers = [f"workers = {counted}"] if counted else []
        units = f" ({self.roles['unit']})" if self.roles.get("unit") else ""
        shown = [
            f"{role} = {columns}{units if role == 'time' else ''}"
            for role in (*_SINGLE[:3], *_SEVERAL, *_SINGLE[3:])
            if (columns := ", ".join(n for n in self.roles.get(role, "").split(",") if n != counted))
        ]
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
    columns : mapping of str to cells
    given : mapping of str to str, optional
        Roles that the user gave, as `read_table` takes them.
    mapping : mapping of str to str, optional
        Field's name → column, as the user mapped it.
    wanted : collection of str
        Columns that a question names: they are factors, also where others tell them.

    Returns
    -------
    Guess

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
    known = (*_SINGLE, *_SEVERAL, "unit")
    roles = {role: text for role in known if (value := (given or {}).get(role)) and (text := _listed(value))}
    mapped = dict(mapping or {})
    taken = {name for role in (*_SINGLE, *_SEVERAL) for name in names_of(roles.get(role, ""))}
    if "quantity" in roles:
        taken.add(roles["quantity"].partition(":")[0])
    free = [name for name in columns if name not in taken]
    if not {"time", "throughput", "quantity"} & set(roles):
        roles.update(_measured(free))
    elif "time" in roles and "unit" not in roles and (unit := _unit_of(roles["time"])) not in (None, "s"):
        roles["unit"] = str(unit)
    taken |= {roles[role].partition(":")[0] for role in _SINGLE if role in roles}
    phases = set(phase_columns(free).values())
    left = [n for n in free if n not in taken and n not in phases and not _is_result(n) and not _is_measured(n)]
    left = [n for n in left if n in wanted or not mostly_empty(columns[n])]
    repeats = [n for n in left if n.lower() in _REPEATS and mostly_numbers(list(columns[n]))]
    if "repeat" not in roles and repeats:
        roles["repeat"] = repeats[0]
        left.remove(repeats[0])
    numeric = [n for n in left if _is_number(n, columns[n])]
    named = {n: c for n in [*names_of(roles.get("extrinsic", "")), *numeric] if (c := canonical_of(n)) in _EXTRINSIC}
    mapped.update({c: n for n, c in named.items() if c not in mapped and n.lower() not in ALIASES[c]})
    counted = mapped.get("workers") or next((n for c in ("workers", "nodes") for n in named if named[n] == c), None)
    if counted is None and not roles.get("extrinsic"):
        listed = ", ".join(numeric) or "no numbers"
        example = numeric[0] if numeric else "COLUMN"
        raise TableError(
            f"no column is known to count the workers ({listed})", hint=f"name the one that does: --extrinsic {example}"
        )
    _add(roles, "extrinsic", [n for n in numeric if n in named or n in mapped.values()])
    rest = [n for n in numeric if n not in names_of(roles["extrinsic"])]
    texts = [n for n in left if n not in numeric and n != roles.get("repeat") and _names_kinds(columns[n])]
    kinds = {n: labels(columns[n]) for n in texts if n.lower() not in _PROVENANCE}
    implied = repeated_kinds(kinds, wanted)
    texts = [n for n in texts if n not in implied]
    rest = [n for n in rest if n in wanted or not _whole_batch(n, rest, counted, columns)]
    batches = [n for n in rest if canonical_of(n) in ("batch", "global_batch")]
    others = [n for n in rest if n not in batches and _varies(columns[n])]
    if texts and not others and "categorical" not in roles and "group" not in roles:
        # Nothing but the scale varies within these names: each combination is a series.
        per_worker = [n for n in batches if canonical_of(n) == "batch" and _varies(columns[n])]
        cells = {n: labels(columns[n]) for n in [*texts, *per_worker]}
        for name in [n for n in texts if n.lower() in _PROVENANCE and n not in wanted]:
            if alone(cells) and len(cells) > 1:
                # Each run is written down in a place of its own: that tells no series apart.
                del cells[name]
        texts = [n for n in texts if n in cells]
        roles["group"] = ",".join(cells)
        rest = [n for n in rest if n not in per_worker and _varies(columns[n])]
        rest = [n for n in rest if not (per_worker and canonical_of(n) == "global_batch")]
    elif texts:
        grouped = names_of(roles.get("group", ""))
        _add(roles, "categorical", [n for n in texts if n not in grouped and n.lower() not in _PROVENANCE])
    _add(roles, "intrinsic", rest)
    used = {n.partition(":")[0] for role in (*_SINGLE, *_SEVERAL) for n in names_of(roles.get(role, ""))}
    kept = {role: text for role, text in roles.items() if text}
    return Guess(kept, mapped, counted, tuple(n for n in columns if n not in used))


def _is_number(name: str, cells: Cells | Sequence[Any]) -> bool:
    """Tell whether a column is a number of a run, and no name and no switch."""
    return mostly_numbers(list(cells)) and canonical_of(name) not in _SWITCHES and not is_switch(cells)


def _whole_batch(
    name: str, names: Sequence[str], counted: str | None, columns: Mapping[str, Cells | Sequence[Any]]
) -> bool:
    """Tell whether a column is the batch of all workers, where another holds that of one and nothing else is in it.

    Parameters
    ----------
    name : str
    names : sequence of str
        The numeric columns.
    counted : str or None
        The one that counts the workers.
    columns : mapping of str to cells
    """
    if counted is None or canonical_of(name) != "global_batch":
        return False
    batches = [n for n in names if canonical_of(n) == "batch"]
    return any(is_product(columns[name], columns[n], columns[counted]) for n in batches)


def _listed(value: Any) -> str:
    return value if isinstance(value, str) else ",".join(value)


def _add(roles: dict[str, str], role: str, names: Collection[str]) -> None:
    """Add columns to a role that holds several.

    Parameters
    ----------
    roles : dict of str to str
        Is changed.
    role : str
    names : collection of str
    """
    roles[role] = ",".join(dict.fromkeys([*names_of(roles.get(role, "")), *names]))


def _measured(names: Sequence[str]) -> dict[str, str]:
    """Return the measured column with its unit: the only time, else the only throughput, else the only quantity."""
    phases = set(phase_columns(names).values())
    times = [n for n in names if _unit_of(n) and n not in phases and not _is_result(n)]
    whole = [n for n in times if _WHOLE.search(n.lower())]
    times = whole if len(whole) == 1 else times
    rates = [n for n in names if _RATES.fullmatch(n.lower()) and not _is_result(n)]
    quantities = {n: unit for n in names if (unit := _quantity_unit(n)) is not None}
    for kind, candidates in (("time", times), ("throughput", rates), ("quantity", list(quantities))):
        if len(candidates) > 1:
            count = {2: "two", 3: "three"}.get(len(candidates), str(len(candidates)))
            likely = next((n for n in candidates if re.search("step|iter|epoch|time", n.lower())), candidates[0])
            raise TableError(
                f"{count} columns may be the measured {kind}: {', '.join(candidates)}",
                hint=f"name the one that was measured: --{kind} {likely}",
            )
        if candidates and kind == "time":
            unit = str(_unit_of(times[0]))
            return {"time": times[0], **({} if unit == "s" else {"unit": unit})}
        if candidates:
            unit = quantities.get(candidates[0], "")
            return {kind: candidates[0] + (f":{unit}" if kind == "quantity" and unit else "")}
    listed = ", ".join(names)
    raise TableError(
        f"no column is known to be a time or a throughput ({listed})",
        hint="name the measured one: --time COLUMN, --throughput COLUMN or --quantity COLUMN:UNIT",
    )


def _unit_of(name: str) -> str | None:
    """Return the unit of a column that by its name holds times; None for another column.

    Examples
    --------
    >>> _unit_of("step_ms"), _unit_of("step_time_s"), _unit_of("Time"), _unit_of("images_per_s"), _unit_of("gpus")
    ('ms', 's', 's', None, None)
    """
    plain = name.strip().lower().replace(" ", "_")
    if _RATES.fullmatch(plain) or "_per_" in plain or "/" in plain:
        return None
    if plain in _TIMES:
        return "s"
    words = [w for w in re.split(r"[_()\[\]]+", plain) if w]
    return _ENDS.get(words[-1]) if len(words) > 1 or plain in ("ms", "us", "ns") else None


def _quantity_unit(name: str) -> str | None:
    words = name.lower().split("_")
    if words[-1] in _QUANTITY_ENDS and len(words) > 1:
        return _QUANTITY_ENDS[words[-1]]
    return "" if words[0] in _QUANTITIES else None


def _is_result(name: str) -> bool:
    return bool(_RESULTS.fullmatch(name.lower()))


def _is_measured(name: str) -> bool:
    """Tell whether a column is a further measurement by its name: a time, a throughput, a memory."""
    return bool(_unit_of(name) or _RATES.fullmatch(name.lower()) or _quantity_unit(name) is not None)


def _varies(cells: Cells | Sequence[Any]) -> bool:
    return len({*labels(cells).tolist()} - {""}) > 1


def _names_kinds(cells: Cells | Sequence[Any]) -> bool:
    """Tell whether a column of texts names kinds of runs: several, and not almost one for each row."""
    levels = {*labels(cells).tolist()} - {""}
    return 1 < len(levels) <= max(2.0, GUESS.max_levels * len(cells))
