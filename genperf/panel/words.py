"""Runs in words, `8xh100 7B 76800tok/s bf16`: what they say, under the headers of a table; machines, `2x8xh100`."""

import re
from collections.abc import Callable, Mapping, Sequence
from functools import cache, partial
from itertools import product
from pathlib import Path
from typing import Any

from genperf.errors import GenperfError, counted, did_you_mean
from genperf.formula.amounts import amount
from genperf.networks import MOST_OF_A_NAME, network_within
from genperf.panel.machine import USUAL_DEVICES
from genperf.panel.panel import several_nodes
from genperf.peaks import device_in
from genperf.table.cells import Source, source_of
from genperf.table.facts import SLICE, chips_of, digits_of
from genperf.table.opened import stated_runs
from genperf.vocabulary import Patterns, any_of, section, words_of
from genperf.vocabulary.headers import canonical_time, header_of, relative_unit
from genperf.vocabulary.names import ALIASES, COUNTED, canonical_of, plain_name

#: What a column of a run means beside the factors, and what of these and the factors is no number.
RUN_WORDS = section("one_run")
NAMES = ("device", "network", "precision", "recomputation", "adapters", "collective")
_FORMS = Patterns(Path(__file__).with_name("rewriting.toml"))
#: `8xh100`, `2x8xA100`, `2 nodes of 8 x a100`, `8 NVIDIA H100 PCIe`, `1 x RTX 4090`, `16 TPU v4`; `h100x8`, `h100:8`.
_MACHINE = re.compile(
    _FORMS.written(
        r"(?i)(<name>?<variant>)( ?[x×*] ?|:)([1-9]\d*)(?!\S)"
        r"|(?:([1-9]\d*)(?: ?[x×*] ?| (?:<headers.node>|server)s? (?:of |with |[x×*] ?)?))??"
        r"([1-9]\d{0,2}(?:,\d{3})+|[1-9]\d*k?)"
        r"( ?[x×*] ?(?:<memory> )?| ?(?:<device>s? )??(?:<memory> )?"
        r"(?=(?:<headers.maker> )*(?:[a-wyz]\S*\d|(?<=[a-z]{3} )\d)))(<name><variant>)(?=:?(?:\s|$))"
    )
)
#: What devices are called behind their name, `8 H100 GPUs`.
_NOUN = re.compile(_FORMS.written(r"(?i) (?:<device>s?|<headers.node>(s?))(?![\w=:-]| \d+(?!\S))"))
#: Nodes × devices of each, `16x8`, as the value of a count.
GRID = re.compile(r"([1-9]\d*) ?[x×*] ?(\d+)")
#: A number before what it counts, or behind its name, without a blank between them: `64gpus`, `tp8`.
GLUED = re.compile(r"(\d[\d,.]*(?:[kKM](?![A-Z]))?)[_-]?([^\W\d_].*)|([^\W\d]+?)_?(\d[\d,.]*[kKMBTb]?)")
_PRINTED = re.compile(any_of("statement.printed"))
#: What the bandwidth of a test is called in headers, with its unit.
_OF_BUS = re.compile(_FORMS.written(r"(?i)<test>(?:\W|_)*(?-i:([kMGT]?(?:bit|[bB])(?:/s|ps)))?"))
_COLLECTIVES = re.compile(_FORMS.written("(?i)<collectives.*>"))
#: `tok/s/H100`, `TFLOP/s per A100 GPU`.
_EACH_DEVICE = re.compile(_FORMS.written(r"(?i)(?: ?/ ?| per )([a-z][\w-]*)(?: <device>)?"))
#: What stands in the place of words that were read, and of those that say nothing of a run.
_READ, _PASSED = " | ", " ~ "
#: Under which name a row has the numbers that nothing reads.
UNREAD = "not read"
#: Under which name a row has the count of another machine, which is asked about.
OF_MACHINE = "--at"
#: Days of a longer time.
DAYS_OF = {"week": 7, "month": 30}
#: A share of which nothing more is said.
_ALONE = re.compile(_FORMS.written(r"(?<!\S)(<number> ?%)(?= [|~]|\s*$)"))
#: A number that may be a rate: 76800, 76.8k, 76800/s, the 76 of 76 800; the 3.1 of a network's name is none, nor 124M.
_BARE = re.compile(_FORMS.written(r"\d[\d,]+(\.\d+)?k?|<number>(k|[kM]?/s)"))


