"""A table knows its cluster: a group that never left its node uses what the other groups show of the network."""

from pathlib import Path

import numpy as np
import pandas as pd
import pytest
from click.testing import CliRunner

import genperf as gp
from genperf.cli.main import cli
from genperf.estimate import FitOptions
from genperf.result import GroupedResult
from genperf.series import empirical_bayes, series_of, table_prior
from genperf.series.empirical_bayes import Counts, counts_of, informed
from genperf.series.prior import NAMES, PRIOR, STEP
from genperf.series.sharing import TABLES

GPUS = np.array([1, 2, 4, 8, 16, 32])
NODES = np.maximum(1, GPUS // 8)


def runs(program: str, base: float, step: float, most: int = 32) -> pd.DataFrame:
    """Return the runs of a program on machines of eight: inside a node it slows a little, then by a step."""
    rows = pd.DataFrame({"program": program, "gpus": GPUS, "nodes": NODES})
    rows["seconds"] = base * (1.0 + 0.03 * np.log2(GPUS) + step * (NODES > 1) * (1.0 + 0.2 * np.log2(NODES)))
    return rows[rows.gpus <= most]


def cluster(step: float) -> pd.DataFrame:
    """Return three programs on up to four nodes, and one that never left its node."""
    whole = [
        runs(name, base, step * (1.0 + tilt))
        for name, base, tilt in (("a", 0.2, 0.2), ("b", 0.3, 0.0), ("c", 0.4, -0.2))
    ]
    return pd.concat([*whole, runs("d", 0.25, step, 8)], ignore_index=True)


def read(frame: pd.DataFrame) -> gp.Table:
    return gp.read_table(frame, time="seconds", extrinsic="gpus,nodes", group="program")


@pytest.mark.parametrize(("step", "narrower", "nearer"), [(0.05, 0.6, 1.0), (1.0, 0.95, 0.8)])
def test_the_fourth_group_knows_the_network_of_the_other_three(step: float, narrower: float, nearer: float) -> None:
    frame = cluster(step)
    beyond = {"gpus": 16, "nodes": 2}
    truth = float(runs("d", 0.25, step).query("gpus == 16").seconds.iloc[0])
    together, alone = gp.fit(read(frame)), gp.fit(read(frame[frame.program == "d"]))
    assert isinstance(together, GroupedResult)
    assert isinstance(alone, GroupedResult)
    known, unknown = together["d"].predict(beyond), alone["d"].predict(beyond)

    def width(prediction: pd.DataFrame) -> float:
        return float(np.log(prediction.upper / prediction.lower).iloc[0])

    assert width(known) < narrower * width(unknown)
    assert known.lower[0] < truth < known.upper[0]
    assert abs(np.log(known.time[0] / truth)) < nearer * abs(np.log(unknown.time[0] / truth))
    assert known.verdict[0] == "extrapolating-blind"
    assert "3 other groups" in next(note.text for note in together["d"].notes if note.kind == "table_prior")
    assert not [note for note in together["a"].notes if note.kind == "table_prior"]


def test_on_the_command_line_and_again(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    cluster(0.05).to_csv("runs.csv", index=False)
    fit = ["fit", "runs.csv", "--time", "seconds", "--extrinsic", "gpus,nodes", "--group", "program", "-o"]
    first = CliRunner().invoke(cli, [*fit, "one.json"])
    assert first.exit_code == 0
    assert "d: no run goes beyond one node; what 3 other groups" in " ".join(first.output.split())
    before = Path("one.json").read_bytes()
    again = CliRunner().invoke(cli, [*fit, "one.json", "--resume"])
    assert again.exit_code == 0
    assert Path("one.json").read_bytes() == before


def test_one_node_says_nothing_of_the_network() -> None:
    parts = dict(read(cluster(0.05)).groups())
    inside, beyond = (counts_of(series_of(parts[key], FitOptions()), PRIOR) for key in (("d",), ("a",)))  # type: ignore[arg-type]
    at = NAMES.index(STEP)
    assert inside.sizes[at, 0] == 0.0
    assert beyond.sizes[at, 0] > 0.3
    unseen = PRIOR.settings[1].share
    assert informed(PRIOR, inside).settings[1].share == unseen
    assert informed(PRIOR, beyond).settings[1].share < unseen


def test_the_update_by_hand(monkeypatch: pytest.MonkeyPatch) -> None:
    # κ = 1, ν = 2, and two series with z = 1 exactly: mean 2/3; scatter 2·(1/3)² = 2/9;
    # within (2·½ + 2/9)/4 = 11/36; variance 11/36·(1 + 1/3) = 11/27.
    settings = empirical_bayes.UpdateSettings(mean=1.0, spread=2.0)
    monkeypatch.setattr(empirical_bayes, "UPDATE", settings)
    sizes = np.zeros((len(NAMES), 3))
    at = NAMES.index("inside nodes")
    sizes[at] = 2.0
    counts = Counts(2.0, sizes, np.zeros(3), np.zeros(len(PRIOR.noises)))
    before, after = PRIOR.settings[0], informed(PRIOR, counts).settings[0]
    spread = np.linalg.norm(before.root[at])
    assert np.log(after.medians[at] / before.medians[at]) == pytest.approx(2.0 / 3.0 * spread)
    assert np.linalg.norm(after.root[at]) == pytest.approx(np.sqrt(11.0 / 27.0) * spread)
    assert after.medians[:at] == pytest.approx(before.medians[:at])


def test_without_counts_the_prior_stays() -> None:
    none = Counts(0.0, np.zeros((len(NAMES), 3)), np.zeros(3), np.zeros(len(PRIOR.noises)))
    assert informed(PRIOR, none) is PRIOR
    frame = cluster(0.05)
    assert table_prior(read(frame[frame.program == "a"]), FitOptions()).of(("a",)) is PRIOR


def test_groups_that_are_no_series_share_nothing() -> None:
    frame = pd.concat([cluster(0.05).assign(layers=layers) for layers in (1, 2)])
    table = gp.read_table(frame, time="seconds", extrinsic="gpus,nodes", intrinsic="layers", group="program")
    assert not table_prior(table, FitOptions()).counts


def test_of_many_groups_those_that_go_farthest_are_sampled(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("genperf.series.sharing.TABLES", type(TABLES)(most=2))
    frame = pd.concat([runs(f"p{i}", 0.2 + 0.01 * i, 0.05, 32 if i in (3, 5) else 8) for i in range(8)])
    shared = table_prior(read(frame), FitOptions())
    assert set(shared.counts) == shared.beyond == {("p3",), ("p5",)}
    assert shared.of(("p0",)) == shared.of(("p1",)) != shared.of(("p3",))
