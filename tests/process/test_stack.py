"""The pool of several processes: textbook conditioning, weights that move over a doubling, unseen levels."""

import numpy as np
import pandas as pd
import pytest
from msgspec.structs import replace
from scipy.stats import t as student

import genperf as gp
from genperf.arrays import Array
from genperf.discrepancy import Beyond, KernelAxis, MeanProcess, Product, Stack
from genperf.discrepancy.stack import NORMAL, TOGETHER
from genperf.gaussian import STUDENT_FREEDOM
from genperf.process.stacking import HeldOut, common_error, cuts_of, weights_of, within_measured_nodes

RNG = np.random.default_rng(0)
ROWS = {"n": RNG.choice([1.0, 2.0, 4.0, 8.0], 30), "net": RNG.choice(np.array(["a", "b"], dtype=object), 30)}
FURTHER = {"n": np.array([1.0, 3.0, 8.0, 11.3, 16.0, 64.0]), "net": np.array(["a", "b"] * 3, dtype=object)}
KERNEL = Product((KernelAxis("n", "ln", 0.1, 0.4, 0.2, 1.5, 0.1, 0.1), KernelAxis("net", "level", 0.3, 1.0)), 2.0, 0.1)
FACTORS = RNG.uniform(0.8, 3.0, 30)


def stack(beyond: tuple[Beyond, ...] = ()) -> Stack:
    parts = [MeanProcess(KERNEL, RNG.normal(0.0, 0.2, 30), 0.1, FACTORS, w) for w in (0.75, 0.25)]
    return Stack(ROWS, tuple(parts), 1.5, beyond)


def test_mean_and_variance_are_the_textbooks() -> None:
    whole = stack()
    inverse = np.linalg.inv(KERNEL.covariance(ROWS, ROWS) + 0.01 * np.diag(FACTORS))
    near = KERNEL.covariance(ROWS, FURTHER)
    mean, variance = whole.forecast(FURTHER)
    assert mean[1] == pytest.approx(near.T @ inverse @ whole.parts[1].residuals)
    assert variance[0] == pytest.approx(KERNEL.variance(FURTHER) - np.diag(near.T @ inverse @ near))
    assert np.diag(whole.covariance(FURTHER, 0)) == pytest.approx(variance[0])
    # A row does not depend on the others.
    alone = [whole.forecast({k: v[i : i + 1] for k, v in FURTHER.items()}) for i in range(6)]
    assert np.concatenate([a[0] for a in alone], axis=1) == pytest.approx(mean)


def test_the_smooth_part_is_conditioned_on_rows_that_have_more() -> None:
    # Values have effects of their own, and so has each configuration: anchors show both, a slope has neither.
    kernel, smooth = (
        Product((KernelAxis("n", "ln", 0.5, 0.4, each=each),), 2.0, local) for each, local in ((0.2, 0.3), (0, 0))
    )
    whole = Stack({"n": ROWS["n"]}, (MeanProcess(kernel, RNG.normal(0.0, 0.2, 30), 0.1, FACTORS, 1.0),), 1.5)
    inverse = np.linalg.inv(kernel.covariance(ROWS, ROWS) + 0.01 * np.diag(FACTORS))
    near = smooth.covariance(ROWS, FURTHER)
    assert whole.covariance(FURTHER, 0, smooth=True) == pytest.approx(
        smooth.covariance(FURTHER, FURTHER) - near.T @ inverse @ near
    )


def test_forecasts_among_the_anchors_err_together() -> None:
    # All parts know the first 20 rows; the second has ten forecasts behind them, with an error in common.
    residuals = RNG.normal(0.0, 0.2, 30)
    parts = (
        MeanProcess(KERNEL, residuals[:20], 0.1, FACTORS[:20], 0.5),
        MeanProcess(KERNEL, residuals, 0.1, FACTORS, 0.5),
    )
    whole = Stack(ROWS, parts, 1.5)
    inverse = np.linalg.inv(KERNEL.covariance(ROWS, ROWS) + 0.01 * np.diag(FACTORS))
    near = KERNEL.covariance(ROWS, FURTHER)
    error = np.append(np.zeros(20), 0.1 * np.sqrt(TOGETHER * FACTORS[20:])) @ inverse @ near
    alone = KERNEL.covariance(FURTHER, FURTHER) - near.T @ inverse @ near
    assert whole.forecast(FURTHER)[1][1] == pytest.approx(np.diag(alone) + error**2)
    assert whole.covariance(FURTHER, 1) == pytest.approx(alone + np.outer(error, error))


