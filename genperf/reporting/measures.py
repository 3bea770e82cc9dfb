"""What a page can show of a prediction beside its value: throughput, tokens, cost, the duration of a job."""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from genperf.attribution.derived import price_of
from genperf.attribution.growth import paid_for
from genperf.errors import GenperfError, TableError
from genperf.formula import render
from genperf.formula.amounts import amount
from genperf.panel.work import work_of_columns, work_of_step
from genperf.reporting.engine import Model
from genperf.result import FitResult
from genperf.vocabulary.names import column_of
from genperf.words.growth import price_text
from genperf.words.numbers import samples_called


@dataclass(frozen=True)
class Job:
    """What the page takes as price and as work in all; both can be changed on it."""

    #: Of one worker, or of what `per` counts: `2/h`.
    price: str | None = None
    #: A column, or a formula over the factors.
    per: str | None = None
    #: The work in all, in the unit of the throughput or of the batch: `300B`.
    samples: str | None = None

    def shown(self) -> dict[str, float | None]:
        """Return the numbers: money for an hour, and the work in all."""
        hourly = None if self.price is None else price_of(self.price).per_second * 3600.0
        size = None if self.samples is None else amount(self.samples)
        if self.samples is not None and (size is None or not 0.0 < size < math.inf):
            raise GenperfError(f"'{self.samples}' is no amount of work", hint="--samples 300B, above zero")
        return {"price": hourly, "size": size}


def measures_of(model: Model, group: Mapping[str, str], job: Job) -> dict[str, Any]:
    """Return what the page needs for each measure, as numbers of formulas; None where it is unknown."""
    result = model.result
    work = work_of_step(result.panel, group)
    sequence = result.panel.find("sequence")
    paid = _paid(result, job)
    factors = list(model.factors)
    return {
        "work": None if work is None else model.formulas.add(work, model.factors),
        "paid": None if paid is None else model.formula(paid),
        "paidName": (paid or "").replace("`", ""),
        "paidUnit": price_text("1/h", (paid or "").replace("`", "")).removeprefix("1"),
        "sequence": None if sequence is None else factors.index(sequence.name),
    }


def _paid(result: FitResult, job: Job) -> str | None:
    """Return what counts that which is paid for, a formula over the factors; None where nothing does."""
    if not result.schema.target.is_time:
        return None
    try:
        return render(paid_for(result, job.per)[1])
    except TableError:
        if job.price is None and job.per is None:
            return None
        raise


def rate_unit(result: FitResult) -> str:
    """Return the unit of the throughput: `images/s` of a column `images_per_s`, else samples.

    Where only the number of workers tells the work, it is the steps of one worker.
    """
    schema = result.schema
    if schema.target.throughput:
        return f"{samples_called(schema.target.throughput)}/s"
    of_group = {column_of(name, schema.group) for name in ("batch", "global_batch")}
    known = work_of_columns(result.panel) is not None or of_group != {None}
    return "samples/s" if known else "worker steps/s"
