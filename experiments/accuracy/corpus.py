"""How well `auto` extrapolates series of published clusters, beside simpler models.

`experiments/benchmark.md` states the protocol. A file is a source. `--outside` names a folder with more sources in the
same form, which no licence allows to bundle. The prior of the bank is one for all sources: it is set half-way between
values by hand and learned ones, and either end gives the same figures (`experiments/results/growth.md`).
"""

from __future__ import annotations

import json
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path

import numpy as np
import pandas as pd

import genperf as gp
from experiments.accuracy.baselines import least_squares, random_forest
from experiments.accuracy.extra_p import extra_p_python, fit_extra_p
from experiments.accuracy.scores import SMALL_ERROR, cells_of, error, inside, interval_score, pair, width
from experiments.shared import markdown, page
from genperf.arrays import Array
from genperf.estimate import FitOptions
from genperf.facts import Record
from genperf.fitting.auto import AUTO, Auto
from genperf.growth.fit import fit_series
from genperf.growth.measured import MeasuredSeries, series_of
from genperf.growth.sharing import TableShares, table_shares
from genperf.normal.record import FILE as RECORD
from genperf.panel import Table
from genperf.panel.machine import USUAL_DEVICES
from genperf.prediction.verdict import VERDICTS

COMMAND = "python -m experiments corpus"
FACTORS = ["devices", "nodes", "batch"]
PROTOCOLS = {
    "near": "the largest count from all smaller ones",
    "far": "the largest count from at most a quarter of it",
    "node": "the first count beyond one node from those inside it",
}
#: How many times the largest fitted count is asked about. The criterion does not count these: few series reach so far.
FARTHER = {name: reach for name, reach in Record.reaches.items() if name not in PROTOCOLS}
#: Cells of fewer series are not counted: a median of three says nothing.
LEAST_SERIES = 4


@dataclass(frozen=True, eq=False)
class Case:
    """One question: the rows that are fitted, and the row that is asked about."""

    source: str
    protocol: str
    train: pd.DataFrame
    asked: pd.DataFrame
    table: Table
    series: MeasuredSeries

    @property
    def truth(self) -> float:
        """The measured time that is asked about, seconds."""
        return float(self.asked.t.iloc[0])


# --- sources and protocols -------------------------------------------------------------------------------------------


def sources(outside: Path | None = None) -> dict[str, pd.DataFrame]:
    """Return every source: those of the corpus, DLPerf, and those of a folder outside the repository."""
    frames = {name: gp.datasets.corpus(name) for name in gp.datasets.corpus_names()}
    tables = sorted(outside.glob("*.csv")) if outside else []
    if outside is not None and not tables:
        raise SystemExit(f"--outside: no CSV lies in {outside}")
    for path in tables:
        frames.setdefault(path.stem, pd.read_csv(path))
    frames["dlperf"] = dlperf()
    return frames


def dlperf() -> pd.DataFrame:
    """Return DLPerf in the form of the corpus: a series is a configuration at one batch per device."""
    frame = gp.datasets.frame("dlperf")
    middle = frame.groupby(["config", "batch_per_device", "devices", "nodes"]).step_time_s.median().reset_index()
    names = middle.config + "|" + middle.batch_per_device.astype(str)
    middle = middle.assign(source="dlperf", series=names, batch=middle.batch_per_device, t=middle.step_time_s)
    return middle.sort_values(["series", "devices"])[["source", "series", *FACTORS, "t"]]


def questions(
    frame: pd.DataFrame, least: int = 3, farther: bool = False
) -> Iterator[tuple[str, pd.DataFrame, pd.DataFrame]]:
    """Yield (protocol, rows to fit, the row asked about) for every series of a source; `least` counts are fitted.

    The protocols are those of the criterion, or those that reach `farther`. A row with more devices on a node than any
    that is fitted, and than eight, is of another machine and left out.
    """
    for _, rows in frame.groupby("series"):
        largest = rows.devices.max()
        limits = {name: largest / ratio for name, ratio in FARTHER.items()}
        parts = [
            (name, rows[rows.devices <= limit], rows[rows.devices == largest])
            for name, limit in (limits if farther else {"near": largest - 1, "far": largest / 4}).items()
        ]
        parts = [part for part in parts if np.ptp(part[1].t) > 0.0]
        one, more = rows[rows.nodes == 1], rows[rows.nodes > 1]
        parts += [] if farther else [("node", one, more[more.devices == more.devices.min()])]
        for name, small, asked in parts:
            held = max((small.devices / small.nodes).max(), float(USUAL_DEVICES))
            there = len(asked) and small.devices.nunique() >= least
            if there and asked.devices.iloc[0] / asked.nodes.iloc[0] <= held:
                yield name, small, asked.iloc[[0]]


