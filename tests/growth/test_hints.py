"""What a hint of the network changes in `auto`: the second node of a network that no run shows, and nothing else."""

from __future__ import annotations

import pandas as pd
import pytest

import genperf as gp

HINTS = {"bandwidth": "100Gbit/s", "parameters": "25M"}


def runs(second: float | None = None) -> pd.DataFrame:
    """Return a series inside one node of eight, and perhaps its second node."""
    rows = [(1, 1, 0.300), (2, 1, 0.306), (4, 1, 0.312), (8, 1, 0.319)]
    return pd.DataFrame([*rows, *([(16, 2, second)] if second else [])], columns=["gpus", "nodes", "s"])


def upper(frame: pd.DataFrame, hints: dict[str, str] | None) -> float:
    result = gp.fit(frame, time="s", extrinsic="gpus,nodes", hints=hints)
    return float(result.predict({"gpus": 16, "nodes": 2})["upper"].iloc[0])


def test_a_fast_link_narrows_the_second_node_and_a_slow_one_moves_it() -> None:
    without, fast = upper(runs(), None), upper(runs(), HINTS)
    slow = upper(runs(), {**HINTS, "bandwidth": "1Gbit/s"})
    # Without a hint it ends at 0.49 s: the prior of 26 sources leaves a fast link little to say.
    assert 0.319 < fast < 0.97 * without
    assert slow > 10.0 * without


def test_a_published_network_has_its_parameters() -> None:
    assert upper(runs(), {**HINTS, "parameters": "gpt2-xl"}) == upper(runs(), {**HINTS, "parameters": "1.558B"})


def test_measured_nodes_win_over_the_hint() -> None:
    measured = pd.concat([runs(0.9), pd.DataFrame({"gpus": [32, 64], "nodes": [4, 8], "s": [0.95, 0.99]})])
    told, untold = (
        gp.fit(measured, time="s", extrinsic="gpus,nodes", hints=hints)
        for hints in ({**HINTS, "bandwidth": "400Gbit/s"}, None)
    )
    asked = pd.DataFrame({"gpus": [16, 128], "nodes": [2, 16]})
    assert told.predict(asked).equals(untold.predict(asked))
    assert [n.kind for n in told.notes if n.kind.startswith("hint")] == ["hint_contradicted"]


@pytest.mark.parametrize(
    ("frame", "roles", "hints", "text"),
    [
        (runs(), {}, HINTS, "rests on the hint"),
        (runs(0.33), {}, HINTS, "agree with the hint within a factor of 3: it changes nothing"),
        (runs(), {}, {"bandwidth": "100Gbit/s"}, "how many bytes a step exchanges is not known"),
        (runs(), {"extrinsic": "gpus"}, HINTS, "does not tell nodes from workers"),
        (runs(), {"time": None, "throughput": "s"}, HINTS, "the time of one step is not known"),
    ],
)
def test_notes(frame: pd.DataFrame, roles: dict[str, str], hints: dict[str, str], text: str) -> None:
    result = gp.fit(frame, hints=hints, **{"time": "s", "extrinsic": "gpus,nodes", **roles})
    notes = [n.text for n in result.notes if n.kind.startswith("hint")]
    assert len(notes) == 1
    assert text in notes[0]
