"""The probability of fitting, from runs that succeeded and runs that failed.

Of the factors alone it is a probit with signs and a penalty. Where they show a transformer's layout, its need of a
device's memory is learned: the runs that failed are censored observations, whose need was above the capacity by an
unknown amount. With the parts u_k of `transformer-memory`, in logarithms of memory,

    ln M(x) = ln Σ_k e^{θ_k} u_k(x) + Σ_j β_j ln(x_j/c_j) + Σ_l δ_l,    P(fits) = Φ(κ·s·(c + Σ_l γ_l − ln M(x))),

and where the memory of runs was measured, ln m ~ N(ln M(x), σ²). The constants are the most likely ones under normal
priors: about the known bytes of each part for θ, about nothing for β and the levels' γ and δ. They are points, without
what the runs leave open: κ ≤ 1 is what makes the outcomes of held-out runs most likely.
"""

from collections.abc import Callable, Sequence
from functools import cached_property, partial
from statistics import NormalDist

import numpy as np
from msgspec import Struct
from msgspec.structs import replace

from genperf.arrays import AnyArray, Array, Integers, Mask
from genperf.errors import ModelError
from genperf.estimate.candidates import folds_of
from genperf.estimate.prepare import CONTENT_SEED
from genperf.formula import Node, Number, call, chain, evaluate, render, substitute
from genperf.formula.parse import MAX_CHARACTERS
from genperf.models import MODELS
from genperf.models.transformer import PARTS, build_memory
from genperf.models.transformer_layout import switch_columns
from genperf.panel import Panel, Table
from genperf.prediction.feasibility import CERTAINTY, Demand, Direction, Feasibility, Need, Values, surpassed
from genperf.solver import descended
from genperf.table import Factor
from genperf.vocabulary.names import canonical_of

#: Bounds of a constant that has none.
FREE = (-np.inf, np.inf)
#: Units of a measured quantity that is memory.
MEMORY_UNITS = ("B", "kB", "KB", "MB", "GB", "TB", "KiB", "MiB", "GiB", "TiB", "bytes")

# How the probability of fitting is estimated; `experiments/accuracy/transformers_fits.py` set the priors of a need.
#: Strengths λ of the probit's penalty ½λ‖β‖², per square of a slope, the strongest first. The first is taken with
#: which every measured configuration gets its outcome with probability `CERTAINTY`; where none does, that with the
#: fewest wrong outcomes. Where a plane separates the outcomes, the most likely slopes are infinite without it.
PROBIT_STRENGTHS: tuple[float, ...] = tuple(10.0 ** (-k / 4) for k in range(33))
#: Standard deviation of ln of a part's bytes about the known ones, where the network's shape is known.
PART_SD = 1.0
#: The same of parts in proportion to tokens where it is supposed of the parameters, and the tokens of a sample.
SUPPOSED_PART_SD = 1.5
SUPPOSED_SEQUENCE = 2048.0
#: The same of parts that some programs do without.
OPTIONAL_PART_SD = 3.0
#: The same where the parameters are not known: the parts then begin with equal shares.
UNKNOWN_PART_SD = 2.0
#: Of the power β of a factor beside the parts, and of the levels of a switch, whose meaning the parts have.
FACTOR_SD = 0.1
#: Of the logarithms by which a level changes the capacity, and the need: devices of 16 and of 80 GB lie 1.6 apart.
LEVEL_SD = 1.0
NEED_LEVEL_SD = 0.5
#: 1/s: how far ln of the need lies from the capacity's before a run is sure; and the
#: standard deviation of its logarithm. Fragmentation and what no part has are about a tenth.
NEED_SCATTER = 0.1
NEED_SCATTER_SD = 0.7
#: σ is no less: memory is often read in whole gigabytes.
LEAST_NEED_NOISE = 0.01
#: By how much the logarithm of the likelihood of held-out outcomes is to be larger without the need before it is
#: taken that something else than memory failed: odds of seven, the difference of 4 in AIC from which on the worse
#: model has considerably less support (Burnham & Anderson, 2002).
NEED_DOUBT = 2.0
#: Settings of a training that need less memory where they are larger: stages of sharding, recomputed layers.
SAVES_MEMORY = ("zero", "recomputation", "offload")
#: The probability that a run failed by chance where its words do not name memory: it is as likely as not. A guess.
BY_CHANCE = 0.5
#: Values of κ.
CALIBRATIONS: tuple[float, ...] = tuple(10.0 ** (-k / 10) for k in range(16))


