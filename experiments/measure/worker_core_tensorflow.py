"""A TensorFlow worker of the core experiment: chunks of a batch at the pace of a slow device, then a ring over gRPC.

worker_core_tensorflow.py FOLDER RANK
"""

from __future__ import annotations

from framework_tensorflow import STRATEGY, WORKERS, Network, measure, tf
from pace import Pace
from work import Case, Step, Stopwatch


def build(number: int, case: Case) -> Step:
    network = Network(case)
    sums = [tf.Variable(tf.zeros_like(v)) for v in network.variables]
    batch, count = case["batch_per_worker"], case["data_chunks"]
    images = tf.split(tf.random.normal((batch, case["image_size"], case["image_size"], 3)), count)
    labels = tf.split(tf.random.uniform((batch,), 0, 10, tf.int32), count)
    pace = Pace(case["slowdown"])

    @tf.function
    def accumulate(x: tf.Tensor, y: tf.Tensor) -> None:
        with tf.GradientTape() as tape:
            loss = network.loss(x, y) / count
        for total, gradient in zip(sums, tape.gradient(loss, network.variables), strict=True):
            total.assign_add(gradient)

    def mean() -> list[tf.Tensor]:
        context = tf.distribute.get_replica_context()
        return context.all_reduce(tf.distribute.ReduceOp.MEAN, [tf.identity(total) for total in sums])

    @tf.function
    def exchange() -> list[tf.Tensor]:
        return STRATEGY.run(mean)

    @tf.function
    def update(gradients: list[tf.Tensor]) -> None:
        network.optimizer.apply_gradients(zip(gradients, network.variables, strict=True))
        for total in sums:
            total.assign(tf.zeros_like(total))

    def step() -> dict[str, float]:
        watch = Stopwatch()
        with pace:
            for x, y in zip(images, labels, strict=True):
                accumulate(x, y)
        watch.lap("computation")
        gradients = sums
        if WORKERS > 1:
            gradients = exchange()
            watch.lap("exchange")
        with pace:
            update([tf.convert_to_tensor(g) for g in gradients])
        watch.lap("update")
        return watch.seconds

    return step


measure(build)
