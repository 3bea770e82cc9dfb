"""What follows from a predicted value: one table of quantities and one evaluator, for every command and the page."""

import math
import re
from collections.abc import Iterable, Mapping
from functools import cache
from typing import Literal

import numpy as np
from msgspec import Struct

from genperf.arrays import AnyArray, Array
from genperf.errors import GenperfError, ModelError, TableError
from genperf.facts import CURRENCY, ENDS, Paid, Training
from genperf.formula import Call, Name, Node, Number, call, evaluate, names_in, parse, quote_name, substitute
from genperf.formula.amounts import DURATIONS, amount, with_amounts
from genperf.networks import size_of_network
from genperf.panel.legend import Legend
from genperf.panel.panel import ONE, Panel, names_a_network
from genperf.peaks import peak_of
from genperf.vocabulary import words_of
from genperf.vocabulary.headers import STEP_WORDS, canonical_time, in_multiples
from genperf.vocabulary.names import LEVELS, LOAD, canonical_of, counted_by, noun_of


class Quantity(Struct, frozen=True):
    """What follows from a predicted value by a formula."""

    #: Over the predicted `value`, over other quantities, and over what the columns or the question give: the `work` of
    #: a step, the `sequence` of a sample, the `machines` that are paid for, …
    formula: str
    unit: str = ""
    label: str = ""  #: What answers and the page call it; empty for what only formulas read.
    #: Where answers report it: with a training, or beside every prediction that determines it.
    reported: Literal["", "training", "beside"] = ""
    is_share: bool = False  #: Whether it is a fraction, which answers print in per cent.


#: A new quantity is a row here; a column that it reads has its names in `vocabulary/words.toml`.
QUANTITIES: dict[str, Quantity] = {
    "throughput": Quantity("work/value"),
    "tokens_per_s": Quantity("throughput*sequence", "tokens/s", "tokens", "training"),
    "flops_per_device": Quantity("6*parameters*tokens_per_s/workers", "flop/s"),
    "mfu": Quantity("flops_per_device/peak", "", "MFU", "training", is_share=True),
    "total": Quantity("value*steps", "s"),
    "machine_hours": Quantity("machines*total/3600", "h"),
    "spending": Quantity("price*machines"),
    "cost": Quantity("machines*total*price"),
    "days": Quantity("tokens/tokens_per_s/86400", "d", "training time", "training"),
    "training_hours": Quantity("machines*tokens/tokens_per_s/3600", "", "training cost", "training"),
    "training_cost": Quantity("spending*tokens/tokens_per_s", "", "training cost", "training"),
}
REPORTED_BESIDE = tuple(name for name, row in QUANTITIES.items() if row.reported == "beside")
REPORTED = tuple(name for name, row in QUANTITIES.items() if row.reported)
#: What a formula needs and nothing gives → what is missing, and what to try.
LACKS: dict[str, tuple[str, str]] = {
    "price": ("a price", "--price 2/h, with --per COLUMN for what it is paid"),
    "machines": ("a column that counts what is paid for", "--per FORMULA, as --per 'replicas + servers'"),
    "work": ("the work of a step", "fit with --throughput, or with a column of the batch"),
    "sequence": ("the tokens of a sample", "a column such as seq_length; --let seq_length=2048 adds it to a table"),
    "parameters": ("the parameters", "a column of them, or of a network of known size; --let parameters=7e9 adds one"),
    "workers": ("the devices", "--map workers=COLUMN"),
    "tokens": ("the tokens of the training", "--tokens 300B"),
    "peak": ("the peak of a device", "--peak h100, or --peak 312T"),
}
#: What formulas read that no column of runs counts: a command, a question or the model gives it.
GIVEN = frozenset({"value", "work", "steps", "machines", "price", "tokens", "peak"})


@cache
def read_columns() -> tuple[str, ...]:
    """Return the field's names of the columns that the quantities read: parameters, sequence, workers."""
    read = frozenset().union(*(parse(row.formula).names for row in QUANTITIES.values()))
    return tuple(sorted(read - GIVEN - {*QUANTITIES}))


