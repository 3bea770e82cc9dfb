"""Runs in words, `8xh100 7B 76800tok/s bf16`: what they say, under the headers of a table; machines, `2x8xh100`."""

import re
from collections.abc import Mapping, Sequence
from functools import partial
from itertools import product
from typing import Any

from genperf.errors import GenperfError, did_you_mean
from genperf.formula.amounts import amount, without_thousands
from genperf.panel.machine import USUAL_DEVICES
from genperf.panel.panel import several_nodes
from genperf.peaks import device_in
from genperf.table.cells import Source, source_of
from genperf.table.clean import label
from genperf.vocabulary import any_of, section
from genperf.vocabulary.headers import canonical_time, header_of, relative_unit
from genperf.vocabulary.names import ALIASES, COUNTED, canonical_of, meant_by, plain_name

#: What a column of a run means beside the factors, and what of these and the factors is no number.
RUN_WORDS = section("one_run")
NAMES = ("device", "network", "precision", "recomputation", "adapters", "collective")
#: `8xh100`, `2x8xA100`, `2 nodes of 8 x a100`, `8 NVIDIA H100 PCIe`, `1 x RTX 4090`, `16 TPU v4`; `h100x8`, `h100:8`.
_MACHINE = re.compile(
    r"(?i)({0}(?:[a-z]|9\d\d[a-z])[\w+-]*?)( ?[x×*:] ?)([1-9]\d*)(?!\S)"
    r"|(?:([1-9]\d*)(?: ?[x×*] ?| (?:{2}|server)s? (?:of |with |[x×*] ?)?))??([1-9]\d*)"
    r"( ?[x×*] ?| ?(?={0}(?:[a-wyz]\S*\d|{1}\d)))"
    r"({0}(?:[a-z]|[2-5]0[6-9]0|9\d\d[a-z]|{1}\d)[\w+-]*"
    r"(?: (?:sxm\d?|pcie|nvl|ada|hbm\d\w?|\d+ ?gi?b)(?!\w))*)(?=:?(?:\s|$))".format(
        rf"(?:{any_of('headers.maker')} )*", r"(?<=[a-z]{3} )", any_of("headers.node")
    )
)
#: A slice of TPUs, `v5p-128` or `TPU v6e-256`: its number is of cores, two a chip, or of chips where these have one.
_SLICE = re.compile(r"(?i)(?:tpu[ -]?)?(v[34]|v5p|v[56]e|v5lite(?:pod)?)-(\d+)(?=:?(?:\s|$))")
#: What devices are called behind their name, `8 H100 GPUs`.
_NOUN = re.compile(rf"(?i)^ {any_of('headers.device')}s?(?![\w=:-]| \d+(?!\S))")
#: Parts of a question: `batch 64` before no noun, `64 gpus`, or a word; and what stands between them.
_SETTING = re.compile(
    r"(?i)([a-z_][\w-]*)[ =:]+(\d[\d,.]*[km]?)(?!\S| [a-z][\w-]*(?![\w-]| \d))"
    r"|(\d[\d,.]*[km]?) ?([a-z]{2,}[\w-]*)(?!\S)|(\S+)"
)
_NODES_OF = re.compile(r"(?i)(\d+) ?nodes? (?:of|with|[x×*]) ?(\d+)(?: ?[a-z]+)?(?: each)?(?!\S)")
_JOINING = re.compile(rf"(?i)[,;?]+(?!\d)|(?<!\S){any_of('headers.joining')}(?!\S)")
_MFU = any_of("one_run.mfu")
_PRINTED = re.compile(any_of("one_run.printed"))
_N = r"\d[\d,]*(?:\.\d+)?(?:[eE][-+]?\d+)?"
_PRECISION = any_of(*map("precisions.{}".format, section("precisions")))
#: The bandwidth of a test, and what it is called in words and headers, with its unit.
_BANDWIDTH = rf"{_N} ?(?-i:[kMGT]?(?:bit|[bB]))(?:/s|ps)"
_OF_A_TEST = any_of("one_run.bandwidth")
_OF_BUS = re.compile(rf"(?i){_OF_A_TEST}(?:\W|_)*(?-i:([kMGT]?(?:bit|[bB])(?:/s|ps)))?")
_COLLECTIVES = re.compile(f"(?i){any_of(*map('collectives.{}'.format, section('collectives')))}")
_EACH = r"(?:(?: ?/ ?| per )[a-z]+)*"
#: `tok/s/H100`, `TFLOP/s per A100 GPU`.
_EACH_DEVICE = re.compile(rf"(?i)(?: ?/ ?| per )([a-z][\w-]*)(?: {any_of('headers.device')})?")
_UNIT = rf"[a-z][\w.-]*{_EACH}"
#: What is read as if it were written otherwise: `~2 trillion` as 2T, `(51% of peak)` without its brackets, what a
#: trainer prints, `{'loss': 2.1}`, without its quotes, of `iteration: 10 / 100` the first number, a DGX as its devices.
_SPELLINGS = [
    (r"(?<=\d) ?trillion", "T"),
    (r"(?<=\d) ?billion", "B"),
    (r"(?<=\d) ?million", "M"),
    (r"[~≈{}'\"]|\((?!\d[\d.]*%\))(?=\d)([^()]*)\)", r"\1"),
    (r"(?<!\S)(\d+) ?/ ?\d+(?!\S)", r"\1"),
    (r"(?<!\S)(\d+) ?[x×]? ?[dh]gx[ -](?=[abhv]\d)", r"\1x8x"),
    (r"(?<!\S)[dh]gx[ -](?=[abhv]\d)", "1x8x"),
]
#: What words say of a run, each with its column and its cell, in the order in which they are looked for. `1700ms` are
#: no million seconds, `2Mtok` two million tokens; of `global batch size of 64` the most words that have a meaning.
_PHRASES = [
    (re.compile(rf"(?i)(?<!\S)(?:{words})(?!\S)"), column, cell)
    for words, column, cell in (
        (rf"{_MFU}(?: of|:)? ({_N} ?%)", "mfu", r"\1"),
        (rf"({_N} ?%|0?\.\d+(?= ?{_MFU}))(?: ?{_MFU})?", "mfu", r"\1"),
        (rf"({_N}) ?t(?:era)?flops?{_EACH}", "tflops", r"\1"),
        (rf"({_N}) ?p(?:eta)?flops?{_EACH}", "tflops", r"\1e3"),
        (rf"{_OF_A_TEST}[ =:]*({_BANDWIDTH})|({_BANDWIDTH}) ?{_OF_A_TEST}", r"\1\4bw", r"\2\3"),
        (rf"({_BANDWIDTH})", "busbw", r"\1"),
        (rf"(?<!batch )(?<!batch of )({_N} ?(?-i:[MBT])) tokens(?! ?/| per)", "tokens", r"\1"),
        (rf"[x×*] ?({_N}k?) tokens", "seq", r"\1"),
        (rf"({_N}[kKM]?) (?:\w+[ -])?\w+[ -]hours?", "gpu-hours", r"\1"),
        *((f"{words}:?", "collective", name) for name, (words,) in section("collectives").items()),
        *((any_of(f"one_run.{name}"), name, r"\g<0>") for name in ("adapters", "recomputation")),
        (rf"\(?({_PRECISION})(?:[^a-z0-9_\s]\S*)?", "precision", r"\1"),
        (rf"({_N}(?:(?-i:[kKMB])|[mb](?![a-z]))?) ?({_UNIT})", r"\2", r"\1"),
        (r"([a-z_][\w./-]*)=(\S*)", r"\1", r"\2"),
        *(
            (rf"((?:[a-z_]\w* ){{{n}}}[a-z_][\w/]*(?: ?\([a-z/]+\))?)(?:(?::| of)? |:)({_N}[kMB]?)", r"\1", r"\2")
            for n in (3, 2, 1, 0)
        ),
        # What else a log prints by its name is no rate.
        (rf"{any_of('one_run.training', 'headers.joining')}:?|\d+ ?gi?b|[a-z][\w./()]*: ?{_N}\S*|[|:]", "", ""),
    )
]
#: A number that may be a rate: 76800, 76.8k, 76800/s, the 76 of 76 800; the 3.1 of a network's name is none, nor 124M.
_BARE = re.compile(rf"\d[\d,]+(\.\d+)?k?|{_N}(k|[kM]?/s)")


