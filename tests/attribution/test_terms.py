"""Seconds and shares of terms against cases worked by hand."""

from dataclasses import replace

import numpy as np
import pandas as pd
import pytest
from discrepancies import stacked, walk_along
from worked_models import BATCH, WORKERS, member, model

from genperf.attribution import explain
from genperf.attribution.terms import FORM, HIDDEN
from genperf.discrepancy import Axis
from genperf.errors import GenperfError

AMDAHL = {"serial": "c", "parallel": "a/workers"}


def test_a_sum_is_its_terms() -> None:
    # T(4) = 1 + 8/4 = 3.
    found = explain(model(member(AMDAHL, {"c": 1.0, "a": 8.0})), {"workers": 4}).terms
    assert found["term"].tolist() == ["serial", "parallel"]
    assert found["seconds"].tolist() == pytest.approx([1.0, 2.0])
    assert found["share"].tolist() == pytest.approx([1 / 3, 2 / 3])


def test_nothing_given_is_the_centre() -> None:
    asked = model(member(AMDAHL, {"c": 1.0, "a": 8.0}))
    assert explain(asked, {}).terms.equals(explain(asked).terms)


def test_intervals_are_those_of_the_draws() -> None:
    # a from 4 to 12, evenly: the middle 80 % of a/4 is 1.2 to 2.8.
    draws = [[1.0, a] for a in np.linspace(4, 12, 401)]
    found = explain(model(member(AMDAHL, {"c": 1.0, "a": 8.0}, draws)), {"workers": 4}, interval=0.8).terms
    assert found[["lower", "upper"]].to_numpy() == pytest.approx(np.array([[1.0, 1.0], [1.2, 2.8]]), abs=0.01)


def test_what_overlaps_is_hidden() -> None:
    # Backward 2 s, communication 3 s, at the same time; forward 1 s: T = 1 + max(2, 3) = 4 and 2 s are hidden.
    hides = member(
        {"forward": "a", "backward": "2*a", "communication": "b*workers"},
        {"a": 1.0, "b": 0.75},
        total="forward + max(backward, communication)",
    )
    found = explain(model(hides), {"workers": 4}).terms.set_index("term")
    assert found["seconds"].to_dict() == pytest.approx(
        {"forward": 1.0, "backward": 2.0, "communication": 3.0, HIDDEN: -2.0}
    )
    assert found["share"].sum() == pytest.approx(1.0)


def test_members_count_by_weight() -> None:
    # At 4 workers the first says 1 + 2 = 3 s, the second 2 + 10 = 12 s; their mean by weight ½ is √36 = 6 s.
    # Shares: serial ½·⅓ + ½·⅙ = ¼, parallel ½·⅔ = ⅓, tree ½·10/12 = 5/12; times 6 s: 1.5, 2 and 2.5 s.
    first = member(AMDAHL, {"c": 1.0, "a": 8.0}, weight=0.5, label="first")
    second = member({"serial": "c", "tree": "b*log2(workers)"}, {"c": 2.0, "b": 5.0}, weight=0.5, label="second")
    found = explain(model(first, second), {"workers": 4})
    assert found.terms["term"].tolist() == ["serial", "parallel", "tree"]
    assert found.terms["seconds"].tolist() == pytest.approx([1.5, 2.0, 2.5])
    assert found.terms["share"].tolist() == pytest.approx([1 / 4, 1 / 3, 5 / 12])
    alone = found.members.set_index(["member", "term"])["seconds"].to_dict()
    expected = {("first", "serial"): 1, ("first", "parallel"): 2, ("second", "serial"): 2, ("second", "tree"): 10}
    assert alone == pytest.approx(expected)
    # Of the second's draws none has a parallel part: its interval reaches from none to the first's 2 s.
    assert found.terms.loc[1, ["lower", "upper"]].tolist() == pytest.approx([0.0, 2.0])


def test_the_part_that_no_term_explains_is_the_form_error() -> None:
    # The curve is flat, and the measurements say 2 s at 1, 2 and 4 workers where its constant says 1 s.
    anchors = [1.0, 2.0, 4.0]
    walk = walk_along("workers", anchors, np.full(3, np.log(2.0)))
    found = explain(model(member({"constant": "c"}, {"c": 1.0}, discrepancy=walk)), {"workers": 4}).terms.set_index(
        "term"
    )
    assert found["seconds"].to_dict() == pytest.approx({"constant": 1.0, FORM: 1.0}, rel=1e-3)
    assert found["share"].sum() == pytest.approx(1.0)
    assert found.loc[FORM, "lower"] <= 1.0 <= found.loc[FORM, "upper"]


