"""Constants of the process over many factors, those that several of its modules read."""

Pairs = tuple[tuple[str, float], ...]


# The search for the sizes, and what their prior has beside the medians in `genperf.discrepancy.product`.
#: Standard deviation of ln of a size, of that of a number that
#: is no count, and of a length. A number has many values, which show its sizes; a wide prior of those of a count
#: carries noise beyond the largest.
SIZE_DEVIATION = 1.0
NUMBER_DEVIATION = 2.0
LENGTH_DEVIATION = 0.7
#: Of the local part.
LOCAL_PART = 0.1
#: The size s of a level, and the standard deviation of one configuration.
LEVEL_SIZE = 3.0
CONFIGURATION_NOISE = 0.03
#: Of the search for the first member's sizes, and of the others', which starts there.
SIZE_STEPS = 80
FURTHER_SIZE_STEPS = 25
#: Share of the log-posterior below which a gain ends the search: smaller ones move no prediction by 1 %.
GAIN_TOLERANCE = 1e-5
#: Rows from which sizes are learned, and rows that are kept: the time grows with
#: their cube.
MOST_SEARCHED = 300
MOST_ANCHORS = 600
#: ν of Student's noise, with which one wild row does not bend the rest.
STUDENT_FREEDOM = 4.0


# The sums of products that serve as means.
#: Products that are tried; those of fewer factors come first.
MOST_COLUMNS = 600
#: Columns that enter the least squares together.
ENTERING_COLUMNS = 8
#: Of a column of unit length, and its multiple for one that grows with a count: growth
#: has to be shown.
SUM_RIDGE = 1e-3
GROWING_RIDGE = 100.0
#: Of the powers of terms: bounds, prior standard deviation about one, the cost of one that is held, and the noise of a
#: first fit.
POWER_BOUNDS = (0.1, 3.0)
POWER_DEVIATION = 0.4
POWER_OF_A_COUNT = 0.6
FIXED = 1e6
SUPPOSED_NOISE = 0.03
#: Share of the rows from which the variance about a sum is estimated at least, and Akaike's weight over the largest
#: below which a form of the sum has no draws.
LEAST_FREEDOM = 0.2
LEAST_FORM = 0.05
#: Values of a factor from which on its terms have a power.
VALUES_OF_A_POWER = 3
#: Gauss–Newton steps in ln T, of a fit to all rows and of one that starts from it.
GAUSS_NEWTON_STEPS = 6
REFIT_STEPS = 3
#: Share of a step below which none is taken, and of the error below which it ends.
LEAST_STEP = 0.05
LEAST_GAIN = 1e-4
#: Rows that a level's effect is shrunk by.
LEVEL_RIDGE = 1.0
#: Share of the time below which, in every row, a term is left out.
TRACE_SHARE = 0.005


# How the members are weighed and the intervals widened.
#: Of the rows inside the range.
STACK_FOLDS = 5
#: Look-backs along each factor: from the rows up to each of its largest values but the last.
STACK_CUTS = 3
#: Times the cut up to which a look-back predicts.
LOOK_BACK_REACH = 4.0
#: Rows of a look-back's training part.
FEWEST_ROWS = 8
#: Factors that are looked back along.
MOST_LOOKED_ALONG = 5
#: Pseudo-rows of each kind of member.
MEMBER_PRIOR: Pairs = (("work", 1.0), ("sum", 1.0), ("server", 0.01), ("physics", 4.0), ("growth", 1.0))
#: Quantiles of |z| that become the width of the 90 % interval, of folds and of look-backs.
INSIDE_QUANTILE = 0.92
BEYOND_QUANTILE = 0.9
#: Width and number of the pseudo-look-backs it is shrunk to.
LEAST_BEYOND = 1.2
PSEUDO_LOOK_BACKS = 3.0
#: Of any width: a table without noise shows none.
STACK_LEAST_WIDTH = 0.5
#: Of the terms' constants.
TERM_DRAWS = 60
#: Times the largest count at which the bank of curves forecasts the series of a table.
FORECAST_MULTIPLES: tuple[float, ...] = (2.0, 4.0, 8.0)
#: Series that are forecast, those of the largest counts first, and those of a
#: look-back, which only weighs the forecasts.
MOST_SERIES = 24
MOST_LOOKED_BACK = 12
#: Standard deviation of ln T of a run where repeats show less, or there are none.
LEAST_RUN_NOISE = 0.01
