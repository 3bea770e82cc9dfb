"""How words are read as if they were written otherwise: the patterns of `rewriting.toml`."""

import re

from helpers import cases_in_text

from genperf.panel.words import _listed, _rules, row_of_words, words_of_question


@cases_in_text("question, words")
def test_words_of_a_question_are_written_in_one_form(question: str, words: str) -> None:
    assert " ".join(words_of_question(question)) == words


@cases_in_text("run, cells")
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
