"""`genperf ask`: from a table to its sentences, or to one question with the option that answers it."""

import re
import shlex
import sys
from collections import Counter
from itertools import pairwise, product
from pathlib import Path
from types import CodeType, FrameType
from typing import Any

import numpy as np
import pandas as pd
import pytest
from helpers import Shell, asked, assert_says, cases_in_text, csv_of, done, questions_in, refusal, refused, reply, told

import genperf as gp

#: The README's six rows.
README = (str(Path(__file__).parents[2] / "docs/examples/runs.csv"), "--at", "workers=64", "--price", "2/h")
#: Four throughputs of images on 1 to 8 GPUs.
FOUR = "gpus,images_per_s\n1,410.2\n2,792.5\n4,1530\n8,2905.4\n"
COUNTS = (1, 2, 4, 8)
ENDS = ("value", "lower", "upper")


def at(*values: str) -> list[str]:
    return [word for value in values for word in ("--at", value)]


# --- what is said of a table -----------------------------------------------------------------------------------------

#: An epoch of 1000/n + 10 s: 64 GPUs take 25.6 s, 39.4 x as fast as one, an efficiency of 62 %.
EPOCHS = csv_of("# GPUs,batch_per_gpu,Time per epoch (s)", ((n, 32, 1000 / n + 10) for n in (1, 2, 4, 8, 16, 32)))
SAID = questions_in(Path(__file__).with_name("said.txt"))


@pytest.mark.parametrize("case", SAID)
def test_what_is_said(shell: Shell, case: str) -> None:
    text, question, expected = SAID[case]
    of_json = [line for line in expected if line.startswith(("= ", "? "))]
    if len(of_json) < len(expected):
        assert_says(told(shell, text, *question), [line for line in expected if line not in of_json])
    answer = asked(shell, text, *question) if of_json else {}
    names = {"each": answer, "approx": pytest.approx, **(answer if isinstance(answer, dict) else {})}
    for line in of_json:
        holds = eval(line[2:], names) if line[0] == "?" else reply(shell, "ask", "runs.csv", *shlex.split(line[2:]))
        assert holds == (True if line[0] == "?" else answer), line


def test_four_throughputs_get_seven_sentences(shell: Shell) -> None:
    lines = told(shell, FOUR, "--full", *at("gpus=64"), "--price", "2/h").splitlines()
    assert lines[0] == "read as: --throughput images_per_s --extrinsic gpus"
    assert len(lines) == 8
    patterns = [
        [r"^Expect [\d,]+ images/s at gpus=64: [\d.]+ x that of 1 gpu\. The eff.* is \d+ % \(90 %: \d+ to \d+ %\)\."],
        ["held-out error is", "extrapolating-blind", "3 doublings"],
        ["A million images cost", "The price is 2 per gpu-hour"],
        [r", (\d+) % of the (?:throughput|time) .*is computation"],
        ["published series"],
        ["^No column counts the nodes"],
        ["^Measure gpus="],
    ]
    for line, expected in zip(lines[1:], patterns, strict=True):
        assert_says(line, [*expected, r"!λ|unexplained|\(2\)"])
    share = re.search(patterns[3][0], lines[4])[1]  # type: ignore[index]
    low, high = re.search(r"\(90 %: (\d+) to (\d+) %\)", lines[4]).groups()  # type: ignore[union-attr]
    assert int(low) <= int(share) <= int(high)


LEVELS = csv_of(
    "model,gpus,tok_s", ((m, n, n * rate) for m, rate in (("gemma-4-26B", 100), ("Qwen3-30B", 50)) for n in (1, 2, 4))
)
REFUSED = questions_in(Path(__file__).with_name("refused.txt"))


@pytest.mark.parametrize(
    ("title", "said"), [("", "'alpha' has no unit and rises with nodes"), ("Weak scaling", "--quantity alpha")]
)
def test_what_has_no_unit_is_taken_for_a_throughput_aloud(shell: Shell, title: str, said: str) -> None:
    rows = "".join(f"| {n} | {10 * n**0.2:.3g} |\n" for n in (1, 2, 4, 8))
    out = told(shell, f"## {title}\n\n| nodes | alpha |\n|--|--|\n{rows}", "--full", *at("nodes=16"))
    assert said in out
    # Nothing says what it counts: no unit is made up, nor the size and the price of a job.
    assert "samples" not in out


def test_a_job_of_what_nothing_counts_is_refused_at_every_door(shell: Shell) -> None:
    """A score, or simulated years per day: 100 of them are no job whose hours follow."""
    Path("runs.csv").write_text("gpus,score\n1,10\n2,19\n4,36\n8,66\n")
    for command in ("ask", "optimize", "report"):
        assert "its column names no unit" in refusal(shell, command, "runs.csv", "--samples", "1000")
    assert "cost" not in reply(shell, "ask", "runs.csv", "--at", "gpus=16", "--price", "2/h")
    assert "images/s" in done(shell, "ask", "runs.csv", "--let", "images_per_s=score", "--samples", "1000")


@pytest.mark.parametrize("case", REFUSED)
def test_one_question_with_the_option_that_answers_it(shell: Shell, case: str) -> None:
    text, question, words = REFUSED[case]
    errors = refused(shell, text, *question)
    assert [word for word in words if word not in errors] == []


