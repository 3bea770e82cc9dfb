"""The equation and the table of constants that one takes to a paper."""

import csv
import io
import itertools
import re

import numpy as np
import pandas as pd
import pytest

import genperf as gp
from genperf.attribution.equation import constants_table, equation

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


def test_each_common_factor_is_printed_once_within_600_characters(fitted: gp.FitResult) -> None:
    text = equation(fitted)
    assert len(text) <= 600
    assert [text.count(rf"\mathrm{{{name}}}") for name in (*SIZES, "nodes", "workers", "net")] == [1] * 8
    assert text.index(r"\bigr)") < text.index(r"\mathrm{nodes}")


def test_it_has_the_constants_of_the_law_that_is_not_normalised(fitted: gp.FitResult) -> None:
    text = equation(fitted)
    for k, (name, power) in enumerate(SIZES.items()):
        found = re.search(rf"([\d.]+)\\,\\mathrm{{{name}}}(?:\^{{([\d.]+)}})?", text)
        assert found is not None
        assert float(found[2] or 1.0) == pytest.approx(power, abs=0.05)
        level = 2.0 if re.search(r"text\{b\}\\,1\}|text\{b\}\\,1[,\\]", text) else 1.0
        assert float(found[1]) == pytest.approx(0.05 * (k + 1) * level, rel=0.15)


def test_a_base_level_is_named(fitted: gp.FitResult) -> None:
    levels = dict(re.findall(r"\\text\{(\w)\}\\,([\d.]+)", equation(fitted)))
    assert set(levels) == {"a", "b"}
    assert "1" in levels.values()
    assert float(levels["b"]) / float(levels["a"]) == pytest.approx(2.0, rel=0.01)


def test_all_digits_are_printed_on_request(fitted: gp.FitResult) -> None:
    assert str(fitted.best.values["q_nodes"]) in equation(fitted, all_digits=True)
    assert len(equation(fitted, all_digits=True)) > len(equation(fitted))


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


def test_an_average_has_no_equation() -> None:
    runs = pd.DataFrame(itertools.product((1, 2, 4), (8, 16)), columns=["workers", "batch"])
    runs["t"] = runs.batch / runs.workers
    with pytest.raises(gp.GenperfError, match="no equation"):
        equation(gp.fit(gp.read_table(runs, time="t", intrinsic="batch", extrinsic="workers")))
