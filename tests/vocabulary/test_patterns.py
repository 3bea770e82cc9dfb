"""Patterns in files: words, sections and other patterns stand in the places of their names."""

from pathlib import Path

import pytest

from genperf.table.facts import FORMS
from genperf.vocabulary import Patterns


@pytest.fixture
def patterns(tmp_path: Path) -> Patterns:
    path = tmp_path / "patterns.toml"
    path.write_text(
        "count = '<digits> <headers.node>s?'\nkind = ['(?P<kind>', '<precisions.*>)', '<end>']\ndigits = '\\d+'\n"
    )
    return Patterns(path, end="$")


def test_a_pattern_is_made_of_words_sections_and_other_patterns(patterns: Patterns) -> None:
    assert patterns.count.fullmatch("16 nodes")
    assert not patterns.count.fullmatch("16 frogs")
    kind = patterns.kind.match("bf16")
    assert kind is not None
    assert kind["kind"] == "bf16"


def test_a_pattern_is_made_once_and_an_unknown_one_is_refused(patterns: Patterns) -> None:
    assert patterns.count is patterns.count
    with pytest.raises(AttributeError):
        _ = patterns.frogs


def test_every_pattern_of_the_facts_of_a_log_compiles() -> None:
    names = [*FORMS._file]
    assert len(names) > 50
    assert all(getattr(FORMS, name).groups >= 0 for name in names)
