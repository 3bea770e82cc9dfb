"""Runs as people keep them: logs, folders of a file a run, JSON with its results inside, each made here."""

import json
import shutil
import zipfile
from pathlib import Path
from typing import Any

import pytest
from helpers import cases_in_text

from genperf.asking.tables import ask
from genperf.errors import TableError
from genperf.table.facts import runs_of
from genperf.table.opened import open_files, open_source, understood

TITAN = (
    "[rank0]:2026-01-02 10:00:0{n} - root - INFO - step: {n}  loss:  8.2  memory: 31.2GiB(40%)  tps: {tps:,}  mfu: 4%"
)


def titan_log(gpus: int, tps: float) -> str:
    """The log of a run, whose first step warms up and whose validation is slower."""
    steps = [TITAN.format(n=n, tps=round(tps * (0.2 if n == 1 else 1.0 + 0.001 * n))) for n in range(1, 10)]
    return "\n".join([f"Building mesh with world_size={gpus}", *steps, "validate step: 9  loss: 8.1  tps: 12", ""])


def columns(path: Path) -> dict[str, list[str]]:
    return {name: [str(cell) for cell in cells] for name, cells in understood(open_files([path])).columns.items()}


def test_steps_are_their_steady_median_without_warm_up_and_tests(tmp_path: Path) -> None:
    (tmp_path / "run.log").write_text(titan_log(8, 1000.0), encoding="utf-8")
    source = open_files([tmp_path / "run.log"])
    assert len(source) == 1
    assert source.columns["tps"].tolist() == pytest.approx([1005.5], abs=1.0)
    count, low, high, _ = source.steady["tps"][0]
    assert (count, low < 1005.5 < high) == (8, True)
    assert source.columns["world_size"].tolist() == [8.0]


def test_printed_dictionaries_answer_for_the_time_of_a_step(tmp_path: Path) -> None:
    lines = [f"{{'loss': {3 - 0.1 * n}, 'learning_rate': 2e-05, 'epoch': 0.0{n}}}" for n in range(1, 6)]
    lines.append(
        "{'train_runtime': 50.0, 'train_samples_per_second': 16.0, 'train_steps_per_second': 4.0, 'epoch': 0.1}"
    )
    (tmp_path / "train.log").write_text("\n".join(lines), encoding="utf-8")
    answer = ask(str(tmp_path / "train.log"), "step time")
    assert (answer.answers[0].value, answer.answers[0].unit, answer.answers[0].verdict) == (0.25, "s", "ok")
    assert "One scale was measured" in str(answer)
    with pytest.raises(TableError, match="no column is 'gpus'"):
        ask(str(tmp_path / "train.log"), at={"gpus": 64})
    with pytest.raises(TableError, match="how long a training takes"):
        ask(str(tmp_path / "train.log"), tokens="1B")


def test_notes_with_emphasis_and_tables_of_names_beside_values_are_runs(tmp_path: Path) -> None:
    runs = [(1, 1, 15.4), (2, 1, 20.6), (2, 4, 34.7)]
    note = "At batch size {b} it gains less than one would hope when it is compared to batch size 2."
    settings, table = "## Run\n- **Nodes:** {n}\n- **Batch Size:** {b}\n\n", "| Metric | Value |\n|--|--|\n"
    text = f"{settings}{table}| Speed (tokens/sec) | {{v}} |\n\n"
    (tmp_path / "notes.md").write_text("".join((text + note + "\n\n").format(n=n, b=b, v=v) for n, b, v in runs))
    read = columns(tmp_path / "notes.md")
    assert [read[name] for name in ("Nodes", "Batch Size", "Speed (tokens/sec)")] == [
        ["1.0", "2.0", "2.0"], ["1.0", "1.0", "4.0"], ["15.4", "20.6", "34.7"]
    ]  # fmt: skip


