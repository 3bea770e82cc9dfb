"""The options of a fit."""

from collections.abc import Mapping
from functools import cached_property
from typing import Literal

from msgspec import Struct, field
from msgspec.structs import force_setattr

from genperf.errors import FitError, known_name
from genperf.losses import loss_named, penalty_named
from genperf.models.generic import STRUCTURES
from genperf.models.network import checked_hints
from genperf.solver import solver_named

#: λ. Just enough that constants which the data does not determine converge: a coefficient that explains the whole
#: mean costs as much as an error of 0.7 %.
DEFAULT_LAMBDA = 1e-4
#: Values of λ for `lam="cv"`, weakest first; each fit starts from the one before. Strongest first merges terms that
#: do not part again: held-out error 0.15 against 0.097 (`experiments/decisions/choice-by-folds.md`).
LAMBDA_PATH: tuple[float, ...] = (1e-4, 3e-4, 1e-3, 3e-3)
#: Bootstrap replicates: the 5 % quantile of 200 draws has a standard error of 1.5 percentage points.
BOOTSTRAP_DRAWS = 200
#: Of a first look (`--quick`): 3 percentage points.
QUICK_DRAWS = 50


class FitOptions(Struct, frozen=True, dict=True):
    """How constants are fitted."""

    #: Of the generic expression; `auto` chooses by cross-validation.
    structure: str = "auto"
    loss: str = "relative"
    penalty: str = "l2"
    #: Strength of the penalty; None is 1e-4, or the cross-validated one where the structure is chosen too.
    lam: float | Literal["cv"] | None = None
    solver: str = "projected"
    draws: int = BOOTSTRAP_DRAWS  #: Bootstrap replicates.
    fix: Mapping[str, float] = field(default_factory=dict)  #: Constants held at a value.
    #: What is known of the network between nodes (`genperf.models.network.HINTS`); `auto` alone reads it.
    hints: Mapping[str, str] = field(default_factory=dict)

    def __post_init__(self) -> None:
        if self.hints:
            force_setattr(self, "hints", checked_hints(self.hints))
        loss_named(self.loss)
        penalty_named(self.penalty, self.strength if self.lam != "cv" else 0.0)
        solver_named(self.solver)
        if self.draws < 1:
            raise FitError(f"the constants are drawn once or more, not {self.draws} times", hint="draws=200")
        known_name("structure", self.structure, ("auto", *STRUCTURES), FitError)

    @cached_property
    def request(self) -> str:
        """All options as one line of text, `loss=log … fix={a: 1.0, b: 2.0}`, which the model file keeps."""
        # Requests of earlier versions have no hints.
        options = {name: getattr(self, name) for name in self.__struct_fields__ if name != "hints" or self.hints}
        for name in {"fix", "hints"} & options.keys():
            pairs = ", ".join(f"{key}: {value}" for key, value in sorted(options[name].items()))
            options[name] = f"{{{pairs}}}"
        return " ".join(f"{name}={value}" for name, value in options.items())

    @property
    def strength(self) -> float:
        """The given λ, or the default one."""
        return DEFAULT_LAMBDA if self.lam is None or self.lam == "cv" else float(self.lam)
