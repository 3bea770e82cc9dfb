"""What tools print, a file a run or all in one: each form is read by its shape, and the law behind it is found."""

import json
from collections.abc import Callable, Mapping
from pathlib import Path

import pytest

from genperf.asking.tables import ask
from genperf.errors import TableError
from genperf.panel.read import recognised
from genperf.table.facts import facts_of, source_of_log, thinned_out
from genperf.table.opened import open_files, understood
from genperf.vocabulary.headers import header_of

COUNTS = (1, 2, 4, 8)


def rate(count: int) -> float:
    return 400.0 * count**0.93


def clock(seconds: float) -> str:
    return f"{int(seconds // 60)}m{seconds % 60:.3f}s"


def steps(line: Callable[[int], str], count: int = 20) -> str:
    return "\n".join(line(step) for step in range(1, count)) + "\n"


#: A form → the text of the run at a count, the quantity and the times its value is that of `rate`.
A_FILE_A_RUN: Mapping[str, tuple[Callable[[int], str], str, Callable[[int], float]]] = {
    "rates of each device in words": (
        lambda n: (
            steps(lambda i: f"Iter #{i}: {rate(n) / n:.1f} img/sec per GPU")
            + f"Total img/sec on {n} GPU(s): {rate(n):.1f}"
        ),
        "Total img/sec",
        rate,
    ),
    "the rate of each device by its number": (
        lambda n: steps(lambda i: f"step {i} " + " ".join(f"gpu{k}: {rate(n) / n:.2f} img/s" for k in range(n))),
        "throughput", rate,
    ),
    "a bare time with its unit attached": (
        lambda n: steps(lambda i: f"iter {i}: loss {9 - i / 10:.2f}, time {1e6 / rate(n):.2f}ms, mfu 30.12%"), "time",
        lambda n: 1e6 / rate(n),
    ),
    "a log between bars": (
        lambda n: (
            f"2023-01-01 00:00:00 | INFO | train | training on {n} devices\n"
            + steps(
                lambda i: f"2023-01-01 00:0{i % 10}:00 | INFO | train_inner | {i} loss=2, wps={rate(n):.1f}, wall={i}"
            )
        ),
        "wps",
        rate,
    ),
    "the time of a shell": (
        lambda n: f"epoch 1 done\n\nreal\t{clock(1e5 / rate(n))}\nuser\t{clock(n * 1e5 / rate(n))}\nsys\t0m1.000s\n",
        "real", lambda n: 1e5 / rate(n),
    ),
    "a step and a loss before the key": (
        lambda n: steps(lambda i: f"step {i} loss 2.{i} images/sec: {rate(n):.1f}"), "images/sec", rate,
    ),
    "a count and its rate": (
        lambda n: f"data_received....: 3 MB 53 kB/s\nhttp_reqs........: {60 * rate(n):.0f} {rate(n):.3f}/s\n",
        "http_reqs", rate,
    ),
    "a table of the devices before the steps": (
        lambda n: (
            "+-----+------------------+\n| GPU  Name | Memory-Usage |\n|-----+------------------|\n"
            "| 0  A100 | 3MiB / 81920MiB |\n| 1  A100 | 3MiB / 81920MiB |\n+-----+------------------+\n"
            + "".join(f"+ export VARIABLE_{i}\n" for i in range(40))
            + steps(lambda i: f" iteration {i}/ 500 | elapsed time per iteration (ms): {4e6 / rate(n) + i % 2:.1f}")
        ),
        "elapsed time per iteration (ms)",
        lambda n: 4e6 / rate(n),
    ),
    "what was timed before the steps, and a part that counts one": (
        lambda n: (
            f"using world size: {4 * n}\nload-checkpoint took 3.5 s\n  world_size ................... 1\n"
            + steps(lambda i: f"iteration {i}: step_time: {4e4 / rate(n):.2f} s")
        ),
        "step_time", lambda n: 4e4 / rate(n),
    ),
    "a clock that is set back, after the program itself": (
        lambda n: (
            "import torch\ndef main(gpus=7):\n    self.world_size = 3\n"
            + steps(lambda i: f"step:{i}/60 train_time:{(i if i > 2 else i + 3) * 4e6 / rate(n):.0f}ms lr:{i}", 60)
        ),
        "train_time", lambda n: 59 * 4e6 / rate(n),
    ),
    "pairs between blanks, and a time of day": (
        lambda n: steps(lambda i: f"| Device=xla:0/{i} Step={i} Loss=0.{i} Rate={rate(n):.1f} Time=07:29:39"),
        "Rate", rate,
    ),
    "a bar over what is prepared": (
        lambda n: (
            "Map: 100%|████| 669/669 [00:00<00:00, 3076.21 examples/s]\n"
            + steps(lambda i: f"Training:  50%|██  | {i}/20 [00:50<00:50, {4e4 / rate(n):.2f}s/it]")
        ),
        "s/it", lambda n: 4e4 / rate(n),
    ),
    "the day and the hour before the file": (
        lambda n: steps(lambda i: f"I1231 01:43:{i + 10}.902 78 Train.cpp:7] epoch: 1 | bch(ms): {4e6 / rate(n):.2f}"),
        "bch(ms)", lambda n: 4e6 / rate(n),
    ),
    "ranks by number before each line": (
        lambda n: steps(lambda i: f"[INFO|DP={i % 2}|PP=0|TP=0]: iteration: {i} | tokens_per_sec: {rate(n):.1f}"),
        "tokens_per_sec", rate,
    ),
    "a loss of the validation beside that of the training": (
        lambda n: steps(lambda i: f"Epoch 0: train_loss=7.{i}, step_timing in s={800 / rate(n):.3f}, val_loss=7"),
        "step_timing in s", lambda n: 800 / rate(n),
    ),
    "words per second in bars": (
        lambda n: f" using {n} GPUs (max tokens per GPU = 4000)\n"
        + steps(lambda i: f"| epoch 001: {i}000 / 9 loss=9.68 (10.49), wps={rate(n) + i % 2:.1f}, wpb=3{i}, bsz=1{i}"),
        "wps", rate,
    ),
    "the data beside the step": (
        lambda n: steps(lambda i: json.dumps({"iter": 100 * i, "data_time": 0.1 / i, "time": round(800 / rate(n), 4)})),
        "time", lambda n: 800 / rate(n),
    ),
    "a time that is equal to another": (
        lambda n: f"Iteration time ~{800 / rate(n):.3f} s\n9k iterations * 0.9 sec = 1.8 hours\n",
        "time", lambda n: 800 / rate(n),
    ),
    "seconds in one digit": (
        lambda n: steps(lambda i: f"Global step {i}: loss = 1.{i}, time per step = 0:00:{800 / rate(n):.3f}"),
        "time per step", lambda n: 800 / rate(n),
    ),
    "a bar beside what was validated": (
        lambda n: steps(lambda i: f"Epoch {i}/9\n4/4 ━ 3s {8e5 / rate(n):.2f}ms/step - loss: 1.{i} - val_loss: 2.{i}"),
        "ms/step", lambda n: 8e5 / rate(n),
    ),
    "hours before a word": (
        lambda n: f"loss 0.3\nTraining completed in 2:00:{8 + 1e3 / rate(n):09.6f} on {n} processes\n",
        "completed in", lambda n: 7208 + 1e3 / rate(n),
    ),
    "a time behind its unit": (
        lambda n: f" {n * 970:,.2f} msec task-clock  #  {n * 0.97:.3f} CPUs utilized\n"
        + f"  {1e5 / rate(n):.6f} seconds time elapsed\n",
        "time elapsed", lambda n: 1e5 / rate(n),
    ),
    "a settings file with sections": (
        lambda n: f"[run]\nmodel = resnet\n[result]\nthroughput = {rate(n):.2f}\n", "throughput", rate,
    ),
    "nested objects": (
        lambda n: json.dumps(
            {
                "config": {"model": {"layers": 12}, "parallel": {"tp": 1}, "train": {"micro_batch": 4}},
                "results": {"tokens_per_second": rate(n), "step_time_ms": 4e6 * n / rate(n)},
            }
        ),
        "step_time_ms",
        lambda n: 4e6 * n / rate(n),
    ),
}  # fmt: skip