def test_weights_and_width_move_over_the_first_doubling_and_the_width_grows() -> None:
    weights, width, common = stack((Beyond("n", 8.0, (0.1, 0.9), 2.5, 0.2),)).weights(FURTHER)
    assert weights.sum(axis=0) == pytest.approx(1.0)
    assert weights[0, :3] == pytest.approx(0.75)
    assert weights[0, 4:] == pytest.approx(0.1)
    assert 0.1 < weights[0, 3] < 0.75
    # Half a doubling beyond: half way; of three doublings √2 as wide as of one.
    assert width == pytest.approx([1.5, 1.5, 1.5, 2.0, 2.5, 2.5 * 2**0.5], rel=0.01)
    # What levels differ by stays: 0.8 times the variance at a doubling, and 0.4 times twice it.
    assert common == pytest.approx([1.0, 1.0, 1.0, 0.6, 0.2, 0.6], rel=0.01)


def held_out(mean: Array, sd: Array) -> HeldOut:
    rows = np.arange(len(mean))
    return HeldOut(rows, np.zeros(len(mean)), mean, sd, np.zeros(len(mean), int), np.zeros(mean.shape[1], int))


def test_weights_maximise_the_density_of_the_pool_at_held_out_rows() -> None:
    rng = np.random.default_rng(0)
    held = held_out(rng.normal([0.2, -0.1], 0.2, (40, 2)), np.full((40, 2), [0.2, 0.3]))
    w = weights_of([held, held], [0.75, 0.25], np.full(2, 1e-9))
    grid = np.linspace(0.001, 0.999, 999)
    pools = [held.errors(np.array([a, 1.0 - a])) for a in grid]
    density = [np.sum(student.logpdf(error / sd, STUDENT_FREEDOM) - np.log(sd)) for error, sd in pools]
    assert w[0] == pytest.approx(grid[np.argmax(density)], abs=0.002)
    assert 0.05 < w[0] < 0.95
    # Rows weighed by nothing leave the weights to the prior.
    assert weights_of([held], [0.0], np.array([3.0, 1.0])) == pytest.approx([0.75, 0.25])


def test_members_whose_errors_cancel_share_the_weight() -> None:
    # The first is nearer in every row, and would take all of a mixture; their errors cancel.
    sign = np.where(np.arange(30) % 2, 1.0, -1.0)
    w = weights_of([held_out(np.outer(sign, [0.1, -0.11]), np.full((30, 2), 0.05))], [1.0], np.full(2, 1e-9))
    assert w == pytest.approx([0.5, 0.5], abs=0.15)


def test_look_backs_go_as_far_as_four_times_the_cut() -> None:
    values = np.repeat([1.0, 2.0, 4.0, 8.0, 32.0], 10)
    parts = [(values[train].max(), np.unique(values[test]).tolist()) for train, test in cuts_of(values)]
    assert parts == [(8.0, [32.0]), (4.0, [8.0]), (2.0, [4.0, 8.0])]


def test_a_look_back_does_not_take_the_step_to_a_second_node_that_the_table_shows() -> None:
    # Counts 1, 2, 4 on one node and 8 on two: 8 from 4 and below is that step, 4 from 2 and below is not.
    values, several = np.array([1.0, 2.0, 4.0, 8.0] * 8), np.array([False, False, False, True] * 8)
    cuts = list(cuts_of(values))
    rows = np.concatenate([test for _, test in cuts])
    part = np.concatenate([np.full(len(test), k) for k, (_, test) in enumerate(cuts)])
    back = HeldOut(rows, np.zeros(len(rows)), np.zeros((len(rows), 1)), np.ones((len(rows), 1)), part, np.zeros(1, int))
    assert set(values[within_measured_nodes(back, cuts, several).rows]) == {4.0}
    assert set(values[within_measured_nodes(back, cuts, np.zeros(32, bool)).rows]) == {4.0, 8.0}
    # From two nodes on the step is known.
    known = within_measured_nodes(back, cuts, values > 1.0)
    assert set(values[known.rows]) == {4.0, 8.0}
    # Where nothing else was looked back at, the step stays.
    last = back.kept(part == 0)
    assert within_measured_nodes(last, cuts[:1], several) is last


