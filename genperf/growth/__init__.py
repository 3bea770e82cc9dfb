"""Growth along the scale: one bank of curves, reweighted by the runs of a series.

    ln T = θ + ln(work + Σ_k z_k·exp(u_k)·φ_k(n, m)) + walk + noise

on n workers and m nodes, with the level θ, overheads φ_k of sizes u_k that arise or not, and a walk along log₂ n.
Arrays in, arrays out: the bank, the layout of a series' counts, weights of the curves, draws, a forecast.
`posterior_of` weighs the curves by ln T at the `Counts` of a series, and `forecast` predicts ln T at other counts:

>>> n = np.array([1.0, 2.0, 4.0, 8.0])
>>> runs = posterior_of(Counts(n, np.ones(4), np.ones(4)), np.log([1.0, 1.1, 1.2, 1.3]), np.zeros(4))
>>> there = Counts(np.array([16.0, 32.0]), np.array([2.0, 4.0]), np.ones(2))
>>> central, lower, upper = forecast([runs.draws()], [1.0], [there]).interval()
>>> bool(np.all((lower < central) & (central < upper)))
True
"""

from genperf.growth.bank import Bank, bank
from genperf.growth.posterior import Counts, Draws, Layout, Posterior, forecast, posterior_of
