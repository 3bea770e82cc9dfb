import math

import numpy as np
import pandas as pd
import pytest

from genperf.errors import TableError
from genperf.panel import REPEATS, read_table

RUNS = pd.DataFrame(
    {
        "n": [2, 1, 2, 1, 4, 2],
        "fw": ["tf", "tf", "tf", "tf", "mx", "mx"],
        "run": [0, 0, 1, 1, 0, 0],
        "w": [1.0, 1.0, 3.0, 1.0, 2.0, 4.0],
        "t": [0.5, 0.9, 0.5, 1.1, 0.3, 0.6],
    }
)


@pytest.fixture
def table():
    return read_table(RUNS, time="t", extrinsic="n", categorical="fw", repeat="run", weight="w")


def test_configurations_are_numbered_by_first_appearance(table):
    assert table.configuration.tolist() == [0, 1, 0, 1, 2, 3]


def test_groups_are_part_of_a_configuration():
    grouped = read_table(RUNS, time="t", extrinsic="n", group="fw")
    assert grouped.configuration.tolist() == [0, 1, 0, 1, 2, 3]
    assert read_table(RUNS, time="t", extrinsic="n").configuration.tolist() == [0, 1, 0, 1, 2, 0]


def test_weights_have_mean_one(table):
    assert table.weights == pytest.approx(np.array([1, 1, 3, 1, 2, 4]) / 2)
    assert read_table(RUNS, time="t", extrinsic="n").weights.tolist() == [1.0] * 6


def test_noise_by_hand(table):
    # n=2, tf: no scatter; n=1, tf: ±10 %. Two configurations of two repeats leave two degrees of freedom.
    assert table.noise() == pytest.approx(math.sqrt((0.1**2 + 0.1**2) / 2))


def test_noise_needs_repeats(table):
    assert math.isnan(table.take([0, 1]).noise())


def test_noise_recovers_the_scatter_it_was_made_with():
    rng = np.random.default_rng(0)
    n = np.repeat(np.arange(1, 401), 5)
    frame = pd.DataFrame({"n": n, "t": (1 + 100 / n) * (1 + 0.03 * rng.standard_normal(n.size))})
    assert read_table(frame, time="t", extrinsic="n").noise() == pytest.approx(0.03, rel=0.05)


def test_medians(table):
    medians = table.medians()
    assert medians.measured.tolist() == [0.5, 1.0, 0.3, 0.6]
    assert medians.frame["w"].tolist() == [4.0, 2.0, 2.0, 4.0]
    assert medians.frame[REPEATS].tolist() == [2, 2, 1, 1]
    assert medians.configuration.tolist() == [0, 1, 2, 3]
    assert medians.medians().measured.tolist() == medians.measured.tolist()
    assert math.isnan(medians.noise())


def test_repeats_do_not_move_the_centre(table):
    # Configurations n = 2, 1, 4, 2 once each: (2·1·4·2)^(1/4) = 2.
    assert table.factor("n").centre == pytest.approx(2.0)
    assert table.factor("fw").levels == ("mx", "tf")


def test_take_describes_the_rows_taken(table):
    part = table.take(table.columns["n"] <= 2)
    assert len(part) == 5
    assert (part.factor("n").lower, part.factor("n").upper) == (1.0, 2.0)
    one = table.take([4, 5])
    assert one.constant == ("fw",)
    assert [n.kind for n in one.notes] == ["factor_constant"]
    assert "'fw' has one value, mx" in str(one.notes[0])
    assert one.configuration.tolist() == [0, 1]
    assert one.take([0]).constant == ("n", "fw")
    assert len(one.take([0]).notes) == 2


def test_take_keeps_the_order_and_the_repetition_asked_for(table):
    assert table.take([5, 0, 0]).measured.tolist() == [0.6, 0.5, 0.5]


def test_take_leaves_the_table_as_it_was(table):
    before = table.sha256
    part = table.take([0]).frame
    part["t"] = 9.0
    assert table.measured[0] == 0.5
    assert table.sha256 == before


def test_take_refuses_what_is_no_choice(table):
    with pytest.raises(TableError, match="no rows are left"):
        table.take(np.zeros(6, dtype=bool))
    with pytest.raises(ValueError, match="mask"):
        table.take(np.ones(5, dtype=bool))


