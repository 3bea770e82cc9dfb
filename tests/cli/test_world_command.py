"""`genperf list world`: the published series, with the source and licence of each."""

import json
import re
import shlex
from pathlib import Path

import pytest
from helpers import Shell, asked, cases_in_text, done, refusal, reply

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


# --- the page answers with names of the field, says what is not known, and puts counts side by side ------------------


def sheet(shell: Shell, *options: str) -> dict:
    assert shell("report", "runs.csv", *options, "-o", "page.html", "--quiet")[0] == 0
    data = re.search(r'<script type="application/json" id="data">(.*?)</script>', Path("page.html").read_text(), re.S)
    return json.loads(data[1])["groups"][0]["sheet"]


def test_the_first_screen_says_whether_to_buy(shell: Shell) -> None:
    """A decision of at most three numbers, the card with the cost in the currency that was given, the ladder."""
    rows = "".join(f"{n},{100 * n * 0.99**k}\n" for k, n in enumerate((1, 2, 4, 8, 16)))
    Path("runs.csv").write_text("gpus,images_per_s\n" + rows)
    roles = ("--throughput", "images_per_s", "--extrinsic", "gpus", "--scaling", "weak", "--target")
    near = sheet(shell, *roles, "gpus=32", "--price", "2.5€/h")
    assert re.fullmatch(
        r"Growing to 32 gpus pays: expect [\d,]+ images/s instead of 1,540\.", near["glance"]["decision"]
    )
    cost = {name: value for name, value, *_ in near["glance"]["rows"]}["cost"]
    assert re.fullmatch(r"[\d.]+ € per M images", cost)
    head, steps = near["ladder"]
    assert head[:2] == ["gpus", "based on"]
    assert [step[:2] for step in steps[-2:]] == [["16", "1 run"], ["32", f"forecast: {near['summary']['verdict']}"]]
    planned = sheet(shell, *roles[:-1], "--price", "2.5€/h", "--samples", "1B", "--deadline", "10d")
    assert re.fullmatch(
        r"Take \d+ gpus, the cheapest: the whole job takes [\d.]+ d and [\d,]+ €\.", planned["glance"]["decision"]
    )
    far = sheet(shell, *roles, "gpus=1024")["glance"]
    assert re.fullmatch(r"Do not decide on 1024 gpus yet: measure \d+ gpus first\.", far["decision"])


# --- `ask` says whether an efficiency is normal, and what the exchange between nodes should cost ---------------------

TWO = "gpus,nodes,images_per_sec\n8,1,2900\n16,2,3540\n"
STEPS = "gpus,nodes,step_s\n8,1,0.20\n16,2,0.55\n"
#: 440 MB at 3.125 GB/s: 2·1/2·0.1408 s.
HINTS = ("--hint", "bandwidth=25Gbit/s", "--hint", "parameters=110M")


def test_two_numbers_get_a_verdict(shell: Shell) -> None:
    given = asked(shell, TWO, "--at", "gpus=16", words=True)
    normal, text = given["normal"], given["sentences"]["normal"]
    assert normal["of"] == "efficiency"
    assert normal["value"] == pytest.approx(3540 / 2900 / 2, abs=1e-3)
    assert normal["low"] < normal["median"] < normal["high"]
    # 61 % at two nodes is below what nine in ten keep that hold each device's batch.
    assert normal["value"] < normal["low"]
    assert 0.0 < normal["percentile"] < 5.0
    assert normal["series"] >= 30
    assert normal["clusters"] >= 3
    assert text.startswith("At 2 nodes the efficiency is 61 % of one node's, which is low. Nine in ten of ")
    assert re.search(r"published series on \d+ clusters keep \d+ to \d+ %\.$", text)


@cases_in_text("runs, at, step, words")
def test_each_kind_of_step(shell: Shell, runs: str, at: str, step: str, words: str) -> None:
    given = asked(shell, runs, "--at", at, words=True)
    assert given["normal"]["step"] == step
    assert given["sentences"]["normal"].startswith(words)


