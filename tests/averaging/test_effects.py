"""What residuals tell of their neighbours: found where it is, and nothing where there is nothing."""

import numpy as np
import pandas as pd
import pytest

import genperf as gp
from genperf.averaging import effects as module
from genperf.averaging.effects import fit_effects, krige, metrics_of
from genperf.discrepancy.robust import clipped

NETS = [f"net{k}" for k in range(8)]
FRAME = pd.MultiIndex.from_product(
    [[1.0, 2.0, 4.0, 8.0, 16.0], [8.0, 32.0], NETS], names=["workers", "batch", "net"]
).to_frame(index=False)
ROLES = {"time": "t", "extrinsic": "workers", "intrinsic": "batch", "categorical": "net"}
TABLE = gp.read_table(FRAME.assign(t=1.0), **ROLES)
OFFSETS = dict(zip(NETS, [0.3, -0.2, 0.1, 0.0, -0.3, 0.2, -0.1, 0.05], strict=True))
ZIGZAG = {1.0: 0.12, 2.0: -0.12, 4.0: 0.12, 8.0: -0.12, 16.0: 0.12}


def noise(seed: int = 0, sd: float = 0.02) -> np.ndarray:
    return np.random.default_rng(seed).normal(0.0, sd, len(FRAME))


def test_configurations_that_agree_are_off_alike() -> None:
    off = FRAME.net.map(OFFSETS).to_numpy() + noise()
    effects = fit_effects(TABLE, off)
    known = np.random.default_rng(1).random(len(FRAME)) < 0.7
    part = krige(TABLE.take(known), effects, off[known])
    held = TABLE.take(~known)
    (mean,), (variance,) = part.forecast(held.columns)
    left = off[~known] - mean
    assert np.sqrt(np.mean(left**2)) < 0.04
    # Kriging's variance and the noise's, together, are about what is left.
    assert 0.4 < np.mean(left**2) / np.mean(variance + part.scales[0] ** 2) < 2.5


def test_a_count_has_effects_of_its_own() -> None:
    off = FRAME.workers.map(ZIGZAG).to_numpy() + noise()
    effects = fit_effects(TABLE, off)
    assert ["workers"] in [list(e.rates) for e in effects]
    asked = {"workers": np.array(list(ZIGZAG)), "batch": np.full(5, 16.0), "net": np.array(["another"] * 5, object)}
    assert np.allclose(krige(TABLE, effects, off).mean(asked), list(ZIGZAG.values()), atol=0.05)


@pytest.mark.parametrize("seed", range(3))
def test_of_noise_little_is_believed(seed: int) -> None:
    off = noise(seed, 0.1)
    effects = fit_effects(TABLE, off)
    assert not effects or krige(TABLE, effects, off).mean(TABLE.columns).std() < 0.03


def test_exact_fits_have_no_effects() -> None:
    assert fit_effects(TABLE, np.zeros(len(FRAME))) == ()
    assert fit_effects(TABLE, np.where(np.arange(len(FRAME)) < 20, 0.1, 0.0)) == ()
    one = gp.read_table(FRAME[:1].assign(t=1.0), **ROLES)
    assert fit_effects(one, np.array([0.1])) == ()


def test_one_wild_run_is_cut_and_its_neighbours_stay() -> None:
    off = FRAME.net.map(OFFSETS).to_numpy() + noise()
    wild = off.copy()
    wild[12] += 2.0
    mean = krige(TABLE, fit_effects(TABLE, off), off).mean(TABLE.columns)
    other = krige(TABLE, fit_effects(TABLE, wild), wild).mean(TABLE.columns)
    neighbours = np.arange(len(FRAME)) != 12
    moved = np.abs(other - mean)[neighbours]
    # The one that has all but the batch in common is moved most.
    assert moved.max() < 0.25
    assert np.sort(moved)[-2] < 0.1


def test_a_residual_is_cut_around_what_the_others_say() -> None:
    rng = np.random.default_rng(3)
    root = rng.normal(size=(12, 12)) / 4.0
    K = root @ root.T + np.eye(12)
    r = rng.normal(size=12)
    r[4] += 30.0
    cut = clipped(r, np.linalg.inv(K), 1)
    others, own = np.empty(12), np.empty(12)
    for i in range(12):
        rest = np.arange(12) != i
        solved = np.linalg.solve(K[np.ix_(rest, rest)], K[rest, i])
        others[i], own[i] = solved @ r[rest], np.sqrt(K[i, i] - solved @ K[rest, i])
    far = 3.0 * 1.4826 * np.median(np.abs((r - others) / own))
    assert np.allclose(cut, others + own * np.clip((r - others) / own, -far, far))
    assert cut[4] < r[4] - 1.0


def test_the_gradient_is_the_slope() -> None:
    model = module._model_of(TABLE)
    search = model.search
    off = FRAME.net.map(OFFSETS).to_numpy() + noise()
    at = model.start(2.0, 0.5) + 0.1
    _, gradient = search.cost(at, off)
    for k, slope in enumerate(gradient):
        step = np.eye(len(at))[k] * 1e-5
        assert slope == pytest.approx(
            (search.cost(at + step, off)[0] - search.cost(at - step, off)[0]) / 2e-5, rel=1e-4
        )


def test_a_factor_with_zeros_is_compared_by_differences() -> None:
    frame = FRAME.assign(batch=FRAME.batch.map({8.0: 0.0, 32.0: 5.0}), t=1.0)
    table = gp.read_table(frame, **ROLES)
    assert metrics_of(table) == {"workers": "doublings", "batch": "difference", "net": "level"}
    off = np.where(frame.batch > 0.0, 0.1, -0.1) + noise()
    (whole,) = [e for e in fit_effects(table, off) if "batch" in e.rates]
    # Each factor has a rate; residuals that differ by the batch alone fall with its distance, and with no other's.
    apart = {"batch": 5.0, "workers": np.log2(frame.workers.max() / frame.workers.min())}
    assert whole.rates["batch"] * apart["batch"] > 5.0 * whole.rates["workers"] * apart["workers"]


def test_a_count_with_two_levels_has_no_effects_of_its_own() -> None:
    two = FRAME[FRAME.workers < 4.0]
    table = gp.read_table(two.assign(t=1.0), **ROLES)
    off = np.where(two.workers > 1.0, 0.1, -0.1) + np.random.default_rng(0).normal(0.0, 0.01, len(two))
    assert all(len(e.rates) > 1 for e in fit_effects(table, off))
