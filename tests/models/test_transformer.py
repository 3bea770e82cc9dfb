"""The transformer: its step, its memory, and the names of its columns."""

import numpy as np
import pandas as pd
import pytest
from helpers import cases_in_text, panel_with

import genperf as gp
from genperf.errors import ModelError, TableError
from genperf.formula import parse
from genperf.models import ALIASES
from genperf.models.transformer import build, build_memory
from genperf.models.transformer_layout import number_of_word
from genperf.panel import read_table
from genperf.panel.panel import DERIVED
from genperf.panel.reading import read_columns
from genperf.table import Factor
from genperf.table.cells import measure

RUN = {
    "devices": [16.0], "dp": [2.0], "tp": [4.0], "pp": [2.0], "gbs": [32.0], "mbs": [2.0], "nodes": [2.0],
    "params": [1e9], "hidden": [2000.0], "layers": [20.0], "seq": [1000.0],
}  # fmt: skip
NAMES = {"seq": "seq_length"}


def columns(**changes):
    return {NAMES.get(k, k): np.asarray(v) for k, v in {**RUN, **changes}.items()}


def factors_of(values):
    """Describe columns as if they varied, so that no term is left out."""
    texts = {k for k, v in values.items() if np.asarray(v).dtype.kind == "U"}
    out = []
    for name, cells in values.items():
        if name in texts:
            out.append(measure(name, "categorical", [str(c) for c in cells]))
        else:
            out.append(measure(name, "extrinsic", np.r_[cells, 64.0 * cells[0]]))
    return panel_with(out)


def terms(values, **constants):
    """Return the terms of the first run, with all coefficients 1 but those given."""
    expression = build(factors_of(values))
    ones = dict.fromkeys(expression.constant_names, 1.0) | constants
    return {name: float(term[0]) for name, term in expression.term_values(values, ones).items()}


def test_a_step_worked_by_hand():
    # m = 32/(2·2) = 8 micro-batches of 2 samples × 1000 tokens on 4·2 devices:
    # W = 6·1e9·2000/8 = 1.5e12 and A = 12·20·2000·1000·2000/8 = 1.2e11 operations a micro-batch.
    step = terms(columns())
    assert step["matrix"] == pytest.approx(8 * 1.5e12)
    assert step["attention"] == pytest.approx(8 * 1.2e11)
    # Small products: 6·1e9/(2·2000); and 10 layers to launch.
    assert (step["kernels"], step["launches"]) == pytest.approx((8 * 1.5e6, 80))
    # 10 layers a stage, 2 samples × 1000 tokens × 2000 wide, (4 − 1)/4 of them to others.
    assert step["tensor"] == pytest.approx(8 * 10 * 4e6 * 0.75)
    # 3 steps of a ring of 4.
    assert step["tensor latency"] == pytest.approx(8 * 10 * 3)
    assert step["tensor between nodes"] == 0.0
    assert (step["pipeline"], step["pipeline latency"]) == pytest.approx((8 * 4e6, 8))
    # The second stage waits for one whole pass of the first, with its exchange.
    passes = ("matrix", "attention", "kernels", "launches", "tensor", "tensor latency", "pipeline", "pipeline latency")
    assert step["bubble"] == pytest.approx(sum(step[name] for name in passes) / 8)
    # 1e9/8 weights on a device; 2 × 4 devices fill a node of 8, so that nothing goes between nodes.
    assert step["data"] == pytest.approx(1e9 / 8 * 0.5)
    assert step["data between nodes"] == 0.0
    assert step["data latency"] == pytest.approx(2)
    assert step["update"] == pytest.approx(1e9 / 8)


def test_the_batch_of_a_pass_is_not_that_of_a_device():
    ways = ("dp", "tp", "pp", "mbs")
    assert not factors_of({name: np.array([2.0]) for name in ways}).has("global_batch")
    assert factors_of({name: np.array([2.0]) for name in (*ways, "grad_accumulation")}).has("global_batch")
    # Where every device has a replica of its own, it is.
    assert factors_of({name: np.array([2.0]) for name in ("devices", "micro_batch")}).has("global_batch")


