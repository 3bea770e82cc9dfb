"""What is measured: a time in any unit, a throughput, or another positive quantity."""

import numpy as np
import pandas as pd
import pytest

from genperf.errors import TableError
from genperf.panel.read import read_with_roles
from genperf.panel.target import Target

RUNS = pd.DataFrame({"n": [1, 2, 4], "t": [3000.0, 1500.0, 750.0], "memory_gb": [30.0, 16.0, 9.0], "forward_s": 0.1})


@pytest.mark.parametrize(
    ("unit", "seconds"),
    [
        ("s", 3000.0),
        ("ms", 3.0),
        ("us", 0.003),
        ("µs", 0.003),
        ("μs", 0.003),
        ("ns", 3e-6),
        ("min", 180_000.0),
        ("h", 10_800_000.0),
        (" ms ", 3.0),
        ("", 3000.0),
    ],
)
def test_times_become_seconds(unit, seconds):
    table = read_with_roles(RUNS, time="t", unit=unit, extrinsic="n")
    assert table.measured[0] == seconds
    assert table.target == Target("t", "time", "s")
    assert [n.kind for n in table.notes] == ([] if unit.strip() in ("", "s") else ["unit"])


def test_a_converted_time_is_the_decimal_number_that_was_meant():
    # 0.7 s is written 700 ms: 700/1000 is the double nearest to 0.7, and 700·0.001 is not.
    table = read_with_roles(RUNS.assign(t=[700.0, 300.0, 100.0]), time="t", unit="ms", extrinsic="n")
    assert table.measured.tolist() == [0.7, 0.3, 0.1]
    assert str(table.notes[0]).startswith("'t' is converted from ms to seconds (1 ms = 0.001 s)")


def test_filters_and_formulas_read_the_column_as_it_stands_in_the_table():
    table = read_with_roles(RUNS, time="t", unit="ms", extrinsic="n", where="t > 1000", let="double=2*t")
    assert table.measured.tolist() == [3.0, 1.5]
    assert table.frame["double"].tolist() == [6000.0, 3000.0]


def test_converted_rows_are_the_same_table_as_seconds():
    converted = read_with_roles(RUNS, time="t", unit="ms", extrinsic="n")
    seconds = read_with_roles(RUNS.assign(t=RUNS.t / 1000), time="t", extrinsic="n")
    assert converted.sha256 == seconds.sha256
    assert converted.sha256 != read_with_roles(RUNS, time="t", extrinsic="n").sha256
    # Parts and medians of a table are not converted again.
    assert converted.take([0]).measured.tolist() == [3.0]
    assert converted.medians().measured.tolist() == [3.0, 1.5, 0.75]


@pytest.mark.parametrize(
    ("options", "target"),
    [
        ({"quantity": "memory_gb"}, Target("memory_gb", "memory_gb", "")),
        ({"quantity": "memory_gb:GB"}, Target("memory_gb", "memory_gb", "GB")),
        ({"quantity": "memory_gb", "unit": "GB"}, Target("memory_gb", "memory_gb", "GB")),
        ({"quantity": " memory_gb : GB ", "unit": "GB"}, Target("memory_gb", "memory_gb", "GB")),
        ({"quantity": "memory_gb:ms"}, Target("memory_gb", "memory_gb", "ms")),
    ],
)
def test_another_quantity_keeps_its_values(options, target):
    table = read_with_roles(RUNS, extrinsic="n", **options)
    assert table.target == target
    assert table.measured.tolist() == [30.0, 16.0, 9.0]
    # Phases are parts of a time.
    assert table.phases == {}
    assert "forward_s" in table.unused
    assert not table.notes


def test_a_quantity_with_a_colon_in_its_name():
    table = read_with_roles(RUNS.rename(columns={"memory_gb": "mem:peak"}), quantity="mem:peak:", extrinsic="n")
    assert table.target == Target("mem:peak", "mem:peak", "")