def machine_in(text: str) -> tuple[dict[str, Any], str]:
    """Return the machine that a text begins with, and what follows; {} and the text where it begins with none.

    Of `2x8xh100 7B` the machine is {"device": "h100", "devices": 16.0, "nodes": 2.0}; without nodes it has two entries.
    """
    if tpus := SLICE.match(text):
        text = f"{chips_of(tpus):g}xtpu-{tpus[1]}{text[tpus.end() :]}"
    match = _MACHINE.match(text)
    if match is None:
        return {}, text
    # `h100x8` has the first three groups, `2x8xh100` the last four; the others are None.
    device_before, sign_behind, count_behind, nodes, count, sign, device = match.groups()
    # `8 h100` and `h100:8` are machines where the device is known; `8 resnet50` is none, and `8xresnet50` is.
    has_times_sign = (sign.strip()[:1] if device else sign_behind) in ("x", "×", "*")
    device, first_word = device or device_before, text.split()[0]
    if device_in(device) is None and (not has_times_sign or device_in(first_word) is not None):  # `rtx4090` is no `rt`.
        return {}, text
    # Several `H100s`; an `L40S` is no `L40`.
    device = device[:-1] if device[-1] in "sS" and device_in(device) == device_in(device[:-1]) is not None else device
    devices, noun = number_of(count or count_behind) or 0.0, _NOUN.match(text, match.end())
    if noun and noun[1] and not nodes:
        what = f"of {devices:g} {device} nodes it is open how many devices each has"
        raise GenperfError(what, hint=f"{devices:g}x8x{device}")
    machine = {"device": device, "devices": devices * float(nodes or 1.0)}
    return machine | ({"nodes": float(nodes)} if nodes else {}), text[(noun or match).end() :]


def words_of_question(text: str) -> list[str]:
    """Return the words of a question; `|` is a mark or an end, `=` stands behind a name, `--price=$2/h` is an option.

    >>> " ".join(words_of_question("fsdp on 64 gpu's, batch: 32?")), words_of_question("8 nodes of 8 at $2 per hour")
    ('fsdp on 64 gpus | batch : 32 |', ['8x8', 'at', '|', '--price=$2/h', '|'])
    """
    return _rewritten(text, "question").split()


def wanted_in_words(want: str) -> str:
    """Return the usual form of what is wanted, `images/kWh` of `images per kWh`; as it is where it has no other one."""
    words = [word for word in words_of_question(want) if word not in ("|", "=")]
    return words[1] if words[:1] == ["--want"] and len(words) == 2 else want


def _rewritten(text: str, of: str) -> str:
    """Return the text of a `question` or a `run` with amounts and what else is spelled in several ways in one form."""
    for pattern, replacement in (*_rules("amounts"), *_rules(of)):
        text = pattern.sub(replacement, text)
    return text


def _listed(table: str, name: str) -> list[list[str]]:
    """Return a list of `rewriting.toml`, in which what holds for each meaning of a section is a rule for each."""
    rules = list[list[str]]()
    for rule in _FORMS.table(table)[name]:
        placeholder = re.search(r"<(\w+)\.each>", rule[0])
        meanings = section(placeholder[1]) if placeholder else [""]
        rules += [
            [text.replace(".each>", f".{m}>").replace("<each>", m) if m else text for text in rule] for m in meanings
        ]
    return rules


