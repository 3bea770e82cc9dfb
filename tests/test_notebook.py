"""What notebooks show: tables of everything that comes back, with names as text, never as markup."""

from typing import Any

import numpy as np
import pandas as pd
import pytest

import genperf as gp
from genperf.search import suggest

HOSTILE = "<script>bad()</script>"
LEVEL = "<img src=x onerror=bad()>"


@pytest.fixture(scope="module")
def shown() -> dict[str, Any]:
    rng = np.random.default_rng(0)
    rows = [
        (n, b, f, (b / n + 2 + 0.3 * n * (f == LEVEL)) * rng.normal(1, 0.02))
        for n in (1, 2, 4, 8)
        for b in (8, 16)
        for f in (LEVEL, "plain")
    ]
    frame = pd.DataFrame(rows, columns=["workers", HOSTILE, "framework", "s"])
    table = gp.read_table(frame, time="s", extrinsic="workers", intrinsic=[HOSTILE], categorical="framework")
    result = gp.fit(table, model="generic", structure="separable", draws=10)
    grouped = gp.read_table(frame, time="s", extrinsic="workers", group="framework")
    by_group = gp.fit(grouped, model="amdahl", draws=10)
    at = {"workers": 8, HOSTILE: 16, "framework": LEVEL}
    return {
        "table": table,
        "result": result,
        "groups": by_group,
        "explanation": gp.explain(result, at, knee=True, sobol=True, versus={"workers": 2}),
        "validation": gp.validate(grouped, ["amdahl", "last-point"], "extrapolate:workers:4"),
        "suggestions": suggest(result, {**at, "workers": 64}),
        "ranking": gp.compare(by_group, workers=8),
        "answers": gp.ask(frame.assign(framework=HOSTILE), workers=16),
    }


NAMES = ["table", "result", "groups", "explanation", "validation", "suggestions", "ranking", "answers"]


@pytest.mark.parametrize("name", NAMES)
def test_shown_as_tables_with_names_as_text(shown: dict[str, Any], name: str) -> None:
    html = shown[name]._repr_html_()
    assert ("<pre" if name == "answers" else "<table") in html
    assert "<script" not in html
    assert "<img" not in html
    assert html.count("<table") == html.count("</table>")


@pytest.mark.parametrize("name", ["table", "result", "explanation", "suggestions"])
def test_the_names_are_there(shown: dict[str, Any], name: str) -> None:
    assert "&lt;script&gt;" in shown[name]._repr_html_()


def test_groups_name_what_was_not_fitted() -> None:
    frame = pd.DataFrame({"n": [1, 2, 4, 8, 1], "net": ["a"] * 4 + [HOSTILE], "s": [9.0, 5.0, 3.0, 2.0, 1.0]})
    result = gp.fit(gp.read_table(frame, time="s", extrinsic="n", group="net"), model="a/n + c", draws=5)
    groups = result.frame()
    assert groups["net"].tolist() == ["a", HOSTILE]
    assert groups["not fitted"].iloc[1] != ""
    assert "&lt;script&gt;" in result._repr_html_()


def test_an_expression_is_mathematics(shown: dict[str, Any]) -> None:
    latex = shown["groups"].results[("plain",)].best.expression._repr_latex_()
    assert latex.startswith("$\\displaystyle T = ")
    assert r"\frac{a}{\mathrm{workers}}" in latex
