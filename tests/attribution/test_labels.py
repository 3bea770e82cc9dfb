"""Members with equal plain labels are one line: their weights are added up."""

import numpy as np
import pytest
from worked_models import member, model

from genperf.attribution import explain
from genperf.attribution.ladder import ladder
from genperf.attribution.scaling import crossovers, scaling
from genperf.attribution.terms import by_label

TERMS = {"compute": "a/workers", "network": "b*workers"}


def test_weights_of_equal_labels_are_added_up() -> None:
    members = [
        member(TERMS, {"a": 8.0, "b": 1.0}, weight=w, label=label)
        for label, w in (
            ("overheads", 0.3),
            ("growing overheads (2)", 0.25),
            ("growing overheads", 0.2),
            ("ring", 0.25),
        )
    ]
    assert [(e.label, pytest.approx(e.weight), e.places) for e in by_label(members)] == [
        ("growing overheads", 0.45, (1, 2)),
        ("overheads", 0.3, (0,)),
        ("ring", 0.25, (3,)),
    ]


def test_terms_of_equal_labels_are_those_of_their_ensemble() -> None:
    # At 4 workers the first of "growing" says 2 + 2 = 4 s, the second 1 + 15 = 16 s. By equal weights √64 = 8 s;
    # shares: compute ½·½ + ½·1/16 = 9/32, so 2.25 s, network 5.75 s.
    members = (
        member(TERMS, {"a": 8.0, "b": 0.5}, weight=0.25, label="growing"),
        member(TERMS, {"a": 4.0, "b": 3.75}, weight=0.25, label="growing (2)"),
        member(TERMS, {"a": 4.0, "b": 1.0}, weight=0.5, label="steady"),
    )
    found = explain(model(*members), {"workers": 4}).members.set_index(["member", "term"])
    assert found["weight"].tolist() == [0.5] * 4
    assert found["seconds"].to_dict() == pytest.approx(
        {
            ("growing", "compute"): 2.25,
            ("growing", "network"): 5.75,
            ("steady", "compute"): 1.0,
            ("steady", "network"): 4.0,
        }
    )


def test_crossovers_of_equal_labels_have_the_draws_of_all() -> None:
    # 64/n against b·n, equal at √(64/b): beyond 8 where b = 1, so from 9 on; beyond 4 where b = 4, from 5 on.
    members = (
        member(TERMS, {"a": 64.0, "b": 1.0}, weight=0.6, label="growing"),
        member(TERMS, {"a": 64.0, "b": 4.0}, weight=0.4, label="growing (2)"),
    )
    result = model(*members)
    found = crossovers(result, ladder(result, {}))
    assert found[["member", "weight", "count", "lower", "upper"]].to_numpy().tolist() == [
        ["growing", 1.0, 9.0, 5.0, 9.0]
    ]
    sentence = scaling(result, {}).crossover_sentences[0]
    assert sentence == "the largest term changes from 'compute' to 'network' at 9 workers (90 %: 5 to 9)"
    assert np.isfinite(found["reached"][0])
