"""`auto` on a table of many factors."""

import msgspec
import numpy as np
import pandas as pd
import pytest

import genperf as gp
from genperf.averaging.average import fit_factors, literature
from genperf.averaging.fitted import fit_member
from genperf.errors import FitError
from genperf.estimate import FitOptions
from genperf.estimate.candidates import candidates_of
from genperf.models.generic import GENERIC, Structure, generic
from genperf.prediction import central_times
from genperf.result import dump_model
from genperf.result.file import parse_model

LEVELS = {1.0: 0.12, 2.0: -0.12, 4.0: 0.12, 8.0: -0.12, 16.0: 0.12}


def runs(rows: int = 80, noise: float = 0.03, levels: dict[float, float] | None = None, seed: int = 0) -> pd.DataFrame:
    rng = np.random.default_rng(seed)
    grid = pd.MultiIndex.from_product(
        [[2.0, 4.0, 8.0, 16.0], [8.0, 16.0, 32.0, 64.0], list(LEVELS)], names=["layers", "batch", "workers"]
    ).to_frame(index=False)
    chosen = grid.sample(rows, random_state=seed).reset_index(drop=True)
    time = 0.1 + 0.3 * chosen.layers / 8 * chosen.batch / 32 + 0.05 * (chosen.workers / 4) ** 0.7
    shift = chosen.workers.map(levels or {}).fillna(0.0)
    return chosen.assign(t=time * np.exp(shift + rng.normal(0.0, noise, rows)))


def read(frame: pd.DataFrame, **roles: str) -> gp.Table:
    return gp.read_table(frame, **{"time": "t", "intrinsic": "layers,batch", "extrinsic": "workers", **roles})


TABLE = read(runs())
FITTED = gp.fit(TABLE, draws=50)
SHIFTED = gp.fit(read(runs(levels=LEVELS)), draws=20)


def particular() -> pd.DataFrame:
    """Return runs of eight nets, each with a way of its own to depend on the workers that no expression has."""
    rng = np.random.default_rng(3)
    own = {f"net{k}": rng.normal(0.0, 0.2, 2) for k in range(8)}
    nets = [runs(20, 0.0, seed=k).assign(net=net) for k, net in enumerate(own)]
    frame = pd.concat(nets, ignore_index=True)
    ways = np.array([own[net] for net in frame.net])
    off = np.where(frame.workers > 3.0, ways[:, 0], ways[:, 1])
    return frame.assign(t=frame.t * np.exp(off + rng.normal(0.0, 0.02, len(frame))))


PARTICULAR = gp.fit(read(particular(), categorical="net"), draws=40)


def test_auto_takes_the_factors_path() -> None:
    assert FITTED.model == "auto"
    assert FITTED.options["approach"] == "factors"
    assert sum(m.weight for m in FITTED.members) == pytest.approx(1.0)
    assert any("generic expression" in str(n) for n in FITTED.notes)


def test_new_configurations_are_predicted_and_covered() -> None:
    train = np.arange(80) % 4 > 0
    result = gp.fit(TABLE.take(train), draws=50)
    held = TABLE.take(~train)
    found = result.predict(held.frame[["layers", "batch", "workers"]])
    # 3 % of noise has a mean absolute value of 2.4 %.
    assert np.mean(np.abs(found.time / held.measured - 1.0)) < 0.05
    assert np.mean((found.lower <= held.measured) & (held.measured <= found.upper)) >= 0.8
    assert np.median((found.upper - found.lower) / found.time) < 0.3


def test_far_beyond_the_data_growth_is_bounded_by_the_count() -> None:
    asked = {"layers": 8, "batch": 32, "workers": [16.0, 160.0, 1600.0]}
    columns = {k: np.broadcast_to(np.asarray(v, float), (3,)) for k, v in asked.items()}
    times = np.array([m.expression.evaluate(columns, m.values) for m in FITTED.members])
    assert np.all(times > 0.0)
    for step in (times[:, 1] / times[:, 0], times[:, 2] / times[:, 1]):
        assert np.all((step <= 10.0 * (1 + 1e-9)) & (step >= 0.1 * (1 - 1e-9)))
    bounds = {(c.lower, c.upper) for m in FITTED.members for c in m.expression.constants if c.name.startswith("q")}
    assert bounds == {GENERIC.extrinsic_exponents}


