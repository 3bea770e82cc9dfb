"""The result of a fit: a member, its replicates, the errors of its predictions, and which constants are determined."""

import math
from collections.abc import Callable, Sequence
from functools import cached_property

import numpy as np
import numpy.typing as npt
from msgspec import Struct
from msgspec.structs import replace

from genperf.arrays import Array, Index, Mask
from genperf.discrepancy.form import features, form_and_noise, positions
from genperf.errors import Note
from genperf.estimate.options import FitOptions
from genperf.estimate.prepare import CONTENT_SEED, LEAST_FREEDOM
from genperf.estimate.problem import spread_starts
from genperf.expression import Expression
from genperf.gaussian import normal_quantiles, student_widening
from genperf.models.generic import constant_place, named_by_factors
from genperf.panel import Table
from genperf.prediction import Ensemble, Evidence, Member, Spread, Status
from genperf.result.arrays import in_single_precision
from genperf.solver import POLISH, ROUGHLY, PolishSettings, Problem, Solution, blocks, polish
from genperf.solver.search import CROSSOVER, LEAST_COEFFICIENT, MUTATION

#: Misfit of ln T where too few configurations are measured to estimate it: 10 %, a usual error of a fit inside its
#: range (`experiments/results/generic.md`).
UNKNOWN_MISFIT = 0.1
#: Root mean square over mean absolute value of normal errors, about √(π/2).
RMS_OVER_MEAN = 1.25
#: Singular value over the largest one below which a direction is not determined: the predictions move so little along
#: it. It is well above rounding; half changes no answer, double errs as much (settings.md).
FLAT_RATIO = 1e-5
#: Share of such a direction from which a constant takes part in it. Half and double change no answer (settings.md).
MIN_PART = 0.05
#: Resampled tables from which the error of a row that was not fitted is estimated.
RESAMPLES = 50
#: Values between zero and the least measured one at which the likelihood of the constant term is computed, starts of
#: the other constants there, and λ at most: a stronger one would favour small exponents in its place.
PROFILE_VALUES = 13
PROFILE_STARTS = 3
PROFILE_LAMBDA = 1e-5
#: τ where the structure was chosen: other forms fit nearly as well, and their errors are no independent errors of rows.
#: With a third the share of the constant of the laws of `experiments/accuracy/factors_told.py` that were looked at is
#: covered in nine of ten, of two laws that no structure contains in 71 % (explored; a half, by a density: 58).
CHOSEN_LIKELIHOOD = 1.0 / 3.0
#: Least error of rows.
LEAST_MISFIT = 1e-12
#: Smaller scales from which the largest one is predicted at least, then the two before it: a step and a power of a
#: count are not determined by two. Scales before the largest count where fewer runs than these lie beyond them: one
#: run at a new scale says little by itself.
SCALES_BELOW = (2, 3, 3)
FEW_RUNS = 8
#: Distance from a bound, as a share of the range (or of the scale), within which a constant is at the bound.
BOUND_ROOM = 1e-6
#: The polish of bootstrap replicates, which start near their optimum, from the best constants of the fit. What may be
#: left to gain is far below the spread of the replicates; a thousand take 11 to 13 times one fit, see
#: `experiments/performance.md`.
BOOTSTRAP = PolishSettings(max_steps=15, relative_tolerance=1e-4)
#: The polish of draws. Beside the kink of a `max` the steps are short: of a ring that hides its exchange 5 % of the
#: draws end within 15, and the intervals of the others' constants are a third as wide as they should be.
DRAWN = PolishSettings(max_steps=200, relative_tolerance=1e-4)


def resampled(rows: int, draws: int) -> Array:
    """Draw configurations with replacement: how often each is drawn in each replicate, shape (draws, rows)."""
    # Other draws by the content of a table have other second numbers.
    rng = np.random.default_rng([CONTENT_SEED, 1])
    counts = [np.bincount(rng.integers(rows, size=rows), minlength=rows) for _ in range(draws)]
    return np.array(counts, float).reshape(draws, rows)


#: Places of configurations in a table.
Rows = npt.NDArray[np.int64] | slice