def feasibility_of(table: Table) -> Feasibility:
    """Return the probability of fitting, by the need of memory or the factors, of a table with failed runs.

    >>> runs = pd.DataFrame({"batch": [1, 2, 4, 8], "seconds": [1.0, 1.9, 3.8, "OOM"]})
    >>> fits = feasibility_of(gp.read_table(runs, time="seconds", intrinsic="batch"))
    >>> fits.probability({"batch": np.array([4.0, 6.0, 8.0])}).round(2)
    array([0.99, 0.34, 0.01])
    """
    runs = _outcomes(table)
    fitted, likelihood = _by_memory(table.panel, runs) or _by_factors(runs, calibrated=False)
    # The factors alone cannot do better than ln 1 = 0.
    if likelihood < -NEED_DOUBT:
        by_factors, without_need = _by_factors(runs, calibrated=True)
        fitted = by_factors if without_need > likelihood + NEED_DOUBT else fitted
    return _with_bounds(fitted, runs)


class _Outcomes(Struct, frozen=True, eq=False, dict=True):
    """The distinct configurations: their factors, and whether each succeeded."""

    factors: tuple[Factor, ...]
    columns: dict[str, AnyArray]
    succeeded: Mask  #: Shape (rows,).
    measured: Array  #: Shape (rows,). Their memory, in any unit; NaN where it was not measured.
    failures: int  #: How many runs failed.
    by_chance: float  #: The probability that all of these failed by chance.

    @cached_property
    def signs(self) -> Array:
        """1 for a run that succeeded, −1 for one that failed."""
        return np.where(self.succeeded, 1.0, -1.0)

    @cached_property
    def demands(self) -> dict[str, Demand]:
        """The demands of the numeric factors, with a slope of zero."""
        demands = {}
        for factor in (f for f in self.factors if f.numeric):
            values = self.columns[factor.name]
            positive = bool(np.all(values > 0.0))
            centre = _geometric_mean(values) if positive else float(np.mean(np.abs(values))) or 1.0
            saves = factor.role == "extrinsic" or canonical_of(factor.name) in SAVES_MEMORY
            more: Direction = "smaller" if saves else "larger"
            demands[factor.name] = Demand(0.0, centre, positive, more if positive else "unordered")
        return demands

    @cached_property
    def scaled(self) -> Array:
        """ln(x/c) of the numeric factors, shape (rows, factors)."""
        scaled = [demand.scaled(self.columns[name].astype(float)) for name, demand in self.demands.items()]
        return np.column_stack([np.empty((len(self.succeeded), 0)), *scaled])

    @cached_property
    def levels(self) -> list[tuple[str, str]]:
        """Each level of the categorical factors, behind its factor: [("gpu", "a100"), …]."""
        named = [f.name for f in self.factors if not f.numeric]
        return [(name, level) for name in named for level in sorted(set(map(str, self.columns[name])))]

    @cached_property
    def at_levels(self) -> Array:
        """1 where a run has a level and 0 elsewhere, shape (rows, levels)."""
        there = [self.columns[name].astype(str) == level for name, level in self.levels]
        return np.column_stack([np.empty((len(self.succeeded), 0)), *there])

    def bounds(self, free: bool) -> list[tuple[float, float]]:
        """Return the bounds of the numeric factors' slopes; `free` where larger values that help may also harm."""
        ends = {"larger": (0.0, np.inf), "smaller": (-np.inf, np.inf if free else 0.0), "unordered": FREE}
        return [ends[demand.more] for demand in self.demands.values()]

    def take(self, rows: Integers) -> tuple[Values, ...]:
        """Return some configurations, of each its numbers, then its levels: ((8.0, "a100"), …)."""
        cells = [self.columns[f.name][rows].tolist() for f in self.factors]
        return tuple(zip(*cells, strict=True))

    def feasibility(self, margin: Array, need: Need | None = None) -> Feasibility:
        """Return the probability that a margin gives: of the headroom, the factors' slopes and the levels' offsets."""
        headroom, *slopes = [_rounded(b) for b in margin]
        of_factors = zip(self.demands.items(), slopes, strict=False)
        demands = {name: replace(demand, slope=slope) for (name, demand), slope in of_factors}
        offsets: dict[str, dict[str, float]] = {f.name: {} for f in self.factors if not f.numeric}
        for (name, level), offset in zip(self.levels, slopes[len(demands) :], strict=True):
            offsets[name][level] = offset
        return Feasibility(self.failures, headroom, demands, offsets, need=need, by_chance=self.by_chance)

    def calibrated(self, margins_of: Callable[[Mask], Array]) -> tuple[float, float]:
        """Return κ, with which held-out outcomes are most likely by `margins_of` fits to the others, and ln of that."""
        from scipy.special import log_ndtr

        margins = np.zeros(len(self.signs))
        for train in folds_of(len(self.signs), np.random.default_rng(CONTENT_SEED)):
            margins[~train] = margins_of(train)[~train]
        likelihoods = [float(log_ndtr(kappa * self.signs * margins).sum()) for kappa in CALIBRATIONS]
        best = int(np.argmax(likelihoods))
        return CALIBRATIONS[best], likelihoods[best]


