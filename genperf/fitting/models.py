"""What a model is: an object that fits tables. `auto`, the families, the generic expression and formulas are such."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Protocol

from genperf.errors import FitError, GenperfError
from genperf.estimate import FitOptions
from genperf.fitting.auto import AUTO, Auto
from genperf.fitting.expressions import ExpressionModel, FamilyModel, FormulaModel, GenericModel
from genperf.models import MODELS
from genperf.models.network import network_of
from genperf.result import FitResult
from genperf.table import Table


class Model(Protocol):
    """A model that can be fitted."""

    @property
    def name(self) -> str:
        """What the user calls it."""

    @property
    def options(self) -> FitOptions:
        """How its constants are found."""

    def prepared(self, table: Table) -> Model:
        """Return the model with what it must know of a whole table before its groups are fitted."""

    def tables_per_task(self, table: Table) -> int:
        """Return how many groups a worker is handed at once."""

    def request(self, table: Table) -> str:
        """Return how one group is fitted, with what it learns of others, as a text."""

    def fit(self, tables: Sequence[Table], seed: int) -> list[FitResult | GenperfError]:
        """Fit each table by itself.

        Returns
        -------
        list of FitResult or GenperfError
            In the order of the tables; an error where a table cannot be fitted.
        """


def model_named(name: str, options: FitOptions, pool: bool = False) -> Model:
    """Return a model by its name, or for a formula.

    Parameters
    ----------
    name : str
        `auto`, `generic`, a family of `genperf.models.MODELS`, or a formula.
    pool : bool
        Whether groups share how they scale; of `auto` only.

    Raises
    ------
    FitError
        For another model that is to pool, or that is given hints.

    Examples
    --------
    >>> [type(model_named(name, FitOptions())).__name__ for name in ("auto", "generic", "amdahl", "a/workers + c")]
    ['Auto', 'GenericModel', 'FamilyModel', 'FormulaModel']
    """
    if name == AUTO:
        return Auto(options, pool)
    if network_of(options.hints) is not None:
        raise FitError("only auto reads hints of the network", hint="leave --hint out, or --model auto")
    if pool:
        raise FitError("only auto can pool groups", hint="--group A,B with --model auto")
    kind: type[ExpressionModel] = FamilyModel
    if name == "generic":
        kind = GenericModel
    elif name not in MODELS and not name.replace("-", "").isalnum():
        kind = FormulaModel
    return kind(name, options)
