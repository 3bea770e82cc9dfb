import numpy as np

from genperf.formula import (
    Call,
    PowerSum,
    bind,
    bind_values,
    evaluate,
    evaluate_with_gradient,
    names_in,
    parse,
    power_sum,
    render,
    with_sums,
)
from genperf.formula.nodes import Column, Number

COLUMNS = {"n": np.array([1.0, 2.0, 8.0]), "b": np.array([16.0, 32.0, 32.0]), "z": np.array([0.0, 1.0, 2.0])}


def test_powers_of_positive_columns_become_one_product() -> None:
    total = power_sum(bind(parse("(n/2)**p*(b/16)**q").node, COLUMNS), ["p", "q"], 3)
    assert total is not None
    assert np.allclose(total.logarithms, [np.log([COLUMNS["n"] / 2, COLUMNS["b"] / 16])])


def test_a_column_with_zero_keeps_its_power() -> None:
    tree = with_sums(bind(parse("z**p").node, COLUMNS), ["p"], 3)
    assert isinstance(tree, Call)
    assert evaluate(tree, {"p": 2.0}).tolist() == [0.0, 1.0, 4.0]


def test_what_does_not_depend_on_constants_is_computed_once() -> None:
    assert isinstance(bind(parse("log2(n) + b").node, COLUMNS), Column)
    assert bind(parse("2 + 3*4").node, {}) == Number(14.0)


def test_bound_tree_equals_unbound_for_many_sets() -> None:
    node = parse("a*(n/2)**p*(b/16)**q + c*log2(n) + n**(p + q)").node
    constants = {k: np.random.default_rng(0).uniform(0.5, 2.0, (5, 1)) for k in "apqc"}
    tree = bind(node, COLUMNS)
    expected, slopes = evaluate_with_gradient(node, {**COLUMNS, **constants}, list("apqc"))
    value, gradient = evaluate_with_gradient(tree, constants, list("apqc"))
    assert value.shape == (5, 3)
    assert np.allclose(value, expected)
    for name in "apqc":
        assert np.allclose(np.broadcast_to(gradient[name], (5, 3)), np.broadcast_to(slopes[name], (5, 3)))


def test_fixing_constants() -> None:
    node = bind_values(parse("a*n + c").node, {"c": 0.1})
    assert render(node) == "a*n + 0.1"
    assert names_in(node) == {"a", "n"}


def test_text_comparison_is_bound() -> None:
    node = parse("where(framework == 'mxnet', d, 0)", texts=["framework"], names=["framework", "d"]).node
    tree = bind(node, {"framework": np.array(["mxnet", "pytorch"])})
    assert evaluate(tree, {"d": 2.0}).tolist() == [2.0, 0.0]


def test_exponential_of_a_column_joins_the_product() -> None:
    node = parse("a*(n/2)**p*exp(d*where(n > 1, 1, 0))").node
    tree = with_sums(bind(node, COLUMNS), "apd", 3)
    constants = {"a": 2.0, "p": 0.5, "d": -0.3}
    assert isinstance(tree, PowerSum)
    assert tree.logarithms.shape == (1, 2, 3)
    assert np.allclose(evaluate(tree, constants), evaluate(node, {**COLUMNS, **constants}))


def test_the_exponential_of_what_is_linear_in_constants_is_one_product() -> None:
    for text in ("exp(p*where(n > 1, 1, 0) + z*q)", "exp(p*z - q*n)*b**-p", "n**(p + 2*q)"):
        node = parse(text).node
        total = power_sum(bind(node, COLUMNS), "pq", 3)
        assert total is not None
        assert total.factor.size == 1
        assert not total.plain
        expected = evaluate(node, {**COLUMNS, "p": 0.3, "q": -0.2})
        assert np.allclose(total.values(np.array([[0.3, -0.2]])), expected)
    assert power_sum(bind(parse("exp(p*n + 1)").node, COLUMNS), "p", 3) is None


def test_the_sums_of_a_tree_are_computed_each_as_a_whole() -> None:
    node = parse("a*b*exp(p*z) + max(0, c*n*exp(p*z) - a*z*exp(p*z)) - exp(p*z)").node
    tree = with_sums(bind(node, COLUMNS), "acp", 3)
    assert [type(part) for part in tree.arguments] == [PowerSum, Call]
    assert [type(part) for part in tree.arguments[1].arguments] == [Number, PowerSum]
    constants = {k: np.random.default_rng(0).uniform(0.5, 2.0, (5, 1)) for k in "acp"}
    expected, slopes = evaluate_with_gradient(node, {**COLUMNS, **constants}, list("acp"))
    value, gradient = evaluate_with_gradient(tree, constants, list("acp"))
    assert np.allclose(value, expected)
    for name in "acp":
        assert np.allclose(gradient[name], slopes[name])
