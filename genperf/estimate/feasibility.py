"""The probability of fitting, from runs that succeeded and runs that failed: a probit with signs and a penalty."""

from collections.abc import Mapping
from dataclasses import dataclass
from functools import partial
from typing import Any

import msgspec
import numpy as np
import numpy.typing as npt
from scipy.special import log_ndtr, ndtri

from genperf.arrays import Array, Mask
from genperf.estimate.memory_demand import MEMORY, Outcomes, calibration, held_out_folds, memory_demand, rounded
from genperf.formula import render
from genperf.formula.parse import LIMITS
from genperf.panel import Panel
from genperf.prediction.feasibility import CERTAINTY, Demand, Direction, Feasibility, Need, surpassed
from genperf.table import Table


@dataclass(frozen=True)
class FeasibilitySettings:
    """How the probability of fitting is estimated."""

    #: Strengths λ of the penalty ½λ‖β‖², per square of a slope, the strongest first. The first is taken with which
    #: every measured configuration gets its outcome with probability `CERTAINTY`; where none does, that with the fewest
    #: wrong outcomes. Where a plane separates the outcomes, the most likely slopes are infinite without it.
    strengths: tuple[float, ...] = tuple(10.0 ** (-k / 4) for k in range(33))
    #: Steps of L-BFGS-B for each strength; a dozen suffice, as the cost is convex.
    max_steps: int = 500


SETTINGS = FeasibilitySettings()


def feasibility_of(table: Table, mapping: Mapping[str, str] | None = None) -> Feasibility | None:
    """Return the probability of fitting, or None where no run failed.

    Where the factors show a transformer's layout, its need of a device's memory decides, unless the outcomes show
    that something else failed.

    Demands of intrinsic factors are not negative: more of them never fits better. Extrinsic factors help or do not
    matter, unless the outcomes show that runs fail at large ones; then their sign is free. A factor with values of
    zero or below enters without a logarithm, and with either sign.

    Parameters
    ----------
    table : Table
        Where a further quantity is a memory, it is read as well.
    mapping : mapping of str to str, optional
        Canonical name → column.

    Examples
    --------
    >>> import pandas as pd
    >>> from genperf.table import read_table
    >>> runs = pd.DataFrame({"batch": [1, 2, 4, 8], "seconds": [1.0, 1.9, 3.8, "OOM"]})
    >>> fits = feasibility_of(read_table(runs, time="seconds", intrinsic="batch"))
    >>> fits.probability({"batch": np.array([4.0, 6.0, 8.0])}).round(2)
    array([0.99, 0.34, 0.01])
    """
    if table.failures.empty:
        return None
    outcomes = _outcomes(table)
    physical = _of_memory(table, outcomes, mapping or {})
    if physical is None:
        return _bounded(_of_factors(table, outcomes, calibrated=False)[0], outcomes)
    if physical[1] >= -MEMORY.doubt:
        return _bounded(physical[0], outcomes)  # nothing is likelier than certain
    plain = _of_factors(table, outcomes, calibrated=True)
    return _bounded(plain[0] if plain[1] > physical[1] + MEMORY.doubt else physical[0], outcomes)


def _of_factors(table: Table, outcomes: Outcomes, *, calibrated: bool) -> tuple[Feasibility, float]:
    """Return the probit of the factors alone, and the logarithm of how likely it makes held-out outcomes."""
    design, signs, demands = np.hstack([outcomes.scaled, outcomes.at_levels]), outcomes.signs, outcomes.demands
    theta, free = _signed_probit(design, signs, outcomes)
    if free:
        extrinsic = {f.name for f in outcomes.factors if f.role == "extrinsic"}
        slope_of = dict(zip(demands, theta[1:].tolist(), strict=False))
        demands = {n: _turned(d, slope_of[n]) if n in extrinsic else d for n, d in demands.items()}
    likely = 0.0
    if calibrated:
        margins = np.zeros(len(signs))
        for held in held_out_folds(len(signs)):
            fitted, _ = _signed_probit(design[~held], signs[~held], outcomes)
            margins[held] = fitted[0] - design[held] @ fitted[1:]
        kappa, likely = calibration(signs * margins)
        theta = kappa * theta
    return _written(table, demands, theta, outcomes), likely


