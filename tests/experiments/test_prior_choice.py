"""How settings of the prior are scored: worked by hand, and on one series."""

import numpy as np
import pandas as pd
import pytest
from extrapolation import TIME, Protocol
from prior_choice import LAST, SETTINGS, SHIPPED, cells, forecasts, pinball, with_pinball

from genperf.series.prior import EXPECTATIONS


def rows(**columns: list[float]) -> pd.DataFrame:
    return pd.DataFrame({"series": [0, 1], "error": 0.0, **{n: np.exp(v) for n, v in columns.items()}})


def test_the_loss_of_an_interval_is_that_of_its_three_quantiles() -> None:
    # Inside: 0.05·1, 0.5·0 and (1 − 0.95)·1. Above the upper end by 1: 0.05·3, 0.5·2, 0.95·1.
    found = with_pinball(rows(**{TIME: [0, 2]}, lower=[-1, -1], time=[0, 0], upper=[1, 1]), 0)
    assert found.pinball.to_numpy() == pytest.approx([100 * 0.1 / 3, 100 * 2.1 / 3])
    assert pinball(found) == pytest.approx(100 * 1.1 / 3)


def test_a_point_stands_for_all_three_quantiles() -> None:
    # 1 above: (0.05 + 0.5 + 0.95)/3. 1 below: the same by symmetry.
    found = with_pinball(rows(**{TIME: [1, -1]}, time=[0, 0]), 0)
    assert found.pinball.to_numpy() == pytest.approx([50.0, 50.0])
    assert cells(found)[1:3] == ["–", "–"]


def test_the_shipped_setting_is_in_the_list() -> None:
    assert SETTINGS[SHIPPED] == EXPECTATIONS
    assert LAST not in SETTINGS


def test_other_expectations_give_another_forecast() -> None:
    n = np.array([1.0, 2.0, 4.0, 8.0])
    train = pd.DataFrame({"of": "x", "workers": n, TIME: [1.0, 1.1, 1.25, 1.3]})
    held = pd.DataFrame({"of": "x", "workers": [32.0], TIME: [1.5]})
    protocol = Protocol("one", "", train, held, ["of"], ["workers"])
    quiet, loud = (forecasts(protocol, SETTINGS[name], 0)["x",] for name in ("A, 0.4", "A, 0.7"))
    assert list(quiet.columns[:4]) == ["workers", "time", "lower", "upper"]
    assert (quiet.upper / quiet.lower < loud.upper / loud.lower).all()
