"""The performance model normal form: sums of products of powers and logarithms, searched."""

from collections.abc import Iterator, Sequence
from fractions import Fraction
from itertools import product
from typing import NamedTuple

from genperf.expression import Expression, Term, coefficient
from genperf.formula import Name, parse, quote_name
from genperf.models.compose import unused_name
from genperf.models.family import Family
from genperf.panel import Panel
from genperf.table import Factor


class Exponents(NamedTuple):
    """One building block `x^i·log2(x)^j`."""

    i: Fraction
    j: int


def _blocks(text: str) -> tuple[Exponents, ...]:
    """Read a list of building blocks: `1/2 1:2` is x^½ and x·log2(x)²."""
    blocks = [block.partition(":") for block in text.split()]
    return tuple(Exponents(Fraction(i), int(j or 0)) for i, _, j in blocks)


#: Extra-P's building blocks, the simplest first: powers i, or i:j with a logarithm to the power of j.
GROWING = _blocks(
    "0:1 1 1/2 2 1:1 0:2 1/3 2/3 1/4 3/4 3/2 3 4/5 4/3 5/4 1/2:1 2:1 1:2 1/3:1 1/4:1 2/3:1 3/4:1 3/2:1 3:1 5/3 5/2"
    " 7/3 7/4 8/3 9/4 11/4 4/3:1 5/4:1 5/2:1 1/2:2 1/3:2 1/4:2 2/3:2 3/4:2 2:2 3/2:2 5/2:2"
)
SHRINKING = _blocks("-1 -1/2 -2 -1/3 -2/3 -1/4 -3/4 -3/2 -3 -4/5 -4/3 -5/4 -5/3 -5/2 -7/3 -7/4 -8/3 -9/4 -11/4")
#: Two terms of one factor: something that is shared or grows slowly, and something that grows.
FIRST = _blocks("-1 -1/2 -2 0:1")
SECOND = _blocks("0:1 0:2 1/4 1/3 1/2 1/2:1 2/3 1 1:1 3/2 2 3")
#: For two factors or more.
SEVERAL = _blocks("1 -1 0:1 1/2 1:1 2 -1/2")


def candidates(factors: Panel) -> list[Expression]:
    """Return the hypotheses from which a fit selects, fewer than 150, the simplest first.

        T = c_0 + Σ_k c_k·Π_x x^i_kx·log2(x)^j_kx

    Calotoiu et al. (2013), "Using automated performance modeling to find scalability bugs in complex codes", with the
    exponents of Extra-P, its negative ones included, and coefficients that are not negative. One factor: each of
    Extra-P's building blocks, and pairs of a falling or a logarithmic and a growing one. Two: a few blocks for each,
    added and multiplied. More: the factors of a role share their block; all are added, all multiplied, or the sum over
    the intrinsic factors is multiplied by the extrinsic ones. The powers are of x over its centre, so that coefficients
    are seconds there. The logarithms are left out for a factor with values below 1.
    """
    varying = [f for f in factors.factors if f.numeric and f.distinct != 1]
    columns = {f.name for f in factors.factors}
    write = _one if len(varying) == 1 else _several
    hypotheses = write(varying) if varying else ()
    return [_written(columns, terms) for terms in ((), *hypotheses)]


#: The powers of each term, without its coefficient and the constant term.
Terms = Sequence[Sequence[tuple[Factor, Exponents]]]


def _one(factors: Sequence[Factor]) -> Iterator[Terms]:
    """Yield the hypotheses for a single factor: a block alone, and one of `FIRST` beside one of `SECOND`."""
    (x,) = factors
    yield from ([[(x, block)]] for block in _usable(GROWING + SHRINKING, x))
    pairs = product(_usable(FIRST, x), _usable(SECOND, x))
    yield from ([[(x, falling)], [(x, other)]] for falling, other in pairs if falling != other)


def _several(factors: Sequence[Factor]) -> Iterator[Terms]:
    """Yield the hypotheses of several factors: single powers of two, products of all, sums of products or powers."""
    groups = [[f for f in factors if f.role == role] for role in ("intrinsic", "extrinsic")]
    if len(factors) == 2:
        groups = [[f] for f in factors]
        yield from ([[(factor, block)]] for factor in factors for block in _usable(SEVERAL, factor))
    # For both groups the choices of a block, each as the powers of its factors; an empty group has one, of no power.
    choices = []
    for group in groups:
        blocks = [block for block in SEVERAL if all(block in _usable(SEVERAL, factor) for factor in group)]
        choices.append([[(factor, block) for factor in group] for block in blocks] if group else [[]])
    pairs = list(product(*choices))
    yield from ([intrinsic + extrinsic] for intrinsic, extrinsic in pairs)
    if len(factors) > 2 and all(groups):
        yield from ([[power, *extrinsic] for power in intrinsic] for intrinsic, extrinsic in pairs)
    yield from ([[power] for power in intrinsic + extrinsic] for intrinsic, extrinsic in pairs)


def _usable(blocks: Sequence[Exponents], factor: Factor) -> list[Exponents]:
    """Return the blocks without logarithms for a factor with values below 1, whose logarithm is negative."""
    return [b for b in blocks if b.j == 0 or factor.lower >= 1.0]


def _written(columns: set[str], terms: Terms) -> Expression:
    """Write `c + Σ_k c_k·Π x^i·log2(x)^j`, with constants named unlike the columns."""
    names = [unused_name("c" if k == 0 else f"c{k}", columns) for k in range(len(terms) + 1)]
    written = [Term("constant", Name(names[0]))]
    for name, powers in zip(names[1:], terms, strict=True):
        factors = [text for factor, block in powers for text in _parts(factor, block)]
        product_of = "*".join([quote_name(name), *factors])
        written.append(Term(" · ".join(_text(f, b) for f, b in powers), parse(product_of).node))
    return Expression("pmnf", tuple(written), tuple(coefficient(name) for name in names))


def _parts(factor: Factor, block: Exponents) -> Iterator[str]:
    """Yield the power of the factor over its centre, `(n/4)**(3/2)`, and that of its logarithm, `log2(n)**(2)`."""
    x, centre = quote_name(factor.name), float(f"{factor.centre:.3g}")
    relative = x if centre == 1.0 else f"{x}/{centre!r}"
    if not factor.positive and factor.distinct:
        relative = f"1 + {relative}"
    if block.i:
        yield f"sqrt({relative})" if block.i == Fraction(1, 2) else _power_text(f"({relative})", block.i)
    if block.j:
        yield _power_text(f"log2({x})", block.j)


def _power_text(base: str, power: Fraction | int) -> str:
    return base if power == 1 else f"{base}**({power})"


def _text(factor: Factor, block: Exponents) -> str:
    """Return the block as the name of a term shows it: `n^3/2·log2(n)^2`."""
    powers = ((factor.name, block.i), (f"log2({factor.name})", block.j))
    return "·".join(base if power == 1 else f"{base}^{power}" for base, power in powers if power != 0)


FAMILY = Family(
    name="pmnf",
    equation="c + Σ c_k·Π x^i·log2(x)^j, i and j from a list",
    source="Calotoiu et al. 2013 (Extra-P)",
    purpose="any numeric factors, searched: powers and logarithms",
    requires=(),
    build=candidates,
    choice="search",
)
