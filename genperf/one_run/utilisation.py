"""The utilisation of one run: operations a second over the dense peak of its devices, by the conventions in use.

    MFU = operations of a sample · samples/s ÷ (devices · peak)

Operations of a token are 6·P (Kaplan et al. 2020). With attention they are 6·P + 12·layers·hidden·T, where P lacks an
input embedding that is looked up (PaLM, Chowdhery et al. 2022), or half of the attention where the mask is causal.
With activations computed again they are four thirds of that, and the share is called HFU.
"""

from collections.abc import Mapping

from msgspec import Struct, field

from genperf.errors import GenperfError
from genperf.one_run.run import TrainingRun
from genperf.words.numbers import three_digits

#: How near a stated figure must be to one by a convention to be by it: 3 % hold the rounding of what is printed.
SAME = 0.03
#: Parameters of a network about the size in its name: 7B is 6.5 to 7.6 billion (`networks.csv`).
SIZE_LOW, SIZE_HIGH = 0.93, 1.09
#: layers · hidden of a transformer of 6.74e9 parameters, how it grows with them (fitted to `networks.csv`), and the
#: factor within which those of others lie about that.
SHAPE_7B, SHAPE_EXPONENT, SHAPE_FACTOR = 32.0 * 4096.0, 0.70, 1.3
#: Tokens of a sample where they are not known: most published runs have 2k to 8k.
SEQUENCES = (2048.0, 4096.0, 8192.0)
#: Operations a token and parameter where adapters are trained (no gradients of the weights), over those of all, and
#: operations with activations computed again over those without.
ADAPTERS, RECOMPUTED = 4.0 / 6.0, 4.0 / 3.0

PLAIN, KAPLAN = "6·P", "6·P without the input embedding"
FULL, EMBEDDED = "6·P + attention", "6·P + attention, input embedding counted"
CAUSAL, HARDWARE = "6·P + causal attention", "HFU: 4/3 of the operations, recomputation counted"
LORA, IMAGES = "4·P: adapters only", "6 x multiply-adds an image"
PRINTED, STATED = "TFLOP/s as the run prints them", "as the run states it"


class Convention(Struct, frozen=True):
    """A way to count the operations of a sample, and the ends of what is not known over that."""

    operations: float
    low: float = 1.0
    high: float = 1.0


class Utilisation(Struct, frozen=True):
    """How much of the dense peak a run uses: the fields of the JSON."""

    #: With its ends from what is not known; fractions.
    mfu: float | None = None
    mfu_lower: float | None = None
    mfu_upper: float | None = None
    #: What its operations are, and the utilisation by every convention for which enough is known.
    mfu_convention: str | None = None
    mfu_by_convention: dict[str, float] = field(default_factory=dict)
    #: With recomputation counted, where the run does that.
    hfu: float | None = None
    #: Operations per second of a device, dense.
    peak: float = 0.0
    #: What is worth a sentence: a mistake of the stated figure, what was supposed.
    notes: tuple[str, ...] = ()


def utilisation_of(run: TrainingRun) -> Utilisation:
    """Return the utilisation of a run.

    A figure that the run states shows which convention it uses, where one gives it within 3 %; else attention is
    counted in full where layers, width and length are known. Above the dense peak a run is refused.
    """
    peak, conventions, notes = run.dense_peak, conventions_of(run), list[str]()
    scale, printed = run.rate / (run.devices * peak), run.printed / peak
    computed = {name: scale * c.operations for name, c in conventions.items()} if scale else {}
    stated = {PRINTED: printed} if printed else {STATED: run.stated}
    by = computed or {name: share for name, share in stated.items() if share}
    if not by:
        hint = "76800tok/s, or 400TFLOP/s of a device, or 40%"
        raise GenperfError("nothing measures the speed of the run", hint=hint)
    if run.precision is None and not run.peak and run.device is not None and "fp8" in run.device.rates:
        notes.append("the precision is not given: 16 bits are supposed; of the fp8 peak it is half")
    convention, hfu = default_of(by), by.get(HARDWARE) if run.recomputed else None
    if claim := (printed if computed else 0.0) or run.stated:
        nearest = min(by, key=lambda name: abs(by[name] / claim - 1.0))
        if abs(by[nearest] / claim - 1.0) > SAME:
            notes.append(_mistake(run, by, claim))
        elif nearest == HARDWARE:
            hfu = by[HARDWARE]
            notes.append(f"what the run states ({_percent(claim)}) is HFU: recomputation is counted in it")
        else:
            convention = nearest
    if run.recomputed and not computed:
        notes.append("if recomputation is counted this is HFU, and the MFU is three quarters of it")
    value = by[convention]
    if value > 1.0:
        of_all = f"the rate is of all devices, and not of each (then {_percent(value / run.devices)})"
        causes = (
            of_all if run.rate_of_each and run.devices > 1.0 else "more devices ran than are counted",
            "a token uses a part of the parameters: active=12.9B for experts, lora for adapters",
            f"another precision or device than one of {three_digits(peak / 1e12)} TFLOP/s dense: fp8, or --peak",
        )
        hint = "; ".join(f"{number}. {cause}" for number, cause in enumerate(causes, 1))
        raise GenperfError(f"an MFU of {_percent(value)} is above the peak of {run.label}", hint=hint)
    # What a run states or prints counts recomputation or does not.
    ends = conventions.get(convention) or Convention(0.0, 1.0 / RECOMPUTED if run.recomputed else 1.0)
    upper = min(ends.high * value, 1.0)
    return Utilisation(value, ends.low * value, upper, convention, computed, hfu, peak, tuple(notes))


