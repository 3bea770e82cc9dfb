"""One thread of linear algebra for every test.

pytest reads this file before it imports any test, so that the limit is set before numpy is imported. The
workers of pytest and the programs that tests start inherit it. More threads than cores make the tests slower.
"""

import os

for _library in ("OPENBLAS", "OMP", "MKL", "BLIS", "VECLIB_MAXIMUM"):
    os.environ.setdefault(f"{_library}_NUM_THREADS", "1")