def _outcomes(table: Table) -> _Outcomes:
    """Return the distinct configurations that succeeded, then those that failed, with their measured memory or NaN."""
    medians = table.medians()
    factors = (*table.numeric, *table.categorical)
    failed = table.failures[[f.name for f in factors]].drop_duplicates()
    columns = {
        f.name: np.concatenate([medians.columns[f.name], failed[f.name].to_numpy(dtype=float if f.numeric else object)])
        for f in factors
    }
    failures, succeeded = len(table.failures), len(medians)
    chance = 0.0 if table.lacked_memory else _rounded(BY_CHANCE**failures)
    memory = np.full(len(medians) + len(failed), np.nan)
    quantities = (table, *table.further.values())
    measures_memory = next((quantity for quantity in quantities if quantity.target.unit in MEMORY_UNITS), None)
    if measures_memory is not None:
        of_memory = measures_memory.medians()
        names = [name for name in columns if name in of_memory.columns]
        memory_rows = zip(*(of_memory.columns[name].tolist() for name in names), strict=True)
        memory_at = dict(zip(memory_rows, of_memory.measured, strict=True))
        rows = zip(*(columns[name][:succeeded].tolist() for name in names), strict=True)
        memory[:succeeded] = [memory_at.get(row, np.nan) for row in rows]
    return _Outcomes(factors, columns, np.arange(len(memory)) < succeeded, memory, failures, chance)


def _likelihood(signs: Array, margin: Array) -> tuple[Array, Array]:
    """Return ln Φ(±η) of each run, and its slope by ±η, φ(η)/Φ(±η): + of a run that succeeded, − of one that failed."""
    from scipy.special import log_ndtr

    logarithm = log_ndtr(signs * margin)
    # In logarithms: both are tiny where a configuration is far on the wrong side.
    return logarithm, np.exp(-0.5 * margin**2 - 0.5 * np.log(2.0 * np.pi) - logarithm)


def _by_factors(runs: _Outcomes, *, calibrated: bool) -> tuple[Feasibility, float]:
    """Return the probability by a probit of the factors alone, and ln of the likelihood of held-out outcomes."""
    basis = np.column_stack([np.ones(len(runs.signs)), -runs.scaled, -runs.at_levels])
    theta, free = _signed_probit(basis, runs.signs, runs)
    likelihood = 0.0
    if calibrated:
        kappa, likelihood = runs.calibrated(lambda rows: basis @ _signed_probit(basis[rows], runs.signs[rows], runs)[0])
        theta = kappa * theta
    fitted = runs.feasibility(theta)
    if free:
        # Of a factor whose larger values may harm as well, the fitted slope decides what more of it does.
        more: dict[float, Direction] = {1.0: "larger", -1.0: "smaller", 0.0: "unordered"}
        turned = {n: replace(d, more=more[np.sign(d.slope)]) for n, d in fitted.demands.items() if d.more == "smaller"}
        fitted = replace(fitted, demands=fitted.demands | turned)
    return fitted, likelihood


