"""Metrics, losses and messages."""

import pickle

import numpy as np
import pytest
from helpers import cases_in_text

from genperf.errors import FormulaError, GenperfError, TableError
from genperf.losses import LEAST_RATIO, LOSSES, PENALTIES, Penalty, penalty_named
from genperf.metrics import coverage, fit_errors, relative_width


@cases_in_text("metric, predicted, measured, expected")
def test_error(metric: str, predicted: list[float], measured: list[float], expected: float) -> None:
    assert fit_errors(predicted, measured)[metric] == pytest.approx(expected, rel=1e-6, abs=1e-12)


def test_r2_of_equal_times_is_not_a_number() -> None:
    assert np.isnan(fit_errors([1.0, 2.0], [3.0, 3.0])["r2"])


@cases_in_text("lower, upper, measured, expected")
def test_coverage(lower: list[float], upper: list[float], measured: list[float], expected: float) -> None:
    assert coverage(lower, upper, measured) == expected


def test_relative_width_is_the_median_of_the_widths() -> None:
    # widths 0.2/1, 1/2, 8/4
    assert relative_width([0.9, 1.5, 1.0], [1.1, 2.5, 9.0], [1.0, 2.0, 4.0]) == pytest.approx(50.0)


# --- losses and penalties: values worked by hand, and derivatives that are what they claim ---------------------------

E = float(np.e)
#: The ratio below which the log loss is a tangent, and its logarithm.
LEAST = LEAST_RATIO
L = float(np.log(LEAST))


@cases_in_text("loss, predicted, measured, scale, expected")
def test_value(loss: str, predicted: float, measured: float, scale: float, expected: float) -> None:
    value = LOSSES[loss].value(np.array([[predicted]]), np.array([measured]), scale)
    assert value.item() == pytest.approx(expected, rel=1e-9, abs=1.1e-4 if loss == "absolute" else 1e-12)


#: Ratios T/t on every branch: below, at and above one, on both sides of Huber's δ, down to the log loss's tangent.
RATIOS = [-0.5, 0.0, 1e-7, 0.3, 0.89, 0.92, 1.0 - 1e-4, 1.0 + 1e-8, 1.0 + 2e-6, 1.0 + 1e-4, 1.08, 1.2, 40.0]


@pytest.mark.parametrize("loss", LOSSES)
@pytest.mark.parametrize("ratio", RATIOS)
def test_curvature_gives_the_exact_derivative(loss: str, ratio: float) -> None:
    measured, scale = np.array([3.0]), 2.0
    predicted = np.array([[3.0 * ratio]])
    step = 1e-9 if 0 < ratio < 1e-6 else 1e-7
    above = LOSSES[loss].value(predicted + step, measured, scale)
    below = LOSSES[loss].value(predicted - step, measured, scale)
    derivative = 2.0 * LOSSES[loss].curvature(predicted, measured, scale) * (predicted - measured)
    # Rounding of the difference of two values, each of a few ulp, over 2·step.
    rounding = 8 * np.finfo(float).eps * abs(above.item()) / step
    assert derivative.item() == pytest.approx(((above - below) / (2.0 * step)).item(), rel=1e-5, abs=rounding + 1e-10)


@pytest.mark.parametrize("loss", LOSSES)
def test_curvature_is_positive_and_constant_exactly_where_the_loss_is_quadratic(loss: str) -> None:
    predicted = np.array([[0.0, 1e-8, 0.4, 1.0, 1.5, 9.0]])
    curvature = LOSSES[loss].curvature(predicted, np.ones(6), 1.0)
    assert curvature.shape == predicted.shape
    assert np.all(curvature > 0.0)
    assert (np.ptp(curvature) == 0.0) == LOSSES[loss].quadratic


@cases_in_text("name, strength, scaled, expected")
def test_penalty(name: str, strength: float, scaled: list[float], expected: float) -> None:
    assert penalty_named(name, strength).value(np.array([scaled])).item() == pytest.approx(expected, abs=3e-5)


@pytest.mark.parametrize("name", PENALTIES)
@pytest.mark.parametrize("at", [-2.0, -1e-4, 0.0, 3e-5, 0.5])
def test_penalty_curvature_gives_the_exact_derivative(name: str, at: float) -> None:
    penalty, step = penalty_named(name, 0.3), 1e-8
    slope = (penalty.value(np.array([[at + step]])) - penalty.value(np.array([[at - step]]))) / (2 * step)
    assert (penalty.curvature(np.array([[at]])) * at).item() == pytest.approx(slope.item(), rel=1e-5, abs=1e-7)


# ---  ----------------------------------------------------------------------------------------------------------------


def test_no_penalty_by_default() -> None:
    assert Penalty().value(np.array([[5.0], [7.0]])).tolist() == [0.0, 0.0]


@pytest.mark.parametrize(
    "error",
    [
        GenperfError("no rows", hint="measure", where="a.csv"),
        TableError("no rows"),
        FormulaError("'.' is not allowed", text="a.b", column=1, width=1, hint="use _"),
    ],
)
def test_an_error_comes_back_whole_from_a_worker(error: GenperfError) -> None:
    again = pickle.loads(pickle.dumps(error))
    assert type(again) is type(error)
    assert str(again) == str(error)
