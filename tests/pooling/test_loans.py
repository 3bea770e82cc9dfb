"""Pooling: groups that were measured less far borrow how the others grew."""

from dataclasses import replace

import msgspec
import numpy as np
import pandas as pd
import pytest

import genperf as gp
from genperf.errors import FitError, ModelError
from genperf.pooling import LOANS, Borrowed, could_name, pool
from genperf.pooling.changes import CHANGES, Change
from genperf.pooling.curves import compare, curves
from genperf.pooling.likeness import GroupColumns, fit_process, search_of
from genperf.result import GroupedResult, dump_model
from genperf.result.file import parse_model
from genperf.table import Table

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


def pooled(frame: pd.DataFrame, **roles: str) -> GroupedResult:
    result = gp.fit(table_of(frame, **roles), pool=True)
    assert isinstance(result, GroupedResult)
    return result


# --- the process -----------------------------------------------------------------------------------------------------


def some_groups(count: int = 9, columns: int = 3) -> GroupColumns:
    names = np.random.default_rng(1).integers(0, 3, (columns, count))
    return GroupColumns({f"c{k}": "level" for k in range(columns)}, {f"c{k}": values for k, values in enumerate(names)})


@pytest.mark.parametrize("columns", [1, 3])
def test_gradient_is_that_of_differences(columns: int) -> None:
    search = search_of(some_groups(columns=3).distances()[:columns])
    rng = np.random.default_rng(2)
    values, at = rng.standard_normal(9), search.mean + 0.3 * rng.standard_normal(columns + 2)
    value, gradient = search.cost(at, values)
    # Four-point differences: (8·[f(h) − f(−h)] − [f(2h) − f(−2h)]) / 12h = f' − h⁴·f⁽⁵⁾/30. The covariance is solved
    # for, so that the cost rounds by up to eps·(condition number)·cost, and four of them by 1.5 times that over h.
    # The cost is made of exp(±logarithm): each derivative is at most about four times the one before. At h = 2⁻⁹
    # both errors are near their least sum.
    h = 2.0**-9
    condition = np.linalg.cond(search.covariance(at))
    rounding = 1.5 * np.finfo(float).eps * condition * abs(value) / h
    assert rounding < 1e-5
    for j, axis in enumerate(np.eye(columns + 2)):
        ends = {k: search.cost(at + k * h * axis, values)[0] for k in (-2, -1, 1, 2)}
        difference = (8.0 * (ends[1] - ends[-1]) - (ends[2] - ends[-2])) / (12.0 * h)
        truncation = (4.0 * h) ** 4 / 30.0 * abs(gradient[j])
        assert abs(gradient[j] - difference) < rounding + truncation


def numbered(groups: GroupColumns, column: str) -> np.ndarray:
    """Equal for groups of one name in a column."""
    return groups.values[column].astype(float)


def test_the_process_recovers_the_column_that_matters() -> None:
    groups = some_groups(40, 3)
    process = fit_process(groups, 3.0 * numbered(groups, "c0") + 0.01 * np.random.default_rng(0).standard_normal(40))
    weights = np.exp(process.logarithms[:3])
    assert weights[0] > 3.0 * weights[1:].max()


def test_a_group_like_a_donor_changes_like_it() -> None:
    groups = some_groups(30, 3)
    values = numbered(groups, "c0") + 0.5 * numbered(groups, "c1")
    process = fit_process(groups, values)
    first = groups.take(np.array([0]))
    mean, sd, share = process.predict(first)
    likeness = process.likeness(first, groups)
    assert mean[0] == pytest.approx(values[0], abs=0.1 * values.std())
    assert sd[0] < 0.2 * values.std()
    assert share[0] > 0.95
    alike = np.flatnonzero((first.distances(groups)[:, 0] == 0).all(axis=0))
    assert likeness[0, alike] == pytest.approx(1.0)
    assert set(np.argsort(-likeness[0], kind="stable")[: len(alike)]) == set(alike)


def test_a_group_like_none_gets_the_mean_and_the_whole_spread() -> None:
    numbers = np.random.default_rng(1).integers(0, 3, 30).astype(float)
    groups = GroupColumns({"size": "squared"}, {"size": numbers})
    process = fit_process(groups, numbers)
    mean, sd, share = process.predict(GroupColumns(groups.metrics, {"size": np.array([1e6])}))
    signal = np.exp(process.logarithms[-2])
    # What is left is at least the whole signal; of a change only its mean over the groups is known.
    assert sd[0] >= process.spread * np.sqrt(signal)
    assert share[0] <= 1.0 / (1.0 + signal) + 1e-9
    assert numbers.min() < mean[0] < numbers.max()


def test_few_donors_say_less_of_what_matters() -> None:
    few, enough, many = (search_of(np.zeros((2, count, count))).sd[0] for count in (10, 40, 400))
    assert few < enough == many


