"""A worker of a framework that computes nothing: `hidden` says what it does instead.

1: a step of a millisecond; 2: the last worker dies; 3: hangs; 4: never gets ready (when it is the first case).
"""

import os
import sys
import time
from pathlib import Path

sys.path.insert(0, str(Path(__file__).parents[3] / "experiments" / "measure"))

from work import job, serve

HANGS = 60.0


def main() -> None:
    meeting, asked, rank = job()
    if asked["cases"][0]["hidden"] == 4:
        time.sleep(HANGS)

    def build(number, case):
        def step():
            if case["hidden"] == 2 and asked["workers"] == rank + 1:
                print("out of luck", file=sys.stderr)
                os._exit(3)
            time.sleep(HANGS if case["hidden"] == 3 else 0.001)
            return {"forward": 0.001}

        return step

    serve(meeting, asked, rank, "1.0", build)


if __name__ == "__main__":
    main()