@cache
def _rules(name: str) -> list[tuple[re.Pattern[str], str | Callable[[re.Match[str]], str]]]:
    """Return patterns with what stands in the place of their matches, in order."""
    computed = {
        "counts_apart()": _counts_apart,
        "in_digits()": lambda of: f"{digits_of(of)} ",
        "in_days()": lambda period: f"{int(period[1]) * DAYS_OF[period[2].lower()]} days",
        "node_of_instance()": _node_of_instance,
        "nodes_of_device()": lambda of: f"{of[1]} nodes {of[2]}" if device_in(of[2]) else of[0],
        "counts_listed()": lambda of: f"{OF_MACHINE}={','.join(filter(None, of.groups()))}",
        # `how many h200 to match 64 a100`
        "matched()": lambda of: f"{of[1]} | --match={of[2].strip(' ?.!').replace(' ', '/')} |",
        "more_by_a_share()": lambda of: f"×{1.0 + (number_of(of['share']) or 0.0) / 100.0:g} ",
        "number_of_work()": lambda of: of[0].replace(",", ""),
        "samples_of_epochs()": lambda of: f"{(number_of(of[1]) or 0.0) * (number_of(of[2]) or 0.0):.15g}",
        "times_as_fast()": _times_as_fast,
        "work_within()": _work_within,
    }
    return [(re.compile(f"(?i){_FORMS.written(text)}"), computed.get(new, new)) for text, new in _listed("rules", name)]


def _counts_apart(counts: re.Match[str]) -> str:
    """Return `64,128` as two counts, powers of two that rise, and any other, `16,384`, as one."""
    numbers = [*map(int, counts[0].split(","))]
    are_counts = all(n.bit_count() == 1 for n in numbers) and numbers == sorted(numbers) and ",0" not in counts[0]
    return " or ".join(map(str, numbers)) if are_counts else counts[0].replace(",", "")


def _times_as_fast(goal: re.Match[str]) -> str:
    """Return a multiple of a speed as an option, twice without a number, behind what is counted."""
    groups = goal.groupdict("")
    how_many = f"how many {groups['counted']}" if groups.get("counted") else ""
    return f"{how_many}--multiple={groups.get('times') or 2} "


def _work_within(work: re.Match[str]) -> str:
    """Return how much is done in a period as what is wanted: `--want=tokens/24h` of `how many tokens in 24 hours`."""
    groups = work.groupdict("")
    number, period = groups.get("number") or 1, groups["period"].lower().rstrip("s")
    days = DAYS_OF.get(period)
    lasts = f"{number}{canonical_time(groups['period'])}" if days is None else f"{days * float(number):g}d"
    return f"--want={groups['work']}/{lasts}{groups.get('of', '')}"


def _node_of_instance(instance: re.Match[str]) -> str:
    """Return an instance of a cloud as a machine: `4x8xa100`, or `8xa100`."""
    count, name = instance[1] or instance[3], instance[2].lower()
    node = next(node for node, words in section("instances").items() if re.fullmatch("|".join(words), name))
    return f"{count}x{node}" if count else node


@cache
def _phrases() -> list[tuple[re.Pattern[str], str, str]]:
    """Return what words say of a run, each with its column and its cell, in the order in which they are looked for."""
    phrases = _listed("phrases", "run")
    return [
        (re.compile(rf"(?i)(?<!\S)(?:{_FORMS.written(words)})(?!\S)"), column, cell) for words, column, cell in phrases
    ]


