"""How a fit is asked for."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field, fields
from typing import Literal

from genperf.errors import FitError, suggest
from genperf.losses import loss_named, penalty_named
from genperf.models.generic import STRUCTURES
from genperf.solver import SOLVERS

#: λ where none is asked for: enough to make constants that the data does not determine come to rest.
DEFAULT_LAMBDA = 1e-4
#: The path `lam="cv"` tries, weakest first: each fit starts from the one before.
LAMBDA_PATH = (1e-4, 3e-4, 1e-3, 3e-3)
DRAWS = 200


@dataclass(frozen=True)
class FitOptions:
    """How constants are found.

    Attributes
    ----------
    structure : {"auto", "separable", "per-term", "product"}
        Of the generic expression; `auto` chooses by cross-validation.
    loss : {"relative", "log", "absolute", "squared", "huber"}
    penalty : {"l2", "l1", "elastic-net"}
    lam : float, "cv" or None
        Strength of the penalty; None is `DEFAULT_LAMBDA`, or the cross-validated one where the structure is chosen too.
    solver : {"projected", "de"}
    draws : int
        Bootstrap replicates.
    mapping : mapping of str to str
        Canonical factor name → column.
    fix : mapping of str to float
        Constants held at a value.
    """

    structure: str = "auto"
    loss: str = "relative"
    penalty: str = "l2"
    lam: float | Literal["cv"] | None = None
    solver: str = "projected"
    draws: int = DRAWS
    mapping: Mapping[str, str] = field(default_factory=dict)
    fix: Mapping[str, float] = field(default_factory=dict)

    def __post_init__(self) -> None:
        loss_named(self.loss)
        penalty_named(self.penalty, self.strength if self.lam != "cv" else 0.0)
        if self.solver not in SOLVERS:
            raise FitError(
                f"unknown solver '{self.solver}'", hint=suggest(self.solver, list(SOLVERS)) or "projected, de"
            )
        known = ("auto", *STRUCTURES)
        if self.structure not in known:
            hint = suggest(self.structure, known) or f"one of {', '.join(known)}"
            raise FitError(f"unknown structure '{self.structure}'", hint=hint)

    @property
    def request(self) -> str:
        """Everything that was asked for, as one line of text.

        Examples
        --------
        >>> FitOptions(fix={"c": 1.0}).request
        'structure=auto loss=relative penalty=l2 lam=None solver=projected draws=200 mapping={} fix={c: 1.0}'
        """
        given = [(f.name, getattr(self, f.name)) for f in fields(self)]
        return " ".join(f"{name}={_plain(value)}" for name, value in given)

    @property
    def strength(self) -> float:
        """The given λ, or the default one."""
        return DEFAULT_LAMBDA if self.lam is None or self.lam == "cv" else float(self.lam)


def _plain(value: object) -> str:
    if isinstance(value, Mapping):
        return "{" + ", ".join(f"{k}: {value[k]}" for k in sorted(value)) + "}"
    return str(value)
