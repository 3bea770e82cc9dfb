"""The family of transformers: worked by hand, limiting cases, bad input, and its place in `auto`."""

import numpy as np
import pandas as pd
import pytest

import genperf as gp
from genperf.errors import ModelError
from genperf.models import MODELS, Factors
from genperf.models.transformer.step import build
from genperf.models.transformer.words import OFFLOAD, RECOMPUTATION, ZERO
from genperf.table.factor import measure

FAMILY = MODELS["transformer"]
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
    return Factors(tuple(out))


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
    assert step["bubble"] == pytest.approx(1.5e12 + 1.2e11)
    # 10 layers a stage, 2 samples × 1000 tokens × 2000 wide, (4 − 1)/4 of them to others.
    assert step["tensor"] == pytest.approx(8 * 10 * 4e6 * 0.75)
    assert step["tensor latency"] == pytest.approx(80)
    assert step["tensor between nodes"] == 0.0
    assert step["pipeline"] == pytest.approx(8 * 4e6)
    # 1e9/8 weights on a device; 2 × 4 devices fill a node of 8, so that nothing goes between nodes.
    assert step["data"] == pytest.approx(1e9 / 8 * 0.5)
    assert step["data between nodes"] == 0.0
    assert step["update"] == pytest.approx(1e9 / 8)


def test_interleaved_stages_shorten_the_bubble_and_nothing_else():
    plain, interleaved = terms(columns(virtual_stages=[1.0])), terms(columns(virtual_stages=[4.0]))
    assert interleaved.pop("bubble") == pytest.approx(plain.pop("bubble") / 4)
    assert interleaved == plain


def test_one_device_exchanges_nothing():
    one = terms(columns(devices=[1.0], dp=[1.0], tp=[1.0], pp=[1.0], nodes=[1.0]))
    silent = ("bubble", "pipeline", "tensor", "tensor latency", "tensor between nodes", "data", "data between nodes")
    assert {name: one[name] for name in silent} == dict.fromkeys(silent, 0.0)


def test_tensor_ways_beyond_a_node_pay_for_it():
    wide = terms(columns(tp=[8.0], pp=[1.0], devices=[16.0], nodes=[4.0]))
    assert wide["tensor between nodes"] == pytest.approx(8 * 20 * 4e6)
    assert wide["data between nodes"] == pytest.approx(1e9 / 8 * 0.75)


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


def test_the_short_form_has_fewer_constants_and_the_same_work():
    run = columns()
    short, serial = build(factors_of(run), "short"), build(factors_of(run))
    assert len(short.constants) < len(serial.constants) - 4
    ones = dict.fromkeys(serial.constant_names, 1.0)
    whole, part = serial.term_values(run, ones), short.term_values(run, ones)
    assert set(part) < set(whole)
    assert all(part[name] == pytest.approx(whole[name]) for name in part)


@pytest.mark.parametrize(
    ("words", "known"),
    [
        (ZERO, {"none": 0, "ZeRO-1": 1, "stage_2": 2, "FULL_SHARD": 3, "shard grad op": 2, "True": 1}),
        (RECOMPUTATION, {"none": 0, "full": 1, "Selective": 0.1, "1": 1}),
        (OFFLOAD, {"cpu": 1, "none": 0, "nvme": 1}),
    ],
)
def test_words_are_understood(words, known):
    assert {word: words.value(word, "c") for word in known} == known


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
    factors = Factors(tuple(measure(name, "extrinsic", runs[name]) for name in runs))
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


def test_it_takes_part_in_auto_although_it_does_not_know_a_column():
    rng = np.random.default_rng(2)
    runs = runs_of({"a": 2e-13, "beta_d": 1e-10, "alpha_t": 1e-4, "c": 0.01}, 60, rng)
    runs["ambient_c"] = rng.choice([20.0, 25.0, 30.0], 60)
    fitted = gp.fit(runs, "auto", time="s", intrinsic="params,gbs,mbs,ambient_c", extrinsic="dp,tp,pp", draws=20)
    assert any(member.expression.family == "transformer" for member in fitted.members)
