"""What constants meant by their names, in model files of before these held their meaning."""

from __future__ import annotations

import re
from collections.abc import Sequence

from genperf.expression import Meaning, Part
from genperf.table import Factor

#: The families whose constants are named after factors.
NAMED = ("generic", "transformer")
_PARTS: dict[str, Part] = {"a": "scale", "p": "intrinsic", "q": "extrinsic", "d": "step"}
_NAME = re.compile(r"(?P<letter>[apqd])(?P<term>\d*)(?:_(?P<factors>.+?))?(?:\[(?P<level>.*)\])?")


def meaning_of(name: str, family: str, factors: Sequence[Factor]) -> Meaning | None:
    """Return what a constant says of the factors, by its name; None where the name tells nothing.

    Examples
    --------
    >>> net = Factor("net", "categorical", levels=("resnet", "vgg"), distinct=2)
    >>> batch = Factor("batch", "intrinsic", 8, 64, centre=23.0, distinct=4, positive=True)
    >>> meaning_of("p1_batch", "generic", [batch, net])
    Meaning(part='intrinsic', factor='batch', categorical='', level='', term=1)
    >>> meaning_of("p_batch_net[vgg]", "generic", [batch, net])
    Meaning(part='intrinsic', factor='batch', categorical='net', level='vgg', term=0)
    """
    named = _NAME.fullmatch(name)
    if named is None or family not in NAMED or (family == "transformer" and named["level"] is None):
        return None
    part, term, text = _PARTS[named["letter"]], int(named["term"] or 0), named["factors"] or ""
    categorical = ""
    if named["level"] is not None:
        categorical = _end(text, [f.name for f in factors if not f.numeric])
        text = text.removesuffix(categorical).removesuffix("_")
    factor = _end(text, [f.name for f in factors if f.numeric])
    whole = "level" if categorical and not factor else part
    return Meaning(whole, factor, categorical, named["level"] or "", term)


def _end(text: str, names: Sequence[str]) -> str:
    """Return the longest name, or names with colons between, with which a text ends."""
    for start in sorted({0, *(place.end() for place in re.finditer("_", text))}):
        if all(name in names for name in text[start:].split(":")):
            return text[start:]
    return ""
