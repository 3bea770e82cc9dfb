"""No efficiency, knee or sentence contradicts a measured throughput."""

import re

import numpy as np
import pandas as pd
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import genperf as gp
from genperf.attribution import Knee
from genperf.attribution.scaling import Scaling
from genperf.words.scaling import turn_sentence

COUNTS = np.array([1.0, 2.0, 4.0, 8.0, 16.0])


def knee_of(counts: np.ndarray, speeds: np.ndarray, work: str, model: str, level: float = 0.5) -> Scaling:
    """Fit a model to throughputs and return what `explain` tells of scaling."""
    runs = pd.DataFrame({"gpus": counts, "speed": speeds})
    result = gp.fit(gp.read_table(runs, throughput="speed", work=work, extrinsic="gpus"), model=model)
    answer = gp.explain(result, {"gpus": 4}, knee=Knee(level=level)).scaling
    assert answer is not None
    return answer


def assert_agreement(answer: Scaling, counts: np.ndarray, speeds: np.ndarray, level: float, tolerance: float) -> None:
    """Compare an answer with the measured throughputs.

    Parameters
    ----------
    answer : Scaling
    counts, speeds : ndarray
        What was measured.
    level : float
        Of the efficiency.
    tolerance : float
        Of an efficiency, relative.
    """
    rows = answer.curve.set_index("gpus").loc[counts]
    measured = speeds / counts / (speeds[0] / counts[0])
    assert rows["efficiency"].to_numpy() == pytest.approx(measured, rel=tolerance)
    # The rate is told as it was measured: throughput, efficiency and speed-up are one statement.
    assert (rows["throughput"] / rows["throughput"].iloc[0]).to_numpy() == pytest.approx(rows["speedup"].to_numpy())
    points = answer.points.set_index("what")
    sentences = {turn.what: turn_sentence(turn) for turn in answer.turns}
    if (falls := re.match(r"throughput falls beyond (\d+)", sentences["throughput"])) is not None:
        beyond = counts > float(falls[1])
        assert not beyond.any() or speeds[beyond].max() <= speeds[~beyond].max()
    knee = points.loc["efficiency", "count"]
    below = counts[measured < level * (1 - 1e-6)]
    if np.isfinite(knee):
        # Just before the knee nothing measured is below the level, and at it nothing measured is above.
        assert not (below < knee).any()
        assert measured[counts == knee] < level * (1 + 1e-6) if knee in counts else True
    else:
        assert not len(below)


@settings(max_examples=15, deadline=None)
@given(
    st.lists(st.floats(0.3, 1.05), min_size=3, max_size=4),
    st.sampled_from(["gpus", "32*gpus", "64"]),
    st.sampled_from([0.5, 0.8]),
)
def test_sentences_agree_with_any_measured_throughputs(steps: list[float], work: str, level: float) -> None:
    # Every doubling keeps this share of the efficiency, so that speeds rise, stay or fall. The law fits them badly,
    # which must not show in a sentence.
    counts = COUNTS[: len(steps) + 1]
    speeds = 400.0 * counts * np.cumprod([1.0, *steps])
    answer = knee_of(counts, speeds, work, "c/gpus + a" if work == "64" else "c + a*gpus", level)
    assert answer.kind == ("strong" if work == "64" else "weak")
    assert_agreement(answer, counts, speeds, level, tolerance=np.inf)


@settings(max_examples=6, deadline=None)
@given(st.floats(0.0, 0.6), st.floats(0.0, 0.2), st.booleans())
def test_efficiency_is_the_ratio_of_throughputs(serial: float, growing: float, weak: bool) -> None:
    # Of one worker's step: 1 s, with an overhead that appears at once and one that grows.
    overhead = serial * (COUNTS > 1) + growing * np.log2(COUNTS)
    speeds = COUNTS / (1.0 + overhead) if weak else 1.0 / (1.0 / COUNTS + overhead)
    answer = knee_of(COUNTS, speeds, "gpus" if weak else "1", "auto")
    # `auto` smooths: where the time turns at the last count but one, the last one is up to 11 % off the measured value.
    assert_agreement(answer, COUNTS, speeds, 0.5, tolerance=0.15)


def test_weak_scaling_is_not_told_as_strong() -> None:
    counts, speeds = np.array([1.0, 2.0, 4.0, 8.0]), np.array([410.2, 792.5, 1530.0, 2905.4])
    answer = knee_of(counts, speeds, "32*gpus", "auto")
    assert answer.kind == "weak"
    # 2905.4/8/410.2
    assert float(answer.curve.set_index("gpus")["efficiency"][8]) == pytest.approx(0.885, abs=0.01)
    turn = answer.turn("throughput")
    assert turn is not None
    assert turn_sentence(turn).startswith("throughput does not fall up to 128")


def test_without_a_word_on_the_work_the_question_comes_back() -> None:
    runs = pd.DataFrame({"gpus": [1, 2, 4, 8], "s": [1.0, 0.6, 0.4, 0.3]})
    result = gp.fit(gp.read_table(runs, time="s", extrinsic="gpus"), model="amdahl")
    answer = gp.explain(result, knee=True).scaling
    assert answer is not None
    assert answer.kind == "unknown"
    assert "efficiency" not in answer.curve
    assert "--scaling weak" in str(answer)
    assert list(answer.points["what"]) == ["slower"]
    strong = gp.fit(gp.read_table(runs, time="s", extrinsic="gpus", scaling="strong"), model="amdahl")
    told = gp.explain(strong, knee=True).scaling
    assert told is not None
    # 1/(8·0.3)
    assert float(told.curve.set_index("gpus")["efficiency"][8]) == pytest.approx(1 / 2.4, rel=0.05)