class PhaseTimes(Struct, frozen=True, eq=False):
    """The measured times of a phase."""

    #: `phase`, `name`: the phase, and the column it is measured in.
    phase: str
    name: str
    medians: Table  #: One row per configuration in which it was measured; the target is the phase's time.
    rows: npt.NDArray[np.int64]  #: Shape (measured,). Numbers of these configurations in the table.

    def informative(self, law: Expression) -> Mask:
        """Return which rows depend on a law's constants: not those where it is zero whatever they are (one worker)."""
        return np.asarray(law.evaluate(self.medians.columns, dict.fromkeys(law.constant_names, 1.0)) != 0.0)


class FittedPhase(Struct, frozen=True, eq=False):
    """A measured phase, fitted to its column by itself."""

    column: PhaseTimes
    expression: Expression  #: The sum of its terms.
    rows: npt.NDArray[np.int64]  #: Numbers of the rows it is fitted to in the table's configurations.
    #: `problem`, `solution`: None where the phase takes no time wherever it was measured: there is nothing to fit.
    problem: Problem | None = None
    solution: Solution | None = None
    remark: str = ""  #: How the fit differs from the usual one, if it does.
    unidentified: tuple[str, ...] = ()  #: Constants that the column does not determine.

    @property
    def values(self) -> dict[str, float]:
        """Its constants by name; zero where the phase takes no time."""
        names = self.expression.constant_names
        constants = np.zeros(len(names)) if self.solution is None else self.solution.constants
        return dict(zip(names, constants.tolist(), strict=True))


