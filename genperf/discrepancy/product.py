"""A covariance that is a product over factors: an analysis of variance over all their subsets, and a local part.

Its parts and their priors are the rows of `SIZES`, from which the search and the page's script take them.
"""

from collections.abc import Callable, Mapping
from functools import cached_property
from typing import Annotated, Any, Literal, NamedTuple

import msgspec
import numpy as np

from genperf.arrays import AnyArray, Array, Columns
from genperf.formula import parse, values_of

Scale = Literal["ln", "ln1p", "level"]
#: Pairs of points above which V is computed of their distinct values: rows share most of these.
FEW_PAIRS = 2_500

Positive = Annotated[float, msgspec.Meta(gt=0.0)]
NotNegative = Annotated[float, msgspec.Meta(ge=0.0)]


class KernelAxis(msgspec.Struct, frozen=True, omit_defaults=True, forbid_unknown_fields=True):
    """One factor of the product, with the standard deviations of ln T that it may explain.

    numbers   V(x, z) = linear²·x·z + smooth²·exp(−(x − z)²/2·length²) + each²·1[x = z]
    counts    walk²·min(x, z) + step²·1[x > 0]·1[z > 0] beside these, x = ln n: anchored at one worker
    levels    V(x, z) = linear²·1[x = z]
    """

    formula: str  #: Over the factors; a quoted column where it is one.
    #: x is ln of a number, sign·ln(1 + |.|) of one that may be zero or below, or a label.
    scale: Scale
    linear: NotNegative
    #: How fast the local part falls with |x − z|, or with another level.
    rate: NotNegative
    smooth: NotNegative = 0.0
    length: Positive = 1.0
    walk: NotNegative = 0.0
    step: NotNegative = 0.0
    each: NotNegative = 0.0
    centre: float = 0.0  #: Subtracted from x; 0 for a count.

    @property
    def kind(self) -> str:
        """Whether it is a `number`, a `count` or a `level`."""
        return "level" if self.scale == "level" else "count" if self.walk else "number"

    def coordinates(self, columns: Columns) -> AnyArray:
        """Return x of each row."""
        name = self.formula.strip("`")
        if self.scale == "level":
            return np.asarray(columns[name]).astype(str)
        values = np.asarray(columns[name] if name in columns else values_of(parse(self.formula).node, columns), float)
        return np.asarray(logarithms(values, self.scale == "ln") - self.centre)

    def parts(self, x: AnyArray, z: AnyArray) -> dict[str, Array]:
        """Return the parts of V by the name of their size, for coordinates that are broadcast."""
        if self.scale == "level":
            return {"linear": self.linear**2 * (x == z)}
        sizes = ((name, getattr(self, name), SIZES[name].part) for name in SIZES)
        # The linear part is there even at size zero: V needs a shape.
        return {n: kernel(size**2, x, z, self) for n, size, kernel in sizes if kernel and (size or n == "linear")}

    def distance(self, x: AnyArray, z: AnyArray) -> Array:
        """Return |x − z|, or whether two labels differ, for coordinates that are broadcast."""
        return np.asarray(x != z if self.scale == "level" else np.abs(x - z), float)


class Size(NamedTuple):
    """A size of an axis: its prior, and the part of V that it makes."""

    #: Median by kind of axis, set on the tables of `experiments/results/process.md`. A kind that is left out has no
    #: such size.
    usual: Mapping[str, float]
    #: The part of V, of the size's square v, x, z and the axis; None for a size that enters otherwise.
    part: Callable[[float, AnyArray, AnyArray, KernelAxis], AnyArray] | None = None
    script: str = ""  #: The same in JavaScript.
    within: str = ""  #: The size without which it has no effect.


#: In units of ln T: per e-fold, but of a level between two of them.
SIZES = {
    "linear": Size({"number": 0.5, "count": 0.1, "level": 0.3}, lambda v, x, z, _: v * x * z, "v * x * z"),
    "smooth": Size(
        {"number": 0.2, "count": 0.2},
        lambda v, x, z, axis: v * np.exp(-0.5 * ((x - z) / axis.length) ** 2),
        "v * Math.exp(-0.5 * ((x - z) / axis.length) ** 2)",
    ),
    # e-folds over which the smooth part changes.
    "length": Size({"number": 1.5, "count": 1.5}, within="smooth"),
    # Of the local part.
    "rate": Size({"number": 0.4, "count": 0.4, "level": 1.0}),
    "walk": Size(
        {"count": 0.1},
        lambda v, x, z, _: v * np.where(x * z > 0.0, np.minimum(np.abs(x), np.abs(z)), 0.0),
        "x * z > 0 ? v * Math.min(Math.abs(x), Math.abs(z)) : 0",
    ),
    # Between alone and together.
    "step": Size({"count": 0.1}, lambda v, x, z, _: v * ((x > 0.0) & (z > 0.0)), "x > 0 && z > 0 ? v : 0"),
    # Of each value alone, which is searched for from here and from a large one (`genperf.discrepancy.sizes`).
    "each": Size({"number": 0.02}, lambda v, x, z, _: v * (x == z), "x === z ? v : 0"),
}


