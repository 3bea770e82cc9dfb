"""An MXNet worker, server or scheduler of a `dist_sync` key-value store: parameter servers.

worker_mxnet.py FOLDER RANK        with DMLC_ROLE and the rest of MXNet's environment set by the launcher
"""

from __future__ import annotations

import time

from framework_mxnet import JOB, MEETING, OPTIMIZERS, RANK, Servers, autograd, gluon, mx, network, store
from work import Case, Step, Stopwatch, serve

WORKERS: int = JOB["workers"]
STORE = store("dist_sync")


def build(number: int, case: Case) -> Step:
    net = network(case)
    loss_of = gluon.loss.SoftmaxCrossEntropyLoss()
    batch = case["batch_per_worker"]
    x = mx.nd.random.normal(shape=(batch, 3, case["image_size"], case["image_size"]))
    y = mx.nd.array([i % 10 for i in range(batch)])
    if STORE is not None:
        servers = Servers(STORE, str(number), case, list(net.collect_params().values()), WORKERS)
    else:
        trainer = gluon.Trainer(net.collect_params(), OPTIMIZERS[case["optimizer"]](), kvstore=None)

    def alone() -> dict[str, float]:
        watch = Stopwatch()
        with autograd.record():
            loss = loss_of(net(x), y)
        mx.nd.waitall()
        watch.lap("forward")
        loss.backward()
        mx.nd.waitall()
        watch.lap("backward")
        trainer.step(batch)
        mx.nd.waitall()
        watch.lap("update")
        return watch.seconds

    def together() -> dict[str, float]:
        time.sleep(case.get("compute_s", 0.0))
        # No waiting between the phases: a layer's gradients travel while those of the layers below are computed.
        with autograd.record():
            loss = loss_of(net(x), y)
        loss.backward()
        servers.update()
        mx.nd.waitall()
        return {}

    return alone if STORE is None else together


serve(MEETING, JOB, RANK, mx.__version__, build)
