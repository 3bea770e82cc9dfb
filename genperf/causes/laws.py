"""The time of a step by the one thing that is wrong with it, and the evidence of runs for each such law."""

from collections.abc import Callable, Mapping
from functools import cache, cached_property

import numpy as np
from msgspec import Struct, field
from scipy.special import logsumexp

from genperf.arrays import Array, Mask
from genperf.panel.panel import several_nodes

#: Of a parameter above zero: its median, and the standard deviation of its ln.
Prior = tuple[float, float]


class Runs(Struct, frozen=True, eq=False, dict=True):
    """Measured configurations; arrays of shape (rows,)."""

    #: All devices of a run, and its nodes.
    devices: Array
    nodes: Array
    batch: Array  #: Samples, or parts of a job, that one device works on in a step.
    #: Seconds of a step, and the standard deviation of their ln among repeats; nan without repeats.
    seconds: Array
    scatter: Array
    slow: Mask  #: The rows that are slow. The others are sound runs of the same program.
    exchange: float | None = None  #: Seconds in which two nodes exchange the message, by hints; None without them.
    jobs: bool = False  #: Whether a time is that of a whole job, whose work all devices share.
    #: Measured seconds of `computation`, `exchange` and `input`, nan where they were not measured.
    phases: Mapping[str, Array] = field(default_factory=dict)
    places: tuple[str, ...] = ()  #: The configurations as text.
    nodes_known: bool = True  #: Whether the nodes are counted, and not taken to be full ones of a usual size.

    @cached_property
    def reference(self) -> float:
        """The median of the batches of one device."""
        return float(np.median(self.batch))


class Form(Struct, frozen=True):
    """A law of a slow step: what differs from a sound one, and what is said of it."""

    cause: str
    wrong: Mapping[str, Prior] = field(default_factory=dict)  #: Parameters that are other than those of a sound step.
    #: What speaks for it, with the wrong parameter (`wrong`, `more`), parts of the step in per cent (`exposed`,
    #: `fixed`, `waits`), the slow configuration of most devices (`place`), what an exchange is compared with (`usual`).
    supports: str = ""
    decide_by: str = ""  #: The one run that decides.
    possible: Callable[[Runs], bool] = lambda runs: True  #: Whether some runs can show it at all.
    #: Whether the exchange overlaps the backward pass, and the input is read during the step before.
    overlaps: bool = True
    prefetches: bool = True


NONE, OVERLAP, LINK, INPUT = "none", "exchange not overlapped", "slow link", "input pipeline"
COMPUTATION, BATCH, STRAGGLERS = "slow computation", "small batch", "stragglers"
INSIDE, START = "contention inside the node", "start-up counted in"

_SYNTHETIC = "one run at {place} with synthetic data, or data in memory"
_LARGER = "one run at {place} with twice the batch of a device: samples per second rise"


def _several(runs: Runs) -> bool:
    """Tell whether devices exchange anything."""
    return bool(runs.devices.max() > 1.0)


def _alone(runs: Runs) -> bool:
    """Tell whether a small batch may be the cause: not beside sound runs of the same batch, nor for a job."""
    return bool(runs.slow.all()) and not runs.jobs


