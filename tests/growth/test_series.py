"""`auto` on a series: what it says of good and bad input, and the figures it must keep."""

import json

import numpy as np
import pandas as pd
import pytest
from helpers import Shell, cases_in_text
from msgspec.structs import replace
from numpy.testing import assert_allclose
from scipy.stats import multivariate_normal

import genperf as gp
from genperf.attribution import scaling
from genperf.errors import FitError
from genperf.growth import Counts, Draws, Layout, Posterior, bank, forecast, posterior_of
from genperf.growth.bank import LEAST_SLOPE, MEAN_SLOPE, SLOPE_SD, UNSEEN_DRAWN, UNSEEN_NETWORKS, prior
from genperf.growth.cluster import combined, shown
from genperf.growth.measured import MOST_CONFIGURATIONS, series_of
from genperf.result import FitResult

SCALES = np.array([1.0, 2.0, 4.0, 8.0, 16.0])


def table(seconds: object, scales: object = SCALES, **more: object) -> gp.Table:
    columns = {"workers": scales, "seconds": seconds, **more}
    extrinsic = [name for name in columns if name not in ("seconds", "run")]
    repeat = "run" if "run" in columns else None
    return gp.read_table(pd.DataFrame(columns), time="seconds", extrinsic=extrinsic, repeat=repeat)


def auto(measured: gp.Table, **options: object) -> FitResult:
    result = gp.fit(measured, **options)
    assert result.model == "auto"
    return result


def width(frame: pd.DataFrame) -> np.ndarray:
    return np.log(frame.upper / frame.lower).to_numpy()


# --- what is a series ---------------------------------------------------------------------------------------------


@cases_in_text("columns, roles, is_series")
def test_what_is_a_series(columns: dict[str, object], roles: dict[str, str], is_series: bool) -> None:
    measured = gp.read_table(pd.DataFrame({**columns, "s": [3.0, 2.0, 1.0]}), time="s", **roles)
    assert (series_of(measured, {}) is not None) == is_series


def test_many_configurations_are_no_series() -> None:
    count = MOST_CONFIGURATIONS
    batch = 8.0 + np.arange(count + 1)
    runs = pd.DataFrame({"workers": 2.0 ** (np.arange(count + 1) % 5), "batch": batch, "t": 0.01 * batch})
    table = gp.read_table(runs, time="t", extrinsic="workers", intrinsic="batch")
    assert series_of(table, {}) is None
    assert series_of(table.take(np.arange(count)), {}) is not None
    assert auto(table).options["approach"] == "process"


# --- known truths -------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    "truth",
    [
        lambda n: 0.3 + 0.0 * n,
        lambda n: 100 / n + 5,
        lambda n: 100 / n + 0.1 * n,
        lambda n: 100 / n,
        lambda n: 5 + 100 / n + 0.3 * np.log2(n) + 0.02 * n,
        lambda n: 0.3 + 0.02 * np.log2(n),
    ],
)
def test_exact_series_are_covered(truth: object) -> None:
    found = auto(table(truth(SCALES))).predict({"workers": 64})  # type: ignore[operator]
    expected = truth(np.array([64.0]))[0]  # type: ignore[operator]
    assert found.lower[0] <= expected <= found.upper[0]
    assert found.time[0] == pytest.approx(expected, rel=0.5)


def test_batches_that_change_along_thousands_of_devices() -> None:
    devices = np.array([8.0, 16, 32, 64, 128, 256])

    def batch(n: np.ndarray) -> np.ndarray:
        return np.where(n <= 64, n * 256, 64 * 256 * np.sqrt(n / 64))

    def truth(n: np.ndarray) -> np.ndarray:
        return batch(n) / n * 2e-3 + 0.08 + 0.02 * np.log2(n / 8)

    frame = pd.DataFrame({"devices": devices, "global_batch": batch(devices), "s": truth(devices)})
    result = auto(gp.read_table(frame, time="s", extrinsic="devices,global_batch"))
    asked = np.array([512.0, 1024, 4096])
    found = result.predict(pd.DataFrame({"devices": asked, "global_batch": batch(asked)}))
    assert np.all((found.lower <= truth(asked)) & (truth(asked) <= found.upper))
    assert np.abs(np.log(found.time / truth(asked))).max() < 0.15


