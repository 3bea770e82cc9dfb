"""What a model is: an object that fits tables; and those of one form: families, the generic expression, formulas."""

from abc import ABC, abstractmethod
from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import ClassVar, Self

import numpy as np
from msgspec import structs

from genperf import estimate, metrics
from genperf.errors import FitError, GenperfError, Note, attempted
from genperf.estimate import FitOptions, feasibility_of
from genperf.expression import Expression
from genperf.models import MODELS, family_named, held_at
from genperf.models.generic import MAX_GROWN, STRUCTURES, Structure, generic, interactions, products_of, structures
from genperf.models.user import user_expression
from genperf.panel import Table
from genperf.panel.table import by_content, design_notes, following_counts, one_at_a_time, varying_apart
from genperf.prediction import Ensemble, Member, central_times, schema_of
from genperf.result import FitResult
from genperf.table import Factor
from genperf.vocabulary.names import canonical_of, column_of

#: Groups that a worker is handed at once, where they are solved together: enough that handing over costs little.
TABLES_PER_TASK = 200
#: Expressions that are worth trying, simplest first, and what is to be said of them.
Written = tuple[Sequence[Expression], list[Note]]


def refuse_one_value(table: Table) -> None:
    """Raise a `FitError` where no factor varies; its hint is which runs to add: `workers=8 and 16`."""
    if any(f.distinct > 1 for f in table.factors):
        return
    scale = table.panel.counted or next(iter(table.numeric), None)
    more = f"{scale.name}={2 * scale.upper:g} and {4 * scale.upper:g}" if scale is not None else "two more values"
    fault = "every factor has one value, so nothing can be said of any other"
    raise FitError(fault, where=table.source, hint=f"measure {more}; three values or more give a useful interval")


@dataclass(frozen=True)
class Model(ABC):
    """A model that can be fitted."""

    name: str  #: What the user calls it: a name, or a formula.
    options: FitOptions  #: How its constants are found.
    #: Of the tables' further quantities, by name.
    further: Mapping[str, "Model"] = field(default_factory=dict, kw_only=True)

    def prepared(self, table: Table) -> Self:
        """Return the model with what it must know of a whole table before its groups are fitted."""
        return self

    def tables_per_task(self, table: Table) -> int:
        """Return how many groups a worker is handed at once: one, where they are not fitted together."""
        return 1

    def request(self, table: Table) -> str:
        """Return how one group is fitted, with what it learns of others, as a text."""
        return self.options.request

    @abstractmethod
    def fit(self, tables: Sequence[Table], seed: int) -> list[FitResult | GenperfError]:
        """Fit each table by itself, its further quantities left out; an error where a table cannot be fitted."""

    def one(self, table: Table, seed: int) -> FitResult:
        """Fit a whole table with its further quantities."""
        (result,) = self.fit([table], seed)
        if isinstance(result, GenperfError):
            raise result
        further = {name: model.one(table.further[name], seed) for name, model in self.further.items()}
        return replace(result, further=further)

    def groups(self, tables: Sequence[Table], seed: int) -> list[FitResult | str]:
        """Fit each group with its further quantities; a text is the reason why one could not be fitted.

        A further quantity that cannot be fitted leaves a note: the group keeps its main one.
        """
        groups: list[FitResult | str] = []
        for result, table in zip(self.fit(tables, seed), tables, strict=True):
            if isinstance(result, GenperfError):
                groups.append(result.message)
                continue
            further, notes = {}, list(result.notes)
            for name, model in self.further.items():
                if name not in table.further:
                    notes.append(Note(f"{name} was never measured here", "further_not_fitted"))
                    continue
                (fitted,) = model.fit([table.further[name]], seed)
                if isinstance(fitted, GenperfError):
                    notes.append(Note(f"{name} is not fitted: {fitted.message}", "further_not_fitted"))
                else:
                    further[name] = fitted
            groups.append(replace(result, further=further, notes=tuple(notes)) if self.further else result)
        return groups

    def reused(self, before: FitResult | None, table: Table, seed: int) -> FitResult | None:
        """Return an earlier result, with the legend of the table, if its rows, model, options and seed are the same."""
        if before is None:
            return None
        schema = before.schema
        identity = (before.model, before.seed, before.options.get("request"), schema.sha256, schema.mapping)
        same = identity == (self.name, seed, self.request(table), table.sha256, table.mapping)
        quantities = table.further.items()
        same = same and all(self.further[name].reused(before.further.get(name), t, seed) for name, t in quantities)
        if same and schema.legend != table.legend:
            return replace(before, schema=structs.replace(schema, legend=table.legend))
        return before if same else None

    def assembled(self, table: Table, ensemble: Ensemble, seed: int) -> FitResult:
        """Return the result of fitted members, and refuse one that is not above zero where it was measured."""
        medians = table.medians()
        predicted, measured = ensemble.fitted or (central_times(ensemble.members, medians.columns), medians.measured)
        if not np.all(np.isfinite(predicted) & (predicted > 0.0)):
            name, hint = table.target.name, "constants are not negative unless the formula says so"
            fault = f"no constants within the bounds give a {name} above zero at every measured configuration"
            raise FitError(fault, where=table.source, hint=f"check the signs of the terms; {hint}")
        return FitResult(
            schema_of(table),
            ensemble.members,
            ensemble.spread,
            ensemble.evidence,
            model=self.name,
            options={"request": self.request(table), **ensemble.options},
            seed=seed,
            metrics=metrics.fit_errors(predicted, measured),
            notes=(*table.notes, *ensemble.notes),
            feasibility=None if table.failures.empty else feasibility_of(table),
        )


