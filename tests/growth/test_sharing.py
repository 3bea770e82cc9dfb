"""Series that were measured less far learn from similar ones how they grow."""

import numpy as np
import pandas as pd
import pytest
from numpy.testing import assert_allclose
from scipy.optimize import check_grad

import genperf as gp
from genperf.discrepancy import KernelAxis, Product
from genperf.discrepancy.sizes import _Density
from genperf.fitting import fit_prepared, prepared_auto
from genperf.fitting.auto import could_name
from genperf.growth.alike import CHANGES, Change, StandardisedNumber
from genperf.growth.sharing import FEWEST_DONORS, table_shares
from genperf.panel import Table
from genperf.result import GroupedResult, dump_model, parse_model

SCALES = (1, 2, 4, 8, 16, 32)
#: What a doubling adds in seconds, by framework.
GROWTH = {"tf": 0.010, "mx": 0.030, "pt": 0.060}


def runs(groups: int = 12, short: dict[int, int] | None = None, noise: float = 0.0, seed: int = 0) -> pd.DataFrame:
    """Groups whose times grow by their framework's seconds per doubling; `short` says which end where."""
    rng = np.random.default_rng(seed)
    rows = [
        (f"net{k:02d}", list(GROWTH)[k % 3], n, 0.2 + 0.05 * (k % 5) + list(GROWTH.values())[k % 3] * np.log2(n))
        for k in range(groups)
        for n in SCALES
        if n <= (short or {}).get(k, 99)
    ]
    frame = pd.DataFrame(rows, columns=["net", "framework", "workers", "seconds"])
    return frame.assign(seconds=frame.seconds * np.exp(noise * rng.standard_normal(len(frame))))


def table_of(frame: pd.DataFrame, **roles: str) -> Table:
    asked = {"extrinsic": "workers", "group": "net", "categorical": "framework", **roles}
    return gp.read_table(frame, time="seconds", **asked)


def fitted(frame: pd.DataFrame, **roles: str) -> GroupedResult:
    return gp.fit(table_of(frame, **roles), pool=True)


def test_the_gradient_is_that_of_differences() -> None:
    rng = np.random.default_rng(0)
    x = [*rng.integers(0, 3, (2, 15)), *rng.standard_normal((2, 15))]
    axes = [KernelAxis("name", "level", 0.0, 0.1)] * 2 + [StandardisedNumber("number", "ln", 0.0, 0.1)] * 2
    density = _Density(Product(tuple(axes), 0.7, 0.5), x, x[0] + 0.1 * x[2], np.ones(15), 0.3, ())
    for at in (density.median, density.median + 0.3):
        value, gradient = density(at)
        error = check_grad(lambda theta: density(theta)[0], lambda theta: density(theta)[1], at)
        assert error < 1e-4 * (1.0 + np.abs(gradient).max() + abs(value))


@pytest.mark.parametrize("change", CHANGES)
def test_a_change_added_is_the_second_time(change: Change):
    first, second = np.array([0.1, 1.0, 5.0, 2.0]), np.array([0.11, 0.7, 40.0, 2.0])
    assert_allclose(change.onto(first, change.of(first, second)), second)


def test_the_growth_of_similar_series_is_found() -> None:
    # 0.2 + 0.01·5 s at 32 of tf, 0.4 + 0.03·5 of mx; one count of pt is enough, 0.35 + 0.06·5.
    result = fitted(runs(15, {0: 8, 4: 4, 8: 1}, noise=0.005))
    assert not result.failures
    for key, truth, error in (("net00", 0.25, 0.06), ("net04", 0.55, 0.06), ("net08", 0.65, 0.5)):
        row = result[key].predict({"workers": 32}).iloc[0]
        assert row.time == pytest.approx(truth, rel=error)
        assert row.lower < truth < row.upper < (1.0 + 8.0 * error) * truth
    # What is estimated from similar groups is said.
    assert "net03" in str(result["net00"].options["donors"])
    assert result["net00"].options["borrowed_to"] == 32
    assert 0.8 < float(result["net00"].options["pooled_share"]) <= 1.0
    assert any(n.kind == "pooled" and "similar groups" in n.text for n in result["net00"].notes)


def test_few_donors_share_the_cluster_alone():
    few, enough = (table_of(runs(FEWEST_DONORS + more, {0: 8})) for more in (0, 1))
    assert not table_shares(few, {}).of(("net00",)).changes
    assert table_shares(few, {}).of(("net00",)).cluster is not None
    assert table_shares(enough, {}).of(("net00",)).changes


def test_series_of_another_work_are_no_donors():
    frame = runs(20, {0: 8}).assign(batch=64.0)
    shared = frame.net >= "net10"
    frame.loc[shared, "batch"] = 64.0 / frame.workers[shared]
    found = table_shares(table_of(frame, intrinsic="batch"), {}).of(("net00",))
    assert found.donors == 9
    assert all(donor < "net10" for donor in found.nearest)


def test_intervals_cover() -> None:
    short = dict.fromkeys(range(10), 8)
    result = fitted(runs(22, short, noise=0.02))
    truth = runs(22, noise=0.02, seed=1).query("workers == 32").set_index("net").seconds
    rows = {f"net{k:02d}": result[f"net{k:02d}"].predict({"workers": 32}).iloc[0] for k in short}
    # Of 10 at 90 %, fewer than 7 happen once in 80 times.
    assert sum(row.lower <= truth[key] <= row.upper for key, row in rows.items()) >= 7


def test_one_answer_in_any_order_pooled_or_alone_from_the_file_and_of_any_number_of_workers() -> None:
    frame, asked = runs(10, {0: 8}, noise=0.02), {"workers": [16, 32, 64]}
    table = table_of(frame)
    result = gp.fit(table)
    text = dump_model(result)
    assert dump_model(parse_model(text)) == text
    assert dump_model(gp.fit(table, workers=2)) == text
    answer = result["net00"].predict(asked)  # type: ignore[index]
    prepared = map(prepared_auto, (table, table_of(frame.sample(frac=1.0, random_state=3))))
    for other in (fitted(frame)["net00"], *(fit_prepared(model, groups["net00",], 0) for model, groups in prepared)):
        pd.testing.assert_frame_equal(other.predict(asked), answer)


def test_columns_in_no_role_that_could_name_groups_are_named():
    frame = runs(6, {5: 4}).assign(run_by=lambda f: f.workers.astype(str) + "x")
    assert could_name(table_of(frame, categorical="")) == ["framework"]
    note = next(n for n in fitted(frame, categorical="")["net05"].notes if n.kind == "similarity")
    assert "--categorical framework" in note.text
