"""A family of execution-time expressions, and how it matches its factors to the columns of a table."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Collection, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Literal

from genperf.errors import ModelError, suggest
from genperf.expression import Expression
from genperf.formula import Name, Node, names_in, parse, render, substitute
from genperf.models.overhead import Overhead
from genperf.table import Factor
from genperf.table.names import ALIASES, column_of
from genperf.table.samples import StepSamples
from genperf.table.transformer_names import WAYS

#: Factors that follow from others, tried in order where a table lacks them.
DERIVED: tuple[tuple[str, str], ...] = (
    ("bytes", "4*parameters"),
    ("batch", "global_batch/workers"),
    ("global_batch", "batch*workers"),
    ("iterations", "samples/global_batch"),
    ("nodes", "ceil(workers/devices_per_node)"),
    ("devices_per_node", "workers/nodes"),
    ("workers", "*".join(WAYS)),
    ("workers", "data_parallel*tensor_parallel*pipeline_parallel"),
    ("workers", "data_parallel*tensor_parallel"),
    ("workers", "data_parallel*pipeline_parallel"),
    ("parameters", "1e9*parameters_billion"),
    ("parameters", "12*layers*hidden**2 + vocabulary*hidden"),
    ("parameters", "12*layers*hidden**2"),
    ("micro_batches", "global_batch/(data_parallel*micro_batch)"),
    ("micro_batch", "global_batch/(data_parallel*micro_batches)"),
    ("global_batch", "micro_batch*micro_batches*data_parallel"),
    ("data_parallel", "workers/(tensor_parallel*pipeline_parallel*context_parallel)"),
    ("data_parallel", "workers/(tensor_parallel*pipeline_parallel)"),
    ("data_parallel", "workers/tensor_parallel"),
    ("data_parallel", "workers/pipeline_parallel"),
    ("data_parallel", "workers"),
)

#: What a factor is counted in; the others are numbers.
UNITS: dict[str, str] = {
    "bytes": "B",
    "activations": "B",
    "batch": "sample",
    "global_batch": "sample",
    "samples": "sample",
    "micro_batch": "sample",
    "work": "flop",
}

#: Factors that are divided by or raised to powers: a column with a zero in it (no servers) is not one of them.
COUNTS = frozenset(
    {
        *("workers", "nodes", "devices_per_node", "servers", "partitions", "threads", "batch", "global_batch"),
        *(*WAYS, "expert_parallel", "virtual_stages"),
        *("micro_batch", "micro_batches", "sequence", "layers", "hidden", "parameters_billion"),
    }
)

#: What the candidates of a family are: many expressions that are searched (`search`), a few laws among which the table
#: decides (`laws`), or one law with fewer and fewer constants, the whole one first, of which the largest that the
#: configurations determine is fitted (`largest`).
Choice = Literal["search", "laws", "largest"]


@dataclass(frozen=True)
class Need:
    """A factor a family reads."""

    #: The canonical name.
    name: str
    #: Whether the family makes no sense without it.
    required: bool = True
    #: Whether its absence goes without saying: most runs have no such thing.
    supposed: bool = False


@dataclass(frozen=True)
class Factors:
    """A table's factors, by canonical name.

    Examples
    --------
    >>> from genperf.formula import render
    >>> from genperf.table import Factor
    >>> factors = Factors((Factor("devices", "extrinsic"), Factor("parameters", "intrinsic")))
    >>> render(factors.node("workers")), render(factors.node("bytes"))
    ('devices', '4*parameters')
    """

    factors: tuple[Factor, ...]
    #: Canonical name → column, as the user mapped it.
    mapping: Mapping[str, str] = field(default_factory=dict)
    #: The phases with a measured column.
    phases: frozenset[str] = frozenset()
    #: How the samples of a step changed with the workers; known of a fitted model.
    samples: StepSamples = field(default_factory=StepSamples)

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
        by_name = {f.name: f for f in self.factors if f.numeric and not _has_zero(f, canonical)}
        if canonical in self.mapping:
            return by_name.get(self.mapping[canonical])
        taken = set(self.mapping.values())
        name = column_of(canonical, (name for name in by_name if name not in taken))
        return None if name is None else by_name[name]

    def named(self, canonical: str) -> Factor | None:
        """Return the column that is the factor, of numbers or of names, or None."""
        numeric = self.find(canonical)
        if numeric is not None or canonical in self.mapping:
            return numeric
        texts = {f.name: f for f in self.factors if not f.numeric}
        name = column_of(canonical, texts)
        return None if name is None else texts[name]

    def has(self, canonical: str) -> bool:
        """Tell whether the table has the factor, or others that it follows from."""
        return self.node(canonical) is not None

    def varies(self, canonical: str, values: int = 2) -> bool:
        """Tell whether the factor was measured at that many different values; an unmeasured one counts as if it was."""
        node = self.node(canonical)
        if node is None:
            return False
        names = names_in(node)
        distinct = [f.distinct for f in self.factors if f.name in names]
        return 0 in distinct or max(distinct) >= values

    def node(self, canonical: str) -> Node | None:
        """Return the factor as a formula over the table's columns, derived from others where it has no column."""
        return self._node(canonical, frozenset())

    @property
    def batch_is_of_a_pass(self) -> bool:
        """Whether the batch is that of one pass: several devices share it, and a step has several."""
        batch = self.find("batch")
        ways = ("tensor_parallel", "pipeline_parallel", "micro_batches")
        return batch is not None and batch == self.find("micro_batch") and any(map(self.find, ways))

    def _follows(self, target: str, text: str) -> bool:
        """Whether a factor follows from others in this table, as `DERIVED` has it."""
        if text == "batch*workers":
            return not self.batch_is_of_a_pass
        if (target, text) == ("data_parallel", "workers"):
            # Where nothing is split but the samples: runs in passes of micro-batches, without other ways.
            return self.find("micro_batches") is not None and not any(map(self.find, WAYS[1:]))
        return True

    def _node(self, canonical: str, trying: frozenset[str]) -> Node | None:
        factor = self.find(canonical)
        if factor is not None and not (canonical == "batch" and self.batch_is_of_a_pass):
            return Name(factor.name)
        for target, text in DERIVED:
            if target != canonical or target in trying or not self._follows(target, text):
                continue
            formula = parse(text)
            parts = {name: self._node(name, trying | {canonical}) for name in formula.names}
            known = {name: node for name, node in parts.items() if node is not None}
            if len(known) == len(parts):
                return substitute(formula.node, known)
        return None


