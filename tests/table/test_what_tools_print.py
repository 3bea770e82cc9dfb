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
