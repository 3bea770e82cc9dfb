"""What results predict: of one model and of groups, as columns and as a DataFrame."""

from pathlib import Path

import numpy as np
import pandas as pd
import pytest

import genperf as gp
from genperf.errors import TableError
from genperf.result import GroupedResult

#: T = (1 + 8/workers)·twice, twice 1 for a and 2 for b.
RUNS = pd.DataFrame(
    [(g, n, k * (1 + 8 / n)) for g, k in (("a", 1), ("b", 2)) for n in (1, 2, 4)], columns=["net", "n", "s"]
)


@pytest.fixture(scope="module")
def groups() -> GroupedResult:
    found = gp.fit(gp.read_table(RUNS, time="s", extrinsic="n", group="net"), "a/n + c")
    assert isinstance(found, GroupedResult)
    return found


def test_rows_of_groups_come_back_as_they_were_asked(groups: GroupedResult) -> None:
    asked = pd.DataFrame(
        {"n": [8, 8, 1], "day": pd.to_datetime(["2020-01-01"] * 3), "net": ["b", "a", "b"]}, index=[4, 4, 2]
    )
    found = groups.predict(asked)
    assert list(found.columns) == ["net", "n", "day", "time", "lower", "upper", "verdict", "reason", "fits"]
    assert found.index.tolist() == [0, 1, 2]
    assert found["net"].tolist() == ["b", "a", "b"]
    assert found["day"].dtype == asked["day"].dtype
    np.testing.assert_allclose(found["time"], [4.0, 2.0, 18.0], rtol=1e-3)


def test_without_group_columns_every_group_is_asked_for_every_row(groups: GroupedResult) -> None:
    found = groups.predict({"n": [1, 8]})
    assert list(zip(found["net"], found["n"], strict=True)) == [("a", 1.0), ("a", 8.0), ("b", 1.0), ("b", 8.0)]
    np.testing.assert_allclose(found["time"], [9.0, 2.0, 18.0, 4.0], rtol=1e-3)


def test_columns_are_those_of_the_frame(groups: GroupedResult) -> None:
    for result in (groups, groups["a"]):
        columns = result.predict_columns({"n": [1, 8]}, 0.5, "confidence")
        frame = result.predict({"n": [1, 8]}, 0.5, "confidence")
        assert list(columns) == list(frame.columns)
        assert all(frame[name].tolist() == cells.tolist() for name, cells in columns.items())


@pytest.mark.parametrize(
    ("text", "said"),
    [
        ("net,n\na,8\n\nb,8\nb,-1\n", "line 5, column 'n': '-1' is not above zero"),
        ("net,n\na,8\nb,8,8\n", "line 3: 3 fields"),
        ("net,n\nc,8\n", "there is no group c"),
        ("net\na\n", "factor 'n' is missing"),
    ],
)
def test_a_file_for_groups_is_refused_at_its_line(groups: GroupedResult, tmp_path: Path, text: str, said: str) -> None:
    file = tmp_path / "asked.csv"
    file.write_text(text)
    with pytest.raises(TableError, match=said):
        groups.predict(file)


def test_a_name_that_no_group_knows_is_refused(groups: GroupedResult) -> None:
    with pytest.raises(TableError, match="no factor 'nett'"):
        groups.predict({"n": 8, "nett": "a"})


def test_no_group_can_be_asked_where_none_was_fitted() -> None:
    with pytest.raises(TableError, match="no group was fitted"):
        GroupedResult(("net",), {}, {("a",): "one scale"}).predict({"n": 8})


def test_a_path_and_a_frame_are_fitted_with_their_roles(tmp_path: Path) -> None:
    RUNS.to_csv(tmp_path / "runs.csv", index=False)
    from_path = gp.fit(str(tmp_path / "runs.csv"), "a/n + c", time="s", extrinsic="n", group="net")
    from_frame = gp.fit(RUNS, "a/n + c", time="s", extrinsic="n", group="net")
    asked = {"n": 8, "net": "b"}
    assert from_path.predict(**asked)["time"].item() == from_frame.predict(asked)["time"].item()
    with pytest.raises(gp.GenperfError, match="has its roles already"):
        gp.fit(gp.read_table(RUNS, time="s", extrinsic="n"), extrinsic="n")


def test_values_by_name_are_predicted(groups: GroupedResult) -> None:
    result = groups["a"]
    assert result.predict(n=[1, 8])["time"].tolist() == result.predict({"n": [1, 8]})["time"].tolist()
    for wrong in (lambda: result.predict(), lambda: result.predict({"n": 1}, n=8)):
        with pytest.raises(TableError, match=r"nothing is requested|given twice"):
            wrong()


def test_a_result_explains_itself(groups: GroupedResult, tmp_path: Path) -> None:
    result = groups["a"]
    pd.testing.assert_frame_equal(result.explain({"n": 4}).terms, gp.explain(result, {"n": 4}).terms)
    assert result.report(tmp_path / "page.html").read_text(encoding="utf-8").startswith("<!")
    assert result.plot().axes


def test_reprs_are_short(groups: GroupedResult) -> None:
    assert repr(groups) == "<GroupedResult 2 groups of net>"
    text = repr(groups["a"])
    assert text.startswith("<FitResult a/n + c: fitted to 3 configurations of ")
    assert len(text) < 160
