"""The utilisation of one run, operations a second over the dense peak, and where it lies among published runs.

    MFU = operations of a sample · samples/s ÷ (devices · peak)

Operations of a token are 6·P (Kaplan et al. 2020). With attention they are 6·P + 12·layers·hidden·T, where P lacks an
input embedding that is looked up (PaLM, Chowdhery et al. 2022), or half of the attention where the mask is causal.
With activations computed again they are four thirds of that, and the share is called HFU.

Of published runs each source counts as one, whatever its number of runs, and runs that differ in the device's family,
the precision, the size or the kind of network count less. The cumulative share of them below a utilisation u is

    F(u) = Σ w_i Φ((logit u − logit u_i)/h),   w_i ∝ Π similarity / (runs of the source alike)
"""

from collections.abc import Mapping
from functools import cache

import numpy as np
import pandas as pd
from msgspec import Struct, field

from genperf import datasets
from genperf.errors import GenperfError
from genperf.one_run.run import TrainingRun
from genperf.panel.axis import several_nodes
from genperf.peaks import devices
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

#: What a run of another family, size, precision, or of a mixture of experts in place of a dense network (or the other
#: way round) counts. Half and double move the ends by under two points (`experiments/advice/one_run.py`).
OTHER = {"family": 0.2, "size": 0.5, "precision_class": 0.3, "mixture": 0.3}
#: Width of the kernel, in logits: the spread of repeats of one set-up.
KERNEL = 0.2
#: Active parameters that part small, usual and large networks.
SIZES, SIZE_WORDS = (3e9, 15e9), ("under 3 B", "of 3 to 15 B", "over 15 B")
#: Runs from which on those of the same family, size and precision are named by themselves.
FEWEST_RUNS = 8
#: A percentile below which what usually explains less is named.
LOW = 50.0
#: Utilisations of networks for images, of which no published runs are bundled: a guess.
USUAL_OF_IMAGES = (0.03, 0.6)
#: Logits at which the cumulative share is computed: utilisations of 0.25 to 97 %.
_GRID = np.linspace(-6.0, 3.5, 400)


class Convention(Struct, frozen=True):
    """A way to count the operations of a sample, and the ends of what is not known over that."""

    operations: float
    low: float = 1.0
    high: float = 1.0


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


class PublishedPlace(Struct, frozen=True):
    """Where a value lies among published ones, as fractions but for the percentile: the fields of the JSON."""

    of: str
    value: float | None
    percentile: float | None
    median: float
    low: float
    high: float
    runs: int
    sources: int
    among: str  #: What the counted runs have in common: `H100 runs of 3 to 15 B`.

    @property
    def judged(self) -> str:
        """What the percentile means, in words."""
        if self.percentile is None:
            return ""
        if not 5.0 <= self.percentile <= 95.0:
            return f"{'lower' if self.percentile < 50.0 else 'higher'} than nine in ten"
        return f"in the {('lower', 'middle', 'upper')[min(int(self.percentile / 100.0 * 3.0), 2)]} third"

    def explanations(self, run: TrainingRun) -> list[str]:
        """Return what usually explains a low utilisation of such a run, the likeliest first."""
        if self.value is None or self.percentile is None or self.percentile >= LOW:
            return []
        network = run.network
        mistakes = mistakes_of(run, self.value, self.low, self.high) if self.value < self.low else []
        usual = (
            *((True, text) for text in mistakes),
            (run.devices > 8.0 or several_nodes(run.nodes or 1.0), "an exchange between nodes that nothing hides"),
            (network is not None and network.is_mixture, "the exchange of experts"),
            (network is not None and network.active < 1e9, "products too small for the device"),
            (
                run.recomputed is not False and RECOMPUTED * self.value > self.low,
                "activations computed again (a quarter)",
            ),
            (True, "a small batch of each device, a pipeline's bubble"),
            (True, "input, or a device below its clock"),
        )
        return [text for holds, text in usual if holds][:3]


def utilisation_of(run: TrainingRun) -> Utilisation:
    """Return the utilisation of a run by the convention that a stated figure shows within 3 %, else the usual one."""
    peak, conventions, notes = run.dense_peak, conventions_of(run), list[str]()
    scale, printed = run.rate / (run.devices * peak), run.printed / peak
    computed = {name: scale * c.operations for name, c in conventions.items()} if scale else {}
    by = computed or ({PRINTED: printed} if printed else {STATED: run.stated} if run.stated else {})
    if not by:
        hint = "76800tok/s, or 400TFLOP/s of a device, or 40%"
        raise GenperfError("nothing measures the speed of the run", hint=hint)
    if run.precision is None and "fp8" in run.device.rates:
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
    if (value := by[convention]) > 1.0:
        place = place_of(run, None)
        low, high = USUAL_OF_IMAGES if place is None else (place.low, place.high)
        causes = (
            *(mistakes_of(run, value, low, high) or ["more devices ran than are counted"]),
            "a token uses a part of the parameters: active=12.9B for experts, lora for adapters",
            f"another precision or device than one of {three_digits(peak / 1e12)} TFLOP/s dense: fp8, or --peak",
        )
        hint = "; ".join(f"{number}. {cause}" for number, cause in enumerate(causes, 1))
        raise GenperfError(f"an MFU of {_percent(value)} is above the peak of {run.label}", hint=hint)
    # What a run states or prints counts recomputation or does not.
    ends = conventions.get(convention) or Convention(0.0, 1.0 / RECOMPUTED if run.recomputed else 1.0)
    upper = min(ends.high * value, 1.0)
    return Utilisation(value, ends.low * value, upper, convention, computed, hfu, peak, tuple(notes))


