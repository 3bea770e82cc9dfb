"""Which column plays which part, as it was asked for."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import get_args

from genperf.errors import TableError
from genperf.table.factor import Role

Names = str | Sequence[str]


@dataclass(frozen=True)
class Roles:
    """Which column plays which part."""

    factors: tuple[tuple[str, Role], ...]
    group: tuple[str, ...]
    time: str | None
    throughput: str | None
    weight: str | None
    repeat: str | None

    @property
    def named(self) -> list[tuple[str, str]]:
        """Every column that was named, with its role in words."""
        single = [
            (self.time, "time"),
            (self.throughput, "throughput"),
            (self.weight, "weight"),
            (self.repeat, "repeat"),
        ]
        return [
            *self.factors,
            *((name, "group") for name in self.group),
            *((name, role) for name, role in single if name is not None),
        ]


def roles_of(intrinsic: Names, extrinsic: Names, categorical: Names, group: Names, *single: str | None) -> Roles:
    """Gather the roles, `single` being time, throughput, weight and repeat; one column plays one part."""
    time, throughput, weight, repeat = (s.strip() if s else None for s in single)
    given = dict(zip(get_args(Role), (intrinsic, extrinsic, categorical), strict=True))
    factors: list[tuple[str, Role]] = [(name, role) for role, names in given.items() for name in names_of(names)]
    roles = Roles(tuple(factors), tuple(names_of(group)), time, throughput, weight, repeat)
    taken: dict[str, str] = {}
    for name, role in roles.named:
        # A group may be a factor as well; every other pair of roles contradicts itself.
        if role == "group" and taken.get(name) in get_args(Role):
            continue
        if name in taken:
            twice = f"twice as {role}" if taken[name] == role else f"both as {taken[name]} and as {role}"
            raise TableError(f"column '{name}' is named {twice}", hint="give it one role")
        taken[name] = role
    if time is not None and throughput is not None:
        raise TableError("time and throughput are both named", hint="name the one that was measured")
    return roles


def names_of(names: Names) -> list[str]:
    """Return "a,b" or a sequence as a list of names."""
    return [n.strip() for n in (names.split(",") if isinstance(names, str) else names) if n.strip()]


def lets_of(let: Mapping[str, str] | Names | None) -> dict[str, str]:
    """Return derived columns by name, from `name=formula` or a mapping."""
    if let is None:
        return {}
    if isinstance(let, Mapping):
        pairs = [(str(name).strip(), str(text).strip()) for name, text in let.items()]
    else:
        pairs = []
        for item in [let] if isinstance(let, str) else let:
            name, equals, text = item.partition("=")
            # "a==b" is a comparison that somebody forgot to name.
            if not equals or not name.strip() or text.startswith("="):
                raise TableError(f"'{item}' is not of the form name=formula", hint='for example "flops=batch*layers"')
            pairs.append((name.strip().strip("`"), text.strip()))
    names = [name for name, _ in pairs]
    twice = next((n for n in names if names.count(n) > 1), None)
    if twice is not None:
        raise TableError(f"'{twice}' is derived twice", hint="give each derived column its own name")
    return dict(pairs)
