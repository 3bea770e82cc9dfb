"""How well `auto` extrapolates series of measurements, beside what one would use instead.

Every protocol is a function below that returns a `Protocol`: what is fitted, what is predicted. Each series counts
once: its error is the mean of |predicted/measured − 1| over its targets. Another protocol is another function in
`PROTOCOLS`. P3 and P4 borrow between groups and are in `pooling.py`; without `--protocols` they are run too.
Only genperf's public names are used. Extra-P is measured where an environment with it can be made. The figure shows the
errors of P1 and P2, of the same run. `--sizes` judges tables of many factors whose largest networks and counts are left
out together, on a page of its own.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass
from functools import partial
from itertools import product

import numpy as np
import pandas as pd
from scipy.stats import gmean

import genperf as gp
from experiments.accuracy import pooling
from experiments.accuracy.baselines import linear, random_forest
from experiments.accuracy.error_curves import draw_error_curves
from experiments.accuracy.extra_p import extra_p_python, fit_extra_p
from experiments.accuracy.scores import by_verdict, cells_of, error, inside, pair, width
from experiments.shared import IMAGES, beside, computed, markdown, page
from genperf.arrays import Array, Mask
from genperf.errors import GenperfError, attempted

COMMAND = "python -m experiments extrapolation"
TIME = "step_time_s"
Key = tuple[str, ...]


@dataclass(frozen=True)
class Protocol:
    """What is fitted and what is predicted.

    `train` and `held_out` hold the rows; `group` the columns that tell series apart; `extrinsic` the factors, the scale
    first. `work` is the column of one worker's work, by which "last point" keeps the time per sample.
    """

    name: str
    asks: str
    train: pd.DataFrame
    held_out: pd.DataFrame
    group: list[str]
    extrinsic: list[str]
    work: str | None = None

    @property
    def scale(self) -> str:
        """The factor along which is extrapolated."""
        return self.extrinsic[0]

    def series(self) -> Iterator[tuple[Key, pd.DataFrame, pd.DataFrame]]:
        """Yield each series' key, and the median times that are fitted and predicted."""
        columns = list(dict.fromkeys([*self.group, *self.extrinsic, *([self.work] if self.work else [])]))
        middle = [f.groupby(columns, sort=False)[TIME].median().reset_index() for f in (self.train, self.held_out)]
        held = dict(iter(middle[1].groupby(self.group, sort=False)))
        for key, part in middle[0].groupby(self.group, sort=False):
            yield tuple(map(str, key)), part.sort_values(self.scale), held[key]


# --- protocols -------------------------------------------------------------------------------------------------------


def with_scales(frame: pd.DataFrame, group: list[str], scale: str, least: int) -> pd.DataFrame:
    """Keep the series that were measured at enough scales."""
    return frame[frame.groupby(group)[scale].transform("nunique") >= least]


def largest_from_smaller(
    name: str, table: str, group: list[str], extrinsic: list[str], back: int = 1, work: str | None = None
) -> Protocol:
    """Predict the largest scale of each series from the others, the `back − 1` before it left out too."""
    frame = gp.datasets.frame(table)
    if work == "each":
        frame = frame.assign(each=frame.global_batch / frame.devices)
    frame = with_scales(frame, group, extrinsic[0], 3 if back == 1 else 5)
    rank = frame.groupby(group)[extrinsic[0]].rank(method="dense", ascending=False)
    asks = "the largest scale from the smaller ones" if back == 1 else f"the same from {back} scales back"
    return Protocol(name, asks, frame[rank > back], frame[rank == 1], group, extrinsic, work)


def dlperf(name: str, limit: int, *targets: int) -> Protocol:
    group = ["config", "batch_per_device"]
    frame = with_scales(gp.datasets.frame("dlperf"), group, "devices", 5)
    asks = f"DLPerf: {' and '.join(map(str, targets))} devices from 1 to {limit}"
    train, held = frame[frame.devices <= limit], frame[frame.devices.isin(targets)]
    return Protocol(name, asks, train, held, group, ["devices", "nodes"])


def synthetic() -> Protocol:
    """Strong scaling with a known truth: 5 repeats with 2 % noise, 100 seeds."""
    n = np.array([1.0, 2.0, 4.0, 8.0, 16.0])
    truth = partial(computed, "5 + 100 / n + 0.3 * np.log2(n) + 0.02 * n")
    rows = []
    for seed in range(100):
        noisy = truth(n=n)[:, None] * (1 + 0.02 * np.random.default_rng(seed).standard_normal((5, 5)))
        rows += [(seed, a, t) for a, times in zip(n, noisy, strict=True) for t in times]
    train = pd.DataFrame(rows, columns=["seed", "workers", TIME])
    held = pd.DataFrame({"seed": range(100), "workers": 64.0, TIME: truth(n=np.array([64.0]))[0]})
    asks = "5 + 100/n + 0.3·log₂ n + 0.02·n: 64 workers from 1 to 16"
    return Protocol("synthetic", asks, train, held, ["seed"], ["workers"])