def test_another_batch_than_the_measured_one_changes_the_time() -> None:
    frame = pd.DataFrame({"workers": SCALES, "batch": 32, "s": 1.0 + 0.01 * np.log2(SCALES)})
    result = auto(gp.read_table(frame, time="s", extrinsic="workers", intrinsic="batch"))
    found = result.predict({"workers": 16, "batch": [32, 64]})
    assert found.time[1] > 1.2 * found.time[0]
    assert width(found)[1] > width(found)[0]
    assert found.verdict[1] == "extrapolating-blind"


# --- bands ----------------------------------------------------------------------------------------------------------


NOISY = np.exp(0.2 * np.random.default_rng(0).standard_normal(5))
FAR = [16, 32, 64, 256, 4096, 10**6]
OK, BLIND = {"ok"}, {"extrapolating-blind"}
NOT_OK = {"caution", *BLIND}
ANY = NOT_OK | OK
#: A series: times, counts → the counts that are asked, and the verdicts that each may have.
SERIES = {
    "noise": (NOISY, SCALES, [32], [NOT_OK]),
    "a smooth series": (1 + 0.02 * np.log2(SCALES), SCALES, [32, 64, 1024], [OK, OK, BLIND]),
    "up and down": ([1.0, 1.6, 1.1, 1.5, 1.2], SCALES, [32], [NOT_OK]),
    "two scales": (1.0 + 1.0 / SCALES[:2], SCALES[:2], [64], [BLIND]),
    "three scales": (1.0 + 1.0 / SCALES[:3], SCALES[:3], [64], [BLIND]),
    "below the data": (1 + 8 / SCALES[2:], SCALES[2:], [2, 1], [ANY, NOT_OK]),
    "far": ([1.0, 1.1, 1.05, 1.3, 1.2], SCALES, FAR, [ANY] * 3 + [BLIND] * 3),
    "equal times": (np.ones(5), SCALES, [16, 32, 64], [ANY] * 3),
}


@pytest.mark.parametrize("name", SERIES)
def test_intervals_and_verdicts(name: str) -> None:
    times, counts, asked, verdicts = SERIES[name]
    found = auto(table(times, counts)).predict({"workers": asked})
    # The farther, the wider, and always above zero.
    assert np.all(np.diff(width(found)) > 0.0)
    assert np.all((found.lower > 0.0) & (found.lower <= found.time) & (found.time <= found.upper))
    assert all(verdict in allowed for verdict, allowed in zip(found.verdict, verdicts, strict=True))
    if name == "equal times":
        assert found.time.to_numpy() == pytest.approx(np.ones(3), rel=0.03)
    elif name == "up and down":
        assert found.lower[0] < 1.2 < found.upper[0]
    elif "scales" in name:
        assert width(found)[0] > 0.4


def test_strong_scaling_of_a_global_batch_and_of_a_throughput() -> None:
    found = auto(table(100 / SCALES + 1.0, global_batch=512)).predict({"workers": 32})
    assert found.time[0] == pytest.approx(100 / 32 + 1.0, rel=0.1)
    seconds = 0.5 + 8 / SCALES
    frame = pd.DataFrame({"workers": SCALES, "rate": 64 / seconds})
    given = auto(gp.read_table(frame, throughput="rate", work="64", extrinsic="workers")).predict({"workers": 32})
    # The time of a throughput is not that of a step: the overheads' sizes are those of a step of usual length.
    assert given.time[0] == pytest.approx(auto(table(seconds)).predict({"workers": 32}).time[0], rel=1e-2)
    with pytest.raises(FitError, match="auto"):
        gp.fit(table(seconds), fix={"a": 1.0})


# --- bad input ------------------------------------------------------------------------------------------------------


def test_an_outlier_among_repeats_is_named_and_does_not_pull() -> None:
    clean = np.repeat(1 + 8 / SCALES, 5) * np.tile([0.99, 0.995, 1.0, 1.005, 1.01], 5)
    spoilt = clean.copy()
    spoilt[14] *= 3.0
    runs = {"scales": np.repeat(SCALES, 5), "run": np.tile(range(5), 5)}
    with_it, without = auto(table(spoilt, **runs)), auto(table(clean, **runs))
    noted = [n.text for n in with_it.notes if n.kind == "outlier"]
    assert len(noted) == 1
    assert "workers=4" in noted[0]
    asked = {"workers": [16, 32]}
    assert with_it.predict(asked).time.to_numpy() == pytest.approx(without.predict(asked).time.to_numpy(), rel=0.02)


