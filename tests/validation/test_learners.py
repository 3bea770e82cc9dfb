"""Learners, last point, and the splits of a table."""

import numpy as np
import pandas as pd
import pytest
from helpers import cases_in_text, runs_of
from hypothesis import given
from hypothesis import strategies as st
from msgspec.structs import replace

from genperf.errors import FitError, TableError
from genperf.panel import Table, read_table
from genperf.panel.panel import Target
from genperf.validation import LEARNERS, SCHEMES, split
from genperf.validation.learners import half_width, last_point, read

FITTED = [name for name in LEARNERS if name != "last-point"]


def power_law(noise: float = 0.0, **roles: str) -> tuple[pd.DataFrame, Table]:
    """T = 0.01·b^0.5·n^−0.25, times 2 for framework b."""
    levels = {"framework": ("a", "b"), "b": (8, 16, 32, 64), "n": (1, 2, 4, 8, 16)}
    law = lambda f: 0.01 * f.b**0.5 * f.n**-0.25 * np.where(f.framework == "b", 2.0, 1.0)  # noqa: E731
    frame = runs_of(law, levels, column="t", noise=noise, seed=1)
    table = read_table(frame, time="t", intrinsic="b", extrinsic="n", categorical="framework", **roles)
    return frame.loc[table.frame.index].reset_index(drop=True), table


@pytest.mark.parametrize("name", FITTED)
@pytest.mark.usefixtures("all_trees_and_draws")
def test_a_smooth_law_is_learned(name: str) -> None:
    frame, table = power_law()
    keep = np.arange(len(frame)) % 7 != 3
    forecast = LEARNERS[name](table.take(keep), frame[~keep], 0.9, 0)
    error = np.abs(forecast.predicted / frame.t[~keep] - 1)
    assert error.mean() < {"linear": 1e-9, "gaussian-process": 0.02, "svr": 0.06}.get(name, 0.15)


@pytest.mark.parametrize("name", list(LEARNERS))
def test_bounds_hold_the_time_and_widen_with_the_interval(name: str) -> None:
    frame, table = power_law(noise=0.1)
    keep = np.arange(len(frame)) % 7 != 3
    narrow, wide, again = (LEARNERS[name](table.take(keep), frame[~keep], i, 0) for i in (0.5, 0.9, 0.9))
    assert np.array_equal(narrow.predicted, wide.predicted)
    # The same seed gives the same answer.
    assert all(np.array_equal(a, b) for a, b in zip(wide, again, strict=True))
    assert (narrow.upper - narrow.lower < wide.upper - wide.lower).all()
    assert ((wide.lower > 0) & (wide.lower <= wide.predicted) & (wide.predicted <= wide.upper)).all()
    # A single configuration predicts itself.
    assert LEARNERS[name](table.take([0]), frame.iloc[[0]], 0.9, 0).predicted == pytest.approx(frame.t[:1])


@pytest.mark.parametrize("name", FITTED)
def test_a_value_that_has_no_logarithm_is_left_unpredicted(name: str) -> None:
    frame, table = power_law()
    asked = frame.iloc[[0, 1]].assign(n=[0.0, 2.0])
    forecast = LEARNERS[name](table, asked, 0.9, 0)
    assert np.isnan([forecast.predicted[0], forecast.lower[0], forecast.upper[0]]).all()
    assert np.isfinite(forecast.predicted[1])
    assert np.isnan(LEARNERS[name](table, asked.iloc[[0]], 0.9, 0).predicted).all()


def test_as_many_coefficients_as_configurations_give_no_interval_and_more_are_refused() -> None:
    frame = pd.DataFrame({"n": [1, 2], "b": [8, 16], "t": [1.0, 2.0]})
    exact = LEARNERS["linear"](read_table(frame, time="t", extrinsic="n"), pd.DataFrame({"n": [4]}), 0.9, 0)
    assert exact.predicted == pytest.approx([4.0])
    assert np.isnan(exact.lower).all()
    with pytest.raises(FitError, match="3 coefficients, and there are 2 configurations"):
        LEARNERS["linear"](read_table(frame, time="t", extrinsic="n,b"), frame, 0.9, 0)


@cases_in_text("values, asked, expected")
def test_a_factor_is_read_as_logarithms_where_there_are(
    values: list[float], asked: list[float], expected: list[float]
) -> None:
    table = read_table(pd.DataFrame({"x": values, "t": 1.0}), time="t", extrinsic="x")
    assert read(table.factor("x"), {"x": asked}) == pytest.approx(expected)


