"""The utilisation of one run, operations a second over the dense peak, and where it lies among published runs.

    MFU = operations of a sample · samples/s ÷ (devices · peak)

Operations of a token are 6·P (Kaplan et al. 2020). With attention they are 6·P + 12·layers·hidden·T, where P lacks an
input embedding that is looked up (PaLM, Chowdhery et al. 2022), or half of the attention where the mask is causal; or
72·layers·hidden² in the place of 6·P, whatever the layers hold (Megatron, Narayanan et al. 2021).
With activations computed again they are four thirds of that, and the share is called HFU.
"""

from collections.abc import Mapping
from itertools import combinations

import numpy as np
from msgspec import Struct, field

from genperf.errors import GenperfError
from genperf.facts import PublishedPlace
from genperf.normal.runs import place_of_run
from genperf.one_run.run import TrainingRun
from genperf.panel.panel import several_nodes
from genperf.words.numbers import LEAST_FACTOR, three_digits

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

#: Conventions that are looked for by name; what a run states or prints has none.
FULL, HARDWARE = "6·P + attention", "HFU: 4/3 of the operations, recomputation counted"
ANY_LAYER = "72·layers·hidden² + attention and output"
PRINTED, STATED = "TFLOP/s as the run prints them", "as the run states it"
#: A percentile below which what usually explains less is named.
LOW = 100.0 / 3.0


def percent(share: float, decimals: int = 0) -> str:
    """Return a share in per cent, with two digits where it would be written as zero."""
    text = f"{100.0 * share:.{decimals}f}"
    return text if float(text) else f"{100.0 * share:.2g}"


def share_text(share: float, of: str = "") -> str:
    """Return a share in per cent, or how many times the whole it is: `40 % of 25Gbit/s`, `408 times the peak`."""
    if share >= LEAST_FACTOR:
        return f"{three_digits(share)} times {of or 'the peak'}"
    return f"{percent(share)} %{' of ' if of else ''}{of}"


class Utilisation(Struct, frozen=True):
    """How much of the dense peak a run uses, with the ends of what is not known, in fractions: fields of the JSON."""

    mfu: float | None = None
    mfu_lower: float | None = None
    mfu_upper: float | None = None
    mfu_convention: str | None = None
    mfu_by_convention: dict[str, float] = field(default_factory=dict)  #: By all for which enough is known.
    hfu: float | None = None  #: With recomputation counted, where the run does that.
    peak: float = 0.0  #: Operations per second of a device, dense.
    notes: tuple[str, ...] = ()  #: A mistake of the stated figure, what was supposed.
    normal: PublishedPlace | None = None
    less_by: tuple[str, ...] = ()  #: What usually explains less.
    more_by: tuple[str, ...] = ()  #: What usually explains more.

    @property
    def text(self) -> str:
        """The utilisation with its ends, its convention and its peak; empty of a plan."""
        if self.mfu is None or self.mfu_lower is None or self.mfu_upper is None:
            return ""
        is_known = self.mfu_upper <= 1.01 * self.mfu_lower
        ends = "" if is_known else f" ({percent(self.mfu_lower, 1)} – {percent(self.mfu_upper, 1)} %)"
        hardware = "" if self.hfu is None else f"; HFU {percent(self.hfu)} %"
        peak = f"of {three_digits(self.peak / 1e12)} TFLOP/s dense"
        return f"{percent(self.mfu, 1)} %{ends}: {self.mfu_convention}, {peak}{hardware}"


def utilisation_of(run: TrainingRun, is_planned: bool = False) -> Utilisation:
    """Return the utilisation of a run: rate·operations/(devices·peak), by each convention of counting operations.

    Without a rate it is that which the run prints or states; a plan has none. The convention is the one by which a
    stated figure is met within 3 %, or else the first.
    """
    peak, conventions, notes = run.dense_peak, conventions_of(run), list[str]()
    scale, printed = run.rate / (run.devices * peak), run.printed / peak
    computed = {name: scale * operations for name, (operations, *_) in conventions.items()} if scale else {}
    utilisations = computed or ({PRINTED: printed} if printed else {STATED: run.stated} if run.stated else {})
    if not utilisations and not is_planned:
        what, hint = "nothing measures the speed of the run", "76800tok/s, or 400TFLOP/s of a device, or 40%"
        if not run.network.parameters:
            what = "the network of the run is missing: without its size a speed is no utilisation"
            hint = "add 7B, or llama3-8b (in a table a column model); or 400TFLOP/s of a device, or 40%"
        raise GenperfError(what, hint=hint)
    if run.precision is None and "fp8" in run.device.rates:
        notes.append("the precision is not given: 16 bits are supposed; of the fp8 peak it is half")
    convention, hfu = next(iter(utilisations), ""), utilisations.get(HARDWARE) if run.recomputed else None
    if claim := (printed if computed else 0.0) or run.stated:
        nearest = min(utilisations, key=lambda name: abs(utilisations[name] / claim - 1.0))
        if abs(utilisations[nearest] / claim - 1.0) > SAME:
            notes.append(_mistake(run, utilisations, claim))
        elif nearest == HARDWARE:
            hfu = utilisations[HARDWARE]
            notes.append(f"what the run states ({percent(claim)} %) is HFU: recomputation is counted in it")
        else:
            convention = nearest
    if run.recomputed and not computed:
        notes.append("if recomputation is counted this is HFU, and the MFU is three quarters of it")
    value, network, place = utilisations.get(convention), run.network, None
    if network.sample != "images":
        about = run.device.family, network.active, run.precision or "16-bit", network.is_mixture
        place = place_of_run(value, *about)
    if value is None:
        return Utilisation(peak=peak, normal=place)
    less, more = _causes(run, value, place)
    if value > 1.0:
        hint = "; ".join(f"{number}. {cause}" for number, cause in enumerate(more, 1))
        raise GenperfError(f"an MFU cannot be {share_text(value, f'the peak of {run.label}')}", hint=hint)
    # What a run states or prints counts recomputation or does not.
    _, low, high = conventions.get(convention, (0.0, 1.0 / RECOMPUTED if run.recomputed else 1.0, 1.0))
    ends = value, low * value, min(high * value, 1.0)
    return Utilisation(*ends, convention, computed, hfu, peak, tuple(notes), place, less, more)


