import numpy as np
import pandas as pd
import pytest
from hypothesis import given
from hypothesis import strategies as st

from genperf.table.clean import label, labels, numbers

GOOD = [
    ("1", 1.0),
    ("1e-3", 1e-3),
    (" +2.5E2 ", 250.0),
    (".5", 0.5),
    ("-0", 0.0),
    ("0.1", 0.1),
    ("9007199254740993", 9007199254740992.0),  # 2⁵³ + 1 has no double of its own
    (7, 7.0),
    (np.int64(7), 7.0),
]

BAD = [
    ("", "is empty"),
    ("  ", "is empty"),
    (None, "is empty"),
    (pd.NA, "is empty"),
    ("abc", "is not a number"),
    ("12ms", "is not a plain number (write it without its unit)"),
    ("0x10", "is not a number"),
    ("1_000", "is not a number"),
    ("１２", "is not a number in the digits 0 to 9, with '-' for minus"),  # digits of another script
    ("−5", "is not a number in the digits 0 to 9, with '-' for minus"),  # a typographic minus
    ("1,5", "is not a number (write the decimal sign as '.', and nothing between thousands)"),
    ("1,234.5", "is not a number (write the decimal sign as '.', and nothing between thousands)"),
    ("1.234,5", "is not a number (write the decimal sign as '.', and nothing between thousands)"),
    ("true", "is not a number but true or false"),
    (True, "is not a number but true or false"),
    ("NaN", "is NaN"),
    (float("nan"), "is NaN"),
    ("N/A", "is a missing value, not a number"),
    ("inf", "is infinite"),
    ("-Infinity", "is infinite"),
    ("1e999", "is infinite"),
    (10**400, "is infinite"),
]


@pytest.mark.parametrize(("cell", "value"), GOOD)
def test_a_number_is_read(cell, value):
    values, reasons = numbers(["3", cell])
    assert reasons == {}
    assert values[1] == value


@pytest.mark.parametrize(("cell", "reason"), BAD)
def test_what_is_no_number_has_a_reason(cell, reason):
    values, reasons = numbers(["3", cell])
    assert reasons == {1: reason}
    assert values[0] == 3.0
    assert np.isnan(values[1])


@given(st.lists(st.floats(allow_nan=False, allow_infinity=False), min_size=1))
def test_every_finite_number_survives_being_written(written):
    values, reasons = numbers([repr(x) for x in written])
    assert reasons == {}
    assert values.tolist() == written


@given(st.lists(st.text()))
def test_any_text_is_a_finite_number_or_has_a_reason(cells):
    values, reasons = numbers(cells)
    assert set(reasons) == set(np.flatnonzero(~np.isfinite(values)))


def test_levels_stay_as_written():
    assert labels(["8", "8.0", " 08 "]).tolist() == ["8", "8.0", "08"]


@pytest.mark.parametrize(
    ("cell", "text"),
    [(8.0, "8"), (0.5, "0.5"), (1e20, "1e+20"), (True, "True"), (pd.NaT, ""), (np.float32(0.5), "0.5")],
)
def test_a_value_of_a_frame_is_written_as_one_would(cell, text):
    assert label(cell) == text
