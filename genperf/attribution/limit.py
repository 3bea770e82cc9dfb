"""What limits a configuration: its largest terms, those of one shape together, or what doubling each factor does."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, replace
from typing import Any

import numpy as np

from genperf.arrays import Array
from genperf.attribution.elasticity import doublings
from genperf.attribution.terms import FORM, parts_of
from genperf.errors import GenperfError
from genperf.facts import Doubling, Interval, Limit, Part
from genperf.panel.configurations import following_workers
from genperf.result import FitResult
from genperf.vocabulary.names import noun_of
from genperf.words.limit import SAME, SAME_WITH_COMPUTATION, named
from genperf.words.quantity import value_name


def _alike_terms(result: FitResult, columns: Mapping[str, Any]) -> dict[str, tuple[str, ...]]:
    """Return the terms of a series by label, those together that are in one ratio at every run and at some rows.

    Of a series at one batch for each worker, the computation and what stays the same at every scale are such a group:
    only what other clusters showed parts them. Terms of other models are not compared, and none is returned.
    """
    shapes: dict[str, Array] = {}
    for member in result.members:
        discrepancy = member.discrepancy
        if discrepancy is None:
            return {}
        ones = dict.fromkeys(member.expression.constant_names, 1.0)
        there, here = (member.expression.term_values(at, ones) for at in (discrepancy.anchors, columns))
        # Members may read a term's work in other ways: the heaviest, which comes first, decides.
        shapes = {name: np.concatenate([there[name], here[name]]) for name in there} | shapes
    groups: list[list[str]] = []
    for name, shape in shapes.items():
        alike = next((group for group in groups if _proportional(shapes[group[0]], shape)), None)
        if alike is None:
            groups.append([name])
        else:
            alike.append(name)
    return {_label(group, shapes[group[0]]): tuple(group) for group in groups}


def _label(group: list[str], shape: Array) -> str:
    if len(group) == 1:
        return group[0]
    if not _proportional(shape, np.ones(len(shape))):
        return " + ".join(group)
    return SAME_WITH_COMPUTATION if "computation" in group else SAME


def _proportional(one: Array, other: Array) -> bool:
    if not (np.all(one > 0.0) and np.all(other > 0.0)):
        return False
    ratios = one / other
    return bool(np.ptp(ratios) <= LIMIT.tolerance * ratios.max())


@dataclass(frozen=True)
class LimitSettings:
    """When two terms have one shape, and how much is shown of what limits a configuration."""

    #: Relative difference of the ratios of two terms up to which these are equal: of rounding.
    tolerance: float = 1e-9
    #: Factors where a step has no named parts: they fit in a sentence.
    max_factors: int = 3


LIMIT = LimitSettings()


def limit_of(result: FitResult, columns: Mapping[str, Any], interval: float) -> Limit:
    """Return the terms at one configuration, largest first; of terms without a field's name what doublings do."""
    target = result.schema.target
    try:
        worker = noun_of(result.panel.along().name)
    except GenperfError:
        worker = "workers"
    about = Limit(target.name, value_name(target), interval, counts_nodes=result.panel.has("nodes"), worker=worker)
    parts, groups = parts_of(result, columns), _alike_terms(result, columns)
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
