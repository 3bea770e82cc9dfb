"""Runs of weak and of strong scaling in one table: the work of a configuration goes on as in runs like it."""

import pandas as pd
import pytest

import genperf as gp
from genperf.errors import TableError

COUNTS = (1, 2, 4, 8)
RUNS = pd.DataFrame(
    [
        (mode, net, n, batch, seconds * (0.2 + batch / 80.0 + 0.01 * n))
        for net, seconds in (("small", 1.0), ("large", 2.0))
        for n in COUNTS
        for mode, batch in (("strong", 64 // n), ("weak", 64))
    ],
    columns=["mode", "net", "gpus", "batch_per_gpu", "step_s"],
)


def test_a_batch_halves_where_the_like_runs_shared_their_work_and_stays_where_each_had_its_own() -> None:
    fitted = gp.fit(gp.read_table(RUNS), seed=0)
    strong, weak = (fitted.predict(mode=mode, net="small", gpus=16)["time"][0] for mode in ("strong", "weak"))
    assert strong == pytest.approx(0.2 + 4.0 / 80.0 + 0.16, rel=0.25)
    assert weak == pytest.approx(0.2 + 64.0 / 80.0 + 0.16, rel=0.25)
    configuration = gp.ask(fitted, gpus=16, net="large", mode="strong").facts.at
    assert configuration["batch_per_gpu"] == 4.0
    # What is missing is named as `ask` takes it.
    with pytest.raises(TableError, match="--at mode=strong,net=large, as ask takes them"):
        fitted.predict(pd.DataFrame({"gpus": [16]}))


def test_titles_of_tables_say_how_their_runs_were_scaled() -> None:
    """Two titles name one kind, so that efficiencies are those of workers that keep their work."""
    tables = [f"Weak scaling, {net}" for net in ("A", "B") for _ in COUNTS]
    runs = pd.DataFrame({"table": tables, "nodes": COUNTS * 2, "seconds": [1.0, 1.01, 1.03, 1.05] * 2})
    assert gp.ask(runs, nodes=16).to_dict()["efficiency"] == pytest.approx(0.94, abs=0.03)
