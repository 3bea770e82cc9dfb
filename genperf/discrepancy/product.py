"""A covariance that is a product over factors: an analysis of variance over all their subsets, and a local part."""

from collections.abc import Mapping
from functools import cached_property
from typing import Annotated, Any, Literal

import msgspec
import numpy as np
import numpy.typing as npt

from genperf.arrays import Array, Index
from genperf.formula import evaluate, parse

Scale = Literal["ln", "ln1p", "level"]
Positive = Annotated[float, msgspec.Meta(gt=0.0)]
NotNegative = Annotated[float, msgspec.Meta(ge=0.0)]


class Axis(msgspec.Struct, frozen=True, omit_defaults=True, forbid_unknown_fields=True):
    """One factor of the product, with the standard deviations of ln T that it may explain.

    numbers   V(x, z) = linear²·x·z + smooth²·exp(−(x − z)²/2·length²) + each²·1[x = z]
    counts    walk²·min(x, z) + step²·1[x > 0]·1[z > 0] beside these, x = ln n: anchored at one worker
    levels    V(x, z) = linear²·1[x = z]
    """

    #: Over the factors; a quoted column where it is one.
    formula: str
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
    #: Subtracted from x; 0 for a count.
    centre: float = 0.0

    def coordinates(self, columns: Mapping[str, Any]) -> npt.NDArray[Any]:
        """Return x of each row."""
        name = self.formula.strip("`")
        if self.scale == "level":
            return np.asarray(columns[name], dtype=object)
        read = columns[name] if name in columns else evaluate(parse(self.formula).node, columns)
        values = np.broadcast_to(np.asarray(read, float), (len(next(iter(columns.values()))),))
        with np.errstate(all="ignore"):
            x = np.log(values) if self.scale == "ln" else np.sign(values) * np.log1p(np.abs(values))
        return np.asarray(x - self.centre)

    def parts(self, x: npt.NDArray[Any], z: npt.NDArray[Any]) -> dict[str, Array]:
        """Return the parts of V by the name of their size, for coordinates that are broadcast."""
        if self.scale == "level":
            return {"linear": self.linear**2 * (x == z)}
        parts = {"linear": self.linear**2 * x * z}
        if self.smooth:
            parts["smooth"] = self.smooth**2 * np.exp(-0.5 * ((x - z) / self.length) ** 2)
        if self.each:
            parts["each"] = self.each**2 * (x == z)
        if self.walk:
            parts["walk"] = self.walk**2 * np.where(x * z > 0.0, np.minimum(np.abs(x), np.abs(z)), 0.0)
            parts["step"] = self.step**2 * ((x > 0.0) & (z > 0.0))
        return parts

    def distance(self, x: npt.NDArray[Any], z: npt.NDArray[Any]) -> Array:
        """Return |x − z|, or whether two labels differ, for coordinates that are broadcast."""
        return np.asarray(x != z if self.scale == "level" else np.abs(x - z), float)


class Product(msgspec.Struct, frozen=True, dict=True, tag="product", forbid_unknown_fields=True):
    """A product over factors, which holds every interaction between them, and a part that is local.

        κ(x, z) = s²·Π_j (1 + V_j(x_j, z_j)/s²) + l²·exp(−Σ_j rate_j·d_j(x_j, z_j))

    Examples
    --------
    >>> kernel = Product((Axis("n", "ln", 0.1, 1.0),), 2.0, 0.0)
    >>> kernel.covariance({"n": np.array([1.0, np.e])}, {"n": np.array([np.e])})
    array([[4.  ],
           [4.01]])
    """

    axes: tuple[Axis, ...]
    #: s: standard deviation of the level, and above what the effects of two factors multiply.
    size: Positive
    #: l.
    local: NotNegative

    @cached_property
    def factors(self) -> tuple[str, ...]:
        """The factors that the covariance depends on."""
        return tuple(dict.fromkeys(name for axis in self.axes for name in parse(axis.formula).names))

    def covariance(self, a: Mapping[str, Any], b: Mapping[str, Any]) -> Array:
        """Return the covariance between two lists of configurations, shape (rows of a, rows of b)."""
        return self.between([(axis.coordinates(a), axis.coordinates(b)) for axis in self.axes])

    def between(self, pairs: list[tuple[npt.NDArray[Any], npt.NDArray[Any]]]) -> Array:
        """Return the covariance between two lists of points, given by the coordinates of both along each axis."""
        shape = len(pairs[0][0]), len(pairs[0][1])
        product, far = np.ones(shape), np.zeros(shape)
        for axis, (x, z) in zip(self.axes, pairs, strict=True):
            (xs, row), (zs, column) = distinct(x), distinct(z)
            ratio = np.asarray(1.0 + sum(axis.parts(xs[:, None], zs).values()) / self.size**2)
            product *= ratio[row].take(column, axis=1)
            far += (axis.rate * axis.distance(xs[:, None], zs))[row].take(column, axis=1)
        return np.asarray(self.size**2 * product + self.local**2 * np.exp(-far))

    def variance(self, columns: Mapping[str, Any]) -> Array:
        """Return the diagonal of the covariance, shape (rows,)."""
        product = np.ones(len(next(iter(columns.values()))))
        for axis in self.axes:
            x = axis.coordinates(columns)
            product *= 1.0 + sum(axis.parts(x, x).values()) / self.size**2
        return np.asarray(self.size**2 * product + self.local**2)


def distinct(x: npt.NDArray[Any]) -> tuple[npt.NDArray[Any], Index]:
    """Return the distinct values of a list, and the place of each among them."""
    values, place = np.unique(x.astype(str) if x.dtype == object else x, return_inverse=True)
    return (values.astype(object) if x.dtype == object else values), place
