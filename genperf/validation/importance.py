"""Permutation importance: by how much a learner errs more without the information of a factor."""

from collections.abc import Sequence

import numpy as np
import pandas as pd

from genperf.attribution.answers import Importance
from genperf.errors import GenperfError
from genperf.panel import Table
from genperf.table.cells import with_columns
from genperf.validation.run import Task, choose_models, predicted
from genperf.validation.splits import split

#: The learners without readable coefficients.
BLACK_BOXES = ("random-forest", "gradient-boosting", "svr", "gaussian-process")


def importance(
    table: Table,
    models: str | Sequence[str] = BLACK_BOXES,
    *,
    folds: int = 5,
    repeats: int = 5,
    seed: int = 0,
) -> Importance:
    """Return by how much the error of held-out configurations grows when one factor's values are shuffled among them.

    Breiman (2001). The error is the mean of |ln(predicted/measured)|. For each fold the model is fitted to the other
    folds, and each factor is shuffled `repeats` times among the held-out configurations. Shuffled configurations may
    never have been measured, and correlated factors share their importance.

    Parameters
    ----------
    table : Table
        One group's rows.
    models : str or sequence of str
        Learners of `genperf.validation`, and families or formulas of `genperf.fit` to compare with them.
    folds, repeats : int
        Of the cross-validation, and shuffles of each factor in each fold; the defaults are those of scikit-learn.

    Returns
    -------
    Importance
        In per cent, like the error: 100·(e^x − 1) of the logarithms. `deviation` is the standard deviation of the
        repeats.

    Raises
    ------
    GenperfError
        Where no factor varies, there are too few configurations, or a model is not known.

    Examples
    --------
    >>> from genperf.panel import read_table
    >>> rows = [(x, y, 2.0**y) for x in (1, 2, 3, 4) for y in (1, 2, 3)]
    >>> runs = pd.DataFrame(rows, columns=["x", "y", "t"])
    >>> answer = importance(read_table(runs, time="t", intrinsic="x,y"), "gaussian-process", folds=3)
    >>> answer.scores.sort_values("importance").factor.tolist()
    ['x', 'y']
    """
    if table.group:
        raise GenperfError(
            "importance is computed for one group, and the table has several", hint="choose it: --group VALUES"
        )
    if repeats < 1:
        raise GenperfError(f"{repeats} repeats shuffle nothing", hint="5")
    medians = table.medians()
    factors = [f.name for f in medians.factors if f.distinct > 1]
    if not factors:
        raise GenperfError("no factor varies", where=table.source)
    parts = list(split(table, f"kfold:{min(folds, len(medians))}", seed))
    tables = []
    for name in choose_models(models, table)[0]:
        errors, counts = np.zeros((2, 1 + len(factors), repeats))
        for number, part in enumerate(parts):
            held = medians.take(np.unique(table.configuration[part.test]))
            train = table.take(part.train)
            data = _shuffled(held.frame[[f.name for f in medians.factors]], factors, repeats, [seed, number])
            outcome = predicted(Task(name, train, data, 0.9, seed, {}))
            if outcome.error is not None:
                raise outcome.error
            with np.errstate(all="ignore"):
                absolute = np.abs(np.log(outcome.answers[0].astype(float).reshape(-1, len(held)) / held.measured))
            each = np.vstack([absolute[:1].repeat(repeats, axis=0), absolute[1:]]).reshape(*errors.shape, len(held))
            errors += np.where(np.isfinite(each), each, 0.0).sum(axis=2)
            counts += np.isfinite(each).sum(axis=2)
        means = errors / np.maximum(counts, 1)
        plain, grown = means[0].mean(), np.exp(means[1:].mean(axis=1)) - np.exp(means[0].mean())
        scores = {"importance": 100 * grown, "deviation": 100 * np.exp(means[1:]).std(axis=1)}
        tables.append(pd.DataFrame({"model": name, "factor": factors, **scores, "error": 100 * np.expm1(plain)}))
    return Importance(pd.concat(tables, ignore_index=True), len(parts), repeats)


def _shuffled(frame: pd.DataFrame, factors: Sequence[str], repeats: int, seed: Sequence[int]) -> pd.DataFrame:
    """Return the rows, then copies of them with each factor shuffled in turn."""
    rng = np.random.default_rng(seed)
    copies = [frame]
    for factor in factors:
        orders = [rng.permutation(len(frame)) for _ in range(repeats)]
        copies += [with_columns(frame, {factor: frame[factor].to_numpy()[order]}) for order in orders]
    return pd.concat(copies, ignore_index=True)