def row_of_words(words: Sequence[str]) -> dict[str, Any]:
    """Return the row of a table that words describe: {"device": "h100", "devices": 8.0, …}; {} without a machine.

    What is left of the words is the name of the network, and numbers in it are `UNREAD`. Refused are a rate whose unit
    may be two, a count without its number, a rate without a device, and a machine that leaves open how large it is.
    """
    text = _rewritten(" ".join(re.sub(r",(?!\S)", " ", " ".join(words)).split()), "run")
    row, rest = _machine_of(text)
    # Nodes that a later word names, `8xh100 … nodes=2`, leave open whether the devices are those of one node.
    device, is_open = row.get("device", ""), "nodes" not in row
    for pattern, column, cell in _phrases():
        rest = pattern.sub(partial(_put_into_row, row, column, cell), rest)
    if not device:
        if row.keys().isdisjoint(("mfu", "tflops", "busbw")) or re.search(r"\.[a-z]+(?!\S)", text):
            return {}
        hint = (
            "8xh100 all_reduce 470GB/s"
            if "collective" in row
            else "8xh100 7B 76800tok/s; of another device --peak 312T"
        )
        raise GenperfError("no device of the run is known", hint=hint)
    counts = (number_of(cell) for name, cell in row.items() if meaning_of(name) == "workers")
    count = row.setdefault("devices", next(filter(None, counts), 1.0))
    of_a_node, nodes = (number_of(row.get(name, "")) or 0.0 for name in ("devices_per_node", "nodes"))
    if is_open and count in (1.0, of_a_node) and of_a_node and nodes:
        # `a100 devices_per_node=8 nodes=2` has 16.
        count, is_open = nodes * of_a_node, False
        row["devices"] = count
    if counts_behind := {row[name] for name in row if meaning_of(name) == "workers"} - {count, f"{count:g}"}:
        # `8 h100 7B 76k tok/s, 1T tokens on 64 gpus`
        row[OF_MACHINE] = " or ".join(map(str, counts_behind))
    size = next((number_of(cell) for name, cell in row.items() if meaning_of(name) == "parameters"), None)
    name, rest = network_within(" ".join(rest.replace(":", " ").split()), size or 0.0)
    if share := _ALONE.search(rest):
        rest = rest.replace(share[0], _READ, 1)
        row.setdefault("mfu", share[1])
    name, unread = _network_and_numbers(name, rest.split(), "collective" in row)
    # `each 7B` names the network again.
    unread = [text for text in unread if text.lower() != name.lower()]
    lasted = [n for n in row if n.startswith("job time") or (header_of(n).shared and header_of(n).kind == "time")]
    if row.keys().isdisjoint(("tokens", "training_samples")) or any(header_of(c).kind == "rate" for c in row):
        unread += [f"{row.pop(column)} {column.removeprefix('job time').strip(' ()')}" for column in lasted]
    _refuse_unclear_machine(row, device, count, is_open)
    # Beside `model=7B` other words are prose.
    row = {**row, "model": row.get("model", name)} if name else row
    return row | ({UNREAD: "; ".join(unread)} if unread else {})