def machine_in(text: str) -> tuple[dict[str, Any], str]:
    """Return the machine that a text begins with, and what follows; {} and the text where it begins with none.

    Of `2x8xh100 7B` the machine is {"device": "h100", "devices": 16.0, "nodes": 2.0}; without nodes it has two entries.
    """
    if tpus := _SLICE.match(text):
        cores = 1.0 if "e" in tpus[1].lower() else 2.0
        text = f"{float(tpus[2]) / cores:g}xtpu-{tpus[1]}{text[tpus.end() :]}"
    match = _MACHINE.match(text)
    if match is None:
        return {}, text
    # `h100x8` has the first three groups, `2x8xh100` the last four; the others are None.
    device_before, sign_behind, count_behind, nodes, count, sign, device = match.groups()
    # `8 h100` and `h100:8` are machines where the device is known; `8 resnet50` is none, and `8xresnet50` is.
    has_times_sign = sign.strip() != "" if device else sign_behind in ("x", "×", "*")
    device = device or device_before
    if not has_times_sign and device_in(device) is None:
        return {}, text
    machine = {"device": device, "devices": float(count or count_behind) * float(nodes or 1.0)}
    return machine | ({"nodes": float(nodes)} if nodes else {}), _NOUN.sub("", text[match.end() :])


