"""Measured phases: each fitted to its column, the total composed from them."""

import pickle
from typing import Any

import numpy as np
import pandas as pd
import pytest

import genperf as gp
from genperf.errors import ModelError
from genperf.result import FitResult, GroupedResult

pytestmark = pytest.mark.usefixtures("one_search")
#: Seconds of the phases of synchronous SGD where only the workers change: c_f and c_b are zero.
WORKERS = np.array([1.0, 2, 4, 8, 16, 32])
ALONE = {
    "forward_s": 0.4 / WORKERS,
    "backward_s": 0.9 / WORKERS,
    "exchange_s": 2 * 0.2 * (1 - 1 / WORKERS) + 2 * 0.001 * (WORKERS - 1),
    "update_s": np.full(6, 0.03),
}

#: And of all phases on nodes of four devices, where every constant matters.
GRID = pd.DataFrame(
    [(n, max(1, n // 4), b, M) for n in (1, 2, 4, 8, 16, 32) for b in (16, 64) for M in (1e7, 4e8)],
    columns=["workers", "nodes", "batch", "bytes"],
).astype(float)
MANY = {"i": 2e-4, "h": 1e-4, "a_f": 1e-3, "c_f": 0.01, "a_b": 2.5e-3, "c_b": 5e-3}
MANY |= {"beta_r": 1e-10, "beta_n": 8e-10, "alpha": 1e-4, "u": 0.02}


def phases_of_grid() -> pd.DataFrame:
    n, m, b, M = (GRID[name] for name in GRID)
    k = MANY
    ring = 2 * M * (k["beta_r"] * (1 - m / n) + k["beta_n"] * (1 - 1 / m))
    return pd.DataFrame(
        {
            "io_s": k["i"] * b * n / m,
            "h2d_s": k["h"] * b,
            "forward_s": k["a_f"] * b + k["c_f"],
            "backward_s": k["a_b"] * b + k["c_b"],
            "exchange_s": ring + 2 * k["alpha"] * (n - 1),
            "update_s": np.full(len(n), k["u"]),
        }
    )


def overlapped(p: pd.DataFrame) -> pd.Series:
    step = p.forward_s + np.maximum(p.backward_s, p.exchange_s) + p.update_s
    return np.maximum(p.io_s + p.h2d_s, step)


#: Fits of this file by what they depend on: several tests ask one fit.
FITS: dict[bytes, FitResult] = {}


def fitted(frame: pd.DataFrame, model: str, **options: Any) -> FitResult:
    key = pickle.dumps((frame.to_dict("list"), model, options))
    if key not in FITS:
        extrinsic = [name for name in ("workers", "nodes", "batch") if name in frame]
        intrinsic = "bytes" if "bytes" in frame else ""
        table = gp.read_table(frame, time="t", extrinsic=extrinsic, intrinsic=intrinsic)
        result = gp.fit(table, model, **{"draws": 5, **options})
        FITS[key] = result
    return FITS[key]


def of_workers(**columns: Any) -> pd.DataFrame:
    return pd.DataFrame({"workers": WORKERS, **columns, "t": sum(ALONE.values())})


def of_grid(*names: str, **changed: Any) -> pd.DataFrame:
    phases = phases_of_grid()
    return pd.concat([GRID, phases[list(names)].assign(**changed)], axis=1).assign(t=overlapped(phases))


ALL = tuple(phases_of_grid())


def notes(result: FitResult, kind: str) -> list[str]:
    return [n.text for n in result.notes if n.kind == kind]


def test_a_total_of_maxima_is_composed() -> None:
    result = fitted(of_grid(*ALL), "s-sgd")
    assert result.best.values == pytest.approx(MANY, rel=0.01)
    assert result.metrics["mape"] < 0.1
    assert not result.best.unidentified
    assert not notes(result, "overlap")


def test_phases_show_that_each_worker_has_its_own_work() -> None:
    """Without a column of the batch: none of them falls as the workers grow."""
    frame = of_workers(io_s=0.5, h2d_s=0.1, forward_s=1.0, backward_s=2.0)
    values = fitted(frame, "s-sgd").best.values
    assert [values[name] for name in ("i", "h", "a_f", "a_b")] == pytest.approx([0.5, 0.1, 1.0, 2.0], rel=1e-3)


@pytest.mark.parametrize(
    ("name", "total"),
    [
        ("s-sgd-full", lambda p: overlapped(p)),
        ("s-sgd-input", lambda p: np.maximum(p.io_s + p.h2d_s, p.forward_s + p.backward_s + p.exchange_s + p.update_s)),
        ("s-sgd-gradients", lambda p: overlapped(p.assign(io_s=0.0, h2d_s=0.0)) + p.io_s + p.h2d_s),
        ("s-sgd-none", lambda p: p.sum(axis=1)),
    ],
)
def test_one_name_takes_the_overlap_of_the_measured_total(name: str, total: Any) -> None:
    phases = phases_of_grid()
    frame = pd.concat([GRID, phases], axis=1).assign(t=total(phases))
    result = fitted(frame, "s-sgd")
    assert result.best.expression == fitted(frame, name).best.expression
    assert result.metrics["mape"] < 0.1


@pytest.mark.parametrize(
    ("exchange", "constants"),
    [
        (lambda n, M: 2 * 8e-10 * M * n + 1e-3 * n, {"beta": 8e-10, "alpha": 1e-3}),
        (lambda n, M: 8e-10 * M * (n - 1) + 1e-3 * (n - 1), {"beta": 8e-10, "alpha": 1e-3}),
        (lambda n, M: 2 * 8e-10 * M * (1 - 1 / n) + 2 * 1e-3 * (n - 1), {"beta_n": 8e-10, "alpha": 1e-3}),
    ],
    ids=["servers", "peers", "ring"],
)
def test_the_column_of_the_exchange_tells_what_carries_it(exchange: Any, constants: dict[str, float]) -> None:
    phases, at = phases_of_grid().assign(exchange_s=exchange(GRID.workers, GRID.bytes)), GRID.drop(columns="nodes")
    phases["io_s"] = 2e-4 * GRID.batch
    result = fitted(pd.concat([at, phases], axis=1).assign(t=overlapped(phases)), "s-sgd")
    assert result.best.expression.family == "s-sgd-full"
    assert {name: result.best.values[name] for name in constants} == pytest.approx(constants, rel=0.01)
    assert result.metrics["mape"] < 0.1


@pytest.mark.parametrize("model", ["s-sgd-none", "s-sgd-input"])
def test_the_overlap_that_the_total_speaks_for_is_named(model: str) -> None:
    result = fitted(of_grid(*ALL), model)
    (note,) = notes(result, "overlap")
    assert (
        note == "with the overlap of 's-sgd-full' the composed total has a mean error of 0.0 %: try --model s-sgd-full"
    )
    assert result.metrics["mape"] > 10.0


def test_a_phase_that_takes_no_time() -> None:
    zero = np.zeros(len(GRID))
    result = fitted(of_grid(*ALL, io_s=zero), "s-sgd")
    assert result.best.values["i"] == 0.0
    assert "i" in result.best.at_bound
    assert "input ('io_s', zero throughout)" in notes(result, "phases")[0]
    assert not result.best.draws[:, result.best.expression.constant_names.index("i")].any()


def test_a_phase_that_takes_no_time_in_places() -> None:
    # By squared errors the best constant is the mean: a third of the rows is zero.
    some = np.where(GRID.workers < 4, 0.0, 0.03)
    result = fitted(of_grid(*ALL, update_s=some), "s-sgd")
    assert result.best.values["u"] == pytest.approx(0.02, rel=1e-3)
    assert "zero in places, so by squared errors" in notes(result, "phases")[0]


def test_cells_that_are_missing_and_cells_that_are_wrong() -> None:
    phases = phases_of_grid().astype(object)
    phases.loc[GRID.workers == 1, "exchange_s"] = ""
    phases.loc[3, "forward_s"] = "oom"
    phases.loc[5, "backward_s"] = -1.0
    result = fitted(of_grid(**{name: phases[name] for name in phases}), "s-sgd")
    assert result.best.values == pytest.approx(MANY, rel=0.01)
    assert notes(result, "phase_cells") == [
        "column 'forward_s': 1 cell cannot be used, and forward is fitted without; the first: 'oom' is not a number",
        "column 'backward_s': 1 cell cannot be used, and backward is fitted without; the first: '-1.0' is negative "
        "(a time must not be)",
    ]
    assert "exchange ('exchange_s', 20 of 24 configurations)" in notes(result, "phases")[0]


def test_a_phase_that_is_measured_too_seldom_is_left_to_the_total() -> None:
    frame = of_grid("forward_s", "exchange_s")
    frame.loc[2:, "exchange_s"] = np.nan
    result = fitted(frame, "s-sgd")
    (note,) = notes(result, "phase_left_out")
    assert note.startswith("column 'exchange_s' is left out, and exchange fitted to the total: it was measured only")
    assert result.best.values["beta_n"] == pytest.approx(MANY["beta_n"], rel=0.05)


def test_with_no_usable_phase_it_is_the_fit_of_the_total() -> None:
    frame = of_grid("exchange_s", exchange_s=np.where(GRID.workers == 1, 0.0, np.nan))
    result, plain = fitted(frame, "s-sgd"), fitted(of_grid(), "s-sgd")
    assert result.best.values == plain.best.values
    assert notes(result, "phase_left_out")


def test_fixed_constants() -> None:
    result = fitted(of_grid(*ALL), "s-sgd", fix={"c_f": 0.01, "u": 0.02})
    assert "c_f" not in result.best.values
    assert result.best.values["a_f"] == pytest.approx(MANY["a_f"], rel=1e-3)
    assert "update fitted to the total" in notes(result, "phase_left_out")[0]
    with pytest.raises(ModelError, match="no constant 'a' to fix"):
        fitted(of_grid(*ALL), "s-sgd", fix={"a": 1.0})


def test_groups_each_have_their_phases_and_resume_sees_a_change() -> None:
    first, second = of_workers(**ALONE), of_workers(**ALONE)
    second["exchange_s"] = np.nan
    frame = pd.concat([first.assign(net="a"), second.assign(net="b")], ignore_index=True)

    def fit(frame: pd.DataFrame, before: Any = None) -> GroupedResult:
        return gp.fit(
            gp.read_table(frame, time="t", extrinsic="workers", group="net"), "s-sgd-none", draws=5, resume=before
        )

    result = fit(frame)
    assert "exchange" in notes(result["a"], "phases")[0]
    assert "exchange" not in notes(result["b"], "phases")[0]
    again = fit(frame.assign(update_s=np.where(frame.net == "a", 0.06, frame.update_s)), result)
    assert again["b"].members is result["b"].members
    assert again["a"].best.values["u"] == pytest.approx(0.06, rel=0.01)
