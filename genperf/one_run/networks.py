"""The networks whose parameters are published (`networks.csv`), and what a name shows of any other."""

import re
from csv import DictReader
from functools import cache
from pathlib import Path

from msgspec import Struct

from genperf.errors import GenperfError, did_you_mean
from genperf.formula.amounts import MULTIPLES, amount

#: A size as names print it: 7B, 124M, 1.5b; total and active parameters, 30B-A3B; what names a mixture of experts.
_SIZE = re.compile(r"(?<![a-z0-9.])(\d+(?:\.\d+)?)([bmt])(?:-?a(\d+(?:\.\d+)?)b)?(?![a-z0-9])")
_EXPERTS = re.compile(r"\d+x\d+(\.\d+)?b|moe|experts?(?![a-z])|\d+e(?![a-z0-9])")
#: layers · hidden of a transformer of 6.74e9 parameters, and how it grows with them (fitted to `networks.csv`).
SHAPE_7B, SHAPE_EXPONENT = 32.0 * 4096.0, 0.70


class TrainedNetwork(Struct, frozen=True):
    """A network, as far as its name shows it."""

    name: str
    parameters: float
    #: Parameters that one token uses; all but of a mixture of experts.
    active: float
    layers: float | None = None
    hidden: float | None = None
    #: Words of the input embedding, whose parameters multiply nothing; 0 where the output shares them.
    embedding: float = 0.0
    #: Of a network for images: multiply-adds of one image's forward pass.
    multiply_adds: float | None = None
    #: Parameters that a token uses as they are published, where the name is that of one network and not only a size.
    published: float | None = None

    @property
    def sample(self) -> str:
        """What its rate counts."""
        return "tokens" if self.multiply_adds is None else "images"

    @property
    def is_mixture(self) -> bool:
        """Whether a token uses a part of the parameters."""
        return self.active < self.parameters

    @property
    def shape(self) -> tuple[float, bool]:
        """Layers · hidden of a transformer, and whether they are known or usual for its parameters."""
        if self.layers and self.hidden:
            return self.layers * self.hidden, True
        return SHAPE_7B * (self.active / 6.74e9) ** SHAPE_EXPONENT, False


@cache
def networks() -> dict[str, TrainedNetwork]:
    """Return the published networks by the patterns of their names."""
    named = {}
    with Path(__file__).with_name("networks.csv").open(encoding="utf-8") as lines:
        for row in DictReader(lines):
            columns = ("parameters", "active", "layers", "hidden", "embedding")
            size, active, *shape, embedding = (float(round(amount(row[name]) or 0.0)) for name in columns)
            layers, hidden = (value or None for value in shape)
            of_a_token, image = active or size, amount(row["multiply_adds"])
            named[row["pattern"]] = TrainedNetwork(
                row["name"], size, of_a_token, layers, hidden, embedding, image, of_a_token
            )
    return named


def network_of(text: str) -> TrainedNetwork:
    """Return the network that a name means: one that is published, or a transformer of the size in the name."""
    plain = re.sub(r"[\s_/,()]+", "-", text.strip().lower()).strip("-")
    for pattern, network in networks().items():
        if re.fullmatch(pattern, plain):
            return network
    size = _SIZE.search(plain)
    if _EXPERTS.search(plain) and not (size and size[3]):
        what = f"'{text}' is a mixture of experts, and the parameters that a token uses are not known"
        raise GenperfError(what, hint="add active=12.9B")
    if size is None:
        hint = "a size such as 7B, or a network such as llama3-8b, gpt2-xl, resnet50"
        near = did_you_mean(text, [network.name for network in networks().values()], otherwise=hint)
        raise GenperfError(f"'{text}' is no network whose size is known", hint=near)
    parameters = float(size[1]) * MULTIPLES[size[2].upper()]
    return TrainedNetwork(text.strip(), parameters, float(size[3]) * 1e9 if size[3] else parameters)
