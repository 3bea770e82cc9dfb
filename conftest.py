"""One thread of linear algebra for every test, and no time limit for the examples of hypothesis.

pytest reads this file before it imports any test, so that the limit is set before numpy is imported. The
workers of pytest and the programs that tests start inherit it. More threads than cores make the tests slower.
"""

import os

for _library in ("OPENBLAS", "OMP", "MKL", "BLIS", "VECLIB_MAXIMUM"):
    os.environ.setdefault(f"{_library}_NUM_THREADS", "1")

from hypothesis import settings  # noqa: E402  (after the limit of threads)

# On a busy machine an example takes as long as it takes.
settings.register_profile("genperf", deadline=None)
settings.load_profile("genperf")
