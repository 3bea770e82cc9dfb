"""What is answered of one run: its utilisation, its place among published runs, what a training takes; on a card."""

import textwrap
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from typing import Any

from genperf.errors import counted
from genperf.facts import Paid
from genperf.one_run.published import Place, place_of
from genperf.one_run.run import Run
from genperf.one_run.training import Training, training_of
from genperf.one_run.utilisation import Utilisation, utilisation_of
from genperf.panel.axis import several_nodes
from genperf.words.numbers import durations_text, three_digits

#: Columns of a card and of its labels, and its lines.
WIDTH, LABEL, MOST_LINES = 80, 10, 14
#: A percentile below which what usually explains less is named.
LOW = 50.0


@dataclass(frozen=True)
class OneRun:
    """The answer about one run."""

    run: Run
    #: None before any run.
    utilisation: Utilisation | None
    #: None where no published runs are like it.
    place: Place | None
    training: Training | None

    @property
    def lines(self) -> list[str]:
        """The card: at most 14 lines of 80 columns."""
        run, used, place, training = self.run, self.utilisation, self.place, self.training
        speed = f"{three_digits(run.rate)} {run.network.sample}/s" if run.rate and run.network else ""
        network = "" if run.network is None else run.network.name
        precision = "" if run.precision is None else run.precision
        rows: list[tuple[str, str]] = [("", " · ".join(filter(None, (run.label, network, speed, precision))))]
        if used is not None:
            ends = f" ({100 * used.low:.0f} – {100 * used.high:.0f} %)" if used.high > 1.01 * used.low else ""
            hardware = "" if used.hardware is None else f"; HFU {100 * used.hardware:.0f} %"
            of = f"{used.convention}, of {three_digits(used.peak / 1e12)} TFLOP/s dense"
            rows.append(("MFU", f"{100 * used.value:.1f} %{ends}: {of}{hardware}"))
            rows += [("⚠", remark) for remark in used.remarks]
        if place is not None:
            usual = f"nine in ten {100 * place.low:.0f} – {100 * place.high:.0f} %, median {100 * place.median:.0f} %"
            among = f"{place.runs} published {place.among} from {counted(place.sources, 'source')}"
            rows.append(("among", f"{place.judged} of {among}: {usual}" if used is not None else f"{among}: {usual}"))
        if self.explanations:
            rows.append(("less by", "; ".join(self.explanations)))
        if training is not None:
            rows += _training_rows(training, run)
        lines = [(label, line) for label, text in rows for line in wrapped(label, text)]
        # What usually explains less is what a long card can do without.
        return [line for label, line in lines if len(lines) <= MOST_LINES or label != "less by"][:MOST_LINES]

    @property
    def explanations(self) -> list[str]:
        """What usually explains a low utilisation of such a run, the likeliest first."""
        run, place = self.run, self.place
        if self.utilisation is None or place is None or place.percentile is None or place.percentile >= LOW:
            return []
        network, value = run.network, self.utilisation.value
        of_each = value * run.devices
        several = run.devices > 8.0 or bool(several_nodes(run.nodes or 1.0))
        usual = [
            (
                run.rate is not None and value < place.low < of_each < place.high,
                f"a rate of each device and not of all (then {100 * of_each:.0f} %)",
            ),
            (several, "an exchange between nodes that nothing hides"),
            (run.recomputed is not False, "activations computed again (a quarter)"),
            (network is not None and network.is_mixture, "the exchange of experts"),
            (network is not None and network.active < 1e9, "products too small for the device"),
            (True, "a small batch of each device, a pipeline's bubble"),
            (True, "input, or a device below its clock"),
        ]
        return [text for holds, text in usual if holds][:3]

    def to_dict(self) -> dict[str, Any]:
        """Return it as plain values, for JSON."""
        used = self.utilisation
        return {
            "mfu": None if used is None else used.value,
            "mfu_lower": None if used is None else used.low,
            "mfu_upper": None if used is None else used.high,
            "mfu_convention": None if used is None else used.convention,
            "mfu_by_convention": {} if used is None else used.by_convention,
            "hfu": None if used is None else used.hardware,
            "peak": self.run.dense_peak,
            "notes": [] if used is None else list(used.remarks),
            "normal": None if self.place is None else self.place.to_dict(),
            "less_by": self.explanations,
            "training": None if self.training is None else self.training.to_dict(),
            "sentences": {"card": "\n".join(self.lines)},
        }

    def __str__(self) -> str:
        return "\n".join(self.lines)


def answer_of(
    run: Run,
    tokens: float | None = None,
    at: Mapping[str, str] | None = None,
    price: Paid | None = None,
    hints: Mapping[str, str] | None = None,
) -> OneRun:
    """Return the answer about a run, or about a machine before there is any, where tokens are asked about.

    Parameters
    ----------
    tokens : float, optional
        Of a training, whose days and cost are answered at the counts of `at`.
    price : Paid, optional
        Of one device, or of a node.
    hints : mapping, optional
        Of the network between nodes, by full names.

    Examples
    --------
    >>> from genperf.one_run.run import run_of_words
    >>> print(answer_of(run_of_words(("8xh100", "7B", "76800tok/s", "bf16"))).lines[1])
    MFU       40.8 % (38 – 61 %): 6·P, of 989 TFLOP/s dense
    """
    measured = run.rate is not None or run.printed is not None or run.stated is not None
    used = utilisation_of(run) if measured or tokens is None else None
    place = place_of(run, None if used is None else used.value)
    training = None
    if tokens is not None:
        training = training_of(run, used, place, tokens, at or {}, price, hints or {})
    return OneRun(run, used, place, training)


def _training_rows(training: Training, run: Run) -> Iterable[tuple[str, str]]:
    """Return the rows of a card about a training."""
    centre, lower, upper, unit = durations_text(*(86400.0 * days for days in training.days))
    device = "devices" if run.device is None else run.device.label
    at = f"{three_digits(training.tokens)} tokens at {training.devices:g} x {device}"
    text = f"{at}: {centre} {unit} ({lower} – {upper})"
    if training.cost is not None and training.price is not None:
        first, low, high = map(three_digits, training.cost)
        text += f", {first} ({low} – {high}) at {training.price.text}"
    yield "training", text
    yield "⚠ blind", training.reason
    yield "→ next", training.suggestion


def wrapped(label: str, text: str) -> list[str]:
    """Return a row of a card in lines, its label before the first one."""
    indent = " " * (LABEL if label else 0)
    return textwrap.wrap(text, WIDTH, initial_indent=label.ljust(len(indent)), subsequent_indent=indent)
