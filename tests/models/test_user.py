import numpy as np
import pytest
from helpers import cases_in_text, panel_with

from genperf.errors import FormulaError
from genperf.models import ALIASES
from genperf.models.user import coefficients, user_expression
from genperf.table import Factor
from genperf.table.cells import measure

FACTORS = [
    Factor("gpus", "extrinsic"),
    Factor("batch", "extrinsic"),
    Factor("gpu count", "extrinsic"),
    Factor("framework", "categorical"),
]


@cases_in_text("text, kinds, terms, is_sum")
def test_constants_terms_and_totals(text, kinds, terms, is_sum):
    expression = user_expression(text, panel_with(FACTORS))
    assert {c.name: c.kind for c in expression.constants} == kinds
    assert [t.name for t in expression.terms] == terms
    assert expression.is_sum is is_sum
    columns = {"gpus": np.array([1.0, 4.0]), "batch": np.array([8.0, 16.0]), "gpu count": np.array([1.0, 4.0])}
    columns["framework"] = np.array(["mxnet", "pytorch"], dtype=object)
    constants = {name: 0.5 + 0.1 * k for k, name in enumerate(kinds)}
    as_written = user_expression(text, panel_with(FACTORS), fix=dict(list(constants.items())[1:])).evaluate(
        columns, constants
    )
    np.testing.assert_allclose(expression.evaluate(columns, constants), as_written, rtol=1e-14)


def test_the_bounds_of_each_kind():
    expression = user_expression("a*gpus**p/(gpus + k)", panel_with(FACTORS))
    assert {c.name: (c.lower, c.upper) for c in expression.constants} == {
        "a": (0.0, np.inf),
        "p": (-4.0, 4.0),
        "k": (1e-3, 1e3),
    }


def test_fixed_constants_are_numbers():
    expression = user_expression("a*gpus**p + c", panel_with(FACTORS), fix={"p": 2, "c": 0.1})
    assert str(expression) == "a*gpus**2 + 0.1"
    assert expression.constant_names == ("a",)


def test_columns_named_as_constants_are_columns():
    expression = user_expression("a*c + b", panel_with([Factor("c", "extrinsic")]))
    assert expression.constant_names == ("a", "b")
    assert expression.factors == ("c",)


def test_mapping_says_which_column_is_meant():
    expression = user_expression("a/workers", panel_with([*FACTORS, Factor("n", "extrinsic")], {"workers": "n"}))
    assert str(expression) == "a/n"


def test_a_mistyped_column_is_marked_where_it_stands():
    with pytest.raises(FormulaError) as refused:
        user_expression("c + batchh2*batchh", panel_with(FACTORS))
    assert refused.value.text[refused.value.column :].startswith("batchh2")


def test_a_text_beside_a_column_of_numbers_is_marked_where_it_stands():
    columns = [measure("workers", "extrinsic", [1, 2]), measure("system", "categorical", ["x", "y"])]
    assert user_expression("a + where(system == 'x', b, 0)", panel_with(columns)).constant_names == ("a", "b")
    with pytest.raises(FormulaError, match="a text can only be compared with a text column") as caught:
        user_expression("a + where(workers == 'x', b, 0)", panel_with(columns))
    assert caught.value.column == 10


def test_no_name_of_a_factor_becomes_a_constant():
    for alias in {a for aliases in ALIASES.values() for a in aliases} - {"global"}:  # a word of Python
        with pytest.raises(FormulaError, match="is a factor"):
            user_expression(f"z*{alias}", panel_with([measure("colours", "intrinsic", [1, 2])]))


@cases_in_text("text, true")
@pytest.mark.parametrize("fixed", [False, True])
def test_constants_come_back_from_exact_times(text, true, fixed, table):
    fix = dict([list(true.items())[-1]]) if fixed else {}
    expression = user_expression(text, panel_with(table.factors(["workers", "batch"])), fix=fix)
    constants, unidentified = table.recover(expression, {name: true[name] for name in expression.constant_names})
    assert not unidentified
    for name, value in constants.items():
        assert value == pytest.approx(true[name], rel=0.01), name


def test_the_larger_set_of_coefficients_is_taken():
    from genperf.formula import parse

    assert coefficients(parse("a*max(b*n, c) + d").node, ["a", "b", "c", "d"]) == ["b", "c", "d"]
    assert coefficients(parse("a*b + c*d").node, ["a", "b", "c", "d"]) == ["a", "c"]
    assert coefficients(parse("n**p").node, ["p"]) == []
