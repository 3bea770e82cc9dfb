"""Expressions: terms, totals and constants, evaluated, differentiated and printed."""

import numpy as np
import pytest
from helpers import cases_in_text

from genperf.expression import Constant, Expression, Term, coefficient, exponent
from genperf.formula import parse

COLUMNS = {"workers": np.array([1.0, 2.0, 8.0]), "batch": np.array([4.0, 32.0, 16.0])}


def term(name: str, text: str) -> Term:
    return Term(name, parse(text).node)


AMDAHL = Expression(
    "amdahl", (term("serial", "c"), term("parallel", "a/workers")), (coefficient("c"), coefficient("a"))
)
POWERS = Expression(
    "formula",
    (term("one", "a*(batch/8)**p*workers**q"), term("two", "b*workers**q")),
    (coefficient("a"), exponent("p", -1, 4), exponent("q", -2, 3), coefficient("b")),
)
OVERLAP = Expression(
    "overlap",
    (term("forward", "f*batch"), term("backward", "2*f*batch"), term("communication", "c*(workers - 1)/workers")),
    (coefficient("f"), coefficient("c")),
    total=parse("forward + max(backward, communication)").node,
)
P_NORM = Expression(
    "goodput",
    (term("compute", "f*batch"), term("network", "c*workers")),
    (coefficient("f"), coefficient("c"), Constant("o", "shape", 1.0, 10.0)),
    total=parse("(compute**o + network**o)**(1/o)").node,
)

#: Expression, constants, and the times worked by hand.
CASES = {
    "amdahl": (AMDAHL, {"c": 1.0, "a": 8.0}, [9.0, 5.0, 2.0]),
    # (4/8)²·1 + 1, (32/8)²/2 + 1/2, (16/8)²/8 + 1/8, times 3 and 2
    "powers": (POWERS, {"a": 3.0, "p": 2.0, "q": -1.0, "b": 2.0}, [2.75, 25.0, 1.75]),
    # forward 4, 32, 16; backward twice that; communication 0, 50, 87.5
    "overlap": (OVERLAP, {"f": 1.0, "c": 100.0}, [12.0, 96.0, 103.5]),
    # √(4² + 3²), √(32² + 6²), √(16² + 24²)
    "p-norm": (P_NORM, {"f": 1.0, "c": 3.0, "o": 2.0}, [5.0, 32.55764, 28.84441]),
}
cases = pytest.mark.parametrize(("expression", "constants", "expected"), CASES.values(), ids=CASES)


def as_sets(expression: Expression, constants: dict[str, float]) -> np.ndarray:
    """Three sets of constants around the case's."""
    one = np.array([constants[name] for name in expression.constant_names])
    return one * np.array([[1.0], [0.9], [1.2]])


@cases
def test_times(expression: Expression, constants: dict[str, float], expected: list[float]) -> None:
    np.testing.assert_allclose(expression.evaluate(COLUMNS, constants), expected, rtol=1e-6)


@cases
def test_bound_to_a_table_it_gives_the_same_times(
    expression: Expression, constants: dict[str, float], expected: list[float]
) -> None:
    sets = as_sets(expression, constants)
    bound = expression.bind(COLUMNS)
    alone = [expression.evaluate(COLUMNS, dict(zip(expression.constant_names, row, strict=True))) for row in sets]
    np.testing.assert_allclose(bound.predict(sets), alone, rtol=1e-12)
    np.testing.assert_allclose(bound.jacobian(sets)[0], alone, rtol=1e-12)


@cases
def test_derivatives_by_constants_are_exact(
    expression: Expression, constants: dict[str, float], expected: list[float]
) -> None:
    sets = as_sets(expression, constants)
    bound = expression.bind(COLUMNS)
    _, jacobian = bound.jacobian(sets)
    names = expression.constant_names
    assert jacobian.shape == (3, 3, len(names))
    for j, name in enumerate(names):
        step = np.eye(len(names))[j] * 1e-6
        differences = (bound.predict(sets + step) - bound.predict(sets - step)) / 2e-6
        np.testing.assert_allclose(jacobian[:, :, j], differences, rtol=1e-6, atol=1e-6)
        times, slopes = expression.gradient(COLUMNS, constants, [name])
        np.testing.assert_allclose(times, expected, rtol=1e-6)
        np.testing.assert_allclose(slopes[name], jacobian[0, :, j], rtol=1e-10)


@cases
def test_times_are_homogeneous_of_degree_one_in_the_coefficients(
    expression: Expression, constants: dict[str, float], expected: list[float]
) -> None:
    # Euler: T = Σ c·∂T/∂c, what the projection rests on.
    sets = as_sets(expression, constants)
    which = [c.kind == "coefficient" for c in expression.constants]
    times, jacobian = expression.bind(COLUMNS).jacobian(sets)
    np.testing.assert_allclose((jacobian[:, :, which] @ sets[:, which, None])[:, :, 0], times)
    np.testing.assert_allclose(times, expression.bind(COLUMNS).predict(sets))


def test_derivatives_by_factors() -> None:
    _, slopes = AMDAHL.gradient(COLUMNS, {"c": 1.0, "a": 8.0}, ["workers", "batch"])
    np.testing.assert_allclose(slopes["workers"], [-8.0, -2.0, -0.125])  # −a/n²
    np.testing.assert_array_equal(slopes["batch"], np.zeros(3))


@pytest.mark.parametrize(
    ("expression", "is_sum", "factors", "text"),
    [
        (AMDAHL, True, ("workers",), "c + a/workers"),
        (POWERS, True, ("batch", "workers"), "a*(batch/8)**p*workers**q + b*workers**q"),
        (OVERLAP, False, ("batch", "workers"), "f*batch + max(2*f*batch, c*(workers - 1)/workers)"),
        (P_NORM, False, ("batch", "workers"), "((f*batch)**o + (c*workers)**o)**(1/o)"),
    ],
)
def test_reading(expression: Expression, is_sum: bool, factors: tuple[str, ...], text: str) -> None:
    assert expression.is_sum is is_sum
    assert expression.factors == factors
    assert str(expression) == text


@cases
def test_its_text_is_a_formula_that_means_the_same(
    expression: Expression, constants: dict[str, float], expected: list[float]
) -> None:
    again = parse(expression.text(constants, digits=17), list(COLUMNS))
    np.testing.assert_allclose(again.evaluate(COLUMNS), expected, rtol=1e-6)


def test_a_level_of_a_categorical_factor() -> None:
    levels = Expression(
        "formula",
        (term("work", "a*workers*exp(where(framework == 'mxnet', d, 0))"),),
        (coefficient("a"), Constant("d", "level", -3.0, 3.0, 0.0)),
    )
    columns = {"workers": np.array([1.0, 2.0]), "framework": np.array(["mxnet", "pytorch"])}
    np.testing.assert_allclose(levels.evaluate(columns, {"a": 2.0, "d": np.log(3.0)}), [6.0, 4.0])
    assert levels.factors == ("framework", "workers")
    times, slopes = levels.bind(columns).jacobian(np.array([[2.0, np.log(3.0)]]))
    np.testing.assert_allclose(times, [[6.0, 4.0]])
    np.testing.assert_allclose(slopes, [[[3.0, 6.0], [2.0, 0.0]]])


@cases_in_text("text, linear")
def test_linear_in_the_coefficients(text: str, linear: bool) -> None:
    expression = Expression("formula", (Term("all", parse(text).node),), (coefficient("a"), coefficient("b")))
    assert expression.is_linear is linear
