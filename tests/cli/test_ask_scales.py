"""What `ask` knows of a scale: a best count, one node and eight in mind, and sizes in the place of a count."""

import pytest
from helpers import Shell, asked, csv_of

# --- of scales of which more may do less (threads, users, environments) the best count -------------------------------

#: Twice the threads do twice the work, less what they wait for each other.
SECONDS = {1: 100.0, 2: 52.0, 4: 29.0, 8: 20.0, 16: 19.5, 32: 23.0}


def test_a_best_count_inside_the_data_is_reported_with_its_uncertainty(shell: Shell) -> None:
    answer = asked(shell, csv_of("threads,seconds", SECONDS.items()), words=True)
    best = answer["best"]
    assert best["count"] == 16
    assert best["lower"] <= 16 <= best["upper"]
    assert answer["sentences"]["best"].startswith("A job gets slower beyond 16 threads (90 %: ")


# --- not to know the nodes is no reason for a narrower interval ------------------------------------------------------

NODE = ("--hint", "devices per node=8")


def on_one_node(shell: Shell, gpus: int, *hints: str) -> dict:
    text = "gpus,batch_per_gpu,step_s\n1,64,0.2113\n2,64,0.2161\n4,64,0.2188\n8,64,0.2240\n"
    return asked(shell, text, "--at", f"gpus={gpus}", *hints, words=True)


def test_the_interval_is_no_narrower_where_nobody_counts_the_nodes(shell: Shell) -> None:
    unknown, known = on_one_node(shell, 64), on_one_node(shell, 64, *NODE)
    # With eight devices of a node the step to the second is certain, and without them its place is not: measured 6 %.
    assert unknown["upper"] / unknown["lower"] >= known["upper"] / known["lower"] * 0.9
    assert "No column counts the nodes" in unknown["sentences"]["nodes"]
    assert '--hint "devices per node=8"' in unknown["sentences"]["nodes"]
    assert "nodes" not in known["sentences"]


# --- a table that varies a batch or another size of the program alone grows with the size, not along a count ---------

BATCHES = (1, 2, 4, 8, 16, 32)


def step(batch: float) -> float:
    return 0.02 + 0.004 * batch


#: The rows' header and cells, the quantity, and what it is at a batch.
CASES = {
    "time": ("gpus,batch_size,step_s", lambda b: (8, b, f"{step(b):.5f}"), step),
    "throughput": ("batch_size,images_per_s", lambda b: (b, f"{b / step(b):.2f}"), lambda b: b / step(b)),
    "memory": ("batch_size,memory_mb", lambda b: (b, 1800 + 55 * b), lambda b: 1800 + 55 * b),
}


@pytest.mark.parametrize("quantity", CASES)
def test_twice_the_largest_batch_is_near_the_law(shell: Shell, quantity: str) -> None:
    header, row, law = CASES[quantity]
    table = csv_of(header, map(row, BATCHES))
    (answer,) = asked(shell, table, "--at", "batch_size=64")["answers"]
    assert answer["value"] == pytest.approx(law(64), rel=0.1)
    assert answer["lower"] <= law(64) <= answer["upper"]
    # Without a question it is the next doubling.
    assert asked(shell, table)["answers"][0]["value"] == pytest.approx(answer["value"])
