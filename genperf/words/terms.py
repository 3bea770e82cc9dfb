"""What the terms of a model are in plain words."""

from __future__ import annotations

from collections.abc import Collection, Sequence

#: Terms of a series and of a transformer → what they are in plain words.
PLAIN = {
    "computation": "computation",
    "constant": "a part that stays the same at every scale",
    "inside nodes": "communication inside a node",
    "contention": "contention inside a node",
    "leaving the node": "the cost of using a second node",
    "between nodes": "communication between nodes",
    "latency": "latency that grows with each doubling",
    "per doubling": "a cost that each doubling adds",
    "one after another": "work that nodes do one after another",
    "matrix": "matrix multiplication",
    "attention": "attention",
    "kernels": "the overhead of small products",
    "recomputation": "recomputation",
    "bubble": "the pipeline's bubble",
    "pipeline": "the traffic between stages",
    "tensor": "the exchange between tensor-parallel devices",
    "tensor latency": "the latency between tensor-parallel devices",
    "tensor between nodes": "tensor parallelism across nodes",
    "data": "the exchange of gradients inside a node",
    "data between nodes": "the exchange of gradients between nodes",
    "gather": "gathering the weights",
    "update": "the update of the weights",
    "offload": "the offload to the host",
}
#: The labels of terms that stay the same at every scale: with the computation among them, and without.
SAME_WITH_COMPUTATION = "computation with what else stays the same at every scale"
SAME = "what stays the same at every scale"
LABELS = (SAME_WITH_COMPUTATION, SAME)


def named(terms: Collection[str], factors: Collection[str]) -> bool:
    """Tell whether the terms of a model have names of the field: products of its factors have none.

    Examples
    --------
    >>> named(["computation", "between nodes"], ["gpus"]), named(["constant", "batch × layers / gpus"], ["gpus"])
    (True, False)
    """
    return not any(term in factors or "×" in term or " / " in term or term.startswith("term ") for term in terms)


def in_words(label: str, terms: Sequence[str], counts_nodes: bool, worker: str) -> str:
    """Return what a term is, or several of one shape; without nodes, a worker counts as one.

    Examples
    --------
    >>> in_words("between nodes", ["between nodes"], False, "gpus")
    'communication between gpus'
    """
    if label in LABELS:
        return label
    text = " and ".join(PLAIN.get(term, term) for term in terms)
    return text if counts_nodes else text.replace("second node", f"second of the {worker}").replace("nodes", worker)
