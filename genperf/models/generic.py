"""The generic expression: intrinsic processes, each scaled by extrinsic factors, plus a constant."""

import shlex
from collections.abc import Collection, Iterable, Sequence
from itertools import product
from typing import Literal, NamedTuple, TypeAlias

import numpy as np
from msgspec import Struct
from msgspec.structs import replace

from genperf.arrays import Columns
from genperf.errors import ModelError
from genperf.expression import Constant, ConstantMeaning, Expression, Part, Term, coefficient, exponent
from genperf.formula import Name, Node, Number, call, chain, values_of
from genperf.models.compose import at_level, unused_name
from genperf.models.family import Family
from genperf.table import Factor

StructureName = Literal["separable", "per-term", "product", "grown"]
STRUCTURES: tuple[StructureName, ...] = ("separable", "per-term", "product", "grown")

#: Name of the term that no factor changes.
CONSTANT_TERM = "constant"

#: Lower and upper bound of p: the operations of a convolution grow with the square of its width and of its kernel; 4
#: leaves room above. Half and double the range err 3 % less (settings.md).
INTRINSIC_EXPONENTS: tuple[float, float] = (-2.0, 4.0)
#: Lower and upper bound of q: the time grows at most in proportion to a count (a single serial resource is the
#: worst case) and falls at most in inverse proportion (the work perfectly shared).
EXTRINSIC_EXPONENTS: tuple[float, float] = (-1.0, 1.0)
#: Lower and upper bound of d, in logarithms: a level of a categorical factor, or several workers instead of one,
#: changes a term by at most exp(3) = 20 times. Half errs 5 % more, double as much (settings.md).
LEVEL_BOUNDS: tuple[float, float] = (-3.0, 3.0)
#: The least size of an exponent by which a factor gives its product a name, and how many do: a doubling changes the
#: term by 3.5 %. Half and double change no answer (settings.md).
NAMED_EXPONENT = 0.05
NAMED_FACTORS = 3
#: Largest number of product terms that is tried: with more, every constant has too few rows. Three err 3 % less, twelve
#: as much (settings.md).
MAX_PRODUCTS = 6
#: Largest number of levels of all categorical factors together: each is a constant of every term. Half and double
#: change no answer (settings.md).
MAX_TERM_LEVELS = 200
#: Largest number of terms of a `grown` structure: with interactions a third lowers no error
#: (`experiments/decisions/learned-sizes.md`).
MAX_GROWN = 2
#: Combinations of levels for each configuration, at most, where combinations may differ: three configurations of each.
#: Half and double change no answer (settings.md).
COMBINED_SHARE = 1.0 / 3.0
#: Constants of all interactions that are offered together: learning their sizes takes the cube of this. 170 of the
#: largest bundled table take 0.2 s. Half and double change no answer (settings.md).
MAX_EFFECTS = 300
#: Largest number of factors that vary. 100 factors took 5 s; 200 took 10 to 100 s, and expressions of 400 are
#: nested deeper than they can be read (300 and 900 configurations, one shared core, experiments/reliability.md).
MAX_FACTORS = 100


class Structure(Struct, frozen=True):
    """The form of the generic expression."""

    #: `separable`: one term per intrinsic factor, one exponent per extrinsic factor shared by all terms (the fewest
    #: constants). `per-term`: each term has separate extrinsic exponents. `product`: each term holds every factor,
    #: intrinsic and extrinsic, with separate exponents. `grown`: the same, to which a fit adds the interactions
    #: (`genperf.models.generic`) that the configurations support.
    name: StructureName = "separable"
    products: int = 1  #: Terms of the `product` structure.

    def __str__(self) -> str:
        return f"{self.name} {self.products}" if self.name == "product" else self.name


SEPARABLE = Structure()


