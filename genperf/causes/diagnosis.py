"""`why`: the causes of a slow step, ranked by the evidence of the runs."""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np
from msgspec.structs import replace
from scipy.special import softmax

from genperf.causes.laws import CAUSES, FORMS, NONE, Evidence, Runs, evidence_of
from genperf.causes.runs import beside, measured, with_groups
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
    #: The largest probability that is printed: other causes than these exist.
    surest: float = 0.99
    #: A run so many misfits from a law speaks against it.
    deviations: float = 2.5
    #: A cause with so much of the first one's probability explains the runs as well.
    as_well: float = 0.5


WHY = WhySettings()


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
        """The cause with its probability."""
        return f"{self.cause} ({_percent(min(self.probability, WHY.surest))})"

    def to_dict(self) -> dict[str, Any]:
        """Return it as plain values, for JSON."""
        plain = {"for" if name == "supports" else name: value for name, value in vars(self).items()}
        return {**plain, "probability": round(self.probability, 3)}


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
        return f"nothing in these runs differs from {compared} ({_percent(min(self.none, WHY.surest))})"

    def to_dict(self) -> dict[str, Any]:
        """Return it as plain values, for JSON."""
        listed = [cause.to_dict() for cause in self.causes]
        return {"none": round(self.none, 3), "runs": self.runs, "sound": self.sound, "causes": listed}

    def __str__(self) -> str:
        lines = [capitalised(self._heading)]
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
    if sound is not None:
        other, levels = (runs, {**(at or {}), **sound}) if isinstance(sound, Mapping) else (sound, None)
        chosen = beside(chosen, _measured(other, levels, work, hints))
    if len(chosen.places) < 2:
        raise GenperfError("one configuration shows no cause", hint="runs at two counts, or with two batches")
    evidence = [evidence_of(chosen, form) for form in FORMS if form.possible(chosen)]
    causes = [one.form.cause for one in evidence]
    share = (1.0 - CAUSES.none) / (len({*causes}) - 1)
    priors = [CAUSES.none if cause == NONE else share / causes.count(cause) for cause in causes]
    shares = softmax(np.array([one.logarithm for one in evidence]) + np.log(priors))
    chances, best = dict.fromkeys(causes, 0.0), {}
    for place in np.argsort(shares).tolist():
        # The likeliest form of a cause comes last.
        chances[causes[place]] += float(shares[place])
        best[causes[place]] = evidence[place]
    ranked = sorted((c for c in chances if c != NONE), key=lambda c: -chances[c])[: WHY.most]
    listed = tuple(_cause(best[c], chosen, chances) for c in ranked if chances[c] >= WHY.least)
    slow = int(chosen.slow.sum())
    return Diagnosis(chances[NONE], listed, slow, len(chosen.places) - slow)


def _measured(
    runs: Table | Fitted, at: Mapping[str, Any] | None, work: str | None, hints: Mapping[str, str] | None
) -> Runs:
    """Return the runs of a table, with its phases, or those that a model keeps."""
    if not isinstance(runs, Table):
        return measured(runs.schema, at, work=work, hints=hints)
    table = with_groups(runs)
    return measured(replace(schema_of(table), mapping=dict(table.mapping)), at, work=work, hints=hints, table=table)


def _cause(evidence: Evidence, runs: Runs, chances: Mapping[str, float]) -> Cause:
    """Return a cause with what speaks for it and against it."""
    form = evidence.form
    row = int(np.argmax(np.where(runs.slow, runs.devices, 0.0)))
    parts = {name: _percent(float(part[row] / evidence.parts["total"][row])) for name, part in evidence.parts.items()}
    wrong = next((evidence.values[f"wrong {name}"] for name in form.wrong), 1.0)
    usual = "what the hinted rate needs" if runs.exchange is not None else "a usual one"
    about = {
        **parts,
        "place": runs.places[row],
        "usual": usual if runs.slow.all() else "that of the sound runs",
        "wrong": wrong,
        "more": _percent(wrong),
    }
    supports, against = form.supports.format(**about), _against(evidence, runs, chances)
    return Cause(form.cause, chances[form.cause], supports, against, form.decide_by.format(**about))


def _against(evidence: Evidence, runs: Runs, chances: Mapping[str, float]) -> str:
    """Return what speaks against a cause: a run that its law misses, causes as likely, what was not measured."""
    cause = evidence.form.cause
    away = np.log(runs.seconds / evidence.parts["total"])
    row = int(np.argmax(np.abs(away)))
    texts = []
    if abs(away[row]) > WHY.deviations * CAUSES.misfit:
        much = _percent(abs(float(np.expm1(away[row]))))
        texts.append(f"the run at {runs.places[row]} is {much} {'slower' if away[row] > 0.0 else 'faster'} than that")
    others = [c for c in chances if c != cause and chances[c] >= WHY.as_well * chances[cause]]
    if others:
        texts.append(f"as likely: {', '.join('no cause' if c == NONE else c for c in others)}")
    if len(np.unique(runs.batch[runs.slow])) == 1 and not runs.jobs:
        texts.append("one batch was measured: a second one tells computation from exchange")
    return "; ".join(texts) or "nothing in these runs"


def _percent(part: float) -> str:
    """Return a part in per cent."""
    return f"{100.0 * part:.0f} %"
