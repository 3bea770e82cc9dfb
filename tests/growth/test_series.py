"""`auto` on a series: what it says of good and bad input, and the figures it must keep."""

import numpy as np
import pandas as pd
import pytest

import genperf as gp
from genperf.errors import FitError
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


@pytest.mark.parametrize(
    ("columns", "roles", "is_series"),
    [
        ({"workers": [1, 2, 4]}, {"extrinsic": "workers"}, True),
        ({"cores": [1, 2, 4]}, {"extrinsic": "cores"}, True),
        ({"gpus": [8, 16, 32], "hosts": [1, 2, 4]}, {"extrinsic": "gpus,hosts"}, True),
        ({"gpus": [8, 16, 32], "global_batch": [256, 256, 512]}, {"extrinsic": "gpus,global_batch"}, True),
        ({"gpus": [8, 16, 32], "layers": [2, 2, 2]}, {"extrinsic": "gpus", "intrinsic": "layers"}, True),
        ({"gpus": [8, 16, 32], "layers": [2, 4, 2]}, {"extrinsic": "gpus", "intrinsic": "layers"}, False),
        ({"gpus": [8, 16, 32], "precision": list("aba")}, {"extrinsic": "gpus", "categorical": "precision"}, False),
        ({"gpus": [8, 8, 8], "batch": [1, 2, 4]}, {"extrinsic": "gpus,batch"}, False),
        ({"layers": [1, 2, 4]}, {"intrinsic": "layers"}, False),
    ],
)
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
