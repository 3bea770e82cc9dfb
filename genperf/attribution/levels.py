"""Exponents that a level of a categorical factor, or a combination of levels, has beside the shared ones."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

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
#: What of a factor is an exponent.
POWERS = ("intrinsic", "extrinsic")


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
    out = []
    for constant in member.expression.constants:
        deviation, meaning = float(member.values[constant.name]), constant.meaning
        if abs(deviation) >= LEVELS.least and meaning is not None and meaning.part in POWERS and meaning.level:
            shared = _shared(member, meaning.factor)
            out.append(LevelExponent(meaning.level, meaning.categorical, meaning.factor, shared + deviation, shared))
    return sorted(out, key=lambda e: -abs(e.exponent - e.shared))[: LEVELS.most]


def _shared(member: Member, factor: str) -> float:
    """Return the mean exponent of a factor over the terms, each weighed by its coefficient."""
    weights: dict[int, float] = {}
    exponents: dict[int, float] = {}
    for constant in member.expression.constants:
        meaning = constant.meaning
        if meaning is not None and meaning.term and meaning.part == "scale":
            weights[meaning.term] = max(float(member.values[constant.name]), 1e-300)
        elif meaning is not None and meaning.term and meaning.part in POWERS and meaning.factor == factor:
            exponents[meaning.term] = float(member.values[constant.name])
    return float(np.average([exponents.get(term, 0.0) for term in weights], weights=list(weights.values())))