@pytest.mark.parametrize("form", A_FILE_A_RUN)
def test_a_file_a_run_with_its_count_in_the_name(tmp_path: Path, form: str) -> None:
    text_of, quantity, law = A_FILE_A_RUN[form]
    for count in COUNTS:
        (tmp_path / f"{count}gpu.txt").write_text(text_of(count), encoding="utf-8")
    answer = ask(str(tmp_path), at={"gpus": 16}, want=quantity)
    assert answer.answers[0].value == pytest.approx(law(16), rel=0.2)
    # A command that takes a table opens the folder as a question does, also where the files begin alike.
    columns = recognised(str(tmp_path)).source.columns
    assert [*columns] == [*understood(open_files([tmp_path])).columns]


def tabular(corner: str, name: str) -> str:
    """A table in LaTeX: counts in its header, rates in its row."""
    counts, rates = " & ".join(map(str, COUNTS)), " & ".join(f"{rate(n):.1f}" for n in COUNTS)
    return rf"\begin{{tabular}}{{lcccc}} {corner} & {counts} \\ {name} & {rates} \\ \end{{tabular}}"


WORDS = [*zip(COUNTS, ("one", "two", "four", "eight"), strict=True)]
#: A form → its text, the count that is asked for, the quantity.
ONE_FILE: Mapping[str, tuple[str, str, str]] = {
    "sentences": ("".join(f"With {n} GPUs we get {rate(n):.0f} samples/s.\n" for n in COUNTS), "GPUs", "samples/s"),
    "sentences of times": (
        "".join(f"Training with {n} workers took {1e5 / rate(n):.2f} seconds\n" for n in COUNTS), "workers", "took",
    ),
    "a list of nodes and devices, and the unit in two spellings": (
        "".join(f"1x{n} GPU: {rate(n):.1f} img{'s' * (n > 1)}/sec\n" for n in COUNTS), "GPUs", "img/sec",
    ),
    "a DataFrame as it is printed": (
        "   gpus  images_per_s\n" + "".join(f"{i}     {n}        {rate(n):.1f}\n" for i, n in enumerate(COUNTS)),
        "gpus", "images_per_s",
    ),
    "a header over several columns": (
        tabular(r"& \multicolumn{4}{c}{Number of GPUs} \\ Method", "DDP"), "GPUs", "value",
    ),
    "objects by count": (
        json.dumps({"model": "a", "results": {str(n): {"images_per_sec": rate(n), "loss": 1} for n in COUNTS}}),
        "gpus", "images_per_sec",
    ),
    "lists of repeats": (
        json.dumps([{"params": {"gpus": n}, "metrics": {"throughput": [rate(n), rate(n) + 1]}} for n in COUNTS]),
        "gpus", "throughput",
    ),
    "counts as headers": (
        "model," + ",".join(map(str, COUNTS)) + "\nresnet," + ",".join(f"{rate(n):.1f}" for n in COUNTS) + "\n",
        "gpus", "value",
    ),
    "items of a list": (
        "# Scaling\n\n" + "".join(f"- **{n} GPUs**: {rate(n):,.0f} tokens/s\n" for n in COUNTS), "GPUs", "tokens/s",
    ),
    "commands and what each printed": (
        "".join(f"$ torchrun --nproc_per_node={n} train.py\nThroughput: {rate(n):.1f} samples/s\n" for n in COUNTS),
        "nproc_per_node", "Throughput",
    ),
    "counts in words": (
        "".join(f"using {word} gpu{'s' * (n > 1)}, the speed is \"{rate(n):.1f} samples/sec\"\n" for n, word in WORDS),
        "gpus", "samples/sec",
    ),
    "counts in Chinese": (
        "".join(f"{n if n > 1 else '单'}卡速度：与4卡比\nbatch_cost: 0.5, ips: {rate(n):.1f} img/s\n" for n in COUNTS),
        "gpus", "ips",
    ),
    "kinds of devices": ("".join(f"{n}x TITAN XP，{rate(n):.1f} images/s\n" for n in COUNTS), "gpus", "images/s"),
    "kinds of devices before their name": (
        "".join(f"On {n} NVIDIA V100 GPUs (8 GPUs per node): {rate(n):.1f} img/s\n" for n in COUNTS), "GPUs", "img/s",
    ),
    "cards": (
        "Examples:\n" + "".join(f"{n} graphics cards,\nbs8, an iter takes {1e5 / rate(n):.1f} s,\n\n" for n in COUNTS),
        "gpus", "takes",
    ),
    "a sentence of all": (
        "A node of 4 GPUs was used. " + " while ".join(f"`--gpus={n}` reaches {rate(n):.1f} img/s" for n in COUNTS),
        "gpus", "img/s",
    ),
    "a sentence in Chinese": (
        "，".join(f"在{n}卡时候，速度是{rate(n) - 1:.1f}-{rate(n) + 1:.1f}samples/sec" for n in COUNTS),
        "gpus", "samples/sec",
    ),
    "a count in the singular": (
        "".join(f"The {n} node log:\nstep={n}, img/s={rate(n):.1f}\n" for n in COUNTS), "nodes", "img/s",
    ),
    "devices by number in a command": (
        "".join(
            f"$ CUDA_VISIBLE_DEVICES={','.join(map(str, range(n)))} python a.py\nEp 1 | {rate(n):.1f} img/s\n"
            for n in COUNTS
        ),
        "gpus", "img/s",
    ),
    "a score, its error behind a sign, and its unit in a column": (
        "Bench            (threads)  Mode  Cnt       Score       Error  Units\n"
        + "".join(f"Queue.poll  {n:>14}  thrpt   25  {rate(n):10.3f} ± {9.5 * n:9.3f}  ops/s\n" for n in COUNTS),
        "threads", "Score",
    ),
    "a time over its unit": (
        "Nodes,Runtime / s,Verified\n" + "".join(f"{n},{1e5 / rate(n):.1f},True\n" for n in COUNTS), "Nodes", "time",
    ),
    "a time of one thing over its unit, counts in letters": (
        'Nodes,time per MC /s\n'
        + "".join(f'"{word}", {1e5 / rate(n):.1f}\n' for n, word in WORDS),
        "Nodes", "time",
    ),
    "one noun in Russian": (
        "| Mode | 1 поток | 2 потока | 4 потока | 8 потоков |\n|---|---|---|---|---|\n"
        + "| OMP | " + " | ".join(f"{rate(n):.1f}" for n in COUNTS) + " |\n",
        "threads", "value",
    ),
    "bars above and below a rule of dashes": (
        "2. Weak scaling\n  N * N | numberOfProcesses | img/s\n  ------------------------\n"
        + "".join(f"  {n * 10000:,} | {n} | {rate(n):.1f}\n" for n in COUNTS),
        "processes", "img/s",
    ),
    "pairs of tabs below a comment": (
        "# Oct. 26\n#nodes \t#nproc  #total time  -> per step = total time / 300\n"
        + "".join(f"{n}\t{4 * n}\t\t{1e5 / rate(n):.4f}\n" for n in COUNTS), "nodes", "total time",
    ),
    "names again below a comment": (
        "#  gpus   time  algbw  #wrong   time  algbw  #wrong\n#          (us)  (GB/s)          (us)  (GB/s)\n"
        + "".join(f"{n:7}   9.5  {rate(n):.2f}       0   9.5   {rate(n):.2f}       0\n" for n in COUNTS),
        "gpus", "algbw",
    ),
    "sizes above the results": (
        "## Sizes\n\n| Replicate | Calculation | Atoms |\n|---|---|---|\n| 3x3 | 304 x 9 | 2736 |\n\n## 3x3\n\n"
        + "| Config | Atoms | Steps/s |\n|---|---|---|\n"
        + "".join(f"| gpu{n} | 2736 | {rate(n):.2f} |\n" for n in COUNTS),
        "gpu", "Steps/s",
    ),
    "a corner that names the headers": (tabular(r"\#GPUs", "Baseline"), "GPUs", "value"),
}  # fmt: skip


