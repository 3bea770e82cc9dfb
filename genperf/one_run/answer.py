"""What is answered of one run: its utilisation, its place among published runs, what a training takes; on a card."""

import textwrap
from collections.abc import Iterator, Mapping
from dataclasses import asdict, dataclass
from typing import Any

from genperf.errors import counted
from genperf.facts import Paid
from genperf.one_run.published import PublishedPlace, place_of
from genperf.one_run.run import TrainingRun
from genperf.one_run.training import training_of
from genperf.one_run.utilisation import Utilisation, utilisation_of
from genperf.panel.axis import several_nodes
from genperf.words.numbers import durations_text, three_digits

#: Columns of a card and of its labels, and its lines.
WIDTH, LABEL, MOST_LINES = 80, 10, 14
#: A percentile below which what usually explains less is named.
LOW = 50.0
#: The label of what usually explains less, which a long card can do without.
LESS = "less by"


@dataclass(frozen=True)
class OneRun:
    """The answer about one run, or about a test of collectives."""

    #: Labels and texts of the card.
    rows: tuple[tuple[str, str], ...]
    #: What is known, by name: the fields of the JSON.
    numbers: dict[str, Any]

    @property
    def lines(self) -> list[str]:
        """The card: at most 14 lines of 80 columns."""
        lines = []
        for label, text in self.rows:
            indent = " " * (LABEL if label else 0)
            wrapped = textwrap.wrap(text, WIDTH, initial_indent=label.ljust(len(indent)), subsequent_indent=indent)
            lines += [(label, line) for line in wrapped]
        return [line for label, line in lines if len(lines) <= MOST_LINES or label != LESS][:MOST_LINES]

    def to_dict(self) -> dict[str, Any]:
        """Return it as plain values, for JSON."""
        return {**self.numbers, "sentences": {"card": str(self)}}

    def __str__(self) -> str:
        return "\n".join(self.lines)


def about(
    run: TrainingRun,
    tokens: float | None = None,
    at: Mapping[str, str] | None = None,
    price: Paid | None = None,
    hints: Mapping[str, str] | None = None,
) -> OneRun:
    """Return the answer about a run; of tokens, also how long they take at the counts of `at`, before any run as well.

    Examples
    --------
    >>> from genperf.one_run.run import run_of_words
    >>> print(about(run_of_words(("8xh100", "7B", "76800tok/s", "bf16"))).lines[1])
    MFU       40.8 % (38 – 61 %): 6·P, of 989 TFLOP/s dense
    """
    measured = not run.rate is run.printed is run.stated is None
    used = utilisation_of(run) if measured or tokens is None else None
    value = None if used is None else used.value
    place = place_of(run, value)
    training = None if tokens is None else training_of(run, value, place, tokens, at or {}, price, hints or {})
    less_by = _explanations(run, value, place)
    numbers = {
        "mfu": value,
        "mfu_lower": None if used is None else used.low,
        "mfu_upper": None if used is None else used.high,
        "mfu_convention": None if used is None else used.convention,
        "mfu_by_convention": {} if used is None else used.by_convention,
        "hfu": None if used is None else used.hardware,
        "peak": run.dense_peak,
        "notes": [] if used is None else list(used.remarks),
        "normal": None if place is None else asdict(place),
        "less_by": less_by,
        "training": training,
    }
    return OneRun((*_rows(run, used, place, less_by), *_training_rows(run, training, price)), numbers)


def _rows(
    run: TrainingRun, used: Utilisation | None, place: PublishedPlace | None, less_by: list[str]
) -> Iterator[tuple[str, str]]:
    """Yield the rows of a card about a run."""
    network = run.network
    speed = f"{three_digits(run.rate)} {network.sample}/s" if run.rate and network else ""
    yield "", " · ".join(filter(None, (run.label, network.name if network else "", speed, run.precision)))
    if used is not None:
        ends = f" ({100 * used.low:.0f} – {100 * used.high:.0f} %)" if used.high > 1.01 * used.low else ""
        hardware = "" if used.hardware is None else f"; HFU {100 * used.hardware:.0f} %"
        peak = f"of {three_digits(run.dense_peak / 1e12)} TFLOP/s dense"
        yield "MFU", f"{100 * used.value:.1f} %{ends}: {used.convention}, {peak}{hardware}"
        yield from (("⚠", remark) for remark in used.remarks)
    if place is not None:
        judged = "" if used is None else f"{place.judged} of "
        usual = f"nine in ten {100 * place.low:.0f} – {100 * place.high:.0f} %, median {100 * place.median:.0f} %"
        yield "among", f"{judged}{place.runs} published {place.among} from {counted(place.sources, 'source')}: {usual}"
    if less_by:
        yield LESS, "; ".join(less_by)


def _explanations(run: TrainingRun, value: float | None, place: PublishedPlace | None) -> list[str]:
    """Return what usually explains a low utilisation of such a run, the likeliest first."""
    if value is None or place is None or place.percentile is None or place.percentile >= LOW:
        return []
    network, of_each = run.network, value * run.devices
    each = run.rate is not None and value < place.low < of_each < place.high
    several = run.devices > 8.0 or bool(several_nodes(run.nodes or 1.0))
    usual = (
        (each, f"a rate of each device and not of all (then {100 * of_each:.0f} %)"),
        (several, "an exchange between nodes that nothing hides"),
        (run.recomputed is not False, "activations computed again (a quarter)"),
        (network is not None and network.is_mixture, "the exchange of experts"),
        (network is not None and network.active < 1e9, "products too small for the device"),
        (True, "a small batch of each device, a pipeline's bubble"),
        (True, "input, or a device below its clock"),
    )
    return [text for holds, text in usual if holds][:3]


def _training_rows(
    run: TrainingRun, training: Mapping[str, Any] | None, price: Paid | None
) -> Iterator[tuple[str, str]]:
    """Yield the rows of a card about a training."""
    if training is None:
        return
    centre, lower, upper, unit = durations_text(*(86400.0 * training[f"days{end}"] for end in ("", "_lower", "_upper")))
    device = "devices" if run.device is None else run.device.label
    text = f"{three_digits(training['tokens'])} tokens at {training['devices']:g} x {device}: {centre} {unit}"
    text += f" ({lower} – {upper})"
    if price is not None:
        first, low, high = (three_digits(training[f"cost{end}"]) for end in ("", "_lower", "_upper"))
        text += f", {first} ({low} – {high}) at {price.text}"
    yield "training", text
    yield "⚠ blind", training["reason"]
    yield "→ next", training["next"]
