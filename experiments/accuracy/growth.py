"""How well the bank of curves extrapolates series, in process and from arrays alone: the gates of `genperf.growth`.

    python -m experiments growth [--outside FOLDER]

The cases of `corpus.py`, and P1, P2 and InsightFace of `extrapolation.py`. The series of a
cell are one table, whose series share what they show of their cluster, or each stands alone. No table is read and no
verdict is given, so that a run takes seconds; `corpus.py` and `extrapolation.py` judge the whole of `auto`.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Sequence
from pathlib import Path

import numpy as np
import pandas as pd
from msgspec.structs import replace

from experiments.accuracy import extrapolation
from experiments.accuracy.corpus import (
    CRITERION,
    by_hand_of,
    cell,
    cells,
    error,
    halves,
    pair,
    questions,
    sources,
    summary,
)
from experiments.shared import markdown
from genperf.growth import Counts, Posterior, Series, bank, forecast, posterior_of
from genperf.growth.cluster import combined, shown
from genperf.panel.axis import several_nodes

COMMAND = "python -m experiments growth"
Weigh = Callable[[Sequence[Series]], list[Posterior]]


#: What was tried on all sources, or on up to 40 series of each, with the figures of half 1 / half 2.
TRIED = """**Tried**, interval score of half 1 / half 2 of the sources, where a change is kept that helps on both:

| up to 14 series of a source | score | half 1 | half 2 |
| --- | --- | --- | --- |
| as it was (0.4 of the networks unseen) | 82.4 | 87.0 | 77.5 |
| 0.2 unseen | 76.3 | 77.6 | 74.8 |
| + slope of at least 0.03 per doubling | 76.5 | 76.8 | 76.2 |
| + one after another with an exponent between 1 and 1.6 | 74.8 | 75.9 | 73.5 |
| + nothing of the size of seconds | 74.0 | 74.9 | 73.0 |
| + that exponent's overhead in 0.6 of series | 72.5 | 74.7 | 70.0 |
| + what all divide, b/n | 72.0 | 74.4 | 69.4 |

On up to 28 series, 0.1 and 0.2 unseen score 69.2 (72.9 / 65.4) and 70.7 (74.5 / 66.7); a smaller overhead one after
another 68.4 for 69.0 and exponents to 1.3 or 1.4 for 1.6 another 0.9. A saturation (a server's knee) in all classes of
series costs 3 to 5 % (it explains single slow counts); only among series of few overheads, where it is a server's law,
it costs 1 to 2 % and covers drawn servers, with limits of 4 to 256 workers and a size near the computation. On up to 40
series: without it 66.0 (68.0 / 63.9), with it 67.4 (70.9 / 63.7).

**The split**, all series of 26 sources, from arrays: score and error over the last point's, and those of either half.

| | score | error | half 1 | half 2 |
| --- | --- | --- | --- | --- |
| as it was | 68.1 | 0.571 | 73.0, 0.625 | 63.0, 0.517 |
| a saturation that counts nodes | 66.3 | 0.574 | 69.9, 0.638 | 62.4, 0.511 |
| + contention inside a node with a limit of 1 to 4 | 66.8 | 0.555 | 69.1, 0.632 | 64.2, 0.479 |
| + quieter walks, rarer latency and saturation | 66.5 | 0.556 | 68.7, 0.637 | 64.2, 0.476 |
| + a mean slope beyond the data of 0.1 | 66.0 | 0.548 | 68.3, 0.632 | 63.6, 0.466 |
| the last, a saturation of workers beyond one node | 67.2 | 0.548 | 70.4, 0.630 | 63.9, 0.469 |
| the same in 0.02 of sparse series, not in 0.1 | 66.3 | 0.550 | 68.7, 0.633 | 63.8, 0.469 |

Chosen by the score of half 1 alone, the fifth line is kept, and half 2 scores 63.6 (63.0 as it was). Chosen by half 2
alone, the second is kept, and half 1 scores 69.9 (73.0). By the error of half 1 the first is kept, by that of half 2
the fifth, with 0.632 on half 1. The gain of half 1 is two sources: sia_azure and azure_batchai. Shipped is the last
line, in 0.03 of sparse series: drawn servers of ten and of twelve workers, four a node, are then covered at 32 and 64
workers in 94 and 67 % of cases; in 11 and 0 % with limits that count nodes; in 100 and 94 % in 0.1 of sparse series,
which doubles the score of azure_batchai's next count, where two series end in one slow count that looks like a server.
A mean slope of 0.25 and 0.5 scores 64.5 and 63.7 for 65.7 (up to 25 series of a source), but the centre errs more
(0.567 and 0.586 for 0.557). 65,536 curves score 66.7 for 67.0 of 16,384: the bank's own noise is 1 %.

**The bank's noise, and the last change.** Means of four banks (another shift of their points each; standard deviation
of one bank: score 0.8, error 0.005, coverage at the second node 0.2 to 0.3):

