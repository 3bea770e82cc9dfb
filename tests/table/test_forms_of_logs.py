"""What tools print, a file a run or all in one: each form is read by its shape, and the law behind it is found."""

import json
from collections.abc import Callable, Iterable, Mapping
from pathlib import Path
from typing import Any

import pytest
from helpers import cases_in_text

from genperf.asking.tables import ask
from genperf.errors import TableError
from genperf.panel.read import recognised
from genperf.table import facts
from genperf.table.facts import facts_of, source_of_log
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
    "an amount so far under the name of a rate, and a test between the steps": (
        lambda n: steps(lambda i: f"step={i}\n perf/total_tokens={i * n * 64:,}\n perf/tokens_per_second={rate(n):.1f}")
        + f"mAP50: 100%|##| 9/9 [00:20<00:00, tokens_per_second={rate(1) / 9:.1f}]\n",
        "perf/tokens_per_second",
        rate,
    ),
    "tests alone, and a training beside one": (
        lambda n: steps(lambda i: ("Test: 1" if n < 8 else "loss train: 2, val: n/a") + f" | images/s: {rate(n):.1f}"),
        "images/s", rate,
    ),
    "a bare time with its unit attached": (
        lambda n: steps(lambda i: f"iter {i}: loss {9 - i / 10:.2f}, time {1e6 / rate(n):.2f}ms, mfu 30.12%"), "time",
        lambda n: 1e6 / rate(n),
    ),
    "a log between bars": (
        lambda n: steps(
            lambda i: f"01-01 00:{i + 10} | INFO | 1: {i} / 20 loss=2, wps={rate(n):.1f}, bsz={64 * n}, wall={i}"
        ),
        "wps", rate,
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
            + 30 * "Resolving data files: 100%|██| [00:00, 9s/it]\nvocab.txt: 100%|██| [00:00, 8s/it]\n"
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


#: A command that takes a table opens these folders as a question does: of lines alike, of pairs and of objects.
OPENED = {"a log between bars", "pairs between blanks, and a time of day", "nested objects"}


@pytest.mark.parametrize("form", A_FILE_A_RUN)
def test_a_file_a_run_with_its_count_in_the_name(tmp_path: Path, form: str) -> None:
    text_of, quantity, law = A_FILE_A_RUN[form]
    for count in COUNTS:
        (tmp_path / f"{count}gpu.txt").write_text(text_of(count), encoding="utf-8")
    answer = ask(str(tmp_path), at={"gpus": 16}, want=quantity)
    assert answer.answers[0].value == pytest.approx(law(16), rel=0.2)
    if form in OPENED:
        columns = recognised(str(tmp_path)).source.columns
        assert [*columns] == [*understood(open_files([tmp_path])).columns]


def many(name: str, text: Callable[[int], str | bytes], counts: Iterable[int] = COUNTS) -> dict[str, str | bytes]:
    """Return a file for each count."""
    return {name.format(n=n): text(n) for n in counts}


CRASH = "CUDA out of memory. Tried to allocate 2 GiB\n"
PERFORMANCE = (
    "Running on {n} nodes with total {cores} cores\n               Core t (s)   Wall t (s)        (%)\n"
    "       Time:    {core:.3f}   {wall:.3f}   {n}00.0\n                 (ns/day)    (hour/ns)\n"
    "Performance:   {rate:.3f}   {each:.3f}\n"
)
SCRAPE = '# HELP gc collections\n# TYPE gc counter\ngc{{generation="0"}} 1121.0\nup 1\n'
NUMBERED = "    GPU 0,1,2,3: NVIDIA A100\n    GPU number: {n}\n"
#: Nodes, and the devices of each.
SPREAD = ((1, 1), (1, 2), (1, 4), (2, 4), (4, 4))
METHODS = (("Plain ring", 588), ("Tree", 693))
#: What files say → the files, the columns that are read (or are not there: None), and a question with its answer.
FILES: dict[str, tuple[dict[str, str | bytes], dict[str, list[Any] | None], dict[str, str], float]] = {
    "the errors of a job are part of its log": (
        {**many("job-{n}.out", lambda n: f"SLURM_NTASKS={n}\n" + steps(lambda i: f"step {i} images/sec: {rate(n)}")),
         "job-1.err": "warning: none\n", "job-16.out": "SLURM_NTASKS=16\n", "job-16.err": CRASH},
        {"SLURM_NTASKS": [1, 16, 2, 4, 8], "status": ["", "out of memory", "", "", ""]}, {}, 0,
    ),
    "ranks that number themselves are none of a run": (
        many("n{n}.out", lambda n: f"[rank=0] world_size={n}\n" + steps(lambda i: f"[rank={n - 1}] {rate(n)} img/s")),
        {"rank": None, "img/s": [rate(n) for n in COUNTS]}, {}, 0,
    ),
    "errors that are no text lose no run": (
        {**many("job-{n}.out", lambda n: f"gpus: {n}\n" + steps(lambda i: f"step {i} images/sec: {rate(n)}")),
         **many("job-{n}.err", lambda n: b"\x00\xff\xfe" * 9)},
        {"gpus": [*COUNTS]}, {}, 0,
    ),
    "an option of a launcher counts processes, and a capital is another option": (
        many("job.{n}", lambda n: f"aprun -n {n} -N 64 ./solve\nTOTAL TIME : {6400 / n:.2f} s\n", (64, 128, 256)),
        {"np": [128, 256, 64], "N": [64] * 3}, {"ranks": "512"}, 12.5,
    ),
    # What was simulated in a day says what the time on the wall did.
    "names with units stand over the numbers behind a key": (
        many("N{n}.log", lambda n: PERFORMANCE.format(
            n=n, cores=64 * n, core=6400.5 + n, wall=100.5 / n, rate=8.5 * n, each=24 / 8.5 / n), (1, 2, 4)),
        {"Wall t (s)": [100.5, 50.25, 25.125], "Performance (ns/day)": [8.5, 17, 34]}, {"nodes": "8"}, 68.0,
    ),
    "steps of accumulation without a batch leave the work open": (
        many("{n}.log", lambda n: f"num_processes: {n}\nGradient Accumulation steps = 4\n"
             f"'train_samples_per_second': {23.0 * n**0.98:.3f}\n"),
        {}, {"processes": "16"}, 23.0 * 16**0.98,
    ),
    "a number of gpus counts beside a list of those of a node": (
        many("{n:02}/train.log", lambda n: NUMBERED.format(n=n)
             + steps(lambda i: f"iter {i} time: {0.5 + n / 1e4:.4f}  loss: 2.{i}"), (4, 8, 16)),
        {}, {"gpus": "32"}, 0.503,
    ),
    "the number of a job in the name of a file is none of its counts": (
        {f"train_n{n}-{job}.out": f"step_time: {9 / n} s\n" for n, job in ((1, 18325), (2, 18377), (4, 18512))},
        {"n": [1, 2, 4]}, {"nodes": "4"}, 2.25,
    ),
    "a number that all names of files have is none of their counts, and many workers may print what is no fact": (
        {f"n{n}-900.out": "(77, 3)\n" * 2 * n + f"Total time: {9 / n} s\n" for n in (1, 2, 4, 16)},
        {"n": [1, 16, 2, 4], "Total time": [9, 0.5625, 4.5, 2.25]}, {}, 0,
    ),
    "a run without its count of devices says its nodes": (
        {f"{n}.log": f"Nodes: {m}\nGPUs/Node: 2\n{count}step_time: 9.{n} s\n"
         for n, m, count in ((1, 1, ""), (2, 2, "World Size: 4\n"), (3, 4, "World Size: 8\n"))},
        {"World Size": [2, 4, 8]}, {}, 0,
    ),
}  # fmt: skip


#: Cases of one file each stand in `files.txt`.
SECTIONS = Path(__file__).with_name("files.txt").read_text(encoding="utf-8").rstrip("\n").split("\n== ")[1:]
for title, head, text in (section.split("\n", 2) for section in SECTIONS):
    case = {"columns": {}, "at": {}, "value": 0.0, **json.loads(head)}
    FILES[title] = {case["file"]: f"{text}\n"}, case["columns"], case["at"], case["value"]


@pytest.mark.parametrize("case", FILES)
def test_what_files_say(tmp_path: Path, case: str) -> None:
    files, expected, question, value = FILES[case]
    for name, text in files.items():
        (tmp_path / name).parent.mkdir(exist_ok=True)
        (tmp_path / name).write_bytes(text if isinstance(text, bytes) else text.encode())
    path = tmp_path / next(iter(files)) if len(files) == 1 else tmp_path
    columns = understood(path if len(files) == 1 else open_files([path])).columns
    assert [name for name, cells in expected.items() if cells is None and name in columns] == []
    for name, cells in expected.items():
        kind = str if cells and isinstance(cells[0], str) else float
        read = [kind(cell) for cell in columns.get(name, ())]
        assert read == (cells or [])
    if question:
        assert ask(str(path), at=question).answers[0].value == pytest.approx(value, rel=0.1)


def test_a_version_is_no_time() -> None:
    assert header_of("Runtime API Version").kind == ""


def test_devices_of_all_nodes_are_none_of_each(tmp_path: Path) -> None:
    """Of two counts of nodes the second may spread the same devices."""
    (tmp_path / "spread.csv").write_text("nodes,gpus,img/s\n1,2,51\n1,4,101\n2,4,97\n")
    assert "devices" not in recognised(str(tmp_path / "spread.csv")).reading.columns


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
    "commands of as many words as their results": "".join(
        f"torchrun --nproc_per_node={n} train.py --lr 0.1\nepoch 1 took {rate(n):.1f} s\n" for n in COUNTS
    ),
    "a count in a path": "".join(f"Solve/gpus-{n}-8  100  {rate(n):.1f} img/s\n" for n in COUNTS),
    "a frame": "┌──────┬───────┐\n│ GPUs │ img/s │\n├──────┼───────┤\n"
    + "".join(f"│ {n:<4} │ {rate(n):5.1f} │\n" for n in COUNTS)
    + "└──────┴───────┘\n",
    "a row of counts above one of results": f"GPUs,{','.join(map(str, COUNTS))}\n"
    + f"img/s,{','.join(f'{rate(n):.1f}' for n in COUNTS)}\n",
    "blocks that share their count": "A,,,B,\nGPUs,img/s,,GPUs,seq/s\n"
    + "".join(f"{n},{rate(n):.1f},,{n},{rate(n) / 2:.1f}\n" for n in COUNTS),
    "columns with numbered rows": json.dumps(
        {"gpus": dict(enumerate(COUNTS)), "img/s": dict(enumerate(round(rate(n), 1) for n in COUNTS))}
    ),
    "printed dictionaries": "".join(f"{ {'gpus': n, 'img/s': round(rate(n), 1)} }\n" for n in COUNTS),
    "double bars": "||GPUs||img/s||\n" + "".join(f"|{n}|{rate(n):.1f}|\n" for n in COUNTS),
    "devices by their kind": "devices,img/s\n" + "".join(f"{n} P100s,{rate(n):.1f}\n" for n in COUNTS),
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


@cases_in_text("line, found")
def test_facts_of_a_line(line: str, found: dict[str, float]) -> None:
    read = {key: value for key, value, _ in facts_of(line)}
    assert {key: read[key] for key in found or read} == found


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


def test_runs_that_all_failed_measured_nothing(tmp_path: Path) -> None:
    (tmp_path / "run.txt").write_text("Model: vgg16\nNumber of GPUs: 2\nRuntimeError: Horovod has been shut down\n")
    with pytest.raises(TableError, match="every run failed"):
        ask(str(tmp_path / "run.txt"), at={"gpus": 4})


def test_what_came_each_second_is_counted_by_its_name_and_users_by_theirs(tmp_path: Path) -> None:
    for users in COUNTS:
        text = f" * default: {users} looping VUs for 1m0s\n http_reqs....: 7482 {rate(users):.2f}/s\n vus...: {users}\n"
        (tmp_path / f"load_{users}.txt").write_text(text, encoding="utf-8")
    source = understood(open_files([tmp_path]))
    assert (source.units["http_reqs"], source.aliases["default"]) == ("http_reqs/s", "vus")


def test_an_interval_is_said_where_its_ends_differ(tmp_path: Path) -> None:
    text = steps(lambda i: f"step {i}: step_time: {2.5 + i % 2 / 1000} s, memory: 66.9 GiB")
    (tmp_path / "run.log").write_text(text, encoding="utf-8")
    said = str(ask(str(tmp_path / "run.log")))
    assert "(median of 18 steps)." in said
    assert "memory: 66.9 GiB (ok)" in said


@cases_in_text("text, reason")
def test_a_median_of_different_things_is_doubted(tmp_path: Path, text: str, reason: str) -> None:
    (tmp_path / "run.log").write_text(text, encoding="utf-8")
    answer = ask(str(tmp_path / "run.log")).answers[0]
    assert (answer.verdict, answer.reason) == ("caution", reason)


def test_a_setting_that_no_run_shows_makes_what_was_measured_blind(tmp_path: Path) -> None:
    for repeat in ("a", "b"):
        (tmp_path / f"{repeat}.log").write_text(steps(lambda i: f"tiles: 64 step_time: {0.4 + i % 3 / 1000} s"))
    answer = ask(str(tmp_path), at={"tiles": "128"}).answers[0]
    assert (answer.verdict, answer.reason) == ("extrapolating-blind", "tiles was always 64: nothing shows another one")


def test_a_long_log_is_read_evenly_to_its_end(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(facts, "MOST_READ", facts.MOST_READ // 10)
    runs = (f"nnodes: {n}\n" + steps(lambda i, n=n: f"step {i} | tok/s {1000 * n + i % 7}", 900) for n in (1, 2, 4, 8))
    text = "".join(runs)
    assert len(facts.thinned_out(text)[0].replace("\n\n", "")) < len(text) / 1.5
    source = source_of_log(text, "train.log")
    assert source is not None
    assert source.cells["nnodes"].tolist() == [1, 2, 4, 8]
    assert source.cells["tok/s"].tolist() == pytest.approx([1003, 2003, 4003, 8003], abs=3)
    assert "of lines alike one of" in source.steps[-1].text


def test_lines_of_which_a_long_log_has_few_stay() -> None:
    bars = (f"{k}/1024 [{'=' * (k // 16):64}] loss: 0.{run}\n" for run in range(64) for k in range(1024) if k % 4 == 0)
    announced = "".join(f"number of GPUs: {run}\n" for run in range(60))
    thinned, stride = facts.thinned_out(announced + "".join(bars))
    assert stride > 1
    assert thinned.count("number of GPUs: ") == 60


@cases_in_text("line, facts")
def test_names_with_blanks_and_counts_with_commas(line: str, facts: dict[str, float]) -> None:
    assert {key: value for key, value, _ in facts_of(line)} == facts


def test_units_of_facts() -> None:
    times = ("step 10 took 95 ms", "ms"), ("time (ms) | forward: 43.4", "ms"), ("total time: 1.5m", "min")
    for line, unit in (*times, ("max_mem: 3961M", "MB")):
        assert next(of for _, _, of in facts_of(line) if of) == unit


def test_processes_that_quote_their_number_are_of_one_run() -> None:
    lines = [f"Namespace(gpus='{k}', lr=0.1)\nSpeed: {900 + k} samples/sec" for k in range(8)]
    source = source_of_log("\n".join(lines), "train.log")
    assert "gpus" not in source.columns
    assert len(source) == 1


@pytest.mark.parametrize(("digits", "took"), [(6, 0.1), (0, 12.0), (0, 0.25)])
def test_a_log_that_only_says_when_each_step_was_shows_what_one_took(digits: int, took: float) -> None:
    """Across midnight, with an evaluation in between; a clock of whole seconds measures several steps together."""
    lines = ["I1026 23:59:50 5 net.cpp:1] Memory required for data: 12345"]
    for step in range(400):
        seconds = 86390.0 + took * step + 90.0 * (step > 200)
        of_day = f"{int(seconds // 3600 % 24):02d}:{int(seconds // 60 % 60):02d}:{seconds % 60:0{3 + digits}.{digits}f}"
        of_day = (
            of_day
            if digits
            else f"{int(seconds // 3600 % 24):02d}:{int(seconds // 60 % 60):02d}:{int(seconds % 60):02d}"
        )
        lines += [f"I1026 {of_day} 5 solver.cpp:2] Iteration {step}, loss = 6.{step}"] * 2
    source = source_of_log("\n".join(lines), "train.log")
    assert source is not None
    assert source.columns["iteration time"].tolist() == pytest.approx([took], rel=0.05)
    assert source.units["iteration time"] == "s"


def test_records_of_what_elapsed_show_what_a_step_took(tmp_path: Path) -> None:
    records = [
        {
            "current_steps": n,
            "loss": 9 / n,
            "elapsed_time": f"0:{n * 3 // 60:02d}:{n * 3 % 60:02d}",
            "remaining_time": "1:00:00",
        }
        for n in range(10, 600, 10)
    ]
    (tmp_path / "log.jsonl").write_text("\n".join(map(json.dumps, records)))
    answer = ask(str(tmp_path / "log.jsonl")).answers[0]
    assert (answer.quantity, answer.value, answer.unit) == ("step time", pytest.approx(3.0), "s")


def test_a_log_that_begins_with_its_settings_as_json_is_a_log(tmp_path: Path) -> None:
    lines = steps(lambda i: f"step {i} | step_time: {0.4 + i % 3 / 1000} s")
    (tmp_path / "run.log").write_text(json.dumps({"lr": 0.1, "hidden": 64}, indent=2) + "\nstarting\n" + lines)
    assert ask(str(tmp_path / "run.log")).answers[0].value == pytest.approx(0.401)


def test_sections_between_rules_are_runs(tmp_path: Path) -> None:
    rule = "=" * 40
    report = f"{rule}\nSCALING REPORT\n{rule}\n\n" + "\n".join(
        f"{rule}\nConfiguration: small_{n} GPUs\n{rule}\nThroughput: {rate(n):.1f} samples/sec\nup: {n**0.93:.2f}\n"
        for n in COUNTS
    )
    (tmp_path / "report.txt").write_text(report)
    assert ask(str(tmp_path / "report.txt"), gpus=16).answers[0].value == pytest.approx(rate(16), rel=0.05)


def test_a_row_of_results_is_of_the_run_above_it() -> None:
    """What was tried of a size before is another test, and no run of its own."""
    tests = "".join(f"\t NB = {n} \t {n * 3} \t {n * 4}\n" for n in (256, 512, 1024))
    progress = "".join(f"Prog= {n}.5%  Time= {n}.25  GF= 26057.43\n" for n in range(1, 60))
    rule = "-" * 40
    result = f"{rule}\nT/V         N   NB  P Q  Time\n{rule}\nWR02L2L2  134400 224 2 1 67.21\n{rule}\n"
    source = source_of_log(tests + progress + result, "HPL.out")
    assert source is not None
    assert source.columns["Time"].tolist() == [67.21]


def test_files_without_a_result_beside_tables_are_left_out(tmp_path: Path) -> None:
    (tmp_path / "summary.md").write_text("|GPUs|tok/s|\n|--:|--:|\n" + "".join(f"|{n}|{rate(n)}|\n" for n in COUNTS))
    (tmp_path / "monitor.csv").write_text("40, 0 %, 0 MiB\n41, 3 %, 5 MiB\n42, 5 %, 5 MiB\n")
    assert ask(str(tmp_path), gpus=16).answers[0].value == pytest.approx(rate(16), rel=0.05)


def test_what_is_told_beside_a_time_of_many_steps_is_of_as_many(tmp_path: Path) -> None:
    rows = "".join(f"{n},{20 + 5 * n**0.5},1000\n" for n in (1, 2, 3, 4, 6, 8, 12, 16))
    (tmp_path / "jobs.csv").write_text(f"np,elapsed time (s),iterations\n{rows}")
    answer = ask(str(tmp_path / "jobs.csv"), at={"np": "32"})
    assert answer.answers[0].value == pytest.approx(48.3, rel=0.1)
    assert answer.facts is not None
    assert answer.facts.column is not None
    assert answer.facts.column[2] * answer.facts.expected.value.value == pytest.approx(answer.answers[0].value)
