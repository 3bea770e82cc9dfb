"""A known generic model comes back from exact data, whatever the structure, the loss and the solver."""

from itertools import permutations

import numpy as np
import pytest
from helpers import problem_from

from genperf.expression import Expression, Term, coefficient, exponent
from genperf.formula import parse
from genperf.losses import LOSSES
from genperf.solver import SOLVERS, solve

_RNG = np.random.default_rng(7)
#: 40 configurations drawn from the values a user would measure.
COLUMNS = {
    "layers": _RNG.choice([2.0, 4.0, 8.0, 16.0, 32.0], 40),
    "filters": _RNG.choice([16.0, 32.0, 64.0, 128.0], 40),
    "workers": _RNG.choice([1.0, 2.0, 4.0, 8.0, 16.0], 40),
}
C = [coefficient("C"), coefficient("a1"), coefficient("a2")]
P = [exponent("p1", -1, 4), exponent("p2", -1, 4)]

#: Structure: the terms' texts, their constants, the truth, and whether the terms may be exchanged.
STRUCTURES = {
    "separable": (
        ["C", "a1*(layers/8)**p1*(workers/4)**q", "a2*(filters/45)**p2*(workers/4)**q"],
        [*C, *P, exponent("q", -2, 3)],
        {"C": 0.2, "a1": 1.0, "a2": 0.6, "p1": 1.1, "p2": 1.9, "q": -0.7},
        False,
    ),
    "per-term": (
        ["C", "a1*(layers/8)**p1*(workers/4)**q1", "a2*(filters/45)**p2*(workers/4)**q2"],
        [*C, *P, exponent("q1", -2, 3), exponent("q2", -2, 3)],
        {"C": 0.2, "a1": 1.0, "a2": 0.6, "p1": 1.1, "p2": 1.9, "q1": -0.9, "q2": 0.4},
        False,
    ),
    "product": (
        ["C", *(f"a{i}*(layers/8)**p{i}*(filters/45)**r{i}*(workers/4)**q{i}" for i in (1, 2))],
        [*C, *P, *(exponent(f"{n}{i}", -2, 4) for i in (1, 2) for n in "rq")],
        {"C": 0.2, "a1": 1.0, "a2": 0.6, "p1": 1.1, "p2": 0.5, "r1": 1.9, "r2": 0.7, "q1": -0.9, "q2": 0.4},
        True,
    ),
}


#: Every loss by the solver that reads its derivatives, one by each; `tests/solver` compares their costs for all.
SEARCHES = [*((loss, "projected") for loss in LOSSES), *(("relative", one) for one in SOLVERS if one != "projected")]
#: Absolute errors of nine constants take as long to search as all other cases together.
CASES = [(s, *search) for s in STRUCTURES for search in SEARCHES if (s, search[0]) != ("product", "absolute")]


@pytest.mark.parametrize(("structure", "loss", "solver"), CASES)
def test_constants_within_one_per_cent(structure: str, loss: str, solver: str) -> None:
    texts, constants, truth, exchangeable = STRUCTURES[structure]
    expression = Expression(
        "generic", tuple(Term(f"term{i}", parse(t).node) for i, t in enumerate(texts)), tuple(constants)
    )
    problem = problem_from(expression, COLUMNS, expression.evaluate(COLUMNS, truth), loss)
    # A single evolution has to find them.
    solution = solve(problem, solver, restarts=1) if solver == "de" else solve(problem, solver)
    fitted = dict(zip(expression.constant_names, solution.constants, strict=True))
    # The product's terms have the same form: which of them is called the first is not in the data.
    orders = list(permutations("12")) if exchangeable else [("1", "2")]
    swapped = [{n[:-1] + order[int(n[-1]) - 1] if n[1:] else n: v for n, v in fitted.items()} for order in orders]
    errors = [max(abs(named[n] / truth[n] - 1.0) for n in truth) for named in swapped]
    assert min(errors) < 0.01
