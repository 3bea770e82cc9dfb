"""MXNet with its key-value store, and the measured network of `networks.py`.

What a program is, worker, server or scheduler, its environment says. Importing this serves until the workers have left,
where that says server or scheduler.
"""

from __future__ import annotations

import os
import sys
import warnings
from typing import Any

from work import job

MEETING, JOB, RANK = job()
os.environ["MXNET_CPU_WORKER_NTHREADS"] = "1"
warnings.filterwarnings("ignore")

import numpy  # noqa: E402

# MXNet 1.9.1 uses names that numpy has removed.
for name, kind in {"bool": bool, "int": int, "float": float, "object": object, "str": str, "complex": complex}.items():
    if name not in numpy.__dict__:
        setattr(numpy, name, kind)

import mxnet as mx  # noqa: E402

autograd, gluon = mx.autograd, mx.gluon

if os.environ.get("DMLC_ROLE", "worker") != "worker":
    import mxnet.kvstore_server  # its import serves until the workers have left

    sys.exit()

#: The worker's store, made at its first use: `dist_sync` or `dist_async`. None where there are no servers.
_MADE: dict[str, Any] = {}


def store(kind: str) -> Any:
    """Return the store of a kind, one for all cases; None for a job without servers."""
    if not JOB["servers"]:
        return None
    if kind not in _MADE:
        _MADE[kind] = mx.kv.create(kind)
    return _MADE[kind]


OPTIMIZERS = {
    "sgd": lambda: mx.optimizer.SGD(learning_rate=1e-3),
    "momentum": lambda: mx.optimizer.SGD(learning_rate=1e-3, momentum=0.9),
    "adam": lambda: mx.optimizer.Adam(learning_rate=1e-4),
    "rmsprop": lambda: mx.optimizer.RMSProp(learning_rate=1e-4),
}


def activation(name: str) -> gluon.Block:
    return gluon.nn.GELU() if name == "gelu" else gluon.nn.Activation(name)


def network(case: dict[str, Any]) -> gluon.nn.HybridSequential:
    """Return the network of a case with its weights, the same on every worker, and every shape given.

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
    mx.random.seed(0)
    net.initialize(mx.init.Xavier())
    net.hybridize(static_alloc=True, static_shape=True)
    return net


class Servers:
    """Gradients go to the servers, which update, and the weights come back: layer by layer, as they are ready."""

    def __init__(
        self, store: Any, keys: str, case: dict[str, Any], parameters: list[gluon.Parameter], workers: int
    ) -> None:
        self.store = store
        self.keys = [f"{keys}_{i}" for i in range(len(parameters))]
        self.parameters = parameters
        optimizer = OPTIMIZERS[case["optimizer"]]()
        optimizer.rescale_grad = 1 / (workers * case["batch_per_worker"])
        store.set_optimizer(optimizer)
        for key, parameter in zip(self.keys, parameters, strict=True):
            store.broadcast(key, parameter.data(), out=parameter.data())

    def update(self) -> None:
        """Push every gradient and pull the weight that comes of it; returns before they have arrived."""
        for i, (key, parameter) in enumerate(zip(self.keys, self.parameters, strict=True)):
            self.store.pushpull(key, parameter.grad(), out=parameter.data(), priority=-i)
