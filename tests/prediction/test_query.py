from typing import Any

import numpy as np
import pandas as pd
import pytest

from genperf.errors import TableError
from genperf.panel.target import Target
from genperf.prediction import Schema, read_query
from genperf.table import Factor

SCHEMA = Schema(
    (
        Factor("workers", "extrinsic", 1, 16, distinct=5, integer=True, positive=True),
        Factor("batch", "intrinsic", 32, 32, distinct=1, integer=True, positive=True),
        Factor("flops", "intrinsic", 10, 20, distinct=2, positive=True),
        Factor("framework", "categorical", distinct=2, levels=("mxnet", "pytorch")),
    ),
    Target("step_s"),
    derived={"flops": "10*layers"},
)
FULL = {"workers": 2, "flops": 10, "framework": "mxnet"}


def test_lists_combine_each_with_each() -> None:
    query = read_query({**FULL, "workers": [2, 4], "flops": [10, 20]}, SCHEMA)
    assert list(zip(query.columns["workers"], query.columns["flops"], strict=True)) == [
        (2, 10),
        (2, 20),
        (4, 10),
        (4, 20),
    ]


def test_two_names_of_one_factor_agree_or_are_refused() -> None:
    query = read_query({**FULL, "workers": [2, 4], "gpus": [2.0, 4.0]}, SCHEMA)
    assert query.columns["workers"].tolist() == [2.0, 4.0]
    with pytest.raises(TableError, match="'workers' and 'gpus' are one factor"):
        read_query({**FULL, "workers": [2, 4], "gpus": [2, 8]}, SCHEMA)


def test_a_factor_with_one_value_is_filled_in_and_said() -> None:
    query = read_query(FULL, SCHEMA)
    assert query.columns["batch"].tolist() == [32.0]
    assert "'batch' is taken as 32" in str(query.notes[0])


def test_a_derived_factor_is_derived_again() -> None:
    query = read_query({"workers": 2, "layers": 2, "framework": "mxnet"}, SCHEMA)
    assert query.columns["flops"].tolist() == [20.0]


def test_text_cells_become_numbers_and_other_columns_stay() -> None:
    frame = pd.DataFrame({"workers": ["2", "4"], "flops": [10, 20], "framework": ["mxnet"] * 2, "note": ["x", "y"]})
    query = read_query(frame, SCHEMA)
    assert query.columns["workers"].tolist() == [2.0, 4.0]
    assert query.given == ("workers", "flops", "framework", "note")
    assert query.take(np.array([False, True])).columns["flops"].tolist() == [20.0]


@pytest.mark.parametrize("values", [(2, 4), np.array([2, 4]), pd.Series([2, 4], index=[7, 5])])
def test_several_values_are_a_list_an_array_or_a_series(values: Any) -> None:
    assert read_query({**FULL, "workers": values}, SCHEMA).columns["workers"].tolist() == [2.0, 4.0]


@pytest.mark.parametrize(
    ("change", "said"),
    [
        ({"workers": "many"}, "'many' is not a number"),
        ({"workers": float("nan")}, "workers"),
        ({"workers": 0}, "is not above zero"),
        ({"workers": []}, "nothing is requested"),
        ({"framework": "mxnt"}, "did you mean 'mxnet'?"),
        ({"framwork": "mxnet"}, "did you mean 'framework'?"),
        ({"workers": list(range(1, 2000)), "flops": list(range(1, 2000))}, "combinations"),
        ({"flops": None}, "flops"),
    ],
)
def test_refused(change: dict[str, Any], said: str) -> None:
    with pytest.raises(TableError) as caught:
        read_query({**FULL, **change}, SCHEMA)
    assert said in str(caught.value)


def test_a_missing_factor_says_what_was_measured() -> None:
    with pytest.raises(TableError, match="measured from 1 to 16"):
        read_query({"flops": 10, "framework": "mxnet"}, SCHEMA)
    with pytest.raises(TableError, match="one of mxnet, pytorch"):
        read_query({"flops": 10, "workers": 1}, SCHEMA)


def test_an_empty_frame_is_refused() -> None:
    with pytest.raises(TableError, match="no row"):
        read_query(pd.DataFrame({"workers": []}), SCHEMA)
