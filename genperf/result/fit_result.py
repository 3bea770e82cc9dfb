"""What came back from a fit: frozen, printable, and able to predict. It never calls the solver."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from pathlib import Path
from types import MappingProxyType
from typing import TYPE_CHECKING, Any, ClassVar

import numpy as np

from genperf.arrays import AnyArray, Index, Objects
from genperf.errors import LISTED, GenperfError, Note, TableError, attempted, counted, did_you_mean
from genperf.panel import Panel
from genperf.panel.configurations import typical_run
from genperf.panel.question import Requested, question
from genperf.prediction import Band, Evidence, Member, PredictedFrom, cells_of, predict
from genperf.prediction.member import by_label
from genperf.prediction.schema import Query, query_of
from genperf.table.cells import Cells, Source, frame_of
from genperf.table.clean import labels
from genperf.words.numbers import error_text

if TYPE_CHECKING:
    import pandas as pd
    from statsmodels.iolib.summary import Summary


#: What replaces the held-out error where nothing could be held out.
UNKNOWN = "held-out error not known"
UNTESTED = f"{UNKNOWN}; genperf validate measures it"


class Result:
    """What one model and the models of groups have in common; `genperf` imports the rooms above lazily."""

    if TYPE_CHECKING:

        @property
        def group(self) -> tuple[str, ...]:
            """The group columns; () for one model, which counts as one group with the key () that did not fail."""

        @property
        def failures(self) -> Mapping[tuple[str, ...], str]:
            """The groups that could not be fitted, and why."""

        @property
        def results(self) -> Mapping[tuple[str, ...], FitResult]:
            """The models by the values of the group columns."""

    def predict(
        self,
        data: str | Path | pd.DataFrame | Mapping[str, Any] | None = None,
        interval: float = 0.9,
        band: Band = "prediction",
        **values: Any,
    ) -> pd.DataFrame:
        """Predict the target; of groups each row by the model of its group.

        Parameters
        ----------
        data : path, DataFrame or mapping, optional
            A column per factor, and the group columns: without these every group predicts every row. Or values by
            name, lists being combined each with each; factors left open are those of a measured run, as in `ask`.
        interval : float
            Nominal coverage, above 0 and below 1.
        band : {"prediction", "confidence"}
            Of a new run, or of the mean.
        **values
            Instead of `data`: values by name, `predict(workers=[32, 64])`.

        Returns
        -------
        DataFrame
            The given columns, then the target by its name (`time`), `lower` and `upper` in its unit, of each further
            quantity its value and the ends of its interval as `NAME`, `NAME_lower`, `NAME_upper`, then `verdict`,
            `reason` and `fits` (the probability that a run does not fail). Of a DataFrame it has the index, unless
            every group predicts every row.

        Raises
        ------
        TableError
            Where a group is unknown, a table lacks a factor, or a value is not one the model can take.
        """
        if (data is None) == (not values):
            what = "values are given twice" if values else "nothing is requested"
            raise TableError(what, hint="predict(workers=32), or predict({'workers': [32, 64]}), or predict(table)")
        import pandas as pd

        frame = frame_of(self.predict_columns(values if data is None else data, interval, band))
        # `runs["predicted"] = …` puts each value beside its row, also of rows that were sorted or chosen.
        return frame.set_axis(data.index) if isinstance(data, pd.DataFrame) and len(data) == len(frame) else frame

    @np.errstate(under="ignore")
    def predict_columns(
        self,
        data: str | Path | Source | pd.DataFrame | Mapping[str, Any],
        interval: float = 0.9,
        band: Band = "prediction",
        refused: list[str] | None = None,
    ) -> dict[str, Cells]:
        """Predict as `predict` does, into columns by name: nothing imports pandas for it.

        Where `refused` is given, groups that the question leaves open and that cannot be predicted are left out, and it
        gets why.

        Examples
        --------
        >>> runs = pd.DataFrame({"workers": [1, 2, 4, 8], "seconds": [9.0, 5.0, 3.0, 2.0]})
        >>> result = gp.fit(gp.read_table(runs, time="seconds", extrinsic="workers"), model="amdahl")
        >>> result.predict_columns({"workers": [8, 16]})["time"].round(3)
        array([2. , 1.5])
        """
        return self._predicted(cells_of(data, self.first.schema), interval, band, isinstance(data, Mapping), refused)

    @property
    def first(self) -> FitResult:
        """The model, or that of the first group: all groups have the same columns."""
        if not self.results:
            raise TableError("no group was fitted", hint="; ".join(list(self.failures.values())[:1]) or None)
        return next(iter(self.results.values()))

    def requested(self, at: Mapping[str, str]) -> Requested:
        """Return a question under the columns of the models and those that name their groups."""
        keys = zip(*self.results, strict=True)
        return question(self.first.panel, at, {name: {*texts} for name, texts in zip(self.group, keys, strict=True)})

    def of_group(self, key: tuple[str, ...]) -> FitResult:
        """Return the model of a group."""
        if key not in self.results:
            key_text, fitted = ", ".join(key), [", ".join(other) for other in self.results]
            if why := self.failures.get(key):
                raise TableError(f"group {key_text} was not fitted: {why}")
            hint = did_you_mean(key_text, fitted) or f"the groups are {'; '.join(fitted[:LISTED])}"
            raise TableError(f"there is no group {key_text}", hint=hint)
        return self.results[key]

    def _predicted(
        self, source: Source, interval: float, band: Band, fill: bool, refused: list[str] | None
    ) -> dict[str, Cells]:
        """Predict each row by its group's model; a row that leaves a group column open, by every group that fits."""
        groups = {column: labels(source.columns[column]) for column in self.group if column in source.columns}
        left_open = len(groups) < len(self.group)
        if left_open:
            source, groups = self._for_every_group(source, groups)
        rows = rows_by_group(groups, len(source.lines))
        attempts = {
            key: attempted(predict, self.of_group(key), source.take(of_group), interval, band, fill)
            for key, of_group in rows.items()
        }
        failures = {key: error for key, error in attempts.items() if isinstance(error, GenperfError)}
        if failures and (refused is None or not left_open or len(failures) == len(attempts)):
            raise next(iter(failures.values()))
        if refused is not None:
            refused += [f"{', '.join(key)} is not predicted: {error.message}" for key, error in failures.items()]
        predictions = [prediction for prediction in attempts.values() if not isinstance(prediction, GenperfError)]
        source_rows = np.concatenate([rows[key] for key in attempts if key not in failures])
        if failures:
            predicted_rows = np.sort(source_rows)
            groups = {column: cells[predicted_rows] for column, cells in groups.items()}
            source = source.take(predicted_rows)
        # A further quantity is missing in a group without it. The work of a step, which may follow from the factors in
        # some groups alone, is shown where all have it.
        further = dict.fromkeys(name for fit in self.results.values() for name in fit.further_names)
        for prediction in predictions:
            missing = [name for name in further if name not in prediction]
            prediction.update({name: np.full(len(prediction["lower"]), np.nan) for name in missing})
        shared = [name for name in predictions[0] if all(name in prediction for prediction in predictions)]
        to_source_order = np.argsort(source_rows)
        joined = {name: np.concatenate([p[name] for p in predictions])[to_source_order] for name in shared}
        # The given columns stand before the prediction's, which take the place of any of the same name.
        replaced = {*self.group, *(name for fit in self.results.values() for name in fit.predicted_names)}
        unpredicted = {name: cells for name, cells in source.columns.items() if name not in replaced}
        return {**groups, **unpredicted, **{name: cells for name, cells in joined.items() if name not in self.group}}

    def _for_every_group(self, source: Source, levels: Mapping[str, Objects]) -> tuple[Source, dict[str, Objects]]:
        """Return the rows, each once for every group that has its `levels`, and the group columns of these rows."""
        pairs: list[tuple[dict[str, str], int]] = []
        for key in self.results:
            group = dict(zip(self.group, key, strict=True))
            fitting = [cells == group[column] for column, cells in levels.items()]
            rows = np.flatnonzero(np.all(fitting, axis=0)) if fitting else np.arange(len(source.lines))
            pairs += [(group, row) for row in rows.tolist()]
        if not pairs:
            levels_text = ", ".join(f"{column}={cells[0]}" for column, cells in levels.items())
            examples = "; ".join(", ".join(key) for key in list(self.results)[:LISTED])
            raise TableError(f"no group has {levels_text}", hint=f"the groups are {examples}")
        groups = {column: np.array([key[column] for key, _ in pairs], dtype=object) for column in self.group}
        return source.take(np.array([row for _, row in pairs])), groups

    def report(self, path: str | Path, **options: Any) -> Path:
        """Write the page: `genperf.report`."""
        import genperf

        return Path(genperf.report(self, path, **options))