class ExpressionModel(Model):
    """A model whose expression follows from the factors of a table."""

    #: Whether the expressions follow from the factors alone, and not from the rows.
    from_factors: ClassVar[bool] = True

    @abstractmethod
    def expressions(self, table: Table) -> Written:
        """Return the expressions for a table in which a factor varies, with notes on what they leave out."""

    def tables_per_task(self, table: Table) -> int:
        """Return how many groups a worker is handed at once: many where they are solved together."""
        try:
            expressions, _ = self.expressions(table)
        except GenperfError:
            return 1
        return TABLES_PER_TASK if self._together(expressions) else 1

    def fit(self, tables: Sequence[Table], seed: int) -> list[FitResult | GenperfError]:
        """Fit each table by itself; see `genperf.fitting.Model`.

        Tables for which the model is one and the same linear expression, over equally many configurations, are solved
        together: the results are those that each alone would have.
        """
        fitted: dict[int, Ensemble | GenperfError] = {}
        # Series are often measured at the same values, and an expression follows from the factors alone.
        written_for: dict[tuple[Factor, ...], Written] = {}
        alike: dict[tuple[Expression, int], list[int]] = {}
        notes: dict[int, list[Note]] = {}
        in_order = [by_content(table) for table in tables]
        for i, table in enumerate(in_order):
            try:
                if not self.from_factors or table.factors not in written_for:
                    refuse_one_value(table)
                    written_for[table.factors] = self.expressions(table)
                expressions, notes[i] = written_for[table.factors]
                if self._together(expressions):
                    estimate.affordable(expressions, len(table.medians()))
                    alike.setdefault((expressions[0], len(table.medians())), []).append(i)
                else:
                    fitted[i] = self._estimate(expressions, table, seed)
            except GenperfError as error:
                fitted[i] = error
        for (expression, _), places in alike.items():
            batch = estimate.estimate_alike(expression, [in_order[i] for i in places], self.options)
            fitted.update(zip(places, batch, strict=True))
        return [attempted(self._result, table, fitted[i], seed, notes.get(i, [])) for i, table in enumerate(tables)]

    def _together(self, expressions: Sequence[Expression]) -> bool:
        """Return whether tables with these expressions are solved together."""
        return len(expressions) == 1 and estimate.at_once(expressions[0], self.options)

    def _estimate(self, expressions: Sequence[Expression], table: Table, seed: int) -> Ensemble:
        """Fit one table."""
        return estimate.estimate(expressions, table, self.options, seed)

    def _result(self, table: Table, fitted: Ensemble | GenperfError, seed: int, notes: Sequence[Note]) -> FitResult:
        """Return the result of one fitted member."""
        if isinstance(fitted, GenperfError):
            raise fitted
        lambda_option = {} if self.options.lam in (None, "cv") else {"lambda_by": "given"}
        complete = structs.replace(fitted, options={**fitted.options, **lambda_option}, notes=(*notes, *fitted.notes))
        return self.assembled(table, complete, seed)


