"""What a model is: an object that fits tables. `auto`, the families, the generic expression and formulas are such."""

from abc import ABC, abstractmethod
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Self

import msgspec
import numpy as np

from genperf import metrics
from genperf.errors import FitError, GenperfError, Note
from genperf.estimate import FitOptions, feasibility_of
from genperf.prediction import Ensemble, central_times, schema_of
from genperf.result import FitResult
from genperf.table import Table


@dataclass(frozen=True)
class Model(ABC):
    """A model that can be fitted."""

    #: What the user calls it: a name, or a formula.
    name: str
    #: How its constants are found.
    options: FitOptions

    def prepared(self, table: Table) -> Self:
        """Return the model with what it must know of a whole table before its groups are fitted."""
        return self

    def tables_per_task(self, table: Table) -> int:
        """Return how many groups a worker is handed at once: one, where they are not fitted together."""
        return 1

    def request(self, table: Table) -> str:
        """Return how one group is fitted, with what it learns of others, as a text."""
        return self.options.request

    @abstractmethod
    def fit(self, tables: Sequence[Table], seed: int) -> list[FitResult | GenperfError]:
        """Fit each table by itself.

        Returns
        -------
        list of FitResult or GenperfError
            In the order of the tables; an error where a table cannot be fitted.
        """

    def one(self, table: Table, seed: int) -> FitResult:
        """Fit a whole table.

        Raises
        ------
        ModelError, FitError
            Where that fails.
        """
        (result,) = self.fit([table], seed)
        if isinstance(result, GenperfError):
            raise result
        return result

    def assembled(
        self,
        table: Table,
        ensemble: Ensemble,
        seed: int,
        notes: Sequence[Note] = (),
        used: Mapping[str, str | float | None] | None = None,
    ) -> FitResult:
        """Return the result of fitted members.

        Parameters
        ----------
        notes : sequence of Note
            What the model has to say before anything is fitted.
        used : mapping, optional
            Further options that the result keeps.

        Returns
        -------
        FitResult
            Its metrics are those of the rows it was fitted to, in % and in the target's unit.

        Raises
        ------
        FitError
            Where the fitted model is not above zero at a configuration that was measured: a term has the wrong sign,
            say.
        """
        medians = table.medians()
        predicted, measured = central_times(ensemble.members, medians.columns), medians.measured
        if not np.all(np.isfinite(predicted) & (predicted > 0.0)):
            raise FitError(
                f"no constants within the bounds give a {table.target.name} above zero at every measured configuration",
                where=table.source,
                hint="check the signs of the terms; constants are not negative unless the formula says so",
            )
        options: dict[str, Any] = {"request": self.request(table), **(used or {}), **ensemble.options}
        return FitResult(
            model=self.name,
            schema=msgspec.structs.replace(schema_of(table), mapping=dict(self.options.mapping)),
            members=ensemble.members,
            spread=ensemble.spread,
            evidence=ensemble.evidence,
            options=options,
            seed=seed,
            metrics={
                each.__name__: each(predicted, measured)
                for each in (metrics.mape, metrics.median_ape, metrics.rmse, metrics.r2)
            },
            notes=(*table.notes, *notes, *ensemble.notes),
            feasibility=feasibility_of(table, self.options.mapping),
        )