def test_groups_keep_the_order_of_first_appearance():
    table = read_table(RUNS, time="t", extrinsic="n", group=["fw", "run"])
    assert [(key, part.measured.tolist()) for key, part in table.groups()] == [
        (("tf", "0"), [0.5, 0.9]),
        (("tf", "1"), [0.5, 1.1]),
        (("mx", "0"), [0.3, 0.6]),
    ]


def test_a_table_without_groups_is_one_group(table):
    ((key, whole),) = table.groups()
    assert key == ()
    assert whole is table


def test_an_unknown_factor_is_named(table):
    with pytest.raises(TableError, match="no factor 'm'"):
        table.factor("m")
    assert [f.name for f in table.numeric] == ["n"]
    assert [f.name for f in table.categorical] == ["fw"]


def test_the_hash_is_of_what_a_fit_sees(table):
    def of(frame, **roles):
        given = {"time": "t", "extrinsic": "n", "categorical": "fw", "repeat": "run", "weight": "w"}
        return read_table(frame, **(given | roles)).sha256

    assert of(RUNS) == table.sha256
    assert of(RUNS.assign(unused=1)) == table.sha256
    assert of(RUNS[["t", "w", "run", "fw", "n"]]) == table.sha256
    changed = [
        of(RUNS.assign(t=RUNS["t"] * (1 + 1e-15))),
        of(RUNS.iloc[::-1]),
        of(RUNS, weight=None),
        of(RUNS, extrinsic="", intrinsic="n"),
        of(RUNS, categorical="", group="fw"),
    ]
    assert len({table.sha256, *changed}) == 6


def test_the_hash_is_the_same_on_every_machine():
    frame = pd.DataFrame({"n": [1, 2], "fw": ["é", "b"], "t": [0.5, 0.25]})
    table = read_table(frame, time="t", extrinsic="n", categorical="fw")
    assert table.sha256 == "0441493c1031c3cf4a9c71be19b0cf08831aea1b54e6e336573347975503f728"


def test_summary_and_text(table):
    summary = table.summary()
    assert summary["factor"].tolist() == ["n", "fw"]
    assert summary["max"].tolist()[0] == 4.0
    assert summary["levels"].tolist() == ["", "mx, tf"]
    text = str(table)
    assert text.startswith("DataFrame: 6 rows, 4 configurations, noise 10.0 %; time 't' 0.3 to 1.1 s")
    assert "extrinsic" in text
    assert repr(table) == f"<Table {text.splitlines()[0]}>"


def test_html_escapes_what_the_file_says():
    table = read_table(RUNS.assign(fw="<b>"), time="t", extrinsic="n", categorical="fw")
    html = table._repr_html_()
    assert "<b>" not in html
    assert "&lt;b&gt;" in html


def test_a_group_is_what_taking_its_rows_gives() -> None:
    frame = pd.DataFrame(
        {
            "net": ["b", "a", "b", "a", "b", "a", "b"],
            "n": [4, 1, 2, 1, 4, 2, 2],
            "kind": ["x", "x", "y", "x", "x", "x", "y"],
            "w": [1.0, 2.0, 3.0, 4.0, 5.0, 6.0, 7.0],
            "s": [1.0, 2.0, 3.0, 4.0, 5.0, 6.0, 8.0],
            "host": list("abcdefg"),
        }
    )
    table = read_table(frame, time="s", extrinsic="n", categorical="kind", group="net", weight="w")
    found = dict(table.groups())
    assert list(found) == [("b",), ("a",)]
    for (name,), part in found.items():
        taken = table.take(frame.net == name)
        for a, b in ((part, taken), (part.medians(), taken.medians())):
            pd.testing.assert_frame_equal(a.frame, b.frame)
            assert (a.factors, a.notes, a.sha256) == (b.factors, b.notes, b.sha256)
            assert a.configuration.tolist() == b.configuration.tolist()
            assert a.measured.tolist() == b.measured.tolist()
            assert a.weights.tolist() == b.weights.tolist()
            assert {k: v.tolist() for k, v in a.columns.items()} == {k: v.tolist() for k, v in b.columns.items()}
