"""`auto`: the ensemble that suits a table."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field, replace

import msgspec
import pandas as pd

from genperf.engine import one_blas_thread
from genperf.errors import LISTED, FitError, GenperfError, Note, attempted
from genperf.fitting.model import Model, refuse_one_value
from genperf.growth.fit import fit_series
from genperf.growth.measured import series_of
from genperf.growth.sharing import TableShares, table_shares
from genperf.panel import Table
from genperf.prediction import Member
from genperf.result import FitResult
from genperf.result.arrays import in_half_precision

AUTO = "auto"
#: Series that a worker is handed at once: one at a time, of five counts, takes a fourth more work.
SERIES_PER_TASK = 20


@dataclass(frozen=True)
class Auto(Model):
    """The ensemble that suits a table: of a series the reweighted bank (`genperf.growth`), else `genperf.process`."""

    #: Whether the user requested that groups share how they scale: without it they share the same, with fewer notes.
    pool: bool = False
    notes: tuple[Note, ...] = ()  #: What every group should know.
    #: What the series of the table show each other; see `prepared`.
    shared: TableShares = field(default_factory=TableShares)

    def prepared(self, table: Table) -> Auto:
        """Return the model with what each group of a table learns and borrows from the others."""
        if self.pool and not table.group:
            raise FitError("pooling is between groups, and the table has none", hint="--group A,B with --model auto")
        shared = table_shares(table, self.options.hints)
        unnamed = could_name(table) if self.pool and not table.categorical else []
        if not unnamed:
            return replace(self, shared=shared)
        names = ",".join(unnamed[:LISTED])
        text = f"groups may be alike in columns that have no role: --categorical {names} would let pooling use them"
        return replace(self, notes=(Note(text, "similarity"),), shared=shared)

    def tables_per_task(self, table: Table) -> int:
        """Return how many groups a worker is handed at once: some series, which take less than handing over costs."""
        return SERIES_PER_TASK if self.shared.series else 1

    def request(self, table: Table) -> str:
        """Return how one group is fitted, as a text."""
        fingerprint = self.shared.of(table.key).fingerprint
        return self.options.request + (f" table prior {fingerprint}" if fingerprint else "")

    def fit(self, tables: Sequence[Table], seed: int) -> list[FitResult | GenperfError]:
        """Fit each table by itself; see `genperf.fitting.Model`."""
        return [attempted(self._fit, table, seed) for table in tables]

    def _fit(self, table: Table, seed: int) -> FitResult:
        """Fit one table: as a series where only its scale varies, else as a process of many factors."""
        if self.options.fix:
            hint = "--model with one of `genperf list models`, or a formula"
            raise FitError("auto chooses its own constants: none can be held", hint=hint)
        shared = self.shared.of(table.key)
        # One count is a series as well: the prior predicts other counts.
        single_configuration = len(table.factors) > 0 and not any(f.distinct > 1 for f in table.factors)
        series = series_of(table, self.options.hints, single=single_configuration or bool(shared.changes))
        if series is None:
            refuse_one_value(table)
            # A series needs none of it.
            from genperf.process import fit_factors

            # It has loaded the linear algebra of scipy.
            with one_blas_thread():
                ensemble = fit_factors(table, self.options)
        else:
            ensemble = fit_series(table, series, shared)
        # An ensemble has many draws of sums of terms above zero: half precision is far finer than they spread.
        members = tuple(_in_half_precision(member) for member in ensemble.members)
        complete = msgspec.structs.replace(ensemble, members=members, notes=(*ensemble.notes, *self.notes))
        return self.assembled(table, complete, seed)


def _in_half_precision(member: Member) -> Member:
    """Round a member's draws, and the scales of its discrepancy, to half precision."""
    discrepancy = member.discrepancy
    if discrepancy is not None:
        offsets = None if discrepancy.offsets is None else in_half_precision(discrepancy.offsets)
        scales = in_half_precision(discrepancy.scales)
        discrepancy = msgspec.structs.replace(discrepancy, scales=scales, offsets=offsets)
    central = None if member.central is None else in_half_precision(member.central)
    draws = in_half_precision(member.draws)
    return msgspec.structs.replace(member, draws=draws, discrepancy=discrepancy, central=central)


def could_name(table: Table) -> list[str]:
    """Return the columns in no role that hold names, constant in every group and different between some."""
    groups = table.frame.groupby(list(table.group)).ngroups
    out = []
    for name in table.unused:
        cells = table.frame[name]
        if pd.api.types.is_numeric_dtype(cells):
            continue
        # As many combinations of group and cell as groups: one cell in each.
        alike = table.frame.groupby([*table.group, name], dropna=False).ngroups == groups
        if alike and 1 < len(cells.unique()) < groups:
            out.append(name)
    return out
