"""The benchmark: its questions by hand, the learned prior's gradient, and the figures that must be kept on a subset."""

import numpy as np
import pandas as pd
import pytest
from corpus import PRIORS, answers, by_hand, cases, cell, interval_score, prior_without, questions, sources
from learn_prior import Objective, packed, reference, sampled, weights_of
from learn_prior import by_hand as prior_by_hand

import genperf as gp
from genperf.series.prior import read_prior


def rows(devices: list[int], nodes: list[int], t: list[float]) -> pd.DataFrame:
    return pd.DataFrame({"source": "x", "series": "a", "devices": devices, "nodes": nodes, "batch": 32.0, "t": t})


def test_questions_by_hand() -> None:
    frame = rows([1, 2, 4, 8, 16, 32], [1, 1, 1, 1, 2, 4], [1.0, 1.1, 1.2, 1.3, 1.5, 1.6])
    asked = {name: (train.devices.tolist(), int(row.devices.iloc[0])) for name, train, row in questions(frame)}
    assert asked == {
        "near": ([1, 2, 4, 8, 16], 32),
        "far": ([1, 2, 4, 8], 32),
        "node": ([1, 2, 4, 8], 16),
    }


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


def test_every_source_has_a_prior_learned_without_it() -> None:
    for source in sources():
        assert source in {path.stem for path in PRIORS.glob("*.json")}
        assert prior_without(source) == read_prior(PRIORS / f"{source}.json")


def test_the_corpus_reads() -> None:
    for name in gp.datasets.corpus_names():
        frame = gp.datasets.corpus(name)
        assert (frame.t > 0).all()
        assert (frame.nodes <= frame.devices).all()
        assert frame.source.unique().tolist() == [name]
    with pytest.raises(gp.errors.TableError, match="did you mean 'gavel'"):
        gp.datasets.corpus("gavle")


def test_the_gradient_of_the_objective() -> None:
    listed = cases({name: gp.datasets.corpus(name) for name in ("sia_aws", "rubick")}, every=30)
    objective = Objective(sampled(listed, reference()), weights_of(listed, None))
    x = packed(objective.centre) + 0.05 * np.random.default_rng(1).standard_normal(len(packed(objective.centre)))
    _, slope = objective(x)
    for j in range(0, len(x), 4):
        step = 1e-4 * np.eye(len(x))[j]
        numeric = (objective(x + step)[0] - objective(x - step)[0]) / 2e-4
        assert slope[j] == pytest.approx(numeric, abs=1e-3)


def test_a_left_out_source_has_no_weight() -> None:
    listed = cases({name: gp.datasets.corpus(name) for name in ("libai", "rubick")})
    weights = weights_of(listed, "rubick")
    assert {case.source for case, weight in zip(listed, weights, strict=True) if weight > 0.0} == {"libai"}
    assert prior_by_hand().doubling == 0.2


def test_figures_on_a_subset_stay_as_good() -> None:
    """Every twelfth case, each judged by a prior learned without its source; what is called `ok` must deserve it."""
    listed = cases(sources(), every=12)
    frame = answers(listed, prior_without)
    hands = pd.DataFrame([by_hand(case) for case in listed])
    figures = cell(pd.concat([frame, hands], axis=1))
    assert figures["series"] >= 60
    assert figures["coverage"] > 88.0
    assert figures["ok"] > 10
    assert figures["ok_coverage"] >= 85.0
    assert figures["ok_mean"] <= 5.0
    assert figures["over_last"] < 0.6
