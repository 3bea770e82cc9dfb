"""A TensorFlow worker whose computation is waits: gradients are reduced layer by layer in the graph, or all at the end.

worker_stages_tensorflow.py FOLDER RANK
"""

from __future__ import annotations

from collections.abc import Callable

from framework_tensorflow import STRATEGY, WORKERS, measure, tf
from stages import Staged, built, wait
from work import Case, Step


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


class Graphs(Staged):
    def __init__(self, case: Case) -> None:
        super().__init__(case, shares=WORKERS > 1)
        width = case["hidden"]
        self.count = case["layers"]
        self.weights = [tf.Variable(tf.random.normal((width, width)) * 0.01) for _ in range(self.count)]
        self.x = tf.random.normal((case["batch_per_worker"], width))
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

    def train(self) -> None:
        self.graphs["whole"]().numpy()

    def forward(self) -> None:
        self.graphs["forward"]().numpy()

    def backward(self) -> None:
        self.gradients = self.graphs["backward"]()
        self.gradients[0].numpy()

    def meet(self) -> None:
        self.graphs["barrier"]().numpy()

    def exchange(self) -> None:
        self.gradients = self.graphs["exchange"](self.gradients)
        self.gradients[0].numpy()

    def update(self) -> None:
        self.graphs["update"](self.gradients).numpy()

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


def build(number: int, case: Case) -> Step:
    step = Graphs(case)
    if case.get("phases"):
        # Every graph is traced once: the first profile would time that.
        step.profile()
    return built(step)


measure(build)