def test_what_the_process_adds_is_form_error() -> None:
    # At 4 workers every time is measured twice as long as 1 + 8/4 = 3 s; far from there the expression speaks alone.
    (process,) = stacked({"workers": [4.0]}, np.log([2.0]), [Axis("workers", "ln", 0.0, 1.0 / np.log(2.0))])
    amdahl = replace(member(AMDAHL, {"c": 1.0, "a": 8.0}), process=process)
    found = explain(model(amdahl), {"workers": 4})
    assert found.terms.set_index("term")["seconds"].to_dict() == pytest.approx({"serial": 1, "parallel": 2, FORM: 3})
    # From 4/√2 to 4·√2 workers the terms fall from 1 + 2·√2 to 1 + √2 s, and the process is the same at both.
    assert found.elasticities["elasticity"][0] == pytest.approx(np.log2((1 + 2**0.5) / (1 + 2**1.5)))
    assert found.elasticities["method"][0] == "slope"


def test_the_form_error_is_as_sure_as_the_process() -> None:
    # One residual of ln 2 that is believed by half; σ² = 0.01 of which half is left: T = 3·√2·exp(±0.071·z), and the
    # terms have no interval of their own.
    axis = Axis("workers", "ln", 0.0, 1.0)
    (process,) = stacked({"workers": [4.0]}, np.log([2.0]), [axis], local=0.1, noise=0.1)
    amdahl = member(AMDAHL, {"c": 1.0, "a": 8.0}, np.tile([1.0, 8.0], (200, 1)).tolist())
    terms = explain(model(replace(amdahl, process=process)), {"workers": 4}).terms.set_index("term")
    assert terms.loc["serial", ["lower", "upper"]].tolist() == pytest.approx([1.0, 1.0])
    ends = 3.0 * np.sqrt(2.0) * np.exp(np.sqrt(0.005) * 1.645 * np.array([-1.0, 1.0])) - 3.0
    assert terms.loc[FORM, ["lower", "upper"]].to_numpy(float) == pytest.approx(ends, rel=0.02)


def test_of_a_stack_one_expression_serves() -> None:
    # The heaviest that has several terms; what it does not explain is a row of its own.
    processes = stacked({"workers": [4.0]}, [0.0], [Axis("workers", "ln", 0.0, 1.0)], weights=(0.6, 0.4))
    flat = member({"constant": "c"}, {"c": 3.0}, weight=0.6)
    members = [flat, member(AMDAHL, {"c": 1.0, "a": 8.0}, weight=0.4)]
    whole = model(*(replace(m, process=p) for m, p in zip(members, processes, strict=True)))
    terms = explain(whole, {"workers": 4}).terms
    assert terms["term"].tolist() == ["serial", "parallel", FORM]
    assert terms["seconds"].sum() == pytest.approx(whole.predict({"workers": [4]}).time[0])


def test_terms_that_trade_against_each_other_are_aliased() -> None:
    trading = [[c, 8.0 - 4.0 * c] for c in np.linspace(0, 2, 50)]
    free = np.random.default_rng(0).uniform(0, 2, (50, 2))
    at = {"workers": 4}
    assert explain(model(member(AMDAHL, {"c": 1.0, "a": 4.0}, trading)), at).aliased == (("serial", "parallel"),)
    assert explain(model(member(AMDAHL, {"c": 1.0, "a": 1.0}, free.tolist())), at).aliased == ()
    # A member of weight in which they can be told apart is heard.
    both = [member(AMDAHL, {"c": 1.0, "a": 1.0}, d, weight=0.5) for d in (trading, free.tolist())]
    assert explain(model(*both), at).aliased == ()


def test_factors_left_out_are_at_their_centre() -> None:
    found = explain(model(member({"work": "a*batch"}, {"a": 0.5}), factors=(WORKERS, BATCH)), {"workers": 2}).terms
    assert found[["batch", "seconds"]].to_numpy().tolist() == [[32.0, 16.0]]


def test_a_factor_may_be_called_like_a_column_of_the_table() -> None:
    found = explain(model(member({"work": "a*share"}, {"a": 0.5}), factors=(_named("share"),)), {"share": 2})
    assert found.terms["share"].tolist() == [1.0]
    assert "<b>" not in explain(model(member({"<b>": "a*workers"}, {"a": 0.5})), {"workers": 2})._repr_html_()


def test_many_configurations() -> None:
    counts = np.arange(1, 461)
    found = explain(model(member(AMDAHL, {"c": 1.0, "a": 8.0})), pd.DataFrame({"workers": counts})).terms
    assert found["seconds"].to_numpy()[1::2] == pytest.approx(8.0 / counts)


@pytest.mark.parametrize("options", [{"knee": True}, {"versus": {"workers": 8}}])
def test_what_asks_about_one_configuration_refuses_several(options: dict) -> None:
    with pytest.raises(GenperfError, match="one configuration, not 2"):
        explain(
            model(member({"w": "a*batch/workers"}, {"a": 1.0}), factors=(WORKERS, BATCH)), {"batch": [8, 16]}, **options
        )


def _named(name: str):
    from msgspec.structs import replace

    return replace(WORKERS, name=name)