def _causes(run: TrainingRun, value: float, place: PublishedPlace | None) -> tuple[tuple[str, ...], tuple[str, ...]]:
    """Return what usually explains a utilisation that is low among published ones, and one that is high."""
    low, high = (0.0, 1.0) if place is None else (place.low, place.high)
    usual = run.mistakes if run.rate else (("recomputation is counted in it", 1.0 / RECOMPUTED),)
    mended = [(text, value * factor) for text, factor in usual]
    mistakes = [f"{text} (then {percent(mfu)} %)" for text, mfu in mended if low < mfu < high]
    if value > high:
        peak = f"one of {three_digits(run.dense_peak / 1e12)} TFLOP/s dense"
        mistakes = mistakes or ["more devices ran than are counted"]
        if not run.network.published:
            mistakes.append("a token uses a part of the parameters: active=12.9B for experts, lora for adapters")
        elif run.network.sample == "tokens" and not run.adapters:
            mistakes.append("only adapters are trained: lora")
        return (), (*mistakes, f"another precision or device than {peak}: fp8, or --peak")
    if place is None or (place.percentile or 0.0) >= LOW:
        return (), ()
    causes = (
        *((value < low, text) for text in mistakes),
        (several_nodes(run.nodes), "an exchange between nodes that nothing hides"),
        (run.network.is_mixture, "the exchange of experts"),
        (0.0 < run.network.active < 1e9, "products too small for the device"),
        (run.recomputed is not False and RECOMPUTED * value > low, "activations computed again (a quarter)"),
        (True, "a small batch of each device, a pipeline's bubble"),
        (True, "input, or a device below its clock"),
    )
    return tuple(text for holds, text in causes if holds)[:3], ()


def _mistake(run: TrainingRun, utilisations: Mapping[str, float], claim: float) -> str:
    """Return what is wrong with a stated figure that fits no convention: one usual mistake, or two, explain it."""
    peak = three_digits(run.device.sparse * run.dense_peak / 1e12)
    sparse = (f"is of the sparse peak ({peak} TFLOP/s): training uses the dense one", 1.0 / run.device.sparse)
    rate = run.device.rates["16-bit"]
    of_16_bit = f"is of the 16-bit peak ({three_digits(rate / 1e12)} TFLOP/s)", run.dense_peak / rate
    usual = [sparse, of_16_bit, *((f"fits where {text}", factor) for text, factor in run.mistakes)]
    for mistakes in (*combinations(usual, 1), *combinations(usual, 2)):
        factor = np.prod([factor for _, factor in mistakes])
        if factor != 1.0 and min(abs(value * factor / claim - 1.0) for value in utilisations.values()) <= SAME:
            return f"the stated {share_text(claim)} {'; and it '.join(text for text, _ in mistakes)}"
    shares = ", ".join(f"{percent(value)} % by {name}" for name, value in utilisations.items())
    return f"the stated {share_text(claim)} fits no convention: {shares}"


def conventions_of(run: TrainingRun) -> dict[str, tuple[float, float, float]]:
    """Return the operations of a sample by the conventions for which enough is known, with the ends over them.

    The first one is used where no figure shows another.
    """
    network = run.network
    if network.multiply_adds or not network.parameters:
        images = {"6 x multiply-adds an image": (6.0 * network.multiply_adds, 1.0, 1.0)}
        return images if network.multiply_adds else {}
    low, high = (1.0, 1.0) if network.published else (SIZE_LOW, SIZE_HIGH)
    plain, embedded = 6.0 * network.active, 6.0 * (network.published or network.active)
    output, shape = 6.0 * network.embedding * network.hidden, network.layers * network.hidden
    products, of_layers = embedded - output, 72.0 * shape * network.hidden
    a_token = 12.0 * (shape or SHAPE_7B * (network.active / 6.74e9) ** SHAPE_EXPONENT)
    attention = a_token * run.sequence
    full, causal = products + attention, products + 0.5 * attention
    upper = high + a_token * (1.0 if shape else SHAPE_FACTOR) * (run.sequence or SEQUENCES[-1]) / plain
    # A causal mask needs half of the attention.
    half, every, is_full = low * (causal / full), not run.adapters, not run.adapters and shape and attention
    # What is stated may show the length of its samples.
    is_length = every and shape and not attention and run.stated
    rows = (
        ("4·P: adapters only", run.adapters, ADAPTERS * products, low, high),
        (FULL, is_full, full, half, high),
        ("6·P", True, plain, low, upper),
        ("6·P without the input embedding", every and network.embedding, products, low, upper),
        ("6·P + causal attention", is_full, causal, low, high),
        (f"{FULL}, input embedding counted", is_full and network.embedding, embedded + attention, half, high),
        (ANY_LAYER, is_full and output and not network.is_mixture, of_layers + attention + output, low, high),
        (f"{FULL} of a usual shape", every and attention and not shape, plain + attention, low, high),
        *((f"{FULL} at {tokens:,g} tokens", is_length, products + a_token * tokens, low, high) for tokens in SEQUENCES),
        (HARDWARE, every, RECOMPUTED * (full if is_full else plain), low, high),
    )
    return {name: (operations, lower, upper) for name, holds, operations, lower, upper in rows if holds}