def generic(factors: Sequence[Factor], structure: Structure = SEPARABLE, following: Collection[str] = ()) -> Expression:
    """Write the generic expression for some factors.

        T = C + Σ_i a_i · I_i^p_i · Π_j E_j^q_ij · Π_c exp(d_ic[level])

    after Kavarakuntla et al. (2023), "A generic performance model for deep learning in a distributed environment"; the
    formula is our derivation from its abstract (see `experiments/papers.md`). Each factor is divided by its geometric
    mean, rounded to three digits, so that coefficients are seconds at the centre of the data. A factor with values of
    zero enters as `1 + x/centre`. In the `product` structure an extrinsic count that was measured at 1 and at two or
    more larger values has, in each term, besides its power, a step exp(d) between alone and together: communication
    begins with the second worker. A `grown` structure is written as `product`: its interactions are added by a fit.

    >>> layers = Factor("layers", "intrinsic", 2, 8, centre=4.0, distinct=3, positive=True)
    >>> workers = Factor("workers", "extrinsic", 1, 16, centre=4.0, distinct=5, positive=True)
    >>> print(generic([layers, workers]))
    C + a_layers*(layers/4)**p_layers*(workers/4)**q_workers
    """
    varying = [f for f in factors if f.distinct > 1]
    if not varying:
        raise ModelError("no factor varies, so there is nothing to fit", hint="name more columns, or measure more")
    if len(varying) > MAX_FACTORS:
        hint = "name those that may matter; --let joins several into one, and --group fits a model for each value"
        raise ModelError(f"{len(varying)} factors vary; at most {MAX_FACTORS} are fitted together", hint=hint)
    levels = sum(len(f.levels) for f in varying)
    if levels > MAX_TERM_LEVELS:
        largest = max(varying, key=lambda f: len(f.levels))
        what = f"the categorical factors have {levels} levels; at most {MAX_TERM_LEVELS} are fitted together"
        hint = f"--group {shlex.quote(largest.name)} fits one model for each of its {len(largest.levels)} levels"
        raise ModelError(what, hint=hint)
    return _Writer(varying, structure, following).write()


class _Writer:
    """Collects terms and constants while the expression is written."""

    def __init__(self, factors: Sequence[Factor], structure: Structure, following: Collection[str]) -> None:
        self.intrinsic = [f for f in factors if f.role == "intrinsic"]
        self.extrinsic = [f for f in factors if f.role == "extrinsic" and f.name not in following]
        self.steps = steps_of(factors, following)
        self.following = following
        self.categorical = [f for f in factors if not f.numeric]
        self.structure = structure
        self.columns = {f.name for f in factors}
        self.constants: dict[str, Constant] = {}

    def write(self) -> Expression:
        """Return the structure's expression: C, and a term for each product or intrinsic factor, or else `work`."""
        terms = [Term(CONSTANT_TERM, self.constant(coefficient("C")))]
        if self.structure.name == "product":
            products = range(1, self.structure.products + 1)
            terms += [self.term(f"a{k}", f"a{k}", f"{k}", ConstantMeaning("scale", term=k)) for k in products]
        elif self.intrinsic:
            suffixes = {f.name: "" if self.structure.name == "separable" else f"_{f.name}" for f in self.intrinsic}
            terms += [self.term(n, f"a_{n}", suffix, ConstantMeaning("scale", n)) for n, suffix in suffixes.items()]
        else:
            terms.append(self.term("work", "a", "", ConstantMeaning("scale")))
        return Expression("generic", tuple(terms), tuple(self.constants.values()))

    def constant(self, constant: Constant) -> Node:
        """Add a constant, under a name that no column has, and return it as a node."""
        constant = replace(constant, name=unused_name(constant.name, self.columns))
        self.constants.setdefault(constant.name, constant)
        return Name(constant.name)

    def term(self, name: str, scale: str, suffix: str, meaning: ConstantMeaning) -> Term:
        """Return a·Π (x/centre)^p·Π (x/centre)^q·Π exp(d·step)·Π exp(d·level), the coefficient a named `scale`.

        A product, of a number k above 0, has all factors and counts; another term (k = 0) its intrinsic factor, all
        extrinsic ones, and the counts that follow. The names of q and d have the suffix, and that of p has k.
        """
        k, p, q, d = meaning.term, f"p{meaning.term or ''}", f"q{suffix}", f"d{suffix}"
        within, beside = INTRINSIC_EXPONENTS, EXTRINSIC_EXPONENTS
        intrinsic = [f for f in self.intrinsic if k or f.name == meaning.factor]
        steps = [f for f in self.steps if k or f.name in self.following]
        effects = [self.power(f, p, within, ConstantMeaning("intrinsic", f.name, term=k)) for f in intrinsic]
        effects += [self.power(f, q, beside, ConstantMeaning("extrinsic", f.name, term=k)) for f in self.extrinsic]
        effects += [self.effect(f"{d}_{f.name}", together(f), ConstantMeaning("step", f.name, term=k)) for f in steps]
        # The first level is the reference.
        levels = [(f, level) for f in self.categorical for level in f.levels[1:]]
        effects += [
            self.effect(f"{d}_{f.name}[{level}]", at_level(f, level), ConstantMeaning("level", "", f.name, level, k))
            for f, level in levels
        ]
        return Term(name, chain("multiply", [self.constant(replace(coefficient(scale), meaning=meaning)), *effects]))

    def power(self, factor: Factor, prefix: str, bounds: tuple[float, float], meaning: ConstantMeaning) -> Node:
        """Return a power of the factor over its centre, with the exponent `prefix_factor`."""
        of_factor = replace(exponent(f"{prefix}_{factor.name}", *bounds), meaning=meaning)
        return call("power", relative(factor), self.constant(of_factor))

    def effect(self, name: str, column: Node, meaning: ConstantMeaning) -> Node:
        """Return exp(d·column), with the constant d of that name: column is 1 where the effect is, and 0 elsewhere."""
        return call("exp", call("multiply", self.constant(level_effect(name, meaning)), column))


