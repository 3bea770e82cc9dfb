"""Engines: every task once, in bounded numbers, and a dead worker takes only its task with it."""

import os
import sys
from collections.abc import Iterator
from typing import Any

import pytest

from genperf.engine import Engine, Lost, run
from genperf.errors import GenperfError


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
    done = list(run(square, range(20), Engine(workers=workers)))
    assert sorted(done) == [(i, i * i) for i in range(20)]


def test_nothing_to_do_is_done() -> None:
    assert list(run(square, [], Engine(workers=2))) == []


@pytest.mark.parametrize("workers", [1, 2])
def test_linear_algebra_has_one_thread(workers: int) -> None:
    ((_, counts),) = run(threads, [0], Engine(workers=workers))
    assert counts
    assert set(counts) == {1}


@pytest.mark.parametrize("workers", [1, 2])
def test_what_the_work_raises_is_raised(workers: int) -> None:
    with pytest.raises(ZeroDivisionError, match="no 3"):
        list(run(refuse, [3], Engine(workers=workers)))


def test_tasks_are_drawn_as_workers_become_free() -> None:
    drawn = 0

    def tasks() -> Iterator[int]:
        nonlocal drawn
        for task in range(60):
            drawn += 1
            yield task

    most = 0
    for done, _ in enumerate(run(square, tasks(), Engine(workers=1)), start=1):
        most = max(most, drawn - done)
    assert most == 0


def test_a_worker_that_dies_takes_one_task_with_it() -> None:
    done = dict(run(die_of_seven, range(12), Engine(workers=2)))
    lost = done.pop(7)
    assert isinstance(lost, Lost)
    assert "worker process died" in lost.reason
    assert done == {i: i * i for i in range(12) if i != 7}


@pytest.mark.parametrize(
    ("given", "message"),
    [
        ({"name": "spark"}, "unknown engine 'spark'"),
        ({"address": "host:1"}, "the local engine has no address"),
        ({"workers": 0}, "0 is not a number of worker processes"),
        ({"workers": -2}, "-2 is not a number of worker processes"),
    ],
)
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