# --- series that are too short, out of order, of two clusters, or that turn: what the command line says of them ------

FIT = ["fit", "runs.csv", "--time", "t", "--extrinsic", "gpus,nodes", "-o", "model.json"]
COUNTS = [1, 2, 4, 8, 16]
NODES = [1, 1, 1, 2, 4]
TIMES = [0.9, 0.95, 1.0, 1.3, 1.4]


def fitted(shell: Shell, rows: pd.DataFrame) -> str:
    """Return what a fit prints, in one line."""
    rows.to_csv("runs.csv", index=False)
    status, out, errors = shell(*FIT)
    assert status == 0
    return (out + errors).replace("\n", " ")


def series(first: int = 0, last: int = 5) -> pd.DataFrame:
    rows = pd.DataFrame({"gpus": COUNTS, "nodes": NODES, "t": TIMES})
    return rows.iloc[first:last]


@pytest.mark.parametrize(("first", "verdict"), [(3, "extrapolating-blind"), (2, "caution")])
def test_two_and_three_scales_are_fitted_with_a_warning(first: int, verdict: str, shell: Shell) -> None:
    assert f"at twice the largest scale (gpus=32): {verdict}" in fitted(shell, series(first))


def test_two_clusters_along_one_series_are_named(shell: Shell) -> None:
    rows = series().assign(site=["old", "old", "old", "new", "new"])
    said = fitted(shell, rows)
    assert "'site' is old up to gpus=4 then new from 8" in said
    assert "--group site" in said
    assert "different machines" not in fitted(shell, rows.assign(site="old"))


def test_times_that_fall_then_rise_are_met_inside_and_rise_beyond(shell: Shell) -> None:
    rows = pd.DataFrame({"gpus": [1, 2, 4, 8, 16, 32], "nodes": [1, 1, 1, 2, 4, 8], "t": [10, 5.2, 3, 2.2, 2.6, 4.0]})
    fitted(shell, rows)
    _, far, _ = shell("predict", "model.json", "--at", "gpus=64", "--at", "nodes=16", "--json")
    (row,) = json.loads(far)["predictions"]
    # It rises on, and no faster than the workers.
    assert 4.0 < row["time"] < 8.0 < 1.5 * row["upper"]
    assert shell("predict", "model.json", "--data", "runs.csv", "-o", "back.csv")[0] == 0
    back = pd.read_csv("back.csv")
    assert back.time.to_numpy() == pytest.approx(rows.t.to_numpy(), rel=0.05)


def test_rows_in_any_order_are_one_series() -> None:
    """Four batches on four counts: work is relative to the largest batch of the largest count."""
    rows = pd.DataFrame({"gpus": [1, 2, 4, 8] * 4, "batch": np.repeat([8, 16, 32, 64], 4)})
    wander = 1.0 + 0.01 * np.sin(np.arange(16.0) ** 2)
    rows["t"] = (0.05 + 0.01 * rows.batch + 0.02 * np.log2(rows.gpus)) * wander
    answers = []
    for seed in (None, 3, 4):
        table = gp.read_table(rows.sample(frac=1.0, random_state=seed), time="t", extrinsic="gpus", intrinsic="batch")
        answers.append(gp.fit(table).predict({"gpus": [32], "batch": [128]})[["time", "lower", "upper"]].to_numpy())
    np.testing.assert_allclose(answers[1:], [answers[0]] * 2, rtol=1e-9)


# --- what a hint of the network changes in `auto`: the second node of a network that no run shows, and nothing else ---

HINTS = {"bandwidth": "100Gbit/s", "parameters": "25M"}


def runs(second: float | None = None) -> pd.DataFrame:
    """Return a series inside one node of eight, and perhaps its second node."""
    rows = [(1, 1, 0.300), (2, 1, 0.306), (4, 1, 0.312), (8, 1, 0.319)]
    return pd.DataFrame([*rows, *([(16, 2, second)] if second else [])], columns=["gpus", "nodes", "s"])


