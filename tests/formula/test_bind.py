import numpy as np

from genperf.formula import Call, bind, bind_values, evaluate, evaluate_with_gradient, names_in, parse, render
from genperf.formula.nodes import Column, Number, PowerProduct

COLUMNS = {"n": np.array([1.0, 2.0, 8.0]), "b": np.array([16.0, 32.0, 32.0]), "z": np.array([0.0, 1.0, 2.0])}


def test_powers_of_positive_columns_become_one_product() -> None:
    tree = bind(parse("(n/2)**p*(b/16)**q").node, COLUMNS)
    assert isinstance(tree, PowerProduct)
    assert np.allclose(tree.logarithms, np.log([COLUMNS["n"] / 2, COLUMNS["b"] / 16]))


def test_a_column_with_zero_keeps_its_power() -> None:
    tree = bind(parse("z**p").node, COLUMNS)
    assert not isinstance(tree, PowerProduct)
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
    tree = bind(node, COLUMNS)
    constants = {"a": 2.0, "p": 0.5, "d": -0.3}
    assert isinstance(tree, Call)
    assert isinstance(tree.arguments[1], PowerProduct)
    assert np.allclose(evaluate(tree, constants), evaluate(node, {**COLUMNS, **constants}))


def test_the_exponential_of_a_sum_of_columns_is_one_product() -> None:
    node = parse("exp(p*where(n > 1, 1, 0) + z*q)").node
    tree = bind(node, COLUMNS)
    assert isinstance(tree, PowerProduct)
    assert tree.logarithms.shape == (2, 3)
    constants = {"p": 0.3, "q": -0.2}
    assert np.allclose(evaluate(tree, constants), evaluate(node, {**COLUMNS, **constants}))
    assert not isinstance(bind(parse("exp(p*n + q)").node, COLUMNS), PowerProduct)


def test_a_product_of_several_addends_is_one_part() -> None:
    node = parse("a*b*exp(p*z) + max(0, c*n*exp(p*z) - a*z*exp(p*z)) - exp(p*z)").node
    tree = bind(node, COLUMNS)
    found = set()

    def look(part: object) -> int:
        if isinstance(part, PowerProduct):
            found.add(id(part))
            return 1
        return sum(map(look, part.arguments)) if isinstance(part, Call) else 0

    assert look(tree) == 4
    assert len(found) == 1
    constants = {k: np.random.default_rng(0).uniform(0.5, 2.0, (5, 1)) for k in "acp"}
    expected, slopes = evaluate_with_gradient(node, {**COLUMNS, **constants}, list("acp"))
    value, gradient = evaluate_with_gradient(tree, constants, list("acp"))
    assert np.allclose(value, expected)
    for name in "acp":
        assert np.allclose(gradient[name], slopes[name])
