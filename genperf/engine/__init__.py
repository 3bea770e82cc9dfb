"""Where many tasks run: in this process, in processes of this machine, or on a cluster of the user's."""

from genperf.engine.run import Engine, Lost, one_blas_thread, run
