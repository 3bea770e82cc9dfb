"""Formulas: parsed, bound to columns, derived, and written as JavaScript."""

import numpy as np
import pytest
from helpers import cases_in_text
from hypothesis import given
from hypothesis import strategies as st

from genperf.formula import (
    FUNCTIONS,
    JAVASCRIPT,
    Call,
    Name,
    Node,
    Number,
    Text,
    bind,
    chain,
    evaluate,
    evaluate_with_gradient,
    in_language,
    latex,
    parse,
    power_sum,
    render,
)

NAMES = ["a", "b", "n", "workers", "gpu count", "lambda", "framework"]


@cases_in_text("text, expected")
def test_value(text: str, expected: float) -> None:
    assert parse(text).evaluate({}) == expected


def test_names_with_spaces_and_keywords() -> None:
    formula = parse("`gpu count`*2 + `lambda`", NAMES)
    assert formula.names == {"gpu count", "lambda"}
    assert formula.evaluate({"gpu count": np.array([1.0, 2.0]), "lambda": np.array([10.0, 20.0])}).tolist() == [12, 24]
    # Text columns are compared only.
    formula = parse("where(framework == 'mxnet', a, 0)", NAMES, texts=["framework"])
    columns = {"framework": np.array(["mxnet", "pytorch"])}
    assert formula.evaluate({**columns, "a": 3.0}).tolist() == [3.0, 0.0]
    assert evaluate(bind(formula.node, columns), {"a": 2.0}).tolist() == [2.0, 0.0]


leaves = st.one_of(
    st.floats(0, 1e6, allow_nan=False).map(Number), st.sampled_from(["a", "b", "gpu count", "lambda"]).map(Name)
)


def _grow(inner: st.SearchStrategy[Node]) -> st.SearchStrategy[Node]:
    binary = st.sampled_from(["add", "subtract", "multiply", "divide", "remainder", "max", "min"])
    return st.one_of(
        st.builds(lambda f, x, y: Call(f, (x, y)), binary, inner, inner),
        st.builds(lambda f, x: Call(f, (x,)), st.sampled_from(["log2", "exp", "abs"]), inner),
        st.builds(lambda x, y: Call("power", (x, y)), inner, st.sampled_from([Name("p"), Number(2.0), Number(-0.5)])),
        st.builds(lambda x: Call("negative", (x,)), inner.filter(lambda n: not isinstance(n, Number))),
        st.builds(lambda x, y, z: Call("where", (Call("less", (x, y)), y, z)), inner, inner, inner),
    )


trees = st.recursive(leaves, _grow, max_leaves=12)


def test_quotients_of_quotients_are_one_fraction() -> None:
    assert latex(parse("a/b/c**d").node) == r"\frac{a}{b \cdot c^{d}}"


@given(trees)
def test_text_reads_back_to_the_same_tree_and_latex_has_balanced_brackets(tree: Node) -> None:
    assert parse(render(tree)).node == tree
    text = latex(tree)
    assert text.count("{") == text.count("}")
    assert text.count(r"\left") == text.count(r"\right")


@cases_in_text("text")
def test_gradient_agrees_with_differences(text: str) -> None:
    node = parse(text).node
    values = {"a": 1.3, "b": 0.7, "c": 2.1, "p": 0.4, "q": 3.0, "n": np.array([1.5, 2.5, 7.25])}
    value, gradient = evaluate_with_gradient(node, values, list(values))
    assert np.allclose(value, evaluate(node, values))
    for name in values:
        step = 1e-6
        up = evaluate(node, {**values, name: values[name] + step})
        down = evaluate(node, {**values, name: values[name] - step})
        assert np.allclose(gradient.get(name, 0.0), (up - down) / (2 * step), rtol=1e-5, atol=1e-7)


# --- the JavaScript of a tree: every function has one, and names never become code -----------------------------------

#: By hand: formula → JavaScript, a and b standing for x[0] and x[1].
WRITTEN = [
    ("a - -1.5", "(x[0]-(-1.5))"),
    ("-a**2", "(-power(x[0],2.0))"),
    ("a/b*2", "((x[0]/x[1])*2.0)"),
    ("a % b", "remainder(x[0],x[1])"),
    ("where(a > 1 and not b == 2, a, b)", "(((x[0]>1.0)&&(!(x[1]===2.0)))?x[0]:x[1])"),
    ("max(a, b, 1)", "Math.max(x[0],x[1],1.0)"),
    ("1e-12*ceil(log(a))", "(1e-12*Math.ceil(Math.log(x[0])))"),
]


def javascript(node: Node, names: dict[str, str]) -> str:
    return in_language(node, names, JAVASCRIPT)


@pytest.mark.parametrize(("formula", "expected"), WRITTEN)
def test_written(formula: str, expected: str) -> None:
    assert javascript(parse(formula).node, {"a": "x[0]", "b": "x[1]"}) == expected


@pytest.mark.parametrize("function", FUNCTIONS)
def test_every_function_has_javascript(function: str) -> None:
    held = FUNCTIONS[function]
    arguments = tuple(Name(n) for n in "abc"[: min(held.most, 3)])
    text = javascript(Call(function, arguments), {n: f"x[{i}]" for i, n in enumerate("abc")})
    assert all(f"x[{i}]" in text for i in range(len(arguments)))


def test_a_sum_of_very_many_is_evaluated() -> None:
    assert evaluate(chain("add", [Number(1.0)] * 3000), {}) == 3000.0


