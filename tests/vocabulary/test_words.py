"""One table of words: what it holds is read by what it means, and no code lists words of its own."""

import ast
import re
from collections.abc import Iterator

import pytest
from helpers import trees

from genperf.vocabulary import any_of, section, words_of
from genperf.vocabulary.headers import unit_of
from genperf.vocabulary.names import ALIASES, canonical_of

SECTIONS = ("factors", "transformer", "time", "phases", "counted", "headers", "columns", "cells")
#: Names by which code calls a meaning are no words of a person; nor are the words that the files of one tool write.
CALLED = {*ALIASES, *section("phases"), *section("time"), *section("headers"), "h", "min", "s", "ms", "us", "ns"}
#: Options of commands and keys of answers are genperf's own.
OWN = {
    *("throughput", "total", "machines", "repeat", "status", "result", "source", "failed", "notes", "aggregate"),
    *(
        "efficiency",
        "cluster",
        "series",
        "nan",
        "<na>",
        "model",
        "summary",
        "path",
        "metrics",
        "seed",
        "not",
        "max",
        "fits",
        "at",
        "limit",
        "sd",
    ),
}
SPELLED = {word for name in SECTIONS for listed in section(name).values() for word in listed} - CALLED - OWN
#: Where a list of such words names something else than columns: levels of a factor, units, an outside format.
ELSEWHERE = re.compile(r"(vocabulary|importers|models)/|one_run/bus\.py|formula/amounts\.py|datasets\.py")


def lists_of_words(tree: ast.Module) -> Iterator[list[str]]:
    """Yield the literals that hold three or more words of the table: a collection, or a pattern of alternatives."""
    for node in ast.walk(tree):
        listed: list[object] = []
        if isinstance(node, ast.Tuple | ast.List | ast.Set):
            listed = [getattr(one, "value", None) for one in node.elts]
        elif isinstance(node, ast.Dict):
            listed = [getattr(one, "value", None) for one in node.keys]
        elif isinstance(node, ast.Constant) and isinstance(node.value, str) and node.value.count("|") > 1:
            listed = re.split(r"[|()]", node.value)
        words = [one for one in listed if isinstance(one, str) and one.lower() in SPELLED]
        if len({*words}) > 2:
            yield words


def test_no_other_file_lists_words_of_roles() -> None:
    assert not {
        path: listed
        for path, tree in trees().items()
        if not ELSEWHERE.match(path) and (listed := list(lists_of_words(tree)))
    }


def test_the_search_finds_what_it_looks_for() -> None:
    tree = ast.parse("a = ('gpus', 'ranks', 'np'); b = r'(mfu|elapsed|tiempo|zeit)'; c = ('workers', 'nodes', 'batch')")
    assert [*lists_of_words(tree)] == [["gpus", "ranks", "np"], ["elapsed", "tiempo", "zeit"]]


@pytest.mark.parametrize("name", ["factors", "transformer"])
def test_each_name_means_one_factor(name: str) -> None:
    listed = [word for words in section(name).values() for word in words]
    assert len(listed) == len(set(listed))
    meant = {word: canonical for canonical, words in section(name).items() for word in words}
    # Where no column shows several passes, the batch of a pass is that of a worker.
    assert {word: canonical_of(word) for word in meant} | {"micro_batch": meant.get("micro_batch")} == meant | {
        "micro_batch": meant.get("micro_batch")
    }


@pytest.mark.parametrize(
    ("word", "unit"), [(word, unit) for unit, words in section("time").items() for word in words if word != "min."]
)
def test_each_unit_of_time_is_one(word: str, unit: str) -> None:
    assert unit_of(word) == unit_of(unit)


def test_patterns_compile() -> None:
    for name in ("headers", "columns"):
        for meaning in section(name):
            assert re.compile(any_of(f"{name}.{meaning}")), words_of(f"{name}.{meaning}")
