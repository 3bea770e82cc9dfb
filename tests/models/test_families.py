"""What holds for every family of the registry."""

from collections import Counter

import numpy as np
import pytest
from helpers import panel_with

from genperf.errors import ModelError
from genperf.formula import Call, Name, Number, parse
from genperf.models import ALIASES, MODELS
from genperf.panel.axis import UNITS
from genperf.panel.panel import DERIVED
from genperf.table import Factor
from genperf.table.factor import measure

ALL = list(MODELS.values())
#: These take any factors.
ANY = ("workers", "batch", "bytes")
#: Constants that the named factors alone cannot tell apart; everything else must be recovered.
UNIDENTIFIED = {
    # 1, 1/n and 1 − 1/n span two dimensions.
    ("s-sgd-none", "least"): {"a", "beta_n", "u"},
    ("s-sgd-input", "least"): {"a", "beta_n", "u", "h"},
    # A prefetched input that falls as the computation does never takes longer than it.
    ("s-sgd-full", "least"): {"h"},
    # The same, and a share of two proportional times.
    ("s-sgd-part", "least"): {"a", "beta_n", "serial", "u"},
    ("s-sgd-gradients-part", "least"): {"a", "beta_n", "serial", "u", "h"},
    # The rest of a step takes longer than its input in every row.
    ("s-sgd-part", "batch"): {"h", "i"},
    ("s-sgd-part", "work"): {"h", "i"},
    # The last of its candidates is that of "s-sgd-none".
    ("s-sgd", "least"): {"a", "beta_n", "u"},
}


def names_of(family):
    """Return the factors that a family reads."""
    return [*family.requires, *family.uses, *family.supposes]


def sets_of(family):
    """Return the factors a family is given: what it must have, without work, and all it can use."""
    needs = names_of(family)
    if not needs:
        return {"one": ANY[:1], "two": ANY[:2], "three": ANY}
    return {
        "least": list(family.requires),
        "batch": [name for name in needs if name != "work"],
        "work": needs,
    }


CASES = [pytest.param(f, names, id=f"{f.name}-{label}") for f in ALL for label, names in sets_of(f).items()]


@pytest.mark.parametrize(("family", "names"), CASES)
def test_prints_and_reads_back(family, names, table):
    for expression in family.expressions(panel_with(table.factors(names))):
        assert parse(str(expression)).node == expression.node
        assert expression.latex().startswith("T = ")
        assert expression.latex().count("{") == expression.latex().count("}")
        assert expression.family == family.name
        assert len({t.name for t in expression.terms}) == len(expression.terms)
        assert set(expression.factors) <= set(names)


@pytest.mark.parametrize(("family", "names"), CASES)
def test_times_are_positive_and_proportional_to_the_coefficients(family, names, table):
    for expression in family.expressions(panel_with(table.factors(names))):
        true = table.true(expression)
        seconds = expression.evaluate(table.columns, true)
        assert np.all(np.isfinite(seconds))
        assert np.all(seconds > 0)
        kinds = {c.name: c.kind for c in expression.constants}
        doubled = {name: value * (2 if kinds[name] == "coefficient" else 1) for name, value in true.items()}
        np.testing.assert_allclose(expression.evaluate(table.columns, doubled), 2 * seconds, rtol=1e-10)


@pytest.mark.parametrize(("family", "names"), CASES)
def test_the_largest_term_is_at_most_the_total_and_the_total_at_most_the_sum(family, names, table):
    for expression in family.expressions(panel_with(table.factors(names))):
        true = table.true(expression)
        total = expression.evaluate(table.columns, true)
        terms = np.array(list(expression.term_values(table.columns, true).values()))
        assert np.all(terms >= 0)
        assert np.all(terms.max(axis=0) <= total * (1 + 1e-12))
        assert np.all(total <= terms.sum(axis=0) * (1 + 1e-12))


@pytest.mark.parametrize(("family", "names"), [c for c in CASES if c.values[0].name != "generic"])
def test_constants_come_back_from_exact_times(family, names, table):
    expressions = family.expressions(panel_with(table.factors(names)))
    expression = expressions[min(len(expressions) - 1, 50)]
    true = table.true(expression)
    constants, unidentified = table.recover(expression, true)
    label = next(label for label, given in sets_of(family).items() if list(given) == list(names))
    assert unidentified == UNIDENTIFIED.get((family.name, label), set())
    for name in set(true) - unidentified:
        assert constants[name] == pytest.approx(true[name], rel=0.01), name


