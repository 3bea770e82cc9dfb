"""The unit, the multiple and the amount that a header writes, in several languages."""

import pytest
from helpers import cases_in_text

from genperf.panel.evidence import MONEY, role_by_words
from genperf.vocabulary.headers import Header, header_of, in_multiples


@cases_in_text("column, unit")
def test_a_unit_in_brackets_is_read(column: str, unit: str) -> None:
    assert (header_of(column).kind, header_of(column).unit) == ("time", unit)


@cases_in_text("column, kind, of")
def test_what_was_measured_is_read_at_the_end_of_a_compound(column: str, kind: str, of: str) -> None:
    assert (header_of(column).kind, header_of(column).of) == (kind, of)


@cases_in_text("column")
def test_a_unit_that_is_not_known_is_none_of_seconds(column: str) -> None:
    assert header_of(column) == Header()


@pytest.mark.parametrize(
    "column", ["time (ours)", "step time (DDP)", "Step.time..s.", "time (tp)", "Time (avg.)", "Runtime (ResNet-50)"]
)
def test_a_variant_in_brackets_leaves_a_time_one(column: str) -> None:
    assert header_of(column).kind == "time"


def test_std_are_hours_behind_a_german_word_and_a_deviation_elsewhere() -> None:
    assert role_by_words("Zeit (Std)") is None
    for column in ("time (std)", "step time (Std.)", "Standardabweichung (s)", "écart-type", "standard deviation (ms)"):
        role = role_by_words(column)
        assert role is not None
        assert role[0] == "spread"


@pytest.mark.parametrize(
    ("column", "counted"),
    [
        *((f"{word} Tokens/s", "M tokens") for word in ("Mio.", "Millionen", "millones de", "млн", "10^6", "1000000")),
        *((f"Tokens/s ({word})", "M tokens") for word in ("Mio.", "in Mio.", "x1e6", "millones", "M")),
        *((f"{word} images/s", "k images") for word in ("Tsd.", "milliers d'", "тыс.", "1000", "1,000", "miles de")),
        *((f"images/s ({word})", "k images") for word in ("in Tausend", "milliers", "miles", "x1000", "/ 1000", "k")),
        ("Mrd. Tokens/s", "B tokens"),
        ("tokens/s in millions", "M tokens"),
        ("samples/s ×10^3", "k samples"),
        ("百万tokens/s", "M tokens"),
        ("miles/s", "miles"),
        ("hours of audio per second", "audio hours"),
        ("audio hours per hour", "audio hours"),
        ("performance ns/day", "ns"),
        ("examples.sec", "examples"),
        ("examples_sec", "examples"),
        ("requests_s", "requests"),
        ("steps_sec", "steps"),
        ("Throughput..images.sec.", "images"),
        ("GPU hours per day", ""),
        ("tput", ""),
    ],
)
def test_multiples_and_amounts_of_time_are_part_of_what_a_rate_counts(column: str, counted: str) -> None:
    assert (header_of(column).kind, header_of(column).counted) == ("rate", counted)


@pytest.mark.parametrize(("column", "counted"), [("tok_s_gpu", "tokens"), ("imgs_sec_device", "images")])
def test_a_rate_in_underscores_may_be_that_of_a_device(column: str, counted: str) -> None:
    assert header_of(column) == Header("rate", "s", counted, shared=True)


@cases_in_text("column, unit, steps")
def test_a_time_is_of_the_steps_that_its_header_counts(column: str, unit: str, steps: int) -> None:
    assert header_of(column) == Header("time", unit, of="step", steps=steps)


@cases_in_text("column, amount, counted")
def test_a_time_is_of_what_its_header_counts(column: str, amount: float, counted: str) -> None:
    assert header_of(column).kind == "quantity"
    assert in_multiples(header_of(column).counted) == (amount, counted)


@pytest.mark.parametrize(
    "column",
    [
        *(
            "Kosten (€/h)",
            "Coût (€/h)",
            "Costo (€/h)",
            "Koszt (zł/h)",
            "成本(元/小时)",
            "Rate ($/hr)",
            "Kosten [EUR/Std]",
        ),
        *("Coût horaire (€)", "Stundenpreis (€)", "total_price_usd_hr", "hourly_rate", "Prijs (€/uur)", "hourly cost"),
        *("価格(円/時間)", "Custo (R$/h)", "Cost (k€/h)", "$/h"),
    ],
)
def test_money_of_an_hour_is_a_price_and_no_throughput(column: str) -> None:
    assert role_by_words(column) == ("ratio", MONEY)
    assert (header_of(column).kind, header_of(column).unit) == ("rate", "h")


def test_energy_of_an_hour_is_no_throughput() -> None:
    assert header_of("Energie (kWh/h)") == Header("quantity", "kWh/h")
    assert header_of("Energy (kWh)") == Header("quantity", "kWh")
    assert role_by_words("utilisation (per cent)") is None
