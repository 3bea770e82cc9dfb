"""Models beside the baselines a user could have taken instead, on configurations that were held out."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import numpy as np

from genperf.errors import GenperfError
from genperf.models import Factors
from genperf.reporting.sheet import short
from genperf.table import Table
from genperf.validation import Validation, validate

#: What a model is shown beside.
BASELINES = ("last-point", "linear", "random-forest")


def scheme_of(table: Table, along: str | None = None, mapping: Mapping[str, str] | None = None) -> str:
    """Choose how to hold configurations out: the largest scale where there are enough of them, else folds.

    Examples
    --------
    >>> import pandas as pd
    >>> from genperf.table import read_table
    >>> runs = pd.DataFrame({"workers": [1, 2, 4, 8, 16], "s": [9.0, 5.0, 3.0, 2.0, 1.5]})
    >>> scheme_of(read_table(runs, time="s", extrinsic="workers"))
    'extrapolate:workers:8'
    """
    known = Factors(table.factors, mapping or {})
    names = (along, known.mapping.get(along)) if along else ()
    named = [f for f in table.numeric if f.name in names]
    found = named or [f for f in (known.find("workers"), known.find("nodes")) if f is not None]
    for factor in found:
        scales = np.unique(table.columns[factor.name])
        if len(scales) > 3:
            return f"extrapolate:{factor.name}:{scales[-2]:g}"
    folds = min(5, len(table.medians()))
    return f"kfold:{folds}"


def held_out(
    table: Table,
    model: str,
    *,
    scheme: str | None = None,
    along: str | None = None,
    seed: int = 0,
    workers: int = 1,
    **options: Any,
) -> Validation | str:
    """Measure a model beside the baselines; where that cannot be done, say why.

    Parameters
    ----------
    table : Table
    model : str
    scheme : str, optional
        See `genperf.validate`; chosen by `scheme_of` where omitted.
    along : str, optional
        The factor that counts the workers.
    seed, workers : int
    **options
        For the fits.
    """
    chosen = scheme or scheme_of(table, along, options.get("mapping"))
    try:
        return validate(table, [model, *BASELINES], chosen, seed=seed, workers=workers, **options)
    except GenperfError as error:
        return error.message


def shown(validation: Validation) -> dict[str, Any]:
    """Return a validation as the page shows it: a row per model, errors in %."""
    rows = [
        [
            m.model,
            *(None if v is None else short(v, 4) for v in (m.median_ape, m.mape, m.coverage, m.width)),
            m.predicted,
            m.failed or "",
        ]
        for m in validation.models
    ]
    return {
        "scheme": validation.scheme,
        "interval": validation.interval,
        "configurations": max((len(m.predictions) for m in validation.models), default=0),
        "rows": rows,
        "notes": [str(n) for n in validation.notes],
    }
