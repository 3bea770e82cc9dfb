"""A transformer's shape and layout as formulas over a table's columns, supposing what has no column."""

from __future__ import annotations

from collections.abc import Mapping

from genperf.formula import Node, Number, parse, substitute
from genperf.models.transformer.words import layers_recomputed, offloaded, recomputed, scores_recomputed, zero_at_least
from genperf.panel import Panel
from genperf.table.names import ALIASES
from genperf.table.transformer_names import WAYS

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
#: Switches of a layout as numbers: ZeRO at least 1, 2, 3; the recomputed share of the forward pass, whether whole
#: layers are recomputed, and whether the scores of the attention are; and whether the optimizer is offloaded.
SWITCHES = (
    *("sharded", "gradients_sharded", "gathered"),
    *("recomputed", "layers_recomputed", "scores_recomputed", "offloaded"),
)


class Layout:
    """Canonical names → formulas over a table's columns.

    Examples
    --------
    >>> from genperf.formula import render
    >>> from genperf.table import Factor
    >>> layout = Layout(Panel(tuple(Factor(n, "extrinsic") for n in ("dp", "tp", "gbs", "params"))))
    >>> render(layout.over_columns("global_batch/(data_parallel*micro_batch)")), layout.known("sequence")
    ('gbs/(dp*1)', False)
    """

    def __init__(self, factors: Panel) -> None:
        self.factors = factors
        stages = (zero_at_least(factors, stage) for stage in (1, 2, 3))
        again = (recomputed(factors), layers_recomputed(factors), scores_recomputed(factors))
        switches = zip(SWITCHES, (*stages, *again, offloaded(factors)), strict=True)
        self.switches: Mapping[str, Node] = {name: node for name, node in switches if node is not None}

    def known(self, name: str) -> bool:
        """Tell whether the table has a factor or a switch, or what it follows from."""
        return name in self.switches or (name in ALIASES and self.factors.has(name))

    def split(self, name: str) -> bool:
        """Tell whether some run has more than one of a way."""
        node = self.factors.node(name)
        if node is None:
            return False
        column = self.factors.find(name)
        return column is None or column.distinct == 0 or column.upper > 1.0

    def over_columns(self, formula: str, constants: Mapping[str, Node] | None = None) -> Node:
        """Return a formula over canonical names and constants as one over the table's columns.

        Parameters
        ----------
        constants : mapping of str to Node, optional
            What stands in the place of other names.
        """
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
        known = {shape for shape in SHAPE if self.factors.has(shape)}
        if name in SHAPE and "parameters" not in known:
            # Without parameters what is not known of the shape is always the same, and in the coefficients.
            return self.over_columns("layers*hidden**2") if name == "parameters" else Number(1.0)
        if name == "hidden" and "layers" in known:
            return self.over_columns(WIDTH_OF_LAYERS)
        return self.over_columns(SUPPOSED[name])
