"""The scale of a table: the column that counts its workers, its nodes, and the work of one worker."""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Literal

from genperf.formula import render
from genperf.panel.panel import Panel
from genperf.panel.work import Work, possible_work
from genperf.scaling import Scaling
from genperf.table import Factor
from genperf.table.axis import Axis


@dataclass(frozen=True)
class Scale:
    """How the runs of a table are scaled."""

    axis: Axis
    #: The factors, where an assumed column is mapped as the workers.
    factors: Panel
    #: The nodes, as a formula over the table's columns.
    nodes: str | None
    #: Possible work of one worker, most specific first: see `possible_work`.
    works: tuple[Work, ...]

    @property
    def column(self) -> str | None:
        """The column of the axis; None where no column counts workers or nodes."""
        return None if self.axis.factor is None else self.axis.factor.name

    @property
    def canonical(self) -> Literal["workers", "nodes"]:
        """What that column counts."""
        return self.axis.canonical

    @property
    def counts_other(self) -> bool:
        """Whether that column counts servers, threads or devices of a node by its name."""
        return self.axis.counts_other

    def over_columns(self, formula: str) -> str:
        """Return a formula over canonical names as one over the table's columns."""
        return self.factors.over_columns(formula)


def scale_of(
    factors: Sequence[Factor],
    mapping: Mapping[str, str] | None = None,
    group: Collection[str] = (),
    varying: Collection[str] | None = None,
    kind: Scaling | None = None,
) -> Scale:
    """Return the scale of a table's or a model's factors: the axis, the nodes and one worker's work.

    Parameters
    ----------
    mapping : mapping of str to str, optional
        Canonical name → column.
    group : collection of str
        The columns whose values name the groups, each of one value within a group.
    varying : collection of str, optional
        The columns that vary: see `Panel.axis`.
    kind : {"weak", "strong", "job"}, optional
        Of the scaling, where the user or the work of a step shows it.

    Raises
    ------
    ModelError
        For a mapping that names an unknown factor or column.

    Examples
    --------
    >>> cores = Factor("cores", "extrinsic", 1.0, 8.0, distinct=4, positive=True)
    >>> batch = Factor("batch", "intrinsic", 32.0, 32.0, distinct=1, positive=True)
    >>> scale = scale_of((cores, batch))
    >>> scale.column, scale.canonical, scale.works
    ('cores', 'workers', (Work(formula='batch', from_table=True),))
    """
    panel = Panel(tuple(factors), mapping or {}, group=tuple(group), scaling=kind)
    axis = panel.axis(varying)
    if axis.factor is not None and axis.assumed:
        panel = replace(panel, mapping={**panel.mapping, "workers": axis.factor.name})
    works = possible_work(panel, axis.canonical == "nodes" and panel.workers is not None)
    nodes = panel.node("nodes")
    return Scale(axis, panel, None if nodes is None else render(nodes), works)
