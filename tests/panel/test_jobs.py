"""Times of epochs and whole jobs: all workers share one amount of work, whatever the batch of each."""

from pathlib import Path

import numpy as np
import pandas as pd
import pytest

import genperf as gp
from genperf.attribution import scaling
from genperf.panel import read_table

COUNTS = np.array([1, 2, 4, 8, 16])


def runs(**columns: object) -> pd.DataFrame:
    return pd.DataFrame({"gpus": COUNTS, "batch_per_gpu": 32, **columns})


@pytest.mark.parametrize("column", ["epoch_time", "Time per epoch (s)"])
def test_the_work_of_an_epoch_is_shared(column: str) -> None:
    """T = 4 + 1000/n: an epoch on 32 GPUs takes 35.25 s, 28.5 x less than on one (1004), an efficiency of 89 %."""
    table = read_table(
        runs(**{column: 4.0 + 1000.0 / COUNTS}), time=column, extrinsic="gpus", intrinsic="batch_per_gpu"
    )
    assert table.scaling == "job"
    assert [note.kind for note in table.notes].count("job") == 1
    result = gp.fit(table)
    assert result.predict(gpus=[32], batch_per_gpu=[32])["time"].iloc[0] == pytest.approx(35.25, rel=0.1)
    curve = scaling(result, {"batch_per_gpu": 32})
    assert curve.kind == "strong"
    assert curve.curve.set_index("gpus")["efficiency"].loc[16] == pytest.approx(1004.0 / 16.0 / 66.5, rel=0.05)


def test_steps_are_no_jobs() -> None:
    """At the same batch a step takes as long, or falls with a batch that is shared."""
    table = read_table(
        runs(step_s=0.1 + 0.01 * np.log2(COUNTS)), time="step_s", extrinsic="gpus", intrinsic="batch_per_gpu"
    )
    assert (table.scaling, [n for n in table.notes if n.kind == "job_likely"]) == (None, [])
    shared = pd.DataFrame({"gpus": COUNTS, "global_batch": 64, "t": 1.0 / COUNTS})
    assert read_table(shared, time="t", extrinsic="gpus", intrinsic="global_batch").scaling is None
    falling = pd.DataFrame({"gpus": COUNTS, "batch": 64 / COUNTS, "t": 1.0 / COUNTS})
    assert read_table(falling, time="t", extrinsic="gpus", intrinsic="batch").scaling is None


def test_the_user_decides(tmp_path: Path) -> None:
    frame = runs(epoch_s=np.full(5, 10.0))
    table = read_table(frame, time="epoch_s", extrinsic="gpus", intrinsic="batch_per_gpu", scaling="weak")
    assert (table.scaling, [n for n in table.notes if n.kind == "job"]) == ("weak", [])
    job = read_table(runs(s=1.0 / COUNTS), time="s", extrinsic="gpus", intrinsic="batch_per_gpu", scaling="job")
    result = gp.fit(job)
    gp.save_model(result, tmp_path / "m.json")
    assert gp.load_model(tmp_path / "m.json").schema.scaling == "job"


def test_last_point_of_a_job_shares_the_work() -> None:
    from genperf.validation.learners import last_point

    table = read_table(runs(epoch_s=64.0 / COUNTS), time="epoch_s", extrinsic="gpus", intrinsic="batch_per_gpu")
    asked = pd.DataFrame({"gpus": [32], "batch_per_gpu": [32]})
    assert last_point(table, asked, 0.9, 0).predicted == pytest.approx([2.0])


def test_times_that_fall_too_much_are_said() -> None:
    falling = runs(time=100.0 / COUNTS)
    table = read_table(falling, time="time", extrinsic="gpus", intrinsic="batch_per_gpu")
    assert [n.text.partition(":")[0] for n in table.notes if n.kind == "job_likely"] == [
        "at the same batch_per_gpu the time falls from 100 to 6.25 s from 1 to 16 gpus"
    ]
    said = read_table(falling, time="time", extrinsic="gpus", intrinsic="batch_per_gpu", scaling="weak")
    assert not any(n.kind == "job_likely" for n in said.notes)


def test_times_that_fall_too_much_without_a_batch_are_said() -> None:
    frame = pd.DataFrame({"workers": COUNTS, "time_s": 100.0 / COUNTS + COUNTS})
    table = read_table(frame, time="time_s", extrinsic="workers")
    (note,) = [n.text for n in table.notes if n.kind == "job_likely"]
    assert note.startswith(
        "the time falls from 101 to 22.2 s from 1 to 16 workers: too much for a batch each; --scaling"
    )
    grows = pd.DataFrame({"workers": COUNTS, "time_s": 1.0 + 0.1 * COUNTS})
    assert not any(n.kind == "job_likely" for n in read_table(grows, time="time_s", extrinsic="workers").notes)
