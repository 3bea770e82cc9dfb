"""Whether the parts of a model file fit each other: what types cannot declare, each fault with its field."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable
from dataclasses import dataclass

import numpy as np

from genperf.discrepancy import Discrepancy, Stack
from genperf.errors import ModelError
from genperf.formula import parse
from genperf.panel.medians import Median
from genperf.prediction import Evidence, Feasibility, Schema, Spread
from genperf.result.layout import ConstantRecord, File, MemberRecord, ModelRecord
from genperf.table import Factor


@dataclass(frozen=True)
class CheckSettings:
    """How exactly the parts of a model agree."""

    #: Relative distance of a number from its bound: files keep nine digits of a cell.
    rounding: float = 1e-6
    #: Size of a standard deviation of ln T. Times are 1e-30 to 1e30, so that ln T spans 140.
    largest_logarithm: float = 1000.0
    #: Variance of a process, in variances of the noise, up to which its covariance surely has a square root: a double
    #: has 16 digits, and a model 500 anchors. Above it that root is tried.
    most_variance: float = 1e10


CHECKS = CheckSettings()


def refusal(complaint: str) -> ModelError:
    """Return the error about a part of the file."""
    return ModelError(f"is not a whole model file: {complaint}")


def check_record(record: ModelRecord, discrepancies: Iterable[Discrepancy]) -> None:
    """Refuse a model whose parts do not fit each other."""
    schema = record.table
    if schema.substituted:
        raise refusal("table.substituted: a fitted model has no levels that replace others")
    _check_schema(schema)
    if not record.members:
        raise refusal("members: there is none")
    if any(m.weight < 0.0 for m in record.members) or not sum(m.weight for m in record.members) > 0.0:
        raise refusal("members.weight: the weights do not add up to a share above zero")
    for member in record.members:
        _check_member(member, schema)
    _check_spread(record.spread)
    for one in record.evidence:
        _check_evidence(one, schema)
    for discrepancy in discrepancies:
        _check_discrepancy(discrepancy, schema.factors)
    if record.stack is not None:
        _check_stack(record.stack, len(record.members), schema.factors)
    if record.feasibility is not None:
        _check_feasibility(record.feasibility, schema.factors)
    kinds = [(f.name, f.numeric) for f in schema.factors]
    if any([(f.name, f.numeric) for f in one.table.factors] != kinds for one in record.further.values()):
        raise refusal("further: its factors are not those of the table")


def check_groups(file: File) -> None:
    """Refuse groups that do not fit each other."""
    keys = [*(g.key for g in file.groups), *(f.key for f in file.failures)]
    if any(len(key) != len(file.group) for key in keys) or len(set(keys)) != len(keys):
        raise refusal("groups.key: the groups do not have one value of each group column, or one is there twice")
    if len({g.model.table.target for g in file.groups}) > 1:
        raise refusal("groups.model.table.target: the groups measure different quantities")


def _check_schema(schema: Schema) -> None:
    if not schema.factors:
        raise refusal("table.factors: there is none")
    _check_names("table.factors", (f.name for f in schema.factors))
    for factor in schema.factors:
        _check_factor(factor)
    for median in schema.medians:
        _check_median(median, schema)
    if not 0.0 <= schema.lowest <= schema.highest:
        raise refusal("table.lowest, table.highest: the measured values are not a range")
    if schema.noise is not None and schema.noise < 0.0:
        raise refusal("table.noise: it is below zero")
    if schema.target.work:
        parse(schema.target.work, {f.name for f in schema.factors if f.numeric})


def _check_names(place: str, names: Iterable[str]) -> None:
    counts = Counter(names)
    if "" in counts:
        raise refusal(f"{place}: a name is empty")
    twice = [name for name, count in counts.items() if count > 1]
    if twice:
        raise refusal(f"{place}: '{twice[0]}' is there twice")


def _check_factor(factor: Factor) -> None:
    place = f"table.factors: '{factor.name}'"
    if factor.distinct < 1:
        raise refusal(f"{place} has no value")
    if not factor.numeric:
        if len(factor.levels) != factor.distinct or len(set(factor.levels)) != len(factor.levels):
            raise refusal(f"{place} does not have each of its levels once")
        return
    if not (factor.lower <= factor.upper and (factor.lower > 0.0 or not factor.positive)):
        raise refusal(f"table.factors: the measured range of '{factor.name}' is not one")
    if not factor.centre > 0.0:
        raise refusal(f"{place} has a centre that is not above zero")


def _check_median(median: Median, schema: Schema) -> None:
    factors = schema.factors
    if [not isinstance(v, str) for v in median.values] != [f.numeric for f in factors]:
        raise refusal("table.medians: the measured configurations do not match the factors")
    if not 0.0 < median.lowest <= median.value <= median.highest or median.repeats < 1:
        raise refusal("table.medians: what was measured of a configuration is not a range above zero")
    for factor, value in zip(factors, median.values, strict=True):
        if isinstance(value, str):
            outside = value not in factor.levels
        else:
            room = CHECKS.rounding * max(abs(factor.lower), abs(factor.upper))
            outside = not factor.lower - room <= value <= factor.upper + room
        if outside:
            raise refusal(f"table.medians: '{value}' is outside of what was measured of '{factor.name}'")


def _check_member(member: MemberRecord, schema: Schema) -> None:
    if not member.terms:
        raise refusal("members.terms: there is none")
    _check_names("members.terms", (t.name for t in member.terms))
    _check_names("members.constants", [*(c.name for c in member.constants), *(f.name for f in schema.factors)])
    for constant in member.constants:
        if not _inside_bounds(constant):
            raise refusal(f"members.constants: '{constant.name}' is outside of its bounds")


def _inside_bounds(constant: ConstantRecord) -> bool:
    lower = -np.inf if constant.lower is None else constant.lower
    upper = np.inf if constant.upper is None else constant.upper
    room = CHECKS.rounding * max(1.0, abs(constant.value))
    # A constant of a fixed value has that value as both bounds.
    return bool(lower <= upper and lower - room * (lower != 0.0) <= constant.value <= upper + room)


def _check_spread(spread: Spread) -> None:
    for name in spread.__struct_fields__:
        value = getattr(spread, name)
        if value is not None and not 0.0 <= value <= CHECKS.largest_logarithm:
            raise refusal(f"spread.{name}: it is not a standard deviation")
    if max(spread.exponent, spread.exponent_below) > 1.0:
        raise refusal("spread.exponent: an error would grow faster than the distance")


def _check_evidence(evidence: Evidence, schema: Schema) -> None:
    errors = [evidence.error, *([] if evidence.last_point is None else [evidence.last_point])]
    if evidence.factor not in {f.name for f in schema.factors} or evidence.doublings < 0.0:
        raise refusal("evidence.factor: it was not measured")
    if any(not 0.0 <= error <= CHECKS.largest_logarithm for error in errors):
        raise refusal("evidence.error: it is not an error of ln T")


def _check_discrepancy(discrepancy: Discrepancy, factors: tuple[Factor, ...]) -> None:
    """Refuse a discrepancy whose parts do not fit the factors or each other."""
    count = len(discrepancy.logarithms)
    numeric = {f.name: f.numeric for f in factors}
    anchors = discrepancy.anchors
    vectors = [*anchors.values(), discrepancy.logarithms, discrepancy.variances]
    if not anchors or count == 0 or any(v.shape != (count,) for v in vectors):
        raise refusal("discrepancies.anchors: they are not of one length")
    if any(numeric.get(name) is (values.dtype == object) for name, values in anchors.items()):
        raise refusal("discrepancies.anchors: they do not match the factors")
    if not set(anchors) <= set(numeric):
        raise refusal("discrepancies.anchors: they are not factors of the table")
    if np.any(np.abs(discrepancy.logarithms) > CHECKS.largest_logarithm):
        raise refusal("discrepancies.logarithms: one is not a logarithm of what was measured")
    scales = discrepancy.scales
    if scales.ndim != 1 or not len(scales) or np.any(scales <= 0.0) or discrepancy.noise <= 0.0:
        raise refusal("discrepancies.scales: a scale or the noise is not above zero")
    if max(float(scales.max()), discrepancy.noise) > CHECKS.largest_logarithm:
        raise refusal("discrepancies.scales: a scale or the noise is not a standard deviation of ln T")
    if np.any(discrepancy.variances < 0.0):
        raise refusal("discrepancies.variances: one is negative")
    fault = discrepancy.kernel.fault(anchors)
    if fault is not None:
        raise refusal(f"discrepancies.kernel: {fault}")
    for factor in factors:
        above_zero = factor.numeric and factor.positive
        if above_zero and factor.name in anchors and np.any(anchors[factor.name] <= 0.0):
            raise refusal(f"discrepancies.anchors: an anchor's '{factor.name}' is not above zero")
    beyond = discrepancy.extrapolation
    for text in () if beyond is None else (*beyond.axes, beyond.work, beyond.nodes):
        parse(text, set(anchors))
    offsets = discrepancy.offsets
    if offsets is not None and (offsets.ndim != 2 or len(offsets) != len(scales) or not 0 < offsets.shape[1] < count):
        raise refusal("discrepancies.offsets: what is borrowed does not match the draws or the anchors")
    if not _computable(discrepancy):
        raise refusal("discrepancies.kernel: a size is so large beside the noise that nothing can be computed")


def _check_stack(stack: Stack, members: int, factors: tuple[Factor, ...]) -> None:
    """Refuse a stack whose parts do not fit the members, the factors or each other."""
    numeric = {f.name: f.numeric for f in factors}
    if len(stack.parts) != members:
        raise refusal("stack.parts: they do not match the members")
    if any(numeric.get(name) is not (values.dtype != object) for name, values in stack.anchors.items()):
        raise refusal("stack.anchors: they do not match the factors")
    if any(np.any(np.abs(part.residuals) > CHECKS.largest_logarithm) for part in stack.parts):
        raise refusal("stack.parts.residuals: one is not a logarithm of what was measured")
    fault = stack.fault()
    if fault is not None:
        raise refusal(f"stack: {fault}")


def _computable(discrepancy: Discrepancy) -> bool:
    """Tell whether the covariance of a process at its anchors has a square root, as every fitted one has."""
    if float(discrepancy.kernel.variance(discrepancy.anchors).max()) <= CHECKS.most_variance * discrepancy.noise**2:
        return True
    try:
        with np.errstate(all="ignore"):
            return bool(np.isfinite(discrepancy.geometry.whiten).all())
    except np.linalg.LinAlgError:
        return False


def _check_feasibility(feasibility: Feasibility, factors: tuple[Factor, ...]) -> None:
    """Refuse a probability of fitting whose parts do not fit the factors."""
    numeric = {f.name for f in factors if f.numeric}
    if set(feasibility.demands) != numeric or set(feasibility.names) != {f.name for f in factors}:
        raise refusal("feasibility: its factors are not those of the table")
    if any(not demand.centre > 0.0 for demand in feasibility.demands.values()):
        raise refusal("feasibility.demands: a centre is not above zero")
    if feasibility.need is not None:
        texts = {f.name for f in factors if not f.numeric}
        parse(feasibility.need.formula, numeric | texts, texts)
        if not 0.0 < feasibility.need.slope < np.inf:
            raise refusal("feasibility.need: its slope is not above zero")
    if not 0.0 <= feasibility.certain <= 1.0:
        raise refusal("feasibility.certain: no probability")
    kinds = [name not in numeric for name in feasibility.names]
    configurations = (*feasibility.succeeded, *feasibility.failed, *feasibility.contradicted)
    if any([isinstance(value, str) for value in values] != kinds for values in configurations):
        raise refusal("feasibility: a measured configuration does not match the factors")
