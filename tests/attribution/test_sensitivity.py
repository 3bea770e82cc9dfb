"""Sobol indices against variances worked by hand."""

import numpy as np
import pytest
from msgspec.structs import replace
from worked_models import BATCH, FRAMEWORK, NODES, WORKERS, member, model

from genperf.attribution import Sobol, sensitivity
from genperf.errors import GenperfError

X, Y = (replace(BATCH, name=name, lower=1.0, upper=16.0, integer=False) for name in "xy")


def indices(found) -> dict:
    return found.indices.set_index("factor")[["first", "total"]].T.to_dict("list")


def test_of_a_sum_they_are_the_shares_of_the_variances() -> None:
    # x and 2·y over the same range: variances 1 : 4, and nothing together.
    found = indices(sensitivity(model(member({"x": "a*x", "y": "b*y"}, {"a": 1.0, "b": 2.0}), factors=(X, Y))))
    assert found == {"x": pytest.approx([0.2, 0.2], abs=0.02), "y": pytest.approx([0.8, 0.8], abs=0.02)}


def test_of_a_product_what_they_do_together_is_in_the_total() -> None:
    # x·y: with c² = Var/E² of each, first = c²/(2c² + c⁴), total = (c² + c⁴)/(2c² + c⁴). Evenly over ln x from 1 to 16,
    # E = 15/ln 16, E[x²] = 255/(2·ln 16).
    mean, square = 15 / np.log(16), 255 / (2 * np.log(16))
    c = square / mean**2 - 1
    expected = [c / (2 * c + c * c), (c + c * c) / (2 * c + c * c)]
    product = model(member({"xy": "a*x*y"}, {"a": 1.0}), factors=(X, Y))
    found = indices(sensitivity(product))
    assert found == {"x": pytest.approx(expected, abs=0.03), "y": pytest.approx(expected, abs=0.03)}
    # The logarithm of a product is a sum: halves, nothing together.
    assert indices(sensitivity(product, Sobol("log")))["x"] == pytest.approx([0.5, 0.5], abs=0.02)


def test_levels_vary_too() -> None:
    # 1 s or 3 s by framework (variance 1), and x over 1 to 2 evenly in ln x.
    terms = {"f": "a*where(framework == 'pytorch', 3, 1)", "x": "b*x"}
    result = model(member(terms, {"a": 1.0, "b": 1.0}, texts=("framework",)), factors=(X, FRAMEWORK))
    mean, square = 1 / np.log(2), 3 / (2 * np.log(2))
    share = 1 / (1 + square - mean**2)
    found = indices(sensitivity(result, Sobol(within={"x": (1, 2)})))
    assert found["framework"] == pytest.approx([share, share], abs=0.02)
    assert found["x"] == pytest.approx([1 - share, 1 - share], abs=0.02)


def test_intervals_are_those_of_the_draws() -> None:
    # b = 0 or 2: y makes none or four fifths of the variance.
    draws = [[1.0, 0.0], [1.0, 2.0]]
    found = sensitivity(model(member({"x": "a*x", "y": "b*y"}, {"a": 1.0, "b": 1.0}, draws), factors=(X, Y))).indices
    of_y = found.set_index("factor").loc["y"]
    assert of_y[["total_lower", "total_upper"]].tolist() == pytest.approx([0.0, 0.8], abs=0.02)


def test_nodes_follow_the_workers_and_what_has_no_effect_is_said() -> None:
    result = model(member({"n": "a*workers + b*nodes"}, {"a": 1.0, "b": 1.0}), factors=(WORKERS, NODES, X))
    found = sensitivity(result)
    assert found.indices["factor"].tolist() == ["workers"]
    assert found.notes == ("follows from the count of workers: nodes", "without effect in this model: x")
    assert indices(found)["workers"] == pytest.approx([1.0, 1.0], abs=0.03)


def test_the_same_seed_gives_the_same_indices() -> None:
    result = model(member({"xy": "a*x*y"}, {"a": 1.0}), factors=(X, Y))
    assert sensitivity(result, Sobol(seed=3)).indices.equals(sensitivity(result, Sobol(seed=3)).indices)


@pytest.mark.parametrize(
    ("within", "options", "message"),
    [
        ({"z": (1, 2)}, {}, "no factor 'z'"),
        ({"x": (0, 2)}, {}, "above zero"),
        ({"x": ("many", 2)}, {}, "'many' is not a value"),
        ({"framework": ["caffe"]}, {}, "not a measured level"),
        ({"x": 3}, {}, "no factor varies"),
        ({}, {"samples": 1000}, "power of two"),
        ({}, {"of": "space"}, "unknown quantity"),
    ],
)
def test_a_domain_that_is_none_is_refused(within: dict, options: dict, message: str) -> None:
    result = model(member({"x": "a*x"}, {"a": 1.0}), factors=(X, FRAMEWORK))
    with pytest.raises(GenperfError, match=message):
        sensitivity(result, Sobol(within=within, **options))
