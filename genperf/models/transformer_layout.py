"""A transformer's shape and layout as formulas over a table's columns.

The switches of a layout (ZeRO and FSDP stages, recomputation, offload) are read from words; other categorical factors
multiply the terms by exp(level); a factor that the table lacks is supposed.
"""

import re
from collections.abc import Callable, Mapping

from msgspec.structs import replace

from genperf.errors import ModelError, did_you_mean
from genperf.expression import Constant, ConstantMeaning, Expression, Term
from genperf.formula import Name, Node, Number, call, chain, parse, substitute
from genperf.models.compose import at_level, unused_name
from genperf.models.generic import level_effect
from genperf.panel import Panel
from genperf.table import Factor
from genperf.vocabulary import section, words_of
from genperf.vocabulary.names import ALIASES, WAYS

#: The factors whose words are switches of a layout, and what messages call such a word.
SWITCHED = {
    "zero": "stage of ZeRO or FSDP",
    "recomputation": "kind of recomputation",
    "offload": "kind of offload",
}


def number_of_word(switched: str, level: str, column: str) -> float:
    """Return the number of a switch's word, in which case, blanks, `-` and `_` do not matter."""
    # `off` and the like are 0, `on` and the like 1, for every switch.
    switches, word = section("switches"), _word(level)
    numbers = dict.fromkeys(switches["off"], 0.0)
    # A switch, a number, and its words: `"recomputation 0.1" = ["selective"]`.
    for canonical, _, number, words in ((*name.partition(" "), words) for name, words in switches.items()):
        if canonical == switched:
            numbers |= dict.fromkeys((*(switches["on"] if number == "1" else ()), *words), float(number))
    if word not in numbers:
        hint = did_you_mean(word, numbers) or f"one of {', '.join(numbers)}; or leave the column out"
        raise ModelError(f"column '{column}': '{level}' is no {SWITCHED[switched]} that is known", hint=hint)
    return numbers[word]


def _word(level: str) -> str:
    return re.sub(r"[\s_-]+", "", level.lower())


def _indicator(factors: Panel, switched: str, number: Callable[[float], float]) -> Node | None:
    """Return a switch as Σ_k (number(k) − number(k − 1))·(1 where the stage ≥ k) of its column."""
    factor = factors.named(switched)
    if factor is None:
        return None
    if not factor.numeric:
        of_words = {level: number(number_of_word(switched, level, factor.name)) for level in factor.levels}
        return _of_levels(factor, of_words)
    changes = [(k, number(float(k)) - number(k - 1.0)) for k in range(1, int(factor.upper) + 1)]
    stage = Name(factor.name)
    addends = [call("where", call("greater_equal", stage, float(k)), change, 0.0) for k, change in changes if change]
    return chain("add", addends or [Number(0.0)])


def _of_levels(factor: Factor, values: dict[str, float]) -> Node | None:
    """Return the sum over the levels of value × (1 where the factor has the level)."""
    nodes = [at_level(factor, level, value) for level, value in sorted(values.items()) if value]
    return chain("add", nodes) if nodes else None


#: Where the table lacks a factor. A width follows from the parameters, about 12·L·h² with L in
#: proportion to h: 2·P^(1/3) is 2,300 for 1.5 billion and 11,200 for 175 billion. One sample a micro-batch and a
#: sequence of 1 are in the coefficients, and a pipeline is full. Without ways, each device holds a whole network.
SUPPOSED: dict[str, str] = {
    **dict.fromkeys((*WAYS[1:], "expert_parallel"), "1"),
    **dict.fromkeys(("virtual_stages", "sequence", "micro_batch", "nodes"), "1"),
    "workers": "*".join(WAYS),
    "micro_batches": "global_batch/(data_parallel*micro_batch)",
    "global_batch": "data_parallel*micro_batch*pipeline_parallel",
    "heads": "hidden/128",
    "hidden": "2*parameters**0.3333333",
    "layers": "parameters/(12*hidden**2)",
}
#: Parameters that a device computes with, and samples × tokens of a micro-batch on one device.
HELD = "parameters/(tensor_parallel*pipeline_parallel)"
TOKENS = "micro_batch*sequence/context_parallel"
#: The width where the layers are known.
WIDTH_OF_LAYERS = "(parameters/(12*layers))**0.5"
SHAPE = ("parameters", "layers", "hidden")
#: Switches of a layout, each with the factor that it is read from and a number of its words: ZeRO at least 1, 2, 3; the
#: recomputed share of the forward pass, whether whole layers are recomputed, and whether the scores of the attention
#: are; and whether the optimizer is offloaded.
SWITCHES: dict[str, tuple[str, Callable[[float], float]]] = {
    "sharded": ("zero", lambda stage: float(stage >= 1)),
    "gradients_sharded": ("zero", lambda stage: float(stage >= 2)),
    "gathered": ("zero", lambda stage: float(stage >= 3)),
    "recomputed": ("recomputation", lambda share: share),
    "layers_recomputed": ("recomputation", lambda share: float(share >= 1.0)),
    "scores_recomputed": ("recomputation", lambda share: float(share > 0.0)),
    "offloaded": ("offload", lambda offloaded: offloaded),
}