def test_sentences_that_tell_of_one_time_in_other_words_are_runs_of_it(tmp_path: Path) -> None:
    (tmp_path / "notes.txt").write_text(
        "Timings\n\nOn 1 V100 an epoch took 3 h 20 min. On 2 V100s it took 1 h 44 min, and on 4 V100s 56 min.\n"
    )
    read = columns(tmp_path / "notes.txt")
    assert [read[name] for name in ("devices", "epoch time")] == [
        ["1.0", "2.0", "4.0"],
        ["12000.0", "6240.0", "3360.0"],
    ]


def test_keys_and_numbers_without_signs_belong_together(tmp_path: Path) -> None:
    lines = {2: "epoch 2 train loss 3.2 samples/s 97.9", 4: "epoch 2 train loss 3.1 samples/s 188.1"}
    (tmp_path / "jobs.out").write_text("".join(f"== job: nodes={n} ==\n{line}\n" for n, line in lines.items()))
    assert columns(tmp_path / "jobs.out")["samples/s"] == ["97.9", "188.1"]
    (tmp_path / "log").write_text("Step: 3 Batch time: 0.300 Images/s: 213.3\n| ms/batch 300.2 | loss 8.1 |\n")
    assert columns(tmp_path / "log")["Images/s"] == ["213.3"]


def test_rows_about_other_rows_are_no_runs(tmp_path: Path) -> None:
    cells = {"1": 100.0, "2": 102.0, "mean": 101.0, "std": 1.4}
    rows = [f"{n},{run},{time / n}" for n in (1, 2, 4) for run, time in cells.items()]
    (tmp_path / "runs.csv").write_text("gpus,run,time_s\n" + "\n".join(rows), encoding="utf-8")
    assert columns(tmp_path / "runs.csv")["run"] == ["1", "2"] * 3
    (tmp_path / "of.csv").write_text("gpus,stat,ms\n1,mean,9\n1,p95,12\n1,std,1\n2,mean,5\n2,p95,8\n2,std,1\n")
    assert columns(tmp_path / "of.csv")["stat"] == ["mean", "p95"] * 2


def test_a_wanted_header_that_became_rows_is_that_of_its_rows(tmp_path: Path) -> None:
    rows = "| 1 | 900 | 90 |\n| 2 | 880 | 86 |\n| 4 | 850 | 81 |\n"
    (tmp_path / "wide.md").write_text(f"| slices | 7B tok/s/chip | 70B tok/s/chip |\n|--|--|--|\n{rows}")
    values = [ask(str(tmp_path / "wide.md"), f"{size}B tok/s/chip", {"slices": 8}).answers[0].value for size in (7, 70)]
    assert values == [pytest.approx(820, rel=0.1), pytest.approx(76, rel=0.1)]


def test_a_log_of_its_first_step_and_then_every_tenth_is_one_run(tmp_path: Path) -> None:
    log = "".join(f"step: {k}  loss: 3.2  tps: {7000 + k % 7:,}\n" for k in (1, *range(10, 90, 10)))
    (tmp_path / "log.txt").write_text("Building device mesh with ['dp', 'tp'], [8, 2]\n" + log, encoding="utf-8")
    read = columns(tmp_path / "log.txt")
    assert [read[name] for name in ("dp", "tp", "tps")] == [["8.0"], ["2.0"], ["7003.0"]]


@pytest.mark.parametrize("names", ["{}.log", "r50_bs256_{}.log", "{}/train.log"])
def test_a_count_that_nothing_else_says_is_the_number_by_which_names_differ(names: str, tmp_path: Path) -> None:
    for n in (1, 2, 4, 8):
        path = tmp_path / names.format(n)
        path.parent.mkdir(exist_ok=True)
        path.write_text("".join(f"step {k} time {0.5 / n**0.9:.4f} s\n" for k in range(20)), encoding="utf-8")
    answer = ask(str(tmp_path), at={"gpus": 16})
    assert answer.answers[0].value == pytest.approx(0.5 / 16**0.9, rel=0.2)