def cases(
    frames: dict[str, pd.DataFrame],
    every: int = 1,
    least: int = 3,
    factors: Sequence[str] = FACTORS,
    farther: bool = False,
) -> list[Case]:
    """Return the cases of all sources, or every so many of them; `least` counts are fitted over some columns."""
    out = []
    for source, frame in frames.items():
        listed = list(questions(frame, least, farther))[::every]
        if not listed:
            continue
        table = _table_of([small for _, small, _ in listed], factors)
        for key, part in table.groups():
            protocol, small, asked = listed[int(key[0])]
            series = series_of(part, {})
            assert series is not None
            out.append(Case(source, protocol, small, asked.reset_index(drop=True), part, series))
    return out


# --- models ----------------------------------------------------------------------------------------------------------


def auto(case: Case, key: tuple[str, ...], shared: TableShares) -> dict[str, float | str]:
    """Fit `auto` and predict, as `genperf.fit` does."""
    ensemble = fit_series(case.table, case.series, shared.of(key))
    fitted = Auto(AUTO, FitOptions()).assembled(case.table, ensemble, 0)
    answer = fitted.predict_columns(case.asked[list(case.series.columns)])
    return {name: answer[name][0] for name in ("time", "lower", "upper", "verdict")}


def by_hand(case: Case) -> dict[str, float]:
    """Return what simpler models predict of a case: those of `by_hand_of`, and a random forest."""
    n, t = case.train.devices.to_numpy(float), case.train.t.to_numpy()
    forest = random_forest(n, t, np.array([float(case.asked.devices.iloc[0])]))
    return by_hand_of(case.train, case.asked) | {"random forest": float(forest[0])}


def by_hand_of(train: pd.DataFrame, asked: pd.DataFrame) -> dict[str, float]:
    """Return last point, 1 + log n and Ernest; the work of a device scales them."""
    work = (train.batch / train.batch.iloc[-1]).to_numpy()
    asked_work = float(asked.batch.iloc[0] / train.batch.iloc[-1])
    n, y, m = train.devices.to_numpy(float), train.t.to_numpy(), float(asked.devices.iloc[0])
    top = n == n.max()

    def linear(columns: Callable[[Array, Array], Array]) -> float:
        return float(least_squares(columns(n, work), y, columns(np.array([m]), np.array([asked_work])))[0])

    return {
        "last point": float(y[top][-1] / work[top][-1] * asked_work),
        "1 + log n": linear(lambda n, w: np.c_[w, np.log2(n)]),
        "Ernest": linear(lambda n, w: np.c_[w, np.ones_like(n), np.log2(n), n]),
    }


def _table_of(trained: Sequence[pd.DataFrame], factors: Sequence[str] = FACTORS) -> Table:
    """Return the rows of some cases as one table of some columns, a group each; without a batch those of epochs."""
    rows = pd.concat([part[[*factors, "t"]].assign(case=str(i)) for i, part in enumerate(trained)])
    counts = [name for name in factors if name != "batch"]
    timed = {"time": "t", "intrinsic": "batch"} if "batch" in factors else {"time": "epoch", "scaling": "job"}
    return gp.read_table(rows.rename(columns={"t": timed["time"]}), extrinsic=counts, group="case", **timed)


#: Columns of `answers`; others are predictions of simpler models.
ANSWERED = ("source", "protocol", "measured", "time", "lower", "upper", "verdict")


def answers(listed: Sequence[Case]) -> pd.DataFrame:
    """Return a row per case: measured and predicted."""
    rows: list[dict[str, float | str]] = [{} for _ in listed]
    for source, protocol in dict.fromkeys((case.source, case.protocol) for case in listed):
        at = [i for i, case in enumerate(listed) if (case.source, case.protocol) == (source, protocol)]
        columns = list(listed[at[0]].series.columns)
        shared = table_shares(_table_of([listed[i].train for i in at], columns), {})
        for number, i in enumerate(at):
            rows[i] = {"source": source, "protocol": protocol, "measured": listed[i].truth}
            rows[i] |= auto(listed[i], (str(number),), shared)
    return pd.DataFrame(rows)


