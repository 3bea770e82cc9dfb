"""From fitted members to a result, with its schema, metrics, options and notes."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

import msgspec
import numpy as np

from genperf import metrics
from genperf.errors import FitError, Note
from genperf.estimate import FitOptions, feasibility_of
from genperf.prediction import Ensemble, central_times, schema_of
from genperf.result import FitResult
from genperf.table import Table


@dataclass(frozen=True)
class Request:
    """How a result was asked for."""

    #: Name of the model, or the user's formula.
    model: str
    options: FitOptions
    seed: int
    #: What the model has to say before anything is fitted.
    notes: Sequence[Note] = ()
    #: Further options that the result keeps; a `request` among them takes the place of that of the options.
    used: Mapping[str, Any] = field(default_factory=dict)


def assembled(table: Table, ensemble: Ensemble, request: Request) -> FitResult:
    """Return the result of fitted members.

    Returns
    -------
    FitResult
        Its metrics are those of the rows it was fitted to, in % and in the target's unit.

    Raises
    ------
    FitError
        Where the fitted model is not above zero at a configuration that was measured: a term has the wrong sign, say.
    """
    medians = table.medians()
    predicted, measured = central_times(ensemble.members, medians.columns), medians.measured
    if not np.all(np.isfinite(predicted) & (predicted > 0.0)):
        raise FitError(
            f"no constants within the bounds give a {table.target.name} above zero at every measured configuration",
            where=table.source,
            hint="check the signs of the terms; constants are not negative unless the formula says so",
        )
    options = request.options
    return FitResult(
        model=request.model,
        schema=msgspec.structs.replace(schema_of(table), mapping=dict(options.mapping)),
        members=ensemble.members,
        spread=ensemble.spread,
        evidence=ensemble.evidence,
        options={"request": options.request, **request.used, **ensemble.options},
        seed=request.seed,
        metrics={
            "mape": metrics.mape(predicted, measured),
            "median_ape": metrics.median_ape(predicted, measured),
            "rmse": metrics.rmse(predicted, measured),
            "r2": metrics.r2(predicted, measured),
        },
        notes=(*table.notes, *request.notes, *ensemble.notes),
        feasibility=feasibility_of(table, options.mapping),
    )