def test_bands_widen_with_distance_and_stay_above_zero() -> None:
    found = FITTED.predict({"layers": 8, "batch": 32, "workers": [16, 64, 1024]})
    width = np.log(found.upper / found.lower)
    assert np.all(np.diff(width) > 0.0)
    assert np.all(found.lower > 0.0)
    assert found.verdict[2] == "extrapolating-blind"


def test_the_largest_scale_was_predicted_from_half_of_it() -> None:
    (seen,) = FITTED.evidence
    assert (seen.factor, seen.held_out, seen.doublings) == ("workers", 16.0, 1.0)
    assert 0.0 < seen.error < 0.3
    assert np.isfinite(seen.last_point)


def test_what_the_expressions_miss_is_carried_to_the_configurations_near() -> None:
    assert SHIFTED.best.discrepancy is not None
    assert all(m.discrepancy is SHIFTED.best.discrepancy for m in SHIFTED.members)
    assert "workers" in SHIFTED.options["kriging"]
    off = []
    for n, level in LEVELS.items():
        found = SHIFTED.predict({"layers": 8, "batch": 32, "workers": n}).time[0]
        off.append(np.log(found / (0.1 + 0.3 + 0.05 * (n / 4) ** 0.7)) - level)
    assert np.max(np.abs(off)) < 0.06


def test_the_interval_is_narrow_near_what_was_measured_and_wide_far_away() -> None:
    assert PARTICULAR.best.discrepancy is not None
    kriging = msgspec.structs.replace(PARTICULAR.best.discrepancy, surface=None)
    table = read(particular(), categorical="net")
    known, variance = kriging.forecast(table.medians().columns)
    far, there = kriging.forecast({**table.medians().columns, "batch": np.full(len(table.medians()), 2.0**200)})
    assert np.all(variance < there)
    assert np.abs(far).max() < 0.2 * np.abs(known).max()


def test_what_is_particular_to_a_configuration_is_predicted_and_covered() -> None:
    frame = particular()
    held = np.random.default_rng(5).random(len(frame)) < 0.25
    result = gp.fit(read(frame[~held], categorical="net"), draws=40)
    found = result.predict(frame.loc[held, ["layers", "batch", "workers", "net"]])
    seconds = frame.t[held].to_numpy()
    # Nets are off by 20 % with every batch; noise alone has a mean absolute value of 1.6 %.
    assert np.mean(np.abs(found.time / seconds - 1.0)) < 0.07
    assert np.mean((found.lower <= seconds) & (seconds <= found.upper)) >= 0.8
    assert any("with the residuals of its neighbours" in str(n) for n in result.notes)


def test_kriging_multiplies_central_times_and_draws_alike() -> None:
    member = SHIFTED.members[0]
    assert member.discrepancy is not None
    columns = {"layers": np.array([8.0]), "batch": np.array([32.0]), "workers": np.array([2.0])}
    plain = member.expression.evaluate(columns, member.values)
    level = member.discrepancy.mean(columns)
    surface = member.discrepancy.surface
    share = 0.0 if surface is None else surface.weight
    # Inside the measured range a surface takes its share of the expression's place.
    assert member.times(columns) == pytest.approx(plain ** (1.0 - share) * np.exp(level))
    assert member.times(columns) < plain
    drawn = member.expression.evaluate(columns, member.draw_values())
    assert np.allclose(member.forecast(columns)[0], (1.0 - share) * np.log(drawn) + level)


def test_the_model_file_holds_it_all() -> None:
    text = dump_model(SHIFTED)
    again = parse_model(text)
    assert dump_model(again) == text
    asked = {"layers": 8, "batch": 32, "workers": [2, 64]}
    pd.testing.assert_frame_equal(again.predict(asked), SHIFTED.predict(asked))


def test_the_same_bytes_for_the_same_seed() -> None:
    assert dump_model(gp.fit(TABLE, draws=50)) == dump_model(FITTED)


def test_groups_do_not_depend_on_the_workers_or_on_each_other() -> None:
    frame = pd.concat([runs(30, seed=s).assign(net=f"net{s}") for s in (0, 1)], ignore_index=True)
    one = gp.fit(read(frame, group="net"), draws=10)
    two = gp.fit(read(frame, group="net"), draws=10, workers=2)
    assert dump_model(one) == dump_model(two)
    alone = gp.fit(read(frame[frame.net == "net1"], group="net"), draws=10)
    assert [m.values for m in alone[("net1",)].members] == [m.values for m in one[("net1",)].members]


