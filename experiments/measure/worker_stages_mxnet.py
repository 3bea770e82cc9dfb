"""An MXNet worker or server whose computation is waits: gradients go to the servers layer by layer, or all at the end.

worker_stages_mxnet.py FOLDER RANK        with DMLC_ROLE and the rest of MXNet's environment set by the launcher
"""

from __future__ import annotations

from collections.abc import Callable

from framework_mxnet import JOB, MEETING, RANK, mx, store
from stages import LAYERS, Loader, wait, waits
from work import Case, Profiled, serve


class Step(Profiled):
    """A step as the case has it; `profile` does its stages one after another.

    The store updates at the servers, so exchange and update are one; one worker without servers updates by itself.
    """

    def __init__(self, number: int, case: Case) -> None:
        width, batch = case["hidden"], case["batch_per_worker"]
        self.layers = range(case["layers"])
        self.keys = [f"{number}_{i}" for i in self.layers]
        self.weights = [mx.nd.random.normal(scale=0.01, shape=(width, width)) for _ in self.layers]
        self.gradients = [mx.nd.zeros((width, width)) for _ in self.layers]
        self.x = mx.nd.random.normal(shape=(batch, width))
        self.at_once = case["exchange"] == LAYERS
        self.store = store("dist_sync")
        if self.store is not None:
            self.store.set_optimizer(mx.optimizer.SGD(learning_rate=1e-6))
            for key, weight in zip(self.keys, self.weights, strict=True):
                self.store.broadcast(key, weight, out=weight)
        self.waiting = waits(case)
        self.loader = Loader(self.waiting, bool(case.get("prefetch", 1)))

    def __call__(self) -> dict[str, float]:
        self.loader.batch()
        self._forward()
        self._backward(self._send if self.at_once and self.store is not None else lambda layer: None)
        if self.store is None:
            self._update()
        elif not self.at_once:
            self._exchange()
        mx.nd.waitall()
        return {}

    def profile(self) -> dict[str, float]:
        watch = self.loader.timed()
        self._forward()
        watch.lap("forward")
        self._backward(lambda layer: None)
        mx.nd.waitall()
        watch.lap("backward")
        if self.store is None:
            self._update()
            mx.nd.waitall()
            watch.lap("update")
        else:
            # Once for nothing: after a long pause the connections send slowly at first, and in a step they do not.
            self._exchange()
            mx.nd.waitall()
            self.store._barrier()
            watch.skip()
            self._exchange()
            mx.nd.waitall()
            watch.lap("exchange")
        return watch.seconds

    def _forward(self) -> None:
        for weight in self.weights:
            self.x = mx.nd.dot(self.x, weight)
            self.x.wait_to_read()
            wait(self.waiting.forward)

    def _backward(self, ready: Callable[[int], None]) -> None:
        for layer in reversed(self.layers):
            wait(self.waiting.backward)
            mx.nd.dot(self.x, self.x, transpose_a=True, out=self.gradients[layer])
            ready(layer)

    def _send(self, layer: int) -> None:
        self.store.pushpull(self.keys[layer], self.gradients[layer], out=self.weights[layer], priority=-layer)

    def _exchange(self) -> None:
        for layer in reversed(self.layers):
            self._send(layer)

    def _update(self) -> None:
        for weight, gradient in zip(self.weights, self.gradients, strict=True):
            weight -= 1e-6 * gradient


def build(number: int, case: Case) -> Callable[[], dict[str, float]]:
    step = Step(number, case)
    return step if case.get("phases") else step.__call__


serve(MEETING, JOB, RANK, mx.__version__, build)
