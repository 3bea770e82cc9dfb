"""A fitted model as data and formulas of other languages: what a page evaluates as `predict` does, and exports.

The page's side of it is `assets/engine.js`, with `assets/discrepancy.js` for what the expressions leave out.
"""

import json
import keyword
import math
import re
from collections.abc import Collection, Mapping, Sequence
from statistics import NormalDist
from typing import Any

import numpy as np
import numpy.typing as npt
from msgspec import Struct
from msgspec.structs import asdict

from genperf.attribution.equation import equation
from genperf.attribution.terms import serving
from genperf.discrepancy import Discrepancy, Stack
from genperf.discrepancy.stack import LEAST_MORE, NORMAL, TOGETHER
from genperf.errors import GenperfError
from genperf.facts import ends_of
from genperf.formula import JAVASCRIPT, LANGUAGES, Name, Node, call, in_language, parse, render
from genperf.prediction import Member, discrepancies_of, stack_of, verdict
from genperf.prediction.bands import POINTS
from genperf.prediction.feasibility import SAME
from genperf.prediction.verdict import COMBINATIONS
from genperf.result import FitResult
from genperf.result.arrays import encoded
from genperf.words.numbers import rate_unit
from genperf.words.verdict import REASONS

#: What the page has of a basis as it is.
OF_BASIS = ("several_forms", "series", "followers", "settled", "unidentified", "unheeded")


class PageFormula(Struct, frozen=True):
    """JavaScript over the factors x, the constants c and the terms t; in the page's data it is a number."""

    script: str


def formula(node: Node, *names: Mapping[str, str]) -> PageFormula:
    """Write a formula down, each name as one of the mappings has it, `workers` as `x[0]`; later mappings win."""
    return PageFormula(in_language(node, {k: v for values in names for k, v in values.items()}, JAVASCRIPT))


def with_formulas(data: Any) -> tuple[str, str]:
    """Return the data of a page, which may hold arrays, as JSON, and the JavaScript of its formulas, each once."""
    numbers: dict[str, int] = {}

    def plain(value: Any) -> Any:
        """Return an array as lists, and a formula as its number: the next one where it is new."""
        return numbers.setdefault(value.script, len(numbers)) if isinstance(value, PageFormula) else value.tolist()

    text = json.dumps(data, ensure_ascii=False, allow_nan=False, separators=(",", ":"), default=plain)
    return text, "const FORMULAS=[\n" + ",\n".join(f"(x,c,t)=>{script}" for script in numbers) + "];"


class PageModel:
    """A fitted model whose formulas are written down for a page."""

    def __init__(self, result: FitResult) -> None:
        self.result = result
        self.places = {f.name: i for i, f in enumerate(result.schema.factors)}
        self.factors = {name: f"x[{i}]" for name, i in self.places.items()}

    def formula(self, text: str) -> PageFormula:
        """Write down a formula over the factors."""
        return formula(parse(text).node, self.factors)


def engine(model: PageModel, interval: float) -> dict[str, Any]:
    """Return what the page needs to predict as `result.predict` does."""
    result = model.result
    discrepancies = discrepancies_of(result.members)
    spread, schema = result.spread, result.schema
    levels = ends_of(interval)
    served = serving(result.members)[0]
    return {
        "members": [_member(m, model, discrepancies) for m in result.members],
        "discrepancies": [_discrepancy(d, model) for d in discrepancies],
        "stack": _stack(stack_of(result.members), model),
        "noise": spread.noise,
        "misfit": max(spread.misfit, spread.noise),
        "perDoubling": spread.per_doubling,
        # Of the distance from the data; those of the verdicts leave out what follows the scale of series.
        "settled": schema.panel.growing,
        "floor": result.floor if schema.lowest > 0 else None,
        "ceiling": schema.ceiling if math.isfinite(schema.ceiling) else None,
        "levels": levels,
        "quantiles": [[level, NormalDist().inv_cdf(level)] for level in (*levels, 0.05, 0.95)],
        "serves": served.process.place if served.process is not None else result.members.index(served),
        "derived": [
            [i, model.formula(schema.derived[name])]
            for name, i in model.places.items()
            if name in schema.derived and {*parse(schema.derived[name]).names} <= {*model.places}
        ],
    }