def test_interleaved_stages_shorten_the_bubble_and_nothing_else():
    plain, interleaved = terms(columns(virtual_stages=[1.0])), terms(columns(virtual_stages=[4.0]))
    assert interleaved.pop("bubble") == pytest.approx(plain.pop("bubble") / 4)
    assert interleaved == plain


def test_tensor_ways_beyond_a_node_pay_for_it():
    wide = terms(columns(tp=[8.0], pp=[1.0], devices=[16.0], nodes=[4.0]))
    assert wide["tensor between nodes"] == pytest.approx(8 * 20 * 4e6)
    # Each of 4 devices of a node is in another group of data-parallel ways, and they share its links.
    assert wide["data between nodes"] == pytest.approx(1e9 / 8 * 4 * 0.75)


def test_experts_are_divided_and_their_tokens_go_to_them():
    step = terms(columns(dp=[8.0], ep=[4.0], gbs=[128.0], devices=[64.0], nodes=[8.0]))
    # 10 layers a stage, 2 samples × 1000 tokens × 2000 wide, of which 3/4 belong to experts elsewhere.
    assert step["experts"] == pytest.approx(8 * 10 * 4e6 * 0.75)
    assert step["experts latency"] == pytest.approx(8 * 10 * 3)
    # A device has a quarter of its share of the experts, and 8/4 = 2 devices have the same: (1/4)·(1 − 1/2).
    assert step["data of experts"] == pytest.approx(1e9 / 8 / 8)
    assert step["update of experts"] == pytest.approx(1e9 / 8 / 4)
    everywhere = terms(columns(dp=[8.0], ep=[8.0], gbs=[128.0], devices=[64.0], nodes=[8.0]))
    assert everywhere["data of experts"] == 0.0


def test_switches_add_what_they_cost():
    off = columns(zero=np.array(["none"]), recompute=np.array(["none"]), offload=np.array(["no"]))
    on = columns(zero=np.array(["stage3"]), recompute=np.array(["full"]), offload=np.array(["cpu"]))
    without, with_all = terms(off), terms(on)
    assert "gather" not in without or without["gather"] == 0.0
    assert with_all["gather"] == pytest.approx(8 * 1e9 / 8 * 0.5)
    assert with_all["recomputation"] == pytest.approx(with_all["matrix"] / 3)
    assert with_all["update"] == pytest.approx(without["update"] / 2)
    assert with_all["offload"] == pytest.approx(1e9 / 8)


def test_an_overlapped_exchange_is_hidden_behind_the_last_backward_pass():
    run = columns()
    serial, hidden = build(factors_of(run)), build(factors_of(run), "overlapped")
    constants = dict.fromkeys(serial.constant_names, 1e-12)
    for scale in (1.0, 1e3, 1e6):
        constants["beta_d"] = scale * 1e-8
        parts = {k: float(v[0]) for k, v in serial.term_values(run, constants).items()}
        exchange = parts["data"] + parts["data between nodes"]
        behind = 2 / 3 * (parts["matrix"] + parts["attention"]) / 8
        expected = sum(parts.values()) - exchange + max(0.0, exchange - behind)
        assert hidden.evaluate(run, constants)[0] == pytest.approx(expected)


@pytest.mark.parametrize(
    ("words", "known"),
    [
        ("zero", {"none": 0, "ZeRO-1": 1, "stage_2": 2, "FULL_SHARD": 3, "shard grad op": 2, "True": 1}),
        ("recomputation", {"none": 0, "full": 1, "Selective": 0.1, "1": 1}),
        ("offload", {"cpu": 1, "none": 0, "nvme": 1}),
    ],
)
def test_words_are_understood(words, known):
    assert {word: number_of_word(words, word, "c") for word in known} == known


@pytest.mark.usefixtures("few_counts")
def test_a_word_that_is_not_known_is_named_and_auto_goes_on_without_the_family():
    rng = np.random.default_rng(0)
    runs = runs_of({"a": 2e-13}, 24, rng).assign(zero=rng.choice(["none", "stage9"], 24))
    roles = {"time": "s", "intrinsic": "params,gbs,mbs", "extrinsic": "dp,tp,pp", "categorical": "zero"}
    with pytest.raises(
        ModelError, match="column 'zero': 'stage9' is no stage of ZeRO or FSDP that is known"
    ) as refused:
        gp.fit(runs, "transformer", **roles)
    assert "did you mean 'stage3'" in str(refused.value)
    fitted = gp.fit(runs, "auto", draws=20, **roles)
    assert all(member.expression.family != "transformer" for member in fitted.members)


