"""A table and an expression as the solver's arrays, and the starts of a polish from many places."""

from collections import Counter
from collections.abc import Mapping

import numpy as np

from genperf.arrays import Array, Columns, Mask
from genperf.estimate.options import FitOptions
from genperf.expression import Expression
from genperf.formula import evaluate_with_gradient
from genperf.losses import loss_named, penalty_named
from genperf.panel import Table
from genperf.solver import Problem


def problem_of(expression: Expression, table: Table, options: FitOptions, strength: float | None = None) -> Problem:
    """Bind an expression to a table of medians; a coefficient's scale is that at which it explains the mean."""
    constants = expression.constants
    measured = table.measured
    start = np.array([c.start for c in constants], float)
    is_coefficient = np.array([c.kind == "coefficient" for c in constants], bool)
    mean = float(np.average(measured, weights=table.weights))
    at_start = dict(zip(expression.constant_names, start, strict=True))
    sizes = basis_sizes(expression, table.columns, at_start, (len(table),))
    scale = np.where(is_coefficient, mean / sizes, [c.size for c in constants])
    bound = expression.bind({name: table.columns[name] for name in expression.factors}, len(table))
    return Problem(
        predict=bound.predict,
        jacobian=bound.jacobian,
        measured=measured,
        weights=table.weights,
        lower=np.array([c.lower for c in constants], float),
        upper=np.array([c.upper for c in constants], float),
        scale=scale,
        penalised=np.array([c.penalised for c in constants], bool),
        coefficient=is_coefficient,
        linear=expression.is_linear,
        start=np.where(is_coefficient, start * scale, start),
        loss=loss_named(options.loss),
        penalty=penalty_named(options.penalty, options.strength if strength is None else strength),
    )


def basis_sizes(
    expression: Expression, columns: Columns, constants: Mapping[str, float], shape: tuple[int, ...]
) -> Array:
    """Return the mean size of each coefficient's basis function, (…, n); 1 of none and of other constants."""
    names = [c.name for c in expression.constants if c.kind == "coefficient"]
    sizes = np.zeros((*shape[:-1], len(expression.constants)))
    for term in expression.terms:
        _, slopes = evaluate_with_gradient(term.node, {**columns, **constants}, names)
        for name, slope in slopes.items():
            size = np.mean(np.abs(np.broadcast_to(slope, shape)), axis=-1)
            sizes[..., expression.constant_names.index(name)] += np.where(np.isfinite(size), size, 0.0)
    return np.where(sizes > 0.0, sizes, 1.0)


# Random starts about the problem's start.
# With these, most of eight starts of the generic expression reach the best optimum (explored).
#: Share of the non-linear constants that a start moves away from their default.
MOVED_SHARE = 0.6
#: Largest move, as a share of the distance to the lower and the upper bound: an
#: exponent within −2 … 4 begins within −0.5 … 2.
TOWARD_LOWER = 0.25
TOWARD_UPPER = 0.5
#: Best fits of each part of the rows that are continued: by a larger expression, or with a stronger penalty.
CONTINUED_STARTS = 2
#: Ways to continue a smaller expression that are drawn for each that is polished. One costs a least-squares
#: solution of the coefficients, a hundredth of a polish.
DRAWN_STARTS = 12


def spread_starts(problem: Problem, count: int, rng: np.random.Generator) -> Array:
    """Return starts, the problem's first: random non-linear constants, with the best coefficients for them."""
    searched = ~problem.coefficient & (problem.lower < problem.upper)
    if not searched.any():
        return problem.projected(problem.start[None, :])[0]
    steps = _random_moves(problem, searched, count, rng)
    steps[0] = 0.0
    starts = np.broadcast_to(problem.start, (count, problem.start.size)).copy()
    starts[:, searched] += steps
    return problem.projected(starts)[0]


def continued_starts(
    problem: Problem, larger: Expression, smaller: Expression, sets: Array, weights: Array, rng: np.random.Generator
) -> Array:
    """Return starts from `sets` of a smaller expression's constants, (folds, n), with draws of what it lacks."""
    in_smaller = {name: place for place, name in enumerate(smaller.constant_names)}
    in_larger = {name: place for place, name in enumerate(larger.constant_names)}
    new = [name for name in in_larger if name not in in_smaller]
    # A further term of a sum of like terms begins as one of these: as a smaller one's term with as many constants that
    # are in no other term. A single constant, a coefficient, says nothing of a likeness.
    terms_with = Counter(name for term in larger.terms for name in term.names)
    by_term = [[n for n in in_larger if n in term.names and terms_with[n] == 1] for term in larger.terms]
    like = [names for names in by_term if len(new) > 1 and len(names) == len(new) and {*names} <= in_smaller.keys()]
    folds, n, places = len(sets), problem.start.size, [in_larger[name] for name in in_smaller]
    count, drawn = (CONTINUED_STARTS, CONTINUED_STARTS * DRAWN_STARTS) if new else (1, 1)
    continued = np.zeros(n, bool)
    continued[places] = True
    searched = ~problem.coefficient & (problem.lower < problem.upper) & ~continued
    starts = np.broadcast_to(problem.start, (folds, drawn, n)).copy()
    starts[:, :, places] = sets[:, None, :]
    # Every other draw moves a like term, each in turn.
    for k, names in enumerate(like):
        copied = sets[:, None, [in_smaller[name] for name in names]]
        starts[:, k + 1 :: len(like) + 1, [in_larger[name] for name in new]] = copied
    starts[:, :, searched] += _random_moves(problem, searched, drawn, rng)
    starts = np.clip(starts, problem.lower, problem.upper).reshape(-1, n)
    projected, cost = problem.projected(starts, np.repeat(weights, drawn, axis=0))
    best = np.argsort(cost.reshape(folds, drawn), axis=1, kind="stable")[:, :count]
    return np.asarray(np.take_along_axis(projected.reshape(folds, drawn, n), best[:, :, None], axis=1))


def _random_moves(problem: Problem, searched: Mask, count: int, rng: np.random.Generator) -> Array:
    """Draw moves of the searched constants away from their default, (count, searched); zero of those that stay."""
    default = problem.start[searched]
    with np.errstate(invalid="ignore"):
        low = TOWARD_LOWER * (problem.lower[searched] - default)
        high = TOWARD_UPPER * (problem.upper[searched] - default)
    low, high = np.where(np.isfinite(low), low, -1.0), np.where(np.isfinite(high), high, 1.0)
    shape = (count, default.size)
    size = np.minimum(problem.scale[searched], 1.0)
    return np.asarray(size * rng.uniform(low, high, shape) * (rng.random(shape) < MOVED_SHARE))
