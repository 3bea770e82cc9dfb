"""What earlier predictions were worth, where a table has them beside what was then measured."""

from collections.abc import Mapping

import numpy as np
from scipy.stats import binomtest

from genperf.arrays import AnyArray
from genperf.table.clean import numbers
from genperf.verification.verify import COVERAGE, INCOMPATIBLE
from genperf.vocabulary import words_of
from genperf.vocabulary.names import plain_name


def kept_predictions(columns: Mapping[str, AnyArray], measured: str) -> str | None:
    """Return how many of a table's earlier predictions held, and their median error; None where it has none.

    Parameters
    ----------
    columns : mapping of str to ndarray of shape (rows,)
        Cells by name; `predicted`, with `lower` and `upper` where intervals were kept.
    measured : str
        The column that was measured.

    Examples
    --------
    >>> cells = {"step_s": [1.0, 1.2, 1.5], "predicted": [1.0, 1.1, 1.2]}
    >>> cells |= {"lower": [0.9, 1.0, 1.1], "upper": [1.1, 1.3, 1.4]}
    >>> kept_predictions({name: np.array(values) for name, values in cells.items()}, "step_s")
    'earlier predictions: 2 of 3 inside their intervals, which is compatible with 90 % (p = 0.27); median error 8.3 %'
    """
    named = {plain_name(name): name for name in columns}
    predicted = next((named[word] for word in words_of("columns.predicted") if word in named), None)
    if predicted is None or measured not in columns or predicted == measured:
        return None
    values = {name: numbers(columns[name])[0] for name in (measured, predicted)}
    ends = [numbers(columns[named[name]])[0] for name in ("lower", "upper") if name in named]
    both = np.isfinite(values[measured]) & np.isfinite(values[predicted]) & (values[measured] > 0.0)
    if not both.any():
        return None
    errors = np.abs(values[predicted][both] / values[measured][both] - 1.0)
    text = f"median error {100.0 * float(np.median(errors)):.1f} %"
    if len(ends) < 2:
        return f"earlier predictions: {text} in {both.sum()} runs"
    inside = int(np.sum((values[measured] >= ends[0]) & (values[measured] <= ends[1]) & both))
    chance = float(binomtest(inside, int(both.sum()), COVERAGE).pvalue)
    fits = "is compatible" if chance >= INCOMPATIBLE else "is not compatible"
    of = f"{inside} of {both.sum()} inside their intervals, which {fits} with {100 * COVERAGE:.0f} % (p = {chance:.2g})"
    return f"earlier predictions: {of}; {text}"
