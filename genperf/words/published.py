"""How a series compares with published ones, what its exchange should cost, and why it is slow, in sentences."""

from collections.abc import Sequence

from genperf.errors import counted
from genperf.facts import AmongPublished, Cause, Exchange, Published, PublishedPlace
from genperf.words.numbers import count_text, prose, three_digits

#: The largest probability that is printed: other causes than those that are listed exist.
SUREST = 0.99


def normal_sentence(compared: AmongPublished) -> str:
    """Return where the efficiency of a series lies: `At 2 nodes the efficiency is 80 %, which is usual.`."""
    placed, step = compared.placed, compared.placed.step
    (devices_before, nodes_before), (devices_after, nodes_after) = step.before, step.after
    nodes_text = f"{nodes_after:g} nodes"
    # A series that counts its nodes has one number of devices throughout.
    count = nodes_text if devices_before == devices_after else count_text(devices_after, compared.count)
    takes_nodes = compared.assumed is not None and step.kind != "inside"
    assumed = f"{compared.assumed:g} devices are taken for one node" if takes_nodes else ""
    text = f"at {count if step.kind == 'inside' else nodes_text} the efficiency is {100 * placed.value:.0f} %"
    if step.kind == "beyond":
        on_same_nodes = nodes_before == nodes_after
        before, after = (devices_before, count) if on_same_nodes else (nodes_before, nodes_text)
        text = f"from {before:g} to {after} each doubling keeps {100 * placed.value:.0f} %"
    text += " of one node's" if step.kind == "second" else ""
    text += ", if each device keeps its batch" if compared.work == "assumed" else ""
    a_step = "" if "doublings" in placed.narrowed or step.kind == "beyond" else " over as many doublings"
    return prose(
        f"{text}, which is {placed.judged}",
        f"nine in ten of {placed.series:,} published series on {placed.clusters} clusters keep "
        f"{100 * placed.low:.0f} to {100 * placed.high:.0f} %{a_step}",
        f"{placed.percentile:.0f} % of them keep less than this one" if 5.0 <= placed.percentile <= 95.0 else "",
        assumed,
        "this series keeps the total batch, most published ones that of a device" if compared.work == "total" else "",
    )


def judged_text(place: PublishedPlace) -> str:
    """Return what the percentile of a value means, such as `in the lower third`; empty without a value."""
    if place.percentile is None:
        return ""
    if not 5.0 <= place.percentile <= 95.0:
        return f"{'lower' if place.percentile < 50.0 else 'higher'} than nine in ten"
    return f"in the {('lower', 'middle', 'upper')[min(int(place.percentile / 100.0 * 3.0), 2)]} third"


def place_text(place: PublishedPlace) -> str:
    """Return published values, and where a value lies among them."""
    sources = counted(place.sources, "source")
    if place.of == "busbw":
        low, high, median = (three_digits(speed / 1e9) for speed in (place.low, place.high, place.median))
        before = f"{low} – {high} GB/s, median " if place.runs > 1 else ""
        return f"{counted(place.runs, 'published test')} {place.among} from {sources}: {before}{median} GB/s"
    usual = f"nine in ten {100 * place.low:.0f} – {100 * place.high:.0f} %, median {100 * place.median:.0f} %"
    judged = judged_text(place)
    published = f"{place.runs} published {place.among} from {sources}: {usual}"
    return f"{judged} of {published}" if judged else published


def normal_text(published: Published) -> str:
    """Return where an efficiency and a utilisation lie among published ones, as far as that is known."""
    place = published.utilisation
    return prose(
        "" if place is None else f"an MFU of {100.0 * (place.value or 0.0):.0f} % is {place_text(place)}",
        "" if published.normal is None else normal_sentence(published.normal),
    )


def exchange_sentence(exchange: Exchange) -> str:
    """Return the least time of an exchange, beside what the step to several nodes cost."""
    ways = {name.replace("server", "one server"): time for name, time in exchange.ways.items()}
    # The hierarchical way, where it is as quick as a ring.
    way = min(ways, key=lambda name: (ways[name], name != "hierarchical"))
    seconds = ways.pop(way)
    step = "each step" if exchange.step is None else f"a step of {three_digits(exchange.step)} s"
    least = (
        f"the exchange of {three_digits(exchange.message / 1e6)} MB between {exchange.nodes:g} nodes needs at least "
        f"{three_digits(seconds)} s of {step} at the hinted rate"
    )
    alternatives = ", ".join(f"{name} {three_digits(time)} s" for name, time in ways.items())
    return prose(least, f"that is the {way} way; {alternatives}", *_cost_of_exchange(exchange, seconds))


def _cost_of_exchange(exchange: Exchange, seconds: float) -> list[str]:
    """Return sentences on how much longer a step took on several nodes, beside the `seconds` of the exchange."""
    cost = exchange.cost
    if cost is None:
        return ["how long a step takes is not known: --work gives its samples"] if exchange.step is None else []
    if cost <= 0.0:
        return ["a step is no longer than one node's: the exchange is hidden, or the hint too low"]
    longer = f"a step is {three_digits(cost)} s longer than one node's"
    if cost < seconds:
        hidden = f"{100.0 * (1.0 - cost / seconds):.0f} % of the exchange is hidden behind computation"
        return [longer, f"{hidden}, or the hint is too low"]
    return [
        f"{longer}, {three_digits(cost - seconds)} s more than the exchange needs",
        f"the network is used at {100.0 * seconds / cost:.0f} %, or nothing overlaps; published clusters use about "
        f"{100.0 * Exchange.typical:.0f} % of a nominal rate",
    ]


def cause_named(cause: Cause) -> str:
    """Return a cause with its probability: `slow link (72 %)`."""
    return f"{cause.cause} ({_percent(cause.probability)})"


def causes_heading(causes: Sequence[Cause], sound: float, sound_runs: bool) -> str:
    """Return the likeliest cause, or that a sound step explains the runs, with the probability of that."""
    if causes and causes[0].probability > sound:
        likely = "the likeliest cause is" if causes[0].probability > 0.5 else "the cause is undecided:"
        return f"{likely} {cause_named(causes[0])}"
    like = "the sound runs take" if sound_runs else "a sound step can take"
    return f"no cause stands out: {like} as long ({_percent(sound)})"


def causes_sentence(causes: Sequence[Cause], sound: float) -> str:
    """Return the likeliest cause of a slow step with its evidence, and what decides."""
    top, *alternatives = causes
    second = "".join(f", or {cause_named(cause)}" for cause in alternatives[:1])
    heading = causes_heading(causes, sound, False)
    return prose(f"{heading}{second}", f"for {top.cause}: {top.supports}", f"to decide: {top.decide_by}")


def _percent(share: float) -> str:
    return f"{100.0 * min(share, SUREST):.0f} %"