#: The slow steps. A cause with two forms has half of its probability in each.
FORMS = (
    Form(NONE),
    Form(
        OVERLAP,
        supports="the exchange takes {exposed} of a step at {place}, and no computation hides it",
        decide_by="a profile of one step at {place}: does the exchange begin before the backward pass ends",
        possible=_several,
        overlaps=False,
    ),
    Form(
        LINK,
        {"link": (6.0, 0.7)},
        "the exchange takes {wrong:.2g} x {usual}",
        "a bandwidth test between two nodes (nccl-tests, iperf): compare it with the nominal rate",
        _several,
    ),
    Form(
        INPUT,
        {"input": (2.0, 0.4)},
        "a step takes as long as its input, {wrong:.2g} x the computation, whatever the count",
        _SYNTHETIC,
    ),
    Form(
        INPUT,
        {"input": (0.3, 0.6)},
        "each sample takes {more} longer than its computation, and nothing hides that",
        _SYNTHETIC,
        prefetches=False,
    ),
    Form(
        COMPUTATION,
        {"slower": (1.8, 0.4)},
        "a sample takes {wrong:.2g} x the computation of the sound runs",
        "one run of one device with synthetic data, on this machine and on the sound one",
        # Sound runs show how long a sample should take.
        lambda runs: not runs.slow.all(),
    ),
    Form(BATCH, {"fixed": (0.7, 0.8)}, "{fixed} of a step at {place} stay with a larger batch", _LARGER, _alone),
    Form(
        BATCH,
        {"exchange": (1.5, 0.6)},
        "{exposed} of a step at {place} stay with a larger batch",
        _LARGER,
        lambda runs: _alone(runs) and _several(runs),
    ),
    Form(
        STRAGGLERS,
        {"uneven": (0.15, 0.5)},
        "waiting for the slowest device takes {waits} of a step at {place}",
        "the step time of each device in one run at {place}: the slowest beside the median",
        _several,
    ),
    Form(
        INSIDE,
        {"inside": (0.4, 0.5)},
        "devices that share a node compute {more} longer",
        "one run of as many devices, one on each node",
        lambda runs: bool(np.ptp(runs.devices / runs.nodes) > 0.0),
    ),
    Form(
        START,
        {"fixed": (0.7, 0.8)},
        "{fixed} of the time at {place} are the same at every count",
        "one run at {place} with twice the steps",
        lambda runs: runs.jobs,
    ),
)

# Priors from what a step is made of; the misfit and `NOMINAL_EXCHANGE` were chosen on PyTorch
# (`experiments/advice/why_slow.py`).
#: Of a sound step, in parts of the computation of one at the middle batch: the exchange of two nodes, what is the
#: same at each batch, and the input; what full nodes slow each device down, and how uneven devices are; the part
#: of an exchange that nothing hides; the power of the nodes by which it grows beyond a ring; and the standard
#: deviation of ln T about a law, as steps are not composed of their parts exactly: where no law fits, none is certain.
SOUND_STEP: Mapping[str, Prior] = {
    "exchange": (0.3, 0.8),
    "fixed": (0.01, 1.0),
    "input": (0.1, 1.0),
    "inside": (0.02, 1.0),
    "uneven": (0.01, 1.0),
    "layer": (0.08, 0.7),
    "growth": (0.3, 0.8),
    "misfit": (0.03, 0.5),
}
#: The probability, before the runs, that nothing is wrong; the causes share the rest.
NOTHING_WRONG = 0.5
#: Standard deviation of ln of a measured phase about its law.
PHASE_MISFIT = 0.15
#: An exchange over the least time by hints, where the link is sound.
NOMINAL_EXCHANGE: Prior = (1.5, 0.35)
#: The scatter of repeats over the unevenness of the devices.
REPEAT_SCATTER: Prior = (1.0, 1.0)
#: The backward pass as a part of the computation: what an exchange can hide behind.
BACKWARD_SHARE = 2.0 / 3.0
#: Draws in each round of importance sampling, the last of which is the estimate; those that count, a parameter.
IMPORTANCE_DRAWS: tuple[int, ...] = (1024, 1024, 1024, 1024, 1024, 4096)
EFFECTIVE_DRAWS = 3.0
#: Standard deviations of the prior beyond which nothing is drawn.
FARTHEST = 8.0
#: The covariance of a round's draws over that of the weighted ones, and what is added to its diagonal.
WIDER_COVARIANCE = 1.5
LEAST_LAW_VARIANCE = 0.02