@pytest.mark.parametrize(
    ("count", "interval", "expected"),
    [(9, 0.9, 9.0), (8, 0.9, np.nan), (99, 0.9, 90.0), (4, 0.5, 3.0), (0, 0.5, np.nan)],
)
def test_half_width_is_the_conformal_rank(count: int, interval: float, expected: float) -> None:
    residuals = np.arange(1.0, count + 1) * np.where(np.arange(count) % 2, -1, 1)
    assert half_width(residuals, interval) == pytest.approx(expected, nan_ok=True)


def series(**columns: list[float]) -> Table:
    intrinsic = [c for c in columns if c not in ("t", "workers", "nodes", "framework")]
    extrinsic = [c for c in columns if c in ("workers", "nodes")]
    categorical = [c for c in columns if c == "framework"]
    return read_table(
        pd.DataFrame(columns), time="t", intrinsic=intrinsic, extrinsic=extrinsic, categorical=categorical
    )


def predict(table: Table, interval: float = 0.9, **data: list[object]) -> list[float]:
    return last_point(table, pd.DataFrame(data), interval, 0).predicted.round(9).tolist()


GROWING = {"workers": [1, 2, 4, 8], "t": [1.0, 1.1, 1.4, 2.0]}
CASES = [
    # A series stays as it was at its largest scale.
    ({"workers": [8, 1, 2, 4], "t": [1.5, 1.0, 1.1, 1.3]}, {"workers": [16, 64, 4096]}, [1.5, 1.5, 1.5]),
    # Time per sample at the largest scale (8 workers, 32 samples, 2 s) is kept.
    ({**GROWING, "batch": [32.0] * 4}, {"workers": [16] * 3, "batch": [16.0, 32.0, 64.0]}, [1.0, 2.0, 4.0]),
    (
        {**GROWING, "batch_per_device": [32.0] * 4},
        {"workers": [16] * 3, "batch_per_device": [16.0, 32.0, 64.0]},
        [1.0, 2.0, 4.0],
    ),
    # 8 · 32 = 256 samples at 8 workers are 16 a worker at 16 workers.
    (
        {**GROWING, "global_batch": [32.0, 64.0, 128.0, 256.0]},
        {"workers": [16] * 2, "global_batch": [256.0, 512.0]},
        [1.0, 2.0],
    ),
    ({**GROWING, "layers": [32.0] * 4}, {"workers": [16] * 2, "layers": [16.0, 64.0]}, [2.0, 2.0]),
    # A batch of zero changes nothing.
    ({"workers": [1, 2], "batch": [0, 0], "t": [1.0, 2.0]}, {"workers": [4], "batch": [8]}, [2.0]),
    # The program comes before the scale, and the kind before both.
    (
        {"framework": ["a", "a", "b"], "layers": [2, 4, 4], "workers": [8, 1, 8], "t": [1.0, 2.0, 3.0]},
        {"framework": ["a", "a", "b"], "layers": [4, 2, 2], "workers": [8, 1, 1]},
        [2.0, 1.0, 3.0],
    ),
    # Of two scales equally far the larger is taken.
    ({"workers": [4, 16], "t": [0.4, 1.6]}, {"workers": [8]}, [1.6]),
    ({"workers": [16, 4], "t": [1.6, 0.4]}, {"workers": [8]}, [1.6]),
    # Zeros have a distance.
    (
        {"workers": [1, 1, 1], "servers": [0, 1, 4], "t": [1.0, 2.0, 3.0]},
        {"workers": [1, 1, 1], "servers": [0, 2, 100]},
        [1.0, 2.0, 3.0],
    ),
]


@pytest.mark.parametrize(("runs", "asked", "expected"), CASES)
def test_the_last_point(runs: dict[str, list], asked: dict[str, list], expected: list[float]) -> None:
    assert predict(series(**runs), **asked) == expected


def test_only_a_time_is_proportional_to_the_batch_also_to_a_mapped_one() -> None:
    table = series(workers=[1, 2], images=[32, 32], t=[1.0, 2.0])
    mapped = table.mapped({"batch": "images"})
    memory = replace(mapped, target=Target("t", "memory", "GB"))
    assert [predict(each, workers=[4], images=[16]) for each in (table, mapped, memory)] == [[2.0], [1.0], [2.0]]


# ---  ----------------------------------------------------------------------------------------------------------------

WORKERS = (1, 2, 4, 8)