def mistakes_of(run: TrainingRun, value: float, low: float, high: float) -> list[str]:
    """Return the usual mistakes in the given rate under which a utilisation becomes one between two ends."""
    return [f"{text} (then {_percent(value * factor)})" for text, factor in run.mistakes if low < value * factor < high]


def conventions_of(run: TrainingRun) -> dict[str, Convention]:
    """Return the conventions for which enough is known, with what is not known of parameters and attention."""
    network = run.network
    if network is None or network.multiply_adds:
        return {} if network is None else {IMAGES: Convention(6.0 * network.multiply_adds)}
    low, high = (1.0, 1.0) if network.published else (SIZE_LOW, SIZE_HIGH)
    plain, counted = 6.0 * network.active, 6.0 * (network.published or network.active)
    products = counted - 6.0 * network.embedding * network.hidden
    shape = network.layers * network.hidden
    a_token = 12.0 * (shape or SHAPE_7B * (network.active / 6.74e9) ** SHAPE_EXPONENT)
    attention = a_token * run.sequence
    upper = high + a_token * (1.0 if shape else SHAPE_FACTOR) * (run.sequence or SEQUENCES[-1]) / plain
    by = {PLAIN: Convention(plain, low, upper)}
    if run.adapters:
        return {LORA: Convention(ADAPTERS * products, low, high), **by}
    if network.embedding:
        by[KAPLAN] = Convention(products, low, upper)
    if shape and attention:
        full, causal = products + attention, products + 0.5 * attention
        # A causal mask needs half of the attention.
        by |= {FULL: Convention(full, low * (causal / full), high), CAUSAL: Convention(causal, low, high)}
        if network.embedding:
            by[EMBEDDED] = Convention(counted + attention, low * (causal / full), high)
    elif attention:
        by[f"{FULL} of a usual shape"] = Convention(plain + attention, low, high)
    elif shape and run.stated:
        # What is stated may show the length of its samples.
        operations = {f"{FULL} at {tokens:,g} tokens": products + a_token * tokens for tokens in SEQUENCES}
        by |= {name: Convention(number, low, high) for name, number in operations.items()}
    return {**by, HARDWARE: Convention(RECOMPUTED * by.get(FULL, by[PLAIN]).operations, low, high)}


def default_of(by: Mapping[str, object]) -> str:
    """Return the convention that is used where no figure shows another."""
    return next(name for name in (LORA, IMAGES, FULL, PLAIN, PRINTED, STATED) if name in by)


def _mistake(run: TrainingRun, by: dict[str, float], claim: float) -> str:
    """Return what is wrong with a stated figure that fits no convention over the dense peak."""
    sparse = run.device.sparse
    if sparse > 1.0 and min(abs(value / (sparse * claim) - 1.0) for value in by.values()) <= SAME:
        peak = three_digits(sparse * run.dense_peak / 1e12)
        return f"the stated {_percent(claim)} is of the sparse peak ({peak} TFLOP/s): training uses the dense one"
    shares = ", ".join(f"{_percent(value)} by {name}" for name, value in by.items())
    return f"the stated {_percent(claim)} fits no convention: {shares}"


def _percent(share: float) -> str:
    """Return a share in per cent, with two digits at least."""
    return f"{100.0 * share:.3g} %" if share < 0.0995 else f"{100.0 * share:.0f} %"


@cache
def reference() -> pd.DataFrame:
    """Return the bundled runs, `genperf.datasets.runs`, with the class of their size."""
    table = datasets.runs()
    size = np.digitize(table["active"].fillna(np.mean(SIZES)), SIZES)
    return table.assign(size=size, mixture=table["mixture"].fillna(0.0) > 0.0)


def place_of(run: TrainingRun, value: float | None, published: pd.DataFrame | None = None) -> PublishedPlace | None:
    """Return where a utilisation of a run lies; without a value only the range. None of a network for images."""
    from scipy.special import expit, logit, ndtr

    network, table = run.network, reference() if published is None else published
    if network is not None and network.sample == "images":
        return None
    active, mixture = (np.mean(SIZES), False) if network is None else (network.active, network.is_mixture)
    size, precision, family = int(np.digitize(active, SIZES)), run.precision or "16-bit", run.device.family
    facts = {"family": family, "size": size, "precision_class": precision, "mixture": mixture}
    alike = np.array([table[name] == fact for name, fact in facts.items()])
    repository = table["repository"].to_numpy(dtype=str)
    similar = pd.Series(np.prod(np.where(alike, 1.0, np.array([*OTHER.values()])[:, None]), axis=0))
    weights = np.asarray(similar / similar.groupby(repository).transform(lambda of: of.sum() / of.max()), float)
    shares = weights / weights.sum() @ ndtr((_GRID - logit(table["mfu"].to_numpy())[:, None]) / KERNEL)
    low, median, high = (float(expit(end)) for end in np.interp([0.05, 0.5, 0.95], shares, _GRID))
    percentile = None if value is None else 100.0 * float(np.interp(logit(min(value, 0.999)), _GRID, shares))
    label, fp8 = f"{devices()[family].label} " if family else "", "" if precision == "16-bit" else f" in {precision}"
    narrowest = (
        (alike.all(axis=0), f"{label}{'mixture-of-experts runs' if mixture else 'runs'} {SIZE_WORDS[size]}{fp8}", 2),
        (alike[0] & alike[2], f"{label}runs{fp8}", 2),
        (alike[0], f"{label}runs", 1),
        (np.ones(len(table), dtype=bool), "runs of all devices", 1),
    )
    counts = ((int(rows.sum()), len(np.unique(repository[rows])), among, fewest) for rows, among, fewest in narrowest)
    runs, sources, among, _ = next(of for of in counts if of[0] >= FEWEST_RUNS and of[1] >= of[3])
    return PublishedPlace("mfu", value, percentile, median, low, high, runs, sources, among)