@pytest.mark.parametrize("form", ONE_FILE)
def test_one_file_of_all_runs(tmp_path: Path, form: str) -> None:
    text, count, quantity = ONE_FILE[form]
    (tmp_path / "runs.txt").write_text(text, encoding="utf-8")
    answer = ask(str(tmp_path / "runs.txt"), at={count: 16}, want=quantity)
    law = 1e5 / rate(16) if quantity in ("took", "takes", "time", "total time") else rate(16)
    assert answer.answers[0].value == pytest.approx(law, rel=0.15)


def test_the_errors_of_a_job_are_part_of_its_log(tmp_path: Path) -> None:
    for count in (*COUNTS, 16):
        crashed = count == 16
        (tmp_path / f"job-{count}.out").write_text(
            f"SLURM_NTASKS={count}\n"
            + ("" if crashed else steps(lambda i, n=count: f"step {i} images/sec: {rate(n)}")),
            encoding="utf-8",
        )
        (tmp_path / f"job-{count}.err").write_text(
            "CUDA out of memory. Tried to allocate 2 GiB\n" if crashed else "warning: none\n", encoding="utf-8"
        )
    source = understood(open_files([tmp_path]))
    assert [str(count) for count in source.columns["SLURM_NTASKS"]].count("16.0") == 1
    assert list(source.columns["status"]).count("out of memory") == 1


