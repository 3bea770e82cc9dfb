"""What is answered of one run: its utilisation, in short lines and as plain values."""

from dataclasses import dataclass
from typing import Any

from genperf.one_run.run import Run
from genperf.one_run.utilisation import Utilisation, utilisation_of
from genperf.words.numbers import three_digits


@dataclass(frozen=True)
class OneRun:
    """The answer about one run."""

    run: Run
    utilisation: Utilisation

    @property
    def lines(self) -> list[str]:
        """The answer in short lines."""
        run, used = self.run, self.utilisation
        network = "" if run.network is None else f" · {run.network.name}"
        speed = ""
        if run.rate is not None and run.network is not None:
            speed = f" · {three_digits(run.rate)} {run.network.sample}/s"
        ends = f" ({100 * used.low:.0f} – {100 * used.high:.0f} %)" if used.high > used.low else ""
        hardware = "" if used.hardware is None else f"; HFU {100 * used.hardware:.0f} %"
        return [
            f"{run.label}{network}{speed}",
            f"MFU {100 * used.value:.1f} %{ends}: {used.convention}, "
            f"over {three_digits(used.peak / 1e12)} TFLOP/s dense ({run.precision or '16-bit'}){hardware}",
            *used.remarks,
        ]

    def to_dict(self) -> dict[str, Any]:
        """Return it as plain values, for JSON."""
        used = self.utilisation
        return {
            "mfu": used.value,
            "mfu_lower": used.low,
            "mfu_upper": used.high,
            "mfu_convention": used.convention,
            "mfu_by_convention": used.by_convention,
            "hfu": used.hardware,
            "peak": used.peak,
            "notes": list(used.remarks),
        }

    def __str__(self) -> str:
        return "\n".join(self.lines)


def answer_of(run: Run) -> OneRun:
    """Return the answer about a run.

    Examples
    --------
    >>> from genperf.one_run.run import run_of_words
    >>> print(answer_of(run_of_words(("8xh100", "7B", "76800tok/s", "bf16"))))
    8 x H100 · 7B · 76,800 tokens/s
    MFU 40.8 % (38 – 61 %): 6·P, over 989 TFLOP/s dense (16-bit)
    """
    return OneRun(run, utilisation_of(run))
