"""The time of a transformer's training step, split by data, tensor, pipeline and context parallelism."""

from __future__ import annotations

from typing import Literal

from genperf.expression import Expression, Term, coefficient
from genperf.formula import Name, Node, names_in, parse, substitute
from genperf.models.compose import unused_name
from genperf.models.family import Factors, Family, Need
from genperf.models.transformer.layout import HELD, TOKENS, Layout
from genperf.models.transformer.levels import level_effects, scaled

#: `serial` and `overlapped` have every term, with the exchange after the backward pass or behind it. `short`, for few
#: runs, goes without those that are mostly small, and computes scores as fast as matrix products.
Form = Literal["short", "serial", "overlapped"]
_DETAILS = frozenset({"kernels", "pipeline", "tensor latency", "update", "offload share"})

#: Operations of a micro-batch on one device: the matrix products, and the scores of the attention.
_MATRIX = f"6*parameters*{TOKENS}/(tensor_parallel*pipeline_parallel)"
_SCORES = f"12*layers*hidden*sequence*{TOKENS}/(tensor_parallel*pipeline_parallel)"
_SLOTS = "(pipeline_parallel - 1)/virtual_stages"
#: Nodes that a group of data-parallel ways spans: tensor- and context-parallel ways come first inside a node.
_SPANNED = "max(1, data_parallel*tensor_parallel*context_parallel*nodes/workers)"


def build(factors: Factors, form: Form = "serial") -> Expression:
    """Write the time of a step, with m micro-batches of b samples of s tokens on t·p·d·c devices.

        T = Σ over the slots of a micro-batch + what the data-parallel ways exchange + the update + a constant
        matrix      a·m·W, W = 6·P·s·b/(t·p·c) operations
        attention   a₂·m·A, A = 12·L·h·s²·b/(t·p·c)
        kernels     k·m·W·t/(b·s·h): small products use a device badly, a saturating efficiency 1/(1 + κ/(b·s·h/t))
        recomputation  r·m·W/3 where activations are recomputed
        bubble      (a·W + a₂·A)·(p − 1)/v slots in which a stage waits, v stages interleaved
        tensor      β·m·(L/p)·b·s·h·(t − 1)/t, and α·m·L/p where t > 1; again where t spans nodes
        pipeline    m·b·s·h at a stage's boundary
        data        P/(t·p)·(d − 1)/d inside nodes, (ν − 1)/ν between the ν nodes that d spans
        gather      the weights once more for every micro-batch, with ZeRO-3 or FSDP
        update      P/(t·p), over d from ZeRO-1 on
        offload     the same through the host, whole and over d

    Overlapped, data = max(0, data − ⅔·(a·W + a₂·A)): the exchange hides behind the backward pass of the last
    micro-batch. Shape of the terms after Narayanan et al. (2021), "Efficient large-scale language model training on GPU
    clusters using Megatron-LM"; the equations are our derivation. Categorical factors that are no switch of the
    layout (hardware, framework) multiply all terms by exp(level). What the table lacks is supposed (`layout.SUPPOSED`).
    The short form leaves out kernels, pipeline, the latency of tensor ways, update and the share of an offload.

    Examples
    --------
    >>> from genperf.table import Factor
    >>> factors = [Factor(n, "extrinsic") for n in ("dp", "gbs", "params")]
    >>> [term.name for term in build(Factors(tuple(factors))).terms]
    ['matrix', 'kernels', 'data', 'update', 'constant']
    """
    return _Writer(factors, form).expression


