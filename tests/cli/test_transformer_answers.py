"""Tokens per second, MFU, days and cost of a transformer's training, through the command line."""

import json
import re
from pathlib import Path

import numpy as np
import pandas as pd
import pytest
from helpers import Shell, asked, csv_of, done, refusal, reply, run

FIT = ["--time", "step_s", "--intrinsic", "params,seq_len,mbs,gbs", "--extrinsic", "dp,tp,pp", "--model", "transformer"]
AT = ["--at", "params=1e9,seq_len=1024,mbs=2,gbs=64,dp=4,tp=2,pp=2"]


@pytest.fixture(scope="module")
def model(tmp_path_factory):
    rng = np.random.default_rng(0)
    folder = tmp_path_factory.mktemp("layouts")
    runs = pd.DataFrame(rng.choice([1, 2, 4], (40, 3)), columns=["dp", "tp", "pp"])
    runs["params"], runs["seq_len"] = rng.choice([1e9, 2e9], 40), rng.choice([1024, 2048], 40)
    runs["mbs"], runs["gbs"] = rng.choice([1, 2], 40), 64
    slots = runs.gbs / (runs.dp * runs.mbs) + runs.pp - 1
    runs["step_s"] = 1e-14 * 6 * runs.params * runs.mbs * runs.seq_len / (runs.tp * runs.pp) * slots + 0.01
    runs.assign(gbs=np.where(np.arange(40) == 7, 128, 64)).to_csv(folder / "runs.csv", index=False)
    path = str(folder / "model.json")
    assert run(["fit", str(folder / "runs.csv"), *FIT, "-o", path, "--quiet"]) == 0
    return path


def test_what_a_training_of_tokens_takes(model: str, shell: Shell) -> None:
    options = ["--tokens", "300B", "--price", "2/h", "--peak", "a100", "--json"]
    told = json.loads(done(shell, "predict", model, *AT, *options))["predictions"][0]
    tokens = 64 * 1024 / told["time"]
    assert told["tokens_per_s"] == pytest.approx(tokens)
    assert told["days"] == pytest.approx(300e9 / tokens / 86400)
    assert told["days_lower"] < told["days"] < told["days_upper"]
    assert told["training_cost"] == pytest.approx(told["days"] * 24 * 2 * 16)
    # 6·P operations a token, 16 devices of 312 TFLOP/s.
    assert told["mfu"] == pytest.approx(6 * 1e9 * tokens / 16 / 312e12)
    assert told["cost"] == pytest.approx(told["time"] * 16 * 2 / 3600)


def test_what_a_table_lacks_is_named(shell: Shell) -> None:
    runs = {"dp": [1, 2, 4, 8], "tp": [1, 1, 1, 2], "gbs": [8, 16, 32, 64], "s": [1.0, 1.1, 1.2, 0.7]}
    pd.DataFrame(runs).to_csv("runs.csv", index=False)
    done(shell, "fit", "runs.csv", "--time", "s", "--extrinsic", "dp,tp,gbs", "-o", "m.json", "--quiet")
    errors = refusal(shell, "predict", "m.json", "--at", "dp=4,tp=1,gbs=32", "--tokens", "1B")
    assert "needs the tokens of a sample, and no column of the runs shows it" in errors


@pytest.mark.parametrize("likelier", ["batch,step_ms", "global_batch,images_per_s"])
def test_a_question_of_tokens_is_one_of_their_rate_at_every_door(likelier: str, shell: Shell) -> None:
    rows = ((1, 4, 512, 8000), (2, 8, 530, 15450), (4, 16, 560, 29260), (8, 32, 600, 54600))
    Path("runs.csv").write_text(csv_of(f"gpus,{likelier},tokens_per_s", rows), encoding="utf-8")
    question = ["--at", "gpus=16", "--tokens", "1T", "--price", "2/h"]
    answer = json.loads(done(shell, "ask", "runs.csv", *question, "--json"))
    (row,) = json.loads(done(shell, "predict", "runs.csv", *question, "--json"))["predictions"]
    assert answer["answers"][0]["quantity"] == "tokens_per_s"
    named = ("days", "days_lower", "days_upper", "training_cost")
    assert [row[name] for name in named] == pytest.approx([answer[name] for name in named])
    done(shell, "report", "runs.csv", *question, "-o", "page.html")
    assert f"expect a training time of {answer['days']:.0f} d" in Path("page.html").read_text(encoding="utf-8")
    ranked = json.loads(done(shell, "compare", "runs.csv", *question, "--or", "gpus=8", "--json"))["ranking"][0]
    assert [ranked[name] for name in named] == pytest.approx([answer[name] for name in named])
    over = ["--over" if word == "--at" else word for word in question]
    best = json.loads(done(shell, "optimize", "runs.csv", *over, "--json"))["best"][0]
    assert [best["total"] / 86400, best["cost"]] == pytest.approx([answer["days"], answer["training_cost"]])


