"""`auto`: the ensemble that suits a table."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace

import msgspec

from genperf.averaging import fit_factors
from genperf.errors import FitError, GenperfError, Note
from genperf.estimate import FitOptions
from genperf.fitting.assemble import Request, assembled
from genperf.fitting.continuation import continued
from genperf.panel import scale_of
from genperf.pooling import Borrowed, could_name, pool
from genperf.prediction import Ensemble, Member
from genperf.result import FitResult
from genperf.result.arrays import in_half_precision
from genperf.series import TablePrior, fit_series, refuse_one_scale, series_of, table_prior
from genperf.table import Table
from genperf.table.clean import label

AUTO = "auto"
#: Columns that a note names.
COLUMNS_SHOWN = 8
Key = tuple[str, ...]


@dataclass(frozen=True)
class Auto:
    """The ensemble that suits a table.

    A table in which only the scale varies is a series: families of overheads are weighed by their evidence
    (`genperf.series`). Of any other table several expressions are averaged (`genperf.averaging`).
    """

    options: FitOptions
    #: Whether a group borrows from groups that were measured to larger scales (`genperf.pooling`).
    pool: bool = False
    #: What each group of the table borrows; see `prepared`.
    loans: Mapping[Key, Borrowed] = field(default_factory=dict)
    #: What every group that borrows should know.
    notes: tuple[Note, ...] = ()
    #: What the series of the table show of the cluster they share; see `prepared`.
    shared: TablePrior = field(default_factory=TablePrior)

    @property
    def name(self) -> str:
        """What the user calls it."""
        return AUTO

    def prepared(self, table: Table) -> Auto:
        """Return the model with what each group of a table learns and borrows from the others.

        Raises
        ------
        FitError
            Where groups are to be pooled in a table without any.
        """
        shared = table_prior(table, self.options)
        if not self.pool:
            return replace(self, shared=shared)
        if not table.group:
            raise FitError("pooling is between groups, and the table has none", hint="--group A,B with --model auto")
        unnamed = () if table.categorical else could_name(table)
        shown = ",".join(unnamed[:COLUMNS_SHOWN])
        text = f"groups may be alike in columns that have no role: --categorical {shown} would let pooling use them"
        notes = (Note(text, "similarity"),) if unnamed else ()
        return replace(self, loans=pool(table, self.options.mapping), notes=notes, shared=shared)

    def tables_per_task(self, table: Table) -> int:
        """Return one: groups are not fitted together."""
        return 1

    def request(self, table: Table) -> str | None:
        """Return how one group is fitted, as a text; None for a group that borrows."""
        if self._borrowed(table).loans:
            return None
        fingerprint = self.shared.fingerprint
        return self.options.request + (f" table prior {fingerprint}" if fingerprint else "")

    def fit(self, tables: Sequence[Table], seed: int) -> list[FitResult | GenperfError]:
        """Fit each table by itself; see `genperf.fitting.Model`."""
        results: list[FitResult | GenperfError] = []
        for table in tables:
            try:
                results.append(self._fit(table, seed))
            except GenperfError as error:
                results.append(error)
        return results

    def _fit(self, table: Table, seed: int) -> FitResult:
        if self.options.fix:
            hint = "--model with one of `genperf models`, or a formula"
            raise FitError("auto chooses its own constants: none can be held", hint=hint)
        borrowed = self._borrowed(table)
        if borrowed.loans:
            result = self._fit_borrowing(table, borrowed, seed)
            if result is not None:
                return result
        # One count is a series as well: of other counts the prior says what can be said.
        one = len(table.factors) > 0 and not any(f.distinct > 1 for f in table.factors)
        series = series_of(table, self.options, borrowing=one)
        if series is None:
            refuse_one_scale(table)
        if series is None:
            ensemble = continued(table, fit_factors(table, self.options, seed), self.options)
            return self._assembled(table, ensemble, seed, borrowed.notes)
        key = _key(table)
        ensemble = fit_series(table, series, seed, prior=self.shared.of(key))
        return self._assembled(table, ensemble, seed, (*borrowed.notes, *self.shared.notes(key, series)))

    def _fit_borrowing(self, table: Table, borrowed: Borrowed, seed: int) -> FitResult | None:
        """Fit a series beside what it borrows; None where the group is not a series."""
        # A scale that has one value in a group is known by the group's column alone.
        numeric = tuple(f for f in table.factors if f.numeric)
        mapping = {**scale_of(numeric, self.options.mapping, table.group).factors.mapping}
        series = series_of(table, replace(self.options, mapping=mapping), borrowing=True)
        if series is None:
            return None
        ensemble = fit_series(table, series, seed, borrowed)
        varied = replace(table, notes=tuple(n for n in table.notes if n.kind != "factor_constant"))
        return self._assembled(varied, ensemble, seed, (*borrowed.notes, *self.notes))

    def _assembled(self, table: Table, ensemble: Ensemble, seed: int, notes: Sequence[Note]) -> FitResult:
        """Return the result of an ensemble."""
        # An ensemble has many draws of sums of terms above zero: half precision is far finer than they spread.
        members = tuple(_in_half_precision(member) for member in ensemble.members)
        complete = replace(ensemble, members=members, notes=(*ensemble.notes, *notes))
        request = self.request(table)
        used = {} if request is None else {"request": request}
        return assembled(table, complete, Request(AUTO, self.options, seed, used=used))

    def _borrowed(self, table: Table) -> Borrowed:
        key = _key(table)
        return self.loans.get(key, Borrowed(key))


def _key(table: Table) -> Key:
    """Return what a group is called."""
    return tuple(label(table.frame[name].iloc[0]) for name in table.group)


def _in_half_precision(member: Member) -> Member:
    """Round a member's draws, and the scales of its discrepancy, to half precision."""
    series = member.series_discrepancy
    discrepancy = member.discrepancy
    if series is not None:
        discrepancy = series.with_scales(in_half_precision(series.scales))
        if series.offsets is not None:
            discrepancy = msgspec.structs.replace(discrepancy, offsets=in_half_precision(series.offsets))
    return replace(member, draws=in_half_precision(member.draws), discrepancy=discrepancy)
