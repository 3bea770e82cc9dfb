"""MXNet with its key-value store: what a program is, worker, server or scheduler, its environment says.

Importing this serves until the workers have left, where the environment says server or scheduler.
"""

from __future__ import annotations

import os
import sys
import warnings
from typing import Any

from work import job

MEETING, JOB, RANK = job()
os.environ["MXNET_CPU_WORKER_NTHREADS"] = "1"
warnings.filterwarnings("ignore")

import numpy  # noqa: E402

# MXNet 1.9.1 uses names that numpy has removed.
for name, kind in {"bool": bool, "int": int, "float": float, "object": object, "str": str, "complex": complex}.items():
    if name not in numpy.__dict__:
        setattr(numpy, name, kind)

import mxnet as mx  # noqa: E402

if os.environ.get("DMLC_ROLE", "worker") != "worker":
    import mxnet.kvstore_server  # its import serves until the workers have left

    sys.exit()

#: The worker's store, made at its first use: `dist_sync` or `dist_async`. None where there are no servers.
_MADE: dict[str, Any] = {}


def store(kind: str) -> Any:
    """Return the store of a kind, one for all cases; None for a job without servers."""
    if not JOB["servers"]:
        return None
    if kind not in _MADE:
        _MADE[kind] = mx.kv.create(kind)
    return _MADE[kind]