def _signed_probit(basis: Array, signs: Array, runs: _Outcomes) -> tuple[Array, bool]:
    """Return the headroom and slopes of a probit, and whether its slopes are free in sign."""
    theta, misjudged = _probit(basis, signs, runs.bounds(free=False))
    if misjudged:
        free_theta, misjudged_freely = _probit(basis, signs, runs.bounds(free=True))
        if misjudged_freely < misjudged:
            return free_theta, True
    return theta, False


def _probit(basis: Array, signs: Array, slopes: list[tuple[float, float]]) -> tuple[Array, int]:
    """Maximise Σ ln Φ(±η) − ½λ‖β‖² inside bounds of the slopes; return headroom, slopes and the number misjudged."""
    bounds = [FREE, *slopes, *[FREE] * (basis.shape[1] - 1 - len(slopes))]

    def cost(strength: float, theta: Array) -> tuple[float, Array]:
        logarithm, slope = _likelihood(signs, basis @ theta)
        # The headroom has no penalty.
        beta = np.concatenate([[0.0], theta[1:]])
        return 0.5 * strength * float(beta @ beta) - logarithm.sum(), strength * beta - basis.T @ (signs * slope)

    theta = np.zeros(basis.shape[1])
    best, fewest = theta, len(signs) + 1
    for strength in PROBIT_STRENGTHS:
        theta, _ = descended(partial(cost, strength), theta, bounds, ftol=1e-12, gtol=1e-9)
        margins = signs * (basis @ theta)
        wrong = int(np.sum(margins <= 0.0))
        if wrong < fewest:
            best, fewest = theta, wrong
        if np.all(margins >= NormalDist().inv_cdf(CERTAINTY)):
            return theta, wrong
    return best, fewest


def _by_memory(factors: Panel, runs: _Outcomes) -> tuple[Feasibility, float] | None:
    """Return the probability by a transformer's need of memory, and ln of the likelihood of held-out outcomes."""
    if MODELS["transformer-memory"].missing(factors) or not runs.columns:
        return None
    try:
        size_formulas = _part_sizes(factors)
    except ModelError:
        return None  # a word of a switch that is not known
    rows = len(runs.succeeded)
    sizes = np.array([np.broadcast_to(evaluate(node, runs.columns), rows) for node in size_formulas.values()], float)
    if not np.all(np.isfinite(sizes)) or np.any(sizes < 0.0) or not np.all(sizes.sum(axis=0) > 0.0):
        return None
    scales = _prior_scales(factors, [*size_formulas], sizes, runs.measured[np.isfinite(runs.measured)])
    law = _MemoryLaw(np.log(np.maximum(sizes * scales[:, None], 1e-300)), list(size_formulas), factors, runs)
    theta, log_s, c, _, beta, gamma, delta = law.split(law.solved(np.ones(rows)))
    kappa, likelihood = runs.calibrated(lambda train: law.margins(law.solved(train.astype(float)))[0])
    sharpness = float(np.exp(log_s[0])) * kappa
    amounts = [_rounded(float(factor)) for factor in scales * np.exp(theta)]
    terms = [call("multiply", amount, node) for amount, node in zip(amounts, size_formulas.values(), strict=True)]
    formula = render(chain("add", terms))
    if len(formula) > MAX_CHARACTERS:
        return None
    # What a demand and a level take off the margin: s·β, and s·(δ − γ).
    margin = sharpness * np.concatenate([c, beta, delta - gamma])
    return runs.feasibility(margin, Need(formula, _rounded(sharpness))), likelihood


def _prior_scales(factors: Panel, names: Sequence[str], sizes: Array, measured: Array) -> Array:
    """Return the supposed memory of each part per size, in the measured unit: its known bytes, or in equal shares."""
    if factors.has("parameters"):
        tokens = {"tokens": 1.0 if factors.has("sequence") else SUPPOSED_SEQUENCE}
        scales = np.array([PARTS[name].per_size * tokens.get(PARTS[name].of, 1.0) for name in names])
    else:
        scales = np.array([1.0 / _geometric_mean(sizes_of_part[sizes_of_part > 0.0]) for sizes_of_part in sizes])
    return np.asarray(scales * _geometric_mean(measured) / _geometric_mean(scales @ sizes))


