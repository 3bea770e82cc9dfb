"""A table before a fit: fewer factors where runs are few."""

from collections.abc import Callable, Sequence

import numpy as np

from genperf.errors import Note
from genperf.expression import Expression
from genperf.panel import Table
from genperf.table import Factor

#: Seed of what is drawn from the rows of a table in order: folds, replicates, the rows that a choice is made on. The
#: seed of a fit is for its searches alone.
CONTENT_SEED = 0
#: Share of the rows from which a variance is estimated at least, however many constants were fitted to them.
LEAST_FREEDOM = 0.2


def fewer_factors(
    table: Table, write: Callable[[Sequence[Factor]], Sequence[Expression]]
) -> tuple[Sequence[Expression], list[Note]]:
    """Write expressions of as many factors as the configurations can pay for, those of most rank correlation.

    >>> from genperf.models.generic import generic
    >>> runs = pd.DataFrame({"n": [1, 2, 4, 8], "b": [8, 9, 8, 9], "t": [8.0, 4.0, 2.0, 1.0]})
    >>> table = gp.read_table(runs, time="t", intrinsic="n,b")
    >>> (expression,), notes = fewer_factors(table, lambda factors: [generic(factors)])
    >>> print(expression)
    C + a_n*(n/2.83)**p_n
    >>> print(notes[0])
    4 configurations are too few for every factor: left out b
    """
    medians = table.medians()
    varying = [f for f in medians.factors if f.distinct > 1]
    ranked = sorted(varying, key=lambda f: -_rank_agreement(medians, f))
    expressions = write(table.factors)
    while len(ranked) > 1 and min(len(e.constants) for e in expressions) > len(medians):
        ranked = ranked[:-1]
        names = {f.name for f in ranked}
        expressions = write([f for f in table.factors if f.name in names])
    left_out = [f.name for f in varying if f not in ranked]
    if not left_out:
        return expressions, []
    text = f"{len(medians)} configurations are too few for every factor: left out {', '.join(left_out)}"
    return expressions, [Note(text, "fewer_terms")]


def _rank_agreement(medians: Table, factor: Factor) -> float:
    """Return how well a factor orders the measured ranks, 0 to 1: |Spearman's ρ|, of levels √(explained variance)."""
    ranks = medians.frame[medians.target.column].rank()
    values = medians.frame[factor.name]
    if ranks.nunique() == 1 or (not factor.numeric and factor.distinct == len(medians)):
        return 0.0
    if factor.numeric:
        return float(abs(np.corrcoef(values.rank(), ranks)[0, 1]))
    explained = ranks.groupby(values.to_numpy()).transform("mean").var(ddof=0) / ranks.var(ddof=0)
    return float(np.sqrt(explained))
