"""A table and a question → the columns' meaning, the series that is meant, and an answer for each measured quantity."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt
import pandas as pd

from genperf.advice.ask import Answer, Question
from genperf.advice.ask import ask as ask_model
from genperf.advice.table_answers import MAX_LISTED, QuantityAnswer, TableAnswer
from genperf.errors import GenperfError, TableError, listed
from genperf.fitting import fit_group, model_of
from genperf.formula import parse, quote_name
from genperf.formula.amounts import amount
from genperf.models.network import checked_hints
from genperf.panel import Panel
from genperf.panel.evidence import sparse
from genperf.panel.measured import Measured, measurement_of_column
from genperf.panel.question import Selection, select
from genperf.panel.reading import Reading, column_named, growth, slope_of
from genperf.panel.runs import is_size
from genperf.panel.tables import Recognised, recognised
from genperf.result import FitResult, GroupedResult, is_model
from genperf.table import Factor, Table, read_table
from genperf.table.cells import Source
from genperf.table.clean import is_number, label, labels
from genperf.table.opened import open_files
from genperf.table.roles import lets_of
from genperf.table.target import TIME_UNITS
from genperf.table.work import taken_as_job
from genperf.vocabulary.headers import DEVICE_WORDS, Header, header_of
from genperf.vocabulary.names import canonical_of, counts_devices
from genperf.words.numbers import join_values, samples_called, three_digits

#: The name of a count that is given without one.
SCALE = "count"
#: The kinds of notes that an answer repeats, of the table and of the fit.
TABLE_NOTES = ("rows_rejected", "runs_failed", "job", "job_likely", "repeats_apart")
FIT_NOTES = ("hint", "hint_contradicted", "outlier", "mixture")
#: Settings that belong to a series beside its scale: where its runs are, and the work of a worker.
_BESIDE = ("workers", "nodes", "devices_per_node", "batch", "global_batch", "micro_batch")
#: Roles that are options of a command, as they are printed.
_SHOWN = ("time", "throughput", "quantity", "unit", "work", "scaling", "intrinsic", "extrinsic", "group", "repeat",
          "status", "where")  # fmt: skip
#: Options by which a user says which columns are factors: then nothing is selected from the table.
_FACTORS = ("intrinsic", "extrinsic", "categorical", "group", "where", "let")


@dataclass(frozen=True)
class SeriesSettings:
    """When the rows that a question selects are answered as a series."""

    #: The exponent of a time below which all workers share one amount of work: they make it fall. A guess.
    falling: float = -0.35
    #: Counts of a series from which it is answered by itself where the table has other rows of several factors.
    least_counts: int = 2
    #: Rows of a table of several factors that is fitted whole. Fewer determine no effects.
    least_rows: int = 8
    #: Rows up to which each quantity of a table that is fitted whole is answered: more take a second each.
    few_rows: int = 16
    #: Rows up to which the other series of a table inform the selected one: more take seconds.
    max_rows: int = 2000
    #: Quantities of which they do, the likeliest: each takes most of a second.
    most_informed: int = 2
    #: Quantities that are fitted: a server's log has dozens, which take 0.1 s each.
    max_quantities: int = 12
    #: Without a question: the next doubling, and so many times the largest count.
    multiples: tuple[int, ...] = (2, 8)


SERIES = SeriesSettings()


def ask(
    table: FitResult | str | Path | pd.DataFrame,
    want: str | None = None,
    at: Mapping[str, Any] | None = None,
    *,
    hints: Mapping[str, str | float] | None = None,
    **configuration: Any,
) -> TableAnswer | Answer:
    """Answer one configuration from a table whose columns are recognised, or from a model.

    Parameters
    ----------
    want : str, optional
        The quantity: a header or a kind; every measured one is answered where omitted, the likeliest first.
    at : mapping, optional
        The configuration, by columns whose names are no identifiers.
    hints : mapping, optional
        Of the network, as for `genperf.fit`: what its exchange should cost is answered as well.

    Raises
    ------
    GenperfError
        Where nothing was measured, nothing is scaled, or the table lacks a level that is requested.

    Examples
    --------
    >>> import pandas as pd
    >>> runs = pd.DataFrame({"gpus": [1, 2, 4, 8], "images_per_s": [410.2, 792.5, 1530.0, 2905.4]})
    >>> answer = ask(runs, gpus=16)
    >>> answer.answers[0].quantity, answer.answers[0].verdict
    ('images_per_s', 'extrapolating-blind')
    """
    wanted = {name: label(value) for name, value in {**(at or {}), **configuration}.items()}
    if isinstance(table, FitResult) or is_model_file(table):
        return ask_fitted(model_of(table), wanted, Question(hints=checked_hints(hints or {})))
    cells = open_files([str(table)]) if isinstance(table, str | Path) else table
    return ask_recognised(recognised(cells), wanted, want, hints=checked_hints(hints or {}))


def is_model_file(source: object) -> bool:
    """Tell whether what is asked is the file of a model, rather than one of a table."""
    return (
        isinstance(source, str | Path)
        and Path(source).suffix == ".json"
        and Path(source).is_file()
        and is_model(source)
    )


def ask_fitted(fitted: FitResult | GroupedResult, at: Mapping[str, str], question: Question | None = None) -> Answer:
    """Answer one configuration from a model; of several groups, from the one that the question names.

    Raises
    ------
    GenperfError
        Where the question names no group.
    """
    groups = dict.fromkeys(fitted.group if isinstance(fitted, GroupedResult) else ())
    named = {column_named(name, groups) or name: text for name, text in at.items()}
    if isinstance(fitted, GroupedResult):
        key = tuple(named.pop(name, "") for name in groups)
        if key not in fitted.results:
            known = "; ".join(", ".join(one) for one in list(fitted.results)[:4])
            raise GenperfError(f"the model has no group {', '.join(key)}", hint=f"--at {', '.join(groups)} of {known}")
        fitted = fitted.results[key]
    if not named or SCALE in named:
        count = fitted.panel.along()
        named[count.name] = named.pop(SCALE, label(SERIES.multiples[0] * count.upper))
    wanted = {name: text if (value := amount(text)) is None else value for name, text in named.items()}
    question = replace(question or Question(), sample=samples_called(fitted.schema.target.throughput))
    return ask_model(fitted, wanted, question)


def ask_recognised(
    opened: Recognised,
    at: Mapping[str, str],
    want: str | None = None,
    question: Question | None = None,
    hints: Mapping[str, str] | None = None,
    seed: int = 0,
) -> TableAnswer:
    """Answer one configuration from a table whose columns are recognised, with roles that were given.

    Parameters
    ----------
    at : mapping of str to str
        The configuration; numbers as `30B` too. Empty for twice the largest count.
    want : str, optional
        As for `ask`.
    hints : mapping of str to str, optional
        As for `genperf.fit`.

    Raises
    ------
    GenperfError
        As `ask` does.
    """
    wanted, source = _with_parts_of_names(opened.source, at), opened.source
    reading = replace(opened, at=wanted, want=want).reading
    wanted = _resolved(reading, wanted)
    reader = _Reader(source, reading, opened.given, question or Question(), dict(hints or {}), seed)
    whole = any(opened.given.get(name) for name in _FACTORS) or "*" in reading.derived.get(reading.scale or "", "")
    selection = None if whole else select(reading, wanted)
    if selection is not None and not reader.is_series(selection):
        selection = None
    return reader.answered(selection, wanted, want, [step.text for step in source.steps])


def _with_parts_of_names(source: Source, at: Mapping[str, str]) -> dict[str, str]:
    """Return a question with what a name in it says, where the table lacks the name: `pipeline-8` is 8 of pipeline."""
    out: dict[str, str] = {}
    for name, text in at.items():
        column = column_named(name, source.columns)
        parts = source.names[column].of(text) if column is not None and column in source.names else {}
        if column is None or not parts or text in labels(source.columns[column]):
            out.setdefault(name, text)
        else:
            out |= {part: label(value) for part, value in parts.items() if part not in at}
    return out


def _resolved(reading: Reading, at: Mapping[str, str]) -> dict[str, str]:
    """Return a question under the columns' names."""
    wanted: dict[str, str] = {}
    for name, text in at.items():
        column = reading.scale if name == SCALE else column_named(name, reading.evidence)
        if column is None:
            known = ", ".join(reading.of("setting", "kind")) or "none"
            raise TableError(f"the table has no setting '{name}'", hint=f"--at with one of {known}")
        wanted[column] = text
    return wanted


