"""Whole jobs of an MXNet worker: it reads the data set, joins the others, and iterates against a server.

worker_job_mxnet.py FOLDER RANK        with DMLC_ROLE and the rest of MXNet's environment set by the launcher
"""

from __future__ import annotations

import time

from framework_mxnet import JOB, MEETING, RANK, mx, store
from stages import wait
from storage import Storage
from work import Case, serve_cases

#: Who waits for whom at the server: all workers for each other in every iteration, or nobody.
KINDS = {"synchronous": "dist_sync", "asynchronous": "dist_async"}
STORAGE = Storage(JOB)
KIND = JOB["cases"][0]["server"]
STORE = store(KINDS[KIND])


class Iterations:
    """A worker waits as long as a batch computes, sends its gradients and gets weights."""

    def __init__(self, number: int, case: Case) -> None:
        width = case["hidden"]
        self.key = str(number)
        self.weights, self.gradients = mx.nd.zeros((width, width)), mx.nd.ones((width, width))
        self.compute_s = case["batch_per_worker"] * case["compute_per_sample_s"]
        STORE.set_optimizer(mx.optimizer.SGD(learning_rate=1e-6))
        STORE.broadcast(self.key, self.weights, out=self.weights)
        mx.nd.waitall()

    def __call__(self, count: int) -> None:
        """Do so many iterations."""
        for _ in range(count):
            wait(self.compute_s)
            STORE.pushpull(self.key, self.gradients, out=self.weights)
            mx.nd.waitall()


def whole(case: Case, iterate: Iterations) -> dict[str, float]:
    """Do a job, and return the seconds of its parts: each ends when the slowest worker has ended it."""
    STORE._barrier()
    begun = time.perf_counter()
    STORAGE.read(case["samples"] * case["sample_bytes"])
    STORE._barrier()
    has_read = time.perf_counter()
    iterate(case["iterations"])
    STORE._barrier()
    done = time.perf_counter()
    return {"initialisation_s": has_read - begun, "iterations_s": done - has_read, "job_s": done - begun}


def measure(number: int, case: Case) -> list[dict[str, float]]:
    iterate = Iterations(number, case)
    # Once for nothing: connections are made at the first use.
    iterate(1)
    return [whole(case, iterate) for _ in range(JOB["repeats"])]


STORAGE.until_there()
serve_cases(MEETING, JOB, RANK, mx.__version__, measure)
