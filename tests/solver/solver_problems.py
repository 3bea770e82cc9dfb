"""Small problems that the solver's tests share."""

from dataclasses import dataclass

import numpy as np
from helpers import problem_from
from msgspec.structs import replace

from genperf.expression import Constant, Expression, Term, coefficient, exponent
from genperf.formula import parse
from genperf.losses import Penalty
from genperf.solver import Problem

#: 40 configurations of workers and batch, crossed but for two.
WORKERS = np.repeat([1.0, 2.0, 4.0, 8.0, 16.0, 32.0, 64.0], 6)[:40]
BATCH = np.tile([8.0, 16.0, 32.0, 64.0, 128.0, 256.0], 7)[:40]
COLUMNS = {"workers": WORKERS, "batch": BATCH}


@dataclass(frozen=True)
class Case:
    """An expression and the constants that made the times."""

    expression: Expression
    truth: tuple[float, ...]

    @property
    def exact(self) -> np.ndarray:
        return self.expression.evaluate(COLUMNS, dict(zip(self.expression.constant_names, self.truth, strict=True)))


GENERIC = Case(
    Expression(
        "generic",
        (
            Term("constant", parse("C").node),
            Term("computation", parse("a*(batch/45)**p").node),
            Term("communication", parse("b*(workers/8)**q*(batch/45)**r").node),
        ),
        (
            coefficient("C"),
            coefficient("a"),
            exponent("p", -1, 4),
            coefficient("b"),
            exponent("q", -2, 3),
            exponent("r", -1, 1),
        ),
    ),
    (0.5, 1.0, 1.3, 0.6, 0.7, -0.2),
)
_OVERLAP = (
    Term("forward", parse("f*batch/45").node),
    Term("backward", parse("g*batch/45").node),
    Term("communication", parse("c*(workers/8)**q").node),
)
_RATES = (coefficient("f"), coefficient("g"), coefficient("c"), exponent("q", -1, 3))
MAXIMUM = Case(
    Expression("max", _OVERLAP, _RATES, parse("forward + max(backward, communication)").node), (0.4, 1.2, 0.9, 0.8)
)
P_NORM = Case(
    Expression(
        "p-norm",
        _OVERLAP,
        (*_RATES, Constant("o", "shape", 1.0, 10.0, 2.0, False)),
        parse("forward + (backward**o + communication**o)**(1/o)").node,
    ),
    (0.4, 1.2, 0.9, 0.8, 3.0),
)
ERNEST = Case(
    Expression(
        "ernest",
        tuple(Term(f"t{i}", parse(text).node) for i, text in enumerate(["a", "b/workers", "c*log2(workers)"])),
        (coefficient("a"), coefficient("b"), coefficient("c")),
    ),
    (0.5, 4.0, 0.2),
)


def problem_of(
    case: Case, loss: str = "relative", penalty: Penalty | None = None, noise: float = 0.0, seed: int = 0
) -> Problem:
    """Bind a case to the 40 configurations, its exact times multiplied by log-normal noise."""
    measured = case.exact * np.exp(noise * np.random.default_rng(seed).standard_normal(len(WORKERS)))
    return problem_from(case.expression, COLUMNS, measured, loss, penalty)


def with_bounds(problem: Problem, lower: list[float], upper: list[float]) -> Problem:
    """Return the problem within other bounds."""
    return replace(problem, lower=np.array(lower), upper=np.array(upper))
