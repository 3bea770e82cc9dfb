"""What is asked beside the configuration, and what every answer refers to: the work of a step, and the prediction."""

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

import numpy.typing as npt

from genperf.facts import Expectation, Interval, Paid, Plan, Training
from genperf.panel.panel import StepWork
from genperf.prediction import Query, predicted_columns
from genperf.prediction.bands import MixtureForecast
from genperf.result import FitResult


@dataclass(frozen=True)
class Question:
    """What is asked beside the configuration."""

    #: The samples of a step, a formula over the columns; from the batch columns where None.
    work: str | None = None
    #: What a sample is called: images, tokens.
    sample: str = "samples"
    price: Paid | None = None
    #: The column that counts what the price is for; that of the workers where None.
    per: str | None = None
    #: Columns of one value that are no factors, such as the batch of a group.
    constants: Mapping[str, float] = field(default_factory=dict)
    #: Nominal coverage.
    interval: float = 0.9
    #: Whether the time of a step means something: not where a throughput came without the work of a step.
    steps: bool = True
    #: Of a transformer: the tokens, and the peak of a device.
    training: Training = field(default_factory=Training)
    #: How much is to be done, by when and for how much: answered by how many workers that takes.
    plan: Plan | None = None
    #: Hints of the network, and words that name what the series ran on: a framework, a network.
    hints: Mapping[str, str] = field(default_factory=dict)
    words: tuple[str, ...] = ()


def work_of(result: FitResult, question: Question) -> StepWork:
    """Return the work of a step: what the user says, what a throughput was divided into, or what columns show."""
    return result.panel.within(question.constants).work_of_step(question.work, question.sample)


def expectation(
    result: FitResult, query: Query, interval: float, forecast: MixtureForecast | None = None
) -> tuple[Expectation, dict[str, npt.NDArray[Any]]]:
    """Return the prediction at one configuration, whose forecast may be known, and the columns of `predict` there."""
    quantity = result.schema.target
    row = predicted_columns(result, query, interval, "prediction", forecast)
    value = Interval(*(float(row[name][0]) for name in (quantity.name, "lower", "upper")))
    trust = str(row["verdict"][0]), str(row["reason"][0]), float(row["fits"][0])
    held_out = result.held_out_error, result.held_out_of
    return Expectation(quantity.name, quantity.unit, quantity.is_time, value, interval, *trust, *held_out), row