def number_with_noun(text: str) -> dict[str, str]:
    """Return {what is counted: number} of a text such as `64gpus`, `1k devices` or `2 racks`; nothing of any other."""
    match = re.fullmatch(r"(\d[\d,.]*[kKM]?)[ _-]?([^\W\d_]{2,})", text)
    if match is None:
        return {}
    number = without_thousands(match[1])
    # A list, `8,16`, stays as it is.
    value = None if "," in number else number_of(number)
    return {match[2]: number if value is None else label(value)}


def settings_of_words(words: str) -> list[str]:
    """Return what a question in words asks for, as `name=value`: `fsdp, 64 gpus with batch 32`.

    Words stay whole, as the name of a run or a machine does, where a number stands alone or beside what is no factor.

    Examples
    --------
    >>> settings_of_words("fsdp, 64 gpus with batch 32"), settings_of_words("8 nodes of 8 gpus")
    (['fsdp=fsdp', 'gpus=64', 'batch=32'], ['8x8'])
    """
    text = _JOINING.sub(" ", _NODES_OF.sub(r"\1x\2", words)).strip()
    pieces = [match.groups() for match in _SETTING.finditer(text)]
    factors = [name or noun for name, _, _, noun, alone in pieces if not alone]
    number_alone = any(alone and alone[0].isdigit() for *_, alone in pieces)
    if not factors or number_alone or not all(map(meant_by, factors)) or (len(pieces) == 1 and not pieces[0][0]):
        return [text if len(pieces) == 1 else words]
    return [f"{name or noun or alone}={number or count or alone}" for name, number, count, noun, alone in pieces]


