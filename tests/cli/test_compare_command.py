"""`genperf compare`: groups or levels ranked, with the probability of being the best."""

import json
from pathlib import Path

import pytest
from helpers import Shell, csv_of, reply, runs_of

FIT = ["--time", "s", "--extrinsic", "gpus", "--model", "a/gpus + c"]
#: What the frameworks need for a step on one GPU, beside half a second that no GPU shortens.
SECONDS = {"jax": 8.0, "mxnet": 12.0, "torch": 8.02}
LEVELS = {"framework": [*SECONDS], "gpus": (1, 2, 4, 8)}
RUNS = runs_of(lambda f: f.framework.map(SECONDS) / f.gpus + 0.5, LEVELS, noise=0.02, repeats=3)
FOLDER = {"runs.csv": RUNS.to_csv(index=False)}


def ranking(shell: Shell, *options: str) -> dict[str, object]:
    status, out, errors = shell("compare", "model.json", "--json", *options)
    assert (status, errors) == (0, "")
    return json.loads(out)


def test_another_group_is_a_change_that_its_own_model_answers(shell: Shell) -> None:
    assert shell("fit", "runs.csv", *FIT, "--group", "framework", "-o", "model.json")[0] == 0
    every = {row["framework"]: row["time"] for row in ranking(shell, "--at", "gpus=8")["ranking"]}
    for at in (["--at", "framework=torch"], []):
        told = ranking(shell, *at, "--at", "gpus=8", "--or", "framework=mxnet")
        (first, second) = told["ranking"]
        assert str(told["sentence"]).startswith(f"{first['framework']} is faster: mxnet takes")  # type: ignore[index]
        assert second["framework"] == "mxnet"
        assert all(row["time"] == pytest.approx(every[row["framework"]]) for row in (first, second))
    status, _, err = shell("compare", "model.json", "--at", "gpus=8", "--or", "framework=paddle")
    assert status == 1
    assert "there is no group paddle" in err


def test_a_difference_beyond_the_interval_is_certain(shell: Shell) -> None:
    Path("runs.csv").write_text("\n".join(line for line in Path("runs.csv").read_text().split() if "torch" not in line))
    assert shell("fit", "runs.csv", *FIT, "--group", "framework", "-o", "model.json")[0] == 0
    told = ranking(shell, "--at", "gpus=1")
    assert told["certain"] is True
    assert "jax is faster: mxnet takes" in str(told["sentence"])
    assert ranking(shell, "--at", "gpus=1", "--maximize")["ranking"][0]["framework"] == "mxnet"  # type: ignore[index]


#: A step of 80 ms and 20 ms an exchange, of which a message between nodes takes 40 ms; twice the batch, twice the work.
NODES = "gpus,nodes,batch,step_s\n" + "".join(
    f"{gpus},{max(1, gpus // 8)},{batch},{0.0025 * batch + 0.02 * (gpus > 1) + 0.04 * (gpus > 8)}\n"
    for gpus in (1, 2, 4, 8, 16, 32)
    for batch in (32, 64)
)


@pytest.fixture
def nodes(shell: Shell) -> Shell:
    Path("nodes.csv").write_text(NODES)
    return shell


def rows_of(shell: Shell, *options: str) -> dict[str, dict[str, float]]:
    return {row["change"]: row for row in reply(shell, "compare", "nodes.csv", *options)["ranking"]}


def test_changes_are_ranked_by_time_and_by_cost(nodes: Shell) -> None:
    changes = ["--or", "batch=64", "--or", "gpus=32", "--or", "gpus=32,batch=64"]
    rows = rows_of(nodes, "--at", "gpus=16", "--at", "batch=32", *changes, "--price", "2/h")
    assert list(rows) == ["gpus=32, batch=64", "gpus=32", "batch=64", "as it is"]
    # 16 GPUs do 512 samples in 0.14 s, and 1024 of twice the batch in 0.22 s; a GPU costs 2 for 3600 s.
    for name, gpus, samples, seconds in [("as it is", 16, 512, 0.14), ("batch=64", 16, 1024, 0.22)]:
        assert rows[name]["throughput"] == pytest.approx(samples / seconds, rel=0.03)
        assert rows[name]["cost"] == pytest.approx(1e6 * gpus * seconds / samples * 2 / 3600, rel=0.03)
    assert sum(row["best"] for row in rows.values()) == pytest.approx(1.0)
    assert sum(row["cheapest"] for row in rows.values()) == pytest.approx(1.0)
    assert rows["gpus=32, batch=64"]["best"] > 0.95
    assert rows["as it is"]["cheapest"] < 0.05
    hours = rows_of(nodes, "--at", "gpus=16", "--at", "batch=32", *changes)
    assert hours["batch=64"]["cost"] == pytest.approx(rows["batch=64"]["cost"] / 2)
    by_node = rows_of(nodes, "--at", "gpus=16", "--at", "batch=32", *changes, "--price", "16/h", "--per", "nodes")
    assert by_node["batch=64"]["cost"] == pytest.approx(rows["batch=64"]["cost"])


