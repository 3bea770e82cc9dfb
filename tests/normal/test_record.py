"""The shipped record of the benchmark: what it holds, and which part of it a prediction is like."""

import json

import pytest

from genperf.normal.record import FILE, record_like
from genperf.normal.series import FEWEST_SERIES
from genperf.prediction.verdict import VERDICTS
from genperf.words.published import record_sentence


def test_the_verdicts_of_a_protocol_add_up() -> None:
    records = json.loads(FILE.read_text(encoding="utf-8"))["records"]
    for protocol in ("near", "far", "node"):
        whole, *parts = [r for r in records if r["protocol"] == protocol]
        assert whole["verdict"] == ""
        assert [r["verdict"] for r in parts] == [v for v in VERDICTS if v in {r["verdict"] for r in parts}]
        for name in ("predictions", "covered"):
            assert whole[name] == sum(r[name] for r in parts)
        assert whole["predictions"] >= whole["covered"] > 0.82 * whole["predictions"]


@pytest.mark.parametrize(
    ("ratio", "leaves_node", "protocol"),
    [
        (2.0, False, "near"),
        (1.5, True, "node"),
        (4.0, False, "far"),
        (4.0, True, "far"),
        (1.0, False, None),
        (5.0, True, None),
    ],
)
def test_which_record_a_prediction_is_like(ratio: float, leaves_node: bool, protocol: str | None) -> None:
    record = record_like(ratio, leaves_node, "caution")
    assert (record.protocol if record else None) == protocol


def test_few_predictions_of_a_verdict_are_counted_with_all() -> None:
    record = record_like(2.0, True, "ok")
    assert record is not None
    assert record.verdict == ""
    assert record.predictions >= FEWEST_SERIES
    assert f"{record.predictions} series of {record.clusters} other clusters" in record_sentence(record)
