"""The door: names, formulas, groups, refusals."""

from typing import Any

import pandas as pd
import pytest

import genperf as gp


def law(n: Any) -> Any:
    return 1.0 + 8.0 / n


def table(frame: pd.DataFrame, **roles: Any) -> gp.Table:
    return gp.read_table(frame, time="s", extrinsic="workers", **roles)


SCALES = pd.DataFrame({"workers": [1, 2, 4, 8, 16]}).assign(s=lambda d: law(d.workers))


def test_the_submodule_does_not_shadow_the_function() -> None:
    import genperf.fitting

    assert callable(gp.fit)
    assert gp.fit is genperf.fitting.fit


def test_public_names_are_there() -> None:
    assert all(hasattr(gp, name) for name in gp.__all__)
    assert set(gp.__all__) <= set(dir(gp))
    with pytest.raises(AttributeError):
        gp.nothing  # noqa: B018


def test_a_fixed_constant_stays() -> None:
    result = gp.fit(table(SCALES), model="amdahl", fix={"c": 0.5}, lam=0.0)
    assert "c" not in result.best.values
    assert result.predict({"workers": 1e9}).time[0] == pytest.approx(0.5, rel=1e-6)


def test_weights_move_the_fit() -> None:
    frame = pd.concat([SCALES.assign(w=1.0), SCALES[-1:].assign(workers=32, s=5.0, w=0.0)])
    result = gp.fit(table(frame, weight="w"), model="amdahl", lam=0.0)
    assert result.best.values["a"] == pytest.approx(8.0, rel=1e-6)
