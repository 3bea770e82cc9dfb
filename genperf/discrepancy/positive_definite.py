"""Inverses of covariance matrices."""

from __future__ import annotations

import numpy as np
import numpy.typing as npt
from scipy.linalg.lapack import dpotrf, dpotri

Array = npt.NDArray[np.float64]

#: Share of the trace added to the diagonal of a matrix that is not quite positive definite. It grows tenfold each time
#: that it is not enough. Rounding errors of a covariance are about this large.
JITTER = 1e-10


def inverse_of(matrix: Array) -> tuple[Array, float]:
    """Return the inverse of a positive definite matrix and half the logarithm of its determinant.

    Examples
    --------
    >>> inverse, half_determinant = inverse_of(np.array([[2.0, 0.0], [0.0, 8.0]]))
    >>> inverse.round(6).tolist(), round(half_determinant, 4)
    ([[0.5, 0.0], [0.0, 0.125]], 1.3863)
    """
    factor, failed = dpotrf(matrix, lower=1)
    jitter = JITTER * float(np.trace(matrix))
    while failed:
        factor, failed = dpotrf(matrix + jitter * np.eye(len(matrix)), lower=1)
        jitter *= 10.0
    lower, _ = dpotri(factor, lower=1)
    inverse = np.asarray(np.tril(lower) + np.tril(lower, -1).T)
    return inverse, float(np.sum(np.log(np.diag(factor))))
