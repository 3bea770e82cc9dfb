"""The command line: `genperf COMMAND`, one small file a command."""

from genperf.cli.start import main

__all__ = ["main"]
