"""Folders and files as tools write them, made here: each goes to an answer with `genperf PATH --at gpus=64` alone."""

import json
import sys
import zipfile
from contextlib import redirect_stderr, redirect_stdout
from io import StringIO
from pathlib import Path
from typing import Any

import pytest

from genperf.cli.main import run
from genperf.errors import TableError
from genperf.table.opened import open_files, understood

OUT_OF_MEMORY = """[rank0]: Traceback (most recent call last):
[rank0]:   File "/opt/venv/lib/python3.12/site-packages/torch/nn/functional.py", line 3494, in cross_entropy
[rank0]:     return torch._C._nn.cross_entropy_loss(
[rank0]: torch.OutOfMemoryError: CUDA out of memory. Tried to allocate 7.83 GiB. GPU 0 has a total capacity of 79.10 GiB
[rank0]: of which 3.88 GiB is free. Process 2437 has 75.21 GiB memory in use.
E0616 22:31:04.970000 2437 torch/distributed/elastic/multiprocessing/api.py:874] failed (exitcode: 1) local_rank: 0
"""


def titan(gpus: int, rate: float, crashed: bool = False) -> str:
    """What torchtitan prints; its `tps` is that of one device."""
    says = "[rank0]:[titan] 2026-06-16 22:30:{n:02d},735 - root - INFO - "
    lines = [
        says.format(n=1) + "Starting job: Llama 3 8B training",
        says.format(n=2) + f"Building 1-D device mesh with ['dp_shard'], [{gpus}]",
        says.format(n=3) + "CUDA capacity: NVIDIA H100 80GB HBM3 with 79.10GiB memory",
        says.format(n=4) + "Model llama3 8B size: 8,030,261,248 total parameters",
        says.format(n=5) + "CUDA memory usage for model: 3.77GiB(4.77%)",
        says.format(n=6)
        + f"Trainer is initialized with local batch size 1, global batch size {gpus}, sequence length 8192",
        says.format(n=7) + "Training starts at step 1",
    ]
    for n in range(1, 2 if crashed else 21):
        tps = rate * (0.25 if n == 1 else 1.0 + 0.002 * (n % 5))
        step = f"step: {n:2d}  loss: {12 - 0.2 * n:7.4f}  grad_norm:  4.2  memory: 49.66GiB(62.78%)"
        lines.append(
            f"{says.format(n=8 + n)}{step}  tps: {round(tps):,}  tflops: {tps / 17:.2f}  mfu: {tps / 170:.2f}%"
        )
        if n == 10:
            lines.append(says.format(n=50) + "[GC] Peforming periodical GC collection. 0.06 seconds.")
            lines.append(says.format(n=51) + "validate step: 10  loss:  9.9  memory: 51GiB(64%)  tps: 950")
    return "\n".join(lines) + "\n" + (OUT_OF_MEMORY if crashed else "")


def answered(path: Path, *question: str) -> dict[str, Any]:
    """Return what `genperf PATH` answers to a question, `--at gpus=64` where omitted."""
    with redirect_stdout(StringIO()) as printed, redirect_stderr(StringIO()) as errors:
        status = run([str(path), *(question or ("--at", "gpus=64")), "--json"])
    if status:
        raise TableError(errors.getvalue())
    return dict(json.loads(printed.getvalue()))


def first(answer: dict[str, Any]) -> tuple[str, float]:
    one = answer["answers"][0]
    return one["quantity"], one["value"]


def test_a_folder_of_six_torchtitan_logs_with_a_crash(tmp_path: Path) -> None:
    for gpus in (1, 2, 4, 8, 16, 32):
        text = titan(gpus, 7200.0 * gpus**-0.03, crashed=gpus == 1)
        (tmp_path / f"llama3_8b_{gpus}gpus.log").write_text(text, encoding="utf-8")
    answer = answered(tmp_path)
    quantity, value = first(answer)
    assert (quantity, value) == ("tps", pytest.approx(7200.0 * 64**-0.03, rel=0.1))
    assert any("1 without a result (out of memory)" in note for note in answer["notes"])


SHEET = [
    ["Skalierung ResNet-50", "", "", ""],
    ["", "", "", ""],
    ["Anzahl GPUs", "Durchsatz (Bilder/s)", "Speicher (GB)", "Bemerkung"],
    *([gpus, 390.5 * gpus**0.95, 12.25, ""] for gpus in (1, 2, 4, 8, 16)),
]


