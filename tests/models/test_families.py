"""Every family: what it requires, its equation by hand, and one worker alone."""

from collections import Counter
from itertools import product

import numpy as np
import pandas as pd
import pytest
from helpers import cases_in_text, panel_with, runs_of

import genperf as gp
from genperf.attribution.elasticity import doublings_at
from genperf.errors import FitError, ModelError
from genperf.formula import Call, Name, Number, parse
from genperf.models import MODELS
from genperf.models.network import checked_hints, network_of, with_devices_per_node
from genperf.panel import Table
from genperf.panel.panel import UNITS
from genperf.table.cells import measure

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
    return {"least": list(family.requires), "batch": [name for name in needs if name != "work"], "work": needs}


CASES = [pytest.param(f, names, id=f"{f.name}-{label}") for f in ALL for label, names in sets_of(f).items()]


@pytest.mark.parametrize(("family", "names"), CASES)
def test_every_expression_reads_back_and_its_terms_and_coefficients_make_up_the_time(family, names, table):
    for expression in family.expressions(panel_with(table.factors(names))):
        assert parse(str(expression)).node == expression.node
        assert expression.latex().startswith("T = ")
        assert expression.latex().count("{") == expression.latex().count("}")
        assert expression.family == family.name
        assert len({t.name for t in expression.terms}) == len(expression.terms)
        assert set(expression.factors) <= set(names)
        true = table.true(expression)
        seconds = expression.evaluate(table.columns, true)
        assert np.all(np.isfinite(seconds) & (seconds > 0))
        # Times are proportional to the coefficients together.
        doubled = {c.name: true[c.name] * (2 if c.kind == "coefficient" else 1) for c in expression.constants}
        np.testing.assert_allclose(expression.evaluate(table.columns, doubled), 2 * seconds, rtol=1e-10)
        # The largest term is at most the time, and the time at most the sum.
        terms = np.array(list(expression.term_values(table.columns, true).values()))
        assert np.all(terms >= 0)
        assert np.all(terms.max(axis=0) <= seconds * (1 + 1e-12))
        assert np.all(seconds <= terms.sum(axis=0) * (1 + 1e-12))


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
        case Call("sqrt", (argument,)):
            return Counter({unit: power / 2 for unit, power in units_of(argument, known).items()})
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


RING = "2*beta_r*(1 - nodes/workers) + 2*alpha*(workers - 1)"


@cases_in_text("name, columns, expected")
def test_what_the_table_cannot_show_has_no_constants(name, columns, expected):
    factors = [measure(column, "extrinsic", np.array(values, float)) for column, values in columns.items()]
    assert str(MODELS[name].expressions(panel_with(factors))[0]) == expected


# --- one worker alone: it may run without the exchange of several, or with it. Pollux' goodput on its authors' table -

#: An exchange that grows with the workers, 0.1 s for each, and what several workers cost besides.
EXCHANGE, TOGETHER = 0.1, 0.3
#: The step of n > 1 workers, from the step of one alone in s, and the family that has it.
LAWS = {
    "servers": ("parameter-server", lambda n, alone: alone + EXCHANGE * n),
    "servers and synchronisation": ("parameter-server", lambda n, alone: alone + TOGETHER + EXCHANGE * n),
    "peers": ("peer-to-peer", lambda n, alone: alone + EXCHANGE * (n - 1)),
    "peers and synchronisation": ("peer-to-peer", lambda n, alone: alone + TOGETHER + EXCHANGE * (n - 1)),
    # Two thirds of the computation hide behind the exchange.
    "ring": ("ring-allreduce", lambda n, alone: alone / 3 + EXCHANGE * (8 * (1 - 1 / n) + n - 1)),
}


def runs(law, workers, alone=0.01):
    """Return steps of some numbers of workers, of which one alone takes `alone` seconds."""
    return runs_of(lambda f: law(f.workers, alone).where(f.workers > 1, alone), {"workers": workers, "batch": [8]})


def error_at_32(law, model, workers, alone=0.01):
    """Return |predicted/true − 1| at 32 workers of a model fitted to runs of fewer workers."""
    result = gp.fit(runs(law, workers, alone), model, time="s", extrinsic="workers", intrinsic="batch", draws=2, seed=0)
    return abs(result.predict({"workers": 32, "batch": 8}).time.iloc[0] / law(32, alone) - 1)


@pytest.mark.parametrize("alone", [0.01, 0.5])
@pytest.mark.parametrize("title", LAWS)
def test_a_table_with_one_worker_is_fitted_as_well_as_one_without(title, alone):
    model, law = LAWS[title]
    with_one = error_at_32(law, model, [1, 2, 4, 8], alone)
    assert with_one <= max(0.01, 1.1 * error_at_32(law, model, [2, 4, 8], alone))


