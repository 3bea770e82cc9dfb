"""The command line: `genperf COMMAND`, one small file a command."""

import gc
import os
import signal

#: New objects between two collections of garbage: importing makes some 200,000, nearly all of which stay.
OBJECTS_BETWEEN_COLLECTIONS = 500_000


def main() -> None:
    """Run the command line and exit with its status; Ctrl-C while Python is still importing ends it in silence."""
    gc.set_threshold(OBJECTS_BETWEEN_COLLECTIONS)
    # A fit's matrices are small: more threads are slower, and starting them costs a tenth of a second.
    os.environ.setdefault("OPENBLAS_NUM_THREADS", "1")
    waiting = signal.getsignal(signal.SIGINT)
    if waiting is signal.default_int_handler:
        # Nothing is written yet that could be lost, and a traceback of imports helps nobody.
        signal.signal(signal.SIGINT, signal.SIG_DFL)
    from genperf.cli.main import main as run

    signal.signal(signal.SIGINT, waiting)
    run()