class _Writer:
    """Collects terms and constants while the expression is written."""

    def __init__(self, factors: Factors, form: Form) -> None:
        self.factors, self.form = factors, form
        self.layout = Layout(factors)
        columns = {f.name for f in factors.factors}
        counted = self.layout.known("micro_batch")
        units = {**dict.fromkeys(_OF_SAMPLES, "s/sample"), **dict.fromkeys(_OF_PASSES, "s" if counted else "s/sample")}
        self.coefficients = {n: coefficient(unused_name(n, columns), units.get(n, "s")) for n in _COEFFICIENTS}
        levels = level_effects(factors, columns)
        formulas = self._formulas()
        terms = tuple(Term(name, scaled(self._node(text), levels)) for name, text in formulas.items())
        used = frozenset().union(*(names_in(term.node) for term in terms))
        constants = tuple(c for c in (*self.coefficients.values(), *levels) if c.name in used)
        texts = tuple(f.name for f in factors.factors if not f.numeric and f.name in used)
        self.expression = Expression("transformer", terms, constants, self._total(formulas), texts)

    def _node(self, text: str) -> Node:
        """Return a term over columns."""
        return self.layout.over_columns(text, {name: Name(c.name) for name, c in self.coefficients.items()})

    def _formulas(self) -> dict[str, str]:
        """Return the terms as formulas over canonical names, without those that no run has."""
        split, known = self.layout.split, self.layout.known
        tensor, pipeline, data = (split(f"{way}_parallel") for way in ("tensor", "pipeline", "data"))
        several_nodes = known("nodes") and split("nodes")
        formulas = {"matrix": f"a*micro_batches*{_MATRIX}"}
        if known("sequence"):
            formulas["attention"] = f"a_s*micro_batches*{_SCORES}"
        shaped = known("parameters")
        if shaped or known("micro_batch"):
            formulas["kernels"] = "k*micro_batches*6*parameters/(pipeline_parallel*hidden)"
        if "recomputed" in self.layout.switches:
            formulas["recomputation"] = f"r*micro_batches*{_MATRIX}/3*recomputed"
        if pipeline:
            scores = f" + a_s*{_SCORES}" if known("sequence") else ""
            formulas["bubble"] = f"(a*{_MATRIX}{scores})*{_SLOTS}"
            formulas["pipeline"] = f"beta_p*micro_batches*{TOKENS}*hidden*min(pipeline_parallel - 1, 1)"
        if tensor:
            each = "micro_batches*layers/pipeline_parallel"
            formulas["tensor"] = f"beta_t*{each}*{TOKENS}*hidden*(1 - 1/tensor_parallel)"
            formulas["tensor latency"] = f"alpha_t*{each}*min(tensor_parallel - 1, 1)"
            if several_nodes:
                beyond = "min(max(tensor_parallel*nodes/workers - 1, 0), 1)"
                formulas["tensor between nodes"] = f"beta_tn*{each}*{TOKENS}*hidden*{beyond}"
        if data:
            formulas["data"] = f"beta_d*{HELD}*(1 - 1/data_parallel)"
            if several_nodes:
                formulas["data between nodes"] = f"beta_n*{HELD}*(1 - 1/{_SPANNED})"
            if "gathered" in self.layout.switches:
                formulas["gather"] = f"beta_g*micro_batches*{HELD}*(1 - 1/data_parallel)*gathered"
        if shaped or tensor or pipeline or "sharded" in self.layout.switches:
            formulas["update"] = f"u*{HELD}*(1 - sharded*(1 - 1/data_parallel))"
        if "offloaded" in self.layout.switches:
            formulas["offload"] = f"o*{HELD}*offloaded"
            formulas["offload share"] = f"o_d*{HELD}*offloaded/data_parallel"
        formulas["constant"] = "c"
        if self.form == "short":
            kept = {name: text.replace("a_s*", "a*") for name, text in formulas.items() if name not in _DETAILS}
            return {**kept, "constant": kept.pop("constant")}
        return formulas

    def _total(self, formulas: dict[str, str]) -> Node | None:
        """Return the sum, with the exchange hidden behind the last backward pass where it overlaps."""
        exchange = [f"`{name}`" for name in formulas if name.startswith("data")]
        if self.form != "overlapped" or not exchange:
            return None
        hiding = [f"`{name}`" for name in ("matrix", "attention") if name in formulas]
        plain = [f"`{name}`" for name in formulas if not name.startswith("data")]
        slots = "micro_batches"
        hidden = f"2*({' + '.join(hiding)})/(3*{slots})"
        text = f"{' + '.join(plain)} + max(0, {' + '.join(exchange)} - {hidden})"
        return substitute(parse(text).node, {slots: self.layout.over_columns(slots)})


#: Coefficients of what is in proportion to the samples of a step, and to its micro-batches; then the others.
_OF_SAMPLES = ("a", "a_s", "r", "beta_p", "beta_t", "beta_tn")
_OF_PASSES = ("k", "alpha_t", "beta_g")
_COEFFICIENTS = (*_OF_SAMPLES, *_OF_PASSES, "beta_d", "beta_n", "u", "o", "o_d", "c")


def _builds(factors: Factors) -> list[Expression]:
    """Return the short form, that with the exchange behind the backward pass, and that with it after the pass."""
    forms: tuple[Form, ...] = ("short", "overlapped", "serial")
    expressions = [build(factors, form) for form in forms]
    return [e for k, e in enumerate(expressions) if e not in expressions[k + 1 :]]


NEEDS = (
    Need("data_parallel"),
    Need("global_batch"),
    Need("parameters", False),
    *(Need(name, False) for name in ("tensor_parallel", "pipeline_parallel", "micro_batch", "nodes")),
    *(Need(name, False) for name in ("sequence", "layers", "hidden")),
    *(Need(name, False, supposed=True) for name in ("context_parallel", "virtual_stages", "micro_batches")),
    *(Need(name, False, supposed=True) for name in ("zero", "recomputation", "offload")),
)

FAMILY = Family(
    name="transformer",
    equation=(
        "(m + (p − 1)/v)·(a·W + a₂·A) + k·m·L·h/p + r·m·W/3 + β_t·m·(L/p)·b·s·h·(t − 1)/t"
        " + β_d·P/(t·p)·(d − 1)/d + u·P/(t·p) + c; W, A operations of a micro-batch, ways d·t·p, v interleaved stages"
    ),
    source="Narayanan et al. 2021",
    purpose="steps of a transformer split by data, tensor, pipeline and context parallelism",
    needs=NEEDS,
    build=build,
    candidates=_builds,
    partial=True,
)