@pytest.mark.parametrize("change", CHANGES, ids=lambda c: c.name)
def test_a_change_added_is_the_second_time(change: Change) -> None:
    first, second = np.array([0.1, 1.0, 5.0, 2.0]), np.array([0.11, 0.7, 40.0, 2.0])
    assert change.onto(first, change.of(first, second)) == pytest.approx(second, rel=1e-12)


def test_log_is_seconds_for_small_changes_and_a_ratio_of_changes_for_large_ones() -> None:
    of = CHANGES[2].of
    # asinh(x) → x: a change by 1e-5 of the time moves the value by about 1e-5 / (2·0.03).
    assert float(of(1.0, 1.00001) - of(1.0, 1.0)) == pytest.approx(1e-5 / 0.06, rel=1e-3)  # type: ignore[arg-type]
    # asinh(x) → ln 2x: a change of twice as many seconds is ln 2 more, whatever the time before.
    assert float(of(1.0, 101.0) - of(1.0, 51.0)) == pytest.approx(np.log(2.0), rel=1e-3)  # type: ignore[arg-type]


# --- groups as curves ------------------------------------------------------------------------------------------------


def test_columns_that_part_alike_count_once_and_constants_not_at_all() -> None:
    frame = runs(8).assign(vendor=lambda f: f.framework.str.upper(), site="here", batch=64)
    plain, _ = curves(table_of(frame))
    more, _ = curves(table_of(frame, categorical="framework,vendor,site", intrinsic="batch"))
    assert len(compare(plain[:6], plain[6:], 1.0).donors.metrics) == len(
        compare(more[:6], more[6:], 1.0).donors.metrics
    )


def test_of_several_ways_to_run_a_scale_the_one_with_fewest_nodes_is_taken() -> None:
    rows = [("a", 8, 1, 1.0), ("a", 8, 2, 3.0), ("a", 4, 1, 2.0), ("b", 4, 1, 1.0)]
    frame = pd.DataFrame(rows, columns=["net", "workers", "nodes", "seconds"])
    (a, _), _ = curves(gp.read_table(frame, time="seconds", extrinsic="workers,nodes", group="net"))
    assert np.exp(a.logarithms) == pytest.approx([2.0, 1.0])
    assert a.columns["nodes"].tolist() == [1.0, 1.0]


def test_columns_the_table_was_not_told_of_are_named() -> None:
    frame = runs(6, {5: 4}).assign(run_by=lambda f: f.workers.astype(str) + "x")
    assert could_name(table_of(frame, categorical="")) == ["framework"]
    note = next(n for n in pooled(frame, categorical="")["net05"].notes if n.kind == "similarity")
    assert "--categorical framework" in note.text
    assert not any(n.kind == "similarity" for n in pooled(frame)["net05"].notes)


# --- the pool --------------------------------------------------------------------------------------------------------


def test_the_truth_is_borrowed() -> None:
    found = pool(table_of(runs(12, {0: 8, 4: 4})))
    # net00 is of tf and starts at 0.2 s: 0.2 + 0.01·5 at 32.  net04 is of mx and starts at 0.4 s: 0.4 + 0.03·5.
    for key, truth in (("net00", 0.25), ("net04", 0.55)):
        last = found[(key,)].loans[-1]
        assert last.scale == 32
        assert np.exp(last.mean) == pytest.approx(truth, rel=0.03)
        assert last.variance < 0.05**2
        assert last.points[0] < np.log(truth) < last.points[-1]
        assert last.share > 0.8
    assert [loan.scale for loan in found[("net04",)].loans] == [8, 16, 32]


def test_donors_of_the_same_framework_come_first() -> None:
    last = pool(table_of(runs(12, {0: 8})))[("net00",)].loans[-1]
    # Of framework tf are net03, net06 and net09.
    assert {donor[0] for donor in last.donors[:3]} == {"net03", "net06", "net09"}


def test_the_order_of_rows_and_groups_does_not_matter() -> None:
    frame = runs(10, {0: 8, 3: 8, 4: 4}, noise=0.02)
    one, other = (pool(table_of(f)) for f in (frame, frame.sample(frac=1.0, random_state=3)))
    assert set(one) == set(other)
    for key, borrowed in one.items():
        for a, b in zip(borrowed.loans, other[key].loans, strict=True):
            assert (a.points == b.points).all()
            assert (a.share, a.donors, a.columns) == (b.share, b.donors, b.columns)


def test_groups_as_far_as_the_others_stay_as_they_are() -> None:
    frame = runs(6)
    assert all(not b.loans and not b.notes for b in pool(table_of(frame)).values())
    assert dump_model(pooled(frame)) == dump_model(gp.fit(table_of(frame)))


