"""The work of a step: what a throughput is divided into, and what it tells of weak and strong scaling."""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING

import numpy as np
import numpy.typing as npt

from genperf.errors import FormulaError, Note, TableError
from genperf.formula import Number, names_in, parse, quote_name, render, substitute
from genperf.scaling import KINDS, LISTED, Scaling
from genperf.table.axis import axis_of
from genperf.table.clean import numbers
from genperf.table.factor import Factor
from genperf.table.roles import Roles
from genperf.vocabulary.names import column_of

if TYPE_CHECKING:
    from genperf.table.table import Table

Array = npt.NDArray[np.float64]

#: Relative differences below this are rounding errors of a formula.
SAME = 1e-9


def counted_column(roles: Roles) -> str | None:
    """Return the column that counts the workers, or else the nodes; None for one of servers or threads.

    Examples
    --------
    >>> counted_column(Roles((("gpus", "extrinsic"), ("batch", "intrinsic")), (), None, None, None))
    'gpus'
    >>> counted_column(Roles((("cores", "extrinsic"), ("batch", "extrinsic")), (), None, None, None))
    'cores'
    """
    axis = axis_of([Factor(name, role) for name, role in roles.factors])
    return None if axis.factor is None or axis.counts_other else axis.factor.name


def assumed_work(roles: Roles, where: str, tokens: bool = False) -> str:
    """Return the work of a step where the user gives none: a global batch, a batch for each worker, or one sample.

    Parameters
    ----------
    where : str
        The source, for messages.
    tokens : bool
        Whether the throughput counts tokens: a step then has those of its samples, where a column has the length of a
        sequence.

    Raises
    ------
    TableError
        Where no column counts the workers.

    Examples
    --------
    >>> assumed_work(Roles((("gpus", "extrinsic"),), (), None, None, None), "runs.csv")
    'gpus'
    >>> assumed_work(Roles((("gpus", "extrinsic"), ("batch", "intrinsic")), (), None, None, None), "runs.csv")
    'batch*gpus'
    >>> assumed_work(Roles((("num_gpus", "extrinsic"), ("batch", "intrinsic")), (), None, None, None), "runs.csv")
    'batch*num_gpus'
    """
    workers, batch, whole = counted_column(roles), _named(roles, "batch", True), _named(roles, "global_batch", True)
    sequence = _named(roles, "sequence", True) if tokens else None
    each = "" if sequence is None else f"*{quote_name(sequence)}"
    if whole is not None:
        return f"{quote_name(whole)}{each}"
    if workers is None:
        raise TableError(
            "no column counts the workers, and a throughput alone does not tell the work of a step",
            hint='--extrinsic with the column of the workers, or --work "batch*workers", the samples of a step',
            where=where,
        )
    return quote_name(workers) if batch is None else f"{quote_name(batch)}*{quote_name(workers)}{each}"


def _named(roles: Roles, canonical: str, grouped: bool = False) -> str | None:
    """Return the column that has one of the field's names, in the order of these."""
    names = [name for name, role in roles.factors if role != "categorical"] + list(roles.group if grouped else ())
    return column_of(canonical, names)


def kind_of_work(work: Array, counts: Array | None) -> Scaling | None:
    """Return the kind of scaling that the work of a step shows in every row; None where none or several fit.

    Examples
    --------
    >>> counts = np.array([1.0, 2.0, 4.0])
    >>> kind_of_work(32.0 * counts, counts), kind_of_work(np.full(3, 64.0), counts)
    ('weak', 'strong')
    """
    if counts is None or not len(work) or not np.all(np.isfinite(work)) or np.any(counts <= 0.0) or np.any(work <= 0.0):
        return None
    each = work / counts
    fitting = [
        name for name, kind in KINDS.items() if not kind.whole and np.ptp(np.log(each / kind.relative(counts))) < SAME
    ]
    return fitting[0] if len(fitting) == 1 else None


def checked_scaling(scaling: str | None, by_work: Scaling | None, work: str) -> Scaling | None:
    """Return the kind of scaling that the user or the work of a step tells; None where neither does.

    Parameters
    ----------
    scaling : str or None
        What the user says.
    work : str
        That work.

    Raises
    ------
    TableError
        For another word, or where the two contradict each other.
    """
    if scaling is None:
        return by_work
    if scaling not in KINDS:
        raise TableError(f"unknown kind of scaling '{scaling}'", hint=LISTED)
    if by_work is not None and scaling != by_work:
        raise TableError(
            f"the scaling is said to be {scaling}, and with the work '{work}' of a step it is {by_work}",
            hint="leave --scaling out, or give the --work of a step",
        )
    return next(kind for kind in KINDS if kind == scaling)


def work_notes(work: str, given: bool, kind: Scaling | None) -> tuple[Note, ...]:
    """Say which work of a step is assumed, or that a work makes the scaling strong.

    Parameters
    ----------
    given : bool
        Whether the user gave it.
    """
    follows = "" if kind is None else f", which is {kind} scaling"
    if not given:
        return (Note(f"the work of a step is taken as {work}{follows}; --work FORMULA says otherwise", "work"),)
    if kind is not None and KINDS[kind].shared:
        text = f"the work of a step, {work}, is the same at every count of workers, which is {kind} scaling"
        return (Note(text, "work"),)
    return ()


def work_over_factors(table: Table) -> str:
    """Return the work of a step as a formula over the factors alone; empty where the factors do not tell it.

    Derived columns are written out, and a column of one value becomes that number.

    Examples
    --------
    >>> import pandas as pd
    >>> from genperf.table import read_table
    >>> runs = pd.DataFrame({"gpus": [1, 2], "batch": [32, 32], "speed": [10.0, 19.0]})
    >>> work_over_factors(read_table(runs, throughput="speed", work="batch*gpus", extrinsic="gpus"))
    '32*gpus'
    """
    if not table.target.work:
        return ""
    factors = {f.name for f in table.factors if f.numeric}
    node = parse(table.target.work).node
    # A derived column is made from earlier ones: as many rounds as there are columns are enough.
    for _ in range(len(table.derived) + 1):
        unknown = names_in(node) - factors
        derived = {name: parse(table.derived[name]).node for name in unknown & set(table.derived)}
        node = substitute(node, {**derived, **_constants(table, unknown - set(derived))})
    return render(node) if names_in(node) <= factors else ""


def _constants(table: Table, names: set[str] | frozenset[str]) -> Mapping[str, Number]:
    """Return the columns of one number."""
    constants = {}
    for name in names & {str(c) for c in table.frame.columns}:
        values = np.unique(numbers(table.frame[name].tolist())[0])
        if len(values) == 1 and np.isfinite(values[0]):
            constants[name] = Number(float(values[0]))
    return constants


def evaluated(work: str, columns: Mapping[str, npt.NDArray[np.float64]], rows: int) -> Array:
    """Return the work of a step in some rows.

    Parameters
    ----------
    work : str
        A formula over the columns.
    columns : mapping of str to ndarray of shape (rows,)

    Raises
    ------
    FormulaError
        Where it is not above zero everywhere.
    """
    formula = parse(work)
    values = np.broadcast_to(np.asarray(formula.evaluate({n: columns[n] for n in formula.names}), float), (rows,))
    if not np.all(values > 0.0):
        raise FormulaError("the work of a step is not above zero here", text=work, column=0, width=len(work))
    return values
