"""What constants mean: held in the model file, and of earlier files read from the names."""

import json

import numpy as np
import pandas as pd
import pytest

import genperf as gp
from genperf.attribution.written import level_exponents, written_lines
from genperf.models.generic import STRUCTURES
from genperf.result import FitResult, dump_model, parse_model


def table() -> gp.Table:
    """Runs whose columns end alike: `q_layers` and `layers`, `net` and `sub_net`."""
    grid = pd.MultiIndex.from_product(
        [(8, 16, 32, 64), (1, 2, 4), (1, 2, 4, 8), ("a", "b", "c"), ("x", "y")],
        names=["batch", "q_layers", "layers", "net", "sub_net"],
    ).to_frame(index=False)
    runs = grid.sample(120, random_state=0)
    power = runs.net.map({"a": 0.6, "b": 0.9, "c": 1.2})
    law = 0.01 * runs.batch**power * (1 + 0.3 * runs.layers) / runs.q_layers * np.where(runs.sub_net == "y", 2.0, 1.0)
    noise = np.exp(np.random.default_rng(0).normal(0.0, 0.02, len(runs)))
    roles = {"intrinsic": "batch,layers", "extrinsic": "q_layers", "categorical": "net,sub_net"}
    return gp.read_table(runs.assign(t=law * noise), time="t", **roles)


def without_meanings(text: str) -> str:
    """Return a model file as it was before it held meanings."""
    content = json.loads(text)
    meanings = 0
    for group in content["groups"]:
        for member in group["model"]["members"]:
            for constant in member["constants"]:
                meanings += constant.pop("meaning", None) is not None
    assert meanings
    return json.dumps(content)


@pytest.mark.parametrize("structure", STRUCTURES)
def test_a_file_without_meanings_is_read_as_one_with_them(structure: str) -> None:
    result = gp.fit(table(), "generic", structure=structure, draws=5)
    text = dump_model(result)
    earlier, now = parse_model(without_meanings(text)), parse_model(text)
    assert isinstance(earlier, FitResult)
    assert isinstance(now, FitResult)
    assert [c.meaning for c in now.best.expression.constants] == [c.meaning for c in result.best.expression.constants]
    of_names = {c.name: c.meaning and c.meaning.effect for c in earlier.best.expression.constants}
    assert of_names == {c.name: c.meaning and c.meaning.effect for c in now.best.expression.constants}
    assert level_exponents(earlier) == level_exponents(now)
    assert written_lines(earlier) == written_lines(now)
    assert dump_model(now) == text


def test_a_level_that_differs_is_told_by_its_meaning() -> None:
    result = gp.fit(table(), "generic", structure="grown", draws=5)
    (largest, *_) = level_exponents(result)
    assert (largest.categorical, largest.factor) == ("net", "batch")
    assert largest.exponent - largest.shared == pytest.approx({"a": -0.3, "b": 0.0, "c": 0.3}[largest.level], abs=0.1)
