"""Runs as people keep them: logs, folders of a file a run, JSON with its results inside, each made here."""

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


def test_the_question_is_read_as_a_row(tmp_path: Path) -> None:
    cells = "Servers and GPUs,1S - 1GPU,1S - 2GPU,2S - 2GPU,2S - 4GPU\nTime (s/1 epoch),120.4,64.1,63.2,35.5\n"
    (tmp_path / "runs.csv").write_text(cells, encoding="utf-8")
    answer = ask(str(tmp_path / "runs.csv"), at={"Servers and GPUs": "2S - 8GPU", "colour": "red"})
    assert answer.answers[0].at["GPU"] == 8.0
    assert "asked, and found nowhere in the runs: colour" in answer.notes


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


@cases_in_text("text, key, expected")
def test_results_belong_to_the_counts_beside_them(text: str, key: str, expected: dict[str, int]) -> None:
    """Each result of a sentence or a heading is that of its own devices; no unit is a quantity of its own."""
    runs = runs_of(text)
    assert {f"{r.values['GPUs'][-1]:g}": len(r.values[key]) for r in runs} == expected
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
