"""Which expression and penalty predict held-out configurations best: every one that is worth trying is fitted.

The search halves: every expression is fitted with the weakest penalty, and those that predict held-out configurations
nearly as well as the best one continue along the path of λ. Some may grow interactions before.
"""

from collections.abc import Sequence
from itertools import groupby

import numpy as np
from msgspec import Struct
from msgspec.structs import replace

from genperf.arrays import Array, Mask
from genperf.errors import FitError, Note, counted
from genperf.estimate.grow import NO_GROWTH, GrowthProblem, GrowthRules, grow
from genperf.estimate.options import LAMBDA_PATH, FitOptions
from genperf.estimate.prepare import CONTENT_SEED
from genperf.estimate.problem import CONTINUED_STARTS, continued_starts, problem_of, spread_starts
from genperf.expression import Expression
from genperf.formula import render
from genperf.losses import penalty_named
from genperf.models import Choice
from genperf.models.generic import Interaction
from genperf.panel import Table
from genperf.solver import IMPOSSIBLE_COST, ROUGHLY, Problem, no_values, polish

# Choosing a structure and λ by cross-validation inside the training part.
#: Folds of the cross-validation. Over twelve extrapolations of `pytorch_cpu.csv` the mean error was 15.1 % with
#: folds and 18.3 % with inner extrapolation (explored; `experiments/decisions/choice-by-folds.md`).
SELECTION_FOLDS = 5
#: Configurations from which on folds are made: fewer leave too little to train on.
MIN_ROWS = 4
#: Relative error that a held-out row counts at most, so that one outlier does not decide.
LARGEST_ERROR = 2.0
#: Constants per configuration, at most, of an expression that is one of many: two configurations for each constant.
#: Four err 7 % more, one 2 % less (experiments/results/settings.md).
CONSTANTS_PER_ROW = 0.5
#: Constants of such an expression at most: a table of many levels would take minutes.
MAX_CONSTANTS = 120
#: Configurations that a choice is made on at most, drawn at random from a larger table: bounds the time.
MAX_SELECTION_ROWS = 1000
#: Decimals of a relative error that are compared: expressions that fit exactly are equal.
FIT_DIGITS = 6
#: Paired standard errors by which a simpler expression may err more than the best one
#: (`experiments/decisions/choice-by-folds.md`).
STANDARD_ERRORS = 0.5
#: The same where a fold has fewer configurations than there are constants: one, as Breiman et al. have it. With half,
#: one in seven labelled pairs of `experiments/papers.md` was explained by an overlap that five runs cannot show.
UNDETERMINED_ERRORS = 1.0
# The search; `experiments/decisions/halving.md` has the figures.
#: Starts from which every part is fitted with the weakest penalty, where no smaller expression is continued.
LEAST_PENALTY_STARTS = 4
#: Such starts beside those that continue a fit: of a smaller expression, or of the chosen expression when it is
#: fitted last. There the cost was that of a whole search on the tables of `experiments/results/generic.md`, in a
#: tenth of its time.
STARTS_BESIDE = 2
#: How much more than the best one an expression may err, as a share, to continue along the path of λ.
PROMISING_ERROR = 0.15
#: Relative increase of the error from which on a larger expression counts as worse.
WORSE_ERROR = 0.02
#: Relative increase of the error from which on no stronger penalty is tried: as far as an average reaches.
TOO_STRONG = 0.1
#: Sizes in a row, smallest first, that may be worse than the best before larger expressions are not tried.
WORSE_SIZES = 3
#: Decrease of the mean relative error from which on another overlap of measured phases is named: 1 % of the
#: time is near the noise of repeats. Half and double change no answer (experiments/results/settings.md).
CLEAR_GAIN = 0.01


class Candidate(Struct, frozen=True, eq=False):
    """An expression with a penalty, and its errors on held-out configurations."""

    expression: Expression
    problem: Problem
    sets: Array  #: Shape (parts, kept, n). Best fits of each part of the rows, of which the whole table is the first.
    #: Shape (rows,). |predicted/measured − 1| of each configuration when it was held out, at most
    #: `LARGEST_ERROR`; NaN where none was.
    errors: Array
    folds: Mask  #: Shape (folds, rows). Training rows of each fold.
    fit_error: float = 0.0  #: Mean of |fitted/measured − 1| over all rows.
    robust: bool = False  #: Whether the rows have Huber's weights in its last fit too.

    @property
    def strength(self) -> float:
        """λ."""
        return self.problem.penalty.strength

    @property
    def constants(self) -> Array:
        """Shape (n,). Fitted to the whole table."""
        return np.asarray(self.sets[0, 0])

    @property
    def error(self) -> float:
        """Mean relative error over held-out configurations; NaN where there were too few to hold any out."""
        return float(np.mean(self.errors))


def folds_of(rows: int, rng: np.random.Generator) -> Mask:
    """Assign configurations to folds at random, and return the training rows of each, shape (folds, rows)."""
    if rows < MIN_ROWS:
        return np.ones((0, rows), bool)
    fold = rng.permutation(rows) % min(SELECTION_FOLDS, rows)
    return np.array([fold != k for k in range(fold.max() + 1)])