| | score | error | covers at the node | half 1: score, error, node | half 2 |
| --- | --- | --- | --- | --- | --- |
| as it was: 0.12 unseen, a factor of 1.25 in the centre | 66.4 | 0.548 | 86.1 | 69.7, 0.630, 88.6 | 62.8, 0.469, 82.5 |
| 0.15 unseen | 66.7 | 0.548 | 86.6 | 69.9, 0.630, 88.7 | 63.3, 0.468, 83.6 |
| 0.18 unseen | 67.2 | 0.548 | 87.2 | 70.3, 0.631, 89.2 | 63.9, 0.467, 84.3 |
| 0.15 unseen, no factor | 66.7 | 0.549 | 86.6 | 69.9, 0.627, 88.7 | 63.3, 0.472, 83.6 |
| a mean slope of 0.25 | 65.8 | 0.558 | 85.4 | 69.2, 0.633, 88.4 | 62.1, 0.483, 80.9 |

More unseen networks help the second node in both halves, and cost the score. 0.14 are kept. Without the factor for each
overhead between nodes that does not arise, the shipped bank errs by 0.546 of the last point's in the place of 0.550,
but four banks do not, and on DLPerf each does worse: P1 3.0 (4.2) % in the place of 2.8 (4.0), P2 8.4 (11.2) in the
place of 7.0 (11.2). It stays. 32,768 curves are as noisy.

The factor trades the sources against DLPerf and tables of many factors: with 1.25, 1.5 and 2 the error is 0.548, 0.554
and 0.557 of the last point's (from arrays), P1's mean 4.0, 3.8 and 3.9 %, and the tables beyond their counts err by
0.913, 0.895 and 0.875 of what the code before did.

**Left.** A posterior of fewer than 15 effective curves tempered to 15: 66.9 (68.8 / 64.7), so it helps one half, costs
the other, and no curve passes through runs that fall and rise. Less weight of a saturation in the central value: a
server is then 70 % too low. A centre at 55 % of the draws instead of the median: bias zero, errors the same (over
last point 0.566 for 0.560). Spreads between nodes wider by a quarter: 70.2 for 68.8. Loud walks likelier, another
noise, another strength, other sharing of a cluster: within 1 %, one half against the other. Of 40 single changes of
a number of the prior two more were kept: a smaller cost between nodes, a narrower one after another.

