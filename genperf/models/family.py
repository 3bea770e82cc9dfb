"""A family: a way of writing down an execution time, and how it finds its factors in a table."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field, replace

from genperf.errors import ModelError, suggest
from genperf.expression import Constant, Expression, Term
from genperf.formula import Name, Node, names_in, parse, substitute
from genperf.table import Factor

#: The field's names for a factor, the canonical one first. Families ask for the canonical one.
ALIASES: dict[str, tuple[str, ...]] = {
    "workers": ("workers", "devices", "gpus", "accelerators", "ranks", "processes", "chips", "replicas", "world_size"),
    "nodes": ("nodes", "hosts", "machines"),
    "devices_per_node": ("devices_per_node", "gpus_per_node", "workers_per_node", "local_workers"),
    "servers": ("servers", "parameter_servers"),
    "batch": (
        "batch",
        "batch_per_worker",
        "batch_per_device",
        "batch_per_gpu",
        "local_batch",
        "local_batch_size",
        "micro_batch",
        "batch_size",
    ),
    "global_batch": ("global_batch", "global_batch_size", "total_batch"),
    "bytes": ("bytes", "message_bytes", "gradient_bytes", "model_bytes"),
    "parameters": ("parameters", "params", "num_parameters", "parameter_count"),
    "samples": ("samples", "dataset_size", "data_size"),
    "iterations": ("iterations", "steps_total"),
    "partitions": ("partitions", "model_partitions"),
    "threads": ("threads", "threads_per_worker"),
    "activations": ("activations", "activation_bytes"),
    "work": ("work", "flops", "forward_flops"),
}

#: Factors that follow from others, tried in order where a table lacks them.
DERIVED: tuple[tuple[str, str], ...] = (
    ("bytes", "4*parameters"),
    ("batch", "global_batch/workers"),
    ("nodes", "ceil(workers/devices_per_node)"),
    ("devices_per_node", "workers/nodes"),
)


@dataclass(frozen=True)
class Need:
    """A factor a family reads.

    Attributes
    ----------
    name : str
        The canonical name.
    required : bool
        Whether the family makes no sense without it.
    """

    name: str
    required: bool = True


@dataclass(frozen=True)
class Factors:
    """A table's factors, found by the field's names.

    Attributes
    ----------
    factors : tuple of Factor
    mapping : mapping of str to str
        Canonical name → column, as the user said it.

    Examples
    --------
    >>> from genperf.formula import render
    >>> from genperf.table import Factor
    >>> found = Factors((Factor("devices", "extrinsic"), Factor("parameters", "intrinsic")))
    >>> render(found.node("workers")), render(found.node("bytes"))
    ('devices', '4*parameters')
    """

    factors: tuple[Factor, ...]
    mapping: Mapping[str, str] = field(default_factory=dict)

    def __post_init__(self) -> None:
        names = [f.name for f in self.factors]
        for canonical, column in self.mapping.items():
            if canonical not in ALIASES:
                known = sorted(ALIASES)
                hint = suggest(canonical, known) or f"one of {', '.join(known)}"
                raise ModelError(f"no family has a factor '{canonical}'", hint=hint)
            if column not in names:
                raise ModelError(
                    f"'{canonical}' is mapped to '{column}', which is not a factor of the table",
                    hint=suggest(column, names) or f"one of {', '.join(names)}",
                )

    def find(self, canonical: str) -> Factor | None:
        """Return the column that is the factor, or None."""
        by_name = {f.name: f for f in self.factors if f.numeric}
        if canonical in self.mapping:
            return by_name.get(self.mapping[canonical])
        lowered = {name.lower(): f for name, f in by_name.items()}
        taken = set(self.mapping.values())
        for alias in ALIASES[canonical]:
            found = lowered.get(alias)
            if found is not None and found.name not in taken:
                return found
        return None

    def node(self, canonical: str) -> Node | None:
        """Return the factor as a formula over the table's columns, derived from others where it has no column."""
        return self._node(canonical, frozenset())

    def _node(self, canonical: str, trying: frozenset[str]) -> Node | None:
        found = self.find(canonical)
        if found is not None:
            return Name(found.name)
        for target, text in DERIVED:
            if target != canonical or target in trying:
                continue
            formula = parse(text)
            parts = {name: self._node(name, trying | {canonical}) for name in formula.names}
            known = {name: node for name, node in parts.items() if node is not None}
            if len(known) == len(parts):
                return substitute(formula.node, known)
        return None


