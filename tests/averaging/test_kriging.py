"""Kriging is scaled by its errors on held-out configurations, and left out where it errs more."""

from dataclasses import replace

import numpy as np
import pandas as pd
import pytest

import genperf as gp
from genperf.averaging import fit_factors
from genperf.averaging import kriging as module
from genperf.averaging.effects import metrics_of
from genperf.averaging.kriging import KRIGING, Residuals, checked, held_out, residuals_of, scaled
from genperf.discrepancy import Effect, Exponential
from genperf.estimate import FitOptions
from genperf.estimate.outcome import UNKNOWN_MISFIT
from genperf.estimate.select import Candidate, folds_of

FRAME = pd.MultiIndex.from_product(
    [[1.0, 2.0, 4.0, 8.0], [8.0, 32.0], [f"net{k}" for k in range(8)]], names=["workers", "batch", "net"]
).to_frame(index=False)
RNG = np.random.default_rng(0)
OWN = dict(zip(FRAME.net.unique(), RNG.normal(0.0, 0.2, 8), strict=True))
OFF = FRAME.net.map(OWN).to_numpy() + RNG.normal(0.0, 0.02, len(FRAME))
TABLE = gp.read_table(FRAME.assign(t=np.exp(OFF)), time="t", extrinsic="workers", intrinsic="batch", categorical="net")
FOLDS = folds_of(len(FRAME), np.random.default_rng(1))


def candidate(by_fold: np.ndarray) -> Candidate:
    nothing = np.zeros(len(FRAME))
    return Candidate(None, 0.0, np.zeros(0), nothing, nothing, FOLDS, by_fold)  # type: ignore[arg-type]


#: Fits that say ln T = 0.01 and −0.01: together the residuals are what the table is off by.
CHOSEN = [candidate(np.full(FOLDS.shape, level)) for level in (0.01, -0.01)]


def learned_from(residuals: np.ndarray = OFF) -> Residuals:
    return residuals_of(TABLE, residuals, np.random.default_rng(2))


def test_held_out_is_predicted_from_the_others_alone() -> None:
    learned = learned_from()
    errors = held_out(CHOSEN, learned)
    row, fold = 5, int(np.flatnonzero(~FOLDS[:, 5])[0])
    train = FOLDS[fold]
    kernel = Exponential(metrics_of(TABLE), learned.effects)
    K = kernel.covariance(TABLE.columns, TABLE.columns)
    weights = np.linalg.solve(K[np.ix_(train, train)] + np.eye(train.sum()), OFF[train])
    place = np.concatenate([np.flatnonzero(~t) for t in FOLDS]).tolist().index(row)
    # Nothing here is far enough off to be cut.
    assert errors.errors[place] == pytest.approx(OFF[row] - K[row, train] @ weights, abs=0.01)
    assert errors.mean_error < 0.06


def test_together_they_err_as_held_out_configurations_did() -> None:
    learned = learned_from()
    errors = held_out(CHOSEN, learned)
    kriged = scaled(learned, OFF, errors, drawn=1e-5, noise=0.0)
    assert kriged.scale * np.mean(errors.variances) + 1e-5 == pytest.approx(np.mean(errors.errors**2))
    kriging, plain = kriged.krige(OFF), learned.krige(OFF)
    assert kriging is not None
    assert plain is not None
    assert kriging.scales[0] ** 2 == pytest.approx(kriged.scale * plain.scales[0] ** 2)
    least = KRIGING.least_noise * sum(e.size for e in learned.effects)
    assert kriged.misfit**2 == pytest.approx(kriging.scales[0] ** 2 * max(1.0, least))
    assert scaled(learned, OFF, errors, 1e-5, noise=0.5).misfit == 0.5


def test_effects_that_mislead_are_left_out() -> None:
    # What the folds did not see lies on the other side of what they saw.
    alike = Effect(1000.0, {"net": 1.0})
    learned = Residuals(TABLE, np.ones(len(FRAME), bool), (alike,))
    measured = np.log(TABLE.measured)
    misled = [candidate(np.where(FOLDS, measured - OFF, measured + OFF)) for _ in range(2)]
    kept, errors = checked(misled, learned)
    assert kept.effects == ()
    assert np.allclose(np.sort(errors.errors), np.sort(-OFF))
    kept, _ = checked(CHOSEN, learned)
    assert kept.effects == (alike,)


def test_nothing_held_out_is_nothing_kriged() -> None:
    none = Candidate(None, 0.0, np.zeros(0), OFF, OFF, FOLDS[:0], np.empty((0, len(FRAME))))  # type: ignore[arg-type]
    learned = learned_from()
    kriged = scaled(learned, OFF, held_out([none], learned), 0.0, 0.0)
    assert kriged.krige(OFF) is None
    assert kriged.misfit == kriged.error == UNKNOWN_MISFIT


def test_residuals_that_are_none_are_no_anchors() -> None:
    holes = OFF.copy()
    holes[[3, 9]] = np.inf, np.nan
    kriging = learned_from(holes).krige(holes)
    assert kriging is not None
    assert len(kriging.logarithms) == len(FRAME) - 2


def test_a_large_table_keeps_some(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(module, "KRIGING", replace(KRIGING, most_anchors=30))
    kriging = learned_from().krige(OFF)
    assert kriging is not None
    assert len(kriging.logarithms) == 30
    # No expression has nets that are slow with large batches on few workers and with small ones on many.
    own = OFF * np.where((FRAME.batch > 8.0) == (FRAME.workers > 2.0), 1.0, -1.0)
    roles = {"extrinsic": "workers", "intrinsic": "batch", "categorical": "net"}
    ensemble = fit_factors(gp.read_table(FRAME.assign(t=np.exp(own)), time="t", **roles), FitOptions(draws=5), 0)
    assert ensemble.members[0].discrepancy is not None
    assert all(len(m.discrepancy.logarithms) == 30 for m in ensemble.members if m.discrepancy)
    assert any("carried on from 30 of 64 configurations" in str(n) for n in ensemble.notes)


def test_a_fold_that_knows_too_little_says_what_it_is_off_by() -> None:
    few = np.zeros((2, len(FRAME)), bool)
    few[0, :3], few[1] = True, True
    few[1, :3] = False
    one = Candidate(None, 0.0, np.zeros(0), OFF, OFF, few, np.zeros(few.shape))  # type: ignore[arg-type]
    errors = held_out([one], learned_from())
    assert errors.variances[:10] == pytest.approx(np.mean(OFF[:3] ** 2))
    assert errors.errors[:10] == pytest.approx(OFF[3:13])


def test_few_known_rows_carry_nothing() -> None:
    known = np.zeros(len(FRAME), bool)
    known[: KRIGING.fewest_anchors - 1] = True
    assert learned_from().krige(OFF, known) is None
    few = np.where(np.arange(len(FRAME)) < KRIGING.fewest_learned - 1, OFF, np.nan)
    assert learned_from(few).effects == ()
