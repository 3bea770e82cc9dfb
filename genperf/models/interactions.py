"""What a level of a categorical factor, or a combination of levels, may do beyond the shared constants."""

from collections.abc import Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from itertools import product
from typing import Any, NamedTuple

import numpy as np

from genperf.expression import ConstantMeaning, Expression, Part, Term
from genperf.formula import Name, Node, Number, call, chain, values_of
from genperf.models.compose import at_level, unused_name
from genperf.models.generic import (
    COMBINED_SHARE,
    CONSTANT_TERM,
    MAX_EFFECTS,
    level_effect,
    relative,
    steps_of,
    together,
)
from genperf.table import Factor

#: What is between the levels, and between the factors, of a combination.
JOINT = ":"


class Effect(NamedTuple):
    """A constant, and the column that it multiplies in the logarithm of every term."""

    name: str
    node: Node
    meaning: ConstantMeaning


@dataclass(frozen=True)
class Interaction:
    """Effects of one kind: all levels of one categorical factor on the exponent of one factor, for example."""

    #: `batch × net`.
    name: str
    effects: tuple[Effect, ...]


def interactions(
    factors: Sequence[Factor], columns: Mapping[str, Any], following: Collection[str] = ()
) -> tuple[Interaction, ...]:
    """List the interactions that some configurations determine.

    A level of a categorical factor may change the exponent of each numeric factor, and the step of each count. Where
    several categorical factors vary, each of their measured combinations may differ as well: by a factor, and in the
    same exponents and steps. A count that follows from another may have a power. Columns that repeat another one, or
    are constant, are left out, and so are interactions that then have none, or too many beside those before
    (`MAX_EFFECTS`).
    """
    varying = [f for f in factors if f.distinct > 1]
    categorical = [f for f in varying if not f.numeric]
    changed = [_power(f) for f in varying if f.numeric and f.name not in following]
    changed += [
        Effect(f"d_{f.name}", together(f), ConstantMeaning("step", f.name)) for f in steps_of(varying, following)
    ]
    counts = [f for f in varying if f.name in following] if categorical else []
    offered = [Interaction(f"{f.name} × count", (_power(f)._replace(name=f"q_{f.name}"),)) for f in counts]
    for combination in (*([f] for f in categorical), *_separating(categorical, columns)):
        measured = _distinct(combination, columns)
        # In the order of the factors' levels, and not of their names. Of two the first has the shared constants.
        levels = [one for one in product(*(f.levels for f in combination)) if one in measured]
        levels = levels if len(combination) > 1 or len(levels) > 2 else levels[1:]
        joint = [Effect("d", Number(1.0), ConstantMeaning("level"))] if len(combination) > 1 else []
        offered += [_at_levels(one, combination, levels) for one in (*joint, *changed)]
    return _distinguishable(offered, columns)


def _at_levels(changed: Effect, factors: Sequence[Factor], levels: Iterable[tuple[str, ...]]) -> Interaction:
    """Return what is changed, at each level of a categorical factor, or combination of levels of several, alone."""
    joint, is_level = JOINT.join(f.name for f in factors), changed.meaning.part == "level"
    effects = []
    for combination in levels:
        level, node = JOINT.join(combination), chain("multiply", map(at_level, factors, combination))
        meaning = changed.meaning._replace(categorical=joint, level=level)
        column = node if is_level else call("multiply", node, changed.node)
        effects.append(Effect(f"{changed.name}_{joint}[{level}]", column, meaning))
    return Interaction(joint if is_level else f"{changed.meaning.factor} × {joint}", tuple(effects))


def _power(factor: Factor) -> Effect:
    """Return the effect of an exponent."""
    part: Part = "intrinsic" if factor.role == "intrinsic" else "extrinsic"
    return Effect(f"p_{factor.name}", call("log", relative(factor)), ConstantMeaning(part, factor.name))


def with_interactions(expression: Expression, offered: Sequence[Interaction]) -> Expression:
    """Return the expression with every term but the constant one multiplied by exp(d·column) for each effect."""
    columns, effects = set(expression.factors), [effect for one in offered for effect in one.effects]
    if not effects:
        return expression
    constants = [level_effect(unused_name(name, columns), meaning) for name, _, meaning in effects]
    pairs = zip(constants, effects, strict=True)
    powers = [call("exp", call("multiply", Name(constant.name), effect.node)) for constant, effect in pairs]
    terms = tuple(
        term if term.name == CONSTANT_TERM else Term(term.name, chain("multiply", [term.node, *powers]))
        for term in expression.terms
    )
    return replace(expression, terms=terms, constants=(*expression.constants, *constants))


def _separating(categorical: Sequence[Factor], columns: Mapping[str, Any]) -> list[list[Factor]]:
    """Return as few factors as separate the measured combinations of levels; none where one does, or few rows do."""
    separating, combinations = list(categorical), len(_distinct(categorical, columns))
    for factor in reversed(categorical):
        fewer = [f for f in separating if f is not factor]
        if fewer and len(_distinct(fewer, columns)) == combinations:
            separating = fewer
    enough = len(separating) > 1 and combinations <= COMBINED_SHARE * len(columns[separating[0].name])
    return [separating] if enough else []


def _distinct(factors: Sequence[Factor], columns: Mapping[str, Any]) -> set[tuple[str, ...]]:
    """Return the measured combinations of the factors' levels."""
    return set(zip(*(map(str, columns[f.name]) for f in factors), strict=True))


def _distinguishable(offered: Sequence[Interaction], columns: Mapping[str, Any]) -> tuple[Interaction, ...]:
    """Return the interactions without columns that are constant, or repeat one before."""
    column_bytes: set[bytes] = set()
    distinct: list[Interaction] = []
    for one in offered:
        if sum(len(other.effects) for other in (*distinct, one)) > MAX_EFFECTS:
            continue
        effects = []
        for effect in one.effects:
            values = values_of(effect.node, columns)
            key = np.round(values, 9).tobytes()
            if np.ptp(values) > 0.0 and key not in column_bytes:
                column_bytes.add(key)
                effects.append(effect)
        if effects:
            distinct.append(Interaction(one.name, tuple(effects)))
    return tuple(distinct)