def _has_zero(factor: Factor, canonical: str) -> bool:
    return canonical in COUNTS and factor.distinct > 0 and not factor.positive


@dataclass(frozen=True)
class Share:
    """The work that one worker does."""

    #: One worker's work, as a formula over canonical names.
    per_worker: str
    #: All workers' work.
    whole: str
    #: Of a coefficient that multiplies it: seconds per work.
    unit: str

    @property
    def known(self) -> bool:
        """Whether the table says how much work there is; if not, a fixed amount is shared."""
        return self.per_worker != "1/workers"

    def of(self, coefficient: str) -> str:
        """Return the time of one worker's work, as a formula with a coefficient of seconds per unit of work."""
        return f"{coefficient}*{self.per_worker}" if self.known else f"{coefficient}/workers"


def share(factors: Factors, job: bool = False) -> Share:
    """Return what one worker's computation is proportional to, from the factors of the table.

    The first that the table has: the operations of one worker's step (`work`); its samples (`batch`, also
    `global_batch/workers`); otherwise a fixed amount shared by the workers (`1/workers`). A table with a factor
    `samples` has times of a whole job or epoch. For laws of whole jobs (`job`), `samples/workers` then comes first.

    A batch per worker that is constant along a series is weak scaling, one that falls as `1/workers` strong scaling;
    the same formula holds for both and for series in between.

    Examples
    --------
    >>> share(Factors((Factor("gpus", "extrinsic"), Factor("global_batch", "extrinsic")))).per_worker
    'batch'
    >>> share(Factors((Factor("gpus", "extrinsic"),))).per_worker
    '1/workers'
    """
    if job and factors.has("samples"):
        return Share("samples/workers", "samples", "s/sample")
    for name in ("work", "batch"):
        if factors.has(name):
            return Share(name, f"{name}*workers", f"s/{UNITS[name]}")
    return Share("1/workers", "1", "s")


def times(factors: Factors, name: str) -> tuple[str, str]:
    """Return a factor as the head of a product, and the unit of its coefficient; an empty head where it is absent.

    Examples
    --------
    >>> times(Factors((Factor("bytes", "intrinsic"),)), "bytes"), times(Factors(()), "bytes")
    (('bytes*', 's/B'), ('', 's'))
    """
    if not factors.has(name):
        return "", "s"
    return f"{name}*", f"s/{UNITS[name]}" if name in UNITS else "s"


def ratio(coefficient: str, above: Sequence[str], below: Sequence[str]) -> tuple[str, str]:
    """Return a coefficient times a ratio of factors, and the unit of the coefficient.

    Parameters
    ----------
    coefficient : str
        Name of the coefficient.
    above, below : sequence of str
        Canonical names of the factors in the numerator and in the denominator.

    Returns
    -------
    unit : str
        With which the product is seconds.

    Examples
    --------
    >>> ratio("beta", ["bytes", "samples"], ["batch", "servers"])
    ('beta*bytes*samples/batch/servers', 's/B')
    """
    powers = Counter(UNITS[name] for name in below if name in UNITS)
    powers.subtract(UNITS[name] for name in above if name in UNITS)
    up = [f"*{unit}" for unit, power in sorted(powers.items()) for _ in range(power)]
    down = [f"/{unit}" for unit, power in sorted(powers.items()) for _ in range(-power)]
    return "*".join([coefficient, *above]) + "".join(f"/{name}" for name in below), "".join(["s", *up, *down])


