"""Engines: tasks here, in processes and on Dask."""

import os
import sys
from collections.abc import Iterator
from functools import cache
from typing import Any

import numpy as np
import pandas as pd
import pytest
from helpers import cases_in_text

import genperf as gp
from genperf.engine import Engine, Lost, run
from genperf.errors import GenperfError
from genperf.result import dump_model


def square(x: int) -> int:
    return x * x


def die_of_seven(x: int) -> int:
    if x == 7:
        os._exit(1)
    return x * x


def threads(_: int) -> list[int]:
    from threadpoolctl import threadpool_info

    return [pool["num_threads"] for pool in threadpool_info()]


def refuse(x: int) -> int:
    raise ZeroDivisionError(f"no {x}")


@pytest.mark.parametrize("workers", [1, 2])
def test_every_task_is_done_once(workers: int) -> None:
    engine = Engine(workers=workers)
    assert sorted(run(square, range(20), engine)) == [(i, i * i) for i in range(20)]
    assert list(run(square, [], engine)) == []
    # Linear algebra has one thread; what the work raises is raised.
    ((_, counts),) = run(threads, [0], engine)
    assert set(counts) == {1}
    with pytest.raises(ZeroDivisionError, match="no 3"):
        list(run(refuse, [3], engine))


@cases_in_text("given, message")
def test_refused(given: dict[str, Any], message: str) -> None:
    with pytest.raises(GenperfError) as caught:
        Engine(**given)
    assert message in str(caught.value)
    assert caught.value.hint


def test_an_engine_that_is_not_installed_says_how_to_get_it(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "distributed", None)
    with pytest.raises(GenperfError) as caught:
        list(run(square, [1], Engine("dask")))
    assert caught.value.hint == 'pip install "genperf[dask]"'


# --- the same bytes on a Dask cluster of separate processes over TCP, and here ---------------------------------------

# What these packages warn of is theirs: unclosed sockets and loops at their end.
pytestmark = pytest.mark.filterwarnings("ignore")


def fleet() -> gp.Table:
    n = np.array([1.0, 2, 4, 8, 16, 32])
    rng = np.random.default_rng(5)
    parts = [
        pd.DataFrame({"net": f"net{k}", "workers": n, "s": (1 + k + 9 / n) * np.exp(rng.normal(0, 0.02, 6))})
        for k in range(5)
    ]
    return gp.read_table(
        pd.concat([*parts, parts[0][:1].assign(net="short")]), time="s", extrinsic="workers", group="net"
    )


MODELS = ["ernest", "a/workers**p + c"]


@cache
def here(model: str) -> str:
    """Return the file of the model fitted in this process."""
    return dump_model(gp.fit(fleet(), model, draws=8))


@pytest.fixture(scope="module")
def dask_address() -> Iterator[str]:
    distributed = pytest.importorskip("distributed", reason="the extra 'dask' is not installed")
    dask = pytest.importorskip("dask")
    with (
        dask.config.set({"distributed.scheduler.allowed-failures": 0, "distributed.logging.distributed": "critical"}),
        # Workers are forked from one process that has read Dask, and read it not again each.
        dask.config.set({"distributed.worker.multiprocessing-method": "forkserver"}),
        distributed.LocalCluster(
            n_workers=2, threads_per_worker=1, processes=True, host="127.0.0.1", dashboard_address=None
        ) as cluster,
    ):
        yield cluster.scheduler_address


@pytest.mark.parametrize("model", MODELS)
def test_dask(dask_address: str, model: str) -> None:
    assert dask_address.startswith("tcp://127.0.0.1:")
    result = gp.fit(fleet(), model, draws=8, engine="dask", address=dask_address)
    assert list(result.failures) == [("short",)]
    assert dump_model(result) == here(model)


def test_dask_validates_alike(dask_address: str) -> None:
    frames = [
        gp.validate(fleet(), "amdahl,linear", "extrapolate:workers", draws=8, **engine).predictions()
        for engine in ({}, {"engine": "dask", "address": dask_address})  # type: ignore[arg-type]
    ]
    pd.testing.assert_frame_equal(*frames, check_exact=True)


def test_a_dask_worker_that_dies_takes_one_task_with_it(dask_address: str) -> None:
    cloudpickle = pytest.importorskip("cloudpickle")
    cloudpickle.register_pickle_by_value(sys.modules[__name__])
    done: dict[int, Any] = dict(run(die_of_seven, range(12), Engine("dask", address=dask_address)))
    cloudpickle.unregister_pickle_by_value(sys.modules[__name__])
    assert isinstance(done.pop(7), Lost)
    assert done == {i: i * i for i in range(12) if i != 7}


def test_no_scheduler_there() -> None:
    pytest.importorskip("distributed", reason="the extra 'dask' is not installed")
    with pytest.raises(GenperfError, match="no Dask scheduler answers at 'nowhere'"):
        gp.fit(fleet(), "amdahl", engine="dask", address="nowhere")
