"""Models beside the baselines a user could take instead, on configurations that were held out."""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np

from genperf.errors import GenperfError
from genperf.panel import Panel
from genperf.reporting.place import short
from genperf.table import Factor, Table
from genperf.validation import Validation, validate
from genperf.validation.splits import split

#: What a model is shown beside.
BASELINES = ("last-point", "linear", "random-forest")


@dataclass(frozen=True)
class HeldOutSettings:
    """How configurations are held out where the user does not say it."""

    #: With so many scales or more, the largest is predicted from the smaller ones: three are the least that a knee can
    #: be fitted to.
    least_scales: int = 4
    #: Else so many folds, a convention.
    folds: int = 5


HELD_OUT = HeldOutSettings()


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
    for factor in _scale_factors(table, along, mapping):
        scales = np.unique(table.columns[factor.name])
        if len(scales) >= HELD_OUT.least_scales:
            return f"extrapolate:{factor.name}:{scales[-2]:g}"
    return f"kfold:{min(HELD_OUT.folds, len(table.medians()))}"


def _scale_factors(table: Table, along: str | None, mapping: Mapping[str, str] | None) -> list[Factor]:
    """Return the factors that may count the workers, the likeliest first."""
    factors = Panel(table.factors, mapping or {})
    names = (along, factors.mapping.get(along)) if along else ()
    named = [f for f in table.numeric if f.name in names]
    return named or list(factors.counts)


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
    """Return the errors of a model beside those of the baselines; or why there are none."""
    if scheme is not None:
        split(table, scheme, seed)
    chosen = scheme or scheme_of(table, along, options.get("mapping") or table.mapping)
    try:
        return validate(table, [model, *BASELINES], chosen, seed=seed, workers=workers, **options)
    except GenperfError as error:
        return error.message


def shown(validation: Validation | str | None) -> dict[str, Any] | None:
    """Return a validation as the page shows it, a row per model with errors in %; or why there is none."""
    if not isinstance(validation, Validation):
        return {"why": validation} if validation else None
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
