"""What a layout needs of a device's memory, learned from runs that fitted and runs that did not.

The runs that failed are censored observations: the need was above the capacity, by an unknown amount. With the
parts u_k of `transformer-memory`, in logarithms of memory,

    ln M(x) = ln Σ_k e^{θ_k} u_k(x) + Σ_j β_j ln(x_j/c_j) + Σ_l δ_l,    P(fits) = Φ(κ·s·(c + Σ_l γ_l − ln M(x))),

and where the memory of runs was measured, ln m ~ N(ln M(x), σ²). The constants are the most likely ones under normal
priors: about the known bytes of each part for θ, about nothing for β and the levels' γ and δ. They are points, without
what the runs leave open: κ ≤ 1 is what makes the outcomes of held-out runs most likely.
"""

from dataclasses import dataclass, replace
from functools import cached_property
from typing import Any

import numpy as np
import numpy.typing as npt
from scipy.special import log_ndtr

from genperf.arrays import Array, Mask
from genperf.errors import ModelError
from genperf.formula import Node, Number, call, chain, evaluate, substitute
from genperf.models import MODELS
from genperf.models.transformer_layout import switch_columns
from genperf.models.transformer_memory import PARTS, build
from genperf.panel import Panel
from genperf.prediction.feasibility import Demand, Direction, Values
from genperf.table import Factor


@dataclass(frozen=True)
class MemorySettings:
    """Priors of what a layout needs. `experiments/transformers_fits.py` set them."""

    #: Standard deviation of ln of a part's bytes about the known ones, where the network's shape is known.
    part_sd: float = 1.0
    #: `supposed_part_sd`, `supposed_sequence`: the same of parts in proportion to tokens where it is supposed of the
    #: parameters, and the tokens of a sample.
    supposed_part_sd: float = 1.5
    supposed_sequence: float = 2048.0
    #: The same of parts that some programs do without.
    optional_part_sd: float = 3.0
    #: The same where the parameters are not known: the parts then begin with equal shares.
    unknown_part_sd: float = 2.0
    #: Of the power β of a factor beside the parts, and of the levels of a switch, whose meaning the parts have.
    factor_sd: float = 0.1
    #: `level_sd`, `need_level_sd`: of the logarithms by which a level changes the capacity, and the need: devices of 16
    #: and of 80 GB lie 1.6 apart.
    level_sd: float = 1.0
    need_level_sd: float = 0.5
    #: `scatter`, `scatter_sd`: 1/s: how far ln of the need lies from the capacity's before a run is sure; and the
    #: standard deviation of its logarithm. Fragmentation and what no part has are about a tenth.
    scatter: float = 0.1
    scatter_sd: float = 0.7
    #: σ is no less: memory is often read in whole gigabytes.
    least_noise: float = 0.01
    #: By how much the logarithm of the likelihood of held-out outcomes is to be larger without the need before it is
    #: taken that something else than memory failed. A guess: odds of seven.
    doubt: float = 2.0
    #: In which κ is learned.
    folds: int = 5
    #: Values of κ.
    calibrations: tuple[float, ...] = tuple(10.0 ** (-k / 10) for k in range(16))
    #: Of L-BFGS-B.
    max_steps: int = 1000


MEMORY = MemorySettings()


