"""An MXNet worker or server whose computation is waits: gradients go to the servers layer by layer, or all at the end.

worker_stages_mxnet.py FOLDER RANK        with DMLC_ROLE and the rest of MXNet's environment set by the launcher
"""

from __future__ import annotations

from collections.abc import Callable

from framework_mxnet import JOB, MEETING, RANK, mx, store
from stages import Staged, built, wait
from work import Case, serve


class Step(Staged):
    """The store updates at the servers, so exchange and update are one; a worker without servers updates by itself."""

    def __init__(self, number: int, case: Case) -> None:
        self.store = store("dist_sync")
        super().__init__(case, shares=self.store is not None, updates=self.store is None)
        width, batch = case["hidden"], case["batch_per_worker"]
        self.layers = range(case["layers"])
        self.keys = [f"{number}_{i}" for i in self.layers]
        self.weights = [mx.nd.random.normal(scale=0.01, shape=(width, width)) for _ in self.layers]
        self.gradients = [mx.nd.zeros((width, width)) for _ in self.layers]
        self.x = mx.nd.random.normal(shape=(batch, width))
        if self.store is not None:
            self.store.set_optimizer(mx.optimizer.SGD(learning_rate=1e-6))
            for key, weight in zip(self.keys, self.weights, strict=True):
                self.store.broadcast(key, weight, out=weight)

    def train(self) -> None:
        self.forward()
        self._gradients(self._send if self.at_once and self.shares else lambda layer: None)
        if self.updates or not self.at_once:
            (self.update if self.updates else self.exchange)()
        mx.nd.waitall()

    def forward(self) -> None:
        for weight in self.weights:
            self.x = mx.nd.dot(self.x, weight)
            self.x.wait_to_read()
            wait(self.waiting.forward)

    def backward(self) -> None:
        self._gradients(lambda layer: None)
        mx.nd.waitall()

    def meet(self) -> None:
        """Exchange once for nothing: after a long pause connections send slowly at first, and in a step they do not."""
        self.exchange()
        self.store._barrier()

    def exchange(self) -> None:
        for layer in reversed(self.layers):
            self._send(layer)
        mx.nd.waitall()

    def update(self) -> None:
        for weight, gradient in zip(self.weights, self.gradients, strict=True):
            weight -= 1e-6 * gradient
        mx.nd.waitall()

    def _gradients(self, ready: Callable[[int], None]) -> None:
        for layer in reversed(self.layers):
            wait(self.waiting.backward)
            mx.nd.dot(self.x, self.x, transpose_a=True, out=self.gradients[layer])
            ready(layer)

    def _send(self, layer: int) -> None:
        self.store.pushpull(self.keys[layer], self.gradients[layer], out=self.weights[layer], priority=-layer)


serve(MEETING, JOB, RANK, mx.__version__, lambda number, case: built(Step(number, case)))
