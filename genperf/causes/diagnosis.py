"""`why`: the causes of a slow step, ranked by the evidence of the measured configurations of a table or a model."""

from collections import Counter
from collections.abc import Mapping
from typing import Any

import numpy as np
import pandas as pd
from msgspec import Struct
from msgspec.structs import replace
from scipy.special import logsumexp, softmax

from genperf.arrays import AnyArray, Array, Columns
from genperf.causes.laws import FORMS, NONE, NOTHING_WRONG, SOUND_STEP, CauseEvidence, Form, Runs, evidence_of
from genperf.errors import GenperfError, suggest
from genperf.facts import Cause
from genperf.formula import names_in, parse, values_of
from genperf.models.network import checked_hints, network_of
from genperf.panel import Table
from genperf.panel.configurations import devices_and_nodes
from genperf.panel.legend import same
from genperf.panel.options import phase_seconds
from genperf.panel.panel import Median, Panel, samples_of
from genperf.prediction import PredictedFrom
from genperf.prediction.schema import Schema, schema_of
from genperf.scaling import KINDS
from genperf.table.cells import measure, with_columns
from genperf.table.clean import numbers
from genperf.vocabulary.names import LEVELS, column_named, counts_devices
from genperf.words.numbers import capitalised, join_values
from genperf.words.published import cause_named, causes_heading

#: What a step is scaled by and what a device works on: all other factors are held.
_SCALED = (*LEVELS, "devices_per_node", "batch", "global_batch")
#: The parts of a step in the laws: the phases that must be columns, and those that are added where they are.
_PHASES = {
    "computation": (("forward", "backward"), ()),
    "exchange": (("exchange",), ()),
    "input": (("input",), ("transfer",)),
}

#: Configurations that are read, evenly spaced along the counts: more take seconds, and show the same.
MOST_RUNS = 40
#: Devices of a node that are tried where nothing counts the nodes.
NODE_SIZES = (1.0, 2.0, 4.0, 8.0)
# How much of a diagnosis is shown.
#: Causes that are listed, the likeliest; none of less probability.
MOST_CAUSES = 3
LEAST_PROBABILITY = 0.05
#: A run so many misfits from a law speaks against it.
CONTRADICTING_MISFITS = 2.5
#: A cause with so much of the first one's probability explains the runs as well.
AS_WELL = 0.5


class Diagnosis(Struct, frozen=True):
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

    def to_dict(self) -> dict[str, Any]:
        """Return it as plain values, for JSON."""
        listed = [cause.to_dict() for cause in self.causes]
        return {"none": round(self.none, 3), "runs": self.runs, "sound": self.sound, "causes": listed}

    def __str__(self) -> str:
        lines = [capitalised(causes_heading(self.causes, self.none, self.sound > 0))]
        for place, cause in enumerate(self.causes, 1):
            lines.append(f"{place}. {cause_named(cause)}")
            lines += [f"   for: {cause.supports}", f"   against: {cause.against}", f"   decide by: {cause.decide_by}"]
        return "\n".join(lines)


