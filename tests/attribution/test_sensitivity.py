"""Elasticities, sensitivities and comparisons of configurations, of times and of memory."""

import numpy as np
import pandas as pd
import pytest
from discrepancies import walk_along
from msgspec.structs import replace
from worked_models import BATCH, FRAMEWORK, NODES, WORKERS, member, model

import genperf as gp
from genperf.attribution import Knee, Sobol, compare, explain, sensitivity
from genperf.attribution.draws import curves_of
from genperf.errors import GenperfError
from genperf.panel.panel import Target
from genperf.prediction import Member
from genperf.result import FitResult

X, Y = (replace(BATCH, name=name, lower=1.0, upper=16.0, integer=False) for name in "xy")


def indices(found) -> dict:
    return found.indices.set_index("factor")[["first", "total"]].T.to_dict("list")


def test_of_a_sum_they_are_the_shares_of_the_variances() -> None:
    # x and 2·y over the same range: variances 1 : 4, and nothing together.
    found = indices(sensitivity(model(member({"x": "a*x", "y": "b*y"}, {"a": 1.0, "b": 2.0}), factors=(X, Y))))
    assert found == {"x": pytest.approx([0.2, 0.2], abs=0.02), "y": pytest.approx([0.8, 0.8], abs=0.02)}


def test_of_a_product_what_they_do_together_is_in_the_total() -> None:
    # x·y: with c² = Var/E² of each, first = c²/(2c² + c⁴), total = (c² + c⁴)/(2c² + c⁴). Evenly over ln x from 1 to 16,
    # E = 15/ln 16, E[x²] = 255/(2·ln 16).
    mean, square = 15 / np.log(16), 255 / (2 * np.log(16))
    c = square / mean**2 - 1
    expected = [c / (2 * c + c * c), (c + c * c) / (2 * c + c * c)]
    product = model(member({"xy": "a*x*y"}, {"a": 1.0}), factors=(X, Y))
    found = indices(sensitivity(product, Sobol(seed=3)))
    assert found == indices(sensitivity(product, Sobol(seed=3))) != indices(sensitivity(product, Sobol(seed=4)))
    assert found == {"x": pytest.approx(expected, abs=0.03), "y": pytest.approx(expected, abs=0.03)}
    # The logarithm of a product is a sum: halves, nothing together.
    assert indices(sensitivity(product, Sobol("log")))["x"] == pytest.approx([0.5, 0.5], abs=0.02)


def test_levels_vary_too() -> None:
    # 1 s or 3 s by framework (variance 1), and x over 1 to 2 evenly in ln x.
    terms = {"f": "a*where(framework == 'pytorch', 3, 1)", "x": "b*x"}
    result = model(member(terms, {"a": 1.0, "b": 1.0}, texts=("framework",)), factors=(X, FRAMEWORK))
    mean, square = 1 / np.log(2), 3 / (2 * np.log(2))
    share = 1 / (1 + square - mean**2)
    found = indices(sensitivity(result, Sobol(within={"x": (1, 2)})))
    assert found["framework"] == pytest.approx([share, share], abs=0.02)
    assert found["x"] == pytest.approx([1 - share, 1 - share], abs=0.02)


def test_nodes_follow_the_workers_and_what_has_no_effect_is_said() -> None:
    result = model(member({"n": "a*workers + b*nodes"}, {"a": 1.0, "b": 1.0}), factors=(WORKERS, NODES, X))
    found = sensitivity(result)
    assert found.indices["factor"].tolist() == ["workers"]
    assert found.notes == ("follows from the count of workers: nodes", "without effect in this model: x")
    assert indices(found)["workers"] == pytest.approx([1.0, 1.0], abs=0.03)


