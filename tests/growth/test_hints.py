"""What a hint of the network changes in `auto`: the second node of a network that no run shows, and nothing else."""

from __future__ import annotations

import numpy as np
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


def test_bounds_grow_with_the_message() -> None:
    bounds = [upper(runs(), {**HINTS, "parameters": size}) for size in ("5M", "25M", "125M", "600M")]
    assert bounds == sorted(bounds)


def test_a_published_network_has_its_parameters() -> None:
    assert upper(runs(), {**HINTS, "parameters": "gpt2-xl"}) == upper(runs(), {**HINTS, "parameters": "1.558B"})


@pytest.mark.parametrize("bandwidth", ["1Gbit/s", "10Gbit/s"])
def test_the_expected_time_follows_the_exchange(bandwidth: str) -> None:
    """110M parameters of four bytes over a link: a step on two nodes takes about as long as its exchange, or longer."""
    hints = {"bandwidth": bandwidth, "parameters": "110M"}
    row = gp.fit(runs(), time="s", extrinsic="gpus,nodes", hints=hints).predict({"gpus": 16, "nodes": 2}).iloc[0]
    exchange = 110e6 * 4.0 * 8.0 / (float(bandwidth.removesuffix("Gbit/s")) * 1e9)
    assert 0.9 * exchange < row["time"] < 6.0 * exchange


def test_inside_the_node_a_hint_changes_nothing_that_was_measured() -> None:
    told, untold = (
        gp.fit(runs(), time="s", extrinsic="gpus,nodes", hints=hints).predict({"gpus": [1, 2, 4, 8], "nodes": 1})
        for hints in (HINTS, None)
    )
    assert np.allclose(told["time"], untold["time"], rtol=0.005)


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


def test_a_rate_whose_work_is_known_is_held_against_the_exchange_as_its_time_is() -> None:
    timed = runs().assign(batch_per_gpu=32)
    rated = timed.assign(images_per_s=32 * timed["gpus"] / timed["s"]).drop(columns="s")
    hints = {**HINTS, "bandwidth": "1Gbit/s"}
    asked = (
        gp.ask(frame, gpus=16, nodes=2, hints=hints, **more)
        for frame, more in ((timed, {}), (rated, {}), (rated.drop(columns="batch_per_gpu"), {"work": "32*gpus"}))
    )
    by_time, *by_rate = (answer.facts.expected.value.ends for answer in asked)
    assert by_time[0] > 0.8
    assert by_rate == [pytest.approx(by_time, rel=1e-3)] * 2


def test_groups_have_messages_of_their_own() -> None:
    frame = pd.concat([runs().assign(net=name, weights=size) for name, size in (("small", 5e6), ("large", 500e6))])
    result = gp.fit(
        frame, time="s", extrinsic="gpus,nodes", group="net", hints={"bandwidth": "100Gbit/s", "parameters": "weights"}
    )
    small, large = (result[(name,)].predict({"gpus": 16, "nodes": 2})["upper"].iloc[0] for name in ("small", "large"))
    assert large > 1.5 * small
