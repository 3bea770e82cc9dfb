"""What follows from a predicted time: one table of formulas for `--show`, `optimize`, `ask` and the page."""

from collections.abc import Mapping
from dataclasses import dataclass

from genperf.errors import ModelError, TableError
from genperf.formula import Call, Name, Node, Number, call, names_in, parse, render, substitute
from genperf.formula.amounts import with_amounts
from genperf.panel.panel import Panel
from genperf.vocabulary.names import LEVELS

#: Quantity → its formula over the predicted `value`, over other quantities, and over what the columns or the question
#: give: the `work` of a step, the `sequence` of a sample, the `machines` that are paid for, …
QUANTITIES: dict[str, str] = {
    "throughput": "work/value",
    "tokens_per_s": "throughput*sequence",
    "flops_per_device": "6*parameters*tokens_per_s/workers",
    "mfu": "flops_per_device/peak",
    "total": "value*steps",
    "spending": "price*machines",
    "cost": "machines*total*price",
    "days": "tokens/tokens_per_s/86400",
    "training_cost": "spending*tokens/tokens_per_s",
}
#: What a formula needs and nothing gives → what is missing, and what to try.
LACKS: dict[str, tuple[str, str]] = {
    "price": ("a price", "--price 2/h, with --per COLUMN for what it is paid"),
    "machines": ("a column that counts what is paid for", "--per FORMULA, as --per 'replicas + servers'"),
    "work": ("the work of a step", "fit with --throughput, or with a column of the batch"),
    "sequence": ("the tokens of a sample", 'a column such as seq_length, or --show "tokens_per_s=throughput*2048"'),
    "parameters": ("the parameters", "a column of them, or of the layers and the width; --map parameters=COLUMN"),
    "workers": ("the devices", "--map workers=COLUMN"),
}
ONE = Number(1.0)


@dataclass(frozen=True)
class Quantities:
    """The quantities of one model, as formulas over its factors and the predicted value.

    Examples
    --------
    >>> from genperf.formula import render
    >>> known = Quantities({"value": Name("time"), "steps": ONE, "machines": Name("gpus"), "price": Number(2.0)})
    >>> render(known.node("cost")), known.has("throughput")
    ('gpus*time*2', False)
    """

    #: What the formulas read → what it is in this model.
    given: Mapping[str, Node]

    def has(self, name: str) -> bool:
        """Return whether everything that a quantity reads is given."""
        return name in self.given or (name in QUANTITIES and all(map(self.has, parse(QUANTITIES[name]).names)))

    def node(self, name: str) -> Node:
        """Return a quantity as a formula."""
        if name in self.given:
            return self.given[name]
        formula = parse(QUANTITIES.get(name, name)).node
        for read, (lack, hint) in LACKS.items():
            if read in names_in(formula) and read not in self.given:
                raise ModelError(f"'{name}' needs {lack}, and nothing of the model shows it", hint=hint)
        return _without_ones(substitute(formula, {read: self.node(read) for read in names_in(formula)}))


def quantities_of(panel: Panel, given: Mapping[str, Node | None] | None = None) -> Quantities:
    """Return the quantities that the columns of a model give.

    What is `given` stands in the place of what the columns show; None is not known.
    """
    target = panel.target
    known: dict[str, Node | None] = {name: panel.node(name) for name in ("parameters", "workers", "sequence")}
    known |= {"value": None if target is None else Name(target.name), "work": panel.step_work}
    if panel.counted_by_throughput == "tokens":
        known["sequence"] = ONE
    # Where a throughput was measured, the length of a step is a convention: one unit of its work is paid for.
    known["steps"] = ONE if panel.measured_work is None else call("divide", ONE, panel.measured_work)
    return Quantities({name: node for name, node in {**known, **(given or {})}.items() if node is not None})


def _without_ones(node: Node) -> Node:
    """Return a product without factors of one."""
    if not isinstance(node, Call):
        return node
    left, *others = (_without_ones(argument) for argument in node.arguments)
    if node.function in ("multiply", "divide") and others == [ONE]:
        return left
    if node.function == "multiply" and left == ONE:
        return others[0]
    return Call(node.function, (left, *others))


def paid_for(panel: Panel, per: str | None) -> tuple[str, Node]:
    """Return what a price is for: its name and its count, a formula over the factors; a worker by default.

    Parameters
    ----------
    per : str, optional
        A column, a field's name (workers, nodes, servers), or a formula over the factors.

    Raises
    ------
    TableError
        Where nothing of the model counts it.
    """
    factors = {f.name for f in panel.factors if f.numeric}
    if per is None:
        node = panel.counted_node
        if node is None:
            raise TableError("no column counts what is paid for", hint="--per COLUMN, or --per 1")
        return render(node).replace("`", ""), node
    named = panel.find(per) if per in (*LEVELS, "servers") else None
    column = named.name if named is not None else panel.column(per)
    node = Name(column) if column in factors else parse(with_amounts(column)).node
    unknown = names_in(node) - factors
    if unknown:
        counts = ", ".join(f.name for f in panel.factors if f.role == "extrinsic")
        raise TableError(f"'{min(unknown)}' counts nothing that has a price", hint=f"--per {counts or 'COLUMN'}")
    return column, node
