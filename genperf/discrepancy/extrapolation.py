"""What holds of a series beyond its measured scales, whatever its curve says."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import msgspec
import numpy as np
import numpy.typing as npt

from genperf.formula import parse
from genperf.table.axis import several_nodes

Array = npt.NDArray[np.float64]


class Extrapolation(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """Limits and doubts beyond the anchors of a series.

    A curve grows from the largest anchor at most in proportion to the scale, times the growth of one worker's work: a
    single serial resource is the worst case. Where every anchor lies on one node, nothing bounds what the network costs
    beyond it. Beyond the anchors the slope of ln T per doubling is uncertain.
    """

    #: Formulas over the factors, along which the series was measured. The first is the scale.
    axes: tuple[str, ...]
    #: Formula of one worker's work, up to a constant.
    work: str
    #: Standard deviation of the slope of ln T per doubling.
    slope: float
    #: Formula of the number of nodes; "1" where it is not known.
    nodes: str = "1"

    def beyond(self, anchors: Anchors, columns: Mapping[str, Any]) -> tuple[Array, Array]:
        """Return what holds of rows beyond the anchors.

        Parameters
        ----------
        columns : mapping of str to ndarray of shape (rows,)

        Returns
        -------
        doublings : ndarray of shape (rows,)
            How many doublings each row lies beyond the anchors, along an axis or in work.
        growth : ndarray of shape (rows,)
            The largest ln(T/T of the largest anchor) that a curve may reach.
        """
        there = self._coordinates(columns)
        outside = np.maximum(there - anchors.coordinates.max(axis=0), anchors.coordinates.min(axis=0) - there)
        away = (there - anchors.coordinates[anchors.largest]) * np.log(2.0)
        leaves = anchors.on_one_node & several_nodes(self._nodes(columns))
        growth = np.where((away[:, 0] > 0.0) & ~leaves, away[:, 0] + np.maximum(away[:, -1], 0.0), np.inf)
        return np.maximum(outside, 0.0).max(axis=1), growth

    def at(self, columns: Mapping[str, Any]) -> Anchors:
        """Return what is needed of the anchors."""
        coordinates = self._coordinates(columns)
        largest = int(np.lexsort((coordinates[:, -1], coordinates[:, 0]))[-1])
        return Anchors(coordinates, largest, not np.any(several_nodes(self._nodes(columns))))

    def _nodes(self, columns: Mapping[str, Any]) -> Array:
        rows = len(next(iter(columns.values())))
        return np.broadcast_to(np.asarray(parse(self.nodes).evaluate(columns), float), (rows,))

    def _coordinates(self, columns: Mapping[str, Any]) -> Array:
        """Return log2 of the axes and, last, of one worker's work; shape (rows, axes + 1)."""
        rows = len(next(iter(columns.values())))
        values = [np.asarray(parse(text).evaluate(columns), float) for text in (*self.axes, self.work)]
        return np.asarray(np.log2(np.stack([np.broadcast_to(v, (rows,)) for v in values], axis=1)))


class Anchors(msgspec.Struct, frozen=True, eq=False):
    """What an extrapolation needs of the anchors."""

    #: Shape (anchors, axes + 1). log2 of the axes and, last, of one worker's work.
    coordinates: Array
    #: Which anchor is the largest in scale, and then in work.
    largest: int
    #: Whether every anchor lies on one node.
    on_one_node: bool
