"""Which configurations fit into memory, and how much they need."""

import numpy as np
import pandas as pd
import pytest
from helpers import runs_of
from layouts import layout_runs

import genperf as gp
from genperf.estimate import feasibility_of
from genperf.prediction import Feasibility

LEVELS = {"gpus": (1, 2, 4, 8, 16), "params": (1e9, 3e9, 7e9, 3e10), "micro": (1, 2, 4, 8, 16)}


def cluster(memory_gb: float = 80.0) -> pd.DataFrame:
    """Return runs whose memory, 16 bytes a parameter over the GPUs and 4 GB a sample, fails above a capacity."""
    frame = pd.MultiIndex.from_product(list(LEVELS.values()), names=list(LEVELS)).to_frame(index=False)
    needed = 16e-9 * frame.params / frame.gpus + 4.0 * frame.micro
    seconds = (1.0 + frame.params * frame.micro / (1e10 * frame.gpus)).astype(object)
    return frame.assign(seconds=seconds.where(needed <= memory_gb, "OOM"), failed=needed > memory_gb)


def learned(frame: pd.DataFrame, **roles: str) -> Feasibility:
    named = roles or {"extrinsic": "gpus", "intrinsic": "params,micro"}
    return feasibility_of(gp.read_table(frame, time="seconds", **named))


def columns(frame: pd.DataFrame) -> dict[str, np.ndarray]:
    return {str(name): frame[name].to_numpy() for name in frame.columns}


@pytest.mark.parametrize("share", [1.0, 0.4, 0.15])
@pytest.mark.parametrize("seed", range(3))
def test_what_was_measured_holds(share: float, seed: int) -> None:
    # The law is no plane in the logarithms, and nothing contradicts it.
    runs = cluster().sample(frac=share, random_state=seed)
    fits = learned(runs).probability(columns(runs))
    assert np.all(fits[runs.failed] <= 0.0100001)
    assert np.all(fits[~runs.failed] >= 0.9899999)


@pytest.mark.parametrize("seed", range(5))
def test_more_never_fits_better(seed: int) -> None:
    # Also where the outcomes are random, and contradict each other.
    rng = np.random.default_rng(seed)
    runs = cluster().sample(40, random_state=seed)
    runs["seconds"] = np.where(rng.random(40) < 0.4, "killed", runs.seconds.replace("OOM", 1.0))
    fits = learned(runs)
    asked = pd.DataFrame({n: rng.choice(v, 300) for n, v in LEVELS.items()}).astype(float)
    for name in ("params", "micro"):
        more = asked.assign(**{name: asked[name] * rng.uniform(1.0, 8.0, 300)})
        assert np.all(fits.probability(columns(more)) <= fits.probability(columns(asked)) + 1e-12)


PRECISIONS = pd.DataFrame(
    [(p, b, "OOM" if b * size > 16 else float(b)) for p, size in (("fp16", 1), ("fp32", 2)) for b in (2, 4, 8, 16, 32)],
    columns=["precision", "batch", "seconds"],
)


@pytest.mark.parametrize(
    ("runs", "roles", "at", "expected"),
    [
        (
            {"gpus": [1, 2, 4, 8, 16], "seconds": [8.0, 4.0, 2.0, "crashed", "crashed"]}, {"extrinsic": "gpus"},
            {"gpus": [1.0, 4.0, 8.0, 64.0]}, [0.99, 0.99, 0.25, 0.25],
        ),
        (
            PRECISIONS, {"intrinsic": "batch", "categorical": "precision"},
            {"precision": np.array(["fp16", "fp32"], dtype=object), "batch": [16.0, 16.0]}, [0.99, 0.01],
        ),
        (
            {"offload": [0, 0, 1, 1], "batch": [1, 8, 8, 64], "seconds": [1.0, "OOM", 9.0, "OOM"]},
            {"intrinsic": "offload,batch"}, {"offload": [0.0, 0.0, 1.0, 1.0], "batch": [1.0, 8.0, 8.0, 64.0]},
            [0.99, 0.01, 0.99, 0.01],
        ),
    ],
    ids=["failures at scale", "levels shift the limit", "values of zero"],
)  # fmt: skip
def test_limits_that_a_few_runs_show(runs: object, roles: dict[str, str], at: dict, expected: list[float]) -> None:
    fits = learned(pd.DataFrame(runs), **roles)
    found = fits.probability({name: np.asarray(values) for name, values in at.items()})
    assert found == pytest.approx(expected, abs=0.015)
    assert "gpus" not in at or fits.demands["gpus"].slope > 0.0
    assert "precision" not in at or fits.offsets["precision"]["fp16"] < fits.offsets["precision"]["fp32"]