@dataclass(frozen=True, eq=False)
class Outcomes:
    """The distinct configurations: their factors, and whether each succeeded."""

    factors: tuple[Factor, ...]
    columns: dict[str, npt.NDArray[Any]]
    #: Shape (rows,).
    succeeded: Mask
    #: Shape (rows,). Their memory, in any unit; NaN where it was not measured.
    measured: Array

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
            centre = float(np.exp(np.mean(np.log(values)))) if positive else float(np.mean(np.abs(values))) or 1.0
            more: Direction = "larger" if factor.role == "intrinsic" else "smaller"
            demands[factor.name] = Demand(0.0, centre, positive, more if positive else "unordered")
        return demands

    @cached_property
    def scaled(self) -> Array:
        """ln(x/c) of the numeric factors, shape (rows, factors)."""
        parts = [demand.scaled(self.columns[name].astype(float)) for name, demand in self.demands.items()]
        return np.array(parts).reshape(len(parts), len(self.succeeded)).T.copy()

    @cached_property
    def levels(self) -> list[tuple[str, str]]:
        """Each level of the other factors, behind its factor."""
        texts = [f.name for f in self.factors if not f.numeric]
        return [(name, level) for name in texts for level in sorted(set(map(str, self.columns[name])))]

    @cached_property
    def at_levels(self) -> Array:
        """1 where a run has a level and 0 elsewhere, shape (rows, levels)."""
        parts = [(self.columns[name].astype(str) == level).astype(float) for name, level in self.levels]
        return np.array(parts).reshape(len(parts), len(self.succeeded)).T.copy()

    def bounds(self, free: bool) -> Array:
        """Return the bounds of the numeric factors' slopes, shape (factors, 2); `free` where larger ones help."""
        directions = [demand.more for demand in self.demands.values()]
        lower = [0.0 if more == "larger" else -np.inf for more in directions]
        upper = [0.0 if more == "smaller" and not free else np.inf for more in directions]
        return np.column_stack([lower, upper])

    def take(self, rows: npt.NDArray[np.int64]) -> tuple[Values, ...]:
        """Return some configurations: their numbers, then their levels."""
        cells = [self.columns[f.name][rows].tolist() for f in self.factors]
        return tuple(zip(*cells, strict=True))


@dataclass(frozen=True, eq=False)
class MemoryDemand:
    """The fitted need."""

    #: Σ_k e^{θ_k} u_k over the table's columns.
    need: Node
    #: s.
    slope: float
    #: Shape (1 + numeric factors + levels,). s·c, s·β and −s·γ.
    margin: Array
    #: The logarithm of how likely it makes held-out outcomes.
    likely: float


def memory_demand(factors: Panel, runs: Outcomes) -> MemoryDemand | None:
    """Fit what a layout needs; None where the factors do not show a transformer's layout."""
    if MODELS["transformer-memory"].missing(factors) or not runs.columns:
        return None
    try:
        parts = _parts(factors)
    except ModelError:
        return None  # a word of a switch that is not known
    rows = len(runs.succeeded)
    sizes = np.array([np.broadcast_to(evaluate(node, runs.columns), rows) for node in parts.values()], float)
    if not np.all(np.isfinite(sizes)) or np.any(sizes < 0.0) or not np.all(sizes.sum(axis=0) > 0.0):
        return None
    tokens = 1.0 if factors.has("sequence") else MEMORY.supposed_sequence
    scales = _scales(list(parts), sizes, runs.measured, tokens if factors.has("parameters") else None)
    sds = np.array([_part_sd(name, factors) for name in parts])
    # The levels that are words of a switch, whose meaning the parts have.
    switches = [factor.name for factor in switch_columns(factors)]
    switched = np.isin([name for name, _ in runs.levels], switches)
    problem = _Problem(np.log(np.maximum(sizes * scales[:, None], 1e-300)), sds, runs, switched)
    theta, slope, capacity, powers, offsets = problem.split(problem.solved())
    kappa, likely = calibration(problem.held_out())
    slope *= kappa
    values = [rounded(float(value)) for value in scales * np.exp(theta)]
    need = chain("add", [call("multiply", value, node) for value, node in zip(values, parts.values(), strict=True)])
    return MemoryDemand(need, slope, np.concatenate([[slope * capacity], slope * powers, -slope * offsets]), likely)


def held_out_folds(count: int) -> list[Mask]:
    """Return which of some runs each fold holds out."""
    fold = np.random.default_rng(0).permutation(count) % MEMORY.folds
    return [fold == k for k in range(MEMORY.folds)]


