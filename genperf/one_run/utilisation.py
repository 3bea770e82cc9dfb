"""The utilisation of one run: operations a second over the dense peak of its devices, by the conventions in use.

    MFU = operations of a sample · samples/s ÷ (devices · peak)

Operations of a token are 6·P (Kaplan et al. 2020). With attention they are 6·P + 12·layers·hidden·T, where P lacks an
input embedding that is looked up (PaLM, Chowdhery et al. 2022), or half of the attention where the mask is causal.
With activations computed again they are four thirds of that, and the share is called HFU.
"""

from dataclasses import dataclass, replace

from genperf.errors import GenperfError
from genperf.one_run.networks import TrainedNetwork
from genperf.one_run.run import TrainingRun
from genperf.words.numbers import three_digits

#: How near a stated figure must be to one by a convention to be by it: 3 % hold the rounding of what is printed.
SAME = 0.03
#: Parameters of a network about the size in its name: 7B is 6.5 to 7.6 billion (`networks.csv`).
SIZE_LOW, SIZE_HIGH = 0.93, 1.09
#: layers · hidden of a transformer of 6.74e9 parameters, how it grows with them (fitted to `networks.csv`), and the
#: factor within which it lies.
SHAPE_7B, SHAPE_EXPONENT, SHAPE_FACTOR = 32.0 * 4096.0, 0.70, 1.3
#: Tokens of a sample where they are not known, at most: most published runs have 2k to 8k.
USUAL_SEQUENCE = 8192.0
SEQUENCES = (2048.0, 4096.0, USUAL_SEQUENCE)
#: Operations a token and parameter where adapters are trained: no gradients of the weights.
ADAPTERS = 4.0
#: Operations with activations computed again, over those without.
RECOMPUTED = 4.0 / 3.0

PLAIN, KAPLAN, FULL, EMBEDDED, CAUSAL, USUAL, HARDWARE, LORA = (
    "6·P",
    "6·P without the input embedding",
    "6·P + attention",
    "6·P + attention, input embedding counted",
    "6·P + causal attention",
    "6·P + attention of a usual shape",
    "HFU: 4/3 of the operations, recomputation counted",
    "4·P: adapters only",
)
IMAGES, PRINTED, STATED = "6 x multiply-adds an image", "TFLOP/s as the run prints them", "as the run states it"


@dataclass(frozen=True)
class Utilisation:
    """How much of the dense peak a run uses."""

    #: MFU, and its ends from what is not known; fractions.
    value: float
    low: float
    high: float
    #: What its operations are, and the utilisation by every convention for which enough is known.
    convention: str
    by_convention: dict[str, float]
    #: With recomputation counted, where the run does that.
    hardware: float | None
    #: What is worth a sentence: a mistake of the stated figure, what was supposed.
    remarks: tuple[str, ...]


def utilisation_of(run: TrainingRun) -> Utilisation:
    """Return the utilisation of a run.

    A figure that the run states shows which convention it uses, where one gives it within 3 %; else attention is
    counted in full where layers, width and length are known. Above the dense peak a run is refused.

    Examples
    --------
    >>> from genperf.one_run.run import run_of_words
    >>> used = utilisation_of(run_of_words(("8xh100", "7B", "76800tok/s", "bf16")))
    >>> round(used.value, 3), used.convention
    (0.408, '6·P')
    """
    computed, remarks = conventions(run), []
    if run.precision is None and run.peak is None and run.device is not None and "fp8" in run.device.rates:
        remarks.append("the precision is not given: 16 bits are supposed; of the fp8 peak it is half")
    stated = run.stated if run.printed is None else run.printed / run.dense_peak
    if not computed and stated is None:
        hint = "76800tok/s, or 400TFLOP/s of a device, or 40%"
        raise GenperfError("nothing measures the speed of the run", hint=hint)
    by = computed or {STATED if run.printed is None else PRINTED: stated or 0.0}
    convention, claim = default_of(by), stated if computed else run.stated
    if claim is not None:
        nearest = min(by, key=lambda name: abs(by[name] / claim - 1.0))
        if abs(by[nearest] / claim - 1.0) <= SAME:
            convention = nearest
        else:
            remarks.append(_mistake(run, by, claim))
    hardware = by.get(HARDWARE) if run.recomputed or convention == HARDWARE else None
    if convention == HARDWARE:
        convention = default_of(by)
        remarks.append(f"what the run states ({_percent(claim or 0.0)}) is HFU: recomputation is counted in it")
    if run.recomputed and not computed:
        remarks.append("if recomputation is counted this is HFU, and the MFU is three quarters of it")
    value = by[convention]
    _refuse_above_peak(value, run)
    low, high = _ends(run, convention)
    return Utilisation(value, low * value, high * value, convention, computed, hardware, tuple(remarks))


