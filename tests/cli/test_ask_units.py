"""What `ask` says of units, prices and multiples that headers write in several languages."""

import re

import pytest
from helpers import Shell, cases_in_text, csv_of, told

#: 11,540 tokens a second, beside a decimal comma.
COMMAS = """gpus;Zeit/Iteration;Durchsatz
8;1,42 s;11.540 Tokens/s
16;1,46 s;22.440 Tokens/s
32;1,51 s;43.400 Tokens/s
"""
NODES, MINUTES = (1, 2, 4, 8), (97.5, 50.1, 26.0, 14.2)


@pytest.mark.parametrize(
    "price",
    ["Kosten (€/h)", "Coût horaire (€)", "Stundenpreis (€)", "total_price_usd_hr", "成本(元/小时)", "Rate ($/hr)"],
)
def test_a_price_is_none_of_the_speed(shell: Shell, price: str) -> None:
    """16 nodes take 8.4 min for an epoch at 28.5 an hour each: 64 together."""
    rows = [(n, minutes, 28.5 * n) for n, minutes in zip(NODES, MINUTES, strict=True)]
    out = told(shell, csv_of(f"nodes,epoch (min),{price}", rows))
    assert out.splitlines()[2].startswith("epoch ")
    assert re.search("^cost +64", out, re.MULTILINE)
    assert "throughput" not in out


def test_a_price_in_thousands_is_written_out(shell: Shell) -> None:
    rows = [(n, minutes, 0.0285 * n) for n, minutes in zip(NODES, MINUTES, strict=True)]
    assert re.search(r"64(\.\d)? € an epoch", told(shell, csv_of("nodes,epoch (min),Kosten (k€/h)", rows)))


@pytest.mark.parametrize(
    ("table", "question", "said"),
    [
        (COMMAS, ("--full",), "points between thousands removed from 'Durchsatz'"),
        (csv_of("nodes,runtime (weeks)", zip(NODES, MINUTES, strict=True)), ("--full",), "is not known"),
        (csv_of("nodes,Dauer pro Epoche [Std.]", zip(NODES, MINUTES, strict=True)), (), "        8.4"),
        (csv_of("nodes,s per 100 steps", zip(NODES, (50, 53, 55, 57), strict=True)), (), "efficiency, weak"),
        (csv_of("gpus,Mio. Tokens/s", zip(NODES, (0.54, 1.06, 2.08, 4.0), strict=True)), (), " M tokens/s"),
        # The time of one sample is that of all workers where it falls, and may be that of one of them elsewhere.
        (csv_of("gpus,time per sample (ms)", zip(NODES, (3.2, 1.65, 0.85, 0.44), strict=True)), (), " samples/s"),
        (csv_of("gpus,time per sample (ms)", zip(NODES, (3.2, 3.25, 3.4, 3.5), strict=True)), (), " ms/sample"),
    ],
    ids=["points part thousands", "weeks", "hours", "of 100 steps", "millions", "of all", "of one"],
)  # fmt: skip
def test_what_a_header_says_of_its_numbers(shell: Shell, table: str, question: tuple[str, ...], said: str) -> None:
    assert said in told(shell, table, *question)


@cases_in_text("header, first, growth, row")
def test_multiples_and_money_of_a_header_are_told(
    shell: Shell, header: str, first: float, growth: float, row: str
) -> None:
    rows = [(n, 2 * n, first * n**growth) for n in (1, 2, 4, 8)]
    assert re.search(f" {row} ", told(shell, csv_of(f"gpus,price (CHF/h),{header}", rows), "--at", "gpus=8"))


def test_as_many_epochs_as_are_asked_about_are_told_in_all(shell: Shell) -> None:
    rows = [(n, e, e * (4.2 / n + 0.05)) for n, e in ((4, 10), (8, 10), (16, 12), (32, 20), (64, 40))]
    out = told(shell, csv_of("gpus,epochs,train time (h)", rows), "--at", "gpus=64,epochs=80")
    assert re.search(r"^train time +9\.\d+ h", out, re.MULTILINE)


def test_cores_of_ranks_and_their_threads_are_asked_for(shell: Shell) -> None:
    rows = [(r, t, 900 / (r * t) + 1.2) for r in (4, 8, 16, 32) for t in (1, 4)]
    out = told(shell, csv_of("MPI ranks,OMP threads,time (s)", rows), "--at", "cores=256")
    assert re.search(r"^job +4\.\d+ s", out, re.MULTILINE)