def upper(frame: pd.DataFrame, hints: dict[str, str] | None) -> float:
    result = gp.fit(frame, time="s", extrinsic="gpus,nodes", hints=hints)
    return float(result.predict({"gpus": 16, "nodes": 2})["upper"].iloc[0])


def test_a_fast_link_narrows_the_second_node_and_a_slow_one_moves_it() -> None:
    without, fast = upper(runs(), None), upper(runs(), HINTS)
    slow = upper(runs(), {**HINTS, "bandwidth": "1Gbit/s"})
    # Without a hint it ends at 0.49 s: the prior of 26 sources leaves a fast link little to say.
    assert 0.319 < fast < 0.97 * without
    assert slow > 10.0 * without


def test_a_published_network_has_its_parameters() -> None:
    assert upper(runs(), {**HINTS, "parameters": "gpt2-xl"}) == upper(runs(), {**HINTS, "parameters": "1.558B"})


def test_measured_nodes_win_over_the_hint() -> None:
    measured = pd.concat([runs(0.9), pd.DataFrame({"gpus": [32, 64], "nodes": [4, 8], "s": [0.95, 0.99]})])
    told, untold = (
        gp.fit(measured, time="s", extrinsic="gpus,nodes", hints=hints)
        for hints in ({**HINTS, "bandwidth": "400Gbit/s"}, None)
    )
    asked = pd.DataFrame({"gpus": [16, 128], "nodes": [2, 16]})
    assert told.predict(asked).equals(untold.predict(asked))
    assert [n.kind for n in told.notes if n.kind.startswith("hint")] == ["hint_contradicted"]


@pytest.mark.parametrize(
    ("frame", "roles", "hints", "text"),
    [
        (runs(), {}, HINTS, "rests on the hint"),
        (runs(0.33), {}, HINTS, "agree with the hint within a factor of 3: it changes nothing"),
        (runs(), {}, {"bandwidth": "100Gbit/s"}, "how many bytes a step exchanges is not known"),
        (runs(), {"extrinsic": "gpus"}, HINTS, "does not tell nodes from workers"),
        (runs(), {"time": None, "throughput": "s"}, HINTS, "the time of one step is not known"),
    ],
)
def test_notes(frame: pd.DataFrame, roles: dict[str, str], hints: dict[str, str], text: str) -> None:
    result = gp.fit(frame, hints=hints, **{"time": "s", "extrinsic": "gpus,nodes", **roles})
    notes = [n.text for n in result.notes if n.kind.startswith("hint")]
    assert len(notes) == 1
    assert text in notes[0]


# --- the bank of curves is its prior, its posterior is that of a Gaussian process, and a table knows its cluster -----

N = np.array([1.0, 2.0, 4.0, 8.0])
INSIDE = Counts(N, np.ones(4), np.ones(4))
BEYOND = Counts(2.0 * N, N, np.ones(4))


def posterior(times: list[float], counts: Counts = INSIDE, variance: float = 0.0) -> Posterior:
    return posterior_of(counts, np.log(times), np.full(len(times), variance))


def test_bank_is_its_prior():
    drawn = bank()
    arises = prior().class_share @ prior().present
    assert_allclose(drawn.present.mean(axis=0), arises, atol=0.02)
    plain = drawn.present[:, 0]
    assert_allclose(np.median(drawn.sizes[plain, 0]), prior().median[0], rtol=0.05)
    assert_allclose(drawn.unseen.mean(), UNSEEN_DRAWN, atol=0.01)
    weights = np.exp(drawn.logarithms) / len(drawn.unseen)
    assert_allclose([weights.sum(), weights[drawn.unseen].sum()], [1.0, UNSEEN_NETWORKS], atol=0.01)
    assert (drawn.sizes >= 0.0).all()
    # The same each time.
    assert drawn is bank()
    bank.cache_clear()
    assert_allclose(bank().sizes, drawn.sizes, rtol=0.0)


