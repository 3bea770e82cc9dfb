"""Kriging is scaled by what it errs on configurations it had not seen, and left alone where it errs more."""

import numpy as np
import pandas as pd
import pytest

import genperf as gp
from genperf.ensemble import kriged as module
from genperf.ensemble.kriged import Residuals, checked, held_out, kriged, residuals_of
from genperf.estimate.outcome import UNKNOWN_MISFIT
from genperf.estimate.select import Candidate, folds_of
from genperf.prediction import Effect
from genperf.prediction.kriging import likeness

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


def found(residuals: np.ndarray = OFF) -> Residuals:
    return residuals_of(TABLE, residuals, np.random.default_rng(2))


def test_held_out_is_predicted_from_the_others_alone() -> None:
    learned = found()
    seen = held_out(CHOSEN, learned)
    row, fold = 5, int(np.flatnonzero(~FOLDS[:, 5])[0])
    train = FOLDS[fold]
    axes = learned.axes
    K = likeness(axes, learned.effects, {a.factor: a.values for a in axes})
    weights = np.linalg.solve(K[np.ix_(train, train)] + np.eye(train.sum()), OFF[train])
    place = np.concatenate([np.flatnonzero(~t) for t in FOLDS]).tolist().index(row)
    # Nothing here is far enough off to be cut.
    assert seen.off[place] == pytest.approx(OFF[row] - K[row, train] @ weights, abs=0.01)
    assert seen.error < 0.06


def test_together_they_err_as_held_out_configurations_did() -> None:
    learned = found()
    seen = held_out(CHOSEN, learned)
    missed = kriged(learned, OFF, seen, drawn=1e-5, noise=0.0)
    assert missed.scale * np.mean(seen.variance) + 1e-5 == pytest.approx(np.mean(seen.off**2))
    kriging, plain = missed.krige(OFF), learned.krige(OFF)
    assert kriging is not None
    assert plain is not None
    assert kriging.variance == pytest.approx(missed.scale * plain.variance)
    least = module.LEAST_NOISE * sum(e.size for e in learned.effects)
    assert missed.misfit**2 == pytest.approx(kriging.variance * max(1.0, least))
    assert kriged(learned, OFF, seen, 1e-5, noise=0.5).misfit == 0.5


def test_effects_that_mislead_are_left_out() -> None:
    # What the folds did not see lies on the other side of what they saw.
    alike = Effect(1000.0, {"net": 1.0})
    learned = Residuals(TABLE, found().axes, np.ones(len(FRAME), bool), (alike,))
    measured = np.log(TABLE.measured)
    misled = [candidate(np.where(FOLDS, measured - OFF, measured + OFF)) for _ in range(2)]
    kept, seen = checked(misled, learned)
    assert kept.effects == ()
    assert np.allclose(np.sort(seen.off), np.sort(-OFF))
    kept, _ = checked(CHOSEN, learned)
    assert kept.effects == (alike,)


def test_nothing_held_out_is_nothing_kriged() -> None:
    none = Candidate(None, 0.0, np.zeros(0), OFF, OFF, FOLDS[:0], np.empty((0, len(FRAME))))  # type: ignore[arg-type]
    learned = found()
    missed = kriged(learned, OFF, held_out([none], learned), 0.0, 0.0)
    assert missed.krige(OFF) is None
    assert missed.misfit == missed.missed == UNKNOWN_MISFIT


def test_residuals_that_are_none_are_no_anchors() -> None:
    holes = OFF.copy()
    holes[[3, 9]] = np.inf, np.nan
    kriging = found(holes).krige(holes)
    assert kriging is not None
    assert len(kriging.weights) == len(FRAME) - 2


def test_a_large_table_keeps_some(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(module, "MOST", 30)
    kriging = found().krige(OFF)
    assert kriging is not None
    assert len(kriging.weights) == 30
    # No expression has nets that are slow with large batches on few workers and with small ones on many.
    own = OFF * np.where((FRAME.batch > 8.0) == (FRAME.workers > 2.0), 1.0, -1.0)
    roles = {"extrinsic": "workers", "intrinsic": "batch", "categorical": "net"}
    result = gp.fit(gp.read_table(FRAME.assign(t=np.exp(own)), time="t", **roles), draws=5)
    assert result.best.kriging is not None
    assert all(len(m.kriging.weights) == 30 for m in result.members if m.kriging)
    assert any("carried on from 30 of 64 configurations" in str(n) for n in result.notes)


def test_a_fold_that_knows_too_little_says_what_it_is_off_by() -> None:
    few = np.zeros((2, len(FRAME)), bool)
    few[0, :3], few[1] = True, True
    few[1, :3] = False
    one = Candidate(None, 0.0, np.zeros(0), OFF, OFF, few, np.zeros(few.shape))  # type: ignore[arg-type]
    seen = held_out([one], found())
    assert seen.variance[:10] == pytest.approx(np.mean(OFF[:3] ** 2))
    assert seen.off[:10] == pytest.approx(OFF[3:13])


def test_few_known_rows_carry_nothing() -> None:
    known = np.zeros(len(FRAME), bool)
    known[: module.FEWEST_KNOWN - 1] = True
    assert found().krige(OFF, known) is None
    few = np.where(np.arange(len(FRAME)) < module.FEWEST - 1, OFF, np.nan)
    assert found(few).effects == ()
