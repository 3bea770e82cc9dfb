"""The gallery's picture of a table: what was measured, and what is predicted along its scale."""

from __future__ import annotations

import warnings
from typing import Any

import pandas as pd
from IPython.display import SVG

import genperf as gp
from genperf.attribution import scaling


def picture(name: str, at: dict[str, Any], **roles: Any) -> SVG:
    """Draw the predictions of `auto` on a table of the examples along its scale, up to a configuration."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        result = gp.fit(gp.read_table(pd.read_csv(f"examples/{name}"), **roles))
        figure = gp.plots.scaling(result, scaling(result, at))
    figure.set_size_inches(6.0, 3.2)
    return SVG(gp.plots.image(figure, "svg"))
