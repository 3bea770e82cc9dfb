"""The command line: `genperf COMMAND`, one small file a command."""

import signal


def main() -> None:
    """Run the command line and exit with its status; Ctrl-C while Python is still importing ends it in silence."""
    waiting = signal.getsignal(signal.SIGINT)
    if waiting is signal.default_int_handler:
        # Nothing is written yet that could be lost, and a traceback of imports helps nobody.
        signal.signal(signal.SIGINT, signal.SIG_DFL)
    from genperf.cli.main import main as run

    signal.signal(signal.SIGINT, waiting)
    run()
