"""How a measured series compares with published ones, what its exchange should cost, and why it is slow."""

from __future__ import annotations

from contextlib import suppress

from genperf.asking.question import Question
from genperf.attribution import Scaling
from genperf.errors import GenperfError
from genperf.facts import Cause, Published
from genperf.models.network import BANDWIDTH, MESSAGE, PARAMETERS
from genperf.normal.exchange import exchange_of
from genperf.normal.series import among_published, series_of, trains_networks
from genperf.panel.panel import StepWork
from genperf.result import FitResult


def beside_published(result: FitResult, curve: Scaling, count: float, work: StepWork, question: Question) -> Published:
    """Return what is known of a series beside published ones."""
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
    causes: tuple[Cause, ...] = ()
    sound = 0.0
    if series is not None and (normal is None or normal.low):
        # A usual efficiency has no cause to look for.
        from genperf.causes import why

        # One configuration, or levels of a run that is still to be made, have no diagnosis.
        with suppress(GenperfError):
            diagnosis = why(result, levels, work=question.work, hints=hints)
            causes, sound = diagnosis.causes if diagnosis.needed else (), diagnosis.none
    return Published(normal, exchange, causes, sound, series is not None)
