"""What tools print, a file a run or all in one: each form is read by its shape, and the law behind it is found."""

import json
import re
from collections.abc import Callable
from itertools import groupby
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


def steps(line: Callable[[int], str], count: int = 20) -> str:
    return "\n".join(line(step) for step in range(1, count)) + "\n"


def rows_in(name: str) -> dict[str, tuple[dict[str, Any], str]]:
    """Return the sections of a text file: by its title the head and what stands below it."""
    text = Path(__file__).with_name(name).read_text(encoding="utf-8").rstrip("\n")
    parts = (section.split("\n", 2) for section in text.split("\n== ")[1:])
    return {title: (json.loads(head), f"{below}\n") for title, head, below in parts}


def written(template: str, **names: Any) -> str:
    """Return a text whose braces are evaluated, with each line behind `*19 ` so often, for i from 1 on."""
    text = ""
    for times, lines in groupby(template.splitlines(), lambda line: re.match(r"(?:\*([\dn*]+) )?", line)[1]):  # type: ignore[index]
        block = "".join(f"{line.partition(' ')[2] if times else line}\n" for line in lines)
        for i in range(1, eval(times or "1", names) + 1):
            text += eval(f'f"""{block}"""', {**names, "i": i, "rate": rate})
    return text


#: A table or a question of each folder that `folders.txt` writes down.
FOLDERS = rows_in("folders.txt")


@pytest.mark.parametrize("case", FOLDERS)
def test_a_folder_with_files_for_each_count(tmp_path: Path, case: str) -> None:
    head, templates = FOLDERS[case]
    templates = templates if templates.startswith("--- ") else f"--- {{n}}gpu.txt\n{templates}"
    _, *parts = re.split(r"^--- (.*)\n", templates, flags=re.MULTILINE)
    for n in head.get("counts", COUNTS):
        names = {"n": n, "s": {1: 0.41, 2: 0.42, 4: 0.44, 8: 0.47}.get(n)}
        for name, template in zip(parts[::2], parts[1::2], strict=True):
            path = tmp_path / written(name, **names).strip()
            path.parent.mkdir(parents=True, exist_ok=True)
            path.write_text(written(template, **names), encoding="utf-8")
    check(tmp_path, {**head, "value": eval(str(head.get("value", 0)), {"rate": rate})})
    if head.get("opened"):
        # A command that takes a table opens these folders as a question does: of lines alike, of pairs and of objects.
        assert [*recognised(str(tmp_path)).source.columns] == [*understood(open_files([tmp_path])).columns]


def check(path: Path, head: dict[str, Any]) -> None:
    """Check the columns of a source, those that are there and those that are not, and the answer of a question."""
    columns = understood(open_files([path]) if path.is_dir() else path).columns if "columns" in head else {}
    for name, cells in head.get("columns", {}).items():
        kind = str if cells and isinstance(cells[0], str) else float
        assert (cells is None and name not in columns) or [kind(cell) for cell in columns[name]] == cells
    if question := head.get("at", {} if "columns" in head else {"gpus": 16}):
        room = head.get("room", 0.1 if "at" in head else 0.2 if "want" in head else 0.06)
        answer = ask(str(path), head.get("want"), at=question)
        assert answer.answers[0].value == pytest.approx(head["value"], rel=room)
        assert head.get("notes", "") in str(answer.notes)


FILES = rows_in("files.txt")


@pytest.mark.parametrize("case", FILES)
def test_what_files_say(tmp_path: Path, case: str) -> None:
    head, text = FILES[case]
    (tmp_path / head["file"]).parent.mkdir(exist_ok=True)
    (tmp_path / head["file"]).write_text(text, encoding="utf-8")
    check(tmp_path / head["file"], head)


def test_errors_that_are_no_text_lose_no_run(tmp_path: Path) -> None:
    for n in COUNTS:
        log = f"gpus: {n}\n" + steps(lambda i, n=n: f"step {i} images/sec: {rate(n)}")  # type: ignore[misc]
        (tmp_path / f"job-{n}.out").write_text(log, encoding="utf-8")
        (tmp_path / f"job-{n}.err").write_bytes(b"\x00\xff\xfe" * 9)
    check(tmp_path, {"columns": {"gpus": [*COUNTS]}})


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


def test_a_row_of_results_is_of_the_run_above_it() -> None:
    """What was tried of a size before is another test, and no run of its own."""
    tests = "".join(f"\t NB = {n} \t {n * 3} \t {n * 4}\n" for n in (256, 512, 1024))
    progress = "".join(f"Prog= {n}.5%  Time= {n}.25  GF= 26057.43\n" for n in range(1, 60))
    rule = "-" * 40
    result = f"{rule}\nT/V         N   NB  P Q  Time\n{rule}\nWR02L2L2  134400 224 2 1 67.21\n{rule}\n"
    source = source_of_log(tests + progress + result, "HPL.out")
    assert source is not None
    assert source.columns["Time"].tolist() == [67.21]


def test_what_is_told_beside_a_time_of_many_steps_is_of_as_many(tmp_path: Path) -> None:
    rows = "".join(f"{n},{20 + 5 * n**0.5},1000\n" for n in (1, 2, 3, 4, 6, 8, 12, 16))
    (tmp_path / "jobs.csv").write_text(f"np,elapsed time (s),iterations\n{rows}")
    answer = ask(str(tmp_path / "jobs.csv"), at={"np": "32"})
    assert answer.answers[0].value == pytest.approx(48.3, rel=0.1)
    assert answer.facts is not None
    assert answer.facts.column is not None
    assert answer.facts.column[2] * answer.facts.expected.value.value == pytest.approx(answer.answers[0].value)
