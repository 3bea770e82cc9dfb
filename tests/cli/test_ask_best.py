"""Of scales of which more may do less (threads, users, environments), `ask` reports the best count."""

import json
from pathlib import Path

from helpers import Shell, done

#: Twice the threads do twice the work, less what they wait for each other.
SECONDS = {1: 100.0, 2: 52.0, 4: 29.0, 8: 20.0, 16: 19.5, 32: 23.0}


def asked(shell: Shell, head: str, rows: dict[int, float]) -> dict[str, dict[str, object]]:
    Path("runs.csv").write_text(head + "\n" + "".join(f"{n},{value}\n" for n, value in rows.items()))
    out = done(shell, "ask", "runs.csv", "--json")
    return json.loads(out)


def test_a_best_count_inside_the_data_is_reported_with_its_uncertainty(shell: Shell) -> None:
    answer = asked(shell, "threads,seconds", SECONDS)
    best = answer["best"]
    assert best["count"] == 16
    assert best["lower"] <= 16 <= best["upper"]  # type: ignore[operator]
    assert str(answer["sentences"]["best"]).startswith("A job gets slower beyond 16 threads (90 %: ")


def test_a_best_count_beyond_the_data_has_a_chance(shell: Shell) -> None:
    answer = asked(shell, "threads,seconds", {n: s for n, s in SECONDS.items() if n <= 8})
    best = answer["best"]
    # 16 threads are the best; a model that has seen eight takes this for possible.
    assert best["lower"] <= 16  # type: ignore[operator]
    assert best["upper"] is None or best["upper"] >= 16  # type: ignore[operator]
    assert best["upto"] == 32
    assert answer["answers"][0]["lower"] < 19.5 < answer["answers"][0]["upper"]  # type: ignore[index]


def test_nothing_is_reported_where_more_help(shell: Shell) -> None:
    answer = asked(shell, "gpus,images_per_s", {1: 400.0, 2: 796.0, 4: 1588.0, 8: 3170.0})
    assert answer["best"]["count"] is None
    assert "best" not in answer["sentences"]