class TransformerLayout:
    """Canonical names → formulas over a table's columns."""

    def __init__(self, factors: Panel) -> None:
        self.factors = factors
        switches = {name: _indicator(factors, switched, number) for name, (switched, number) in SWITCHES.items()}
        zero = factors.named("zero")
        if zero is not None and factors.named("offload") is None:
            # A word of ZeRO may mean an offloaded optimizer as well: `ZeRO-Offload`.
            offloading = words_of("switches.offloading")
            switches["offloaded"] = _of_levels(zero, {word: 1.0 for word in zero.levels if _word(word) in offloading})
        #: The switches that the table has a column of, as formulas over it.
        self.switches: Mapping[str, Node] = {name: node for name, node in switches.items() if node is not None}

    def expression(
        self, family: str, formulas: Mapping[str, str], constants: Mapping[str, Constant], total: Node | None = None
    ) -> Expression:
        """Write an expression of terms over canonical names and constants, each times exp(Σ effects of levels)."""
        columns = {f.name for f in self.factors.factors}
        named = {name: replace(c, name=unused_name(c.name, columns)) for name, c in constants.items()}
        # The effect of each level but the first of a factor that is no switch: 1 where a row has it, 0 elsewhere.
        switches = switch_columns(self.factors)
        levels = dict[Constant, Node]()
        for f in (f for f in self.factors.factors if f not in switches):
            for level in f.levels[1:]:
                name = unused_name(f"d_{f.name}[{level}]", columns)
                levels[level_effect(name, ConstantMeaning("level", "", f.name, level))] = at_level(f, level)
        effects = [call("multiply", Name(level.name), indicator) for level, indicator in levels.items()]
        scale = [call("exp", chain("add", effects))] if effects else []
        nodes = {name: Name(c.name) for name, c in named.items()}
        scaled = {name: chain("multiply", [self.over_columns(text, nodes), *scale]) for name, text in formulas.items()}
        terms = tuple(Term(name, node) for name, node in scaled.items())
        used = frozenset().union(*(term.names for term in terms))
        constants_used = tuple(c for c in dict.fromkeys((*named.values(), *levels)) if c.name in used)
        return Expression(family, terms, constants_used, total)

    def known(self, name: str) -> bool:
        """Return whether the table has a factor or a switch, or what it follows from."""
        return name in self.switches or (name in ALIASES and self.factors.has(name))

    def split(self, name: str) -> bool:
        """Return whether some run has more than one of a way, or may have, where its values are not known yet."""
        column = self.factors.find(name)
        return self.factors.has(name) and (column is None or column.distinct == 0 or column.upper > 1.0)

    def over_columns(self, formula: str, constants: Mapping[str, Node] | None = None) -> Node:
        """Return a formula over canonical names and constants as one over the table's columns."""
        parsed = parse(formula)
        nodes = {name: self._node(name) for name in parsed.names if name in ALIASES or name in SWITCHES}
        return substitute(parsed.node, {**(constants or {}), **nodes})

    def _node(self, name: str) -> Node:
        """Return a factor or a switch as a formula, supposed where the table lacks it."""
        if name in SWITCHES:
            return self.switches.get(name, Number(0.0))
        node = self.factors.node(name)
        if node is not None:
            return node
        stated = {shape for shape in SHAPE if self.factors.has(shape)}
        if name in SHAPE and "parameters" not in stated:
            # Without parameters what is not known of the shape is always the same, and in the coefficients.
            return self.over_columns("layers*hidden**2") if name == "parameters" else Number(1.0)
        if name == "hidden" and "layers" in stated:
            return self.over_columns(WIDTH_OF_LAYERS)
        return self.over_columns(SUPPOSED[name])


def switch_columns(factors: Panel) -> list[Factor]:
    """Return the factors that are switches of a layout."""
    return [factor for factor in map(factors.named, SWITCHED) if factor is not None]