@np.errstate(under="ignore")
def why(
    runs: Table | PredictedFrom,
    at: Mapping[str, Any] | None = None,
    *,
    sound: Mapping[str, Any] | Table | PredictedFrom | None = None,
    work: str | None = None,
    hints: Mapping[str, str | float] | None = None,
) -> Diagnosis:
    """Return the causes of slow steps, each a law of the time whose evidence the runs give.

    Parameters
    ----------
    runs : Table or FitResult
        Steps at two counts or more; batches, repeats, phases and hints tell more.
    at : mapping, optional
        Levels of the runs; those with most configurations where left open. Counts and batches choose none.
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

    >>> cells = [(n, b, 0.01 * b + 0.1 * 2 * (n - 1) / n) for n in (1, 2, 4, 8) for b in (16, 64)]
    >>> table = gp.read_table(pd.DataFrame(cells, columns=["nodes", "batch", "step_s"]))
    >>> print(gp.why(table).causes[0].cause)
    exchange not overlapped
    """
    chosen = _measured(runs, at, work, hints)
    if sound is not None:
        compared_runs, levels = (runs, {**(at or {}), **sound}) if isinstance(sound, Mapping) else (sound, None)
        chosen = _with_sound_runs(chosen, _measured(compared_runs, levels, work, hints))
    if len(chosen.places) < 2:
        raise GenperfError("one configuration shows no cause", hint="runs at two counts, or with two batches")
    evidence = [form_evidence for form in FORMS if (form_evidence := _evidence(chosen, form)) is not None]
    causes = [form_evidence.form.cause for form_evidence in evidence]
    # All causes are alike before the runs, and the forms of one cause share its probability.
    prior_of_cause = (1.0 - NOTHING_WRONG) / (len({*causes}) - 1)
    priors = [NOTHING_WRONG if cause == NONE else prior_of_cause / causes.count(cause) for cause in causes]
    shares = softmax(np.array([form_evidence.logarithm for form_evidence in evidence]) + np.log(priors))
    chances, best = dict.fromkeys(causes, 0.0), {}
    for place in np.argsort(shares).tolist():
        # The likeliest form of a cause comes last.
        chances[causes[place]] += float(shares[place])
        best[causes[place]] = evidence[place]
    ranked = sorted((cause for cause in chances if cause != NONE), key=lambda cause: -chances[cause])[:MOST_CAUSES]
    likely = tuple(_cause(best[cause], chosen, chances) for cause in ranked if chances[cause] >= LEAST_PROBABILITY)
    slow = int(chosen.slow.sum())
    return Diagnosis(chances[NONE], likely, slow, len(chosen.places) - slow)


def _evidence(runs: Runs, form: Form) -> CauseEvidence | None:
    """Return the evidence for a form, over sizes of a node where none are counted; None if not possible."""
    layouts = {runs.nodes.tobytes(): runs}
    node_sizes = () if runs.nodes_known else NODE_SIZES
    for size in node_sizes:
        # Sizes that give the same nodes are one layout.
        nodes = np.ceil(runs.devices / size)
        layouts[nodes.tobytes()] = replace(runs, nodes=nodes)
    laws = [evidence_of(layout, form) for layout in layouts.values() if form.possible(layout)]
    if not laws:
        return None
    logarithms = np.array([law.logarithm for law in laws])
    # ln of the mean density over the layouts, with the parameters of the likeliest.
    return replace(laws[int(np.argmax(logarithms))], logarithm=float(logsumexp(logarithms) - np.log(len(laws))))


def _measured(
    runs: Table | PredictedFrom, at: Mapping[str, Any] | None, work: str | None, hints: Mapping[str, str | float] | None
) -> Runs:
    """Return the measured steps at given levels, with the phases of a table; of open factors those with most runs."""
    if isinstance(runs, Table):
        # Groups are factors here: their levels are compared, and a batch among them is one.
        columns_of_groups, factors = dict[str, AnyArray](), list(runs.factors)
        for name in runs.group:
            cells = runs.frame[name].to_numpy()
            values, reasons = numbers(cells)
            columns_of_groups[name] = cells if reasons else values
            factors.append(measure(name, "categorical" if reasons else "intrinsic", columns_of_groups[name]))
        runs = replace(runs, frame=with_columns(runs.frame, columns_of_groups), factors=tuple(factors), group=())
    schema = schema_of(runs) if isinstance(runs, Table) else runs.schema
    if not schema.target.is_time:
        raise GenperfError(f"causes are of a slow step, and '{schema.target.column}' is no time", hint="--time COLUMN")
    panel = schema.panel.with_axis
    count = panel.along()
    if not counts_devices(count.name):
        text = f"'{count.name}' counts no devices, and the causes are of steps that several devices make together"
        raise GenperfError(text, hint="a column such as gpus or nodes")
    chosen = _configurations_at(panel, dict(at or {}))
    medians = [panel.medians[j] for j in chosen]
    columns = {name: cells[chosen] for name, cells in panel.measured.items()}
    devices, nodes, assumed = devices_and_nodes(panel, columns)
    # A node that is not told from its devices is one.
    devices = np.maximum(devices, nodes)
    varied = [count.name, *(n for n in _scaling_columns(panel) if n != count.name and len(np.unique(columns[n])) > 1)]
    in_seconds = schema.of_steps or work is not None or samples_of(panel, {}) is not None
    return Runs(
        devices=devices,
        nodes=nodes,
        batch=_work_of_device(schema, panel, columns, devices, work),
        seconds=np.array([m.value for m in medians]),
        scatter=np.array([_scatter(m) for m in medians]),
        slow=np.ones(len(medians), dtype=bool),
        exchange=_exchange(panel, columns, hints or {}) if in_seconds else None,
        jobs=panel.of_jobs,
        phases={phase: _phase(runs, phase, chosen) for phase in _PHASES},
        places=tuple(join_values({n: columns[n][j] for n in varied}) for j in range(len(medians))),
        nodes_known=assumed is None,
    )


