"""Results, and the model file."""

import dataclasses
import json
import re
from collections.abc import Callable
from pathlib import Path
from typing import Any

import msgspec
import numpy as np
import pandas as pd
import pytest
from discrepancies import stacked, walk_along
from helpers import cases_in_text, runs_of
from msgspec.structs import replace

import genperf as gp
from genperf.attribution import written_lines
from genperf.attribution.equation import level_exponents
from genperf.discrepancy import Beyond, Extrapolation, KernelAxis, Process
from genperf.errors import ModelError, TableError
from genperf.models.generic import STRUCTURES
from genperf.result import FitResult, GroupedResult, dump_model, load_model, parse_model, save_model


def runs(scale: float = 1.0) -> pd.DataFrame:
    levels = {"gpu count": (1, 2, 4, 8), "batch": (8, 16), "framework": ("mxnet", "tensor <flow>")}
    law = lambda f: 0.1 + 0.01 * f.batch + 0.02 * np.log2(f["gpu count"]) * (1 + (f.framework == "mxnet"))  # noqa: E731
    return runs_of(lambda f: scale * law(f), levels, noise=0.01)


@pytest.fixture(scope="module")
def result() -> FitResult:
    table = gp.read_table(runs(), time="s", extrinsic="gpu count", intrinsic="batch", categorical="framework")
    return gp.fit(table, model="generic", structure="separable", draws=20)


def test_round_trip_predicts_the_same(result: FitResult) -> None:
    text = dump_model(result)
    again = parse_model(text)
    asked = {"gpu count": [16, 32], "batch": 8, "framework": "mxnet"}
    pd.testing.assert_frame_equal(again.predict(asked), result.predict(asked), check_exact=True)
    assert dump_model(again) == text
    # Only finite numbers; a name is not compared with zero.
    read = json.loads(text, parse_constant=pytest.fail)
    (net,) = [f for f in model_of(read)["table"]["factors"] if f["role"] == "categorical"]
    net["positive"] = True
    parse_model(json.dumps(read))
    # Printed: what it was fitted to, its formula, and constants in their intervals.
    assert str(result).startswith("generic: fitted to 16 configurations of DataFrame; held-out error")
    assert str(result).splitlines()[1].startswith("time = ")
    constants = result.constants()
    assert (constants.lower <= constants.upper).all()


def test_grouped_round_trip(tmp_path: Path) -> None:
    frame = pd.concat([runs().assign(net="a"), runs(2).assign(net="b"), runs().assign(net="c")[:1]])
    table = gp.read_table(frame, time="s", extrinsic="gpu count", intrinsic="batch", group="net")
    fitted = gp.fit(table, model="power-law", mapping={"workers": "gpu count"}, draws=10)
    assert set(fitted.failures) == {("c",)}
    save_model(fitted, tmp_path / "m.json")
    again = load_model(tmp_path / "m.json")
    assert again.failures == fitted.failures
    asked = pd.DataFrame({"net": ["b", "a"], "gpu count": [16, 16], "batch": [8, 8]})
    out = again.predict(asked)
    assert out["net"].tolist() == ["b", "a"]
    pd.testing.assert_frame_equal(out, fitted.predict(asked), check_exact=True)
    with pytest.raises(gp.GenperfError, match="group c was not fitted"):
        again.predict(asked.assign(net="c"))
    with pytest.raises(gp.GenperfError, match="there is no group d"):
        again.predict(asked.assign(net="d"))


def refused_after(change: Callable[[Any], None], result: FitResult) -> str:
    """Return what is said of a file that was changed."""
    read = json.loads(dump_model(result))
    change(read)
    with pytest.raises(ModelError) as caught:
        parse_model(json.dumps(read), "m.json")
    return str(caught.value)


def model_of(read: Any) -> Any:
    return read["groups"][0]["model"]


@pytest.fixture(scope="module")
def stack(result: FitResult) -> FitResult:
    """Two members with processes about them."""
    anchors: Any = {"gpu count": [1.0, 8.0, 8.0], "framework": ["mxnet", "mxnet", "tensor <flow>"]}
    axes = (KernelAxis("`gpu count`", "ln", 0.1, 0.3, walk=0.1, step=0.1), KernelAxis("framework", "level", 0.2, 1.25))
    processes = stacked(anchors, [0.1, -0.2, 1 / 3], axes, size=2.0, local=0.1, noise=0.05, weights=(0.4, 0.6))
    beyond = (Beyond("`gpu count`", 8.0, (0.9, 0.1), 1.5),)
    whole = msgspec.structs.replace(processes[0].stack, beyond=beyond)
    members = (replace(result.best, weight=p.stack.parts[p.place].weight) for p in processes)
    return dataclasses.replace(
        result, members=tuple(replace(m, process=Process(whole, k)) for k, m in enumerate(members))
    )


