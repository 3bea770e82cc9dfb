"""The page answers with names of the field, says what is not known, and puts counts side by side."""

import json
import re
from pathlib import Path

from helpers import Shell


def sheet(shell: Shell, *options: str) -> dict:
    assert shell("report", "runs.csv", *options, "-o", "page.html", "--quiet")[0] == 0
    data = re.search(r'<script type="application/json" id="data">(.*?)</script>', Path("page.html").read_text(), re.S)
    return json.loads(data[1])["groups"][0]["sheet"]


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