**The second node where it is missed**: of the counts that follow runs on one node 83 % are covered (87 in the mean of
the sources); sia_aws 31 and sia_azure 66 %. Runs inside the node do not tell these two: where the last step lost 10 to
40 %, sia_dgx and sia_rtx are covered in all cases. Let unseen networks take part in the common strength, three banks
score 66.8 (66.8 as it is; halves 69.9 / 63.3 for 69.9 / 63.5), err by 0.551 (0.549) and cover sia_aws in 38 % (32); two
and a half times as strong 67.4 (71.3 / 63.2), 0.547 and 46 %. Neither gains in the score, so neither is kept.
"""


def counts(rows: pd.DataFrame, work: float) -> Counts:
    """Return the counts of rows; `work` is the batch of a device at the largest measured count."""
    numbers = (rows[name].to_numpy(float) for name in ("devices", "nodes", "batch"))
    devices, nodes, batch = numbers
    return Counts(devices, nodes, batch / work)


def alone(series: Sequence[Series]) -> list[Posterior]:
    """Return the posterior of each series by itself."""
    return [posterior_of(each) for each in series]


def shared(series: Sequence[Series]) -> list[Posterior]:
    """Return the posterior of each series of a table beside what the others show of the cluster they share."""
    each = alone(series)
    clusters = [shown(one.weights, bool(several_nodes(one.series.counts.nodes).any())) for one in each]
    others = [combined(clusters[:i] + clusters[i + 1 :]) for i in range(len(each))]
    return [one if known is None else replace(one, tilt=known.tilt) for one, known in zip(each, others, strict=True)]


def predicted(weigh: Weigh, listed: Sequence[tuple[pd.DataFrame, pd.DataFrame]]) -> list[tuple[np.ndarray, ...]]:
    """Return the central values and the ends of the intervals of the rows asked about, for series of one table."""
    work = [float(train.batch.iloc[-1]) for train, _ in listed]
    runs = [
        Series(counts(train, unit), np.log(train.t.to_numpy()), np.zeros(len(train)))
        for (train, _), unit in zip(listed, work, strict=True)
    ]
    found = weigh(runs)
    return [
        forecast([posterior.draws()], [1.0], [counts(asked, unit)]).interval()
        for posterior, (_, asked), unit in zip(found, listed, work, strict=True)
    ]


def corpus_rows(weigh: Weigh, frames: dict[str, pd.DataFrame]) -> tuple[pd.DataFrame, float]:
    """Return a row per case, and the milliseconds of one."""
    listed: dict[tuple[str, str], list[tuple[pd.DataFrame, pd.DataFrame]]] = {}
    for source, frame in frames.items():
        whole = frame.assign(batch=frame.batch.fillna(1.0))
        for protocol, train, asked in questions(whole):
            ordered = train.sort_values(["devices", "nodes"])
            listed.setdefault((source, protocol), []).append((ordered, asked))
    rows, seconds = [], 0.0
    for (source, protocol), some in listed.items():
        start = time.perf_counter()
        answers = predicted(weigh, some)
        seconds += time.perf_counter() - start
        for (value, lower, upper), (train, asked) in zip(answers, some, strict=True):
            row = {"source": source, "protocol": protocol, "measured": float(asked.t.iloc[0]), "verdict": ""}
            row |= {"time": value[0], "lower": lower[0], "upper": upper[0]}
            rows.append(row | by_hand_of(train, asked))
    return pd.DataFrame(rows), 1000.0 * seconds / len(rows)


def protocol_line(name: str, gate: str, weigh: Weigh) -> list[str]:
    """Return the errors and the coverage of a protocol whose series count their nodes."""
    protocol = extrapolation.PROTOCOLS[name]()
    listed = [
        tuple(part.assign(batch=1.0, t=part[extrapolation.TIME]) for part in (train, held))
        for _, train, held in protocol.series()
    ]
    errors, covered = [], []
    for (_, held), (value, lower, upper) in zip(listed, predicted(weigh, listed), strict=True):
        truth = held.t.to_numpy()
        errors.append(100.0 * float(np.mean(np.abs(value / truth - 1.0))))
        covered += list((lower <= truth) & (truth <= upper))
    return [protocol.name, pair(pd.Series(errors)), gate, f"{100.0 * np.mean(covered):.0f}"]


def lines_of(rows: pd.DataFrame) -> list[list[str]]:
    """Return a line per cell."""
    lines = []
    for source, protocol, part in cells(rows):
        c = cell(part)
        lines.append(
            [
                f"{source}, {protocol}", str(len(part)), pair(error(part)), pair(error(part, "last point")),
                pair(error(part, "1 + log n")), *(f"{c[name]:.0f}" for name in ("coverage", "width", "score")),
                f"{c['bias']:+.1f}",
            ]
        )  # fmt: skip
    return lines


def run(outside: Path | None = None) -> str:
    """Judge the bank of curves on the cases of the corpus and on P1, P2 and InsightFace."""
    frames = sources(outside)
    start = time.perf_counter()
    bank()
    drawn = 1000.0 * (time.perf_counter() - start)
    rows, each = corpus_rows(shared, frames)
    rows_alone, each_alone = corpus_rows(alone, frames)
    protocols = [
        protocol_line("P1", "3.0 (4.0)", shared),
        protocol_line("P2", "6.0 (11)", shared),
        protocol_line("insightface", "2.4 (16)", shared),
    ]
    text = [
        "# How well does the bank of curves extrapolate?\n",
        f"Made by `{COMMAND}{' --outside FOLDER' if outside else ''}`, from arrays, without "
        "verdicts. Errors are median (mean) |predicted/measured − 1| in %; "
        "`experiments/benchmark.md` states the protocols. The bank is drawn once in a process, "
        f"in {drawn:.0f} ms.\n",
        f"**{len(rows)} cases of {rows.source.nunique()} sources.** A source is one vote. Gates: coverage 86 to 96 % "
        "in each protocol, score 66, over last point 0.55, width at the second node 120 %.\n",
        markdown(
            ["", *CRITERION, "ms"],
            [
                [*summary("series of a table share their cluster", rows), f"{each:.1f}"],
                *([*summary(f"half {k} of the sources", half), ""] for k, half in enumerate(halves(rows), 1)),
                [*summary("each series alone", rows_alone), f"{each_alone:.1f}"],
            ],
        )
        + "\n",
        markdown(["", "error, %", "gate", "covers, %"], protocols) + "\n",
        "**By cell**, series of a table share\n",
        markdown(
            ["", "series", "error, %", "last point", "1 + log n", "covers, %", "width, %", "score", "bias, %"],
            lines_of(rows),
        )
        + "\n",
        TRIED,
    ]
    return "\n".join(text)
