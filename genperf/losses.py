"""The cost of a fit: the loss of the residuals and the penalty on the constants.

    cost(θ) = Σ w·loss(T(θ), t) / Σ w + λ·[(1 − ρ)·½‖θ_s‖² + ρ·‖θ_s‖₁]

with predicted values T, measured values t (in the target's unit), weights w and θ_s the constants on their scales.
Every loss also gives its *curvature weight* ω, chosen so that `2·ω·(T − t)` is the loss's exact derivative by T: with
it, any loss is solved as a sequence of weighted least squares.
"""

from collections.abc import Callable
from typing import TypeAlias

import numpy as np
from msgspec import Struct

from genperf.arrays import Array
from genperf.errors import FitError, known_name

Scale: TypeAlias = float | Array

#: Relative residual beyond which the Huber loss grows linearly. A guess: repeats of a run differ by less than 10 %,
#: so larger residuals are outliers.
HUBER_DELTA = 0.1
#: Share of the mean measured value below which the absolute loss is rounded off, so that it has a derivative, and
#: scaled constant below which an L1 penalty is. Far below any noise.
ABSOLUTE_ROUNDING = 1e-4
#: Ratio of predicted to measured value below which the log loss continues as its tangent, so that values ≤ 0 have a
#: cost too. Far below any ratio of a useful fit.
LEAST_RATIO = 1e-6


class Loss(Struct, frozen=True):
    """A loss of predicted against measured values."""

    #: `(T, t, scale) -> loss` for each row; `scale` is the weighted mean measured value, a number or one for each set
    #: of constants.
    value: Callable[[Array, Array, Scale], Array]
    #: `(T, t, scale) -> ω` for each row, with `2·ω·(T − t)` the derivative of the loss by T.
    curvature: Callable[[Array, Array, Scale], Array]
    quadratic: bool  #: Whether ω is the same for every T: one least-squares solution is then exact.


def _of_ratio(value: Callable[[Array], Array], weight: Callable[[Array], Array]) -> Loss:
    """Return a loss that is a function of the ratio T/t, with ω = weight(T/t)/t²."""
    return Loss(lambda T, t, _: value(T / t), lambda T, t, _: np.asarray(weight(T / t) / t**2), False)


def _log_value(ratio: Array) -> Array:
    """Return ln²(ratio), continued as its tangent below `LEAST_RATIO`."""
    logarithm = np.log(np.maximum(ratio, LEAST_RATIO))
    return np.asarray(logarithm**2 + 2.0 * logarithm / LEAST_RATIO * np.minimum(ratio - LEAST_RATIO, 0.0))


def _log_weight(ratio: Array) -> Array:
    """Return ln(ratio)/(ratio·(ratio − 1)), 1 at a ratio of one."""
    limited = np.maximum(ratio, LEAST_RATIO)
    perfect = ratio == 1.0
    slope = np.where(perfect, 1.0, np.log(limited) / np.where(perfect, 1.0, ratio - 1.0))
    return np.asarray(slope / limited)


def _huber_value(ratio: Array) -> Array:
    """Return r² with r = |ratio − 1| up to δ, and 2·δ·r − δ² beyond."""
    r = np.abs(ratio - 1.0)
    return np.asarray(np.where(r <= HUBER_DELTA, r**2, 2.0 * HUBER_DELTA * r - HUBER_DELTA**2))


LOSSES: dict[str, Loss] = {
    "relative": Loss(lambda T, t, _: (T / t - 1.0) ** 2, lambda T, t, _: np.broadcast_to(1.0 / t**2, T.shape), True),
    "log": _of_ratio(_log_value, _log_weight),
    # |T − t|/scale, rounded off at zero.
    "absolute": Loss(
        lambda T, t, scale: np.hypot((T - t) / scale, ABSOLUTE_ROUNDING) - ABSOLUTE_ROUNDING,
        lambda T, t, scale: 0.5 / (scale**2 * np.hypot((T - t) / scale, ABSOLUTE_ROUNDING)),
        False,
    ),
    "squared": Loss(
        lambda T, t, scale: ((T - t) / scale) ** 2,
        lambda T, t, scale: np.broadcast_to(1.0 / scale**2, np.broadcast_shapes(T.shape, np.shape(scale))),
        True,
    ),
    # ω·t² is min(1, δ/r).
    "huber": _of_ratio(
        _huber_value, lambda ratio: np.minimum(1.0, HUBER_DELTA / np.maximum(np.abs(ratio - 1.0), 1e-300))
    ),
}


def loss_named(name: str) -> Loss:
    """Return a loss by its name; an error suggests one for any other."""
    return LOSSES[known_name("loss", name, LOSSES, FitError)]


class Penalty(Struct, frozen=True):
    """The elastic-net penalty `λ·[(1 − ρ)·½‖θ_s‖² + ρ·‖θ_s‖₁]` on the scaled constants θ_s.

    >>> Penalty(0.1, 0.0).value(np.array([[3.0, 4.0]]))
    array([1.25])
    """

    strength: float = 0.0  #: λ ≥ 0.
    l1_share: float = 0.0  #: ρ: 0 is L2 (ridge), 1 is L1 (lasso).

    def value(self, scaled: Array) -> Array:
        """Return the penalty of each set of constants, shape (sets, constants) → (sets,)."""
        squares = self.strength * (1.0 - self.l1_share) * 0.5 * np.sum(scaled**2, axis=-1)
        rounded = np.hypot(scaled, ABSOLUTE_ROUNDING) - ABSOLUTE_ROUNDING
        return np.asarray(squares + self.strength * self.l1_share * np.sum(rounded, axis=-1))

    def curvature(self, scaled: Array) -> Array:
        """Return c such that `c·θ_s` is the penalty's exact derivative by θ_s."""
        ridge = self.strength * (1.0 - self.l1_share)
        return np.asarray(ridge + self.strength * self.l1_share / np.hypot(scaled, ABSOLUTE_ROUNDING))


PENALTIES = {"l2": 0.0, "l1": 1.0, "elastic-net": 0.5}


def penalty_named(name: str, strength: float) -> Penalty:
    """Return a penalty by its name (`l2`, `l1`, `elastic-net`) and λ, which is finite and not negative.

    >>> penalty_named("elastic-net", 0.01)
    Penalty(strength=0.01, l1_share=0.5)
    """
    l1_share = PENALTIES[known_name("penalty", name, PENALTIES, FitError)]
    if not (np.isfinite(strength) and strength >= 0.0):
        raise FitError(f"the strength of the penalty is {strength}; it must be zero or above", hint="--lambda 0.001")
    return Penalty(float(strength), l1_share)
