"""Categorical factors that are no switch of a layout (hardware, framework) multiply the terms by exp(level)."""

from __future__ import annotations

from collections.abc import Collection, Mapping
from dataclasses import dataclass

from genperf.expression import Constant, Meaning
from genperf.formula import Call, Name, Node, Number, Text, call
from genperf.models.compose import unused_name
from genperf.panel import Panel

#: Categorical factors with a meaning of their own.
MEANINGS = ("zero", "recomputation", "offload")


@dataclass(frozen=True)
class LevelSettings:
    """Bounds of the effects."""

    #: Of the logarithm by which a level changes all terms: at most exp(3) = 20 times, as in the generic expression.
    bounds: tuple[float, float] = (-3.0, 3.0)


LEVELS = LevelSettings()


def level_effects(factors: Panel, columns: Collection[str]) -> Mapping[Constant, Node]:
    """Return the effect of each level but the first of its factor, with 1 where a row has it and 0 elsewhere.

    Parameters
    ----------
    columns : collection of str
        Names that a constant cannot have.

    Examples
    --------
    >>> from genperf.table import Factor
    >>> framework = Factor("framework", "categorical", distinct=2, levels=("megatron", "nemo"))
    >>> [constant.name for constant in level_effects(Panel((framework,)), ())]
    ['d_framework[nemo]']
    """
    switches = {factor.name for name in MEANINGS if (factor := factors.named(name)) is not None}
    effects: dict[Constant, Node] = {}
    for factor in factors.factors:
        for level in factor.levels[1:] if factor.name not in switches else ():
            name, meaning = unused_name(f"d_{factor.name}[{level}]", columns), Meaning("level", "", factor.name, level)
            constant = Constant(name, "level", *LEVELS.bounds, start=0.0, meaning=meaning)
            effects[constant] = Call("where", (call("equal", Name(factor.name), Text(level)), Number(1.0), Number(0.0)))
    return effects


def scaled(node: Node, effects: Mapping[Constant, Node]) -> Node:
    """Return a term times exp(Σ effects)."""
    whole: Node | None = None
    for constant, indicator in effects.items():
        part = call("multiply", Name(constant.name), indicator)
        whole = part if whole is None else call("add", whole, part)
    return node if whole is None else call("multiply", node, call("exp", whole))