def test_an_export_of_excel(tmp_path: Path) -> None:
    cells = [[f"{c:.2f}".replace(".", ",") if isinstance(c, float) else str(c) for c in row] for row in SHEET]
    text = "\r\n".join(";".join(row) for row in cells) + "\r\n"
    (tmp_path / "Mappe1.csv").write_bytes(text.encode("cp1252"))
    quantity, value = first(answered(tmp_path / "Mappe1.csv"))
    assert quantity == "Durchsatz (Bilder/s)"
    assert value == pytest.approx(390.5 * 64**0.95, rel=0.1)


def workbook(path: Path, sheets: dict[str, list[list[object]]]) -> None:
    """Write the least that is a workbook: its list of sheets, and their cells in place."""
    space = 'xmlns="http://schemas.openxmlformats.org/spreadsheetml/2006/main"'
    office = "http://schemas.openxmlformats.org/officeDocument/2006/relationships"
    package = "http://schemas.openxmlformats.org/package/2006/relationships"
    listed = "".join(f'<sheet name="{n}" sheetId="{i}" r:id="r{i}"/>' for i, n in enumerate(sheets, 1))
    related = "".join(
        f'<Relationship Id="r{i}" Type="{office}/worksheet" Target="worksheets/sheet{i}.xml"/>'
        for i in range(1, len(sheets) + 1)
    )
    head = '<?xml version="1.0" encoding="UTF-8"?>'
    with zipfile.ZipFile(path, "w") as file:
        file.writestr(
            "xl/workbook.xml", f'{head}<workbook {space} xmlns:r="{office}"><sheets>{listed}</sheets></workbook>'
        )
        file.writestr("xl/_rels/workbook.xml.rels", f'{head}<Relationships xmlns="{package}">{related}</Relationships>')
        root = f'<Relationship Id="r0" Type="{office}/officeDocument" Target="xl/workbook.xml"/>'
        file.writestr("_rels/.rels", f'{head}<Relationships xmlns="{package}">{root}</Relationships>')
        for i, rows in enumerate(sheets.values(), 1):
            lines = []
            for y, row in enumerate(rows, 1):
                cells = [
                    f'<c r="{chr(65 + x)}{y}"><v>{cell}</v></c>'
                    if isinstance(cell, int | float)
                    else f'<c r="{chr(65 + x)}{y}" t="inlineStr"><is><t>{cell}</t></is></c>'
                    for x, cell in enumerate(row)
                    if cell != ""
                ]
                lines.append(f'<row r="{y}">{"".join(cells)}</row>')
            body = f"{head}<worksheet {space}><sheetData>{''.join(lines)}</sheetData></worksheet>"
            file.writestr(f"xl/worksheets/sheet{i}.xml", body)


def test_a_workbook_is_read_where_its_sheet_shows_a_scale(tmp_path: Path) -> None:
    pytest.importorskip("python_calamine")
    about = [["Autor", "Datum"], ["MM", "16.06.2026"]]
    workbook(tmp_path / "runs.xlsx", {"Deckblatt": about, "Messung": SHEET})
    answer = answered(tmp_path / "runs.xlsx")
    assert first(answer)[1] == pytest.approx(390.5 * 64**0.95, rel=0.1)
    assert "sheet Messung read, Deckblatt left out" in str(answer["notes"])


def test_a_question_chooses_the_sheet_that_names_it(tmp_path: Path) -> None:
    pytest.importorskip("python_calamine")
    nodes: list[list[object]] = [["nodes", "Checkpoint (s)"], *([n, 90.0 / n + 3] for n in (1, 2, 4, 8))]
    workbook(tmp_path / "runs.xlsx", {"Messung": SHEET, "Storage": nodes})
    answer = answered(tmp_path / "runs.xlsx", "--at", "nodes=16", "--want", "checkpoint")
    assert first(answer) == ("Checkpoint (s)", pytest.approx(8.6, rel=0.3))


def test_sheets_of_the_same_columns_are_one_table(tmp_path: Path) -> None:
    pytest.importorskip("python_calamine")
    rows: list[list[object]] = [["gpus", "step_s"], [1, 0.5], [2, 0.51]]
    workbook(tmp_path / "runs.xlsx", {"V100": rows, "A100": [rows[0], [1, 0.2], [2, 0.21]]})
    source = understood(open_files([tmp_path / "runs.xlsx"]))
    assert source.columns["sheet"].tolist() == ["V100", "V100", "A100", "A100"]