def test_the_question_is_read_as_a_row(tmp_path: Path) -> None:
    cells = "Servers and GPUs,1S - 1GPU,1S - 2GPU,2S - 2GPU,2S - 4GPU\nTime (s/1 epoch),120.4,64.1,63.2,35.5\n"
    (tmp_path / "runs.csv").write_text(cells, encoding="utf-8")
    answer = ask(str(tmp_path / "runs.csv"), at={"Servers and GPUs": "2S - 8GPU", "colour": "red"})
    assert answer.answers[0].at["GPU"] == 8.0
    assert "asked, and found nowhere in the runs: colour" in answer.notes


def test_a_folder_is_a_run_where_the_names_of_its_files_recur(tmp_path: Path) -> None:
    for gpus in (1, 2, 4):
        folder = tmp_path / f"resnet50_{gpus}_gpu"
        folder.mkdir()
        metrics = [{"name": "examples_per_sec", "value": 100.0 * gpus + n % 3, "global_step": n} for n in range(20)]
        (folder / "metric.log").write_text("\n".join(map(json.dumps, metrics)), encoding="utf-8")
        settings = {"run_parameters": [{"name": "model", "string_value": "resnet50"}], "gpu_info": {"count": 4}}
        (folder / "benchmark.log").write_text(json.dumps(settings), encoding="utf-8")
    read = columns(tmp_path)
    assert read["gpu"] == ["1", "2", "4"]
    assert [float(x) for x in read["examples_per_sec"]] == pytest.approx([101, 201, 401], abs=1.0)


@pytest.mark.parametrize(("name", "rows"), [("result_{}.txt", 6), ("rank{}.txt", 3)])
def test_files_of_a_folder_that_measure_the_same_are_repeats_unless_they_are_of_ranks(
    name: str, rows: int, tmp_path: Path
) -> None:
    for nodes in (1, 2, 4):
        (folder := tmp_path / f"n{nodes}").mkdir()
        (folder / "settings.json").write_text('{"optimizer": {"lr": 0.1}, "hidden": 64}', encoding="utf-8")
        for k in (1, 2):
            log = "".join(f"step {i}: step_time: {8 / nodes + k:.2f} s\n" for i in range(9))
            (folder / name.format(k)).write_text(log, encoding="utf-8")
    read = columns(tmp_path)
    assert len(read["n"]) == rows
    assert "file" not in read
    assert {float(x) for x in read["step_time"]} == {9.0, 5.0, 3.0} | ({10.0, 6.0, 4.0} if rows == 6 else set())


def test_of_the_tables_of_a_document_the_one_that_shows_a_scale_is_read(tmp_path: Path) -> None:
    text = """# Report

| K-shot | Steps | Accuracy |
|--------|-------|----------|
| 1-shot | 10    | 62%      |
| 5-shot | 5     | 87%      |

### Scaling

| GPUs | Throughput (samples/s) | Efficiency |
|------|------------------------|------------|
| 1    | 450                    | 100%       |
| 2    | 855                    | 95%        |
"""
    (tmp_path / "report.md").write_text(text, encoding="utf-8")
    assert columns(tmp_path / "report.md")["GPUs"] == ["1", "2"]


def test_a_table_aligned_by_blanks_in_a_text(tmp_path: Path) -> None:
    text = """Please complete the table below, and do not edit the headings, which a script uses.
For the speed-up, note that the serial time is that of one process.

No. Machines:   Total No. Processes:   Mean time in seconds:
=============   ====================   =====================
1                 1                    8.1
1                 2                    4.2
1                 4                    2.3

The speed-up rose with the number of processes, as one would expect of it.
"""
    (tmp_path / "readme.txt").write_text(text, encoding="utf-8")
    read = columns(tmp_path / "readme.txt")
    assert (read["Total No. Processes"], read["Mean time in seconds"]) == (["1", "2", "4"], ["8.1", "4.2", "2.3"])


