"""The words of a layout's switches: ZeRO and FSDP stages, recomputation, offload."""

from __future__ import annotations

import re
from collections.abc import Callable
from dataclasses import dataclass

from genperf.errors import ModelError, suggest
from genperf.formula import Call, Name, Node, Number, Text, call
from genperf.panel import Panel
from genperf.table import Factor


@dataclass(frozen=True)
class Words:
    """The words of one switch."""

    #: The factor.
    canonical: str
    #: In messages.
    meaning: str
    #: Word → number.
    values: dict[str, float]

    def value(self, level: str, column: str) -> float:
        """Return the number of a word.

        Parameters
        ----------
        level : str
            As it stands in the table: case, blanks, `-` and `_` do not matter.
        column : str
            For the message.

        Raises
        ------
        ModelError
            For a word that is not known.

        Examples
        --------
        >>> ZERO.value("ZeRO-3", "sharding"), ZERO.value("FULL_SHARD", "sharding"), ZERO.value("none", "sharding")
        (3.0, 3.0, 0.0)
        """
        word = re.sub(r"[\s_-]+", "", level.strip().lower())
        if word in self.values:
            return self.values[word]
        raise ModelError(
            f"column '{column}': '{level}' is no {self.meaning} that is known",
            hint=suggest(word, list(self.values)) or f"one of {', '.join(self.values)}; or leave the column out",
        )


_OFF = dict.fromkeys(("0", "none", "no", "off", "false", "disabled", "null", "na"), 0.0)
_ON = ("1", "yes", "on", "true", "enabled")

ZERO = Words(
    "zero",
    "stage of ZeRO or FSDP",
    {
        **_OFF,
        **dict.fromkeys(("ddp", "noshard", "stage0", "zero0"), 0.0),
        **dict.fromkeys((*_ON, "stage1", "zero1", "dp", "optimizer", "os", "distributedoptimizer"), 1.0),
        **dict.fromkeys(("2", "stage2", "zero2", "shardgradop", "offload", "zerooffload"), 2.0),
        **dict.fromkeys(("3", "stage3", "zero3", "fullshard", "hybridshard", "fsdp", "fsdp2", "infinity"), 3.0),
    },
)
#: Recomputed share of the forward pass. Selective recomputation leaves the matrix products out; 0.1 is a guess between
#: the 2.7 % of Korthikanti et al. (2022) for a very large model and what small ones need.
RECOMPUTATION = Words(
    "recomputation",
    "kind of recomputation",
    {**_OFF, **dict.fromkeys((*_ON, "full", "uniform", "block", "all"), 1.0), "selective": 0.1},
)
OFFLOAD = Words(
    "offload", "kind of offload", {**_OFF, **dict.fromkeys((*_ON, "cpu", "optimizer", "nvme", "host"), 1.0)}
)
#: Levels of `zero` that also offload the optimizer.
_OFFLOADING = ("offload", "zerooffload", "infinity")


def zero_at_least(factors: Panel, stage: int) -> Node | None:
    """Return 1 where ZeRO has at least a stage and 0 elsewhere; None where the table has no such column."""
    return _indicator(factors, ZERO, lambda value: float(value >= stage))


def recomputed(factors: Panel) -> Node | None:
    """Return the recomputed share of the forward pass; None where the table has no such column."""
    return _indicator(factors, RECOMPUTATION, lambda value: value)


def layers_recomputed(factors: Panel) -> Node | None:
    """Return 1 where whole layers are recomputed and 0 elsewhere; None where the table has no such column."""
    return _indicator(factors, RECOMPUTATION, lambda value: float(value >= 1.0))


def scores_recomputed(factors: Panel) -> Node | None:
    """Return 1 where the attention's scores are recomputed and 0 elsewhere; None where the table has no such column."""
    return _indicator(factors, RECOMPUTATION, lambda value: float(value > 0.0))


def offloaded(factors: Panel) -> Node | None:
    """Return 1 where the optimizer is offloaded to the host; None where no column tells."""
    factor = factors.named("zero")
    if factors.named("offload") is None and factor is not None and not factor.numeric:
        levels = [level for level in factor.levels if re.sub(r"[\s_-]+", "", level.lower()) in _OFFLOADING]
        return _of_levels(factor, dict.fromkeys(levels, 1.0)) if levels else None
    return _indicator(factors, OFFLOAD, lambda value: value)


def _indicator(factors: Panel, words: Words, number: Callable[[float], float]) -> Node | None:
    """Return a switch as a formula over its column."""
    factor = factors.named(words.canonical)
    if factor is None:
        return None
    if not factor.numeric:
        return _of_levels(factor, {level: number(words.value(level, factor.name)) for level in factor.levels})
    steps = [(k, number(float(k)) - number(k - 1.0)) for k in range(1, int(factor.upper) + 1)]
    node: Node = Number(number(0.0))
    for k, change in steps:
        if change:
            at_least = call("where", call("greater_equal", Name(factor.name), float(k)), change, 0.0)
            node = at_least if node == Number(0.0) else call("add", node, at_least)
    return node


def _of_levels(factor: Factor, values: dict[str, float]) -> Node | None:
    """Return the sum over the levels of value × (1 where the factor has the level)."""
    node: Node | None = None
    for level, value in sorted(values.items()):
        if value:
            part = Call("where", (call("equal", Name(factor.name), Text(level)), Number(value), Number(0.0)))
            node = part if node is None else call("add", node, part)
    return node
