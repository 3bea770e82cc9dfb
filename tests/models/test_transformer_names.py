"""The names of a transformer's layout in the spellings of the frameworks, and what follows from them."""

import pandas as pd
import pytest
from helpers import panel_with

from genperf.errors import TableError
from genperf.formula import parse
from genperf.panel import read_table
from genperf.panel.reading import read_columns
from genperf.table import Factor

MEGATRON = {
    "--tensor-model-parallel-size": "tensor_parallel",
    "--pipeline-model-parallel-size": "pipeline_parallel",
    "--micro-batch-size": "micro_batch",
    "--seq-length": "sequence",
    "--num-attention-heads": "heads",
}
DEEPSPEED = {
    "train_micro_batch_size_per_gpu": "micro_batch",
    "train_batch_size": "global_batch",
    "gradient_accumulation_steps": "micro_batches",
    "zero_optimization.stage": "zero",
}
FSDP = {"sharding_strategy": "zero", "cpu_offload": "offload", "mixed_precision": "precision"}
NANOTRON = {
    "parallelism.dp": "data_parallel",
    "parallelism.tp": "tensor_parallel",
    "parallelism.pp": "pipeline_parallel",
    "tokens.batch_accumulation_per_replica": "micro_batches",
    "tokens.sequence_length": "sequence",
}
NEMO = {
    "model.tensor_model_parallel_size": "tensor_parallel",
    "model.virtual_pipeline_model_parallel_size": "virtual_stages",
    "model.encoder_seq_length": "sequence",
    "model.activations_checkpoint_granularity": "recomputation",
    "trainer.accumulate_grad_batches": "micro_batches",
}


@pytest.mark.parametrize("spellings", [MEGATRON, DEEPSPEED, FSDP, NANOTRON, NEMO])
def test_each_framework_is_understood(spellings):
    texts = {"zero", "offload", "precision", "recomputation"}
    for column, canonical in spellings.items():
        role = "categorical" if canonical in texts else "extrinsic"
        factor = Factor(column, role, 1.0, 8.0, distinct=2, positive=True, levels=("a", "b"))
        assert panel_with([factor]).named(canonical) == factor


@pytest.mark.parametrize(
    ("columns", "wanted", "formula"),
    [
        (["dp", "tp", "pp"], "workers", "dp*tp*pp"),
        (["dp", "tp"], "workers", "dp*tp"),
        (["gpus", "tp", "pp"], "data_parallel", "gpus/(tp*pp)"),
        (["gbs", "mbs", "dp"], "micro_batches", "gbs/(dp*mbs)"),
        (["gpus", "tp", "mbs", "gas"], "global_batch", "mbs*gas*(gpus/tp)"),
        (["params_b"], "parameters", "1e9*params_b"),
        (["num_layers", "hidden_size"], "parameters", "12*num_layers*hidden_size**2"),
        (["n_layer", "n_embd", "n_vocab"], "parameters", "12*n_layer*n_embd**2 + n_vocab*n_embd"),
        (["tp"], "workers", None),
    ],
)  # fmt: skip
def test_what_follows_from_the_columns(columns, wanted, formula):
    node = panel_with(Factor(name, "extrinsic") for name in columns).node(wanted)
    assert node == (None if formula is None else parse(formula).node)


def test_ways_are_extrinsic_and_switches_are_names_of_kinds():
    columns = {
        "dp": [1, 2, 4], "tp": [8, 4, 2], "mbs": [1, 2, 1], "zero_stage": [0, 1, 1], "recompute": [0, 1, 0],
        "step_time_s": [1.0, 2.0, 3.0], "gpus": [8, 8, 8],
    }  # fmt: skip
    roles = read_columns(columns).roles.texts
    assert {*roles["extrinsic"].split(",")} == {"gpus", "dp", "tp"}
    assert {*roles["categorical"].split(",")} == {"zero_stage", "recompute"}


def layouts(**changes):
    runs = {"dp": [1, 2, 4], "tp": [2, 2, 1], "pp": [2, 1, 2], "gpus": [4, 4, 8], "s": [4.0, 3.0, 2.0]}
    return pd.DataFrame({**runs, **changes})


def test_ways_that_do_not_multiply_to_the_devices_are_named_by_row(tmp_path):
    layouts(gpus=[4, 8, 8]).to_csv(tmp_path / "runs.csv", index=False)
    with pytest.raises(TableError) as refused:
        read_table(tmp_path / "runs.csv", time="s", extrinsic="dp,tp,pp")
    assert "line 3, column 'gpus': '8' is not dp × tp × pp = 2 × 2 × 1 = 4" in str(refused.value)
    kept = read_table(tmp_path / "runs.csv", time="s", extrinsic="dp,tp,pp", skip_bad_rows=True)
    assert len(kept) == 2


@pytest.mark.parametrize("changes", [{}, {"cp": [1, 1, 1]}, {"gpus": [None, 4, 8]}, {"gpus": ["many"] * 3}])
def test_what_does_not_contradict_is_left_alone(changes):
    assert len(read_table(layouts(**changes), time="s", extrinsic="dp,tp,pp")) == 3


def test_nothing_is_refused_where_a_way_has_no_column():
    table = read_table(layouts(gpus=[8, 8, 16]).drop(columns="pp"), time="s", extrinsic="dp,tp,gpus")
    assert len(table) == 3
