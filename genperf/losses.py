"""What a fit minimises: the loss of the residuals and the penalty on the constants.

    cost(θ) = Σ w·loss(T(θ), t) / Σ w + λ·[(1 − ρ)·½‖θ_s‖² + ρ·‖θ_s‖₁]

with predicted times T, measured times t (seconds), weights w and θ_s the constants on their scales. Every loss
also gives its *curvature weight* ω, chosen so that `2·ω·(T − t)` is the loss's exact derivative by T: with it, any
loss is solved as a sequence of weighted least squares.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import TypeAlias

import numpy as np
import numpy.typing as npt

from genperf.errors import FitError, suggest

Array: TypeAlias = npt.NDArray[np.float64]
Scale: TypeAlias = float | Array

#: Relative residual beyond which the Huber loss grows linearly.
HUBER_DELTA = 0.1
#: Share of the mean time below which the absolute loss is rounded off, so that it has a derivative.
ABSOLUTE_ROUNDING = 1e-4
#: Penalties on exponents are rounded off below this, for the same reason.
PENALTY_ROUNDING = 1e-4
#: Share of the measured time below which the log loss goes on as its tangent, so that times ≤ 0 have a cost too.
SHORTEST = 1e-6


@dataclass(frozen=True, slots=True)
class Loss:
    """A loss of predicted against measured time.

    Attributes
    ----------
    value : callable
        `(T, t, scale) -> loss` for each row; `scale` is the weighted mean measured time in seconds, a number or one
        for each set of constants.
    curvature : callable
        `(T, t, scale) -> ω` for each row, with `2·ω·(T − t)` the derivative of the loss by T.
    quadratic : bool
        Whether ω is the same for every T: one least-squares solution is then exact.
    """

    value: Callable[[Array, Array, Scale], Array]
    curvature: Callable[[Array, Array, Scale], Array]
    quadratic: bool


def _log_value(T: Array, t: Array, _: Scale) -> Array:
    ratio = T / t
    logarithm = np.log(np.maximum(ratio, SHORTEST))
    return np.asarray(logarithm**2 + 2.0 * logarithm / SHORTEST * np.minimum(ratio - SHORTEST, 0.0))


def _log_curvature(T: Array, t: Array, _: Scale) -> Array:
    ratio = T / t
    held = np.maximum(ratio, SHORTEST)
    perfect = ratio == 1.0
    slope = np.where(perfect, 1.0, np.log(held) / np.where(perfect, 1.0, ratio - 1.0))
    return np.asarray(slope / held / t**2)


def _absolute_value(T: Array, t: Array, scale: Scale) -> Array:
    return np.asarray(np.hypot((T - t) / scale, ABSOLUTE_ROUNDING) - ABSOLUTE_ROUNDING)


def _absolute_curvature(T: Array, t: Array, scale: Scale) -> Array:
    return np.asarray(0.5 / (scale**2 * np.hypot((T - t) / scale, ABSOLUTE_ROUNDING)))


def _huber_value(T: Array, t: Array, _: Scale) -> Array:
    r = np.abs(T / t - 1.0)
    return np.asarray(np.where(r <= HUBER_DELTA, r**2, 2.0 * HUBER_DELTA * r - HUBER_DELTA**2))


def _huber_curvature(T: Array, t: Array, _: Scale) -> Array:
    return np.asarray(np.minimum(1.0, HUBER_DELTA / np.maximum(np.abs(T / t - 1.0), 1e-300)) / t**2)


LOSSES: dict[str, Loss] = {
    "relative": Loss(lambda T, t, _: (T / t - 1.0) ** 2, lambda T, t, _: np.broadcast_to(1.0 / t**2, T.shape), True),
    "log": Loss(_log_value, _log_curvature, False),
    "absolute": Loss(_absolute_value, _absolute_curvature, False),
    "squared": Loss(
        lambda T, t, scale: ((T - t) / scale) ** 2, lambda T, _, scale: np.broadcast_to(1.0 / scale**2, T.shape), True
    ),
    "huber": Loss(_huber_value, _huber_curvature, False),
}


def loss_named(name: str) -> Loss:
    """Return a loss by its name.

    Raises
    ------
    FitError
        For an unknown name.

    Examples
    --------
    >>> float(loss_named("relative").value(np.array([1.1]), np.array([1.0]), 1.0)[0].round(6))
    0.01
    """
    if name not in LOSSES:
        raise FitError(f"unknown loss '{name}'", hint=suggest(name, list(LOSSES)) or f"one of {', '.join(LOSSES)}")
    return LOSSES[name]


@dataclass(frozen=True, slots=True)
class Penalty:
    """The elastic-net penalty `λ·[(1 − ρ)·½‖θ_s‖² + ρ·‖θ_s‖₁]` on the scaled constants θ_s.

    Attributes
    ----------
    strength : float
        λ ≥ 0.
    l1_share : float
        ρ: 0 is L2 (ridge), 1 is L1 (lasso).

    Examples
    --------
    >>> Penalty(0.1, 0.0).value(np.array([[3.0, 4.0]]))
    array([1.25])
    """

    strength: float = 0.0
    l1_share: float = 0.0

    def value(self, scaled: Array) -> Array:
        """Return the penalty of each set of constants, shape (sets, constants) → (sets,)."""
        if self.strength == 0.0:
            return np.zeros(scaled.shape[:-1])
        squares = np.asarray(self.strength * (1.0 - self.l1_share) * 0.5 * np.sum(scaled**2, axis=-1))
        if self.l1_share == 0.0:
            return squares
        rounded = np.hypot(scaled, PENALTY_ROUNDING) - PENALTY_ROUNDING
        return np.asarray(squares + self.strength * self.l1_share * np.sum(rounded, axis=-1))

    def curvature(self, scaled: Array) -> Array:
        """Return c such that `c·θ_s` is the penalty's exact derivative by θ_s."""
        ridge = self.strength * (1.0 - self.l1_share)
        if self.l1_share == 0.0:
            return np.full(scaled.shape, ridge)
        return np.asarray(ridge + self.strength * self.l1_share / np.hypot(scaled, PENALTY_ROUNDING))


PENALTIES = {"l2": 0.0, "l1": 1.0, "elastic-net": 0.5}


def penalty_named(name: str, strength: float) -> Penalty:
    """Return a penalty by its name (`l2`, `l1`, `elastic-net`) and λ.

    Raises
    ------
    FitError
        For an unknown name, or a λ that is negative or not finite.

    Examples
    --------
    >>> penalty_named("elastic-net", 0.01)
    Penalty(strength=0.01, l1_share=0.5)
    """
    if name not in PENALTIES:
        raise FitError(
            f"unknown penalty '{name}'", hint=suggest(name, list(PENALTIES)) or f"one of {', '.join(PENALTIES)}"
        )
    if not (np.isfinite(strength) and strength >= 0.0):
        raise FitError(f"λ must be a number that is not negative, not {strength}")
    return Penalty(float(strength), PENALTIES[name])