def test_a_stack_is_written_once(stack: FitResult) -> None:
    text = dump_model(stack)
    again = parse_model(text)
    processes = [m.process for m in again.members]
    assert processes[0].stack is processes[1].stack
    request = {"gpu count": [1, 3, 64], "batch": 8, "framework": ["mxnet", "tensor <flow>"]}
    pd.testing.assert_frame_equal(again.predict(request), stack.predict(request), check_exact=True)
    assert dump_model(again) == text


BROKEN_STACKS: list[tuple[Callable[[dict[str, Any]], None], str]] = [
    (lambda s: s["anchors"].update(batch=s["anchors"].pop("framework")), "stack.anchors"),
    (lambda s: s["anchors"].update(unheard=[1.0, 2.0, 3.0]), "stack.anchors"),
    (lambda s: s["anchors"].update({"gpu count": [1.0, 8.0]}), "stack.anchors: they are not of one length"),
    (lambda s: s["anchors"].update({"gpu count": [1.0, 8.0, 0.0]}), "'`gpu count`' has no logarithm at an anchor"),
    (lambda s: s.update(parts=s["parts"][:1]), "stack.parts: they do not match the members"),
    (lambda s: s.update(width=0.0), "stack.width: expected `float` > 0.0"),
    (lambda s: s["parts"][0].update(noise=0.0), "stack.parts[0].noise: expected `float` > 0.0"),
    (lambda s: s["parts"][0].update(factors=[1.0, 1.0, 0.0]), "not above zero"),
    (lambda s: s["beyond"][0].update(common=-0.1), "stack.beyond[0].common: expected `float` >= 0.0"),
    (lambda s: s["parts"][0].update(residuals=[1e6, 0.0, 0.0]), "stack.parts.residuals"),
    (lambda s: s["parts"][0]["kernel"].update(size=-1.0), "kernel.size: expected `float` > 0.0"),
    (lambda s: s["parts"][0]["kernel"].update(axes=[]), "the axes do not match"),
    (lambda s: s["parts"][0]["kernel"]["axes"][1].update(scale="ln"), "the axis 'framework' does not match"),
    (lambda s: s["parts"][0]["kernel"]["axes"][0].update(formula="__import__('os')"), "formula"),
    (lambda s: s["parts"][0]["kernel"].update(size=1e40), "a covariance has no square root"),
    (lambda s: s["beyond"][0].update(factor="framework"), "no number of the anchors"),
    (lambda s: s["beyond"][0].update(weights=[1.0]), "do not match the parts"),
]


@pytest.mark.parametrize(("change", "said"), BROKEN_STACKS)
def test_a_stack_that_does_not_fit_is_refused(stack: FitResult, change: Callable[[Any], Any], said: str) -> None:
    assert said in refused_after(lambda read: change(model_of(read)["stack"]), stack)


@pytest.fixture
def walks(result: FitResult) -> FitResult:
    """Two members with a discrepancy each, which differ in their scales alone."""
    near = walk_along("gpus", [1.0, 8.0], [0.1, -0.2], scales=np.ones(len(result.best.draws)))
    anchors = {
        "gpu count": np.array([1.0, 8.0]),
        "batch": np.full(2, 8.0),
        "framework": np.array(["mxnet"] * 2, object),
    }
    beyond = Extrapolation(("`gpu count`",), "1", 0.0)
    kernel = msgspec.structs.replace(near.kernel, axes=("`gpu count`",))
    near = msgspec.structs.replace(near, kernel=kernel, anchors=anchors, extrapolation=beyond)
    best = replace(result.best, weight=0.5, discrepancy=near)
    wider = msgspec.structs.replace(near, scales=2.0 * near.scales)
    return dataclasses.replace(result, members=(best, replace(best, discrepancy=wider)))


def test_what_discrepancies_have_alike_is_written_once(walks: FitResult) -> None:
    text = dump_model(walks)
    first, second = json.loads(text)["groups"][0]["model"]["discrepancies"]
    assert set(first) - set(second) == {"kernel", "anchors", "logarithms", "variances", "extrapolation"}
    again = parse_model(text)
    request = {"gpu count": [1, 3, 64], "batch": 8, "framework": "mxnet"}
    pd.testing.assert_frame_equal(again.predict(request), walks.predict(request), check_exact=True)
    assert dump_model(again) == text
    # A file that holds each whole is read.
    read = json.loads(text)
    model_of(read)["discrepancies"][1] = {**first, **second}
    assert dump_model(parse_model(json.dumps(read))) == text


