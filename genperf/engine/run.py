"""Many tasks on an engine: drawn as workers become free, and none lost but those whose workers die twice.

joblib schedules: its loky backend on one machine, its Dask and Ray backends on a cluster. What is ours is that a worker
that dies takes only its own task with it.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass
from itertools import islice
from typing import Generic, TypeVar

from genperf.engine.backends import Backend, Engine, connected

T = TypeVar("T")
R = TypeVar("R")

#: Tasks for each worker that Ray is handed at once: it gives nothing back before the last of them is done.
WAVE = 8


@dataclass(frozen=True)
class Lost:
    """What is left of a task whose worker died, twice.

    Attributes
    ----------
    reason : str
    """

    reason: str


@dataclass(frozen=True)
class _Raised:
    """An error of the work itself, which is not the engine's to handle."""

    error: Exception


@dataclass(frozen=True)
class _Guarded(Generic[T, R]):
    """The work with its number, on one thread of linear algebra: other numbers of threads round otherwise."""

    work: Callable[[T], R]

    def __call__(self, number: int, task: T) -> tuple[int, R | _Raised]:
        # BLAS of scipy's own can be limited only once it is loaded.
        import scipy.linalg  # noqa: F401
        from threadpoolctl import threadpool_limits

        try:
            with threadpool_limits(limits=1):
                return number, self.work(task)
        except Exception as error:
            return number, _Raised(error)


def run(work: Callable[[T], R], tasks: Iterable[T], engine: Engine) -> Iterator[tuple[int, R | Lost]]:
    """Do some work on every task, and yield each task's number with its outcome as it is done.

    Tasks are drawn as workers become free, never all at once. When a worker dies, the tasks that were under way are
    tried once more, each alone on fresh workers; one whose worker dies again is lost, and the rest goes on.

    Parameters
    ----------
    work : callable
        What it is given and gives back must pickle.
    tasks : iterable
    engine : Engine

    Raises
    ------
    GenperfError
        Where the engine is not installed or the cluster does not answer. What the work itself raises is raised here.

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
            yield from _spread(guarded, enumerate(tasks), backend)
    except _WorkError as error:
        raise error.error from None


def _spread(
    guarded: _Guarded[T, R], numbered: Iterator[tuple[int, T]], backend: Backend
) -> Iterator[tuple[int, R | Lost]]:
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
            # Nothing that the work raises comes here, so it is the workers that failed.
            for number, task in list(under_way.items()):
                again: R | Lost = _alone(guarded, number, task, backend)
                yield number, again
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
    try:
        ((_, outcome),) = _parallel(guarded, iter([(number, task)]), backend)
    except Exception as error:
        said = " ".join(str(error).split())[:160]
        return Lost(f"its worker process died ({type(error).__name__}: {said})")
    return _unwrapped(outcome)


def _parallel(
    guarded: _Guarded[T, R], numbered: Iterator[tuple[int, T]], backend: Backend
) -> Iterator[tuple[int, R | _Raised]]:
    from joblib import Parallel, delayed, parallel_config

    calls = (delayed(guarded)(number, task) for number, task in numbered)
    with parallel_config(backend=backend.make(), n_jobs=backend.jobs):
        if backend.streams:
            yield from Parallel(return_as="generator_unordered", batch_size=1)(calls)
            return
        while wave := list(islice(calls, WAVE * backend.jobs)):
            yield from Parallel(batch_size=1)(wave)
