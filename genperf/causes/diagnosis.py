"""`why`: the causes of a slow step, ranked by the evidence of the runs."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np
from msgspec.structs import replace

from genperf.causes.laws import (
    BATCH,
    CAUSES,
    COMPUTATION,
    INPUT,
    INSIDE,
    LINK,
    NONE,
    OVERLAP,
    START,
    STRAGGLERS,
    Evidence,
    Form,
    Runs,
    evidence_of,
)
from genperf.causes.runs import Measured, beside, measured, with_groups
from genperf.errors import GenperfError
from genperf.prediction import Fitted
from genperf.prediction.schema import schema_of
from genperf.table import Table
from genperf.words.numbers import capitalised


@dataclass(frozen=True)
class WhySettings:
    """How much of a diagnosis is shown."""

    #: Causes that are listed, the likeliest; none of less probability.
    most: int = 3
    least: float = 0.05
    #: A run so many misfits from a law speaks against it.
    deviations: float = 2.5
    #: A cause with so much of the first one's probability explains the runs as well.
    as_well: float = 0.5


WHY = WhySettings()

#: The one run that decides about a cause; `{place}` is the slow configuration of most devices.
DECIDE = {
    OVERLAP: "a profile of one step at {place}: does the exchange begin before the backward pass ends",
    LINK: "a bandwidth test between two nodes (nccl-tests, iperf): compare it with the nominal rate",
    INPUT: "one run at {place} with synthetic data, or data in memory",
    COMPUTATION: "one run of one device with synthetic data, on this machine and on the sound one",
    BATCH: "one run at {place} with twice the batch of a device: samples per second rise",
    STRAGGLERS: "the step time of each device in one run at {place}: the slowest beside the median",
    INSIDE: "one run of as many devices, one on each node",
    START: "one run at {place} with twice the steps",
}


@dataclass(frozen=True)
class Cause:
    """A cause, with its probability among the causes and none, and what speaks for and against it."""

    cause: str
    probability: float
    supports: str
    against: str
    decide_by: str

    @property
    def named(self) -> str:
        """The cause with its probability, which is never all: other causes than these exist."""
        return f"{self.cause} ({_chance(self.probability)})"

    def to_dict(self) -> dict[str, Any]:
        """Return it as plain values, for JSON."""
        return {
            "cause": self.cause,
            "probability": round(self.probability, 3),
            "for": self.supports,
            "against": self.against,
            "decide_by": self.decide_by,
        }


@dataclass(frozen=True)
class Diagnosis:
    """Why steps are slow: the causes, the likeliest first."""

    #: The probability that nothing is wrong.
    none: float
    causes: tuple[Cause, ...]
    #: Configurations that are explained, and sound ones beside them.
    runs: int
    sound: int

    @property
    def needed(self) -> bool:
        """Whether a cause is likelier than none."""
        return bool(self.causes) and self.causes[0].probability > self.none

    @property
    def sentence(self) -> str:
        """The likeliest cause, and what decides."""
        first = self.causes[0] if self.causes else None
        if first is None or not self.needed:
            rule_out = "" if first is None else f"; first to rule out: {first.cause}, by {first.decide_by}"
            return f"{self._heading}{rule_out}"
        second = "".join(f", or {cause.named}" for cause in self.causes[1:2])
        return f"{self._heading}{second}: {first.supports}; to decide: {first.decide_by}"

    @property
    def _heading(self) -> str:
        if self.needed:
            return f"the likeliest cause is: {self.causes[0].named}"
        compared = "the sound runs" if self.sound else "a sound step"
        return f"nothing in these runs differs from {compared} ({_chance(self.none)})"

    def to_dict(self) -> dict[str, Any]:
        """Return it as plain values, for JSON."""
        listed = [cause.to_dict() for cause in self.causes]
        return {"none": round(self.none, 3), "runs": self.runs, "sound": self.sound, "causes": listed}

    def __str__(self) -> str:
        lines = [f"{capitalised(self._heading)}."]
        for place, cause in enumerate(self.causes, 1):
            lines.append(f"{place}. {cause.named}")
            lines += [f"   for: {cause.supports}", f"   against: {cause.against}", f"   decide by: {cause.decide_by}"]
        return "\n".join(lines)


def why(
    runs: Table | Fitted,
    at: Mapping[str, Any] | None = None,
    *,
    sound: Mapping[str, Any] | Table | Fitted | None = None,
    work: str | None = None,
    hints: Mapping[str, str] | None = None,
) -> Diagnosis:
    """Return the causes of slow steps, each a law of the time whose evidence the runs give.

    Parameters
    ----------
    runs : Table or FitResult
        Steps at two counts or more; batches, repeats, phases and hints tell more.
    at : mapping, optional
        Levels of the runs; those with most configurations where left open.
    sound : mapping, Table or FitResult, optional
        Runs of the same program that are not slow: other levels in the table, or a table of their own. Without them a
        slow computation is not distinguished from a large one.
    work : str, optional
        The samples of a step, as in `fit`.
    hints : mapping, optional
        Of the network, as in `fit`.

    Raises
    ------
    GenperfError
        Where the runs have one configuration, or are no times.

    Examples
    --------
    Steps that grow by the same 0.1 s at each batch, whatever there is to hide it behind:

    >>> import genperf as gp
    >>> import pandas as pd
    >>> cells = [(n, b, 0.01 * b + 0.1 * 2 * (n - 1) / n) for n in (1, 2, 4, 8) for b in (16, 64)]
    >>> table = gp.read_table(pd.DataFrame(cells, columns=["nodes", "batch", "step_s"]))
    >>> print(gp.why(table).causes[0].cause)
    exchange not overlapped
    """
    chosen = _measured(runs, at, work, hints)
    if isinstance(sound, Mapping):
        chosen = beside(chosen, _measured(runs, {**(at or {}), **sound}, work, hints))
    elif sound is not None:
        chosen = beside(chosen, _measured(sound, None, work, hints))
    return diagnosed(chosen)


def _measured(
    runs: Table | Fitted, at: Mapping[str, Any] | None, work: str | None, hints: Mapping[str, str] | None
) -> Measured:
    """Return the runs of a table, with its phases, or those that a model keeps."""
    if not isinstance(runs, Table):
        return measured(runs.schema, at, work=work, hints=hints)
    table = with_groups(runs)
    return measured(replace(schema_of(table), mapping=dict(table.mapping)), at, work=work, hints=hints, table=table)


def diagnosed(chosen: Measured) -> Diagnosis:
    """Return the probabilities of the causes that can be: those of equal prior and their evidence."""
    runs = chosen.runs
    if len(chosen.places) < 2:
        raise GenperfError("one configuration shows no cause", hint="runs at two counts, or with two batches")
    forms = [form for form in CAUSES.forms if _possible(form, runs)]
    causes = [form.cause for form in forms]
    share = (1.0 - CAUSES.none) / (len({*causes}) - 1)
    priors = {cause: CAUSES.none if cause == NONE else share / causes.count(cause) for cause in causes}
    evidence = [evidence_of(runs, form) for form in forms]
    weights = np.array([one.logarithm + np.log(priors[one.form.cause]) for one in evidence])
    shares = np.exp(weights - weights.max())
    shares /= shares.sum()
    chances, best = dict.fromkeys(priors, 0.0), {}
    for place in np.argsort(shares).tolist():
        # The likeliest form of a cause comes last.
        chances[causes[place]] += float(shares[place])
        best[causes[place]] = evidence[place]
    ranked = sorted((c for c in chances if c != NONE), key=lambda c: -chances[c])[: WHY.most]
    place = chosen.places[_largest(runs)]
    listed = tuple(
        Cause(
            c, chances[c], _supports(best[c], chosen), _against(best[c], chosen, chances), DECIDE[c].format(place=place)
        )
        for c in ranked
        if chances[c] >= WHY.least
    )
    return Diagnosis(chances[NONE], listed, int(runs.slow.sum()), int((~runs.slow).sum()))


def _cause(evidence: Evidence, chosen: Measured, chances: Mapping[str, float]) -> Cause:
    """Return a cause with what speaks for it and against it."""
    name, place = evidence.form.cause, chosen.places[_largest(chosen.runs)]
    against = _against(evidence, chosen, chances)
    return Cause(name, chances[name], _supports(evidence, chosen), against, DECIDE[name].format(place=place))


def _possible(form: Form, runs: Runs) -> bool:
    """Tell whether the runs can show a cause at all."""
    each = runs.devices / runs.nodes
    return {
        OVERLAP: bool(runs.devices.max() > 1.0),
        LINK: bool(runs.devices.max() > 1.0),
        STRAGGLERS: bool(runs.devices.max() > 1.0),
        # A sample that always took so long is no slow one: sound runs show how long it should take.
        COMPUTATION: not runs.slow.all(),
        # Sound runs have the same batches.
        BATCH: bool(runs.slow.all()) and not runs.jobs and (runs.devices.max() > 1.0 or "exchange" not in form.wrong),
        INSIDE: bool(np.ptp(each) > 0.0),
        START: runs.jobs,
    }.get(form.cause, True)


def _largest(runs: Runs) -> int:
    """Return the slow run of most devices."""
    return int(np.argmax(np.where(runs.slow, runs.devices, 0.0)))


def _chance(probability: float) -> str:
    """Return a probability in per cent, below 100."""
    return _percent(min(probability, 0.99))


def _percent(part: float) -> str:
    """Return a part in per cent."""
    return f"{100.0 * part:.0f} %"


def _supports(evidence: Evidence, chosen: Measured) -> str:
    """Return what speaks for a cause: what the runs say of its parameter."""
    runs, row = chosen.runs, _largest(chosen.runs)
    place, values = chosen.places[row], evidence.values
    wrong = next((values[f"wrong {name}"] for name in evidence.form.wrong), 1.0)
    parts = {name: float(part[row] / evidence.parts["total"][row]) for name, part in evidence.parts.items()}
    sound = "sound runs" if not runs.slow.all() else "hints" if runs.exchange is not None else ""
    expected = {"sound runs": "that of the sound runs", "hints": "what the hinted rate needs"}
    if evidence.form.cause == INPUT:
        if evidence.form.prefetches:
            return f"a step takes as long as its input, {wrong:.2g} x the computation, whatever the count"
        return f"each sample takes {_percent(wrong)} longer than its computation, and nothing hides that"
    return {
        OVERLAP: f"the exchange takes {_percent(parts['exposed'])} of a step at {place}, and no computation hides it",
        LINK: f"the exchange takes {wrong:.2g} x {expected.get(sound, 'a usual one')}",
        COMPUTATION: f"a sample takes {wrong:.2g} x the computation of the sound runs",
        BATCH: f"{_percent(max(parts['fixed'], parts['exposed']))} of a step at {place} stay with a larger batch",
        STRAGGLERS: f"waiting for the slowest device takes {_percent(parts['waits'])} of a step at {place}",
        INSIDE: f"devices that share a node compute {_percent(wrong)} longer",
        START: f"{_percent(parts['fixed'])} of the time at {place} are the same at every count",
    }[evidence.form.cause]


def _against(evidence: Evidence, chosen: Measured, chances: Mapping[str, float]) -> str:
    """Return what speaks against a cause: a run that its law misses, causes as likely, what was not measured."""
    runs, cause = chosen.runs, evidence.form.cause
    away = np.log(runs.seconds / evidence.parts["total"])
    row = int(np.argmax(np.abs(away)))
    texts = []
    if abs(away[row]) > WHY.deviations * CAUSES.misfit:
        slower = "slower" if away[row] > 0.0 else "faster"
        texts.append(
            f"the run at {chosen.places[row]} is {_percent(abs(float(np.expm1(away[row]))))} {slower} than that"
        )
    others = [c for c in chances if c != cause and chances[c] >= WHY.as_well * chances[cause]]
    if others:
        named = ["no cause" if c == NONE else c for c in others]
        texts.append(f"as likely: {', '.join(named)}")
    if len(np.unique(runs.batch[runs.slow])) == 1 and not runs.jobs:
        texts.append("one batch was measured: a second one tells computation from exchange")
    return "; ".join(texts) or "nothing in these runs"
