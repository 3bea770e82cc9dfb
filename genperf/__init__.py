"""genperf: fit, extrapolate and explain the execution time of distributed deep learning.

The public names are handed on lazily, so that importing `genperf` costs nothing until one is used.
"""

from collections.abc import Callable
from functools import wraps
from importlib import import_module
from types import FunctionType
from typing import Any

from genperf.errors import checked

__version__ = "0.2.0"

_HOME = {
    "read_table": "genperf.panel.read",
    "Table": "genperf.panel",
    "Expression": "genperf.expression",
    "MODELS": "genperf.models",
    "fit": "genperf.fitting",
    "FitResult": "genperf.result",
    "load_model": "genperf.result",
    "save_model": "genperf.result",
    "validate": "genperf.validation",
    "explain": "genperf.attribution",
    "why": "genperf.causes",
    "ask": "genperf.asking.tables",
    "verify": "genperf.verification",
    "compare": "genperf.search",
    "suggest": "genperf.search",
    "optimize": "genperf.search",
    "report": "genperf.reporting",
    "plots": "genperf.plots",
    "datasets": "genperf.datasets",
    "GenericRegressor": "genperf.estimator",
    "ScaleSplit": "genperf.estimator",
    "GenperfError": "genperf.errors",
}

#: What takes a model or a Table takes a path or a DataFrame as well: by what it is opened.
_OPENED = {
    **dict.fromkeys(("explain", "suggest", "optimize"), ("genperf.fitting", "model_of")),
    "validate": ("genperf.panel.read", "table_of"),
    **dict.fromkeys(("report", "why"), ("genperf.fitting", "model_or_table")),
}
__all__ = ["__version__", *_HOME]


def __getattr__(name: str) -> Any:
    if name not in _HOME:
        raise AttributeError(f"module 'genperf' has no attribute '{name}'")
    home = import_module(_HOME[name])
    value: Any = home if home.__name__ == f"genperf.{name}" else getattr(home, name)
    if isinstance(value, FunctionType):
        unraised = import_module("numpy").errstate(under="ignore")  # Zero, whatever `numpy.seterr` says of underflow.
        value = unraised(checked(_opening(value, *_OPENED[name]) if name in _OPENED else value, opens=name in _OPENED))
    globals()[name] = value
    return value


def _opening(function: Callable[..., Any], home: str, opener: str) -> Callable[..., Any]:
    """Return a function whose first argument is opened before it is called."""

    @wraps(function)
    def opened(source: Any, *arguments: Any, **options: Any) -> Any:
        return function(getattr(import_module(home), opener)(source), *arguments, **options)

    return opened


def __dir__() -> list[str]:
    return sorted(__all__)
