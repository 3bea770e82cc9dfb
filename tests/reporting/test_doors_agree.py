"""What the page, the proposal and the commands report of one question is the same, and no more than the data decide."""

import json
import re
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from helpers import Shell, done

#: A step of 0.3 s whose exchange between nodes grows with their logarithm, in tokens per second of 8192 a device.
NODES = "nodes,gpus,tokens_per_sec\n" + "".join(
    f"{max(1, gpus // 8)},{gpus},{8192 * gpus / (0.3 + 0.04 * (gpus > 8) + 0.05 * np.log2(max(1, gpus / 8))):.6g}\n"
    for gpus in (1, 2, 4, 8, 16, 32, 64)
)
#: The phases of a step with their sum.
PHASES = "gpus,batch_per_gpu,forward_s,backward_s,step_time_s\n" + "".join(
    f"{gpus},64,0.1,{0.2 + 0.02 * k:.3g},{0.3 + 0.02 * k:.3g}\n" for k, gpus in enumerate((1, 2, 4, 8))
)
#: Strong scaling of a job in hours, and the same cut short by a run that failed.
HOURS = "nodes,total_hours\n1,42.46\n2,21.4\n4,11.4\n8,6.519\n"
FAILED = "nodes,status,step_time_s,batch_per_node\n" + "".join(
    f"{nodes},{'ok' if seconds else 'failed'},{seconds or ''},64\n"
    for nodes, seconds in ((1, 0.598), (2, 0.628), (4, 0.65), (8, 0.693), (16, 0.707), (32, None))
)
FOLDER = {"nodes.csv": NODES, "phases.csv": PHASES, "hours.csv": HOURS, "failed.csv": FAILED}


def sheet_of(shell: Shell, *options: str) -> dict[str, Any]:
    done(shell, "report", *options, "-o", "page.html")
    text = Path("page.html").read_text(encoding="utf-8")
    data = re.search(r'<script type="application/json" id="data">(.*?)</script>', text, re.S)
    assert data is not None
    return dict(json.loads(data[1])["groups"][0]["sheet"])


def test_the_cost_of_a_job_step_by_step_is_that_of_the_first_screen(shell: Shell) -> None:
    """The price is that of a gpu: a table that also counts nodes of eight once had an eighth of it."""
    sheet = sheet_of(shell, "nodes.csv", "--at", "gpus=128", "--price", "2.5/h", "--samples", "300B")
    rows = {name: value for name, value, *_ in sheet["glance"]["rows"]}
    head, lines = sheet["ladder"]
    cost = head.index("cost (90 %)")
    assert lines[-1][cost].startswith(rows["job's cost"].split(" ")[0])
    # 300 billion tokens by one device that does 27,300 a second.
    assert float(lines[0][cost].split(" ")[0].replace(",", "")) == pytest.approx(300e9 / 27307 / 3600 * 2.5, rel=0.02)


def test_work_on_a_named_machine_is_answered_for_that_machine(shell: Shell) -> None:
    sheet = sheet_of(shell, "nodes.csv", "--at", "gpus=128", "--price", "2.5/h", "--samples", "300B")
    (plan,) = (answer for answer in sheet["answers"] if answer["question"] == "What does the work take?")
    assert plan["short"].startswith("128 gpus, ")
    assert "cheapest" not in plan["sentences"][0]


def test_phases_of_a_step_are_no_variants_to_compare(shell: Shell) -> None:
    status, _, errors = shell("compare", "phases.csv", "--at", "gpus=16")
    assert (status, "no factor of the model has levels to compare" in errors) == (1, True)


def test_a_topic_of_which_nothing_is_known_is_not_answered_by_another(shell: Shell) -> None:
    """Of jobs in hours no published series is like them; the forecast is blind."""
    assert "nothing of what is asked is known" in shell("ask", "hours.csv", "--at", "nodes=32", "--normal")[2]


def test_what_a_run_costs_is_named_after_its_machines_and_its_time(shell: Shell) -> None:
    text = done(shell, "suggest", "hours.csv", "--at", "nodes=32")
    assert "the best for its cost (node-seconds of a job) first" in text
    assert re.search(r"time \(h\).*\n +16 +4\.\d", text)
    assert re.search(r"time \(h\)", done(shell, "optimize", "hours.csv", "--over", "nodes=8:32:*2"))
    (head, lines) = sheet_of(shell, "hours.csv", "--at", "nodes=16")["ladder"]
    assert (head[2], lines[0][2]) == ("time (h)", "42.5")


def test_strong_scaling_has_one_turning_point_in_the_words_of_its_time(shell: Shell) -> None:
    text = done(shell, "explain", "hours.csv", "--knee", "0.5")
    assert "a job likely gets slower beyond " in text
    # What is undecided of the largest term is left out, as on the page.
    assert "largest term" not in text
    assert "throughput" not in text.partition("scaling along")[2]
    assert "  time" not in done(shell, "explain", "nodes.csv", "--knee", "0.5").partition("scaling along")[2]


def test_a_count_at_which_runs_failed_is_no_request(shell: Shell) -> None:
    assert sheet_of(shell, "failed.csv", "--at", "nodes=32")["ladder"][1][-1][1] == "forecast: may fail"
    done(shell, "report", "failed.csv", "--proposal", "-o", "page.html")
    text = Path("page.html").read_text(encoding="utf-8")
    assert "Efficiency at 16 nodes (measured, ok)" in text
    # Nobody asked for machine time.
    assert "node-hours" not in text
    _, _, notes = shell("compare", "failed.csv", "--at", "nodes=32", "--or", "nodes=16")
    assert "the given configuration: such a run may fail" in notes
    _, _, notes = shell("optimize", "failed.csv", "--over", "nodes=1:32:*2")
    assert "1 configuration left out" in notes
    assert "uncertain" not in notes


def test_a_run_of_the_configuration_itself_shows_its_bottlenecks(shell: Shell) -> None:
    assert "unless" not in done(shell, "suggest", "hours.csv", "--at", "nodes=16")
    assert "unless a new bottleneck appears" in done(shell, "suggest", "hours.csv", "--at", "nodes=32")
