"""Where many tasks run: in this process, in processes of this machine, or on a cluster of the user's."""

from genperf.engine.backends import ENGINES, Engine
from genperf.engine.run import Lost, run

__all__ = ["ENGINES", "Engine", "Lost", "run"]
