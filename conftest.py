"""One thread of linear algebra for every test, and no time limit for the examples of hypothesis.

pytest reads this file before it imports any test, so that the limit is set before numpy is imported. The
workers of pytest and the programs that tests start inherit it. More threads than cores make the tests slower.
"""

import atexit
import gc
import os
import pickle
import sys
from collections.abc import Callable, Generator, Iterator
from functools import partial
from typing import Any

# The programs that tests start read compiled modules, and so does the next run of the tests.
os.environ.pop("PYTHONDONTWRITEBYTECODE", None)
sys.dont_write_bytecode = False
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


@pytest.fixture
def one_search(monkeypatch: pytest.MonkeyPatch) -> None:
    """Search constants once, for tests that are not about how a search is repeated until two reach the least cost."""
    from genperf.estimate import fit, phases

    for room in (fit, phases):
        monkeypatch.setattr(room, "solve", partial(room.solve, restarts=1))


#: Rooms whose tests are about answers: they fit the same tables often, and how a fit comes about is held elsewhere.
ANSWERS = {"attribution", "browser", "causes", "cli", "docs", "panel", "plots", "reporting", "search", "verification"}


@pytest.fixture(scope="session")
def fits_of_the_session() -> dict[bytes, list[Any]]:
    """Return the fits of this session by what they depend on: a model, its tables and its seed, as they are pickled."""
    return {}


@pytest.fixture(scope="module", autouse=True)
def fits_once(request: pytest.FixtureRequest, fits_of_the_session: dict[bytes, list[Any]]) -> Iterator[None]:
    """Fit equal tables with equal options once in the rooms whose tests are about answers."""
    if request.path.parent.name not in ANSWERS:
        yield
        return
    from genperf.fitting.auto import Auto
    from genperf.fitting.model import ExpressionModel

    def once(fit: Callable[..., Any]) -> Callable[..., Any]:
        def fit_once(model: Any, tables: Any, seed: int) -> Any:
            key = pickle.dumps((model, list(tables), seed))
            if key not in fits_of_the_session:
                fits_of_the_session[key] = fit(model, tables, seed)
            return list(fits_of_the_session[key])

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
        # Nor is it looked for among them later, and seldom among what tests make, most of which is freed at once.
        gc.freeze()
        gc.set_threshold(100_000, 50, 50)


# The interpreter frees what was collected at its end, after pytest, which looks for garbage ten times as it ends.
atexit.register(gc.unfreeze)
