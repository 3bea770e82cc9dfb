"""Verdicts: what each reason does to the grade."""

import numpy as np
import pandas as pd
import pytest
from helpers import cases_in_text
from msgspec.structs import replace

import genperf as gp
from genperf.formula import parse
from genperf.panel.panel import Target
from genperf.prediction import Evidence, Schema, read_query
from genperf.prediction.verdict import VERDICTS, Basis, verdicts
from genperf.table import Factor
from genperf.words.verdict import reasons

WORKERS = Factor("workers", "extrinsic", 1, 16, distinct=5, integer=True, positive=True)
NODES = Factor("nodes", "extrinsic", 1, 2, distinct=2, integer=True, positive=True)
SCHEMA = Schema((WORKERS,), Target("step_s"))
SEVERAL = Basis(SCHEMA, several_forms=True)
SERIES = Basis(SCHEMA, several_forms=True, series=True)
ALONE = Basis(SCHEMA)
NARROW, WIDE, VERY_WIDE = 0.1, 0.4, 1.1


def judge(
    workers: float,
    log_width: float = NARROW,
    evidence: tuple[Evidence, ...] = (),
    basis: Basis = SEVERAL,
    **more: float,
) -> tuple[str, str]:
    query = read_query(pd.DataFrame({"workers": [workers], **more}), basis.schema)
    grades, marks = verdicts(replace(basis, evidence=evidence), query.columns, np.array([log_width]))
    return VERDICTS[grades[0]], reasons(marks, 1)[0]


@cases_in_text("workers, log_width, expected")
def test_distance_and_width(workers: float, log_width: float, expected: str) -> None:
    assert judge(workers, log_width)[0] == expected


def test_a_series_is_judged_by_its_interval_up_to_two_doublings() -> None:
    """At 32 and 64 by the width, as published forecasts were; at 128 nobody knows."""
    found = [[judge(n, width, basis=SERIES)[0] for width in (NARROW, WIDE, VERY_WIDE)] for n in (32, 64, 128)]
    assert found == [["ok", "caution", "extrapolating-blind"]] * 2 + [["extrapolating-blind"] * 3]
    # One form is never ok beyond the data.
    assert [judge(n, basis=ALONE)[0] for n in (8, 32)] == ["ok", "caution"]
    # Two scales are too few.
    few = Schema((Factor("workers", "extrinsic", 1, 2, distinct=2, integer=True, positive=True),), Target("step_s"))
    verdict, reason = judge(4, basis=Basis(few, several_forms=True))
    assert verdict == "extrapolating-blind"
    assert "measure a third" in reason


@cases_in_text("error, last_point, several, alone")
def test_looking_back(error: float, last_point: float, several: str, alone: str) -> None:
    seen = (Evidence("workers", 16, 1, error, last_point),)
    assert judge(32, evidence=seen)[0] == several
    assert judge(32, evidence=seen, basis=ALONE)[0] == alone
    assert judge(8, evidence=seen, basis=ALONE)[0] == "ok"


def test_nodes_that_follow_the_workers_are_not_counted_twice() -> None:
    both = Schema((WORKERS, NODES), Target("step_s"))
    free = Basis(both, several_forms=True)
    assert judge(32, basis=replace(free, followers=("nodes",)), nodes=4)[0] == "ok"
    assert judge(32, basis=free, nodes=4)[0] == "extrapolating-blind"


def test_a_factor_seen_at_one_value_and_a_term_never_seen() -> None:
    single = Schema((WORKERS, Factor("nodes", "extrinsic", 1, 1, distinct=1, positive=True)), Target("step_s"))
    assert judge(32, basis=Basis(single, several_forms=True), nodes=4)[0] == "extrapolating-blind"
    unseen = Basis(SCHEMA, several_forms=True, unmeasured={"latency": parse("workers - 16").node})
    verdict, reason = judge(32, basis=unseen)
    assert verdict == "extrapolating-blind"
    assert "latency" in reason


def test_rows_judged_together_are_those_judged_alone() -> None:
    """Every kind of reason, in rows that share marks with others and rows that share none."""
    runs = pd.DataFrame(
        [(w, b, n, w * 0.1 + b * 0.01) for w, b in ((1, 8), (2, 8), (4, 8), (1, 64), (1, 16)) for n in ("a", "b")],
        columns=["workers", "batch", "net", "s"],
    )
    table = gp.read_table(runs, time="s", extrinsic="workers", intrinsic="batch", categorical="net")
    schema = gp.fit(table, model="generic").schema
    rng = np.random.default_rng(0)
    asked = pd.DataFrame(
        {
            "workers": rng.choice([1, 2, 3, 4, 8, 9, 16, 256], 200),
            "batch": rng.choice([1, 8, 16, 64, 100, 512], 200),
            "net": rng.choice(["a", "b"], 200),
        }
    )
    evidence = (Evidence("workers", 4, 1.0, 0.5, 0.2),)
    basis = Basis(schema, unidentified=["a", "b"], evidence=evidence)
    width = rng.choice([0.1, 0.4, 0.9, 3.0], 200)
    grades, marks = verdicts(basis, read_query(asked, schema).columns, width)
    texts = reasons(marks, 200)
    for row in range(200):
        grade, alone = verdicts(basis, read_query(asked.iloc[[row]], schema).columns, width[[row]])
        assert (grades[row], texts[row]) == (grade[0], reasons(alone, 1)[0])
    assert len(set(texts)) > 30
    assert sum("never measured together" in text for text in texts) > 10


@pytest.mark.parametrize(("count", "verdict"), [("threads", "caution"), ("MPI Tasks", "caution"), ("gpus", "ok")])
def test_beyond_the_threads_of_one_machine_is_a_knee_that_no_run_shows(count: str, verdict: str) -> None:
    """Times that fall to the last measured count: beyond the cores of the machine they do not."""
    runs = pd.DataFrame({count: [1, 2, 4, 8, 16], "s": [80.0, 40.2, 20.3, 10.3, 5.3]})
    predicted = gp.fit(runs, time="s", extrinsic=count, scaling="strong").predict({count: [16, 32]})
    assert predicted["verdict"].tolist() == ["ok", verdict]
    assert ("all runs may share one machine" in predicted["reason"].iloc[1]) == (verdict == "caution")


@pytest.mark.parametrize(("batches", "verdict"), [((8, 16, 16, 32, 64), "caution"), ((32, 8, 16, 64, 16), "ok")])
def test_beside_a_diagonal_of_two_factors_a_doubling_is_a_reason_for_caution(
    batches: tuple[int, ...], verdict: str
) -> None:
    """What the workers and the batch do by themselves is told by no run in which both grow."""
    columns = {"workers": [1, 2, 4, 8, 16], "batch": batches, "s": [0.2, 0.3, 0.4, 0.5, 0.7]}
    table = gp.read_table(pd.DataFrame(columns), time="s", extrinsic="workers", intrinsic="batch")
    schema = gp.fit(table, model="generic").schema
    query = read_query(pd.DataFrame({"workers": [8], "batch": [16]}), schema)
    grades, _ = verdicts(Basis(schema), query.columns, np.array([NARROW]))
    assert VERDICTS[grades[0]] == verdict