def test_another_network_changes_what_arises_between_nodes(nodes: Shell) -> None:
    Path("nodes.csv").write_text("\n".join(line for line in NODES.split() if ",64," not in line))
    # What is no rate is no network between nodes, but another column, which no run has.
    status, _, errors = nodes("compare", "nodes.csv", "--at", "gpus=32,network=vgg", "--or", "gpus=64")
    assert status == 0
    assert "note: asked, and found nowhere in the runs: network" in errors
    at = ["--at", "gpus=32", "--at", "bandwidth=10Gbit/s"]
    rows = rows_of(
        nodes, *at, "--or", "bandwidth=40Gbit/s", "--or", "bandwidth=2500Mbit/s", "--or", "bandwidth=10Gbit/s"
    )
    same, faster, slower = (rows[f"bandwidth={rate}"] for rate in ("10Gbit/s", "40Gbit/s", "2500Mbit/s"))
    now, step, exchange = rows["as it is"], 0.14, 0.04
    assert same["time"] == now["time"]
    # Nothing is faster than a step without its exchange between nodes, nor slower than one with four times of it.
    assert (step - exchange) / step - 0.05 < faster["time"] / now["time"] < 0.98
    assert 1.02 < slower["time"] / now["time"] < (step + 3 * exchange) / step + 0.05
    assert faster["upper"] / faster["lower"] > same["upper"] / same["lower"]
    assert faster["cost"] / now["cost"] == pytest.approx(faster["time"] / now["time"])
    assert faster["verdict"] != "ok"
    assert "no run used that network" in str(faster["reason"])


def test_levels_of_several_factors_are_compared_each_with_each(shell: Shell) -> None:
    costs = {"bf16": 1, "fp32": 2, "jax": 1, "mxnet": 3}
    rows = [(n, b, p, f) for n in (1, 2, 4) for b in (8, 16) for p in ("bf16", "fp32") for f in ("jax", "mxnet")]
    named = [(n, b, p, f, (0.01 * b / n + 0.1) * costs[p] * costs[f]) for n, b, p, f in rows]
    Path("kinds.csv").write_text(csv_of("gpus,batch,precision,framework,step_s", named))
    asked = ("compare", "kinds.csv", "--categorical", "precision,framework", "--at", "gpus=4,batch=16")
    told = reply(shell, *asked)
    order = [row["precision"] + row["framework"] for row in told["ranking"]]
    assert order == ["bf16jax", "fp32jax", "bf16mxnet", "fp32mxnet"]
    assert told["sentence"].startswith("bf16, jax is faster: fp32, jax takes")
    assert len(reply(shell, *asked, "--at", "precision=bf16")["ranking"]) == 2
    at = ("--at", "gpus=4,precision=bf16,framework=jax", "--over", "batch")
    numbers = reply(shell, "compare", "kinds.csv", "--categorical", "precision,framework,batch", *at)
    assert numbers["sentence"].startswith("batch=8 is faster: batch=16 takes")


def test_what_most_likely_fails_is_neither_the_best_nor_the_cheapest(shell: Shell) -> None:
    runs = [(n, b, "OOM" if b == 64 else 0.01 * b + 0.1) for n in (1, 2, 4, 8) for b in (16, 32, 64)]
    Path("memory.csv").write_text(csv_of("gpus,batch_per_gpu,step_s", runs))
    told = reply(shell, "compare", "memory.csv", "--at", "gpus=4,batch_per_gpu=32", "--or", "batch_per_gpu=64")
    first, failing = told["ranking"]
    assert (first["change"], first["best"], first["cheapest"], failing["best"]) == ("as it is", 1.0, 1.0, 0.0)
    assert failing["throughput"] > first["throughput"]
    assert failing["fits"] < 0.05
    assert "is faster: batch_per_gpu=64 most likely fails. The given" in told["sentence"]
    assert "costs least with the given configuration" in told["sentence"]


def test_a_part_of_the_machine_is_called_as_in_the_question(shell: Shell) -> None:
    # No column counts the GPUs: the nodes of four show them.
    Path("n.csv").write_text("nodes,gpus_per_node,step_s\n1,4,0.2\n2,4,0.22\n4,4,0.23\n8,4,0.25\n")
    rows = reply(shell, "compare", "n.csv", "--at", "gpus=32", "--or", "gpus=16")["ranking"]
    assert {row["change"] for row in rows} == {"as it is", "gpus=16"}


def test_sizes_go_with_the_level_that_settles_them(shell: Shell) -> None:
    """Each network has its own parameters and batch: at a length that the large one has no run of as well."""
    nets = (("small", 110e6, 8, (512, 1024)), ("middle", 330e6, 4, (512, 1024)), ("large", 1100e6, 2, (512,)))
    rows = [
        (net, p, n, b, length, p / 1e9 * b * length / 512 * (1 + 0.1 * n**0.5))
        for net, p, b, lengths in nets
        for n in (1, 2, 4, 8)
        for length in lengths
    ]
    Path("runs.csv").write_text(csv_of("net,params,gpus,batch_per_gpu,seq_len,step_s", rows))
    at = ("runs.csv", "--at", "gpus=16,seq_len=1024")
    times = {net: reply(shell, "predict", *at, "--at", f"net={net}")["predictions"][0]["time"] for net, *_ in nets}
    assert times["large"] / times["small"] == pytest.approx(2.5, rel=0.2)
    told = reply(shell, "compare", *at)
    assert {row["net"]: row["time"] for row in told["ranking"]} == pytest.approx(times)
    assert told["notes"] == ["not given, and taken at: params=330M or 110M or 1.1B; --at sets them"]
    changed = reply(shell, "compare", *at, "--at", "net=small", "--or", "net=large")["ranking"]
    assert {row["change"]: row["time"] for row in changed}["net=large"] == pytest.approx(times["large"])
    over = ("--over", "gpus=16", "--over", "seq_len=1024", "--over", "net=small,middle,large", "--minimize", "time")
    best = reply(shell, "optimize", "runs.csv", *over)["best"]
    assert {row["net"]: row["time"] for row in best} == pytest.approx(times)
