"""The engines: a description of each, and the joblib backend that reaches it."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass
from typing import Any

from genperf.errors import GenperfError, suggest

ENGINES = ("local", "dask", "ray")
#: Seconds that a Dask scheduler has to answer in: clusters start slowly, a user waits.
ANSWER_TIMEOUT_S = 20


@dataclass(frozen=True)
class Engine:
    """Where tasks run.

    Examples
    --------
    >>> Engine("dusk")
    Traceback (most recent call last):
    ...
    genperf.errors.GenperfError: unknown engine 'dusk'
      try: did you mean 'dask'?
    """

    name: str = "local"
    #: Processes on this machine, −1 for one per core; of a cluster at an address, all its workers are used.
    workers: int = 1
    #: The cluster's: `tcp://host:8786` of a Dask scheduler, `host:6379` or `ray://host:10001` of Ray. Without one a
    #: cluster of this machine is started, and stopped in the end.
    address: str | None = None

    def __post_init__(self) -> None:
        if self.name not in ENGINES:
            hint = suggest(self.name, ENGINES) or f"one of {', '.join(ENGINES)}"
            raise GenperfError(f"unknown engine '{self.name}'", hint=hint)
        if self.name == "local" and self.address is not None:
            raise GenperfError(
                f"the local engine has no address ('{self.address}')", hint="--engine dask or --engine ray with it"
            )
        if not isinstance(self.workers, int) or self.workers == 0 or self.workers < -1:
            raise GenperfError(
                f"{self.workers} is not a number of worker processes", hint="1 or more, or -1 for one per core"
            )

    @property
    def in_process(self) -> bool:
        """Whether tasks run here, one after the other."""
        return self.name == "local" and self.workers == 1


@dataclass(frozen=True)
class Backend:
    """A joblib backend for an engine."""

    #: Returns a backend's name or a new one.
    make: Callable[[], Any]
    #: Workers.
    jobs: int
    #: Whether results come back one by one, and not all together.
    streams: bool = True


@contextmanager
def connected(engine: Engine) -> Iterator[Backend]:
    """Connect to the engine, and stop in the end whatever was started for it.

    Raises
    ------
    GenperfError
        Where the engine is not installed or the cluster does not answer.
    """
    import joblib

    local_workers = joblib.cpu_count() if engine.workers == -1 else engine.workers
    with ExitStack() as stack:
        if engine.name == "local":
            yield Backend(lambda: "loky", local_workers)
        elif engine.name == "dask":
            yield _dask(engine, local_workers, stack)
        else:
            yield _ray(engine, local_workers, stack)


def _dask(engine: Engine, local_workers: int, stack: ExitStack) -> Backend:
    """Connect to a Dask scheduler, or start one."""
    try:
        from distributed import Client, LocalCluster
    except ImportError:
        raise GenperfError("the Dask engine is not installed", hint='pip install "genperf[dask]"') from None
    scheduler: Any = engine.address
    if scheduler is None:
        scheduler = stack.enter_context(
            LocalCluster(n_workers=local_workers, threads_per_worker=1, processes=True, dashboard_address=None)
        )
    try:
        client = stack.enter_context(Client(scheduler, timeout=ANSWER_TIMEOUT_S))
    except (OSError, ValueError) as error:
        raise _unreachable("Dask scheduler", engine, error) from None
    threads = sum(client.nthreads().values())
    if not threads:
        raise GenperfError(
            f"the Dask cluster at '{engine.address}' has no workers", hint="start some: dask worker ADDRESS"
        )
    return Backend(lambda: _dask_backend(client), max(2, int(threads)))


def _dask_backend(client: Any) -> Any:
    from joblib._dask import DaskDistributedBackend

    class Reporting(DaskDistributedBackend):  # type: ignore[misc]
        """joblib's backend waits for ever for a task whose workers died; this one reports the failure."""

        def configure(self, *args: Any, **kwargs: Any) -> int:
            # With one worker joblib would run the tasks in this process, and a task that dies would end it.
            return max(2, int(super().configure(*args, **kwargs)))

        def submit(self, func: Any, callback: Any = None) -> Any:
            future = super().submit(func, callback)

            def report(done: Any) -> None:
                error = done.exception()
                if error is not None and callback is not None:
                    callback(_Died(error))

            future.add_done_callback(report)
            return future

        def retrieve_result_callback(self, out: Any) -> Any:
            if isinstance(out, _Died):
                raise out.error
            return super().retrieve_result_callback(out)

    return Reporting(client=client)


@dataclass(frozen=True)
class _Died:
    """The failure of a task whose workers died."""

    error: BaseException


def _ray(engine: Engine, local_workers: int, stack: ExitStack) -> Backend:
    """Connect to Ray, or start it."""
    try:
        import ray
        from ray.util.joblib import register_ray
    except ImportError:
        raise GenperfError("the Ray engine is not installed", hint='pip install "genperf[ray]"') from None
    register_ray()
    if not ray.is_initialized():
        cluster = (
            {"num_cpus": max(2, local_workers), "include_dashboard": False}
            if engine.address is None
            else {"address": engine.address}
        )
        try:
            ray.init(log_to_driver=False, logging_level="error", **cluster)
        except (ConnectionError, ValueError, RuntimeError) as error:
            raise _unreachable("Ray cluster", engine, error) from None
        stack.callback(ray.shutdown)
    return Backend(lambda: "ray", max(1, int(ray.cluster_resources().get("CPU", 1))), streams=False)


def _unreachable(kind: str, engine: Engine, error: Exception) -> GenperfError:
    """Return the error for a cluster that does not answer."""
    reason = " ".join(str(error).split())[:160]
    return GenperfError(
        f"no {kind} answers at '{engine.address}' ({reason})", hint="check --address, and that the cluster is running"
    )
