"""The standard normal distribution of arrays, by Python itself: scipy.special takes a tenth of a second to import."""

from statistics import NormalDist

import numpy as np

from genperf.arrays import AnyArray, Array

_STANDARD = NormalDist()
#: ν of Student's noise, with which one wild row does not bend the rest.
STUDENT_FREEDOM = 4.0


def normal_quantiles(levels: AnyArray) -> Array:
    """Return the quantiles of the standard normal distribution at levels above 0 and below 1, an array of any shape.

    >>> normal_quantiles(np.array([0.5, 0.95])).round(3).tolist()
    [0.0, 1.645]
    """
    return np.fromiter(map(_STANDARD.inv_cdf, levels.ravel().tolist()), float, levels.size).reshape(levels.shape)


def normal_probabilities(values: Array) -> Array:
    """Return the probability that a standard normal number is at most each value of an array, which may be infinite.

    >>> normal_probabilities(np.array([0.0, 1.645])).round(3).tolist()
    [0.5, 0.95]
    """
    return np.fromiter(map(_STANDARD.cdf, values.ravel().tolist()), float, values.size).reshape(values.shape)


def student_widening(freedom: float) -> float:
    """Return Student's 95 % quantile over the normal one, at least 1, for some degrees of freedom above 0.

    By so much a 90 % interval widens whose standard deviation rests on few residuals.

    >>> round(student_widening(4), 3), round(student_widening(1000), 3)
    (1.296, 1.001)
    """
    from scipy.special import stdtrit

    return float(stdtrit(freedom, 0.95)) / _STANDARD.inv_cdf(0.95)


def student_tails(normal: Array, freedom: float, generator: np.random.Generator) -> Array:
    """Return Student's numbers in the place of normal ones, (draws, numbers): as wide an interval of 90 %, wider of 99.

    t = z·√(ν/χ²_ν)·z₉₅/t₉₅,   χ² one for the numbers of a draw, which stay correlated as they are

    >>> generator = np.random.default_rng(0)
    >>> draws = student_tails(generator.standard_normal((200_000, 1)), 4.0, generator)
    >>> np.quantile(draws, [0.75, 0.95, 0.995]).round(1).tolist()
    [0.6, 1.6, 3.6]
    """
    scale = np.sqrt(freedom / generator.chisquare(freedom, (len(normal), 1)))
    return np.asarray(normal * scale / student_widening(freedom))
