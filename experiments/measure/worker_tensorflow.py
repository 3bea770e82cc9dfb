"""A TensorFlow worker: MultiWorkerMirroredStrategy, ring collectives over gRPC.

worker_tensorflow.py FOLDER RANK
"""

from __future__ import annotations

import os

from tensorflow_ring import JOB, MEETING, RANK, STRATEGY, tf
from work import Case, Step, serve

ACTIVATIONS = {"relu": tf.nn.relu, "tanh": tf.nn.tanh, "sigmoid": tf.nn.sigmoid, "gelu": tf.nn.gelu}
OPTIMIZERS = {
    "sgd": lambda: tf.keras.optimizers.SGD(1e-3),
    "momentum": lambda: tf.keras.optimizers.SGD(1e-3, momentum=0.9),
    "adam": lambda: tf.keras.optimizers.Adam(1e-4),
    "rmsprop": lambda: tf.keras.optimizers.RMSprop(1e-4),
}


def build(number: int, case: Case) -> Step:
    kernel, filters, hidden, activation = (
        case["kernel_size"],
        case["filters"],
        case["hidden"],
        ACTIVATIONS[case["activation"]],
    )
    with STRATEGY.scope():
        random = tf.random.Generator.from_seed(0)

        def new(*shape: int) -> tf.Variable:
            return tf.Variable(random.normal(shape) * 0.05)

        convolutions = [
            (new(kernel, kernel, 3 if i == 0 else filters, filters), new(filters)) for i in range(case["layers"])
        ]
        dense = [(new(filters, hidden), new(hidden)), (new(hidden, hidden), new(hidden)), (new(hidden, 10), new(10))]
        variables = [v for pair in convolutions + dense for v in pair]
        optimizer = OPTIMIZERS[case["optimizer"]]()
        optimizer.build(variables)
        x = tf.random.normal((case["batch_per_worker"], case["image_size"], case["image_size"], 3))
        y = tf.random.uniform((case["batch_per_worker"],), 0, 10, tf.int32)

    def logits() -> tf.Tensor:
        h = x
        for weight, bias in convolutions:
            h = activation(tf.nn.conv2d(h, weight, 1, "SAME") + bias)
        h = tf.reduce_mean(h, [1, 2])
        for weight, bias in dense[:-1]:
            h = activation(h @ weight + bias)
        return h @ dense[-1][0] + dense[-1][1]

    def replica() -> tf.Tensor:
        with tf.GradientTape() as tape:
            loss = tf.reduce_mean(tf.nn.sparse_softmax_cross_entropy_with_logits(y, logits()))
        gradients = tape.gradient(loss, variables)
        # In a strategy's scope the optimizer sums the gradients of all workers by itself.
        optimizer.apply_gradients(zip(gradients, variables, strict=True))
        return loss

    @tf.function
    def graph() -> tf.Tensor:
        return STRATEGY.run(replica)

    def step() -> dict[str, float]:
        STRATEGY.experimental_local_results(graph())[0].numpy()
        return {}

    return step


serve(MEETING, JOB, RANK, tf.__version__, build)
# A worker that leaves in the usual way waits for collectives that nobody answers any more.
os._exit(0)
