"""Kriging as the model file lays it out, and back."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from genperf.errors import ModelError
from genperf.prediction import Axis, Effect, Kriging
from genperf.result import layout
from genperf.table import Factor


def layout_of(kriging: Kriging) -> layout.Kriging:
    """Lay kriging out."""
    return layout.Kriging(
        axes=[_axis(a) for a in kriging.axes],
        effects=[layout.Effect(size=e.size, rates=dict(e.rates)) for e in kriging.effects],
        weights=kriging.weights.tolist(),
        variance=kriging.variance,
    )


def _axis(axis: Axis) -> layout.Axis:
    labels, values = axis.coded
    return layout.Axis(factor=axis.factor, kind=axis.kind, labels=labels, values=values.tolist())


def kriging_of(kriging: layout.Kriging, factors: Sequence[Factor]) -> Kriging:
    """Return the kriging that is laid out.

    Raises
    ------
    ModelError
        Where it does not fit the factors, or its parts each other.
    """
    numeric = {f.name: f.numeric for f in factors}
    anchors = len(kriging.weights)
    axes = [_read_axis(a) for a in kriging.axes if numeric.get(a.factor) is (a.kind != "level")]
    known = {a.factor for a in axes}
    whole = len(known) == len(kriging.axes) > 0 and anchors > 0 and all(len(a.values) == anchors for a in axes)
    rates = [(name, rate) for e in kriging.effects for name, rate in e.rates.items()]
    above = all(r > 0.0 for _, r in rates) and all(e.size > 0.0 for e in kriging.effects) and kriging.variance >= 0.0
    if not whole or not above or not {name for name, _ in rates} <= known:
        raise ModelError("is not a whole model file: the kriging does not match the factors")
    effects = tuple(Effect(e.size, dict(e.rates)) for e in kriging.effects)
    return Kriging(tuple(axes), effects, np.array(kriging.weights), kriging.variance)


def _read_axis(axis: layout.Axis) -> Axis:
    values = np.array(axis.values, dtype=float)
    if axis.kind == "level":
        places = values.astype(int)
        if np.any(places != values) or np.any((places < 0) | (places >= len(axis.labels))):
            raise ModelError("is not a whole model file: an anchor of the kriging has no label")
        return Axis(axis.factor, "level", np.array(axis.labels, dtype=object)[places])
    if axis.kind == "doublings" and np.any(values <= 0.0):
        raise ModelError("is not a whole model file: an anchor of the kriging is not above zero")
    return Axis(axis.factor, axis.kind, values)


def kriging_along(shift: layout.Shift, factors: Sequence[Factor]) -> Kriging:
    """Return level effects of one count as kriging along it, of which nothing but the mean is known."""
    axis = layout.Axis(factor=shift.factor, kind="doublings", labels=[], values=shift.levels)
    effect = layout.Effect(size=1.0, rates={shift.factor: 1.0 / shift.length if shift.length > 0.0 else -1.0})
    return kriging_of(layout.Kriging(axes=[axis], effects=[effect], weights=shift.weights, variance=0.0), factors)
