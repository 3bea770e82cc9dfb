"""The memory of a device that trains a transformer: weights, gradients, optimizer states, activations."""

from dataclasses import dataclass
from typing import Literal

from genperf.expression import Expression, coefficient
from genperf.models.family import Family
from genperf.models.transformer_layout import HELD, TOKENS, TransformerLayout
from genperf.panel import Panel

#: Micro-batches whose activations the first stage of a pipeline holds at once, over its stages.
_IN_FLIGHT = "min(pipeline_parallel, micro_batches)/pipeline_parallel"
#: Layers whose activations, and whose scores, are held at once: of those that are recomputed one at a time.
_LAYERS = f"layers*{_IN_FLIGHT}"
_KEPT = f"({_LAYERS}*(1 - layers_recomputed) + layers_recomputed)"
_SCORED = f"({_LAYERS}*(1 - scores_recomputed) + scores_recomputed)"


@dataclass(frozen=True)
class MemoryPart:
    """What is known of a part's memory before any is measured."""

    #: Bytes of its size in 16-bit training with Adam (Korthikanti et al. 2022).
    per_size: float
    #: What its size is in proportion to.
    of: Literal["parameters", "tokens", "device"]
    #: Whether some programs do without it: scores where attention is fused, norms in whole where the sequence is split
    #: as well, a copy of the gradients.
    optional: bool = False


#: By term. Logits are there in 16 bits and in 32. The constant, 2 GiB of context and buffers, is a guess.
PARTS = {
    "weights": MemoryPart(2.0, "parameters"),
    "gradients": MemoryPart(2.0, "parameters"),
    "optimizer": MemoryPart(12.0, "parameters"),
    "states": MemoryPart(16.0, "parameters"),
    "experts": MemoryPart(16.0, "parameters"),
    "buckets": MemoryPart(2.0, "parameters", optional=True),
    "activations": MemoryPart(24.0, "tokens"),
    "norms": MemoryPart(10.0, "tokens", optional=True),
    "attention": MemoryPart(5.0, "tokens", optional=True),
    "inputs": MemoryPart(2.0, "tokens"),
    "logits": MemoryPart(6.0, "tokens", optional=True),
    "constant": MemoryPart(2.0 * 2.0**30, "device"),
}
_SPREAD = "(1 - 1/data_parallel)"


def build(factors: Panel) -> Expression:
    """Write the memory of a device, every part with a fitted scale factor.

        weights      w·P/(t·p), over d with ZeRO-3
        gradients    g·P/(t·p), over d from ZeRO-2 on
        optimizer    o·P/(t·p), over d from ZeRO-1 on, and on the host where it is offloaded
        experts      x·P/(t·p·ε), the states of what ε expert-parallel ways divide
        buckets      q·P/(t·p) where d > 1: the gradients once more, as the exchange takes them
        activations  a·b·s·h·(L/p)·f/t, f = min(p, m) micro-batches in flight
        norms        n·b·s·h·(L/p)·f: norms and dropout, whole in each tensor way unless they are split by sequence
        attention    e·b·s²·heads·(L/p)·f/t, the scores
        inputs       i·b·s·h·(L/p)·f, all that is left of layers that are recomputed, beside one that is at work
        logits       v·b·s·V/t where p = 1: the last stage of several holds fewer micro-batches than the first
        constant     c

    In 16-bit training w and g are 2 bytes and o is 12, a is 24 and n is 10 (Korthikanti et al. 2022, "Reducing
    activation recomputation in large transformer models", equation 2), and e is 5, or 0 where attention is fused. Of
    scores that are recomputed, those of one layer are held (Korthikanti's selective recomputation). The
    three states are one term where no run divides them. The parts are after them and Rajbhandari et al. (2020), "ZeRO";
    the formula is our derivation.
    """
    layout = TransformerLayout(factors)
    formulas = _formulas(layout)
    names = (text.partition("*")[0] for text in formulas.values())
    return layout.expression("transformer-memory", formulas, {name: coefficient(name, "") for name in names})


def _formulas(layout: TransformerLayout) -> dict[str, str]:
    """Return the parts as formulas over canonical names, each a coefficient times its size."""
    switches, has, split = layout.switches, layout.known, layout.split
    tensor, again = split("tensor_parallel"), "recomputed" in switches
    shards = bool({"sharded", "gradients_sharded", "gathered"} & {*switches})
    states = has("parameters") or tensor or split("pipeline_parallel")
    host = "*(1 - offloaded)" if "offloaded" in switches else ""
    layers_kept, scored = (_KEPT, _SCORED) if again else (_LAYERS, _LAYERS)
    rows = (
        ("weights", shards, f"w*{HELD}*(1 - gathered*{_SPREAD})"),
        ("gradients", shards, f"g*{HELD}*(1 - gradients_sharded*{_SPREAD})"),
        ("optimizer", shards, f"o*{HELD}*(1 - sharded*{_SPREAD}){host}"),
        ("states", states and not shards, f"w*{HELD}"),
        ("experts", split("expert_parallel"), f"x*{HELD}/expert_parallel"),
        ("buckets", split("data_parallel"), f"q*{HELD}*min(data_parallel - 1, 1)"),
        ("activations", True, f"a*{TOKENS}*hidden*{layers_kept}/tensor_parallel"),
        ("norms", tensor, f"n*{TOKENS}*hidden*{layers_kept}"),
        ("attention", has("sequence") and has("heads"), f"e*{TOKENS}*sequence*heads*{scored}/tensor_parallel"),
        ("inputs", again, f"i*{TOKENS}*hidden*{_LAYERS}*layers_recomputed"),
        ("logits", has("vocabulary"), f"v*{TOKENS}*vocabulary/tensor_parallel*max(2 - pipeline_parallel, 0)"),
        ("constant", True, "c*1"),
    )
    return {name: text for name, there, text in rows if there}


FAMILY = Family(
    name="transformer-memory",
    equation=(
        "w·P/(t·p) + g·P/(t·p) + o·P/(t·p) + q·P/(t·p)"
        " + a·b·s·h·(L/p)·min(p, m)/t + n·b·s·h·(L/p)·min(p, m) + e·b·s²·heads·(L/p)·min(p, m)/t + c,"
        " the states over d as ZeRO divides them"
    ),
    source="Korthikanti et al. 2022, Rajbhandari et al. 2020",
    purpose="memory of a device that trains a transformer",
    requires=("data_parallel", "micro_batch"),
    uses=(
        *("parameters", "tensor_parallel", "pipeline_parallel", "global_batch"),
        *("sequence", "layers", "hidden", "heads"),
    ),
    supposes=(
        *("context_parallel", "expert_parallel", "micro_batches"),
        *("vocabulary", "zero", "recomputation", "offload"),
    ),
    build=build,
    quantity="memory",
)