def _signed_probit(design: Array, signs: Array, outcomes: Outcomes) -> tuple[Array, bool]:
    """Return headroom and slopes, and whether factors whose larger values help may also harm."""
    theta = _probit(design, signs, outcomes.bounds(free=False))
    wrong = _wrong(design, signs, theta)
    if wrong:
        freer = _probit(design, signs, outcomes.bounds(free=True))
        if _wrong(design, signs, freer) < wrong:
            return freer, True
    return theta, False


def _of_memory(table: Table, outcomes: Outcomes, mapping: Mapping[str, str]) -> tuple[Feasibility, float] | None:
    """Return the probit of what a layout needs of a device's memory, and how likely it makes held-out outcomes."""
    fitted = memory_demand(Panel(table.factors, mapping), outcomes)
    text = "" if fitted is None else render(fitted.need)
    if fitted is None or len(text) > LIMITS.max_characters:
        return None
    written = _written(table, outcomes.demands, fitted.margin, outcomes)
    return msgspec.structs.replace(written, need=Need(text, rounded(fitted.slope))), fitted.likely


def _written(table: Table, demands: dict[str, Demand], theta: Array, outcomes: Outcomes) -> Feasibility:
    """Return the probability of fitting with its constants rounded."""
    headroom, *slopes = [rounded(b) for b in theta]
    demands = {
        name: Demand(slope, d.centre, d.logarithmic, d.more)
        for (name, d), slope in zip(demands.items(), slopes, strict=False)
    }
    offsets: dict[str, dict[str, float]] = {f.name: {} for f in outcomes.factors if not f.numeric}
    for (name, level), offset in zip(outcomes.levels, slopes[len(demands) :], strict=True):
        offsets[name][level] = offset
    return Feasibility(len(table.failures), headroom, demands, offsets)


def _outcomes(table: Table) -> Outcomes:
    """Return the distinct configurations of a table; one that succeeded and failed is there twice."""
    middle = table.medians()
    factors = (*table.numeric, *table.categorical)
    once = table.failures[[f.name for f in factors]].drop_duplicates()
    columns = {
        f.name: np.concatenate([middle.columns[f.name], once[f.name].to_numpy(dtype=float if f.numeric else object)])
        for f in factors
    }
    succeeded, measured = len(middle), np.full(len(middle) + len(once), np.nan)
    # The memory is that of the table, or of one beside it.
    beside = next((one for one in (table, *table.further.values()) if one.target.is_memory), None)
    if beside is not None:
        medians = beside.medians()
        names = [name for name in columns if name in medians.columns]
        rows, known = (
            list(zip(*(of[name].tolist() for name in names), strict=True)) for of in (columns, medians.columns)
        )
        memory = dict(zip(known, medians.measured, strict=True))
        measured[:succeeded] = [memory.get(row, np.nan) for row in rows[:succeeded]]
    return Outcomes(factors, columns, np.arange(len(measured)) < succeeded, measured)


def _turned(demand: Demand, slope: float) -> Demand:
    """Return an extrinsic factor's demand with the direction of its slope."""
    if not demand.logarithmic:
        return demand
    more: Direction = "larger" if slope > 0.0 else "smaller" if slope < 0.0 else "unordered"
    return Demand(slope, demand.centre, True, more)


