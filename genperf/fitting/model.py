"""What a model is: an object that fits tables. `auto`, the families, the generic expression and formulas are such."""

from abc import ABC, abstractmethod
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Self

import numpy as np

from genperf import metrics
from genperf.errors import FitError, GenperfError, Note
from genperf.estimate import FitOptions, feasibility_of
from genperf.panel import Table
from genperf.prediction import Ensemble, central_times, schema_of
from genperf.result import FitResult


def refuse_one_value(table: Table) -> None:
    """Refuse a table in which nothing varies: which measurement to add."""
    if any(f.distinct > 1 for f in table.factors):
        return
    scale = table.panel.counted or next(iter(table.numeric), None)
    more = f"{scale.name}={2 * scale.upper:g} and {4 * scale.upper:g}" if scale is not None else "two more values"
    fault = "every factor has one value, so nothing can be said of any other"
    raise FitError(fault, where=table.source, hint=f"measure {more}; three values or more give a useful interval")


@dataclass(frozen=True)
class Model(ABC):
    """A model that can be fitted."""

    #: What the user calls it: a name, or a formula.
    name: str
    #: How its constants are found.
    options: FitOptions
    #: Of the tables' further quantities, by name.
    further: Mapping[str, "Model"] = field(default_factory=dict, kw_only=True)

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
        """Fit each table by itself, its further quantities left out; an error where a table cannot be fitted."""

    def one(self, table: Table, seed: int) -> FitResult:
        """Fit a whole table with its further quantities."""
        (result,) = self.fit([table], seed)
        if isinstance(result, GenperfError):
            raise result
        further = {name: model.one(table.further[name], seed) for name, model in self.further.items()}
        return replace(result, further=further)

    def groups(self, tables: Sequence[Table], seed: int) -> list[FitResult | str]:
        """Fit each group with its further quantities; a text is the reason why one could not be fitted.

        A further quantity that cannot be fitted leaves a note: the group keeps its main one.
        """
        return [
            result.message if isinstance(result, GenperfError) else self._with_further(result, table, seed)
            for result, table in zip(self.fit(tables, seed), tables, strict=True)
        ]

    def _with_further(self, result: FitResult, table: Table, seed: int) -> FitResult:
        """Add the further quantities of a group to its result."""
        further, notes = {}, list(result.notes)
        for name, model in self.further.items():
            if name not in table.further:
                notes.append(Note(f"{name} was never measured here", "further_not_fitted"))
                continue
            (fitted,) = model.fit([table.further[name]], seed)
            if isinstance(fitted, GenperfError):
                notes.append(Note(f"{name} is not fitted: {fitted.message}", "further_not_fitted"))
            else:
                further[name] = fitted
        return replace(result, further=further, notes=tuple(notes))

    def kept(self, before: FitResult | None, table: Table, seed: int) -> FitResult | None:
        """Return an earlier result if its rows, model, options and seed are the same, or None."""
        if before is None:
            return None
        schema = before.schema
        identity = (before.model, before.seed, before.options.get("request"), schema.sha256, schema.mapping)
        same = identity == (self.name, seed, self.request(table), table.sha256, table.mapping)
        quantities = table.further.items()
        same = same and all(self.further[name].kept(before.further.get(name), t, seed) for name, t in quantities)
        return before if same else None

    def assembled(self, table: Table, ensemble: Ensemble, seed: int) -> FitResult:
        """Return the result of fitted members, and refuse one that is not above zero where it was measured."""
        medians = table.medians()
        predicted, measured = central_times(ensemble.members, medians.columns), medians.measured
        if not np.all(np.isfinite(predicted) & (predicted > 0.0)):
            name, hint = table.target.name, "constants are not negative unless the formula says so"
            fault = f"no constants within the bounds give a {name} above zero at every measured configuration"
            raise FitError(fault, where=table.source, hint=f"check the signs of the terms; {hint}")
        errors = (metrics.mape, metrics.median_ape, metrics.rmse, metrics.r2)
        return FitResult(
            schema_of(table),
            ensemble.members,
            ensemble.spread,
            ensemble.evidence,
            model=self.name,
            options={"request": self.request(table), **ensemble.options},
            seed=seed,
            metrics={error.__name__: error(predicted, measured) for error in errors},
            notes=(*table.notes, *ensemble.notes),
            feasibility=feasibility_of(table),
        )
