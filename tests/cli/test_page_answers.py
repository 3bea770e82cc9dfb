"""The page answers with names of the field, says what is not known, and puts counts side by side."""

import json
import re
from pathlib import Path

from helpers import Shell


def sheet(shell: Shell, *options: str) -> dict:
    assert shell("report", "runs.csv", *options, "-o", "page.html", "--quiet")[0] == 0
    data = re.search(r'<script type="application/json" id="data">(.*?)</script>', Path("page.html").read_text(), re.S)
    return json.loads(data[1])["groups"][0]["sheet"]


def cards(shell: Shell, *options: str) -> dict[str, dict]:
    return {card["question"]: card for card in sheet(shell, *options)["answers"]}


def test_a_term_without_a_name_is_no_answer(shell: Shell) -> None:
    """T = 0.01·batch·layers^0.9 + 0.05·log2(gpus): the terms are only numbered, so the page shows what doublings do."""
    rows = [(g, b, n) for g in (1, 2, 4, 8) for b in (8, 16, 32) for n in (12, 24, 48)]
    text = "".join(f"{g},{b},{n},{0.01 * b * n**0.9 + 0.05 * g**0.5}\n" for g, b, n in rows)
    Path("runs.csv").write_text("gpus,batch,num_layers,s\n" + text)
    found = cards(shell, "--time", "s", "--extrinsic", "gpus", "--intrinsic", "batch,num_layers")
    card = found["What takes the time?"]
    assert "term" not in card["short"] + card["sentences"][0]
    assert re.match(r"doubling (batch|num_layers): x [\d.]+", card["short"])


def test_a_knee_beyond_the_measured_counts_is_not_known_and_counts_stand_side_by_side(shell: Shell) -> None:
    rows = "".join(f"{n},{100 * n * 0.99**k}\n" for k, n in enumerate((1, 2, 4, 8, 16)))
    Path("runs.csv").write_text("gpus,images_per_s\n" + rows)
    roles = ("--throughput", "images_per_s", "--extrinsic", "gpus", "--scaling", "weak", "--target", "gpus=64")
    found = cards(shell, *roles, "--price", "2.5/h")
    knee, pays = found["Where is the knee?"], found["Does growing pay?"]
    assert knee["short"] == "none found"
    assert "Nothing above 16 was measured." in knee["sentences"]
    assert "The price is 2.5 per gpu-hour" in pays["sentences"][0]
    cost = r"A million images cost [\d.,]+ at 16 gpus and [\d.,]+ at 64 \(90 %: [\d.,]+ to [\d.,]+\)"
    assert re.search(cost, pays["sentences"][0])
    assert pays["verdict"]


def test_the_first_screen_says_whether_to_buy(shell: Shell) -> None:
    """A decision of at most three numbers, the card with the cost in the currency that was given, the ladder."""
    rows = "".join(f"{n},{100 * n * 0.99**k}\n" for k, n in enumerate((1, 2, 4, 8, 16)))
    Path("runs.csv").write_text("gpus,images_per_s\n" + rows)
    roles = ("--throughput", "images_per_s", "--extrinsic", "gpus", "--scaling", "weak", "--target")
    near = sheet(shell, *roles, "gpus=32", "--price", "2.5€/h")
    assert re.fullmatch(
        r"Growing to 32 gpus pays: expect [\d,]+ images/s instead of 1,540\.", near["glance"]["decision"]
    )
    cost = {name: value for name, value, *_ in near["glance"]["rows"]}["cost"]
    assert re.fullmatch(r"[\d.]+ € per M images", cost)
    head, steps = near["ladder"]
    assert head[:2] == ["gpus", "based on"]
    assert [step[:2] for step in steps[-2:]] == [["16", "1 run"], ["32", f"forecast: {near['summary']['verdict']}"]]
    planned = sheet(shell, *roles[:-1], "--price", "2.5€/h", "--samples", "1B", "--deadline", "10d")
    assert re.fullmatch(
        r"Take \d+ gpus, the cheapest: the whole job takes [\d.]+ d and [\d,]+ €\.", planned["glance"]["decision"]
    )
    far = sheet(shell, *roles, "gpus=1024")["glance"]
    assert re.fullmatch(r"Do not decide on 1024 gpus yet: measure \d+ gpus first\.", far["decision"])


def test_the_page_assumes_what_ask_assumes_where_nothing_shows_the_work(shell: Shell) -> None:
    Path("runs.csv").write_text("gpus,step_s\n1,1.0\n2,1.1\n4,1.21\n8,1.33\n")
    _, asked, _ = shell("ask", "runs.csv", "--at", "gpus=16", "--full")
    assumption, efficiency = re.search(
        r"(Nothing shows the work of a step, [^.]+\.) The efficiency is (\d+ %)", asked
    ).groups()
    band = cards(shell, "--at", "gpus=16")["How well does it scale?"]
    assert band["sentences"][0] == assumption
    assert band["short"] == f"{efficiency} at 16 gpus"
