"""The campaigns: what they plan is what their tables hold; tiny ones with the frameworks that are there."""

import subprocess
import sys
import tomllib
from collections import Counter
from pathlib import Path
from typing import Any

import campaigns
import pandas as pd
import pytest
from environments import REQUIREMENTS, interpreter
from networks import forward_flops
from problems import MeasureError
from record import text
from test_cluster import needs_cluster, needs_tun

import genperf as gp

ROOT = Path(__file__).parents[2]
FOLDER = ROOT / "experiments" / "measure"


def there(framework: str) -> bool:
    try:
        return interpreter(framework).exists()
    except MeasureError:
        return False


HERE = [framework for framework in REQUIREMENTS if there(framework)]
TINY = ["--local", "--hidden", 16, "--seconds", 0.02]


def needs(framework: str) -> pytest.MarkDecorator:
    return pytest.mark.skipif(framework not in HERE, reason=f"experiments/measure/environments.py {framework}")


def ran(script: str, *arguments: object) -> None:
    command = [sys.executable, FOLDER / script, *map(str, arguments)]
    done = subprocess.run(command, capture_output=True, text=True, check=False, timeout=300)
    assert done.returncode == 0, done.stderr


def measured(tmp_path: Path, campaign: str, *options: object) -> pd.DataFrame:
    """Run a campaign and return its table."""
    ran("campaigns.py", campaign, "--out", tmp_path / "t.csv", *options)
    return pd.read_csv(tmp_path / "t.csv")


@pytest.mark.parametrize("name", campaigns.CAMPAIGNS)
def test_a_campaign_plans_the_cases_of_its_table(name: str) -> None:
    """What stands in data/ is what the same command measures today: its columns, and every case of them."""
    campaign = campaigns.CAMPAIGNS[name]
    table = pd.read_csv(ROOT / "data" / f"{name}.csv", dtype=str, keep_default_na=False)
    assert list(table) == campaign.columns
    cases = [campaigns.described(job, case) for job in campaign.jobs() for case in job.cases]
    planned = {tuple(text(case.get(factor, "")) for factor in campaign.factors) for case in cases}
    assert planned == set(map(tuple, table[list(campaign.factors)].to_numpy()))
    assert (table.groupby(list(campaign.factors)).size() == campaign.windows.repeats).all()


def test_the_sample_is_that_of_the_protocol() -> None:
    sample = campaigns.configurations()
    assert sample == campaigns.configurations(40)
    assert sample != campaigns.configurations(seed=16)
    assert len({tuple(case.values()) for case in sample}) == len(sample) == 160
    assert max(map(forward_flops, sample)) <= 120e6
    levels = {**campaigns.INTRINSIC, **campaigns.EXTRINSIC, "workers": campaigns.WORKERS}
    assert {name: {case[name] for case in sample} for name in levels} == {n: set(v) for n, v in levels.items()}
    assert all(case["batch_per_worker"] % case["data_chunks"] == 0 for case in sample)
    # Each of 40 networks on four different counts of workers.
    assert Counter(case["network"] for case in sample) == dict.fromkeys(range(40), 4)
    assert len({(case["network"], case["workers"]) for case in sample}) == 160


@pytest.mark.parametrize("framework", [pytest.param(name, marks=needs(name)) for name in REQUIREMENTS])
def test_single_workers_are_measured_and_the_table_is_read(tmp_path: Path, framework: str) -> None:
    frame = measured(tmp_path, "single_worker", "--networks", 3, "--seconds", 0.02, "--frameworks", framework)
    assert frame.groupby("hidden").repeat.count().sum() == 9
    assert (frame.step_time_s > 0).all()
    if framework != "tensorflow":
        parts = frame.forward_s + frame.backward_s + frame.update_s
        assert (parts > 0).all()
    table = gp.read_table(tmp_path / "t.csv", time="step_time_s", intrinsic=["forward_flops"], repeat="repeat")
    assert len(table.medians()) == 3