class Fitted(Struct, frozen=True, eq=False, dict=True):
    """An expression fitted to configurations; the constants of measured phases are held at those of their parts."""

    expression: Expression
    problem: Problem  #: Over all constants.
    #: Of the constants that no part has; None where the parts have all.
    solution: Solution | None
    parts: Sequence[FittedPhase] = ()
    held_out: float | None = None  #: Mean relative error on configurations that a choice held out, where there was one.
    chosen: bool = False  #: Whether its structure was chosen among several.

    @cached_property
    def held(self) -> Mask:
        """Shape (n,). The constants that come from the parts."""
        phase_constants = {name for phase in self.parts for name in phase.values}
        return np.array([name in phase_constants for name in self.expression.constant_names], bool)

    @cached_property
    def constants(self) -> Array:
        """Shape (n,)."""
        if self.solution is not None:
            return self.solution.constants
        phase_constants = {name: value for phase in self.parts for name, value in phase.values.items()}
        return np.array([phase_constants[name] for name in self.expression.constant_names])

    @cached_property
    def fits(self) -> list[tuple[Problem, Rows, list[int] | slice, Mask | bool]]:
        """The problems that were solved in turn, the total last: of each its rows, its constants, and those held."""
        names, fits = self.expression.constant_names, list[tuple[Problem, Rows, list[int] | slice, Mask | bool]]()
        for part in self.parts:
            if part.problem is not None:
                fits.append((part.problem, part.rows, [*map(names.index, part.expression.constant_names)], False))
        if self.solution is not None:
            fits.append((self.problem, slice(None), slice(None), self.held))
        return fits

    @cached_property
    def residuals(self) -> Array:
        """ln(measured/fitted) of each configuration."""
        return np.asarray(np.log(self.problem.measured / self.problem.predict(self.constants[None, :])[0]))

    def refit(self, counts: Array, settings: PolishSettings = BOOTSTRAP) -> Array:
        """Return the constants fitted to repeated configurations, (sets, configurations) → (sets, n)."""
        sets = np.broadcast_to(self.constants, (len(counts), self.constants.size)).copy()
        for problem, rows, places, held in self.fits:
            weights = counts[:, rows] * problem.weights
            # The problem's where all drawn rows have weight zero.
            weights[weights.sum(axis=1) <= 0.0] = problem.weights
            sets[:, places] = polish(problem, sets[:, places], weights, settings, held).constants
        return sets

    def drawn(self, count: int, form: Array, independent: float, misfit: float) -> Array:
        """Return draws of the constants, (count, n): fits to noisy times, their penalty about a drawn centre.

            θ* = argmin Σ ω_i·ℓ(T(x_i; θ), t_i·exp(s·z_i/√w_i + g_i)) + λ·½‖θ/scale − η‖²,   z, η ~ N(0, 1)

        with s² the `independent` share of the variance of the residuals (randomise then optimise, Bardsley et al. 2014)
        and g = R·z' the form's error, R of shape (rows, k), which has the rest.
        The centre spreads what the penalty holds and the data do not: its bias is in the width of the draws. Where λ is
        small and the data determine a constant it moves nothing. The constant term of a generic expression is drawn
        first, and held: products of small exponents can stand for it, and no step leads from one to the other.
        """
        sets = np.broadcast_to(self.constants, (count, self.constants.size)).copy()
        place = constant_place(self.expression)
        if place is not None:
            tempered = CHOSEN_LIKELIHOOD if self.chosen else 1.0
            sets = _with_the_constant(self.problem, sets, place, misfit, tempered)
        for problem, _, places, held_of_parts in self.fits:
            of_total = problem is self.problem
            held = held_of_parts if place is None else np.arange(sets.shape[1]) == place
            sets[:, places] = _noisy_refits(problem, sets[:, places], held, (form, independent) if of_total else None)
        return sets

    def form(self, medians: Table) -> tuple[float, float]:
        """Return the standard deviation of ln T of the form's error, and the share of the variance without it.

        Where one factor varies, as in a series, there is none of such errors.
        """
        if sum(f.distinct > 1 for f in medians.factors) < 2:
            return 0.0, 1.0
        predicted, slopes = (values_of_set[0] for values_of_set in self.problem.jacobian(self.constants[None, :]))
        scaled = np.nan_to_num(slopes * self.problem.scale / predicted[:, None])
        form, noise = form_and_noise(self.residuals, scaled, positions(medians.factors, medians.columns))
        return form, noise**2 / max(form**2 + noise**2, LEAST_MISFIT**2)

    def look_back(self, medians: Table) -> list[Evidence]:
        """Predict large scales from the smaller ones."""

        def errors_of(_: Index, held: Mask, below: Mask) -> Array:
            """Return the mean error at held-out rows of a refit to the rows below."""
            # A phase may be measured in none of the others.
            if not all(problem.weights[below[0][rows]].any() for problem, rows, *_ in self.fits):
                return np.array([np.nan])
            constants = self.refit(below.astype(float), BOOTSTRAP if self.parts else POLISH)
            ratios = self.problem.predict(constants)[0][held[0]] / self.problem.measured[held[0]]
            return np.array([np.mean(np.abs(np.log(ratios)))])

        return look_back([medians], errors_of)[0]

    def status(self, solver: str) -> Status:
        """Return how the searches ended: the cost is that of the whole."""
        ends = [end for end in (*(phase.solution for phase in self.parts), self.solution) if end is not None]
        cost = float(self.problem.cost(self.constants[None, :])[0])
        last = self.solution
        restarts, agreed, population = (1, 1, 0) if last is None else (last.restarts, last.agreed, last.population)
        mutation, crossover = (MUTATION, CROSSOVER) if population else (None, None)
        evaluations, converged = sum(end.evaluations for end in ends), all(end.converged for end in ends)
        return Status(solver, cost, converged, evaluations, restarts, agreed, population, mutation, crossover)


def of_one(member: Member, spread: Spread, looks: Sequence[Evidence], options: FitOptions, strength: float) -> Ensemble:
    """Return the ensemble of one fitted member, with the options of its fit and what the largest scales showed."""
    used: dict[str, str | float | None] = {
        "loss": options.loss,
        "penalty": options.penalty,
        "lambda": strength,
        # A model that was given λ replaces it by "given".
        "lambda_by": "cross-validation" if options.lam == "cv" else "default",
        "solver": options.solver,
        "draws": options.draws,
    }
    return Ensemble((member,), spread, at_the_largest(looks), used)


