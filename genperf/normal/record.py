"""How often `auto` was right on published series that were judged in the same way: the benchmark, as it is shipped.

`experiments/accuracy/corpus.py` writes the file. The prior of `auto` is one for all sources (`growth/prior.json`).
"""

import json
import math
from functools import cache
from pathlib import Path

from genperf.facts import Record

#: Clusters of a verdict from which on its forecasts are counted by themselves: of seven a single one moves the coverage
#: by 14 points. Of fewer, forecasts of all verdicts that reach as far are counted together.
FEWEST_VOTES = 10
FILE = Path(__file__).parent / "record.json"


def record_like(ratio: float, leaves_node: bool, verdict: str) -> Record | None:
    """Return how predictions of a count `ratio` times the measured, and a verdict, did on published series; or None.

    >>> record_like(2.0, False, "ok").protocol, record_like(2.0, True, "extrapolating-blind").protocol
    ('near', 'node')
    """
    if not 1.0 < ratio <= Record.longest:
        return None
    protocol = next(protocol for protocol, reach in Record.reaches.items() if ratio <= reach)
    protocol = "node" if protocol == "near" and leaves_node else protocol
    records = {record.verdict: record for record in _records() if record.protocol == protocol}
    same = records.get(verdict)
    return same if same is not None and same.clusters >= FEWEST_VOTES else records.get("")


def departs(doublings: float) -> float:
    """Return the chance that a series departs beyond its data from all that was published, as at a server's knee.

        1 - (1 - 1/(m + 2))^(d/D)

    Of m clusters that were judged D doublings beyond, no more can be told of the next one than by the rule of
    succession; further out it departs at the same rate.

    >>> departs(0.0), round(departs(2.0), 3)
    (0.0, 0.05)
    """
    clusters = next(record.clusters for record in _records() if record.protocol == "far" and not record.verdict)
    return float(1.0 - (1.0 - 1.0 / (clusters + 2.0)) ** (max(doublings, 0.0) / math.log2(Record.reaches["far"])))


@cache
def _records() -> tuple[Record, ...]:
    return tuple(Record(**record) for record in json.loads(FILE.read_text(encoding="utf-8"))["records"])