def test_names_and_texts_are_never_code() -> None:
    hostile = "</script><script>alert(1)//`"
    node = Call("equal", (Name(hostile), Text(hostile)))
    text = javascript(node, {hostile: "x[0]"})
    assert text.startswith("(x[0]===")
    assert "<" not in text
    with pytest.raises(KeyError):
        javascript(node, {})
    with pytest.raises(TypeError, match="bound"):
        javascript(bind(parse("a*n").node, {"n": [1.0, 2.0]}), {"a": "c[0]"})
    values = float("inf"), -float("inf"), float("nan"), -0.0
    assert [javascript(Number(v), {}) for v in values] == ["Infinity", "(-Infinity)", "NaN", "(-0.0)"]


# --- a sum of products of powers gives what the tree gives, for all terms at once ------------------------------------

COLUMNS_POWER_SUM = {"n": np.array([1.0, 2.0, 8.0, 8.0]), "b": np.array([16.0, 32.0, 32.0, 64.0]), "z": np.arange(4.0)}
#: Formulas of this shape: one or more powers, shared exponents, numbers and columns beside them, no power at all.
SUMS = {
    "generic": "c + a*(n/2)**p*(b/32)**q + d*(b/16)**r*n**q",
    "an exponent in two places": "a*n**p*b**q + c*b**p",
    "unlike numbers of powers": "a*n**p*(b/32)**q*exp(d*where(n > 1, 1, 0)) + c*n**r",
    "shared by some terms": "a*n**p + c*b**q + d*(b/8)**p",
    "columns and numbers": "2*a*log2(n)*(b/32)**p/3 - c*n + 0.5 - n**q",
    "divided": "a/n + c*b**p/n",
    "no power": "c + a/n + d*log2(n)",
    "a number alone": "a*n**p + 3",
    "a constant in front of two terms with the same powers": "a*n + a*b + c*n**p*b + c*n**p",
    "one product of powers for several terms": "a*n*exp(p*z + q*b) + c*exp(p*z + q*b) + d*n**r + 2*exp(p*z + q*b)",
    "a product of a sum": "(a*n + c*b)*z*n**p - a*b*n**p",
    "a power of a sum of constants": "a*n**(p + q) + c",
}
#: Others: a constant in front of two terms, or inside one, two in front of one, a zero to a power, no sum.
OTHERS = ["a*n + a*b**p", "a*n + c*b**a", "a*c*n**p", "c + a*z**p", "max(a*n, b*c)", "a*n**(p + 1)", "a/(1 + c*n)"]


def bound(text: str) -> tuple[Node, dict[str, int]]:
    names = [name for name in "acdpqr" if name in text.replace("exp", "").replace("where", "").replace("max", "")]
    return bind(parse(text).node, COLUMNS_POWER_SUM), {name: j for j, name in enumerate(names)}


@pytest.mark.parametrize("name", SUMS)
@pytest.mark.parametrize("sets", [1, 5])
def test_same_values_and_derivatives_as_the_tree(name: str, sets: int) -> None:
    unbound = parse(SUMS[name]).node
    tree, positions = bound(SUMS[name])
    total = power_sum(tree, positions, 4)
    constants = np.random.default_rng(0).uniform(-1.0, 2.0, (sets, len(positions)))
    values = {n: constants[:, j : j + 1] for n, j in positions.items()}
    expected, slopes = evaluate_with_gradient(tree, values, list(positions))
    whole, gradient = evaluate_with_gradient(unbound, {**COLUMNS_POWER_SUM, **values}, list(positions))
    np.testing.assert_allclose(np.broadcast_to(whole, (sets, 4)), np.broadcast_to(expected, (sets, 4)), rtol=1e-12)
    for name in positions:
        np.testing.assert_allclose(*np.broadcast_arrays(gradient[name], slopes[name]), rtol=1e-9, atol=1e-12)
    np.testing.assert_allclose(total.values(constants), np.broadcast_to(expected, (sets, 4)), rtol=1e-12)
    for by in (tuple(positions.values()), tuple(positions.values())[::-2]):
        values, derivatives = total.derivatives(constants, by)
        np.testing.assert_allclose(values, np.broadcast_to(expected, (sets, 4)), rtol=1e-12)
        assert derivatives.shape == (sets, len(by), 4)
        names = list(positions)
        for j, position in enumerate(by):
            wanted = np.broadcast_to(slopes[names[position]], (sets, 4))
            np.testing.assert_allclose(derivatives[:, j], wanted, rtol=1e-12, atol=1e-14)
        # A set has the same bits whatever it is evaluated with.
        alone = total.derivatives(constants[-1:], by)
        np.testing.assert_array_equal(total.values(constants)[-1], total.values(constants[-1:])[0])
        np.testing.assert_array_equal(derivatives[-1], alone[1][0])


@pytest.mark.parametrize("text", OTHERS)
def test_other_shapes_are_left_to_the_tree(text: str) -> None:
    assert power_sum(*bound(text), 4) is None


def test_constants_that_are_nowhere_and_values_beyond_what_a_number_holds() -> None:
    tree, _ = bound("a*n**p")
    total = power_sum(tree, {"a": 0, "p": 1, "spare": 2}, 4)
    assert not total.derivatives(np.ones((2, 3)), (2, 0))[1][:, 0].any()
    tree, positions = bound("c + a*n**p")
    total = power_sum(tree, positions, 4)
    values = total.values(np.array([[1.0, 1.0, 1e6]]))[0]
    assert values.tolist() == np.broadcast_to(evaluate(tree, {"a": 1.0, "c": 1.0, "p": 1e6}), 4).tolist()
    assert np.isinf(values[1:]).all()
