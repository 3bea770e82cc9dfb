"""The error of the naive prediction: the same value as at the largest smaller scale."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
import numpy.typing as npt

from genperf.table import Table

Array = npt.NDArray[np.float64]
Mask = npt.NDArray[np.bool_]


def last_point_errors(medians: Sequence[Table], name: str, held: Mask) -> Array:
    """Return the error of the naive prediction over the held-out rows.

    A held-out row is predicted by its partner: the row at the largest smaller scale that agrees in every factor that
    is not extrinsic. Of several at the same scale it is the last. Rows without a partner do not count.

    Parameters
    ----------
    medians : sequence of Table
        Series of equally many configurations.
    name : str
        The factor that is the scale.
    held : ndarray of bool of shape (series, rows)
        Held-out rows.

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
    measured = np.stack([m.measured for m in medians]).ravel()
    # Rows of one series that agree in every other factor have one code.
    code = np.zeros((series, rows), np.int64)
    for factor in medians[0].factors:
        if factor.name != name and factor.role != "extrinsic":
            values = np.stack([m.columns[factor.name] for m in medians])
            level = np.unique(values, return_inverse=True)[1].reshape(series, rows)
            code = np.unique(code * (level.max() + 1) + level, return_inverse=True)[1].reshape(series, rows)
    code = (np.arange(series)[:, None] * (code.max() + 1) + code).ravel()
    scale = np.stack([m.columns[name] for m in medians]).ravel()
    known = np.flatnonzero(~held.ravel())
    known = known[np.lexsort((scale[known], code[known]))]
    last_of_code = np.flatnonzero(np.diff(code[known], append=-1) != 0)
    partners = known[last_of_code]
    partner_codes = code[partners]
    targets = np.flatnonzero(held.ravel())
    at = np.minimum(np.searchsorted(partner_codes, code[targets]), len(partner_codes) - 1)
    paired = partner_codes[at] == code[targets]
    partners, targets = partners[at[paired]], targets[paired]
    errors = np.abs(np.log(measured[partners] / measured[targets]))
    counts = np.bincount(targets // rows, minlength=series)
    with np.errstate(invalid="ignore"):
        return np.asarray(np.bincount(targets // rows, errors, minlength=series) / counts)