def units_of(node, known):
    """Return the unit of a tree as powers of base units; adding unlike ones is an error."""
    match node:
        case Number():
            return Counter()
        case Name(name):
            return Counter(known[name])
        case Call("multiply" | "divide" as function, (first, second)):
            result, other = units_of(first, known), units_of(second, known)
            result.update(other) if function == "multiply" else result.subtract(other)
            return Counter({unit: power for unit, power in result.items() if power})
        case Call("where", (_, *values)):
            return like([units_of(v, known) for v in values if v != Number(0.0)])
        case Call("log2" | "power", arguments):
            assert all(not units_of(a, known) for a in arguments), "of something with a unit"
            return Counter()
        case Call("add" | "subtract" | "max" | "min", arguments):
            return like([units_of(a, known) for a in arguments])
        case _:
            raise AssertionError(f"no rule for {node}")


def like(units):
    assert all(unit == units[0] for unit in units), f"{units} added"
    return units[0]


# The generic family and the normal form divide each factor by its centre: their coefficients are seconds there.
TIMES = [c for c in CASES if c.values[0].requires and c.values[0].quantity == "time"]


@pytest.mark.parametrize(("family", "names"), TIMES)
def test_every_term_is_in_seconds(family, names, table):
    for expression in family.expressions(panel_with(table.factors(names))):
        known = {name: Counter([UNITS[name]]) if name in UNITS else Counter() for name in names}
        bases = {unit: Counter([unit]) for unit in (*UNITS.values(), "s")}
        for constant in expression.constants:
            known[constant.name] = units_of(parse(constant.unit).node, bases) if constant.unit else Counter()
        for term in expression.terms:
            assert units_of(term.node, known) == Counter("s"), f"{term.name} in {expression}"


@pytest.mark.parametrize("family", [f for f in ALL if f.requires], ids=lambda f: f.name)
def test_what_is_missing_and_what_is_left_out(family, table):
    needed = list(family.requires)
    # Where no column splits a pass, the batch of all follows from the micro-batch and the data-parallel ways.
    follows = {"global_batch"} if "micro_batch" in needed else set()
    assert family.left_out(panel_with(table.factors(needed))) == [name for name in family.uses if name not in follows]
    assert family.left_out(panel_with(table.factors(names_of(family)))) == []
    with pytest.raises(ModelError, match=f"'{family.name}' needs '{needed[0]}'") as refused:
        family.expressions(panel_with([measure("layers", "intrinsic", [2, 4])]))
    assert f"--map {needed[0]}=COLUMN" in str(refused.value)


@pytest.mark.parametrize("family", ALL, ids=lambda f: f.name)
def test_columns_may_be_named_as_a_constant_or_in_any_way(family, table):
    letters = ["a", "b", "c", "d", "s", "k", "q", "u", "c_", "c1", "a1", "C", "alpha", "beta", "gamma", "i0"]
    taken = [measure(name, "extrinsic", table.columns["threads"]) for name in letters]
    needed = family.requires
    named = {name: f"my {name}" for name in dict.fromkeys(["workers", "nodes", *needed])}
    columns = {**table.columns, **{new: table.columns[old] for old, new in named.items()}}
    factors = [measure(name, "extrinsic", columns[name]) for name in named.values()]
    needs = names_of(family)
    mapping = {old: new for old, new in named.items() if old in needs}
    for expression in family.expressions(panel_with([*factors, *taken], mapping))[:2]:
        assert set(expression.constant_names).isdisjoint([*letters, *named.values()])
        assert parse(str(expression)).node == expression.node
        assert expression.family == "generic" or set(expression.factors) <= {*named.values(), *letters}


@pytest.mark.parametrize(
    ("columns", "wanted", "formula"),
    [
        (["gpus", "global_batch"], "batch", "global_batch/gpus"),
        (["workers", "samples", "batch"], "iterations", "samples/(batch*workers)"),
        (["workers", "gpus_per_node"], "nodes", "ceil(workers/gpus_per_node)"),
        (["params"], "bytes", "4*params"),
        (["workers"], "batch", None),  # batch from global batch from batch: no circle
    ],
)
def test_derived_factors(columns, wanted, formula):
    node = panel_with(Factor(name, "extrinsic") for name in columns).node(wanted)
    assert node == (None if formula is None else parse(formula).node)
    assert {*DERIVED} <= set(ALIASES)