def fitting(model: PageModel) -> dict[str, Any] | None:
    """Return what the page needs for the probability that a run does not fail; None where none ever failed."""
    feasibility, places = model.result.feasibility, model.places
    if feasibility is None:
        return None
    need = feasibility.need
    return {
        **{name: getattr(feasibility, name) for name in ("headroom", "succeeded", "failed")},
        "demands": [[places[n], d.slope, d.centre, d.logarithmic, d.more] for n, d in feasibility.demands.items()],
        "offsets": [[places[name], levels] for name, levels in feasibility.offsets.items()],
        "certainty": feasibility.certain,
        "byChance": feasibility.by_chance,
        "need": None if need is None else [model.formula(need.formula), need.slope],
        "same": SAME,
    }


def judging(model: PageModel) -> dict[str, Any]:
    """Return what the verdicts need of a model, see `genperf.prediction.verdict`."""
    basis = model.result.basis
    return {
        **{name: getattr(basis, name) for name in OF_BASIS},
        "unmeasured": [[name, formula(node, model.factors)] for name, node in basis.unmeasured.items()],
        "evidence": [[e.factor, e.held_out, e.error, e.last_point] for e in basis.evidence],
        # Ranges up to what was borrowed from other groups; nothing where the group was fitted by itself.
        "borrowed": [{**asdict(f), "numeric": f.numeric} for f in basis.reach if basis.borrowed],
        # The corners that no run reaches, and the runs by which the nearest is named.
        "combinations": {
            "places": basis.places,
            "corners": [[list(c.places), list(c.signs), c.runs.tolist()] for c in basis.corners],
            "runs": [list(m.values) for m in basis.schema.medians],
        }
        if basis.corners
        else None,
    }


def rules() -> dict[str, Any]:
    """Return the settings by which every prediction is judged, and the points of a normal distribution."""
    return {
        **asdict(verdict.RULES),
        "combinations": asdict(COMBINATIONS),
        "verdicts": list(verdict.VERDICTS),
        "reasons": REASONS,
        "normal": [NormalDist().inv_cdf((i + 0.5) / POINTS) for i in range(POINTS)],
    }


def _member(member: Member, model: PageModel, discrepancies: Sequence[Discrepancy]) -> dict[str, Any]:
    """Return a member as data, with the number of its discrepancy among those of all members."""
    expression = member.expression
    constants = {name: f"c[{j}]" for j, name in enumerate(expression.constant_names)}
    terms = {t.name: f"t[{j}]" for j, t in enumerate(expression.terms)}
    places = [k for k, discrepancy in enumerate(discrepancies) if discrepancy is member.discrepancy]
    return {
        "name": member.name,
        "weight": member.weight,
        "terms": [[t.name, formula(t.node, model.factors, constants)] for t in expression.terms],
        "total": None if expression.total is None else formula(expression.total, model.factors, constants, terms),
        "constants": [float(v) for v in member.constants],
        "draws": encoded(member.draws),
        "count": len(member.draws),
        "central": None if member.central is None else encoded(member.central),
        "discrepancy": places[0] if places else None,
    }


def _discrepancy(discrepancy: Discrepancy, model: PageModel) -> dict[str, Any]:
    """Return a discrepancy as data, with the whitened directions of its anchors, which the page need not compute."""
    walk, extrapolation = discrepancy.kernel, discrepancy.extrapolation
    # The directions, the variance along each and a level of one along each: see `Discrepancy.geometry`.
    whiten, whitened_variances, whitened_ones = discrepancy.geometry
    return {
        "kernel": {**asdict(walk), "axes": [model.formula(axis) for axis in walk.axes]},
        "anchors": _anchors(discrepancy.anchors, model),
        "noise": discrepancy.noise,
        "scales": encoded(discrepancy.scales),
        "extrapolation": {
            "axes": [model.formula(text) for text in (*extrapolation.axes, extrapolation.work)],
            "slope": extrapolation.slope,
            "quietest": extrapolation.quietest,
            "mean": extrapolation.mean,
            "nodes": model.formula(extrapolation.nodes),
        },
        "logarithms": discrepancy.logarithms,
        "whiten": whiten,
        "variances": whitened_variances,
        "ones": whitened_ones,
        "offsets": None if discrepancy.offsets is None else encoded(discrepancy.offsets),
    }


