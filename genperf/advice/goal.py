"""What a recommended configuration must be beside feasible: done in time, likely to fit, trusted."""

from __future__ import annotations

from collections.abc import Collection, Mapping
from dataclasses import dataclass, field

import numpy as np
import numpy.typing as npt
import pandas as pd

from genperf.errors import GenperfError
from genperf.prediction import Schema
from genperf.words.quantity import heading

Truth = npt.NDArray[np.bool_]
#: Verdicts of predictions that may be recommended with `trusted`.
TRUSTED = ("ok", "caution")


@dataclass(frozen=True)
class Goal:
    """What a recommended configuration must be, beside the constraints of `where`.

    Examples
    --------
    >>> Goal(fits=1.5).check()
    Traceback (most recent call last):
    ...
    genperf.errors.GenperfError: a probability of fitting of 1.5 cannot be asked for
      try: --fits 0.95, at least 0 and below 1
    """

    #: A formula that is to be large, in place of one that is to be small.
    maximize: str | None = None
    #: Seconds within which all steps must be done, kept by the upper end of the interval and not only by the central
    #: value. For models of a time.
    deadline: float | None = None
    #: What all steps may cost, kept like the deadline. For models of a time, with a price.
    budget: float | None = None
    #: The least probability that a run does not fail. The default leaves one failure in twenty.
    fits: float = 0.95
    #: Whether only predictions with the verdict `ok` or `caution` are answers.
    trusted: bool = False
    #: Predicted quantities by name, each with the value below which a run must stay with the probability `fits`: the
    #: main one, or one fitted beside it (`--also`).
    capacity: Mapping[str, float] = field(default_factory=dict)

    def check(self) -> None:
        """Refuse numbers that nothing can keep.

        Raises
        ------
        GenperfError
        """
        if self.deadline is not None and not 0.0 < self.deadline < np.inf:
            raise GenperfError(f"a deadline of {self.deadline:g} s cannot be kept", hint="--deadline SECONDS, above 0")
        if self.budget is not None and not 0.0 < self.budget < np.inf:
            raise GenperfError(f"a budget of {self.budget:g} cannot be kept", hint="--budget 20000, above 0")
        if not 0.0 <= self.fits < 1.0:
            raise GenperfError(
                f"a probability of fitting of {self.fits:g} cannot be asked for",
                hint="--fits 0.95, at least 0 and below 1",
            )
        if self.capacity and self.fits <= 0.5:
            raise GenperfError(
                f"a capacity is not kept with a probability of {self.fits:g}", hint="--fits 0.95, above 0.5"
            )
        for name, value in self.capacity.items():
            if not (value > 0.0 and np.isfinite(value)):
                raise GenperfError(f"a capacity of {value:g} cannot be kept", hint=f"--capacity {name}=80, above 0")

    @property
    def searched(self) -> bool:
        """Whether intervals or verdicts decide on the answers."""
        return self.deadline is not None or self.budget is not None or self.trusted or bool(self.capacity)

    @property
    def interval_of_capacity(self) -> float:
        """The nominal coverage whose upper end is exceeded with the probability 1 − `fits`."""
        return 2.0 * self.fits - 1.0


def capacity_constraints(capacity: Mapping[str, float], schema: Schema, further: Collection[str] = ()) -> list[str]:
    """Return the constraints that the central prediction keeps each capacity.

    Parameters
    ----------
    schema : Schema
        Of the model.
    further : collection of str
        The further quantities that it predicts.

    Raises
    ------
    GenperfError
        For a name that the model does not predict.
    """
    target = schema.target
    for name, value in capacity.items():
        if name == target.name or name in further:
            continue
        if schema.column(name) in {f.name for f in schema.factors}:
            raise GenperfError(
                f"'{name}' is a factor of the model and not what it predicts", hint=f"--where '{name} <= {value:g}'"
            )
        raise GenperfError(
            f"a capacity of '{name}' needs a model of it, and this one predicts {heading(target)}",
            hint=f"genperf fit TABLE … --also {name}=COLUMN:UNIT fits it beside; or a model of --quantity {name}:UNIT",
        )
    return [f"{name} <= {value!r}" for name, value in capacity.items()]


def trusted_rows(frame: pd.DataFrame) -> Truth:
    """Return which answers have a verdict that `trusted` asks for."""
    return frame["verdict"].isin(TRUSTED).to_numpy(dtype=bool)
