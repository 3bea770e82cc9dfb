"""Advice on a transformer's split: a count that the split does not divide is no run to compare with or to make."""

import pandas as pd
import pytest

import genperf as gp
from genperf.asking import ask

RUNS = pd.DataFrame(
    {
        "num_gpus": [8, 16, 32, 64, 64, 128],
        "tensor_parallel": [1, 2, 4, 8, 8, 8],
        "pipeline_parallel": [1, 1, 1, 1, 2, 2],
        "data_parallel": [8, 8, 8, 8, 4, 8],
        "num_layers": [24, 30, 36, 40, 48, 48],
        "hidden_size": [2304, 3072, 4096, 6144, 6144, 6144],
        "global_batch_size": [128, 128, 128, 128, 128, 256],
        "step_time_s": [3.5, 3.7, 3.7, 4.7, 5.6, 5.7],
    }
)
TARGET = {"num_gpus": 256, "tensor_parallel": 8, "pipeline_parallel": 4, "num_layers": 48, "hidden_size": 6144}


@pytest.fixture(scope="module")
def result() -> gp.FitResult:
    table = gp.read_table(
        RUNS,
        time="step_time_s",
        extrinsic="num_gpus,tensor_parallel,pipeline_parallel,data_parallel",
        intrinsic="num_layers,hidden_size,global_batch_size",
    )
    return gp.fit(table, model="transformer", draws=20)


def test_the_efficiency_is_relative_to_a_count_that_the_split_divides(result: gp.FitResult) -> None:
    answer = ask(result, TARGET)
    assert "that of 32 gpus" in answer.sentences["expect"]


def test_the_next_run_is_one_that_the_split_divides(result: gp.FitResult) -> None:
    runs = gp.suggest(result, TARGET).candidates
    assert set(runs["num_gpus"]) <= {32.0, 64.0, 128.0}
    assert set(runs["num_gpus"] / runs["data_parallel"]) == {32.0}
