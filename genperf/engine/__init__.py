"""Where many tasks run: in this process, in processes of this machine, or on a cluster of the user's."""

from genperf.engine.backends import ENGINES, Engine
from genperf.engine.run import Lost, run
from genperf.engine.threads import one_blas_thread

__all__ = ["ENGINES", "Engine", "Lost", "one_blas_thread", "run"]