def beside_hands(listed: Sequence[Case], by: Callable[[Case], dict[str, float]]) -> pd.DataFrame:
    """Return the answers of `auto` with what simpler models predict."""
    return pd.concat([answers(listed), pd.DataFrame([by(case) for case in listed])], axis=1)


# --- scores ----------------------------------------------------------------------------------------------------------


def cell(rows: pd.DataFrame) -> dict[str, float]:
    errors, covered, ok = error(rows), inside(rows), rows.verdict == "ok"
    last = error(rows, "last point").median()
    return {
        "series": len(rows),
        "median": errors.median(),
        "mean": errors.mean(),
        "bias": 100.0 * float(np.median(np.log(rows.time / rows.measured))),
        "coverage": 100.0 * covered.mean(),
        "width": width(rows).median(),
        "score": interval_score(rows),
        "ok": int(ok.sum()),
        "ok_mean": errors[ok].mean(),
        "ok_coverage": 100.0 * covered[ok].mean(),
        "over_last": (errors.median() + SMALL_ERROR) / (last + SMALL_ERROR),
    }


def judged(rows: pd.DataFrame) -> dict[str, float]:
    """Return the criterion over all cells, a source one vote.

    Coverage and width are means and medians over the sources of a protocol, the interval score and the median error
    over last point's are geometric means over the cells (source and protocol).
    """
    counted = pd.DataFrame(
        {"source": source, "protocol": protocol, **cell(part)}
        for source, protocol, part in cells(rows)
        if len(part) >= LEAST_SERIES
    )
    out: dict[str, float] = {}
    for protocol in PROTOCOLS:
        mine = counted[counted.protocol == protocol]
        out[f"{protocol} covers"], out[f"{protocol} width"] = mine.coverage.mean(), mine.width.median()
    out["score"], out["over last"] = (float(np.exp(np.log(counted[n]).mean())) for n in ("score", "over_last"))
    return out


def halves(rows: pd.DataFrame) -> list[pd.DataFrame]:
    """Return the rows of every other source, in the order of their names, and of the rest."""
    names = sorted(rows.source.unique())
    return [rows[rows.source.isin(names[start::2])] for start in (0, 1)]


def cells(rows: pd.DataFrame) -> Iterator[tuple[str, str, pd.DataFrame]]:
    """Yield the cells in the order of the sources and protocols."""
    for source in dict.fromkeys(rows.source):
        for protocol in (*PROTOCOLS, *FARTHER):
            part = rows[(rows.source == source) & (rows.protocol == protocol)]
            if len(part):
                yield source, protocol, part


def table(rows: pd.DataFrame, others: Sequence[str]) -> str:
    lines = []
    for source, protocol, part in cells(rows):
        c = cell(part)
        ok = f"{c['ok']:.0f}: {c['ok_mean']:.1f}, {c['ok_coverage']:.0f} %" if c["ok"] else "0"
        count, *figures = cells_of(part, "error covers width score")
        errors = (pair(error(part, name)) for name in others)
        lines.append([f"{source}, {protocol}", count, *figures, ok, *errors])
    head = ["source, protocol", "series", "auto", "covers, %", "width, %", "score", "`ok`: mean error, covered"]
    return markdown([*head, *others], lines)


def by_protocol(rows: pd.DataFrame, others: Sequence[str]) -> str:
    """Return the errors of every model over all series of a protocol, and what the intervals of `auto` cover."""
    parts = [rows[rows.protocol == protocol] for protocol in PROTOCOLS]
    head = [
        "all sources, median (mean) error, %",
        *(f"{protocol} ({len(part)})" for protocol, part in zip(PROTOCOLS, parts, strict=True)),
    ]
    lines = [["auto", *(pair(error(part)) for part in parts)]]
    lines += [[name, *(pair(error(part, name)) for part in parts)] for name in others]
    covered = [f"{100.0 * inside(part).mean():.0f}, {width(part).median():.0f}" for part in parts]
    return markdown(head, [*lines, ["auto covers, width, %", *covered]])


#: Heads of the table of `summary`.
CRITERION = [
    *(f"{p} covers, %" for p in PROTOCOLS), *(f"{p} width, %" for p in PROTOCOLS), "score", "over last point"
]  # fmt: skip


def summary(name: str, rows: pd.DataFrame) -> list[str]:
    """Return a model's line: the criterion over all cells."""
    *cover_and_width, score, over = judged(rows).values()
    covers, widths = ([f"{each:.0f}" for each in cover_and_width[start::2]] for start in (0, 1))
    return [name, *covers, *widths, f"{score:.1f}", f"{over:.3f}"]


