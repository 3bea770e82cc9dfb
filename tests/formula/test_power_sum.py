"""A sum of products of powers gives what the tree gives, for all terms at once."""

import numpy as np
import pytest

from genperf.formula import Node, bind, evaluate, evaluate_with_gradient, parse, power_sum

COLUMNS = {"n": np.array([1.0, 2.0, 8.0, 8.0]), "b": np.array([16.0, 32.0, 32.0, 64.0]), "z": np.arange(4.0)}
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
    return bind(parse(text).node, COLUMNS), {name: j for j, name in enumerate(names)}


@pytest.mark.parametrize("name", SUMS)
@pytest.mark.parametrize("sets", [1, 5])
def test_same_values_and_derivatives_as_the_tree(name: str, sets: int) -> None:
    tree, positions = bound(SUMS[name])
    total = power_sum(tree, positions, 4)
    assert total is not None
    constants = np.random.default_rng(0).uniform(-1.0, 2.0, (sets, len(positions)))
    values = {n: constants[:, j : j + 1] for n, j in positions.items()}
    expected, slopes = evaluate_with_gradient(tree, values, list(positions))
    np.testing.assert_allclose(total.values(constants), np.broadcast_to(expected, (sets, 4)), rtol=1e-12)
    for by in (tuple(positions.values()), tuple(positions.values())[::-2]):
        values, derivatives = total.derivatives(constants, by)
        np.testing.assert_allclose(values, np.broadcast_to(expected, (sets, 4)), rtol=1e-12)
        assert derivatives.shape == (sets, len(by), 4)
        names = list(positions)
        for j, position in enumerate(by):
            wanted = np.broadcast_to(slopes[names[position]], (sets, 4))
            np.testing.assert_allclose(derivatives[:, j], wanted, rtol=1e-12, atol=1e-14)


def test_a_constant_that_is_nowhere_changes_nothing() -> None:
    tree, _ = bound("a*n**p")
    total = power_sum(tree, {"a": 0, "p": 1, "spare": 2}, 4)
    assert total is not None
    assert not total.derivatives(np.ones((2, 3)), (2, 0))[1][:, 0].any()


@pytest.mark.parametrize("text", OTHERS)
def test_other_shapes_are_left_to_the_tree(text: str) -> None:
    assert power_sum(*bound(text), 4) is None


def test_a_set_has_the_same_bits_whatever_it_is_evaluated_with() -> None:
    tree, positions = bound(SUMS["generic"])
    total = power_sum(tree, positions, 4)
    assert total is not None
    constants = np.random.default_rng(1).uniform(-1.0, 2.0, (7, len(positions)))
    by = tuple(positions.values())
    for i in range(7):
        alone = constants[i : i + 1]
        np.testing.assert_array_equal(total.values(constants)[i], total.values(alone)[0])
        np.testing.assert_array_equal(total.derivatives(constants, by)[1][i], total.derivatives(alone, by)[1][0])


def test_times_beyond_what_a_number_holds_are_infinite_not_an_error() -> None:
    tree, positions = bound("c + a*n**p")
    total = power_sum(tree, positions, 4)
    assert total is not None
    values = total.values(np.array([[1.0, 1.0, 1e6]]))[0]
    assert values.tolist() == np.broadcast_to(evaluate(tree, {"a": 1.0, "c": 1.0, "p": 1e6}), 4).tolist()
    assert np.isinf(values[1:]).all()
