"""Interactions: which are offered, how they are named, and what they do to an expression."""

import itertools

import numpy as np
import pandas as pd
import pytest

import genperf as gp
from genperf.models.generic import MAX_EFFECTS, Structure, generic
from genperf.models.interactions import interactions, with_interactions

NETS = ("bert", "resnet", "vgg")


def table(rows: list[tuple[float, str, str]]) -> gp.Table:
    frame = pd.DataFrame(rows, columns=["batch", "net", "precision"]).assign(t=1.0)
    return gp.read_table(frame, time="t", intrinsic="batch", categorical="net,precision")


FULL = table(list(itertools.product([8.0, 16.0, 32.0, 64.0], NETS, ("fp16", "fp32"))))


def test_levels_have_exponents_and_combinations_effects() -> None:
    offered = {one.name: [effect.name for effect in one.effects] for one in interactions(FULL.factors, FULL.columns)}
    assert offered["batch × net"] == [f"p_batch_net[{net}]" for net in NETS]
    assert offered["batch × precision"] == ["p_batch_precision[fp32]"]
    assert len(offered["net:precision"]) == 6
    assert offered["net:precision"][0] == "d_net:precision[bert:fp16]"


def test_columns_that_repeat_another_are_offered_once() -> None:
    # Every network has one precision: the combinations are the networks, and fp16 is bert.
    pairs = [("bert", "fp16"), ("resnet", "fp32"), ("vgg", "fp32")]
    runs = table([(b, n, p) for b in (8.0, 16.0, 32.0, 64.0) for n, p in pairs])
    offered = interactions(runs.factors, runs.columns)
    assert [one.name for one in offered] == ["batch × net"]


def test_many_combinations_for_few_rows_are_not_offered() -> None:
    runs = table([(8.0 * (k + 1), n, p) for k, (n, p) in enumerate(itertools.product(NETS, ("fp16", "fp32")))])
    assert not any(":" in one.name for one in interactions(runs.factors, runs.columns))


def test_no_more_effects_are_offered_than_can_be_learned() -> None:
    rows = [(8.0 * 2**b, f"net{k}", p) for b in range(2) for k in range(150) for p in ("fp16", "fp32")]
    runs = table(rows)
    offered = interactions(runs.factors, runs.columns)
    assert 100 < sum(len(one.effects) for one in offered) <= MAX_EFFECTS


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


def test_a_table_without_categories_has_nothing_to_offer() -> None:
    runs = pd.DataFrame({"workers": [1, 2, 4, 8], "t": [4.0, 2.0, 1.0, 0.5]})
    read = gp.read_table(runs, time="t", extrinsic="workers")
    assert interactions(read.factors, read.columns) == ()