def affordable(
    expressions: Sequence[Expression], configurations: int, choice: Choice = "search"
) -> tuple[list[Expression], list[Note]]:
    """Leave out the expressions with too many constants for the configurations, but the smallest."""
    ordered, measured = sorted(expressions, key=lambda e: e.freedom), counted(configurations, "configuration")
    fewest = len(ordered[0].constants)
    if fewest > configurations:
        what = f"{measured} cannot determine the {fewest} constants of '{ordered[0].family}'"
        raise FitError(what, hint=f"measure at least {fewest} configurations, or name fewer factors")
    if len(ordered) == 1:
        return ordered, []
    by_rows = int(configurations * CONSTANTS_PER_ROW) if choice == "search" else configurations - 1
    most = max(MAX_CONSTANTS, fewest)
    limit = min(max(by_rows, fewest), most)
    usable = [e for e in ordered if e.freedom <= limit and len(e.constants) <= most]
    family, largest, left_out = ordered[0].family, usable[-1], len(ordered) - len(usable)
    rows_limit = limit < MAX_CONSTANTS
    reason = f"{configurations} configurations are too few" if rows_limit else f"more than {limit} constants"
    if choice == "largest":
        share = f"{len(largest.constants)} of its {len(ordered[-1].constants)} constants"
        usable, text = [largest], f"'{family}' is fitted with {share}: {reason} for more"
    else:
        text = f"{counted(left_out, 'larger structure')} of '{family}' left out: {reason}"
    return usable, [Note(text, "fewer_terms")] if left_out else []


def best_of(candidates: Sequence[Candidate]) -> Candidate:
    """Return the simplest that errs as little as the best (one-standard-error rule of Breiman et al., paired)."""
    best = min(candidates, key=lambda c: c.error if np.isfinite(c.error) else np.inf)
    if not np.isfinite(best.error):
        alike = [c for c in candidates if _simplicity(c) == _simplicity(best)]
        return min(alike, key=lambda c: round(c.fit_error, FIT_DIGITS))
    allowed = UNDETERMINED_ERRORS if _undetermined(best) else STANDARD_ERRORS
    # Beyond these decimals a difference is rounding, which has a standard error as small as itself.
    rounding = 0.5 * 10.0**-FIT_DIGITS

    def as_small(candidate: Candidate) -> bool:
        excess = candidate.errors - best.errors
        return bool(np.mean(excess) <= max(rounding, allowed * np.std(excess) / np.sqrt(excess.size)))

    return min(filter(as_small, candidates), key=lambda c: (_simplicity(c), c.error))


def _simplicity(candidate: Candidate) -> tuple[float, float, int]:
    """Return a key that sorts the simplest candidate first: few constants, a large λ, few maxima in the total."""
    total = candidate.expression.total
    maxima = render(total).count("max(") if total is not None and _undetermined(candidate) else 0
    return candidate.expression.freedom, -candidate.strength, maxima


def _undetermined(candidate: Candidate) -> bool:
    """Return whether a fold was fitted to fewer configurations than the expression has constants."""
    return bool(np.any(candidate.folds.sum(axis=1) < candidate.expression.freedom))


def candidates_of(
    expressions: Sequence[Expression], table: Table, options: FitOptions, seed: int, growth: GrowthRules = NO_GROWTH
) -> list[Candidate]:
    """Fit expressions with each λ, grown as `growth` allows, to all rows and each fold, and judge each fold."""
    rng = np.random.default_rng([CONTENT_SEED, 2])
    if len(table) > MAX_SELECTION_ROWS:
        table = table.take(np.sort(rng.permutation(len(table))[:MAX_SELECTION_ROWS]))
    fold_fits = _Parts(table, np.vstack([np.ones((1, len(table)), bool), folds_of(len(table), rng)]), options, seed)
    path = LAMBDA_PATH if options.lam in (None, "cv") else (options.strength,)
    weakest = fold_fits.with_the_weakest(expressions, path[0])
    if not weakest:
        raise no_values()
    grown = fold_fits.enlarged(weakest, growth.bases if growth.offered else (), growth.offered)
    if growth.alone and grown:
        return list(grown.values())
    sized = fold_fits.enlarged(weakest, growth.sized)
    # One that has grown takes the place of its plain form: where no interaction is kept, it is that form.
    plain = [candidate for candidate in weakest if id(candidate.expression) not in grown]
    limit = min(c.error for c in (*plain, *sized.values(), *grown.values())) * (1.0 + PROMISING_ERROR)
    candidates = []
    for candidate in plain:
        candidates.append(candidate)
        # Without folds there is no error, and nothing is chosen. Learned sizes take the place of a stronger penalty.
        if candidate.error <= limit and id(candidate.expression) not in sized:
            candidates += fold_fits.stronger(candidate, path[1:])
    return [*candidates, *sized.values(), *grown.values()]


