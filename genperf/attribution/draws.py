"""A result's uncertainty as curves: every member's draws by weight, each with its error of form."""

from collections.abc import Sequence
from functools import cached_property, lru_cache
from math import isqrt
from typing import ClassVar

import numpy as np
from msgspec import Struct

from genperf.arrays import Array, Columns, Index, Mask
from genperf.discrepancy.form import features, positions
from genperf.gaussian import STUDENT_FREEDOM, normal_quantiles, student_tails
from genperf.prediction import Member, distance_beyond, forecasts, stack_of
from genperf.prediction.bands import mixture_quantiles, quantiles
from genperf.prediction.member import pooled_covariance, pooled_root
from genperf.result import FitResult


def shares(members: Sequence[Member]) -> Array:
    """Return every draw's share of the ensemble, shape (draws,), adding up to one."""
    by_draw = np.concatenate([np.full(len(m.draws), m.weight / len(m.draws)) for m in members])
    return np.asarray(by_draw / by_draw.sum())


#: ln of how far a draw lies below the largest one at a row, at most: a draw of a user's formula may be zero, of which
#: no ratio exists. No result at two digits changes with it.
DEEPEST = 20.0
#: Singular value over the largest one below which constants move no run.
FLAT = 1e-6
#: A standard deviation of ln of a ratio below this is what rounding leaves of two equal covariances.
ROUNDING = 1e-6


class Ratios(Struct, frozen=True, eq=False):
    """ln of ratios of predicted values, a mixture of normal distributions: what both share cancels in each draw."""

    weights: Array  #: Shape (draws,). They add up to one.
    #: `mean`, `deviation`: of shape (draws, pairs).
    mean: Array
    deviation: Array

    def quantiles(self, levels: tuple[float, float]) -> Array:
        """Return the ends of the interval of ln of each ratio, shape (2, pairs), in closed form."""
        deviation = np.where(self.deviation < ROUNDING, 0.0, self.deviation)
        return np.log(mixture_quantiles(self.mean, self.weights, deviation, np.array(levels)))


class _MemberCurves(Struct, frozen=True, eq=False):
    """ln T of every draw of one member at several rows."""

    mean: Array  #: Shape (draws, rows).
    #: Shape (scales, rows, rows). Of a process, one for each of its scales; without any where the draws depart from
    #: their means by `shared` alone.
    covariances: Array
    scale: Index  #: Shape (draws,). Which of them is a draw's.
    shared: Array  #: Shape (draws or 1, rows). Standard deviation of what moves all rows of a draw together.
    root: Array  #: Shape (rows, k). A root of the covariance between many rows; none where `covariances` has it.

    @property
    def columns(self) -> int:
        """The independent numbers of a draw beside the one that moves all of its rows."""
        return max(int(self.root.shape[1]), int(self.mean.shape[1]) if len(self.covariances) else 0)

    def paths(self, z: Array) -> Array:
        """Return a curve of each draw, shape (draws, rows), of its normal numbers z, shape (draws, 1 + `columns`)."""
        out = self.mean + z[:, :1] * self.shared
        if self.root.size:
            out += z[:, 1 : 1 + self.root.shape[1]] @ self.root.T
        for place, covariance in enumerate(self.covariances):
            of_scale = self.scale == place
            out[of_scale] += z[of_scale, 1 : 1 + len(covariance)] @ _root(covariance.tobytes()).T
        return out

    def ratios(self, of: Index, to: Index) -> tuple[Array, Array]:
        """Return the mean of ln of ratios and its standard deviation, each (draws, pairs).

        Var = C_oo + C_tt − 2·C_ot + Σ(R_o − R_t)² + (shared_o − shared_t)²    of the row o to the row t
        """
        c = self.covariances
        variance = np.maximum(c[:, of, of] + c[:, to, to] - 2.0 * c[:, of, to], 0.0)[self.scale] if len(c) else 0.0
        mean = self.mean[:, of] - self.mean[:, to]
        variance = variance + np.sum((self.root[of] - self.root[to]) ** 2, axis=1)
        deviation = np.sqrt(variance + (self.shared[:, of] - self.shared[:, to]) ** 2)
        return mean, np.broadcast_to(deviation, mean.shape)


