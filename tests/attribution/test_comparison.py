"""A against B, worked by hand."""

import numpy as np
import pytest
from worked_models import FRAMEWORK, NODES, WORKERS, member, model

from genperf.attribution import compare, explain
from genperf.errors import GenperfError

TERMS = {"compute": "a/workers", "network": "b*workers"}


def test_term_by_term() -> None:
    # From 2 to 8 workers: compute 8 → 2 s, network 1 → 4 s. T: 9 → 6 s.
    found = compare(model(member(TERMS, {"a": 16.0, "b": 0.5})), {"workers": 2}, {"workers": 8})
    assert found.terms["term"].tolist() == ["compute", "network"]
    numbers = found.terms[["a", "b", "change"]].to_numpy()
    assert numbers == pytest.approx(np.array([[8.0, 2.0, -6.0], [1.0, 4.0, 3.0]]))
    assert found.change == pytest.approx(-3.0)
    assert found.terms["share"].tolist() == pytest.approx([2.0, -1.0])
    bars = found.waterfall()
    assert bars["bar"].tolist() == ["workers=2", "compute", "network", "workers=8"]
    assert bars[["start", "end"]].to_numpy() == pytest.approx(np.array([[0, 9], [9, 3], [3, 6], [0, 6]]))
    assert found.sentence == ("workers=8 takes 3 s less than workers=2; 'compute' makes -6 s of it")


def test_framework_against_framework() -> None:
    # The compute part takes twice as long in pytorch.
    terms = {"compute": "a/workers*where(framework == 'pytorch', 2, 1)", "rest": "c"}
    result = model(member(terms, {"a": 8.0, "c": 1.0}, texts=("framework",)), factors=(WORKERS, FRAMEWORK))
    found = explain(result, {"workers": 4, "framework": "mxnet"}, versus={"framework": "pytorch"}).comparison
    assert found is not None
    assert found.terms.set_index("term")["change"].to_dict() == pytest.approx({"compute": 2.0, "rest": 0.0})
    assert (found.name_a, found.name_b) == ("framework=mxnet", "framework=pytorch")


def test_nodes_follow_the_workers_unless_they_are_given() -> None:
    result = model(member({"network": "a*nodes"}, {"a": 1.0}), factors=(WORKERS, NODES))
    assert explain(result, {"workers": 4}, versus={"workers": 16}).comparison.change == pytest.approx(3.0)  # type: ignore[union-attr]
    held = {"workers": 4, "nodes": 2}
    # Two nodes of four hold 8 workers, and 16 fill four.
    changes = [explain(result, held, versus={"workers": n}).comparison.change for n in (8, 16)]  # type: ignore[union-attr]
    assert changes == pytest.approx([0.0, 2.0])


def test_a_draw_is_compared_with_itself() -> None:
    # The constant is anything from 0 to 100 s, but the same at both: it changes by nothing, for certain.
    draws = [[8.0, c] for c in np.linspace(0, 100, 101)]
    result = model(member({"compute": "a/workers", "rest": "c"}, {"a": 8.0, "c": 50.0}, draws))
    found = compare(result, {"workers": 2}, {"workers": 4})
    assert (found.lower, found.upper) == pytest.approx((-2.0, -2.0))


def test_two_models() -> None:
    # One of 8/4 + 1 = 3 s, one of 1·4 = 4 s with a network term that the first does not have; draws apart.
    a = model(member({"compute": "a/workers", "rest": "c"}, {"a": 8.0, "c": 1.0}, [[8.0, c] for c in (0.5, 1.5)]))
    b = model(member({"network": "b*workers"}, {"b": 1.0}, [[0.5], [1.5]]))
    found = compare(a, {"workers": 4}, {"workers": 4}, other=b, names=("first", "second"))
    assert found.terms.set_index("term")["change"].to_dict() == pytest.approx(
        {"network": 4.0, "compute": -2.0, "rest": -1.0}
    )
    # −2 − (0.5 or 1.5) + (2 or 6): from −1.5 to 3.5.
    assert (found.lower, found.upper) == pytest.approx((-1.5, 3.5), abs=0.01)
    assert found.sentence.startswith("second takes 1 s longer than first")


def test_the_same_is_not_compared() -> None:
    with pytest.raises(GenperfError, match="both configurations are the same"):
        compare(model(member(TERMS, {"a": 16.0, "b": 0.5})), {"workers": 2}, {"workers": 2})