class FamilyModel(ExpressionModel):
    """A family of `genperf.models.MODELS`."""

    def expressions(self, table: Table) -> Written:
        """Return the family's expressions for a table, and which factors it goes without."""
        family = family_named(self.name)
        # Phases that are measured change the expression, and are fitted another way.
        alone = [] if fitted_phases(table, self.name) else family.expressions(table.panel)
        expressions = held_at(alone, self.options.fix)
        unread = _unread(expressions, table)
        left_out = [n for n in family.left_out(table.panel) if column_of(n, unread) is None]
        lacks = f"'{self.name}' goes without {', '.join(left_out)}, which the table lacks"
        ignores = f"'{self.name}' does not read {', '.join(unread)}; auto and generic do"
        notes = [Note(lacks, "left_out")] if left_out else []
        notes += [Note(ignores, "unread")] if unread else []
        if any(map(_divides_passes, expressions)):
            text = "no column measures the passes: forward is taken for a third of them, backward for the rest"
            if "input" in MODELS[self.name].phases:
                text += "; reading the input, where it is not hidden, is part of them"
            notes.append(Note(text, "passes"))
        return expressions, notes

    def _result(self, table: Table, fitted: Ensemble | GenperfError, seed: int, notes: Sequence[Note]) -> FitResult:
        """Return the result of one fitted member, with a note of the terms that the runs do not determine."""
        if isinstance(fitted, Ensemble):
            notes = [*notes, *_undetermined_notes(fitted.members[0])]
        return super()._result(table, fitted, seed, notes)

    def _estimate(self, expressions: Sequence[Expression], table: Table, seed: int) -> Ensemble:
        """Fit one table: its phases where columns of them were read, else its total."""
        # The candidates of a family are laws of a few constants: choosing one is no reason to choose λ as well.
        options = self.options
        if options.lam is None:
            options = structs.replace(options, lam=options.strength)
        if fitted_phases(table, self.name):
            return estimate.estimate_phases(MODELS[self.name], table, options, seed)
        return estimate.estimate(expressions, table, options, seed, MODELS[self.name].choice)


def _divides_passes(expression: Expression) -> bool:
    """Return whether a forward and a backward pass have one constant, so that their ratio is an assumption."""
    read = {term.name: term.names for term in expression.terms}
    passes = [read.get(name, frozenset()) for name in ("forward", "backward")]
    return not passes[0].isdisjoint(passes[1] & {*expression.constant_names})


def _undetermined_notes(member: Member) -> list[Note]:
    """Name the terms with a constant that the runs do not determine: hidden behind others, or of their shape."""
    terms = [term.name for term in member.expression.terms if not term.names.isdisjoint(member.unidentified)]
    unknown, them = f"these runs do not determine {' and '.join(terms)}", "them" if len(terms) > 1 else "it"
    why = f"other terms hide {them} or grow alike, and beyond the runs nothing is known of {them}"
    return [Note(f"{unknown}: {why}", "undetermined")] if terms else []


def _unread(expressions: Sequence[Expression], table: Table) -> list[str]:
    """Return the factors that vary and no expression reads, without those such as nodes that follow from the others."""
    read = {name for expression in expressions for name in expression.factors}
    frame, varied = table.frame, [f.name for f in table.factors if f.distinct > 1 and f.name not in read]
    read_factors = [f.name for f in table.factors if f.name in read]
    settings = len(frame[read_factors].drop_duplicates())
    follow = [n for n in varied if canonical_of(n) and len(frame[[*read_factors, n]].drop_duplicates()) == settings]
    return [name for name in varied if name not in follow] if read_factors else []


