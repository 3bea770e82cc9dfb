"""What constants mean: held in the model file."""

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


@pytest.mark.parametrize("structure", STRUCTURES)
def test_a_file_holds_what_constants_mean(structure: str) -> None:
    result = gp.fit(table(), "generic", structure=structure, draws=5)
    again = parse_model(dump_model(result))
    assert isinstance(again, FitResult)
    assert [c.meaning for c in again.best.expression.constants] == [c.meaning for c in result.best.expression.constants]
    assert level_exponents(again) == level_exponents(result)
    assert written_lines(again) == written_lines(result)


def test_a_level_that_differs_is_told_by_its_meaning() -> None:
    result = gp.fit(table(), "generic", structure="grown", draws=5)
    (largest, *_) = level_exponents(result)
    assert (largest.categorical, largest.factor) == ("net", "batch")
    assert largest.exponent - largest.shared == pytest.approx({"a": -0.3, "b": 0.0, "c": 0.3}[largest.level], abs=0.1)
