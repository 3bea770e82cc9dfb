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
from functools import cache, lru_cache, partial
from importlib import import_module
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
# Examples are drawn without the constants of the package, for which each worker would parse all of its modules.
if providers := sys.modules.get("hypothesis.internal.conjecture.providers"):
    vars(providers)["_get_local_constants"] = lambda: providers._local_constants


#: Trees of forests and boosting, and draws of the constants of a sum, each of which is a fit: those of users take half
#: of the time of a fit to many factors.
FEW: dict[str, Any] = {"FOREST_TREES": 4, "TERM_DRAWS": 15}
#: Curves of the bank of series, draws of them, of causes and of what is compared, and parts that a stack is weighed by,
#: where tests are about answers: those of users take half of the time of a question.
FEW_CURVES: dict[str, Any] = {"POSTERIOR_DRAWS": 100, "BANK_CURVES": 2048, "JOINT_DRAWS": 500}
FEW_CURVES |= {"IMPORTANCE_DRAWS": (256, 256, 512), "STACK_FOLDS": 3, "STACK_CUTS": 1, "DEALS": 1}
FEW_CURVES |= {"MOST_LOOKED_BACK": 2, "POWERS_OF_A_COUNT": (0.5,), "TERM_DRAWS": 6}
#: The modules that have these counts.
COUNTING = ("causes.laws", "growth.readings", "process.fit", "process.means", "process.stacking", "search.compare")
COUNTING = tuple(f"genperf.{name}" for name in (*COUNTING, "search.optimize", "validation.learners"))


@cache
def counts_of_users() -> dict[str, Any]:
    """Return the counts that users get, which are read before any is changed."""
    from genperf.growth.bank import BANK_CURVES

    rooms = [vars(import_module(name)) for name in COUNTING]
    counts = {name: room[name] for room in rooms for name in (FEW | FEW_CURVES).keys() & room.keys()}
    return {**counts, "BANK_CURVES": BANK_CURVES}


def patch_counts(patch: pytest.MonkeyPatch, counts: dict[str, Any]) -> None:
    """Set how many trees, curves and draws there are."""
    for room in map(import_module, COUNTING):
        for name in counts.keys() & vars(room).keys():
            patch.setattr(room, name, counts[name])
    for place, function in of_bank(counts["BANK_CURVES"]).items() if "BANK_CURVES" in counts else ():
        patch.setattr(place, function)


@cache
def of_bank(curves: int) -> dict[str, Callable[..., Any]]:
    """Return a bank of so many curves by its places, and what keeps what is made of it, in caches of its own."""
    from genperf.causes import laws
    from genperf.growth import cluster, fit, hints, posterior
    from genperf.growth.bank import bank

    kept = {posterior: ("_logarithms", "_layout", "_posterior"), cluster: ("step_kinds", "strength_kinds")}
    kept |= {laws: ("_normal_draws",)}
    functions = {f"{room.__name__}.{name}": vars(room)[name] for room, names in kept.items() for name in names}
    caches = {p: lru_cache(f.cache_parameters()["maxsize"])(f.__wrapped__) for p, f in functions.items()}
    return {**caches, **{f"{room.__name__}.bank": partial(bank, curves) for room in (cluster, fit, hints, posterior)}}


@pytest.fixture(scope="session", autouse=True)
def few_trees_and_draws() -> Iterator[None]:
    """Give forests few trees and sums few draws in every test that is not about their errors and intervals."""
    counts_of_users()
    with pytest.MonkeyPatch.context() as patch:
        patch_counts(patch, FEW)
        yield


@pytest.fixture(scope="session", autouse=True)
def names_of_examples(doctest_namespace: dict[str, Any]) -> None:
    """Give the examples of docstrings `gp`, `np` and `pd`, as the documentation of pandas has its own."""
    import numpy as np
    import pandas as pd

    import genperf as gp

    doctest_namespace.update(gp=gp, np=np, pd=pd)


@pytest.fixture
def all_trees_and_draws(monkeypatch: pytest.MonkeyPatch) -> None:
    """Give forests the trees, and sums and series the draws, that users get."""
    patch_counts(monkeypatch, counts_of_users())


@pytest.fixture
def all_draws(monkeypatch: pytest.MonkeyPatch) -> None:
    """Give sums and series the draws that users get, and forests few trees."""
    patch_counts(monkeypatch, {**counts_of_users(), "FOREST_TREES": FEW["FOREST_TREES"]})


def search_once(patch: pytest.MonkeyPatch) -> None:
    """Search constants once, and follow the likelihood of the constant term from fewer places."""
    from genperf.estimate import fit, outcome, phases
    from genperf.solver import solve

    for room in (fit, phases):
        patch.setattr(room, "solve", partial(solve, restarts=1))
    patch.setattr(outcome, "PROFILE_STARTS", 2)
    patch.setattr(outcome, "PROFILE_VALUES", 5)


@pytest.fixture
def few_counts(monkeypatch: pytest.MonkeyPatch) -> None:
    """Fit as the rooms of answers do, for tests of order, names, units and odd tables."""
    search_once(monkeypatch)
    patch_counts(monkeypatch, FEW_CURVES)


@pytest.fixture
def one_search(monkeypatch: pytest.MonkeyPatch) -> None:
    """Search constants once, for tests that are not about how a search is repeated until two reach the least cost."""
    search_once(monkeypatch)


@pytest.fixture
def all_searches(monkeypatch: pytest.MonkeyPatch) -> None:
    """Search constants as often as for users, for tests of answers that report how the search went."""
    from genperf.estimate import fit, phases
    from genperf.solver import solve

    for room in (fit, phases):
        monkeypatch.setattr(room, "solve", solve)


#: Rooms whose tests are about answers: they fit the same tables often, and how a fit comes about is held elsewhere.
ANSWERS = {"attribution", "browser", "causes", "cli", "docs", "fuzz", "importers", "one_run", "panel", "plots"}
ANSWERS |= {"prediction", "reporting", "result", "search", "table", "verification"}


@pytest.fixture(scope="session")
def fits_of_the_session() -> dict[bytes, list[Any]]:
    """Return the fits of this session by what they depend on: a model, its tables and its seed, as they are pickled."""
    return {}


@pytest.fixture(scope="module", autouse=True)
def fits_once(request: pytest.FixtureRequest, fits_of_the_session: dict[bytes, list[Any]]) -> Iterator[None]:
    """Fit equal tables with equal options once, by one search and few draws, in the rooms of tests about answers."""
    if request.path.parent.name not in ANSWERS:
        yield
        return
    from genperf.fitting.auto import Auto
    from genperf.fitting.model import ExpressionModel
    from genperf.growth import posterior, readings
    from genperf.process import means, stacking

    def once(fit: Callable[..., Any]) -> Callable[..., Any]:
        def fit_once(model: Any, tables: Any, seed: int) -> Any:
            counts = means.TERM_DRAWS, readings.POSTERIOR_DRAWS, len(posterior.bank().step), stacking.STACK_FOLDS
            key = pickle.dumps((model, list(tables), seed, counts))
            if key not in fits_of_the_session:
                fits_of_the_session[key] = fit(model, tables, seed)
            return list(fits_of_the_session[key])

        return fit_once

    with pytest.MonkeyPatch.context() as patch:
        search_once(patch)
        patch_counts(patch, FEW_CURVES)
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
