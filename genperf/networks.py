"""Networks by their names, from `networks.csv`: parameters and shape as published, else the size that a name shows."""

import re
from csv import DictReader
from functools import cache
from itertools import product
from pathlib import Path

from msgspec import Struct, convert

from genperf.errors import GenperfError, attempted, did_you_mean
from genperf.formula.amounts import MULTIPLES, amount

#: A size as names print it: 7B, 124M, 1.5b; total and active parameters, 30B-A3B; what names a mixture of experts.
_SIZE = re.compile(r"(?<![a-z0-9.])(\d+(?:\.\d+)?)([bmt])(?:-?a(\d+(?:\.\d+)?)b)?(?![a-z0-9])")
_EXPERTS = re.compile(r"\d+x\d+(\.\d+)?b|moe|experts?(?![a-z])|(?<![\d.])\d+e(?![a-z0-9])")

#: Fewer are no network's, but its version: `7` of `v7`.
LEAST_PARAMETERS = 1e6
#: Words of a statement that may all be a network's name, `mistral nemo 12B`.
MOST_OF_A_NAME = 4
_SIZED = re.compile(f"{_SIZE.pattern}|{_EXPERTS.pattern}")


class TrainedNetwork(Struct, frozen=True):
    """A network, as far as its name shows it; 0 is not known."""

    name: str = ""
    parameters: float = 0.0
    active: float = 0.0  #: Parameters that one token uses: all but of a mixture of experts.
    layers: float = 0.0
    hidden: float = 0.0
    embedding: float = 0.0  #: Words of the input embedding, which multiplies nothing; 0 where the output shares it.
    context: float = 0.0  #: Tokens of a sample in its pretraining; 0 is not known.
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


def network_within(text: str, parameters: float = 0.0) -> tuple[str, str]:
    """Return the network that a text names first, published or by its size, and the text without it; "" without one.

    >>> network_within("DDP ResNet-50 channels last"), network_within("much slower than our own RWKV 14B")
    (('ResNet-50', 'DDP | channels last'), ('RWKV 14B', 'much slower than our own |'))
    """
    plain, words = re.sub("[_/]", "-", text.lower()), [*re.finditer(r"[^\s|~]+", text)]
    by_word = {word.span(): _SIZE.search(plain, *word.span()) for word in words}
    sizes = {span: _parameters(size) for span, size in by_word.items() if size}
    if parameters:
        sizes = {span: of for span, of in sizes.items() if 0.9 < of / parameters < 1.1} | {(0, 0): parameters}
    experts = [span for span in by_word if re.search(r"\d+x\d+b", plain[slice(*span)])]
    candidates = [(start, -end, True) for start, end in (*sizes, *experts) if end]
    for pattern, network in networks().items():
        named = re.search(rf"(?<!\S)(?:{pattern.replace('-', '[- ]')})(?!\S)", plain)
        # `mistral nemo 12B` is no Mistral 7B.
        if named and (_SIZED.search(named[0]) or all(0.9 < of / network.parameters < 1.1 for of in sizes.values())):
            candidates.append((named.start(), -named.end(), False))
    start, end, is_size = min(candidates, default=(0, 0, False))
    # Words before the size are of the name where words are few, or one has a number or several capitals.
    is_short = len(words) <= MOST_OF_A_NAME
    before = re.search(
        r"(?<!\S)((?!x?\d)[^\s|~]+ )+$" if is_short else r"[^\s|~]*(\d|[A-Z][a-z]*[A-Z])[^\s|~]* $", text[:start]
    )
    if is_size and before:
        start = before.start()
    mixture = " MoE" if is_size and _EXPERTS.search(plain) and not _EXPERTS.search(plain[start:-end]) else ""
    return (text[start:-end] + mixture, f"{text[:start]}|{text[-end:]}") if candidates else ("", text)


def network_named(name: str, active_known: bool = False) -> TrainedNetwork:
    """Return the network that a name means, published or by its size; a mixture unless its active size is known.

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
    if _EXPERTS.search(plain) and not (size and size[3]) and not active_known:
        what = f"'{name}' is a mixture of experts, and the parameters that a token uses are not known"
        raise GenperfError(what, hint="add active=12.9B")
    if size is None:
        hint = "a size such as 7B, or a network such as llama3-8b, gpt2-xl, resnet50"
        near = did_you_mean(name, [network.name for network in networks().values()], otherwise=hint)
        raise GenperfError(f"'{name}' is no network whose size is known", hint=near)
    parameters = _parameters(size)
    called = re.match(rf"(?i).*?{re.escape(size[1])}{size[2]}\S*", name.strip()) or [name.strip()]
    return TrainedNetwork(called[0], parameters, float(size[3]) * 1e9 if size[3] else parameters)


def size_of_network(text: str) -> float | None:
    """Return the parameters that a token uses, of a network by its name or its size; None where they are not known.

    >>> size_of_network("llama-2-7b"), size_of_network("7000000000"), size_of_network("ours")
    (6740000000.0, 7000000000.0, None)
    """
    if (number := amount(text)) is not None:
        return number if number >= LEAST_PARAMETERS else None
    network = attempted(network_named, text)
    return None if isinstance(network, GenperfError) else network.active or None


def _parameters(size: re.Match[str]) -> float:
    """Return the parameters of a size."""
    return float(size[1]) * MULTIPLES[size[2].upper()]