def test_a_column_states_the_unit_of_the_times_beside_it(tmp_path: Path) -> None:
    (tmp_path / "runs.csv").write_text(
        "threads,real_time,time_unit\n1,9000,us\n2,5000,us\n4,3000,us\n", encoding="utf-8"
    )
    answer = ask(str(tmp_path / "runs.csv"), at={"threads": 4})
    assert (round(answer.answers[0].value, -1), answer.answers[0].unit) == (3000.0, "us")


def test_errors_that_are_no_text_lose_no_run(tmp_path: Path) -> None:
    for count in COUNTS:
        text = f"gpus: {count}\n" + steps(lambda i, n=count: f"step {i} images/sec: {rate(n)}")
        (tmp_path / f"job-{count}.out").write_text(text, encoding="utf-8")
        (tmp_path / f"job-{count}.err").write_bytes(b"\x00\xff\xfe" * 9)
    assert len(understood(open_files([tmp_path]))) == len(COUNTS)


@pytest.mark.parametrize("depth", [50, 900])
def test_objects_inside_objects_end_in_an_answer_or_a_message(tmp_path: Path, depth: int) -> None:
    text = '{"a": ' * depth + '{"gpus": 1, "time_s": 2}' + "}" * depth
    (tmp_path / "deep.json").write_text(text, encoding="utf-8")
    with pytest.raises(TableError):
        understood(tmp_path / "deep.json")


