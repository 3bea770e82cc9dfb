"""Limits of the families, and the terms of the generic expression."""

import itertools

import numpy as np
import pandas as pd
import pytest
from helpers import cases_in_text, panel_with

import genperf as gp
from genperf.models import MODELS
from genperf.models.generic import Structure, generic, interactions, with_interactions
from genperf.table import Factor


def terms_at(name, constants, **columns):
    """Return a family's terms and total for columns of values, every constant 1 unless given."""
    columns = {k: np.asarray(v, float) for k, v in columns.items()}
    expression = MODELS[name].expressions(panel_with([Factor(k, "extrinsic") for k in columns]))[0]
    values = {**dict.fromkeys(expression.constant_names, 1.0), **constants}
    assert set(constants) <= set(expression.constant_names)
    return expression.term_values(columns, values), expression.evaluate(columns, values)


@cases_in_text("name, silent")
def test_one_worker_communicates_nothing(name, silent):
    terms, _ = terms_at(name, {}, workers=[1], nodes=[1], batch=[32], bytes=[1e8])
    assert [terms[t][0] for t in silent] == [0.0] * len(silent)


def test_the_universal_law_is_gunthers():
    n = np.array([1.0, 2, 5, 16, 100])
    sigma, kappa = 0.1, 0.002
    capacity = n / (1 + sigma * (n - 1) + kappa * n * (n - 1))
    # Strong scaling: one unit of work, 1/capacity seconds.
    _, strong = terms_at("usl", {"c": sigma, "a": 1 - sigma, "k": kappa}, workers=n)
    assert strong == pytest.approx(1 / capacity)
    # Weak scaling: n batches of 4 samples at 1 s a sample.
    _, weak = terms_at("usl", {"c": 0.0, "s": sigma, "a": 1 - sigma, "k": kappa}, workers=n, batch=np.full(5, 4.0))
    assert weak == pytest.approx(4 * n / capacity)


@pytest.mark.parametrize(
    ("name", "factors", "constants", "seconds"),
    [
        ("amdahl", {"workers": 4, "batch": 2}, {"c": 1, "s": 0.1, "a": 3}, 1 + 0.8 + 6),
        ("usl", {"workers": 4, "batch": 2}, {"c": 1, "s": 0.1, "a": 3, "k": 0.01}, 1 + 0.8 + 6 + 0.24),
        ("ernest", {"workers": 4, "batch": 2}, {"c": 1, "a": 3, "b": 0.5, "d": 0.25}, 1 + 6 + 1 + 1),
        ("logarithmic", {"workers": 4, "batch": 2}, {"c": 1, "a": 3, "b": 0.5}, 1 + 6 + 1),
        ("power-law", {"workers": 4, "batch": 2}, {"c": 1, "a": 3, "b": 0.5, "q": 0.5}, 1 + 6 + 1),
        # 4 devices on each of 2 nodes: 3/4 of the bytes inside, 1/2 between.
        (
            "topology", {"workers": 8, "nodes": 2, "batch": 4, "bytes": 10},
            {"c": 1, "a": 0.5, "beta_r": 0.1, "beta_n": 0.2, "alpha": 0.3}, 1 + 2 + 0.75 + 1 + 0.3,
        ),
        (
            "ring-allreduce", {"workers": 4, "batch": 6, "bytes": 10}, {"a": 1, "beta": 0.4, "alpha": 0.5, "c": 1},
            2 + max(4, 6 + 3) + 1,
        ),
        (
            "parameter-server", {"workers": 4, "servers": 2, "batch": 6, "bytes": 10},
            {"a": 1, "beta": 0.4, "alpha": 0.5, "c": 1}, 1 + 6 + 16 + 1,
        ),
        (
            "peer-to-peer", {"workers": 4, "batch": 6, "bytes": 10}, {"a": 1, "beta": 0.4, "alpha": 0.5, "c": 1},
            1 + 6 + 12 + 1.5,
        ),
        # Input 0.1·6·4 + 0.5·6 = 5.4, forward 2, backward 4, exchange 1.5 + 2 + 4.2 = 7.7, update 0.5.
        *(
            (
                name,
                {"workers": 8, "nodes": 2, "batch": 6, "bytes": 10},
                {"i": 0.1, "a": 1, "beta_r": 0.1, "beta_n": 0.2, "alpha": 0.3, "u": 0.5, **h},
                seconds,
            )
            for name, h, seconds in [
                ("s-sgd", {"h": 0.5}, 2 + 7.7 + 0.5),
                ("s-sgd-input", {"h": 0.5}, 2 + 4 + 7.7 + 0.5),
                ("s-sgd-none", {}, 2.4 + 2 + 4 + 7.7 + 0.5),
                ("s-sgd", {"h": 5.0}, 2.4 + 30),
            ]
        ),
        (
            "cntk", {"workers": 4, "samples": 100, "iterations": 10, "batch": 6},
            {"i0": 1, "i1": 0.01, "q": 0.5, "a": 1, "c": 1, "s": 2}, 1 + 2 + 10 * max(7, 8),
        ),
        # 50·(3/8 + 0.1·2·3/4 + 0.01·8·3/4 + 0.2·3) + 5·(0.03·50·2/5 + 0.4)
        (
            "adam",
            {
                "workers": 2, "partitions": 4, "threads": 2, "servers": 5, "samples": 100, "batch": 10, "work": 30,
                "activations": 8, "bytes": 50,
            },
            {"a": 1, "eta": 1, "kappa": 0.1, "beta_a": 0.01, "alpha_a": 0.2, "beta_w": 0.03, "alpha_w": 0.4},
            50 * (0.375 + 0.15 + 0.06 + 0.6) + 5 * (0.6 + 0.4),
        ),
        # 3 and 4 seconds at right angles.
        (
            "goodput", {"workers": 4, "nodes": 2, "batch": 4},
            {"c": 1, "a": 0.5, "alpha_n": 2, "beta_n": 1, "gamma": 2}, 5,
        ),
        (
            "goodput", {"workers": 4, "nodes": 1, "batch": 4},
            {"c": 1, "a": 0.5, "alpha_r": 2, "beta_r": 1, "gamma": 2}, 5,
        ),
    ],
)  # fmt: skip
def test_worked_by_hand(name, factors, constants, seconds):
    _, total = terms_at(name, constants, **{k: [v] for k, v in factors.items()})
    assert total == pytest.approx([seconds])


