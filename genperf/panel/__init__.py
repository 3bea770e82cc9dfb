"""What the columns of a table mean: roles, the scale, the work, what follows what, and the series that rows form.

Other rooms ask here. Which factor counts the workers is decided by one function, `genperf.panel.panel.axis_of`, which
`Panel.axis` hands on; whether the runs lie on one node by another, `Panel.only_node`. `Table` and `read_table` are
imported lazily: a model is loaded and predicts without them, and so without pandas.
"""

from importlib import import_module
from typing import TYPE_CHECKING, Any

from genperf.panel.panel import Panel, Share, WorkFormula, limits, share

if TYPE_CHECKING:
    from genperf.panel.read import read_table
    from genperf.panel.table import REPEATS, Table

_HOME = {"read_table": "read", "REPEATS": "table", "Table": "table"}


def __getattr__(name: str) -> Any:
    if name not in _HOME:
        raise AttributeError(f"module 'genperf.panel' has no attribute '{name}'")
    value = getattr(import_module(f"genperf.panel.{_HOME[name]}"), name)
    globals()[name] = value
    return value
