"""A table with every factor, and the shortest way from an expression and exact times to its constants."""

import itertools

import numpy as np
import pytest
from helpers import problem_from

from genperf.formula import evaluate_with_gradient
from genperf.losses import Penalty
from genperf.solver import solve
from genperf.table import Factor
from genperf.table.cells import measure

INTRINSIC = ("bytes", "work", "activations", "samples")
NONLINEAR = {"q": 0.7, "eta": 0.8, "gamma": 2.5}


def _columns():
    levels = {
        "workers": [1, 2, 4, 8, 16, 32],
        "batch": [16, 64],
        "bytes": [1e6, 4e8],
        "servers": [1, 2, 4],
        "partitions": [1, 2, 4],
        "threads": [1, 4, 16],
        "samples": [5e4, 1e6],
        "activations": [2e4, 3e5],
        "iterations": [100, 3000],
        "per_node": [4, 8],
        # 1e9 operations of a sample.
        "flop": [1.0, 3.0],
    }
    rows = np.array(list(itertools.product(*levels.values())))
    rows = rows[np.random.default_rng(0).choice(len(rows), 160, replace=False)]
    columns = dict(zip(levels, rows.T, strict=True))
    columns["nodes"] = np.ceil(columns["workers"] / columns.pop("per_node"))
    rng = np.random.default_rng(1)
    ways = {
        "data_parallel": [1, 2, 4, 8],
        "tensor_parallel": [1, 2, 4, 8],
        "pipeline_parallel": [1, 2, 4],
        "context_parallel": [1, 2],
        "virtual_stages": [1, 2],
        "micro_batch": [1, 2, 4],
        "micro_batches": [1, 2, 4, 16],
        "zero": [0, 1, 2, 3],
        "recomputation": [0, 1],
        "offload": [0, 1],
        "sequence": [512, 2048],
        "layers": [12, 24, 48],
        "hidden": [768, 2048],
        "heads": [12, 16, 32],
        "parameters": [1e8, 1e9, 7e9],
        "vocabulary": [32000, 50000],
        "expert_parallel": [1, 2, 4],
    }
    columns.update({name: rng.choice(values, 160).astype(float) for name, values in ways.items()})
    columns["global_batch"] = columns["data_parallel"] * columns["micro_batch"] * columns["micro_batches"]
    columns["work"] = columns.pop("flop") * 1e9 * columns["batch"]
    return columns


COLUMNS = _columns()


def factors_of(names) -> list[Factor]:
    return [measure(n, "intrinsic" if n in INTRINSIC else "extrinsic", COLUMNS[n]) for n in names]


def slopes_of_terms(expression, columns, at):
    """Return the mean derivative of the sum of the terms by each coefficient: what it multiplies."""
    names = [c.name for c in expression.constants if c.kind == "coefficient"]
    reach = dict.fromkeys(names, 0.0)
    for term in expression.terms:
        for name, slope in evaluate_with_gradient(term.node, {**columns, **at}, names)[1].items():
            reach[name] += float(np.mean(np.abs(slope)))
    return reach


def true_constants(expression, columns=COLUMNS, seed=1):
    """Return constants of terms of half to twice a second on average, where their bounds let them be as large."""
    rng = np.random.default_rng(seed)
    nonlinear = {
        c.name: NONLINEAR.get(c.name, rng.uniform(0.3, 0.9)) for c in expression.constants if c.kind != "coefficient"
    }
    ones = {**nonlinear, **{c.name: 1.0 for c in expression.constants if c.kind == "coefficient"}}
    reach = slopes_of_terms(expression, columns, ones)
    return {
        c.name: nonlinear.get(c.name) or min(rng.uniform(0.5, 2.0) / reach[c.name], 0.5 * c.upper)
        for c in expression.constants
    }


def problem_of(expression, columns, seconds):
    """Return the problem of the constants, each coefficient in units of what makes its term as long as the step."""
    start = {c.name: c.start for c in expression.constants}
    reach = slopes_of_terms(expression, columns, start)
    scale = np.array([seconds.mean() / reach[name] if name in reach else 1.0 for name in start])
    return problem_from(expression, columns, seconds, penalty=Penalty(0.0), scale=scale)


def recover(expression, true, columns=COLUMNS):
    """Return the constants fitted to the exact times of the true ones, and those that the rows cannot tell apart."""
    seconds = expression.evaluate(columns, true)
    problem = problem_of(expression, columns, seconds)
    solution = solve(problem, restarts=1).constants
    at = np.array([true[name] for name in expression.constant_names])
    jacobian = problem.jacobian(at[None, :])[1][0] * at / seconds[:, None]
    _, size, directions = np.linalg.svd(jacobian, full_matrices=True)
    size = np.pad(size, (0, len(at) - len(size)))
    part = np.sum(directions[size < 1e-9 * size[0]] ** 2, axis=0)
    unidentified = {name for name, p in zip(expression.constant_names, part, strict=True) if p > 1e-6}
    return dict(zip(expression.constant_names, solution, strict=True)), unidentified


@pytest.fixture
def table():
    """The columns, a way to make factors of them, and a way to recover constants from exact times."""

    class Table:
        columns = COLUMNS
        factors = staticmethod(factors_of)
        true = staticmethod(true_constants)
        recover = staticmethod(recover)

    return Table