def level_effect(name: str, meaning: ConstantMeaning) -> Constant:
    """Return a constant d of a term that is multiplied by exp(d)."""
    return Constant(name, "level", *LEVEL_BOUNDS, start=0.0, meaning=meaning)


def relative(factor: Factor) -> Node:
    """Return the factor over its centre; 1 more where the factor may be zero."""
    # Three digits: the centre only sets the scale, and prints better.
    over: Node = call("divide", Name(factor.name), float(f"{factor.centre:.3g}"))
    return over if factor.positive else call("add", 1.0, over)


def together(factor: Factor) -> Node:
    """Return 1 where a count is above 1, and 0 elsewhere."""
    return call("where", call("greater", Name(factor.name), 1.0), 1.0, 0.0)


def structures(factors: Sequence[Factor]) -> list[Structure]:
    """Return the structures to try for some factors, simplest first; `grown` ones are grown from the products."""
    varying = [f for f in factors if f.distinct > 1]
    # Of one factor or two, more products are more of the same.
    most_products = 2 if len(varying) < 3 else MAX_PRODUCTS
    products = [Structure("product", k) for k in range(1, most_products + 1)]
    if sum(f.role == "intrinsic" for f in varying) < 2:
        return products
    return [Structure("separable"), Structure("per-term"), *products]


def named_by_factors(expression: Expression, constants: Iterable[float]) -> Expression:
    """Return a fitted sum of products whose terms are named by the factors that drive them: `batch × layers / gpus`."""
    values = [(c.name, c.meaning, float(v)) for c, v in zip(expression.constants, constants, strict=True)]
    names: list[str] = []
    for term in expression.terms:
        term_names = term.names
        meanings = [(m, v) for name, m, v in values if name in term_names and m is not None and m.term]
        name = _driven_by(meanings) if meanings else term.name
        earlier = sum(full_name.partition(" (")[0] == name for full_name in names)
        names.append(f"{name} ({earlier + 1})" if earlier else name)
    terms = zip(names, expression.terms, strict=True)
    return replace(expression, terms=tuple(Term(name, term.node) for name, term in terms))