class Quantities(Struct, frozen=True):
    """The quantities of one model, as formulas over its factors and the predicted value."""

    given: Mapping[str, Node]  #: What the formulas read → what it is in this model.

    def has(self, name: str) -> bool:
        """Return whether everything that a quantity reads is given."""
        return name in self.given or (name in QUANTITIES and all(map(self.has, parse(QUANTITIES[name].formula).names)))

    def node(self, name: str) -> Node:
        """Return a quantity as a formula."""
        if name in self.given:
            return self.given[name]
        formula = parse(QUANTITIES[name].formula if name in QUANTITIES else name).node
        for read, (lack, hint) in LACKS.items():
            if read in names_in(formula) and read not in self.given:
                raise ModelError(f"'{name}' needs {lack}, and no column of the runs shows it", hint=hint)
        return _without_ones(substitute(formula, {read: self.node(read) for read in names_in(formula)}))

    def reported(self, where: str) -> list[str]:
        """Return the names that answers report somewhere, of those that are known."""
        return [name for name, row in QUANTITIES.items() if row.reported == where and self.has(name)]

    def values(self, names: Iterable[str], columns: Mapping[str, AnyArray]) -> dict[str, Array]:
        """Return quantities over columns of factors and of the predicted value, by name."""
        return {name: np.asarray(evaluate(self.node(name), columns), float) for name in names}

    def intervals(
        self, names: Iterable[str], columns: Mapping[str, AnyArray], ends: Iterable[AnyArray]
    ) -> dict[str, Array]:
        """Return quantities by name with `_lower` and `_upper`: each rises or falls as the predicted value does."""
        out: dict[str, Array] = {}
        (value,) = names_in(self.given["value"])
        at_ends = [self.values(names, {**columns, value: end}) for end in ends]
        for name in names:
            stacked = np.stack(np.broadcast_arrays(*(values[name] for values in at_ends)))
            bounds = stacked[0], stacked.min(axis=0), stacked.max(axis=0)
            out |= {f"{name}{end}": bound for end, bound in zip(ENDS, bounds, strict=True)}
        return out


def quantities_of(
    panel: Panel,
    given: Mapping[str, Node | float | None] | None = None,
    price: Paid | None = None,
    per: str | None = None,
) -> Quantities:
    """Return the quantities that the columns of a model give, `given` formulas and a price `per` something."""
    target = panel.target
    formulas: dict[str, Node | float | None] = {name: panel.node(name) for name in read_columns()}
    work = panel.step
    # What the work is in proportion to counts no samples.
    stated_work = None if work.whole else work.total
    formulas |= {"value": None if target is None else Name(target.name), "work": stated_work}
    units_of_sample, counted = in_multiples(panel.counted_by_throughput)
    if counted == "tokens" or counted in STEP_WORDS:
        # Iterations of each device are no samples.
        formulas["sequence"] = units_of_sample if counted == "tokens" else None
    if counted == "TFLOP":
        # A token takes 6 operations for each parameter.
        parameters = formulas["parameters"] or parameters_of(panel)
        of_a_token = None if parameters is None else call("multiply", 6e-12, parameters)
        formulas["sequence"] = None if of_a_token is None else call("divide", ONE, of_a_token)
    # Where a throughput was measured, the length of a step is a convention: one unit of its work is paid for.
    formulas["steps"] = ONE if panel.measured_work is None else call("divide", ONE, panel.measured_work)
    if price is not None or per is not None or panel.counted_node is not None:
        formulas["machines"] = paid_for(panel, per, price)[1]
    formulas["price"] = None if price is None else price.per_second
    formulas |= given or {}
    if formulas["parameters"] is None and "peak" in formulas:
        formulas["parameters"] = parameters_of(panel)
    nodes = {name: Number(node) if isinstance(node, float) else node for name, node in formulas.items()}
    return Quantities({name: node for name, node in nodes.items() if node is not None})


def parameters_of(panel: Panel) -> Node | None:
    """Return the parameters that a token uses as a formula: of columns, else of the network that a column names.

    The network is that of each level, of a group, or of every run; None where one of them has no known size.
    """
    if (node := panel.node("parameters")) is not None:
        return node
    if (factor := next(filter(names_a_network, (f.name for f in panel.factors)), None)) is not None:
        levels = next(f.levels for f in panel.factors if f.name == factor)
        sizes = {level: size_of_network(level) for level in levels}
        terms = (f"{size}*where({quote_name(factor)} == {level!r}, 1, 0)" for level, size in sizes.items())
        return Name(factor) if not levels else parse(" + ".join(terms)).node if all(sizes.values()) else None
    texts = {} if panel.legend is None else panel.legend.constants
    named = (size_of_network(f"{v}") for name, v in {**texts, **panel.constants}.items() if names_a_network(name))
    size = next(named, None)
    return None if size is None else Number(size)


def beside(
    panel: Panel,
    columns: Mapping[str, AnyArray],
    ends: Iterable[AnyArray],
    training: Training | None = None,
    price: Paid | None = None,
) -> dict[str, Array]:
    """Return by name, with its ends, what is reported beside every prediction, and what a training is asked about."""
    if panel.target is None or not panel.target.is_time:
        return {}
    training = training or Training()
    quantities = quantities_of(panel, training.given, price)
    names = [*quantities.reported("beside"), *training.shows(price is not None)]
    return quantities.intervals(names, columns, ends)


def _without_ones(node: Node) -> Node:
    """Return a product without factors of one."""
    if not isinstance(node, Call):
        return node
    left, *right = (_without_ones(argument) for argument in node.arguments)
    if node.function in ("multiply", "divide") and right == [ONE]:
        return left
    return right[0] if node.function == "multiply" and left == ONE else Call(node.function, (left, *right))


