"""Figures of a model of memory: its name and unit on every axis, and no word of times."""

from dataclasses import replace

import pandas as pd
import pytest

import genperf as gp
from genperf import plots
from genperf.errors import GenperfError
from genperf.panel.target import Target
from genperf.result import FitResult

pytest.importorskip("matplotlib", reason='matplotlib is missing: pip install "genperf[plots]"')


@pytest.fixture(scope="module")
def memory() -> FitResult:
    """Return M = 4 + 0.25·batch + 16/workers, in GB."""
    rows = [(n, b, (4 + 0.25 * b + 16 / n) * (1 + 0.01 * ((n + b) % 3 - 1))) for n in (1, 2, 4, 8) for b in (8, 16)]
    runs = pd.DataFrame(rows, columns=["workers", "batch", "peak"])
    table = gp.read_table(runs, time="peak", extrinsic="workers", intrinsic="batch")
    fitted = gp.fit(replace(table, target=Target("peak", "memory_gb", "GB")), "w + a*batch + s/workers", draws=20)
    assert isinstance(fitted, FitResult)
    return fitted


def test_every_axis_names_the_quantity(memory: FitResult) -> None:
    found = gp.explain(memory, {"workers": 4, "batch": 8}, knee=True, sobol=True, versus={"workers": 8})
    assert found.scaling is not None
    assert found.sensitivity is not None
    assert found.comparison is not None
    predictions = memory.predict({"workers": [16, 32], "batch": 8})
    figures = {
        "scaling": plots.scaling(memory, found.scaling, predictions=predictions),
        "terms": plots.terms(memory, found.scaling),
        "predicted": plots.predicted_against_measured(memory),
        "constants": plots.constants(memory),
        "sobol": plots.sobol(found.sensitivity),
        "waterfall": plots.waterfall(found.comparison),
        "residuals": plots.residuals(memory),
    }
    labels = {name: (f.axes[0].get_xlabel(), f.axes[0].get_ylabel()) for name, f in figures.items()}
    assert labels == {
        "scaling": ("workers", "memory_gb (GB)"),
        "terms": ("", "memory_gb (GB)"),
        "predicted": ("measured memory_gb (GB)", "predicted memory_gb (GB)"),
        "constants": ("coefficients (GB)", ""),
        "sobol": ("share of the variance of memory_gb", ""),
        "waterfall": ("memory_gb (GB)", ""),
        "residuals": ("workers", "predicted − measured (% of measured)"),
    }
    drawn = b"".join(plots.image(figure, "svg") for figure in figures.values())
    # Letters are drawn as shapes, and matplotlib repeats each text in a comment.
    comments = [line for line in drawn.splitlines() if line.strip().startswith(b"<!--")]
    assert any(b"memory_gb" in line for line in comments)
    assert not [line for line in comments if any(w in line for w in (b"time", b"slower", b"perfect", b"(s)"))]


def test_an_efficiency_is_refused_in_words(memory: FitResult) -> None:
    answer = gp.explain(memory, {"workers": 4, "batch": 8}, knee=True).scaling
    assert answer is not None
    with pytest.raises(GenperfError, match=r"need a model of a time, and this one predicts memory_gb \(GB\)"):
        plots.efficiency(answer)
