"""The figures."""

import dataclasses
import subprocess
import sys
from pathlib import Path
from typing import Any

import msgspec
import numpy as np
import pandas as pd
import pytest
from helpers import memory_model, runs_of

import genperf as gp
from genperf import plots
from genperf.attribution import Explanation
from genperf.errors import GenperfError
from genperf.panel import Table
from genperf.result import FitResult, GroupedResult

Text = pytest.importorskip("matplotlib.text", reason='matplotlib is missing: pip install "genperf[plots]"').Text
HOSTILE = "_$x^2$ <b>" + "y" * 60


@pytest.fixture(scope="module")
def table() -> Table:
    levels = {"workers": (1, 2, 4, 8, 16), HOSTILE: (16, 32, 64)}
    runs = runs_of(lambda f: 0.02 * f[HOSTILE] / f.workers + 0.03 + 0.01 * f.workers, levels, noise=0.02, repeats=2)
    return gp.read_table(runs, time="s", extrinsic="workers", intrinsic=[HOSTILE], scaling="strong")


@pytest.fixture(scope="module")
def result(table: Table) -> FitResult:
    return gp.fit(table, model="generic", draws=20)


@pytest.fixture(scope="module")
def found(result: FitResult) -> Explanation:
    at = {"workers": 16, HOSTILE: 32}
    return gp.explain(result, at, knee=True, sobol=True, versus={"workers": 4})


def every(result: FitResult, found: Explanation, at: dict[str, object]) -> dict[str, Any]:
    """Return the figures of a result by their names, but that of the efficiency."""
    return {
        "scaling": plots.scaling(result, found.scaling, predictions=result.predict(at)),
        "terms": plots.terms(result, found.scaling),
        "residuals": plots.residuals(result),
        "predicted": plots.predicted_against_measured(result),
        "constants": plots.constants(result),
        "sobol": plots.sobol(found.sensitivity),
        "waterfall": plots.waterfall(found.comparison),
    }


def labels_of(figures: dict[str, Any]) -> dict[str, tuple[str, str]]:
    """Return the labels of the first axes of each figure, with their units."""
    return {name: (f.axes[0].get_xlabel(), f.axes[0].get_ylabel()) for name, f in figures.items()}


def test_labels_and_units(result: FitResult, found: Explanation) -> None:
    figures = every(result, found, {"workers": [32, 64], HOSTILE: 32})
    assert labels_of({**figures, "efficiency": plots.efficiency(found.scaling)}) == {
        "scaling": ("workers", "time (s)"),
        "terms": ("", "time (s)"),
        "efficiency": ("workers", "scaling efficiency (% of workers = 1)"),
        "residuals": ("workers", "predicted − measured (% of measured)"),
        "predicted": ("measured time (s)", "predicted time (s)"),
        "constants": ("coefficients (s)", ""),
        "sobol": ("share of the variance of the time", ""),
        "waterfall": ("time (s)", ""),
    }
    assert figures["terms"].axes[1].get_ylabel() == "share (%)"


def test_svg_has_the_same_bytes_and_no_date(result: FitResult) -> None:
    drawn = (plots.residuals, plots.constants, plots.predicted_against_measured)
    first, again = ([plots.image(draw(result), "svg") for draw in drawn] for _ in range(2))
    assert first == again
    assert not any(b"<dc:date>" in svg for svg in first)


def test_nothing_is_shown_or_styled() -> None:
    code = (
        # Asking rcParams itself for its backend would import pyplot.
        "import sys, matplotlib as m; now = lambda: dict(dict.items(m.rcParams)); before = now();"
        "from genperf.plots import figures, image; image(figures.new_figure()[0], 'svg');"
        "assert now() == before; assert 'matplotlib.pyplot' not in sys.modules"
    )
    subprocess.run([sys.executable, "-W", "error", "-c", code], check=True, cwd=Path(gp.__file__).parents[1])


@pytest.mark.parametrize("ending", ["png", "svg", "pdf"])
def test_saved_as_the_ending_says(result: FitResult, tmp_path: Path, ending: str) -> None:
    for _ in range(2):
        plots.save(plots.residuals(result), tmp_path / f"f.{ending}")
    begins = {"png": b"\x89PNG", "svg": b"<?xml", "pdf": b"%PDF"}[ending]
    assert (tmp_path / f"f.{ending}").read_bytes().startswith(begins)


def test_another_ending_is_refused(result: FitResult, tmp_path: Path) -> None:
    with pytest.raises(GenperfError, match="cannot write a figure"):
        plots.save(plots.residuals(result), tmp_path / "f.gif")