@dataclass(frozen=True, eq=False)
class FitResult(Result, PredictedFrom):
    """A fitted model.

    Attributes
    ----------
    model : str
        Family, `auto`, or the user's formula.
    options : dict
        Loss, penalty, λ, solver, structure, as used.
    metrics : dict of str to float
        On the rows it was fitted to: mape and median_ape in %, rmse in seconds, r2.

    Examples
    --------
    >>> runs = pd.DataFrame({"workers": [1, 2, 4, 8], "seconds": [9.0, 5.0, 3.0, 2.0]})
    >>> table = gp.read_table(runs, time="seconds", extrinsic="workers")
    >>> result = gp.fit(table, model="amdahl")
    >>> print(result.best.expression.text(result.best.values))
    1 + 7.999/workers
    >>> result.predict({"workers": 16})[["workers", "time", "verdict"]].round(3)
       workers  time verdict
    0     16.0   1.5 caution
    """

    model: str
    options: dict[str, Any]
    seed: int
    metrics: dict[str, float]
    notes: tuple[Note, ...] = ()
    further: Mapping[str, FitResult] = field(default_factory=dict, kw_only=True)
    #: The group columns: none, as of one group of the key (), which did not fail.
    group: ClassVar[tuple[str, ...]] = ()
    failures: ClassVar[Mapping[tuple[str, ...], str]] = MappingProxyType({})

    @property
    def is_formula(self) -> bool:
        """Whether one formula is the prediction: of a family or the user's, not of an average."""
        return len(self.members) == 1 and self.model != "auto"

    @property
    def best(self) -> Member:
        """The member of largest weight."""
        return max(self.members, key=lambda m: m.weight)

    @property
    def held_out_error(self) -> float | None:
        """The mean error on held-out measurements in %, or None where nothing could be held out.

        Of a table of many factors: over configurations that cross-validation held out. Otherwise: at the largest scale,
        predicted from the smaller ones; the largest error of several scales.
        """
        error = self.options.get("held_out_error")
        if isinstance(error, int | float):
            return float(error)
        worst = self._worst_look_back
        return None if worst is None else 100.0 * float(np.expm1(worst.error))

    @property
    def tested(self) -> str:
        """The held-out error in words."""
        error = self.held_out_error
        return UNKNOWN if error is None else f"held-out error {error_text(error, 1)}"

    @property
    def held_out_of(self) -> str:
        """What the held-out error is of: what was predicted from what; empty where nothing was held out."""
        if self.held_out_error is None:
            return ""
        worst = self._worst_look_back
        if worst is None or isinstance(self.options.get("held_out_error"), int | float):
            return "configurations held out by cross-validation"
        return f"{worst.factor}={worst.held_out:g} predicted from the smaller ones; the final fit includes it"

    @property
    def _worst_look_back(self) -> Evidence | None:
        return max(self.evidence, key=lambda look_back: look_back.error, default=None)

    @property
    def panel(self) -> Panel:
        """What the factors mean: which one counts the workers, what the work is, what follows what."""
        return self.schema.panel

    def query(self, at: Mapping[str, Any] | pd.DataFrame | None = None) -> Query:
        """Return configurations with values for the factors that were left out: see `genperf.panel.configurations`.

        Values by name are combined each with each; of none, it is one typical run.

        Examples
        --------
        >>> runs = pd.DataFrame({"gpus": [1, 8, 16, 32], "nodes": [1, 1, 2, 4], "t": [2.0, 1.1, 1.06, 1.03]})
        >>> result = gp.fit(gp.read_table(runs, time="t", extrinsic="gpus,nodes"), model="a/gpus + c")
        >>> result.query({"gpus": [8, 64]}).columns["nodes"].tolist(), result.query({"nodes": [8]}).columns["gpus"]
        ([1.0, 8.0], array([64.]))
        """
        if at is None or not len(at):
            at = {name: [value] for name, value in typical_run(self.panel, {}).items()}
        return query_of(cells_of(at, self.schema), self.schema, fill=True)

    @property
    def results(self) -> dict[tuple[str, ...], FitResult]:
        """The model by its key, as of groups."""
        return {(): self}

    def blind_by(self, notes: tuple[str, ...]) -> FitResult:
        """Return the model that answers a question of which no run shows something."""
        return replace(self, unheeded=notes) if notes else self

    def explain(self, at: Any = None, **options: Any) -> Any:
        """Return the parts of a predicted value: `genperf.explain`."""
        import genperf

        return genperf.explain(self, at, **options)

    def plot(self, at: Mapping[str, Any] | None = None, **options: Any) -> Any:
        """Draw the predicted value along the count of workers with its band: `genperf.plots.scaling`."""
        import genperf

        return genperf.plots.scaling(self, self.explain(at, knee=True).scaling, **options)

    def summary(self, interval: float = 0.9) -> Summary:
        """Return the model and its constants as statsmodels shows a regression, with `as_text`, `as_html`, `as_latex`.

        Examples
        --------
        >>> runs = pd.DataFrame({"workers": [1, 2, 4, 8], "seconds": [9.0, 5.0, 3.0, 2.0]})
        >>> result = gp.fit(gp.read_table(runs, time="seconds", extrinsic="workers"), model="amdahl")
        >>> print(result.summary().as_text().strip().splitlines()[0].strip())
        amdahl: time (s)
        """
        from statsmodels.iolib.summary import Summary
        from statsmodels.iolib.table import SimpleTable

        tables = Summary()
        target, options = self.schema.target, self.options
        error = "not measured" if self.held_out_error is None else f"{self.held_out_error:.1f} %"
        about = [
            ("Configurations", str(self.schema.configurations), "Held-out error", error),
            ("Loss", str(options.get("loss", "")), "R-squared", f"{self.metrics.get('r2', float('nan')):.4f}"),
            ("Penalty", str(options.get("penalty", "")), "Seed", str(self.seed)),
        ]
        tables.tables.append(SimpleTable(about, title=f"{self.model}: {target.name} ({target.unit})"))
        frame = self.constants(interval)
        rows = [[f"{cell:.4g}" if isinstance(cell, float) else str(cell) for cell in row] for row in frame.to_numpy()]
        ends = f"{100.0 * interval:g} %"
        headers = [{"lower": f"[{ends}", "upper": f"{ends}]"}.get(name, name) for name in frame.columns]
        tables.tables.append(SimpleTable(rows, headers))
        return tables

    def constants(self, interval: float = 0.9) -> pd.DataFrame:
        """Return the fitted constants with their intervals.

        Returns
        -------
        DataFrame
            A row per member and constant. The state is empty, or shows that the constant is at its bound or not
            determined by the data.

        Examples
        --------
        >>> runs = pd.DataFrame({"workers": [1, 2, 4, 8], "seconds": [9.0, 5.0, 3.0, 2.0]})
        >>> result = gp.fit(gp.read_table(runs, time="seconds", extrinsic="workers"), model="amdahl")
        >>> result.constants()[["constant", "value", "unit"]].round(2)
          constant  value unit
        0        c    1.0    s
        1        a    8.0    s
        """
        import pandas as pd

        rows = [row for member in self.members for row in member.constant_rows(interval)]
        return pd.DataFrame(rows, columns=["member", "constant", "value", "lower", "upper", "unit", "state"])

    def _headline(self) -> str:
        configurations = counted(self.schema.configurations, "configuration")
        return f"{self.model}: fitted to {configurations} of {self.schema.source}; {self.tested}"

    def __repr__(self) -> str:
        return f"<FitResult {self._headline()}>"

    def __str__(self) -> str:
        schema = self.schema
        lines = [self._headline()]
        if len(self.members) == 1:
            lines.append(f"{schema.target.name} = {self.best.expression.text(self.best.values)}")
        else:
            lines.append("members: " + ", ".join(f"{name} {100 * share:.0f} %" for name, share in self.shares()[:6]))
        return "\n".join([*lines, *(f"note: {n}" for n in self.notes)])

    def shares(self) -> list[tuple[str, float]]:
        """Return the shares of the members by what messages call them, largest first; equal names are added up."""
        return [(labelled.label, labelled.weight) for labelled in by_label(self.members)]

    def _repr_html_(self) -> str:
        from html import escape

        return f"<pre>{escape(str(self))}</pre>{self.constants().to_html(index=False, border=0)}"