# --- what `ask` knows of a scale: a best count, one node and eight in mind, and sizes in the place of a count --------

# --- of scales of which more may do less (threads, users, environments) the best count -------------------------------

#: Twice the threads do twice the work, less what they wait for each other.
SECONDS = {1: 100.0, 2: 52.0, 4: 29.0, 8: 20.0, 16: 19.5, 32: 23.0}


def test_a_best_count_inside_the_data_is_reported_with_its_uncertainty(shell: Shell) -> None:
    answer = asked(shell, csv_of("threads,seconds", SECONDS.items()), words=True)
    best = answer["best"]
    assert best["count"] == 16
    assert best["lower"] <= 16 <= best["upper"]
    assert answer["sentences"]["best"].startswith("A job gets slower beyond 16 threads (90 %: ")


# --- not to know the nodes is no reason for a narrower interval ------------------------------------------------------

NODE = ("--hint", "devices per node=8")


def on_one_node(shell: Shell, gpus: int, *hints: str) -> dict:
    text = "gpus,batch_per_gpu,step_s\n1,64,0.2113\n2,64,0.2161\n4,64,0.2188\n8,64,0.2240\n"
    return asked(shell, text, "--at", f"gpus={gpus}", *hints, words=True)


def test_the_interval_is_no_narrower_where_nobody_counts_the_nodes(shell: Shell) -> None:
    unknown, known = on_one_node(shell, 64), on_one_node(shell, 64, *NODE)
    # With eight devices of a node the step to the second is certain, and without them its place is not: measured 6 %.
    assert unknown["upper"] / unknown["lower"] >= known["upper"] / known["lower"] * 0.9
    assert "No column counts the nodes" in unknown["sentences"]["nodes"]
    assert '--hint "devices per node=8"' in unknown["sentences"]["nodes"]
    assert "nodes" not in known["sentences"]


# --- a table that varies a batch or another size of the program alone grows with the size, not along a count ---------

BATCHES = (1, 2, 4, 8, 16, 32)


def step(batch: float) -> float:
    return 0.02 + 0.004 * batch


#: The rows' header and cells, the quantity, and what it is at a batch.
CASES = {
    "time": ("gpus,batch_size,step_s", lambda b: (8, b, f"{step(b):.5f}"), step),
    "throughput": ("batch_size,images_per_s", lambda b: (b, f"{b / step(b):.2f}"), lambda b: b / step(b)),
    "memory": ("batch_size,memory_mb", lambda b: (b, 1800 + 55 * b), lambda b: 1800 + 55 * b),
}


@pytest.mark.parametrize("quantity", CASES)
def test_twice_the_largest_batch_is_near_the_law(shell: Shell, quantity: str) -> None:
    header, row, law = CASES[quantity]
    table = csv_of(header, map(row, BATCHES))
    (answer,) = asked(shell, table, "--at", "batch_size=64")["answers"]
    assert answer["value"] == pytest.approx(law(64), rel=0.1)
    assert answer["lower"] <= law(64) <= answer["upper"]
    # Without a question it is the next doubling.
    assert asked(shell, table)["answers"][0]["value"] == pytest.approx(answer["value"])


# --- `explain --knee`, `predict --show efficiency`, `ask` and the page report one efficiency, with one interval ------

SIZES = ["hidden", "layers", "seq_len", "micro_batch"]


def seconds(hidden: int, micro: int, n: int) -> float:
    """Return a step: 6 operations a parameter and token at 120 Tflop/s, and a ring of 2 bytes a parameter each way."""
    size, link = 12 * 24 * hidden**2, 1.2e11 if n <= 8 else 2e10
    return 6 * size * micro * 1024 / 1.2e14 + 0.02 + 4 * (n - 1) / n * size / link