def test_one_worker_that_exchanges_with_its_server_is_charged_for_it():
    table = runs_of(lambda f: 0.01 + EXCHANGE * f.workers, {"workers": [1, 2, 4, 8], "batch": [8]})
    result = gp.fit(table, "parameter-server", time="s", extrinsic="workers", intrinsic="batch", seed=0)
    assert str(result.best.expression) == "a*batch + 2*beta*workers"


@pytest.fixture(scope="module")
def pollux():
    """Pollux' table: step times of six networks, each with batches that were run on 1 to 64 devices."""
    frame = gp.datasets.corpus("sia_aws")
    return frame.assign(network=frame.series.str.split("|").str[2].str.strip())


ROLES = {"time": "t", "extrinsic": "devices,nodes", "intrinsic": "batch", "seed": 0}


def test_goodput_pools_the_batches_of_a_network(pollux):
    """As its authors fit it: all batches at once. The largest count of each batch follows from the smaller ones."""
    rows = pollux[pollux.network == "imagenet"].drop(columns=["source", "network"])
    largest = rows.groupby("series").devices.transform("max")
    asked = rows[rows.devices == largest]
    result = gp.fit(rows[rows.devices < largest].drop(columns="series"), "goodput", **ROLES)
    errors = np.abs(result.predict(asked[["devices", "nodes", "batch"]]).time.to_numpy() / asked.t.to_numpy() - 1)
    assert float(np.median(errors)) <= 0.10
    assert set(result.best.values) == {"c", "a", "alpha_r", "beta_r", "alpha_n", "beta_n", "gamma"}


# --- hints of the network between nodes: what is read, and what is refused -------------------------------------------


@cases_in_text("hints, seconds")
def test_exchange_of_two_nodes(hints: dict[str, str], seconds: float | None) -> None:
    runs = pd.DataFrame({"gpus": [1, 2, 4], "weights": [25e6] * 3, "s": [0.30, 0.31, 0.32]})
    table = gp.read_table(runs, time="s", extrinsic="gpus")
    network = network_of(checked_hints(hints))
    assert network.exchange(table) == (None if seconds is None else pytest.approx(seconds))


@cases_in_text("hints, said")
def test_hints_that_no_exchange_follows_from_are_refused(hints: dict[str, str], said: str) -> None:
    runs = pd.DataFrame({"gpus": [1, 2, 4], "grads": [1e6, 2e6, 2e6], "s": [0.30, 0.31, 0.32]})
    with pytest.raises(FitError, match=said):
        gp.fit(runs, time="s", extrinsic="gpus", hints=hints)


def test_the_table_counts_where_devices_per_node_contradict_it() -> None:
    runs = pd.DataFrame({"gpus": [2, 4, 8, 16], "nodes": [1, 1, 1, 2], "s": [0.30, 0.31, 0.32, 0.4]})
    table = gp.read_table(runs, time="s", extrinsic="gpus,nodes")
    told = with_devices_per_node(table, {"devices per node": "4"})
    assert told.notes[-1].kind == "hint_contradicted"
    assert [f.name for f in told.factors] == ["gpus", "nodes"]
    assert with_devices_per_node(table, {"devices per node": "8"}) is table


def test_only_auto_reads_the_bandwidth() -> None:
    runs = pd.DataFrame({"gpus": [1, 2, 4, 8], "s": [0.30, 0.31, 0.32, 0.4]})
    with pytest.raises(FitError, match="only auto reads hints"):
        gp.fit(runs, "amdahl", time="s", extrinsic="gpus", hints={"bandwidth": "1Gbit/s"})
    compared = gp.validate(
        gp.read_table(runs, time="s", extrinsic="gpus"),
        models=["auto", "logarithmic", "last-point"],
        scheme="extrapolate:gpus",
        hints={"bandwidth": "1Gbit/s", "parameters": "1M", "devices per node": "4"},
    )
    assert len(compared.models) == 3


# --- the ring hides behind the backward pass or follows it: the law that measurements speak for is chosen ------------

ROLES_RING_OVERLAP = {"time": "t", "intrinsic": "batch,bytes", "extrinsic": "workers"}


