"""The figure of all groups, and a measured throughput drawn as such."""

from pathlib import Path

import numpy as np
import pandas as pd
import pytest

import genperf as gp
from genperf import plots
from genperf.errors import GenperfError
from genperf.result import FitResult, GroupedResult

pytest.importorskip("matplotlib", reason='matplotlib is missing: pip install "genperf[plots]"')

RATES = pd.DataFrame(
    [(f, n, r * n**0.9) for f, r in (("a", 400.0), ("b", 300.0)) for n in (1, 2, 4, 8)],
    columns=["framework", "gpus", "images_per_s"],
)


@pytest.fixture(scope="module")
def groups() -> GroupedResult:
    result = gp.fit(
        RATES, "a*gpus**p", draws=10, throughput="images_per_s", extrinsic="gpus", group="framework", seed=0
    )
    assert isinstance(result, GroupedResult)
    return result


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
    assert isinstance(result, FitResult)
    (ax,) = result.plot().axes
    assert ax.get_ylabel() == "images/s"
    curve = next(line for line in ax.get_lines() if line.get_label() == "a\\*gpus**p" or line.get_linewidth() == 2.0)
    np.testing.assert_allclose(curve.get_ydata(), result.predict(gpus=curve.get_xdata().tolist())["throughput"])
    (points,) = [c for c in ax.containers if c.get_label() == "measured (median, range)"]
    np.testing.assert_allclose(points.lines[0].get_ydata(), [400 * n**0.9 for n in (1, 2, 4, 8)], rtol=1e-6)