BROKEN: list[tuple[Callable[[dict[str, Any]], None], str]] = [
    (lambda d: d["anchors"].update(unheard=[1.0, 2.0]), "discrepancies.anchors"),
    (lambda d: d["anchors"].update({"gpu count": [1.0]}), "discrepancies.anchors"),
    (lambda d: d["anchors"].update({"gpu count": [1.0, 0.0]}), "an anchor's 'gpu count' is not above zero"),
    (lambda d: d["anchors"]["framework"].update(places=[0, 1]), "anchors[...]: expected places of the labels"),
    (lambda d: d.update(anchors={}), "discrepancies.anchors"),
    (lambda d: d.update(logarithms=[]), "discrepancies.anchors"),
    (lambda d: d.update(logarithms=[0.1, None]), "logarithms: expected"),
    (lambda d: d.update(logarithms={"shape": [3], "float32": "AACAPw=="}), "logarithms: expected 3 finite numbers"),
    (lambda d: d.update(logarithms={"shape": [-3], "float32": "AAAA"}), "logarithms: expected the lengths"),
    (lambda d: d.update(scales=[-1.0]), "discrepancies.scales"),
    (lambda d: d.update(noise=0.0), "discrepancies.scales"),
    (lambda d: d["kernel"].update(type="surprise"), "kernel.type: invalid value 'surprise'"),
    (lambda d: d.pop("variances"), "discrepancies.variances: it is missing"),
    (lambda d: d["anchors"].pop("batch"), "discrepancies.anchors: 'batch' is not among them, and a term reads it"),
]


@pytest.mark.parametrize(("change", "said"), BROKEN)
def test_a_discrepancy_that_does_not_fit_is_refused(walks: FitResult, change: Callable[[Any], Any], said: str) -> None:
    message = refused_after(lambda read: change(model_of(read)["discrepancies"][0]), walks)
    assert "not a whole model file" in message
    assert said in message


def test_a_member_of_a_discrepancy_that_is_not_there_is_refused(walks: FitResult) -> None:
    said = refused_after(lambda read: model_of(read)["members"][1].update(discrepancy=2), walks)
    assert "members.discrepancy: there is none at this place" in said


# --- what results predict: of one model and of groups, as columns and as a DataFrame ---------------------------------

#: T = (1 + 8/workers)·twice, twice 1 for a and 2 for b.
RUNS = pd.DataFrame(
    [(g, n, k * (1 + 8 / n)) for g, k in (("a", 1), ("b", 2)) for n in (1, 2, 4)], columns=["net", "n", "s"]
)


@pytest.fixture(scope="module")
def groups() -> GroupedResult:
    return gp.fit(gp.read_table(RUNS, time="s", extrinsic="n", group="net"), "a/n + c")


def test_rows_of_groups_come_back_as_they_were_asked(groups: GroupedResult) -> None:
    asked = pd.DataFrame(
        {"n": [8, 8, 1], "day": pd.to_datetime(["2020-01-01"] * 3), "net": ["b", "a", "b"]}, index=[4, 4, 2]
    )
    found = groups.predict(asked)
    assert list(found.columns) == ["net", "n", "day", "time", "lower", "upper", "verdict", "reason", "fits"]
    assert found.index.tolist() == [4, 4, 2]
    assert found["net"].tolist() == ["b", "a", "b"]
    assert found["day"].dtype == asked["day"].dtype
    np.testing.assert_allclose(found["time"], [4.0, 2.0, 18.0], rtol=1e-3)


def test_without_group_columns_every_group_is_asked_for_every_row(groups: GroupedResult) -> None:
    found = groups.predict({"n": [1, 8]})
    assert list(zip(found["net"], found["n"], strict=True)) == [("a", 1.0), ("a", 8.0), ("b", 1.0), ("b", 8.0)]
    np.testing.assert_allclose(found["time"], [9.0, 2.0, 18.0, 4.0], rtol=1e-3)