def conventions(run: TrainingRun) -> dict[str, float]:
    """Return the utilisation of a run by every convention for which enough is known; none without a rate."""
    if run.rate is None or run.network is None or not run.dense_peak:
        return {}
    network, scale = run.network, run.rate / run.devices / run.dense_peak
    plain = network.operations * scale
    if network.sample == "images":
        return {IMAGES: plain}
    products, attention = network.products * scale, network.attention(run.sequence)
    if run.adapters:
        return {LORA: products * ADAPTERS / 6.0, PLAIN: plain}
    by = {PLAIN: plain, **({KAPLAN: products} if network.embedding else {})}
    if attention is not None:
        by |= {FULL: products + attention * scale, CAUSAL: products + 0.5 * attention * scale}
        if network.embedding:
            by[EMBEDDED] = (6.0 * (network.published or network.active) + attention) * scale
    elif run.sequence is None and run.stated is not None:
        # What is stated may show the length of its samples.
        lengths = {f"{FULL} at {length:,g} tokens": network.attention(length) for length in SEQUENCES}
        by |= {name: products + of * scale for name, of in lengths.items() if of is not None}
    elif run.sequence is not None:
        by[USUAL] = plain + 12.0 * shape_of(network) * run.sequence * scale
    return {**by, HARDWARE: RECOMPUTED * by.get(FULL, plain)}


def operations_of(run: TrainingRun) -> tuple[str, float]:
    """Return the operations of a sample by the convention that is used where no figure shows another, and its name."""
    unit = conventions(replace(run, rate=run.devices * run.dense_peak))
    name = default_of(unit)
    return name, unit[name]


def default_of(by: dict[str, float]) -> str:
    """Return the convention that is used where no figure shows another."""
    return next(name for name in (LORA, IMAGES, FULL, PLAIN, PRINTED, STATED) if name in by)


def shape_of(network: TrainedNetwork) -> float:
    """Return layers · hidden of a transformer: as they are known, or usual for its parameters."""
    if network.layers is not None and network.hidden is not None:
        return network.layers * network.hidden
    return float(SHAPE_7B * (network.active / 6.74e9) ** SHAPE_EXPONENT)


def _ends(run: TrainingRun, convention: str) -> tuple[float, float]:
    """Return the ends over the utilisation, from what is not known of parameters, attention and recomputation."""
    network = run.network
    if convention in (PRINTED, STATED):
        return (1.0 / RECOMPUTED if run.recomputed else 1.0), 1.0
    if network is None or network.multiply_adds is not None:
        return 1.0, 1.0
    low, high = (1.0, 1.0) if network.published else (SIZE_LOW, SIZE_HIGH)
    if convention in (PLAIN, KAPLAN):
        shape = shape_of(network) * (1.0 if network.layers and network.hidden else SHAPE_FACTOR)
        high += 12.0 * shape * (run.sequence or USUAL_SEQUENCE) / network.operations
    elif convention in (FULL, EMBEDDED):
        # A causal mask needs half of the attention.
        attention = network.attention(run.sequence) or 0.0
        low *= (network.products + 0.5 * attention) / (network.products + attention)
    return low, high


def _mistake(run: TrainingRun, by: dict[str, float], claim: float) -> str:
    """Return what is wrong with a stated figure that fits no convention over the dense peak."""
    sparse = 1.0 if run.device is None or run.peak is not None else run.device.sparse
    if sparse > 1.0 and min(abs(value / (sparse * claim) - 1.0) for value in by.values()) <= SAME:
        peak = three_digits(sparse * run.dense_peak / 1e12)
        return f"the stated {_percent(claim)} is of the sparse peak ({peak} TFLOP/s): training uses the dense one"
    shares = ", ".join(f"{_percent(value)} by {name}" for name, value in by.items())
    return f"the stated {_percent(claim)} fits no convention: {shares}"


def _refuse_above_peak(value: float, run: TrainingRun) -> None:
    """Refuse a utilisation above the dense peak, with the usual causes."""
    if value <= 1.0:
        return
    of_all = f"the rate is of all devices, and not of each (then {_percent(value / run.devices)})"
    causes = (
        of_all if run.devices > 1.0 else "more devices ran than are counted",
        "a token uses a part of the parameters: active=12.9B for experts, lora for adapters",
        f"another precision or device than one of {three_digits(run.dense_peak / 1e12)} TFLOP/s dense: fp8, or --peak",
    )
    hint = "; ".join(f"{number}. {cause}" for number, cause in enumerate(causes, 1))
    raise GenperfError(f"an MFU of {_percent(value)} is above the peak of {run.label}", hint=hint)


def _percent(share: float) -> str:
    """Return a share in per cent, with two digits at least."""
    return f"{100.0 * share:.3g} %" if share < 0.0995 else f"{100.0 * share:.0f} %"
