"""The next run that `suggest` and `ask` propose: one that a cluster can make, and one wherever the verdict is blind."""

import json
from pathlib import Path

import pytest
from helpers import Shell, shell_of


@pytest.fixture
def shell(capsys: pytest.CaptureFixture[str], tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Shell:
    monkeypatch.chdir(tmp_path)
    return shell_of(capsys)


def test_runs_on_several_nodes_fill_them(shell: Shell) -> None:
    """12 gpus a node: on the way to 1024 gpus lie 192, 384 and 768, and no 512 on 43 nodes."""
    rows = "".join(f"{12 * m},{m},12,8,{2 + 0.05 * k}\n" for k, m in enumerate((1, 2, 4, 8)))
    Path("runs.csv").write_text("gpus,nodes,gpus_per_node,batch_per_gpu,step_time_s\n" + rows)
    assert shell("fit", "runs.csv", "-o", "m.json", "--quiet")[0] == 0
    proposed = json.loads(shell("suggest", "m.json", "--target", "gpus=1024", "--json")[1])["candidates"]
    assert {(row["gpus"], row["nodes"]) for row in proposed} == {(192, 16), (384, 32), (768, 64)}
    sentence = shell("ask", "--full", "runs.csv", "--at", "gpus=1024")[1].splitlines()[-1]
    assert any(f"Measure gpus={12 * m}, nodes={m}:" in sentence for m in (16, 32, 64)), sentence


def test_explain_and_suggest_take_a_group_from_the_configuration(shell: Shell) -> None:
    rows = [f"{name},{n},{work / n + 0.2}" for name, work in (("a", 1.0), ("b", 2.0)) for n in (1, 2, 4, 8)]
    Path("groups.csv").write_text("\n".join(["framework,gpus,step_time_s", *rows]))
    fit = ("--time", "step_time_s", "--extrinsic", "gpus", "--group", "framework", "--model", "amdahl")
    assert shell("fit", "groups.csv", *fit, "-o", "groups.json")[0] == 0
    for command in (("suggest", "groups.json", "--target", "gpus=64"), ("explain", "groups.json", "--at", "gpus=64")):
        status, out, errors = shell(*command, command[-2], "framework=b")
        assert (status, out) == shell(*command, "--group", "b")[:2], errors
        assert shell(*command)[0] == 1