def _stack(stack: Stack | None, model: PageModel) -> dict[str, Any] | None:
    """Return a stack as data: its anchors, and what each part makes of them."""
    if stack is None:
        return None
    axes = [
        [{**asdict(axis), "formula": model.formula(axis.formula)} for axis in process.kernel.axes]
        for process in stack.parts
    ]
    return {
        "anchors": _anchors(stack.anchors, model),
        "parts": [
            {
                "kernel": {"axes": axes[k], "size": process.kernel.size, "local": process.kernel.local},
                "dual": encoded(stack.dual(k)),
                "noises": encoded(process.noise**2 * process.factors),
                "noise": process.noise,
                "unsure": process.unsure,
                "form": process.form,
                "weight": process.weight,
            }
            for k, process in enumerate(stack.parts)
        ],
        "width": stack.width,
        "repeats": stack.repeats,
        "normal": NORMAL,
        "together": TOGETHER,
        "leastMore": LEAST_MORE,
        "beyond": [[model.formula(b.factor), b.upper, list(b.weights), b.width] for b in stack.beyond],
    }


def _anchors(anchors: Mapping[str, npt.NDArray[Any]], model: PageModel) -> list[list[Any]]:
    """Return the columns of anchors: the place of the factor, labels, none for numbers, and numbers or label places."""
    columns = []
    for name, values in anchors.items():
        labels = np.unique(values.astype(str)) if values.dtype == object else np.empty(0)
        numbers = np.searchsorted(labels, values.astype(str)) if len(labels) else values
        columns.append([model.places[name], labels.tolist(), encoded(np.asarray(numbers, float))])
    return columns


#: Language → how a function begins and ends: its name is `predict`, its arguments are the factors.
_FUNCTIONS = {
    "python": ("def predict({arguments}):\n    # {about}\n    return ", "\n"),
    "javascript": ("// {about}\nfunction predict({arguments}) {{\n  return ", ";\n}}\n"),
}
#: Words of JavaScript that name no argument, beside Python's, between blanks.
_RESERVED = (
    " case class const default delete do enum export extends function let new null predict super switch this throw"
    " typeof var void "
)


def export(result: FitResult, to: str) -> str:
    """Return the fitted formula with its constants as `python`, `javascript`, `latex` or `extra-p`."""
    if not result.is_formula:
        raise GenperfError(
            f"the model '{result.model}' is an average, which has no formula",
            hint="--model generic fits one, and so do families and formulas (genperf list models)",
        )
    expression, constants = result.best.expression, result.best.values
    if to == "latex":
        return equation(result)
    node = expression.filled(constants)
    if to == "extra-p":
        return render(node, lambda value: f"{value:.6g}").replace("**", "^")
    factors, language = [f.name for f in result.schema.factors], LANGUAGES[to]
    # What the formula calls, as `power` and `Math`, names no argument.
    called = re.findall(r"\b[^\W\d]\w*", in_language(node, dict.fromkeys(factors, ""), language))
    names = _identifiers(factors, {*called})
    ranges = ", ".join(f"{f.name} {f.lower:.4g} to {f.upper:.4g}" for f in result.schema.factors if not f.levels)
    target, work, derived = result.schema.target, result.panel.measured_work, result.schema.derived
    throughput = None if work is None else render(call("divide", work, Name(target.name)))
    follows = [] if throughput is None else [f"throughput in {rate_unit(target.samples)} is {throughput}"]
    follows += [f"{name} = {text}" for name, text in derived.items() if name in names]
    # Nothing in it ends a comment.
    measured = "; ".join(re.sub(r"[^\w .,:%+*/()=<>`-]", "_", text) for text in [ranges, *follows])
    about = f"{target.name} in {target.unit}, fitted by genperf ({result.model}); measured: {measured}"
    head, tail = _FUNCTIONS[to]
    body = in_language(node, names, language)
    return language.prelude + head.format(arguments=", ".join(names.values()), about=about) + body + tail.format()


def _identifiers(names: list[str], called: Collection[str]) -> dict[str, str]:
    """Return an identifier for each name, the name itself where it is one and not `called`, and none twice."""
    made: dict[str, str] = {}
    for name in names:
        word = re.sub(r"\W", "_", name, flags=re.ASCII) or "_"
        if word[0].isdigit() or keyword.iskeyword(word) or word in called or f" {word} " in _RESERVED:
            word = f"x_{word}"
        while word in made.values():
            word += "_"
        made[name] = word
    return made
