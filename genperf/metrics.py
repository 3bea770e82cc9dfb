"""How good predictions are: errors in per cent, coverage and width of intervals."""

import math

import numpy as np
import numpy.typing as npt

#: Nominal coverage of the intervals that are checked, and a probability below which a coverage is not compatible.
NOMINAL, INCOMPATIBLE = 0.9, 0.05


def absolute_percentage_errors(predicted: npt.ArrayLike, measured: npt.ArrayLike) -> npt.NDArray[np.float64]:
    """Return |predicted/measured − 1| of each pair, in per cent."""
    return np.asarray(np.abs(np.asarray(predicted, float) / np.asarray(measured, float) - 1.0) * 100.0)


def mape(predicted: npt.ArrayLike, measured: npt.ArrayLike) -> float:
    """Return the mean absolute percentage error, in per cent."""
    return float(absolute_percentage_errors(predicted, measured).mean())


def median_ape(predicted: npt.ArrayLike, measured: npt.ArrayLike) -> float:
    """Return the median absolute percentage error, in per cent."""
    ordered = np.sort(absolute_percentage_errors(predicted, measured), axis=None)
    # A fleet has one for each series, and `np.median` takes four times as long of five numbers. NaN is last.
    middle = ordered[(len(ordered) - 1) // 2] + ordered[len(ordered) // 2]
    return float("nan") if np.isnan(ordered[-1]) else 0.5 * float(middle)


def rmse(predicted: npt.ArrayLike, measured: npt.ArrayLike) -> float:
    """Return the root mean squared error, in the unit of the values."""
    return math.sqrt(((np.asarray(predicted, float) - np.asarray(measured, float)) ** 2).mean())


def r2(predicted: npt.ArrayLike, measured: npt.ArrayLike) -> float:
    """Return the coefficient of determination; not a number where the measured values are all equal.

    Examples
    --------
    >>> r2([1.0, 2.0, 3.0], [1.0, 2.0, 3.0])
    1.0
    """
    t = np.asarray(measured, float)
    spread = float(((t - t.mean()) ** 2).sum())
    return 1.0 - float(((np.asarray(predicted, float) - t) ** 2).sum()) / spread if spread > 0 else float("nan")


def fit_errors(predicted: npt.ArrayLike, measured: npt.ArrayLike) -> dict[str, float]:
    """Return the errors of predictions by name: those of a fit, and of a validation."""
    return {error.__name__: error(predicted, measured) for error in (mape, median_ape, rmse, r2)}


def coverage(lower: npt.ArrayLike, upper: npt.ArrayLike, measured: npt.ArrayLike) -> float:
    """Return the share of measured values inside their interval, in per cent."""
    t = np.asarray(measured, float)
    return float(np.mean((np.asarray(lower, float) <= t) & (t <= np.asarray(upper, float))) * 100.0)


def relative_width(lower: npt.ArrayLike, upper: npt.ArrayLike, reference: npt.ArrayLike) -> float:
    """Return the median of (upper − lower)/reference, in per cent."""
    width = np.asarray(upper, float) - np.asarray(lower, float)
    return float(np.median(width / np.asarray(reference, float)) * 100.0)


def coverage_text(inside: int, runs: int) -> str:
    """Return how many of some 90 % intervals held, and whether that is compatible: an exact binomial test.

    Examples
    --------
    >>> coverage_text(13, 19)
    '13 of 19 inside 90 %, which is not compatible with 90 % (p = 0.0086, exact binomial)'
    """
    fits, of = coverage_probability(inside, runs), f"{100 * NOMINAL:.0f} %"
    compatible = "is compatible" if fits >= INCOMPATIBLE else "is not compatible"
    return f"{inside} of {runs} inside {of}, which {compatible} with {of} (p = {fits:.2g}, exact binomial)"


def coverage_probability(inside: int, runs: int) -> float:
    """Return the probability of a coverage as far from nominal, where the intervals hold: an exact binomial test."""
    from scipy.stats import binomtest

    return float(binomtest(inside, runs, NOMINAL).pvalue)