LATEX = r"""
\begin{table} \caption{Throughput of ResNet-50 (images/s).}
\begin{tabular}{lrrrr}
\toprule
Framework & 1 GPU & 2 GPUs & 4 GPUs & 8 GPUs \\ \midrule
DDP & 361.2 & \textbf{702.4} & 1\,371 & 2\,640 \\
Other & 355 & 690.1 & 1\,340~$\pm$~2 & 2\,570 \\
\end{tabular} \end{table}
"""


def test_a_table_of_latex_has_its_unit_in_the_caption_and_a_card_for_each_series(tmp_path: Path) -> None:
    (tmp_path / "table.tex").write_text(LATEX, encoding="utf-8")
    read = columns(tmp_path / "table.tex")
    assert read["value"][3:5] == ["2640.0", "355.0"]
    answer = ask(tmp_path / "table.tex", at={"gpus": "16"})
    assert answer.answers[0].unit == "images/s"
    lines = answer.card().splitlines()
    assert lines[1].startswith("of Framework=DDP ")
    assert any(line.startswith("  other series  Other: ") for line in lines)


@cases_in_text("prose, unit")
def test_sentences_above_a_table_state_a_rate(tmp_path: Path, prose: str, unit: str) -> None:
    rows = "| net | 8 GPUs | 16 GPUs |\n|-|-|-|\n| a | 4062 | 3842 |\n| b | 2000 | 1950 |\n"
    (tmp_path / "runs.md").write_text(f"{prose}\n\n{rows}", encoding="utf-8")
    assert understood(tmp_path / "runs.md").units.get("value", "") == unit


def test_a_series_of_one_count_is_not_asked_about_another(tmp_path: Path) -> None:
    rows = ["Serial,1,40", *(f"{kind},{n},{t / n}" for kind, t in (("MPI", 44), ("OpenMP", 42)) for n in (2, 4, 8))]
    (tmp_path / "runs.csv").write_text("\n".join(["Version,Cores,time_s", *rows]), encoding="utf-8")
    (other,) = ask(tmp_path / "runs.csv", at={"Cores": "16"}).others
    assert "Serial" not in other


def test_a_number_behind_a_blank_is_a_fact_where_its_key_is_a_quantity(tmp_path: Path) -> None:
    steps = "".join(f"INFO [Rank 0] epoch 0 step {n} loss 3.1 step_time 0.4{n} s\n" for n in range(5))
    (tmp_path / "job.out").write_text(f"SLURM_NTASKS=8\n{steps}", encoding="utf-8")
    assert columns(tmp_path / "job.out")["step_time"] == ["0.425"]


def test_names_that_are_kinds_stay_series_and_those_that_hold_counts_do_not(tmp_path: Path) -> None:
    rows = ["model,nodes * gpus,samples/s"]
    for name, rate in (("net (mp=1)", 1650.0), ("net (mp=2)", 890.0), ("net (mp=1) with zero", 350.0)):
        rows += [f"{name},{n}*8,{rate * n**0.97:.6g}" for n in (1, 2, 4)]
    (tmp_path / "runs.csv").write_text("\n".join(rows), encoding="utf-8")
    answer = ask(tmp_path / "runs.csv", at={"gpus": "64", "model": "net (mp=1)"})
    assert answer.reading.roles.texts["group"] == "model"
    assert answer.answers[0].value == pytest.approx(1650.0 * 8**0.97, rel=0.03)


def test_a_log_of_nothing_but_step_numbers_is_refused(tmp_path: Path) -> None:
    (tmp_path / "log.txt").write_text("{'epoch': 0.it/s}\n{'epoch': 0.1}\n{'epoch': 0.1}\n{'e", encoding="utf-8")
    with pytest.raises(TableError):
        ask(tmp_path / "log.txt", at={"gpus": 8})