#: Forms of one file that hold the same law, each by a mechanism of its own.
OF_ONE_MECHANISM = {
    "a count before the colon": "".join(f"{n} GPUs: {rate(n):.1f} img/s (speedup {n**0.93:.2f}x)\n" for n in COUNTS),
    "sentences in a list": "Last night:\n" + "".join(f"- on {n} GPUs we got {rate(n):.1f} img/s\n" for n in COUNTS),
    "a count in a path": "".join(f"Solve/gpus-{n}-8  100  {rate(n):.1f} img/s\n" for n in COUNTS),
    "a frame": "┌──────┬───────┐\n│ GPUs │ img/s │\n├──────┼───────┤\n"
    + "".join(f"│ {n:<4} │ {rate(n):5.1f} │\n" for n in COUNTS)
    + "└──────┴───────┘\n",
    "a row of counts above one of results": f"GPUs,{','.join(map(str, COUNTS))}\n"
    + f"img/s,{','.join(f'{rate(n):.1f}' for n in COUNTS)}\n",
    "blocks that share their count": "A,,,B,\nGPUs,img/s,,GPUs,seq/s\n"
    + "".join(f"{n},{rate(n):.1f},,{n},{rate(n) / 2:.1f}\n" for n in COUNTS),
    "a word with a digit before the count": "gpus of,img/s\n" + "".join(f"v5p-{n},{rate(n):.1f}\n" for n in COUNTS),
}


@pytest.mark.parametrize("form", OF_ONE_MECHANISM)
def test_one_file_by_one_mechanism(tmp_path: Path, form: str) -> None:
    (tmp_path / "runs.txt").write_text(OF_ONE_MECHANISM[form])
    columns = understood(tmp_path / "runs.txt").columns
    assert [*map(float, COUNTS)] in [[float(cell) for cell in cells] for cells in columns.values() if _numeric(cells)]
    measured = [round(rate(n), 1) for n in COUNTS]
    assert measured in [[float(cell) for cell in cells] for cells in columns.values() if _numeric(cells)]


def _numeric(cells: object) -> bool:
    return all(str(cell).replace(".", "", 1).isdigit() for cell in cells)  # type: ignore[attr-defined]


def answers_of(tmp_path: Path, text: str) -> dict[str, tuple[float, str]]:
    """The quantities of a log, each with its value and unit."""
    (tmp_path / "run.log").write_text(text, encoding="utf-8")
    return {answer.quantity: (answer.value, answer.unit) for answer in ask(str(tmp_path / "run.log")).answers}


