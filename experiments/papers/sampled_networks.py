"""Kavarakuntla et al. on the core experiment: the figures of its results page, judged as its protocol has it."""

from __future__ import annotations

from statistics import median

from experiments.accuracy.three_frameworks import (
    ALL,
    BETWEEN,
    COMBINATIONS,
    COMBINED,
    FRAMEWORKS,
    LARGEST,
    NETWORKS,
    PAGE,
    kept,
)
from experiments.papers.claim import MEASURED, Claim, verdict

#: The paper's own comparison.
OTHERS = ("random-forest", "svr")
SHOWN = ("generic", *OTHERS, "auto")
DATA = "data/core_experiment.csv"
SAMPLE = (
    f"160 configurations of 40 sampled networks on 1 to 8 workers of an emulated cluster, in each framework (`{DATA}`, "
    "[protocol](protocols/core-experiment.md), written before the measurements; figures of "
    f"[results](results/{PAGE.name}))"
)


def errors(framework: str, question: str) -> dict[str, float]:
    """Return the mean error of every model, %: the median over split seeds."""
    rows = [row for row in kept() if row["rows"] == framework and row["predicted"].startswith(question)]
    return {model: median(float(row[model]) for row in rows) for model in SHOWN}


def _judged(label: str, framework: str, question: str) -> tuple[bool, list[str]]:
    found = errors(framework, question)
    return found["generic"] < min(found[m] for m in OTHERS), [label, *(f"{found[m]:.1f} %" for m in SHOWN)]


def _claim(idea: str, tested: str, outcomes: list[tuple[bool, list[str]]], where: str) -> Claim:
    """Return a claim that holds where the generic model errs less than both others in every case."""
    better = [least for least, _ in outcomes]
    return Claim(
        idea,
        f"{SAMPLE}: {tested}",
        verdict(all(better)),
        f"the generic model errs less than both {where.format(f'{sum(better)} of {len(better)}')}.",
        MEASURED,
        DATA,
        ["mean error", *SHOWN],
        [row for _, row in outcomes],
    )


def between() -> Claim:
    """Judge 5-fold cross-validation on each framework."""
    return _claim(
        "The generic model predicts accurately on TensorFlow, MXNet and PyTorch",
        "5-fold cross-validation. Refuted for a framework where a random forest or SVR errs less.",
        [_judged(framework, framework, BETWEEN) for framework in FRAMEWORKS],
        "on {} frameworks",
    )


def beyond() -> Claim:
    """Judge what lies beyond the measured configurations."""
    outcomes = [
        _judged(f"{framework}, {question}", framework, question)
        for question in (LARGEST, NETWORKS)
        for framework in FRAMEWORKS
    ]
    for factor in COMBINED:
        question = f"{COMBINATIONS}: {factor}"
        outcomes += [_judged(f"{name}, {question}", f"{name}, of all three", question) for name in FRAMEWORKS]
    return _claim(
        "It holds beyond what was measured: at larger counts, for unseen networks and for unseen combinations",
        "6 and 8 workers from at most 4, networks of which nothing was measured, and levels of a factor "
        "that were measured in the two other frameworks only. Refuted where a random forest or SVR errs less.",
        outcomes,
        "in {} cases",
    )


def together() -> Claim:
    """Judge one expression that is fitted to the three frameworks at once."""
    outcomes = [
        _judged(f"{name}, {question}", rows, question)
        for question in (BETWEEN, LARGEST, NETWORKS)
        for name, rows in [(ALL, ALL), *((name, f"{name}, of all three") for name in FRAMEWORKS)]
    ]
    return _claim(
        "One expression for the three frameworks together",
        "the framework is a categorical factor of one table of 480. The errors of all rows, and of each "
        "framework's own. Refuted where a random forest or SVR, fitted to the same table, errs less.",
        outcomes,
        "in {} cases",
    )
