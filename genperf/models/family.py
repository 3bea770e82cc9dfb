"""A family of execution-time expressions, the factors of a table that it reads, and its overheads on a series."""

from collections.abc import Callable, Collection, Mapping, Sequence
from typing import Literal

from msgspec import Struct, field
from msgspec.structs import replace

from genperf.errors import ModelError
from genperf.expression import Expression
from genperf.panel import Panel
from genperf.panel.panel import has_zero
from genperf.vocabulary.names import ALIASES, column_of

#: Where an overhead arises; see `Overhead`.
Place = Literal["constant", "inside", "between", "growing", "doubling", "anywhere"]


class Overhead(Struct, frozen=True):
    """A term of a series beside its computation, with one coefficient above zero.

    m nodes hold g = n/m workers each. `auto` (`genperf.growth`) draws a bank of curves from the overheads that
    `prior.json` names.
    """

    name: str  #: Of the term, as attribution prints it; unique among all families.
    constant: str  #: Name of the coefficient.
    formula: str  #: Over the coefficient and the canonical names `workers` and `nodes`.
    #: The same at every scale; among the workers of a node; from the second node on; in proportion to the nodes; with
    #: every doubling of the workers, inside a node and beyond; anywhere along the workers.
    place: Place
    #: Name of a second constant, an exponent or a limit, of which each curve of the bank has its own; empty without.
    shape: str = ""


#: What the candidates of a family are: many expressions that are searched (`search`), a few laws among which the table
#: decides (`laws`), or one law with fewer and fewer constants, the whole one first, of which the largest that the
#: configurations determine is fitted (`largest`).
Choice = Literal["search", "laws", "largest"]


class Family(Struct, frozen=True):
    """A family of expressions."""

    name: str
    equation: str  #: In the canonical names, as `genperf list models` prints it.
    source: str  #: The paper the idea comes from.
    purpose: str  #: The use of the family, in a phrase.
    #: Matched factors and measured phases → the expression, or those among which a fit chooses. For measured phases the
    #: usual one first: other laws of a phase, among which its column decides, and terms that no column measures, among
    #: which the total decides.
    build: Callable[[Panel], Expression | Sequence[Expression]]
    #: Canonical names of the factors without which the family makes no sense; most are laws of the workers.
    requires: tuple[str, ...] = ("workers",)
    uses: tuple[str, ...] = ()  #: Names of factors that the table may lack: they are then in the coefficients.
    supposes: tuple[str, ...] = ()  #: Names of factors whose absence needs no note: most runs have no such thing.
    choice: Choice = "laws"  #: What several expressions are; see `Choice`.
    #: Phase (`PHASES` of the vocabulary) → the terms that a column of it measures. With measured phases, the terms of
    #: one phase share no constant with those of another.
    phases: Mapping[str, tuple[str, ...]] = field(default_factory=dict)
    overlaps: tuple[str, ...] = ()  #: Names of the families that combine the same phases in another way.
    #: Phases of which one in each tuple must be measured where the family is compared with its `overlaps`; any phase
    #: where there is no tuple.
    shown_by: tuple[tuple[str, ...], ...] = ()
    quantity: Literal["time", "memory"] = "time"
    overheads: tuple[Overhead, ...] = ()  #: The terms by which the family takes part in `auto` on a series.

    def shown(self, phases: Collection[str]) -> bool:
        """Return whether these measured phases show what the family hides behind what; see `shown_by`."""
        return all(not set(alternatives).isdisjoint(phases) for alternatives in self.shown_by)

    def missing(self, panel: Panel) -> list[str]:
        """Return the required factors that the table lacks."""
        counted = _nodes_as_workers(panel)
        return [name for name in self.requires if not counted.has(name)]

    def left_out(self, panel: Panel) -> list[str]:
        """Return the optional factors that the table lacks, which are then in the coefficients."""
        return [name for name in self.uses if not panel.has(name)]

    def expressions(self, panel: Panel, phases: Collection[str] = ()) -> list[Expression]:
        """Return the candidate expressions of the family for a table's factors."""
        missing = self.missing(panel)
        if missing:
            missing_factor, names = missing[0], " and ".join(map(repr, missing))
            for f in panel.factors:
                named = f.name == panel.mapping.get(missing_factor) or column_of(missing_factor, [f.name]) is not None
                if named and has_zero(f, missing_factor):
                    fault = f"family '{self.name}' divides by '{missing_factor}', and column '{f.name}' goes down to"
                    raise ModelError(f"{fault} {f.lower:g}", hint=f"leave those rows out: --where '{f.name} > 0'")
            columns = ", ".join(f.name for f in panel.factors if f.numeric) or "none"
            fault = f"family '{self.name}' needs {names}, and none of the factors ({columns}) is named so"
            also = ", ".join(ALIASES[missing_factor][:4])
            hint = f"--map {missing_factor}=COLUMN, name a column {also}, or derive it: --let '{missing_factor}=…'"
            raise ModelError(fault, hint=hint)
        built = self.build(replace(_nodes_as_workers(panel), phases=frozenset(phases)))
        return [built] if isinstance(built, Expression) else list(built)


def _nodes_as_workers(panel: Panel) -> Panel:
    """Return the panel; where only nodes are counted, they are the workers."""
    if panel.nodes is None:
        return panel
    return panel if panel.has("workers") else replace(panel, mapping={**panel.mapping, "workers": panel.nodes.name})


def held_at(expressions: Sequence[Expression], values: Mapping[str, float]) -> list[Expression]:
    """Return the expressions that have some constants, with these held at values."""
    having = [e for e in expressions if set(values) <= set(e.constant_names)]
    return [e.with_fixed(values) for e in having or expressions[:1]]