def test_intervals_do_not_narrow_with_the_points() -> None:
    # Errors of rows are drawn apart, also where there are too many for a covariance between all of them.
    rows = pd.DataFrame([(n, b) for n in (1.0, 2.0, 4.0, 8.0) for b in (8.0, 16.0, 32.0, 64.0)], columns=["n", "batch"])
    rows["s"] = (0.2 + 0.01 * rows.batch + 0.05 * rows.n) * np.exp(0.05 * np.random.default_rng(0).standard_normal(16))
    result = gp.fit(gp.read_table(rows, time="s", intrinsic="batch", extrinsic="n"), seed=0)
    tables = [sensitivity(result, Sobol(samples=samples)).indices.set_index("factor") for samples in (256, 2048)]
    few, many = (table["total_upper"] - table["total_lower"] for table in tables)
    assert (many > 0.7 * few).all()
    assert (many > 0.02).any()


# --- elasticities against cases worked by hand -----------------------------------------------------------------------


POWER = member({"work": "a*batch**p/workers"}, {"a": 3.0, "p": 0.7})
#: The curve is flat, the measurements double from 1 to 2 workers.
WALK = walk_along("workers", [1.0, 2.0], np.log([1.0, 2.0]), step=1.0, noise=1e-6)
#: T doubles with the second worker and is constant from there on: the derivative at one worker is zero.
SECOND = member({"t": "c*exp(d*where(workers > 1, 1, 0))"}, {"c": 1.0, "d": np.log(2.0)})
#: Nodes of 4: at 2 workers one node, at 4 one, at 8 two: doubling 4 doubles the time, doubling 2 does nothing.
STEPS = member({"nodes": "a*ceil(workers/4)"}, {"a": 2.0})
BOTH_WAYS = [member({"t": "a*workers**p"}, {"a": a, "p": p}, weight=w) for a, p, w in ((1, 1.0, 0.25), (5, -1.0, 0.75))]


@pytest.mark.parametrize(
    ("members", "workers", "elasticity", "method"),
    [
        ([POWER], 3, -1.0, "derivative"),
        # T = 1 + 8/n at 8: half of it falls as 1/n.
        ([member({"c": "c", "a": "a/workers"}, {"c": 1.0, "a": 8.0})], 8, -0.5, "derivative"),
        (BOTH_WAYS, 7, -0.5, "derivative"),
        ([STEPS], 4, 1.0, "doubling"),
        ([STEPS], 2, 0.0, "doubling"),
        ([member({"constant": "c*workers**0"}, {"c": 1.0}, discrepancy=WALK)], 1, 1.0, "doubling"),
        ([SECOND], 1, 1.0, "doubling"),
        ([SECOND], 4, 0.0, "derivative"),
    ],
    ids=[
        "a power", "a sum", "the mean of members", "a step", "no step", "measurements", "alone to together", "together",
    ],
)  # fmt: skip
def test_elasticities(members: list[Member], workers: int, elasticity: float, method: str) -> None:
    found = explain(model(*members, factors=(WORKERS, BATCH)), {"workers": workers, "batch": 16})
    rows = found.elasticities.set_index("factor")
    assert rows.loc["workers", ["elasticity", "method"]].tolist() == [pytest.approx(elasticity, abs=1e-3), method]
    assert ("doubling" in " ".join(found.notes)) == (method == "doubling")
    assert rows["elasticity"].get("batch", 0.7) == pytest.approx(0.7)


# --- a against B, worked by hand -------------------------------------------------------------------------------------

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
    assert found.sentence == ("workers=8 takes 3 s less than workers=2; 'compute' changes by -6 s")


def test_nodes_follow_the_workers_unless_they_are_given() -> None:
    result = model(member({"network": "a*nodes"}, {"a": 1.0}), factors=(WORKERS, NODES))
    assert explain(result, {"workers": 4}, versus={"workers": 16}).comparison.change == pytest.approx(3.0)  # type: ignore[union-attr]
    held = {"workers": 4, "nodes": 2}
    # Two nodes of four hold 8 workers, and 16 fill four.
    changes = [explain(result, held, versus={"workers": n}).comparison.change for n in (8, 16)]  # type: ignore[union-attr]
    assert changes == pytest.approx([0.0, 2.0])


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
    told = "second takes 1 s longer than first (90 %: -1.5 to 3.5 s); which is faster is not determined"
    assert found.sentence == told
    # Shares of a difference that may be none would mislead.
    (_, table), *_ = found.content
    assert [*table] == ["term", "first", "second", "change (s)", "lower", "upper"]