def paid_for(panel: Panel, per: str | None, price: Paid | None = None) -> tuple[str, Node]:
    """Return the name of what a price is for and how many there are, as a formula: ("gpus", gpus), ("nodes", gpus/8).

    Without `per` it is a worker; where users or requests are counted, the one machine that serves them.
    """
    per = price.per if per is None and price is not None else per
    factors = {f.name for f in panel.factors if f.numeric}
    # Where servers are scaled, each is a node.
    scaled = "" if panel.axis.factor is None else panel.axis.factor.name
    per = None if per == "nodes" and not panel.has(per) and counted_by(scaled) == "servers" else per
    if per is None or (per in LEVELS and panel.has(per)):
        node = panel.counted_node if per is None else panel.node(per)
        if node is None:
            raise TableError("no column counts what is paid for", hint="--per COLUMN, or --per 1")
        if per is None and isinstance(node, Name) and LOAD.fullmatch(node.name):
            return "machines", ONE
        if isinstance(node, Name):
            return node.name, node
        # What a node has of the devices names them: `gpus_per_node`.
        of_node = panel.find("devices_per_node")
        devices = "" if of_node is None else re.split(r"[ _]per[ _]", of_node.name)[0]
        named_devices = noun_of(devices) if counted_by(devices) == "workers" else "devices"
        return "nodes" if per == "nodes" else named_devices, node
    named = panel.find(per) if per == "servers" else None
    column = named.name if named is not None else panel.column(per)
    node = Name(column) if column in factors else parse(with_amounts(column)).node
    unknown = names_in(node) - factors
    if per == "workers" and unknown:
        # Of nodes nothing shows how many devices they have.
        raise TableError("the price is that of a device, and no column counts them", hint="--let gpus_per_node=8")
    if unknown:
        counts = ", ".join(f.name for f in panel.factors if f.role == "extrinsic")
        raise TableError(f"'{min(unknown)}' counts nothing that has a price", hint=f"--per {counts or 'COLUMN'}")
    return column, node


def prices_of_runs(legend: Legend | None, group: Mapping[str, str]) -> list[tuple[dict[str, str], Paid]]:
    """Return the prices that a table has for the runs of a group, by the levels that differ within it."""
    prices = () if legend is None else legend.prices
    of_group = [price for price in prices if all(group.get(n, level) == level for n, level in price.levels.items())]
    apart = [{n: level for n, level in price.levels.items() if n not in group} for price in of_group]
    return [(levels, price_of(price.text, price.per)) for levels, price in zip(apart, of_group, strict=True)]


def paid_by_runs(legend: Legend | None, group: Mapping[str, str], per: str | None = None) -> Paid | None:
    """Return the price, `per` something, that a table has for the runs of a group; None where no column has one."""
    prices = () if legend is None else legend.prices
    of_group = next((price for price in prices if price.levels.items() <= group.items()), None)
    return None if of_group is None else price_of(of_group.text, per or of_group.per)


def training_of(tokens: object, peak: object = None) -> Training:
    """Read the tokens of a training and the peak of a device, as people write them: `300B`, `a100`."""
    count = None if tokens is None else amount(str(tokens))
    if tokens is not None and (count is None or not 0.0 < count < math.inf):
        raise GenperfError(f"'{tokens}' is no number of tokens", hint="--tokens 300B")
    return Training(count, None if peak is None else peak_of(str(peak)))


def price_of(text: str, per: str | None = None) -> Paid:
    """Read a price of a time, perhaps with its currency and what it pays for: `2/h`, `48€/d`, `$2/gpu/hour`."""
    price, *units = (piece.strip() for piece in re.split(r"/|(?<!\w)per(?!\w)", str(text)))
    number = re.sub(r"[a-z]{3}(?![a-z])", lambda currency: currency[0].upper(), price)
    value = amount(re.sub(CURRENCY, "", number).strip())
    if value is None or value < 0.0:
        raise GenperfError(f"'{text}' is not a price", hint="--price 2/h: a number for a time")
    *paid, unit = re.split(r"[\s-]+", "-".join(units))
    of_words = dict.fromkeys(words_of("headers.device"), "workers") | dict.fromkeys(words_of("headers.node"), "nodes")
    levels = [of_words.get(word.lower()) or canonical_of(f"{word}s") for word in paid]
    unit = canonical_time(unit) or unit
    # A time such as `30min` or `8h` as well, which ends in its unit, but no bare number.
    seconds = DURATIONS.get(unit, amount(unit) if unit[-1:] in "sdhn" else None)
    if not seconds or seconds <= 0.0 or len(levels) > 1 or not {*levels} <= {*LEVELS}:
        examples = ", ".join(f"{number}/{name}" for name in ("h", "d", "s"))
        raise GenperfError(f"the price {text} needs its time", hint=f"--price with one of {examples}")
    return Paid(value / seconds, f"{number}/{unit}", per or next(iter(levels), None))
