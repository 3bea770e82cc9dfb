"""What a question leaves open is taken as it was in every run: the global batch grows, or the passes fall."""

from __future__ import annotations

import pandas as pd
import pytest

import genperf as gp
from genperf.asking import Question, ask

#: 16 samples a worker in every run, and 256 samples a step in passes of four.
GROWING = pd.DataFrame({"gpus": [8, 16, 32], "global_batch": [128, 256, 512], "s": [1.52, 1.56, 1.61]})
PASSES = pd.DataFrame(
    {"world_size": [8, 16, 32], "micro_batch": [4, 4, 4], "grad_accum": [8, 4, 2], "s": [3.12, 1.59, 0.84]}
)


def fitted(runs: pd.DataFrame, **roles: str) -> gp.FitResult:
    result = gp.fit(runs, time="s", **roles)
    assert isinstance(result, gp.FitResult)
    return result


def test_the_global_batch_grows_with_the_workers() -> None:
    result = fitted(GROWING, extrinsic="gpus,global_batch")
    assert result.predict({"gpus": 64})["global_batch"].tolist() == [1024.0]
    # Given, it is as it is given.
    assert result.predict({"gpus": 64, "global_batch": 512})["global_batch"].tolist() == [512.0]
    answer = ask(result, {"gpus": 64}, Question())
    assert not answer.taken
    assert 0.85 < answer.numbers["efficiency"] < 1.0


def test_passes_fall_as_the_workers_grow() -> None:
    result = fitted(PASSES, extrinsic="world_size", intrinsic="micro_batch,grad_accum")
    assert result.predict({"world_size": [16, 64, 256]})["grad_accum"].tolist() == [4.0, 1.0, 1.0]
    answer = ask(result, {"world_size": 64}, Question())
    # 256 samples at either count.
    assert answer.numbers["throughput"] == pytest.approx(256 / answer.numbers["time"])
    assert 0.7 < answer.numbers["efficiency"] <= 1.0


@pytest.mark.parametrize(
    "changed",
    [
        # One run with another batch: nothing follows.
        GROWING.assign(global_batch=[128, 256, 256]),
        # Both at every count: the ranges alone would say that they grow together.
        pd.concat([GROWING, GROWING.assign(global_batch=[512, 256, 128], s=[5.9, 1.57, 0.6])]),
    ],
)
def test_a_batch_that_was_free_is_not_taken_to_follow(changed: pd.DataFrame) -> None:
    result = fitted(changed, extrinsic="gpus,global_batch")
    with pytest.raises(gp.GenperfError, match="'global_batch' is missing"):
        result.predict({"gpus": 64})


def test_names_are_found_however_they_are_written(tmp_path: object) -> None:
    from genperf.panel.reading import read_columns

    runs = {"Nodes": [1, 2, 4], "Model": ["a", "a", "b"], "Samples/sec": [10.0, 19.0, 30.0]}
    assert read_columns(runs).at({"nodes": "8", "model": "a"}) == {"Nodes": "8", "Model": "a"}
