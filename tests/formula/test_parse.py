import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from genperf.errors import FormulaError
from genperf.formula import Call, Name, Node, Number, evaluate, evaluate_with_gradient, latex, parse, render

NAMES = ["a", "b", "n", "workers", "gpu count", "lambda", "framework"]


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("1 + 2*3", 7.0),
        ("2**3**2", 512.0),
        ("-2**2", -4.0),
        ("7 % 4", 3.0),
        ("max(1, 5, 3) - min(2, 4)", 3.0),
        ("where(1 < 2 and not 3 < 2, 10, 20)", 10.0),
        ("ceil(2.1) + floor(2.9) + abs(-1)", 6.0),
        ("log2(8) + sqrt(16) + log(exp(2))", 9.0),
        ("1 <= 1 < 2", True),
        ("1/0", np.inf),
    ],
)
def test_value(text: str, expected: float) -> None:
    assert parse(text).evaluate({}) == expected


def test_names_with_spaces_and_keywords() -> None:
    formula = parse("`gpu count`*2 + `lambda`", NAMES)
    assert formula.names == {"gpu count", "lambda"}
    assert formula.evaluate({"gpu count": np.array([1.0, 2.0]), "lambda": np.array([10.0, 20.0])}).tolist() == [12, 24]


def test_text_columns_are_compared_only() -> None:
    formula = parse("where(framework == 'mxnet', a, 0)", NAMES, texts=["framework"])
    assert formula.evaluate({"framework": np.array(["mxnet", "pytorch"]), "a": 3.0}).tolist() == [3.0, 0.0]


@pytest.mark.parametrize(
    ("text", "message", "column"),
    [
        ("__import__('os').getpid()", "only the functions of the list", 0),
        ("__import__('os')", "unknown function '__import__'", 0),
        ("a.b", "attribute access is not allowed", 0),
        ("a[0]", "a subscript is not allowed", 0),
        ("1 + [x for x in a]", "a comprehension is not allowed", 4),
        ("lambda: 1", "a lambda is not allowed", 0),
        ("a if b else n", "if … else", 0),
        ("9**9**9", "this exponent is", 3),
        ("a**1000", "this exponent is 1000", 3),
        ("1e999", "too large", 0),
        ("(" * 200 + "a" + ")" * 200, "nested more than", 60),
        ("-" * 500 + "a", "nested more than", 60),
        ("a + wrkers", "unknown name 'wrkers'", 4),
        ("a +", "ends too early", 3),
        ("(a + b", "ends too early or a bracket", 0),
        ("a = 3", "", 2),
        ("log(1, 2)", "log takes 1 argument, not 2", 0),
        ("log", "is a function and needs brackets", 0),
        ("log(x=1)", "plain arguments only", 0),
        ("framework + 1", "'framework' is a text column", 0),
        ("framework < 'x'", "compared with == or !=", 0),
        ("n == 'x'", "can only be compared with a text column", 0),
        ("'x' + 1", "a text can only be compared", 0),
        ("(a < b) + 1", "a comparison is not a number", 1),
        ("where(a, 1, 2)", "a comparison is needed here", 6),
        ("not a", "a comparison is needed here", 4),
        ("a is b", "only < <= > >= == != compare", 0),
        ("a // b", "this operator is not allowed", 0),
        ("~a", "this operator is not allowed", 0),
        ("True", "True is not a number", 0),
        ("1j", "1j is not a number", 0),
        ("", "the formula is empty", 0),
        ("`a", "no partner", 0),
        ("a;b", "", 1),
        ("f'{a}'", "a formatted text is not allowed", 0),
        ("a := 1", "", 2),
        ("1" * 5000, "characters; at most", 4000),
        ("héé + a.b", "unknown name", 0),
        ("a + `gpu count`.b", "attribute access is not allowed", 4),
    ],
)
def test_refused_with_the_place(text: str, message: str, column: int) -> None:
    with pytest.raises(FormulaError) as caught:
        parse(text, NAMES, texts=["framework"])
    assert message in caught.value.message
    assert caught.value.column == column
    assert "^" in str(caught.value)


def test_a_formula_is_read_once() -> None:
    first = parse("a*n + b", ["a", "b", "n"])
    assert parse("a*n + b", ("n", "b", "a")) is first
    assert parse("a*n + b", {"a": 1, "b": 2, "n": 3}) is first
    # Other names, text columns or limits are other questions.
    assert parse("a*n + b") is not first
    assert parse("a == 'x'", ["a"], texts=["a"]).logical
    with pytest.raises(FormulaError, match="text column"):
        parse("a == 'x'", ["a"])
    with pytest.raises(FormulaError, match="at most 5"):
        parse("a*n + b", ["a", "b", "n"], max_characters=5)


def test_a_refused_formula_is_refused_again() -> None:
    messages = set()
    for _ in range(2):
        with pytest.raises(FormulaError) as caught:
            parse("a + wrkers", ["a", "workers"])
        messages.add(str(caught.value))
    assert len(messages) == 1
    assert "did you mean 'workers'" in messages.pop()


def test_caret_counts_characters_not_bytes() -> None:
    with pytest.raises(FormulaError) as caught:
        parse("`größe` + b.c", ["größe", "b"])
    assert str(caught.value).splitlines()[2] == "  " + " " * 10 + "^^^"


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


@given(trees)
def test_text_reads_back_to_the_same_tree(tree: Node) -> None:
    assert parse(render(tree)).node == tree


@given(trees)
def test_latex_prints_every_tree_with_balanced_brackets(tree: Node) -> None:
    text = latex(tree)
    assert text.count("{") == text.count("}")
    assert text.count(r"\left") == text.count(r"\right")


@pytest.mark.parametrize(
    "text",
    [
        "a*n**p + b*log2(n) + c",
        "max(a*n, b/n) + min(a, b)",
        "(a**q + b**q)**(1/q)",
        "where(n > 2, a*n, b) - exp(-a)*sqrt(b)",
        "abs(a - b)*log(n)/(c + n % 3)",
        "-a**2/(b + 1)",
    ],
)
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
