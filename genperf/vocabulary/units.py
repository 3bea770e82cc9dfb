"""Units of measured values as people write them, in several languages, with their conversion."""

import re
from functools import lru_cache

from genperf.vocabulary.words import section

#: Exact seconds in a unit of time, as numerator and denominator.
SECONDS_IN = {
    "s": (1.0, 1.0),
    "ms": (1.0, 1e3),
    "us": (1.0, 1e6),
    "ns": (1.0, 1e9),
    "min": (60.0, 1.0),
    "h": (3600.0, 1.0),
    "d": (86400.0, 1.0),
}
_TIMES = {word: unit for unit, spelled in section("time").items() for word in spelled}
_PREFIXES = {"": 1.0, "k": 1e3, "K": 1e3, "M": 1e6, "G": 1e9, "T": 1e12, "P": 1e15}
_BINARY = {"Ki": 2.0**10, "Mi": 2.0**20, "Gi": 2.0**30, "Ti": 2.0**40}
#: Units that take a prefix, each with what it measures.
_PREFIXED = re.compile(r"([kKMGTP]i?)?(B|o|bytes?|bit|bits|b|FLOPS|FLOP|Flops|W|J|Wh|Hz)(/s|/sec|ps)?")
#: Behind a number without a blank: so many thousands, millions or billions of whatever the column counts.
MULTIPLES = {"k": 1e3, "K": 1e3, "M": 1e6, "B": 1e9, "T": 1e12}


@lru_cache(maxsize=10_000)
def unit_of(text: str) -> tuple[str, float, float]:
    """Return what a unit measures, and its size as numerator and denominator; units of one kind convert into another.

    Examples
    --------
    >>> unit_of("microsegundos"), unit_of("GiB"), unit_of("kW"), unit_of("samples/sec"), unit_of("×")
    (('s', 1.0, 1000000.0), ('B', 1073741824.0, 1.0), ('W', 1000.0, 1.0), ('samples/s', 1.0, 1.0), ('x', 1.0, 1.0))
    """
    multiple, _, rest = text.partition(" ")
    if multiple in MULTIPLES and rest:
        kind, above, below = unit_of(rest)
        return kind, above * MULTIPLES[multiple], below
    time = _TIMES.get(text if text in _TIMES else text.lower())
    if time is not None and text not in ("H", "D", "S"):
        return ("s", *SECONDS_IN[time])
    if text in ("x", "X", "×"):
        return "x", 1.0, 1.0
    prefixed = _PREFIXED.fullmatch(text)
    if prefixed is not None:
        prefix, base, rate = prefixed.groups(default="")
        base = {"o": "B", "byte": "B", "bytes": "B", "bits": "bit", "b": "bit", "FLOP": "FLOPS", "Flops": "FLOPS"}.get(
            base, base
        )
        rated = f"{base}/s" if rate and base != "FLOPS" else base
        return rated, _BINARY[prefix] if prefix.endswith("i") else _PREFIXES[prefix], 1.0
    return re.sub(r"/(?:sec|second|seg|segundo|sekunde|seconde)s?\b", "/s", re.sub(r"\s*/\s*", "/", text)), 1.0, 1.0


def canonical_time(text: str) -> str | None:
    """Return the short name of a unit of time, None of another."""
    return _TIMES.get(text.lower())


def is_other_word(text: str) -> bool:
    """Tell whether a word behind a number is no unit that is known: what it counts may be anything.

    Examples
    --------
    >>> is_other_word("errors"), is_other_word("GB"), is_other_word("%"), is_other_word("it/s")
    (True, False, False, False)
    """
    kind = unit_of(text)[0]
    return kind == text and not re.fullmatch(r"s|x|[%‰$€£]|.*/.*", text) and _PREFIXED.fullmatch(text) is None
