"""The families of execution-time expressions: one small file each, registered here once.

The command line, the documentation's table and the tests read `MODELS`; adding a family is a file and a line.
"""

from __future__ import annotations

from genperf.errors import ModelError, suggest
from genperf.models import amdahl, generic
from genperf.models.family import ALIASES, Factors, Family, Need, compose

MODELS: dict[str, Family] = {module.FAMILY.name: module.FAMILY for module in (generic, amdahl)}


def family_named(name: str) -> Family:
    """Return a family by its name.

    Raises
    ------
    ModelError
        For an unknown name.

    Examples
    --------
    >>> family_named("amdahl").equation
    'c + a/workers'
    """
    if name not in MODELS:
        raise ModelError(f"unknown family '{name}'", hint=suggest(name, list(MODELS)) or f"one of {', '.join(MODELS)}")
    return MODELS[name]


__all__ = ["ALIASES", "MODELS", "Factors", "Family", "Need", "compose", "family_named"]
