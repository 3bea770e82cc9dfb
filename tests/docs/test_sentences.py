"""Every sentence of an answer on the bundled tables is short, and claims nothing that is likely false."""

import re
from collections.abc import Iterator
from pathlib import Path

import pytest

import genperf as gp

MOST_WORDS = 25
#: Beside those of the configuration and the ends of an interval.
MOST_NUMBERS = 2
QUESTIONS = ({}, {"count": 1024})
#: Rows of the largest table that is asked: the model of a larger one takes a second, and its sentences are alike.
MOST_ROWS = 16
FOLDER = Path(__file__).parents[2] / "docs" / "examples"
EXAMPLES = [path for path in sorted(FOLDER.glob("*.csv")) if len(path.read_text().splitlines()) <= MOST_ROWS]


def sentences() -> Iterator[tuple[str, str, str]]:
    """Yield table, key and text of each sentence, of each question that a table can be asked."""
    for table in EXAMPLES:
        for at in QUESTIONS:
            try:
                answer = gp.ask(table, **at)  # type: ignore[arg-type]
            except gp.GenperfError:
                continue
            for key, text in answer.sentences.items():
                for sentence in re.split(r"(?<=[.!?])\s+(?=[A-Z0-9']|\w+=)", text):
                    yield table.name, key, sentence


@pytest.fixture(scope="module")
def written() -> list[tuple[str, str, str]]:
    found = [*sentences()]
    assert len({table for table, _, _ in found}) > 10
    assert {"expect", "sure", "pays", "limit", "normal", "causes", "next"} <= {key for _, key, _ in found}
    return found


def numbers_of(sentence: str) -> list[str]:
    """Return the numbers of a sentence without intervals, values of factors and the counts compared with."""
    number = r"\d[\d.,]*(?: (?:million|billion))?"
    intervals = rf"\([^)]*\)|{number} ?(?:–|to|and) {number}|=\S+|(?:that of|as on) {number} \w+"
    return re.findall(number, re.sub(intervals, "", sentence))


def test_a_sentence_has_at_most_25_words(written: list[tuple[str, str, str]]) -> None:
    assert not [found for found in written if len(found[2].split()) > MOST_WORDS]


def test_a_sentence_has_few_numbers(written: list[tuple[str, str, str]]) -> None:
    assert not [found for found in written if len(numbers_of(found[2])) > MOST_NUMBERS]


def test_a_chance_near_one_half_is_undecided(written: list[tuple[str, str, str]]) -> None:
    chances = [(int(c), s) for _, _, s in written for c in re.findall(r"a chance of (\d+) %", s)]
    assert chances
    assert not [s for chance, s in chances if 25 < chance < 75 and "undecided" not in s]
    causes = [(int(c), s) for _, _, s in written for c in re.findall(r"^The likeliest cause is .*?\((\d+) %\)", s)]
    assert not [s for chance, s in causes if chance <= 50]


def test_no_share_is_stated_whose_interval_is_wider_than_itself(written: list[tuple[str, str, str]]) -> None:
    shares = [(*map(int, m.groups()), s) for _, key, s in written if key == "limit"
              for m in re.finditer(r"(\d+) % of the time \(90 %: (\d+) to (\d+) %\)", s)]  # fmt: skip
    assert shares
    assert not [s for share, low, high, s in shares if high - low > share + 1]