def rings(hides: bool, counts: tuple[int, ...] = (1, 2, 4, 8, 12, 16)) -> Table:
    """Return steps with a backward pass of 0.06 s a sample, and links of 25 MB/s."""
    frame = pd.DataFrame(product((2, 4), (1e6, 4e6), counts), columns=["batch", "bytes", "workers"])
    backward = 0.06 * frame.batch
    exchange = 2 * frame.bytes / 25e6 * (1 - 1 / frame.workers) + 2e-4 * (frame.workers - 1)
    both = np.maximum(backward, exchange) if hides else backward + exchange
    return gp.read_table(frame.assign(t=0.01 + 0.03 * frame.batch + both), **ROLES_RING_OVERLAP)


@pytest.mark.parametrize("hides", [True, False])
def test_the_law_of_the_measured_steps_is_chosen_and_extrapolates(hides: bool) -> None:
    result = gp.fit(rings(hides, (1, 2, 4, 8)), "ring-allreduce", seed=0, draws=5)
    assert result.best.expression.is_sum != hides
    asked = rings(hides, (16,))
    times = result.predict(asked.frame)["time"].to_numpy()
    assert times == pytest.approx(asked.measured, rel=0.02)


def test_one_of_four_layers_follows() -> None:
    """By layers of equal length: each is exchanged once it is computed and the one before it has been exchanged."""
    table = rings(True)
    frame = table.frame
    layer, sent = 0.06 * frame.batch / 4, (2 * frame.bytes / 25e6 * (1 - 1 / frame.workers)) / 4
    done = np.zeros(len(frame))
    for number in range(1, 5):
        done = np.maximum(done, number * layer) + sent
    columns = frame[["batch", "bytes", "workers"]].assign(t=0.01 + 0.03 * frame.batch + done)
    result = gp.fit(gp.read_table(columns, **ROLES_RING_OVERLAP), "ring-allreduce", seed=0, draws=5)
    assert result.best.values["serial"] == pytest.approx(0.25, abs=0.01)
    assert result.metrics["mape"] < 0.5


@pytest.mark.parametrize(("exposed", "maxima"), [(True, 0), (False, 1)])
def test_a_ring_of_one_batch_shows_whether_it_hides_by_when_the_time_grows(exposed: bool, maxima: int) -> None:
    ring = lambda f: 0.05 * (1 - 1 / f.workers) + 0.002 * (f.workers - 1)  # noqa: E731
    law = lambda f: 0.05 + (0.06 + ring(f) if exposed else np.maximum(0.06, ring(f)))  # noqa: E731
    runs = runs_of(lambda f: law(f) + 0 * f.batch, {"workers": [1, 2, 4, 8, 16, 32], "batch": [16]}, noise=0.005)
    result = gp.fit(runs, "ring-allreduce", time="s", extrinsic="workers", intrinsic="batch", draws=5)
    assert str(result.best.expression).count("max(") == maxima
    assert result.metrics["mape"] < 4.0


# --- `cntk`: an asynchronous server that workers queue at, or a synchronous one whose time adds up -------------------

ROLES_SERVERS_OF_JOBS = {"time": "s", "extrinsic": "workers", "intrinsic": "batch,iterations,samples", "draws": 10}
JOBS = {"workers": [1, 2, 4, 8, 16], "batch": [16, 64], "iterations": [50, 200], "samples": [1e4, 4e4]}


def initialisation(f):
    return 2.0 + 1e-5 * f.samples * f.workers


def queue(f):
    """The server is what an iteration waits for beyond 5 workers at batch 16, and 17 at batch 64."""
    return initialisation(f) + f.iterations * np.maximum(0.001 * f.batch + 0.004, 0.004 * f.workers)


def added(f):
    return initialisation(f) + f.iterations * (0.001 * f.batch + 0.004 + 0.004 * f.workers)


@pytest.mark.parametrize(("law", "maxima"), [(queue, 1), (added, 0)])
def test_the_server_is_chosen_by_held_out_jobs(law, maxima):
    result = gp.fit(runs_of(law, JOBS, noise=0.01), "cntk", **ROLES_SERVERS_OF_JOBS)
    assert str(result.best.expression).count("max(") == maxima
    assert result.best.values["s"] == pytest.approx(0.004, rel=0.05)
    assert result.best.values["i1"] == pytest.approx(1e-5, rel=0.1)
    asked = runs_of(law, {**JOBS, "workers": [32]})
    predicted = result.predict(asked.drop(columns="s")).time
    assert np.abs(predicted / asked.s - 1).max() < 0.1


def started(f):
    """Three rounds in step."""
    computation, service = 0.001 * f.batch, 0.004 * f.workers
    start = initialisation(f) + 3 * (computation + service)
    return start + (f.iterations - 3) * np.maximum(computation + 0.004, service)