def transformer_runs(counts: tuple[int, ...]) -> pd.DataFrame:
    """Return steps of a data-parallel transformer on nodes of eight, with a noise of 1 %."""
    rng = np.random.default_rng(1)
    sizes = ((1024, 4), (1024, 8), (2048, 4))
    rows = [
        (-(-n // 8), n, n, hidden, 24, 1024, micro, seconds(hidden, micro, n) * np.exp(0.01 * rng.standard_normal()))
        for hidden, micro in sizes
        for n in counts
    ]
    return pd.DataFrame(rows, columns=["nodes", "gpus", "dp", *SIZES, "step_s"])


@pytest.mark.parametrize(
    ("columns", "along", "counts"), [("gpus,dp", "gpus", (1, 2, 4, 8, 16)), ("nodes,dp", "dp", (8, 16, 24, 32, 48))]
)
def test_one_efficiency(columns: str, along: str, counts: tuple[int, ...], shell: Shell) -> None:
    runs = transformer_runs(counts)
    runs[[*columns.split(","), *SIZES, "step_s"]].to_csv("runs.csv", index=False)
    roles = ["--time", "step_s", "--extrinsic", columns, "--intrinsic", ",".join(SIZES)]
    at = ["--at", f"{along}=32", "--at", "hidden=1024", "--at", "micro_batch=4"]
    assert shell("fit", "runs.csv", *roles, "-o", "runs.model")[0] == 0
    commands = (
        ("predict", "runs.model", *at, "--show", "efficiency"),
        ("explain", "runs.model", *at, "--knee"),
        ("ask", "--full", "runs.csv", *roles, *at),
    )
    shown, explained, answer = (reply(shell, *command) for command in commands)
    curve = {row[along]: row for row in explained["scaling"]["curve"]}
    names = ("efficiency", "efficiency_lower", "efficiency_upper")
    expected = pytest.approx([curve[32.0][name] for name in names], rel=1e-5)
    assert [shown["predictions"][0][name] for name in names] == expected
    assert [answer[name] for name in names] == expected
    target = [text.replace("--at", "--target") for text in at]
    assert shell("report", "runs.csv", *roles, *target, "-o", "page.html", "--quiet")[0] == 0
    data = re.search(r'<script type="application/json" id="data">(.*?)</script>', Path("page.html").read_text(), re.S)
    sheet = json.loads(data[1])["groups"][0]["sheet"]
    assert sheet["summary"]["efficiency"] == pytest.approx(100.0 * answer["efficiency"], rel=1e-2)
    ends = "{:.0f} % (90 %: {:.0f} to {:.0f} %)".format(*(100.0 * answer[name] for name in names))
    assert ends in " ".join(sentence for card in sheet["answers"] for sentence in card["sentences"])
    # More devices are more data-parallel ways on more nodes: the law's own efficiency lies inside.
    if along == "dp":
        assert answer["efficiency_lower"] < seconds(1024, 4, counts[0]) / seconds(1024, 4, 32)
        assert answer["efficiency_upper"] > seconds(1024, 4, counts[0]) / seconds(1024, 4, 32)


def test_one_efficiency_without_the_work_of_a_step(shell: Shell) -> None:
    """Under weak scaling an efficiency needs no samples, and neither does whether growing pays."""
    rows = "".join(f"{n},{-(-n // 4)},{0.3 + 0.05 * (n - 1) / n}\n" for n in (1, 2, 4, 8, 16))
    Path("runs.csv").write_text(f"gpus,nodes,s\n{rows}")
    roles = ["--time", "s", "--extrinsic", "gpus,nodes", "--scaling", "weak"]
    assert shell("fit", "runs.csv", *roles, "-o", "runs.model")[0] == 0
    one, shown = reply(shell, "predict", "runs.model", "--at", "gpus=1,64", "--show", "efficiency")["predictions"]
    assert one["efficiency"] == one["efficiency_lower"] == one["efficiency_upper"] == 1.0
    told, known = (
        reply(shell, "ask", "runs.csv", *roles, *work, "--at", "gpus=64", words=True)
        for work in ((), ("--work", "32*gpus"))
    )
    for name in ("efficiency", "efficiency_lower", "efficiency_upper"):
        assert told[name] == known[name] == pytest.approx(shown[name], rel=1e-9)
    assert told["pays"] == pytest.approx(known["pays"], rel=1e-9)
    assert told["sentences"]["pays"] == known["sentences"]["pays"]
    assert "throughput" not in told


# --- `--throughput`, `--work`, `--scaling`, `--price` through the commands: real seconds, one meaning of a price -----

RUNS = "gpus,throughput\n1,410.2\n2,792.5\n4,1530\n8,2905.4\n"
FOLDER = {"runs.csv": RUNS, "times.csv": "gpus,s\n1,1.0\n2,0.6\n4,0.4\n8,0.3\n"}


SPEED = ["--throughput", "throughput", "--extrinsic", "gpus"]


def test_the_knee_of_weak_scaling(shell: Shell) -> None:
    shell("fit", "runs.csv", *SPEED, "--work", "32*gpus", "-o", "m.json")
    out = done(shell, "explain", "m.json", "--knee")
    assert "weak scaling along gpus, relative to 1" in out
    assert "throughput likely does not fall up to 128 gpus" in out
    assert "throughput falls" not in out
    err = refusal(shell, "explain", "m.json", "--knee", "--scaling", "strong")
    assert "the scaling is given as strong, and with the work '32*gpus' of a step it is weak" in err


def test_efficiency_is_refused_until_the_scaling_is_told(shell: Shell, tmp_path: Path) -> None:
    times = ["times.csv", "--time", "s", "--extrinsic", "gpus", "--model", "amdahl"]
    shell("fit", *times, "-o", "m.json")
    out = done(shell, "explain", "m.json", "--knee")
    assert "is the scaling along gpus weak or strong?" in out
    assert "efficiency falls" not in out
    told = reply(shell, "explain", "m.json", "--knee")["scaling"]
    assert told["kind"] == "unknown"
    assert "weak or strong?" in told["refusal"]
    assert "strong scaling along gpus" in shell("explain", "m.json", "--knee", "--scaling", "strong")[1]
    shell("report", "m.json", "-o", "page.html")
    assert "is the scaling along gpus weak or strong?" in (tmp_path / "page.html").read_text()
    shell("report", "m.json", "--scaling", "strong", "-o", "page.html")
    assert "weak or strong?" not in (tmp_path / "page.html").read_text()
    shell("fit", *times, "--scaling", "weak", "-o", "m.json")
    assert "weak scaling along gpus" in shell("explain", "m.json", "--knee")[1]


def test_a_scaling_that_the_work_contradicts(shell: Shell) -> None:
    err = refusal(shell, "fit", "runs.csv", *SPEED, "--work", "32*gpus", "--scaling", "strong")
    assert "with the work '32*gpus' of a step it is weak" in err


# --- seconds that are seconds: a throughput of tokens beside a batch of samples --------------------------------------


@pytest.mark.parametrize("sequence", [",1024", ""])
def test_tokens_are_samples_times_the_sequence_or_no_seconds(shell: Shell, sequence: str) -> None:
    """8 samples of 1024 tokens a gpu; a step takes 2 s and 0.05 s more for each doubling."""
    rows = ((n, 8, f"{8 * n * 1024 / (2 + 0.05 * k)}{sequence}") for k, n in enumerate((1, 2, 4, 8)))
    more = ",seq_len" if sequence else ""
    Path("tokens.csv").write_text(csv_of(f"gpus,batch_per_gpu,tokens_per_s{more}", rows))
    roles = ("--throughput", "tokens_per_s", "--extrinsic", "gpus", "--intrinsic", f"batch_per_gpu{more}")
    status, out, err = shell("fit", "tokens.csv", *roles, "--scaling", "weak", "-o", "m.json")
    assert status == 0, err
    if sequence:
        assert "(gpus=8 predicted from the smaller ones; the final fit includes it)" in out + err
        (row,) = reply(shell, "predict", "m.json", "--at", "gpus=8")["predictions"]
        assert row["time"] == pytest.approx(2.15, rel=0.05)
    else:
        out = shell("explain", "m.json", "--at", "gpus=8")[1]
        assert "no seconds: tokens_per_s counts tokens" in out
        assert "seconds and share" not in out


# --- `ask`, `predict` and `optimize` cost a worker unless --per says otherwise, and say so ---------------------------


@pytest.fixture
def priced(shell: Shell) -> Shell:
    """8 gpus a node, 64 samples a gpu."""
    rows = ((n, max(1, n // 8), 64, 0.2 + 0.01 * k) for k, n in enumerate((1, 2, 4, 8, 16, 32)))
    Path("priced.csv").write_text(csv_of("gpus,nodes,batch_per_gpu,step_s", rows))
    roles = ("--time", "step_s", "--extrinsic", "gpus,nodes", "--intrinsic", "batch_per_gpu")
    done(shell, "fit", "priced.csv", *roles, "-o", "m.json")
    return shell
