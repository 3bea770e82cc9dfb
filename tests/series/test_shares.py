"""Counts below one are no series of counts: a share of a worker exchanges nothing."""

import pandas as pd
import pytest

import genperf as gp


@pytest.mark.parametrize("unit", [0.1, 1e-29])
def test_shares_of_a_worker_are_a_plain_factor(unit: float) -> None:
    runs = pd.DataFrame({"workers": [n * unit for n in (1, 2, 4, 8, 16)], "s": [9.0, 5.0, 3.0, 2.0, 1.5]})
    result = gp.fit(runs, time="s", extrinsic="workers")
    assert result.options["approach"] == "factors"
    assert float(result.predict({"workers": 3 * unit}).time.iloc[0]) == pytest.approx(8 / 3 + 1, rel=0.05)


def test_many_factors_are_refused() -> None:
    columns = {f"f{k}": [(k + row) % 7 + 1 for row in range(300)] for k in range(101)}
    runs = pd.DataFrame({**columns, "s": [1.0 + row % 13 for row in range(300)]})
    with pytest.raises(gp.GenperfError, match="101 factors vary; at most 100 are fitted together"):
        gp.fit(runs, "generic", time="s", intrinsic=list(columns))


def test_a_model_that_is_zero_where_it_was_measured_is_refused() -> None:
    runs = pd.DataFrame({"workers": [1, 2, 4, 8], "s": [9.0, 5.0, 3.0, 2.0]})
    with pytest.raises(gp.GenperfError, match="above zero at every measured configuration"):
        gp.fit(runs, "-a*workers", time="s", extrinsic="workers")
