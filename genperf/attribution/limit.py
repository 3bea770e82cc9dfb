"""What limits a configuration: its largest terms, or what doubling each factor does where no term has a name."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, replace
from typing import Any

import numpy as np

from genperf.attribution.alike import alike_terms
from genperf.attribution.doublings import doublings
from genperf.attribution.terms import FORM, parts_of
from genperf.errors import GenperfError
from genperf.facts import Doubling, Interval, Limit, Part
from genperf.panel.configurations import following_workers
from genperf.result import FitResult
from genperf.vocabulary.names import noun_of
from genperf.words.quantity import value_name
from genperf.words.terms import named


@dataclass(frozen=True)
class LimitSettings:
    """How much is shown of what limits a configuration."""

    #: Factors where a step has no named parts: they fit in a sentence.
    max_factors: int = 3


LIMIT = LimitSettings()


def limit_of(result: FitResult, columns: Mapping[str, Any], interval: float) -> Limit:
    """Return the terms at one configuration, largest first; of terms without a field's name what doublings do.

    Parameters
    ----------
    columns : mapping of str to ndarray of shape (1,)
        Every factor.
    interval : float
        Nominal coverage.
    """
    target = result.schema.target
    try:
        worker = noun_of(result.panel.along().name)
    except GenperfError:
        worker = "workers"
    about = Limit(target.name, value_name(target), interval, counts_nodes=result.panel.has("nodes"), worker=worker)
    parts, groups = parts_of(result, columns), alike_terms(result, columns)
    if not named(parts.names, [f.name for f in result.schema.factors]):
        return replace(about, doublings=_doublings(result, columns))
    together = parts.together(groups)
    whole = float(together.central[0])
    shown = []
    for place, (label, amount) in enumerate(zip(together.names, together.amounts[:, 0], strict=True)):
        if label != FORM:
            # Where the terms add up to more than the value, the largest is shown as all of it.
            share, lower, upper = np.minimum([amount / whole, *together.share_quantiles(place, interval)[:, 0]], 1.0)
            ends = share, min(share, lower), max(share, upper)
            shown.append(Part(label, tuple(groups.get(label, (label,))), Interval(*map(float, ends))))
    return replace(about, parts=tuple(sorted(shown, key=lambda part: -part.share.value)))


def _doublings(result: FitResult, columns: Mapping[str, Any]) -> tuple[Doubling, ...]:
    ratios = doublings(result, {factor: cells[0] for factor, cells in columns.items()})
    workers = result.panel.workers
    moved = following_workers(result.panel, columns)
    return tuple(
        Doubling(factor, moved if workers is not None and factor == workers.name else (), ratio)
        for factor, ratio in list(ratios.items())[: LIMIT.max_factors]
    )