def test_hints_show_what_the_exchange_should_cost(shell: Shell) -> None:
    given = asked(shell, STEPS, "--at", "gpus=16", *HINTS, words=True)
    exchange = given["exchange"]
    assert exchange["least"] == pytest.approx(0.1408)
    # A ring over 16 devices, and one server of two nodes.
    assert (exchange["ring"], exchange["server"]) == pytest.approx((2 * 15 / 16 * 0.1408, 4 * 0.1408))
    # A device does 0.2/0.55 of what it did: the rest of the predicted step is the cost.
    assert exchange["cost"] == pytest.approx(given["time"] * (1 - 0.2 / 0.55), rel=1e-3)
    assert "he network is used at 40 %, or nothing overlaps" in given["sentences"]["exchange"]


def test_a_link_is_hinted_by_its_name(shell: Shell) -> None:
    given = asked(shell, STEPS, "--at", "gpus=16", "--hint", "network=25GbE", "--hint", "parameters=110M")
    assert given["exchange"]["least"] == pytest.approx(0.1408)


def test_without_several_nodes_nothing_is_exchanged_between_them(shell: Shell) -> None:
    assert "exchange" not in asked(shell, "gpus,nodes,step_s\n4,1,0.2\n8,1,0.21\n", "--at", "gpus=8", *HINTS)


def test_a_network_that_is_not_known_gets_the_nearest_names(shell: Shell) -> None:
    Path("runs.csv").write_text(STEPS)
    errors = refusal(shell, "ask", "runs.csv", "--at", "gpus=16", "--hint", "network=HRD", "--hint", "parameters=110M")
    assert "'HRD' is no bandwidth" in errors
    assert "25Gbit/s" in errors


# --- `genperf import` as a user types it: the table it writes is one that the other commands read --------------------

DATA = Path(__file__).parents[1] / "importers" / "data"


@cases_in_text("format, files, more")
def test_the_commands_it_prints_run(format: str, files: list[str], more: list[str], shell: Shell) -> None:
    status, out, errors = shell("import", format, *(str(DATA / file) for file in files), *more, "-o", "table.csv")
    assert (status, out) == (0, "")
    commands = dict(line.split(": ", 1) for line in errors.splitlines() if line.startswith(("next", "then")))
    assert "rejected" not in done(shell, *shlex.split(commands["next"])[1:])
    words = shlex.split(commands["then"])
    assert words[:3] == ["genperf", "fit", "table.csv"]
    if format == "extra-p":
        done(shell, *words[1:], "--model", "amdahl")
        assert Path("model.json").exists()


def test_standard_input_output_and_the_description(shell: Shell, monkeypatch: pytest.MonkeyPatch) -> None:
    with (DATA / "hyperfine_failures.json").open() as stream:
        monkeypatch.setattr("sys.stdin", stream)
        status, out, errors = shell("import", "hyperfine", "-", "--set", "workers=8")
    assert status == 0
    assert out.splitlines()[0] == "source,workers,command,repeat,time_s"
    assert out.splitlines()[1].startswith("standard input,8,")
    said = ("left out: 4", "exit code 1", "no factor varies: name what differs")
    assert [words for words in said if words not in errors] == []
    scan = ("import", "hyperfine", str(DATA / "hyperfine_scan.json"), "-o", "t.csv", "--json", "-q")
    status, out, errors = shell(*scan)
    assert (status, errors) == (0, "")
    described = json.loads(out)
    assert described["rows"] == 12
    assert described["roles"] == {"time": "time_s", "intrinsic": "batch", "extrinsic": "workers", "repeat": "repeat"}


def test_several_series_are_groups_and_times_of_zero_are_left_aside(shell: Shell) -> None:
    Path("runs.txt").write_text("PARAMETER workers\nPOINTS 1 2\nREGION a\nDATA 1\nDATA 2\nREGION b\nDATA 1\nDATA 0\n")
    status, _, errors = shell("import", "extra-p", "runs.txt")
    assert status == 0
    assert "--time value --extrinsic workers --group callpath --repeat repeat --where 'value > 0'" in errors


@cases_in_text("arguments, status, said")
def test_bad_input_is_answered_and_the_old_table_stays(
    arguments: list[str], status: int, said: str, shell: Shell
) -> None:
    Path("t.csv").write_text("precious")
    ended, _, errors = shell("import", *arguments)
    assert (ended, said in errors) == (status, True)
    assert {path.name: path.read_text() for path in Path().iterdir()} == {"t.csv": "precious"}