@dataclass(frozen=True, eq=False)
class _Reader:
    """A table that is read once for each quantity."""

    source: Source
    reading: Reading
    given: Mapping[str, Any]
    question: Question
    hints: dict[str, str]
    seed: int

    def is_series(self, selection: Selection) -> bool:
        """Tell whether the selected rows are answered as a series along the scale."""
        # What grows with a size of the program is no growth along a count.
        if self.reading.scale is None or selection.open or is_size(self.reading.scale):
            return False
        counts = len(np.unique(self.reading.evidence[self.reading.scale].values[selection.rows]))
        varied = [n for n in self.reading.of("setting", "kind") if self.reading.evidence[n].varies]
        rows = len(selection.rows)
        alone = len(varied) <= 1 or rows < SERIES.least_rows
        sizes = {n: self.reading.evidence[n].texts for n in self.parts(selection) if self.reading.evidence[n].numeric}
        if len(sizes) > 1 and sparse(sizes, self.reading.evidence[self.reading.scale].values):
            # Runs spread over several numbers: hardly one has a series of its own.
            return False
        return counts >= SERIES.least_counts or (alone and counts >= 1)

    def answered(
        self, selection: Selection | None, at: dict[str, str], want: str | None, notes: Sequence[str]
    ) -> TableAnswer:
        """Return the answers of the wanted quantity, or of all."""
        names = [n for n in self.reading.quantities if want is None or n == self.reading.quantities[0]]
        if any(self.given.get(kind) for kind in ("time", "throughput", "quantity")):
            names = names[:1]
        first, table = self.fitted(names[0], selection, at)
        configuration = self._configuration(first, at, selection)
        question = replace(self.question, **self._question(names[0], selection))
        answer = None
        # Of one count there is a value, and no curve to speak of.
        if len(np.unique(self._counts(selection))) > 1 and not is_size(self.reading.scale or ""):
            answer = ask_model(first, configuration, question)
            if question.plan is not None:
                # The count of a plan is that of the other quantities as well.
                configuration = answer.at
                at = {**at, **{n: label(v) for n, v in configuration.items() if n == self.reading.scale}}
        elif question.plan is not None:
            raise GenperfError("a plan needs a series of at least two counts", hint="measure a second count")
        answers = {names[0]: self._value(names[0], first, selection, configuration, answer)}
        if answer is not None and not self._of_steps(first):
            plain = _plain_sentences(answers[names[0]], configuration)
            answers[names[0]] = replace(answers[names[0]], sentences={**plain, "next": answer.sentences["next"]})
        # What follows from an answer by arithmetic is not fitted; a model of several factors takes seconds.
        few = selection is not None or len(self.source.lines) <= SERIES.few_rows
        most = SERIES.max_quantities if few else 1
        if want is None:
            names += [
                n for n in self.reading.of("ratio", "consequence") if self.reading.meanings[n].follows is not None
            ]
        for name in sorted(names[1:], key=lambda n: self.reading.meanings[n].follows is not None):
            value = self._by_arithmetic(name, answers, selection)
            if value is not None:
                answers[name] = value
            elif name not in self.reading.quantities:
                continue
            elif len(answers) < most:
                try:
                    result, _ = self.fitted(name, selection, at)
                    wanted = self._configuration(result, at, selection)
                    answers[name] = self._value(name, result, selection, wanted, None)
                except GenperfError as error:
                    notes = [*notes, f"{name} is not answered: {error.message}"]
        left = [n for n in names if n not in answers and n in self.reading.quantities]
        if left and len(answers) >= most:
            notes = [*notes, f"measured as well, and answered by --want: {listed(left, MAX_LISTED)}"]
        answers = {n: answers[n] for n in names if n in answers}
        kinds = [note.text for note in table.notes if note.kind in TABLE_NOTES]
        kinds += [note.text for note in first.notes if note.kind in FIT_NOTES]
        if "scaling" not in self.given and self.roles(names[0], selection).get("scaling"):
            text = f"'{names[0]}' falls as {self.reading.scale} grows, so all are taken to share one amount of work"
            kinds.append(f"{text}; --scaling weak says otherwise")
        taken = {**(selection.taken if selection is not None else {}), **(answer.taken if answer is not None else {})}
        return TableAnswer(
            self.shown(names[0], selection),
            answer,
            tuple(answers.values()),
            (*notes, *kinds),
            taken,
            tuple(self._others(names[0], selection, at)),
            self._beyond(names[0], first, selection, at),
            self._left_out(selection, list(answers)),
        )

    def _of_steps(self, result: FitResult) -> bool:
        """Tell whether a time is of work that is known, or of a step of devices: no latency of users, no size."""
        known = self.question.work or result.schema.scaling or result.schema.target.throughput
        return bool(known) or not result.schema.target.is_time or counts_devices(self.reading.scale or "")

    def _counts(self, selection: Selection | None) -> npt.NDArray[np.float64]:
        """Return the counts of the scale in the selected rows."""
        values = self.reading.evidence[self.reading.scale or ""].values
        return values if selection is None else values[selection.rows]

    def fitted(self, name: str, selection: Selection | None, at: Mapping[str, str]) -> tuple[FitResult, Table]:
        """Fit the model that answers for one quantity, with the table that it was fitted to."""
        roles = self.roles(name, selection)
        if selection is None:
            table = taken_as_job(read_table(self.source, **roles))
            key = _one_group(table, at)
        else:
            # The other series of the table show what they share: its nodes and its network.
            rows = selection.rows if not roles["group"] else np.ones(len(selection.rows), dtype=bool)
            table = taken_as_job(read_table(self.source.take(np.flatnonzero(rows)), **roles))
            key = self.key(selection)
            if table.group and key not in dict(table.groups()):
                raise TableError(f"no run of {', '.join(key)} ended with a value", where=table.source)
        return fit_group(table, key, self.reading.mapping, self.seed, self.hints), table

    def roles(self, name: str, selection: Selection | None) -> dict[str, Any]:
        """Return the arguments of `read_table` for one quantity."""
        reading = self.reading
        roles: dict[str, Any] = {**self.given, **reading.roles, "skip_bad_rows": True}
        lets = {**lets_of(self.given.get("let")), **reading.derived}
        if name != reading.quantities[0]:
            for role in ("time", "throughput", "quantity", "unit"):
                roles.pop(role, None)
            lets = {n: text for n, text in lets.items() if n == reading.scale or n in lets_of(self.given.get("let"))}
            measured = self._measured(name)
            roles |= measured.roles
            lets |= measured.derived
        if "failed" in reading.roles:
            roles["failed"] = (reading.roles["failed"],)
        if selection is not None:
            roles |= self._series_roles(name, selection, roles)
        roles["let"] = lets
        roles["work"] = roles.get("work") if roles.get("throughput") else None
        return {role: value for role, value in roles.items() if role not in ("delimiter", "aggregate")}

    def _header(self, name: str) -> Header:
        """Return what a column says of itself; a derived one has its header alone."""
        return self.reading.headers.get(name) or header_of(name)

    def _measured(self, name: str) -> Measured:
        reading = self.reading
        return measurement_of_column(
            name, list(reading.meanings), reading.scale, growth(reading, name), reading.headers[name]
        )

    def _series_roles(self, name: str, selection: Selection, roles: Mapping[str, Any]) -> dict[str, Any]:
        """Return the roles of one series: its scale, its nodes and its batch; no kind and no group."""
        reading, scale = self.reading, self.reading.scale or ""
        rows = selection.rows
        beside = [n for n in reading.of("setting") if n != scale and canonical_of(n) in _BESIDE]
        batches = [n for n in beside if "batch" in str(canonical_of(n))]
        # A batch that the question leaves where it is belongs to each worker's work; one that varies freely does not.
        batches = [n for n in batches if self._settled(n, selection)]
        counts = [n for n in beside if canonical_of(n) in ("workers", "nodes", "devices_per_node")]
        informed = len(rows) <= SERIES.max_rows and name in (reading.ranked or (name,))[: SERIES.most_informed]
        out: dict[str, Any] = {
            "extrinsic": [scale, *(n for n in counts if self._settled(n, selection))],
            "intrinsic": batches,
            "categorical": (),
            "group": self.parts(selection) if informed else (),
        }
        header = self._header(name)
        if not batches and "scaling" not in self.given and "work" not in self.given:
            if roles.get("throughput"):
                workers = Panel(tuple(Factor(n, "extrinsic") for n in counts)).workers
                out["work"] = quote_name(scale if workers is None else workers.name)
            elif header.of != "job" and roles.get("time"):
                slope = slope_of(reading.evidence[scale].values[rows], reading.evidence[name].values[rows])
                kind = "strong" if header.of == "step" else "job"
                out["scaling"] = kind if slope < SERIES.falling else None
        return out

    def parts(self, selection: Selection) -> list[str]:
        """Return the columns whose levels name the series of the table."""
        held = {**selection.held, **selection.taken}
        return [n for n in held if self.reading.evidence[n].varies]

    def key(self, selection: Selection) -> tuple[str, ...]:
        """Return the levels of the selected series, as the rows write them."""
        row = int(np.flatnonzero(selection.rows)[0])
        return tuple(str(self.reading.evidence[n].texts[row]) for n in self.parts(selection))

    def _settled(self, name: str, selection: Selection) -> bool:
        """Tell whether a column beside the scale is constant in the series or changes with the scale alone."""
        evidence, counts = self.reading.evidence[name], self.reading.evidence[self.reading.scale or ""]
        pairs = {*zip(counts.texts[selection.rows].tolist(), evidence.texts[selection.rows].tolist(), strict=True)}
        return len(pairs) == len({n for n, _ in pairs}) and "" not in {v for _, v in pairs}

    def shown(self, name: str, selection: Selection | None) -> Reading:
        """Return the reading whose options a user can copy."""
        if selection is None:
            return self.reading
        roles = {
            r: v if isinstance(v, str) else ",".join(v)
            for r, v in self.roles(name, selection).items()
            if v and r in _SHOWN
        }
        return replace(self.reading, roles=roles)

    def _left_out(self, selection: Selection | None, answered: Sequence[str]) -> tuple[str, ...]:
        shown = self.shown(self.reading.quantities[0], selection)
        held = {} if selection is None else {**selection.held, **selection.taken}
        return tuple(n for n in shown.left_out if n not in held and n not in answered)

    def _configuration(self, result: FitResult, at: Mapping[str, str], selection: Selection | None) -> dict[str, Any]:
        """Return the question over the factors of a model."""
        factors = {f.name: f for f in result.schema.factors}
        out: dict[str, Any] = {}
        for name, text in at.items():
            if selection is not None and name not in factors:
                continue
            if name in factors and not factors[name].numeric:
                out[name] = text
            elif name in factors or name not in result.schema.group:
                value = amount(text)
                out[name] = text if value is None else value
        scaled = selection is not None or is_size(self.reading.scale or "")
        if scaled and self.reading.scale not in out and self.question.plan is None:
            out[self.reading.scale or ""] = float(SERIES.multiples[0] * np.nanmax(self._counts(selection)))
        return out if selection is None else {**out, **self._nodes(result, out)}

    def _nodes(self, result: FitResult, at: Mapping[str, Any]) -> dict[str, Any]:
        """Return the nodes that the workers fill, where every run has as many devices on a node."""
        workers, nodes, devices = (result.panel.find(name) for name in ("workers", "nodes", "devices_per_node"))
        if workers is None or nodes is None or devices is None or devices.lower != devices.upper:
            return {}
        if workers.name not in at or {nodes.name, devices.name} & {*at}:
            return {}
        return {nodes.name: float(np.ceil(at[workers.name] / devices.upper)), devices.name: devices.upper}

    def _question(self, name: str, selection: Selection | None) -> dict[str, Any]:
        """Return what the sentences say of the work of a step."""
        work = self.given.get("work")
        roles = self.roles(name, selection)
        rate = bool(roles.get("throughput"))
        constants = {n: float(v) for n, v in (selection.held if selection else {}).items() if is_number(v)}
        return {
            "work": work,
            "sample": self._header(name).counted or "samples",
            # Without a batch each worker does one sample: that time is of no step.
            "steps": not rate or bool(work) or not roles.get("work"),
            "constants": {**constants, **self.question.constants},
            "hints": self.hints,
            "words": self._words(selection),
        }

    def _words(self, selection: Selection | None) -> tuple[str, ...]:
        """Return the texts that all selected rows share, such as the framework and the network."""
        rows = slice(None) if selection is None else selection.rows
        texts = [{*map(str, one.texts[rows])} for one in self.reading.evidence.values() if not one.numeric]
        return tuple(one.pop() for one in texts if len(one) == 1)

    def _value(
        self,
        name: str,
        result: FitResult,
        selection: Selection | None,
        configuration: Mapping[str, Any],
        answer: Answer | None,
    ) -> QuantityAnswer:
        """Return the predicted value of a column in its own unit."""
        target = result.schema.target
        at = answer.at if answer is not None else _completed(result, configuration)
        row = result.predict({n: [v] for n, v in at.items()}, self.question.interval).iloc[0]
        lets = self.roles(name, selection)["let"]
        rate = bool(target.throughput)
        names = ("throughput", "throughput_lower", "throughput_upper") if rate else (target.name, "lower", "upper")
        value, lower, upper = (float(row[n]) for n in names)
        header = self._header(name)
        source_name = target.throughput or target.column
        if source_name in lets and source_name != name:
            # The derived column is c·value or c/value: its factor at the target is that of the value 1.
            columns = {**{n: np.array([v], dtype=float) for n, v in at.items() if is_number(v)}, name: np.ones(1)}
            factor = float(np.ravel(parse(lets[source_name], list(columns)).evaluate(columns))[0])
            if rate:
                value, lower, upper = value / factor, lower / factor, upper / factor
            else:
                value, lower, upper = factor / value, factor / upper, factor / lower
        elif header.kind == "time" and target.is_time:
            numerator, denominator = TIME_UNITS[self.roles(name, selection).get("unit") or "s"]
            value, lower, upper = (x * denominator / numerator for x in (value, lower, upper))
        verdict, reason = str(row["verdict"]), str(row["reason"])
        unit = _unit(name, header, self.roles(name, selection))
        # A value of a wide table has no header of its own.
        called = "throughput" if rate and name in self.source.headers and not header.kind else name
        made = QuantityAnswer(called, unit, value, lower, upper, verdict, reason, at, {})
        sentences = dict(answer.sentences) if answer is not None else _plain_sentences(made, configuration)
        return replace(made, sentences=sentences)

    def _beyond(self, name: str, result: FitResult, selection: Selection | None, at: Mapping[str, str]) -> str:
        """Return a line about the last of the multiples, where the question has no count."""
        scale = self.reading.scale
        if selection is None or scale is None or scale in at:
            return ""
        count = float(SERIES.multiples[-1] * np.nanmax(self._counts(selection)))
        value = self._value(name, result, selection, {scale: count}, None)
        return f"At {join_values({scale: count})}, {value.line}."

    def _by_arithmetic(
        self, name: str, answers: Mapping[str, QuantityAnswer], selection: Selection | None
    ) -> QuantityAnswer | None:
        """Return the answer of a column that follows from one that is answered and from settings; None for others."""
        follows = self.reading.meanings[name].follows
        bases = [n for n in follows.factors if n in answers] if follows is not None else []
        if follows is None or len(bases) != 1:
            return None
        (base,), evidence = bases, self.reading.evidence
        rows = selection.rows if selection is not None else np.ones(len(evidence[name].values), dtype=bool)
        settings = {n: power for n, power in follows.factors.items() if n != base}
        answer, power = answers[base], follows.factors[base]
        constant = np.log(evidence[name].values) - power * np.log(evidence[base].values)
        moved, wanted = 0.0, answer.at
        for setting, exponent in settings.items():
            values = np.log(evidence[setting].values)
            if setting in wanted:
                constant, moved = constant - exponent * values, moved + exponent * float(np.log(wanted[setting]))
            elif np.ptp(values[rows]) > 0.0:
                return None
        factor = float(np.exp(np.nanmedian(constant[rows]) + moved))
        ends = sorted(factor * end**power for end in (answer.lower, answer.upper))
        unit = _unit(name, self.reading.headers[name], self.roles(name, selection))
        made = replace(
            answer, quantity=name, unit=unit, value=factor * answer.value**power, lower=ends[0], upper=ends[1]
        )
        return replace(made, sentences=_plain_sentences(made, answer.at))

    def _others(self, name: str, selection: Selection | None, at: dict[str, str]) -> list[str]:
        """Return a line for each other series that the question may mean."""
        if selection is None:
            return []
        lines = []
        for levels in selection.others:
            try:
                other = select(self.reading, {**at, **levels})
                result, _ = self.fitted(name, other, at)
                value = self._value(name, result, other, self._configuration(result, at, other), None)
            except GenperfError:
                continue
            lines.append(f"{join_values(levels)}: {value.line}")
        return lines