def test_a_column_of_servers_with_zeros_is_not_divided_by():
    workers = measure("workers", "extrinsic", [1, 2, 4])
    servers = measure("servers", "extrinsic", [0, 0, 1])
    family = MODELS["parameter-server"]
    assert str(family.expressions(panel_with([workers, servers]))[0]) == "c + a/workers + 2*beta*workers"
    assert "servers" in family.left_out(panel_with([workers, servers]))
    with pytest.raises(ModelError, match="divides by 'workers', and column 'ranks' goes down to 0"):
        family.expressions(panel_with([measure("ranks", "extrinsic", [0, 1, 2])]))


@pytest.mark.parametrize("roles", ["e", "i", "ee", "ie", "eee", "iie", "iiiii", "iiieee"])
def test_the_normal_form_has_a_bounded_number_of_candidates(roles, table):
    names = ["workers", "bytes", "batch", "servers", "threads", "partitions"]
    factors = [
        measure(name, "intrinsic" if role == "i" else "extrinsic", table.columns[name])
        for name, role in zip(names, roles, strict=False)
    ]
    hypotheses = MODELS["pmnf"].expressions(panel_with(factors))
    assert 10 < len(hypotheses) < 150
    assert len({str(e) for e in hypotheses}) == len(hypotheses)
    sizes = [len(e.constants) for e in hypotheses]
    assert sizes[0] == 1
    assert max(sizes) == max(3, 1 + len(roles)) or len(roles) == 1


def test_the_normal_form_takes_no_logarithm_below_one():
    for lower, expected in [(0.5, False), (1.0, True)]:
        hypotheses = MODELS["pmnf"].expressions(panel_with([measure("x", "extrinsic", [lower, 2.0, 4.0])]))
        assert any("log2" in str(e) for e in hypotheses) is expected


@pytest.mark.parametrize("family", ALL, ids=lambda f: f.name)
def test_factors_that_do_not_vary_are_harmless(family, table):
    columns = {**table.columns, "batch": np.full(160, 32.0), "nodes": np.ones(160)}
    names = dict.fromkeys(["workers", "nodes", "batch", *family.requires])
    for expression in family.expressions(panel_with([measure(n, "extrinsic", columns[n]) for n in names])):
        seconds = expression.evaluate(columns, dict.fromkeys(expression.constant_names, 1.0))
        assert np.all(np.isfinite(seconds))
        assert np.all(seconds > 0)


FEW = {"workers": [1, 2, 4, 8], "nodes": [1, 1, 1, 1], "batch": [32] * 4}
MORE = {"workers": [1, 2, 4, 8, 16], "nodes": [1, 1, 1, 1, 2], "batch": [32] * 5}


@pytest.mark.parametrize(
    ("name", "columns", "expected"),
    [
        # One node: no network to see. One batch: what a step costs anyhow is in its computation.
        ("topology", FEW, "a*batch + beta_r*(1 - nodes/workers)"),
        ("topology", MORE, "a*batch + beta_r*(1 - nodes/workers) + beta_n*(1 - 1/nodes)"),
        ("ernest", FEW, "a*batch + b*log2(workers) + d*workers"),
        ("usl", FEW, "s*batch*workers + a*batch + k*batch*workers*(workers - 1)"),
        ("power-law", FEW, "a*batch + b*workers**q"),
        ("ring-allreduce", FEW, "a*batch/3 + max(2*a*batch/3, 2*beta*(1 - 1/workers) + 2*alpha*(workers - 1))"),
        ("ring-allreduce", {"workers": [1, 1], "batch": [8, 16]}, "a*batch/3 + 2*a*batch/3 + c"),
        ("peer-to-peer", {**FEW, "bytes": [1e8] * 4}, "a*batch + beta*bytes*(workers - 1)"),
        (
            "s-sgd",
            FEW,
            "max(i*batch*(workers/nodes), a*batch/3 + max(2*a*batch/3, "
            "2*beta_r*(1 - nodes/workers) + 2*alpha*(workers - 1)))",
        ),
        (
            "goodput",
            FEW,
            "((a*batch)**gamma + where(workers > 1 and nodes <= 1, alpha_r + beta_r*(workers - 2), 0)**gamma)"
            "**(1/gamma)",
        ),
        ("cntk", {"workers": [1, 2, 4]}, "i0 + i1*workers**q + max(a/workers, s*workers)"),
        ("adam", {"workers": [1, 2], "partitions": [2, 2], "threads": [4, 4]}, "a/workers/partitions + beta_w"),
    ],
)
def test_what_the_table_cannot_show_has_no_constants(name, columns, expected):
    factors = [measure(column, "extrinsic", np.array(values, float)) for column, values in columns.items()]
    assert str(MODELS[name].expressions(panel_with(factors))[0]) == expected