PROTOCOLS: dict[str, Callable[[], Protocol]] = {
    "P1": partial(dlperf, "P1", 16, 32),
    "P2": partial(dlperf, "P2", 8, 16, 32),
    "synthetic": synthetic,
    **{name: partial(largest_from_smaller, **table) for name, table in beside(__file__)["largest"].items()},
}

# --- models ----------------------------------------------------------------------------------------------------------

Forecasts = dict[Key, pd.DataFrame]


def auto(protocol: Protocol) -> Forecasts:
    """Fit `auto` to every series and predict, from the table as a user would give it."""
    result = gp.fit(gp.read_table(protocol.train, time=TIME, group=protocol.group, extrinsic=protocol.extrinsic))
    asked = protocol.held_out[[*protocol.group, *protocol.extrinsic]].drop_duplicates()
    found = result.predict(asked)
    texts = found[protocol.group].astype(str)
    return {key: found[(texts == list(key)).all(axis=1)] for key in dict.fromkeys(map(tuple, texts.to_numpy()))}


BASELINES: dict[str, Callable[[np.ndarray, np.ndarray, np.ndarray], np.ndarray]] = {
    "last point": lambda n, t, asked: np.full(len(asked), t[-1]),
    "1 + log n": linear(lambda n: np.c_[np.ones_like(n), np.log2(n)]),
    "Ernest": linear(lambda n: np.c_[np.ones_like(n), 1 / n, np.log2(n), n]),
    "random forest": random_forest,
}


def baseline(protocol: Protocol, name: str) -> Forecasts:
    out = {}
    for key, train, held in protocol.series():
        n, t, asked = (x.to_numpy(float) for x in (train[protocol.scale], train[TIME], held[protocol.scale]))
        predicted = BASELINES[name](n, t, asked)
        if name == "last point" and protocol.work:
            predicted = predicted * held[protocol.work].to_numpy() / train[protocol.work].to_numpy()[-1]
        out[key] = held[protocol.extrinsic].assign(time=predicted)
    return out


def extra_p_forecasts(protocol: Protocol, python: str) -> dict[str, Forecasts]:
    series = list(protocol.series())
    given = [(s[protocol.scale].tolist(), s[TIME].tolist(), h[protocol.scale].tolist()) for _, s, h in series]
    out = {}
    for name, negative in (("Extra-P", False), ("Extra-P, negative exponents", True)):
        found = fit_extra_p(python, given, negative)
        if found is not None:
            out[name] = {
                key: held[protocol.extrinsic].assign(time=times)
                for (key, _, held), times in zip(series, found.predicted, strict=True)
            }
    return out


# --- scores ----------------------------------------------------------------------------------------------------------


def joined(protocol: Protocol, forecasts: Forecasts) -> pd.DataFrame:
    """Return a row per target: its series, measured and predicted time, and the interval where there is one."""
    parts = []
    for i, (key, _, held) in enumerate(protocol.series()):
        if key in forecasts:
            parts.append(held.merge(forecasts[key].drop(columns=protocol.group, errors="ignore")).assign(series=i))
    rows = pd.concat(parts, ignore_index=True).rename(columns={TIME: "measured"})
    return rows.assign(error=error(rows), protocol=protocol.name)


def series_errors(rows: pd.DataFrame) -> pd.Series:
    """Return each series' mean error over its targets, in per cent."""
    return rows.groupby("series").error.mean()


def score(rows: pd.DataFrame) -> dict[str, float]:
    errors = series_errors(rows)
    found = {"median": errors.median(), "mean": errors.mean(), "series": len(errors)}
    if "lower" in rows:
        found |= {"coverage": 100 * inside(rows).mean(), "width": width(rows).groupby(rows.series).mean().median()}
    return found


def table_of(protocol: Protocol, scores: dict[str, dict[str, float]]) -> str:
    rows = []
    for name, s in scores.items():
        interval = [f"{s['coverage']:.0f} %", f"{s['width']:.0f} %"] if "coverage" in s else ["–", "–"]
        rows.append([name, f"{s['median']:.1f}", f"{s['mean']:.1f}", *interval])
    count = int(scores["auto"]["series"])
    head = f"## {protocol.name} ({protocol.asks}; {count} series)\n\n"
    columns = ["model", "median error, %", "mean error, %", "coverage of 90 %", "median width"]
    return f"{head}{markdown(columns, rows)}\n"


def by_model(rows: pd.DataFrame, others: pd.DataFrame) -> str:
    """Return P1's or P2's errors for each network apart."""
    body = []
    for network in ("bert", "resnet"):
        of_network = (part[part.config.str.contains(network)] for part in (rows, others))
        body.append([network, *(pair(series_errors(part)) for part in of_network)])
    return markdown(["network", "auto: median (mean), %", "last point"], body) + "\n"


# --- sizes far beyond ------------------------------------------------------------------------------------------------


