"""A proposal for machine time: speed-up, efficiency and node-hours, measured and extrapolated apart."""

import io
import re
from pathlib import Path

import pandas as pd
import pytest
from helpers import Shell, done, refusal

#: Each doubling inside a node of eight costs a twentieth of a step, the second node a fifth.
RUNS = "gpus,nodes,images_per_s\n1,1,100\n2,1,190\n4,1,364\n8,1,696\n16,2,1200\n"
TITLE = "Runs of $5_a & 50%"
FOLDER = {"runs.csv": RUNS}


def proposal(shell: Shell, kind: str, *options: str) -> str:
    done(shell, "report", "runs.csv", "--proposal", *options, "-o", f"page.{kind}")
    return Path(f"page.{kind}").read_text(encoding="utf-8")


def rows(shell: Shell, *options: str) -> pd.DataFrame:
    return pd.read_csv(io.StringIO(proposal(shell, "csv", *options))).set_index("gpus")


def test_measured_counts_have_the_measured_speed_up(shell: Shell) -> None:
    table = rows(shell, "--samples", "36M")
    assert list(table["kind"]) == ["measured"] * 5 + ["extrapolated"] * 2
    assert table.loc[1, "efficiency"] == 1.0
    assert table["images/s"][:5].tolist() == pytest.approx([100, 190, 364, 696, 1200])
    assert table["speedup"][:5].tolist() == pytest.approx([1, 1.9, 3.64, 6.96, 12.0])
    assert table.loc[16, "efficiency"] == pytest.approx(0.75)
    for name in ("speedup", "efficiency", "hours", "machine_hours"):
        assert (table[f"{name}_lower"] <= table[f"{name}_upper"]).all()
    assert (table["efficiency_upper"] - table["efficiency_lower"]).loc[64] > 0.05
    # 36 million images at 1200/s take 8.3 hours on two nodes, and a node is paid for whole.
    assert table.loc[16, "hours"] == pytest.approx(36e6 / 1200 / 3600, rel=0.05)
    assert table.loc[16, "machine_hours"] == pytest.approx(2 * table.loc[16, "hours"])
    assert table.loc[4, "machine_hours"] == pytest.approx(table.loc[4, "hours"])
    by_gpu = rows(shell, "--samples", "36M", "--per", "gpus")
    assert by_gpu.loc[16, "machine_hours"] == pytest.approx(16 * table.loc[16, "hours"])
    assert "hours" not in rows(shell)


def test_the_limit_of_the_efficiency_decides_what_is_requested(shell: Shell) -> None:
    text = proposal(shell, "html", "--samples", "36M", "--efficiency", "0.85")
    assert "Measured up to 16 gpus: 8 is the largest with an efficiency of at least 85 %." in text
    assert re.search(
        r"Request: [\d.]+ \([\d.]+ to [\d.]+\) node-hours for 36 million images at 8 gpus \(measured, ok\)", text
    )
    assert "at 64 gpus (extrapolated, " in proposal(shell, "html", "--target", "gpus=64", "--samples", "36M")
    at_limit = proposal(shell, "html", "--efficiency", "0.749", "--target", "gpus=16")
    assert "Efficiency at 16 gpus (measured, ok): 75 %" in at_limit


def test_the_three_formats_have_the_same_numbers(shell: Shell) -> None:
    options = ("--samples", "36M", "--title", TITLE)
    page, latex = proposal(shell, "html", *options), proposal(shell, "tex", *options)
    table = rows(shell, *options)
    for number, row in table.iterrows():
        count, cell = f"{float(str(number)):g}", f"{100 * row['efficiency']:.0f}"
        assert re.search(rf"<td>{count}</td><td>[^<]*</td><td>[\d,]+</td><td>[\d.]+</td><td>{cell} %", page), count
        assert re.search(rf"^{count} & [^&]* & [\d,]+ & [\d.]+ & {cell} \\%", latex, re.MULTILINE), count
    assert r"Runs of \$5\_a \& 50\%" in latex
    assert "<h1>Runs of $5_a &amp; 50%</h1>" in page
    assert latex.count("{") == latex.count("}")
    assert latex.count(r"\begin{") == latex.count(r"\end{")
    assert "<script" not in page
    assert "http" not in page.replace("http-equiv", "")
    assert proposal(shell, "html", *options) == page


def test_an_unknown_work_is_assumed_and_told(shell: Shell) -> None:
    Path("runs.csv").write_text("gpus,step_s\n1,0.2\n2,0.21\n4,0.22\n")
    told = "Nothing shows the work of a step, and each device is taken to keep its own."
    assert told in proposal(shell, "html")
    assert told not in proposal(shell, "html", "--scaling", "weak")


def test_groups_have_a_proposal_each(shell: Shell) -> None:
    Path("runs.csv").write_text(
        "net,gpus,images_per_s\n" + "".join(f"{n},{g},{100 * g}\n" for n in "ab" for g in (1, 2, 4))
    )
    roles = ["--throughput", "images_per_s", "--extrinsic", "gpus", "--work", "gpus", "--group", "net"]
    errors = refusal(shell, "report", "runs.csv", *roles, "--proposal")
    assert "a proposal is about one group" in errors
    assert "--only a" in errors
    assert shell("report", "runs.csv", *roles, "--proposal", "--only", "b", "-o", "b.html")[0] == 0
