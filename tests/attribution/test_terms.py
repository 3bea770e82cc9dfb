"""Terms of a prediction: their seconds and shares, their labels, overlaps, and the equation that is printed."""

import csv
import io
import itertools
import json
import re
from itertools import product
from pathlib import Path

import numpy as np
import pandas as pd
import pytest
from discrepancies import stacked, walk_along
from helpers import Shell, done, runs_of
from msgspec.structs import replace
from worked_models import BATCH, WORKERS, member, model

import genperf as gp
from genperf.attribution import compare, explain, scaling, written_lines
from genperf.attribution.answers import FORM, Explanation
from genperf.attribution.equation import constants_table, equation
from genperf.attribution.terms import HIDDEN, limit_of
from genperf.discrepancy import KernelAxis
from genperf.errors import GenperfError
from genperf.panel.panel import Target
from genperf.words.limit import SAME_WITH_COMPUTATION, limit_sentence, sum_of_terms

AMDAHL = {"serial": "c", "parallel": "a/workers"}


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
    (process,) = stacked({"workers": [4.0]}, np.log([2.0]), [KernelAxis("workers", "ln", 0.0, 1.0 / np.log(2.0))])
    amdahl = replace(member(AMDAHL, {"c": 1.0, "a": 8.0}), process=process)
    found = explain(model(amdahl), {"workers": 4})
    assert found.terms.set_index("term")["seconds"].to_dict() == pytest.approx({"serial": 1, "parallel": 2, FORM: 3})
    # From 4/√2 to 4·√2 workers the terms fall from 1 + 2·√2 to 1 + √2 s, and the process is the same at both.
    assert found.elasticities["elasticity"][0] == pytest.approx(np.log2((1 + 2**0.5) / (1 + 2**1.5)))
    assert found.elasticities["method"][0] == "slope"


def test_an_elasticity_does_not_have_what_each_value_has_for_itself() -> None:
    # Each value has an effect of its own, and each configuration: predictions have it, a slope does not.
    axis = KernelAxis("workers", "ln", 0.0, 1.0, each=0.2)
    (process,) = stacked({"workers": [4.0]}, [0.0], [axis], size=1.0, local=0.2)
    result = model(replace(member(AMDAHL, {"c": 1.0, "a": 8.0}), process=process))
    slope = explain(result, {"workers": 40}).elasticities.iloc[0]
    assert slope[["lower", "upper"]].tolist() == pytest.approx([slope["elasticity"]] * 2)
    longer = compare(result, {"workers": 28}, {"workers": 57})
    assert longer.upper - longer.lower > 0.5 * abs(longer.change)


def test_of_a_stack_one_expression_serves() -> None:
    # The heaviest that has several terms; what it does not explain is a row of its own.
    processes = stacked({"workers": [4.0]}, [0.0], [KernelAxis("workers", "ln", 0.0, 1.0)], weights=(0.6, 0.4))
    flat = member({"constant": "c"}, {"c": 3.0}, weight=0.6)
    members = [flat, member(AMDAHL, {"c": 1.0, "a": 8.0}, weight=0.4)]
    whole = model(*(replace(m, process=p) for m, p in zip(members, processes, strict=True)))
    terms = explain(whole, {"workers": 4}).terms
    assert terms["term"].tolist() == ["serial", "parallel", FORM]
    assert terms["seconds"].sum() == pytest.approx(whole.predict({"workers": [4]}).time[0])


