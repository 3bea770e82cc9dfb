"""Efficiency, knees and crossovers against cases worked by hand."""

import numpy as np
import pytest
from worked_models import BATCH, FRAMEWORK, GLOBAL, NODES, WORKERS, member, model

from genperf.attribution.scaling import first_below, last_smallest, scaling
from genperf.errors import GenperfError, TableError
from genperf.prediction import Spread
from genperf.table import Factor
from genperf.words.scaling import turn_sentence

AMDAHL = {"serial": "c", "parallel": "a/workers"}


def points(found) -> dict:
    return found.points.set_index("what")["count"].to_dict()


def efficiency(found, count: float) -> float:
    return float(found.curve.set_index(found.along)["efficiency"][count])


def test_strong_scaling() -> None:
    # T = 1 + 8/n. E(n) = T(1)/(n·T(n)) = 9/(n + 8): E(4) = ¾, below ½ from 11 on. T falls for ever, as does n·W/T rise.
    found = scaling(model(member(AMDAHL, {"c": 1.0, "a": 8.0})), {}, upto=64, kind="strong")
    assert found.kind == "strong"
    assert efficiency(found, 4) == pytest.approx(0.75)
    assert found.curve.set_index("workers")["speedup"][4] == pytest.approx(3.0)
    assert points(found) == {
        "efficiency": 11,
        "efficiency of the best": 11,
        "slower": pytest.approx(np.nan, nan_ok=True),
        "throughput": pytest.approx(np.nan, nan_ok=True),
    }
    assert turn_sentence(found.turns[2]) == "a step does not get slower up to 64 workers"


def test_weak_scaling() -> None:
    # A batch per worker stays: T = 0.1·32 + 0.4·(n − 1), E(n) = T(1)/T(n) = 3.2/(2.8 + 0.4·n), below ½ beyond n = 9.
    # Throughput n/T rises to its limit; a step is slowest to begin with at once.
    ring = member({"compute": "a*batch", "ring": "b*(workers - 1)"}, {"a": 0.1, "b": 0.4})
    found = scaling(model(ring, factors=(WORKERS, BATCH)), {"batch": 32})
    assert found.kind == "weak"
    assert efficiency(found, 9) == pytest.approx(0.5)
    assert points(found)["efficiency"] == 10
    assert points(found)["slower"] == 1
    assert np.isnan(points(found)["throughput"])
    assert found.at == {"batch": 32}


def test_a_global_batch_is_shared() -> None:
    shared = member({"compute": "a*global_batch/workers"}, {"a": 0.1})
    result = model(shared, factors=(WORKERS, GLOBAL))
    assert scaling(result, {"global_batch": 256}).kind == "strong"
    assert efficiency(scaling(result, {"global_batch": 256}), 16) == pytest.approx(1.0)
    # Grown with the workers, each one's part stays and so does the time.
    weak = scaling(result, {"global_batch": 64}, kind="weak")
    assert weak.kind == "weak"
    assert weak.curve["time"].to_numpy() == pytest.approx(6.4)


def test_a_batch_per_worker_can_be_shared() -> None:
    result = model(member({"compute": "a*batch", "serial": "c"}, {"a": 0.1, "c": 0.8}), factors=(WORKERS, BATCH))
    found = scaling(result, {"batch": 32}, kind="strong")
    # 3.2/n + 0.8: at 4 workers 1.6 s against 4 s, 2.5 times as fast.
    assert found.kind == "strong"
    assert efficiency(found, 4) == pytest.approx(2.5 / 4)


def test_where_more_workers_make_it_slower() -> None:
    # T = 64/n + n has its least at 8, and the rate 1/T its most. E(n) = 65/(64 + n²) is below ½ beyond √66, at 9.
    found = scaling(model(member({"p": "a/workers", "c": "b*workers"}, {"a": 64.0, "b": 1.0})), {}, kind="strong")
    assert points(found) == {"efficiency": 9, "efficiency of the best": 9, "slower": 8, "throughput": 8}


