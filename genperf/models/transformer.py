"""The time of a transformer's step split by data, tensor, pipeline and context parallelism, and a device's memory."""

from collections.abc import Collection, Iterator
from typing import Literal

from msgspec import Struct
from msgspec.structs import replace

from genperf.expression import Expression, coefficient
from genperf.formula import Node, parse, substitute
from genperf.models.family import Family
from genperf.models.transformer_layout import HELD, SWITCHED, TOKENS, TransformerLayout
from genperf.panel import Panel

#: `serial` and `overlapped` have every term, with the exchange after the backward pass or behind it. `short`, for few
#: runs, goes without those that are mostly small, computes scores as fast as matrix products, and has one latency.
#: `plain` has none, and no term for products too small for a device.
Form = Literal["plain", "short", "serial", "overlapped"]
_LEFT_OUT = {"short": frozenset({"launches", "pipeline", "update", "offload share"})}
_LATENCIES = frozenset(f"{name} latency" for name in ("tensor", "pipeline", "experts", "data"))
_LEFT_OUT["plain"] = _LEFT_OUT["short"] | _LATENCIES | {"kernels"}
#: Coefficients that the shorter forms have one of.
_ALIKE = {"a_s": "a", "alpha_p": "alpha_t", "alpha_x": "alpha_t"}

#: Operations of a micro-batch on one device: the matrix products, and the scores of the attention.
_MATRIX = f"6*parameters*{TOKENS}/(tensor_parallel*pipeline_parallel)"
_SCORES = f"12*layers*hidden*sequence*{TOKENS}/(tensor_parallel*pipeline_parallel)"
_SLOTS = "(pipeline_parallel - 1)/virtual_stages"
#: Nodes that a group of data-parallel ways spans: tensor- and context-parallel ways come first inside a node.
_SPANNED = "max(1, data_parallel*tensor_parallel*context_parallel*nodes/workers)"
#: What such a group exchanges between its nodes: groups of different tensor-parallel ways share a node's links.
_SHARED = f"{HELD}*min(tensor_parallel*context_parallel, workers/nodes)"
_BETWEEN = f"{_SHARED}*(1 - 1/{_SPANNED})"

#: Seconds that a message may take whatever its size. Networks of accelerators take some 10⁻⁵ s; processes that share a
#: core, as on the emulated cluster of `experiments/protocols/partitioned.md`, 8·10⁻³. Without a bound a latency of
#: seconds takes the place of what a table of long steps does not determine
#: (`experiments/decisions/transformer-links.md`).
LONGEST_LATENCY = 0.01


