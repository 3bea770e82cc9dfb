"""The results of the core experiment and of the partitioned campaign: what is held out, and pages that agree."""

import numpy as np
import pytest

from experiments.accuracy import partitioned_layouts, three_frameworks
from experiments.accuracy.three_frameworks import ALL, COMBINED, FRAMEWORKS, LEARNERS, LEVELS, MODELS


@pytest.mark.parametrize("factor", COMBINED)
def test_each_framework_lacks_each_level_once_and_has_it_from_the_others(factor: str) -> None:
    frame = three_frameworks.table_of(ALL).frame
    column = "batch_per_worker" if factor == "batch" else factor
    held = frame.groupby(["framework", column])[f"{factor}_fold"].unique()
    # Every combination is held out in one fold, and in every fold each framework lacks another level.
    assert held.map(len).max() == 1
    table = held.map(lambda folds: folds[0]).unstack("framework")
    assert table.shape == (LEVELS, len(FRAMEWORKS))
    assert all(sorted(table[name]) == list(range(LEVELS)) for name in table)
    assert all(table.loc[level].nunique() == len(FRAMEWORKS) for level in table.index)


def test_networks_are_held_out_whole() -> None:
    frame = three_frameworks.table_of("MXNet").frame
    assert set(frame["framework"]) == {"mxnet"}
    assert frame.groupby("network")["network_fold"].nunique().max() == 1
    assert frame.groupby("network_fold")["network"].nunique().tolist() == [8] * 5


def test_the_page_of_frameworks_is_that_of_its_rows() -> None:
    assert three_frameworks.PAGE.read_text(encoding="utf-8") == three_frameworks.page_of(three_frameworks.kept())


def test_the_median_over_seeds_is_judged_beside_the_best_learner() -> None:
    errors = {"generic": ("5.0", "7.0", "9.0"), "auto": ("1.0", "1.0", "1.0"), "svr": ("6.0", "8.0", "6.5")}
    rows = [
        {"rows": "MXNet", "predicted": f"5-fold, seed {seed}"}
        | {model: errors.get(model, ("20.0",) * 3)[seed] for model in MODELS}
        for seed in range(3)
    ]
    (line,) = three_frameworks.verdicts(rows)
    assert "least of the learners in 0 of 1. 5-fold: generic 7.0, auto 1.0, svr 6.5." in line
    # In a row the least of `generic` and the learners is bold, whatever `auto` does.
    assert three_frameworks.table(rows[:1]).splitlines()[2].startswith("| MXNet | 5-fold, seed 0 | **5.0** | 1.0 |")
    assert "auto" not in LEARNERS


def test_a_choice_is_compared_with_the_best_of_its_group() -> None:
    measured = np.array([4.0, 2.0, 3.0, 1.0])
    known = np.array([True, False, True, False])
    predicted = {"auto": np.array([9.0, 2.0, 3.0, 1.0])}
    chosen = partitioned_layouts.regrets(measured, np.array([0, 1, 2]), known, predicted, np.random.default_rng(0))
    # The best of the group takes 2; `auto` picks it, and of the two that are known the quicker takes 3.
    assert chosen["auto"] == 0
    assert chosen["best of the fifth"] == pytest.approx(50)
    assert chosen["at random"] in (0, 50, 100)
