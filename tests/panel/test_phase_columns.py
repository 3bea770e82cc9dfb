import numpy as np
import pandas as pd
import pytest

from genperf.panel import read_table
from genperf.panel.target import phase_columns
from genperf.vocabulary.names import PHASES

RUNS = pd.DataFrame(
    {"n": [1, 2, 4], "Forward_S": ["0.1", "0.2", ""], "comm_s": [0.0, 0.1, 0.2], "update_s": ["a", "b", "c"]}
).assign(t=[1.0, 2.0, 3.0])


def test_phase_columns_are_recognised_by_name_and_numbers():
    table = read_table(RUNS, time="t", extrinsic="n")
    assert table.phases == {"forward": "Forward_S", "exchange": "comm_s"}


@pytest.mark.parametrize("role", ["extrinsic", "intrinsic", "group", "repeat", "weight"])
def test_a_column_in_another_role_is_no_phase(role):
    roles = {"extrinsic": "n", "time": "t"}
    roles[role] = f"{roles.get(role, '')},comm_s".strip(",")
    assert "exchange" not in read_table(RUNS.assign(comm_s=[1.0, 2.0, 3.0]), **roles).phases
    assert read_table(RUNS, time="comm_s", extrinsic="n", skip_bad_rows=True).phases == {"forward": "Forward_S"}


def test_derived_columns_may_be_phases():
    table = read_table(RUNS.assign(ms=5.0), time="t", extrinsic="n", let={"io_s": "ms/1000"})
    assert table.phases["input"] == "io_s"


def test_names_differ_between_phases():
    every = [word for words in PHASES.values() for word in words]
    assert len(every) == len(set(every))
    assert phase_columns(["comm_s", "exchange_seconds"]) == {"exchange": "exchange_seconds"}


def test_phases_do_not_make_repeats_look_mixed():
    twice = pd.concat([RUNS, RUNS.assign(comm_s=[0.5, 0.6, 0.7])])
    assert not [n for n in read_table(twice, time="t", extrinsic="n").notes if n.kind == "configuration_mixed"]
    mixed = read_table(twice.rename(columns={"comm_s": "cpus"}), time="t", extrinsic="n")
    assert [n.kind for n in mixed.notes] == ["configuration_mixed"]


def test_the_hash_sees_phases_as_numbers():
    def sha(**columns):
        return read_table(RUNS.assign(**columns), time="t", extrinsic="n").sha256

    assert sha() == sha(Forward_S=["0.10", " 0.2", np.nan])
    assert sha() != sha(Forward_S=["0.11", "0.2", ""])
    assert sha() == sha(note="other")


def test_a_large_table_says_that_it_keeps_no_phases(tmp_path):
    pytest.importorskip("duckdb")
    RUNS[["n", "comm_s", "t"]].to_csv(tmp_path / "a.csv", index=False)
    table = read_table(tmp_path / "a.csv", time="t", extrinsic="n", aggregate=True)
    assert table.phases == {}
    assert "columns of phases are dropped, comm_s (exchange): --no-aggregate keeps them" in str(table.notes[0])