def _probit(design: Array, signs: Array, slopes: Array) -> Array:
    """Return headroom and slopes, shape (1 + slopes,): the maximum of Σ ln Φ(±η) − ½λ‖β‖² inside bounds of slopes."""
    # It takes a quarter of a second to import, and only tables with failed runs need it.
    from scipy.optimize import minimize

    basis = np.column_stack([np.ones(len(signs)), -design])
    free = [(-np.inf, np.inf)] * (design.shape[1] - len(slopes))
    bounds = [(-np.inf, np.inf), *map(tuple, slopes), *free]

    def cost(strength: float, theta: Array) -> tuple[float, Array]:
        margin = signs * (basis @ theta)
        logarithm = log_ndtr(margin)
        # −d ln Φ(m)/dm, in logarithms: both are tiny where a configuration is far on the wrong side.
        pull = np.exp(-0.5 * margin**2 - 0.5 * np.log(2.0 * np.pi) - logarithm)
        slopes = np.concatenate([[0.0], theta[1:]])
        value = -logarithm.sum() + 0.5 * strength * float(slopes @ slopes)
        return float(value), strength * slopes - basis.T @ (signs * pull)

    theta = np.zeros(basis.shape[1])
    best, fewest = theta, len(signs) + 1
    for strength in SETTINGS.strengths:
        options: Any = {"maxiter": SETTINGS.max_steps, "ftol": 1e-12, "gtol": 1e-9}
        answer = minimize(partial(cost, strength), theta, method="L-BFGS-B", jac=True, bounds=bounds, options=options)
        theta = np.asarray(answer.x, dtype=float)
        wrong = _wrong(design, signs, theta)
        if wrong < fewest:
            best, fewest = theta, wrong
        if np.all(signs * (basis @ theta) >= ndtri(CERTAINTY)):
            return theta
    return best


def _wrong(design: Array, signs: Array, theta: Array) -> int:
    """Return how many configurations lie on the side of the other outcome."""
    return int(np.sum(signs * (theta[0] - design @ theta[1:]) <= 0.0))


def _bounded(fitted: Feasibility, outcomes: Outcomes) -> Feasibility:
    """Add the configurations that bound the probability: the most demanding successes, the least demanding failures."""
    demanded, good = fitted.demanded(outcomes.columns), outcomes.succeeded
    covered = np.zeros(len(good), dtype=bool)
    most = _extreme(demanded, good, 1)
    covered[~good] = surpassed(demanded[~good], demanded[most], -1)
    again = np.zeros(len(good), dtype=bool)
    again[covered] = [bool(np.any(np.all(demanded[good] == one, axis=1))) for one in demanded[covered]]
    return msgspec.structs.replace(
        fitted,
        succeeded=outcomes.take(most),
        failed=outcomes.take(_extreme(demanded, ~good & ~covered, -1)),
        contradicted=outcomes.take(np.flatnonzero(covered & ~again)),
        certain=CERTAINTY if fitted.need is None else _certain(demanded, good),
    )


def _certain(demanded: Array, good: Mask) -> float:
    """Return how often measured outcomes follow from those of others that demand no less, or no more."""
    right = wrong = 0
    for row, outcome in enumerate(good):
        others = np.arange(len(good)) != row
        fits = bool(surpassed(demanded[[row]], demanded[others & good], -1)[0])
        fails = bool(surpassed(demanded[[row]], demanded[others & ~good], 1)[0])
        right += bool(fits and outcome) + bool(fails and not outcome)
        wrong += bool(fits and not outcome) + bool(fails and outcome)
    return CERTAINTY if not wrong else rounded(min(CERTAINTY, max(0.5, (right + 0.5) / (right + wrong + 1.0))))


def _extreme(demanded: Array, among: Mask, sign: int) -> npt.NDArray[np.int64]:
    """Return the configurations that no other surpasses: the most demanding (1), or the least demanding (−1)."""
    front = np.empty(0, dtype=np.int64)
    for row in np.flatnonzero(among):
        if np.any(np.all(sign * (demanded[front] - demanded[row]) >= 0.0, axis=1)):
            continue
        front = np.append(front[~np.all(sign * (demanded[row] - demanded[front]) >= 0.0, axis=1)], row)
    return front