def calibration(margins: Array) -> tuple[float, float]:
    """Return κ, which makes held-out outcomes most likely, and the logarithm of how likely.

    Margins, shape (rows,), are by how much each run lies on the side of its outcome.
    """
    likely = [float(log_ndtr(kappa * margins).sum()) for kappa in MEMORY.calibrations]
    best = int(np.argmax(likely))
    return MEMORY.calibrations[best], likely[best]


def _parts(factors: Panel) -> dict[str, Node]:
    """Return the size of each part over the columns: its scale factor is 1, and other levels have no effect."""
    switches = switch_columns(factors)
    without = tuple(f for f in factors.factors if f.numeric or f in switches)
    names = {f.name for f in without}
    mapping = {canonical: column for canonical, column in factors.mapping.items() if column in names}
    expression = build(replace(factors, factors=without, mapping=mapping))

    def keeps(name: str) -> bool:
        return factors.has("parameters") or not PARTS[name].optional

    ones = {constant.name: Number(1.0) for constant in expression.constants}
    return {term.name: substitute(term.node, ones) for term in expression.terms if keeps(term.name)}


def _part_sd(name: str, factors: Panel) -> float:
    """Return the standard deviation of ln of a part's bytes about the known ones."""
    if not factors.has("parameters"):
        return MEMORY.unknown_part_sd
    if PARTS[name].optional:
        return MEMORY.optional_part_sd
    shape = all(factors.has(one) for one in ("sequence", "layers", "hidden"))
    return MEMORY.part_sd if shape or PARTS[name].of != "tokens" else MEMORY.supposed_part_sd


def _scales(names: list[str], sizes: Array, measured: Array, tokens: float | None) -> Array:
    """Return the scale factors that the prior is about, shape (parts,): known bytes or equal shares."""
    if tokens is not None:
        scales = np.array([PARTS[n].per_size * (tokens if PARTS[n].of == "tokens" else 1.0) for n in names])
    else:
        scales = np.array([1.0 / _middle(row[row > 0.0]) for row in sizes])
    return np.asarray(scales * _middle(measured[np.isfinite(measured)]) / _middle(scales @ sizes))


def _middle(values: Array) -> float:
    """Return the geometric mean; 1 of nothing."""
    return float(np.exp(np.mean(np.log(values)))) if values.size else 1.0


def rounded(value: float) -> float:
    """Return a constant with eight digits: further ones depend on the machine."""
    return float(f"{value:.8g}")