def test_settings_of_which_nothing_is_left_but_numbers_of_steps_are_no_run(tmp_path: Path) -> None:
    (tmp_path / "keys.txt").write_text("world_size ....=step: 1  lit/s\nstep: 2  ttp1  lit/# ")
    assert open_source(tmp_path / "keys.txt").cells


COUNTS = (1, 2, 4, 8)


def seconds(gpus: float) -> float:
    return 100.0 * gpus**-0.95


#: What a table says in a cell or a header → its lines, what is asked, and which quantity.
@cases_in_text("case, lines, question, want")
def test_what_a_cell_or_a_header_says(case: str, lines: Any, question: list[str], want: Any, tmp_path: Path) -> None:
    (tmp_path / "runs.txt").write_text("\n".join(lines) + "\n", encoding="utf-8")
    value = ask(str(tmp_path / "runs.txt"), want, at=dict([question.split("=")])).answers[0]
    assert value.value * {"ms": 1e-3}.get(value.unit, 1.0) == pytest.approx(seconds(16), rel=0.2)


def test_a_number_alone_is_what_its_file_measured(tmp_path: Path) -> None:
    for n in COUNTS:
        (tmp_path / f"gpus={n},batch=64.txt").write_text(f"{1e3 / seconds(n):.2f}\n", encoding="utf-8")
    assert columns(tmp_path)["value"] == [f"{1e3 / seconds(n):.2f}" for n in COUNTS]
    assert ask(str(tmp_path), at={"gpus": 16}).answers[0].value == pytest.approx(1e3 / seconds(16), rel=0.2)


@pytest.mark.parametrize(
    ("text", "key", "expected"),
    [
        # A unit behind a value is no key of the next one.
        ("2 GPUs\nSpeed: 94.7 samples/sec 3057.6 tokens/sec\nSpeed: 90.1 samples/sec 301 tokens/sec", "Speed", {2: 2}),
        # Two counts before one result.
        (
            "On one node (8 GPUs) it is 40 images/s. On two nodes (16 GPUs) it is 41 images/s.",
            "images/s",
            {8: 1, 16: 1},
        ),
        # Counts in words, and the heading of one device.
        ("With one GPU: 45 s/epoch, and with both GPUs: 61 s/epoch", "s/epoch", {1: 1, 2: 1}),
        ("# On 4 GPUs\n### Single GPU\nspeed: 410 img/s\n### 4 GPUs\nspeed: 1502 img/s", "speed", {1: 1, 4: 1}),
    ],
)
def test_results_belong_to_the_counts_beside_them(text: str, key: str, expected: dict[int, int]) -> None:
    """Each result of a sentence or a heading is that of its own devices; no unit is a quantity of its own."""
    runs = runs_of(text)
    assert {int(r.values["GPUs"][-1]): len(r.values[key]) for r in runs} == expected
    assert not any("samples/sec" in run.values for run in runs)


def test_a_few_rows_between_blanks_are_no_table_of_a_log(tmp_path: Path) -> None:
    step = "\n           Step           Time\n          {n:5}       {t:.5f}\n\nDD  step {n} load imb.: force 3.1%\n"
    steps = "".join(step.format(n=n, t=n / 500) for n in range(0, 10_001, 2500))
    settings = "".join(f"   nst{name}             = {n}\n" for n, name in enumerate("abcdefghijklmnopqrst", 7))
    closing = "Part of the total run time spent waiting due to load imbalance: 6.1%\n"
    closing += "               Core t (s)   Wall t (s)        (%)\n       Time:    65022.0      169.3    38400.0\n"
    (tmp_path / "md.log").write_text("Running on 16 nodes with total 384 cores\n" + settings * 3 + steps + closing)
    source = understood(tmp_path / "md.log")
    assert source.runs
    assert source.columns["Wall t (s)"].tolist() == [169.3]
    assert not any("waiting" in name for name in source.columns)


COUNTS, SECONDS = (1, 2, 4, 8), (0.41, 0.42, 0.44, 0.47)


