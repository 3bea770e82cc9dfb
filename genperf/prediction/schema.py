"""What a prediction needs of the table a model was fitted to."""

from __future__ import annotations

import math
from functools import cached_property
from typing import TYPE_CHECKING, Annotated, get_args

import msgspec

from genperf.discrepancy.product import NotNegative
from genperf.panel import Panel
from genperf.panel.panel import Median, panel_of
from genperf.panel.target import TIME, Target
from genperf.scaling import Scaling
from genperf.table import Factor, Role

if TYPE_CHECKING:
    from genperf.panel import Table


class Schema(msgspec.Struct, frozen=True, omit_defaults=True, forbid_unknown_fields=True, dict=True):
    """The table behind a model, without its rows: what a prediction, or a picture of one, needs."""

    #: With measured ranges and levels.
    factors: Annotated[tuple[Factor, ...], msgspec.Meta(min_length=1)]
    #: The measured quantity.
    target: Target
    #: Group columns, where one model was fitted per group.
    group: tuple[str, ...] = ()
    #: Factors computed from other columns, with their formulas.
    derived: dict[str, str] = {}
    #: `source`, `sha256`: where the rows came from, and a hash of them.
    source: str = ""
    sha256: str = ""
    rows: int = 0
    configurations: int = 0
    rejected: int = 0
    #: Relative standard deviation of repeats; None where nothing was repeated.
    noise: NotNegative | None = None
    #: `lowest`, `highest`: range of the measured values, in the target's unit.
    lowest: float = 0.0
    highest: float = 0.0
    #: What was measured, for drawing; of very many configurations, some.
    medians: tuple[Median, ...] = ()
    #: Factors by the field's names, with the columns that the user gave for them.
    mapping: dict[str, str] = {}
    #: Options by which the rows were read, beside the roles: a filter, the column of repeats, a unit.
    reading: tuple[tuple[str, str], ...] = ()
    #: As `Table.scaling`. The work of a step is the target's, a formula over the factors.
    scaling: Scaling | None = None
    #: By factor: levels that were not measured and that measured ones replace (`substituted_members`); none in a file.
    substituted: dict[str, tuple[str, ...]] = {}

    @cached_property
    def panel(self) -> Panel:
        """What the factors mean: which one counts the workers, what the work is, what follows what."""
        return panel_of(self, self.target, self.derived, self.medians)

    def column(self, name: str) -> str:
        """Return the column of a name: a field's name that the user mapped is as good as its column's."""
        return self.panel.column(name)

    @property
    def of_steps(self) -> bool:
        """Whether the predicted value is that of a step: not where a throughput was measured and no work was given."""
        return not self.target.throughput or "work" in dict(self.reading)

    @property
    def timed(self) -> str:
        """What a time is of: a step, or an epoch or a job, whose work all workers share."""
        return self.panel.timed

    @property
    def varying(self) -> tuple[Factor, ...]:
        """The factors with more than one value."""
        return tuple(f for f in self.factors if f.distinct > 1)


def roles_of(schema: Schema) -> dict[str, str | list[str]]:
    """Return the options by which the columns of a table get the roles that they have in a model."""
    target = schema.target
    # A colon ends the column's name: it is needed where that has one itself.
    quantity = f"{target.column}:{target.unit}" if target.unit or ":" in target.column else target.column
    measured = {"time": target.column} if target.name == TIME else {"quantity": quantity}
    roles: dict[str, str | list[str]] = {"throughput": target.throughput} if target.throughput else {**measured}
    roles |= {role: [f.name for f in schema.factors if f.role == role] for role in get_args(Role)}
    return {option: role_value for option, role_value in {**roles, "group": [*schema.group]}.items() if role_value}


def schema_of(table: Table) -> Schema:
    """Describe a table.

    Examples
    --------
    >>> import pandas as pd
    >>> from genperf.panel import read_table
    >>> runs = pd.DataFrame({"workers": [1, 2, 4], "seconds": [1.0, 0.6, 0.4]})
    >>> schema_of(read_table(runs, time="seconds", extrinsic="workers")).factors[0].upper
    4.0
    """
    panel, noise = table.panel, table.noise()
    same = ("factors", "group", "source", "sha256", "rows", "reading", "scaling")
    schema = Schema(
        **{name: getattr(table, name) for name in same},
        target=panel.target or table.target,
        derived=dict(panel.derived),
        mapping=dict(table.mapping),
        configurations=len(table.medians()),
        rejected=table.rejected_rows,
        noise=noise if math.isfinite(noise) else None,
        lowest=float(table.extremes[0].min()),
        highest=float(table.extremes[1].max()),
        medians=panel.medians,
    )
    # A model means what its table does.
    schema.__dict__["panel"] = panel
    return schema