def test_measured_points_are_those_on_the_curve(result: FitResult, table: Table, found: Explanation) -> None:
    """At a batch of 32 there are five counts with two runs each: five points, from the model or from the table."""
    for given in (None, table):
        ax = plots.scaling(result, found.scaling, given).axes[0]
        drawn = [c for c in ax.containers if "measured" in c.get_label()]
        assert len(drawn[0].lines[0].get_xdata()) == 5


def test_held_out_predictions_of_several_models(table: Table) -> None:
    found = gp.validate(table, ["amdahl", "last-point"], "extrapolate:workers:8")
    ax = plots.predicted_against_measured(found).axes[0]
    named = [text.get_text() for text in ax.get_legend().get_texts()]
    assert [n.partition(":")[0] for n in named] == ["predicted = measured", "amdahl", "last-point"]


def test_a_model_without_measurements_says_so(result: FitResult) -> None:

    bare = dataclasses.replace(result, schema=msgspec.structs.replace(result.schema, medians=()))
    with pytest.raises(GenperfError, match="has no measured configurations"):
        plots.residuals(bare)


# --- the figure of all groups, and a measured throughput drawn as such -----------------------------------------------

RATES = pd.DataFrame(
    [(f, n, r * n**0.9) for f, r in (("a", 400.0), ("b", 300.0)) for n in (1, 2, 4, 8)],
    columns=["framework", "gpus", "images_per_s"],
)


@pytest.fixture(scope="module")
def groups() -> GroupedResult:
    return gp.fit(RATES, "a*gpus**p", draws=10, throughput="images_per_s", extrinsic="gpus", group="framework", seed=0)


def test_groups_are_explained_reported_and_drawn(groups: GroupedResult, tmp_path: Path) -> None:
    explained = groups.explain({"gpus": 8})
    assert list(explained) == [("a",), ("b",)]
    assert groups.report(tmp_path / "r.html").read_text().startswith("<!doctype html>")
    (ax,) = groups.plot().axes
    lines = {line.get_label(): line for line in ax.get_lines()}
    assert set(lines) == {"a", "b"}
    predicted = groups["a"].predict(gpus=lines["a"].get_xdata().tolist())
    np.testing.assert_allclose(lines["a"].get_ydata(), predicted["throughput"])
    assert ax.get_ylabel() == "throughput"
    # The same dash is used again only with another colour.
    assert len({(line.get_color(), line.get_linestyle()) for line in lines.values()}) == 2


def test_too_many_groups_are_refused(groups: GroupedResult) -> None:
    answer = groups["a"].explain(knee=True).scaling
    with pytest.raises(GenperfError, match="up to 16 groups, and these are 17 groups"):
        plots.groups({(str(k),): answer for k in range(17)})


def test_a_measured_throughput_is_drawn(groups: GroupedResult) -> None:
    result = groups["a"]
    (ax,) = result.plot().axes
    assert ax.get_ylabel() == "images/s"
    curve = next(line for line in ax.get_lines() if line.get_label() == "a\\*gpus**p" or line.get_linewidth() == 2.0)
    np.testing.assert_allclose(curve.get_ydata(), result.predict(gpus=curve.get_xdata().tolist())["throughput"])
    (points,) = [c for c in ax.containers if c.get_label() == "measured (median, range)"]
    np.testing.assert_allclose(points.lines[0].get_ydata(), [400 * n**0.9 for n in (1, 2, 4, 8)], rtol=1e-6)


# --- figures of a model of memory: its name and unit on every axis, and no word of times -----------------------------


def test_every_axis_names_the_quantity() -> None:
    memory = memory_model()
    found = gp.explain(memory, {"workers": 4, "batch": 8}, knee=True, sobol=True, versus={"workers": 8})
    figures = every(memory, found, {"workers": [16, 32], "batch": 8})
    assert labels_of(figures) == {
        "scaling": ("workers", "memory_gb (GB)"),
        "terms": ("", "memory_gb (GB)"),
        "predicted": ("measured memory_gb (GB)", "predicted memory_gb (GB)"),
        "constants": ("coefficients (GB)", ""),
        "sobol": ("share of the variance of memory_gb", ""),
        "waterfall": ("memory_gb (GB)", ""),
        "residuals": ("workers", "predicted − measured (% of measured)"),
    }
    texts = [text.get_text() for figure in figures.values() for text in figure.findobj(Text)]
    assert any("memory_gb" in text for text in texts)
    assert not [text for text in texts if any(word in text for word in ("time", "slower", "perfect", "(s)"))]


def test_an_efficiency_is_refused_in_words() -> None:
    answer = gp.explain(memory_model(), {"workers": 4, "batch": 8}, knee=True).scaling
    with pytest.raises(GenperfError, match=r"need a model of a time, and this one predicts memory_gb \(GB\)"):
        plots.efficiency(answer)
