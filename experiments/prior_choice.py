"""Is what `auto` expects of a series chosen for the tables it is judged on? Leave one model out.

    python experiments/prior_choice.py [--seeds 2] [-o docs/results/prior.md]

A short list of settings of the prior is scored on the BERT and on the ResNet series of DLPerf, each in P1 and P2. The
best one on the one network is judged on the other, beside the shipped setting and "last point". Users cannot change
the prior, so that, unlike the other experiments, this one uses the inside of `genperf.series`.
"""

from __future__ import annotations

import argparse
from collections.abc import Iterable
from dataclasses import replace
from pathlib import Path

import numpy as np
import pandas as pd
from extrapolation import TIME, Forecasts, Protocol, baseline, joined, markdown, p1, p2, score
from threadpoolctl import threadpool_limits

import genperf as gp
from genperf.estimate import FitOptions
from genperf.prediction import Ensemble, Schema, cells_of, predict, schema_of
from genperf.series import fit_series, series_of
from genperf.series.prior import EXPECTATIONS, PLAIN, STEPPED, Expectations, Size, Sizes
from genperf.table.cells import frame_of

COMMAND = "python experiments/prior_choice.py"
PROTOCOLS = (p1, p2)
NETWORKS = {"BERT": "bert", "ResNet": "resnet"}
LEVELS = {"lower": 0.05, "time": 0.5, "upper": 0.95}
LAST = "last point"
#: Median and mean error that were asked for, in per cent.
TARGETS = {"P1": (2.5, 4.2), "P2": (7.0, 11.0)}


class _Fitted:
    """What a prediction reads, of an ensemble that is not a result."""

    def __init__(self, ensemble: Ensemble, schema: Schema) -> None:
        self.members, self.spread, self.evidence, self.schema = (
            ensemble.members, ensemble.spread, ensemble.evidence, schema
        )  # fmt: skip


def loaded(step: float, leaving: float, between: float) -> Sizes:
    """Return the sizes with another spread of the step, and other loads of the step and of what is between nodes."""
    return {
        **PLAIN,
        "leaving the node": Size(0.06, step, leaving),
        "between nodes": Size(0.03, 1.0, between),
        "latency": Size(0.03, 1.0, between),
    }


#: Their letters are those of `docs/decisions/series-prior-settings.md`.
SIZES: dict[str, tuple[tuple[float, Sizes], ...]] = {
    "A": ((1.0, PLAIN),),
    "E": ((1.0, STEPPED),),
    "A+E": EXPECTATIONS.settings,
    "D": ((1.0, loaded(1.2, 0.7, 1.2)),),
    "N": ((1.0, loaded(1.0, 1.0, 1.0)),),
}
LOUDER = (0.4, 0.5, 0.7)
SETTINGS: dict[str, Expectations] = {
    f"{name}, {louder:g}": replace(EXPECTATIONS, settings=sizes, louder=louder)
    for name, sizes in SIZES.items()
    for louder in LOUDER
}
SHIPPED = next(name for name, given in SETTINGS.items() if given == EXPECTATIONS)


def forecasts(protocol: Protocol, given: Expectations, seed: int) -> Forecasts:
    """Fit and predict every series as `genperf.fit` does with its own expectations."""
    table = gp.read_table(protocol.train, time=TIME, group=protocol.group, extrinsic=protocol.extrinsic)
    held = {key: rows for key, _, rows in protocol.series()}
    out = {}
    for key, part in table.groups():
        series = series_of(part, FitOptions())
        assert series is not None
        ensemble = fit_series(part, series, seed, given=given)
        asked = held[key][protocol.extrinsic].reset_index(drop=True)
        schema = schema_of(part)
        out[key] = frame_of(predict(_Fitted(ensemble, schema), cells_of(asked, schema)))
    return out


def with_pinball(rows: pd.DataFrame, seed: int) -> pd.DataFrame:
    """Add the mean pinball loss of ln T at the levels that are there; of a point alone, all are that point."""
    measured = np.log(rows[TIME])
    losses = []
    for name, level in LEVELS.items():
        off = measured - np.log(rows[name if name in rows else "time"])
        losses.append(np.maximum(level * off, (level - 1.0) * off))
    return rows.assign(pinball=100.0 * np.mean(losses, axis=0), seed=seed)


def of(network: str, rows: pd.DataFrame) -> pd.DataFrame:
    return rows[rows.config.str.contains(NETWORKS[network])]


def pinball(rows: pd.DataFrame) -> float:
    return float(rows.groupby(["seed", "series"]).pinball.mean().mean())


def mean_score(rows: pd.DataFrame) -> pd.Series:
    """Return median and mean error, coverage and width, each the mean over the seeds."""
    return pd.DataFrame([score(own) for _, own in rows.groupby("seed")]).mean()


def cells(rows: pd.DataFrame) -> list[str]:
    found = mean_score(rows)
    interval = [f"{found.coverage:.0f} %", f"{found.width:.0f} %"] if "coverage" in found else ["–", "–"]
    return [f"{found['median']:.1f} ({found['mean']:.1f})", *interval, f"{pinball(rows):.2f}"]


