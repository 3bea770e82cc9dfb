"""Many tasks on an engine: here, in processes of this machine, or on a cluster of Dask; and their progress.

loky's processes and Dask's workers are executors alike. Tasks are drawn as workers become free; a worker that dies
loses no other tasks.
"""

import sys
from collections.abc import Callable, Iterable, Iterator
from contextlib import AbstractContextManager, ExitStack, contextmanager
from contextvars import ContextVar
from functools import lru_cache, partial
from itertools import islice
from numbers import Integral
from typing import Any, TypeAlias, TypeVar

from msgspec import Struct

from genperf.errors import GenperfError, known_name

ENGINES = ("local", "dask")
#: Tasks that are handed over for each worker: one is done, and one waits. As many as joblib hands over.
TASKS_PER_WORKER = 2


class Engine(Struct, frozen=True):
    """Where tasks run."""

    name: str = "local"
    #: Processes on this machine, −1 for one per core; of a cluster at an address, all its workers are used.
    workers: int = 1
    #: Address of a Dask scheduler: `tcp://host:8786`. Without it a cluster is started here, and stopped in the end.
    address: str | None = None

    def __post_init__(self) -> None:
        known_name("engine", self.name, ENGINES)
        if self.name == "local" and self.address is not None:
            raise GenperfError(f"the local engine has no address ('{self.address}')", hint="--engine dask with it")
        if not isinstance(self.workers, Integral) or self.workers == 0 or self.workers < -1:
            what = f"{self.workers} is not a number of worker processes"
            raise GenperfError(what, hint="1 or more, or -1 for one per core")

    @property
    def in_process(self) -> bool:
        """Whether tasks run here, one after the other."""
        return self.name == "local" and self.workers == 1


class Workers(Struct, frozen=True):
    """What does tasks."""

    #: Returns the executor; a new one where the processes of the last one died.
    executor: Callable[[], Any]
    count: int
    here: bool = True  #: Whether they are processes of this machine, which end with the work.


def _connected(engine: Engine, stack: ExitStack) -> Workers:
    """Connect to the engine, or start one; the stack stops in the end whatever was started for it."""
    import joblib

    local_workers = joblib.cpu_count() if engine.workers == -1 else engine.workers
    if engine.name == "local":
        from joblib.externals.loky import get_reusable_executor

        return Workers(partial(get_reusable_executor, max_workers=local_workers), local_workers)
    try:
        from distributed import Client, LocalCluster
    except ImportError:
        raise GenperfError("the Dask engine is not installed", hint='pip install "genperf[dask]"') from None
    scheduler: Any = engine.address
    if scheduler is None:
        cluster = LocalCluster(n_workers=local_workers, threads_per_worker=1, processes=True, dashboard_address=None)
        scheduler = stack.enter_context(cluster)
    try:
        # Clusters start slowly, and a user waits.
        client = stack.enter_context(Client(scheduler, timeout="20 s"))
    except (OSError, ValueError) as error:
        text = f"no Dask scheduler answers at '{engine.address}' ({_first_words(error)})"
        raise GenperfError(text, hint="check --address, and that the cluster is running") from None
    threads = int(sum(client.nthreads().values()))
    if not threads:
        text = f"the Dask cluster at '{engine.address}' has no workers"
        raise GenperfError(text, hint="start some: dask worker ADDRESS")
    executor = stack.enter_context(client.get_executor(pure=False))
    return Workers(lambda: executor, threads, here=False)


def _first_words(error: Exception) -> str:
    """Return an error's text on one line."""
    return " ".join(str(error).split())[:160]


def one_blas_thread() -> AbstractContextManager[Any]:
    """Return a context in which linear algebra uses one thread: on matrices as small as a fit's more are slower."""
    # That of scipy can be limited only once it is loaded: what loads it afterwards enters anew.
    limited: AbstractContextManager[Any] = _libraries(len(sys.modules)).limit(limits=1, user_api="blas")
    return limited


@lru_cache(maxsize=1)
def _libraries(modules: int) -> Any:
    """Return the loaded libraries of linear algebra, which are looked for again only once there are more modules."""
    from threadpoolctl import ThreadpoolController

    return ThreadpoolController()


T = TypeVar("T")
R = TypeVar("R")


class Lost(Struct, frozen=True):
    """The outcome of a task whose worker died twice."""

    reason: str


class _Raised(Struct, frozen=True):
    """An error of the work itself, which the engine passes on."""

    error: Exception


def _guarded(work: Callable[[T], R], task: T) -> R | _Raised:
    """Do a task with one thread of linear algebra: more threads round differently."""
    try:
        with one_blas_thread():
            return work(task)
    except Exception as error:
        return _Raised(error)


def run(work: Callable[[T], R], tasks: Iterable[T], engine: Engine) -> Iterator[tuple[int, R | Lost]]:
    """Do some work on every task, and yield each task's number with its outcome as it is done, or raise its error."""
    guarded: Callable[[T], R | _Raised] = partial(_guarded, work)
    with ExitStack() as stack:
        if engine.in_process:
            outcomes: Iterator[tuple[int, Any]] = enumerate(map(guarded, tasks))
        else:
            outcomes = _distributed(guarded, enumerate(tasks), _connected(engine, stack), stack)
        for number, outcome in outcomes:
            if isinstance(outcome, _Raised):
                raise outcome.error from None
            yield number, outcome


def _distributed(
    guarded: Callable[[T], R | _Raised], numbered: Iterator[tuple[int, T]], workers: Workers, stack: ExitStack
) -> Iterator[tuple[int, R | Lost | _Raised]]:
    """Do the tasks on an executor; those whose worker died are repeated, each alone."""
    from concurrent.futures import FIRST_COMPLETED, Future, wait

    under_way: dict[Future[R | _Raised], tuple[int, T]] = {}
    if workers.here:
        # What is under way when the work is stopped is not waited for.
        stack.callback(lambda: under_way and workers.executor().shutdown(kill_workers=True))
    while True:
        for number, task in islice(numbered, TASKS_PER_WORKER * workers.count - len(under_way)):
            under_way[workers.executor().submit(guarded, task)] = number, task
        if not under_way:
            return
        for future in wait(under_way, return_when=FIRST_COMPLETED).done:
            number, task = under_way.pop(future)
            # Errors of the work do not come here, so workers have failed.
            yield number, future.result() if future.exception() is None else _alone(guarded, task, workers)


def _alone(guarded: Callable[[T], R | _Raised], task: T, workers: Workers) -> R | Lost | _Raised:
    """Do one task by itself on new workers; it is lost where its worker dies again."""
    try:
        outcome: R | _Raised = workers.executor().submit(guarded, task).result()
    except Exception as error:
        return Lost(f"its worker process died ({type(error).__name__}: {_first_words(error)})")
    return outcome


#: Gets the phase in words, how much of it is done and of how much; 0 of 0 where it does not count.
Listener: TypeAlias = Callable[[str, int, int], None]
_LISTENER: ContextVar[Listener | None] = ContextVar("listener", default=None)


def doing(phase: str, done: int = 0, total: int = 0) -> None:
    """Report what is computed now to the listener, if there is one; a worker's process has none."""
    listener = _LISTENER.get()
    if listener is not None:
        listener(phase, done, total)


@contextmanager
def listening(listener: Listener | None) -> Iterator[None]:
    """Pass the reports of `doing` to a function; None receives none."""
    token = _LISTENER.set(listener)
    try:
        yield
    finally:
        _LISTENER.reset(token)