def runs(repeats: int = 3, networks: tuple[str, ...] = ("a", "b", "c")) -> pd.DataFrame:
    """Repeats first, so that those of a configuration are far apart in the file."""
    return pd.DataFrame(
        [
            {"network": n, "workers": w, "repeat": r, "rack": "one" if w <= 2 else "two", "t": 1.0 + w + r / 10}
            for r in range(repeats)
            for n in networks
            for w in WORKERS
        ]
    )


def table(frame: pd.DataFrame | None = None, **roles: str) -> Table:
    roles = {"categorical": "network", **roles}
    return read_table(runs() if frame is None else frame, time="t", extrinsic="workers", repeat="repeat", **roles)


NETWORKS = ["network = a", "network = b", "network = c"]
#: A scheme of each kind, and the names of its folds over 12 configurations.
EVERY = {
    "kfold:2": ["1", "2"],
    "kfold:12": [str(i) for i in range(1, 13)],
    "leave-one-out": [str(i) for i in range(1, 13)],
    "leave-group-out:network": NETWORKS,
    "leave-group-out:workers": ["workers = 1", "workers = 2", "workers = 4", "workers = 8"],
    # In no role.
    "leave-group-out:rack": ["rack = one", "rack = two"],
    "extrapolate:workers": ["workers > 4"],
    "extrapolate:workers:2": ["workers > 2"],
}


def assert_apart(t: Table, scheme: str, seed: int = 0) -> None:
    for fold in split(t, scheme, seed):
        train, test = set(t.configuration[fold.train]), set(t.configuration[fold.test])
        assert train
        assert test
        assert not train & test


@pytest.mark.parametrize(
    ("scheme", "grouped"),
    [(scheme, grouped) for scheme in EVERY for grouped in (False, True) if not grouped or "network" not in scheme],
)
def test_no_configuration_is_on_both_sides_and_every_row_is_held_out_once(scheme: str, grouped: bool) -> None:
    t = table(group="network") if grouped else table()
    assert_apart(t, scheme)
    folds = split(t, scheme)
    names = ["largest workers"] if grouped and scheme == "extrapolate:workers" else EVERY[scheme]
    assert [f.name for f in folds] == names
    held = sum(f.test.astype(int) for f in folds)
    if scheme.startswith("extrapolate"):
        limit = float(EVERY[scheme][0].split()[-1])
        assert held.tolist() == (t.frame["workers"] > limit).astype(int).tolist()
    else:
        assert held.tolist() == [1] * len(t)
    assert all(np.array_equal(f.train, ~f.test) for f in folds)
    assert {scheme.split(":")[0] for scheme in EVERY} == {scheme.split(":")[0] for scheme in SCHEMES}


@given(st.lists(st.integers(0, 4), min_size=2, max_size=30), st.integers(0, 5))
def test_repeats_stay_together_however_they_are_spread(values: list[int], seed: int) -> None:
    frame = pd.DataFrame({"n": [1 + v for v in values], "t": np.arange(1.0, len(values) + 1)})
    t = read_table(frame, time="t", extrinsic="n")
    if len(set(values)) > 1:
        for scheme in ("kfold:2", "leave-one-out", "extrapolate:n", "leave-group-out:n"):
            assert_apart(t, scheme, seed)


def test_extrapolate_takes_the_largest_of_each_group() -> None:
    frame = runs().query("not (network == 'a' and workers > 2) and not (network == 'b' and workers > 1)")
    t = table(frame, group="network")
    (fold,) = split(t, "extrapolate:workers")
    held_out = t.frame[fold.test].groupby("network")["workers"].unique().map(list).to_dict()
    assert held_out == {"a": [2.0], "c": [8.0]}
    assert fold.train[(t.frame["network"] == "b").to_numpy()].all()  # one value: nothing to predict
    # A column with a colon is found.
    t = read_table(runs().rename(columns={"workers": "count:8"}), time="t", extrinsic="count:8", categorical="network")
    assert [split(t, f"extrapolate:count:8{limit}")[0].name for limit in (":2", "")] == ["count:8 > 2", "count:8 > 4"]


@cases_in_text("rows, scheme, message")
def test_one_value_leaves_nothing_to_predict(rows: str, scheme: str, message: str) -> None:
    with pytest.raises(TableError, match=message):
        split(table(runs().query(rows)), scheme)


def test_a_column_of_groups_leaves_no_group_out() -> None:
    with pytest.raises(TableError, match=r"each network has a model of its own(.|\n)*--categorical network in place"):
        split(table(runs(), group="network"), "leave-group-out:network")
