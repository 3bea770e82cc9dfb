"""How a measured series compares with published ones, what its exchange should cost, and why it is slow."""

from __future__ import annotations

from contextlib import suppress
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from genperf.asking.question import Question
from genperf.attribution import Scaling
from genperf.attribution.derived import Work
from genperf.errors import GenperfError
from genperf.models.network import BANDWIDTH, MESSAGE, PARAMETERS
from genperf.normal.exchange import Exchange, exchange_of
from genperf.normal.series import AmongPublished, Normal, among_published, series_of, trains_networks
from genperf.result import FitResult

if TYPE_CHECKING:
    from genperf.causes import Diagnosis


@dataclass(frozen=True)
class Beside:
    """How a measured series compares with published ones: what is known of it."""

    normal: AmongPublished | None = None
    exchange: Exchange | None = None
    #: Where its efficiency is low; None where nothing was diagnosed, or another series is asked about.
    causes: Diagnosis | None = None
    #: Whether a cause was looked for.
    training: bool = False

    @property
    def numbers(self) -> dict[str, Any]:
        """What is known, by name."""
        placed = None if self.normal is None else self.normal.placed
        numbers: dict[str, Any] = {"normal": placed.to_dict()} if isinstance(placed, Normal) else {}
        numbers |= {} if self.exchange is None else {"exchange": self.exchange.to_dict()}
        causes = [] if self.causes is None else self.causes.to_dict()["causes"]
        return {**numbers, **({"causes": causes} if self.training else {})}

    @property
    def sentences(self) -> dict[str, str]:
        """What is known, in words."""
        known = {"normal": self.normal, "exchange": self.exchange, "causes": self.causes}
        return {name: one.sentence for name, one in known.items() if one is not None}


def beside_published(result: FitResult, curve: Scaling, count: float, work: Work, question: Question) -> Beside:
    """Return what is known of a series beside published ones.

    Parameters
    ----------
    curve : Scaling
        The predictions along the count.
    count : float
        Of the target.
    """
    rows, hints, panel = curve.steps.columns, question.hints, result.panel
    levels = {name: cells[-1] for name, cells in rows.items() if cells.dtype.kind in "OU"}
    words = [*question.words, *map(str, levels.values()), hints.get(BANDWIDTH, "")]
    series = None
    if {MESSAGE, PARAMETERS} & {*hints} or trains_networks(panel, [*words, *question.constants]):
        series = series_of(panel, rows, work.at)
    normal = None if series is None else among_published(series, count, words)
    exchange = None
    if hints and curve.quantity.is_time:
        here = curve.steps.nearest(count)
        target = {name: cells[here : here + 1] for name, cells in rows.items()}
        seconds = float(curve.curve[curve.quantity.name].iloc[here]) if question.steps and not work.whole else None
        exchange = exchange_of(panel, hints, target, seconds, {} if series is None else series.kept)
    causes = None
    if series is not None and (normal is None or normal.low):
        # A usual efficiency has no cause to look for.
        from genperf.causes import why

        # One configuration, or levels of a run that is still to be made, have no diagnosis.
        with suppress(GenperfError):
            diagnosis = why(result, levels, work=question.work, hints=hints)
            causes = diagnosis if diagnosis.needed else None
    return Beside(normal, exchange, causes, series is not None)