def test_terms_of_which_only_the_sum_is_known_are_one_share() -> None:
    """At 4 workers c + a/4 = 2 s in every draw, each of them anything from 0 to 2 s; 4·b = 2 s."""
    terms, at = {"serial": "c", "parallel": "a/workers", "network": "b*workers"}, {"workers": 4}
    trading = [[c, 8.0 - 4.0 * c, 0.5] for c in np.linspace(0, 2, 50)]
    free = [[c, a, 0.5] for c, a in np.random.default_rng(0).uniform(0, (2, 8), (50, 2))]
    best = {"c": 1.0, "a": 4.0, "b": 0.5}
    explained = explain(model(member(terms, best, trading)), at)
    assert explained.aliased == (("serial", "parallel"),)
    (one,) = explained.together.to_dict("records")
    assert one["term"] == "serial + parallel, together"
    assert [one[name] for name in ("seconds", "lower", "upper", "share")] == pytest.approx([2.0, 2.0, 2.0, 0.5])
    # Printed in their place; the table has each by itself.
    assert "serial + parallel, together" in str(explained)
    assert explained.terms["term"].tolist() == ["serial", "parallel", "network"]
    assert explained.to_dict()["together"][0]["terms"] == ["serial", "parallel"]
    # Draws of which no sum exceeds the value, 1.8 to 2 s: half of the 0.18 s that hold 90 % are above it too.
    low = [
        [c, 4.0 * (2.0 - k / 245) - 4.0 * c, 0.5] for k, c in enumerate(np.random.default_rng(0).uniform(0, 1.8, 50))
    ]
    (one,) = explain(model(member(terms, best, low)), at).together.to_dict("records")
    assert [one["lower"], one["upper"]] == pytest.approx([1.81, 2.09], abs=0.01)
    apart = explain(model(member(terms, best, free)), at)
    assert apart.aliased == ()
    assert "together" not in apart.to_dict()
    # A member of weight in which they can be told apart is heard.
    both = [member(terms, best, draws, weight=0.5) for draws in (trading, free)]
    assert explain(model(*both), at).aliased == ()
    # Of a structure that was chosen no draw tells what another would make of the sum.
    chosen = member(terms, best, trading)
    chosen = replace(chosen, expression=replace(chosen.expression, family="generic"))
    assert explain(model(chosen), at).aliased == ()


def test_a_limit_names_the_terms_of_one_share() -> None:
    """Draws of two terms that trade: what limits is their sum."""
    terms = {"computation": "c", "latency": "a/workers", "contention": "b*workers"}
    trading = [[c, 8.0 - 4.0 * c, 0.25] for c in np.linspace(0, 2, 50)]
    limit = limit_of(model(member(terms, {"c": 1.0, "a": 4.0, "b": 0.25}, trading)), {"workers": np.array([4.0])}, 0.9)
    assert limit.parts[0].terms == ("computation", "latency")
    assert limit.parts[0].share.value == pytest.approx(2.0 / 3.0)
    assert "computation and latency, together" in limit_sentence(limit, "4 workers")
    # Of many the first two are named, and what has one name once.
    for labels, text in (
        (["matrix", "kernels", "tensor", "data", "update"], "matrix multiplication, small products and 3 more parts"),
        ([SAME_WITH_COMPUTATION, "constant"], "computation and fixed costs"),
    ):
        many = replace(limit, parts=(replace(limit.parts[0], label=sum_of_terms(labels)),))
        assert f"is {text}, together" in limit_sentence(many, "4 workers")


def test_a_term_of_a_law_keeps_its_name_beside_a_column_of_the_same() -> None:
    law = lambda f: 0.05 + 0.004 * f.batch + 0.03 * np.maximum(f.workers / f.server, 1)  # noqa: E731
    runs = runs_of(law, {"workers": (1, 2, 4, 8, 16), "server": (1, 2), "batch": (32, 64)}, column="s")
    roles = {"time": "s", "extrinsic": "workers,server", "intrinsic": "batch", "mapping": {"servers": "server"}}
    result = gp.fit(runs, "cntk", **roles)
    limit = limit_of(result, result.query({"workers": 16, "batch": 32, "server": 1}).columns, 0.9)
    assert next(part.label for part in limit.parts) == "server"


def test_what_stays_the_same_beyond_the_first_node_may_be_exchange() -> None:
    runs = pd.DataFrame({"gpus": [16, 32, 64, 128], "nodes": [2, 4, 8, 16], "step_s": [0.268, 0.332, 0.395, 0.418]})
    (answer,) = gp.ask(runs, gpus=128).answers
    assert "is computation, fixed costs and the constant part of the exchange" in answer.sentences["limit"]
    # No run had one device alone.
    jump = pd.DataFrame({"gpus": [8, 16, 32, 64], "step_s": [0.1, 0.5, 0.6, 0.65]})
    assert "second gpu" not in gp.ask(jump, gpus=64).answers[0].sentences["limit"]