@pytest.mark.parametrize(("word", "least", "most"), [("FAILED", 0.5, 0.51), ("OOM", 0.0, 0.01)])
def test_one_failure_may_be_chance_unless_it_names_memory(word: str, least: float, most: float) -> None:
    runs = pd.DataFrame({"gpus": [1, 2, 4, 8, 16], "seconds": [1.0, 1.02, 1.05, 1.1, word]})
    assert least <= learned(runs, extrinsic="gpus").probability({"gpus": np.array([32.0])})[0] <= most


def test_a_contradicted_failure_binds_nothing_but_itself() -> None:
    # Batch 2 crashed once, and batch 8 went well: the crash says little about batch 4.
    runs = pd.DataFrame({"batch": [1, 2, 4, 8, 16, 32], "seconds": [1.0, "crashed", 4.0, 8.0, 16.0, "OOM"]})
    fits = learned(runs, intrinsic="batch")
    assert (fits.succeeded, fits.failed, fits.contradicted) == (((16.0,),), ((32.0,),), ((2.0,),))
    at = {"batch": np.array([1.0, 2.0, 4.0, 16.0, 32.0])}
    assert fits.probability(at)[[2, 3]].min() >= 0.98
    assert fits.known_to_fail(at).tolist() == [False, True, False, False, True]


def test_a_flaky_configuration_is_not_known_to_fail() -> None:
    runs = pd.DataFrame({"batch": [1, 2, 2, 4], "seconds": [1.0, 2.0, "killed", 4.0]})
    fits = learned(runs, intrinsic="batch")
    assert not fits.known_to_fail({"batch": np.array([1.0, 2.0, 4.0])}).any()
    assert fits.contradicted == ()


def test_nothing_failed() -> None:
    runs = pd.DataFrame({"batch": [1, 2], "seconds": [1.0, 2.0]})
    assert gp.fit(runs, "a*batch", time="seconds", intrinsic="batch", draws=1).feasibility is None


# --- what a layout needs of a device's memory: learned from outcomes alone, sharper where memory was measured --------

ROLES = {"intrinsic": "layers,mbs,gbs", "extrinsic": "dp,tp,pp,nodes"}


def with_failures(capacity: float, **more: object) -> pd.DataFrame:
    """Return the runs; those above the capacity failed, and their memory is not known."""
    runs = layout_runs().assign(**more)
    failed = runs.gib > capacity
    return runs.assign(s=np.where(failed, "OOM", "1"), memory=np.where(failed, "", runs.gib.astype(str)))


def learned_of_memory_demand(runs: pd.DataFrame, *, beside: bool = False, **roles: str) -> Feasibility:
    also = {"also": "memory=memory:GiB"} if beside else {}
    return feasibility_of(gp.read_table(runs.drop(columns="gib"), time="s", **{**ROLES, **roles}, **also))


def test_a_device_of_less_memory_is_a_level() -> None:
    runs = pd.concat([with_failures(c, card=name) for c, name in ((18.0, "large"), (9.0, "small"))], ignore_index=True)
    fits = learned_of_memory_demand(runs, categorical="card")
    at = {"card": np.array(["large", "small"], dtype=object)}
    for name, value in {"layers": 24, "mbs": 2, "gbs": 64, "dp": 2, "tp": 2, "pp": 1, "nodes": 1}.items():
        at[name] = np.full(2, float(value))
    # It needs 2 + 24·(1.2 + 0.5·2)/4 = 15.2 GiB.
    at["tp"] = np.full(2, 4.0)
    large, small = fits.probability(at)
    assert large > 0.5 > small


