"""The same rows as factors and as groups: `auto` goes on beyond the largest scale in the same way."""

from collections.abc import Callable
from pathlib import Path

import numpy as np
import pandas as pd
import pytest
from helpers import runs_of, shell_of

import genperf as gp
from genperf.averaging import fit_factors
from genperf.estimate import FitOptions
from genperf.fitting.continuation import continuation
from genperf.prediction.predict import central_times
from genperf.result import FitResult
from genperf.result.file import dump_model, parse_model

COUNTS = [1, 2, 4, 8, 16]
#: Of the computation, by program.
RING, STEP = [0.4, 0.02, 0.1, 0.0, 0.25, 0.05], [0.0, 0.3, 0.05, 0.5, 0.1, 0.02]
BEYOND = [0.01, 0.0, 0.06, 0.02, 0.0, 0.1]


def step_times(counts: list[int], programs: str = "abcdef") -> pd.DataFrame:
    """Programs on nodes of four, no two alike: what the ring inside a node, the second node and more nodes cost."""
    rows = []
    for k, program in enumerate(programs):
        work, ring, step, beyond = 0.2 * (1 + k), RING[k], STEP[k], BEYOND[k]
        for n in counts:
            nodes = max(1, n // 4)
            inside = 1.0 - nodes / n
            t = work * (1.0 + ring * inside + step * (nodes > 1) + beyond * np.log2(nodes))
            rows.append((program, n, nodes, t * (1.0 + 0.004 * np.sin(7.0 * k + n))))
    return pd.DataFrame(rows, columns=["program", "gpus", "nodes", "seconds"])


def as_factors(frame: pd.DataFrame) -> gp.Table:
    return gp.read_table(frame, time="seconds", extrinsic="gpus,nodes", categorical="program")


def as_groups(frame: pd.DataFrame) -> gp.Table:
    return gp.read_table(frame, time="seconds", extrinsic="gpus,nodes", group="program")


@pytest.fixture(scope="module")
def asked() -> pd.DataFrame:
    return step_times([32])


@pytest.fixture(scope="module")
def by_factor() -> FitResult:
    result = gp.fit(as_factors(step_times(COUNTS)))
    assert isinstance(result, FitResult)
    return result


def test_factors_and_groups_answer_alike(by_factor: FitResult, asked: pd.DataFrame) -> None:
    factors, groups = by_factor.predict(asked), gp.fit(as_groups(step_times(COUNTS))).predict(asked)
    np.testing.assert_allclose(factors.time, groups.time, rtol=0.06)
    wide, as_wide = (np.median(np.log(p.upper / p.lower)) for p in (factors, groups))
    assert 1.0 / 1.5 <= wide / as_wide <= 1.5
    assert ((factors.lower <= asked.seconds) & (asked.seconds <= factors.upper)).all()


def test_it_says_so(by_factor: FitResult) -> None:
    (text,) = [note.text for note in by_factor.notes if note.kind == "continued"]
    assert text == "beyond gpus=16 predictions go on as the 6 series that the table's rows form"


def test_measured_rows_stay_where_they_were(by_factor: FitResult) -> None:
    measured = step_times(COUNTS)
    alone = central_times(fit_factors(as_factors(measured), FitOptions(), 0).members, as_factors(measured).columns)
    np.testing.assert_allclose(by_factor.predict(measured).time, alone, rtol=1e-3)


def test_a_program_of_few_runs_goes_on_as_the_others_do() -> None:
    frame = step_times(COUNTS)
    few = frame[(frame.program != "c") | (frame.gpus <= 2)]
    result = gp.fit(as_factors(few))
    there = continuation(as_factors(few), FitOptions())
    assert there is not None
    assert there.series == 5
    assert "c" not in there.columns["program"]
    assert sorted(set(there.columns["nodes"].tolist())) == [8.0, 16.0]
    answer = result.predict(step_times([32], "abcdef")).set_index("program")
    truth = step_times([32], "abcdef").set_index("program").seconds
    assert answer.lower["c"] < truth["c"] < answer.upper["c"]


def test_from_inside_one_node_the_interval_is_that_of_an_unknown_network() -> None:
    frame = step_times([1, 2, 4])
    beyond = step_times([8])
    answer = gp.fit(as_factors(frame)).predict(beyond)
    assert (np.log(answer.upper / answer.lower) > 0.5).all()
    assert (answer.verdict == "extrapolating-blind").all()
    assert ((answer.lower <= beyond.seconds) & (beyond.seconds <= answer.upper)).mean() > 0.8


def test_verdicts_are_those_of_groups() -> None:
    """Two values of the nodes are enough: they follow the scale, as in a series."""
    frame, beyond = step_times([1, 2, 4, 8]), step_times([16, 32])
    factors, groups = (gp.fit(make(frame)).predict(beyond) for make in (as_factors, as_groups))
    assert not factors.reason.str.contains("2 values only").any()
    assert set(factors.verdict[beyond.gpus == 16]) <= {"ok", "caution"}
    assert (factors.verdict == groups.verdict).mean() > 0.8


def test_series_that_erred_more_have_a_part_of_the_prediction() -> None:
    there = continuation(as_factors(step_times(COUNTS)), FitOptions())
    assert there is not None
    assert there.share(2.0 * there.error) == there.share(there.error) == 1.0
    assert there.share(0.5 * there.error) == 0.25
    inside = continuation(as_factors(step_times([1, 2, 4])), FitOptions())
    assert inside is not None
    assert inside.share(0.5 * inside.error) == 1.0


def test_a_model_without_residuals_is_saved_and_read() -> None:
    """An expression holds of every run, so that only the series' anchors are kriged."""
    work = {"a": 8.0, "b": 12.0, "c": 8.02}
    levels = {"program": tuple(work), "gpus": (1, 2, 4, 8)}
    frame = runs_of(lambda f: f.program.map(work) / f.gpus + 0.5, levels, noise=0.02, repeats=3)
    result = gp.fit(gp.read_table(frame, time="s", extrinsic="gpus", categorical="program"))
    assert result.best.discrepancy is not None
    assert set(result.best.discrepancy.anchors["gpus"]) == {16.0, 32.0}
    read = parse_model(dump_model(result))
    assert isinstance(read, FitResult)
    asked = frame.assign(gpus=2.0 * frame.gpus)
    pd.testing.assert_frame_equal(read.predict(asked), result.predict(asked))


def test_an_unknown_network_reaches_farther_up_than_down() -> None:
    result = gp.fit(as_factors(step_times([1, 2, 4])))
    asked = step_times([8, 16, 64])
    wide, narrow = (result.predict(asked, interval=level) for level in (0.9, 0.5))
    for answer in (wide, narrow):
        up, down = np.log(answer.upper / answer.time), np.log(answer.time / answer.lower)
        assert np.median(up) > 1.5 * np.median(down)
    assert ((wide.lower < narrow.lower) & (narrow.upper < wide.upper)).all()


def test_no_run_beyond_one_node_is_said() -> None:
    result = gp.fit(as_factors(step_times([1, 2, 4])))
    asked = step_times([2, 8])
    reasons = result.predict(asked).reason
    assert (reasons.str.contains("no run beyond one node: measure 2 nodes") == (asked.nodes > 1)).all()


@pytest.mark.parametrize(
    "change",
    [
        lambda frame: frame[frame.gpus.isin([1, 16])],
        lambda frame: (
            frame.drop(columns="gpus").rename(columns={"nodes": "hosts"}).drop_duplicates(["program", "hosts"])
        ),
        lambda frame: frame.assign(nodes=np.where(frame.gpus == 16, 3, 1)),
    ],
    ids=["two scales", "nodes alone", "nodes in no proportion"],
)
def test_rows_that_form_no_series(change: Callable[[pd.DataFrame], pd.DataFrame]) -> None:
    frame = change(step_times(COUNTS))
    extrinsic = [name for name in ("gpus", "nodes", "hosts") if name in frame]
    table = gp.read_table(frame, time="seconds", extrinsic=extrinsic, categorical="program")
    there = continuation(table, FitOptions())
    assert there is None or extrinsic == ["hosts"]
    assert np.isfinite(gp.fit(table).predict(frame).time).all()


def test_through_the_command_line(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    shell = shell_of(capsys)
    step_times(COUNTS).to_csv(tmp_path / "runs.csv", index=False)
    model = str(tmp_path / "model.json")
    roles = ["--time", "seconds", "--extrinsic", "gpus,nodes", "--categorical", "program"]
    status, output, errors = shell("fit", str(tmp_path / "runs.csv"), *roles, "-o", model)
    assert status == 0
    assert "6 series" in output + errors
    step_times([32]).drop(columns="seconds").to_csv(tmp_path / "asked.csv", index=False)
    out = tmp_path / "out.csv"
    assert shell("predict", model, "--data", str(tmp_path / "asked.csv"), "-o", str(out))[0] == 0
    answer = pd.read_csv(out)
    np.testing.assert_allclose(answer.time, step_times([32]).seconds, rtol=0.1)


def test_from_one_node_rows_have_the_band_of_groups() -> None:
    """Nothing tells of the network: whether the names of the series are groups or levels, the band is as wide."""
    devices = np.array([1.0, 2.0, 4.0, 8.0])
    rows = [
        pd.DataFrame({"network": name, "devices": devices, "nodes": 1.0, "s": size * (1.0 + cost * np.log2(devices))})
        for name, size, cost in (("a", 0.2, 0.03), ("b", 0.5, 0.05), ("c", 0.3, 0.02), ("d", 0.8, 0.04))
    ]
    frame = pd.concat(rows, ignore_index=True)
    asked = pd.DataFrame({"network": ["a", "b", "c", "d"], "devices": 16.0, "nodes": 2.0})
    widths = []
    for roles in ({"group": "network"}, {"categorical": "network"}):
        predicted = gp.fit(gp.read_table(frame, time="s", extrinsic="devices,nodes", **roles)).predict(asked)
        widths.append(float(np.median(np.log(predicted["upper"] / predicted["lower"]))))
    assert max(widths) <= 1.3 * min(widths)
