"""How good predictions are: errors in per cent, coverage and width of intervals."""

import math

import numpy as np
import numpy.typing as npt

#: Nominal coverage of the intervals that are checked, and a probability below which a coverage is not compatible.
NOMINAL, INCOMPATIBLE = 0.9, 0.05


def absolute_percentage_errors(predicted: npt.ArrayLike, measured: npt.ArrayLike) -> npt.NDArray[np.float64]:
    """Return |predicted/measured − 1| of each pair, in per cent."""
    return np.asarray(np.abs(np.asarray(predicted, float) / np.asarray(measured, float) - 1.0) * 100.0)


def fit_errors(predicted: npt.ArrayLike, measured: npt.ArrayLike) -> dict[str, float]:
    """Return the errors of predictions by name.

    `mape` and `median_ape`, the mean and the median absolute percentage error, are in per cent, `rmse`, the root mean
    squared error, in the unit of the values. `r2`, the coefficient of determination, is not a number where the measured
    values are all equal.

    >>> fit_errors([1.0, 2.0, 3.3], [1.0, 2.0, 3.0])["median_ape"], fit_errors([1.0, 2.0], [1.0, 2.0])["r2"]
    (0.0, 1.0)
    """
    p, t = np.asarray(predicted, float), np.asarray(measured, float)
    errors, residuals, deviations = absolute_percentage_errors(p, t), p - t, t - t.mean()
    squares, spread = float((residuals * residuals).sum()), float((deviations * deviations).sum())
    r2 = 1.0 - squares / spread if spread > 0.0 else math.nan
    mean, median = float(errors.mean()), float(np.median(errors))
    return {"mape": mean, "median_ape": median, "rmse": math.sqrt(squares / t.size), "r2": r2}


def median_ape(predicted: npt.ArrayLike, measured: npt.ArrayLike) -> float:
    """Return the median absolute percentage error, in per cent."""
    return float(np.median(absolute_percentage_errors(predicted, measured)))


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

    >>> coverage_text(13, 19)
    '13 of 19 inside 90 %, which is not compatible with 90 % (p = 0.0086, exact binomial)'
    """
    fits, of = coverage_probability(inside, runs), f"{100 * NOMINAL:.0f} %"
    compatible = "is compatible" if fits >= INCOMPATIBLE else "is not compatible"
    return f"{inside} of {runs} inside {of}, which {compatible} with {of} (p = {fits:.2g}, exact binomial)"


def coverage_probability(inside: int, runs: int) -> float:
    """Return the probability of a coverage as far from nominal, where the intervals hold: an exact binomial test.

    It is that of all counts that are as improbable, up to rounding.
    """
    from scipy.special import betaln  # half a second less than `scipy.stats`

    counts = np.arange(runs + 1.0)
    ways = -betaln(counts + 1.0, runs - counts + 1.0) - np.log(runs + 1.0)
    probabilities = np.exp(ways + counts * np.log(NOMINAL) + (runs - counts) * np.log1p(-NOMINAL))
    as_improbable = probabilities <= probabilities[inside] * (1.0 + 1e-7)
    return min(float(probabilities[as_improbable].sum()), 1.0)