def test_a_factor_may_be_called_like_a_column_of_the_table() -> None:
    found = explain(
        model(member({"work": "a*share"}, {"a": 0.5}), factors=(replace(WORKERS, name="share"),)), {"share": 2}
    )
    assert found.terms["share"].tolist() == [1.0]
    assert "<b>" not in explain(model(member({"<b>": "a*workers"}, {"a": 0.5})), {"workers": 2})._repr_html_()


def lines_of(shares: list[float], elasticities: pd.DataFrame | None = None) -> list:
    rows = [(f"term {k}", share, 0.0, share + 0.17, share) for k, share in enumerate(shares)]
    terms = pd.DataFrame(rows, columns=["term", "seconds", "lower", "upper", "share"])
    none = pd.DataFrame(columns=["factor", "elasticity", "lower", "upper", "method"])
    return list(
        Explanation("auto", Target("s", "time", "s"), terms, none if elasticities is None else elasticities).content
    )


def test_a_term_that_may_be_more_is_shown_or_counted_with_its_largest_share() -> None:
    assert len(lines_of([1.0, 0.0, 0.0])[0][1]) == 3
    title, other, *_ = lines_of([1.0] + [0.0] * 13)
    assert len(title[1]) == 12
    assert other == "2 other terms, together under 0.1 %; one may have up to 17 %"


def test_of_many_terms_the_largest_are_shown() -> None:
    title, other, *_ = lines_of([0.02] * 10 + [0.1] * 8)
    assert len(title[1]) == 12
    assert list(title[1]["share"]).count("10.0 %") == 8
    assert other == "6 other terms, together under 12.1 %; one may have up to 19 %"


def test_a_factor_without_an_elasticity_has_no_row() -> None:
    frame = pd.DataFrame(
        {"factor": ["a", "b"], "elasticity": [1.0, np.nan], "lower": 0.9, "upper": 1.1, "method": "slope"}
    )
    shown = next(line[1] for line in lines_of([1.0], frame) if line[0].startswith("elasticity"))
    assert list(shown["factor"]) == ["a"]


@pytest.mark.parametrize("options", [{"knee": True}, {"versus": {"workers": 8}}])
def test_what_asks_about_one_configuration_refuses_several(options: dict) -> None:
    with pytest.raises(GenperfError, match="one configuration, not 2"):
        explain(
            model(member({"w": "a*batch/workers"}, {"a": 1.0}), factors=(WORKERS, BATCH)), {"batch": [8, 16]}, **options
        )


# --- members with equal labels are one line: their weights are added up ----------------------------------------

TERMS = {"compute": "a/workers", "network": "b*workers"}


def test_members_of_equal_labels_are_one_ensemble() -> None:
    # At 4 workers the first of "growing" says 2 + 2 = 4 s, the second 1 + 15 = 16 s. By equal weights √64 = 8 s;
    # shares: compute ½·½ + ½·1/16 = 9/32, so 2.25 s, network 5.75 s.
    members = (
        member(TERMS, {"a": 4.0, "b": 1.0}, weight=0.4, label="steady"),
        member(TERMS, {"a": 8.0, "b": 0.5}, weight=0.3, label="growing"),
        member(TERMS, {"a": 4.0, "b": 3.75}, weight=0.3, label="growing"),
    )
    found = explain(model(*members), {"workers": 4}).members
    assert found[["member", "term"]].agg(" ".join, axis=1).tolist() == [
        "growing compute", "growing network", "steady compute", "steady network",
    ]  # fmt: skip
    assert found["weight"].tolist() == pytest.approx([0.6, 0.6, 0.4, 0.4])
    assert found["seconds"].tolist() == pytest.approx([2.25, 5.75, 1.0, 4.0])
    # 64/n against b·n, equal at √(64/b): beyond 8 where b = 1, so from 9 on; beyond 4 where b = 4, from 5 on.
    growing = (("growing", 0.6, 1.0), ("growing", 0.4, 4.0))
    both = scaling(model(*(member(TERMS, {"a": 64.0, "b": b}, weight=w, label=label) for label, w, b in growing)), {})
    row = both.crossovers[["member", "weight", "count", "lower", "upper"]].to_numpy().tolist()
    assert row == [["growing", 1.0, 9.0, 5.0, 9.0]]
    sentence = "the largest term changes from 'compute' to 'network' at 9 workers (90 %: 5 to 9)"
    assert both.crossover_sentences[0] == sentence