class GenericModel(ExpressionModel):
    """The generic expression; its structure is chosen by cross-validation where the options say so."""

    from_factors: ClassVar[bool] = False

    def expressions(self, table: Table) -> Written:
        """Return the structures that are worth trying, without factors whose effects no configuration determines."""
        following = following_counts(table.medians())
        expressions, notes = estimate.fewer_factors(table, lambda factors: self._structures(factors, following))
        return expressions, [*design_notes(table), *notes]

    def _estimate(self, expressions: Sequence[Expression], table: Table, seed: int) -> Ensemble:
        """Fit one table; where the structure is free, products may grow interactions."""
        growth = estimate.NO_GROWTH
        several = sum(f.distinct > 1 for f in table.numeric) > 1
        if self.options.structure == "auto" and several and not self.options.fix and one_at_a_time(table.medians()):
            return self._sum_and_product(expressions, table, seed)
        if self.options.structure in ("auto", "grown"):
            medians, read = table.medians(), {name for e in expressions for name in e.factors}
            used_factors = [f for f in table.factors if f.name in read]
            offered = interactions(used_factors, medians.columns, following_counts(medians))
            bases = tuple(e for e in expressions if products_of(e) in range(1, MAX_GROWN + 1))
            alone = self.options.structure == "grown"
            # The sizes of constants are learned in place of λ, so not where one is requested; nor of a single product
            # with interactions, whose sizes are learned instead.
            learns = not alone and self.options.lam is None
            sized = tuple(e for e in expressions if learns and products_of(e) >= (2 if offered else 1))
            growth = estimate.GrowthRules(bases, offered, alone, sized)
        return estimate.estimate(expressions, table, self.options, seed, growth=growth)

    def _sum_and_product(self, expressions: Sequence[Expression], table: Table, seed: int) -> Ensemble:
        """Fit both forms that runs of one factor at a time allow, as members of one weight."""
        options = structs.replace(self.options, lam="cv" if self.options.lam is None else self.options.lam)
        medians, read = table.medians(), {name for e in expressions for name in e.factors}
        varying = [f for f in varying_apart(medians) if f.name in read]
        factors = [structs.replace(f, role="intrinsic") if f.numeric else f for f in varying]
        added = generic(factors, Structure("separable"))
        multiplied = next((e for e in expressions if products_of(e) == 1), expressions[0])
        forms = [("a product of effects", multiplied)]
        if len(added.constants) <= len(medians):
            forms.insert(0, ("a sum of effects", added))
        ensembles = [(label, estimate.estimate([form], table, options, seed)) for label, form in forms]
        weight = 1.0 / len(ensembles)
        members = tuple(structs.replace(fit.members[0], weight=weight, label=label) for label, fit in ensembles)
        fits = [fit for _, fit in ensembles]
        spread = max((fit.spread for fit in fits), key=lambda spread: spread.misfit)
        return structs.replace(fits[0], members=members, spread=spread)

    def _structures(self, factors: Sequence[Factor], following: Collection[str]) -> list[Expression]:
        """Return the expressions of the requested structure over some factors, constants of `--fix` held."""
        wanted, candidates = self.options.structure, structures(factors)
        if wanted == "grown":
            candidates = [s for s in candidates if s.name == "product"][:MAX_GROWN]
        elif wanted != "auto":
            named = [s for s in candidates if s.name == wanted]
            candidates = named or [Structure(s) for s in STRUCTURES if s == wanted]
        return [generic(factors, s, following=following).with_fixed(self.options.fix) for s in candidates]


class FormulaModel(ExpressionModel):
    """A formula of the user's; its constants are found by name."""

    def expressions(self, table: Table) -> Written:
        """Return the formula as an expression over the table's factors."""
        fix, count = self.options.fix, len(table.medians())
        return [user_expression(self.name, table.panel, fix=fix, configurations=count)], []


def fitted_phases(table: Table, model: str) -> dict[str, str]:
    """Return the columns that a model fits each on its own, by the phase they measure; none but for families."""
    phases = MODELS[model].phases if model in MODELS else {}
    return {phase: column for phase, column in table.phases.items() if phase in phases}