def test_overheads_by_hand():
    # Sixteen workers on two nodes, eight each.
    known, exponents = prior(), np.array([1.0, 2.0])
    found = {o.name: known.values(place, 16.0, 2.0, exponents) for place, o in enumerate(known.overheads)}
    assert found["one after another"].tolist() == [1 / 8, 1 / 64]
    # Eight workers of a node, the first one or two without contention.
    assert_allclose(found["contention"], [7.0, 6.0])
    # Limits of eight and of thirty-two workers, which count from the second node on.
    assert known.values(8, 16.0, 2.0, np.array([8.0, 32.0])).tolist() == [1.0, 0.0]
    assert float(known.values(8, 16.0, 1.0, 8.0)) == 0.0
    del found["one after another"], found["saturation"], found["contention"]
    assert [float(v) for v in found.values()] == [0.875, 4.0, 1.0, 0.5, 1.0, 0.5, 1.0]


def test_densities_and_forecasts_are_those_of_a_gaussian_process():
    variances = np.array([0.01, 0.0, 0.02, 0.005])
    layout = Layout(INSIDE, variances)
    y = np.log([1.0, 1.2, 1.3, 1.9])
    found = np.log(layout.weights(y)[0]) - bank().logarithms
    there, vague = Counts(np.array([16.0, 64.0]), np.array([2.0, 8.0]), np.ones(2)), 1e4
    x, z, curves = np.log2(N), np.array([4.0, 6.0]), np.arange(16)
    noise = prior().noise
    for w, step in enumerate(prior().walk_step):
        whole = step**2 * np.minimum.outer(x, x) + np.diag((step * noise) ** 2 + variances) + vague
        density = [multivariate_normal.logpdf(y - curve, cov=whole) for curve in layout.curves[:, :16].T]
        # A flat level and one of a large variance differ by a constant.
        assert_allclose(np.diff(found[w, :16]), np.diff(density), rtol=1e-5, atol=1e-5)
        across = step**2 * np.minimum.outer(z, x) + vague
        gain = np.linalg.solve(whole, across.T).T
        one = Posterior(y, layout, np.ones((4, layout.curves.shape[1])), 0.0)
        mean, _, variance = Draws(one, np.full(16, w), curves).forecast(there)
        expected = layout.logarithms(there, curves) + gain @ (y[:, None] - layout.curves[:, :16])
        slope = max(SLOPE_SD * step, LEAST_SLOPE) * np.array([1.0, 3.0])
        assert_allclose(mean, expected.T + MEAN_SLOPE * slope, rtol=1e-4, atol=1e-4)
        left = np.diag(step**2 * np.minimum.outer(z, z) + vague - gain @ across.T)
        assert_allclose(variance[0], left + slope**2 + (step * noise) ** 2, rtol=1e-4, atol=1e-6)


def test_devices_that_are_known_to_be_apart_may_saturate_their_link() -> None:
    # The same times, of one device a node and of eight.
    runs = pd.DataFrame({"workers": [1, 2, 4, 8], "nodes": [1, 2, 4, 8], "step_time_s": [1.0, 1.02, 1.05, 1.07]})
    there = pd.DataFrame({"workers": [16, 32], "nodes": [16, 32]})
    answers = []
    for each in (1, 8):
        measured = gp.read_table(
            runs.assign(workers=each * runs.workers), time="step_time_s", extrinsic=["workers", "nodes"]
        )
        answers.append(auto(measured).predict(there.assign(workers=each * there.workers), interval=0.9))
    apart, packed = answers
    assert (width(apart) > 1.5 * width(packed)).all()
    assert (apart["time"] > packed["time"]).all()
    assert (apart["upper"] > 1.1 * packed["upper"]).all()


def test_an_unseen_network_widens_upwards_only():
    flat = posterior([1.0, 1.0, 1.0, 1.0])
    inside = forecast([flat.draws()], [1.0], [Counts(np.array([16.0]), np.array([1.0]), np.ones(1))]).interval()
    beyond = forecast([flat.draws()], [1.0], [Counts(np.array([16.0]), np.array([2.0]), np.ones(1))]).interval()
    # Of 14 % of the networks nothing is known. Of 40 %, as once, the upper end was above 1.5.
    assert beyond[2][0] > 1.4 * inside[2][0]
    assert beyond[1][0] > 0.8 * inside[1][0]