class Curves(Struct, frozen=True, eq=False, dict=True):
    """ln T of every draw of every member at several rows."""

    #: Rows whose covariance is taken apart: with a thousand draws 256 take 0.1 s on one core, and 1024 take 1.7 s. Of
    #: more rows, so many stand for all.
    most_rows: ClassVar[int] = 256
    places: ClassVar[int] = 128
    #: Shape (draws,). They add up to one.
    weights: Array
    members: tuple[_MemberCurves, ...]
    #: Whether probabilities are Student's: of a stack, whose held-out rows are weighed so. Normal ones of 75 to 95 %
    #: come true too often (`experiments/accuracy/factors_told.py`).
    student: bool = False

    @cached_property
    def paths(self) -> Array:
        """Return a curve of each draw, shape (draws, rows), of its normal numbers z, shape (draws, 1 + `columns`)."""
        columns = max(member.columns for member in self.members)
        ends = np.cumsum([len(member.mean) for member in self.members])
        z = np.split(_scattered(len(self.weights), 1 + columns), ends[:-1])
        return np.vstack([member.paths(z_member) for member, z_member in zip(self.members, z, strict=True)])

    @property
    def likely(self) -> Array:
        """Return `paths` from which probabilities are counted, shape (draws, rows)."""
        if not self.student:
            return self.paths
        return self.mean + student_tails(self.paths - self.mean, STUDENT_FREEDOM, np.random.default_rng(0))

    @property
    def mean(self) -> Array:
        """What each draw expects, shape (draws, rows)."""
        return np.vstack([member.mean for member in self.members])

    @cached_property
    def within(self) -> Array:
        """The covariance between rows within a draw, Σ w·(shared·sharedᵀ + R·Rᵀ + C), shape (rows, rows)."""
        within = np.zeros(2 * self.members[0].mean.shape[1:])
        ends = np.cumsum([len(member.mean) for member in self.members])
        for member, weights in zip(self.members, np.split(self.weights, ends[:-1]), strict=True):
            shared = np.broadcast_to(member.shared, member.mean.shape)
            within += (weights[:, None] * shared).T @ shared + weights.sum() * member.root @ member.root.T
            for place, covariance in enumerate(member.covariances):
                within += weights[member.scale == place].sum() * covariance
        return within

    def joint_draws(self, count: int, seed: int) -> Array:
        """Return random draws of ln T, each at all rows together, shape (count, rows)."""
        generator = np.random.default_rng(seed)
        chosen = generator.choice(len(self.weights), count, p=self.weights)
        zero = np.zeros(len(self.within))
        away = generator.multivariate_normal(zero, self.within, count, check_valid="ignore", method="eigh")
        if self.student:
            away = student_tails(away, STUDENT_FREEDOM, generator)
        return np.asarray(self.mean[chosen] + away)

    def ratios(self, over: Index | int, under: Index | int) -> Ratios:
        """Return ln of the ratios of some rows over others, pair by pair; one row stands for as many as the others."""
        of, to = np.broadcast_arrays(np.atleast_1d(over), np.atleast_1d(under))
        by_member = [member.ratios(of, to) for member in self.members]
        return Ratios(self.weights, *(np.vstack(arrays) for arrays in zip(*by_member, strict=True)))

    def to_first(self, levels: tuple[float, float], places: Index | None = None) -> Array:
        """Return the ends of the interval of each row's ratio to the first, shape (2, rows); NaN beside `places`."""
        rows = self.members[0].mean.shape[1]
        places = np.arange(rows) if places is None else places
        ends = np.full((2, rows), np.nan)
        ends[:, places] = np.exp(self.ratios(places, 0).quantiles(levels))
        return ends


def curves_of(
    result: FitResult,
    columns: Columns,
    members: Sequence[Member] | None = None,
    predictions: Sequence[tuple[Array, Array]] | None = None,
    smooth: bool = False,
    exact: bool = False,
) -> Curves:
    """Return ln T of every draw at some rows, with the covariance between the rows.

        ln T_d ~ N(mean_d, shared·sharedᵀ + C)        C of the stack or of the draw's discrepancy, or R·Rᵀ

    R is a root of the covariance of the form's error, or of a stack at very many rows. Beyond the data, and where a
    series has more than `Curves.most_rows` rows and needs not be `exact`, `shared` alone moves all rows of a draw.
    """
    far = distance_beyond(result.schema, columns)
    members = result.members if members is None else members
    many_rows = len(far) > Curves.most_rows and not exact
    # Shape (1 or none, rows, rows), and (rows, k).
    of_stack, root = np.empty((0, len(far), len(far))), np.empty((len(far), 0))
    if stack_of(members) is not None:
        if many_rows:
            root = pooled_root(members, columns, Curves.places)
        else:
            of_stack = pooled_covariance(members, columns, smooth)[None]
    curves = []
    predictions = forecasts(members, columns) if predictions is None else predictions
    for member, (logarithms, variance) in zip(members, predictions, strict=True):
        mean = np.maximum(logarithms, logarithms.max(axis=0) - DEEPEST)
        covariances, scale = of_stack, np.zeros(len(mean), dtype=np.intp)
        if result.spread.form > 0.0:
            error, root = form_error(result, member, columns)
            mean = mean - error
        if member.discrepancy is not None and not many_rows:
            # Draws of one scale have one covariance.
            scales, scale = np.unique(member.discrepancy.scales, return_inverse=True)
            covariances = member.discrepancy.covariance(columns, scales)
        in_covariance = len(covariances) or root.size
        shared = member.mean_variance(result.spread, far) + (0.0 if in_covariance else variance)
        curves.append(_MemberCurves(mean, covariances, scale, np.sqrt(shared), root))
    return Curves(shares(members), tuple(curves), stack_of(members) is not None)