def usual_sizes(kind: str) -> dict[str, float]:
    """Return the medians of the sizes of an axis of a kind."""
    return {name: size.usual[kind] for name, size in SIZES.items() if kind in size.usual}


def kernel_script() -> str:
    """Return the parts of V in JavaScript: `const PARTS = {linear: (v, x, z, axis) => v * x * z, …};`."""
    lines = (f"  {name}: (v, x, z, axis) => {size.script},\n" for name, size in SIZES.items() if size.part)
    return f"const PARTS = {{\n{''.join(lines)}}};"


class Product(msgspec.Struct, frozen=True, dict=True, tag="product", forbid_unknown_fields=True):
    """A product over factors, which holds every interaction between them, and a part that is local.

        κ(x, z) = s²·Π_j (1 + V_j(x_j, z_j)/s²) + l²·exp(−Σ_j rate_j·d_j(x_j, z_j))

    >>> kernel = Product((KernelAxis("n", "ln", 0.1, 1.0),), 2.0, 0.0)
    >>> kernel.covariance({"n": np.array([1.0, np.e])}, {"n": np.array([np.e])})
    array([[4.  ],
           [4.01]])
    """

    axes: tuple[KernelAxis, ...]
    size: Positive  #: s: standard deviation of the level, and above what the effects of two factors multiply.
    local: NotNegative  #: l.

    @cached_property
    def factors(self) -> tuple[str, ...]:
        """The factors that the covariance depends on."""
        return tuple(dict.fromkeys(name for axis in self.axes for name in parse(axis.formula).names))

    @cached_property
    def smooth(self) -> "Product":
        """The covariance of what has a slope: without the effect of each value alone, and of each configuration."""
        return Product(tuple(msgspec.structs.replace(axis, each=0.0) for axis in self.axes), self.size, 0.0)

    def covariance(self, a: Mapping[str, Any], b: Mapping[str, Any]) -> Array:
        """Return the covariance between two lists of configurations, shape (rows of a, rows of b)."""
        return self.between([(axis.coordinates(a), axis.coordinates(b)) for axis in self.axes])

    def between(self, pairs: list[tuple[AnyArray, AnyArray]]) -> Array:
        """Return κ between two lists of points, (first, second), by the coordinates (x, z) of both on each axis."""
        shape = len(pairs[0][0]), len(pairs[0][1])
        product, far = np.ones(shape), np.zeros(shape)
        for axis, (x, z) in zip(self.axes, pairs, strict=True):
            many = x.size * z.size > FEW_PAIRS
            if many:
                x, row = np.unique(x, return_inverse=True)
                z, column = np.unique(z, return_inverse=True)
            V, distance = np.asarray(sum(axis.parts(x[:, None], z).values())), axis.distance(x[:, None], z)
            if many:
                V, distance = (of_values[row].take(column, axis=1) for of_values in (V, distance))
            product *= 1.0 + V / self.size**2
            far += axis.rate * distance
        return np.asarray(self.size**2 * product + self.local**2 * np.exp(-far))

    def variance(self, columns: Columns) -> Array:
        """Return κ(x, x) of each row, shape (rows,)."""
        product = np.ones(len(next(iter(columns.values()))))
        for axis in self.axes:
            x = axis.coordinates(columns)
            product *= 1.0 + sum(axis.parts(x, x).values()) / self.size**2
        return np.asarray(self.size**2 * product + self.local**2)


def logarithms(values: Array, positive: bool) -> Array:
    """Return ln of numbers, or sign·ln(1 + |.|) where one may be zero or below."""
    with np.errstate(all="ignore"):
        return np.asarray(np.log(values) if positive else np.sign(values) * np.log1p(np.abs(values)))
