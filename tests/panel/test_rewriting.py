"""How words are read as if they were written otherwise: the patterns of `rewriting.toml`."""

import re

import pytest

from genperf.panel.words import _listed, _rules, row_of_words, words_of_question


@pytest.mark.parametrize(
    ("question", "words"),
    [
        ("two nodes of 8 GPUs each", "2x8"),
        ("8 gpus on each of the 4 nodes", "4x8"),
        ("ten days and $2 an hour", "10 days and | --price=$2/h |"),
        ("2 weeks, 3 billion samples", "14 days | 3B samples"),
        ("a budget of 500", "a | --budget=500 |"),
        ("for at most 3,000 dollars", "for | --budget=3,000 |"),
        ("64 gpus at 2/h on spot", "64 gpus | --price=2/h |"),
        ("what if I pay $2/h for spot instances?", "what if I pay | --price=$2/h |"),
        ("GPU's: 64?", "GPUs : 64 |"),
        ("how many tokens in a day on 8 gpus", "| --want = tokens/1d | on 8 gpus"),
        ("images per hour", "| --want = images/1h |"),
        ("step time below 200 ms", "200 ms | 1 steps |"),
        ("how many gpus to be 3x as fast as 8 gpus", "how many gpus to be | --multiple = 3 | 8 gpus"),
        ("halve the step time of 8 gpus", "| --multiple = 2 | 8 gpus"),
        ("is 16 twice as fast as 8", "is 16 vs 8"),
        ("10x the scale", "×10 scale"),
        ("64 gpus at $2", "64 gpus | --price=$2/h |"),
        ("which node counts keep up", "how many nodes keep up"),
    ],
)
def test_words_of_a_question_are_written_in_one_form(question: str, words: str) -> None:
    assert " ".join(words_of_question(question)) == words


@pytest.mark.parametrize(
    ("run", "cells"),
    [
        ("2 x dgx h100 7B 76.8k tok/s", {"device": "h100", "devices": 16.0, "nodes": 2.0}),
        ("2 p4d.24xlarge 7B 76.8k tok/s", {"device": "a100", "devices": 16.0, "nodes": 2.0}),
        ("8xa100 broadcast 200GB/s", {"collective": "broadcast", "busbw": "200GB/s"}),
    ],
)
def test_words_of_a_run_are_cells(run: str, cells: dict[str, object]) -> None:
    assert cells.items() <= row_of_words(run.split()).items()


def test_a_rule_of_a_section_holds_for_each_of_its_meanings() -> None:
    collectives = [cell for _, column, cell in _listed("phrases", "run") if column == "collective"]
    assert "all_reduce" in collectives
    assert "<each>" not in collectives
    assert not [
        pattern
        for name in ("amounts", "question", "run")
        for pattern, _ in _rules(name)
        if "<" in re.sub(r"\(\?P?<", "", pattern.pattern)
    ]