@dataclass(frozen=True)
class Family:
    """A family of expressions."""

    name: str
    #: In the canonical names, as `genperf models` prints it.
    equation: str
    #: The paper the idea comes from.
    source: str
    #: The use of the family, in a phrase.
    purpose: str
    needs: tuple[Need, ...]
    #: Matched factors → Expression.
    build: Callable[[Factors], Expression]
    #: Matched factors → the expressions among which a fit chooses, where the family has more than one.
    candidates: Callable[[Factors], Sequence[Expression]] | None = None
    #: What the candidates are; see `Choice`.
    choice: Choice = "laws"
    #: Phase (`genperf.table.PHASES`) → the terms that a column of it measures. With measured phases, the terms of one
    #: phase share no constant with those of another.
    phases: Mapping[str, tuple[str, ...]] = field(default_factory=dict)
    #: Matched factors → the expressions for measured phases, the usual one first: other laws of a phase, among which
    #: its column decides, and terms that no column measures, among which the total decides.
    laws: Callable[[Factors], Sequence[Expression]] | None = None
    #: Names of the families that combine the same phases in another way.
    overlaps: tuple[str, ...] = ()
    #: Phases of which one in each tuple must be measured where the family is compared with its `overlaps`; any phase
    #: where there is no tuple.
    shown_by: tuple[tuple[str, ...], ...] = ()
    #: Whether the family competes in `auto` also where it does not know every factor that varies: the discrepancy
    #: carries what it leaves out.
    partial: bool = False
    quantity: Literal["time", "memory"] = "time"
    #: The terms by which the family takes part in `auto` on a series.
    overheads: tuple[Overhead, ...] = ()

    def shown(self, phases: Collection[str]) -> bool:
        """Tell whether these measured phases show what the family hides behind what; see `shown_by`."""
        return all(not set(alternatives).isdisjoint(phases) for alternatives in self.shown_by)

    def missing(self, factors: Factors) -> list[str]:
        """Return the required factors that the table lacks."""
        return [n.name for n in self.needs if n.required and not factors.has(n.name)]

    def left_out(self, factors: Sequence[Factor], mapping: Mapping[str, str] | None = None) -> list[str]:
        """Return the optional factors that the table lacks: a coefficient stands for each."""
        matched = Factors(tuple(factors), mapping or {})
        return [n.name for n in self.needs if not n.required and not n.supposed and not matched.has(n.name)]

    def matched(self, factors: Sequence[Factor], mapping: Mapping[str, str] | None = None) -> dict[str, str]:
        """Return the factors the family uses, each with its column or its formula over columns."""
        matched = Factors(tuple(factors), mapping or {})
        nodes = {n.name: matched.node(n.name) for n in self.needs}
        return {name: render(node) for name, node in nodes.items() if node is not None}

    def expressions(
        self,
        factors: Sequence[Factor],
        mapping: Mapping[str, str] | None = None,
        phases: Collection[str] = (),
    ) -> list[Expression]:
        """Return the candidate expressions of the family for a table's factors.

        Parameters
        ----------
        mapping : mapping of str to str, optional
            Canonical name → column.
        phases : collection of str
            Those with a measured column.

        Raises
        ------
        ModelError
            Where a required factor is missing: which, and how to map or derive it.
        """
        matched = Factors(tuple(factors), mapping or {}, frozenset(phases))
        missing = self.missing(matched)
        if missing:
            first = missing[0]
            _refuse_zeros(self.name, first, matched)
            columns = [f.name for f in factors if f.numeric]
            also = ", ".join(ALIASES[first][:4])
            raise ModelError(
                f"family '{self.name}' needs {' and '.join(repr(m) for m in missing)}, "
                f"and none of the factors ({', '.join(columns) or 'none'}) is named so",
                hint=f"--map {first}=COLUMN, name a column {also}, or derive it: --let '{first}=…'",
            )
        if self.candidates:
            return list(self.candidates(matched))
        return list(self.laws(matched)) if self.laws and phases else [self.build(matched)]


def held_at(expressions: Sequence[Expression], values: Mapping[str, float]) -> list[Expression]:
    """Return the expressions that have some constants, with these held at values.

    Raises
    ------
    ModelError
        Where none has them all.

    Examples
    --------
    >>> from genperf.models import family_named
    >>> workers = Factor("workers", "extrinsic", lower=1, upper=8, distinct=4, positive=True, integer=True)
    >>> servers = family_named("parameter-server").expressions([workers])
    >>> len(servers), [str(e) for e in held_at(servers, {"d": 0.5})]
    (3, ['c + a/workers + where(workers > 1, 2*beta*workers, 0) + where(workers > 1, 0.5, 0)'])
    """
    having = [e for e in expressions if set(values) <= set(e.constant_names)]
    return [e.with_fixed(values) for e in having or expressions[:1]]


def _refuse_zeros(family: str, canonical: str, factors: Factors) -> None:
    """Refuse a column that has the required name but goes down to zero."""
    for factor in factors.factors:
        called = factor.name == factors.mapping.get(canonical) or column_of(canonical, [factor.name]) is not None
        if called and _has_zero(factor, canonical):
            raise ModelError(
                f"family '{family}' divides by '{canonical}', and column '{factor.name}' goes down to {factor.lower:g}",
                hint=f"leave those rows out: --where '{factor.name} > 0'",
            )
