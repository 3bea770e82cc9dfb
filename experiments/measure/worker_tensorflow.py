"""A TensorFlow worker: MultiWorkerMirroredStrategy, ring collectives over gRPC.

worker_tensorflow.py FOLDER RANK
"""

from __future__ import annotations

from framework_tensorflow import STRATEGY, Network, measure, tf
from work import Case, Step


def build(number: int, case: Case) -> Step:
    with STRATEGY.scope():
        network = Network(case)
        x = tf.random.normal((case["batch_per_worker"], case["image_size"], case["image_size"], 3))
        y = tf.random.uniform((case["batch_per_worker"],), 0, 10, tf.int32)

    def replica() -> tf.Tensor:
        with tf.GradientTape() as tape:
            loss = network.loss(x, y)
        gradients = tape.gradient(loss, network.variables)
        # In a strategy's scope the optimizer sums the gradients of all workers by itself.
        network.optimizer.apply_gradients(zip(gradients, network.variables, strict=True))
        return loss

    @tf.function
    def graph() -> tf.Tensor:
        return STRATEGY.run(replica)

    def step() -> dict[str, float]:
        STRATEGY.experimental_local_results(graph())[0].numpy()
        return {}

    return step


measure(build)
