"""Which factors follow another one, as nodes follow the devices on them."""

from __future__ import annotations

import numpy as np

from genperf.prediction.schema import Schema


def follows(schema: Schema, j: int, place: int) -> bool:
    """Say whether a factor of the run grows with another and is settled by it, as nodes are by devices.

    Parameters
    ----------
    schema : Schema
    j, place : int
        Places of the factor and of the other one.
    """
    values = {m.values[place]: m.values[j] for m in schema.medians}
    if any(values[m.values[place]] != m.values[j] for m in schema.medians) or not schema.factors[j].numeric:
        return False
    in_order = [float(values[key]) for key in sorted(values)]
    return schema.factors[j].role == "extrinsic" and bool(np.all(np.diff(in_order) >= 0.0))