@dataclass(frozen=True)
class Family:
    """A family of expressions.

    Attributes
    ----------
    name : str
    equation : str
        In the canonical names, as `genperf models` prints it.
    source : str
        The paper the idea comes from.
    purpose : str
        What it is for, in a phrase.
    needs : tuple of Need
    build : callable
        Matched factors → Expression.
    candidates : callable, optional
        Matched factors → the expressions among which a fit chooses by cross-validation, simplest first, where the
        family has more than one.
    """

    name: str
    equation: str
    source: str
    purpose: str
    needs: tuple[Need, ...]
    build: Callable[[Factors], Expression]
    candidates: Callable[[Factors], Sequence[Expression]] | None = None

    def missing(self, factors: Factors) -> list[str]:
        """Return the required factors that the table lacks."""
        return [n.name for n in self.needs if n.required and factors.node(n.name) is None]

    def expressions(self, factors: Sequence[Factor], mapping: Mapping[str, str] | None = None) -> list[Expression]:
        """Write the family down for a table's factors: all its candidates, simplest first.

        Raises
        ------
        ModelError
            Where a required factor is missing: which, and how to map or derive it.
        """
        matched = Factors(tuple(factors), mapping or {})
        missing = self.missing(matched)
        if missing:
            first = missing[0]
            columns = [f.name for f in factors if f.numeric]
            also = ", ".join(ALIASES[first][:4])
            raise ModelError(
                f"family '{self.name}' needs {' and '.join(repr(m) for m in missing)}, "
                f"and none of the factors ({', '.join(columns) or 'none'}) is named so",
                hint=f"--map {first}=COLUMN, name a column {also}, or derive it: --let '{first}=…'",
            )
        return list(self.candidates(matched)) if self.candidates else [self.build(matched)]


def compose(
    family: str,
    terms: Mapping[str, str],
    constants: Sequence[Constant],
    factors: Factors,
    total: str | None = None,
) -> Expression:
    """Write an expression from formulas over canonical factor names and constants.

    Parameters
    ----------
    family : str
    terms : mapping of str to str
        Term name → formula.
    constants : sequence of Constant
        Those that occur in the terms are kept. One that is named like a column of the table gets a trailing `_`.
    factors : Factors
        Where the columns come from.
    total : str, optional
        Formula over the terms' names (and constants); the sum where omitted.

    Examples
    --------
    >>> from genperf.expression import coefficient
    >>> from genperf.table import Factor
    >>> found = Factors((Factor("gpu count", "extrinsic"),), {"workers": "gpu count"})
    >>> str(compose("amdahl", {"serial": "c", "parallel": "a/workers"}, [coefficient("c"), coefficient("a")], found))
    'c + a/`gpu count`'
    """
    columns = {f.name for f in factors.factors}
    fresh = {c.name: c.name + "_" * (c.name in columns) for c in constants}
    by_name: dict[str, Node] = {old: Name(new) for old, new in fresh.items()}
    trees = {name: parse(text).node for name, text in terms.items()}
    whole = parse(total).node if total is not None else None
    used = set().union(*(names_in(t) for t in trees.values()), names_in(whole) if whole is not None else set())
    for name in used - set(fresh) - set(terms):
        node = factors.node(name) if name in ALIASES else None
        if node is None:
            raise ModelError(f"family '{family}' needs '{name}', which the table does not have")
        by_name[name] = node
    kept = tuple(replace(c, name=fresh[c.name]) for c in constants if c.name in used)
    return Expression(
        family,
        tuple(Term(name, substitute(tree, by_name)) for name, tree in trees.items()),
        kept,
        None if whole is None else substitute(whole, {k: v for k, v in by_name.items() if k not in terms}),
    )
