from dataclasses import replace

import numpy as np
import pandas as pd
import pytest

from genperf.panel import Table, read_table
from genperf.panel.target import Target
from genperf.validation.learners import last_point


def series(**columns: list[float]) -> Table:
    intrinsic = [c for c in columns if c not in ("t", "workers", "nodes", "framework")]
    extrinsic = [c for c in columns if c in ("workers", "nodes")]
    categorical = [c for c in columns if c == "framework"]
    return read_table(
        pd.DataFrame(columns), time="t", intrinsic=intrinsic, extrinsic=extrinsic, categorical=categorical
    )


def predict(table: Table, interval: float = 0.9, **data: list[object]) -> list[float]:
    return last_point(table, pd.DataFrame(data), interval, 0).predicted.round(9).tolist()


def test_a_series_stays_as_it_was_at_its_largest_scale() -> None:
    table = series(workers=[8, 1, 2, 4], t=[1.5, 1.0, 1.1, 1.3])
    assert predict(table, workers=[16, 64, 4096]) == [1.5, 1.5, 1.5]


CASES = [
    # Time per sample at the largest scale (8 workers, 32 samples, 2 s) is kept.
    ("batch", [16.0, 32.0, 64.0], [1.0, 2.0, 4.0]),
    ("batch_per_device", [16.0, 32.0, 64.0], [1.0, 2.0, 4.0]),
    # 8 · 32 = 256 samples at 8 workers are 16 a worker at 16 workers.
    ("global_batch", [256.0, 512.0], [1.0, 2.0]),
    ("layers", [16.0, 64.0], [2.0, 2.0]),
]


@pytest.mark.parametrize(("name", "asked", "expected"), CASES)
def test_the_time_per_sample_is_kept(name: str, asked: list[float], expected: list[float]) -> None:
    each = [32.0 * w for w in (1, 2, 4, 8)] if name == "global_batch" else [32.0] * 4
    table = series(**{"workers": [1, 2, 4, 8], name: each, "t": [1.0, 1.1, 1.4, 2.0]})
    assert predict(table, workers=[16] * len(asked), **{name: asked}) == expected


@pytest.mark.parametrize("role", ["intrinsic", "extrinsic"])
def test_the_largest_scale_comes_before_the_batch(role: str) -> None:
    # In logarithms (1, 256) is nearer to (1024, 256) than (2, 0.25) is, but it is not the largest scale.
    frame = pd.DataFrame({"workers": [1, 2], "batch": [256, 0.25], "t": [3.0, 1.0]})
    roles = {"extrinsic": ["workers"], "intrinsic": []}
    roles[role] = [*roles[role], "batch"]
    table = read_table(frame, time="t", **roles)
    assert predict(table, workers=[1024], batch=[256]) == [1024.0]


def test_a_mapped_batch_is_the_batch() -> None:
    table = series(workers=[1, 2], images=[32, 32], t=[1.0, 2.0])
    data = pd.DataFrame({"workers": [4], "images": [16]})
    assert last_point(table.mapped({"batch": "images"}), data, 0.9, 0).predicted.tolist() == [1.0]
    assert last_point(table, data, 0.9, 0).predicted.tolist() == [2.0]


def test_only_a_time_is_proportional_to_the_batch() -> None:
    table = series(workers=[1, 2], batch=[32, 32], t=[1.0, 2.0])
    memory = replace(table, target=Target("t", "memory", "GB"))
    assert predict(table, workers=[4], batch=[16]) == [1.0]
    assert predict(memory, workers=[4], batch=[16]) == [2.0]


def test_the_program_comes_before_the_scale_and_the_kind_before_both() -> None:
    table = series(framework=["a", "a", "b"], layers=[2, 4, 4], workers=[8, 1, 8], t=[1.0, 2.0, 3.0])
    assert predict(table, framework=["a", "a", "b"], layers=[4, 2, 2], workers=[8, 1, 1]) == [2.0, 1.0, 3.0]


def test_of_two_scales_equally_far_the_larger_is_taken() -> None:
    for order in ([4, 16], [16, 4]):
        assert predict(series(workers=order, t=[w / 10 for w in order]), workers=[8]) == [1.6]


def test_zeros_have_a_distance() -> None:
    table = series(workers=[1, 1, 1], servers=[0, 1, 4], t=[1.0, 2.0, 3.0])
    assert predict(table, workers=[1, 1, 1], servers=[0, 2, 100]) == [1.0, 2.0, 3.0]


def test_a_batch_of_zero_changes_nothing() -> None:
    table = series(workers=[1, 2], batch=[0, 0], t=[1.0, 2.0])
    assert predict(table, workers=[4], batch=[8]) == [2.0]


def test_the_interval_is_that_of_the_other_configurations() -> None:
    # Each of ten from its nearest neighbour: the ratio is 2, so 90 % (rank ⌈11·0.9⌉ = 10 of 10) is a factor of 2.
    table = series(workers=[2.0**i for i in range(10)], t=[2.0**i for i in range(10)])
    forecast = last_point(table, pd.DataFrame({"workers": [2.0**10]}), 0.9, 0)
    assert (forecast.lower[0], forecast.predicted[0], forecast.upper[0]) == pytest.approx((256.0, 512.0, 1024.0))


def test_too_few_configurations_give_no_interval() -> None:
    for count in (1, 3):
        table = series(workers=[2.0**i for i in range(count)], t=[1.0] * count)
        forecast = last_point(table, pd.DataFrame({"workers": [32.0]}), 0.9, 0)
        assert np.isnan([forecast.lower[0], forecast.upper[0]]).all()
        assert forecast.predicted[0] == 1.0


def test_blocks_change_nothing() -> None:
    rng = np.random.default_rng(0)
    n = np.exp(rng.normal(size=700))
    table = series(workers=n.tolist(), t=(1 + n).tolist())
    asked = np.exp(rng.normal(size=600))
    nearest = np.abs(np.log(asked)[:, None] - np.log(n)[None, :]).argmin(axis=1)
    assert predict(table, workers=asked.tolist()) == pytest.approx((1 + n)[nearest])
