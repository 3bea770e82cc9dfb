"""The ring hides behind the backward pass or follows it: the law that measurements speak for is chosen."""

from itertools import product

import numpy as np
import pandas as pd
import pytest
from helpers import panel_with

import genperf as gp
from genperf.models import family_named
from genperf.panel import Table
from genperf.table import Factor

ROLES = {"time": "t", "intrinsic": "batch,bytes", "extrinsic": "workers"}


def rings(hides: bool, counts: tuple[int, ...] = (1, 2, 4, 8, 12, 16)) -> Table:
    """Return steps with a backward pass of 0.06 s a sample, and links of 25 MB/s."""
    frame = pd.DataFrame(product((2, 4), (1e6, 4e6), counts), columns=["batch", "bytes", "workers"])
    backward = 0.06 * frame.batch
    exchange = 2 * frame.bytes / 25e6 * (1 - 1 / frame.workers) + 2e-4 * (frame.workers - 1)
    both = np.maximum(backward, exchange) if hides else backward + exchange
    return gp.read_table(frame.assign(t=0.01 + 0.03 * frame.batch + both), **ROLES)


@pytest.mark.parametrize("hides", [True, False])
def test_the_law_of_the_measured_steps_is_chosen_and_extrapolates(hides: bool) -> None:
    result = gp.fit(rings(hides, (1, 2, 4, 8)), "ring-allreduce", seed=0, draws=5)
    assert result.best.expression.is_sum != hides
    asked = rings(hides, (16,))
    times = result.predict(asked.frame)["time"].to_numpy()
    assert times == pytest.approx(asked.measured, rel=0.02)


def test_the_chosen_law_is_in_the_notes() -> None:
    notes = [str(note) for note in gp.fit(rings(False), "ring-allreduce", seed=0, draws=5).notes]
    assert any("T = forward + backward + bandwidth + latency + constant" in note for note in notes)


def test_a_batch_that_is_always_the_same_shows_nothing_to_hide_behind() -> None:
    workers = Factor("workers", "extrinsic", lower=2, upper=8, distinct=3, positive=True, integer=True)
    batch = Factor("batch", "intrinsic", lower=4, upper=4, distinct=1, positive=True, integer=True)
    several = Factor("batch", "intrinsic", lower=4, upper=8, distinct=2, positive=True, integer=True)
    family = family_named("ring-allreduce")
    assert [e.is_sum for e in family.expressions(panel_with([workers, batch]))] == [False]
    assert [e.is_sum for e in family.expressions(panel_with([workers, several]))] == [False, False, True]


def test_one_of_four_layers_follows() -> None:
    """By layers of equal length: each is exchanged once it is computed and the one before it has been exchanged."""
    table = rings(True)
    frame = table.frame
    layer, sent = 0.06 * frame.batch / 4, (2 * frame.bytes / 25e6 * (1 - 1 / frame.workers)) / 4
    done = np.zeros(len(frame))
    for number in range(1, 5):
        done = np.maximum(done, number * layer) + sent
    columns = frame[["batch", "bytes", "workers"]].assign(t=0.01 + 0.03 * frame.batch + done)
    result = gp.fit(gp.read_table(columns, **ROLES), "ring-allreduce", seed=0, draws=5)
    assert result.best.values["serial"] == pytest.approx(0.25, abs=0.01)
    assert result.metrics["mape"] < 0.5