class CauseEvidence(Struct, frozen=True, eq=False):
    """What runs show of one form: ln of their density, and the step at the likeliest parameters."""

    form: Form
    logarithm: float
    values: Mapping[str, float]  #: Parameters by name; those that are wrong as `wrong NAME`.
    parts: Mapping[str, Array]  #: Parts of a step in seconds by name, shape (rows,).


def cause_seconds(values: Mapping[str, Array], runs: Runs, form: Form) -> dict[str, Array]:
    """Return the parts of a step and its total by a form, shape (draws, rows), of values of shape (draws, 1).

    T = max(C + c₀ + max(ℓE, E - βC), I)·(1 + w·√(2 ln n))      C + c₀ + E without overlap, + I without prefetching
    C = c·b·(1 + κ·(d - 1)/(d_max - 1))                         of a device among d on its node
    E = e·2(m - 1)/m·(m/2)^q                                    a ring over m nodes at q = 0
    """
    all_slow = bool(runs.slow.all())

    def by_row(slow: Array, sound: Array | float) -> Array:
        """Return the value of each row; of slow rows alone it is one value of all."""
        return slow if all_slow else np.where(runs.slow, slow, sound)

    def of(name: str) -> Array | float:
        usual = values.get(name, 1.0)
        return by_row(values[f"wrong {name}"], usual) if name in form.wrong else usual

    device = values["computation"]
    computation_alone, per_node = device * runs.reference, runs.devices / runs.nodes
    crowd = (per_node - 1.0) / max(float(per_node.max()) - 1.0, 1.0)
    computation = of("slower") * device * runs.batch * (1.0 + of("inside") * crowd)
    rings = runs.nodes if several_nodes(runs.nodes.max()) else runs.devices
    # Each size of a ring is raised to the powers once.
    sizes, size_of_row = np.unique(rings, return_inverse=True)
    grown = ((sizes / 2.0) ** values["growth"])[:, size_of_row]
    ring = np.where(rings > 1.0, 2.0 * (rings - 1.0) / rings, 0.0) * grown
    exchange = of("link") * of("exchange") * computation_alone * ring
    hidden = np.maximum(values["layer"] * exchange, exchange - BACKWARD_SHARE * computation)
    exposed = hidden if form.overlaps else by_row(exchange, hidden)
    fixed, read = of("fixed") * computation_alone, of("input") * device * runs.batch
    step = computation + fixed + exposed
    total = np.maximum(step, read) if form.prefetches else by_row(step + read, np.maximum(step, read))
    waits = of("uneven") * np.sqrt(2.0 * np.log(runs.devices))
    seconds = {"computation": computation, "exchange": exchange, "exposed": exposed, "fixed": fixed, "input": read}
    return {**seconds, "waits": waits * total, "total": (1.0 + waits) * total}


