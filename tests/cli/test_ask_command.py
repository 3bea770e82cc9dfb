"""`genperf ask`: from a table to five sentences, or to one question with the option that answers it."""

import json
import re
import sys
from collections import Counter
from itertools import pairwise
from pathlib import Path
from types import CodeType, FrameType

import numpy as np
import pytest
from helpers import Shell

import genperf as gp

#: The README's six rows.
README = (str(Path(__file__).parents[2] / "docs/examples/runs.csv"), "--at", "workers=64", "--price", "2/h")
#: Four throughputs of images on 1 to 8 GPUs.
FOUR = "gpus,images_per_s\n1,410.2\n2,792.5\n4,1530\n8,2905.4\n"


@pytest.fixture
def shell(shell: Shell) -> Shell:
    Path("runs.csv").write_text(FOUR)
    return shell


def answer(shell: Shell, *options: str, at: str = "gpus=64") -> dict[str, object]:
    status, out, errors = shell("ask", "runs.csv", "--at", at, "--json", *options)
    assert (status, errors) == (0, "")
    loaded: dict[str, object] = json.loads(out)
    return loaded


def test_four_throughputs_get_seven_sentences(shell: Shell) -> None:
    status, out, _ = shell("ask", "--full", "runs.csv", "--at", "gpus=64", "--price", "2/h")
    lines = out.splitlines()
    assert status == 0
    assert lines[0] == "read as: --throughput images_per_s --extrinsic gpus"
    assert len(lines) == 8
    assert re.match(
        r"Expect [\d,]+ images/s at gpus=64: [\d.]+ x that of 1 gpu\. The efficiency is \d+ % \(90 %: \d+ to \d+ %\)\.",
        lines[1],
    )
    assert "held-out error is" in lines[2]
    assert "extrapolating-blind" in lines[2]
    assert "3 doublings" in lines[2]
    assert "A million images cost" in lines[3]
    assert "The price is 2 per gpu-hour" in lines[3]
    share = re.search(r", (\d+) % of the (?:throughput|time) .*is computation", lines[4])
    ends = re.search(r"\(90 %: (\d+) to (\d+) %\)", lines[4])
    assert share is not None
    assert ends is not None
    assert int(ends[1]) <= int(share[1]) <= int(ends[2])
    assert "published series" in lines[5]
    assert lines[6].startswith("No column counts the nodes")
    assert lines[7].startswith("Measure gpus=")
    assert not re.search(r"λ|unexplained|\(2\)", out)


def test_throughputs_along_nodes_without_a_batch_have_no_time_of_a_step(shell: Shell) -> None:
    Path("runs.csv").write_text("run,images_per_s\n1n8g,3000\n2n8g,5600\n4n8g,10500\n")
    _, out, _ = shell("ask", "--full", "runs.csv", "--at", "nodes=8")
    assert "images/s at nodes=8, devices=64" in out
    assert "a step takes" not in out


def test_the_numbers_fit_together(shell: Shell) -> None:
    told = answer(shell, "--price", "2/h")
    throughput, efficiency, cost = (float(str(told[n])) for n in ("throughput", "efficiency", "cost_per_million"))
    assert efficiency == pytest.approx(float(str(told["speedup"])) / 64)
    # 64 GPUs at 2 an hour, for a million images.
    assert cost == pytest.approx(64 * 2 / 3600 / throughput * 1e6)
    # No efficiency contradicts the measured throughputs: near-linear to 8, so above one half at 64.
    assert 0.5 < efficiency <= 1.0


@pytest.mark.parametrize("work", ["gpus", "32*gpus", "1000*gpus"])
def test_a_smaller_cloud_price_and_the_unit_of_work_move_nothing_else(shell: Shell, work: str) -> None:
    assert answer(shell, "--work", work, at="gpus=8")["throughput"] == pytest.approx(2905.4, rel=0.03)


def test_a_time_without_work_has_the_efficiency_of_devices_that_keep_their_own(shell: Shell) -> None:
    Path("runs.csv").write_text("gpus,step_ms\n1,100\n2,104\n4,109\n8,113\n")
    status, out, _ = shell("ask", "--full", "runs.csv", "--at", "gpus=16")
    assert status == 0
    assert "--time step_ms --unit ms" in out
    assert "each device is taken to keep its own. The efficiency is" in " ".join(out.split())
    assert "throughput needs the work of a step: --work '32*gpus'" in " ".join(out.split())
    assert "efficiency, weak" in shell("ask", "runs.csv", "--at", "gpus=16")[1]
    told = answer(shell, "--work", "32*gpus", at="gpus=16")
    assert told["throughput"] == pytest.approx(32 * 16 / float(str(told["time"])))


def test_several_values_are_refused_and_a_singular_is_understood(shell: Shell) -> None:
    status, _, err = shell("ask", "--full", "runs.csv", "--at", "gpus=64,128")
    assert (status, "gpus=64,128 is several" in err, "such as gpus=64;" in err) == (1, True, True)
    assert answer(shell, at="gpu=16")["at"] == {"gpus": 16.0}


def test_an_epoch_is_told_as_such(shell: Shell) -> None:
    """1000/n + 10 s: 64 GPUs take 25.6 s, 39.4 x as fast as one, an efficiency of 62 %; 64 of them cost 0.91 at 2/h."""
    rows = "\n".join(f"{n},32,{1000 / n + 10}" for n in (1, 2, 4, 8, 16, 32))
    Path("runs.csv").write_text(f"# GPUs,batch_per_gpu,Time per epoch (s)\n{rows}\n")
    status, out, _ = shell("ask", "--full", "runs.csv", "--at", "GPUs=64", "--price", "2/h")
    assert status == 0
    assert re.search(r"Expect an epoch of 2[56]\.?\d* s at GPUs=64: (39|4\d|3\d)\S* x as fast as on 1 GPU", out)
    assert "An epoch costs" in out
    assert "samples" not in out
    told = answer(shell, "--price", "2/h", at="GPUs=64")
    assert told["efficiency"] == pytest.approx(1010 / 64 / 25.625, rel=0.08)
    assert told["cost"] == pytest.approx(64 * 2 / 3600 * float(str(told["time"])))
    assert "throughput" not in told


