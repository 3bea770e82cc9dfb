"""The peak rates of accelerators, for the share of them that a training achieves (MFU)."""

from __future__ import annotations

from genperf.errors import GenperfError, suggest
from genperf.formula.amounts import amount

#: Operations per second in dense 16-bit matrix products (fp16 or bf16, no sparsity), from the vendors' data sheets:
#: NVIDIA's of each product (SXM where there are several), AMD's of the Instinct series, Google's of Cloud TPU.
PEAKS: dict[str, float] = {
    "p100": 21.2e12,
    "v100": 125e12,
    "t4": 65e12,
    "a10": 125e12,
    "a30": 165e12,
    "a40": 149.7e12,
    "a100": 312e12,
    "a800": 312e12,
    "l4": 121e12,
    "l40s": 362e12,
    "h100": 989.4e12,
    "h100-pcie": 756e12,
    "h800": 989.4e12,
    "h200": 989.4e12,
    "b200": 2250e12,
    "rtx3090": 71e12,
    "rtx4090": 165.2e12,
    "mi250x": 383e12,
    "mi300x": 1307.4e12,
    "tpu-v3": 123e12,
    "tpu-v4": 275e12,
    "tpu-v5e": 197e12,
    "tpu-v5p": 459e12,
}


def peak_of(text: str) -> float:
    """Return the peak of a device by its name, or as it is given: `a100`, `312T`, `312e12`.

    Raises
    ------
    GenperfError
        For a device that is not known, or a number that is not above zero.

    Examples
    --------
    >>> peak_of("A100"), peak_of("250T")
    (312000000000000.0, 250000000000000.0)
    """
    name = text.strip().lower().replace(" ", "-").replace("_", "-")
    if name in PEAKS:
        return PEAKS[name]
    value = amount(text)
    if value is not None and 0.0 < value < float("inf"):
        return value
    known = "operations per second as 312T, or a device such as v100, a100, h100, mi300x, tpu-v5p"
    raise GenperfError(f"'{text}' is no device whose peak is known", hint=suggest(name, list(PEAKS)) or known)