def _part_sizes(factors: Panel) -> dict[str, Node]:
    """Return the size u of each part of the memory over the columns, with a scale factor of 1."""
    switches = switch_columns(factors)
    without = tuple(f for f in factors.factors if f.numeric or f in switches)
    expression = build_memory(factors.of_factors(without))
    unit_constants = {constant.name: Number(1.0) for constant in expression.constants}
    # Without a number of parameters, parts that some programs do without are left out.
    terms = [t for t in expression.terms if factors.has("parameters") or not PARTS[t.name].optional]
    return {term.name: substitute(term.node, unit_constants) for term in terms}


def _part_sd(name: str, factors: Panel) -> float:
    """Return the standard deviation of ln of a part's bytes about the known ones."""
    if not factors.has("parameters"):
        return UNKNOWN_PART_SD
    if PARTS[name].optional:
        return OPTIONAL_PART_SD
    shape = all(factors.has(factor) for factor in ("sequence", "layers", "hidden"))
    return PART_SD if shape or PARTS[name].of != "tokens" else SUPPOSED_PART_SD


def _geometric_mean(values: Array) -> float:
    """Return the geometric mean; 1 of nothing."""
    return float(np.exp(np.mean(np.log(values)))) if values.size else 1.0


def _rounded(value: float) -> float:
    """Return a constant with eight digits: further ones depend on the machine."""
    return float(f"{value:.8g}")


class _MemoryLaw:
    """The posterior of the constants of a need: θ, ln s, c, ln σ, β, γ and δ, in one array z."""

    def __init__(self, log_sizes: Array, names: list[str], factors: Panel, runs: _Outcomes) -> None:
        #: Shape (parts, rows). ln u.
        self.log_sizes = log_sizes
        self.runs, self.signs, self.levels = runs, runs.signs, runs.at_levels
        self.has_memory = np.isfinite(runs.measured)
        self.log_memory = np.log(np.where(self.has_memory, runs.measured, 1.0))
        powers, levels = runs.scaled.shape[1], self.levels.shape[1]
        # Where in z each array but the first begins.
        self.places = np.cumsum([len(names), 1, 1, 1, powers, levels])
        scatter = np.log(NEED_SCATTER)
        self.means = np.concatenate([np.zeros(len(names)), [-scatter, 0.0, scatter], np.zeros(powers + 2 * levels)])
        # The levels that are words of a switch, whose meaning the parts have.
        switches = [factor.name for factor in switch_columns(factors)]
        switched = np.isin([name for name, _ in runs.levels], switches)
        of_levels = [np.where(switched, FACTOR_SD, sd) for sd in (LEVEL_SD, NEED_LEVEL_SD)]
        of_scatter = [NEED_SCATTER_SD, np.inf, NEED_SCATTER_SD]
        of_parts = [_part_sd(name, factors) for name in names]
        self.sds = np.concatenate([of_parts, of_scatter, np.full(powers, FACTOR_SD), *of_levels])

    def split(self, z: Array) -> list[Array]:
        """Return θ, ln s, c, ln σ, β, γ and δ."""
        return np.split(z, self.places)

    def margins(self, z: Array) -> tuple[Array, Array, Array]:
        """Return by how much each run fits, in standard deviations, ln M without levels, and each part's share of M."""
        theta, log_s, c, _, beta, gamma, delta = self.split(z)
        log_parts = self.log_sizes + theta[:, None]
        # The largest part is taken out, so that no exponential overflows.
        largest = log_parts.max(axis=0)
        of_largest = np.exp(log_parts - largest)
        total = of_largest.sum(axis=0)
        log_need = largest + np.log(total) + self.runs.scaled @ beta
        headroom = c[0] + self.levels @ (gamma - delta) - log_need
        return np.asarray(float(np.exp(log_s[0])) * headroom), log_need, of_largest / total

    def cost(self, counted: Array, z: Array) -> tuple[float, Array]:
        """Return −ln of the posterior, but for a constant, and its slopes by z; `counted` is 1 of a run that counts.

            −Σ ln Φ(±η) + Σ (½r² + ln σ) + ½Σ ((z − mean)/sd)²,    η = s·(c + Σ_l γ_l − ln M),    r = (ln m − ln M)/σ

        The second sum is over the runs whose memory m was measured.
        """
        _, log_s, _, log_sigma, _, _, delta = self.split(z)
        s, precision = float(np.exp(log_s[0])), np.exp(-log_sigma[0])
        margin, log_need, shares = self.margins(z)
        logarithm, slope = _likelihood(self.signs, margin)
        has_memory = counted * self.has_memory
        residuals = has_memory * (self.log_memory - (log_need + self.levels @ delta)) * precision
        # A constant without a prior (sd = ∞) costs nothing.
        deviations = np.where(np.isfinite(self.sds), (z - self.means) / self.sds, 0.0)
        value = -(counted @ logarithm) + 0.5 * residuals @ residuals + log_sigma[0] * has_memory.sum()
        value += 0.5 * deviations @ deviations
        by_margin = -self.signs * counted * slope
        by_log_need = -s * by_margin - residuals * precision
        # By θ; ln s, c and ln σ; β; γ; δ.
        slopes = [
            shares @ by_log_need,
            [by_margin @ margin, s * by_margin.sum(), has_memory.sum() - residuals @ residuals],
            self.runs.scaled.T @ by_log_need,
            s * self.levels.T @ by_margin,
            self.levels.T @ by_log_need,
        ]
        return float(value), np.concatenate(slopes) + np.where(np.isfinite(self.sds), deviations / self.sds, 0.0)

    def solved(self, counted: Array) -> Array:
        """Return the most likely constants, given the runs that count, β inside its bounds."""
        start, (_, c, log_sigma, beta, gamma, _) = self.means.copy(), self.places.tolist()
        needs = self.margins(start)[1]
        # The capacity begins at the largest need that fitted.
        fitting_needs = needs[self.runs.succeeded & (counted > 0.0)]
        start[c] = float(np.max(fitting_needs)) if fitting_needs.size else float(np.min(needs))
        limits = [FREE] * len(start)
        limits[log_sigma] = (float(np.log(LEAST_NEED_NOISE)), 0.0)
        limits[beta:gamma] = self.runs.bounds(free=False)
        return descended(partial(self.cost, counted), start, limits, ftol=1e-12, gtol=1e-7)[0]