def transformers(seed: int) -> tuple[pd.DataFrame, pd.Series]:
    """Return 120 layouts, and the bytes of one layer: 24/t + 10 a token and width."""
    rng = np.random.default_rng(seed)
    ways = rng.choice([1.0, 2.0, 4.0, 8.0], (2, 120))
    runs = pd.DataFrame({"dp": ways[0], "tp": ways[1], "pp": 1.0, "mbs": rng.choice([1.0, 2.0, 4.0, 8.0], 120)})
    runs = runs.assign(layers=24.0, hidden=rng.choice([2048.0, 4096.0], 120), seq=2048.0, gbs=64.0 * runs.dp)
    runs["nodes"], runs["recompute"] = np.ceil(runs.dp * runs.tp / 8), rng.choice(["none", "full"], 120)
    return runs, runs.seq * runs.mbs * runs.hidden * (10 + 24 / runs.tp)


@pytest.mark.parametrize(("seed", "limit", "switch"), [(0, 30.0, False), (1, 25.0, True)], ids=["norms", "a switch"])
def test_outcomes_of_60_layouts_tell_the_others(seed: int, limit: float, switch: bool) -> None:
    """Tensor ways hold norms whole; recomputed layers keep their inputs, and the word itself has hardly an effect."""
    runs, layer = transformers(seed)
    inputs = 2 * runs.seq * runs.mbs * runs.hidden * runs.layers
    recomputed = switch & (runs.recompute == "full")
    states = 16 * 12 * runs.layers * runs.hidden**2 / runs.tp
    gib = (states + np.where(recomputed, layer + inputs, layer * runs.layers)) / 2**30 + 2.0
    train = np.random.default_rng(seed).permutation(120) < 60
    roles = {**ROLES, "intrinsic": "layers,mbs,gbs,hidden,seq", "categorical": "recompute" if switch else ""}
    failing = runs.assign(s=np.where(gib > limit, "OOM", "1"))
    fits = feasibility_of(gp.read_table(failing[train], time="s", **roles))
    assert all(abs(offset) < 0.2 * fits.need.slope for offset in fits.offsets.get("recompute", {}).values())
    right = (fits.probability(columns(runs[~train])) < 0.5) == (gib[~train] > limit)
    assert right.mean() >= 0.95


def test_measured_memory_is_read_beside_the_outcomes() -> None:
    """Only layouts far below the capacity were run, and one that failed: the law tells where the others lie."""
    runs = with_failures(40.0)
    fits = learned_of_memory_demand(runs, beside=True)
    there = runs[runs.gib < 40.0]
    need = np.exp(fits.need.demanded(columns(there)) / fits.need.slope)
    assert np.median(np.abs(need / there.gib - 1.0)) < 0.05


def test_an_order_that_outcomes_contradict_is_less_certain() -> None:
    runs = with_failures(18.0)
    assert learned_of_memory_demand(runs).certain == 0.99
    few = runs.index[(runs.gib < 12.0) & (runs.mbs == 1.0)][:4]
    fits = learned_of_memory_demand(runs.assign(s=runs.s.mask(runs.index.isin(few), "OOM")))
    assert fits.need is not None
    assert 0.5 <= fits.certain < 0.98


def test_a_model_file_keeps_the_need_and_refuses_one_that_is_odd(tmp_path) -> None:
    runs = with_failures(18.0)
    result = gp.fit(gp.read_table(runs.drop(columns=["gib", "memory"]), time="s", **ROLES), "c*1", draws=5)
    path = tmp_path / "model.json"
    gp.save_model(result, path)
    again = gp.load_model(path)
    np.testing.assert_array_equal(again.predict(runs)["fits"], result.predict(runs)["fits"])
    text = path.read_text()
    formula = again.feasibility.need.formula
    assert formula in text
    path.write_text(text.replace(formula, "open('x')"))
    with pytest.raises(gp.GenperfError, match="open"):
        gp.load_model(path)
    path.write_text(text.replace(formula, "dp + unknown_column"))
    with pytest.raises(gp.GenperfError, match="unknown_column"):
        gp.load_model(path)


# --- the draws of constants: predictive of the constants that made the table, wide where the data say nothing --------


