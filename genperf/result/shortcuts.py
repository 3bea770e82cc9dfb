"""Methods of a result that ask the rooms above through the public door: `result.explain()` is `gp.explain(result)`."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import Any

from genperf.errors import TableError


class Shortcuts:
    """The public functions of one model as its methods."""

    def explain(self, at: Any = None, **options: Any) -> Any:
        """Return the parts of a predicted value: `genperf.explain`."""
        import genperf

        return genperf.explain(self, at, **options)

    def report(self, path: str | Path, **options: Any) -> Path:
        """Write the page: `genperf.report`."""
        import genperf

        return Path(genperf.report(self, path, **options))

    def plot(self, at: Mapping[str, Any] | None = None, **options: Any) -> Any:
        """Draw the predicted value along the count of workers with its band: `genperf.plots.scaling`."""
        import genperf

        answer = genperf.explain(self, at, knee=True).scaling
        return genperf.plots.scaling(self, answer, **options)


class GroupShortcuts:
    """The public functions of all groups as methods of their result."""

    results: dict[tuple[str, ...], Any]

    def explain(self, at: Any = None, **options: Any) -> dict[tuple[str, ...], Any]:
        """Return the parts of each group's predicted value, by the group's values: `genperf.explain`."""
        return {key: result.explain(at, **options) for key, result in self.results.items()}

    def report(self, path: str | Path, **options: Any) -> Path:
        """Write the page of all groups: `genperf.report`."""
        import genperf

        return Path(genperf.report(self, path, **options))

    def plot(self, at: Mapping[str, Any] | None = None) -> Any:
        """Draw the predicted value of each group along the count of workers: `genperf.plots.groups`."""
        import genperf

        answers = {key: result.explain(at, knee=True).scaling for key, result in self.results.items()}
        return genperf.plots.groups(answers)


def data_or_values(data: Any, values: Mapping[str, Any]) -> Any:
    """Return what is to be predicted: a table or a mapping, or values given by name.

    Raises
    ------
    TableError
        Where both are given, or neither.

    Examples
    --------
    >>> data_or_values(None, {"workers": 32})
    {'workers': 32}
    """
    if (data is None) == (not values):
        what = "values are given twice" if values else "nothing is asked for"
        raise TableError(what, hint="predict(workers=32), or predict({'workers': [32, 64]}), or predict(table)")
    return dict(values) if data is None else data
