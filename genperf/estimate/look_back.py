"""The look back: the largest measured scale predicted from the smaller ones."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np
import numpy.typing as npt

from genperf.estimate.last_point import last_point_errors
from genperf.prediction import Evidence
from genperf.solver import Problem
from genperf.table import Table

Array = npt.NDArray[np.float64]
Mask = npt.NDArray[np.bool_]


def look_back(problem: Problem, medians: Table, refit: Callable[[Mask], Array | None]) -> list[Evidence]:
    """Predict the largest scale of each extrinsic factor from the smaller ones.

    Parameters
    ----------
    medians : Table
        One row per configuration, those of the problem.
    refit : callable
        Training rows as a mask of shape (rows,) → constants of shape (n,), or None where these rows do not suffice.

    Returns
    -------
    list of Evidence
        For each factor with at least three scales.
    """
    out = []
    for factor in medians.numeric:
        values = medians.columns[factor.name]
        scales = np.unique(values)
        if factor.role != "extrinsic" or len(scales) < 3 or scales[-2] <= 0:
            continue
        train = values < scales[-1]
        constants = refit(train)
        if constants is None:
            continue
        predicted = problem.predict(constants[None, :])[0][~train]
        with np.errstate(all="ignore"):
            error = float(np.mean(np.abs(np.log(predicted / problem.measured[~train]))))
        if np.isfinite(error):
            last = float(last_point_errors([medians], factor.name, ~train[None, :])[0])
            out.append(Evidence(factor.name, float(scales[-1]), float(np.log2(scales[-1] / scales[-2])), error, last))
    return out