@cases_in_text("text, said")
def test_a_file_for_groups_is_refused_at_its_line(groups: GroupedResult, tmp_path: Path, text: str, said: str) -> None:
    file = tmp_path / "asked.csv"
    file.write_text(text)
    with pytest.raises(TableError, match=said):
        groups.predict(file)
    with pytest.raises(TableError, match="no factor 'nett'"):
        groups.predict({"n": 8, "nett": "a"})
    with pytest.raises(TableError, match="no group was fitted"):
        GroupedResult(("net",), {}, {("a",): "one scale"}).predict({"n": 8})


def test_a_path_and_a_frame_are_fitted_with_their_roles(tmp_path: Path) -> None:
    RUNS.to_csv(tmp_path / "runs.csv", index=False)
    from_path = gp.fit(str(tmp_path / "runs.csv"), "a/n + c", time="s", extrinsic="n", group="net")
    from_frame = gp.fit(RUNS, "a/n + c", time="s", extrinsic="n", group="net")
    asked = {"n": 8, "net": "b"}
    assert from_path.predict(**asked)["time"].item() == from_frame.predict(asked)["time"].item()
    with pytest.raises(gp.GenperfError, match="has its roles already"):
        gp.fit(gp.read_table(RUNS, time="s", extrinsic="n"), extrinsic="n")


def test_values_by_name_are_predicted(groups: GroupedResult) -> None:
    result = groups["a"]
    assert result.predict(n=[1, 8])["time"].tolist() == result.predict({"n": [1, 8]})["time"].tolist()
    for wrong in (lambda: result.predict(), lambda: result.predict({"n": 1}, n=8)):
        with pytest.raises(TableError, match=r"nothing is requested|given twice"):
            wrong()


def test_a_result_explains_itself(groups: GroupedResult, tmp_path: Path) -> None:
    result = groups["a"]
    pd.testing.assert_frame_equal(result.explain({"n": 4}).terms, gp.explain(result, {"n": 4}).terms)
    assert result.report(tmp_path / "page.html").read_text(encoding="utf-8").startswith("<!")
    assert result.plot().axes
    assert repr(groups) == "<GroupedResult 2 groups of net>"
    assert repr(result).startswith("<FitResult a/n + c: fitted to 3 configurations of ")
    assert len(repr(result)) < 160


# --- what constants mean: held in the model file ---------------------------------------------------------------------


def table() -> gp.Table:
    """Runs whose columns end alike: `q_layers` and `layers`, `net` and `sub_net`."""

    def law(f: pd.DataFrame) -> pd.Series:
        power = f.net.map({"a": 0.6, "b": 0.9, "c": 1.2})
        return 0.01 * f.batch**power * (1 + 0.3 * f.layers) / f.q_layers * np.where(f.sub_net == "y", 2.0, 1.0)

    sizes = {"batch": (8, 16, 32, 64), "q_layers": (1, 2, 4), "layers": (1, 2, 4, 8)}
    runs = runs_of(law, sizes | {"net": ("a", "b", "c"), "sub_net": ("x", "y")}, column="t", noise=0.02, sample=120)
    return gp.read_table(runs, time="t", intrinsic="batch,layers", extrinsic="q_layers", categorical="net,sub_net")


@pytest.mark.parametrize("structure", STRUCTURES)
def test_a_file_holds_what_constants_mean(structure: str) -> None:
    result = gp.fit(table(), "generic", structure=structure, draws=5)
    again = parse_model(dump_model(result))
    assert [c.meaning for c in again.best.expression.constants] == [c.meaning for c in result.best.expression.constants]
    assert level_exponents(again) == level_exponents(result)
    assert written_lines(again) == written_lines(result)
    if structure == "grown":
        # A level that differs is told by its meaning.
        pattern = r"^(\w) \(net\): batch exponent (\S+) \(shared (\S+)\)$"
        ((level, exponent, shared),) = re.findall(pattern, level_exponents(result)[0])
        power = {"a": -0.3, "b": 0.0, "c": 0.3}[level]
        assert float(exponent) - float(shared) == pytest.approx(power, abs=0.1)


def test_a_term_may_be_called_as_a_column_of_texts() -> None:
    levels = {"workers": (1, 2, 4, 8), "batch": (8, 16), "server": ("a", "b")}
    table = runs_of(lambda f: np.maximum(0.1 * f.batch + 0.2, 0.3 * f.workers), levels, column="step_s")
    fitted = gp.fit(table, "cntk", time="step_s", extrinsic="workers", intrinsic="batch", categorical="server", draws=5)
    assert "max(compute + overhead, server)" in dump_model(fitted)
    query = {"workers": 16, "batch": 8, "server": "a"}
    assert parse_model(dump_model(fitted)).predict(query).time[0] == pytest.approx(4.8, rel=0.01)
