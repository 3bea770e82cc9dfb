"""`cntk`: an asynchronous server that workers queue at, or a synchronous one whose time adds up."""

import heapq

import numpy as np
import pytest
from helpers import panel_with, runs_of

import genperf as gp
from genperf.models import cntk
from genperf.table import Factor

ROLES = {"time": "s", "extrinsic": "workers", "intrinsic": "batch,iterations,samples", "seed": 0, "draws": 10}
JOBS = {"workers": [1, 2, 4, 8, 16], "batch": [16, 64], "iterations": [50, 200], "samples": [1e4, 4e4]}


def initialisation(f):
    return 2.0 + 1e-5 * f.samples * f.workers


def queue(f):
    """The server is what an iteration waits for beyond 5 workers at batch 16, and 17 at batch 64."""
    return initialisation(f) + f.iterations * np.maximum(0.001 * f.batch + 0.004, 0.004 * f.workers)


def added(f):
    return initialisation(f) + f.iterations * (0.001 * f.batch + 0.004 + 0.004 * f.workers)


@pytest.mark.parametrize(("law", "maxima"), [(queue, 1), (added, 0)])
def test_the_server_is_chosen_by_held_out_jobs(law, maxima):
    result = gp.fit(runs_of(law, JOBS, noise=0.01), "cntk", **ROLES)
    assert str(result.best.expression).count("max(") == maxima
    assert result.best.values["s"] == pytest.approx(0.004, rel=0.05)
    assert result.best.values["i1"] == pytest.approx(1e-5, rel=0.1)
    asked = runs_of(law, {**JOBS, "workers": [32]})
    predicted = result.predict(asked.drop(columns="s")).time
    assert np.abs(predicted / asked.s - 1).max() < 0.1


def simulated(workers: int, computation: float, service: float, iterations: int) -> float:
    """The time at which the last worker has done its iterations at a server that takes one after another."""
    waiting = [(computation, worker, 0) for worker in range(workers)]
    free = 0.0
    while waiting:
        came, worker, done = heapq.heappop(waiting)
        free = max(free, came) + service
        if done + 1 < iterations:
            heapq.heappush(waiting, (free + computation, worker, done + 1))
    return free


@pytest.mark.parametrize("workers", [1, 2, 5, 6, 7, 20])
@pytest.mark.parametrize("iterations", [1, 4])
def test_workers_that_start_together_are_in_step_for_one_round(workers, iterations):
    """With 0.5 s of computation and 0.1 s of service the server has no pause from 6 workers on."""
    factors = panel_with(Factor(name, "extrinsic") for name in ("workers", "iterations", "batch"))
    law = cntk.build(factors, "started queue")
    columns = {"workers": np.array([float(workers)]), "iterations": np.array([float(iterations)]), "batch": np.ones(1)}
    values = {"i0": 0.0, "i1": 0.0, "q": 1.0, "a": 0.5, "c": 0.0, "s": 0.1, "rounds": 1.0}
    assert law.evaluate(columns, values)[0] == pytest.approx(simulated(workers, 0.5, 0.1, iterations))


def started(f):
    """Three rounds in step."""
    computation, service = 0.001 * f.batch, 0.004 * f.workers
    start = initialisation(f) + 3 * (computation + service)
    return start + (f.iterations - 3) * np.maximum(computation + 0.004, service)


def test_a_common_start_is_found_in_jobs_of_different_lengths():
    jobs = {**JOBS, "iterations": [5, 50], "samples": [1e4, 2e4]}
    result = gp.fit(runs_of(started, jobs, noise=0.005), "cntk", **ROLES)
    assert result.best.values["rounds"] == pytest.approx(3.0, rel=0.15)
    assert result.best.values["s"] == pytest.approx(0.004, rel=0.05)
    asked = runs_of(started, {**jobs, "workers": [32]})
    assert np.abs(result.predict(asked.drop(columns="s")).time / asked.s - 1).max() < 0.1


def test_the_note_says_how_the_server_was_judged():
    result = gp.fit(runs_of(added, JOBS, noise=0.01), "cntk", **ROLES)
    (note,) = [n.text for n in result.notes if n.kind == "overlap_chosen"]
    assert note.startswith("how the terms of 'cntk' overlap was chosen by the error on held-out runs")
    assert note.endswith(": T = initialisation + reading + compute + overhead + server")


def test_a_measured_synchronous_server_has_a_knee():
    """Steps, whose computation is measured: one second of it is one second, and the server's time adds up."""
    table = gp.datasets.load("server_knee")
    result = gp.fit(table, "cntk", mapping={"work": "compute_s"}, seed=0, draws=10)
    assert str(result.best.expression) == "a*compute_s + c + s*max(workers/servers, 1)"
    assert result.best.values["a"] == pytest.approx(1.0, abs=0.02)
    assert result.metrics["mape"] < 1.0
    # 1.04 MB in and out at 200 Mbit/s, of which headers take 4 %.
    assert result.best.values["s"] == pytest.approx(2 * 1.04e6 * 8 / 200e6 / (1448 / 1514), rel=0.05)


def test_a_table_of_steps_has_no_initialisation():
    table = runs_of(lambda f: 0.1 + 0.02 * f.workers, {"workers": [1, 2, 4, 8, 16]})
    result = gp.fit(table, "cntk", time="s", extrinsic="workers", seed=0, draws=10)
    assert "i1" not in result.best.values
    assert result.best.values["s"] == pytest.approx(0.02, rel=0.02)