def test_exports_are_read_as_they_are(shell: Shell) -> None:
    """600 + 7200/n s on n nodes of four tasks: 32 nodes take 825 s, 13.75 min; the interval has the same unit."""
    clock = [f"{s // 3600:02d}:{s % 3600 // 60:02d}:{s % 60:02d}" for s in (600 + 7200 // n for n in COUNTS)]
    rows = [f"{i}|{n}|{4 * n}|{t}|COMPLETED" for i, (n, t) in enumerate(zip(COUNTS, clock, strict=True))]
    slurm = "\n".join(["JobID|NNodes|NTasks|Elapsed|State", *rows, "9|16|64|00:00:05|FAILED", ""])
    out = told(shell, slurm, "--full", *at("NNodes=32"))
    minutes = re.search(r"Expect a job of ([\d.]+) min .* as fast as on 4 Tasks", out)
    assert float(minutes[1]) == pytest.approx(13.75, rel=0.25)  # type: ignore[index]
    patterns = [
        "--time Elapsed --scaling job --status State --extrinsic NNodes,NTasks",
        "'Elapsed' falls as NTasks grows, so all are taken to share one amount of work",
        r"A new run lies between [\d.]+ and [\d.]+ min \(90 % interval\)",
    ]
    assert_says(out, patterns)
    # A tracker: a step of 1 + 0.03·n s, with four sequences a worker: 32 workers take 1.96 s, 65.3 sequences a second.
    head = "Name,State,_step,config.world_size,config.per_device_train_batch_size,config.model,train/step_time"
    rows = [f"run-{m}{n},finished,100,{n},4,{m},{1 + 0.03 * n:.3f}" for m in "ab" for n in COUNTS]
    tracker = "\n".join([head, *rows, "run-z,crashed,3,16,4,a,", ""])
    out = told(shell, tracker, "--full", *at("world_size=32", "model=b"))
    roles = "--group config.model --intrinsic config.per_device_train_batch_size; left out: Name, _step"
    assert out.startswith(f"read as: --time train/step_time --status State --extrinsic config.world_size {roles}\n")
    rate = re.search(r"Expect ([\d.]+) samples/s at config\.world_size=32", out)
    assert float(rate[1]) == pytest.approx(65.3, rel=0.35)  # type: ignore[index]


# --- the numbers of an answer ----------------------------------------------------------------------------------------


def test_the_numbers_fit_together(shell: Shell) -> None:
    answer = asked(shell, FOUR, *at("gpus=64"), "--price", "2/h")
    throughput, efficiency, cost = (answer[name] for name in ("throughput", "efficiency", "cost_per_million"))
    assert efficiency == pytest.approx(answer["speedup"] / 64)
    # 64 GPUs at 2 an hour, for a million images.
    assert cost == pytest.approx(64 * 2 / 3600 / throughput * 1e6)
    # No efficiency contradicts the measured throughputs: near-linear to 8, so above one half at 64.
    assert 0.5 < efficiency <= 1.0
    assert answer["throughput_lower"] < throughput < answer["throughput_upper"]
    assert "time" not in answer
    assert "fits" not in answer
    failed = "gpus,step_s,status\n1,1.0,ok\n2,1.1,ok\n4,1.2,ok\n32,,OOM\n64,,OOM\n"
    assert "fits" in asked(shell, failed, *at("gpus=8"))
    epochs = asked(shell, EPOCHS, *at("GPUs=64"), "--price", "2/h")
    assert epochs["efficiency"] == pytest.approx(1010 / 64 / 25.625, rel=0.08)
    assert epochs["cost"] == pytest.approx(64 * 2 / 3600 * epochs["time"])
    assert "throughput" not in epochs


#: A table and a question → a number of the answer, and the room around it.
@cases_in_text("case, text, question, name, value, room")
def test_a_number_of_an_answer(
    shell: Shell, case: str, text: str, question: list[str], name: str, value: float, room: float
) -> None:
    answer = asked(shell, text, *question)
    assert answer[name] == pytest.approx(value, rel=room)
    assert answer["left_out"] == (["step_s"] if "--time" in question else [])


#: A table and a question → the ends between which the value of the first quantity lies.
@cases_in_text("case, text, question, low, high")
def test_a_value_lies_between(shell: Shell, case: str, text: str, question: list[str], low: float, high: float) -> None:
    assert low < asked(shell, text, *question)["answers"][0]["value"] < high


PAGE = """# Training
| GPUs | Batch size | Throughput (img/s) |
|---|---|---|
| 1 | 32 | 400 |
| 2 | 32 | 790 |
| 4 | 32 | 1540 |

## Sharded
| Nodes | Duration |
|---|---|
| 1 | 40 min |
| 2 | 21 min |
| 4 | 11 min |
"""


def test_a_question_chooses_the_table_that_names_it(shell: Shell) -> None:
    first, second = asked(shell, PAGE, *at("gpus=8")), asked(shell, PAGE, *at("nodes=8"), "--want", "duration")
    assert [answer["answers"][0]["quantity"] for answer in (first, second)] == ["Throughput (img/s)", "Duration"]
    assert first["throughput"] == pytest.approx(3000, rel=0.1)
    assert second["answers"][0]["value"] == pytest.approx(5.8, rel=0.2)
    assert done(shell, "predict", "runs.csv", *at("nodes=8"), "--json").count("Nodes") > 0
    # Roles name columns as a question does.
    fitted = done(shell, "fit", "runs.csv", "--time", "Duration", "--unit", "min", "--extrinsic", "Nodes")
    assert "doubling Nodes: time x 0.5" in fitted


def test_a_quantity_has_one_answer_with_and_without_want(shell: Shell) -> None:
    """Two series of a step and of its memory: the memory has the same model when it is asked for."""
    rows = ((f, n, 8, 0.2 * k + 0.01 * n, 30 + 0.08 * k * n**1.5) for f, k in (("a", 1), ("b", 2)) for n in COUNTS)
    text, question = csv_of("framework,gpus,batch_per_gpu,step_s,peak_gb", rows), at("gpus=64", "framework=a")
    both = {answer["quantity"]: answer for answer in asked(shell, text, "--full", *question)["answers"]}
    (alone,) = asked(shell, text, "--full", *question, "--want", "peak_gb")["answers"]
    assert [alone[n] for n in ("verdict", "reason", "at")] == [both["peak_gb"][n] for n in ("verdict", "reason", "at")]
    for name in ENDS:
        assert alone[name] == pytest.approx(both["peak_gb"][name], rel=1e-12)
    text = "gpus,tokens/s/gpu,mfu\n8,3120,0.440\n16,3040,0.429\n32,2950,0.416\n64,2750,0.388\n"
    beside = {one["quantity"]: one for one in asked(shell, text, *at("gpus=128"))["answers"]}["mfu"]
    (alone,) = asked(shell, text, *at("gpus=128"), "--want", "mfu")["answers"]
    assert [alone[n] for n in ENDS] == [beside[n] for n in ENDS]


def test_a_price_names_what_it_pays_for(shell: Shell) -> None:
    Path("runs.csv").write_text("nodes,gpus_per_node,images/s\n1,8,1544\n2,8,2954\n4,8,5235\n8,8,8415\n")
    prices = ("2$/h", "$2/gpu/hour", "2usd per gpu-hour", "16$/node/h", "16 USD per node per hour")
    plain, *named = (done(shell, "ask", "runs.csv", *at("nodes=16"), "--cost", "--price", price) for price in prices)
    costs = [re.search(r"cost ([\d.]+) (?:\$|USD) at 8 nodes and ([\d.]+) ", text) for text in (plain, *named)]
    assert [cost.groups() for cost in costs] == [costs[0].groups()] * len(prices)  # type: ignore[union-attr]
    assert "The price is 2 $ per gpu-hour" in plain


def test_of_several_rates_the_one_that_is_named_is_answered(shell: Shell) -> None:
    text = csv_of("gpus,Throughput - TF32,Throughput - mixed precision", ((n, 800 * n, 2500 * n) for n in COUNTS))
    for name in ("Throughput-mixedprecision", "throughput - mixed precision"):
        (first, *_) = asked(shell, text, *at("gpus=64"), "--want", name)["answers"]
        assert first["value"] == pytest.approx(160_000, rel=0.1)
    status, _, err = shell("ask", "runs.csv", *at("gpus=64"), "--want", "fp8 throughput")
    assert status == 1
    assert "--want with one of Throughput - TF32, Throughput - mixed precision" in err


def test_a_measured_column_is_named_in_words_by_its_header_of_several_words(shell: Shell) -> None:
    Path("runs.csv").write_text("gpus,images/sec,total images/sec\n1,47.6,47.6\n2,47,94\n4,45,180\n")
    of_all = reply(shell, "ask", "runs.csv", "8 gpus", "--want", "total images/sec")["answers"][0]
    for words in ("total images/sec on 8 gpus", "8 gpus total images/sec"):
        assert reply(shell, "ask", "runs.csv", words)["answers"][0] == of_all
    done(shell, "ask", "runs.csv", "images/sec on 8 gpus")


def test_what_follows_from_the_measured_quantity_can_be_wanted(shell: Shell) -> None:
    text = "gpus,batch,step_s,comm share\n1,64,0.1,0.2\n2,128,0.104,0.3\n4,256,0.109,0.35\n"
    question = (*at("gpus=64"), "--price", "2/h")
    facts, wanted = asked(shell, text, *question), {}
    for name in ("throughput", "efficiency", "speedup", "cost", "images/s", "comm share"):
        (first, *_) = asked(shell, text, *question, "--want", name)["answers"]
        wanted[name] = first["value"], first["lower"], first["upper"]
    for name in ("throughput", "efficiency"):
        assert wanted[name] == tuple(facts[f"{name}{end}"] for end in ("", "_lower", "_upper"))
    assert wanted["throughput"] == wanted["images/s"]
    assert (wanted["speedup"][0], wanted["cost"][0]) == (facts["speedup"], facts["cost_per_million"])
    beside = {value["quantity"]: (value["value"], value["lower"], value["upper"]) for value in facts["answers"]}
    assert wanted["comm share"] == pytest.approx(beside["comm share"], rel=1e-12)


CAPTIONED = {
    "html": "<table><caption>Time per epoch (min)</caption><tr><th>GPUs</th><th>R50</th></tr>"
    "<tr><td>1</td><td>62.1</td></tr><tr><td>2</td><td>32.0</td></tr><tr><td>4</td><td>16.9</td></tr></table>",
    "md": "Time per epoch (min)\n\n| GPUs | R50 |\n|---|---|\n| 1 | 62.1 |\n| 2 | 32.0 |\n| 4 | 16.9 |\n",
}
PHASES = "ranks,forward,backward,allreduce,all\n4,12.1,24.2,2.1,38.4\n8,6.1,12.2,3.2,21.5\n16,3.1,6.2,4.3,13.6\n"
SHARES = "nodes,GPUs,TPS/GPU,Total TPS,MFU\n1,12,6457,77490,24.2%\n2,24,5529,132708,20.8%\n4,48,4937,236991,18.6%\n"


#: A table, its kind of file, and a question → the first quantity, its unit and value (of 10 %), where they are known.
@cases_in_text("case, text, settings, quantity, unit, value")
def test_the_first_quantity_of_a_table(
    shell: Shell, case: str, text: str, settings: Any, quantity: str, unit: str, value: float
) -> None:
    name = f"runs.{case.rpartition(', ')[2]}" if text in CAPTIONED.values() else "runs.csv"
    Path(name).write_text(text)
    answer = gp.ask(name, at=settings)
    first = answer.answers[0]
    assert (quantity or first.quantity, unit or first.unit) == (first.quantity, first.unit)
    assert first.value == pytest.approx(value or first.value, rel=0.1)
    if unit == "min":
        assert "time (min)" in done(shell, "compare", name, *at("gpus=8"), "--or", "gpus=4")
        assert done(shell, "suggest", name, *at("gpus=8")).splitlines()[-1] == answer.sentences["next"]


def test_quantities_beside_the_first(shell: Shell) -> None:
    def answers(text: str, **settings: object) -> dict[str, Any]:
        Path("runs.csv").write_text(text)
        return {one.quantity: one for one in gp.ask("runs.csv", at=settings).answers}

    mfu = answers(SHARES, nodes=16)["MFU"]
    assert mfu.unit == "%"
    assert mfu.lower < 17 < mfu.upper
    assert {*answers(PHASES, ranks=32)} == {"all", "forward", "backward", "allreduce"}
    # The least beside the average is no time in minutes.
    statistics = "procs,Total_Min,Total_Avg\n1,0.000901,0.000912\n2,0.000513,0.000522\n4,0.000324,0.000345\n"
    averages = answers(statistics, procs=8)
    assert (list(averages), averages["Total_Min"].unit) == (["Total_Avg", "Total_Min"], "")
    # A column that follows does so within the kind that was asked.
    rows = ["S,8,51.2,121", "S,16,100.1,118", "S,32,195.4,115", "M,8,10.6,129", "M,16,20.9,127", "M,32,40.6,123"]
    both = answers("\n".join(("Config,GPUs,Seq/s,TFLOPS/GPU", *rows)), config="M", gpus=64)
    assert both["TFLOPS/GPU"].value == pytest.approx(129 / 10.6 * 8 * both["Seq/s"].value / 64, rel=0.02)


def test_what_was_done_so_far_at_even_times_is_a_rate(shell: Shell) -> None:
    Path("runs").mkdir()
    for gpus, rate in ((1, 310), (2, 595), (4, 1141), (8, 2189)):
        lines = csv_of("time,samples", ((10 * k, 10 * k * rate) for k in range(1, 12)))
        Path(f"runs/progress_{gpus}gpus.csv").write_text(lines)
    (one,) = gp.ask("runs", gpus=16).answers
    assert (one.unit, one.value) == ("samples/s", pytest.approx(4150, rel=0.1))


#: The header of the prices, the devices of each node, and the prices: each is 2 an hour for one device.
PRICES = {
    "of one": ("cost_per_hour", 1, [2, 2, 2, 2]),
    "of all": ("cost_per_hour", 1, [2, 4, 8, 16]),
    "of all nodes": ("usd_per_hour", 8, [16, 32, 64, 128]),
    "of a node": ("cost_per_hour", 8, [16, 16, 16, 16]),
    "of a device of nodes": ("usd_per_gpu_hour", 8, [2, 2, 2, 2]),
}


@pytest.mark.parametrize(("header", "size", "paid"), PRICES.values(), ids=PRICES)
def test_a_column_of_money_per_hour_is_the_price_at_every_door(
    header: str, size: int, paid: list[float], shell: Shell
) -> None:
    counts, rates = (1, 2, 4, 8), (100, 195, 380, 740)
    rows = zip(counts, [size] * 4, ["a"] * 4, rates, paid, strict=True)
    dearer = zip(counts, [size] * 4, ["b"] * 4, rates, [2 * price for price in paid], strict=True)
    first = "gpus,threads" if size == 1 else "nodes,gpus_per_node"
    Path("paid.csv").write_text(csv_of(f"{first},cluster,images_per_s,{header}", [*rows, *dearer]))
    machine = f"gpus={16 * size}"
    asked = "--at", f"{machine},cluster=a"
    free, given = reply(shell, "ask", "paid.csv", *asked), reply(shell, "ask", "paid.csv", *asked, "--price", "2/gpu/h")
    done(shell, "fit", "paid.csv", "-q", "-o", "m.json")
    currency = "USD" if "usd" in header else ""
    assert f"the price is {paid[0]}{currency}/h by '{header}'; --price sets it" in free["notes"]
    assert [value["quantity"] for value in free["answers"]] == ["images_per_s"]
    costs = [answer["cost_per_million"] for answer in (free, given, reply(shell, "ask", "m.json", *asked))]
    ranking = reply(shell, "compare", "m.json", "--at", machine)["ranking"]
    costs += [ranking[0]["cost"], ranking[1]["cost"] / 2]
    optimum = reply(shell, "optimize", "m.json", *asked, "--samples", "1M")
    predicted = reply(shell, "predict", "m.json", "--at", machine, "--show", "cost")["predictions"]
    costs += [1e6 * row["cost"] / times for row, times in zip(predicted, (1, 2), strict=True)]
    assert [*costs, optimum["best"][0]["cost"]] == pytest.approx([costs[0]] * 8, rel=1e-6)
    done(shell, "report", "m.json", "-o", "page.html")
    page = Path("page.html").read_text()
    assert page.count("A million images cost") >= 2
    assert {f'"price":{float(price)}' in page for price in (paid[0], 2 * paid[0])} == {True}


def test_a_group_at_one_count_is_paid_as_the_others_are(shell: Shell) -> None:
    rows = [*((n, "a", 100 * n, 2) for n in (1, 2, 4, 8)), (4, "b", 900, 3)]
    Path("paid.csv").write_text(csv_of("gpus,cluster,images_per_s,cost_per_hour", rows))
    told = reply(shell, "compare", "paid.csv", "--at", "gpus=64")
    assert [row["cost"] * row["throughput"] for row in told["ranking"]] == pytest.approx([64e6 / 1200, 64e6 / 1800])
    assert not told["certain"]
    assert "Do not rely on it (extrapolating-blind)" in told["sentence"]


def test_a_level_of_a_factor_has_its_own_price(shell: Shell) -> None:
    runs = [(g, n, b) for g in ("A", "B") for n in (1, 2, 4, 8) for b in (16, 32) if (g, n, b) != ("B", 8, 16)]
    rows = [(g, n, b, (0.01 * b + 0.01 * n) / (1 + (g == "B")), 2 + 3 * (g == "B")) for g, n, b in runs]
    Path("paid.csv").write_text(csv_of("gpu,gpus,batch_per_gpu,step_s,usd_per_hour", rows[:-2] + rows[-1:]))
    asked = ("paid.csv", "--categorical", "gpu", "--at", "gpus=8,batch_per_gpu=32")
    ranked = {row["gpu"]: row for row in reply(shell, "compare", *asked)["ranking"]}
    for gpu, price in (("A", 2), ("B", 5)):
        cost = 1e6 / 32 * ranked[gpu]["time"] * price / 3600
        assert ranked[gpu]["cost"] == pytest.approx(cost)
        assert reply(shell, "ask", *asked, "--at", f"gpu={gpu}")["cost_per_million"] == pytest.approx(cost, rel=1e-3)
    grid = ("--over", "gpus=8", "--over", "batch_per_gpu=32", "--over", "gpu=A,B", "--samples", "1M")
    found = reply(shell, "optimize", *asked[:3], *grid)["best"]
    assert {row["gpu"]: row["cost"] for row in found} == pytest.approx({g: ranked[g]["cost"] for g in "AB"})
    done(shell, "fit", *asked[:3], "-o", "m.json")
    done(shell, "report", "m.json", "--at", "gpus=16,gpu=B", "-o", "page.html")
    assert "of batch_per_gpu=32, gpu=B" in Path("page.html").read_text()


def test_one_ask_decides_the_axis_once_and_predicts_its_point_once(
    shell: Shell, fits_of_the_session: dict[bytes, list[object]]
) -> None:
    """The README's six rows: what an ask runs of genperf, without what is only run when it is imported."""
    # A fit of another test would leave what a fit computes unknown here.
    fits_of_the_session.clear()
    shell("ask", *README)
    fits_of_the_session.clear()
    root, runs, walk = str(Path(gp.__file__).parent), Counter[CodeType](), [""]

    def profiled(frame: FrameType, event: str, _: object) -> None:
        if not frame.f_code.co_filename.startswith(root) or event not in ("call", "return"):
            return
        inside: FrameType | None = frame
        if event == "call":
            runs[frame.f_code] += 1
        else:
            inside = frame.f_back
            while inside is not None and not inside.f_code.co_filename.startswith(root):
                inside = inside.f_back
        room = "" if inside is None else Path(inside.f_code.co_filename).relative_to(root).parts[0]
        if room in ("asking", "result") and walk[-1] != room:
            walk.append(room)

    sys.setprofile(profiled)
    try:
        status, _, _ = shell("ask", *README)
    finally:
        sys.setprofile(None)
    assert status == 0
    times = Counter[str]()
    for code, count in runs.items():
        times[code.co_name] += count
    assert [times[name] for name in ("axis_of", "panel_of", "predicted_columns", "central_and_band")] == [1] * 4
    # No sentence, cause or published series is looked for that the card does not show.
    assert not {"sentences_of", "limit_of", "why", "compared_with_published"} & {*times}
    functions = [code for code in runs if not code.co_name.startswith("<")]
    assert len(functions) < 636
    assert len({code.co_filename for code in functions}) < 76
    # How often the walk through the rooms comes back from the model to the question.
    assert sum(pair == ("result", "asking") for pair in pairwise(walk)) <= 12


@cases_in_text("at, places")
def test_several_configurations_are_answered_as_each_of_them(
    shell: Shell, at: str, places: list[dict[str, str]]
) -> None:
    rows = [f"{n},{8 * n},{s},{k * 1900 * n**0.97:.1f}" for s, k in (("DDP", 1.0), ("FSDP", 0.8)) for n in (1, 2, 4)]
    Path("runs.csv").write_text("\n".join(["nodes,gpus,strategy,images_per_s", *rows]))
    price = ("--price", "2/h")
    together = reply(shell, "ask", "runs.csv", "--at", at, *price)
    alone = [reply(shell, "ask", "runs.csv", *(f"--at={n}={v}" for n, v in p.items()), *price) for p in places]
    assert together == alone
    lines = done(shell, "ask", "runs.csv", "--at", at, *price).splitlines()
    marked = [line for line in lines if line.startswith(("✓", "⚠", "✗")) and "images/s" in line]
    assert len(marked) == len(places)
    # A value of the first answer stands in its line.
    assert format(float(format(alone[0]["throughput"], ".3g")), ",.0f") in marked[0]
    full = done(shell, "ask", "runs.csv", "--at", at, "--full")
    assert full.count("Expect") == len(places)
    # Of these counts some are late.
    planned = done(shell, "ask", "runs.csv", "--at", "nodes=4,64", "--samples", "10M", "--deadline", "5min")
    assert re.findall(r"(\d+) nodes: (done|it takes longer)", planned) == [("4", "it takes longer"), ("64", "done")]


@cases_in_text("words, at")
def test_several_values_in_words_are_those_of_the_options(shell: Shell, words: str, at: tuple[str, ...]) -> None:
    rows = [f"{8 * n},{s},{k * 1900 * n**0.97:.1f}" for s, k in (("DDP", 1.0), ("FSDP", 0.8)) for n in (1, 2, 4)]
    Path("runs.csv").write_text("\n".join(["gpus,strategy,images_per_s", *rows]))
    price = ("--price", "$2/h") if "$" in words else ()
    by_options = reply(shell, "ask", "runs.csv", *(f"--at={each}" for each in at), *price)
    assert reply(shell, "ask", "runs.csv", words) == by_options
    assert len(by_options) == len(at[0].split(","))
    assert [answer.value for answer in gp.ask("runs.csv", words)] == [of["answers"][0]["value"] for of in by_options]


@cases_in_text("words, counts")
def test_counts_in_words(words: str, counts: list[int]) -> None:
    answers = gp.ask(pd.DataFrame({"gpus": [8, 16, 32], "images_per_s": [1900.0, 3740.0, 7300.0]}), words)
    answers = answers if isinstance(answers, list) else [answers]
    assert [answer.to_dict()["at"]["gpus"] for answer in answers] == counts


def test_python_asks_of_any_list_and_reads_frames_with_missing_cells() -> None:
    runs = pd.DataFrame({"gpus": pd.array([1, 2, 4, 8, None], dtype="Int64"), "step_s": [0.2, 0.21, 0.22, 0.23, 0.5]})
    for counts in (pd.Series([16, 32]), pd.Index([16, 32]), np.array([16, 32])):
        assert [answer.to_dict()["at"]["gpus"] for answer in gp.ask(runs[:4], gpus=counts)] == [16.0, 32.0]
    assert gp.ask(runs[:4], gpus=np.array(16)).to_dict()["at"]["gpus"] == 16.0
    assert gp.fit(runs.astype(object)).schema.rows > 0


def test_python_asks_in_words_without_a_number_as_the_command_line_does() -> None:
    runs = pd.DataFrame({"gpus": [8, 16, 32], "images_per_s": [1900.0, 3740.0, 7300.0]})
    assert gp.ask(runs, "is this scaling normal?").value == gp.ask(runs).value


def test_what_another_command_answers_is_told(shell: Shell) -> None:
    Path("runs.csv").write_text("gpus,images_per_s\n8,1900\n16,3740\n32,7300\n")
    Path("NEW.csv").write_text("gpus,images_per_s\n32,7290\n64,14200\n")
    hints = {"which factor matters": "explain runs.csv", "is it slower than last month": "verify runs.csv NEW.csv"}
    for words, hint in hints.items():
        assert f"genperf {hint}" in refusal(shell, "ask", "runs.csv", words)
        done(shell, *hint.split())


#: 60/n + 2 + 0.4 n minutes an epoch: the fastest is at 12 nodes.
EPOCH_TIMES = "nodes,epoch_time_min\n1,62.4\n2,32.8\n4,18.6\n8,12.7\n"


@cases_in_text("words, begin")
def test_questions_of_other_kinds_are_answered_in_sentences(shell: Shell, words: str, begin: str) -> None:
    Path("runs.csv").write_text(EPOCH_TIMES)
    assert done(shell, "ask", "runs.csv", words).startswith(begin)


def test_a_level_of_the_efficiency_is_passed_where_explain_says(shell: Shell) -> None:
    Path("runs.csv").write_text(EPOCH_TIMES)
    (line,) = done(shell, "ask", "runs.csv", "efficiency above 70%").splitlines()[:1]
    explained = done(shell, "explain", "runs.csv", "--knee", "0.7")
    assert line[1:].rstrip(".") in explained


@cases_in_text("words, count, called")
def test_of_all_counts_the_cheapest_or_the_fastest_does_a_job(
    shell: Shell, words: str, count: int, called: str
) -> None:
    Path("runs.csv").write_text(EPOCH_TIMES)
    assert called in done(shell, "ask", "runs.csv", words)
    assert reply(shell, "ask", "runs.csv", words)["at"]["nodes"] == pytest.approx(count, abs=3)


def test_a_training_without_a_price_costs_hours_of_its_devices(shell: Shell) -> None:
    Path("runs.csv").write_text("gpus,tokens_per_s\n8,80000\n16,156000\n32,304000\n")
    answer = reply(shell, "ask", "runs.csv", "how many GPU-hours for 1T tokens at 64 gpus")
    assert answer["training_hours"] == pytest.approx(64 * 24 * answer["days"])
    assert "gpu-hours" in done(shell, "ask", "runs.csv", "1T tokens at 64 gpus")
    assert "cheapest" in done(shell, "ask", "runs.csv", "cheapest number of gpus for 1T tokens")


def test_a_speed_up_and_the_rate_of_each_device_are_asked_in_words(shell: Shell) -> None:
    Path("runs.csv").write_text("gpus,tokens_per_s,mem_gb\n8,80000,30\n16,156000,31\n32,304000,30.5\n")
    of_all = reply(shell, "ask", "runs.csv", "64 gpus")
    (speedup, *_) = reply(shell, "ask", "runs.csv", "speedup at 64 gpus")["answers"]
    assert (speedup["quantity"], speedup["value"]) == ("speed-up", pytest.approx(of_all["speedup"]))
    for words in ("tokens per second per gpu at 64 gpus", "tokens/s/gpu on 64 gpus"):
        (each, *_) = reply(shell, "ask", "runs.csv", words)["answers"]
        assert (each["quantity"], each["value"]) == ("per gpu", pytest.approx(of_all["throughput"] / 64))
    assert "per gpu" in done(shell, "ask", "runs.csv", "tokens per second per gpu at 64 gpus")


def _kinds() -> str:
    """Return the text of a table of two networks on two devices."""
    kinds = (("Llama-2-7B", 1.0), ("Llama-2-13B", 0.55))
    devices = (("A100-80GB", 1.0), ("H100-80GB", 2.1))
    rows = (
        (model, gpu, n, f"{3000 * a * s / (1 + 0.01 * n**0.7):.0f}")
        for (model, a), (gpu, s), n in product(kinds, devices, (8, 16, 32, 64))
    )
    return csv_of("Model,GPU,#GPUs,Tokens/s/GPU", rows)


def test_words_of_a_chosen_cell_devices_and_sizes_are_read_for_what_they_are(shell: Shell) -> None:
    Path("runs.csv").write_text(_kinds())
    for words in ("Llama 7B on 128 H100", "128 H100 7B", "H100 7B 128 gpus"):
        (answer, *_) = reply(shell, "ask", "runs.csv", words)["answers"]
        place = answer["at"]["#GPUs"], answer["verdict"]
        assert place == (128, "ok"), words
    assert "GPU=B200 was not measured" in done(shell, "ask", "runs.csv", "B200 64 gpus")
    first, second = reply(shell, "ask", "runs.csv", "7B at 64 gpus: A100 costs 1.5/h and H100 3/h")
    costs = [answer["cost_per_million"] * answer["throughput"] / 1e6 * 3600 / 64 for answer in (first, second)]
    assert costs == pytest.approx([1.5, 3.0])


@cases_in_text("words")
def test_common_english_only_asks_and_other_words_are_not_passed_over(shell: Shell, words: str) -> None:
    Path("runs.csv").write_text("gpus,images_per_s\n8,1900\n16,3740\n32,7300\n")
    assert reply(shell, "ask", "runs.csv", words)["at"]["gpus"] == 64
    assert "found nowhere" not in done(shell, "ask", "runs.csv", words)
    # What may be a setting is none of them, and neither is a word that turns the question.
    for other in ("zero", "half", "RING", "lora"):
        assert f"found nowhere in the runs: {other}" in done(shell, "ask", "runs.csv", f"{words} with {other}")


def test_the_utilisation_is_asked_in_words_where_a_column_names_the_device(shell: Shell) -> None:
    Path("runs.csv").write_text(_kinds())
    by_option = reply(shell, "ask", "runs.csv", "7B on 64 H100", "--peak", "h100")
    by_words = reply(shell, "ask", "runs.csv", "MFU of 7B on 64 H100")
    assert by_words["mfu"] == by_option["mfu"] > 0.1
    assert by_words["answers"][0]["quantity"] == "MFU"
    Path("bare.csv").write_text("gpus,tokens_per_s\n8,80000\n16,156000\n32,304000\n")
    assert "--peak h100" in refusal(shell, "ask", "bare.csv", "mfu at 64 gpus")


def test_what_a_model_file_predicts_is_wanted_in_words(shell: Shell) -> None:
    Path("runs.csv").write_text(EPOCH_TIMES)
    done(shell, "fit", "runs.csv", "-o", "model.json")
    for question in (("speedup at 16 nodes",), ("16 nodes", "--want", "speedup")):
        (value, *_) = reply(shell, "ask", "model.json", *question)["answers"]
        assert value["quantity"] == "speed-up"


def test_the_next_run_is_told_in_words_and_a_column_of_runs_is_not_compared(shell: Shell) -> None:
    rows = ((n, 32, k, f"{0.2 + 0.01 * n**0.5 + 0.001 * k:.4f}") for n in (8, 16, 32) for k in (0, 1))
    Path("runs.csv").write_text(csv_of("gpus,batch_per_gpu,run,step_s", rows))
    told = done(shell, "ask", "runs.csv", "--full")
    for words in ("which run should I do next", "what should i run next", "what to measure next?"):
        proposed = done(shell, "ask", "runs.csv", words)
        assert proposed.startswith("Measure gpus=64.")
        assert proposed in told
    # `suggest` says it of the same throughput.
    assert proposed in done(shell, "suggest", "runs.csv", "--at", "gpus=64")


def test_the_best_level_is_asked_of_another_command_and_which_one_compares_all(shell: Shell) -> None:
    rows = "".join(
        f"{gpu},{n},{n * rate},{rate / 8}\n" for gpu, rate in (("a100", 240), ("h100", 480)) for n in (8, 16, 32)
    )
    Path("runs.csv").write_text(f"gpu,num_gpus,images_per_s,mem_gb\n{rows}")
    said = refusal(shell, "ask", "runs.csv", "gpu=cheapest num_gpus=128")
    hint = said.partition("try: genperf ")[2].split("\n")[0].split()
    assert hint == ["compare", "runs.csv", "--over", "gpu", "--at", "num_gpus=128"]
    assert done(shell, *hint).startswith("h100 is faster")
    said = done(shell, "ask", "runs.csv", "which gpu is fastest at 64")
    assert ["64 gpus, gpu=a100" in said, "64 gpus, gpu=h100" in said, "found nowhere" in said] == [True, True, False]
    # A quantity of the question is that of each.
    answers = reply(shell, "ask", "runs.csv", "which gpus fit in 80 GB at 64")
    assert [answer["answers"][0]["quantity"] for answer in answers] == ["mem_gb", "mem_gb"]


def test_a_plan_answers_what_is_cheapest_and_a_price_is_the_one_that_is_named(shell: Shell) -> None:
    rows = "".join(f"{n},{60 / n + 1},{n * 10},{n * 30}\n" for n in (1, 2, 4, 8))
    Path("runs.csv").write_text(f"nodes,minutes_per_epoch,spot price ($/h),on-demand price ($/h)\n{rows}")
    said = reply(shell, "ask", "runs.csv", "cheapest way to finish 90 epochs in 20 hours with spot")
    by_options = reply(shell, "ask", "runs.csv", "--samples", "90", "--deadline", "20h", "--price", "10$/h")
    assert (said["plan"], said["verdict"]) == (by_options["plan"], "ok")
    named = [
        reply(shell, "ask", "runs.csv", f"cost of 90 epochs on 8 nodes {words}")["plan"]["named"]["cost"]
        for words in ("with spot", "on-demand")
    ]
    assert named[1] == pytest.approx(3 * named[0])


def test_one_run_is_answered_for_several_counts(shell: Shell) -> None:
    run = ("ask", "8xh100", "7B", "76800tok/s", "--tokens", "1T", "--at", "64,128")
    assert [answer["training"]["devices"] for answer in reply(shell, *run)] == [64.0, 128.0]
    assert re.findall(r"training.* at (\d+) x", done(shell, *run)) == ["64", "128"]


@pytest.mark.parametrize("names", [("llama-2-7b", "llama-2-13b"), ("6.74B", "13.02B"), ("llama-2-7b",)])
def test_the_utilisation_is_that_of_the_network_that_a_column_names(shell: Shell, names: tuple[str, ...]) -> None:
    rows = [f"{name},{n},4096,{32 * n},{n * 9000 / (1 + i)}" for i, name in enumerate(names) for n in (8, 16, 32)]
    Path("runs.csv").write_text("\n".join(["model,gpus,seq_len,global_batch,tokens_per_s", *rows]))
    question = ("--at", f"gpus=64,model={names[-1]}", "--peak", "989T")
    answer = reply(shell, "ask", "runs.csv", *question)
    # Of names that differ in their sizes the printed one is taken.
    parameters = {"llama-2-7b": 6.74e9, "llama-2-13b": 13e9}.get(names[-1], 13.02e9)
    expected = 6 * parameters * answer["tokens_per_s"] / 64 / 989e12
    assert answer["mfu"] == pytest.approx(expected, rel=1e-3)
    (row,) = reply(shell, "predict", "runs.csv", *question, "--show", "mfu")["predictions"]
    assert row["mfu"] == pytest.approx(answer["mfu"], rel=1e-9)
    change = ("--at", "gpus=64", "--at", f"model={names[-1]}", "--or", "gpus=32", "--peak", "989T")
    mfu_of = {row["change"]: row["mfu"] for row in reply(shell, "compare", "runs.csv", *change)["ranking"]}
    assert mfu_of["as it is"] == pytest.approx(answer["mfu"], rel=1e-9)
    assert f"{100 * answer['mfu']:.0f} %" in done(shell, "compare", "runs.csv", *change)
    done(shell, "report", "runs.csv", *question)
    assert f"MFU of {100 * answer['mfu']:.0f} %" in Path("report.html").read_text(encoding="utf-8")


def test_amounts_are_read_at_every_door(shell: Shell) -> None:
    rows = [f"{size},{n},{n * rate}" for size, rate in (("7B", 9000), ("13B", 5000)) for n in (8, 16, 32)]
    Path("runs.csv").write_text("\n".join(["params,gpus,tokens_per_s", *rows]))
    expected = gp.ask("runs.csv", gpus=64, params="13B").value
    fitted = gp.fit("runs.csv")
    for params in ("13B", 13e9):
        assert fitted.predict({"gpus": 64, "params": params})["throughput"][0] == pytest.approx(expected)
    Path("asked.csv").write_text("gpus,params\n64,13B\n")
    assert fitted.predict("asked.csv")["throughput"][0] == pytest.approx(expected)
    change = gp.compare(fitted, {"gpus": 64, "params": "7B"}, [{"params": "13B"}])
    assert "params=13B takes" in change.sentence
    assert "13B" in done(shell, "predict", "runs.csv", "--at", "gpus=64", "--at", "params=13B")


def test_words_of_a_factor_mean_it_at_every_door(shell: Shell) -> None:
    Path("runs.csv").write_text("OpenMP Threads,Wall time (s)\n1,80.1\n2,41.0\n4,21.2\n8,11.3\n16,6.4\n")
    at = ("--at", "threads=64")
    expected = reply(shell, "ask", "runs.csv", *at)["answers"][0]["value"]
    (row,) = reply(shell, "predict", "runs.csv", *at)["predictions"]
    assert row["time"] == pytest.approx(expected)
    for command in ("explain", "suggest", "report"):
        done(shell, command, "runs.csv", *at)
    fitted = gp.fit(gp.read_table("runs.csv", time="Wall time (s)", extrinsic="OpenMP Threads"), seed=0)
    assert fitted.predict({"threads": 64})["time"].tolist() == fitted.predict({"OpenMP Threads": 64})["time"].tolist()
    assert "no factor 'threads of all'" in refusal(shell, "predict", "runs.csv", "--at", "threads of all=64")
    assert "'threads=64' and 'workers=3' name the same column" in refusal(
        shell, "predict", "runs.csv", *at, "--at", "workers=3"
    )
    # A column beside it in a table is another one.
    Path("asked.csv").write_text("OpenMP Threads,threads\n64,1\n")
    assert fitted.predict("asked.csv")["time"].tolist() == fitted.predict({"threads": 64})["time"].tolist()


def test_a_word_of_a_question_names_the_measured_column_at_every_door(shell: Shell) -> None:
    rows = [f"{n},{10 * n**0.96:.4g},{41 * n**0.94:.4g}" for n in (1, 2, 4, 8, 16)]
    Path("wide.csv").write_text("\n".join(["GPUs,GPT-2 (seq/s),BERT (seq/s)", *rows]) + "\n")
    for network in ("GPT-2 (seq/s)", "BERT (seq/s)"):
        at = ("--at", "gpus=64", "--at", f"Workload={network}")
        expected = reply(shell, "ask", "wide.csv", *at)["answers"][0]["value"]
        (row,) = reply(shell, "predict", "wide.csv", *at)["predictions"]
        assert row["throughput"] == pytest.approx(expected)
        done(shell, "report", "wide.csv", *at)
        done(shell, "fit", "wide.csv", "--throughput", network, "-o", f"{network[:3]}.json")
        for command in (("predict",), ("ask",), ("compare", "--or", "gpus=32"), ("explain",)):
            done(shell, command[0], f"{network[:3]}.json", *at, *command[1:])
    assert "no factor 'Workload'" in refusal(shell, "predict", "BER.json", "--at", "Workload=GPT-2 (seq/s)")


@pytest.mark.parametrize(
    ("named", "meant", "verdict"),
    # A size is that of the only network with it in its name, and the measured networks answer for another one.
    [("7b", "gpt-7b", "caution"), ("llama", "llama", "extrapolating-blind")],
)
def test_a_level_is_the_same_at_every_door(shell: Shell, named: str, meant: str, verdict: str) -> None:
    rows = ((f"gpt-{size}b", size, n, 4e4 * n**0.95 / size) for size in (7, 13) for n in COUNTS)
    Path("runs.csv").write_text(csv_of("model,params_b,gpus,tokens_per_s", rows))
    at = ("--at", "gpus=32", "--at", f"model={named}")
    answer = reply(shell, "ask", "runs.csv", *at)["answers"][0]
    (row,) = reply(shell, "predict", "runs.csv", *at)["predictions"]
    assert (row["model"], row["throughput"]) == (meant, pytest.approx(answer["value"]))
    assert row["verdict"] == answer["verdict"] == verdict
    several = ("--at", "gpus=32", "--at", "model=7b,13b")
    assert "no run has model=7b,13b" in refusal(shell, "ask", "runs.csv", *several)
    assert len(done(shell, "predict", "runs.csv", *several).splitlines()) == 4


@cases_in_text("want, repeats, read")
def test_other_series_inform_one_at_every_door(shell: Shell, want: str, repeats: int, read: tuple[str, ...]) -> None:
    """Of any quantity and any number of rows."""
    noise = np.random.default_rng(3)
    series = (("V100", 1.0, COUNTS), ("A100", 2.0, COUNTS), ("H100", 4.0, COUNTS[:3]))
    measured = ((gpu, n, (500 + 30 * np.log2(n)) / of_one) for gpu, of_one, counts in series for n in counts)
    rows = (
        (gpu, n, *np.array([ms, 64e3 * n / ms, 10 + n**0.5]) * np.exp(0.02 * noise.standard_normal(3)))
        for gpu, n, ms in measured
        for _ in range(repeats)
    )
    Path("runs.csv").write_text(csv_of("gpu,gpus,step_ms,images_per_s,memory_gb", rows))
    at = ("--at", "gpu=H100", "--at", "gpus=32")
    answer = reply(shell, "ask", "runs.csv", *at, "--want", want)["answers"][0]
    (row,) = reply(shell, "predict", "runs.csv", *at, *read)["predictions"]
    value = 1e3 * row["time"] if want == "step_ms" else row[want]
    assert value == pytest.approx(answer["value"], rel=1e-6)


def test_names_that_say_the_same_mean_it_at_every_door(shell: Shell) -> None:
    names = (("pytorch", "resnet", 400), ("tf", "vgg", 300))
    rows = [f"{a},{b},V100,{n},{of_one * n**0.96:.4g},8" for a, b, of_one in names for n in COUNTS]
    Path("runs.csv").write_text("\n".join(["Framework,Benchmark,GPU,num_gpus,images_per_s,lr", *rows]) + "\n")
    done(shell, "fit", "runs.csv", "-o", "model.json")
    assert gp.load_model("model.json").group == ("Framework",)
    at = ("--at", "num_gpus=32", "--at")
    expected = reply(shell, "ask", "runs.csv", *at, "Framework=tf")["answers"][0]["value"]
    for question in ("Framework=tf", "framework=TF", "Benchmark=VGG", "Benchmark=vgg,GPU=v100", "benchmark=vgg,lr=8"):
        texts = [text for word in question.split(",") for text in ("--at", word)]
        asked = reply(shell, "ask", "model.json", *at[:2], *texts)
        (row,) = reply(shell, "predict", "model.json", *at[:2], *texts)["predictions"]
        assert asked["answers"][0]["value"] == row["throughput"] == pytest.approx(expected)
    fitted = gp.load_model("model.json")
    both = fitted.predict({"Benchmark": ["resnet", "vgg"], "num_gpus": 32})
    assert both["Framework"].tolist() == ["pytorch", "tf"]
    assert fitted.predict({"Benchmark": "vgg", "num_gpus": 32})["throughput"].tolist() == [pytest.approx(expected)]
    text = refusal(shell, "predict", "model.json", *at, "Benchmark=bert")
    assert "no run has Benchmark=bert" in text
    assert "one of resnet, vgg" in text
    # Another number of a column that never changed is not heeded: every command tells it, and is blind by it.
    always, asked = "lr was always 8: nothing shows another one", "num_gpus=32,lr=9,Framework=tf"
    commands = (
        ("predictions", "predict", "--at", asked),
        ("ranking", "compare", "--or", "num_gpus=64", "--at", asked),
        ("verdicts", "explain", "--at", asked),
        ("best", "optimize", "--over", asked),
    )
    for source in ("runs.csv", "model.json"):
        answer = gp.ask(source, num_gpus=32, lr=9, Framework="tf")
        assert always in answer.notes
        judged = [(answer.answers[0].verdict, answer.answers[0].reason)]
        for key, command, *words in commands:
            plain = reply(shell, command, source, *words)
            judged += [(row["verdict"], row["reason"]) for row in plain[key]]
        assert all(verdict == "extrapolating-blind" and reason.startswith(always) for verdict, reason in judged)
        assert always in refusal(shell, "compare", source, "--at", "num_gpus=32,Framework=tf", "--or", "lr=9")


def test_a_hint_without_a_run_is_refused(shell: Shell) -> None:
    text = refusal(shell, "ask", "8xh100", "7B", "--tokens", "1T", "--hint", "bandwidth=50GB/s")
    assert "a hinted network needs the time of a step" in text
    assert "a run, such as 76800tok/s, with the samples of a step" in text


def test_the_knee_takes_the_work_that_ask_takes(shell: Shell) -> None:
    Path("runs.csv").write_text("gpus,step_s\n1,0.5\n2,0.505\n4,0.515\n8,0.53\n16,0.56\n")
    answer = gp.ask("runs.csv", gpus=64)
    assert "Nothing shows the work of a step" in answer.sentences["expect"]
    out = done(shell, "explain", "runs.csv", "--at", "gpus=64", "--knee")
    assert "Nothing shows the work of a step, and each device is taken to keep its own." in out
    assert "weak scaling along gpus" in out
    (row,) = reply(shell, "predict", "runs.csv", "--at", "gpus=64", "--show", "efficiency")["predictions"]
    assert row["efficiency"] == pytest.approx(answer.to_dict()["efficiency"], rel=1e-6)
    assert "throughput" not in reply(shell, "optimize", "runs.csv", "--at", "gpus=64")["best"][0]


#: A table, and questions that mean the same: the last is answered as the others.
@cases_in_text("case, text, questions")
def test_a_count_is_asked_by_what_it_counts(shell: Shell, case: str, text: str, questions: Any) -> None:
    *others, last = (asked(shell, text, "--at", question)["answers"][0] for question in questions)
    for other in others:
        assert [other[end] for end in ENDS] == pytest.approx([last[end] for end in ENDS], rel=1e-9)
    if case == "names with two counts":
        assert gp.fit("runs.csv").predict(run="8n8g")["throughput"][0] == pytest.approx(last["value"], rel=1e-9)


def test_gpus_are_counted_at_every_door_where_another_column_names_them(shell: Shell) -> None:
    rows = [f"{gpu},{n},{n * rate}" for gpu, rate in (("V100", 300), ("A100", 900)) for n in (1, 2, 4)]
    Path("runs.csv").write_text("\n".join(("GPU,NumGPUs,images/s", *rows)) + "\n")
    done(shell, "fit", "runs.csv", "-o", "m.json", "--quiet")
    at = ("--at", "gpus=16,gpu=A100")
    answers = [reply(shell, "ask", name, *at) for name in ("runs.csv", "m.json")]
    (row,) = reply(shell, "predict", "m.json", *at)["predictions"]
    assert [of["throughput"] for of in answers] == pytest.approx([row["throughput"]] * 2, rel=1e-12)
    # The work of a step is not known: no door tells its time.
    cards = [done(shell, "ask", name, *at) for name in ("runs.csv", "m.json")]
    assert not any(re.search(r"^step", card, re.MULTILINE) for card in cards)
    done(shell, "report", "runs.csv", *at, "-o", "r.html")
    done(shell, "compare", "m.json", *at, "--or", "gpus=32")
    done(shell, "suggest", "runs.csv", "--target", "gpus=16,gpu=A100")


def test_two_columns_of_one_count_are_one_at_every_door(shell: Shell) -> None:
    Path("once.csv").write_text("gpus,images/s\n1,100\n2,190\n4,360\n8,650\n")
    Path("twice.csv").write_text("gpus,world_size,images/s\n1,1,100\n2,2,190\n4,4,360\n8,8,650\n")
    done(shell, "fit", "twice.csv", "-o", "m.json", "--quiet")
    once = reply(shell, "ask", "once.csv", "--at", "gpus=16")
    for name, at in product(("twice.csv", "m.json"), ("gpus=16", "world_size=16", "gpus=16,world_size=16")):
        said = reply(shell, "ask", name, "--at", at)
        assert [said[what] for what in ("throughput", "efficiency")] == [once["throughput"], once["efficiency"]]


def test_a_model_of_groups_with_a_batch_each_is_read_again(shell: Shell) -> None:
    rows = [f"{way},{batch},{n},{n * batch}" for way, batch in (("DDP", 32), ("FSDP", 64)) for n in (1, 2, 4)]
    Path("runs.csv").write_text("\n".join(("strategy,batch_per_gpu,gpus,images/s", *rows)) + "\n")
    done(shell, "fit", "runs.csv", "-o", "m.json", "--quiet", "--group", "strategy,batch_per_gpu")
    of_model, of_table = (reply(shell, "ask", name, "--at", "gpus=8,strategy=FSDP") for name in ("m.json", "runs.csv"))
    assert of_model["throughput"] == pytest.approx(of_table["throughput"], rel=1e-6)


def test_a_setting_in_the_place_of_a_table_is_one_of_at(shell: Shell) -> None:
    _, _, errors = shell("ask", "gpus=64")
    assert "--at gpus=64" in errors


def test_levels_that_were_never_measured_together_are_answered() -> None:
    """Series of one run each are no series; the batch of what was asked is that of runs with most of its levels."""
    rows = [("a", "none", 1, 4, 2800), ("a", "x", 2, 8, 3700), ("a", "y", 2, 8, 4500), ("b", "none", 1, 4, 2900)]
    rows += [("b", "x", 2, 8, 3900), ("b", "y", 2, 8, 4600), ("c", "none", 1, 4, 2850), ("c", "x", 2, 8, 3800)]
    table = pd.DataFrame(rows, columns=["kernel", "ddp", "gpus", "global_batch", "img/s"])
    reply = gp.ask(table, at={"kernel": "c", "ddp": "y", "gpus": 2}).to_dict()
    assert (reply["at"]["global_batch"], reply["answers"][0]["value"]) == (8, pytest.approx(4550, rel=0.05))


def test_the_best_of_more_than_stand_beside_each_other_is_asked_of_compare(shell: Shell) -> None:
    """One of them was answered, without a word."""
    rows = (f"n{net},{n},{n * 100 * (1 + net)}" for net in range(9) for n in (1, 2, 4))
    Path("nets.csv").write_text("\n".join(["net,gpus,images_per_s", *rows]))
    errors = refusal(shell, "nets.csv", "which is slowest on 8 gpus")
    assert "which of 9 is best is asked" in errors
    assert "genperf compare ranks all" in errors
    assert "n8 is" in done(shell, "compare", "nets.csv", "8 gpus")