def runs_of(constants, count, rng):
    """Draw layouts of 1 to 64 devices whose time follows the family's law with some constants."""
    ways = rng.choice([1.0, 2.0, 4.0], (3, count))
    runs = pd.DataFrame({"dp": ways[0], "tp": ways[1], "pp": ways[2], "mbs": rng.choice([1.0, 2.0, 4.0], count)})
    runs["gbs"] = runs.dp * runs.mbs * rng.choice([2.0, 4.0, 8.0], count)
    runs["params"] = rng.choice([1e8, 1e9, 7e9], count)
    factors = panel_with(measure(name, "extrinsic", runs[name]) for name in runs)
    expression = build(factors)
    values = dict.fromkeys(expression.constant_names, 0.0) | constants
    columns = {name: runs[name].to_numpy() for name in runs}
    return runs.assign(s=expression.evaluate(columns, values) * np.exp(0.01 * rng.standard_normal(count)))


def test_its_constants_are_recovered():
    rng = np.random.default_rng(1)
    runs = runs_of({"a": 2e-13, "beta_d": 1e-10, "alpha_t": 1e-4, "c": 0.01}, 120, rng)
    fitted = gp.fit(runs, "transformer", time="s", intrinsic="params,gbs,mbs", extrinsic="dp,tp,pp", draws=20)
    assert fitted.metrics["mape"] < 3.0
    assert fitted.best.values["a"] == pytest.approx(2e-13, rel=0.03)
    assert any("goes without" in str(n) and "sequence" in str(n) for n in fitted.notes)


# --- the memory of a device: worked by hand, what divides it, and its place in `auto` --------------------------------

RUN_TRANSFORMER_MEMORY = {
    "dp": 4.0, "tp": 2.0, "pp": 4.0, "gbs": 64.0, "mbs": 2.0, "params": 8e9, "hidden": 4000.0, "layers": 40.0,
    "seq_length": 1000.0, "heads": 32.0,
}  # fmt: skip


def parts(**changes):
    """Return the parts of one run with coefficients of 1; switches as `zero=3`."""
    run = {name: np.array([value]) for name, value in {**RUN_TRANSFORMER_MEMORY, **changes}.items()}
    factors = panel_with(measure(name, "extrinsic", np.r_[cells, 64.0]) for name, cells in run.items())
    expression = build_memory(factors)
    ones = dict.fromkeys(expression.constant_names, 1.0)
    return {name: float(term[0]) for name, term in expression.term_values(run, ones).items()}


def test_the_parts_worked_by_hand():
    memory = parts()
    assert memory["states"] == pytest.approx(8e9 / 8)
    # 40/4 layers a stage, 4 micro-batches in flight, 2 samples × 1000 tokens × 4000 wide, over 2 tensor ways or whole.
    assert memory["activations"] == pytest.approx(10 * 4 * 2 * 1000 * 4000 / 2)
    assert memory["norms"] == pytest.approx(10 * 4 * 2 * 1000 * 4000)
    assert memory["buckets"] == pytest.approx(8e9 / 8)
    assert memory["attention"] == pytest.approx(10 * 4 * 2 * 1000**2 * 32 / 2)
    assert memory["constant"] == 1.0


def test_what_a_layout_changes_in_the_parts():
    # One replica exchanges no gradients, 8 samples fill a pipeline in part, offloaded states are not on the device.
    assert parts(dp=1.0)["buckets"] == 0.0
    assert parts(gbs=8.0)["activations"] == pytest.approx(parts()["activations"] / 4)
    assert parts(zero_stage=2.0, offload=1.0)["optimizer"] == 0.0
    # Logits are of a single stage: 2 samples × 1000 tokens × 32000 words over 2 tensor ways.
    assert "logits" not in parts()
    assert parts(pp=1.0, vocab_size=32000.0)["logits"] == pytest.approx(2 * 1000 * 32000 / 2)
    assert parts(vocab_size=32000.0)["logits"] == 0.0