# --- the generic expression's parts: counts that follow others -------------------------------------------------------


def test_a_count_that_follows_another_has_a_step_in_every_structure() -> None:
    devices = Factor("devices", "extrinsic", 1, 16, centre=4.0, distinct=5, integer=True, positive=True)
    nodes = Factor("nodes", "extrinsic", 1, 2, centre=1.4, distinct=2, integer=True, positive=True)
    for name in ("separable", "per-term", "product"):
        names = generic([devices, nodes], Structure(name), following={"nodes"}).constant_names
        assert any(n.endswith("_nodes") and n.startswith("d") for n in names), name
        assert not any(n.endswith("_nodes") and n.startswith("q") for n in names), name


# --- interactions: which are offered, how they are named, and what they do to an expression --------------------------

NETS = ("bert", "resnet", "vgg")


def table(rows: list[tuple[float, str, str]]) -> gp.Table:
    frame = pd.DataFrame(rows, columns=["batch", "net", "precision"]).assign(t=1.0)
    return gp.read_table(frame, time="t", intrinsic="batch", categorical="net,precision")


FULL = table(list(itertools.product([8.0, 16.0, 32.0, 64.0], NETS, ("fp16", "fp32"))))


def test_columns_that_repeat_another_are_offered_once() -> None:
    # Every network has one precision: the combinations are the networks, and fp16 is bert.
    pairs = [("bert", "fp16"), ("resnet", "fp32"), ("vgg", "fp32")]
    runs = table([(b, n, p) for b in (8.0, 16.0, 32.0, 64.0) for n, p in pairs])
    offered = interactions(runs.factors, runs.columns)
    assert [{effect.meaning.factor for effect in one} for one in offered] == [{"batch"}]


def test_many_combinations_for_few_rows_are_not_offered() -> None:
    runs = table([(8.0 * (k + 1), n, p) for k, (n, p) in enumerate(itertools.product(NETS, ("fp16", "fp32")))])
    assert not any(":" in effect.name for one in interactions(runs.factors, runs.columns) for effect in one)


def test_an_effect_multiplies_every_term_but_the_constant_one() -> None:
    base = generic(FULL.factors, Structure("product", 1))
    whole = with_interactions(base, interactions(FULL.factors, FULL.columns))
    values = {c.name: 0.0 for c in whole.constants} | {"C": 1.0, "a1": 2.0, "d_net:precision[vgg:fp16]": np.log(3.0)}
    columns = {
        "batch": np.array([8.0, 8.0]),
        "net": np.array(["vgg", "vgg"], object),
        "precision": np.array(["fp16", "fp32"], object),
    }
    assert whole.evaluate(columns, values) == pytest.approx([1.0 + 2.0 * 3.0, 1.0 + 2.0])
