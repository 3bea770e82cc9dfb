"""Exponents that a level of a categorical factor, or a combination of levels, has beside the shared ones."""

from __future__ import annotations

import re
from dataclasses import dataclass

import numpy as np

from genperf.models.interactions import JOINT
from genperf.prediction import Member
from genperf.result import FitResult


@dataclass(frozen=True)
class LevelSettings:
    """Which exponents are worth telling."""

    #: Deviation from the shared exponent from which on one is told: 0.02 is 1.4 % per doubling.
    least: float = 0.02
    #: Deviations that are told, largest first.
    most: int = 6


LEVELS = LevelSettings()


@dataclass(frozen=True)
class LevelExponent:
    """An exponent that differs at a level."""

    #: `level`, `categorical`, `factor`: the level, or levels with colons between, the factor or factors they are of,
    #: and the numeric factor.
    level: str
    categorical: str
    factor: str
    #: `exponent`, `shared`: at the level, and as all levels share it: the mean over the terms, each weighed by its
    #: coefficient.
    exponent: float
    shared: float

    def __str__(self) -> str:
        return (
            f"{self.level} ({self.categorical}): {self.factor} exponent {self.exponent:.2f} (shared {self.shared:.2f})"
        )


def level_exponents(result: FitResult) -> list[LevelExponent]:
    """Return the exponents in which a level differs from the shared one, largest difference first.

    Examples
    --------
    >>> import genperf as gp
    >>> import pandas as pd
    >>> rows = [(batch, net) for net in ("resnet", "vgg") for batch in (8, 16, 32, 64, 128, 256)]
    >>> runs = pd.DataFrame(rows, columns=["batch", "net"])
    >>> runs["t"] = 0.01 * runs.batch ** runs.net.map({"resnet": 0.8, "vgg": 1.0})
    >>> fitted = gp.fit(gp.read_table(runs, time="t", intrinsic="batch", categorical="net"), "generic", draws=5)
    >>> for one in level_exponents(fitted):
    ...     print(one)
    vgg (net): batch exponent 1.00 (shared 0.80)
    """
    member = result.best
    numeric = [f.name for f in result.schema.factors if f.numeric]
    categorical = {f.name for f in result.schema.factors if not f.numeric}
    out = []
    for constant in (c for c in member.expression.constants if c.size < 1.0):
        deviation = float(member.values[constant.name])
        for factor in numeric if abs(deviation) >= LEVELS.least else ():
            named = re.fullmatch(re.escape(f"p_{factor}_") + r"(?P<of>.+?)\[(?P<level>.*)\]", constant.name)
            if named is not None and categorical.issuperset(named["of"].split(JOINT)):
                shared = _shared(member, factor)
                out.append(LevelExponent(named["level"], named["of"], factor, shared + deviation, shared))
    return sorted(out, key=lambda e: -abs(e.exponent - e.shared))[: LEVELS.most]


def _shared(member: Member, factor: str) -> float:
    """Return the mean exponent of a factor over the terms, each weighed by its coefficient."""
    values = member.values
    terms = [k for k in range(1, len(member.expression.terms)) if f"a{k}" in values]
    exponents = [values.get(f"p{k}_{factor}", values.get(f"q{k}_{factor}", 0.0)) for k in terms]
    weights = [max(values[f"a{k}"], 1e-300) for k in terms]
    return float(np.average(exponents, weights=weights))