def _with_bounds(fitted: Feasibility, runs: _Outcomes) -> Feasibility:
    """Add the configurations that bound the probability: the most demanding successes, the least demanding failures."""
    demanded, succeeded = fitted.demanded(runs.columns), runs.succeeded
    most_demanding = _extreme_configurations(demanded, succeeded, 1)
    # Failures that demand less than some success, and of these the configurations that never succeeded.
    covered = ~succeeded & surpassed(demanded, demanded[most_demanding], -1)
    successes = demanded[succeeded]
    never = [row for row in np.flatnonzero(covered) if not np.any(np.all(successes == demanded[row], axis=1))]
    return replace(
        fitted,
        succeeded=runs.take(most_demanding),
        failed=runs.take(_extreme_configurations(demanded, ~succeeded & ~covered, -1)),
        contradicted=runs.take(np.array(never, np.int64)),
        certain=CERTAINTY if fitted.need is None else _certain(demanded, succeeded),
    )


def _certain(demanded: Array, good: Mask) -> float:
    """Return the share of outcomes that other runs foretell: one fits if a run of more demand did; 0.5 to CERTAINTY."""
    right = wrong = 0
    for row, outcome in enumerate(good):
        other_rows = np.arange(len(good)) != row
        fits = bool(surpassed(demanded[[row]], demanded[other_rows & good], -1)[0])
        fails = bool(surpassed(demanded[[row]], demanded[other_rows & ~good], 1)[0])
        right += fits if outcome else fails
        wrong += fails if outcome else fits
    return CERTAINTY if not wrong else _rounded(min(CERTAINTY, max(0.5, (right + 0.5) / (right + wrong + 1.0))))


def _extreme_configurations(demanded: Array, among: Mask, sign: int) -> Integers:
    """Return the configurations that no other surpasses: the most demanding (1), or the least demanding (−1)."""
    rows = np.flatnonzero(among)
    needs, first_row = np.unique(sign * demanded[rows], axis=0, return_index=True)
    return np.sort(rows[first_row[[bool(np.all(needs >= need, axis=1).sum() == 1) for need in needs]]])
