"""A cause that is built into the times of steps is the one that `why` names first."""

from collections.abc import Callable
from pathlib import Path

import numpy as np
import pandas as pd
import pytest
from helpers import Shell, done, refusal, reply, runs_of

import genperf as gp
from genperf.causes.laws import FORMS, INPUT, NONE

pytestmark = pytest.mark.usefixtures("all_draws")

#: The exchange of 100 MB over m nodes at 25 Gbit/s, s: 2·(m - 1)/m·M/B.
HINTS = {"bandwidth": "25Gbit/s", "message": "100MB"}


def ring(nodes: float, seconds: float = 0.032) -> float:
    return 2.0 * (nodes - 1.0) / nodes * seconds


def behind(exchange: float, computation: float) -> float:
    """A sound exchange: an eighth of it comes after the backward pass, which is two thirds of the computation."""
    return max(exchange / 8.0, exchange - 2.0 / 3.0 * computation)


def sound(nodes: float, batch: float) -> float:
    return 0.002 * batch + behind(ring(nodes), 0.002 * batch)


def table(law: Callable[[float, float], float], noise: float = 0.01) -> gp.Table:
    """Return runs on 1 to 8 nodes with two batches and two repeats."""

    def of(frame: pd.DataFrame) -> pd.Series:
        return pd.Series([law(m, b) for m, b in zip(frame.nodes, frame.batch, strict=True)])

    runs = runs_of(of, {"nodes": (1, 2, 4, 8), "batch": (16, 64)}, column="step_s", noise=noise, repeats=2)
    return gp.read_table(runs, time="step_s", extrinsic="nodes", intrinsic="batch")


LAWS: dict[str, Callable[[float, float], float]] = {
    "exchange not overlapped": lambda m, b: 0.002 * b + ring(m),
    "slow link": lambda m, b: 0.002 * b + behind(ring(m, 0.25), 0.002 * b),
    "small batch": lambda m, b: 0.08 + sound(m, b),
}


@pytest.mark.parametrize("cause", LAWS)
def test_a_cause_is_named_from_steps_and_hints_alone(cause: str) -> None:
    found = gp.why(table(LAWS[cause]), hints=HINTS)
    assert found.needed
    assert found.causes[0].cause == cause
    assert found.causes[0].decide_by


def test_sound_steps_need_no_cause() -> None:
    found = gp.why(table(sound), hints=HINTS)
    assert not found.needed
    assert str(found).startswith("No cause stands out: a sound step can take as long")


def short(nodes: float, batch: float) -> float:
    """A short exchange: what grows with the devices at every batch is no exchange."""
    return 0.002 * batch + behind(ring(nodes, 0.008), 0.002 * batch)


#: A cause → the law of slow steps, that of sound ones, the noise, and the begin of what speaks for it.
BESIDE: list[tuple[str, Callable[[float, float], float], Callable[[float, float], float], float, str]] = [
    (INPUT, lambda m, b: max(0.004 * b, sound(m, b)), sound, 0.01, "a step takes as long as its input"),
    # Not read ahead.
    (INPUT, lambda m, b: 0.0006 * b + sound(m, b), sound, 0.01, "each sample takes"),
    ("slow computation", lambda m, b: 0.0036 * b + behind(ring(m), 0.0036 * b), sound, 0.01, ""),
    # Devices that wait for the slowest.
    ("stragglers", lambda m, b: short(m, b) * (1.0 + 0.2 * np.sqrt(2.0 * np.log(m))), short, 0.05, ""),
    *((name, law, sound, 0.01, "") for name, law in LAWS.items() if name != "small batch"),
]


@pytest.mark.parametrize(("cause", "law", "normal", "noise", "supports"), BESIDE)
def test_a_cause_is_named_beside_sound_runs(
    cause: str, law: Callable[..., float], normal: Callable[..., float], noise: float, supports: str
) -> None:
    found = gp.why(table(law, noise), sound=table(normal))
    assert found.causes[0].cause == cause
    assert supports in found.causes[0].supports
    assert (found.runs, found.sound) == (8, 8)


def test_neighbours_on_a_node_slow_each_other() -> None:
    cells = [(n, m, 0.1 * (1.0 + 0.4 * (n / m - 1) / 3)) for n, m in ((1, 1), (2, 1), (4, 1), (2, 2), (4, 4), (8, 2))]
    runs = gp.read_table(pd.DataFrame(cells, columns=["gpus", "nodes", "step_s"]))
    assert gp.why(runs).causes[0].cause == "contention inside the node"


