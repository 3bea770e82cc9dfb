"""The benchmark: its questions by hand, and the figures that must be kept on a subset."""

import json
from pathlib import Path

import numpy as np
import pandas as pd
import pytest

import genperf as gp
from experiments.accuracy import corpus
from experiments.accuracy.corpus import answers, by_hand, cases, cell, interval_score, questions, sources


def rows(devices: list[int], nodes: list[int], t: list[float]) -> pd.DataFrame:
    return pd.DataFrame({"source": "x", "series": "a", "devices": devices, "nodes": nodes, "batch": 32.0, "t": t})


def test_questions_by_hand() -> None:
    frame = rows([1, 2, 4, 8, 16, 32], [1, 1, 1, 1, 2, 4], [1.0, 1.1, 1.2, 1.3, 1.5, 1.6])
    asked = {name: (train.devices.tolist(), int(row.devices.iloc[0])) for name, train, row in questions(frame)}
    assert asked == {"near": ([1, 2, 4, 8, 16], 32), "far": ([1, 2, 4, 8], 32), "node": ([1, 2, 4, 8], 16)}


def test_last_point_scales_with_the_work() -> None:
    frame = rows([1, 2, 4, 8], [1, 1, 1, 1], [1.0, 1.001, 1.0, 0.5]).assign(batch=[32.0, 32.0, 32.0, 16.0])
    case = cases({"x": frame})[0]
    hands = by_hand(case)
    assert hands["last point"] == pytest.approx(0.5)
    assert hands["1 + log n"] == pytest.approx(0.5, rel=2e-3)


def test_the_interval_score_by_hand() -> None:
    # ln width 1; the second lies 0.5 above: 1 + 20·0.5 = 11. Mean 6.
    frame = pd.DataFrame({"measured": np.exp([0.5, 1.5]), "lower": 1.0, "upper": np.exp(1.0)})
    assert interval_score(frame) == pytest.approx(600.0)


def test_each_source_is_one_vote_of_the_record(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    # 18 forecasts of one cluster err by 1 % and hold, two of another by 50 % and do not.
    monkeypatch.setattr(corpus, "RECORD", tmp_path / "record.json")
    times = np.repeat([1.01, 1.5], [18, 2])
    frame = pd.DataFrame({"time": times, "measured": 1.0, "lower": times - 0.1, "upper": times + 0.1})
    frame = frame.assign(source=np.repeat(["a", "b"], [18, 2]), protocol="near", verdict="ok")
    corpus.write_record(frame, "")
    told = json.loads(corpus.RECORD.read_text(encoding="utf-8"))["records"][0]
    assert (told["predictions"], told["clusters"], told["coverage"], told["nine_in_ten"]) == (20, 2, 50.0, 50.0)


def test_the_corpus_reads() -> None:
    for name in gp.datasets.corpus_names():
        frame = gp.datasets.corpus(name)
        assert (frame.t > 0).all()
        assert (frame.nodes <= frame.devices).all()
        assert frame.source.unique().tolist() == [name]
    with pytest.raises(gp.errors.TableError, match="did you mean 'gavel'"):
        gp.datasets.corpus("gavle")


def test_figures_on_a_subset_stay_as_good() -> None:
    """Every twelfth case; what is called `ok` must deserve it."""
    listed = cases(sources(), every=12)
    frame = answers(listed)
    hands = pd.DataFrame([by_hand(case) for case in listed])
    figures = cell(pd.concat([frame, hands], axis=1))
    assert figures["series"] >= 60
    assert figures["coverage"] > 88.0
    assert figures["ok"] > 10
    assert figures["ok_coverage"] >= 85.0
    # 5.2 % over all 361 near cases that are called ok; 7.7 % in this subset of 20 sources.
    assert figures["ok_mean"] <= 8.0
    assert figures["over_last"] < 0.6