def write_record(rows: pd.DataFrame, command: str) -> None:
    """Write how often `auto` was right, by protocol and verdict, each source one vote: the report page tells it."""
    records = []
    for protocol in dict.fromkeys(rows.protocol):
        of_protocol = rows[rows.protocol == protocol]
        for verdict in ("", *VERDICTS):
            part = of_protocol[of_protocol.verdict == verdict] if verdict else of_protocol
            if len(part):
                votes = 1.0 / part.groupby("source").source.transform("size")
                half, nine = np.quantile(error(part), [0.5, 0.9], weights=votes, method="inverted_cdf")
                records.append(
                    {
                        "protocol": protocol,
                        "verdict": verdict,
                        "predictions": len(part),
                        "clusters": int(part.source.nunique()),
                        "coverage": round(100.0 * float(np.average(inside(part), weights=votes)), 1),
                        "median_error": round(float(half), 1),
                        "nine_in_ten": round(float(nine), 1),
                    }
                )
    RECORD.write_text(json.dumps({"made_by": command, "records": records}, indent=1) + "\n", encoding="utf-8")


def farther_page(rows: pd.DataFrame) -> str:
    """Return the forecasts that reach farther than the criterion asks, and how they lie in the mean of the sources."""
    lines, models = [], ["auto", "last point", "1 + log n", "Ernest"]
    for protocol, ratio in FARTHER.items():
        part = rows[rows.protocol == protocol]
        count, error_of_auto, covers, wide, *errors = cells_of(part, "error covers width", models[1:])
        by_source = 100.0 * inside(part).groupby(part.source).mean().mean()
        sources_of = str(part.source.nunique())
        covers = f"{covers}, {by_source:.0f}"
        lines.append([f"{ratio:g} times", count, sources_of, error_of_auto, *errors, covers, wide])
    head = ["at least", "series", "sources", *models, "covers, by source, %", "width, %"]
    return markdown(head, lines)


def hidden_page(listed: Sequence[Case], frames: dict[str, pd.DataFrame]) -> str:
    """Return the criterion of the series of several nodes with the nodes, without them, and told as times of epochs."""
    lines, ways = [], {"nodes counted": FACTORS, "nodes not counted": FACTORS[::2], "epochs, not counted": FACTORS[:1]}
    epochs = {n: f.assign(t=f.t / (f.devices * f.batch), batch=1.0 / f.devices) for n, f in frames.items()}
    for name, factors in ways.items():
        asked = listed if factors is FACTORS else cases(frames if "batch" in factors else epochs, factors=factors)
        several = [case for case in asked if case.asked.nodes.iloc[0] > 1]
        lines.append(summary(name, beside_hands(several, lambda case: by_hand_of(case.train, case.asked))))
    title = "**A table that counts devices alone**: the same questions beyond one node, without the nodes; as epochs"
    return f"\n{title}\n\n{markdown(['auto', *CRITERION], lines)}\n"


def run(extra_p: bool = False, hidden: bool = False, outside: Path | None = None) -> str:
    """Judge `auto` beside simpler models, and Extra-P."""
    frames = sources(outside)
    listed = cases(frames)
    judged = beside_hands(listed, by_hand)
    others = [name for name in judged if name not in ANSWERED]
    python = extra_p_python() if extra_p else None
    if python:
        asked = [(c.train.devices.tolist(), c.train.t.tolist(), c.asked.devices.tolist()) for c in listed]
        fitted = fit_extra_p(python, asked, False)
        if fitted is not None:
            judged["Extra-P"] = [float(p[0]) for p in fitted.predicted]
            others.append("Extra-P")
    flags = " --extra-p" * extra_p + " --hidden" * hidden
    flags += " --outside FOLDER" * (outside is not None)
    farther = beside_hands(cases(frames, farther=True), lambda case: by_hand_of(case.train, case.asked))
    write_record(pd.concat([judged, farther]), COMMAND + flags)
    lines = [summary("series of a table share", judged)]
    lines += [summary(f"half {k} of the sources", half) for k, half in enumerate(halves(judged), 1)]
    return page(
        "corpus",
        globals(),
        command=COMMAND + flags,
        cases=len(judged),
        cells=table(judged, others),
        protocols=by_protocol(judged, others),
        criterion=markdown(["auto", *CRITERION], lines),
        farther=farther_page(farther),
        beside=hidden_page(listed, frames) if hidden else "",
    )