def _driven_by(meanings: Sequence[tuple[ConstantMeaning, float]]) -> str:
    """Name a product by its factors of largest exponents, as `batch × layers / gpus`."""
    if any(v == 0.0 for meaning, v in meanings if meaning.part == "scale"):
        return "unused product"
    powers = {m.factor: v for m, v in meanings if m.part in ("intrinsic", "extrinsic") and not m.level}
    driving = [f for f, v in powers.items() if abs(v) >= NAMED_EXPONENT]
    driving = sorted(driving, key=lambda f: -abs(powers[f]))[:NAMED_FACTORS]
    rising, falling = ([f for f in driving if (powers[f] > 0.0) is rises] for rises in (True, False))
    levels = list(dict.fromkeys(m.categorical for m, _ in meanings if m.part == "level"))
    # Without a factor that it grows with, a product is named by what its levels are of, else as `1 / gpus` or `work`.
    return " / ".join([" × ".join(rising or levels or ["1" if falling else "work"]), *falling])


def products_of(expression: Expression) -> int:
    """Return how many products an expression of the `product` structure sums; 0 for another structure."""
    return len({c.meaning.term for c in expression.constants if c.meaning is not None and c.meaning.term})


def constant_place(expression: Expression) -> int | None:
    """Return the place of the constant term's constant in a generic expression; None where it is held, or in others."""
    nodes = [term.node for term in expression.terms if term.name == CONSTANT_TERM and expression.family == "generic"]
    return expression.constant_names.index(nodes[0].name) if nodes and isinstance(nodes[0], Name) else None


def kinds_of(expression: Expression) -> tuple[str, ...]:
    """Return the kind of each constant of a sum of products, such as `p_batch` or `d1_gpu[]`; empty for a scale."""
    kinds = []
    for meaning in (c.meaning for c in expression.constants):
        if meaning is None or not meaning.term or meaning.part == "scale":
            kinds.append("")
        elif meaning.part == "level":
            kinds.append(f"d{meaning.term}_{meaning.categorical}[]")
        else:
            kinds.append(f"{_LETTERS[meaning.part]}_{meaning.factor}")
    return tuple(kinds)


_LETTERS: dict[Part, str] = {"intrinsic": "p", "extrinsic": "q", "step": "d"}


def steps_of(factors: Sequence[Factor], following: Collection[str] = ()) -> list[Factor]:
    """Return the extrinsic counts that may have a step: measured at 1 and two larger values, or one if they follow."""
    counts = [f for f in factors if f.role == "extrinsic" and f.integer and f.lower == 1.0]
    return [f for f in counts if f.distinct >= (2 if f.name in following else 3)]


#: What is between the levels, and between the factors, of a combination.
JOINT = ":"


class Effect(NamedTuple):
    """A constant, and the column that it multiplies in the logarithm of every term."""

    name: str
    node: Node
    meaning: ConstantMeaning


#: Effects of one kind: all levels of one categorical factor on the exponent of one factor, for example.
Interaction: TypeAlias = tuple[Effect, ...]