#: A table → the size of a network over its columns, in parameters or in proportion, the largest size and the largest
#: count that are fitted: about a quarter of the largest.
FAR_SIZES = beside(__file__)["far"]
FAR_HEAD = ("median (mean) error, %", "bias, %", "covers, %", "median width, %")
#: Runs that are fitted at least, and asked about, where a table is cut at each of its sizes and counts.
FEWEST_FITTED, FEWEST_ASKED = 12, 4


def far_sizes() -> str:
    """Fit the small networks on few devices, and predict the large ones on many; then at every other cut of a table."""
    lines, of_cuts, missed = [], [], []
    for name, far in FAR_SIZES.items():
        table = gp.datasets.load(name, **far.get("rows", {}))
        size, count = (table.frame.eval(text).to_numpy(float) for text in (far["of"], "devices"))
        row, fitted, asked = beyond(table, size, count, far["size"], far["count"])
        ratios = (f"{v[asked].max() / v[fitted].max():.{digits}f}" for v, digits in ((size, 1), (count, 0)))
        lines.append(
            {
                "table": name,
                "fitted": far["fitted"],
                "runs": int(fitted.sum()),
                "asked": len(row),
                "times the size, the count": ", ".join(ratios),
                **dict(zip(FAR_HEAD, cells_of(row, "error bias covers width")[1:], strict=True)),
                "verdicts": ", ".join(f"{n} {verdict}" for verdict, n in row.verdict.value_counts().items()),
            }
        )
        over = row[~inside(row)].assign(
            table=name,
            measured=lambda r: r.measured / r.time,
            lower=lambda r: r.lower / r.time,
            upper=lambda r: r.upper / r.time,
        )
        missed.append(over[["table", "measured", "lower", "upper"]])
        answers = [
            attempted(beyond, table, size, count, *at)
            for at in product(np.unique(size)[:-1], np.unique(count)[:-1])
            if np.sum((size <= at[0]) & (count <= at[1])) >= FEWEST_FITTED
            and np.sum((size > at[0]) & (count > at[1])) >= FEWEST_ASKED
        ]
        cuts = [answer[0] for answer in answers if not isinstance(answer, GenperfError)]
        covered = np.array([100.0 * inside(row).mean() for row in cuts])
        of_cuts.append(
            {
                "table": name,
                "cuts": len(cuts),
                "refused": len(answers) - len(cuts),
                "median error, geometric mean, %": f"{gmean([error(row).median() for row in cuts]):.1f}",
                "covers, mean, %": f"{covered.mean():.0f}",
                "cuts that cover less than 80 %": int(np.sum(covered < 80.0)),
                "median width, %": f"{np.median([width(row).median() for row in cuts]):.0f}",
            }
        )
    command = f"{COMMAND} --sizes"
    frames = {"table": pd.DataFrame(lines), "cuts": pd.DataFrame(of_cuts), "missed": pd.concat(missed)}
    return page("far-sizes", globals(), command=command, **frames)


def beyond(
    table: gp.Table, size: Array, count: Array, largest_size: float, largest_count: float
) -> tuple[pd.DataFrame, Mask, Mask]:
    """Return what is predicted beyond a size and a count, with what was measured; the rows fitted, and asked about."""
    fitted, asked = (size <= largest_size) & (count <= largest_count), (size > largest_size) & (count > largest_count)
    points = table.take(asked).medians()
    row = gp.fit(table.take(fitted)).predict(points.frame[[f.name for f in table.factors]])
    return row.assign(measured=points.measured), fitted, asked


def run(extra_p: bool = False, sizes: bool = False) -> dict[str, str]:
    """Judge the protocols, and P3 and P4. P1 and P2 draw docs/images/extrapolation.png."""
    if sizes:
        return {"far-sizes": far_sizes()}
    python = extra_p_python() if extra_p else None
    asked = " --extra-p" if extra_p else ""
    text, judged, panels = [], [], {}
    for name, protocol_of in PROTOCOLS.items():
        protocol = protocol_of()
        found = joined(protocol, auto(protocol))
        others = {b: joined(protocol, baseline(protocol, b)) for b in BASELINES}
        if python:
            others |= {b: joined(protocol, f) for b, f in extra_p_forecasts(protocol, python).items()}
        scores = {"auto": score(found), **{b: score(rows) for b, rows in others.items()}}
        text.append(table_of(protocol, scores))
        if name in ("P1", "P2"):
            text.append(by_model(found, others["last point"]))
            title = f"{protocol.name}. {protocol.asks}"
            panels[title] = {m: series_errors(rows) for m, rows in {"auto": found, **others}.items()}
        judged.append(found)
    dlperf_rows = [rows for rows in judged if rows.protocol.iloc[0] in ("P1", "P2")]
    text.append("## Verdicts of P1 and P2\n\n" + by_verdict(pd.concat(dlperf_rows)) + "\n")
    text.append("## Verdicts of all protocols above\n\n" + by_verdict(pd.concat(judged)) + "\n")
    draw_error_curves(panels, IMAGES / "extrapolation.png")
    whole = page("extrapolation", command=COMMAND + asked, sections="\n".join(text))
    return {"extrapolation": whole, "pooling": pooling.run()}
