import numpy as np
import pandas as pd
import pytest
from hypothesis import given
from hypothesis import strategies as st

from genperf.errors import TableError
from genperf.panel import Table, read_table
from genperf.validation import SCHEMES, split

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


EVERY = ["kfold:2", "kfold:5", "kfold:12", "leave-one-out", "leave-group-out:network", "leave-group-out:rack",
         "extrapolate:workers", "extrapolate:workers:2"]  # fmt: skip


def assert_apart(t: Table, scheme: str, seed: int = 0) -> None:
    for fold in split(t, scheme, seed):
        train, test = set(t.configuration[fold.train]), set(t.configuration[fold.test])
        assert train
        assert test
        assert not train & test


@pytest.mark.parametrize("scheme", EVERY)
@pytest.mark.parametrize("grouped", [False, True])
def test_no_configuration_is_on_both_sides(scheme: str, grouped: bool) -> None:
    assert_apart(table(group="network") if grouped else table(), scheme)


@given(st.lists(st.integers(0, 4), min_size=2, max_size=30), st.integers(0, 5))
def test_repeats_stay_together_however_they_are_spread(values: list[int], seed: int) -> None:
    frame = pd.DataFrame({"n": [1 + v for v in values], "t": np.arange(1.0, len(values) + 1)})
    t = read_table(frame, time="t", extrinsic="n")
    if len(set(values)) > 1:
        for scheme in ("kfold:2", "leave-one-out", "extrapolate:n", "leave-group-out:n"):
            assert_apart(t, scheme, seed)


@pytest.mark.parametrize("scheme", ["kfold:5", "leave-one-out", "leave-group-out:network", "leave-group-out:rack"])
def test_every_row_is_held_out_once(scheme: str) -> None:
    t = table()
    folds = split(t, scheme)
    assert np.array_equal(sum(f.test.astype(int) for f in folds), np.ones(len(t)))
    assert all(np.array_equal(f.train, ~f.test) for f in folds)


def test_folds_are_equal_in_size_and_follow_the_seed() -> None:
    t = table()
    sizes = [len(set(t.configuration[f.test])) for f in split(t, "kfold:5")]
    assert sorted(sizes) == [2, 2, 2, 3, 3]  # 12 configurations

    def tests(seed: int) -> list[list[bool]]:
        return [f.test.tolist() for f in split(t, "kfold:5", seed)]

    assert tests(0) == tests(0)
    assert tests(0) != tests(1)


def test_each_fold_holds_its_share_of_every_group() -> None:
    t = table(group="network")
    for fold in split(t, "kfold:4"):  # 4 configurations in each group of 3
        assert t.frame["network"][fold.test].value_counts().to_dict() == {"a": 3, "b": 3, "c": 3}


def test_leave_one_out_has_a_fold_per_configuration() -> None:
    assert [f.name for f in split(table(), "leave-one-out")] == [str(i) for i in range(1, 13)]


@pytest.mark.parametrize(
    ("column", "names"),
    [
        ("network", ["network = a", "network = b", "network = c"]),
        ("workers", ["workers = 1", "workers = 2", "workers = 4", "workers = 8"]),
        ("rack", ["rack = one", "rack = two"]),  # in no role
    ],
)
def test_leave_group_out_takes_any_column(column: str, names: list[str]) -> None:
    assert [f.name for f in split(table(), f"leave-group-out:{column}")] == names


def test_extrapolate_predicts_the_largest_from_the_rest() -> None:
    t = table()
    (fold,) = split(t, "extrapolate:workers")
    assert fold.name == "workers > 4"
    assert set(t.frame["workers"][fold.test]) == {8.0}
    assert set(t.frame["workers"][fold.train]) == {1.0, 2.0, 4.0}


def test_extrapolate_takes_the_largest_of_each_group() -> None:
    frame = runs().query("not (network == 'a' and workers > 2) and not (network == 'b' and workers > 1)")
    t = table(frame, group="network")
    (fold,) = split(t, "extrapolate:workers")
    held_out = t.frame[fold.test].groupby("network")["workers"].unique().map(list).to_dict()
    assert held_out == {"a": [2.0], "c": [8.0]}
    assert fold.train[(t.frame["network"] == "b").to_numpy()].all()  # one value: nothing to predict


def test_a_column_with_a_colon_is_found() -> None:
    frame = runs().rename(columns={"workers": "count:8"})
    t = read_table(frame, time="t", extrinsic="count:8", categorical="network")
    (fold,) = split(t, "extrapolate:count:8:2")
    assert fold.name == "count:8 > 2"
    assert split(t, "extrapolate:count:8")[0].name == "count:8 > 4"


@pytest.mark.parametrize(
    ("scheme", "message", "hint"),
    [
        ("kfolds:5", "'kfolds:5' is not a scheme", "did you mean 'kfold'?"),
        ("", "'' is not a scheme", "kfold:K"),
        ("leave-group-out", "not a scheme", "leave-group-out:COLUMN"),
        ("extrapolate", "not a scheme", "extrapolate:COLUMN"),
        ("leave-one-out:3", "not a scheme", "leave-one-out"),
        ("kfold", "gives no number of folds", "kfold:5"),
        ("kfold:1", "gives no number of folds", "kfold:5"),
        ("kfold:five", "gives no number of folds", "kfold:5"),
        ("kfold:13", "13 folds need at least 13 configurations, and there are 12", "leave-one-out"),
        ("leave-group-out:netwrk", "no column 'netwrk'", "did you mean 'network'?"),
        ("leave-group-out:repeat", "'repeat' differs between repeats of one configuration", "factor"),
        ("extrapolate:worker", "no column 'worker'", "did you mean 'workers'?"),
        ("extrapolate:worker:4", "no column 'worker'", "did you mean 'workers'?"),
        ("extrapolate:workers:many", "the limit 'many' is not a number", "extrapolate:workers:8"),
        ("extrapolate:workers:nan", "the limit 'nan' is not a number", "extrapolate:workers:8"),
        ("extrapolate:workers:8", "no configuration has workers above 8: the table has 1 to 8", "LIMIT"),
        ("extrapolate:workers:0.5", "no configuration has workers up to 0.5: the table has 1 to 8", "LIMIT"),
        ("extrapolate:rack", "no order to extrapolate along: 'one' is not a number", "leave-group-out:rack"),
        ("extrapolate:repeat", "'repeat' differs between repeats", "factor"),
    ],
)
def test_a_scheme_that_cannot_be_is_refused_with_advice(scheme: str, message: str, hint: str) -> None:
    with pytest.raises(TableError) as error:
        split(table(), scheme)
    assert message in error.value.message
    assert error.value.hint is not None
    assert hint in error.value.hint


def test_one_value_leaves_nothing_to_predict() -> None:
    t = table(runs().query("workers == 4"))
    with pytest.raises(TableError, match="the table has one value"):
        split(t, "extrapolate:workers")
    with pytest.raises(TableError, match="has one value: no group can be left out"):
        split(t, "leave-group-out:workers")
    with pytest.raises(TableError, match="only one configuration"):
        split(table(runs().query("workers == 4 and network == 'a'")), "leave-one-out")


def test_the_schemes_listed_are_the_schemes_there_are() -> None:
    written = {"kfold:K": "kfold:2", "leave-one-out": "leave-one-out", "leave-group-out:COLUMN": "leave-group-out:rack",
               "extrapolate:COLUMN[:LIMIT]": "extrapolate:workers:2"}  # fmt: skip
    assert list(written) == list(SCHEMES)
    assert all(split(table(), scheme) for scheme in written.values())
