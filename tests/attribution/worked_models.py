"""Fitted models made by hand: constants, draws and walks that are known exactly."""

from collections.abc import Mapping, Sequence

import numpy as np

from genperf.discrepancy import Discrepancy
from genperf.expression import Constant, Expression, Term, coefficient, exponent
from genperf.formula import parse
from genperf.panel.panel import Target
from genperf.prediction import Member, Schema, Spread, Status
from genperf.result import FitResult
from genperf.table import Factor

STEP = Target("step_s")
STATUS = Status("by hand", 0.0, True, 0, 1, 1)

WORKERS = Factor("workers", "extrinsic", 1, 16, 4, 5, (), True, True)
NODES = Factor("nodes", "extrinsic", 1, 4, 2, 3, (), True, True)
BATCH = Factor("batch", "intrinsic", 8, 128, 32, 5, (), True, True)
GLOBAL = Factor("global_batch", "extrinsic", 64, 1024, 256, 5, (), True, True)
FRAMEWORK = Factor("framework", "categorical", distinct=2, levels=("mxnet", "pytorch"))


def member(
    terms: Mapping[str, str],
    values: Mapping[str, float],
    draws: Sequence[Sequence[float]] | None = None,
    *,
    total: str | None = None,
    weight: float = 1.0,
    label: str = "worked",
    discrepancy: Discrepancy | None = None,
    texts: tuple[str, ...] = (),
) -> Member:
    """Return a member; without draws, two that are its constants."""
    kinds: dict[str, Constant] = {n: exponent(n, -4, 4) if n in "pq" else coefficient(n) for n in values}
    expression = Expression(
        "worked",
        tuple(Term(name, parse(text, texts=texts).node) for name, text in terms.items()),
        tuple(kinds.values()),
        None if total is None else parse(total).node,
    )
    best = np.array(list(values.values()), float)
    drawn = np.vstack([best, best]) if draws is None else np.array(draws, float)
    return Member(expression, best, drawn, weight, STATUS, label=label, discrepancy=discrepancy)


def model(
    *members: Member,
    factors: Sequence[Factor] = (WORKERS,),
    spread: Spread | None = None,
    derived: Mapping[str, str] | None = None,
    target: Target = STEP,
) -> FitResult:
    """Return a result of these members."""
    schema = Schema(tuple(factors), target, derived=dict(derived or {}), configurations=5, lowest=1.0, highest=9.0)
    return FitResult(schema, members, spread or Spread(), (), "worked", {}, 0, {})
