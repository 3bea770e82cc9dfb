"""What the terms of a model are in plain words, and what limits a configuration."""

from collections.abc import Sequence

from genperf.facts import Limit, Part
from genperf.words import TEXTS
from genperf.words.numbers import WORDS_LEAST_SHARE, interval_note, prose, singular, three_digits

#: Terms → what they are in plain words; the same among several terms, and where no nodes are counted.
PLAIN, SHORT, ALONG = (TEXTS[kind] for kind in ("terms", "short_terms", "terms_along"))
#: The labels of terms that stay the same at every scale: with the computation among them, and without.
COMPUTATION, SAME_WITH_COMPUTATION = "computation", "computation and fixed costs"
SAME = "fixed costs"
#: The same where a part of the exchange stays the same as well, as where all runs are beyond the first node.
SAME_WITH_EXCHANGE = "computation, fixed costs and the constant part of the exchange"
#: The same beside the computation, where workers share the work: its costs of a step become fewer as they join.
SAME_BESIDE = "what no further worker shortens"
LABELS = (SAME_WITH_COMPUTATION, SAME_WITH_EXCHANGE, SAME, SAME_BESIDE)
#: Parts of a sum in a sentence: a reader of one keeps no more in mind.
MOST_NAMED = 3
#: How the label of a sum ends.
TOGETHER = ", together"


#: How the name of a part of a pipeline's bubble begins: what a stage waits for.
BUBBLE_OF = "bubble of "


def term_in_words(name: str) -> str:
    """Return what a term is in a few plain words; another model's in quotes, by its own name."""
    name = "bubble" if name.startswith(BUBBLE_OF) else name
    return SHORT.get(name) or PLAIN.get(name, f"'{name}'")


def sum_of_terms(labels: Sequence[str]) -> str:
    """Return the label of terms of which the data determine only the sum."""
    return " + ".join(labels) + TOGETHER


def in_words(label: str, terms: Sequence[str], counts_nodes: bool, worker: str) -> str:
    """Return what a term, or several of one label, is in plain words; without nodes, a worker counts as one."""
    several = worker.lower().endswith("s")
    words = PLAIN if counts_nodes or several else PLAIN | {name: text.format(worker) for name, text in ALONG.items()}
    if label.endswith(TOGETHER):
        # Within a sum the label of several terms is a part for each of its nouns, and fixed costs are named once.
        labels = label.removesuffix(TOGETHER).replace(SAME_WITH_COMPUTATION, f"computation + {SAME}").split(" + ")
        named = list(dict.fromkeys(SHORT.get(part, part) for part in labels))
        if len(named) > MOST_NAMED:
            named[MOST_NAMED - 1 :] = [f"{len(named) - MOST_NAMED + 1} more parts"]
        text = f"{', '.join(named[:-1])} and {named[-1]}{TOGETHER}" if len(named) > 1 else named[0]
    else:
        named = ["bubble" if term.startswith(BUBBLE_OF) else term for term in terms]
        text = label if label in LABELS else " and ".join(dict.fromkeys(words.get(term, term) for term in named))
    return text if counts_nodes else text.replace("second node", f"second {singular(worker)}").replace("nodes", worker)


def limit_sentence(limit: Limit, places: str) -> str:
    """Return the largest part and the next at a configuration, or what doubling the strongest factors does."""
    if not limit.parts:
        follow = {d: f" (and {' and '.join(d.followers)} with it)" if d.followers else "" for d in limit.doublings}
        effects = [f"{d.factor}{text} makes it x {three_digits(d.ratio)}" for d, text in follow.items()]
        return f"what the {limit.reported} depends on at {places}: doubling {', '.join(effects)}" if effects else ""
    largest, *further_terms = limit.parts
    if not is_determined(largest):
        likely = _part_text(largest, limit)
        return f"what takes the {limit.name} at {places} is not determined; likely the most is {likely}"
    low, high, middle = (f"{100 * v:.0f}" for v in (largest.share.lower, largest.share.upper, largest.share.value))
    note = interval_note(limit.interval, low, high, middle, "%")
    text = f"at {places}, {middle} % of the {limit.name}{note} is {_part_text(largest, limit)}"
    # Rounded, two parts add up to no more than the whole.
    second = min(round(100 * further_terms[0].share.value), 100 - int(middle)) if further_terms else 0
    if second == 0:
        # Where no term explains much of the rest, nothing is claimed of it.
        explained = sum(term.share.value for term in limit.parts)
        return text if abs(1.0 - explained) > WORDS_LEAST_SHARE else f"{text}: nothing else limits it"
    next_is = "next comes" if is_determined(further_terms[0]) else "likely next comes"
    return prose(text, f"{next_is} {_part_text(further_terms[0], limit)} ({second} %)")


def limit_short(limit: Limit) -> str:
    """Return the largest part, or the strongest factor, in a few words."""
    if limit.parts and not is_determined(limit.parts[0]):
        return f"likely {_part_text(limit.parts[0], limit)}"
    if limit.parts:
        return f"{_part_text(limit.parts[0], limit)}: {100 * limit.parts[0].share.value:.0f} %"
    if limit.doublings:
        return f"doubling {limit.doublings[0].factor}: x {three_digits(limit.doublings[0].ratio)}"
    return "not known"


def is_determined(part: Part) -> bool:
    """Return whether the interval of a share says something of it: half its width is less than half the share."""
    return part.share.upper - part.share.lower < part.share.value or part.share.lower == part.share.upper


def _part_text(part: Part, limit: Limit) -> str:
    """Return what a part is in plain words."""
    text = in_words(part.label, part.terms, limit.counts_nodes, limit.worker)
    return f"{text}, slowed down by more {limit.worker}" if limit.slowed and part.label == COMPUTATION else text