def test_what_is_left_is_no_measurement_and_a_bandwidth_keeps_its_unit(tmp_path: Path) -> None:
    line = "{'loss': 2.%d, 'train_speed(iter/s)': 0.19%d, 'elapsed_time': '25m %ds', 'remaining_time': '5h 59m 1s'}"
    measured = answers_of(tmp_path, steps(lambda i: line % (i, i % 3, i + 10)) + "algo throughput: 41797.5 bps\n")
    assert [*measured] == ["train_speed(iter/s)", "elapsed_time", "algo throughput"]
    assert measured["elapsed_time"] == (1529.0, "s")
    assert measured["algo throughput"][1] == "bps"


def test_a_time_with_the_name_of_a_counter_is_measured(tmp_path: Path) -> None:
    lines = steps(lambda i: f"epoch:0, step:{i}, batch_cost: 0.{5900 + i} s, ips: {10_000 - i}.5 images/sec.")
    assert answers_of(tmp_path, lines)["batch_cost"] == (pytest.approx(0.59105), "s")


def test_a_time_in_another_unit_is_that_of_the_first(tmp_path: Path) -> None:
    text = "We used the tags (--gpus 1):\n**450ms/step 3803s/epoch**\nThen (--gpus 4):\n**2s/step 3471s/epoch**\n"
    (tmp_path / "run.md").write_text(text)
    columns = understood(tmp_path / "run.md").columns
    assert [columns["gpus"].tolist(), columns["ms/step"].tolist()] == [[1.0, 4.0], [450.0, 2000.0]]


def test_runs_that_all_failed_measured_nothing(tmp_path: Path) -> None:
    (tmp_path / "run.txt").write_text("Model: vgg16\nNumber of GPUs: 2\nRuntimeError: Horovod has been shut down\n")
    with pytest.raises(TableError, match="every run failed"):
        ask(str(tmp_path / "run.txt"), at={"gpus": 4})


def test_a_number_ends_before_a_name_with_dashes() -> None:
    line = "world size: 16, data-parallel size: 2, context-parallel size: 1 tensor-model-parallel size: 8"
    assert [key for key, _, _ in facts_of(line)][2:] == ["context-parallel size", "tensor-model-parallel size"]


def test_what_came_each_second_is_counted_by_its_name_and_users_by_theirs(tmp_path: Path) -> None:
    for users in COUNTS:
        text = f" * default: {users} looping VUs for 1m0s\n http_reqs....: 7482 {rate(users):.2f}/s\n vus...: {users}\n"
        (tmp_path / f"load_{users}.txt").write_text(text, encoding="utf-8")
    source = understood(open_files([tmp_path]))
    assert (source.units["http_reqs"], source.aliases["default"]) == ("http_reqs/s", "vus")


def test_hours_of_a_log_are_part_of_its_time() -> None:
    assert [value for _, value, _ in facts_of('walltime = "3h34m40s"')] == [12880.0]
    assert [value for _, value, _ in facts_of("elapsed: 1h2m")] == [3720.0]


def test_a_title_over_lines_of_results_is_no_header(tmp_path: Path) -> None:
    title = "A test network of one host without a shaper:"
    lines = [f"{n} nodes give {2 * n + 1} transactions/s" for n in (50, 100, 200)]
    (tmp_path / "notes.txt").write_text("\n".join([title, *lines]))
    source = understood(str(tmp_path / "notes.txt"))
    assert source.columns["nodes"].tolist() == [50, 100, 200]


def test_an_interval_is_said_where_its_ends_differ(tmp_path: Path) -> None:
    text = steps(lambda i: f"step {i}: step_time: {2.5 + i % 2 / 1000} s, memory: 66.9 GiB")
    (tmp_path / "run.log").write_text(text, encoding="utf-8")
    said = str(ask(str(tmp_path / "run.log")))
    assert "(median of 18 steps)." in said
    assert "memory: 66.9 GiB (ok)" in said


def test_what_a_shell_traces_is_no_line_of_a_table(tmp_path: Path) -> None:
    drawn = "+-----+\n| GPU | Name |\n|-----+------|\n| 0 | A100 |\n| 1 | A100 |\n+-----+\n"
    text = "++ NNODES=8\n" + drawn + steps(lambda i: f"iteration {i} | elapsed time per iteration (ms): 5{i}.1")
    (tmp_path / "run.log").write_text(text, encoding="utf-8")
    assert understood(tmp_path / "run.log").columns["NNODES"].tolist() == [8.0]


