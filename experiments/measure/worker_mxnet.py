"""An MXNet worker, server or scheduler of a `dist_sync` key-value store: parameter servers.

worker_mxnet.py FOLDER RANK        with DMLC_ROLE and the rest of MXNet's environment set by the launcher
"""

from __future__ import annotations

import time

from mxnet_store import JOB, MEETING, RANK, mx, store
from work import Case, Step, Stopwatch, serve

# Not imported: what MXNet needs of numpy is put there first, by mxnet_store.
autograd, gluon = mx.autograd, mx.gluon
WORKERS: int = JOB["workers"]
OPTIMIZERS = {
    "sgd": lambda: mx.optimizer.SGD(learning_rate=1e-3),
    "momentum": lambda: mx.optimizer.SGD(learning_rate=1e-3, momentum=0.9),
    "adam": lambda: mx.optimizer.Adam(learning_rate=1e-4),
    "rmsprop": lambda: mx.optimizer.RMSProp(learning_rate=1e-4),
}
STORE = store("dist_sync")


def activation(name: str) -> gluon.Block:
    return gluon.nn.GELU() if name == "gelu" else gluon.nn.Activation(name)


def network(case: Case) -> gluon.nn.HybridSequential:
    """Return the network with every shape given.

    Shapes could be left to the first forward pass, but that leaves the convolutions' weights in the layout of its own
    kernels, which the servers do not understand: they then wait for ever, or die.
    """
    filters, hidden, kernel = case["filters"], case["hidden"], case["kernel_size"]
    net = gluon.nn.HybridSequential()
    for i in range(case["layers"]):
        net.add(gluon.nn.Conv2D(filters, kernel, padding=kernel // 2, in_channels=3 if i == 0 else filters))
        net.add(activation(case["activation"]))
    net.add(gluon.nn.GlobalAvgPool2D(), gluon.nn.Flatten())
    for width in (filters, hidden):
        net.add(gluon.nn.Dense(hidden, in_units=width), activation(case["activation"]))
    net.add(gluon.nn.Dense(10, in_units=hidden))
    return net


class Servers:
    """Gradients go to the servers, which update, and the weights come back: layer by layer, as they are ready."""

    def __init__(self, number: int, case: Case, parameters: list[gluon.Parameter]) -> None:
        assert STORE is not None
        # Keys of their own for every case: the servers keep what the cases before left there.
        self.keys = [f"{number}_{i}" for i in range(len(parameters))]
        self.parameters = parameters
        optimizer = OPTIMIZERS[case["optimizer"]]()
        optimizer.rescale_grad = 1 / (WORKERS * case["batch_per_worker"])
        STORE.set_optimizer(optimizer)
        for key, parameter in zip(self.keys, parameters, strict=True):
            STORE.broadcast(key, parameter.data(), out=parameter.data())

    def update(self) -> None:
        """Push every gradient and pull the weight that comes of it; returns before they have arrived."""
        for i, (key, parameter) in enumerate(zip(self.keys, self.parameters, strict=True)):
            STORE.pushpull(key, parameter.grad(), out=parameter.data(), priority=-i)


def build(number: int, case: Case) -> Step:
    mx.random.seed(0)
    net = network(case)
    net.initialize(mx.init.Xavier())
    net.hybridize(static_alloc=True, static_shape=True)
    loss_of = gluon.loss.SoftmaxCrossEntropyLoss()
    batch = case["batch_per_worker"]
    x = mx.nd.random.normal(shape=(batch, 3, case["image_size"], case["image_size"]))
    y = mx.nd.array([i % 10 for i in range(batch)])
    if STORE is not None:
        servers = Servers(number, case, list(net.collect_params().values()))
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
