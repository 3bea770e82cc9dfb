"""The shorter ways to the parts of a prediction give what the longer ones do."""

import numpy as np
import pandas as pd
import pytest

import genperf as gp
from genperf.attribution import explain
from genperf.attribution.terms import limit_of, parts_of
from genperf.result import FitResult
from genperf.words.limit import SAME_WITH_COMPUTATION


@pytest.fixture(scope="module")
def series() -> FitResult:
    """`auto` on one series: several members with a discrepancy each."""
    workers = np.array([1.0, 2.0, 4.0, 8.0, 16.0])
    runs = pd.DataFrame({"workers": workers, "s": 1.0 + 0.1 * np.log2(workers) + 0.02 * (-1.0) ** np.arange(5)})
    result = gp.fit(gp.read_table(runs, time="s", extrinsic="workers"))
    assert isinstance(result, FitResult)
    return result


def test_terms_of_one_shape_are_one_part() -> None:
    """From 8 workers on, at one batch each, nothing tells the computation from a constant or from the second worker."""
    runs = pd.DataFrame({"workers": [8.0, 16.0, 32.0, 64.0], "batch": 32.0, "s": [0.42, 0.437, 0.454, 0.47]})
    result = gp.fit(gp.read_table(runs, time="s", extrinsic="workers", intrinsic="batch"))
    limit = limit_of(result, {"workers": np.array([256.0]), "batch": np.array([32.0])}, 0.9)
    together = next(part for part in limit.parts if part.label == SAME_WITH_COMPUTATION)
    assert {"computation", "constant", "leaving the node"} <= set(together.terms)
    apart = explain(result, pd.DataFrame({"workers": [256.0], "batch": [32.0]}), 0.9).terms.set_index("term")
    assert together.share.value == pytest.approx(apart.loc[list(together.terms), "share"].sum())


def test_amounts_need_no_draws(series: FitResult) -> None:
    columns = {"workers": np.array([3.0, 64.0])}
    parts = parts_of(series, columns)
    alone = parts_of(series, columns, drawn=False)
    assert alone.names == parts.names
    assert not alone.drawn.size
    np.testing.assert_allclose(alone.amounts, parts.amounts, rtol=1e-12)
    np.testing.assert_allclose(alone.amounts.sum(axis=0), parts.central, rtol=1e-9)
