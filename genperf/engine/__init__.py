"""Where many tasks run: in this process, in processes of this machine, or on a cluster of the user's."""

from genperf.engine.run import ENGINES, Engine, Lost, one_blas_thread, run

__all__ = ["ENGINES", "Engine", "Lost", "one_blas_thread", "run"]
