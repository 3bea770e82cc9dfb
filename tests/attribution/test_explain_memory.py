"""A model of memory: its name and unit everywhere, and no word of times."""

import pytest
from worked_models import BATCH, WORKERS, member, model

from genperf.attribution import Knee, compare, explain, scaling
from genperf.errors import GenperfError
from genperf.panel.target import Target
from genperf.result import FitResult

MEMORY = Target("peak", "memory_gb", "GB")


def memory(**constants: float) -> FitResult:
    """Return M = w + a·batch + s/workers, in GB."""
    values = {"w": 4.0, "a": 0.25, "s": 16.0, **constants}
    terms = {"weights": "w", "activations": "a*batch", "states": "s/workers"}
    return model(member(terms, values), factors=(WORKERS, BATCH), target=MEMORY)


def words(answer: object) -> str:
    return f"{answer} {answer._repr_html_()} {answer.to_dict()}"  # type: ignore[attr-defined]


def test_parts_are_in_a_column_of_the_quantity() -> None:
    # At 4 workers of 8 samples: 4 + 2 + 4 = 10 GB.
    found = explain(memory(), {"workers": 4, "batch": 8})
    assert found.terms["memory_gb"].tolist() == pytest.approx([4.0, 2.0, 4.0])
    assert "memory_gb (GB)" in str(found)
    assert found.to_dict()["quantity"] == {"name": "memory_gb", "unit": "GB"}


def test_no_word_of_times() -> None:
    found = explain(
        memory(), {"workers": 4, "batch": 8}, knee=Knee(kind="weak", upto=32), sobol=True, versus={"workers": 8}
    )
    text = words(found).replace("need a model of a time", "")
    assert not [word for word in ("seconds", "time", "slower", "longer") if word in text]


def test_what_needs_a_time_is_left_out_with_one_sentence() -> None:
    # 18/n is above 4 up to 4 workers.
    found = explain(memory(s=18.0), {"workers": 4, "batch": 8}, knee=True).scaling
    assert found is not None
    assert list(found.curve.columns) == ["workers", "memory_gb", "lower", "upper", "verdict"]
    assert found.points.empty
    assert [line for line in found.content if isinstance(line, str)] == [
        "efficiency, speed-up, knee and throughput are left out: they need a model of a time, and this one predicts "
        "memory_gb (GB)",
        "beyond 64 workers the verdict is extrapolating-blind: do not rely on it",
        "the largest term changes from 'states' to 'weights' at 5 workers",
    ]
    assert found.to_dict()["best"] is None


def test_a_comparison_in_words() -> None:
    # 16/4 → 16/8: 2 GB less.
    found = compare(memory(), {"workers": 4}, {"workers": 8})
    assert found.sentence == ("memory_gb is 2 GB smaller at workers=8 than at workers=4; 'states' makes -2 GB of it")
    assert found.to_dict()["a"]["memory_gb"] == pytest.approx(found.value_a)


def test_two_quantities_are_not_compared() -> None:
    times = model(member({"weights": "w"}, {"w": 4.0}))
    with pytest.raises(GenperfError, match="different quantities"):
        compare(memory(), {"workers": 4}, {"workers": 4}, other=times)


def test_times_have_their_efficiency_whatever_they_are_called() -> None:
    epochs = model(member({"weights": "w"}, {"w": 4.0}), target=Target("epoch_s", "epoch", "s"))
    assert {"epoch", "efficiency"} <= set(scaling(epochs, {}, kind="weak").curve.columns)
