"""`genperf explain --versus` names the cause of the pairs whose cause is known."""

import json

import pytest
from helpers import shell_of

import genperf as gp
from experiments.papers.pairs import PAIRS, Pair, by_cause, cause_of, runs
from genperf.result import GroupedResult


@pytest.fixture(scope="module")
def model(tmp_path_factory: pytest.TempPathFactory) -> str:
    """A model file with `s-sgd` fitted to each configuration of the pairs."""
    path = str(tmp_path_factory.mktemp("pairs") / "model.json")
    fitted = gp.fit(runs(), "s-sgd", seed=0, draws=20)
    assert isinstance(fitted, GroupedResult)
    assert not fitted.failures
    gp.save_model(fitted, path)
    return path


@pytest.mark.parametrize("devices", [8, 32])
@pytest.mark.parametrize("pair", PAIRS, ids=lambda pair: f"{pair.cause}: {pair.slower}")
def test_the_cause_of_a_labelled_pair_is_named(
    pair: Pair, devices: int, model: str, capsys: pytest.CaptureFixture[str]
) -> None:
    at = (f"devices={devices}", f"nodes={devices // 8}", f"batch_per_device={pair.batch}")
    options = [text for value in at for text in ("--at", value)]
    explain = ("explain", model, "--group", pair.slower, *options, "--versus", f"config={pair.quicker}", "--json")
    status, output, errors = shell_of(capsys)(*explain)
    assert status == 0, errors
    changes = {row["term"]: row["change"] for row in json.loads(output)["comparison"]["terms"]}
    assert cause_of(changes) == pair.cause
    assert by_cause(changes)[pair.cause] < 0.0
