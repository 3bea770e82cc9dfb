"""The run that stands for the factors a question leaves open."""

import itertools

import pandas as pd
import pytest

import genperf as gp
from genperf.panel.configurations import typical_run
from genperf.prediction.schema import schema_of

#: Splits of transformers: the devices are the product of the three, which the centre of each factor is not.
SPLITS = pd.DataFrame(
    [
        {"net": net, "dp": dp, "tp": tp, "pp": pp, "devices": dp * tp * pp, "s": (2.0 + tp) * pp / dp}
        for net, dp, tp, pp in itertools.product(["bert", "gpt"], [1, 2, 8], [1, 4], [1, 2])
        if net == "bert" or tp > 1
    ]
)
SCHEMA = schema_of(
    gp.read_table(SPLITS, time="s", extrinsic="devices,dp", intrinsic="tp,pp", categorical="net"),
)


@pytest.mark.parametrize("given", [{}, {"devices": 4}, {"devices": 64}, {"devices": 1000, "net": "gpt"}, {"tp": 3}])
def test_the_values_were_measured_together(given: dict[str, float | str]) -> None:
    run = typical_run(SCHEMA.panel, given)
    same = (SPLITS[list(run)] == pd.Series(run)).all(axis=1)
    assert same.sum() == 1
    assert run["devices"] == run["dp"] * run["tp"] * run["pp"]


def test_a_larger_scale_goes_on_from_the_largest_run() -> None:
    assert typical_run(SCHEMA.panel, {"devices": 64})["devices"] == 64
    assert typical_run(SCHEMA.panel, {"devices": 4096})["devices"] == 64


def test_given_levels_hold() -> None:
    assert typical_run(SCHEMA.panel, {"net": "gpt"})["tp"] == 4


def test_one_run_stands_for_all_rows_of_a_curve() -> None:
    model = gp.fit(gp.read_table(SPLITS, time="s", extrinsic="devices,dp", intrinsic="tp,pp"), model="a*tp/devices + c")
    frame = model.completed({"devices": [1, 16, 256]})
    assert frame[["tp", "pp"]].drop_duplicates().shape == (1, 2)


def test_more_devices_are_more_data_parallel_ways() -> None:
    table = gp.read_table(SPLITS, time="s", extrinsic="devices,dp", intrinsic="tp,pp")
    frame = gp.fit(table, model="a*tp/dp + c").completed({"devices": [64, 512], "tp": 2})
    assert frame.dp.tolist() == [64 / 2 / frame.pp[0], 512 / 2 / frame.pp[0]]


def test_without_runs_it_is_the_centre() -> None:
    emptied = gp.read_table(SPLITS, time="s", extrinsic="devices", intrinsic="tp", categorical="net")
    schema = schema_of(emptied)
    bare = type(schema)(schema.factors, schema.target)
    assert typical_run(bare.panel, {}) == {"tp": 3.0, "devices": 10.0, "net": "bert"}