def test_of_many_runs_some_are_read_at_every_count() -> None:
    cells = [(m, b, LAWS["exchange not overlapped"](m, b)) for m in (1, 2, 4, 8, 16) for b in range(8, 248, 8)]
    runs = pd.DataFrame(cells, columns=["nodes", "batch", "step_s"])
    found = gp.why(gp.read_table(runs, time="step_s", extrinsic="nodes", intrinsic="batch"))
    assert found.runs == 40
    assert gp.why(gp.read_table(runs, time="step_s", extrinsic="nodes", intrinsic="batch"), {"nodes": 16}) == found
    assert found.causes[0].cause == "exchange not overlapped"


def test_phases_tell_an_input_from_a_computation() -> None:
    """Each step takes as long as its input, 0.004 s a sample; the passes take half of that."""
    cells = [(m, b, 0.004 * b, 0.004 * b, 0.002 * b) for m in (2, 4) for b in (16, 64)]
    runs = pd.DataFrame(cells, columns=["nodes", "batch", "step_s", "io_s", "forward_s"])
    roles = {"time": "step_s", "extrinsic": "nodes", "intrinsic": "batch"}
    alone, told = (gp.why(gp.read_table(of, **roles)) for of in (runs.drop(columns=["io_s", "forward_s"]), runs))
    assert alone.none > 0.25 > told.none
    assert told.causes[0].cause == INPUT


def test_where_no_law_fits_or_nodes_are_not_counted_no_cause_is_certain() -> None:
    """Four devices share a node, which nothing says: the step doubles from one node to two."""
    cells = [(1, 0.301), (4, 0.388), (8, 0.837), (16, 0.888)]
    found = gp.why(gp.read_table(pd.DataFrame(cells, columns=["gpus", "step_s"])))
    assert found.none < 0.5
    assert max(cause.probability for cause in found.causes) < 0.5
    assert INPUT not in {cause.cause for cause in found.causes[:2]}


def test_each_cause_says_what_speaks_for_it_and_what_decides() -> None:
    assert all(form.supports and form.decide_by for form in FORMS if form.cause != NONE)
    assert len({form.cause for form in FORMS}) == 9


@pytest.fixture
def file(tmp_path: Path) -> str:
    """A table of sound and slow runs of two kinds."""
    cells = [
        (name, m, b, law(m, b))
        for name, law in (("old", sound), ("new", LAWS["slow link"]))
        for m in (1, 2, 4)
        for b in (16, 64)
    ]
    path = tmp_path / "runs.csv"
    pd.DataFrame(cells, columns=["cluster", "nodes", "batch", "step_s"]).to_csv(path, index=False)
    return str(path)


def test_explain_why_compares_levels_of_a_table(file: str, shell: Shell) -> None:
    asked = ("explain", file, "--why", "--at", "cluster=new", "--versus", "cluster=old")
    found = reply(shell, *asked)
    assert found["causes"][0]["cause"] == "slow link"
    assert {"cause", "probability", "for", "against", "decide_by"} == {*found["causes"][0]}
    out = done(shell, *asked)
    assert "1. slow link" in out
    assert "decide by: a bandwidth test" in out


def test_a_frame_and_a_file_are_read_and_counts_of_no_devices_refused(file: str) -> None:
    runs = pd.read_csv(file)
    from_file, from_frame = (gp.why(of, {"cluster": "new"}, sound={"cluster": "old"}) for of in (file, runs))
    assert from_file.to_dict() == from_frame.to_dict()
    with pytest.raises(gp.GenperfError, match="'users' counts no devices"):
        gp.why(pd.DataFrame({"users": [1, 2, 4], "step_s": [1.0, 1.1, 1.3]}))


def test_levels_and_quantities_that_are_not_there_are_named(file: str, shell: Shell) -> None:
    assert "no run has cluster=newest" in refusal(shell, "explain", file, "--why", "--at", "cluster=newest")
    errors = refusal(shell, "explain", file, "--why", "--at", "clutter=new")
    assert "no factor is called 'clutter'" in errors
    assert "did you mean 'cluster'" in errors