class _Parts(Struct, frozen=True, eq=False):
    """The rows that the candidates are fitted to, and how."""

    table: Table  #: One row per configuration.
    #: Shape (1 + folds, rows). Training rows: all of them first, then each fold's.
    rows: Mask
    options: FitOptions
    seed: int

    def with_the_weakest(self, expressions: Sequence[Expression], strength: float) -> list[Candidate]:
        """Fit expressions with one λ, each continuing the largest one that it contains."""
        out: list[Candidate] = []
        best, worse_sizes = np.inf, 0
        for _, of_one_size in groupby(expressions, key=lambda e: e.freedom):
            error = np.inf
            for expression in of_one_size:
                candidate = self._first_fit(expression, strength, out)
                if candidate is not None:
                    out.append(candidate)
                    error = min(error, candidate.error)
            worse_sizes = worse_sizes + 1 if error > best * (1.0 + WORSE_ERROR) else 0
            best = min(best, error)
            if worse_sizes == WORSE_SIZES:
                break
        return out

    def _first_fit(self, expression: Expression, strength: float, fitted: Sequence[Candidate]) -> Candidate | None:
        """Fit an expression to every part, some starts from fits of a smaller one; None where no value is finite."""
        problem = problem_of(expression, self.table, self.options, strength)
        rng = np.random.default_rng([self.seed, 3])
        names = set(expression.constant_names)
        smaller = next((c for c in reversed(fitted) if set(c.expression.constant_names) <= names), None)
        spread = spread_starts(problem, LEAST_PENALTY_STARTS if smaller is None else STARTS_BESIDE, rng)
        sets = np.broadcast_to(spread, (len(self.rows), *spread.shape))
        if smaller is not None:
            weights = np.where(self.rows, problem.weights, 0.0)
            best_sets = smaller.sets[:, 0]
            continued = continued_starts(problem, expression, smaller.expression, best_sets, weights, rng)
            sets = np.concatenate([continued, sets], axis=1)
        return self._fit(expression, problem, sets)

    def stronger(self, candidate: Candidate, strengths: Sequence[float]) -> list[Candidate]:
        """Fit an expression with stronger penalties, from its fits on, until it errs more."""
        out: list[Candidate] = []
        best, last = candidate.error, candidate
        for strength in strengths:
            penalty = penalty_named(self.options.penalty, strength)
            now = self._fit(candidate.expression, replace(last.problem, penalty=penalty), last.sets)
            if now is None:
                break
            out.append(now)
            if now.error > best * (1.0 + TOO_STRONG):
                break
            best, last = min(best, now.error), now
        return out

    def enlarged(
        self, candidates: Sequence[Candidate], bases: Sequence[Expression], offered: Sequence[Interaction] = ()
    ) -> dict[int, Candidate]:
        """Add interactions to fitted bases, or learn their sizes, until a larger one errs more; by `id`."""
        enlarged_by_base: dict[int, Candidate] = {}
        fitted = {id(candidate.expression): candidate for candidate in candidates}
        for base in bases:
            fit_of_base = fitted.get(id(base))
            if fit_of_base is None:
                continue
            growing = GrowthProblem(base, fit_of_base.problem, offered, self.table)
            grown = grow(growing, fit_of_base.sets[:, 0], self.rows)
            with np.errstate(all="ignore"):
                predicted = np.vstack([part.problem.predict(part.constants[None, :]) for part in grown])
            of_all_rows, sets = grown[0], grown[0].constants[None, None, :]
            candidate = self._judged(growing.expression(of_all_rows), of_all_rows.problem, sets, predicted)
            enlarged_by_base[id(base)] = replace(candidate, robust=True)
            if candidate.error > min(c.error for c in enlarged_by_base.values()) * (1.0 + WORSE_ERROR):
                break
        return enlarged_by_base

    def _fit(self, expression: Expression, problem: Problem, starts: Array) -> Candidate | None:
        """Fit every part of the rows from several starts, (parts, starts, n), and predict what each holds out."""
        folds, count, n = starts.shape
        weights = np.repeat(np.where(self.rows, problem.weights, 0.0), count, axis=0)
        polished = polish(problem, starts.reshape(-1, n), weights, ROUGHLY)
        cost = polished.cost.reshape(folds, count)
        order = np.argsort(cost, axis=1, kind="stable")
        if not cost[0, order[0, 0]] < 0.1 * IMPOSSIBLE_COST:
            return None
        sets = np.take_along_axis(polished.constants.reshape(starts.shape), order[:, :, None], axis=1)
        with np.errstate(all="ignore"):
            predicted = problem.predict(sets[:, 0])
        return self._judged(expression, problem, sets[:, :CONTINUED_STARTS], predicted)

    def _judged(self, expression: Expression, problem: Problem, sets: Array, predicted: Array) -> Candidate:
        """Return a candidate with its errors on held-out rows, by its best sets and what those predict of all rows."""
        errors, folds = np.abs(predicted / self.table.measured - 1.0), self.rows[1:]
        if len(folds):
            limited = np.fmin(errors[1:], LARGEST_ERROR)
            # One fold holds out each row, so the sum over the folds is that fold's error.
            held_out = np.where(folds, 0.0, limited).sum(axis=0)
        else:
            held_out = np.full(len(self.table), np.nan)
        return Candidate(expression, problem, sets, held_out, folds, float(np.mean(errors[0])))
