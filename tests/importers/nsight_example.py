"""Write `data/nsight.sqlite`: two processes of three steps, in the tables of Nsight Systems' export.

python tests/importers/nsight_example.py
"""

import sqlite3
from pathlib import Path

#: The columns that an export has and an import reads, as `nsys export --type sqlite` declares them.
SCHEMA = """
CREATE TABLE StringIds (id INTEGER NOT NULL PRIMARY KEY, value TEXT NOT NULL);
CREATE TABLE TARGET_INFO_GPU (vmId INTEGER NOT NULL, id INTEGER NOT NULL, name TEXT);
CREATE TABLE NVTX_EVENTS (start INTEGER NOT NULL, end INTEGER, eventType INTEGER NOT NULL, text TEXT, globalTid INTEGER,
 textId INTEGER);
CREATE TABLE CUPTI_ACTIVITY_KIND_RUNTIME (start INTEGER NOT NULL, end INTEGER NOT NULL, globalTid INTEGER,
 correlationId INTEGER, nameId INTEGER NOT NULL);
CREATE TABLE CUPTI_ACTIVITY_KIND_KERNEL (start INTEGER NOT NULL, end INTEGER NOT NULL, deviceId INTEGER NOT NULL,
 correlationId INTEGER, globalPid INTEGER, demangledName INTEGER NOT NULL, shortName INTEGER NOT NULL);
CREATE TABLE CUPTI_ACTIVITY_KIND_MEMCPY (start INTEGER NOT NULL, end INTEGER NOT NULL, deviceId INTEGER NOT NULL,
 correlationId INTEGER, globalPid INTEGER, bytes INTEGER NOT NULL, copyKind INTEGER NOT NULL);
"""
STRINGS = ("forward", "backward", "sm90_gemm", "ncclDevKernel_AllReduce_Sum", "cudaLaunchKernel")
#: Of a step, in microseconds: (range or none, name, when it is launched, when it runs, how long).
WORK = (
    ("copy", "", 100, 200, 500),
    ("forward", "sm90_gemm", 1_000, 1_500, 3_000),
    ("backward", "sm90_gemm", 2_000, 4_500, 4_000),
    ("backward", "ncclDevKernel_AllReduce_Sum", 2_500, 8_500, 1_500),
)
STEP, STEPS, PROCESSES = 10_000, 3, (41, 42)


def write(path: Path) -> None:
    """Write the export."""
    path.unlink(missing_ok=True)
    database = sqlite3.connect(path)
    database.execute("PRAGMA page_size = 512")
    with database:
        database.executescript(SCHEMA)
        ids = {text: i for i, text in enumerate(STRINGS)}
        database.executemany("INSERT INTO StringIds VALUES (?, ?)", [(i, text) for text, i in ids.items()])
        database.execute("INSERT INTO TARGET_INFO_GPU VALUES (0, 0, 'NVIDIA H100 80GB HBM3')")
        for process in PROCESSES:
            correlation = 0
            thread, group = process * 0x1000000 + 7, process * 0x1000000
            for step in range(STEPS):
                since = step * STEP
                ranges = (
                    (f"step {step + 1}", None, 50, 5_000),
                    (None, "forward", 900, 1_900),
                    (None, "backward", 1_900, 4_900),
                )
                for text, name, start, end in ranges:
                    row = ((since + start) * 1000, (since + end) * 1000, 59, text, thread, ids.get(name or ""))
                    database.execute("INSERT INTO NVTX_EVENTS VALUES (?, ?, ?, ?, ?, ?)", row)
                for kind, name, launch, start, length in WORK:
                    correlation += 1
                    begun, ran = (since + launch) * 1000, (since + start) * 1000
                    call = (begun, begun + 5_000, thread, correlation, ids["cudaLaunchKernel"])
                    database.execute("INSERT INTO CUPTI_ACTIVITY_KIND_RUNTIME VALUES (?, ?, ?, ?, ?)", call)
                    if kind == "copy":
                        copy = (ran, ran + length * 1000, 0, correlation, group, 1 << 20, 1)
                        database.execute("INSERT INTO CUPTI_ACTIVITY_KIND_MEMCPY VALUES (?, ?, ?, ?, ?, ?, ?)", copy)
                    else:
                        kernel = (ran, ran + length * 1000, 0, correlation, group, ids[name], ids[name])
                        database.execute("INSERT INTO CUPTI_ACTIVITY_KIND_KERNEL VALUES (?, ?, ?, ?, ?, ?, ?)", kernel)
    database.execute("VACUUM")
    database.close()


if __name__ == "__main__":
    write(Path(__file__).parent / "data" / "nsight.sqlite")