def rows_by_group(groups: Mapping[str, AnyArray], rows: int) -> dict[tuple[str, ...], Index]:
    """Return the rows of each group by its values, which are columns of labels; all rows where nothing groups them."""
    places: dict[tuple[str, ...], list[int]] = {}
    for row, key in enumerate(zip(*(cells.tolist() for cells in groups.values()), strict=True)):
        places.setdefault(key, []).append(row)
    return {key: np.array(group_rows) for key, group_rows in places.items()} if groups else {(): np.arange(rows)}


@dataclass(frozen=True, eq=False)
class GroupedResult(Result):
    """One fitted model per group."""

    #: The group columns.
    group: tuple[str, ...]
    results: dict[tuple[str, ...], FitResult]
    failures: dict[tuple[str, ...], str] = field(default_factory=dict)  #: Groups that could not be fitted, and why.

    def __len__(self) -> int:
        return len(self.results)

    def __getitem__(self, key: str | tuple[str, ...]) -> FitResult:
        return self.of_group((key,) if isinstance(key, str) else tuple(key))

    def blind_by(self, notes: tuple[str, ...]) -> GroupedResult:
        """Return the models that answer a question of which no run shows something."""
        return replace(self, results={key: result.blind_by(notes) for key, result in self.results.items()})

    def explain(self, at: Any = None, **options: Any) -> dict[tuple[str, ...], Any]:
        """Return the parts of each group's predicted value, by the group's values: `genperf.explain`."""
        return {key: result.explain(at, **options) for key, result in self.results.items()}

    def plot(self, at: Mapping[str, Any] | None = None) -> Any:
        """Draw the predicted value of each group along the count of workers: `genperf.plots.groups`."""
        import genperf

        return genperf.plots.groups({key: fit.scaling for key, fit in self.explain(at, knee=True).items()})

    def __repr__(self) -> str:
        failed = f", {counted(len(self.failures), 'group')} not fitted" if self.failures else ""
        return f"<GroupedResult {counted(len(self.results), 'group')} of {', '.join(self.group)}{failed}>"

    def __str__(self) -> str:
        errors = sorted(r.held_out_error for r in self.results.values() if r.held_out_error is not None)
        median = f"median held-out error {errors[len(errors) // 2]:.1f} %" if errors else UNTESTED
        lines = [f"{counted(len(self), 'group')} of {', '.join(self.group)}; {median}"]
        for key, result in list(self.results.items())[:LISTED]:
            share = result.options.get("pooled_share")
            pooled = "" if share is None else f", pooled share {100 * share:.0f} %"
            configurations = counted(result.schema.configurations, "configuration")
            lines.append(f"  {', '.join(key)}: {configurations}, {result.tested}{pooled}")
        if len(self) > LISTED:
            lines.append(f"  and {counted(len(self) - LISTED, 'group')} more")
        for name in dict.fromkeys(name for result in self.results.values() for name in result.further):
            count = sum(name in result.further for result in self.results.values())
            lines.append(f"  {name}: fitted in {count} of {counted(len(self), 'group')}")
        failures = list(self.failures.items())[:LISTED]
        return "\n".join([*lines, *(f"  {', '.join(key)}: not fitted, {why}" for key, why in failures)])

    def frame(self) -> pd.DataFrame:
        """Return a row per group: the group columns, configurations, held-out error (%), and why it was not fitted."""
        import pandas as pd

        rows = [(*key, r.schema.configurations, r.held_out_error, "") for key, r in self.results.items()]
        rows += [(*key, 0, float("nan"), why) for key, why in self.failures.items()]
        return pd.DataFrame(rows, columns=[*self.group, "configurations", "held-out error (%)", "not fitted"])

    def _repr_html_(self) -> str:
        table = self.frame().to_html(index=False, border=0, na_rep="–", float_format="{:.3g}".format, max_rows=60)
        return f"<p><strong>{len(self.results)} fitted groups</strong></p>{table}"
