"""Which column plays which part, how the rows are read, and further quantities beside the main one."""

import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import get_args

from genperf.errors import TableError
from genperf.table.axis import Role
from genperf.table.failures import FailureRule, pairs_of
from genperf.table.target import TIME, Measurement, measurement_of

Names = str | Sequence[str]
#: A name in a list: in quotes where it holds a comma, or up to the next comma.
_LISTED = re.compile(r'\s*"([^"]*,[^"]*)"\s*(?=,|$)|([^,]+)')


@dataclass(frozen=True)
class Roles:
    """Which column plays which part."""

    #: Intrinsic, then extrinsic, then categorical factors.
    factors: tuple[tuple[str, Role], ...]
    #: Columns that split the table.
    group: tuple[str, ...]
    #: The measured column; None where none is named.
    measurement: Measurement | None
    weight: str | None
    repeat: str | None

    @property
    def named(self) -> list[tuple[str, str]]:
        """Every column that was named, with its role in words."""
        measured = [(self.measurement.column, str(self.measurement.kind))] if self.measurement else []
        others = [(name, role) for name, role in ((self.weight, "weight"), (self.repeat, "repeat")) if name is not None]
        return [*self.factors, *((name, "group") for name in self.group), *measured, *others]


@dataclass(frozen=True)
class ReadOptions:
    """How the cells of a source become a table."""

    roles: Roles
    #: Derived columns with their formulas, in order.
    derived: Mapping[str, str]
    #: A formula: the work of a step, to make a time from a throughput.
    work: str | None = None
    #: A comparison that the rows must fulfil.
    where: str | None = None
    #: Whether rows that cannot be used are left out instead of refused.
    skip_bad_rows: bool = False
    #: Which runs failed.
    failures: FailureRule = field(default_factory=FailureRule)
    #: "weak", "strong" or "job", where no column shows it.
    scaling: str | None = None
    #: Further quantities, by the name that predictions call each.
    further: Mapping[str, Measurement] = field(default_factory=dict)

    def beside_roles(self) -> tuple[tuple[str, str], ...]:
        """Return the options beside the roles, with their values, for a model to keep; a flag has none."""
        roles, measured = self.roles, self.roles.measurement
        values = [
            *(("let", f"{name}={text}") for name, text in self.derived.items()),
            ("throughput", measured.column if measured and measured.kind == "throughput" else None),
            ("work", self.work),
            ("unit", measured.unit if measured and measured.converted else None),
            *(("weight", roles.weight), ("repeat", roles.repeat), ("where", self.where)),
            ("skip-bad-rows", "" if self.skip_bad_rows else None),
            *(("also", f"{name}={m.column}{f':{m.unit}' if m.unit else ''}") for name, m in self.further.items()),
        ]
        return tuple((option, value) for option, value in values if value is not None)


def roles_of(
    factors: Mapping[Role, Names],
    group: Names,
    measurement: Measurement | None,
    weight: str | None = None,
    repeat: str | None = None,
) -> Roles:
    """Gather the roles; one column plays one part.

    Examples
    --------
    >>> roles_of({"extrinsic": "workers, nodes"}, (), None).factors
    (('workers', 'extrinsic'), ('nodes', 'extrinsic'))
    """
    weight, repeat = (name.strip() if name else None for name in (weight, repeat))
    pairs = [(name, role) for role in get_args(Role) for name in names_of(factors.get(role, ()))]
    roles = Roles(tuple(pairs), tuple(names_of(group)), measurement, weight, repeat)
    taken: dict[str, str] = {}
    for name, role in roles.named:
        if role == "group" and taken.get(name) in get_args(Role):
            continue
        if name in taken:
            twice = f"twice as {role}" if taken[name] == role else f"both as {taken[name]} and as {role}"
            raise TableError(f"column '{name}' is named {twice}", hint="give it one role")
        taken[name] = role
    return roles


def names_of(names: Names) -> list[str]:
    """Return "a,b" or a sequence as a list of names; a name that holds a comma stands in quotes.

    Examples
    --------
    >>> names_of('workers, "layers, hidden"'), names_of(["layers, hidden"])
    (['workers', 'layers, hidden'], ['layers, hidden'])
    """
    parts = [quoted or plain for quoted, plain in _LISTED.findall(names)] if isinstance(names, str) else names
    return [n.strip() for n in parts if n.strip()]


def lets_of(let: Mapping[str, str] | Names | None) -> dict[str, str]:
    """Return derived columns by name, from `name=formula` or a mapping."""
    if isinstance(let, Mapping):
        pairs = [(str(name).strip(), str(text).strip()) for name, text in let.items()]
    else:
        pairs = [(n.strip("`"), text) for n, text in pairs_of(let, "name=formula", "flops=batch*layers")]
    names = [name for name, _ in pairs]
    twice = next((n for n in names if names.count(n) > 1), None)
    if twice is not None:
        raise TableError(f"'{twice}' is derived twice", hint="give each derived column another name")
    return dict(pairs)


#: Names that formulas and predictions use already.
_TAKEN = frozenset(
    {TIME, "lower", "upper", "fits", "verdict", "reason", "throughput", "efficiency", "cost", "total", "machines"}
)


def further_of(also: Mapping[str, str] | str | Sequence[str] | None) -> dict[str, Measurement]:
    """Read further quantities, `NAME=COLUMN` or `NAME=COLUMN:UNIT`, by the name that predictions call each.

    Raises
    ------
    TableError
        For a name that is taken, or is not one.

    Examples
    --------
    >>> further_of("memory=peak_gb:GB")["memory"].target()
    Target(column='peak_gb', name='memory', unit='GB')
    >>> further_of({"time": "peak_gb"})
    Traceback (most recent call last):
    ...
    genperf.errors.TableError: a further quantity cannot be named 'time'
      try: --also NAME=COLUMN:UNIT with another name, as memory=peak_gb:GB
    """
    if isinstance(also, Mapping):
        pairs = [(str(name), str(text)) for name, text in also.items()]
    else:
        texts = [also] if isinstance(also, str) else also or ()
        # A column alone is its name as well.
        pairs = [(n, t) if equals else ("", n) for n, equals, t in (one.partition("=") for one in texts)]
    measurements: dict[str, Measurement] = {}
    for name, text in pairs:
        measured = measurement_of(None, None, text, None)
        called = name.strip() or (measured.column if measured else "")
        if measured is None or not re.fullmatch(r"[^\W\d]\w*", called) or called in _TAKEN:
            hint = "--also NAME=COLUMN:UNIT with another name, as memory=peak_gb:GB"
            raise TableError(f"a further quantity cannot be named '{called}'", hint=hint)
        if called in measurements:
            raise TableError(f"two further quantities are named '{called}'", hint="give each another name")
        measurements[called] = replace(measured, name=called)
    return measurements