def estimated(fitted: Fitted, table: Table, medians: Table, options: FitOptions, notes: Sequence[Note]) -> Ensemble:
    """Estimate the errors of a fit's predictions: draws of the constants, resampled rows, residuals, look back."""
    expression, problem, best = fitted.expression, fitted.problem, fitted.constants
    counts = resampled(len(medians), min(options.draws, RESAMPLES))
    (form, independent), look_backs = fitted.form(medians), fitted.look_back(medians)
    misfit = held_out_misfit(problem, fitted.refit(counts), counts)
    spread = spread_of(table, misfit, fitted.residuals, best.size, look_backs)
    errors = form * features(positions(medians.factors, medians.columns))
    draws = in_single_precision(fitted.drawn(options.draws, errors, independent, spread.misfit))
    spread = replace(spread, form=min(form, spread.misfit))
    undetermined_names = {name for phase in fitted.parts for name in phase.unidentified}
    if not fitted.held.all():
        undetermined_names.update(unidentified(problem, expression, best, fitted.held))
    undetermined = tuple(name for name in expression.constant_names if name in undetermined_names)
    bounded = expression.named(at_bounds(best, (problem.lower, problem.upper), problem.scale))
    named, status = named_by_factors(expression, best), fitted.status(options.solver)
    member = Member(named, best, draws, 1.0, status, bounded, undetermined)
    return replace(of_one(member, spread, look_backs, options, problem.penalty.strength), notes=tuple(notes))


def _with_the_constant(problem: Problem, sets: Array, place: int, misfit: float, tempered: float) -> Array:
    """Return as many sets as given with the constant term C drawn by its profile likelihood, the others fitted for it.

    sign(C − Ĉ)·√(τ·Σ ω_i·(r_i(C)² − r_i(Ĉ)²))/s = z,   z ~ N(0, 1),   r(C) = ln(t/T) at the best other constants for C

    with s the `misfit` of held-out rows and τ `tempered` (the confidence distribution of Schweder & Hjort 2002). Where
    other terms can take its part the left side is flat, and the draws lie at both ends: 0 and the least measured time.
    """
    best, weight = sets[0], problem.weights / problem.weights.mean()
    # The profile: the other constants are fitted at each of these values of C.
    least_time = max(float(problem.measured[problem.weights > 0.0].min()), best[place])
    values = np.unique([*np.linspace(0.0, least_time, PROFILE_VALUES), best[place]])
    strength = min(problem.penalty.strength, PROFILE_LAMBDA)
    weaker = replace(problem, penalty=replace(problem.penalty, strength=strength))
    starts = np.vstack([best, spread_starts(weaker, PROFILE_STARTS - 1, np.random.default_rng([CONTENT_SEED, 8]))])
    starts = np.repeat(starts[None], len(values), axis=0)
    starts[:, :, place] = values[:, None]
    ends = polish(weaker, starts.reshape(-1, best.size), None, ROUGHLY, np.arange(best.size) == place)
    best_start = ends.cost.reshape(starts.shape[:2]).argmin(axis=1)
    optima = ends.constants.reshape(starts.shape)[np.arange(len(values)), best_start]
    with np.errstate(all="ignore"):
        residuals = np.log(problem.measured / problem.predict(optima))
    squares = np.sum(np.where(weight > 0.0, weight * residuals**2, 0.0), axis=1)
    squares = np.where(np.isfinite(squares), squares, np.inf)
    least = int(squares.argmin())
    if not np.isfinite(squares[least]):
        return sets
    root = np.sqrt(tempered * (squares - squares[least])) / max(misfit, LEAST_MISFIT)
    # The signed root z: negative below the best value, and on both sides a running maximum away from it, as the
    # interpolation of C by z needs it to rise. It is nearly a straight line, however narrow the likelihood is.
    z = np.append(-np.maximum.accumulate(root[least::-1])[:0:-1], np.maximum.accumulate(root[least:]))
    order = np.random.default_rng([CONTENT_SEED, 9]).permutation(len(sets))
    constant = np.interp(normal_quantiles((order + 0.5) / len(sets)), z, values)
    # The other constants are those fitted at the nearest value of C.
    drawn: Array = optima[np.abs(values - constant[:, None]).argmin(axis=1)]
    drawn[:, place] = constant
    return drawn


