"""The experiments are a package beside the other one; those that measure are scripts in a folder."""

import fcntl
import sys
import tempfile
from collections.abc import Iterator
from pathlib import Path

import pytest

#: Programs that tests start in the environment of a framework; nothing in them is a test or an example.
collect_ignore = ["workers"]

ROOT = Path(__file__).parents[2]
sys.path[:0] = [str(ROOT), str(ROOT / "experiments" / "measure")]


@pytest.fixture(scope="module")
def emulation() -> Iterator[None]:
    """Wait until no other module of tests emulates a cluster; skip where the kernel does not let this process do so."""
    # In a fixture, not while tests are collected: each of pytest's workers collects, and a machine has one cluster.
    from cluster import Cluster, Link
    from problems import MeasureError

    with (Path(tempfile.gettempdir()) / "genperf-tests-of-clusters.lock").open("w") as lock:
        fcntl.flock(lock, fcntl.LOCK_EX)
        try:
            with Cluster(1, Link(100)):
                pass
        except (MeasureError, OSError) as problem:
            pytest.skip(f"a cluster is emulated with root, iproute2 and tc: {problem}")
        yield