# --- a model of memory: its name and unit everywhere, and no word of times -------------------------------------------

MEMORY = Target("peak", "memory_gb", "GB")


def memory(**constants: float) -> FitResult:
    """Return M = w + a·batch + s/workers, in GB."""
    values = {"w": 4.0, "a": 0.25, "s": 16.0, **constants}
    terms = {"weights": "w", "activations": "a*batch", "states": "s/workers"}
    return model(member(terms, values), factors=(WORKERS, BATCH), target=MEMORY)


def test_parts_are_in_a_column_of_the_quantity_and_no_word_is_of_times() -> None:
    # At 4 workers of 8 samples: 4 + 2 + 4 = 10 GB.
    at, options = {"workers": 4, "batch": 8}, {"knee": Knee(kind="weak", upto=32), "versus": {"workers": 8}}
    found = explain(memory(), at, sobol=Sobol(samples=64), **options)
    assert found.terms["memory_gb"].tolist() == pytest.approx([4.0, 2.0, 4.0])
    assert "memory_gb (GB)" in str(found)
    assert found.to_dict()["quantity"] == {"name": "memory_gb", "unit": "GB"}
    text = f"{found} {found._repr_html_()} {found.to_dict()}".replace("need a model of a time", "")
    assert not [word for word in ("seconds", "time", "slower", "longer") if word in text]


def test_what_needs_a_time_is_left_out_with_one_sentence() -> None:
    # 18/n is above 4 up to 4 workers.
    found = explain(memory(s=18.0), {"workers": 4, "batch": 8}, knee=True).scaling
    assert list(found.curve.columns) == ["workers", "memory_gb", "lower", "upper", "verdict"]
    assert found.points.empty
    assert [line for line in found.content if isinstance(line, str)] == [
        "efficiency, speed-up, knee and throughput are left out: they need a model of a time, and this one predicts "
        "memory_gb (GB)",
        "beyond 64 workers the verdict is extrapolating-blind: do not rely on it",
        "the largest term changes from 'states' to 'weights' at 5 workers",
    ]
    assert found.to_dict()["best"] is None


def test_a_comparison_in_words() -> None:
    # 16/4 → 16/8: 2 GB less.
    found = compare(memory(), {"workers": 4}, {"workers": 8})
    assert found.sentence == ("memory_gb is 2 GB smaller at workers=8 than at workers=4; 'states' changes by -2 GB")
    assert found.to_dict()["a"]["memory_gb"] == pytest.approx(found.value_a)


def test_two_quantities_are_not_compared() -> None:
    times = model(member({"weights": "w"}, {"w": 4.0}))
    with pytest.raises(GenperfError, match="different quantities"):
        compare(memory(), {"workers": 4}, {"workers": 4}, other=times)


def test_what_the_constants_took_up_of_the_form_is_not_counted_twice() -> None:
    # A square that bends is fitted by a power: the error of its form is smooth, and constants follow it.
    x = np.geomspace(1.0, 64.0, 13)
    runs = pd.DataFrame({"x": np.repeat(x, 2), "f": ["a", "b"] * 13})
    rng = np.random.default_rng(0)
    runs["s"] = (1.0 + 0.02 * runs.x**2) * np.where(runs.f == "b", 1.3, 1.0) * np.exp(0.02 * rng.standard_normal(26))
    table = gp.read_table(runs, time="s", intrinsic="x", categorical="f")
    result = gp.fit(table, "c*x**p*where(f == 'b', d, 1)", draws=100)
    (power,), size = result.members, result.spread.form
    assert size > 0.05
    columns = result.query(pd.DataFrame({"x": x, "f": "a"})).columns
    drawn = curves_of(result, columns).paths.std(axis=0)
    apart = np.hypot(power.log_draws(columns).std(axis=0), size)
    assert np.all(drawn < apart)
    assert drawn.mean() < 0.95 * apart.mean()
    # Far from the runs nothing cancels.
    (root,) = curves_of(result, result.query({"x": 1e6, "f": "a"}).columns).members[0].root
    assert root @ root == pytest.approx(size**2)
