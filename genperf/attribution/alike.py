"""Terms of a series that have one shape: no run and no asked configuration tells them apart."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np
import numpy.typing as npt

from genperf.result import FitResult
from genperf.words.terms import SAME, SAME_WITH_COMPUTATION

Array = npt.NDArray[np.float64]


@dataclass(frozen=True)
class AlikeSettings:
    """When two terms have one shape."""

    #: Relative difference of their ratios up to which these are equal: of rounding.
    tolerance: float = 1e-9


ALIKE = AlikeSettings()


def alike_terms(result: FitResult, columns: Mapping[str, Any]) -> dict[str, tuple[str, ...]]:
    """Return the terms of a series in groups whose terms are in one ratio at every run and at some configurations.

    Of a series at one batch for each worker, the computation and what stays the same at every scale are such a group:
    only what other clusters showed parts them. Terms of other models are not compared, and none is returned.

    Parameters
    ----------
    columns : mapping of str to ndarray of shape (rows,)
        The configurations, by factor.

    Returns
    -------
    dict of str to tuple of str
        The terms by label: the term alone, one of the labels of what stays the same, or the names with a `+` between.

    Examples
    --------
    >>> import genperf as gp
    >>> import pandas as pd
    >>> runs = pd.DataFrame({"gpus": [8, 16, 32], "batch": 32, "step_s": [0.40, 0.42, 0.44]})
    >>> result = gp.fit(gp.read_table(runs, time="step_s", extrinsic="gpus", intrinsic="batch"))
    >>> alike_terms(result, {"gpus": np.array([64.0]), "batch": np.array([32.0])})[SAME_WITH_COMPUTATION]
    ('computation', 'constant', 'inside nodes', 'contention', 'leaving the node')
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
    return bool(np.ptp(ratios) <= ALIKE.tolerance * ratios.max())
