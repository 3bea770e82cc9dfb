"""What "it stays as it was at the largest scale before" errs by."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
import numpy.typing as npt

from genperf.table import Table

Array = npt.NDArray[np.float64]
Mask = npt.NDArray[np.bool_]


def last_point_errors(medians: Sequence[Table], name: str, held: Mask) -> Array:
    """Return the error of "as at the largest smaller scale" over the held-out rows that have such a partner.

    Partners agree in every factor that is not extrinsic; of several at the same scale it is the last.

    Parameters
    ----------
    medians : sequence of Table
        Series of equally many configurations.
    name : str
        The factor that tells the scale.
    held : ndarray of bool of shape (series, rows)

    Returns
    -------
    ndarray of shape (series,)
        Mean |ln(partner/measured)|; NaN where no held-out row has a partner.

    Examples
    --------
    >>> import pandas as pd
    >>> from genperf.table import read_table
    >>> runs = pd.DataFrame({"n": [1, 2, 4], "s": [1.0, 0.5, 0.25]})
    >>> series = read_table(runs, time="s", extrinsic="n")
    >>> last_point_errors([series], "n", np.array([[False, False, True]])).round(4)
    array([0.6931])
    """
    series, rows = held.shape
    seconds = np.stack([m.measured for m in medians])
    kind = np.zeros((series, rows), np.int64)
    for factor in medians[0].factors:
        if factor.name != name and factor.role != "extrinsic":
            values = np.stack([m.columns[factor.name] for m in medians])
            code = np.unique(values, return_inverse=True)[1].reshape(series, rows)
            kind = np.unique(kind * (code.max() + 1) + code, return_inverse=True)[1].reshape(series, rows)
    number = (np.arange(series)[:, None] * (kind.max() + 1) + kind).ravel()
    scale = np.stack([m.columns[name] for m in medians]).ravel()
    known = np.flatnonzero(~held.ravel())
    known = known[np.lexsort((scale[known], number[known]))]
    ends = np.flatnonzero(np.diff(number[known], append=-1) != 0)
    partners, whose = known[ends], number[known[ends]]
    asked = np.flatnonzero(held.ravel())
    at = np.minimum(np.searchsorted(whose, number[asked]), len(whose) - 1)
    found = whose[at] == number[asked]
    off = np.abs(np.log(seconds.ravel()[partners[at[found]]] / seconds.ravel()[asked[found]]))
    count = np.bincount(asked[found] // rows, minlength=series)
    with np.errstate(invalid="ignore"):
        return np.asarray(np.bincount(asked[found] // rows, off, minlength=series) / count)
