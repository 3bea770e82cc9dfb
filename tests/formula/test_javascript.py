"""The JavaScript of a tree: every function has one, and names never become code."""

import pytest

from genperf.formula import FUNCTIONS, JAVASCRIPT, Call, Name, Node, Number, Text, in_language, parse

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


def test_names_and_texts_are_never_code() -> None:
    hostile = "</script><script>alert(1)//`"
    node = Call("equal", (Name(hostile), Text(hostile)))
    text = javascript(node, {hostile: "x[0]"})
    assert text.startswith("(x[0]===")
    assert "<" not in text
    with pytest.raises(KeyError):
        javascript(node, {})


def test_numbers_that_are_not_finite() -> None:
    values = float("inf"), -float("inf"), float("nan"), -0.0
    assert [javascript(Number(v), {}) for v in values] == ["Infinity", "(-Infinity)", "NaN", "(-0.0)"]


def test_a_bound_tree_is_refused() -> None:
    from genperf.formula import bind

    with pytest.raises(TypeError, match="bound"):
        javascript(bind(parse("a*n").node, {"n": [1.0, 2.0]}), {"a": "c[0]"})