def test_a_device_by_its_number_counts_none(tmp_path: Path) -> None:
    text = "W0205 dev.cc:484] Please NOTE: device: 0, Runtime API Version: 11.2\nips: 44.5 img/s\n"
    (tmp_path / "run.log").write_text(text, encoding="utf-8")
    columns = understood(tmp_path / "run.log").columns
    assert "device" not in columns
    assert header_of("Runtime API Version").kind == ""


def test_a_rate_of_each_device_is_none_of_all() -> None:
    assert [fact[2] for fact in facts_of("speed is 30/s/gpu")] == []


def test_an_option_of_a_launcher_counts_processes_and_capitals_are_another_option(tmp_path: Path) -> None:
    for n in (64, 128, 256):
        (tmp_path / f"job.{n}").write_text(f"aprun -n {n} -N 64 ./solve\nTOTAL TIME : {6400 / n:.2f} seconds\n")
    source = understood(tmp_path)
    assert (source.columns["np"].tolist(), source.columns["N"].tolist()) == ([128, 256, 64], [64, 64, 64])
    assert [answer.value for answer in ask(str(tmp_path), at={"ranks": "512"}).answers] == [
        pytest.approx(12.5, rel=0.2)
    ]


def test_ranks_that_number_themselves_leave_the_ways_that_are_said() -> None:
    lines = "[INFO|DP=0|TP=0]: Parallelism: dp=4, tp=8\n" + steps(lambda i: f"[INFO|DP=0|TP=0]: step_ms: {300 + i % 3}")
    source = source_of_log(lines, "run.log")
    assert source is not None
    assert [source.cells[name].tolist() for name in ("dp", "tp")] == [[4], [8]]


def test_names_with_units_stand_over_the_numbers_behind_a_key(tmp_path: Path) -> None:
    for n in (1, 2, 4):
        heads = "               Core t (s)   Wall t (s)        (%)\n"
        rates = "                 (ns/day)    (hour/ns)\n"
        times = f"       Time:    {6400.5 + n:.3f}   {100.5 / n:.3f}   {n}00.0\n"
        text = f"Running on {n} nodes with total {n * 64} cores\n{heads}{times}"
        (tmp_path / f"N{n}.log").write_text(f"{text}{rates}Performance:   {8.5 * n:.3f}   {24 / 8.5 / n:.3f}\n")
    columns = understood(tmp_path).columns
    assert columns["Wall t (s)"].tolist() == [100.5, 50.25, 25.125]
    assert columns["Performance (ns/day)"].tolist() == [8.5, 17, 34]
    # Of two times neither of which is named, that on the wall is of the run.
    assert ask(str(tmp_path), at={"nodes": "8"}).answers[0].quantity == "Wall t (s)"


def test_the_time_of_what_is_simulated_is_not_measured(tmp_path: Path) -> None:
    header = "Date   : Mar 14 2024\nTime   : 12:12:57\nnProcs : 4\n"
    text = header + "".join(f"Time = {k / 2}\n\nExecutionTime = {k * 1.25:.2f} s\n" for k in range(1, 12))
    (tmp_path / "log.4").write_text(text)
    columns = understood(tmp_path / "log.4").columns
    assert "Time" not in columns
    assert columns["ExecutionTime"].tolist() == [13.75]


def test_a_setting_that_no_run_shows_makes_what_was_measured_blind(tmp_path: Path) -> None:
    for repeat in ("a", "b"):
        (tmp_path / f"{repeat}.log").write_text(steps(lambda i: f"tiles: 64 step_time: {0.4 + i % 3 / 1000} s"))
    answer = ask(str(tmp_path), at={"tiles": "128"}).answers[0]
    assert (answer.verdict, answer.reason) == (
        "extrapolating-blind",
        "tiles was always 64: nothing shows another one",
    )


def test_steps_of_accumulation_without_a_batch_leave_the_work_open(tmp_path: Path) -> None:
    for n in (1, 2, 4, 8):
        text = f"num_processes: {n}\nGradient Accumulation steps = 4\n"
        (tmp_path / f"{n}.log").write_text(text + f"'train_samples_per_second': {23.0 * n**0.98:.3f}\n")
    assert ask(str(tmp_path), at={"processes": "16"}).answers[0].value == pytest.approx(23.0 * 16**0.98, rel=0.1)


