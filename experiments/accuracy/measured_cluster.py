"""What the families make of our own measurements on an emulated cluster.

Whether bandwidth and latency come out as the links were shaped, how well 16 hosts follow from 8 and fewer, and the
generic model on three frameworks' single workers. What the papers say of the same tables is in experiments/papers.md.
"""

from __future__ import annotations

import numpy as np
import pandas as pd

import genperf as gp
from experiments.accuracy.scores import error, inside, pair, width
from experiments.shared import beside, page

#: The servers' links without the workers': with fewer workers than servers the workers' links are full.
SERVERS_LINKS = "c + 2*beta*bytes*workers/servers + alpha*workers/servers"
#: Bytes of a frame on the link, and what of it is the message's: 1448 of TCP's with Ethernet, IP and TCP around them.
FRAME, PAYLOAD = 1514, 1448
_FILE = beside(__file__)
#: What is measured: title, its rows, the family that was written for it; those that the claims of the papers are about.
SETS = [(title, rows["where"], rows["family"]) for title, rows in _FILE["sets"].items()]
CLAIMED_SETS = [(title, *rest) for title, name in _FILE["claims"].items() for known, *rest in SETS if known == name]
#: When gradients leave in `overlap.csv`, what that is, whether anything is hidden.
RINGS = [(exchange, ring["title"], ring["hides"]) for exchange, ring in _FILE["rings"].items()]
SPEEDS = (100, 200)
#: What is compared on networks of one worker, and factors that follow from a network's sizes.
LEARNERS = "auto,generic,linear,random-forest,gradient-boosting,last-point"
OPERATIONS = "forward_flops,parameters,layers,batch_per_worker"


def series(where: str, extrinsic: str = "workers") -> gp.Table:
    """Return rows of the cluster's table measured without a latency; workers and message sizes vary."""
    return gp.datasets.load(
        "allreduce_vs_server", where=f"{where} and link_latency_ms == 0", extrinsic=extrinsic, categorical=""
    )


def largest(model: str, where: str, extrinsic: str = "workers") -> pd.DataFrame:
    """Return what configurations of 8 hosts and fewer predict of those of 16 at both speeds, with what was measured."""
    rows = []
    for speed in SPEEDS:
        medians = series(f"{where} and link_mbit == {speed}", extrinsic).medians()
        known, asked = (medians.take(at) for at in (medians.columns["workers"] < 9, medians.columns["workers"] == 16))
        found = gp.fit(known, model, seed=0).predict(pd.DataFrame(dict(asked.columns)))
        rows.append(found.assign(measured=asked.measured))
    return pd.concat(rows)


def far() -> pd.DataFrame:
    """Return how well 16 hosts follow from 8 and fewer."""
    rows = []
    for title, where, family in SETS:
        auto = largest("auto", where)
        rows.append(
            {
                "measured": title,
                "auto: median (mean) %": pair(error(auto)),
                "covered": f"{inside(auto).sum()} of {len(auto)}",
                "width %": f"{width(auto, 'time').median():.0f}",
                "its family: median (mean) %": pair(error(largest(family, where))),
            }
        )
    return pd.DataFrame(rows)


def any_servers() -> pd.DataFrame:
    """Return how well 16 workers follow from at most 8 when workers may be fewer than servers, and when not."""
    known = {"as many workers as servers or more": "servers > 0 and servers <= workers", "any": "servers > 0"}
    models = {"parameter-server": "parameter-server", "the servers' links alone": SERVERS_LINKS}
    return pd.DataFrame(
        {"workers known": title}
        | {f"{n}: median (mean) %": pair(error(largest(m, where, "workers,servers"))) for n, m in models.items()}
        for title, where in known.items()
    )


def bandwidths() -> pd.DataFrame:
    """Return the bandwidth that each architecture's family finds, beside what the links were told."""
    rows = []
    servers = ("1, 2 and 4 parameter servers, MXNet", "servers > 0 and servers <= workers", "parameter-server")
    for title, where, family in (*(one for one in SETS if one[2] != "parameter-server"), servers):
        for speed in SPEEDS:
            extrinsic = "workers,servers" if family == "parameter-server" else "workers"
            table = series(f"{where} and link_mbit == {speed}", extrinsic)
            found = gp.fit(table, family, seed=0).constants().set_index("constant").loc["beta"]
            mbit = [8e-6 / found[end] * FRAME / PAYLOAD for end in ("value", "upper", "lower")]
            off = 100 * (mbit[0] / speed - 1)
            rows.append(
                {
                    "measured": title,
                    "told, Mbit/s": speed,
                    "found": f"{mbit[0]:.1f}",
                    "90 %": f"{mbit[1]:.1f} to {mbit[2]:.1f}",
                    "off by %": f"**{off:.1f}**" if abs(off) > 10 else f"{off:.1f}",
                }
            )
    return pd.DataFrame(rows)


def latencies() -> pd.DataFrame:
    """Return what 10 ms on every link cost a ring and an exchange with all peers, for each number of hosts and size."""
    frame = gp.datasets.frame("allreduce_vs_server").query("framework == 'pytorch' and link_mbit == 200")
    keys = ["architecture", "workers", "bytes"]
    time = frame.groupby(["link_latency_ms", *keys])["step_time_s"].median()
    late = float(frame["link_latency_ms"].max())
    both = pd.DataFrame({"without, s": time[0.0], "with, s": time[late]}).dropna().reset_index()
    steps = np.where(both["architecture"] == "ring-allreduce", 2 * (both["workers"] - 1), 1)
    both["more, latencies a message"] = (both["with, s"] - both["without, s"]) / (late / 1e3) / steps
    both["size, MB"] = (both["bytes"] / 1e6).round(2)
    return both[["architecture", "workers", "size, MB", "without, s", "with, s", "more, latencies a message"]]


def links() -> pd.DataFrame:
    """Return what the links gave a plain TCP connection."""
    frame = gp.datasets.frame("links")
    found = frame.groupby(["link_mbit", "link_latency_ms"]).median().reset_index()
    mbit = 8e-6 * found["bytes"] / (found["transfer_s"] - found["round_trip_s"]) * FRAME / PAYLOAD
    return pd.DataFrame(
        {
            "told, Mbit/s": found["link_mbit"],
            "found": mbit.map("{:.1f}".format),
            "told, latency ms": found["link_latency_ms"],
            "half a round trip, ms": (500 * found["round_trip_s"]).map("{:.2f}".format),
        }
    )


def single() -> pd.DataFrame:
    """Return held-out errors on single workers' networks, described by their sizes, and by what follows from them."""
    rows = []
    for framework in ("pytorch", "tensorflow", "mxnet"):
        for title, roles in (("sizes", {}), ("operations", {"intrinsic": OPERATIONS})):
            table = gp.datasets.load("single_worker", where=f"framework == '{framework}'", **roles)
            found = gp.validate(table, LEARNERS, "kfold:5", seed=0).frame(timing=False).set_index("model")
            errs = {model: f"{row['median_ape']:.0f} ({row['mape']:.0f})" for model, row in found.iterrows()}
            covered = f"{found.loc['auto', 'coverage']:.0f}"
            rows.append({"framework": framework, "described by": title, **errs, "auto covers, %": covered})
    return pd.DataFrame(rows)


def run() -> str:
    tables = (far, any_servers, bandwidths, links, latencies, single)
    return page("measured-cluster", globals(), **{made.__name__: made() for made in tables})
