"""Which expression and penalty predict held-out configurations best."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from genperf.errors import FitError, Note
from genperf.expression import Expression
from genperf.formula import Call, Node
from genperf.models import Choice

Array = npt.NDArray[np.float64]
Mask = npt.NDArray[np.bool_]


@dataclass(frozen=True)
class SelectionSettings:
    """Choosing a structure and λ by cross-validation inside the training part."""

    #: Folds of the cross-validation. Over twelve extrapolations of `pytorch_cpu.csv` the mean error was 15.1 % with
    #: folds and 18.3 % with inner extrapolation (explored; `docs/decisions/choice-by-folds.md`).
    folds: int = 5
    #: Configurations from which on folds are made: fewer leave too little to train on.
    min_rows: int = 4
    #: Relative error that a held-out row counts at most, so that one outlier does not decide.
    largest_error: float = 2.0
    #: Constants per configuration, at most, of an expression that is one of many. A guess: two configurations for each
    #: constant.
    constants_per_row: float = 0.5
    #: Constants of such an expression at most: a table of many levels would take minutes.
    max_constants: int = 120
    #: Configurations that a choice is made on at most, drawn at random from a larger table: bounds the time.
    max_rows: int = 1000
    #: Decimals of a relative error that are compared: expressions that fit exactly are equal.
    fit_digits: int = 6
    #: Paired standard errors by which a simpler expression may err more than the best one
    #: (`docs/decisions/choice-by-folds.md`).
    standard_errors: float = 0.5
    #: The same where a fold has fewer configurations than there are constants: one, as Breiman et al. have it. With
    #: half, one in seven labelled pairs of `docs/papers.md` was explained by an overlap that five runs cannot show.
    undetermined_errors: float = 1.0

    def limited(self, errors: Array) -> Array:
        """Return relative errors of at most `largest_error`; those that are not finite count as that."""
        limit = self.largest_error
        return np.where(np.isfinite(errors), np.minimum(errors, limit), limit)


SELECTION = SelectionSettings()


@dataclass(frozen=True, eq=False)
class Candidate:
    """An expression with a penalty, and its errors on held-out configurations."""

    expression: Expression
    #: λ.
    strength: float
    #: Shape (n,). Fitted to the whole table.
    constants: Array
    #: Shape (rows,). |predicted/measured − 1| of each configuration when it was held out, at most
    #: `SelectionSettings.largest_error`; NaN where none was.
    errors: Array
    #: Shape (folds, rows). Training rows of each fold.
    folds: Mask
    #: Mean of |fitted/measured − 1| over all rows.
    fit_error: float = 0.0
    #: Whether the rows have Huber's weights in its last fit too.
    robust: bool = False

    @property
    def error(self) -> float:
        """Mean relative error over held-out configurations; NaN where there were too few to hold any out."""
        return float(np.mean(self.errors))


def folds_of(rows: int, rng: np.random.Generator) -> Mask:
    """Assign configurations to folds and return the training rows of each, shape (folds, rows).

    Folds at random choose a structure, also where the model is to extrapolate: over twelve extrapolations of
    `pytorch_cpu.csv` they chose better than the largest scales held out (`docs/decisions/choice-by-folds.md`).
    """
    if rows < SELECTION.min_rows:
        return np.ones((0, rows), bool)
    fold = rng.permutation(rows) % min(SELECTION.folds, rows)
    return np.array([fold != k for k in range(fold.max() + 1)])


def affordable(
    expressions: Sequence[Expression], configurations: int, choice: Choice = "search"
) -> tuple[list[Expression], list[Note]]:
    """Leave out the expressions with too many constants for the number of configurations.

    A single expression may have as many constants as there are configurations. Of a search over many, those with more
    than half as many are left out; of a few laws, those with as many. Of one law with fewer and fewer constants, the
    largest with fewer constants than configurations is left. The smallest expression is always kept.

    Parameters
    ----------
    choice : {"search", "laws", "largest"}
        What the expressions are; see `genperf.models.Choice`.

    Returns
    -------
    usable : list of Expression
        Fewest constants first.

    Raises
    ------
    FitError
        Where there are fewer configurations than the smallest expression has constants: how many are needed.
    """
    ordered = sorted(expressions, key=lambda e: e.freedom)
    fewest = len(ordered[0].constants)
    if fewest > configurations:
        raise FitError(
            f"{configurations} configuration{'s' * (configurations != 1)} cannot determine the {fewest} constants of "
            f"'{ordered[0].family}'",
            hint=f"measure at least {fewest} configurations, or name fewer factors",
        )
    if len(ordered) == 1:
        return ordered, []
    fewer = int(configurations * SELECTION.constants_per_row) if choice == "search" else configurations - 1
    most = max(SELECTION.max_constants, fewest)
    limit = min(max(fewer, fewest), most)
    usable = [e for e in ordered if e.freedom <= limit and len(e.constants) <= most]
    left_out = len(ordered) - len(usable)
    if choice == "largest":
        usable = usable[-1:]
    if not left_out:
        return usable, []
    too_few = limit < SELECTION.max_constants
    reason = f"{configurations} configurations are too few" if too_few else f"more than {limit} constants"
    if choice == "largest":
        fitted, whole = len(usable[0].constants), len(ordered[-1].constants)
        text = f"'{ordered[0].family}' is fitted with {fitted} of its {whole} constants: {reason} for more"
    else:
        larger = f"{left_out} larger structure{'s' * (left_out > 1)}"
        text = f"{larger} of '{ordered[0].family}' left out: {reason}"
    return usable, [Note(text, "fewer_terms")]


def best_of(candidates: Sequence[Candidate]) -> Candidate:
    """Return the simplest candidate whose held-out errors are as small as the best one's.

    As small: the mean error is larger by no more than half the standard error of the difference over the configurations
    (after the one-standard-error rule of Breiman et al. 1984, paired). Simplest: the fewest constants, and of these the
    strongest penalty. Of equally simple ones the error decides. But where a fold was fitted to fewer configurations
    than there are constants, its errors prove little: a whole standard error counts, and the fewest maxima in the total
    come first, since time that an overlap hides leaves no trace. Where no row was held out, the candidates as simple
    as the first one are compared by how well they fit.
    """
    best = min(candidates, key=lambda c: c.error if np.isfinite(c.error) else np.inf)
    if not np.isfinite(best.error):
        alike = [c for c in candidates if _simplicity(c) == _simplicity(best)]
        return min(alike, key=lambda c: round(c.fit_error, SELECTION.fit_digits))
    allowed = SELECTION.undetermined_errors if _undetermined(best) else SELECTION.standard_errors
    close = []
    for candidate in candidates:
        excess = candidate.errors - best.errors
        # Beyond these decimals a difference is rounding, which has a standard error as small as itself.
        rounding = 0.5 * 10.0**-SELECTION.fit_digits
        if np.mean(excess) <= max(rounding, allowed * np.std(excess) / np.sqrt(excess.size)):
            close.append(candidate)
    return min(close, key=lambda c: (_simplicity(c), c.error))


def _simplicity(candidate: Candidate) -> tuple[float, float, int]:
    """Return what makes a candidate simpler than others, smallest first."""
    total = candidate.expression.total
    maxima = _maxima(total) if total is not None and _undetermined(candidate) else 0
    return candidate.expression.freedom, -candidate.strength, maxima


def _undetermined(candidate: Candidate) -> bool:
    """Return whether a fold was fitted to fewer configurations than the expression has constants."""
    constants = candidate.expression.freedom
    return bool(candidate.folds.sum(axis=1).min(initial=len(candidate.expression.constants)) < constants)


def _maxima(node: Node) -> int:
    """Count the maxima in a formula."""
    if not isinstance(node, Call):
        return 0
    return (node.function == "max") + sum(_maxima(argument) for argument in node.arguments)


def judged_rows(rows: int, rng: np.random.Generator) -> npt.NDArray[np.intp]:
    """Return the rows that a choice is made on: all, or `SelectionSettings.max_rows` of them, drawn at random."""
    return np.arange(rows) if rows <= SELECTION.max_rows else np.sort(rng.permutation(rows)[: SELECTION.max_rows])