def _refuse_unclear_machine(row: Mapping[str, Any], device: str, count: float, nodes_follow: bool) -> None:
    """Refuse a collective of one device, and so few devices on nodes named behind them that each may have as many."""
    if "collective" in row and count < 2.0:
        raise GenperfError(f"a collective of one {device.upper()} uses no link", hint="8xh100 all_reduce 470GB/s")
    nodes = number_of(row.get("nodes", 0.0)) or 0.0
    if nodes_follow and several_nodes(nodes) and count <= USUAL_DEVICES:
        hint = " or ".join(f"{nodes:g}x{held:g}x{device}" for held in {count: 1, max(count // nodes, 1.0): 1})
        what = f"{count:g}x{device} on {nodes:g} nodes may be {counted(int(count), 'device')} or {nodes * count:g}"
        raise GenperfError(what, hint=hint)


def _network_and_numbers(name: str, words: Sequence[str], is_test: bool) -> tuple[str, list[str]]:
    """Return the name of the network, which may be the few words left, and the numbers left among them."""
    marks = {"", _READ.strip(), _PASSED.strip()}
    triples = list(zip(("", *words), words, (*words[1:], ""), strict=False))
    for before, word, behind in triples:
        # Beside a word of prose, `in 2019`, it is no rate.
        if _BARE.fullmatch(word) and {before, behind} <= {"", _READ.strip()}:
            what, number = "could be tokens or samples a second, of all devices or of each", word.removesuffix("/s")
            hint = f"{number}tok/s of all, {number}tok/s/gpu of each, or img/s"
            if is_test:
                what, hint = "of a test of collectives has no unit", f"{number}GB/s, or {number}Gbit/s"
            raise GenperfError(f"'{word}' {what}", hint=hint)
        if not behind and canonical_of(word) in COUNTED:
            hint = f"2 {word}; behind an option in quotes: --at '2 {word}'"
            raise GenperfError(f"'{word}' stands without its number", hint=hint)
    left = [word for word in words if word not in marks]
    of_another = any(re.fullmatch(r"(?i)[\d.]+[bmt]", word) for word in left)
    numbers = [f"{n} {of}".strip(" |~") for _, n, of in triples if re.match(r"[$€£<>+x×-]?\d", n)]
    if not name and len(left) <= MOST_OF_A_NAME and not of_another:
        # Words that nothing parts are one name.
        groups = [group.strip() for group in re.split("[|~]", " ".join(words))]
        name = next((group for group in groups if re.search(r"(?<!\S)[^\W\d]", group)), "")
        numbers = [number for number in numbers if number not in name]
    return name, numbers


def _machine_of(text: str) -> tuple[dict[str, Any], str]:
    """Return the machine of a statement, and the text without it and other mentions of its device; {} for none."""
    # A number stands before it where it is no folder, `runs/a100`.
    rates = (of[1] for of in _EACH_DEVICE.finditer(text) if re.search(r"\d", text[: of.start()]))
    rate_with_device = next((name for name in rates if device_in(name) is not None), "")
    text = _EACH_DEVICE.sub(lambda of: "/gpu" if device_in(of[1]) else of[0], text)
    row, rest = machine_in(text)
    row, rest = (row, rest) if row else _machine_behind_words(text)
    if not row:
        return {"device": rate_with_device} if rate_with_device else {}, text
    while (device := device_in(row["device"])) is not None:
        row_behind, others = _machine_behind_words(rest)
        if device_in(row_behind.get("device", "")) is not device:
            break
        count_behind = row_behind.get("devices", row.get("devices"))
        rest = others if count_behind == row.get("devices") else f"{others} | {count_behind:g} gpus"
    return row, rest


def _machine_behind_words(text: str) -> tuple[dict[str, Any], str]:
    """Return the machine of a known device that follows other words, or has no count, and the rest; {} for none."""
    starts = [0, *(blank.end() for blank in re.finditer(r"\s\(?", text))]
    for count, start in product(("", "1x"), starts):
        row, rest = machine_in(count + text[start:])
        before = text[:start]
        if before + rest and device_in(row.get("device", "")) is not None and not re.search(r"\.[a-z]+(?!\S)", before):
            return row if not count else {"device": row["device"]}, before + _READ + rest
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
            for pattern, column, template in _phrases():
                rest = pattern.sub(partial(_put_into_row, machine, column, template), rest)
        phrases |= machine
        row |= {} if machine else {name: cell}
    return phrases | row


def source_of_words(texts: Sequence[str]) -> Source | None:
    """Return several runs in words as a table, a row each; None where a text states no machine, or a single one.

    A number that is not read is refused: it may be what the runs differ in. One text may have all runs: also of
    machines without a name, `1 gpu 100 img/s, 2 gpus 190 img/s`.

    >>> runs = source_of_words(("8xh100 7B 76800tok/s", "16xh100 7B 140k tok/s"))
    >>> {name: cells.tolist() for name, cells in runs.cells.items()}
    {'device': ['h100', 'h100'], 'devices': [8.0, 16.0], 'tok/s': ['76800', '140k'], 'model': ['7B', '7B']}
    """
    if len(texts) == 1 and " " in texts[0]:
        (text,), texts = texts, re.split(r"[,;]\s+", texts[0])
        if (stated := stated_runs(text)) is not None:
            return stated
    if len(texts) < 2 or not all(machine_in(text)[0] for text in texts):
        return None
    rows = [row_of_words([text]) for text in texts]
    if unread := next((row[UNREAD] for row in rows if UNREAD in row), ""):
        raise GenperfError(f"'{unread}' is not read, and may be what the runs differ in", hint="leave it out")
    names = list(dict.fromkeys(name for row in rows for name in row if not name.startswith("--")))
    cells = [[row.get(name, "") for name in names] for row in rows]
    return source_of("runs", names, cells, range(1, len(rows) + 1), "run")


def _put_into_row(row: dict[str, Any], column: str, cell: str, match: re.Match[str]) -> str:
    """Put a cell, `4` of `micro_batch 4`, into a row if its column has a meaning; return what replaces the match."""
    name, value = re.sub(" ?/ ?| per ", "/", match.expand(column)), match.expand(cell)
    read = f"{_READ}{match.groupdict().get('kept', '')}{_READ}"
    name = name.lower() if column[-1:].isalpha() else name
    meaning, header, is_set = meaning_of(name), header_of(name), "=" in match[0]
    if " " in name and network_within(name)[0]:
        # `gpt2 tokens/s: 22000`
        return match[0]
    if not column or (not match[0][0].isdigit() and _PRINTED.fullmatch(plain_name(name))):
        return _PASSED
    if name.startswith("--"):
        row.setdefault(name, value)
        return read
    if is_set and meaning is None and not header.kind:
        settings = [word for spelled in (*ALIASES.values(), *RUN_WORDS.values()) for word in spelled]
        hint = did_you_mean(name, settings, otherwise="such as gbs=256, seq=2048, layers=32, params=7e9, active=12.9B")
        raise GenperfError(f"'{name}' is no setting of a run", hint=hint)
    if is_set and meaning not in NAMES and number_of(value) is None:
        raise GenperfError(f"'{name}={value}' holds no number", hint=f"{name}=2048")
    if (meaning in COUNTED or header.shared) and value[-1:] in ("M", "B") and not is_set:
        # `on 2 nodes 7B`, `7B TGS 3200`
        return match[0]
    if match[0][0].isdigit():
        # `micro_batch 4 seq 4096`: behind a number stands its unit, or what it counts.
        is_named = bool(header.counted) or meaning in (*COUNTED, "parameters", "layers")
    else:
        # A name has no `of` or `for`: neither number of `throughput of Llama 3` and `MFU for the 7B` is named.
        is_phrase = not {*words_of("headers.joining")}.isdisjoint(name.split())
        is_named = not is_phrase and (bool(header.kind) or meaning not in (None, *NAMES))
    unit = canonical_time(name)
    # A column of letters is a name, and no template.
    if is_set or is_named or unit or column[-1].isalpha():
        # What is said first is of the run: `159 TFLOPS, 51 % of 312 TFLOPS`.
        of_time = f"{unit}/step" if unit in ("s", "ms") else f"job time ({unit})"
        return read if row.setdefault(of_time if unit else name, value) == value else match[0]
    return match[0]


def meaning_of(column: str) -> str | None:
    """Return what a column or a setting of a run means: `parameters` of `n_params`; None where that is not known."""
    plain = plain_name(column)
    meant = next((of for of, words in RUN_WORDS.items() if plain in words), canonical_of(column))
    operations = "tflops" if relative_unit(column) == "TFLOP" and "peak" not in plain else None
    return meant or ("mfu" if re.search(r"(?<![a-z])[mh]fu(?![a-z])", plain) else operations)


def number_of(cell: Any) -> float | None:
    """Return the number of a cell, which may be an amount or a percentage; None for anything else."""
    text = str(cell).replace(",", "").strip()
    number = amount(text.upper() if text[-1:].isalpha() else text.removesuffix("%"))
    return number / 100.0 if number is not None and text.endswith("%") else number
