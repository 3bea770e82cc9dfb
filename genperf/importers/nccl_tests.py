"""What nccl-tests print: one row a message size and kind of buffer, the seconds of a collective.

Columns are those of `src/common.cu`: size in bytes, then time in microseconds and two bandwidths, out of place and in
place. The ranks are the lines `#  Rank  0 Group … on HOST device …`.
"""

import re

from genperf.errors import TableError
from genperf.importers.imported import Cell, Imported, Rows

TIME = "time_s"
SIGNATURE = r"(?m)^#\s+nThread \d+ nGpus \d+|#.*\balgbw\s+busbw\b"
#: A rank with its host and its device, and a row of the table.
RANK = re.compile(r"#\s+Rank\s+\d+.*?\bon\s+(\S+)(?:\s+device\s+\d+\s+\[[^\]]*\]\s*(.*))?")
ROW = re.compile(r"\s*(\d+)\s+\d+\s+([a-z]\w*)\s+(\S+)\s+(-?\d+)\s+(.*)")


def read(text: str, name: str) -> Imported:
    """Read a test's output.

    Examples
    --------
    >>> printed = '''# nThread 1 nGpus 1 minBytes 8 maxBytes 64
    ... #  Rank  0 Group  0 Pid 11 on node1 device  0 [0x07] NVIDIA H100
    ... #  Rank  1 Group  0 Pid 12 on node2 device  0 [0x07] NVIDIA H100
    ... #       size  count  type  redop  root  time  algbw  busbw #wrong  time  algbw  busbw #wrong
    ...          1024    256 float    sum    -1 20.0   0.05   0.05      0  30.0   0.03   0.03      0'''
    >>> table = read(printed, "all_reduce.txt")
    >>> [(row["devices"], row["nodes"], row["bytes"], row["buffers"], row["time_s"]) for row in table.rows]
    [(2, 2, 1024, 'out of place', 2e-05), (2, 2, 1024, 'in place', 3e-05)]
    """
    hosts = [host for host, _ in RANK.findall(text)]
    counts: dict[str, Cell] = {"devices": len(hosts), "nodes": len(set(hosts))} if hosts else {}
    rows = Rows(TIME)
    for number, line in enumerate(text.splitlines(), 1):
        row = ROW.fullmatch(line)
        if row is None:
            continue
        size, kind, operation, _, numbers = row.groups()
        # Time, two bandwidths and the count of wrong results, for each kind of buffer.
        for buffers, cell in zip(("out of place", "in place"), numbers.split()[::4], strict=False):
            if not re.fullmatch(r"\d+(\.\d+)?", cell) or float(cell) <= 0.0:
                rows.left_out.append(f"{name}: line {number}: no time {buffers} ('{cell}')")
                continue
            factors = {"bytes": int(size), "type": kind, "operation": operation, "buffers": buffers}
            rows.add({**counts, **factors}, {TIME: float(cell) / 1e6})
    if not rows and not re.search(SIGNATURE, text):
        raise TableError("is no output of nccl-tests", where=name, hint="name what all_reduce_perf printed")
    return rows.table(name, "holds no time of a message")
