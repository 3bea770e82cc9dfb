"""Bundled tables, or rows of them, each with a model and the configurations that it predicts."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, field
from typing import Any

import numpy as np
import pandas as pd

import genperf as gp
from experiments.shared import beside

#: Measured configurations of a table that are predicted, evenly spread over its rows.
CONFIGURATIONS = 24


@dataclass(frozen=True)
class Case:
    """A bundled table, or rows of it, and a model."""

    table: str
    model: str
    #: In the place of the table's own.
    roles: dict[str, Any] = field(default_factory=dict)
    options: dict[str, Any] = field(default_factory=dict)

    @property
    def name(self) -> str:
        roles = " ".join(f"{key}={value}" for key, value in self.roles.items())
        return " ".join(filter(None, [self.table, self.model, roles, *(f"{k}={v}" for k, v in self.options.items())]))


def rows_of_list(name: str) -> list[dict[str, Any]]:
    """Return the rows of a list of `bundled_cases.toml`."""
    rows: list[dict[str, Any]] = beside(__file__)[name]
    return rows


def listed(name: str) -> tuple[Case, ...]:
    """Return the cases of a list."""
    rows = rows_of_list(name)
    roles = [{k: None if v is False else v for k, v in row.get("roles", {}).items()} for row in rows]
    return tuple(Case(**{**row, "roles": each}) for row, each in zip(rows, roles, strict=True))


CASES = listed("cases")


def queries(table: gp.Table) -> Iterator[pd.DataFrame]:
    """Yield the configurations to predict: measured ones, scaled ones, and scaled ones that lack what follows."""
    names = [*table.group, *(f.name for f in table.factors)]
    rows = table.frame[names].drop_duplicates().reset_index(drop=True)
    rows = rows.iloc[np.unique(np.linspace(0, len(rows) - 1, CONFIGURATIONS).astype(int))].reset_index(drop=True)
    yield rows
    scales = [f for f in table.factors if f.role == "extrinsic" and f.distinct > 1]
    for factor in scales:
        scaled = rows.assign(**{factor.name: 4.0 * rows[factor.name].astype(float)})
        yield scaled
        yield scaled.drop(columns=[f.name for f in scales if f != factor])
