"""What words mean: one table of data, `words.toml`, by which names of columns, headers and units are read.

No other room lists words of a role: a new name, unit or language is a word in the table.
"""

import re
import tomllib
from functools import cache
from pathlib import Path
from typing import Any, cast

_TABLE: dict[str, dict[str, list[str]]] = tomllib.loads(Path(__file__).with_name("words.toml").read_text("utf-8"))


def section(name: str) -> dict[str, tuple[str, ...]]:
    """Return the words of a section by what they mean, in the order of the table."""
    return {meaning: tuple(listed) for meaning, listed in _TABLE[name].items()}


def words_of(place: str) -> tuple[str, ...]:
    """Return the words of one meaning, given as `section.meaning`."""
    name, _, meaning = place.partition(".")
    return tuple(_TABLE[name][meaning])


@cache
def _common_words() -> frozenset[str]:
    """Return the words of `english.txt`, which name nothing of a run."""
    return frozenset(Path(__file__).with_name("english.txt").read_text("utf-8").split())


def is_common(word: str) -> bool:
    """Tell whether a word is one of common English, in any form, that names nothing of a run: `recommended`, `safely`.

    Capital letters throughout are a name: `RING`.

    >>> [is_common(word) for word in ("recommended", "dropping", "safely", "tries", "zero", "loss", "HIT")]
    [True, True, True, True, False, False, False]
    """
    if word.isupper() and len(word) > 1:
        return False
    plain = word.lower()
    stems = {plain}
    for ending in ("s", "es", "d", "ed", "ing", "ly"):
        stem = plain.removesuffix(ending)
        if stem != plain and len(stem) > 2:
            # `saving` of save, `dropping` of drop, `carries` of carry
            stems |= {stem, stem[:-1] if stem[-1] == stem[-2] else stem}
            stems |= {f"{stem}e"} if ending in ("ed", "ing") else set()
            stems |= {f"{stem[:-1]}y"} if stem[-1] == "i" else set()
    return not stems.isdisjoint(_common_words())


def any_of(*places: str) -> str:
    """Return a pattern of any word of one meaning, or of several.

    >>> any_of("cells.on")
    '(?:1|true|yes|y)'
    """
    return f"(?:{'|'.join(word for place in places for word in words_of(place))})"


class _LatePattern:
    """A regular expression that is compiled when it is first used: most of those of a reader never are."""

    def __init__(self, text: str, flags: int) -> None:
        self.pattern, self.flags = text, flags

    def __getattr__(self, name: str) -> Any:
        method = getattr(re.compile(self.pattern, self.flags), name)
        # The next time it is an attribute like any other.
        setattr(self, name, method)
        return method


def late(text: str, flags: int = 0) -> re.Pattern[str]:
    """Return a regular expression that is compiled when it is first used.

    >>> late("(a+)b").findall("ab aab")
    ['a', 'aa']
    """
    return cast("re.Pattern[str]", _LatePattern(text, flags))


class Patterns:
    """The regular expressions of a TOML file by name, each compiled when it is first used.

    `<headers.node>` in a pattern is any word of that meaning, `<precisions.*>` any word of the section, and `<number>`
    another pattern of the file, or one of the `further` ones. A list is one pattern in pieces.
    """

    def __init__(self, path: Path, **further: str) -> None:
        self._file: dict[str, Any] = {**tomllib.loads(path.read_text("utf-8")), **further}

    def __getattr__(self, name: str) -> re.Pattern[str]:
        if name.startswith("_") or name not in self._file:
            raise AttributeError(name)
        pattern = late(self.written(f"<{name}>"))
        setattr(self, name, pattern)
        return pattern

    def table(self, name: str) -> Any:
        """Return what the file has under a name beside the patterns."""
        return self._file[name]

    def written(self, text: str) -> str:
        """Return a text with patterns and words in the places of their names."""

        def named(place: re.Match[str]) -> str:
            name, _, meaning = place[1].partition(".")
            if not meaning:
                return self.written("".join(self._file[name]))
            return any_of(*(f"{name}.{each}" for each in _TABLE[name]) if meaning == "*" else (place[1],))

        return re.sub(r"(?<!\?P)<(\w+(?:\.(?:\w+|\*))?)>", named, text)