def test_an_export_of_slurm_is_read_as_it_is(shell: Shell) -> None:
    """600 + 7200/n s on n nodes of four tasks: 32 nodes take 825 s, 13.75 min; the interval has the same unit."""
    times = [f"{s // 3600:02d}:{s % 3600 // 60:02d}:{s % 60:02d}" for s in (600 + 7200 // n for n in (1, 2, 4, 8))]
    rows = [f"{i}|{n}|{4 * n}|{t}|COMPLETED" for i, (n, t) in enumerate(zip((1, 2, 4, 8), times, strict=True))]
    Path("runs.csv").write_text("\n".join(["JobID|NNodes|NTasks|Elapsed|State", *rows, "9|16|64|00:00:05|FAILED", ""]))
    status, out, _ = shell("ask", "--full", "runs.csv", "--at", "NNodes=32")
    assert status == 0
    assert "--time Elapsed --scaling job --status State --extrinsic NNodes,NTasks" in out
    assert "'Elapsed' falls as NTasks grows, so all are taken to share one amount of work" in out
    found = re.search(r"Expect a job of ([\d.]+) min .* as fast as on 4 Tasks", out)
    assert found is not None
    assert float(found[1]) == pytest.approx(13.75, rel=0.25)
    assert re.search(r"A new run lies between [\d.]+ and [\d.]+ min \(90 % interval\)", out)


def test_an_export_of_a_tracker_is_read_as_it_is(shell: Shell) -> None:
    """A step of 1 + 0.03·n s, with four sequences a worker: 32 workers take 1.96 s, and 65.3 sequences a second."""
    head = "Name,State,_step,config.world_size,config.per_device_train_batch_size,config.model,train/step_time"
    rows = [f"run-{m}{n},finished,100,{n},4,{m},{1 + 0.03 * n:.3f}" for m in "ab" for n in (1, 2, 4, 8)]
    Path("runs.csv").write_text("\n".join([head, *rows, "run-z,crashed,3,16,4,a,", ""]))
    status, out, _ = shell("ask", "--full", "runs.csv", "--at", "world_size=32", "--at", "model=b")
    assert status == 0
    roles = "--group config.model --intrinsic config.per_device_train_batch_size; left out: Name, _step"
    first = "read as: --time train/step_time --status State --extrinsic config.world_size"
    assert out.startswith(f"{first} {roles}\n")
    found = re.search(r"Expect ([\d.]+) samples/s at config\.world_size=32", out)
    assert found is not None
    assert float(found[1]) == pytest.approx(65.3, rel=0.35)


def test_a_throughput_of_one_worker_is_made_that_of_all(shell: Shell) -> None:
    Path("runs.csv").write_text("gpus,tokens/s/gpu\n8,1000\n16,980\n32,960\n64,945\n")
    assert answer(shell, at="gpus=64")["throughput"] == pytest.approx(64 * 945, rel=0.03)


def test_counts_may_begin_with_a_word_for_number(shell: Shell) -> None:
    rows = (f"{n},{max(n // 8, 1)},32,{300 * n * 0.97 ** np.log2(n)}" for n in (1, 2, 4, 8, 16, 32))
    Path("runs.csv").write_text("\n".join(("num_gpus,num_nodes,micro_batch_size,images_per_sec", *rows)))
    told = answer(shell, at="num_gpus=64")
    assert 0.8 < float(str(told["efficiency"])) < 0.86


def test_several_series_are_asked_for_by_their_name(shell: Shell) -> None:
    rows = [
        f"{name},{n},{speed * n * 0.95**k}"
        for name, speed in (("jax", 400), ("mxnet", 300))
        for k, n in enumerate((1, 2, 4, 8))
    ]
    Path("runs.csv").write_text("\n".join(["framework,gpus,images_per_s", *rows]))
    status, out, _ = shell("ask", "--full", "runs.csv", "--at", "gpus=16")
    assert status == 0
    assert "not given, and taken at: framework=jax; --at sets them" in out
    assert re.search(r"The table has other series:\n  framework=mxnet: 3,\d+ images/s", out)
    status, out, _ = shell("ask", "--full", "runs.csv", "--at", "gpus=8", "--at", "framework=mxnet")
    assert status == 0
    assert "--group framework" in out
    assert re.search(r"Expect 2,0\d0 images/s", out)
    status, _, errors = shell("ask", "--full", "runs.csv", "--at", "gpus=8", "--at", "framework=caffe")
    assert status == 1
    assert "no run has framework=caffe" in errors


def test_the_batch_of_a_series_is_the_work_of_its_steps(shell: Shell) -> None:
    rows = [f"{batch},{n},{batch / 400 * 1.05**k}" for batch in (32, 64) for k, n in enumerate((1, 2, 4, 8))]
    rows = [f"{network},{row}" for network in ("vgg", "bert") for row in rows]
    Path("runs.csv").write_text("\n".join(["network,batch_per_gpu,gpus,step_s", *rows]))
    told = answer(shell, "--at", "network=vgg", "--at", "batch_per_gpu=64", at="gpus=16")
    assert told["throughput"] == pytest.approx(64 * 16 / float(str(told["time"])))


@pytest.mark.parametrize(
    ("text", "options", "words"),
    [
        ("colour,step_s\n1,1\n2,2\n", (), ["no setting 'gpus'", "--at with one of colour"]),
        ("gpus,nodes\n1,1\n2,2\n", (), ["'nodes' is read as setting: its header is a name of nodes", "--time COLUMN"]),
        (FOUR, ("--at", "gpus=8"), ["--at names gpus twice"]),
        (FOUR, ("--price", "2"), ["the price 2 needs its time", "2/h"]),
        (FOUR, ("--price", "cheap"), ["'cheap' is not a price"]),
        (FOUR, ("--price", "2/h", "--per", "racks"), ["'racks' counts nothing", "--per gpus"]),
    ],
)
def test_one_question_with_the_option_that_answers_it(
    shell: Shell, text: str, options: tuple[str, ...], words: list[str]
) -> None:
    Path("runs.csv").write_text(text)
    status, out, errors = shell("ask", "--full", "runs.csv", "--at", "gpus=64", *options)
    assert (status, out) == (1, "")
    for word in words:
        assert word in errors


def test_a_given_role_is_not_guessed(shell: Shell) -> None:
    Path("runs.csv").write_text("gpus,step_s,total_s\n1,1,2\n2,0.6,1.2\n4,0.4,0.8\n")
    told = answer(shell, "--time", "total_s", at="gpus=4")
    assert told["time"] == pytest.approx(0.8, rel=0.1)
    assert told["left_out"] == ["step_s"]


def test_levels_that_were_not_given_are_of_one_measured_run(shell: Shell) -> None:
    # Most runs are of vgg and most are in fp16, but never both.
    nets = [("vgg", "fp32", 4), ("bert", "fp16", 3), ("gpt", "fp16", 2)]
    rows = [(net, p, n, 0.1 * (1 + 0.05 * n)) for net, p, counts in nets for n in (1, 2, 4, 8)[:counts]]
    text = "".join(f"{net},{p},{n},32,{t}\n" for net, p, n, t in rows)
    Path("runs.csv").write_text("net,precision,gpus,global_batch,step_s\n" + text)
    options = ("--categorical", "net,precision", "--time", "step_s", "--extrinsic", "gpus")
    assert answer(shell, *options, at="gpus=16")["taken"] == {"net": "vgg", "precision": "fp32"}
    status, out, _ = shell("ask", "--full", "runs.csv", "--at", "gpus=16", "--at", "net=bert", *options)
    assert status == 0
    assert "not given, and taken at: precision=fp16; --at sets them" in out


def test_the_smallest_scale_is_that_of_runs_alike(shell: Shell) -> None:
    small = "".join(f"small,{n},{0.1 * (1 + 0.05 * n)}\n" for n in (1, 2, 4, 8))
    large = "".join(f"large,{n},{2.0 * (1 + 0.01 * n)}\n" for n in (16, 32, 64))
    Path("runs.csv").write_text("net,gpus,step_s\n" + small + large)
    options = ("--at", "net=large", "--categorical", "net", "--work", "32*gpus", "--scaling", "weak")
    status, out, _ = shell("ask", "--full", "runs.csv", "--at", "gpus=128", *options)
    assert status == 0
    assert "x that of 16 gpus" in out


def test_a_table_without_nodes_speaks_of_its_workers(shell: Shell) -> None:
    rows = "".join(f"{n},{0.1 + 0.01 * (n - 1)}\n" for n in (1, 2, 4, 8))
    Path("runs.csv").write_text("gpus,step_s\n" + rows)
    status, out, _ = shell("ask", "--full", "runs.csv", "--at", "gpus=64", "--scaling", "weak")
    assert status == 0
    assert "work that gpus do one after another" in out
    assert "nodes" not in re.sub("No column counts the nodes.*", "", out)


def test_nodes_settle_the_workers_on_them(shell: Shell) -> None:
    rows = "".join(f"{n},{8 * n},{41000.0 * n**0.96}\n" for n in (1, 2, 4, 8))
    Path("runs.csv").write_text("nodes,gpus,tokens_per_s\n" + rows)
    by_nodes, by_workers = answer(shell, at="nodes=64"), answer(shell, at="gpus=512")
    assert by_nodes["at"] == by_workers["at"] == {"nodes": 64.0, "gpus": 512.0}
    assert by_nodes["throughput"] == pytest.approx(by_workers["throughput"])


def test_rows_that_cannot_be_read_are_left_out_and_counted(shell: Shell) -> None:
    Path("odd.csv").write_text("gpus,seconds\n1,9\n2,5\n4,fast\n8,2\n16,\n")
    status, out, err = shell("ask", "--full", "odd.csv", "--at", "gpus=32", "--work", "64")
    assert status == 0, err
    assert "2 rows left out because they cannot be used; the first: line 4, column 'seconds': 'fast'" in out


def test_more_than_in_proportion_is_doubted(shell: Shell) -> None:
    """Twice the workers, three times the speed: no cluster does that."""
    Path("runs.csv").write_text("gpus,images_per_s\n1,100\n2,290\n4,850\n8,2500\n")
    _, out, _ = shell("ask", "--full", "runs.csv", "--at", "gpus=16")
    assert re.search(r"efficiency is \d+ % .*, which is hardly so: the runs show little of what gpus alone change", out)
    Path("runs.csv").write_text(FOUR)
    assert "hardly so" not in shell("ask", "--full", "runs.csv", "--at", "gpus=16")[1]


def test_the_ways_of_a_layout_tell_its_devices(shell: Shell) -> None:
    """A step of 3/devices s and 0.2 s for each doubling of the tensor ways: 64 devices are four times 16."""
    ways = [(1, 8, 1), (2, 4, 1), (4, 2, 1), (8, 1, 1), (4, 4, 1), (8, 2, 1), (2, 8, 1), (8, 4, 1), (4, 8, 1)]
    rows = "\n".join(f"{d},{t},{p},1,64,{30 / (d * t * p) * (1 + 0.05 * np.log2(t)):.4f}" for d, t, p in ways)
    Path("runs.csv").write_text(f"dp,tp,pp,micro_batch,global_batch,step_s\n{rows}\n")
    status, out, _ = shell("ask", "--full", "runs.csv", "--at", "dp=16", "--at", "tp=4")
    assert status == 0
    assert out.startswith("read as: --time step_s --extrinsic devices,dp,tp,pp")
    # The ways settle the devices: nothing of the machine is left open.
    assert "devices=" not in out.partition("taken at")[2].partition("\n")[0]
    given = ("--extrinsic", "gpus,dp,tp,pp", "--let", "gpus=dp*tp*pp")
    status, out, _ = shell("ask", "--full", "runs.csv", "--at", "dp=16", "--at", "tp=4", *given)
    assert status == 0
    assert out.startswith("read as: --time step_s --extrinsic gpus,dp,tp,pp")


def test_a_quantity_has_one_answer_with_and_without_want(shell: Shell) -> None:
    """Two series of a step and of its memory: the memory has the same model when it is asked for."""
    rows = [(f, n, 0.2 * k + 0.01 * n, 30 + 0.08 * k * n**1.5) for f, k in (("a", 1), ("b", 2)) for n in (1, 2, 4, 8)]
    text = "".join(f"{f},{n},8,{step},{memory}\n" for f, n, step, memory in rows)
    Path("runs.csv").write_text("framework,gpus,batch_per_gpu,step_s,peak_gb\n" + text)
    at = ("runs.csv", "--at", "gpus=64", "--at", "framework=a", "--json")
    both = {answer["quantity"]: answer for answer in json.loads(shell("ask", "--full", *at)[1])["answers"]}
    (alone,) = json.loads(shell("ask", "--full", *at, "--want", "peak_gb")[1])["answers"]
    assert [alone[n] for n in ("verdict", "reason", "at")] == [both["peak_gb"][n] for n in ("verdict", "reason", "at")]
    for name in ("value", "lower", "upper"):
        assert alone[name] == pytest.approx(both["peak_gb"][name], rel=1e-12)


def test_what_follows_from_the_measured_quantity_can_be_wanted(shell: Shell) -> None:
    Path("runs.csv").write_text("gpus,batch,step_s,comm share\n1,64,0.1,0.2\n2,128,0.104,0.3\n4,256,0.109,0.35\n")
    facts = answer(shell, "--price", "2/h")
    wanted = {}
    for name in ("throughput", "efficiency", "speedup", "cost", "images/s", "comm share"):
        (first, *_) = answer(shell, "--price", "2/h", "--want", name)["answers"]
        wanted[name] = first["value"], first["lower"], first["upper"]
    assert wanted["throughput"] == wanted["images/s"]
    assert wanted["throughput"] == tuple(facts[f"throughput{end}"] for end in ("", "_lower", "_upper"))
    assert wanted["efficiency"] == tuple(facts[f"efficiency{end}"] for end in ("", "_lower", "_upper"))
    assert (wanted["speedup"][0], wanted["cost"][0]) == (facts["speedup"], facts["cost_per_million"])
    beside = {value["quantity"]: (value["value"], value["lower"], value["upper"]) for value in facts["answers"]}
    assert wanted["comm share"] == beside["comm share"]
    assert shell("ask", "runs.csv", "--at", "gpus=64", "--want", "mfu")[0] == 1


def test_a_throughput_has_an_interval_and_fits_where_runs_failed(shell: Shell) -> None:
    numbers = answer(shell)
    low, middle, high = (float(str(numbers[f"throughput{end}"])) for end in ("_lower", "", "_upper"))
    assert low < middle < high
    assert low == pytest.approx(64.0 / float(str(numbers["upper"])))
    assert "fits" not in numbers
    Path("runs.csv").write_text("gpus,step_s,status\n1,1.0,ok\n2,1.1,ok\n4,1.2,ok\n32,,OOM\n64,,OOM\n")
    assert "fits" in answer(shell, at="gpus=8")


def test_a_series_whose_runs_all_failed_is_no_other_answer(shell: Shell) -> None:
    rows = "1,a,1.0,ok\n2,a,1.1,ok\n4,a,1.2,ok\n1,b,,OOM\n2,b,,OOM\n4,b,,OOM\n"
    Path("runs.csv").write_text(f"gpus,net,step_s,status\n{rows}")
    assert shell("ask", "--full", "runs.csv", "--at", "gpus=8")[0] == 0
    status, _, errors = shell("ask", "--full", "runs.csv", "--at", "gpus=8", "--at", "net=b")
    assert status == 1
    assert "no run of b ended with a value" in errors


@pytest.mark.parametrize("prefix", ["", "cluster."])
def test_a_micro_batch_beside_a_larger_batch_is_that_of_a_pass(shell: Shell, prefix: str) -> None:
    rows = "1,8,2,128,6120.5\n2,8,2,128,3150.2\n4,8,2,128,1640\n"
    Path("runs.csv").write_text(f"{prefix}nodes,{prefix}gpus_per_node,micro_batch,global_batch,step_ms\n{rows}")
    found = answer(shell, at="nodes=8")
    assert found["verdict"] == "ok"
    assert found["at"]["micro_batch"] == 2.0
    # The points of the picture, and the next run, have that micro-batch too.
    _, out, _ = shell("ask", "runs.csv", "--at", "nodes=8")
    assert "1 to 4 nodes" in out
    assert "measure 8 nodes" in out


def test_a_batch_that_no_worker_had_needs_caution(shell: Shell) -> None:
    # A perfect half each time: the batch of a worker falls from 64 to 16, and 8 was never measured.
    law = "gpus,batch_per_gpu,global_batch,step_s\n1,64,64,0.6402\n2,32,64,0.3201\n4,16,64,0.1601\n"
    Path("runs.csv").write_text(law)
    assert answer(shell, at="gpus=8")["verdict"] != "ok"
    assert "batch_per_gpu=8 is 1 doubling beyond" in str(answer(shell, at="gpus=8")["reason"])


def test_a_machine_ends_somewhere_and_a_cluster_does_not(shell: Shell) -> None:
    # The same times, of threads and of workers: more threads may only wait.
    rows = "\n1,8.01\n2,4.02\n4,2.03\n8,1.04\n"
    widths = []
    for scale in ("threads", "workers"):
        Path("runs.csv").write_text(f"{scale},seconds{rows}")
        numbers = answer(shell, at=f"{scale}=16")
        widths.append(float(str(numbers["upper"])) / float(str(numbers["lower"])))
    assert widths[0] > widths[1]
    # Measured: from four threads on, no more helps.
    Path("runs.csv").write_text("threads,seconds\n1,8.01\n2,4.02\n4,2.03\n8,2.01\n16,2.02\n")
    numbers = answer(shell, at="threads=32")
    assert float(str(numbers["time"])) == pytest.approx(2.0, rel=0.1)


def test_a_text_in_the_place_of_a_count_gets_the_measured_ones(shell: Shell) -> None:
    status, _, errors = shell("ask", "--full", "runs.csv", "--at", "gpus=many")
    assert status == 1
    assert "no run has gpus=many" in errors
    assert "one of 1, 2, 4, 8" in errors


def test_every_network_of_a_wide_table_is_answered(shell: Shell) -> None:
    """What series share is found for the likeliest quantities alone; the others are answered all the same."""
    runs = [(card, k, n) for card, k in (("x", 1.0), ("y", 2.1)) for n in (1, 2, 4)]
    rows = [(card, n, *(k * n**0.95 * size for size in (900, 300, 100, 30))) for card, k, n in runs]
    text = "".join(f"{card},{n},{','.join(f'{v:.1f}' for v in rates)}\n" for card, n, *rates in rows)
    Path("runs.csv").write_text("card,num_gpu,net_a,net_b,net_c,net_d\n" + text)
    status, out, _ = shell("ask", "runs.csv", "--at", "num_gpu=8", "--at", "card=y", "--json")
    assert status == 0
    assert {one["quantity"] for one in json.loads(out)["answers"]} == {"net_a", "net_b", "net_c", "net_d"}


def test_ratios_are_answered_by_their_arithmetic(shell: Shell) -> None:
    Path("ratio.csv").write_text("procs,wall,speedup\n1,80.31,1.00\n2,41.86,1.92\n4,22.67,3.54\n8,13.12,6.12\n")
    time, speedup = json.loads(shell("ask", "ratio.csv", "--at", "procs=16", "--json")[1])["answers"]
    assert speedup["value"] == pytest.approx(80.31 / time["value"], rel=0.01)
    assert speedup["lower"] == pytest.approx(80.31 / time["upper"], rel=0.01)


def test_workers_that_serve_requests_share_a_machine(shell: Shell) -> None:
    widths = {}
    for rate in ("tasks/s", "images/s"):
        Path("served.csv").write_text(f"workers,{rate}\n1,611.2\n2,1221.0\n4,2437.1\n")
        (answer,) = json.loads(shell("ask", "served.csv", "--at", "workers=8", "--json")[1])["answers"]
        widths[rate] = answer["upper"] / answer["lower"], answer["verdict"]
    assert widths["tasks/s"][0] > 1.3 * widths["images/s"][0]
    assert widths["tasks/s"][1] != "ok"


def test_a_count_below_one_is_named(shell: Shell) -> None:
    status, _, errors = shell("ask", "--full", "runs.csv", "--at", "gpus=-3")
    assert (status, "gpus is a count above zero, and not -3" in errors) == (1, True)


def test_a_series_of_memory_has_no_parts_of_a_time(shell: Shell) -> None:
    Path("memory.csv").write_text("ranks,peak_memory_gb\n4,31.2\n8,31.4\n16,31.6\n32,31.9\n")
    _, out, _ = shell("ask", "--full", "memory.csv", "--at", "ranks=64")
    assert "What the peak_memory_gb depends on at ranks=64: doubling ranks makes it x 1" in out
    assert "computation" not in out


def test_a_question_beyond_another_factor_keeps_the_usual_count(shell: Shell) -> None:
    runs = [(n, users) for n in (1, 2) for users in (1, 4, 16, 64)]
    text = "".join(f"{n},{users},{n * 12.0 * users / (10.0 + users):.3f}\n" for n, users in runs)
    Path("served.csv").write_text(f"gpus,users,requests_per_s\n{text}")
    _, out, _ = shell("ask", "--full", "served.csv", "--at", "users=256")
    assert "requests/s at users=256, gpus=" in out
    assert "gpus=4" not in out
    assert "gpus=4" in shell("ask", "--full", "served.csv", "--at", "users=4")[1]


def test_one_ask_decides_the_axis_once_and_predicts_its_point_once(
    shell: Shell, fits_of_the_session: dict[bytes, list[object]]
) -> None:
    """The README's six rows: what an ask runs of genperf, without what is only run when it is imported."""
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
    assert not {"sentences_of", "limit_of", "why", "beside_published"} & {*times}
    functions = [code for code in runs if not code.co_name.startswith("<")]
    assert len(functions) < 650
    assert len({code.co_filename for code in functions}) < 88
    # How often the walk through the rooms comes back from the model to the question.
    assert sum(pair == ("result", "asking") for pair in pairwise(walk)) <= 12


@pytest.mark.parametrize(
    ("column", "beside", "step"),
    [("images_per_s", "", True), ("tokens_per_s", "", False), ("tokens_per_s", "2048", True), ("TFLOP/s", "", False)],
)
def test_a_step_follows_from_the_rate_of_what_a_batch_holds(shell: Shell, column: str, beside: str, step: bool) -> None:
    rows = [(8, 64, 1000), (16, 128, 1950), (32, 256, 3700), (64, 512, 7000)]
    header = ["gpus", "global_batch", column, *(["seq_len"] if beside else [])]
    lines = [[*map(str, row), *([beside] if beside else [])] for row in rows]
    Path("rates.csv").write_text("".join(",".join(line) + "\n" for line in [header, *lines]))
    status, out, _ = shell("ask", "rates.csv", "--at", "gpus=256", "--full")
    assert (status, "a step takes" in out) == (0, step)


def test_peak_shares_beside_operations_are_no_answer_and_no_machine_is_smaller_than_its_ways(shell: Shell) -> None:
    # A step of (B/d + 0.02 log2 d) s on d devices, of networks that grow with them.
    rows = [
        (b, tp, pp, gpus, 100 * b / (b * 20 / gpus + 0.02 * np.log2(gpus)))
        for b, tp, pp, gpus in [(8, 1, 1, 32), (16, 2, 1, 64), (32, 4, 1, 128), (64, 8, 1, 256), (128, 8, 8, 512)]
    ]
    text = "".join(f"{b},{tp},{pp},{n},{rate / n / 5:.1f}%,{rate:.1f}\n" for b, tp, pp, n, rate in rows)
    header = "billion parameters,tensor parallel,pipeline parallel,GPUs,percentage of peak,TFLOPS\n"
    Path("networks.csv").write_text(header + text)
    status, out, _ = shell("ask", "networks.csv", "--at", "GPUs=1024", "--full")
    expected = next(line for line in out.splitlines() if line.startswith("Expect"))
    assert status == 0
    assert re.match(r"Expect [\d,.]+ TFLOP/s at GPUs=1024: [\d.]+ x that of 64 GPUs", expected)


#: Two networks under weak scaling: the larger one was only measured with recomputation.
TWO_NETWORKS = "GPUs,billions,global batch,recompute,samples per s\n" + "".join(
    f"{n},{size},{16 * n},{again},{rate * n / (1 + 0.02 * np.log2(n / 8)):.2f}\n"
    for size, again, rate, counts in ((7, "no", 3.0, (8, 16, 32, 64)), (30, "yes", 0.6, (16, 32, 64)))
    for n in counts
)


def test_what_is_left_open_is_that_of_the_runs_of_a_named_size(shell: Shell) -> None:
    Path("networks.csv").write_text(TWO_NETWORKS)
    status, out, _ = shell("ask", "networks.csv", "--at", "GPUs=256", "--at", "billions=30", "--json")
    answers = json.loads(out)
    assert (status, answers["at"]["recompute"], answers["at"]["global batch"]) == (0, "yes", 4096.0)
    assert answers["throughput_lower"] < 0.6 * 256 / 1.1 < answers["throughput_upper"]


def test_a_batch_that_grew_with_the_workers_is_no_distance_of_its_own(shell: Shell) -> None:
    Path("networks.csv").write_text(TWO_NETWORKS)
    _, out, _ = shell("ask", "networks.csv", "--at", "GPUs=256", "--json")
    answers = json.loads(out)
    assert answers["verdict"] != "extrapolating-blind"
    assert "global batch" not in answers["reason"]


def test_settings_beside_the_ways_of_a_layout_are_compared_with_its_devices(shell: Shell) -> None:
    rows = [(tp, pp, note, round(100 * tp * pp / (1 + 0.1 * tp))) for tp, pp, note in [(1, 1, 3), (2, 2, 5), (4, 4, 9)]]
    text = "".join(f"{tp},{pp},{note},{rate}\n" for tp, pp, note, rate in rows)
    Path("ways.csv").write_text(f"tp,pp,chunks,tokens_per_s\n{text}")
    status, _, errors = shell("ask", "ways.csv", "--at", "tp=8", "--at", "pp=4")
    assert (status, errors) == (0, "")


def test_a_split_that_does_not_divide_the_machine_is_not_taken_for_it(shell: Shell) -> None:
    rows = "8,1,8,100\n128,8,8,1400\n512,8,9,5000\n"
    Path("split.csv").write_text("GPUs,tp,pp,tokens_per_s\n" + rows)
    _, out, _ = shell("ask", "split.csv", "--at", "GPUs=1024", "--json")
    assert json.loads(out)["at"]["pp"] == 8.0


def test_tokens_are_asked_of_their_measured_throughput(shell: Shell) -> None:
    rows = ((8, 1.31, 100000), (16, 1.34, 195000), (32, 1.41, 370000), (64, 1.5, 700000))
    text = "".join(f"{n},{8 * n},{step},{rate}\n" for n, step, rate in rows)
    Path("tokens.csv").write_text("gpus,global_batch,step_s,tokens_per_s\n" + text)
    _, out, _ = shell("ask", "tokens.csv", "--at", "gpus=256", "--tokens", "1T", "--json")
    answers = json.loads(out)
    assert answers["days"] == pytest.approx(1e12 / answers["throughput"] / 86400.0, rel=1e-6)


#: A column of names and one of counts that begin with the same word, and a time that is of no step.
TRAINED = (
    "| System | # Accelerators | Accelerator | Time to train (min) |\n|---|---:|---|---:|\n"
    "| a | 8 | H100 | 64 |\n| b | 16 | H100 | 33 |\n| c | 32 | H100 | 17.5 |\n| d | 64 | H100 | 9.4 |\n"
    "| e | 8 | A100 | 130 |\n| f | 16 | A100 | 68 |\n| g | 32 | A100 | 36 |\n"
)


def test_a_count_is_none_of_a_column_of_names(shell: Shell) -> None:
    Path("runs.md").write_text(TRAINED)
    status, out, errors = shell("runs.md", "--at", "accelerators=128", "--at", "accelerator=H100", "--no-color")
    assert (status, errors) == (0, "")
    assert "128 Accelerators" in out
    assert re.search(r"^Time to train +[\d.]+ min", out, re.MULTILINE)


def test_two_values_of_one_column_are_refused(shell: Shell) -> None:
    Path("runs.md").write_text(TRAINED)
    status, out, errors = shell("runs.md", "--at", "accelerators=128", "--at", "# Accelerators=64")
    assert (status, out) == (1, "")
    assert "'# Accelerators=64' and '# Accelerators=128' name the same column" in errors


@pytest.mark.parametrize("throughput", [False, True])
@pytest.mark.parametrize("header", ["Batch size", "Batchgröße"])
def test_a_batch_that_grew_with_the_workers_is_that_of_all(shell: Shell, header: str, throughput: bool) -> None:
    rows = [(1, 64, 0.2), (2, 128, 0.208), (4, 256, 0.219), (8, 512, 0.231)]
    more = ",Throughput (images/s)" if throughput else ""
    lines = [f"{n},{batch},{t}" + (f",{batch / t:.1f}" if throughput else "") for n, batch, t in rows]
    Path("runs.csv").write_text(f"gpus,{header},Step time (s){more}\n" + "\n".join(lines) + "\n")
    facts = gp.ask("runs.csv", gpus=32).facts
    assert facts.at[header] == 2048
    assert facts.growth.target.rate == pytest.approx(2048 / facts.expected.value.value)


def test_a_batch_of_all_is_known_by_the_throughput_of_all(shell: Shell) -> None:
    grid = [(n, b, 0.01 + b * 0.003 / n) for n in (1, 2, 4, 8) for b in (64, 128)]
    rows = "\n".join(f"{n},{b},{1000 * t:.2f},{b / t:.1f}" for n, b, t in grid)
    Path("runs.csv").write_text(f"gpus,batch_size,step_ms,images_per_sec\n{rows}\n")
    answered = gp.ask("runs.csv", gpus=32, at={"batch_size": 128})
    time = answered.facts.expected.value.value
    assert answered.facts.growth.target.rate == pytest.approx(128 / time)


def test_tokens_per_second_of_a_layout_stay_tokens(shell: Shell) -> None:
    rows = "\n".join(f"{n},1,{n},4,{32 * n},4096,{rate}" for n, rate in ((8, 98500), (16, 193000), (32, 374000)))
    Path("runs.csv").write_text(f"world_size,tp,dp,mbs,gbs,seq,tokens_per_second\n{rows}\n")
    status, out, _ = shell("runs.csv", "--at", "gpus=128", "--tokens", "1T", "--price", "2/h", "--no-color")
    assert status == 0
    assert re.search(r"^throughput +1\.\d+ M tokens/s", out, re.MULTILINE)
    assert re.search(r"^days +\d+\.?\d* d ", out, re.MULTILINE)


def test_a_price_is_no_throughput(shell: Shell) -> None:
    Path("runs.csv").write_text(
        "instance,gpus,$/hour,images/sec\np3.2xlarge,1,3.06,360\np3.8xlarge,4,12.24,1390\n"
        "p3.16xlarge,8,24.48,2650\n2x p3.16xlarge,16,48.96,5050\n4x p3.16xlarge,32,97.92,9600\n"
    )
    answered = gp.ask("runs.csv", gpus=128)
    assert (answered.answers[0].unit, answered.facts.growth.name) == ("images/s", "gpus")


SHARDED = (
    "gpus,zero_stage,micro_batch,step_s,status\n8,1,1,1.91,ok\n8,1,2,3.55,ok\n8,1,4,,OOM\n8,2,1,1.95,ok\n8,2,2,3.6,ok\n"
    "8,2,4,,OOM\n8,3,1,2.3,ok\n8,3,2,3.9,ok\n8,3,4,7.1,ok\n16,1,1,1.97,ok\n16,2,1,2.01,ok\n16,3,1,2.41,ok\n16,3,4,7.2,ok\n"
)


def test_a_run_that_failed_is_said_to_fail_though_a_higher_stage_of_sharding_ran(shell: Shell) -> None:
    Path("runs.csv").write_text(SHARDED)
    _, out, _ = shell("runs.csv", "--at", "zero_stage=1", "--at", "micro_batch=4", "--at", "gpus=8", "--no-color")
    assert "✗ such a run most likely fails" in out
    assert "✓ ok" not in out
    _, out, _ = shell("runs.csv", "--at", "zero_stage=3", "--at", "micro_batch=4", "--at", "gpus=32", "--no-color")
    assert "fails" not in out


def test_a_batch_that_no_run_had_is_a_factor_and_no_name_of_a_series(shell: Shell) -> None:
    Path("runs.csv").write_text(SHARDED)
    status, out, _ = shell("runs.csv", "--at", "micro_batch=8", "--no-color")
    assert status == 0
    assert "✗ such a run most likely fails" in out


def test_rows_that_leave_one_count_are_named(shell: Shell) -> None:
    Path("runs.csv").write_text("gpus,step_s\n1,1.0\n2,0,55\n4,abc\n")
    status, _, errors = shell("runs.csv", "--at", "gpus=16")
    assert status == 1
    assert "only gpus=1 can be used: 2 rows left out (line 3: 3 fields where the header has 2)" in errors


def test_a_share_keeps_its_sign(shell: Shell) -> None:
    Path("runs.csv").write_text(
        "nodes,GPUs,TPS/GPU,Total TPS,MFU\n1,12,6457,77490,24.2%\n2,24,5529,132708,20.8%\n4,48,4937,236991,18.6%\n"
    )
    answers = {one.quantity: one for one in gp.ask("runs.csv", nodes=16).answers}
    assert answers["MFU"].unit == "%"
    assert answers["MFU"].lower < 17 < answers["MFU"].upper


def test_the_sum_of_the_phases_of_a_step_is_answered_first(shell: Shell) -> None:
    Path("runs.csv").write_text(
        "ranks,forward,backward,allreduce,all\n4,12.1,24.2,2.1,38.4\n8,6.1,12.2,3.2,21.5\n16,3.1,6.2,4.3,13.6\n"
    )
    answers = gp.ask("runs.csv", ranks=32).answers
    assert (answers[0].quantity, answers[0].unit) == ("all", "s")
    assert {one.quantity for one in answers} == {"all", "forward", "backward", "allreduce"}


def test_millions_leave_room_between_the_columns_of_the_card(shell: Shell) -> None:
    Path("runs.csv").write_text("gpus,qps\n8,1365333\n16,2035279\n32,3378020\n64,5930859\n")
    _, out, _ = shell("runs.csv", "--at", "gpus=256", "--no-color")
    (line,) = (line for line in out.splitlines() if line.startswith("throughput"))
    assert re.fullmatch(r"throughput +[\d.]+ M requests/s +[\d.]+ – [\d.]+ M +5.93 M", line)


def test_a_series_is_compared_with_published_ones_at_the_size_that_was_asked(shell: Shell) -> None:
    rows = ["22B,1,8,1,1.42", "22B,2,8,1,1.45", "175B,1,8,8,18.1", "175B,2,8,8,18.4", "175B,4,8,8,18.9"]
    Path("runs.csv").write_text("model,dp,tp,pp,iteration_time_s\n" + "\n".join(rows) + "\n")
    _, out, _ = shell("runs.csv", "--at", "model=175B", "--at", "dp=16", "--full")
    assert "From 8 to 32 nodes each doubling keeps 98 %" in out
    assert "at model=175B" in out


def test_every_command_reads_a_column_as_its_question_does(shell: Shell) -> None:
    rows = ["a,1,412,512", "a,2,431,1024", "a,4,447,2048", "b,1,205,512", "b,2,219,1024", "b,4,228,2048"]
    Path("runs.csv").write_text("instance,count,step_ms,batch\n" + "\n".join(rows) + "\n")
    asked = gp.ask("runs.csv", instance="b", count=8).answers[0].value / 1000.0
    for command in (("compare", "--over", "instance"), ("predict", "--at", "instance=b")):
        status, out, errors = shell(*command[:1], "runs.csv", "--at", "count=8", *command[1:], "--json")
        assert status == 0, errors
        content = json.loads(out)
        of_b = [row for row in content.get("ranking", content.get("predictions")) if row["instance"] == "b"]
        assert [row["time"] for row in of_b] == pytest.approx([asked])


def test_an_efficiency_in_percent_gives_the_speed_up_of_one_as_a_share(shell: Shell) -> None:
    for text in ("1;100%\n2;97%\n4;93%\n8;88%\n", "1;1.00\n2;0.97\n4;0.93\n8;0.88\n"):
        Path("runs.csv").write_text(f"nodes;efficiency\n{text}")
        (one,) = gp.ask("runs.csv", nodes=16).answers
        assert (one.value / 100.0 if one.unit == "%" else one.value) == pytest.approx(0.82, abs=0.03)
        _, out, _ = shell("runs.csv", "--at", "nodes=16")
        assert re.search(r"^efficiency +8\d %", out, re.MULTILINE)
        assert not re.search(r"^throughput", out, re.MULTILINE)
        _, out, _ = shell("runs.csv", "--at", "nodes=16", "--full")
        assert re.search(r"Expect 1[34](\.\d)? x at nodes=16", out)


def test_flops_of_a_gpu_are_those_of_all_gpus_of_the_nodes(shell: Shell) -> None:
    Path("runs.csv").write_text("nodes,gpus_per_node,tflops_per_gpu\n2,8,118.4\n4,8,116\n8,8,112.7\n12,8,110.9\n")
    _, out, _ = shell("runs.csv", "--at", "nodes=64")
    assert re.search(r"^throughput +5\d,\d00 TFLOP/s .* 10,600$", out, re.MULTILINE)


def test_a_column_that_follows_does_so_within_the_kind_that_was_asked(shell: Shell) -> None:
    rows = ["S,8,51.2,121", "S,16,100.1,118", "S,32,195.4,115", "M,8,10.6,129", "M,16,20.9,127", "M,32,40.6,123"]
    Path("runs.csv").write_text("\n".join(("Config,GPUs,Seq/s,TFLOPS/GPU", *rows)) + "\n")
    answers = {one.quantity: one.value for one in gp.ask("runs.csv", config="M", gpus=64).answers}
    assert answers["TFLOPS/GPU"] == pytest.approx(129 / 10.6 * 8 * answers["Seq/s"] / 64, rel=0.02)


def test_the_time_of_a_step_by_a_letter_comes_before_its_phases(shell: Shell) -> None:
    rows = ["1,0.101,0.203,0.000,0.310", "2,0.101,0.204,0.021,0.331", "4,0.102,0.204,0.034,0.346"]
    Path("runs.csv").write_text("\n".join(("nproc,t_fwd,t_bwd,t_comm,t_step", *rows)) + "\n")
    assert gp.ask("runs.csv", nproc=16).answers[0].quantity == "t_step"


def test_a_wanted_share_is_that_of_the_answer_to_all(shell: Shell) -> None:
    Path("runs.csv").write_text("gpus,tokens/s/gpu,mfu\n8,3120,0.440\n16,3040,0.429\n32,2950,0.416\n64,2750,0.388\n")
    (alone,) = gp.ask("runs.csv", gpus=128, want="mfu").answers
    beside = {one.quantity: one for one in gp.ask("runs.csv", gpus=128).answers}["mfu"]
    assert alone.ends == beside.ends


def test_tokens_in_time_are_a_plan_where_tokens_were_measured(shell: Shell) -> None:
    Path("runs.csv").write_text("gpus,tokens/s\n8,25000\n16,48600\n32,94400\n64,182000\n")
    question = ("runs.csv", "--at", "gpus=256", "--price", "2/h", "--deadline", "30d", "--full")
    _, of_tokens, _ = shell(*question, "--tokens", "1T")
    _, of_samples, _ = shell(*question, "--samples", "1T")
    (takes,) = (line for line in of_samples.splitlines() if line.startswith("1 trillion tokens take"))
    assert takes in of_tokens.splitlines()
    Path("runs.csv").write_text("gpus,images/s\n8,250\n16,486\n32,944\n")
    status, _, errors = shell(*question, "--tokens", "1T")
    assert (status, "--samples 1.2B" in errors) == (1, True)


#: A column of names that hold settings → a question, and what was measured at a quarter of its count.
NAMED_SETTINGS = {
    "a count with its word": ("config,step_s\n8 GPUs,0.41\n16 GPUs,0.43\n32 GPUs,0.45\n", {"gpus": 128}),
    "one and several": ("config,step_s\n1 GPU,0.41\n2 GPUs,0.43\n4 GPUs,0.45\n", {"gpus": 8}),
    "a batch behind it": (
        'run,step time\n"8 GPUs, bs 256",0.41 s\n"16 GPUs, bs 512",0.43 s\n"32 GPUs, bs 1024",0.45 s\n',
        {"gpus": 128},
    ),
    "nodes and devices": (
        "setup;step time (s)\n1 node (8xA100);0.41\n2 nodes (16xA100);0.43\n4 nodes (32xA100);0.45\n",
        {"nodes": 8},
    ),
    "ways of a layout": (
        "experiment,step_s\ngpt_1.3b_tp2_pp1_dp4,0.41\ngpt_1.3b_tp2_pp1_dp8,0.43\ngpt_1.3b_tp2_pp1_dp16,0.45\n",
        {"dp": 32},
    ),
    "a kind among others": (
        "test,step_s\nddp-4gpu-bs32,0.2\nddp-8gpu-bs32,0.21\nfsdp-4gpu-bs32,0.41\nfsdp-8gpu-bs32,0.43\n",
        {"test": "fsdp", "gpus": 16},
    ),
    "a name that counts itself": (
        "instances,step_s\np4d.24xlarge x 1,0.41\np4d.24xlarge x 2,0.43\np4d.24xlarge x 4,0.45\n",
        {"instances": 8},
    ),
    "minutes and seconds": ("ranks,time (min:sec)\n8,41:10\n16,41:32\n32,41:41\n", {"ranks": 64}),
}


@pytest.mark.parametrize("case", NAMED_SETTINGS)
def test_settings_in_names_are_asked_as_columns(shell: Shell, case: str) -> None:
    text, at = NAMED_SETTINGS[case]
    Path("runs.csv").write_text(text)
    value = gp.ask("runs.csv", at=at).answers[0].value
    assert value == pytest.approx(2515.0 if "min:sec" in text else 0.46, rel=0.1)


def test_a_word_of_a_name_chooses_its_kind(shell: Shell) -> None:
    rows = [
        f'"{net}, {n} GPUs, batch 64",{n * rate}' for net, rate in (("R50", 350), ("VGG", 150)) for n in (8, 16, 32)
    ]
    Path("runs.csv").write_text("\n".join(("run,imgs/s", *rows)) + "\n")
    assert gp.ask("runs.csv", gpus=64, model="VGG").answers[0].value == pytest.approx(64 * 150, rel=0.1)


def test_devices_of_a_node_are_known_by_a_slash(shell: Shell) -> None:
    Path("runs.csv").write_text("Nodes,GPUs/node,s/iter\n1,8,0.60\n2,8,0.62\n4,8,0.65\n")
    assert gp.ask("runs.csv", gpus=64).answers[0].ends == gp.ask("runs.csv", nodes=8).answers[0].ends


def test_a_name_that_no_run_has_is_refused_with_those_there_are(shell: Shell) -> None:
    Path("runs.csv").write_text("cloud,gpus,s\nnode a x1,8,0.41\nnode a x2,16,0.43\nnode a x4,32,0.45\n")
    status, _, errors = shell("runs.csv", "--at", "cloud=zeta")
    assert status == 1
    assert "zeta" in errors


CAPTIONED = {
    "html": "<table><caption>Time per epoch (min)</caption><tr><th>GPUs</th><th>R50</th></tr>"
    "<tr><td>1</td><td>62.1</td></tr><tr><td>2</td><td>32.0</td></tr><tr><td>4</td><td>16.9</td></tr></table>",
    "md": "Time per epoch (min)\n\n| GPUs | R50 |\n|---|---|\n| 1 | 62.1 |\n| 2 | 32.0 |\n| 4 | 16.9 |\n",
}


@pytest.mark.parametrize("kind", CAPTIONED)
def test_a_caption_has_the_unit_of_columns_that_say_nothing(shell: Shell, kind: str) -> None:
    Path(f"runs.{kind}").write_text(CAPTIONED[kind])
    (one,) = gp.ask(f"runs.{kind}", gpus=8).answers
    assert (one.unit, one.value) == ("min", pytest.approx(9.5, rel=0.05))


def test_what_was_done_so_far_at_even_times_is_a_rate(shell: Shell) -> None:
    Path("runs").mkdir()
    for gpus, rate in ((1, 310), (2, 595), (4, 1141), (8, 2189)):
        lines = "\n".join(f"{10 * k},{10 * k * rate}" for k in range(1, 12))
        Path(f"runs/progress_{gpus}gpus.csv").write_text(f"time,samples\n{lines}\n")
    (one,) = gp.ask("runs", gpus=16).answers
    assert (one.unit, one.value) == ("samples/s", pytest.approx(4150, rel=0.1))


def test_a_speed_up_that_follows_from_the_times_says_that_the_work_is_shared(shell: Shell) -> None:
    Path("runs.csv").write_text(
        "workers,time_s,speedup\n1,0.3734,1.0\n2,0.4221,0.8846\n4,0.3579,1.0433\n8,0.3485,1.0714\n"
    )
    _, out, _ = shell("runs.csv", "--at", "workers=16")
    assert re.search(r"^efficiency +\d %", out, re.MULTILINE)
    _, out, _ = shell("runs.csv", "--at", "workers=16", "--full")
    assert "'speedup' is a constant / 'time_s', so all are taken to share one amount of work" in out


def test_an_efficiency_in_percent_stands_once(shell: Shell) -> None:
    Path("runs.csv").write_text("ranks,wall_time,efficiency\n1,23.683,100.0\n2,13.206,89.6676\n4,8.725,67.8596\n")
    _, out, _ = shell("runs.csv", "--at", "ranks=8")
    assert len(re.findall(r"^efficiency", out, re.MULTILINE)) == 1


def test_the_least_beside_the_average_is_no_time_in_minutes(shell: Shell) -> None:
    Path("runs.csv").write_text(
        "procs,Total_Min,Total_Avg\n1,0.000901,0.000912\n2,0.000513,0.000522\n4,0.000324,0.000345\n"
    )
    answers = {one.quantity: one for one in gp.ask("runs.csv", procs=8).answers}
    assert list(answers) == ["Total_Avg", "Total_Min"]
    assert answers["Total_Min"].unit == ""


def test_the_time_of_the_whole_comes_before_its_parts(shell: Shell) -> None:
    Path("runs.csv").write_text(
        "nranks,kernel_ms,comm_ms,wall_ms\n1,1.75,0.41,21.7\n2,1.86,1.64,23.4\n4,1.49,2.96,23.8\n"
    )
    assert gp.ask("runs.csv", nranks=8).answers[0].quantity == "wall_ms"


def test_a_size_is_asked_of_the_runs_that_change_it(shell: Shell) -> None:
    of_m = [f"m_sweep,{m},64,{s}" for m, s in ((5000, 0.197), (10000, 0.318), (40000, 0.83))]
    of_n = [f"n_sweep,40000,{n},{s}" for n, s in ((16, 0.16), (32, 0.459), (64, 0.807), (128, 1.29))]
    Path("runs.csv").write_text("\n".join(("sweep,m,n,seconds", *of_m, *of_n)) + "\n")
    _, out, _ = shell("runs.csv", "--at", "m=80000")
    assert "sweep=m_sweep" in out
    assert "m=80000" in out
    assert "workers" not in out


def test_a_column_of_a_library_is_asked_by_what_it_counts(shell: Shell) -> None:
    Path("runs.csv").write_text("MPI,Time(s)\n1,2.463\n2,1.278\n4,0.988\n8,0.671\n")
    assert gp.ask("runs.csv", processes=16).answers[0].value == gp.ask("runs.csv", MPI=16).answers[0].value
