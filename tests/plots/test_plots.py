"""Figures: returned and known to nothing, labelled with units, the same bytes, names as text."""

import subprocess
import sys
from pathlib import Path

import msgspec
import numpy as np
import pandas as pd
import pytest

import genperf as gp
from genperf import plots
from genperf.attribution import Explanation
from genperf.errors import GenperfError
from genperf.panel import Table
from genperf.result import FitResult

pytest.importorskip("matplotlib", reason='matplotlib is missing: pip install "genperf[plots]"')

HOSTILE = "_$x^2$ <b>" + "y" * 60


def runs() -> pd.DataFrame:
    rng = np.random.default_rng(0)
    rows = [(n, b, 0.02 * b / n + 0.03 + 0.01 * n) for n in (1, 2, 4, 8, 16) for b in (16, 32, 64) for _ in range(2)]
    frame = pd.DataFrame(rows, columns=["workers", HOSTILE, "s"])
    return frame.assign(s=frame.s * np.exp(0.02 * rng.standard_normal(len(frame))))


@pytest.fixture(scope="module")
def table() -> Table:
    return gp.read_table(runs(), time="s", extrinsic="workers", intrinsic=[HOSTILE], scaling="strong")


@pytest.fixture(scope="module")
def result(table: Table) -> FitResult:
    fitted = gp.fit(table, model="generic", draws=20)
    assert isinstance(fitted, FitResult)
    return fitted


@pytest.fixture(scope="module")
def found(result: FitResult) -> Explanation:
    at = {"workers": 16, HOSTILE: 32}
    return gp.explain(result, at, knee=True, sobol=True, versus={"workers": 4})


def every(result: FitResult, found: Explanation) -> dict[str, object]:
    assert found.scaling is not None
    assert found.sensitivity is not None
    assert found.comparison is not None
    predictions = result.predict({"workers": [32, 64], HOSTILE: 32})
    return {
        "scaling": plots.scaling(result, found.scaling, predictions=predictions),
        "efficiency": plots.efficiency(found.scaling),
        "terms": plots.terms(result, found.scaling),
        "residuals": plots.residuals(result),
        "predicted": plots.predicted_against_measured(result),
        "constants": plots.constants(result),
        "sobol": plots.sobol(found.sensitivity),
        "waterfall": plots.waterfall(found.comparison),
    }


#: Axis labels, with units: figure, its x, its y.
LABELS = [
    ("scaling", "workers", "time (s)"),
    ("efficiency", "workers", "scaling efficiency (% of workers = 1)"),
    ("residuals", "workers", "predicted − measured (% of measured)"),
    ("predicted", "measured time (s)", "predicted time (s)"),
    ("constants", "coefficients (s)", ""),
    ("sobol", "share of the variance of the time", ""),
    ("waterfall", "time (s)", ""),
]


def test_labels_and_units(result: FitResult, found: Explanation) -> None:
    figures = every(result, found)
    for name, x, y in LABELS:
        ax = figures[name].axes[0]  # type: ignore[attr-defined]
        assert (ax.get_xlabel(), ax.get_ylabel()) == (x, y)
    assert [ax.get_ylabel() for ax in figures["terms"].axes] == ["time (s)", "share (%)"]  # type: ignore[attr-defined]


def test_svg_has_the_same_bytes_and_no_date(result: FitResult) -> None:
    drawn = (plots.residuals, plots.constants, plots.predicted_against_measured)
    first, again = ([plots.image(draw(result), "svg") for draw in drawn] for _ in range(2))
    assert first == again
    assert not any(b"<dc:date>" in svg for svg in first)


def test_nothing_is_shown_or_styled() -> None:
    code = (
        # Asking rcParams itself for its backend would import pyplot.
        "import sys, matplotlib as m; now = lambda: dict(dict.items(m.rcParams)); before = now();"
        "from genperf.plots import image, style; image(style.new_figure()[0], 'svg');"
        "assert now() == before; assert 'matplotlib.pyplot' not in sys.modules"
    )
    subprocess.run([sys.executable, "-W", "error", "-c", code], check=True, cwd=Path(gp.__file__).parents[1])


def test_importing_the_room_imports_no_matplotlib() -> None:
    code = "import genperf.plots, genperf.reporting, sys; assert not {'matplotlib', 'jinja2'} & set(sys.modules)"
    subprocess.run([sys.executable, "-c", code], check=True, cwd=Path(gp.__file__).parents[1])


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
    assert found.scaling is not None
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
    from dataclasses import replace

    bare = replace(result, schema=msgspec.structs.replace(result.schema, medians=()))
    with pytest.raises(GenperfError, match="has no measured configurations"):
        plots.residuals(bare)
