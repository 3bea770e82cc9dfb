"""Many tasks on an engine: drawn as workers become free, and only a task whose workers die twice is lost.

joblib schedules: its loky backend on one machine, its Dask and Ray backends on a cluster. This module makes sure that a
worker that dies loses no other tasks.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass
from itertools import islice
from typing import Generic, TypeVar

from genperf.engine.backends import Backend, Engine, connected
from genperf.engine.threads import one_blas_thread

T = TypeVar("T")
R = TypeVar("R")


@dataclass(frozen=True)
class RunSettings:
    """How tasks are handed out."""

    #: Tasks per worker in one list for Ray, which returns nothing before the whole list is done: short lists report
    #: progress, long ones keep workers busy. A guess.
    wave_per_worker: int = 8


RUN = RunSettings()


@dataclass(frozen=True)
class Lost:
    """The outcome of a task whose worker died twice."""

    reason: str


@dataclass(frozen=True)
class _Raised:
    """An error of the work itself, which the engine passes on."""

    error: Exception


@dataclass(frozen=True)
class _Guarded(Generic[T, R]):
    """The work and the task's number, with one thread of linear algebra: more threads round differently."""

    work: Callable[[T], R]

    def __call__(self, number: int, task: T) -> tuple[int, R | _Raised]:
        try:
            with one_blas_thread():
                return number, self.work(task)
        except Exception as error:
            return number, _Raised(error)


def run(work: Callable[[T], R], tasks: Iterable[T], engine: Engine) -> Iterator[tuple[int, R | Lost]]:
    """Do some work on every task, and yield each task's number with its outcome as it is done.

    Tasks are drawn as workers become free, never all at once. When a worker dies, the tasks under way are repeated,
    each alone on new workers. A task whose worker dies again is lost, and the others continue.

    Parameters
    ----------
    work : callable
        Task → outcome; both must pickle.

    Raises
    ------
    GenperfError
        Where the engine is not installed or the cluster does not answer. Errors of the work are raised unchanged.

    Examples
    --------
    >>> sorted(run(abs, [-1, 2], Engine()))
    [(0, 1), (1, 2)]
    """
    guarded = _Guarded(work)
    try:
        if engine.in_process:
            for number, task in enumerate(tasks):
                yield number, _unwrapped(guarded(number, task)[1])
            return
        with connected(engine) as backend:
            yield from _distributed(guarded, enumerate(tasks), backend)
    except _WorkError as error:
        raise error.error from None


def _distributed(
    guarded: _Guarded[T, R], numbered: Iterator[tuple[int, T]], backend: Backend
) -> Iterator[tuple[int, R | Lost]]:
    """Do the tasks on a backend, repeating those whose worker died."""
    under_way: dict[int, T] = {}

    def drawn() -> Iterator[tuple[int, T]]:
        for number, task in numbered:
            under_way[number] = task
            yield number, task

    while True:
        try:
            for number, outcome in _parallel(guarded, drawn(), backend):
                del under_way[number]
                yield number, _unwrapped(outcome)
        except _WorkError:
            raise
        except Exception:
            # Errors of the work do not come here, so workers have failed.
            for number, task in list(under_way.items()):
                repeated: R | Lost = _alone(guarded, number, task, backend)
                yield number, repeated
            under_way.clear()
        else:
            return


class _WorkError(Exception):
    def __init__(self, error: Exception) -> None:
        super().__init__(str(error))
        self.error = error


def _unwrapped(outcome: R | _Raised) -> R:
    if isinstance(outcome, _Raised):
        raise _WorkError(outcome.error)
    return outcome


def _alone(guarded: _Guarded[T, R], number: int, task: T, backend: Backend) -> R | Lost:
    """Do one task on new workers."""
    try:
        ((_, outcome),) = _parallel(guarded, iter([(number, task)]), backend)
    except Exception as error:
        reason = " ".join(str(error).split())[:160]
        return Lost(f"its worker process died ({type(error).__name__}: {reason})")
    return _unwrapped(outcome)


def _parallel(
    guarded: _Guarded[T, R], numbered: Iterator[tuple[int, T]], backend: Backend
) -> Iterator[tuple[int, R | _Raised]]:
    """Do the tasks with joblib."""
    from joblib import Parallel, delayed, parallel_config

    calls = (delayed(guarded)(number, task) for number, task in numbered)
    with parallel_config(backend=backend.make(), n_jobs=backend.jobs):
        if backend.streams:
            yield from Parallel(return_as="generator_unordered", batch_size=1)(calls)
            return
        while wave := list(islice(calls, RUN.wave_per_worker * backend.jobs)):
            yield from Parallel(batch_size=1)(wave)