class _Problem:
    """The posterior of the constants, and its slopes.

    Parameters
    ----------
    parts : ndarray of shape (parts, rows)
        ln u_k, scaled so that θ = 0 is the middle of the prior.
    part_sd : ndarray of shape (parts,)
    switched : ndarray of bool of shape (levels,)
        Whose meaning the parts have.
    """

    def __init__(self, parts: Array, part_sd: Array, runs: Outcomes, switched: Mask) -> None:
        self.parts, self.runs, self.scaled, self.levels = parts, runs, runs.scaled, runs.at_levels
        self.signs = runs.signs
        self.there = np.isfinite(runs.measured)
        self.logs = np.log(np.where(self.there, runs.measured, 1.0))
        self.counted = np.ones(len(self.signs))
        factors, levels = self.scaled.shape[1], self.levels.shape[1]
        self.places = np.cumsum([len(parts), 1, 1, 1, factors, levels, levels])
        scatter = np.log(MEMORY.scatter)
        zeros = np.zeros(factors + 2 * levels)
        self.means = np.concatenate([np.zeros(len(parts)), [-scatter, 0.0, scatter], zeros])
        of_factors = np.full(factors, MEMORY.factor_sd)
        of_levels = [np.where(switched, MEMORY.factor_sd, sd) for sd in (MEMORY.level_sd, MEMORY.need_level_sd)]
        of_scatter = [MEMORY.scatter_sd, np.inf, MEMORY.scatter_sd]
        self.sds = np.concatenate([part_sd, of_scatter, of_factors, *of_levels])

    def split(self, z: Array) -> tuple[Array, float, float, Array, Array]:
        """Return θ, s, c, β, and γ − δ."""
        theta, slope, capacity, _, powers, room, need = np.split(z, self.places[:-1])
        return theta, float(np.exp(slope[0])), float(capacity[0]), powers, room - need

    def _logs(self, z: Array) -> tuple[Array, Array]:
        """Return ln M of each run without its levels, and the share of each part in it."""
        theta, _, _, powers, _ = self.split(z)
        raised = self.parts + theta[:, None]
        top = raised.max(axis=0)
        shares = np.exp(raised - top)
        total = shares.sum(axis=0)
        return top + np.log(total) + self.scaled @ powers, shares / total

    def margins(self, z: Array) -> Array:
        """Return by how much each run fits, in standard deviations."""
        _, slope, capacity, _, levels = self.split(z)
        return np.asarray(slope * (capacity + self.levels @ levels - self._logs(z)[0]))

    def cost(self, z: Array) -> tuple[float, Array]:
        """Return −ln of the posterior and its slopes."""
        _, slope, capacity, _, levels = self.split(z)
        log_need, shares = self._logs(z)
        margin = slope * (capacity + self.levels @ levels - log_need)
        logarithm = log_ndtr(self.signs * margin)
        density = -0.5 * margin**2 - 0.5 * np.log(2.0 * np.pi)
        pull = -self.signs * self.counted * np.exp(density - logarithm)
        noise = z[self.places[2]]
        there = self.counted * self.there
        log_need = log_need + self.levels @ z[self.places[5] :]
        residuals = there * (self.logs - log_need) * np.exp(-noise)
        off = np.where(np.isfinite(self.sds), (z - self.means) / self.sds, 0.0)
        value = -(self.counted @ logarithm) + 0.5 * residuals @ residuals + noise * there.sum() + 0.5 * off @ off
        by_measured = -residuals * np.exp(-noise)
        by_need = -slope * pull + by_measured
        slopes = np.concatenate(
            [
                shares @ by_need,
                [pull @ margin, slope * pull.sum(), there.sum() - residuals @ residuals],
                self.scaled.T @ by_need,
                slope * self.levels.T @ pull,
                self.levels.T @ by_need,
            ]
        )
        return float(value), slopes + np.where(np.isfinite(self.sds), off / self.sds, 0.0)

    def held_out(self) -> Array:
        """Return by how much each run lies on the side of its outcome, fitted to the runs of other folds."""
        margins = np.zeros(len(self.signs))
        for held in held_out_folds(len(self.signs)):
            self.counted = (~held).astype(float)
            margins[held] = self.margins(self.solved())[held]
        self.counted = np.ones(len(self.signs))
        return self.signs * margins

    def solved(self) -> Array:
        """Return the most likely constants, β inside its bounds."""
        # It takes a quarter of a second to import, and only tables with failed runs need it.
        from scipy.optimize import minimize

        start = self.means.copy()
        middle = self._logs(start)[0]
        known = middle[self.runs.succeeded & (self.counted > 0.0)]
        start[self.places[1]] = float(np.max(known)) if known.size else float(np.min(middle))
        free = (-np.inf, np.inf)
        limits = [free] * len(self.means)
        limits[self.places[2]] = (float(np.log(MEMORY.least_noise)), 0.0)
        limits[self.places[3] : self.places[4]] = [(float(a), float(b)) for a, b in self.runs.bounds(free=False)]
        options: Any = {"maxiter": MEMORY.max_steps, "ftol": 1e-12, "gtol": 1e-7}
        answer = minimize(self.cost, start, method="L-BFGS-B", jac=True, bounds=limits, options=options)
        return np.asarray(answer.x, float)
