"""The emulated cluster, where this machine can emulate one (root and iproute2); its errors everywhere."""

import json
import os
import shutil
import signal
import subprocess
import sys
import time
from collections.abc import Iterator
from pathlib import Path

import cluster
import pytest
from cluster import PREFIX, SWITCH, Cluster, Link
from problems import MeasureError

SCRIPT = Path(cluster.__file__)
#: Answers one connection with what it was sent.
ECHO = (
    "import socket; s=socket.create_server(('', 5000)); print('up', flush=True); c=s.accept()[0]; c.sendall(c.recv(99))"
)
ASK = (
    "import socket,sys; c=socket.create_connection((sys.argv[1], 5000), 10); "
    "c.sendall(b'hello'); print(c.recv(99).decode())"
)


def namespaces() -> list[str]:
    listed = subprocess.run(["ip", "netns", "list"], capture_output=True, text=True, check=True).stdout
    return [line.split()[0] for line in listed.splitlines()]


needs_cluster = pytest.mark.usefixtures("emulation")
needs_tun = pytest.mark.skipif(not Path("/dev/net/tun").exists(), reason="latency needs /dev/net/tun")


@pytest.fixture
def others() -> Iterator[list[str]]:
    """Namespaces of someone else, which must still be there afterwards."""
    name = "other-than-genperf"
    subprocess.run(["ip", "netns", "add", name], check=True)
    yield [name]
    assert name in namespaces()
    subprocess.run(["ip", "netns", "delete", name], check=True)


def echo(hosts: Cluster, server: int, client: int) -> str:
    """Send a word from one host to another and return what comes back."""
    listening = subprocess.Popen([*hosts.command(server), sys.executable, "-c", ECHO], stdout=subprocess.PIPE)
    assert listening.stdout is not None
    with listening.stdout as said:
        said.readline()
        asked = [*hosts.command(client), sys.executable, "-c", ASK, hosts.address(server)]
        answer = subprocess.run(asked, capture_output=True, text=True, timeout=30, check=True).stdout.strip()
    listening.wait()
    return answer


def rates(namespace: str) -> dict[str, float]:
    """Return what `tc` says of the links of a namespace, Mbit/s."""
    command = ["tc", "-n", namespace, "-j", "qdisc", "show"]
    shown = json.loads(subprocess.run(command, capture_output=True, text=True, check=True).stdout)
    return {q["dev"]: q["options"]["rate"] * 8 / 1e6 for q in shown if q["kind"] == "tbf"}


@needs_cluster
def test_hosts_reach_each_other_over_shaped_links_and_nothing_is_left(others: list[str]) -> None:
    with Cluster(3, Link(100)) as hosts:
        assert sorted(set(namespaces()) - set(others)) == [*(hosts.name(i) for i in range(3)), SWITCH]
        assert echo(hosts, 0, 2) == "hello"
        assert rates(hosts.name(1)) == {"e0": 100}
        hosts.shape(50, [1])
        assert rates(hosts.name(1)) == {"e0": 50}
        assert rates(SWITCH) == {"p0": 100, "p1": 50, "p2": 100}
    assert not [name for name in namespaces() if name.startswith(PREFIX)]


@needs_cluster
@needs_tun
def test_links_with_a_latency_carry_and_go_with_the_cluster() -> None:
    with Cluster(2, Link(100, 5)) as hosts:
        assert echo(hosts, 1, 0) == "hello"
        assert rates(SWITCH) == {"p0": 100, "p1": 100}
    assert not [name for name in namespaces() if name.startswith(PREFIX)]


@needs_cluster
def test_what_a_killed_cluster_left_is_taken_down_by_the_next() -> None:
    up = subprocess.Popen([sys.executable, SCRIPT, "--hosts", "2"], stdout=subprocess.PIPE, text=True)
    assert up.stdout is not None
    with up.stdout as said:
        said.readline()
        with pytest.raises(MeasureError, match="another emulated cluster is up"), Cluster(1, Link(100)):
            pass
        up.send_signal(signal.SIGKILL)
        up.wait()
    assert f"{PREFIX}h1" in namespaces()
    with Cluster(1, Link(100)):
        assert sorted(name for name in namespaces() if name.startswith(PREFIX)) == [f"{PREFIX}h0", SWITCH]


@needs_cluster
@pytest.mark.parametrize("how", [signal.SIGINT, signal.SIGTERM])
def test_a_campaign_that_is_stopped_takes_its_cluster_and_workers_down(tmp_path: Path, how: signal.Signals) -> None:
    worker = Path(__file__).parent / "workers" / "framework.py"
    # The worker's step hangs (hidden=3), so that the campaign is at work when it is stopped.
    # SIGINT is set to its default: a program that a shell started in the background inherits that it is ignored.
    code = (
        "import signal; signal.signal(signal.SIGINT, signal.default_int_handler)\n"
        f"import sys; sys.path.insert(0, {str(SCRIPT.parent)!r})\n"
        "from campaigns import *\n"
        f"jobs = [Job('pytorch', 2, 0, [{{**BASE, 'hidden': 3}}], {str(worker)!r})]\n"
        "factors = CAMPAIGNS['allreduce_vs_server'].factors\n"
        f"recorder = Recorder({str(tmp_path / 't.csv')!r}, factors, factors, 3)\n"
        "guarded(lambda: measure(jobs, recorder, described, Link(100), Windows()))\n"
    )
    environment = {**os.environ, "GENPERF_MEASURE_PYTORCH_PYTHON": sys.executable}
    campaign = subprocess.Popen([sys.executable, "-c", code], env=environment, stderr=subprocess.PIPE, text=True)
    try:
        while len([n for n in namespaces() if n.startswith(PREFIX)]) < 3 or not running(f"{PREFIX}h1"):
            assert campaign.poll() is None
            time.sleep(0.05)
        campaign.send_signal(how)
        _, message = campaign.communicate(timeout=30)
    finally:
        campaign.kill()
        campaign.wait()
    assert campaign.returncode == 1
    assert message.startswith("stopped; what was measured is in the table")
    assert not [name for name in namespaces() if name.startswith(PREFIX)]


def running(namespace: str) -> list[str]:
    return subprocess.run(
        ["ip", "netns", "pids", namespace], capture_output=True, text=True, check=False
    ).stdout.split()


@pytest.mark.parametrize(("hosts", "link"), [(0, (100, 0)), (201, (100, 0)), (2, (0, 0)), (2, (100, -1))])
def test_clusters_that_cannot_be_are_refused(hosts: int, link: tuple[float, float]) -> None:
    with pytest.raises(MeasureError):
        Cluster(hosts, Link(*link))


def test_without_root_it_says_so(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(os, "geteuid", lambda: 1000)
    with pytest.raises(MeasureError, match="needs root: run with sudo, or with --local"), Cluster(1, Link(100)):
        pass


def test_without_tc_it_says_what_to_install(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(os, "geteuid", lambda: 0)
    monkeypatch.setattr(shutil, "which", lambda name: None if name == "tc" else "/sbin/ip")
    with pytest.raises(MeasureError, match=r"no command 'tc': install iproute2"), Cluster(1, Link(100)):
        pass