# --- a generic expression as a person reads it: its numbers are those of the model -----------------------------------

NETS = ("bert", "resnet", "vgg")


def table(slow: float = 1.0) -> gp.Table:
    """T = 0.02·batch^0.8·workers^0.1, three times as long for vgg, and `slow` times for vgg with fp16."""

    def law(f: pd.DataFrame) -> pd.Series:
        of_level = np.where(f.net == "vgg", 3.0, 1.0) * np.where((f.net == "vgg") & (f.precision == "fp16"), slow, 1.0)
        return 0.02 * f.batch**0.8 * f.workers**0.1 * of_level

    levels = {"batch": (8, 16, 32, 64), "workers": (2, 4, 8), "net": NETS, "precision": ("fp16", "fp32")}
    runs = runs_of(law, levels, column="t", noise=0.005)
    return gp.read_table(runs, time="t", intrinsic="batch", extrinsic="workers", categorical="net,precision")


def test_interactions_stand_below_the_terms() -> None:
    lines = written_lines(gp.fit(table(1.5), "generic", structure="grown", draws=5))
    below = lines.index("every term but a constant one times")
    assert any("precision = fp16 and net = vgg" in line for line in lines[below + 1 :])
    assert not any("precision = fp16 and net = vgg" in line for line in lines[:below])


def test_the_written_numbers_give_the_prediction() -> None:
    result = gp.fit(table(), "generic", structure="separable", draws=5)
    run = {"batch": 16.0, "workers": 8.0, "net": "vgg", "precision": "fp32"}
    head, *lines = written_lines(result)
    assert head == "time (s) ="
    assert re.fullmatch(r"  \S+ \* \(batch/22.6\)\^\S+ \* \(workers/4\)\^\S+ \* \[net: .*\]", lines[0])
    total = 0.0
    for line in lines:
        value = 1.0
        for part in line.strip().removeprefix("+ ").split(" * "):
            power = re.fullmatch(r"\((\w+)/([\d.]+)\)(?:\^(.+))?", part)
            levels = re.fullmatch(r"\[(\w+): (.*)\]", part)
            if power is not None:
                value *= (float(run[power[1]]) / float(power[2])) ** float(power[3] or 1.0)
            elif levels is not None:
                value *= float(dict(one.split() for one in levels[2].split(", ")).get(str(run[levels[1]]), 1.0))
            else:
                value *= float(part)
        total += value
    assert total == pytest.approx(float(result.predict(run)["time"].iloc[0]), rel=0.02)


# --- the equation and the table of constants that one takes to a paper -----------------------------------------------

SIZES = {"layers": 1.2, "filters": 0.9, "kernel": 1.5, "hidden": 0.7, "batch": 1.0}


@pytest.fixture(scope="module")
def fitted() -> gp.FitResult:
    """T = 0.1 + (Σ a_i·I_i^p_i)·nodes^0.3·workers^-0.2·(2 with b), five intrinsic and two extrinsic factors."""
    rng = np.random.default_rng(0)
    values = dict.fromkeys(SIZES, (2.0, 4.0, 8.0, 16.0)) | {"nodes": (1.0, 2.0, 4.0), "workers": (2.0, 4.0, 8.0)}
    runs = pd.DataFrame({name: rng.choice(of, 250) for name, of in values.items()})
    runs["net"] = rng.choice(["a", "b"], 250)
    sizes = sum(0.05 * (k + 1) * runs[name] ** p for k, (name, p) in enumerate(SIZES.items()))
    runs["t"] = 0.1 + sizes * runs.nodes**0.3 * runs.workers**-0.2 * np.where(runs.net == "b", 2.0, 1.0)
    runs["t"] *= np.exp(0.002 * rng.standard_normal(250))
    table = gp.read_table(runs, time="t", intrinsic=[*SIZES], extrinsic=["nodes", "workers"], categorical=["net"])
    return gp.fit(table, "generic", structure="separable", lam=1e-7, draws=20)