def test_the_best_need_not_be_the_first() -> None:
    found = scaling(model(member({"p": "a/workers", "c": "b*workers"}, {"a": 16.0, "b": 1.0})), {}, kind="weak")
    # Weak scaling of T = 16/n + n: E = 17/(16/n + n), largest at 4, 17/8. Half of that, 17/16, it is below where
    # n + 16/n > 16: beyond n = 8 + √48 = 14.93.
    assert found.best == 4
    assert points(found)["efficiency of the best"] == 15
    # Half of E(1): 16/n + n = 34, n = 17 + √273 = 33.5.
    assert points(found)["efficiency"] == 34


def test_intervals_are_those_of_the_draws() -> None:
    # c from 0.5 to 1.5 evenly, T = c + 8/n, E = (c + 8)/(c·n + 8), below ½ beyond n = 2 + 8/c: for c = 0.6 (the least
    # tenth) 15.33, so 16; for c = 1.4, 7.71, so 8.
    draws = [[c, 8.0] for c in np.linspace(0.5, 1.5, 1001)]
    found = scaling(model(member(AMDAHL, {"c": 1.0, "a": 8.0}, draws)), {}, interval=0.8, kind="strong")
    assert found.points.loc[0, ["lower", "upper"]].tolist() == [8.0, 16.0]
    assert found.points.loc[0, "reached"] == 1.0


def test_not_reached_is_said_with_the_share_of_draws_that_do() -> None:
    # Up to 12, only draws with c > 0.8 come below one half (2 + 8/c < 12).
    draws = [[c, 8.0] for c in np.linspace(0.0, 1.0, 1001)]
    found = scaling(model(member(AMDAHL, {"c": 0.5, "a": 8.0}, draws)), {}, upto=12, kind="strong")
    assert np.isnan(found.points.loc[0, "count"])
    assert found.points.loc[0, "reached"] == pytest.approx(0.2, abs=0.002)
    assert found.points.loc[0, "upper"] == np.inf
    assert "does not fall below 50 % of that at 1 up to 12 workers (a chance of 20 % that it does)" in turn_sentence(
        found.turns[0]
    )
    assert found.to_dict()["points"][0]["count"] is None


def test_the_band_widens_as_that_of_predict_does() -> None:
    result = model(member(AMDAHL, {"c": 1.0, "a": 8.0}, [[1.0, 8.0]] * 500), spread=Spread(per_doubling=0.1))
    curve = scaling(result, {}, upto=64).curve.set_index("workers")
    known = result.predict({"workers": [16, 64]}, band="confidence").set_index("workers")
    assert curve.loc[[16, 64], ["lower", "upper"]].to_numpy() == pytest.approx(
        known[["lower", "upper"]].to_numpy(), rel=0.01
    )


def test_nodes_follow_the_workers_and_a_given_configuration_stands_at_its_count() -> None:
    # 4 workers a node: 16 on 4 nodes. T = nodes.
    result = model(member({"network": "a*nodes"}, {"a": 1.0}), factors=(WORKERS, NODES))
    counts = scaling(result, {"nodes": 2}).curve.set_index("workers")["time"]
    assert [counts[n] for n in (1, 4, 5, 16, 64)] == pytest.approx([1, 1, 2, 4, 16])
    held = scaling(result, {"workers": 5, "nodes": 5}).curve.set_index("workers")["time"]
    assert [held[n] for n in (1, 4, 5, 16)] == pytest.approx([1, 1, 5, 4])


def test_a_global_batch_beside_a_batch_follows_the_workers() -> None:
    result = model(member({"update": "a*global_batch"}, {"a": 1.0}), factors=(WORKERS, BATCH, GLOBAL))
    curve = scaling(result, {"batch": 8, "global_batch": 64}).curve.set_index("workers")
    assert curve["time"][16] == pytest.approx(128.0)