def _noisy_refits(
    problem: Problem, sets: Array, held: Mask | bool = False, errors: tuple[Array, float] | None = None
) -> Array:
    """Return constants fitted to noisy times, from `sets`, (count, n), on; with `form` and `independent` of `drawn`."""
    count, n = sets.shape
    rows = np.flatnonzero(problem.weights > 0.0)
    weight = problem.weights / problem.weights[rows].mean()
    with np.errstate(all="ignore"):
        residuals = np.log(problem.measured / problem.predict(sets)[0])
    residuals = np.where(np.isfinite(residuals), residuals, 0.0)
    _, curvature = problem.derivatives(sets[:1])
    penalty_curvature = np.where(problem.penalised, problem.penalty.strength * (1.0 - problem.penalty.l1_share), 0.0)
    free = ~(np.zeros(n, bool) | held) & (sets[0] > problem.lower) & (sets[0] < problem.upper)
    inverse = np.linalg.pinv(curvature[0][np.ix_(free, free)], hermitian=True)
    # Σ (1 − H⁻¹_jj·λ_j) over the free constants: one that the penalty alone determines takes no freedom.
    used_freedom = float(np.clip(free.sum() - np.diag(inverse) @ penalty_curvature[free], 0.0, free.sum()))
    freedom = max(len(rows) - used_freedom, LEAST_FREEDOM * len(rows))
    sd = np.sqrt(np.sum((weight * residuals**2)[rows]) / freedom)
    rng = np.random.default_rng([CONTENT_SEED, 6])
    noise = np.zeros((count, problem.measured.size))
    # Student's: few residuals say little of their standard deviation.
    sd *= student_widening(freedom)
    if errors is not None:
        # The residuals are less than the errors: the constants were fitted to what neighbours have in common.
        noise += rng.standard_normal((count, errors[0].shape[1])) @ errors[0].T
        sd *= math.sqrt(errors[1])
    noise[:, rows] += sd * rng.standard_normal((count, len(rows))) / np.sqrt(weight[rows])
    # Standard normal numbers in pairs ±z, with a covariance of exactly I where they are enough.
    half = np.random.default_rng([CONTENT_SEED, 7]).standard_normal(((count + 1) // 2, n))
    if len(half) > n:
        # z ← L⁻¹·z, with L·L' the covariance of what was drawn.
        half = np.linalg.solve(np.linalg.cholesky(half.T @ half / len(half)), half.T).T
    centre = np.vstack([half, -half])[:count]
    centre = np.where(problem.coefficient & (problem.lower >= 0.0), np.abs(centre), centre)
    return polish(problem, sets, None, DRAWN, held, drawn=(problem.measured * np.exp(noise), centre)).constants


def held_out_misfit(problem: Problem, constants: Array, counts: Array) -> float:
    """Return the root mean square of ln(measured/predicted) over the rows that replicates did not draw, or NaN."""
    total, count = 0.0, 0
    for block in blocks(len(constants), problem.measured.size):
        with np.errstate(all="ignore"):
            residuals = np.log(problem.measured / problem.predict(constants[block]))
        held_out = (counts[block] == 0.0) & np.isfinite(residuals)
        total += float(np.sum(residuals[held_out] ** 2))
        count += int(held_out.sum())
    return float(np.sqrt(total / count)) if count else float("nan")


def spread_of(table: Table, misfit: float, residuals: Array, constants: int, looks: Sequence[Evidence]) -> Spread:
    """Estimate the errors of predictions that the draws do not contain; residuals are ln(measured/fitted)."""
    if not np.isfinite(misfit):
        freedom = max(1, residuals.size - constants)
        misfit = max(float(np.sqrt(np.sum(residuals**2) / freedom)), UNKNOWN_MISFIT)
    rates: dict[str, list[float]] = {}
    for look in looks:
        rates.setdefault(look.factor, []).append(RMS_OVER_MEAN * look.error / look.doublings)
    # Of one factor the root mean square: the runs at one scale err together, and by chance little. The misfit is the
    # least, as where no scale shows more.
    per_doubling = max([misfit, *(math.sqrt(sum(rate * rate for rate in r) / len(r)) for r in rates.values())])
    noise = table.noise()
    return Spread(noise=noise if np.isfinite(noise) else 0.0, misfit=misfit, per_doubling=per_doubling)


def last_point_error(medians: Table, name: str, held: Mask) -> float | None:
    """Return the mean |ln(partner/measured)| of held-out rows, each beside its partner at the largest smaller scale."""
    levels = [medians.columns[f.name].tolist() for f in medians.factors if f.name != name and f.role != "extrinsic"]
    keys = list(zip(*levels, strict=True)) if levels else [()] * len(held)
    by_scale = np.argsort(medians.columns[name], kind="stable")
    partners = {keys[row]: row for row in by_scale[~held[by_scale]].tolist()}
    pairs = [(partners[keys[row]], row) for row in np.flatnonzero(held).tolist() if keys[row] in partners]
    measured = medians.measured.tolist()
    errors = [abs(math.log(measured[partner] / measured[row])) for partner, row in pairs]
    return sum(errors) / len(errors) if errors else None


def look_back(medians: Sequence[Table], errors_of: Callable[[Index, Mask, Mask], Array]) -> list[list[Evidence]]:
    """Return for each table how well its largest scales are predicted from those below: 8 from 1–4, then 4 from 1–2."""
    evidence: list[list[Evidence]] = [[] for _ in medians]
    for factor in (f for f in medians[0].numeric if f.role == "extrinsic"):
        values = np.stack([m.columns[factor.name] for m in medians])
        below = np.ones(values.shape, bool)
        for step, fewest in enumerate(SCALES_BELOW):
            scale = np.max(values, axis=1, where=below, initial=0.0)
            at_scale, below = values == scale[:, None], values < scale[:, None]
            scale_before = np.max(values, axis=1, where=below, initial=0.0)
            # Every rise of the sorted values up to the scale is from another smaller scale.
            ascending = np.sort(np.where(below, values, scale[:, None]), axis=1)
            scales_below = np.sum(np.diff(ascending) > 0.0, axis=1)
            few_beyond = np.sum(values > scale[:, None], axis=1) < FEW_RUNS
            judged = np.flatnonzero((scales_below >= fewest) & (scale_before > 0.0) & few_beyond)
            if not judged.size:
                break
            with np.errstate(all="ignore"):
                errors = errors_of(judged, at_scale[judged], below[judged])
                doublings = np.log2(scale[judged] / scale_before[judged])
            for i, error, distance in zip(judged.tolist(), errors.tolist(), doublings.tolist(), strict=True):
                if math.isfinite(error):
                    naive_error = None if step else last_point_error(medians[i], factor.name, at_scale[i])
                    evidence[i].append(Evidence(factor.name, float(scale[i]), distance, error, naive_error))
    return evidence


def at_the_largest(looks: Sequence[Evidence]) -> tuple[Evidence, ...]:
    """Return the first look-back along each factor, which is that at its largest scale."""
    look_by_factor = {look.factor: look for look in reversed(looks)}
    return tuple(look_by_factor.values())[::-1]


def at_bounds(constants: Array, bounds: tuple[Array, Array], scale: Array) -> Mask:
    """Return which constants, (…, n), are at a bound but for rounding; the scale replaces a range without end."""
    lower, upper = bounds
    room = BOUND_ROOM * np.where(np.isfinite(upper - lower), upper - lower, scale)
    return np.asarray(((constants <= lower + room) | (constants >= upper - room)) & (lower < upper))


def unidentified(problem: Problem, expression: Expression, constants: Array, held: Mask) -> tuple[str, ...]:
    """Name the constants that are not held and that the data does not determine: their change moves no prediction."""
    _, slopes = problem.jacobian(constants[None, :])
    # A coefficient of zero has a size, or its column of the derivatives would vanish.
    size = np.maximum(np.abs(constants), problem.scale * np.where(problem.coefficient, LEAST_COEFFICIENT, 1.0))
    J = slopes[0] * size / problem.measured[:, None]
    flat = np.zeros(constants.size, bool)
    flat[~held] = undetermined(J[None, :, ~held])[0]
    return expression.named(flat)


def undetermined(slopes: Array) -> Mask:
    """Return which constants j have a share Σ_d v_dj² in flat singular directions d, (sets, rows, n) → (sets, n)."""
    sets, rows, n = slopes.shape
    J = np.where(np.isfinite(slopes), slopes, 0.0)
    _, singular, directions = np.linalg.svd(J, full_matrices=rows < n)
    # Fewer rows than constants have fewer singular values; the others are zero.
    padded = np.zeros((sets, n))
    padded[:, : singular.shape[1]] = singular
    flat = padded <= FLAT_RATIO * np.maximum(padded.max(axis=1, keepdims=True), 1e-300)
    return np.asarray(np.einsum("sd,sdn->sn", flat.astype(float), directions**2) > MIN_PART)