def test_iterations_that_no_column_counts_may_be_as_many_in_every_job() -> None:
    """100 in every job, of data sets with other numbers of batches; the knee is at 5 workers and at 17."""
    jobs = {name: values for name, values in JOBS.items() if name != "iterations"}
    runs = runs_of(lambda f: queue(f.assign(iterations=100)), jobs, noise=0.01)
    result = gp.fit(runs, "cntk", **(ROLES_SERVERS_OF_JOBS | {"intrinsic": "batch,samples"}))
    a, c, s = (result.best.values[name] for name in "acs")
    assert s == pytest.approx(0.4, rel=0.02)
    assert [(a * batch + c) / s for batch in (16, 64)] == pytest.approx([5.0, 17.0], rel=0.07)
    assert result.metrics["mape"] < 2.0


def test_a_step_has_no_initialisation() -> None:
    runs = runs_of(lambda f: 0.01 * f.batch + 0.02 * f.workers, {"workers": [1, 2, 4, 8], "batch": [16, 32]})
    result = gp.fit(runs.rename(columns={"s": "step_s"}), "cntk", time="step_s", extrinsic="workers", intrinsic="batch")
    assert {"initialisation", "reading"}.isdisjoint(term.name for term in result.best.expression.terms)


# --- `adam`: activations without a column, an exchange whose batch never changes --------------------------------------

LAYOUTS = {"replicas": [1, 2, 4], "partitions": [1, 2, 4], "threads": [1, 2, 4, 8], "servers": [1, 2]}


def epoch(f, beta_a=0.0, alpha_w=0.0):
    """a = 100, η = 0.8, κ = 1, α_a = 2, the weights 30/S."""
    R, P, h = f.replicas, f.partitions, f.threads
    computation = (100 / h**0.8 + h) / P
    return (computation + 2 * (P - 1) + beta_a * (1 - 1 / P) + alpha_w) / R + 30 / f.servers


@pytest.mark.parametrize(("constant", "value"), [("beta_a", 20.0), ("alpha_w", 25.0)])
def test_what_no_column_of_a_partitioned_model_shows_follows_from_its_layouts(constant: str, value: float) -> None:
    runs = runs_of(lambda f: epoch(f, **{constant: value}), LAYOUTS, noise=0.005)
    result = gp.fit(runs, "adam", time="s", extrinsic=",".join(LAYOUTS), draws=10)
    assert {"beta_a", "alpha_w"} & {*result.best.values} == {constant}
    assert result.best.values[constant] == pytest.approx(value, rel=0.15)
    assert result.best.values["eta"] == pytest.approx(0.8, abs=0.05)


def test_a_measured_synchronous_server_has_a_knee():
    """Steps, whose computation is measured: one second of it is one second, and the server's time adds up."""
    table = gp.datasets.load("server_knee")
    result = gp.fit(table, "cntk", mapping={"work": "compute_s"}, seed=0, draws=10)
    assert str(result.best.expression) == "a*compute_s + c + s*max(workers/servers, 1)"
    assert result.best.values["a"] == pytest.approx(1.0, abs=0.02)
    assert result.metrics["mape"] < 1.0
    # 1.04 MB in and out at 200 Mbit/s, of which headers take 4 %.
    assert result.best.values["s"] == pytest.approx(2 * 1.04e6 * 8 / 200e6 / (1448 / 1514), rel=0.05)


def test_what_a_family_does_not_read_is_named_and_not_doubled() -> None:
    runs = runs_of(
        lambda f: 0.01 * f.batch + 0.1 * f.workers, {"workers": [1, 2, 4], "batch": [8, 16], "heads": [2, 4]}
    )
    roles = {"time": "s", "extrinsic": "workers", "intrinsic": "batch,heads"}
    result = gp.fit(runs, "parameter-server", **roles)
    assert "'parameter-server' does not read heads; auto and generic do" in [note.text for note in result.notes]
    assert {d.factor for d in doublings_at(result, result.query().columns)} == {"workers", "batch"}


def test_nodes_are_the_workers_where_nothing_else_is_counted() -> None:
    runs = pd.DataFrame({"nodes": [1, 2, 4, 8], "time_s": [100.0, 52.0, 28.0, 16.0]})
    law = gp.fit(runs, time="time_s", extrinsic="nodes", model="amdahl")
    assert law.predict({"nodes": [16]}).time[0] == pytest.approx(10.0, rel=0.01)


def test_nodes_are_not_the_workers_where_the_ways_of_a_split_count_these() -> None:
    layouts = gp.datasets.load("dlperf_gpt")
    names = {term.name for term in MODELS["transformer"].expressions(layouts.panel)[-1].terms}
    assert {"data between nodes", "tensor between nodes"} <= names