def test_the_largest_term_changes() -> None:
    # 64/n against 2·n: equal at √32 = 5.66, so at 6; with b from 1 to 4, at 8 (beyond which n > 8) to 4.
    terms = {"compute": "a/workers", "network": "b*workers"}
    draws = [[64.0, b] for b in np.geomspace(1.0, 4.0, 1001)]
    found = scaling(model(member(terms, {"a": 64.0, "b": 2.0}, draws)), {}, interval=0.98)
    (sentence,), found = found.crossover_sentences, found.crossovers
    assert found[["before", "after", "count"]].to_numpy().tolist() == [["compute", "network", 6.0]]
    assert found.loc[0, ["lower", "upper"]].tolist() == [5.0, 8.0]
    assert sentence == "the largest term changes from 'compute' to 'network' at 6 workers (98 %: 5 to 8)"


def test_a_largest_term_that_stays_is_said() -> None:
    found = scaling(model(member({"a": "a", "b": "b"}, {"a": 2.0, "b": 1.0})), {}, upto=32, kind="weak")
    assert found.crossover_sentences == ["'a' stays the largest term up to 32 workers"]


def test_a_count_that_no_draw_reaches_is_beyond() -> None:
    rising = member({"a": "a/workers", "b": "b"}, {"a": 8.0, "b": 1.0}, [[8.0, 0.001]] * 4)
    answer = scaling(model(rising), {}, upto=32)
    found = answer.crossovers
    assert found.loc[0, ["count", "lower", "upper", "reached"]].tolist() == [9.0, 9.0, np.inf, 0.0]
    assert answer.crossover_sentences[0].endswith("(90 %: 9 to beyond 32)")


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"level": 1.0}, "between 0 and 1"),
        ({"along": "wrokers"}, "no numeric factor 'wrokers'"),
        ({"along": "framework"}, "no numeric factor 'framework'"),
        ({"upto": 1}, "nothing to look at"),
        ({"kind": "strange"}, "unknown kind of scaling"),
    ],
)
def test_what_cannot_be_asked_is_refused(options: dict, message: str) -> None:
    result = model(member(AMDAHL, {"c": 1.0, "a": 8.0}), factors=(WORKERS, FRAMEWORK))
    with pytest.raises(GenperfError, match=message):
        scaling(result, {"framework": "mxnet"}, **options)


def test_without_a_count_of_workers_there_is_no_scaling() -> None:
    with pytest.raises(TableError, match="no factor of the model counts the workers"):
        scaling(model(member({"w": "a*batch"}, {"a": 1.0}), factors=(BATCH,)), {})


def test_a_count_of_one_value_is_named() -> None:
    one = Factor("workers", "extrinsic", 8.0, 8.0, distinct=1, positive=True)
    with pytest.raises(TableError, match="counts the workers but 'workers', which was measured at 8 only"):
        scaling(model(member({"w": "a*batch"}, {"a": 1.0}), factors=(one, BATCH)), {})


def test_first_below_and_last_smallest() -> None:
    counts = np.array([1.0, 2.0, 4.0, 8.0])
    dips = np.array([[0.0, -3.0, -1.0, -3.0]])
    # Straight over ln n from 0 at 1 to −3 at 2: −2 at 2^(2/3) = 1.59.
    assert first_below(counts, dips, -2.0, False) == pytest.approx([2 ** (2 / 3)])
    assert first_below(counts, dips, -2.0, True).tolist() == [2.0]
    assert first_below(counts, 0.0 * dips, -2.0, True).tolist() == [np.inf]
    # Already below at the first count.
    assert first_below(counts, dips - 5.0, -2.0, True).tolist() == [1.0]
    # Of two equal least values, the larger count.
    assert last_smallest(counts, np.array([[2.0, 1.0, 1.0, 3.0]])).tolist() == [4.0]


def test_an_interval_of_one_value_is_not_printed_and_one_is_singular() -> None:
    # T rises from the first count on, in every draw: a step gets slower beyond one worker.
    result = model(member({"ring": "b*workers"}, {"b": 1.0}))
    assert turn_sentence(scaling(result, {}, kind="strong").turns[2]) == "a step gets slower beyond 1 worker"
