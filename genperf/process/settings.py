"""The settings of the process over many factors."""

from dataclasses import dataclass

Pairs = tuple[tuple[str, float], ...]


@dataclass(frozen=True)
class SearchSettings:
    """The search for the sizes, and what their prior has beside the medians in `genperf.discrepancy.product`."""

    #: `deviation`, `number_deviation`, `length_deviation`: standard deviation of ln of a size, of that of a number that
    #: is no count, and of a length. A number has many values, which show its sizes; a wide prior of those of a count
    #: carries noise beyond the largest.
    deviation: float = 1.0
    number_deviation: float = 2.0
    length_deviation: float = 0.7
    #: Of the local part.
    local: float = 0.1
    #: `level_size`, `noise`: s, and the standard deviation of one configuration.
    level_size: float = 3.0
    noise: float = 0.03
    #: `steps`, `further_steps`: of the search for the first member's sizes, and of the others', which starts there.
    steps: int = 80
    further_steps: int = 25
    #: Share of the log-posterior below which a gain ends the search: smaller ones move no prediction by 1 %.
    tolerance: float = 1e-5
    #: `most_searched`, `most_anchors`: rows from which sizes are learned, and rows that are kept: the time grows with
    #: their cube.
    most_searched: int = 300
    most_anchors: int = 600
    #: ν of Student's noise, with which one wild row does not bend the rest.
    freedom: float = 4.0


@dataclass(frozen=True)
class SumSettings:
    """The sums of products that serve as means."""

    #: Products that are tried; those of fewer factors come first.
    most_columns: int = 600
    #: Columns that enter the least squares together.
    entering: int = 8
    #: `ridge`, `growing_ridge`: of a column of unit length, and its multiple for one that grows with a count: growth
    #: has to be shown.
    ridge: float = 1e-3
    growing_ridge: float = 100.0
    #: `steps`, `refits`: Gauss–Newton steps in ln T, of a fit to all rows and of one that starts from it.
    steps: int = 6
    refits: int = 3
    #: `least_step`, `least_gain`: share of a step below which none is taken, and of the error below which it ends.
    least_step: float = 0.05
    least_gain: float = 1e-4
    #: Rows that a level's effect is shrunk by.
    level_ridge: float = 1.0
    #: Share of the time below which, in every row, a term is left out.
    trace: float = 0.005


@dataclass(frozen=True)
class StackSettings:
    """How the members are weighed and the intervals widened."""

    #: Of the rows inside the range.
    folds: int = 5
    #: Look-backs along each factor: from the rows up to each of its largest values but the last.
    cuts: int = 3
    #: Times the cut up to which a look-back predicts.
    reach: float = 4.0
    #: Rows of a look-back's training part.
    fewest_rows: int = 8
    #: Factors that are looked back along.
    most_factors: int = 5
    #: Pseudo-rows of each kind of member.
    prior: Pairs = (("work", 1.0), ("sum", 1.0), ("server", 0.01), ("physics", 4.0), ("growth", 1.0))
    #: `inside`, `beyond`: quantiles of |z| that become the width of the 90 % interval, of folds and of look-backs.
    inside: float = 0.92
    beyond: float = 0.9
    #: `least_beyond`, `pseudo`: width and number of the pseudo-look-backs it is shrunk to.
    least_beyond: float = 1.2
    pseudo: float = 3.0
    #: Of any width: a table without noise shows none.
    least_width: float = 0.5
    #: Of the terms' constants.
    draws: int = 60
    #: Times the largest count at which the bank of curves forecasts the series of a table.
    ahead: tuple[float, ...] = (2.0, 4.0, 8.0)
    #: `most_series`, `most_looked_back`: series that are forecast, those of the largest counts first, and those of a
    #: look-back, which only weighs the forecasts.
    most_series: int = 24
    most_looked_back: int = 12
    #: Standard deviation of ln T of a run where repeats show less, or there are none.
    least_noise: float = 0.01


SEARCH, SUMS, STACK = SearchSettings(), SumSettings(), StackSettings()
