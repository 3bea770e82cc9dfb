"""One expression of an average, fitted to some rows of a table."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
import numpy.typing as npt

from genperf.estimate import FitOptions
from genperf.estimate.candidates import fit_parts, reweighted
from genperf.estimate.problem import problem_of
from genperf.estimate.select import Candidate
from genperf.estimate.starts import spread_starts
from genperf.expression import Expression
from genperf.losses import loss_named, penalty_named
from genperf.prediction import Status
from genperf.solver import Problem, polish
from genperf.table import Table

Array = npt.NDArray[np.float64]
Mask = npt.NDArray[np.bool_]


@dataclass(frozen=True)
class AverageSettings:
    """How expressions are chosen, fitted and averaged.

    Attributes
    ----------
    most_members : int
        Expressions that are averaged at most; more changed nothing on `pytorch_cpu.csv` (`docs/decisions.md`).
    close : float
        How much more than the best one an averaged expression may err on held-out configurations, as a share.
    constants_per_row : float
        Constants per configuration, at most, of a `partial` family. Coefficients of physical terms that are not
        negative need fewer configurations than powers: on the 16 of `docs/transformers.md` the held-out error is
        14.8 % with the family and 26.3 % without. A guess: 0.8 leaves a few to judge with.
    starts : int
        Places from which a member is fitted, beside its constants on the rows that it was chosen on.
    agreement : float
        Share of the cost within which two starts reached the same optimum.
    settling_rounds, refit_rounds : int
        Rounds in which Huber's weights settle: of a member, and of a fit to some of its rows that begins from it.
    fewest_draws : int
        Draws of a member at least.
    """

    most_members: int = 4
    close: float = 0.1
    constants_per_row: float = 0.8
    starts: int = 4
    agreement: float = 1e-3
    settling_rounds: int = 4
    refit_rounds: int = 3
    fewest_draws: int = 20


AVERAGE = AverageSettings()


@dataclass(frozen=True, eq=False)
class Fitted:
    """A member fitted to some rows of a table.

    Attributes
    ----------
    strength : float
        λ.
    problem : Problem
        Over all rows, with Huber's weights in the last round: zero for the rows left out.
    weights : ndarray of shape (rows,)
        The table's.
    constants : ndarray of shape (n,)
    """

    expression: Expression
    strength: float
    problem: Problem
    weights: Array
    constants: Array
    status: Status

    @property
    def logarithms(self) -> Array:
        """The ln of the predicted seconds, at every row of the table."""
        return np.asarray(log_times(self.problem, self.constants[None, :])[0])


def fit_member(chosen: Candidate, table: Table, counted: Mask, options: FitOptions, seed: int) -> Fitted:
    """Fit a chosen expression to the rows that count.

    Parameters
    ----------
    chosen : Candidate
        Whose expression and λ are taken, and nothing of what was fitted.
    table : Table
        One row per configuration.
    counted : ndarray of bool of shape (rows,)
    """
    loss, penalty = loss_named(options.loss), penalty_named(options.penalty, chosen.strength)
    problem = problem_of(chosen.expression, table, loss, penalty)
    weights = np.where(counted, problem.weights, 0.0)[None, :]
    starts = spread_starts(problem, AVERAGE.starts, np.random.default_rng([seed, 4]))
    starts = np.vstack([chosen.constants, starts])
    sets, costs = fit_parts(problem, starts[None], weights)
    constants, weights = reweighted(problem, sets[:, 0], weights, AVERAGE.settling_rounds)
    weighted = problem.reweighted(weights[0])
    agreed = int(np.sum(costs[0] <= costs[0, 0] * (1.0 + AVERAGE.agreement)))
    end = polish(weighted, constants)
    status = Status("multi-start", float(end.cost[0]), bool(end.converged[0]), end.evaluations, len(starts), agreed)
    return Fitted(chosen.expression, chosen.strength, weighted, problem.weights, end.constants[0], status)


def refitted(fitted: Fitted, trains: Mask) -> Array:
    """Return the constants of an expression that is fitted to some of the rows.

    Parameters
    ----------
    fitted : Fitted
        To all rows: where each of these fits begins.
    trains : ndarray of bool of shape (parts, rows)

    Returns
    -------
    ndarray of shape (parts, n)
    """
    problem = fitted.problem.reweighted(fitted.weights)
    weights = np.where(trains, fitted.weights, 0.0)
    starts = np.repeat(fitted.constants[None, None, :], len(trains), axis=0)
    sets, _ = fit_parts(problem, starts, weights)
    return reweighted(problem, sets[:, 0], weights, AVERAGE.refit_rounds)[0]


def log_times(problem: Problem, constants: Array) -> Array:
    """Return ln T of sets of constants, shape (sets, rows)."""
    with np.errstate(all="ignore"):
        return np.asarray(np.log(problem.predict(constants)))


def columns_of(table: Table, rows: Mask) -> dict[str, npt.NDArray[Any]]:
    """Return the factors of some rows of a table, by name."""
    return {name: values[rows] for name, values in table.columns.items()}
