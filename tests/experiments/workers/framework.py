"""A worker of a framework that computes nothing: `hidden` says what it does instead.

1: a step of a millisecond; 2: dies; 3: hangs; 4: never gets ready (when it is the first case).
"""

import os
import sys
import time
from pathlib import Path

sys.path.insert(0, str(Path(__file__).parents[3] / "experiments" / "measure"))

from work import job, serve

MEETING, JOB, RANK = job()
if JOB["cases"][0]["hidden"] == 4:
    time.sleep(60)


def build(number, case):
    def step():
        if case["hidden"] == 2 and JOB["workers"] == RANK + 1:
            print("out of luck", file=sys.stderr)
            os._exit(3)
        if case["hidden"] == 3:
            time.sleep(60)
        time.sleep(0.001)
        return {"forward": 0.001}

    return step


serve(MEETING, JOB, RANK, "1.0", build)
