"""`cntk`: an asynchronous server that workers queue at, or a synchronous one whose time adds up."""

import numpy as np
import pytest
from helpers import runs_of

import genperf as gp

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