def test_each_common_factor_is_printed_once_and_the_constants_are_those_of_the_law(fitted: gp.FitResult) -> None:
    text = equation(fitted)
    assert len(text) <= 600
    assert [text.count(rf"\mathrm{{{name}}}") for name in (*SIZES, "nodes", "workers", "net")] == [1] * 8
    assert text.index(r"\bigr)") < text.index(r"\mathrm{nodes}")
    # The base level is named.
    levels = dict(re.findall(r"\\text\{(\w)\}\\,([\d.]+)", text))
    assert set(levels) == {"a", "b"}
    assert "1" in levels.values()
    assert float(levels["b"]) / float(levels["a"]) == pytest.approx(2.0, rel=0.01)
    for k, (name, power) in enumerate(SIZES.items()):
        found = re.search(rf"([\d.]+)\\,\\mathrm{{{name}}}(?:\^{{([\d.]+)}})?", text)
        assert float(found[2] or 1.0) == pytest.approx(power, abs=0.05)
        assert float(found[1]) == pytest.approx(0.05 * (k + 1) * (2.0 if levels["b"] == "1" else 1.0), rel=0.15)


def test_the_table_of_constants_has_every_constant_in_each_style(fitted: gp.FitResult) -> None:
    names = fitted.best.expression.constant_names
    rows = list(csv.DictReader(io.StringIO(constants_table(fitted, "csv"))))
    assert [row["constant"] for row in rows] == [*names]
    assert all(float(row["lower"]) <= float(row["value"]) + 1e-9 for row in rows if row["constant"].startswith("p"))
    markdown = constants_table(fitted)
    assert markdown.count("\n| ") == len(names) + 1
    assert "held-out error" in markdown
    latex = constants_table(fitted, "latex")
    assert latex.startswith(r"\begin{tabular}{lrrrll}")
    assert all(rule in latex for rule in (r"\toprule", r"\midrule", r"\bottomrule"))
    assert latex.count(r" & ") == 5 * (len(names) + 1)


def test_the_table_of_constants_has_the_held_out_errors_of_all_structures() -> None:
    rows = list(itertools.product((4.0, 8.0, 16.0), (16.0, 32.0, 64.0), (1.0, 2.0, 4.0)))
    runs = pd.DataFrame(rows, columns=["layers", "batch", "workers"])
    runs["t"] = 0.1 + 0.002 * runs.layers * runs.batch / runs.workers**0.5
    table = gp.read_table(runs, time="t", intrinsic=["layers", "batch"], extrinsic="workers")
    text = constants_table(gp.fit(table, "generic", draws=20))
    errors = {name: float(error) for name, error in re.findall(r"(separable|per-term|product 1) ([\d.]+) %", text)}
    # The law is a product: on the same folds it errs least.
    assert set(errors) == {"separable", "per-term", "product 1"}
    assert errors["product 1"] == min(errors.values())


def test_an_average_has_no_equation() -> None:
    runs = pd.DataFrame(itertools.product((1, 2, 4), (8, 16)), columns=["workers", "batch"])
    runs["t"] = runs.batch / runs.workers
    with pytest.raises(gp.GenperfError, match="no equation"):
        equation(gp.fit(gp.read_table(runs, time="t", intrinsic="batch", extrinsic="workers")))


# --- what each overlap hides, against cases worked by hand -----------------------------------------------------------

TERMS_OVERLAPS = {"input": "i*workers", "forward": "f", "backward": "2*f", "exchange": "e*workers"}
FULL = "max(input, forward + max(backward, exchange))"
ONE_EACH = {"i": 0.5, "f": 1.0, "e": 1.0}
OUTER, INNER = "input | forward + backward + exchange", "backward | exchange"


PART = "input + forward + s*(backward + exchange) + (1 - s)*max(backward, exchange)"
SERVER = ({"compute": "a", "server": "e*workers"}, {"a": 1.0, "e": 1.0})


