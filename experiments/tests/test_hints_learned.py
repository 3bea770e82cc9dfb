"""What a hint learns from other sources, where they are too few to show a spread."""

import numpy as np
import pytest

from experiments.accuracy.hints import learned_without
from genperf.growth.hints import HINT


def test_one_other_source_shows_no_spread() -> None:
    assert learned_without({"a": np.array([1.0, 2.0]), "b": np.array([0.5])}, "a") is HINT


def test_the_spread_is_that_within_and_between_the_other_sources() -> None:
    found = {"a": np.array([5.0]), "b": np.array([0.0, 2.0]), "c": np.array([3.0, 3.0])}
    learned = learned_without(found, "a")
    assert learned.median == pytest.approx(np.exp(2.0))
    # Within 0.5 in the mean; between, the variance of 1 and 3, and of their mean.
    assert learned.spread == pytest.approx(np.sqrt(0.5 + 2.0 * 1.5))