def test_the_pools_covariance_has_its_variances_and_holds_where_members_disagree() -> None:
    whole = stack((Beyond("n", 8.0, (0.1, 0.9), 2.5, 0.0),))
    curves = np.array([np.zeros(6), np.linspace(0.0, 0.5, 6)])
    _, variance, _ = whole.pooled(curves, FURTHER, (0, 1))
    covariance = whole.together(curves, FURTHER, (0, 1))
    assert np.diag(covariance) == pytest.approx(variance)
    # Two doublings beyond, nothing is common to two levels; the rows of one level still move together.
    assert covariance[4, 5] == 0.0
    assert covariance[3, 5] > 0.1 * np.sqrt(variance[3] * variance[5])
    # Two members that agree in all but a level differ by δδᵀ.
    apart = whole.together(curves + np.array([[0.0], [1.0]]), FURTHER, (0, 1))
    assert apart[3, 5] > covariance[3, 5]


def test_errors_that_levels_share_are_common_and_others_are_not() -> None:
    frame = pd.DataFrame({"n": np.repeat([1.0, 2.0, 4.0, 8.0], 20), "net": np.tile(list("abcdefghijklmnopqrst"), 4)})
    table = gp.read_table(frame.assign(s=1.0), time="s", extrinsic="n", categorical="net")
    rows, zero = np.flatnonzero(table.columns["n"] > 1.0), np.zeros((60, 1))
    of_count = np.select([table.columns["n"][rows] == n for n in (2.0, 4.0, 8.0)], (1.0, -0.5, 2.0))
    for errors, low, high in ((RNG.normal(0.0, 1.0, 60), 0.0, 0.3), (of_count, 0.9, 1.0)):
        back = HeldOut(rows, errors, zero, zero + 1.0, np.zeros(60, int), np.zeros(zero.shape[1], int))
        assert low <= common_error(back, np.ones(1), table, 0.0) <= high
    # Noise as large as the error that all levels share takes nothing from it.
    both = HeldOut(rows, of_count + RNG.normal(0.0, 1.0, 60), zero, zero + 1.5, *(np.zeros(n, int) for n in (60, 1)))
    assert common_error(both, np.ones(1), table, 0.0) < 0.8
    assert common_error(both, np.ones(1), table, 1.0) > 0.9


def test_noise_that_few_residuals_show_widens_the_mean_but_no_prediction() -> None:
    # With u times the noise, the same predictor errs by (u² − 1)·σ²·hᵀFh more, h its weights of the runs.
    whole = stack()
    unsure = replace(whole, parts=tuple(replace(part, unsure=2.0) for part in whole.parts), width=NORMAL)
    sure, curves = replace(whole, width=NORMAL), np.zeros((2, 6))
    first, second = sure.pooled(curves, FURTHER, (0, 1)), unsure.pooled(curves, FURTHER, (0, 1))
    assert second[0] == pytest.approx(first[0])
    inverse = np.linalg.inv(KERNEL.covariance(ROWS, ROWS) + 0.01 * np.diag(FACTORS))
    weights = inverse @ KERNEL.covariance(ROWS, FURTHER)
    assert second[1] - first[1] == pytest.approx(3.0 * 0.01 * FACTORS @ weights**2)
    assert np.all(second[2] >= np.maximum(first[2], second[1]))
    assert np.diag(unsure.together(curves, FURTHER, (0, 1))) == pytest.approx(second[1])


def test_the_width_grows_with_the_factor_that_is_exceeded_most() -> None:
    # By a doubling and more the first decides on the weights; the second is exceeded by six.
    beyond = (Beyond("n", 32.0, (0.1, 0.9), 2.5), Beyond("n/8", 0.125, (0.9, 0.1), 2.0))
    weights, width, _ = stack(beyond).weights({**FURTHER, "n": np.full(6, 64.0)})
    assert weights[0] == pytest.approx(0.1)
    assert width == pytest.approx(2.5 * 3.5**0.5)