def separable(values: dict[str, tuple[float, ...]], seed: int, noise: float) -> gp.Table:
    """T = 0.1 + (0.4·(batch/32)^0.8 + 0.3·(layers/8)^1.2)·(workers/4)^0.3."""
    sizes = lambda f: 0.4 * (f.batch / 32) ** 0.8 + 0.3 * (f.layers / 8) ** 1.2  # noqa: E731
    law = lambda f: 0.1 + sizes(f) * (f.workers / 4) ** 0.3  # noqa: E731
    runs = runs_of(law, values, column="t", noise=noise, seed=seed)
    return gp.read_table(runs, time="t", intrinsic="batch,layers", extrinsic="workers")


GRID = {"batch": (8.0, 16.0, 32.0, 64.0), "layers": (4.0, 8.0, 16.0), "workers": (1.0, 2.0, 4.0, 8.0)}


@pytest.mark.parametrize(("lam", "least"), [(None, 0.8), (0.01, 0.84)])
def test_intervals_of_constants_hold_those_that_made_the_table(lam: float | None, least: float) -> None:
    truth = {"p_batch": 0.8, "p_layers": 1.2, "q_workers": 0.3, "C": 0.1}
    held = []
    for seed in range(4):
        fitted = gp.fit(separable(GRID, seed, 0.03), "generic", structure="separable", lam=lam, draws=60).best
        ends = dict(zip(fitted.expression.constant_names, fitted.constant_interval(0.9), strict=True))
        held += [ends[name][0] <= value <= ends[name][1] for name, value in truth.items()]
    # Of 16 nominal 90 % intervals. A penalty of 0.01 moves exponents by a quarter; a bootstrap of rows holds a quarter.
    assert np.mean(held) >= least


def test_a_constant_that_the_law_lacks_has_an_interval_from_zero() -> None:
    levels = {name: GRID[name] for name in ("batch", "workers")}
    runs = runs_of(lambda f: 0.004 * f.batch * (1.0 + 0.03 * f.workers), levels, column="t", noise=0.03)
    constants = gp.fit(gp.read_table(runs, time="t", intrinsic="batch", extrinsic="workers"), "generic").constants()
    assert (constants["lower"] <= constants["value"]).all()
    assert (constants["value"] <= constants["upper"]).all()
    assert constants.set_index("constant").loc["C", "lower"] == 0.0


def test_a_product_that_can_stand_for_the_constant_leaves_it_wide() -> None:
    # C + a·l·(b + k) + w·(n − 1)/n: of n = 1, 2, 4, 8 a power with a step makes C + w·(n − 1)/n by itself.
    law = lambda f: 0.2 + 0.001 * f.layers * (f.batch + 50.0) + 0.3 * (f.workers - 1.0) / f.workers  # noqa: E731
    runs = runs_of(law, GRID, column="t", noise=0.015)
    result = gp.fit(gp.read_table(runs, time="t", intrinsic="batch,layers", extrinsic="workers"), "generic", draws=60)
    fitted = result.best
    assert fitted.values["C"] < 0.01
    _, upper = dict(zip(fitted.expression.constant_names, fitted.constant_interval(0.9), strict=True))["C"]
    # It may be nearly all that the law has, and no more than the shortest run takes.
    assert 0.19 < upper < 1.01 * runs["t"].min()
    shown = str(gp.explain(result, {"batch": 8.0, "layers": 4.0, "workers": 1.0}))
    assert any(line.split()[:1] == ["constant"] for line in shown.splitlines())


def test_a_hidden_exchange_narrows_no_other_interval() -> None:
    """Its constants are drawn up to a kink, at which the steps of a draw are short."""
    levels = {"workers": (1, 2, 4, 8), "batch": (16, 32, 64), "bytes": (1e7, 2e7)}
    runs = runs_of(lambda f: 0.05 + 0.005 * f.batch, levels, column="t", noise=0.03)
    table = gp.read_table(runs, time="t", intrinsic="batch,bytes", extrinsic="workers")
    widths = []
    for model in ("ring-allreduce", "a*batch + c"):
        fitted = gp.fit(table, model, draws=100).best
        ends = dict(zip(fitted.expression.constant_names, fitted.constant_interval(0.9), strict=True))
        widths.append(ends["a"][1] - ends["a"][0])
    # The formula is solved at once, with resampled rows.
    assert widths[0] > 0.7 * widths[1]
