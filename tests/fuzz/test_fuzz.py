"""A short fuzz of everything that reads files of others, and odd names; `changes.py` and `fuzz.py` go on for long."""

import csv
import random
import re
from html.parser import HTMLParser
from pathlib import Path

import pytest
from changes import mutated
from helpers import Shell, done
from odd import NAMES
from targets import TARGETS, read

#: Of each target: a second or two.
RUNS = 300
COUNTS = (1, 2, 4, 8)
#: What a message says of where, or what to try.
PLACED = re.compile(r"try:|line \d|column|row \d|'[^']+'|--\w|Usage:|: ", re.IGNORECASE)


@pytest.mark.parametrize("name", TARGETS)
def test_only_errors_of_the_user(name: str) -> None:
    target, rng = TARGETS[name], random.Random(name)
    assert all(read(target, seed) for seed in target.seeds)
    for _ in range(RUNS):
        read(target, mutated(target, rng))


def written(name: str, *columns: tuple[object, ...]) -> None:
    with Path(name).open("w", newline="", encoding="utf-8") as file:
        csv.writer(file).writerows(zip(*columns, strict=True))


@pytest.mark.parametrize("place", ["factor", "group", "target", "quantity", "formula"])
def test_an_odd_name_is_read_or_refused_in_words(place: str, shell: Shell) -> None:
    """Columns, groups, quantities and factors of formulas of any name."""
    for name in NAMES:
        named = {"factor": ("workers", name, "seconds"), "group": ("workers", name, "seconds"),
                 "target": ("workers", "batch", name)}.get(place, ("workers", "batch", "seconds"))  # fmt: skip
        columns = zip(named, (COUNTS, (32,) * 4, (9.0, 5.0, 3.0, 2.0)), strict=True)
        written("runs.csv", *((head, *cells) for head, cells in columns))
        options = {
            "factor": ("--time", "seconds", "--intrinsic", name), "group": ("--time", "seconds", "--group", name),
            "target": ("--time", name), "quantity": ("--quantity", f"{name}=seconds"),
            "formula": ("--time", "seconds", "--where", f"`{name}` > 1"),
        }[place]  # fmt: skip
        status, _, errors = shell("check", "runs.csv", "--extrinsic", "workers", *options)
        assert status in (0, 1, 2), (name, errors)
        assert not {"\x1b", "\x07", "\x00"} & {*errors}, (name, errors)
        assert not status or PLACED.search(errors), (name, errors)


class Page(HTMLParser):
    """The elements and attributes that no page of genperf has, and the number of its scripts."""

    def __init__(self) -> None:
        super().__init__()
        self.odd: list[str] = []
        self.scripts = 0

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        self.scripts += tag == "script"
        if tag == "img" or any(name.startswith("on") for name, _ in attrs):
            self.odd.append(f"{tag} {attrs}")


def test_no_name_is_markup_of_a_page(shell: Shell) -> None:
    """All odd names at once, as groups and in the title."""
    rows = [(name, n, 8 / n + 1) for name in NAMES for n in COUNTS]
    written("runs.csv", *zip(("net", "workers", "seconds"), *rows, strict=True))
    roles = ("--time", "seconds", "--extrinsic", "workers", "--group", "net", "--model", "amdahl", "--skip-bad-rows")
    done(shell, "fit", "runs.csv", *roles, "-o", "model.json", "-q")
    done(shell, "report", "model.json", "-o", "page.html", "-q", "--title", " ".join(NAMES))
    page = Page()
    page.feed(Path("page.html").read_text(encoding="utf-8"))
    assert (page.odd, page.scripts) == ([], 2)
