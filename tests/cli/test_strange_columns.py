"""Columns beside a count and a measurement: each is read for what it says, and the answer is about the count."""

from pathlib import Path

import pytest
from helpers import Shell, assert_says, csv_of, done, told

COUNTS = (1, 2, 4, 8)
#: Runs of two codecs, and how long a message takes to handle.
HANDLERS = csv_of(
    "codec,handle_ms,messages_per_sec",
    ((codec, ms, rate / ms) for codec, rate in (("a", 320.0), ("b", 9100.0)) for ms in (0.5, 1, 2, 5)),
)


def _under(title: str, unit: str, rate: float) -> str:
    """Return a title above a drawn table of a rate at several counts, which a fence holds."""
    rows = "\n".join(f"{n} | {rate * n**0.95:.4g}" for n in (8, 16, 32))
    return f"## {title}\n```\nGPUs | {unit}\n-----|-----\n{rows}\n```\n"


#: A table and its question → what an answer says, and what it never says.
COLUMNS: dict[str, tuple[str, tuple[str, ...], tuple[str, ...], tuple[str, ...]]] = {
    # The table says it in words.
    "weak": (
        csv_of("kind,procs,wall_s", (("weak", n, t) for n, t in zip(COUNTS, (48, 31, 27, 24), strict=True))),
        ("procs=16",), ("'kind' is weak, so all are taken to keep their work",), ("share one amount of work",),
    ),
    # What is counted stands among words for a run; the rate of one device and its nodes are no total.
    "phrases": (
        csv_of("Compute nodes in training job,GPUs used in the run,tok/s/GPU", ((n, 8 * n, 900 - n) for n in COUNTS)),
        ("nodes=16",), ("that of 8 GPUs", "at Compute nodes in training job=16, GPUs used in the run=128"), (),
    ),
    "nodes alone": (
        csv_of("nodes,tok/s/GPU,step_s", ((n, 900 - n, 1.2 + n / 50) for n in COUNTS)), ("nodes=16",),
        ("--time step_s", "Expect a step", "tok/s/GPU is not answered"), (),
    ),
    "millions": (
        csv_of("FOM (M-cell-steps/sec),nodes", ((10.5 * n, n) for n in COUNTS)), ("nodes=16",), ("M steps/s",), (),
    ),
    # What is to be done grows with the executors.
    "size": (
        csv_of("executors,rows,wall_s", ((n, 500_000 * n, 50 + 4 * n) for n in COUNTS)), ("executors=16",),
        ("'rows' grows in proportion to executors", "The efficiency is"), (),
    ),
    # So does the data set of a job, which has a name of the field.
    "data set": (
        csv_of("ranks,samples,times", ((n, 64 * n, 2.4 + 0.1 * n**0.3) for n in (6, 12, 24, 48, 96, 192))),
        ("ranks=1020",),
        ("left out: samples", "'samples' grows in proportion to ranks", "The efficiency is 8"), ("samples=12288",),
    ),
    # The operations of a device beside its memory are its speed.
    "operations": (
        csv_of("gpus,TFLOPs,peak memory (MB)", ((n, 200 * n**-0.02, 30_000 + 80_000 / n) for n in (8, 16, 32))),
        ("gpus=64",), ("TFLOP/s at gpus=64", "The efficiency is 9", "peak memory (MB): 3"), ("Expect a peak memory",),
    ),
    # The header of a count before a device names the values, and is asked for as the count.
    "header": (
        csv_of("model,1 x Pi,2 x Pi,4 x Pi", (("a", *(f"{t} ms" for t in (1312, 794, 494))),)),
        ("Pi=8 x",), ("at devices=8",), (),
    ),
    # What is paid is no scale, where names hold the devices.
    "cost": (
        csv_of("GPUs,QPS,Cost/Month", ((f"{n}x T4", q, f"${600 * n}") for n, q in ((1, 1200), (2, 2200), (4, 4000)))),
        ("GPUs=8",), ("--extrinsic devices", "at devices=8"), ("Cost/Month=",),
    ),
    # A column of the same count in other words.
    "alias": (
        csv_of(
            "net,config,gpus,tok_s",
            [
                *((net, f"{n}xGPU", n, r * n**0.6) for net, r in (("a", 900), ("b", 200)) for n in (1, 2, 4)),
                ("c", "CPU only", 0, 90),
            ],
        ),
        ("gpus=8", "net=a"),
        ("left out: config", "1 row left out of no gpus"), ("config=",),
    ),
    # Grids of nodes by devices, and one of one node.
    "grid": (
        csv_of("Hardware,minutes", (("8xH100", 24), ("2x8xH100", 12.5), ("4x8xH100", 6.9))),
        ("nodes=8",), ("as fast as on 8 devices", "at nodes=8, devices=64"), (),
    ),
    # A number before a kind of device, and a count in a heading and in a column.
    "glued": (
        csv_of("run,tok_s", ((f"llama3_8b_{n}h100", 900 * n**0.9) for n in (8, 16, 32))),
        ("devices=64",), ("--extrinsic devices", "at devices=64"), (),
    ),
    "twice": (
        "".join(f"### GPUs: {n}\n| bits | gpus | tok/s |\n|-|-|-|\n| 16 | {n} x A100 | {40 * n} |\n" for n in COUNTS),
        ("gpus=16",), ("--extrinsic devices", "at devices=16"), ("workers=bits",),
    ),
    # Nanoseconds of a clock.
    "nanoseconds": (
        csv_of("threads,time", ((n, round(45e9 / n**0.1)) for n in (1, 2, 3, 4))),
        ("threads=8",), ("--unit ns", " billion ns at threads=8"), (" billion s",),
    ),
    # What stands before the unit in a header, days, and a mark behind a number.
    "thousands": (
        csv_of("gpus,Rate (×10³ rows/s)", ((n, 3.1 * n**0.95) for n in COUNTS)), ("gpus=16",),
        (" k rows/s at gpus=16",), (),
    ),
    "days": (
        csv_of("gpus,Pretraining time (days)", ((n, 90 / n + 1) for n in COUNTS)), ("gpus=16",),
        ("--unit d", " d at gpus=16"), (" s at gpus",),
    ),
    "pairs": (
        csv_of("PS : Worker,img/s", ((f"1 : {n}", 22 * n**0.9) for n in COUNTS)), ("PS : Worker=1 : 16",),
        ("--extrinsic PS,Worker", "At PS=1, Worker=16, "), (),
    ),
    # A share of each device, and a time over another, are answered as they are.
    "share": (
        csv_of("gpus,MFU (%)", ((n, 52 - 0.01 * n) for n in (8, 16, 32, 64))), ("gpus=128",),
        ("Expect MFU (%) of 5", " % at gpus=128.", " %."), (" x at gpus", " x, unless"),
    ),
    "relative time": (
        csv_of("nodes,Relative runtime", ((n, 0.95 / n + 0.05) for n in COUNTS)), ("nodes=16",),
        ("Expect Relative runtime of 0.1", " x at nodes=16."), (" s at nodes", " s, unless"),
    ),
    # The same devices on every count of nodes are those of one, and the samples of all are so many of a device.
    "of one": (csv_of("nodes,gpus,s", ((n, 8, 9 / n) for n in COUNTS)), ("nodes=9",), ("devices_per_node=gpus",), ()),
    "of all": (
        csv_of("net,gpus,batch,img/s", (("a", n, b, 9 * n * b**0.1) for n in COUNTS for b in (16, 32))),
        ("gpus=16", "global_batch=256"), ("at batch=16, gpus=16",), (),
    ),
    # A batch of which every run failed.
    "failed": (
        csv_of("k,p,batch,s", ((f, n, b, "OOM" if b > 4 else b / n) for f in "ab" for n in COUNTS for b in (2, 4, 8))),
        ("batch=8", "p=16"), ("most likely fails",), (),
    ),
    # Ways of the samples that tensor and pipeline ways do not divide.
    "ways": (
        csv_of("nodes,tp,pp,dp,mbs,gbs,iter_s", ((2 * n, 8, 2, n, 1, 64 * n, 7 + n / 20) for n in COUNTS)),
        ("nodes=32",),
        ("x that of 16 devices", "Growing from 128 to 256 devices"), ("Nothing smaller",),
    ),
    # A path before a rate; the batches of a second are those of all.
    "path": (
        csv_of(
            "gpus,throughput/batches_per_sec,throughput/samples_per_sec,throughput/device/samples_per_sec",
            ((n, 2 - 0.01 * n, 16 * n * (2 - 0.01 * n), 16 * (2 - 0.01 * n)) for n in COUNTS),
        ),
        ("gpus=16",), ("Expect 4", " samples/s at gpus=16", " batches/s ("), ("does not pay",),
    ),
    # A time by what is chosen: no workers, no step, and no other unit than its own.
    "unit": (
        HANDLERS, ("handle_ms=10", "codec=a"),
        ("Expect messages_per_sec of 3", "at handle_ms=10, codec=a."), ("efficiency", "handle m.", "1 handle"),
    ),
    "own unit": (
        csv_of("db,clients,avg_ms", ((f, n, s * (600 + 9 * n)) for f, s in (("x", 1), ("y", 2)) for n in (1, 10, 50))),
        ("clients=100", "db=y"), ("ms at clients=100, db=y.", "narrows from", " ms, unless"), (" s, unless",),
    ),
    "noun": (
        csv_of("n_envs,fps", ((n, 45 * n**0.9) for n in (256, 512, 1024))),
        ("n_envs=4096",), ("256 envs",), ("n envs",),
    ),
    # A rank of matrices is none of a process.
    "rank": (
        csv_of("net,GPUs,samples/s", ((f"rank = {r} & bs = 2", n, 1.2 * n**0.95) for r in (16, 32) for n in (1, 2, 4))),
        ("gpus=8", "rank=16"), ("--intrinsic rank", " samples/s at rank=16, GPUs=8"), (),
    ),
    # Settings behind counts in a name, those of each device, and the nodes of a machine in brackets.
    "each": (
        csv_of("set-up,s", (("1 GPU & batch=32", 100), *((f"{n} GPUs & batch=32 each", 105 / n) for n in (2, 4)))),
        ("gpus=8",), ("--extrinsic GPUs --intrinsic batch", " at GPUs=8"), ("kind",),
    ),
    "machine": (
        csv_of(
            "Configuration,min",
            (("1x A100 (single node)", 42), *((f"{n}x A100 ({n // 4} nodes)", 45 / n) for n in (8, 16, 32))),
        ),
        ("gpus=64",), ("--extrinsic nodes,devices", "at devices=64"), (),
    ),
    "itself": (
        csv_of("GPUs,s", (("1 GPU", 74.4), *((f"{n} GPUs", 76 / n) for n in (2, 4)))),
        ("gpus=8",), ("--extrinsic GPUs", " at GPUs=8"), ("GPUs GPUs",),
    ),
    # Beside a size that runs of other kernels alone have stand those that they have.
    "beside": (
        csv_of(
            "op,hidden,layers,ms",
            ((k, f"~{n}k", d, n * d) for k in "abc" for n, d in ((1, 2), (2, 3), (4, 3), (8, 40))[: 4 - (k == "c")]),
        ),
        ("op=c", "hidden=~8k"), ("sign before the number removed from 'hidden'", "Expect ms of 3"), (),
    ),
    "two scripts": (
        csv_of("TP规模,MLP时间", ((f"p={n}", f"{100 / n**0.95} ms") for n in COUNTS)), ("tp=16",), ("ms at p=16",), (),
    ),
    "speed-ups": (
        csv_of("way,2 Workers,4 Workers,8 Workers", (("a", "1.6x", "2.4x", "2.8x"), ("b", "1.7x", "2.6x", "3.1x"))),
        ("workers=16", "way=a"), (" x at Workers=16",), ("samples/s",),
    ),
    "a second": (
        csv_of("workers,speed", ((n, f"{4 * n**0.95:.3g}K/s" if n < 8 else "0.029M/s") for n in COUNTS)),
        ("workers=16",), (" samples/s at workers=16",), ("rate/s", "left out because"),
    ),
    # Phases without their step: it is their sum.
    # No number varies: a kind is answered as it was measured, and the most of a rate is the best.
    "kinds": (
        csv_of("net,set-up,img/s,mem", (("a", f"{k} or {k}", n, 9) for k, n in (("x", 100), ("y", 210), ("z", 150)))),
        ("set-up=y or y",), ("--quantity img/s --categorical set-up", "Expect img/s of 2"), ("devices", "efficiency"),
    ),
    "one size": (
        csv_of("way,batch,img/s", (("a", 8, 99), ("a", 16, 180), ("b", 4, 30), ("c", 8, 90), ("c", 16, 150))),
        ("way=b",), ("Expect img/s of 3", "at way=b."), ("batch=32",),
    ),
    "phases": (
        csv_of("nodes,forward (s),backward (s),backward wait (s),reduce (s)", ((n, 0.1, 2, 1, n / 9) for n in COUNTS)),
        ("nodes=16",), ("--time step_s", "Expect a step of 3."), (),
    ),
    # Machines below a name of devices tell nothing of how many devices these have.
    "machines": (
        csv_of("gpus,img/s", ((f"{n} DGX", 2800 * n**0.98) for n in COUNTS[:3])),
        ("gpus=64", "devices_per_node=8"), ("Expect 21,", "at DGX=8"), ("DGX=64",),
    ),
    # What was measured below bare counts, in whole numbers; a size with a unit is none, and the amount of a message.
    "values": (
        csv_of("net,size,1,2,4", ((k, f"{s} MB", t, t // 2, t // 4) for k, s, t in (("a", 8, 440), ("b", 64, 960)))),
        ("gpus=8",), ("--quantity value --extrinsic count", "Expect a value of"), ("Expect a size",),
    ),
    # Of columns without names that of the smallest numbers counts.
    "no names": (
        "".join(f"{size},{n},{size / n**0.9:.4g}\n" for size in (512, 1024) for n in COUNTS),
        ("processes=16",), ("--extrinsic column2", "at column2=16"), ("column1=16",),
    ),
    "letter": (
        csv_of("size,w1,w2,w4", ((s, s / 9, s / 17, s / 30) for s in (500, 900))),
        ("workers=8", "size=900"), ("at size=900, w=8",), (),
    ),
    "threads": (csv_of("T,time", ((n, 9 / n**0.9) for n in COUNTS)), ("threads=16",), ("at T=16",), ()),
    # A process of each device: these are counted.
    "process": (
        csv_of("mpi_ranks,gpus,s", ((n, n, 48 / n + 1) for n in COUNTS)),
        ("gpus=16",), ("--extrinsic gpus", " at gpus=16"), ("share one machine",),
    ),
    # The title of a table is named.
    "title": (
        "".join((_under("ResNet-50", "Images/sec", 1500), _under("BERT, 512 tokens", "Samples/sec", 11))),
        ("gpus=64", "model=bert"), (" samples/s at GPUs=64",), ("images", "found nowhere"),
    ),
}  # fmt: skip


@pytest.mark.parametrize("case", COLUMNS)
def test_a_column_says_what_it_is(shell: Shell, case: str) -> None:
    table, at, says, never = COLUMNS[case]
    output = told(shell, table, "--full", *(word for value in at for word in ("--at", value)))
    assert [text for text in says if text not in output] == [], output
    assert [text for text in never if text in output] == [], output


def test_a_wanted_number_is_what_was_measured(shell: Shell) -> None:
    table = csv_of("gpus,floor_tok_s,streams", ((n, 20, 320 * n) for n in COUNTS))
    output = told(shell, table, "--full", "--want", "streams", "--at", "gpus=16")
    assert_says(
        output, ["read as: --quantity streams", "Expect a streams of 4,|Expect a streams of 5,", "!may name the runs"]
    )


#: Runs of 1 to 3 processes of 1 or 2 threads each.
HYBRID = csv_of(
    "procs_of_run,per_proc,workers,wall_s",
    ((p, t, p * t, 20 / (p * t) + 0.4 * p + 0.3 * t) for p in (1, 2, 3) for t in (1, 2)),
)


def test_a_product_of_two_settings_follows_them_in_every_command(shell: Shell) -> None:
    place = ("--at", "procs_of_run=2", "--at", "per_proc=1")
    output = told(shell, HYBRID, "--full", *place)
    assert_says(output, ["--let 'workers=procs_of_run\\*per_proc'", "workers=2", "!not given"])
    assert "workers=2" in done(shell, "explain", "runs.csv", *place)


def test_a_page_of_what_is_no_worker_needs_no_price(shell: Shell) -> None:
    table = csv_of("clients,latency_s,throughput", ((n, 0.02 * n, 1200 - n) for n in COUNTS))
    told(shell, table, "--at", "clients=16")
    done(shell, "report", "runs.csv", "--target", "clients=16", "-o", "page.html")


def test_a_wanted_column_of_words_is_refused_and_no_other_one_is_answered(shell: Shell) -> None:
    Path("runs.csv").write_text("gpus,s/kimg,memory (GB)\n1,fast,8\n2,slow,8.5\n4,slow,8.7\n", encoding="utf-8")
    status, _, errors = shell("ask", "runs.csv", "--want", "s/kimg", "--at", "gpus=8")
    assert status == 1
    assert "'s/kimg' holds no numbers" in errors
    assert "'fast'" in errors


def test_cells_say_what_a_rate_counts_in_every_command(shell: Shell) -> None:
    table = csv_of("GPUs,Throughput", ((n, f"{0.3 * n**0.95:.3g}M tok/s") for n in (8, 16, 32)))
    assert_says(told(shell, table, "--at", "gpus=64", "--tokens", "1T"), ["training time", "M tokens/s"])
    assert "for a million tokens" in done(shell, "compare", "runs.csv", "--at", "gpus=64", "--or", "gpus=128")
    done(shell, "fit", "runs.csv", "-o", "model.json")
    assert "tokens/s" in done(shell, "ask", "model.json", "--at", "gpus=64", "--tokens", "1T")
