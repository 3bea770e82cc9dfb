"""What a hint of the network between nodes (`--hint`) says about the second node of a series that never left one.

Without a hint the step to a second node of which nothing is known is log-normal about a tenth of the time, with a
spread of 3 of ln. With one it is about four times the exchange of a ring at the hinted bandwidth, with a spread of 2:
links are shared, messages are cut, part is hidden behind computation. A step on two nodes takes at least as long as its
exchange.
"""

import numpy as np
from msgspec import Struct

from genperf.arrays import Array
from genperf.errors import Note
from genperf.growth.bank import STEP, UNSEEN_MEDIAN, UNSEEN_SPREAD, bank
from genperf.growth.measured import MeasuredSeries
from genperf.panel.panel import several_nodes

#: Standard deviation of ln of the least time of a step on two nodes: the exchange, with all computation hidden behind
#: it. A guess: a link that is a fourth faster than its data sheet is rare.
HIDDEN_SPREAD = 0.25


class HintSettings(Struct, frozen=True):
    """What a hinted exchange says of the step to the second node."""

    #: `median`, `spread`: of the step over the exchange: the median, and the standard deviation of its ln. On four
    #: clusters with the rates of their data sheets ln of the ratio has a mean of 1.33 and a standard deviation of 1.55;
    #: four clusters are few, so it is wider (`experiments/accuracy/hints.py`).
    median: float = 4.0
    spread: float = 2.0
    #: A measured step so many times the hinted exchange, or so small a part of it, contradicts the hint.
    contradiction: float = 3.0


HINT = HintSettings()


def hint_tilt(series: MeasuredSeries, exchange: float) -> Array | None:
    """Return ln of what a hint multiplies the weights of the curves by, shape (curves,); None where it says nothing."""
    if not series.in_seconds or not series.on_one_node:
        return None
    from scipy.special import log_ndtr

    drawn, largest = bank(), float(series.logarithms[int(np.argmax(series.values(series.scale)))])
    hinted = (drawn.step + largest - np.log(HINT.median * exchange)) / HINT.spread
    unseen = (drawn.step - UNSEEN_MEDIAN) / UNSEEN_SPREAD
    # ln of the density of the step by the hint over that of an unseen network, both log-normal.
    tilt = 0.5 * (unseen**2 - hinted**2) + np.log(UNSEEN_SPREAD / HINT.spread)
    # However much overlaps, a step on two nodes takes as long as its exchange.
    on_two_nodes = largest + np.log1p(drawn.sizes[:, STEP])
    least = log_ndtr((on_two_nodes - np.log(exchange)) / HIDDEN_SPREAD)
    return np.asarray(np.where(drawn.unseen & drawn.present[:, STEP], tilt, least))


def hint_notes(series: MeasuredSeries) -> tuple[Note, ...]:
    """Say what a hint was used for, why it was not, and where the measured times contradict it.

    Compared is the step from the largest run on one node, in proportion to one worker's work, to the next count.
    """
    exchange, nodes, factor = series.exchange, series.nodes, HINT.contradiction
    if exchange is None:
        text = 'the bandwidth is not used: how many bytes a step exchanges is not known; --hint "parameters=110M"'
    elif not series.in_seconds:
        text = "the bandwidth is not used: the time of one step is not known; --work gives its samples"
    elif nodes is None:
        text = 'the bandwidth is not used: the table does not tell nodes from workers; --hint "devices per node=8"'
    elif series.on_one_node:
        text = f"no run beyond one node: what two nodes cost rests on the hint, an exchange of {exchange:.3g} s"
    elif np.all(several_nodes(nodes)):
        return ()
    else:
        inside, there = np.flatnonzero(nodes == nodes.min())[-1], np.flatnonzero(nodes > nodes.min())[0]
        worker_batch, seconds = series.values(series.works[0][0]), np.exp(series.logarithms)
        step = float(seconds[there] - seconds[inside] * worker_batch[there] / worker_batch[inside])
        if not exchange / factor <= step <= exchange * factor:
            less = f"1/{exchange / step:.2g} of it" if step > 0.0 else "none of it"
            much = f"{step / exchange:.2g} times as much" if step > exchange else less
            text = (
                f"the hint says that two nodes exchange the message in {exchange:.3g} s; the step to "
                f"nodes={nodes[there]:g} was measured as {max(step, 0.0):.3g} s, {much}: the measured times count"
            )
            return (Note(text, "hint_contradicted"),)
        text = f"runs on several nodes agree with the hint within a factor of {factor:g}: it changes nothing"
    return (Note(text, "hint"),)
