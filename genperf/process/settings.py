"""The settings of the process over many factors."""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True)
class SizeSettings:
    """The prior of each size, its median in units of ln T, and how the sizes are found.

    The medians were set on the tables of `docs/results/process.md`: how little they matter is shown there.

    Attributes
    ----------
    deviation, length_deviation : float
        Standard deviation of ln of a size, and of a length.
    linear, count_linear, level : float
        Of ln T per e-fold of a number, of a count, and between levels.
    smooth, length : float
        Of the smooth part, and e-folds over which it changes.
    walk, step : float
        Of a count: per e-fold, and between alone and together.
    rate, level_rate, local : float
        Of the local part.
    level_size, noise : float
        s, and the standard deviation of one configuration.
    steps, further_steps : int
        Of the search for the first member's sizes, and for those of the others, which start there.
    most_searched, most_anchors : int
        Rows from which sizes are learned, and rows that are kept: the time grows with their cube.
    freedom : float
        ν of Student's noise, with which one wild row does not bend the rest.
    """

    deviation: float = 1.0
    length_deviation: float = 0.7
    linear: float = 0.5
    count_linear: float = 0.1
    level: float = 0.3
    smooth: float = 0.2
    length: float = 1.5
    walk: float = 0.1
    step: float = 0.1
    each: float = 0.02
    rate: float = 0.4
    level_rate: float = 1.0
    local: float = 0.1
    level_size: float = 3.0
    noise: float = 0.03
    steps: int = 80
    further_steps: int = 25
    most_searched: int = 300
    most_anchors: int = 600
    freedom: float = 4.0


@dataclass(frozen=True)
class SumSettings:
    """The sums of products that serve as means.

    Attributes
    ----------
    most_columns : int
        Products that are tried; those of fewer factors come first.
    ridge, growing_ridge : float
        Of a column of unit length, and its multiple for one that grows with a count: growth has to be shown.
    steps, refits : int
        Gauss–Newton steps in ln T, of a fit to all rows and of one that starts from it.
    level_ridge : float
        Rows that a level's effect is shrunk by.
    trace : float
        Share of the time below which, in every row, a term is left out.
    """

    most_columns: int = 600
    ridge: float = 1e-3
    growing_ridge: float = 100.0
    steps: int = 6
    refits: int = 3
    level_ridge: float = 1.0
    trace: float = 0.005


@dataclass(frozen=True)
class StackSettings:
    """How the members are weighed and the intervals widened.

    Attributes
    ----------
    fewest : int
        Configurations.
    folds : int
        Of the rows inside the range.
    cuts : int
        Look-backs along each factor: from the rows up to each of its largest values but the last.
    reach : float
        Times the cut up to which a look-back predicts.
    fewest_rows : int
        Rows of a look-back's training part.
    most_factors : int
        Factors that are looked back along.
    prior : tuple of (str, float)
        Pseudo-rows of each kind of member.
    inside, beyond : float
        Quantiles of |z| that become the width of the 90 % interval, of folds and of look-backs.
    least_beyond, pseudo : float
        Width and number of the pseudo-look-backs it is shrunk to.
    least_width : float
        Of any width: a table without noise shows none.
    draws : int
        Of the terms' constants.
    """

    fewest: int = 2
    folds: int = 5
    cuts: int = 3
    reach: float = 4.0
    fewest_rows: int = 8
    most_factors: int = 5
    prior: tuple[tuple[str, float], ...] = (("work", 1.0), ("sum", 1.0), ("server", 0.01), ("physics", 4.0))
    inside: float = 0.92
    beyond: float = 0.9
    least_beyond: float = 1.2
    pseudo: float = 3.0
    least_width: float = 0.5
    draws: int = 60


SIZES, SUMS, STACK = SizeSettings(), SumSettings(), StackSettings()
