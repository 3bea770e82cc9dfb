"""The commands of docs/transformers.md end with status 0, and answer their questions."""

import re
import shlex
from pathlib import Path

import pytest
from helpers import run

PAGE = (Path(__file__).parents[2] / "docs" / "transformers.md").read_text(encoding="utf-8")


def blocks(language: str) -> list[str]:
    return re.findall(rf"```{language}\n(.*?)```", PAGE, re.DOTALL)


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("transformers")
    (folder / "runs.csv").write_text(blocks("csv")[0])
    return folder


def test_every_command_answers(
    folder: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.chdir(folder)
    answers = [
        r"(?s)held-out error .*memory: auto",
        r"(?s)inside a node of 8 devices|least time of [\d,]+ feasible",
        r"wrote gpt.html",
        r"(?s)tokens_per_s .*days .*training_cost .*mfu",
        r"(?s)10B tokens take .* and cost [\d,]+; MFU is \d+ %.*What takes the time at",
        r"'[\w ]+' makes",
    ]
    for text, answer in zip(blocks("sh"), answers, strict=True):
        name, *arguments = shlex.split(text.replace("\\\n", " "))
        assert name == "genperf"
        assert run(arguments) == 0
        captured = capsys.readouterr()
        assert re.search(answer, captured.out + captured.err)
