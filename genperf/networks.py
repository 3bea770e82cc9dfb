"""Networks by their names, from `networks.csv`: parameters and shape as published, else the size that a name shows."""

import re
from csv import DictReader
from functools import cache
from itertools import product
from pathlib import Path

from msgspec import Struct, convert

from genperf.errors import GenperfError, did_you_mean
from genperf.formula.amounts import MULTIPLES

#: A size as names print it: 7B, 124M, 1.5b; total and active parameters, 30B-A3B; what names a mixture of experts.
_SIZE = re.compile(r"(?<![a-z0-9.])(\d+(?:\.\d+)?)([bmt])(?:-?a(\d+(?:\.\d+)?)b)?(?![a-z0-9])")
_EXPERTS = re.compile(r"\d+x\d+(\.\d+)?b|moe|experts?(?![a-z])|(?<![\d.])\d+e(?![a-z0-9])")

_SIZED = re.compile(f"{_SIZE.pattern}|{_EXPERTS.pattern}")


class TrainedNetwork(Struct, frozen=True):
    """A network, as far as its name shows it; 0 is not known."""

    name: str = ""
    parameters: float = 0.0
    active: float = 0.0  #: Parameters that one token uses: all but of a mixture of experts.
    layers: float = 0.0
    hidden: float = 0.0
    embedding: float = 0.0  #: Words of the input embedding, which multiplies nothing; 0 where the output shares it.
    multiply_adds: float = 0.0  #: Of one image's forward pass, in a network for images.
    published: bool = False  #: Whether the name is that of one network, and not only a size.

    @property
    def sample(self) -> str:
        """What its rate counts."""
        return "images" if self.multiply_adds else "tokens"

    @property
    def is_mixture(self) -> bool:
        """Whether a token uses a part of the parameters."""
        return self.active < self.parameters


@cache
def networks() -> dict[str, TrainedNetwork]:
    """Return the published networks by the patterns of their names."""
    with Path(__file__).with_name("networks.csv").open(encoding="utf-8") as lines:
        rows = [{name: cell for name, cell in row.items() if cell} for row in DictReader(lines)]
    return {row["pattern"]: convert(row | {"published": True}, TrainedNetwork, strict=False) for row in rows}


def network_named(name: str) -> TrainedNetwork:
    """Return the network that a name means: one that is published, or a transformer of the size in the name.

    >>> network_named("Meta-Llama-3-8B-Instruct").name, network_named("my-net 30B-A3B").active
    ('Llama 3 8B', 3000000000.0)
    """
    # Small letters with hyphens between the words, also without the owner before a slash.
    plain, alone = (re.sub(r"[\s_/,()]+", "-", of.lower()).strip("-") for of in (name, name.rpartition("/")[2]))
    for (pattern, network), text in product(networks().items(), (plain, alone)):
        named = re.search(rf"(?<![^-])(?:{pattern})(?![^-])", text)
        rest = text.replace(named[0], "", 1) if named else text
        # A name that holds its size may stand among other words.
        if named and (not rest or (_SIZED.search(named[0]) and not _SIZED.search(rest))):
            return network
    size = _SIZE.search(plain)
    if _EXPERTS.search(plain) and not (size and size[3]):
        what = f"'{name}' is a mixture of experts, and the parameters that a token uses are not known"
        raise GenperfError(what, hint="add active=12.9B")
    if size is None:
        hint = "a size such as 7B, or a network such as llama3-8b, gpt2-xl, resnet50"
        near = did_you_mean(name, [network.name for network in networks().values()], otherwise=hint)
        raise GenperfError(f"'{name}' is no network whose size is known", hint=near)
    parameters = float(size[1]) * MULTIPLES[size[2].upper()]
    called = re.match(rf"(?i).*?{re.escape(size[1])}{size[2]}\S*", name.strip()) or [name.strip()]
    return TrainedNetwork(called[0], parameters, float(size[3]) * 1e9 if size[3] else parameters)