def _with_sound_runs(slow: Runs, sound: Runs) -> Runs:
    """Return slow runs together with sound runs of the same program, as a reference."""
    names = ("devices", "nodes", "batch", "seconds", "scatter")
    both: dict[str, Any] = {name: np.concatenate([getattr(slow, name), getattr(sound, name)]) for name in names}
    phases = {name: np.concatenate([values, sound.phases[name]]) for name, values in slow.phases.items()}
    rows = np.repeat([True, False], [len(slow.places), len(sound.places)])
    return replace(slow, **both, slow=rows, phases=phases, places=slow.places + sound.places)


def _scaling_columns(panel: Panel) -> list[str]:
    """Return the columns of the devices, of the nodes, and of the work of a device."""
    nodes = (panel.node(name) for name in _SCALED)
    return [name for node in nodes if node is not None for name in sorted(names_in(node))]


def _configurations_at(panel: Panel, at: dict[str, Any]) -> list[int]:
    """Return the places of the measured configurations with the values `at`, `MOST_RUNS` at most of the whole scale."""
    names = [f.name for f in panel.factors]
    scaled = {*_scaling_columns(panel), panel.along().name}
    requested: dict[str, Any] = {}
    for name, value in at.items():
        column = column_named(panel.column(name), dict.fromkeys(names))
        if column is None:
            raise GenperfError(f"no factor is called '{name}'", hint=suggest(name, names))
        if column not in scaled:
            requested[column] = value
    rows = panel.runs
    matching = [j for j, row in enumerate(rows) if all(same(str(row[n]), str(value)) for n, value in requested.items())]
    if not matching:
        raise GenperfError(f"no run has {join_values(requested)}", hint="measured values of the factors")
    unscaled = [f.name for f in panel.factors if f.distinct > 1 and f.name not in scaled]
    levels = {j: tuple(rows[j][name] for name in unscaled) for j in matching}
    most_frequent = Counter(levels.values()).most_common(1)[0][0]
    chosen = [j for j in matching if levels[j] == most_frequent]
    if len(chosen) > MOST_RUNS:
        chosen.sort(key=lambda j: [float(rows[j][name]) for name in names if name in scaled])
        chosen = [chosen[int(k)] for k in np.linspace(0, len(chosen) - 1, MOST_RUNS).round()]
    return chosen


def _work_of_device(schema: Schema, panel: Panel, columns: Columns, devices: Array, work: str | None) -> Array:
    """Return the work of a device in a step, (rows,): its batch, else W/n of the work W of all, 1/n, or 1."""
    batch = None if panel.of_jobs or work else panel.node("batch")
    if batch is not None:
        return values_of(batch, columns)
    if schema.scaling is not None and KINDS[schema.scaling].shared:
        return 1.0 / devices
    of_all = parse(work, list(columns)).node if work else panel.step.total
    return np.ones(len(devices)) if of_all is None else values_of(of_all, columns) / devices


