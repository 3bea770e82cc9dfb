"""Nsight Systems' SQLite exports: one row a step, with the phases that its ranges and kernels show.

A step is an NVTX range with the name of a step ("step 12", "iteration_12"). Ranges, launches and kernels become the
events of a trace, and are read as those of torch.profiler are. Times are nanoseconds in the export, whose schema is
https://docs.nvidia.com/nsight-systems/UserGuide/ (SQLite schema reference).
"""

import re
import sqlite3
from collections import Counter
from collections.abc import Iterator, Mapping
from contextlib import closing
from pathlib import Path
from typing import Any

from genperf.errors import TableError
from genperf.table.importers.imported import Cell, Imported, joined
from genperf.table.importers.pytorch_profiler import table_of

SIGNATURE = r"\ASQLite format 3\0"
_STEP = re.compile(r"(?i)(?:train(?:ing)?)?[\s_-]*(?:step|iteration|iter|batch)[\s_#:-]*(\d{0,18})")
_EXPORT = "nsys profile --trace=cuda,nvtx …, then nsys export --type sqlite"
#: `eventType` of ranges that were pushed and popped, and of those that were started and ended.
_RANGES = (59, 60)
#: A process of a thread: `globalTid` without its last 24 bits is `globalPid`.
_PROCESS = "/ 0x1000000 * 0x1000000"
#: Category of events → table, and (process, name, start, end, correlation) of a row. `copyKind` 1: host to device.
_QUERIES = {
    "user_annotation": (
        "NVTX_EVENTS",
        f"SELECT e.globalTid {_PROCESS}, coalesce(e.text, s.value), e.start, e.end, NULL FROM NVTX_EVENTS e "
        f"LEFT JOIN StringIds s ON s.id = e.textId WHERE e.end IS NOT NULL AND e.eventType IN {_RANGES}",
    ),
    "cuda_runtime": (
        "CUPTI_ACTIVITY_KIND_RUNTIME",
        f"SELECT globalTid {_PROCESS}, '', start, end, correlationId FROM CUPTI_ACTIVITY_KIND_RUNTIME",
    ),
    "kernel": (
        "CUPTI_ACTIVITY_KIND_KERNEL",
        "SELECT e.globalPid, s.value, e.start, e.end, e.correlationId FROM CUPTI_ACTIVITY_KIND_KERNEL e "
        "LEFT JOIN StringIds s ON s.id = e.demangledName",
    ),
    "gpu_memcpy": (
        "CUPTI_ACTIVITY_KIND_MEMCPY",
        "SELECT globalPid, CASE copyKind WHEN 1 THEN 'HtoD' ELSE 'copy' END, start, end, correlationId "
        "FROM CUPTI_ACTIVITY_KIND_MEMCPY",
    ),
}


def read(path: str, name: str) -> Imported:
    """Read an export; each process in it is a rank."""
    try:
        with closing(sqlite3.connect(f"{Path(path).absolute().as_uri()}?mode=ro", uri=True)) as database:
            database.execute("PRAGMA trusted_schema = OFF")
            tables = {str(row[0]) for row in database.execute("SELECT name FROM sqlite_master WHERE type = 'table'")}
            if not {"NVTX_EVENTS", "StringIds"} <= tables:
                raise TableError("holds no NVTX ranges of Nsight Systems", where=name, hint=_EXPORT)
            has_gpu = "TARGET_INFO_GPU" in tables
            gpu_row = database.execute("SELECT name FROM TARGET_INFO_GPU").fetchone() if has_gpu else None
            events = [
                (process, event)
                for category, (table, query) in _QUERIES.items()
                if table in tables
                for process, event in _events(database, category, query)
            ]
    except sqlite3.Error as error:
        raise TableError(f"cannot be read as an SQLite export ({error})", where=name, hint=_EXPORT) from None
    ranges = Counter(re.sub(r"\d+", "N", e["name"]) for _, e in events if e["cat"] == "user_annotation")
    processes = sorted({process for process, event in events if event["name"].startswith("ProfilerStep#")})
    if not processes:
        labels = ", ".join(f"'{label}'" for label, _ in ranges.most_common(5)) or "none"
        hint = f"torch.cuda.nvtx.range('step 12') around each step; the ranges here: {labels}"
        raise TableError("has no NVTX range with the name of a step", where=name, hint=hint)
    tables_read = []
    device: dict[str, Cell] = {"device": str(gpu_row[0])} if gpu_row else {}
    for rank, process in enumerate(processes):
        run = {**device, "rank": rank} if len(processes) > 1 else device
        tables_read.append(table_of([event for whose, event in events if whose == process], run, name))
    notes = [*tables_read[0].notes]
    table_of_ranks = joined(tables_read)
    table_of_ranks.notes = notes
    return table_of_ranks


def _events(database: sqlite3.Connection, category: str, query: str) -> Iterator[tuple[int, Mapping[str, Any]]]:
    """Yield the process and the event, in microseconds, of each row; steps have the names that a trace gives them."""
    steps: Counter[int] = Counter()
    for process, label, start, end, correlation in database.execute(f"{query} ORDER BY start"):
        text = str(label or "")
        if category == "user_annotation" and (match := _STEP.fullmatch(text.strip())):
            steps[process] += 1
            text = f"ProfilerStep#{match[1] or steps[process]}"
        event = {"ph": "X", "cat": category, "name": text, "ts": start / 1e3, "dur": (end - start) / 1e3}
        yield process, {**event, "args": {"correlation": correlation}}