def row_of_words(words: Sequence[str]) -> dict[str, Any]:
    """Return the cells of a row that words describe, by their columns; {} where they begin with no machine.

    What `_PHRASES` do not take is the model's name. Refused are a rate whose unit may be two, a count without its
    number, a collective of one device, and nodes times so few devices that these may be those of all nodes.
    """
    text = " ".join(re.sub(r",(?!\S)", " ", " ".join(words)).split())
    for otherwise, spelled in _SPELLINGS:
        text = re.sub(f"(?i){otherwise}", spelled, text)
    text = re.sub(r"(?i)(?<!\S)(\d+) ?weeks?(?!\w)", lambda weeks: f"{7 * int(weeks[1])} days", text)
    row, rest = machine_in(text)
    if not row:
        row, rest = _machine_within(text)
        if not row:
            return {}
    # Nodes that a later word names, `8xh100 … nodes=2`, leave open whether the devices are those of one node.
    device, count, is_open = row["device"], row["devices"], "nodes" not in row
    rest = _EACH_DEVICE.sub(lambda each: "/gpu" if device_in(each[1]) else each[0], rest)
    for pattern, column, cell in _PHRASES:
        rest = pattern.sub(partial(_taken, row, column, cell), rest)
    if bare := next(filter(_BARE.fullmatch, rest.split()), ""):
        what, number = "could be tokens or samples a second, of all devices or of each", bare.removesuffix("/s")
        raise GenperfError(f"'{bare}' {what}", hint=f"{number}tok/s of all, {number}tok/s/gpu of each, or img/s")
    if alone := next((word for word in rest.split() if canonical_of(word) in COUNTED), ""):
        hint = f"2 {alone}; behind an option in quotes: --at '2 {alone}'"
        raise GenperfError(f"'{alone}' stands without its number", hint=hint)
    if "collective" in row and count < 2.0:
        raise GenperfError(f"a collective of one {device.upper()} uses no link", hint="8xh100 all_reduce 470GB/s")
    nodes = number_of(row.get("nodes", 0.0)) or 0.0
    if is_open and several_nodes(nodes) and count <= USUAL_DEVICES:
        hint = " or ".join(f"{nodes:g}x{held:g}x{device}" for held in (count, max(count // nodes, 1.0)))
        what = f"{count:g}x{device} on {nodes:g} nodes may be {count:g} devices or {nodes * count:g}"
        raise GenperfError(what, hint=hint)
    return row | ({"model": name} if (name := " ".join(rest.replace(":", " ").split())) else {})


def _machine_within(text: str) -> tuple[dict[str, Any], str]:
    """Return the machine of a known device that follows other words, or has no count, and the rest; {} for none.

    A word alone may be a file that is not there, and so may what stands before a machine.
    """
    starts = [0, *(blank.end() for blank in re.finditer(r"\s\(?", text))]
    for count, start in product(("", "1x"), starts):
        row, rest = machine_in(count + text[start:])
        before = text[:start]
        if before + rest and device_in(row.get("device", "")) is not None and not re.search(r"\.[a-z]+(?!\S)", before):
            return row, before + rest
    return {}, text


def row_of_cells(cells: Mapping[str, Any]) -> dict[str, Any]:
    """Return a row whose cells that say more than a number are read as words: `21 days`, `8 x H100`, `95 img/s`."""
    row, phrases = dict[str, Any](), dict[str, Any]()
    for name, cell in cells.items():
        text, meaning = str(cell).strip(), meaning_of(name)
        if bus := _OF_BUS.match(name):
            text = f"{bus[1]}bw {text}{bus[2] or ''}"
        is_phrase = text[:1].isdigit() and number_of(text) is None and meaning not in (*NAMES[1:], "sequence")
        is_phrase |= bool(bus or _COLLECTIVES.fullmatch(text))
        machine, rest = machine_in(text) if is_phrase else ({}, "")
        if is_phrase and meaning != "device":
            for pattern, column, template in _PHRASES:
                rest = pattern.sub(partial(_taken, machine, column, template), rest)
        phrases |= machine
        row |= {} if machine else {name: cell}
    return phrases | row


def source_of_words(texts: Sequence[str]) -> Source | None:
    """Return several runs in words as a table, a row each; None where a text begins with no machine.

    >>> runs = source_of_words(("8xh100 7B 76800tok/s", "16xh100 7B 140k tok/s"))
    >>> {name: cells.tolist() for name, cells in runs.cells.items()}
    {'device': ['h100', 'h100'], 'devices': [8.0, 16.0], 'tok/s': ['76800', '140k'], 'model': ['7B', '7B']}
    """
    if len(texts) < 2 or not all(machine_in(text)[0] for text in texts):
        return None
    rows = [row_of_words([text]) for text in texts]
    names = list(dict.fromkeys(name for row in rows for name in row))
    cells = [[row.get(name, "") for name in names] for row in rows]
    return source_of("runs", names, cells, range(1, len(rows) + 1), "run")


def _taken(row: dict[str, Any], column: str, cell: str, match: re.Match[str]) -> str:
    """Put a cell, `4` of `micro_batch 4`, into a row where its column means something; return what stays of it.

    `column` and `cell` are templates of the match. An empty column stands for words that say nothing of a run.
    """
    name, value = re.sub(" ?/ ?| per ", "/", match.expand(column)), match.expand(cell)
    name = name.lower() if column[-1:].isalpha() else name
    meaning, header, is_set = meaning_of(name), header_of(name), "=" in match[0]
    if not column or (not match[0][0].isdigit() and _PRINTED.fullmatch(plain_name(name))):
        return " "
    if is_set and meaning is None and not header.kind:
        settings = [word for spelled in (*ALIASES.values(), *RUN_WORDS.values()) for word in spelled]
        hint = did_you_mean(name, settings, otherwise="such as gbs=256, seq=2048, layers=32, params=7e9, active=12.9B")
        raise GenperfError(f"'{name}' is no setting of a run", hint=hint)
    if is_set and meaning not in NAMES and number_of(value) is None:
        raise GenperfError(f"'{name}={value}' holds no number", hint=f"{name}=2048")
    if match[0][0].isdigit():
        # `micro_batch 4 seq 4096`: behind a number stands its unit, or what it counts.
        is_named = bool(header.counted) or meaning in (*COUNTED, "parameters")
    else:
        is_named = bool(header.kind) or meaning not in (None, *NAMES)
    unit = canonical_time(name)
    # A column of letters is a name, and no template.
    if is_set or is_named or unit or column[-1].isalpha():
        # What is said first is of the run: `159 TFLOPS, 51 % of 312 TFLOPS`.
        of_time = f"{unit}/step" if unit in ("s", "ms") else f"job time ({unit})"
        row.setdefault(of_time if unit else name, value)
        return " "
    return match[0]


def meaning_of(column: str) -> str | None:
    """Return what a column or a setting of a run means."""
    plain = plain_name(column)
    meant = next((of for of, words in RUN_WORDS.items() if plain in words), canonical_of(column))
    operations = "tflops" if relative_unit(column) == "TFLOP" and "peak" not in plain else None
    return meant or ("mfu" if re.search(r"(?<![a-z])[mh]fu(?![a-z])", plain) else operations)


def number_of(cell: Any) -> float | None:
    """Return the number of a cell, which may be an amount or a percentage; None for anything else."""
    text = str(cell).replace(",", "").strip()
    number = amount(text.upper() if text[-1:].isalpha() else text.removesuffix("%"))
    return number / 100.0 if number is not None and text.endswith("%") else number