def _exchange(panel: Panel, columns: Columns, hints: Mapping[str, str | float]) -> float | None:
    """Return the least seconds in which two nodes exchange the message, by hints."""
    network = network_of(checked_hints(hints))
    message = None if network is None else network.message_at(panel, {n: cells[:1] for n, cells in columns.items()})
    return None if network is None or message is None else network.ring_of_two(message)


def _scatter(median: Median) -> float:
    """Return the standard deviation of ln T among repeats, from their range; nan without repeats.

    σ ≈ (ln max - ln min)/d₂(k)     d₂(2) = 1.13, d₂(3) = 1.69, d₂(5) = 2.33, about √k up to ten
    """
    if median.repeats < 2:
        return float("nan")
    return float(np.log(median.highest / median.lowest) / min(np.sqrt(median.repeats), 3.0))


def _phase(table: Table | PredictedFrom, part: str, chosen: list[int]) -> Array:
    """Return the median seconds of a part of a step at some configurations, nan where it was not measured."""
    needed, further = _PHASES[part]
    if not isinstance(table, Table) or not table.phases.keys() >= {*needed}:
        return np.full(len(chosen), np.nan)
    columns = [table.phases[phase] for phase in (*needed, *further) if phase in table.phases]
    seconds = pd.Series(np.sum([phase_seconds(table.frame[column])[0] for column in columns], axis=0))
    return seconds.groupby(table.configuration).median().reindex(chosen).to_numpy(float)


def _cause(evidence: CauseEvidence, runs: Runs, chances: Mapping[str, float]) -> Cause:
    """Return a cause with what speaks for it, and against it: a run far off its law, rivals, what was not measured."""
    form, cause, predicted = evidence.form, evidence.form.cause, evidence.parts["total"]
    # The texts of a form are about the slow configuration of most devices.
    largest = int(np.argmax(np.where(runs.slow, runs.devices, 0.0)))
    shares = {name: _percent(float(time[largest] / predicted[largest])) for name, time in evidence.parts.items()}
    # A form has one parameter that differs from a sound step, or none.
    wrong_factor = next((evidence.values[f"wrong {name}"] for name in form.wrong), 1.0)
    compared_with = "what the hinted rate needs" if runs.exchange is not None else "a usual one"
    values_in_texts = {
        **shares,
        "place": runs.places[largest],
        "usual": compared_with if runs.slow.all() else "that of the sound runs",
        "wrong": wrong_factor,
        "more": _percent(wrong_factor),
    }
    log_ratios = np.log(runs.seconds / predicted)
    farthest, against = int(np.argmax(np.abs(log_ratios))), []
    log_ratio = float(log_ratios[farthest])
    if abs(log_ratio) > CONTRADICTING_MISFITS * SOUND_STEP["misfit"][0]:
        difference = f"{_percent(abs(float(np.expm1(log_ratio))))} {'slower' if log_ratio > 0.0 else 'faster'}"
        against.append(f"the run at {runs.places[farthest]} is {difference} than that")
    rivals = [c for c in chances if c != cause and chances[c] >= AS_WELL * chances[cause]]
    if rivals:
        against.append(f"also likely: {', '.join('no cause' if c == NONE else c for c in rivals)}")
    if len(np.unique(runs.batch[runs.slow])) == 1 and not runs.jobs:
        against.append("one batch was measured: a second one tells computation from exchange")
    supports, decide_by = (text.format(**values_in_texts) for text in (form.supports, form.decide_by))
    return Cause(cause, chances[cause], supports, "; ".join(against) or "nothing in these runs", decide_by)


def _percent(part: float) -> str:
    """Return a part in per cent."""
    return f"{100.0 * part:.0f} %"