def test_a_workbook_without_its_reader_says_what_to_install(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    workbook(tmp_path / "runs.xlsx", {"runs": SHEET})
    monkeypatch.setitem(sys.modules, "python_calamine", None)
    with pytest.raises(TableError, match=r"genperf\[excel\]"):
        answered(tmp_path / "runs.xlsx")


def notebook(*outputs: dict[str, object]) -> str:
    """A notebook as Jupyter saves it."""
    notes = {"cell_type": "markdown", "metadata": {}, "source": ["# Scaling\n", "of my runs"]}
    code = {"cell_type": "code", "metadata": {}, "execution_count": 1, "source": ["frame"], "outputs": list(outputs)}
    return json.dumps({"cells": [notes, code], "metadata": {}, "nbformat": 4, "nbformat_minor": 5})


def test_the_table_of_a_notebook(tmp_path: Path) -> None:
    rows = "".join(
        f"<tr><th>{i}</th><td>{n}</td><td>{410 * n**0.97:.1f}</td></tr>" for i, n in enumerate((1, 2, 4, 8, 16))
    )
    head = "<thead><tr><th></th><th>gpus</th><th>img/s</th></tr></thead>"
    html = f'<table border="1" class="dataframe">{head}<tbody>{rows}</tbody></table>'
    shown = {"output_type": "execute_result", "data": {"text/html": [html], "text/plain": ["   gpus  img/s"]}}
    warning = {"output_type": "stream", "name": "stderr", "text": ["UserWarning: figure layout has changed\n"]}
    (tmp_path / "scaling.ipynb").write_text(notebook(warning, shown), encoding="utf-8")
    assert first(answered(tmp_path / "scaling.ipynb"))[1] == pytest.approx(410 * 64**0.97, rel=0.1)


def test_the_printed_text_of_a_notebook(tmp_path: Path) -> None:
    text = ["training ...\n", *(f"gpus = {n}, step time: {0.25 + 0.01 * n**0.5:.4f} s\n" for n in (1, 2, 4, 8, 16))]
    printed: dict[str, object] = {"output_type": "stream", "name": "stdout", "text": text}
    (tmp_path / "scaling.ipynb").write_text(notebook(printed), encoding="utf-8")
    assert first(answered(tmp_path / "scaling.ipynb"))[1] == pytest.approx(0.33, rel=0.15)


def test_a_sentence_with_commas_above_columns_parted_by_blanks(tmp_path: Path) -> None:
    text = "We trained ResNet-50 on 1, 2, 4 and 8 V100s.\n\nGPUs    sec/epoch    speedup\n"
    notes = tmp_path / "notes.txt"
    notes.write_text(text + "".join(f"{n}       {2190 / n**0.94:.0f}         {n**0.94:.2f}x\n" for n in (1, 2, 4, 8)))
    columns = understood(notes).columns
    assert [*columns] == ["GPUs", "sec/epoch", "speedup"]
    assert [*map(int, columns["GPUs"])] == [1, 2, 4, 8]


def test_files_that_hold_one_quantity_have_its_name(tmp_path: Path) -> None:
    for number, n in enumerate((1, 2, 4, 8)):
        for place, text in {
            "params/num_gpus": str(n),
            "params/lr": "0.001",
            "metrics/samples_per_sec": "".join(f"17092000{s:05d} {100 * n + s % 2} {s}\n" for s in range(10)),
            "metrics/loss": "".join(f"17092000{s:05d} {2 - s / 10} {s}\n" for s in range(10)),
        }.items():
            (path := tmp_path / f"run{number}f" / place).parent.mkdir(parents=True, exist_ok=True)
            path.write_text(text)
    columns = understood(tmp_path).columns
    assert [float(text) for text in columns["num_gpus"]] == [1, 2, 4, 8]
    assert columns["samples_per_sec"].tolist() == [101, 201, 401, 801]


def test_settings_with_descriptions_and_names_of_several_words(tmp_path: Path) -> None:
    for n in (8, 16, 32):
        (folder := tmp_path / f"sft_world_size_{n}").mkdir()
        (folder / "summary.json").write_text(
            f'{{"perf/tokens_per_sec": {n * 990}, "batch": {{"desc": null, "value": 4}}}}'
        )
    columns = understood(tmp_path).columns
    assert columns["world_size"].tolist() == [16, 32, 8]
    assert columns["batch"].tolist() == ["4", "4", "4"]