def test_groups_with_the_same_donors_share_one_fit_and_its_answer() -> None:
    # 0 and 3 are of one framework and 0.1 s apart; alone or together, the donors say nearly the same of each.
    both = pool(table_of(runs(12, {0: 8, 3: 8})))[("net00",)].loans[-1]
    alone = pool(table_of(runs(12, {0: 8})))[("net00",)].loans[-1]
    assert both.mean == pytest.approx(alone.mean, abs=0.02)


def test_no_donor_and_donors_that_are_unlike() -> None:
    nobody = pool(table_of(runs(3, {0: 8, 1: 8}).query("net != 'net02' or workers > 8")))[("net00",)]
    assert not nobody.loans
    assert "no group" in nobody.notes[0].text
    frame = runs(2, {0: 8}).assign(**{f"kind{i}": lambda f: f.net for i in range(3)})
    frame = frame.assign(a=np.where(frame.net == "net00", "x", "y"), batch=np.where(frame.net == "net00", 8, 4096))
    unlike = pool(table_of(frame, intrinsic="batch"))[("net00",)]
    if not unlike.loans:
        assert "unlike" in unlike.notes[0].text


def test_a_group_that_shares_its_work_does_not_borrow_from_one_that_does_not() -> None:
    frame = runs(10, {0: 8}).assign(batch=64.0)
    shared = frame.net.isin(["net00", "net03", "net06", "net07", "net08", "net09"])
    frame.loc[shared, "batch"] = 64.0 / frame.workers[shared]
    frame.loc[shared, "seconds"] = 1.0 / frame.workers[shared] + 0.01
    last = pool(table_of(frame, intrinsic="batch"))[("net00",)].loans[-1]
    assert last.among == 5
    assert last.columns["batch"] == pytest.approx(2.0)
    assert np.exp(last.mean) == pytest.approx(1.0 / 32 + 0.01, rel=0.1)


def test_what_else_varies_is_not_pooled() -> None:
    frame = runs(8, {0: 8})
    frame["layers"] = np.where((frame.net == "net00") & (frame.workers > 2), 4, 2)
    found = pool(table_of(frame, intrinsic="layers"))
    assert "layers" in found[("net00",)].notes[0].text
    assert isinstance(found[("net01",)], Borrowed)


@pytest.mark.parametrize("groups", [2, 3, 6, 12])
def test_equal_times_and_few_groups_are_no_trouble(groups: int) -> None:
    frame = runs(groups, {0: 4}).assign(seconds=1.0)
    loans = pool(table_of(frame))[("net00",)].loans
    assert all(np.isfinite(loan.points).all() for loan in loans)
    assert all(loan.mean == pytest.approx(0.0, abs=0.02) for loan in loans)
    assert all(len(loan.points) == LOANS.points and (np.diff(loan.points) >= 0).all() for loan in loans)


def test_intervals_cover() -> None:
    hits = []
    for k in range(12):
        frame = runs(12, {k: 8}, noise=0.02, seed=k)
        loan = pool(table_of(frame))[(f"net{k:02d}",)].loans[-1]
        truth = np.log(runs(12, noise=0.02, seed=k).query(f"net == 'net{k:02d}' and workers == 32").seconds.iloc[0])
        low, high = np.interp(
            [0.5 - LOANS.level / 2, 0.5 + LOANS.level / 2], (np.arange(LOANS.points) + 0.5) / LOANS.points, loan.points
        )
        hits.append(low <= truth <= high)
    # Of 12 at 90 %, fewer than 8 happen once in 200 times.
    assert sum(hits) >= 8


# --- the result ------------------------------------------------------------------------------------------------------


def test_at_the_donors_scales_the_answer_is_the_pools() -> None:
    frame = runs(12, {0: 8}, noise=0.03)
    table = table_of(frame)
    result = gp.fit(table, pool=True)["net00"]  # type: ignore[index]
    levels = (np.arange(LOANS.points) + 0.5) / LOANS.points
    for loan in pool(table)[("net00",)].loans:
        row = result.predict({"workers": loan.scale}).iloc[0]
        wanted = np.interp([0.05, 0.5, 0.95], levels, loan.points)
        assert np.log([row.lower, row.time, row.upper]) == pytest.approx(wanted, abs=0.15 * (wanted[2] - wanted[0]))


def test_what_is_borrowed_is_said() -> None:
    result = pooled(runs(12, {0: 8}))["net00"]
    assert result.options["borrowed_to"] == 32
    assert 0.8 < result.options["pooled_share"] <= 1.0
    assert "net03" in result.options["donors"]
    assert any(n.kind == "pooled" and "pooled share" in n.text for n in result.notes)
    rows = result.predict({"workers": [4, 32, 64]})
    assert rows.reason[0] == "inside the measured range"
    assert "borrowed from other groups" in rows.reason[1]
    assert rows.verdict[1] == "ok"
    assert "outside the measured and borrowed 1 to 32" in rows.reason[2]
    assert rows.verdict[2] != "ok"
    width = np.log(rows.upper / rows.lower)
    assert width[0] < width[2]