def conventions_of(run: TrainingRun) -> dict[str, Convention]:
    """Return the conventions for which enough is known, with what is not known of parameters and attention."""
    network = run.network
    if network is None or network.multiply_adds:
        return {} if network is None else {IMAGES: Convention(6.0 * network.multiply_adds)}
    low, high = (1.0, 1.0) if network.published else (SIZE_LOW, SIZE_HIGH)
    plain, counted = 6.0 * network.active, 6.0 * (network.published or network.active)
    products = counted - 6.0 * network.embedding * network.hidden
    known_shape = network.layers * network.hidden
    shape = known_shape or SHAPE_7B * (network.active / 6.74e9) ** SHAPE_EXPONENT
    attention = 12.0 * shape * run.sequence
    longest = 12.0 * shape * (1.0 if known_shape else SHAPE_FACTOR) * (run.sequence or SEQUENCES[-1])
    by = {PLAIN: Convention(plain, low, high + longest / plain)}
    if run.adapters:
        return {LORA: Convention(ADAPTERS * products, low, high), **by}
    if network.embedding:
        by[KAPLAN] = Convention(products, low, high + longest / plain)
    if known_shape and attention:
        full, causal = products + attention, products + 0.5 * attention
        # A causal mask needs half of the attention.
        by |= {FULL: Convention(full, low * (causal / full), high), CAUSAL: Convention(causal, low, high)}
        if network.embedding:
            by[EMBEDDED] = Convention(counted + attention, low * (causal / full), high)
    elif attention:
        by[f"{FULL} of a usual shape"] = Convention(plain + attention, low, high)
    elif known_shape and run.stated:
        # What is stated may show the length of its samples.
        at_length = {f"{FULL} at {tokens:,g} tokens": products + 12.0 * shape * tokens for tokens in SEQUENCES}
        by |= {name: Convention(operations, low, high) for name, operations in at_length.items()}
    return {**by, HARDWARE: Convention(RECOMPUTED * by.get(FULL, by[PLAIN]).operations, low, high)}


def default_of(by: Mapping[str, object]) -> str:
    """Return the convention that is used where no figure shows another."""
    return next(name for name in (LORA, IMAGES, FULL, PLAIN, PRINTED, STATED) if name in by)


def _mistake(run: TrainingRun, by: dict[str, float], claim: float) -> str:
    """Return what is wrong with a stated figure that fits no convention over the dense peak."""
    sparse = 1.0 if run.device is None or run.peak else run.device.sparse
    if sparse > 1.0 and min(abs(value / (sparse * claim) - 1.0) for value in by.values()) <= SAME:
        peak = three_digits(sparse * run.dense_peak / 1e12)
        return f"the stated {_percent(claim)} is of the sparse peak ({peak} TFLOP/s): training uses the dense one"
    shares = ", ".join(f"{_percent(value)} by {name}" for name, value in by.items())
    return f"the stated {_percent(claim)} fits no convention: {shares}"


def _percent(share: float) -> str:
    """Return a share in per cent, with two digits at least."""
    return f"{100.0 * share:.3g} %" if share < 0.0995 else f"{100.0 * share:.0f} %"
