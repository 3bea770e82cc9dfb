"""How long a job takes to start when every worker reads the data from one shared storage host.

This is the situation of the CNTK paper (Hashemi et al. 2016). An emulated cluster of 1 to 16 workers and a storage
host; each worker reads the whole data set, or its share of it, and joins the others. Needs root and PyTorch's
environment.

    python experiments/measure/initialisation.py --out data/initialisation.csv
"""

from __future__ import annotations

import argparse
from pathlib import Path
from typing import Any

from campaign import counts, finish, guarded, measure
from cluster import Link
from launch import Case, Job, Windows
from record import Recorder

HOSTS = (1, 2, 3, 4, 6, 8, 12, 16)
SAMPLES = (2000, 5000, 10000)
#: A 32 × 32 picture in three colours and its label.
SAMPLE_BYTES = 3073
READING = ("whole", "share")
MBIT = 200.0
FACTORS = ["framework", "workers", "reading", "samples", "sample_bytes", "link_mbit"]
COLUMNS = ["framework", "framework_version", *FACTORS[1:], "repeat", "import_s", "read_s", "rendezvous_s", "startup_s"]


def described(job: Job, case: Case) -> dict[str, Any]:
    """Return the factors of a case, as columns."""
    return {"framework": job.framework, "workers": job.workers, **case}


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--out", type=Path, default=Path("data/initialisation.csv"))
    parser.add_argument("--hosts", type=counts, default=HOSTS)
    parser.add_argument("--samples", type=counts, default=SAMPLES)
    parser.add_argument("--mbit", type=float, default=MBIT)
    given = parser.parse_args()
    windows = Windows(repeats=3)
    cases = [
        {"reading": reading, "samples": samples, "sample_bytes": SAMPLE_BYTES, "link_mbit": given.mbit}
        for reading in READING
        for samples in given.samples
    ]
    jobs = [Job("pytorch", workers, 0, cases, "worker_reading.py", "storage.py") for workers in given.hosts]
    recorder = Recorder(given.out, COLUMNS, FACTORS, windows.repeats)
    finish(measure(jobs, recorder, link=Link(given.mbit), windows=windows, describe=described), given.out)


if __name__ == "__main__":
    guarded(main)