def test_the_unit_of_a_quantity_is_part_of_the_hash():
    gigabytes, other = (read_with_roles(RUNS, quantity=f"memory_gb:{unit}", extrinsic="n") for unit in ("GB", "GiB"))
    assert gigabytes.sha256 != other.sha256
    assert gigabytes.sha256 != read_with_roles(RUNS, time="memory_gb", extrinsic="n").sha256


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({}, "no measured column is named"),
        ({"time": "t", "quantity": "memory_gb"}, "time and quantity are both named"),
        ({"throughput": "t", "quantity": "memory_gb"}, "throughput and quantity are both named"),
        ({"time": "t", "throughput": "t", "quantity": "t"}, "time and throughput and quantity are all named"),
        (
            {"time": "t", "unit": "msec"},
            "'msec' is not a known unit of time\n  try: one of s, ms, us (or µs), ns,",
        ),
        ({"time": "t", "unit": "MS"}, "'MS' is not a known unit of time"),
        ({"throughput": "t", "work": "n", "unit": "ms"}, "the unit 'ms' goes with a column of times"),
        ({"unit": "ms"}, "the unit 'ms' goes with a column of times"),
        ({"quantity": "memory_gb:GB", "unit": "MB"}, "is given twice: 'GB' and 'MB'"),
        ({"quantity": ":GB"}, "':GB' names no column"),
        ({"quantity": "memory:GB"}, "did you mean 'memory_gb'?"),
        ({"quantity": "n:GB"}, "column 'n' is named both as extrinsic and as quantity"),
        ({"quantity": "memory_gb", "work": "n"}, "a work formula goes with a throughput"),
        ({"quantity": "time"}, "--time time"),
        ({"quantity": "lower"}, "a quantity cannot be named 'lower'"),
        ({"quantity": "memory_gb:G\x1bB"}, "characters that cannot be printed"),
    ],
)
def test_refused(options, message):
    with pytest.raises(TableError) as caught:
        read_with_roles(RUNS, **{"extrinsic": "n", **options})
    assert message in str(caught.value)


def test_faults_name_the_target():
    with pytest.raises(TableError, match=r"'-1.0' is negative \(memory_gb must be above zero\)"):
        read_with_roles(RUNS.assign(memory_gb=[-1.0, 2.0, 3.0]), quantity="memory_gb:GB", extrinsic="n")
    with pytest.raises(TableError, match=r"is zero \(time must be above zero\)"):
        read_with_roles(RUNS.assign(t=[5e-324, 2.0, 3.0]), time="t", unit="ns", extrinsic="n")
    with pytest.raises(TableError, match=r"'1e\+306' is larger than 1e\+30 in size"):
        read_with_roles(RUNS.assign(t=[1e306, 2.0, 3.0]), time="t", unit="h", extrinsic="n")
    with pytest.raises(TableError, match="what may the memory_gb depend on"):
        read_with_roles(RUNS, quantity="memory_gb")


@pytest.mark.parametrize("options", [{"time": "t", "unit": "ms"}, {"quantity": "t:GB"}], ids=["time", "quantity"])
def test_an_aggregated_table_has_the_same_numbers(options, tmp_path):
    pytest.importorskip("duckdb", reason="the extra 'large' is not installed")
    rng = np.random.default_rng(0)
    frame = pd.DataFrame({"n": np.repeat([1, 2, 4], 5), "t": rng.lognormal(7.0, 0.1, 15)})
    frame.to_csv(tmp_path / "runs.csv", index=False)
    rows = read_with_roles(frame, extrinsic="n", **options)
    summed = read_with_roles(tmp_path / "runs.csv", extrinsic="n", aggregate=True, **options)
    assert summed.target == rows.target
    assert summed.measured == pytest.approx(rows.medians().measured, rel=1e-14)
    assert summed.noise() == pytest.approx(rows.noise(), rel=1e-9)
    assert summed.extremes[0] == pytest.approx(rows.extremes[0], rel=1e-14)
    assert [n.kind for n in summed.notes] == ["aggregated", *(["unit"] if "unit" in options else [])]
    (tmp_path / "bad.csv").write_text("n,t\n1,2.0\n1,-3\n2,1.0\n")
    name = summed.target.name
    with pytest.raises(TableError, match=rf"'-3' is negative \({name} must be above zero\)"):
        read_with_roles(tmp_path / "bad.csv", extrinsic="n", aggregate=True, **options)


def test_a_row_with_two_faults_is_one_rejected_row():
    table = read_with_roles(
        pd.DataFrame({"n": [1, 2, "x"], "t": [3.0, 1.0, -1.0]}), time="t", extrinsic="n", skip_bad_rows=True
    )
    assert (len(table.rejected), table.rejected_rows) == (2, 1)