def test_one_wild_run_changes_little() -> None:
    frame = runs()
    frame.loc[7, "t"] *= 20.0
    wild = gp.fit(read(frame), draws=10)
    off = central_times(wild.members, TABLE.columns) / central_times(FITTED.members, TABLE.columns)
    assert np.median(np.abs(off - 1.0)) < 0.03


def test_categorical_levels_multiply() -> None:
    frame = pd.concat(
        [runs(60).assign(precision=p, t=lambda d, f=f: d.t * f) for p, f in (("fp32", 1.0), ("fp16", 0.6))]
    )
    result = gp.fit(read(frame, categorical="precision"), draws=10)
    asked = {"layers": 8, "batch": 32, "workers": 4, "precision": ["fp32", "fp16"]}
    slow, fast = result.predict(asked).time
    assert fast / slow == pytest.approx(0.6, rel=0.05)


def test_few_configurations_leave_factors_out() -> None:
    few = TABLE.take(np.arange(5))
    result = gp.fit(few, draws=5)
    assert any("too few" in str(n) for n in result.notes)
    assert np.all(result.predict({"layers": 8, "batch": 32, "workers": 64}).time > 0.0)


def test_all_times_equal() -> None:
    result = gp.fit(read(runs().assign(t=1.0)), draws=5)
    found = result.predict({"layers": 8, "batch": 32, "workers": [8, 64]})
    assert np.allclose(found.time, 1.0, atol=0.05)


def test_nothing_varies() -> None:
    with pytest.raises(FitError, match="scale"):
        gp.fit(read(pd.DataFrame({"layers": [4.0], "batch": [8.0], "workers": [1.0], "t": [1.0]})))


def test_a_member_is_fitted_to_the_rows_that_count() -> None:
    expression = generic(TABLE.factors, Structure("product", 1))
    (chosen,) = candidates_of([expression], TABLE, FitOptions(lam=1e-4), 0, robust=True)
    counted = TABLE.columns["workers"] < 16
    one = fit_member(chosen, TABLE, counted, FitOptions(), 0)
    changed = read(runs().assign(t=lambda d: d.t.where(d.workers < 16, d.t * 1.01)))
    other = fit_member(chosen, changed, counted, FitOptions(), 0)
    # The held-out times enter through nothing but the scale of the penalty.
    assert np.allclose(one.constants, other.constants, atol=1e-4)
    assert np.all(one.problem.weights[~counted] == 0.0)


def test_options_reach_the_members() -> None:
    found = fit_factors(TABLE, FitOptions(structure="separable", lam=1e-3, draws=10), 0)
    assert [m.label for m in found.members] == ["generic, 2 terms"]
    assert found.options["lambda"] == "0.001"


def ring(noise: float = 0.02, seed: int = 0) -> pd.DataFrame:
    """Return steps of a ring: 2·β·M·(n − 1)/n + 2·α·(n − 1), next to nothing on one worker."""
    rng = np.random.default_rng(seed)
    grid = pd.MultiIndex.from_product([[1, 2, 3, 4, 6, 8], [1e6, 2e6, 4e6]], names=["workers", "bytes"])
    frame = grid.to_frame(index=False)
    traffic = 2 * 4e-8 * frame.bytes * (1 - 1 / frame.workers) + 2 * 4e-4 * (frame.workers - 1)
    return frame.assign(t=(0.001 + traffic) * np.exp(rng.normal(0.0, noise, len(frame))))


def test_a_family_that_knows_every_factor_takes_part_and_goes_farther_than_powers() -> None:
    found = gp.fit(gp.read_table(ring(), time="t", intrinsic="bytes", extrinsic="workers"), draws=50)
    assert "ring-allreduce" in {m.expression.family for m in found.members}
    assert any("ring-allreduce" in str(n) for n in found.notes)
    far = found.predict({"workers": [1, 64], "bytes": 2e6})
    truth = [0.001, 0.001 + 2 * 4e-8 * 2e6 * 63 / 64 + 2 * 4e-4 * 63]
    assert far["time"].to_numpy() == pytest.approx(truth, rel=0.15)
    assert ((far["lower"] <= truth) & (truth <= far["upper"])).all()


def test_no_family_takes_part_that_leaves_a_factor_out() -> None:
    more = ring().assign(layers=[2, 4, 8] * 6, kind=["a", "b"] * 9)
    for intrinsic, categorical in (("bytes,layers", ""), ("bytes", "kind")):
        table = gp.read_table(more, time="t", intrinsic=intrinsic, extrinsic="workers", categorical=categorical)
        assert literature(table.factors) == []