def _completed(result: FitResult, at: Mapping[str, Any]) -> dict[str, Any]:
    """Return a whole configuration, the factors left out as in a measured run."""
    return {name: cells[0] for name, cells in result.query(at).columns.items()}


def _unit(name: str, header: Header, roles: Mapping[str, Any]) -> str:
    """Return the unit of a column, as an answer writes it."""
    if header.kind == "time":
        return str(roles.get("unit") or "s")
    if header.kind == "quantity":
        return header.unit
    if header.kind != "rate":
        return ""
    device = next((w for w in DEVICE_WORDS if name.lower().rstrip(")").endswith(w)), "worker")
    return f"{header.counted or 'samples'}/{header.unit}" + (f"/{device}" if header.shared else "")


def _plain_sentences(answer: QuantityAnswer, configuration: Mapping[str, Any]) -> dict[str, str]:
    """Return what to expect and how sure that is, of a quantity beside the first."""
    unit = f" {answer.unit}".rstrip()
    sure = "it can be trusted" if answer.verdict == "ok" else "do not rely on it"
    sure = "be careful" if answer.verdict == "caution" else sure
    return {
        "expect": f"Expect {answer.quantity} of {three_digits(answer.value)}{unit} at {join_values(configuration)}.",
        "sure": f"A new run lies between {three_digits(answer.lower)} and {three_digits(answer.upper)}{unit}; "
        f"{sure} ({answer.verdict}){f': {answer.reason}' if answer.reason else ''}.",
    }


def _one_group(table: Table, at: Mapping[str, str]) -> tuple[str, ...]:
    """Return the group that a question names; the one of most rows where it leaves some open."""
    if not table.group:
        return ()
    groups = dict(table.groups())
    named = {name: value for name, value in at.items() if name in table.group}
    fits = [key for key in groups if all(key[table.group.index(n)] == v for n, v in named.items())]
    if not fits:
        known = "; ".join(", ".join(key) for key in list(groups)[:4])
        text = ", ".join(f"{n}={v}" for n, v in named.items())
        raise TableError(f"no run has {text}", hint=f"one of {known}")
    return max(fits, key=lambda key: len(groups[key]))
