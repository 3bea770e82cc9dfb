"""The simulator: nothing is lost, nobody waits for nobody, and what queues waits as long as worked out by hand."""

import numpy as np
import pytest
import simpy

from experiments.simulate.job import Cluster, run_job
from experiments.simulate.links import Link, send
from experiments.simulate.partitioned import STAGES, System, epoch, thread_speed
from experiments.simulate.training import Architecture, Hardware, Layer, Program, layers_of, train

#: One sample takes 1 + 2 ms in the first layer and 2 + 4 ms in the second; 1 MB and 3 MB of gradients.
LAYERS = (Layer(0.001, 0.002, 1e6), Layer(0.002, 0.004, 3e6))
QUIET = Hardware(1e8, latency=0.0, jitter=0.0)


def rng() -> np.random.Generator:
    return np.random.default_rng(0)


def arrivals(sizes: list[float], latency: float = 0.0, rates: tuple[float, float] = (10.0, 10.0)) -> list[float]:
    """Send messages from ports of their own to one port, all at time 0, and return when they are there."""
    env, into, ends = simpy.Environment(), Link(rates[1]), []

    def message(size: float) -> simpy.events.ProcessGenerator:
        yield from send(env, Link(rates[0]), into, size, latency)
        ends.append(env.now)

    for size in sizes:
        env.process(message(size))
    env.run()
    return ends


def test_one_message_takes_latency_and_transfer() -> None:
    assert arrivals([20.0], latency=0.5) == [2.5]
    # The slower of the two ports decides.
    assert arrivals([20.0], latency=0.5, rates=(5.0, 10.0)) == [4.5]
    assert arrivals([20.0], latency=0.5, rates=(10.0, 5.0)) == [4.5]


def test_messages_to_one_port_queue() -> None:
    # Three of 20 bytes at 10 bytes/s: the k-th is there after k transfers.
    assert arrivals([20.0, 20.0, 20.0]) == [2.0, 4.0, 6.0]


def test_a_queue_with_regular_arrivals() -> None:
    """D/D/1: one arrival a second; 0.8 s of service never waits, 1.25 s waits 0.25 s longer each time."""
    quick, slow = Link(1.0), Link(1.0)
    assert [quick.accept(k, 0.8)[0] - k for k in range(5)] == [0.0] * 5
    assert [slow.accept(k, 1.25)[0] - k for k in range(5)] == [0.0, 0.25, 0.5, 0.75, 1.0]


def test_a_queue_with_random_arrivals() -> None:
    """M/D/1: the mean wait is ρ·s / (2·(1 − ρ)) (Pollaczek-Khinchine), 0.5 s for s = 1 s and ρ = 1/2."""
    link, at = Link(1.0), np.cumsum(rng().exponential(2.0, 50_000))
    waits = [link.accept(t, 1.0)[0] - t for t in at]
    assert np.mean(waits) == pytest.approx(0.5, rel=0.03)


@pytest.mark.parametrize("architecture", ["ring", "peer"])
def test_one_worker_only_computes(architecture: Architecture) -> None:
    # 16 samples of 9 ms, 50 ms fixed and 30 ms of update.
    run = train(architecture, Program(LAYERS, fixed=0.05, update=0.03), QUIET, 1, 16, rng())
    assert run.step == pytest.approx(16 * 0.009 + 0.08)
    assert run.busiest == 0.0


@pytest.mark.parametrize(
    ("architecture", "servers", "sizes"),
    [
        # Each of 4 workers passes on 2·3 quarters; sends to 3 others; pushes to the only server, or to one of two.
        ("ring", 1, 1.5),
        ("peer", 1, 3.0),
        ("server", 1, 4.0),
        ("server", 2, 2.0),
    ],
)
def test_bytes_are_conserved(architecture: Architecture, servers: int, sizes: float) -> None:
    run = train(architecture, Program(LAYERS), QUIET, 4, 8, rng(), servers)
    assert run.busiest == pytest.approx(sizes * 4e6)


def test_exchange_after_the_backward_pass_by_hand() -> None:
    # 8 samples compute for 72 ms. After it 4 MB: the ring's ports carry 6 MB at 100 MB/s, a peer's 12 MB.
    program = Program(LAYERS, overlap=False)
    assert train("ring", program, QUIET, 4, 8, rng()).step == pytest.approx(0.072 + 0.06)
    assert train("peer", program, QUIET, 4, 8, rng()).step == pytest.approx(0.072 + 0.12)


def test_a_server_staggers_its_workers() -> None:
    # One layer of 4 MB, 72 ms. Workers get the weights 40 ms after each other, and so the first three have pushed again
    # when the last one, 72 ms after its weights, pushes for 40 ms; then come 4 pulls of 40 ms.
    program = Program((Layer(0.003, 0.006, 4e6),), overlap=False)
    assert train("server", program, QUIET, 4, 8, rng(), steps=6).step == pytest.approx(0.072 + 0.04 + 0.16)


