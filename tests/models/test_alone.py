"""One worker alone: it may run without the exchange of several, or with it. Pollux' goodput on its authors' table."""

import json

import numpy as np
import pytest
from helpers import runs_of, shell_of

import genperf as gp

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
    result = gp.fit(runs(law, workers, alone), model, time="s", extrinsic="workers", intrinsic="batch", seed=0)
    return abs(result.predict({"workers": 32, "batch": 8}).time.iloc[0] / law(32, alone) - 1)


@pytest.mark.parametrize("alone", [0.01, 0.5])
@pytest.mark.parametrize("title", LAWS)
def test_a_table_with_one_worker_is_fitted_as_well_as_one_without(title, alone):
    model, law = LAWS[title]
    with_one = error_at_32(law, model, [1, 2, 4, 8], alone)
    assert with_one <= max(0.01, 1.1 * error_at_32(law, model, [2, 4, 8], alone))


def test_three_counts_suffice_to_tell_that_one_worker_needs_no_server():
    assert error_at_32(LAWS["servers"][1], "parameter-server", [1, 2, 4]) <= 0.01


def test_one_worker_that_exchanges_with_its_server_is_charged_for_it():
    table = runs_of(lambda f: 0.01 + EXCHANGE * f.workers, {"workers": [1, 2, 4, 8], "batch": [8]})
    result = gp.fit(table, "parameter-server", time="s", extrinsic="workers", intrinsic="batch", seed=0)
    assert str(result.best.expression) == "a*batch + 2*beta*workers"


def test_without_runs_of_one_worker_there_is_no_step():
    roles = {"time": "s", "extrinsic": "workers", "intrinsic": "batch"}
    for model, law in LAWS.values():
        assert "where" not in str(gp.fit(runs(law, [2, 4, 8, 16]), model, seed=0, **roles).best.expression)


def test_fewer_workers_than_servers_are_limited_by_their_links():
    """With 4 servers, 2 workers take as long as 4: each sends 1 MB over its link in 0.1 s."""
    roles = {"extrinsic": "workers,servers", "intrinsic": "bytes"}
    columns = {"workers": [2, 4, 8], "servers": [1, 2, 4], "bytes": [1e6, 2e6]}
    table = runs_of(lambda f: 0.01 + 1e-7 * f.bytes * np.maximum(f.workers / f.servers, 1), columns)
    result = gp.fit(table, "parameter-server", time="s", seed=0, **roles)
    two = result.predict({"workers": [2, 4], "servers": 4, "bytes": 1e6}).time
    assert two.to_list() == pytest.approx([0.11, 0.11], rel=0.01)


def test_the_command_line_explains_the_step(capsys, tmp_path):
    shell = shell_of(capsys)
    path, model = tmp_path / "runs.csv", str(tmp_path / "model.json")
    law = LAWS["servers"][1]
    runs(law, [1, 2, 4, 8]).to_csv(path, index=False)
    roles = ("--time", "s", "--extrinsic", "workers", "--intrinsic", "batch")
    status, _, _ = shell("fit", str(path), *roles, "--model", "parameter-server", "-o", model)
    assert status == 0
    _, output, _ = shell("predict", model, "--at", "workers=1,32", "--at", "batch=8", "--json")
    times = [row["time"] for row in json.loads(output)["predictions"]]
    assert times == pytest.approx([0.01, law(32, 0.01)], rel=0.02)


@pytest.fixture(scope="module")
def pollux():
    """Pollux' table: step times of six networks, each with batches that were run on 1 to 64 devices."""
    frame = gp.datasets.corpus("sia_aws")
    return frame.assign(network=frame.series.str.split("|").str[2].str.strip())


ROLES = {"time": "t", "extrinsic": "devices,nodes", "intrinsic": "batch", "seed": 0}


def test_goodput_fits_the_shortest_series_of_its_authors_with_fewer_constants(pollux):
    counts = pollux.groupby("series").devices.transform("size")
    short = pollux[counts <= 4]
    fits = gp.fit(short.drop(columns=["source", "network"]), "goodput", group="series", **ROLES)
    assert len(fits.results) == short.series.nunique() >= 2
    for result in fits.results.values():
        (note,) = [n for n in result.notes if n.kind == "fewer_terms"]
        assert "of its" in note.text
        assert "constants: " in note.text
        assert note.text.endswith("configurations are too few for more")


def test_goodput_pools_the_batches_of_a_network(pollux):
    """As its authors fit it: all batches at once. The largest count of each batch follows from the smaller ones."""
    rows = pollux[pollux.network == "imagenet"].drop(columns=["source", "network"])
    largest = rows.groupby("series").devices.transform("max")
    asked = rows[rows.devices == largest]
    result = gp.fit(rows[rows.devices < largest].drop(columns="series"), "goodput", **ROLES)
    errors = np.abs(result.predict(asked[["devices", "nodes", "batch"]]).time.to_numpy() / asked.t.to_numpy() - 1)
    assert float(np.median(errors)) <= 0.10
    assert set(result.best.values) == {"c", "a", "alpha_r", "beta_r", "alpha_n", "beta_n", "gamma"}
