"""One thread of linear algebra for every test, and no time limit for the examples of hypothesis.

pytest reads this file before it imports any test, so that the limit is set before numpy is imported. The
workers of pytest and the programs that tests start inherit it. More threads than cores make the tests slower.
"""

import gc
import os
import pickle
from collections.abc import Callable, Generator, Iterator
from typing import Any

for _library in ("OPENBLAS", "OMP", "MKL", "BLIS", "VECLIB_MAXIMUM"):
    os.environ.setdefault(f"{_library}_NUM_THREADS", "1")

import pytest  # noqa: E402  (after the limit of threads)
from hypothesis import settings  # noqa: E402

# On a busy machine an example takes as long as it takes. Every run draws the same examples, so that the tests of
# one commit have one result; `pytest --hypothesis-profile=explore` draws others at each run.
settings.register_profile("genperf", deadline=None, max_examples=25, derandomize=True)
settings.register_profile("explore", deadline=None, max_examples=25, derandomize=False)
settings.load_profile("genperf")


#: Forests and boosting have so many trees in the tests: those that users get cost thirty times as much.
FEW_TREES, ALL_TREES = 10, 300


@pytest.fixture(scope="session", autouse=True)
def few_trees() -> Iterator[None]:
    """Give forests and boosting few trees in every test that is not about their errors."""
    from genperf.validation import learners

    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(learners, "FOREST_TREES", FEW_TREES)
        yield


@pytest.fixture
def all_trees(monkeypatch: pytest.MonkeyPatch) -> None:
    """Give forests and boosting the trees that users get."""
    from genperf.validation import learners

    monkeypatch.setattr(learners, "FOREST_TREES", ALL_TREES)


@pytest.fixture(scope="module")
def fits_once() -> Iterator[None]:
    """Fit equal tables with equal options once in a module: its tests are about answers, and ask the same tables often.

    What a fit depends on is its model, its tables and its seed, all of which are compared as they are pickled.
    """
    from genperf.fitting.auto import Auto
    from genperf.fitting.expressions import ExpressionModel

    fitted: dict[bytes, Any] = {}

    def once(fit: Callable[..., Any]) -> Callable[..., Any]:
        def fit_once(model: Any, tables: Any, seed: int) -> Any:
            key = pickle.dumps((model, list(tables), seed))
            if key not in fitted:
                fitted[key] = fit(model, tables, seed)
            return list(fitted[key])

        return fit_once

    with pytest.MonkeyPatch.context() as patch:
        for kind in (Auto, ExpressionModel):
            patch.setattr(kind, "fit", once(kind.fit))
        yield


@pytest.hookimpl(wrapper=True)
def pytest_collection() -> Generator[None, object, object]:
    """Collect the tests without looking for garbage: there is none among the modules that are imported."""
    gc.disable()
    try:
        return (yield)
    finally:
        gc.enable()
        # Nor is it looked for among them later.
        gc.freeze()


def pytest_unconfigure() -> None:
    """Let the interpreter free at its end what was collected."""
    gc.unfreeze()