@needs("pytorch")
def test_two_processes_exchange_gradients_either_way(tmp_path: Path) -> None:
    out = tmp_path / "t.csv"
    arguments = ["allreduce_vs_server", "--frameworks", "pytorch", "--hosts", "1,2", "--out", out, *TINY]
    ran("campaigns.py", *arguments)
    frame = pd.read_csv(out)
    assert sorted(set(zip(frame.architecture, frame.workers, strict=True))) == [
        ("peer-to-peer", 1), ("peer-to-peer", 2), ("ring-allreduce", 1), ("ring-allreduce", 2),
    ]  # fmt: skip
    assert frame.exchange_s.isna().equals(frame.workers == 1)
    before = out.read_bytes()
    ran("campaigns.py", *arguments)
    assert out.read_bytes() == before


ON_TWO_HOSTS = tomllib.loads((Path(__file__).parent / "campaigns_on_two_hosts.toml").read_text())["campaign"]


@pytest.mark.parametrize("case", [pytest.param(c, marks=needs(c["framework"]), id=c["name"]) for c in ON_TWO_HOSTS])
def test_a_campaign_on_two_hosts(tmp_path: Path, request: pytest.FixtureRequest, case: dict[str, Any]) -> None:
    if "--local" not in case["options"]:
        request.getfixturevalue("emulation")
    of_one = case["name"] in ("initialisation", "server_knee")
    named = [] if of_one else ["--frameworks", case["framework"]]
    frame = measured(tmp_path, case["name"], *case["options"].split(), *named)
    counted = [tuple(of) if isinstance(of, list) else of for of in case["counted"]]
    assert frame.groupby(case["by"]).size().to_dict() == dict.fromkeys(counted, 3)
    assert frame.eval(case["holds"]).all()


@needs_cluster
@needs("mxnet")
def test_the_campaign_of_whole_jobs_on_two_hosts(tmp_path: Path) -> None:
    options = ["--hosts", 2, "--kinds", "asynchronous", "--samples-scale", 10, "--work", 2]
    frame = measured(tmp_path, "whole_jobs", *options)
    assert len(frame) == 14
    assert frame.job_s.to_numpy() == pytest.approx((frame.initialisation_s + frame.iterations_s).to_numpy(), rel=1e-4)


@needs_cluster
@needs_tun
def test_the_links_are_as_fast_as_they_are_told(tmp_path: Path) -> None:
    out = tmp_path / "t.csv"
    ran("links.py", "--out", out)
    frame = pd.read_csv(out)
    assert frame.groupby(["link_mbit", "link_latency_ms"]).size().tolist() == [5, 5, 5]
    # A token bucket lets no more through than its rate, but for what it holds at the start.
    assert (frame.transfer_s > 0.9 * 8 * frame.bytes / (1e6 * frame.link_mbit)).all()


@needs_cluster
@pytest.mark.parametrize("framework", [pytest.param(name, marks=needs(name)) for name in REQUIREMENTS])
def test_the_campaign_of_causes_on_two_hosts(tmp_path: Path, framework: str) -> None:
    options = ["--hosts", 2, "--batches", 1, "--frameworks", framework, "--faster", 4]
    steps = measured(tmp_path, "causes", *options).groupby("planted")
    assert steps.size().to_dict() == dict.fromkeys(
        ("none", "slow storage", "slow kernel", "slow link", "no prefetch", "no overlap"), 2
    )
    phases = steps[["io_s", "h2d_s", "forward_s", "backward_s", "exchange_s"]].median()
    assert (phases > 0).all(axis=None)


@needs_cluster
@pytest.mark.parametrize("framework", [pytest.param(name, marks=needs(name)) for name in REQUIREMENTS])
def test_two_networks_on_one_and_two_hosts(tmp_path: Path, framework: str) -> None:
    options = ["--frameworks", framework, "--workers", "1,2", "--networks", 1, "--seconds", 0.02]
    frame = measured(tmp_path, "core_experiment", *options)
    assert frame.groupby("workers").repeat.count().to_dict() == {1: 3, 2: 3}
    # One worker alone exchanges with servers only.
    assert frame[frame.workers == 1].exchange_s.isna().all() == (framework != "mxnet")
    phases = frame[["computation_s", "exchange_s", "update_s"]].fillna(0).sum(axis=1)
    assert (phases > 0).all()
    table = gp.read_table(tmp_path / "t.csv", time="step_time_s", extrinsic=["workers"], repeat="repeat")
    assert len(table.medians()) == 2
