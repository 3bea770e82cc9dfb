"""The network of a run: its parameters, its shape, and the operations that one token or image of its training takes."""

import csv
import re
from dataclasses import dataclass
from functools import cache
from pathlib import Path

from genperf.errors import GenperfError, did_you_mean
from genperf.formula.amounts import amount

FILE = Path(__file__).parent / "networks.csv"
#: A size as names print it: 7B, 124M, 1.5b.
_SIZE = re.compile(r"(?<![a-z0-9.])(\d+(?:\.\d+)?)([bmt])(?![a-z0-9])")
#: Total and active parameters as names print them: 30B-A3B.
_ACTIVE = re.compile(r"(?<![a-z0-9.])(\d+(?:\.\d+)?)b-?a(\d+(?:\.\d+)?)b")
#: What names a mixture of experts.
_EXPERTS = re.compile(r"\d+x\d+(\.\d+)?b|moe|experts?(?![a-z])|\d+e(?![a-z0-9])")


@dataclass(frozen=True)
class Network:
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
    def operations(self) -> float:
        """Operations of one sample in training without attention: 6·P of a token, 6 a multiply-add of an image."""
        return 6.0 * (self.active if self.multiply_adds is None else self.multiply_adds)

    @property
    def products(self) -> float:
        """Operations of a token without attention and without the input embedding, which is looked up."""
        return 6.0 * ((self.published or self.active) - self.embedding * (self.hidden or 0.0))

    def attention(self, sequence: float | None) -> float | None:
        """Return the operations that attention adds to a token, every position with every other: 12·layers·hidden·T."""
        if sequence is None or self.layers is None or self.hidden is None:
            return None
        return 12.0 * self.layers * self.hidden * sequence


@cache
def networks() -> tuple[tuple[re.Pattern[str], Network], ...]:
    """Return the networks whose parameters are published, each with the pattern of its names."""
    with FILE.open(encoding="utf-8") as lines:
        rows = list(csv.DictReader(lines))

    def network(row: dict[str, str]) -> Network:
        numbers = [round(amount(row[column]) or 0.0) or None for column in ("parameters", "active", "layers", "hidden")]
        parameters, active, layers, hidden = numbers
        embedding, multiply_adds = float(row["embedding"] or 0.0), amount(row["multiply_adds"])
        size = parameters or 0.0
        return Network(row["name"], size, active or size, layers, hidden, embedding, multiply_adds, active or size)

    return tuple((re.compile(row["pattern"]), network(row)) for row in rows)


def network_of(text: str) -> Network:
    """Return the network that a name means: one that is published, or a transformer of the size in the name.

    Raises
    ------
    GenperfError
        Where the name shows no size, or of a mixture of experts not how many parameters a token uses.

    Examples
    --------
    >>> network_of("Llama 3.1 8B").parameters, network_of("7B").parameters, network_of("ResNet50").sample
    (8030000000, 7000000000.0, 'images')
    >>> network_of("mixtral-8x7b").active, network_of("30B-A3B").active
    (12900000000, 3000000000.0)
    """
    plain = re.sub(r"[\s_/,()]+", "-", text.strip().lower()).strip("-")
    exact = next((network for pattern, network in networks() if pattern.fullmatch(plain)), None)
    if exact is not None:
        return exact
    pair = _ACTIVE.search(plain)
    if pair is not None:
        return Network(text.strip(), float(pair[1]) * 1e9, float(pair[2]) * 1e9)
    size = _SIZE.search(plain)
    if _EXPERTS.search(plain):
        what = f"'{text}' is a mixture of experts, and the parameters that a token uses are not known"
        raise GenperfError(what, hint="add active=12.9B")
    if size is None:
        near = did_you_mean(text, [network.name for _, network in networks()])
        hint = "a size such as 7B, or a network such as llama3-8b, gpt2-xl, resnet50"
        raise GenperfError(f"'{text}' is no network whose size is known", hint=f"{near} Or {hint}" if near else hint)
    parameters = float(size[1]) * {"m": 1e6, "b": 1e9, "t": 1e12}[size[2]]
    return Network(text.strip(), parameters, parameters)