def interactions(
    factors: Sequence[Factor], columns: Columns, following: Collection[str] = ()
) -> tuple[Interaction, ...]:
    """List the interactions of levels, of their combinations and of following counts that the rows determine."""
    varying = [f for f in factors if f.distinct > 1]
    categorical = [f for f in varying if not f.numeric]
    effects_of_level = [_power(f) for f in varying if f.numeric and f.name not in following]
    effects_of_level += [
        Effect(f"d_{f.name}", together(f), ConstantMeaning("step", f.name)) for f in steps_of(varying, following)
    ]
    following_counts = [f for f in varying if f.name in following] if categorical else []
    candidates: list[Interaction] = [(_power(f)._replace(name=f"q_{f.name}"),) for f in following_counts]
    for combination in (*([f] for f in categorical), *_separating_factors(categorical, columns)):
        measured = _distinct(combination, columns)
        # In the order of the factors' levels, not of their names. The first of two levels keeps the shared constants.
        levels = [level for level in product(*(f.levels for f in combination)) if level in measured]
        levels = levels[1:] if len(combination) == 1 and len(levels) <= 2 else levels
        level_itself = [Effect("d", Number(1.0), ConstantMeaning("level"))] if len(combination) > 1 else []
        candidates += [_level_changes(level, combination, levels) for level in (*level_itself, *effects_of_level)]
    # Without columns that are constant, or repeat one before.
    column_bytes: set[bytes] = set()
    accepted: list[Interaction] = []
    for interaction in candidates:
        if sum(map(len, (*accepted, interaction))) > MAX_EFFECTS:
            continue
        effects = []
        for effect in interaction:
            values = values_of(effect.node, columns)
            key = np.round(values, 9).tobytes()
            if np.ptp(values) > 0.0 and key not in column_bytes:
                column_bytes.add(key)
                effects.append(effect)
        if effects:
            accepted.append(tuple(effects))
    return tuple(accepted)


def _level_changes(changed: Effect, factors: Sequence[Factor], levels: Iterable[tuple[str, ...]]) -> Interaction:
    """Return what is changed, at each level of a categorical factor, or combination of levels of several, alone."""
    joint, is_level = JOINT.join(f.name for f in factors), changed.meaning.part == "level"
    effects = []
    for combination in levels:
        level, node = JOINT.join(combination), chain("multiply", map(at_level, factors, combination))
        meaning = changed.meaning._replace(categorical=joint, level=level)
        column = node if is_level else call("multiply", node, changed.node)
        effects.append(Effect(f"{changed.name}_{joint}[{level}]", column, meaning))
    return tuple(effects)


def _power(factor: Factor) -> Effect:
    """Return the effect of a factor's exponent p on the logarithm of a term, p·ln(x/centre)."""
    role: Part = "intrinsic" if factor.role == "intrinsic" else "extrinsic"
    return Effect(f"p_{factor.name}", call("log", relative(factor)), ConstantMeaning(role, factor.name))


def with_interactions(expression: Expression, offered: Sequence[Interaction]) -> Expression:
    """Return the expression with every term but the constant one multiplied by exp(d·column) for each effect."""
    columns, effects = set(expression.factors), [effect for interaction in offered for effect in interaction]
    if not effects:
        return expression
    constants = [level_effect(unused_name(name, columns), meaning) for name, _, meaning in effects]
    pairs = zip(constants, effects, strict=True)
    powers = [call("exp", call("multiply", Name(constant.name), effect.node)) for constant, effect in pairs]
    terms = tuple(
        term if term.name == CONSTANT_TERM else Term(term.name, chain("multiply", [term.node, *powers]))
        for term in expression.terms
    )
    return replace(expression, terms=terms, constants=(*expression.constants, *constants))


def _separating_factors(categorical: Sequence[Factor], columns: Columns) -> list[list[Factor]]:
    """Return [the fewest factors that tell the measured combinations apart]; [] where one does, or rows are few."""
    separating, combinations = list(categorical), len(_distinct(categorical, columns))
    for factor in reversed(categorical):
        fewer = [f for f in separating if f is not factor]
        if fewer and len(_distinct(fewer, columns)) == combinations:
            separating = fewer
    enough = len(separating) > 1 and combinations <= COMBINED_SHARE * len(columns[separating[0].name])
    return [separating] if enough else []


def _distinct(factors: Sequence[Factor], columns: Columns) -> set[tuple[str, ...]]:
    """Return the measured combinations of the factors' levels."""
    return set(zip(*(map(str, columns[f.name]) for f in factors), strict=True))


FAMILY = Family(
    name="generic",
    equation="C + Σ a_i·I_i^p_i·Π E_j^q_ij·exp(d[level])",
    source="Kavarakuntla et al. 2023",
    purpose="any table: intrinsic factors scaled by extrinsic ones",
    requires=(),
    build=lambda matched: [generic(matched.factors, s) for s in structures(matched.factors)],
)
