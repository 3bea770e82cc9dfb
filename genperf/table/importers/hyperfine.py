"""hyperfine's `--export-json`: one row a run; the values of a parameter scan are factors.

Its members are those of `BenchmarkResult` in hyperfine's sources (1.11 to 1.20): `command`, `times` in seconds,
`exit_codes` (from 1.12), `parameters` as text, and `memory_usage_byte` (from 1.20). What it gives of all runs together
(`mean`, `user`, …) is left aside.
"""

from genperf.errors import Note, TableError
from genperf.table.clean import shortened
from genperf.table.importers.imported import REPEAT, Cell, Imported, Json, read_json, refuse_clashes

COMMAND, TIME, MEMORY = "command", "time_s", "memory_bytes"
SIGNATURE = r'\A\s*\{\s*"results"\s*:\s*\[\s*\{\s*"command"\s*:'


def read(text: str, name: str) -> Imported:
    """Read an export."""
    file = read_json(text, name)
    if not file.has("results"):
        raise TableError("is JSON, but no export of hyperfine", where=name, hint="hyperfine --export-json FILE …")
    table = Imported([], TIME)
    for result in file.member("results").list():
        parameters = result.member("parameters").object() if result.has("parameters") else {}
        scanned = {key: v.text() if isinstance(v.value, str) else repr(v.number()) for key, v in parameters.items()}
        refuse_clashes(scanned, (COMMAND, REPEAT, TIME, MEMORY), result.where)
        table.factors += [name for name in scanned if name not in table.factors]
        command = result.member("command").text()
        for run, (seconds, why) in enumerate(_runs(result)):
            if why:
                table.left_out.append(f"{result.where}, run {run} of '{shortened(command)}': {why}")
            else:
                table.rows.append({COMMAND: command, **scanned, REPEAT: run, **seconds})
    empty = f"holds no run{' that ended well' * bool(table.left_out)}"
    hint = "look at what the command prints: hyperfine --show-output …" if table.left_out else None
    # Where a scan ran several commands at the same parameters, only the command separates these runs.
    commands = {(tuple(map(row.get, table.factors)), row[COMMAND]) for row in table.rows}
    text = "several commands ran at the same parameters: export each to another file, and name it by --from-name"
    if table.factors and len({parameters for parameters, _ in commands}) < len(commands):
        table.notes.append(Note(text, "several_commands"))
    # Without a scan, the commands are what was compared.
    table.factors = table.factors or [COMMAND]
    return table.filled(name, empty, hint)


def _runs(result: Json) -> list[tuple[dict[str, Cell], str]]:
    """Return each run's time, and why it cannot be used, where it cannot."""
    cells: list[dict[str, Cell]] = [{TIME: time.number()} for time in result.member("times").list()]
    for cell, used in zip(cells, _list_of_runs(result, "memory_usage_byte", len(cells)), strict=False):
        cell[MEMORY] = used.number()
    # Up to 1.11 a failure ended the benchmark, and no code was exported.
    codes = [code.value for code in _list_of_runs(result, "exit_codes", len(cells))] or [0] * len(cells)
    whys = ["ended by a signal" if code is None else f"exit code {code}" for code in codes]
    well = [code == 0 and not isinstance(code, bool) for code in codes]
    return [(cell, "" if ended else why) for cell, ended, why in zip(cells, well, whys, strict=True)]


def _list_of_runs(result: Json, key: str, runs: int) -> list[Json]:
    """Return an exported list with one item per run; empty where it is not exported."""
    items = result.member(key).list() if result.has(key) else []
    if result.has(key) and len(items) != runs:
        raise TableError(f"holds {runs} 'times' and {len(items)} '{key}'", where=result.where)
    return items