def test_a_table_knows_its_cluster():
    # Nineteen programs take a tenth longer on the second node; one never left its node.
    slow = [posterior([1.0, 1.1 + 0.001 * k, 1.12, 1.13], BEYOND) for k in range(19)]
    lone = posterior([1.0, 1.01, 1.02, 1.03])
    far = Counts(np.array([16.0]), np.array([2.0]), np.ones(1))
    alone = forecast([lone.draws()], [1.0], [far]).interval()
    known = combined([shown(each.weights, beyond=True) for each in slow])
    shared = forecast([replace(lone, tilt=known.tilt).draws()], [1.0], [far]).interval()
    assert shared[2][0] < alone[2][0]
    assert 1.05 < shared[0][0] < 1.25
    assert combined([]) is None


@pytest.mark.parametrize(
    ("column", "unit", "law"),
    [
        ("accuracy", "%", lambda n: 76.1 - 0.1 * np.log2(n)),
        ("accuracy", "", lambda n: 0.761 - 0.001 * np.log2(n)),
        ("gpu_util", "%", lambda n: 100.0 / (1.02 + 0.05 * np.log2(n))),
        ("memory", "GB", lambda n: 24.0 + 36.0 / n),
        ("memory", "GB", lambda n: 24.0 + 1.5 * np.log2(n)),
    ],
    ids=["accuracy", "its share", "utilization", "memory that falls", "memory that grows"],
)
def test_what_overheads_may_lower_is_forecast_as_its_runs_turn(column, unit, law):
    frame = pd.DataFrame({"workers": SCALES[:4]}).assign(**{column: lambda d: law(d.workers)})
    result = gp.fit(frame, quantity=f"{column}:{unit}".strip(":"), extrinsic="workers")
    there = result.predict({"workers": [16, 32]})
    truth = law(np.array([16.0, 32.0]))
    # An accuracy of 75.8 at 8 was forecast as 78.6, and at most as 113 %.
    assert_allclose(there[column], truth, rtol=0.1)
    assert np.all((there.lower <= truth) & (truth <= there.upper))
    if column == "accuracy":
        assert np.all(there[column] < frame[column].iloc[-1])
        # No network joins what was learned: with that of an unseen one it was 49 to 100 % at 32.
        assert np.all((there.upper - there.lower) / truth < 0.25)
    assert result.schema.ceiling == {"%": 100.0, "": 1.0}.get(unit, np.inf)
    assert there.upper.max() <= result.schema.ceiling
    assert scaling(result, {"workers": 8}, upto=4096).curve.upper.max() <= result.schema.ceiling


def test_a_percentage_that_exceeds_100_has_no_ceiling():
    frame = pd.DataFrame({"workers": SCALES, "cpu_util": [90.0, 170.0, 330.0, 640.0, 1250.0]})
    result = gp.fit(frame, quantity="cpu_util:%", extrinsic="workers")
    assert result.schema.ceiling == np.inf
    assert result.predict({"workers": [32]})["cpu_util"].iloc[0] > 1500.0


@pytest.mark.parametrize("more", [{}, {"nodes": SCALES}, {"batch": np.full(5, 32.0)}], ids=["", "nodes", "batch"])
def test_a_power_of_all_workers_grows_with_them(more):
    # 345 W each: 5,520 W at 16 were forecast as 4,670 at 64 where the nodes are known.
    watts = 360 * SCALES - 8 * SCALES * np.log2(SCALES)
    frame = pd.DataFrame({"workers": SCALES, "power": watts, **more})
    result = gp.fit(frame, quantity="power:W", extrinsic=["workers", *more])
    here = {name: values[-1] for name, values in more.items()}
    row = result.predict({**here, "workers": 64, **({"nodes": 64} if "nodes" in more else {})}).iloc[0]
    truth = 360 * 64 - 8 * 64 * 6
    assert row["power"] == pytest.approx(truth, rel=0.1)
    assert row.lower < truth < row.upper


def test_a_memory_that_falls_is_none_of_all_workers_together():
    # States that are sharded beside what each keeps: 110 + 380/n.
    frame = pd.DataFrame({"world_size": [1, 2, 4], "batch": [2, 2, 2], "memory_mb": [490.0, 302.0, 204.0]})
    result = gp.fit(frame, quantity="memory_mb:MB", extrinsic="world_size", intrinsic="batch")
    row = result.predict({"world_size": 8, "batch": 2}).iloc[0]
    assert row["memory_mb"] == pytest.approx(157.5, rel=0.08)
    assert row.upper < 320.0
    assert not any("work of all" in member.label for member in result.members)
