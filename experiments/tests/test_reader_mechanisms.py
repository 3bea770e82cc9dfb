"""The reader's experiment replaces functions by their names: each name is one of the package."""

from unittest.mock import patch

import pytest

from experiments.accuracy.reader import MECHANISMS


@pytest.mark.parametrize("mechanism", MECHANISMS)
def test_what_a_mechanism_replaces_is_there(mechanism: str) -> None:
    for path, replacement in MECHANISMS[mechanism].items():
        with patch(f"genperf.{path}", replacement) as replaced:
            assert replaced is replacement