def build(factors: Panel, form: Form = "serial") -> Expression:
    """Write the time of a step, with m micro-batches of b samples of s tokens on t·p·d·c devices.

        T = m·(a pass) + bubble + what the data-parallel ways exchange + the update + a constant
        matrix      a·W, W = 6·P·s·b/(t·p·c) operations
        attention   a₂·A, A = 12·L·h·s²·b/(t·p·c)
        kernels     k·W·t/(b·s·h): small products use a device badly, a saturating efficiency 1/(1 + κ/(b·s·h/t))
        launches    l·L/p: what a layer takes whatever its size
        recomputation  r·W/3 where activations are recomputed
        tensor      β·(L/p)·b·s·h·(t − 1)/t, again where t spans nodes, and α·(L/p)·(t − 1) steps of the rings
        experts     β·(L/p)·b·s·h·(ε − 1)/ε, tokens to all and back between ε expert-parallel ways, and α a message
        pipeline    b·s·h at a stage's boundary, and α of its messages
        bubble      (a pass)·(p − 1)/v: a stage waits while others compute and exchange, v stages interleaved
        data        P/(t·p)·(d − 1)/d inside nodes, t·c times as much·(ν − 1)/ν between the ν nodes that d spans, as
                    the groups of t·c ways share a node's links (at most its devices do); 2·log₂(d)·α;
                    the experts' gradients P/(t·p·ε)·(1 − ε/d), as d/ε devices hold the same ones
        gather      the weights once more for every micro-batch, with ZeRO-3 or FSDP, inside nodes and between them
        update      P/(t·p), over d from ZeRO-1 on; P/(t·p·ε) of the experts
        offload     the same through the host, whole and over d

    Overlapped, data = max(0, data − ⅔·(a·W + a₂·A)): the exchange hides behind the backward pass of the last
    micro-batch. Shape of the terms after Narayanan et al. (2021), "Efficient large-scale language model training on GPU
    clusters using Megatron-LM"; the equations are our derivation. Categorical factors that are no switch of the
    layout (hardware, framework) multiply all terms by exp(level). What the table lacks is supposed (`layout.SUPPOSED`).
    Two forms are shorter (`Form`).
    """
    layout, left_out = TransformerLayout(factors), _LEFT_OUT.get(form, frozenset())
    passes = {name: text for name, occurs, text in _terms_of_pass(layout) if occurs and name not in left_out}
    formulas = {name: f"micro_batches*{text}" for name, text in passes.items()}
    if layout.split("pipeline_parallel"):
        formulas["bubble"] = f"({' + '.join(passes.values())})*{_SLOTS}"
    formulas |= {name: text for name, occurs, text in _terms_of_step(layout) if occurs and name not in left_out}
    has_micro_batch = layout.known("micro_batch")
    of_samples = _OF_SAMPLES if has_micro_batch else (*_OF_SAMPLES, *_OF_PASSES)
    constants = {name: coefficient(name, "s/sample" if name in of_samples else "s") for name in _COEFFICIENTS}
    constants |= {n: replace(c, upper=LONGEST_LATENCY) for n, c in constants.items() if n.startswith("alpha")}
    if form in _LEFT_OUT:
        # Without a micro-batch a latency of passes is one of samples, and that of a step's exchange is not.
        shared_latencies = _ALIKE | ({"alpha_d": "alpha_t"} if has_micro_batch else {})
        constants |= {name: constants[full_name] for name, full_name in shared_latencies.items()}
    total = _total_with_hidden_exchange(layout, formulas) if form == "overlapped" else None
    return layout.expression("transformer", formulas, constants, total)


def _terms_of_pass(layout: TransformerLayout) -> Iterator[tuple[str, bool, str]]:
    """Yield what a micro-batch takes on one stage: each term, whether it occurs in some run, and its formula."""
    has, switches = layout.known, layout.switches
    tensor, experts, pipeline = map(layout.split, ("tensor_parallel", "expert_parallel", "pipeline_parallel"))
    layers_of_stage = "layers/pipeline_parallel"
    beyond = "min(max(tensor_parallel*nodes/workers - 1, 0), 1)"
    small = has("parameters") or has("micro_batch")
    yield "matrix", True, f"a*{_MATRIX}"
    yield "attention", has("sequence"), f"a_s*{_SCORES}"
    yield "kernels", small, "k*6*parameters/(pipeline_parallel*hidden)"
    yield "launches", has("hidden") and has("layers"), f"l*{layers_of_stage}"
    yield "recomputation", "recomputed" in switches, f"r*{_MATRIX}/3*recomputed"
    yield "tensor", tensor, f"beta_t*{layers_of_stage}*{TOKENS}*hidden*(1 - 1/tensor_parallel)"
    yield "tensor latency", tensor, f"alpha_t*{layers_of_stage}*(tensor_parallel - 1)"
    between = tensor and layout.split("nodes")
    yield "tensor between nodes", between, f"beta_tn*{layers_of_stage}*{TOKENS}*hidden*{beyond}"
    yield "experts", experts, f"beta_x*{layers_of_stage}*{TOKENS}*hidden*(1 - 1/expert_parallel)"
    yield "experts latency", experts, f"alpha_x*{layers_of_stage}*(expert_parallel - 1)"
    yield "pipeline", pipeline, f"beta_p*{TOKENS}*hidden*min(pipeline_parallel - 1, 1)"
    yield "pipeline latency", pipeline, "alpha_p*min(pipeline_parallel - 1, 1)"


