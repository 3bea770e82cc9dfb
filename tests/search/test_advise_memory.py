"""Advice for a model of memory: formulas read it by its name, and what needs a time is refused in words."""

from dataclasses import replace

import pandas as pd
import pytest

import genperf as gp
from genperf.errors import GenperfError
from genperf.panel.target import Target
from genperf.search import Goal, Job, suggest


@pytest.fixture(scope="module")
def memory() -> gp.FitResult:
    """Return M = 4 + 0.25·batch + 16/workers, in GB."""
    rows = [(n, b, (4 + 0.25 * b + 16 / n) * (1 + 0.01 * ((n + b) % 3 - 1))) for n in (1, 2, 4, 8) for b in (8, 16, 32)]
    runs = pd.DataFrame(rows, columns=["workers", "batch", "peak"])
    table = replace(
        gp.read_table(runs, time="peak", extrinsic="workers", intrinsic="batch"),
        target=Target("peak", "memory_gb", "GB"),
    )
    fitted = gp.fit(table, "w + a*batch + s/workers", draws=20)
    assert isinstance(fitted, gp.FitResult)
    return fitted


OVER = {"workers": "1:16", "batch": [8, 16, 32]}


def test_the_least_memory(memory: gp.FitResult) -> None:
    found = gp.optimize(memory, OVER)
    assert found.configuration == {"workers": 16.0, "batch": 8.0}
    assert found.title == "least memory_gb (GB) of 48 feasible of 48 configurations"
    assert found.best["memory_gb"].iloc[0] == pytest.approx(7.0, rel=0.02)
    assert not {"time", "total", "cost"} & set(found.best.columns)
    assert found.front.empty
    assert found.notes == ()


def test_memory_in_formulas(memory: gp.FitResult) -> None:
    # The largest batch that leaves memory free on as few workers as may be: 4 + 8 + 16/n <= 16.5 from n = 4 on.
    found = gp.optimize(memory, OVER, "memory_gb <= 16.5 and batch == 32", "workers")
    assert found.configuration == {"workers": 4.0, "batch": 32.0}
    assert gp.optimize(memory, OVER, "memory_gb < 0.6*memory_gb_1", "workers").feasible > 0
    assert gp.optimize(memory, OVER, "machines*memory_gb > 60", "machines").feasible > 0


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"minimize": "cost"}, r"'cost' needs a model of a time, and this one predicts memory_gb \(GB\)"),
        ({"where": "total < 3"}, "'total' needs a model of a time"),
        ({"minimize": "time"}, "time"),
        ({"goal": Goal(deadline=3.0)}, "deadlines are left out: they need a model of a time"),
        ({"job": Job(steps="1000")}, "steps and prices are those of a time"),
        ({"job": Job(price=2)}, "steps and prices are those of a time"),
    ],
)
def test_what_needs_a_time_is_refused(memory: gp.FitResult, options: dict, message: str) -> None:
    with pytest.raises(GenperfError, match=message):
        gp.optimize(memory, OVER, **options)


def test_what_to_measure_next(memory: gp.FitResult) -> None:
    found = suggest(memory, {"workers": 64, "batch": 8})
    # Without a time, the formula of the cost is the whole cost: the count of workers.
    assert found.candidates["cost"].tolist() == found.candidates["workers"].tolist()
    assert found.candidates["memory_gb"].between(4.0, 9.0).all()
    assert found.to_dict()["memory_gb"] == found.value == pytest.approx(6.25, rel=0.03)
    words = f"{found} {found._repr_html_()} {found.to_dict()}"
    assert "time" not in words
    assert "seconds" not in words
    squared = suggest(memory, {"workers": 64, "batch": 8}, cost="memory_gb**2")
    assert squared.candidates["cost"].to_numpy() == pytest.approx(squared.candidates["memory_gb"].to_numpy() ** 2)
