"""`genperf list world`: the published series, with the source and licence of each."""

from __future__ import annotations

from pathlib import Path

from helpers import Shell, reply

from genperf.datasets import world


def test_every_cluster_has_a_source_with_a_licence(shell: Shell) -> None:
    answer = reply(shell, "list", "world")
    assert answer["clusters"] == len(answer["list"]) >= 14
    assert answer["series"] == world().groupby(["source", "cluster"]).series.nunique().sum()
    for cluster in answer["list"]:
        assert cluster["licence"]
        assert cluster["citation"].startswith(f"https://github.com/{cluster['repository']}/tree/")


def test_the_list_names_clusters_and_draws_them(shell: Shell, tmp_path: Path) -> None:
    status, out, err = shell("list", "world", "--plot", str(tmp_path / "world.png"))
    assert status == 0
    assert "Azure K80" in out
    assert "msalvaris/BatchAIHorovodBenchmark @ 0d23f48c" in out
    assert "series of" in err
    assert (tmp_path / "world.png").read_bytes().startswith(b"\x89PNG")


def test_published_rates_are_positive_and_counts_grow_with_nodes() -> None:
    table = world()
    assert (table.rate > 0.0).all()
    assert (table.nodes <= table.devices).all()
    assert not table.duplicated(["source", "cluster", "framework", "series", "devices", "nodes"]).any()