def _terms_of_step(layout: TransformerLayout) -> Iterator[tuple[str, bool, str]]:
    """Yield the terms of a step beside its passes, as `_terms_of_pass` yields those of a pass."""
    split, switches = layout.split, layout.switches
    data, experts, between = map(split, ("data_parallel", "expert_parallel", "nodes"))
    gathered, offloaded = data and "gathered" in switches, "offloaded" in switches
    divided = split("tensor_parallel") or split("pipeline_parallel") or "sharded" in switches
    update = layout.known("parameters") or divided
    yield "data", data, f"beta_d*{HELD}*(1 - 1/data_parallel)"
    yield "data latency", data, "alpha_d*2*log2(data_parallel)"
    yield "data of experts", data and experts, f"beta_e*{HELD}*max(1/expert_parallel - 1/data_parallel, 0)"
    yield "data between nodes", data and between, f"beta_n*{_BETWEEN}"
    yield "gather", gathered, f"beta_g*micro_batches*{HELD}*(1 - 1/data_parallel)*gathered"
    yield "gather between nodes", gathered and between, f"beta_gn*micro_batches*{_BETWEEN}*gathered"
    yield "update", update, f"u*{HELD}*(1 - sharded*(1 - 1/data_parallel))"
    yield "update of experts", update and experts, f"u_e*{HELD}/expert_parallel"
    yield "offload", offloaded, f"o*{HELD}*offloaded"
    yield "offload share", offloaded, f"o_d*{HELD}*offloaded/data_parallel"
    yield "constant", True, "c"


def _total_with_hidden_exchange(layout: TransformerLayout, terms: Collection[str]) -> Node | None:
    """Return the total with the exchange hidden behind the last backward pass; None where there is no exchange."""
    hiding = [f"`{name}`" for name in ("matrix", "attention") if name in terms]
    exchange = [f"`{name}`" for name in terms if name.startswith("data")]
    named_terms = [f"`{name}`" for name in terms if not name.startswith("data")]
    if not exchange:
        return None
    hidden = f"2*({' + '.join(hiding)})/(3*micro_batches)"
    text = f"{' + '.join(named_terms)} + max(0, {' + '.join(exchange)} - {hidden})"
    return substitute(parse(text).node, {"micro_batches": layout.over_columns("micro_batches")})


#: Coefficients of what is in proportion to the samples of a step, and to its micro-batches; then the others.
_OF_SAMPLES = ("a", "a_s", "r", "beta_p", "beta_t", "beta_tn", "beta_x")
_OF_PASSES = ("k", "l", "alpha_t", "alpha_p", "alpha_x", "beta_g", "beta_gn")
_COEFFICIENTS = (*_OF_SAMPLES, *_OF_PASSES, "beta_d", "alpha_d", "beta_e", "beta_n", "u", "u_e", "o", "o_d", "c")


def _shorter_forms(factors: Panel) -> list[Expression]:
    """Return the shorter forms, that with the exchange behind the backward pass, and that with it after the pass."""
    forms: tuple[Form, ...] = ("plain", "short", "overlapped", "serial")
    expressions = [build(factors, form) for form in forms]
    return [e for k, e in enumerate(expressions) if e not in expressions[k + 1 :]]


#: Factors of a network's shape.
_SHAPE = ("sequence", "layers", "hidden")

FAMILY = Family(
    name="transformer",
    equation=(
        "(m + (p − 1)/v)·(a·W + a₂·A) + k·m·L·h/p + r·m·W/3 + β_t·m·(L/p)·b·s·h·(t − 1)/t"
        " + β_d·P/(t·p)·(d − 1)/d + u·P/(t·p) + c; W, A operations of a micro-batch, ways d·t·p, v interleaved stages"
    ),
    source="Narayanan et al. 2021",
    purpose="steps of a transformer split by data, tensor, pipeline and context parallelism",
    requires=("data_parallel", "global_batch"),
    uses=("parameters", "tensor_parallel", "pipeline_parallel", "micro_batch", "nodes", *_SHAPE),
    supposes=("context_parallel", "expert_parallel", "virtual_stages", "micro_batches", *SWITCHED),
    build=_shorter_forms,
)


