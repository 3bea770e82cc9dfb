"""Amounts as people write them: `30B`, `80GB`, `1.5M`, `2h`, `30d`, `25Gbit/s`."""

import re

#: Seconds in a unit of time.
DURATIONS: dict[str, float] = {"us": 1e-6, "ms": 1e-3, "s": 1.0, "min": 60.0, "h": 3600.0, "d": 86400.0}
#: Powers of a thousand; B is a billion, as of parameters. Of bytes as well: 80GB is 80·10⁹ bytes.
MULTIPLES: dict[str, float] = {"k": 1e3, "K": 1e3, "M": 1e6, "B": 1e9, "G": 1e9, "T": 1e12}
BYTES: dict[str, float] = {
    **{f"{prefix}B": MULTIPLES[prefix] for prefix in ("k", "K", "M", "G", "T")},
    **{f"{prefix}iB": 1024.0**power for power, prefix in enumerate("KMGT", 1)},
}
UNITS: dict[str, float] = {**DURATIONS, **MULTIPLES, **BYTES}
_NUMBER = r"(?:\d+\.?\d*|\.\d+)(?:[eE][-+]?\d+)?"
_UNIT = "|".join(sorted(UNITS, key=len, reverse=True))
_AMOUNT = re.compile(rf"^\s*([-+]?{_NUMBER})\s*({_UNIT})?\s*$", re.ASCII)
#: A bandwidth: a small b or "bit" are bits, a large B bytes.
_BANDWIDTH = re.compile(rf"^\s*({_NUMBER})\s*([kKMGT]?)(bit|b|B)(?:/s|ps)\s*$")
#: An amount within a formula: behind no name, number or point, and before none.
_WITHIN = re.compile(rf"(?<![\w.])({_NUMBER})({_UNIT})(?![\w.(])")
#: Texts and quoted names of a formula.
_QUOTED = re.compile(r"('[^']*'|\"[^\"]*\"|`[^`]*`)")


def amount(text: str) -> float | None:
    """Return the number that a text means, `30B` or `80GB`; a duration in seconds. None where it is none."""
    match = _AMOUNT.match(text)
    return None if match is None else float(match[1]) * UNITS.get(match[2] or "", 1.0)


def without_thousands(text: str) -> str:
    """Return one number, `1,024`, without its commas: no list of numbers has one that begins with a zero."""
    return text.replace(",", "") if re.fullmatch(r"\d{1,3}(,\d{3})*,0\d\d(,\d{3})*", text) else text


def bandwidth(text: str) -> float | None:
    """Return the bytes per second that a text means, `25Gbit/s` or `3GB/s`; None where it is no bandwidth."""
    match = _BANDWIDTH.match(text)
    if match is None:
        return None
    return float(match[1]) * MULTIPLES.get(match[2], 1.0) / (1.0 if match[3] == "B" else 8.0)


def plain_amounts(text: str) -> str:
    """Return values and ranges with their amounts as plain numbers; any other text stays, for what reads it.

    >>> plain_amounts("1k,30B"), plain_amounts("1k:4k:*2"), plain_amounts("A100")
    ('1000.0,30000000000.0', '1000.0:4000.0:*2', 'A100')
    """

    def plain(word: str) -> str:
        value = amount(word)
        return word if value is None or word[-1:].isdigit() else repr(value)

    return "".join(map(plain, re.split(r"([,:]\s*\*?)", text)))


def with_amounts(text: str) -> str:
    """Return a formula in which amounts are written as numbers; texts and quoted names stay.

    >>> with_amounts("`30B run` * 80GB / 2h")
    '`30B run` * 80000000000.0 / 7200.0'
    """
    pieces = _QUOTED.split(text)
    # Every second piece is quoted.
    pieces[::2] = [_WITHIN.sub(lambda match: repr(float(match[1]) * UNITS[match[2]]), piece) for piece in pieces[::2]]
    return "".join(pieces)
