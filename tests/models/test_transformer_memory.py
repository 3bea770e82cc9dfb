"""The memory of a device: worked by hand, what divides it, and its place in `auto`."""

import numpy as np
import pandas as pd
import pytest
from helpers import panel_with

import genperf as gp
from genperf.models.transformer_memory import build
from genperf.table.factor import measure

RUN = {
    "dp": 4.0, "tp": 2.0, "pp": 4.0, "gbs": 64.0, "mbs": 2.0, "params": 8e9, "hidden": 4000.0, "layers": 40.0,
    "seq_length": 1000.0, "heads": 32.0,
}  # fmt: skip


def parts(**changes):
    """Return the parts of one run with coefficients of 1; switches as `zero=3`."""
    run = {name: np.array([value]) for name, value in {**RUN, **changes}.items()}
    factors = panel_with(measure(name, "extrinsic", np.r_[cells, 64.0]) for name, cells in run.items())
    expression = build(factors)
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


def test_one_replica_exchanges_no_gradients():
    assert parts(dp=1.0)["buckets"] == 0.0


def test_expert_ways_divide_the_experts_and_nothing_else():
    dense, one, four = parts(), parts(ep=1.0), parts(ep=4.0)
    assert one.pop("experts") == pytest.approx(dense["states"])
    assert four.pop("experts") == pytest.approx(dense["states"] / 4)
    assert one == four == dense


def test_few_micro_batches_fill_a_pipeline_only_in_part():
    assert parts(gbs=8.0)["activations"] == pytest.approx(parts()["activations"] / 4)


@pytest.mark.parametrize(
    ("stage", "divided"),
    [
        (0, set()),
        (1, {"optimizer"}),
        (2, {"optimizer", "gradients"}),
        (3, {"optimizer", "gradients", "weights"}),
    ],
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


def test_selective_recomputation_leaves_out_the_scores_alone():
    run = {name: np.array([value, value]) for name, value in RUN.items()}
    run["recompute"] = np.array(["none", "selective"], dtype=object)
    names = [measure(n, "categorical" if n == "recompute" else "extrinsic", v) for n, v in run.items()]
    expression = build(panel_with(names))
    terms = expression.term_values(run, dict.fromkeys(expression.constant_names, 1.0))
    for name in ("activations", "norms"):
        assert terms[name][0] == terms[name][1] > 0.0
    assert terms["attention"][1] == pytest.approx(terms["attention"][0] / 40)
    assert terms["inputs"][1] == 0.0


def test_logits_are_of_a_single_stage():
    assert "logits" not in parts()
    # 2 samples × 1000 tokens × 32000 words over 2 tensor ways.
    assert parts(pp=1.0, vocab_size=32000.0)["logits"] == pytest.approx(2 * 1000 * 32000 / 2)
    assert parts(vocab_size=32000.0)["logits"] == 0.0


def test_offloaded_states_are_not_on_the_device():
    assert parts(zero_stage=2.0, offload=1.0)["optimizer"] == 0.0


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