def test_one_scale_is_enough_where_there_are_donors() -> None:
    result = pooled(runs(12, {0: 1}))
    assert not result.failures
    # net00 is of tf: 0.2 + 0.01·5.
    row = result["net00"].predict({"workers": 32}).iloc[0]
    assert row.lower < 0.25 < row.upper
    assert row.time == pytest.approx(0.25, rel=0.1)
    assert "net00" in gp.fit(table_of(runs(12, {0: 1}))).failures.__str__()  # type: ignore[union-attr]


def test_the_model_file_holds_what_was_borrowed() -> None:
    result = pooled(runs(8, {0: 8}))
    text = dump_model(result)
    again = parse_model(text)
    asked = {"workers": [8, 12, 16, 32, 64]}
    pd.testing.assert_frame_equal(again.predict(asked), result.predict(asked))
    assert dump_model(again) == text
    walk = result["net00"].members[0].discrepancy
    assert walk is not None
    assert walk.offsets is not None
    shorter = msgspec.structs.replace(walk, offsets=walk.offsets[:-1])
    short = replace(result["net00"].members[0], discrepancy=shorter)
    broken = dump_model(replace(result["net00"], members=(short,)))
    with pytest.raises(ModelError, match="borrowed"):
        parse_model(broken)


def test_the_same_bytes_for_any_number_of_workers() -> None:
    table = table_of(runs(4, {0: 8}, noise=0.02))
    assert dump_model(gp.fit(table, pool=True)) == dump_model(gp.fit(table, pool=True, workers=2))


def test_a_pooled_group_is_not_kept_for_its_own_rows_alone() -> None:
    frame = runs(8, {0: 8})
    before = pooled(frame)
    slower = frame.assign(seconds=np.where(frame.workers > 8, 2 * frame.seconds, frame.seconds))
    again = gp.fit(table_of(slower), pool=True, resume=before)
    assert again.predict({"workers": 32}).time[0] > 1.5 * before.predict({"workers": 32}).time[0]
    alone = gp.fit(table_of(frame), resume=before)["net00"]  # type: ignore[index]
    assert "borrowed_to" not in alone.options


def test_pooling_needs_groups_and_auto() -> None:
    frame = runs(4, {0: 8})
    with pytest.raises(FitError, match="groups"):
        gp.fit(table_of(frame, group=""), pool=True)
    with pytest.raises(FitError, match="only auto"):
        gp.fit(table_of(frame), model="amdahl", pool=True)


# --- a guard against regressions -------------------------------------------------------------------------------------


BATCH_HIDDEN, CONFIG_HIDDEN = ["config", "batch_per_device"], ["config"]


@pytest.mark.parametrize(
    ("hides", "worst_median", "worst_mean"), [(BATCH_HIDDEN, 1.5, 3.0), (CONFIG_HIDDEN, 5.0, 10.0)]
)
def test_dlperf(hides: list[str], worst_median: float, worst_mean: float) -> None:
    """P3 and P4 on every sixth series of those with several batches: 32 devices from 8."""
    alike = "implementation,framework,framework_version,model,precision,xla,dali,loss_scale,grad_clip,loader_workers"
    group = ["config", "batch_per_device"]
    table = gp.datasets.load(
        "dlperf", intrinsic="", extrinsic="devices,nodes", categorical=alike, group=",".join(group)
    )
    frame = table.frame
    enough = frame.groupby(group).devices.transform("nunique") >= 5
    usual = frame.devices.isin([1, 8, 32])
    several = frame[enough].groupby("config").batch_per_device.nunique()
    keys = frame[enough & frame.config.isin(several.index[several > 1])][group].drop_duplicates().iloc[::6]
    errors, inside = [], []
    for key in keys.itertuples(index=False):
        mine = (frame[hides] == list(key)[: len(hides)]).all(axis=1)
        truth = frame[(frame[group] == list(key)).all(axis=1) & (frame.devices == 32)].step_time_s.median()
        loan = pool(table.take((enough & usual & ~(mine & (frame.devices > 8))).to_numpy()))[tuple(key)].loans[-1]
        assert loan.scale == 32
        errors.append(100 * abs(np.exp(np.median(loan.points)) / truth - 1))
        low, high = np.interp([0.05, 0.95], (np.arange(LOANS.points) + 0.5) / LOANS.points, loan.points)
        inside.append(low <= np.log(truth) <= high)
    assert len(errors) == 7
    assert np.median(errors) <= worst_median
    assert np.mean(errors) <= worst_mean
    assert sum(inside) >= 5