@pytest.mark.parametrize(
    ("terms", "constants", "total", "hidden"),
    [
        # At 4 workers input 2, forward 1, backward 2, exchange 4: T = max(2, 1 + 4) = 5 hides 2 s twice.
        # At 8: input 4, exchange 8: T = max(4, 1 + 8) = 9 hides 4 s and 2 s.
        (TERMS_OVERLAPS, ONE_EACH, FULL, {INNER: (-2.0, -2.0), OUTER: (-2.0, -4.0)}),
        # Backward 2 and exchange 4 at 4 workers, 2 and 8 at 8: three quarters of what a maximum would hide.
        (TERMS_OVERLAPS, {**ONE_EACH, "s": 0.25}, PART, {INNER: (-1.5, -1.5)}),
        # A maximum of counts is no overlap. At 4 workers: max(1 + 4/4, 4) = 4 where the sum is 6.
        (*SERVER, "max(compute + server/max(workers, 1), server)", {"compute + server | server": (-2.0, -2.0)}),
        (TERMS_OVERLAPS, ONE_EACH, None, {}),
    ],
    ids=["the shorter branch", "in part", "a maximum of counts", "a sum"],
)
def test_what_each_overlap_hides(terms: dict, constants: dict, total: str | None, hidden: dict) -> None:
    found = compare(model(member(terms, constants, total=total)), {"workers": 4}, {"workers": 8})
    rows = found.hidden.set_index("overlap")
    assert rows.index.tolist() == [*hidden]
    changes = [(a, b, b - a) for a, b in hidden.values()]
    assert rows[["a", "b", "change"]].to_numpy(float) == pytest.approx(np.array(changes, float).reshape(-1, 3))
    in_all = found.terms.set_index("term").reindex([HIDDEN])[["a", "b"]].fillna(0.0).to_numpy()[0]
    assert "server" in terms or rows[["a", "b"]].sum().tolist() == pytest.approx(in_all)


def test_explain_shows_what_each_overlap_hides(tmp_path: Path, shell: Shell) -> None:
    """Two groups, of which one does not prefetch; every phase is measured."""
    frame = pd.DataFrame(product(("ahead", "asked"), (2, 4, 8), (2, 4)), columns=["reader", "workers", "batch"])
    frame = frame.assign(
        io_s=0.02 * frame.batch,
        forward_s=0.03 * frame.batch,
        backward_s=0.06 * frame.batch,
        exchange_s=0.2 * (1 - 1 / frame.workers),
        update_s=0.001,
    )
    rest = frame.forward_s + np.maximum(frame.backward_s, frame.exchange_s) + frame.update_s
    ahead = frame.reader == "ahead"
    frame["step_s"] = np.where(ahead, np.maximum(frame.io_s, rest), frame.io_s + rest)
    frame.to_csv(tmp_path / "runs.csv", index=False)
    file = str(tmp_path / "m.json")
    roles = ("--time", "step_s", "--intrinsic", "batch", "--extrinsic", "workers", "--group", "reader")
    done(shell, "fit", str(tmp_path / "runs.csv"), *roles, "--model", "s-sgd", "-o", file)
    asked = ("explain", file, "--group", "ahead", "--at", "workers=4", "--at", "batch=4", "--versus", "reader=asked")
    output = done(shell, *asked, "--json")
    changes = {row["overlap"]: row["change"] for row in json.loads(output)["comparison"]["hidden"]}
    prefetched = next(label for label in changes if {"input", "transfer"} & {*label.split(" | ")[0].split(" + ")})
    assert changes.pop(prefetched) == pytest.approx(0.08, rel=0.05)
    assert changes == pytest.approx(dict.fromkeys(changes, 0.0), abs=0.002)
    printed = shell(*asked)[1]
    assert "what each overlap hides" in printed
    assert re.search(r"and less overlap \+0\.0\d+ s\n", printed)


def test_shares_that_miss_the_value_are_not_shown() -> None:
    runs = pd.DataFrame({"gpus": [1, 2, 4, 8], "seconds": [9.1, 4.9, 3.2, 2.1]})
    told = gp.explain(gp.fit(gp.read_table(runs, time="seconds", extrinsic="gpus"), model="amdahl"))
    missed = told.terms.iloc[:2].assign(term=["constant", "unexplained"], share=[1.44, -0.44])
    lines = [line for line in replace(told, terms=missed).content if isinstance(line, str)]
    assert "what the time is made of is not determined: its terms are 44 % off here" in lines