@pytest.mark.parametrize(
    ("stage", "divided"),
    [(0, set()), (1, {"optimizer"}), (2, {"optimizer", "gradients"}), (3, {"optimizer", "gradients", "weights"})],
)
def test_zero_divides_the_states_stage_by_stage(stage, divided):
    memory = parts(zero_stage=float(stage))
    for name in ("weights", "gradients", "optimizer"):
        assert memory[name] == pytest.approx(1e9 / (4 if name in divided else 1))


def test_recomputed_layers_keep_their_inputs_and_one_is_at_work():
    kept, recomputed = parts(recompute=0.0), parts(recompute=1.0)
    assert kept["inputs"] == 0.0
    for name in ("activations", "norms", "attention"):
        assert recomputed[name] == pytest.approx(kept[name] / 40)  # 10 layers of 4 micro-batches
    assert recomputed["inputs"] == pytest.approx(10 * 4 * 2 * 1000 * 4000)


@pytest.mark.usefixtures("few_counts")
def test_auto_takes_it_for_a_memory_and_not_for_a_time():
    rng = np.random.default_rng(0)
    ways = rng.choice([1.0, 2.0, 4.0], (3, 50))
    runs = pd.DataFrame({"dp": ways[0], "tp": ways[1], "pp": ways[2], "mbs": rng.choice([1.0, 2.0, 4.0], 50)})
    runs["gbs"], runs["params"] = 32.0 * runs.dp, rng.choice([1e9, 4e9, 8e9], 50)
    # Width and layers both grow with the cube root of the parameters.
    activations = 1.5 * (runs.params / 1e9) ** (2 / 3) * runs.mbs / runs.tp
    runs["gb"] = (18e-9 * runs.params / (runs.tp * runs.pp) + activations + 2.0) * np.exp(
        0.01 * rng.standard_normal(50)
    )
    roles = {"intrinsic": "params,mbs,gbs", "extrinsic": "dp,tp,pp", "draws": 20}
    memory = gp.fit(runs, "auto", quantity="gb:GB", **roles)
    assert {m.expression.family for m in memory.members} & {"transformer-memory"}
    seconds = gp.fit(runs, "auto", time="gb", **roles)
    assert "transformer-memory" not in {m.expression.family for m in seconds.members}
    alone = gp.fit(runs, "transformer-memory", quantity="gb:GB", **roles)
    assert alone.metrics["mape"] < 5.0


# --- the names of a transformer's layout in the spellings of the frameworks, and what follows from them --------------

#: A name of the field → its spellings in Megatron-LM, DeepSpeed, FSDP, nanotron and NeMo.
SPELLINGS = {
    "data_parallel": ("parallelism.dp",),
    "tensor_parallel": ("--tensor-model-parallel-size", "parallelism.tp", "model.tensor_model_parallel_size"),
    "pipeline_parallel": ("--pipeline-model-parallel-size", "parallelism.pp"),
    "virtual_stages": ("model.virtual_pipeline_model_parallel_size",),
    "micro_batch": ("--micro-batch-size", "train_micro_batch_size_per_gpu"),
    "micro_batches": ("gradient_accumulation_steps", "tokens.batch_accumulation_per_replica",
                      "trainer.accumulate_grad_batches"),
    "global_batch": ("train_batch_size",),
    "sequence": ("--seq-length", "tokens.sequence_length", "model.encoder_seq_length"),
    "heads": ("--num-attention-heads",),
    "zero": ("zero_optimization.stage", "sharding_strategy"),
    "offload": ("cpu_offload",),
    "precision": ("mixed_precision",),
    "recomputation": ("model.activations_checkpoint_granularity",),
}  # fmt: skip


@pytest.mark.parametrize("name", SPELLINGS)
def test_each_framework_is_understood(name):
    role = "categorical" if name in ("zero", "offload", "precision", "recomputation") else "extrinsic"
    for column in SPELLINGS[name]:
        factor = Factor(column, role, 1.0, 8.0, distinct=2, positive=True, levels=("a", "b"))
        assert panel_with([factor]).named(name) == factor


@cases_in_text("columns, wanted, formula")
def test_what_follows_from_the_columns(columns, wanted, formula):
    node = panel_with(Factor(name, "extrinsic") for name in columns).node(wanted)
    assert node == (None if formula is None else parse(formula).node)
    assert {*DERIVED} <= set(ALIASES)


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
