"""What nccl-tests print: a row of each message size and kind of buffer, its seconds and the bandwidth of the bus.

Columns are those of `src/common.cu`: size in bytes, then time in microseconds and two bandwidths, out of place and in
place. The ranks are the lines `#  Rank  0 Group … on HOST device …`.
"""

import re
from collections.abc import Iterator

import numpy as np

from genperf.errors import GenperfError, TableError, attempted
from genperf.table.content import read_text
from genperf.table.importers.imported import Cell, Imported
from genperf.vocabulary import section

TIME = "time_s"
#: Its first line, the header, or a row: `1024  256  float  sum  -1  28.2`.
SIGNATURE = (
    r"(?m)^#\s+nThread \d+ nGpus \d+|^(?=.*(?:#|\bredop\b)).*\balgbw\s+busbw\b"
    r"|^\s*\d+\s+\d+\s+[a-z]\w*\s+(?:sum|prod|min|max|avg|mulsum|none)\s+-?\d+\s+\d+\.\d"
)
#: Sizes down to this share of the largest one are on the plateau.
PLATEAU = 0.25
#: A rank with its host and its device, and a row of the table, which a launcher may label with its rank: `0: `.
_RANK = re.compile(r"\bRank\s+\d+\s+(?:Group|Pid)\b.*?\bon\s+(\S+)(?:\s+device\s+\d+\s+\[[^\]]*\]\s*(.*))?")
_ROW = re.compile(r"\s*(?:\[?\d+(?:,\d+)?\]?(?:<stdout>)?:)?\s*(\d+)\s+\d+\s+([a-z]\w*)\s+([a-z]\w*\s+)?(-?\d.*)")


def read(text: str, name: str) -> Imported:
    """Read a test's output."""
    table = Imported([], TIME)
    for counts, number, size, kind, operation, cells in _rows(text):
        for buffers, cell, bus in zip(("out of place", "in place"), cells[::4], cells[2::4], strict=False):
            if not re.fullmatch(r"\d+(\.\d+)?", cell) or float(cell) <= 0.0:
                table.left_out.append(f"{name}: line {number}: no time {buffers} ('{cell}')")
                continue
            factors: dict[str, Cell] = {"bytes": size, "type": kind, "operation": operation, "buffers": buffers}
            table.add({**counts, **factors}, {TIME: float(cell) / 1e6, "busbw (GB/s)": bus})
    if not table.rows and not re.search(SIGNATURE, text):
        raise TableError("is no output of nccl-tests", where=name, hint="name what all_reduce_perf printed")
    return table.filled(name, "holds no time of a message")


def plateau_in(path: str) -> dict[str, Cell]:
    """Return a test's largest messages as a row: `device`, `collective`, `busbw`, `size` in bytes, `devices`, `nodes`.

    Nothing of a file that is none, or has tests of several machines. Over n devices the bandwidth of the bus is
    2(n − 1)/n of the algorithm's in an all-reduce, (n − 1)/n in an all-gather, a reduce-scatter and an all-to-all.
    """
    opened = attempted(read_text, path)
    if isinstance(opened, GenperfError) or not re.search(SIGNATURE, opened[1]):
        return {}
    name, text = opened
    tests = [row for row in _rows(text) if len(row[-1]) > 2]
    if not tests:
        hint = "see why it ended before its first size (NCCL_DEBUG=WARN), and run it again"
        raise TableError("the test of nccl-tests printed no row", hint=hint, where=name)
    if any((row[0], row[4]) != (tests[0][0], tests[0][4]) for row in tests):
        return {}
    sizes, algorithm, bus = np.array([(size, *cells[1:3]) for _, _, size, *_, cells in tests], dtype=float).T
    large = sizes >= PLATEAU * sizes.max()
    ratio, speed = float(np.median((bus / np.maximum(algorithm, 1e-9))[large])), float(np.median(bus[large]))
    # Where neither its name nor the text does, the factor of the bus and the operation show which one it is.
    machine, *_, operation, _ = tests[0]
    combines = operation != "none"
    parted = "reduce_scatter" if combines else "all_gather"
    # The factor of an all-reduce over two devices is one.
    whole = "all_reduce" if combines and machine.get("devices") == 2 else "broadcast"
    by_factor = "all_reduce" if ratio > 1.0 else parted if ratio < 1.0 else whole
    wording, patterns = f"{name} {text[:2000]}".lower(), section("collectives")
    called = next((collective for collective, (words,) in patterns.items() if re.search(words, wording)), by_factor)
    device = next((device for _, device in _RANK.findall(text)), "")
    return machine | {"device": device, "collective": called, "busbw": f"{speed:.9g}GB/s", "size": int(sizes.max())}


def _rows(text: str) -> Iterator[tuple[dict[str, Cell], int, int, str, str, list[str]]]:
    """Yield the machine of each row, the number of its line, its bytes, type and operation, and the other cells."""
    hosts, above, has_root = list[str](), False, True
    for number, line in enumerate(text.splitlines(), 1):
        if (rank := _RANK.search(line)) is not None:
            hosts = [*(hosts if above else ()), rank[1]]
            above = True
        elif "algbw" in line:
            has_root = "root" in line  # earlier versions print none
        elif (row := _ROW.fullmatch(line)) is not None:
            above = False
            size, kind, operation, cells = row.groups()
            counts: dict[str, Cell] = {"devices": len(hosts), "nodes": len({*hosts})} if hosts else {}
            yield counts, number, int(size), kind, (operation or "none").strip(), cells.split()[has_root:]
