"""One thread of linear algebra for every test, and no time limit for the examples of hypothesis.

pytest reads this file before it imports any test, so that the limit is set before numpy is imported. The
workers of pytest and the programs that tests start inherit it. More threads than cores make the tests slower.
"""

import os

for _library in ("OPENBLAS", "OMP", "MKL", "BLIS", "VECLIB_MAXIMUM"):
    os.environ.setdefault(f"{_library}_NUM_THREADS", "1")

import pytest  # noqa: E402  (after the limit of threads)
from hypothesis import settings  # noqa: E402

# On a busy machine an example takes as long as it takes. Every run draws the same examples, so that the tests of
# one commit have one result; `pytest --hypothesis-profile=explore` draws others at each run.
settings.register_profile("genperf", deadline=None, max_examples=25, derandomize=True)
settings.register_profile("explore", deadline=None, max_examples=25, derandomize=False)
settings.load_profile("genperf")


@pytest.fixture
def few_trees(monkeypatch: pytest.MonkeyPatch) -> None:
    """Give forests and boosting a fifth of their trees, where a test is not about their errors."""
    from dataclasses import replace

    from genperf.validation import learners

    monkeypatch.setattr(learners, "LEARNER", replace(learners.LEARNER, trees=60))
