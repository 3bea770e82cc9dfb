"""A TensorFlow worker whose computation is waits: gradients are reduced layer by layer in the graph, or all at the end.

worker_stages_tensorflow.py FOLDER RANK
"""

from __future__ import annotations

import os
from collections.abc import Callable

from framework_tensorflow import JOB, MEETING, RANK, STRATEGY, WORKERS, tf
from stages import LAYERS, Loader, wait, waits
from work import Case, Profiled, serve


def waited(seconds: float, before: tf.Tensor) -> tf.Tensor:
    """Return a tensor that is there so many seconds after another one."""

    def later(token: object) -> object:
        wait(seconds)
        return token

    token = tf.numpy_function(later, [before], before.dtype)
    token.set_shape(before.shape)
    return token


def reduced(gradient: tf.Tensor) -> tf.Tensor:
    """Return the mean of a gradient over the workers; in a replica."""
    # The argument of a graph is on no device; what the replica makes of it is on the replica's.
    of_replica = tf.identity(gradient)
    return tf.distribute.get_replica_context().all_reduce(tf.distribute.ReduceOp.SUM, of_replica) / WORKERS


class Step(Profiled):
    def __init__(self, case: Case) -> None:
        width = case["hidden"]
        self.count = case["layers"]
        self.weights = [tf.Variable(tf.random.normal((width, width)) * 0.01) for _ in range(self.count)]
        self.x = tf.random.normal((case["batch_per_worker"], width))
        self.waiting = waits(case)
        self.at_once = case["exchange"] == LAYERS
        self.loader = Loader(self.waiting, bool(case.get("prefetch", 1)))
        self.graphs = {
            name: tf.function(graph)
            for name, graph in {
                "whole": lambda: self._update(STRATEGY.run(self._replica)),
                "forward": lambda: self._forward(tf.zeros(())),
                "backward": lambda: self._gradients(tf.zeros(()), lambda gradient: gradient)[0],
                "exchange": lambda gradients: STRATEGY.run(self._exchanged, (gradients,)),
                "update": self._update,
                "barrier": lambda: STRATEGY.run(lambda: reduced(tf.zeros(()))),
            }.items()
        }

    def __call__(self) -> dict[str, float]:
        self.loader.batch()
        self.graphs["whole"]().numpy()
        return {}

    def profile(self) -> dict[str, float]:
        watch = self.loader.timed()
        self.graphs["forward"]().numpy()
        watch.lap("forward")
        gradients = self.graphs["backward"]()
        gradients[0].numpy()
        watch.lap("backward")
        if WORKERS > 1:
            # What the slowest worker is waited for is no part of the exchange.
            self.graphs["barrier"]().numpy()
            watch.skip()
            gradients = self.graphs["exchange"](gradients)
            gradients[0].numpy()
            watch.lap("exchange")
        self.graphs["update"](gradients).numpy()
        watch.lap("update")
        return watch.seconds

    def warm(self) -> None:
        """Trace every graph: the first profile would time that."""
        self.profile()

    def _forward(self, token: tf.Tensor) -> tf.Tensor:
        for _ in range(self.count):
            token = waited(self.waiting.forward, token)
        return token

    def _gradients(
        self, token: tf.Tensor, ready: Callable[[tf.Tensor], tf.Tensor]
    ) -> tuple[list[tf.Tensor], tf.Tensor]:
        """Return the gradients, first layer first, and a tensor that is there when the pass is done."""
        gradients = []
        for _ in range(self.count):
            token = waited(self.waiting.backward, token)
            with tf.control_dependencies([token]):
                gradients.append(ready(tf.matmul(self.x, self.x, transpose_a=True)))
        return gradients[::-1], token

    def _replica(self) -> list[tf.Tensor]:
        token = self._forward(tf.zeros(()))
        if WORKERS == 1:
            return self._gradients(token, lambda gradient: gradient)[0]
        if self.at_once:
            return self._gradients(token, reduced)[0]
        gradients, token = self._gradients(token, lambda gradient: gradient)
        with tf.control_dependencies([token]):
            return self._exchanged([tf.identity(gradient) for gradient in gradients])

    def _exchanged(self, gradients: list[tf.Tensor]) -> list[tf.Tensor]:
        """Return the gradients reduced, the last layer first on the links."""
        return [reduced(gradient) for gradient in gradients[::-1]][::-1]

    def _update(self, gradients: list[tf.Tensor]) -> tf.Tensor:
        changes = [w.assign_sub(1e-6 * g) for w, g in zip(self.weights, gradients, strict=True)]
        with tf.control_dependencies(changes):
            return tf.zeros(())


def build(number: int, case: Case) -> Callable[[], dict[str, float]]:
    step = Step(case)
    if not case.get("phases"):
        return step.__call__
    step.warm()
    return step


serve(MEETING, JOB, RANK, tf.__version__, build)
# A worker that leaves in the usual way waits for collectives that nobody answers any more.
os._exit(0)