def form_error(result: FitResult, member: Member, columns: Columns) -> tuple[Array, Array]:
    """Return the form's error g of each draw, (draws, rows), and a root of its covariance that is left, (rows, k).

        ln T = ln m(θ) − g,   θ fitted to ln T with g and noise ε

    What the constants took up of both moved m by U·Uᵀ(g + ε) at the runs, U a basis of its derivatives. The truth lies
    where it would without g: beside the runs the two cancel.
    """
    panel, spread, factors = result.panel, result.spread, result.schema.factors
    if not panel.medians:
        return np.zeros((1, 1)), spread.form * features(positions(factors, columns))
    measured = panel.measured
    free = [name for name, drawn in zip(member.values, member.draws.T, strict=True) if np.ptp(drawn) > 0.0]
    with np.errstate(all="ignore"):
        fitted, slopes = member.expression.gradient(measured, member.values, free)
        log_moves = np.nan_to_num(member.log_draws(measured) - np.log(fitted))
        # The derivatives of ln m by the constants, each of length one; a column of zeros stands where none is free.
        J = np.nan_to_num(np.column_stack([np.zeros(len(fitted)), *slopes.values()]) / fitted[:, None])
    J = J / np.maximum(np.linalg.norm(J, axis=0), 1e-300)
    basis, size, _ = np.linalg.svd(J, full_matrices=False)
    basis = basis[:, size > FLAT * size.max(initial=0.0)]
    root = spread.form * features(np.vstack([positions(factors, measured), positions(factors, columns)]))
    at_runs, in_rows = np.split(root, [len(fitted)])
    along_basis = log_moves @ basis
    # Draws are fitted to times with noise of the size of all residuals; the form's error may exceed the misfit there.
    noise = max(spread.misfit, float(np.sqrt(np.mean(along_basis**2))) if along_basis.size else 0.0)
    error, remaining = _left_by(basis.T @ at_runs, noise, along_basis)
    return error @ in_rows.T, in_rows @ remaining


# Half a megabyte each at most: groups of a table have the same.
@lru_cache(maxsize=32)
def _root(covariance: bytes) -> Array:
    """Return a square root of a covariance, which may be singular."""
    numbers = np.frombuffer(covariance)
    values, vectors = np.linalg.eigh(numbers.reshape(2 * (isqrt(len(numbers)),)))
    return np.asarray(vectors * np.sqrt(np.maximum(values, 0.0)))


# A megabyte each: series of a table have the same.
@lru_cache(maxsize=16)
def _scattered(count: int, columns: int) -> Array:
    """Return the quantiles of a standard normal, in each column in an order of its own, shape (count, columns)."""
    order = np.array([np.random.default_rng(seed).permutation(count) for seed in range(columns)])
    return np.asarray(normal_quantiles((np.arange(count) + 0.5) / count)[order.T])


def thinned(members: Sequence[Member], max_draws: int) -> tuple[Member, ...]:
    """Return the members with at most so many draws in all, shared by weight; each keeps one at least."""
    total = sum(m.weight for m in members)
    out = []
    for member in members:
        count = min(len(member.draws), max(1, round(max_draws * member.weight / total)))
        out.append(member.kept(np.linspace(0, len(member.draws) - 1, count).round().astype(int)))
    return tuple(out)


def interval_about(
    value: Array, drawn: Array, weights: Array, levels: Sequence[float], of_sums: bool | Mask = False
) -> Array:
    """Return values and the ends of their intervals over draws, which hold the value as in `predict`, shape (3, …)."""
    lower, upper = quantiles(drawn, weights, levels)
    # A sum of terms of zero at least errs one way in all draws: 85 % of them are held so, and 70 % by quantiles alone
    # (`experiments/accuracy/factors_told.py`).
    reach = np.where(of_sums, 0.5 * (upper - lower), 0.0)
    lower = np.minimum(lower, np.maximum(value - reach, np.minimum(value, 0.0)))
    return np.array([value, lower, np.maximum(upper, value + reach)])


def _left_by(observed: Array, noise: float, values: Array) -> tuple[Array, Array]:
    """Return what is known of ω ~ N(0, I) by values v = A·ω + noise·ε, A being `observed`: its mean and a root.

        E[ω] = Gᵀ·v,   cov(ω) = I − Aᵀ·G = R·Rᵀ,   G = (A·Aᵀ + noise²·I)⁻¹·A

    The values are of shape (draws, numbers), A of (numbers, k), the means of (draws, k), and R of (k, k).
    """
    gain = np.linalg.solve(observed @ observed.T + (noise**2 + 1e-12) * np.eye(len(observed)), observed)
    sizes, vectors = np.linalg.eigh(np.eye(observed.shape[1]) - observed.T @ gain)
    return values @ gain, vectors * np.sqrt(np.maximum(sizes, 0.0))