def test_overlap_hides_what_fits_behind_the_backward_pass() -> None:
    slow, quick = (train("ring", Program(LAYERS, overlap=o), QUIET, 4, 8, rng()).step for o in (False, True))
    # The second layer's 45 ms begin 16 ms before the end of the pass; the first layer's 15 ms follow them.
    assert slow - quick == pytest.approx(0.016)


def test_prefetching_hides_the_input() -> None:
    # 8 samples of 1 MB at 100 MB/s are read in 80 ms, computed in 72.
    hardware = Hardware(1e8, latency=0.0, jitter=0.0, storage=1e8)
    read, ahead = (
        train("ring", Program(LAYERS, sample_bytes=1e6, prefetch=p), hardware, 1, 8, rng(), steps=20).step
        for p in (False, True)
    )
    assert read == pytest.approx(0.152)
    # Two batches are read before the first step ends: the storage then decides.
    assert 0.072 < ahead < 0.0801


def test_workers_of_a_node_share_its_storage_and_its_port() -> None:
    node = Hardware(1e8, latency=0.0, per_node=2, inside=1e15, jitter=0.0, storage=1e8)
    run = train("ring", Program(LAYERS, sample_bytes=1e6, prefetch=False), node, 2, 8, rng(), steps=4)
    # Two batches of 80 ms from one storage, then 72 ms; nothing leaves the node.
    assert run.busiest == 0.0
    assert run.step == pytest.approx(0.232)


def test_jitter_makes_the_slowest_decide() -> None:
    rough = Hardware(1e12, latency=0.0, jitter=0.2)
    steps = [train("ring", Program(LAYERS), rough, n, 8, rng(), steps=20).step for n in (1, 8)]
    assert steps[0] == pytest.approx(0.072, rel=0.1)
    assert steps[1] > 1.1 * steps[0]


def test_layers_add_up() -> None:
    layers = layers_of(4, 0.012, 15e6)
    assert sum(p.forward + p.backward for p in layers) == pytest.approx(0.012)
    assert [p.size for p in layers] == pytest.approx([1e6, 2e6, 4e6, 8e6])


def test_a_job_past_its_knee_lasts_as_long_as_the_server() -> None:
    cluster = Cluster(1.0, 1e9, 1e9, 0.1, 0.01, 0.0, jitter=0.0)
    # 30 samples compute for 0.3 s and are served in 0.1 s: with 2 workers nobody waits after the first round,
    # with 10 the server is never idle.
    two, ten = (run_job(cluster, n, 30, 50, 0.0, rng()).total - 1.0 for n in (2, 10))
    assert two == pytest.approx(50 * 0.4 + 0.1)
    assert ten == pytest.approx(0.3 + 50 * 10 * 0.1)


def test_reading_is_shared() -> None:
    cluster = Cluster(1.0, 100.0, 1e9, 1e-9, 0.0, 0.0, jitter=0.0)
    # 500 bytes each at 100 bytes/s in all.
    assert run_job(cluster, 4, 1, 1, 500.0, rng()).initialisation == pytest.approx(1.0 + 20.0, rel=1e-3)


SYSTEM = System(0.01, 0.1, 0.0, 0.0, 6400, 64, 1e9, 0.0, 1e9, jitter=0.0)


def test_replicas_without_a_network_share_the_work() -> None:
    assert epoch(SYSTEM, 1, 1, 1, 1.0, rng()) == pytest.approx(64.0)
    assert epoch(SYSTEM, 4, 2, 1, 2.0, rng()) == pytest.approx(64.0 / 16)


def test_weights_and_activations_by_hand() -> None:
    # A mini-batch: 0.64 s, 50 MB of weights to one server at 1 GB/s, applied at 1 GB/s, and back.
    heavy = System(0.01, 0.1, 0.0, 5e7, 6400, 64, 1e9, 0.0, 1e9, jitter=0.0)
    assert epoch(heavy, 1, 1, 1, 1.0, rng()) == pytest.approx(100 * (0.64 + 0.15))
    # Two partitions: 0.32 s, and in each stage half of 64·1 MB/2 to the other.
    wide = System(0.01, 0.1, 1e6, 0.0, 6400, 64, 1e9, 0.0, 1e9, jitter=0.0)
    assert epoch(wide, 1, 2, 1, 1.0, rng()) == pytest.approx(100 * (0.32 + STAGES * 64e6 / STAGES / 2 / 1e9))


def test_threads_queue_for_memory() -> None:
    assert thread_speed(SYSTEM, 4) == pytest.approx(4.0, rel=0.02)
    # The bus is busy a tenth of the time with one thread: ten at most.
    assert 9.5 < thread_speed(SYSTEM, 32) <= 10.0