def steps(seconds: float, unit: str = "s") -> str:
    """Return the log of a run with steps of so many seconds, of which the first took longer."""
    return "".join(f"step {k}: loss 3.{k}, step time: {seconds * (1 + 3 * (k < 1)):.5g} {unit}\n" for k in range(12))


@pytest.mark.parametrize("kind", ["gztar", "zip"])
def test_an_archive_is_read_as_its_folder(kind: str, tmp_path: Path) -> None:
    for n, seconds in zip(COUNTS, SECONDS, strict=True):
        (folder := tmp_path / "runs" / f"{n}gpus").mkdir(parents=True)
        (folder / "train.log").write_text(steps(seconds))
    archive = shutil.make_archive(str(tmp_path / "runs"), kind, tmp_path, "runs")
    assert ask(archive, gpus=16).facts.expected.value.value == pytest.approx(0.5, rel=0.06)
    assert understood(archive).name == archive


def test_an_archive_writes_nothing_outside_and_names_itself(tmp_path: Path) -> None:
    with zipfile.ZipFile(tmp_path / "a.zip", "w") as archive:
        archive.writestr("../../outside.csv", "gpus,colour\n1,red\n2,blue\n")
    assert understood(tmp_path / "a.zip").columns["gpus"].tolist() == ["1", "2"]
    assert not (tmp_path.parent / "outside.csv").exists()
    (tmp_path / "b.zip").write_bytes((tmp_path / "a.zip").read_bytes().replace(b"gpus,colour", b"gpus colour"))
    with pytest.raises(TableError, match=r"b\.zip: is an archive that cannot be unpacked \(Bad CRC"):
        understood(tmp_path / "b.zip")


def test_logs_named_by_counts_in_folders_of_settings_are_runs_each(tmp_path: Path) -> None:
    for precision, factor in (("fp32", 2.0), ("fp16", 1.0)):
        (tmp_path / precision).mkdir()
        for n, seconds in zip(COUNTS, SECONDS, strict=True):
            (tmp_path / precision / f"{n}gpus.log").write_text(steps(factor * seconds))
    assert columns(tmp_path)["gpus"] == ["1", "2", "4", "8"] * 2
    answer = ask(str(tmp_path), at={"count": "16 gpus fp32"})
    assert answer.facts.expected.value.value == pytest.approx(1.0, rel=0.06)


def test_what_elapsed_between_two_times_of_day_is_measured(tmp_path: Path) -> None:
    ends = zip(COUNTS, ("11:36:00", "10:48:30", "10:25:00", "10:13:00"), strict=True)
    rows = [f"{n},2026-03-01 10:00:00,2026-03-01 {end}" for n, end in ends]
    (tmp_path / "jobs.csv").write_text("\n".join(["nodes,start,end", *rows]))
    answer = ask(tmp_path / "jobs.csv", nodes=8)
    assert (answer.answers[0].quantity, answer.value) == ("duration", pytest.approx(780.0, rel=0.02))


@pytest.mark.parametrize("batches", [(8, 8), (8, 16)])
def test_a_hint_for_logs_that_say_no_count_leads_to_an_answer(tmp_path: Path, batches: tuple[int, int]) -> None:
    for name, batch, seconds in zip(("alpha", "beta"), batches, (1.5, 2.5), strict=True):
        (tmp_path / f"{name}.log").write_text(f"batch: {batch}\n" + f"duration: {seconds} s\n" * 3, encoding="utf-8")
    with pytest.raises(TableError) as refused:
        ask(tmp_path, at={"nodes": "16"})
    assert "nodes_1.log, nodes_4.log" in str(refused.value.hint)
    for name, count in (("alpha", 1), ("beta", 4)):
        (tmp_path / f"{name}.log").rename(tmp_path / f"nodes_{count}.log")
    assert ask(tmp_path, at={"nodes": "16"}).answers[0].value > 2.0