#: Micro-batches whose activations the first stage of a pipeline holds at once, over its stages.
_IN_FLIGHT = "min(pipeline_parallel, micro_batches)/pipeline_parallel"
#: Layers whose activations, and whose scores, are held at once: of those that are recomputed one at a time.
_LAYERS = f"layers*{_IN_FLIGHT}"
_KEPT = f"({_LAYERS}*(1 - layers_recomputed) + layers_recomputed)"
_SCORED = f"({_LAYERS}*(1 - scores_recomputed) + scores_recomputed)"


class MemoryPart(Struct, frozen=True):
    """What is known of a part's memory before any is measured."""

    per_size: float  #: Bytes of its size in 16-bit training with Adam (Korthikanti et al. 2022).
    of: Literal["parameters", "tokens", "device"]  #: What its size is in proportion to.
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


def build_memory(factors: Panel) -> Expression:
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
    switches, known, split = layout.switches, layout.known, layout.split
    tensor, recomputes = split("tensor_parallel"), "recomputed" in switches
    shards = bool({"sharded", "gradients_sharded", "gathered"} & {*switches})
    states = known("parameters") or tensor or split("pipeline_parallel")
    host = "*(1 - offloaded)" if "offloaded" in switches else ""
    layers_kept, scored = (_KEPT, _SCORED) if recomputes else (_LAYERS, _LAYERS)
    # Each part, whether some run has it, and a coefficient times its size.
    rows = (
        ("weights", shards, f"w*{HELD}*(1 - gathered*{_SPREAD})"),
        ("gradients", shards, f"g*{HELD}*(1 - gradients_sharded*{_SPREAD})"),
        ("optimizer", shards, f"o*{HELD}*(1 - sharded*{_SPREAD}){host}"),
        ("states", states and not shards, f"w*{HELD}"),
        ("experts", split("expert_parallel"), f"x*{HELD}/expert_parallel"),
        ("buckets", split("data_parallel"), f"q*{HELD}*min(data_parallel - 1, 1)"),
        ("activations", True, f"a*{TOKENS}*hidden*{layers_kept}/tensor_parallel"),
        ("norms", tensor, f"n*{TOKENS}*hidden*{layers_kept}"),
        ("attention", known("sequence") and known("heads"), f"e*{TOKENS}*sequence*heads*{scored}/tensor_parallel"),
        ("inputs", recomputes, f"i*{TOKENS}*hidden*{_LAYERS}*layers_recomputed"),
        ("logits", known("vocabulary"), f"v*{TOKENS}*vocabulary/tensor_parallel*max(2 - pipeline_parallel, 0)"),
        ("constant", True, "c*1"),
    )
    formulas = {name: text for name, occurs, text in rows if occurs}
    names = (text.partition("*")[0] for text in formulas.values())
    return layout.expression("transformer-memory", formulas, {name: coefficient(name, "") for name in names})


MEMORY = Family(
    name="transformer-memory",
    equation=(
        "w·P/(t·p) + g·P/(t·p) + o·P/(t·p) + q·P/(t·p)"
        " + a·b·s·h·(L/p)·min(p, m)/t + n·b·s·h·(L/p)·min(p, m) + e·b·s²·heads·(L/p)·min(p, m)/t + c,"
        " the states over d as ZeRO divides them"
    ),
    source="Korthikanti et al. 2022, Rajbhandari et al. 2020",
    purpose="memory of a device that trains a transformer",
    requires=("data_parallel", "micro_batch"),
    uses=("parameters", "tensor_parallel", "pipeline_parallel", "global_batch", *_SHAPE, "heads"),
    supposes=("context_parallel", "expert_parallel", "micro_batches", "vocabulary", *SWITCHED),
    build=build_memory,
    quantity="memory",
)