class Scores:
    """The rows of every setting under every protocol, and what is read from them."""

    def __init__(self, seeds: Iterable[int]) -> None:
        self.rows: dict[tuple[str, str], pd.DataFrame] = {}
        self.names: list[str] = []
        for make in PROTOCOLS:
            protocol = make()
            self.names.append(protocol.name)
            for name, given in SETTINGS.items():
                parts = [with_pinball(joined(protocol, forecasts(protocol, given, s)), s) for s in seeds]
                self.rows[protocol.name, name] = pd.concat(parts, ignore_index=True)
            self.rows[protocol.name, LAST] = with_pinball(joined(protocol, baseline(protocol, LAST)), 0)

    def loss(self, setting: str, network: str) -> float:
        """Return the pinball loss on a network's series relative to last point's, the mean of the protocols."""
        of_both = (
            pinball(of(network, self.rows[p, setting])) / pinball(of(network, self.rows[p, LAST])) for p in self.names
        )
        return float(np.mean(list(of_both)))

    def best(self, network: str) -> str:
        """Return the setting of least loss on a network's series."""
        return min(SETTINGS, key=lambda name: self.loss(name, network))


def settings_table(scores: Scores) -> str:
    head = ["setting", *(f"{p}, {n}" for p in scores.names for n in NETWORKS), *(f"loss, {n}" for n in NETWORKS)]
    body = []
    for name in (*SETTINGS, LAST):
        errors = [cells(of(n, scores.rows[p, name]))[0] for p in scores.names for n in NETWORKS]
        body.append([name, *errors, *(f"{scores.loss(name, n):.3f}" for n in NETWORKS)])
    return markdown(head, body)


def judged_table(scores: Scores) -> str:
    head = ["judged on", "setting", "protocol", "median (mean) error, %", "coverage of 90 %", "width", "pinball"]
    body = []
    for chosen_on, judged_on in (("BERT", "ResNet"), ("ResNet", "BERT")):
        best = scores.best(chosen_on)
        for p in scores.names:
            for label, name in (
                (f"{best} (chosen on {chosen_on})", best),
                (f"{SHIPPED} (shipped)", SHIPPED),
                (LAST, LAST),
            ):
                body.append([judged_on, label, p, *cells(of(judged_on, scores.rows[p, name]))])
    return markdown(head, body)


def out_of_sample(scores: Scores, protocol: str) -> pd.DataFrame:
    """Return the rows of all series, each with the setting chosen on the other network."""
    other = {"BERT": "ResNet", "ResNet": "BERT"}
    return pd.concat([of(n, scores.rows[protocol, scores.best(other[n])]) for n in NETWORKS])


def conclusion(scores: Scores) -> str:
    """Say whether what was asked for is reached without having seen the network."""
    lines = []
    for p in scores.names:
        found = mean_score(out_of_sample(scores, p))
        told = [
            f"a {what} of {limit:g} % is {'reached' if found[what] <= limit else 'not reached'} ({found[what]:.1f} %)"
            for what, limit in zip(("median", "mean"), TARGETS[p], strict=True)
        ]
        lines.append(f"- {p}, chosen on the other network: {', '.join(told)}.")
    lines.append(
        "- The shipped setting was not chosen by this rule. It, and this list, were made with the answers of both "
        "networks in view: its figures are in-sample."
    )
    return "\n".join(lines) + "\n"


def pooled_table(scores: Scores) -> str:
    body = []
    for p in scores.names:
        body.append(["chosen on the other network", p, *cells(out_of_sample(scores, p))])
        for label, name in ((f"{SHIPPED} (shipped)", SHIPPED), (LAST, LAST)):
            body.append([label, p, *cells(scores.rows[p, name])])
    return markdown(["setting", "protocol", "median (mean) error, %", "coverage of 90 %", "width", "pinball"], body)


def spread(scores: Scores) -> str:
    """Say between what the settings' scores on all series lie."""
    lines = []
    for p in scores.names:
        found = pd.DataFrame([mean_score(scores.rows[p, name]) for name in SETTINGS])
        low, high = found.min(), found.max()
        lines.append(
            f"- {p}, all series, over all {len(found)} settings: median {low['median']:.1f} to {high['median']:.1f} %, "
            f"mean {low['mean']:.1f} to {high['mean']:.1f} %, coverage {low.coverage:.0f} to {high.coverage:.0f} %."
        )
    return "\n".join(lines) + "\n"


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--seeds", type=int, default=2, help="fits of every series, whose scores are averaged")
    parser.add_argument("-o", "--output", default="docs/results/prior.md")
    given = parser.parse_args()
    with threadpool_limits(limits=1):  # as every fit of `genperf.fit`: the same bytes
        scores = Scores(range(given.seeds))
    text = [
        "# Does the prior of a series hold on another network?\n",
        f"Made by `{COMMAND}`, with {given.seeds} seeds. Errors are |predicted/measured − 1|; each series counts once. "
        "The pinball loss, in per cent of ln T, is the mean of those of the 5, 50 and 95 % quantiles; last point has "
        "one value for all three.\n",
        "## The settings\n",
        "Median (mean) error in %, and the loss by which one is chosen: its pinball loss over last point's on the same "
        "series,\nthe mean of P1 and P2. Letters: the sizes expected of the overheads "
        "([decision](../decisions/series-prior-settings.md)).\n"
        f"Numbers: how much louder than usual a series may be. Shipped is {SHIPPED}.\n",
        settings_table(scores),
        "## Chosen on one network, judged on the other\n",
        judged_table(scores),
        "## Both halves together: no series judged with a setting that was chosen on its network\n",
        pooled_table(scores),
        "## What it shows\n",
        spread(scores) + conclusion(scores),
    ]
    Path(given.output).parent.mkdir(parents=True, exist_ok=True)
    Path(given.output).write_text("\n".join(text), encoding="utf-8")
    print("\n".join(text))


if __name__ == "__main__":
    main()