def test_devices_that_are_as_many_on_several_counts_of_nodes_are_those_of_one(tmp_path: Path) -> None:
    rows = [(1, 1), (1, 2), (1, 4), (2, 4), (4, 4)]
    text = "".join(f"{nodes},{n},{26 * (nodes * n) ** 0.98:.2f}\n" for nodes, n in rows)
    (tmp_path / "runs.csv").write_text(f"num_nodes,devices,img/s\n{text}")
    for at in ({"nodes": "8"}, {"devices": "32"}, {"gpus": "32"}):
        assert ask(str(tmp_path / "runs.csv"), at=at).answers[0].value == pytest.approx(26 * 32**0.98, rel=0.1)
    # Of two counts of nodes the second may spread the same devices.
    (tmp_path / "spread.csv").write_text("nodes,gpus,img/s\n1,2,51\n1,4,101\n2,4,97\n")
    assert "devices" not in recognised(str(tmp_path / "spread.csv")).reading.columns


def test_rows_below_names_and_a_rule_are_runs_and_numbered_ones_are_steps() -> None:
    names, rule = "Case     Size  Tasks     Time     Gflops", "-" * 44
    rows = ((n, f"AX1      4000   {n}    {80 / n:.2f}   {26.0 * n:.3e}") for n in (1, 2, 4))
    text = "".join(f"solver {n} begins\nchecked: 1\n{names}\n{rule}\n{row}\nresidual = 1e-9\n" for n, row in rows)
    source = source_of_log(text, "solver.out")
    assert source is not None
    assert (source.cells["Tasks"].tolist(), source.cells["Gflops"].tolist()) == ([1, 2, 4], [26, 52, 104])
    steps_of_one = f"Step  Size  Loss  Time\n{rule}\n" + steps(lambda i: f"{i}  4000  2.{i}  0.{50 + i % 2}")
    source = source_of_log(steps_of_one, "train.out")
    assert source is not None
    assert source.cells["Time"].tolist() == [pytest.approx(0.5, abs=0.01)]


def test_a_long_log_is_read_evenly_to_its_end() -> None:
    runs = (f"nnodes: {n}\n" + steps(lambda i, n=n: f"step {i} | tok/s {1000 * n + i % 7}", 9000) for n in (1, 2, 4, 8))
    text = "".join(runs)
    assert len(thinned_out(text)[0].replace("\n\n", "")) < len(text) / 1.5
    source = source_of_log(text, "train.log")
    assert source is not None
    assert source.cells["nnodes"].tolist() == [1, 2, 4, 8]
    assert source.cells["tok/s"].tolist() == pytest.approx([1003, 2003, 4003, 8003], abs=3)
    assert "of lines alike one of" in source.steps[-1].text


def test_metrics_with_labels_are_records(tmp_path: Path) -> None:
    for n in (2, 4, 8):
        other = '# HELP gc collections\n# TYPE gc counter\ngc{generation="0"} 1121.0\nup 1\n'
        (tmp_path / f"scrape{n}.prom").write_text(f'{other}tokens_per_second{{job="a",gpus="{n}"}} {n * 990.5:e}\n')
    columns = understood(tmp_path).columns
    assert columns["gpus"].tolist() == ["2", "4", "8"]
    assert "generation" not in columns
    assert ask(str(tmp_path), at={"gpus": "16"}).answers[0].value == pytest.approx(16 * 990.5, rel=0.1)


def test_a_number_of_gpus_counts_beside_a_list_of_those_of_a_node(tmp_path: Path) -> None:
    for n in (4, 8, 16):
        (folder := tmp_path / f"{'xyz'[n // 8]}").mkdir()
        text = f"    GPU 0,1,2,3: NVIDIA A100\n    GPU number: {n}\n"
        (folder / "train.log").write_text(
            text + steps(lambda i, n=n: f"iter {i} time: {0.5 + n / 1e4:.4f}  loss: 2.{i}")
        )
    answer = ask(str(tmp_path), at={"gpus": "32"}).answers[0]
    assert answer.value == pytest.approx(0.503, abs=0.01)
