"""Where an efficiency stands among published series, and what the exchange between nodes costs, in words."""

from __future__ import annotations

from genperf.normal.compare import NORMAL, Lack, Normal
from genperf.normal.least import LEAST, Least
from genperf.words.numbers import count_text, three_digits


def normal_text(placed: Normal | Lack, count: str, assumed: float | None = None, work: str = "") -> str:
    """Return where an efficiency stands among published series, or why that is not known.

    Parameters
    ----------
    count : str
        The column that counts the devices.
    assumed : float, optional
        Devices that are taken for a node, where the table counts no nodes.
    work : str
        Of a step: "assumed" where it is not known, and each device is taken to have the same; "total" where all devices
        share one amount.

    Examples
    --------
    >>> from genperf.normal import Step
    >>> step = Step("second", (8.0, 1.0), (16.0, 2.0), 0.61)
    >>> print(normal_text(Normal(step, 0.61, 2.4, 0.92, 0.67, 1.0, 122, 9, ("doublings",)), "gpus"))
    at 2 nodes the efficiency is 61 %; nine in ten of 122 published series on 9 clusters keep 67 to 100 % of one node's:
    this is low, 2 % keep less
    """
    step = placed.step
    several = f"{step.after[1]:g} nodes"
    devices = several if step.before[0] == step.after[0] else count_text(step.after[0], count)
    if assumed is not None and step.after[1] > 1.0:
        several += f" (taking {assumed:g} devices for one)"
    if isinstance(placed, Lack):
        return (
            f"whether an efficiency of {_percent(step.efficiency)} % at {devices} is normal is not known: "
            f"{placed.series} published series of {placed.clusters} clusters have such a step, and "
            f"{NORMAL.fewest_series} of {NORMAL.fewest_clusters} are needed"
        )
    text = {
        "inside": f"at {devices} the efficiency is {_percent(placed.value)} %",
        "second": f"at {several} the efficiency is {_percent(placed.value)} %",
        "beyond": f"from {step.before[1]:g} to {several} each doubling keeps {_percent(placed.value)} %",
    }[step.kind]
    if work == "assumed":
        text += ", if each device keeps its batch"
    of_one = " of one node's" if step.kind == "second" else ""
    a_step = "" if "doublings" in placed.narrowed or step.kind == "beyond" else " over as many doublings"
    batch = " (it keeps the total batch, and most of them that of a device)" if work == "total" else ""
    return (
        f"{text}; nine in ten of {placed.series:,} published series on {placed.clusters} clusters keep "
        f"{_percent(placed.low)} to {_percent(placed.high)} %{of_one}{a_step}: "
        f"this is {judged(placed.percentile)}, {placed.percentile:.0f} % keep less{batch}"
    )


def judged(percentile: float) -> str:
    """Return what a percentile means, in a word or three."""
    if not 100.0 * NORMAL.low <= percentile <= 100.0 * NORMAL.high:
        return "low" if percentile < 50.0 else "high"
    if not 100.0 * NORMAL.quarter <= percentile <= 100.0 * (1.0 - NORMAL.quarter):
        return f"in the {'lowest' if percentile < 50.0 else 'highest'} quarter"
    return "usual"


def exchange_text(least: Least, nodes: float, message: float, step: float | None, cost: float | None) -> str:
    """Return the least time of the exchange between nodes beside what the step to several nodes cost.

    Parameters
    ----------
    message : float
        Bytes.
    step, cost : float, optional
        Seconds of a step on several nodes, and by how much it is longer than one node's, where they are known.

    Examples
    --------
    >>> print(exchange_text(Least(0.26, 0.14, 0.56), 2, 440e6, 0.55, 0.35))
    the exchange of 440 MB between 2 nodes needs at least 0.14 s of a step of 0.55 s at the hinted rate (hierarchical;
    ring 0.26 s, one server 0.56 s); a step is 0.35 s longer than one node's, 0.21 s more than the exchange needs: the
    network is used at 40 %, or nothing overlaps; published clusters use about 25 % of a nominal rate
    """
    seconds = least.seconds
    others = {"ring": least.ring, "hierarchical": least.hierarchical, "one server": least.server}
    way = least.way.replace("server", "one server")
    beside = ", ".join(f"{name} {three_digits(time)} s" for name, time in others.items() if name != way)
    whole = "each step" if step is None else f"a step of {three_digits(step)} s"
    text = (
        f"the exchange of {three_digits(message / 1e6)} MB between {nodes:g} nodes needs at least "
        f"{three_digits(seconds)} s of {whole} at the hinted rate ({way}; {beside})"
    )
    if cost is None:
        return text if step is not None else f"{text}; how long a step takes is not known: --work gives its samples"
    if cost <= 0.0:
        return f"{text}; a step is no longer than one node's: the exchange is hidden, or the hint too low"
    longer = f"{text}; a step is {three_digits(cost)} s longer than one node's"
    if cost < seconds:
        hidden = f"{100.0 * (1.0 - cost / seconds):.0f} % of the exchange is hidden behind computation"
        return f"{longer}: {hidden}, or the hint is too low"
    return (
        f"{longer}, {three_digits(cost - seconds)} s more than the exchange needs: the network is used at "
        f"{100.0 * seconds / cost:.0f} %, or nothing overlaps; published clusters use about "
        f"{100.0 * LEAST.typical:.0f} % of a nominal rate"
    )


def _percent(part: float) -> str:
    """Return a part in per cent."""
    return f"{100.0 * part:.0f}"
