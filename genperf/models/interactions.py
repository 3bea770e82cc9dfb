"""What a level of a categorical factor, or a combination of levels, may do beyond the shared constants."""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import reduce
from typing import Any

import numpy as np
import numpy.typing as npt

from genperf.expression import Constant, Expression, Term
from genperf.formula import Name, Node, call, evaluate
from genperf.models.compose import unused_name
from genperf.models.generic import CONSTANT_TERM, GENERIC, VARIED, VARIED_STEP, is_level, relative, steps_of, together
from genperf.table import Factor

Array = npt.NDArray[np.float64]

#: Name of the constant by which a combination of levels differs, and what stands between levels and between factors.
COMBINED = "d_{categorical}[{level}]"
JOINT = ":"


@dataclass(frozen=True)
class Interaction:
    """Effects of one kind: all levels of one categorical factor on the exponent of one factor, for example."""

    #: `batch × net`.
    name: str
    #: Names of constants, and the columns that they multiply in the logarithm of every term.
    effects: tuple[tuple[str, Node], ...]


@dataclass(frozen=True)
class _Levels:
    """A categorical factor, or the combinations of several."""

    name: str
    #: Each with the column that is 1 where it is, and 0 elsewhere.
    levels: tuple[tuple[str, Node], ...]


def interactions(
    factors: Sequence[Factor], columns: Mapping[str, Any], following: Collection[str] = ()
) -> tuple[Interaction, ...]:
    """List the interactions that some configurations can tell.

    A level of a categorical factor may change the exponent of each numeric factor, and the step of each count. Where
    several categorical factors vary, each of their measured combinations may differ as well: by a factor, and in the
    same exponents and steps. A count that follows from another may have a power. Columns that repeat another one, or
    are constant, are left out, and so are interactions that then have none, or too many beside those before
    (`GenericSettings.max_effects`).

    Parameters
    ----------
    columns : mapping of str to ndarray of shape (rows,)
        The measured configurations.
    following : collection of str
        Counts that follow from another factor, as the nodes from the devices.

    Examples
    --------
    >>> net = Factor("net", "categorical", levels=("resnet", "vgg"), distinct=2)
    >>> batch = Factor("batch", "intrinsic", 8, 64, centre=23.0, distinct=4, positive=True)
    >>> columns = {"net": np.array(["resnet", "vgg"] * 4), "batch": np.repeat([8.0, 16.0, 32.0, 64.0], 2)}
    >>> [(one.name, [name for name, _ in one.effects]) for one in interactions([batch, net], columns)]
    [('batch × net', ['p_batch_net[vgg]'])]
    """
    varying = [f for f in factors if f.distinct > 1]
    categorical = [f for f in varying if not f.numeric]
    changed: list[tuple[str, str, Node]]
    changed = [(VARIED, f.name, call("log", relative(f))) for f in varying if f.numeric and f.name not in following]
    changed += [(VARIED_STEP, f.name, together(f)) for f in steps_of(varying, following)]
    powers = [
        Interaction(f"{f.name} × count", ((f"q_{f.name}", call("log", relative(f))),))
        for f in varying
        if f.name in following
    ]
    offered = list(powers) if categorical else []
    for levels in (*map(_levels, categorical), *_combinations(categorical, columns)):
        if JOINT in levels.name:
            named = ((COMBINED.format(categorical=levels.name, level=one), node) for one, node in levels.levels)
            offered.append(Interaction(levels.name, tuple(named)))
        offered += [
            Interaction(
                f"{name} × {levels.name}",
                tuple(
                    (kind.format(factor=name, categorical=levels.name, level=one), call("multiply", node, column))
                    for one, node in levels.levels
                ),
            )
            for kind, name, column in changed
        ]
    return _distinguishable(offered, columns)


def with_interactions(expression: Expression, offered: Sequence[Interaction]) -> Expression:
    """Return the expression with every term but the constant one multiplied by exp(d·column) for each effect.

    Parameters
    ----------
    expression : Expression
        A generic one.
    """
    columns = set(expression.factors)
    constants = [
        Constant(unused_name(name, columns), "level", *GENERIC.level_bounds, start=0.0)
        for one in offered
        for name, _ in one.effects
    ]
    if not constants:
        return expression
    nodes = (node for one in offered for _, node in one.effects)
    powers = [call("exp", call("multiply", Name(c.name), node)) for c, node in zip(constants, nodes, strict=True)]
    terms = tuple(
        term
        if term.name == CONSTANT_TERM
        else Term(term.name, reduce(lambda node, power: call("multiply", node, power), powers, term.node))
        for term in expression.terms
    )
    return replace(expression, terms=terms, constants=(*expression.constants, *constants))


def _levels(factor: Factor) -> _Levels:
    """Return the levels of a categorical factor; of two only the second, since the first is told by the shared ones."""
    kept = factor.levels if len(factor.levels) > 2 else factor.levels[1:]
    return _Levels(factor.name, tuple((level, is_level(factor, level)) for level in kept))


def _combinations(categorical: Sequence[Factor], columns: Mapping[str, Any]) -> list[_Levels]:
    """Return the measured combinations of levels, named by as few factors as tell them apart; none of one factor."""
    rows = len(columns[categorical[0].name]) if categorical else 0
    kept = list(categorical)
    whole = _distinct(kept, columns)
    for factor in reversed(categorical):
        fewer = [f for f in kept if f is not factor]
        if fewer and len(_distinct(fewer, columns)) == len(whole):
            kept = fewer
    if len(kept) < 2 or len(whole) > GENERIC.combined_share * rows:
        return []
    levels = []
    places = [{level: place for place, level in enumerate(f.levels)} for f in kept]

    def place(combination: tuple[str, ...]) -> list[int]:
        """Return the places of its levels: the order is that of the factors' levels, and not of their names."""
        return [of_factor[level] for of_factor, level in zip(places, combination, strict=True)]

    for combination in sorted(_distinct(kept, columns), key=place):
        nodes = [is_level(f, level) for f, level in zip(kept, combination, strict=True)]
        levels.append((JOINT.join(combination), reduce(lambda a, b: call("multiply", a, b), nodes)))
    return [_Levels(JOINT.join(f.name for f in kept), tuple(levels))]


def _distinct(factors: Sequence[Factor], columns: Mapping[str, Any]) -> set[tuple[str, ...]]:
    """Return the measured combinations of the factors' levels."""
    return set(zip(*(map(str, columns[f.name]) for f in factors), strict=True))


def _distinguishable(offered: Sequence[Interaction], columns: Mapping[str, Any]) -> tuple[Interaction, ...]:
    """Return the interactions without columns that are constant, or repeat one before."""
    known: set[bytes] = set()
    kept: list[Interaction] = []
    count = 0
    for one in offered:
        if count + len(one.effects) > GENERIC.max_effects:
            continue
        effects = []
        for name, node in one.effects:
            values = np.asarray(evaluate(node, columns), float)
            key = np.round(values, 9).tobytes()
            if np.ptp(values) > 0.0 and key not in known:
                known.add(key)
                effects.append((name, node))
        if effects:
            kept.append(Interaction(one.name, tuple(effects)))
            count += len(effects)
    return tuple(kept)


__all__ = ["COMBINED", "JOINT", "Interaction", "interactions", "with_interactions"]
