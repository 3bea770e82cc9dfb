"""An MXNet worker, server or scheduler of the core experiment: chunks at the pace of a slow device, then the servers.

worker_core_mxnet.py FOLDER RANK        with DMLC_ROLE and the rest of MXNet's environment set by the launcher
"""

from __future__ import annotations

from framework_mxnet import JOB, MEETING, RANK, Servers, autograd, gluon, mx, network, store
from pace import Pace
from work import Case, Step, Stopwatch, serve

WORKERS: int = JOB["workers"]
STORE = store("dist_sync")


def build(number: int, case: Case) -> Step:
    net = network(case)
    parameters = list(net.collect_params().values())
    for parameter in parameters:
        parameter.grad_req = "add"
    loss_of = gluon.loss.SoftmaxCrossEntropyLoss()
    batch, count = case["batch_per_worker"], case["data_chunks"]
    chunk = batch // count
    images = [mx.nd.random.normal(shape=(chunk, 3, case["image_size"], case["image_size"])) for _ in range(count)]
    labels = mx.nd.array([i % 10 for i in range(chunk)])
    servers = Servers(STORE, str(number), case, parameters, WORKERS)
    mx.nd.waitall()
    pace = Pace(case["slowdown"])

    def step() -> dict[str, float]:
        watch = Stopwatch()
        with pace:
            net.collect_params().zero_grad()
            for x in images:
                with autograd.record():
                    loss = loss_of(net(x), labels)
                loss.backward()
            mx.nd.waitall()
        watch.lap("computation")
        # The servers update, so that their part of the update is in here.
        servers.update()
        mx.nd.waitall()
        watch.lap("exchange")
        return watch.seconds

    return step


serve(MEETING, JOB, RANK, mx.__version__, build)