def evidence_of(runs: Runs, form: Form) -> CauseEvidence:
    """Return the evidence of runs for a form, by adaptive importance sampling (Cappé et al. 2004).

    p(runs | form) ≈ 1/K·Σ p(runs | θ_k)·p(θ_k)/q(θ_k)      θ_k drawn from q, the last round's normal distribution
    """
    logarithms = np.log(runs.seconds)
    # A device computes on a sample for some part of the quickest one.
    quickest = float(np.exp(np.min(logarithms - np.log(runs.batch))))
    priors = {"computation": (0.6 * quickest, 1.5), **SOUND_STEP}
    priors |= {f"wrong {name}": prior for name, prior in form.wrong.items()}
    medians, spreads = np.array(list(priors.values())).T
    # Of q: each parameter in standard deviations of ln from its prior's median. The first round draws from the prior.
    mean: Array = np.zeros(len(priors))
    root: Array = np.eye(len(priors))
    for normal in _normal_draws(len(priors)):
        draws = np.clip(mean + normal @ root.T, -FARTHEST, FARTHEST)
        parameters = np.ascontiguousarray((medians * np.exp(spreads * draws)).T)
        values = dict(zip(priors, parameters[:, :, None], strict=True))
        # ln of p(runs | θ)·p(θ), and of that over q(θ).
        posterior = _density(runs, form, values) - 0.5 * np.sum(draws**2, axis=1)
        weights = posterior + 0.5 * np.sum(normal**2, axis=1) + np.linalg.slogdet(root)[1]
        # The largest power of the weights, at most 1, with which enough draws count.
        power, shares = 1.0, _shares_of(weights)
        while 1.0 / np.sum(shares**2) < EFFECTIVE_DRAWS * len(priors):
            power *= 0.7
            shares = _shares_of(power * weights)
        mean = shares @ draws
        away = draws - mean
        covariance = WIDER_COVARIANCE * (shares[:, None] * away).T @ away
        root = np.asarray(np.linalg.cholesky(covariance + LEAST_LAW_VARIANCE * np.eye(len(priors))))
    logarithm = float(logsumexp(weights) - np.log(len(weights)))
    central = medians * np.exp(spreads * draws[int(np.argmax(posterior))])
    seconds = cause_seconds({name: central[j : j + 1, None] for j, name in enumerate(priors)}, runs, form)
    seconds_of_rows = {name: np.broadcast_to(spent, (1, len(logarithms)))[0] for name, spent in seconds.items()}
    return CauseEvidence(form, logarithm, dict(zip(priors, central.tolist(), strict=True)), seconds_of_rows)


@cache
def _normal_draws(parameters: int) -> tuple[Array, ...]:
    """Return the normal numbers of each round, the same for all forms of so many parameters."""
    generator = np.random.default_rng(0)
    return tuple(generator.standard_normal((count, parameters)) for count in IMPORTANCE_DRAWS)


def _shares_of(logarithms: Array) -> Array:
    """Return numbers by their logarithms, over their sum: scipy's softmax, whose bytes it has, takes longer."""
    relative = np.exp(logarithms - logarithms.max())
    return np.asarray(relative / relative.sum())


def _density(runs: Runs, form: Form, values: Mapping[str, Array]) -> Array:
    """Return ln of the density of all that was measured at each draw."""
    seconds_of_parts = cause_seconds(values, runs, form)
    repeats = np.nan_to_num(runs.scatter) ** 2
    # Without repeats, or with those of one scatter, the noise of all rows is that of the first.
    noise = np.sqrt(values["misfit"] ** 2 + (repeats[:1] if np.all(repeats == repeats[0]) else repeats))
    density = _log_normal(runs.seconds, seconds_of_parts["total"], noise).sum(axis=1)
    for name, seconds in runs.phases.items():
        is_measured = np.isfinite(seconds) & (seconds > 0.0)
        density += _log_normal(seconds[is_measured], seconds_of_parts[name][:, is_measured], PHASE_MISFIT).sum(axis=1)
    if runs.exchange is not None:
        nominal, spread = NOMINAL_EXCHANGE
        # Only a slow link makes an exchange longer than its message and the network do.
        sound = values.get("wrong exchange", values["exchange"]) * values["computation"] * runs.reference
        density += _log_normal(nominal * runs.exchange, sound, spread)[:, 0]
    scatter = runs.scatter[runs.slow & (runs.scatter > 0.0)]
    if len(scatter):
        ratio, spread = REPEAT_SCATTER
        uneven = values["wrong uneven" if "uneven" in form.wrong else "uneven"]
        density += _log_normal(np.median(scatter), ratio * uneven, spread)[:, 0]
    return np.asarray(density)


def _log_normal(value: Array | float, median: Array, spread: Array | float) -> Array:
    """Return ln of a log-normal density, in ln of the value; a part that a law has not is as good as impossible."""
    away = (np.log(value) - np.log(np.maximum(median, np.finfo(float).tiny))) / spread
    return np.asarray(-0.5 * away**2 - np.log(spread) - 0.5 * np.log(2.0 * np.pi))
