"""TensorFlow with ring collectives over gRPC among the workers of a job, and the measured network of `networks.py`."""

from __future__ import annotations

import json
import os
from collections.abc import Callable
from typing import Any

from work import Case, Step, job, serve

MEETING, JOB, RANK = job()
WORKERS: int = JOB["workers"]
#: Operations of a graph that may wait for something at the same time.
_AT_ONCE = 2
os.environ.update(TF_CPP_MIN_LOG_LEVEL="3", CUDA_VISIBLE_DEVICES="-1")
if WORKERS > 1:
    # On one host the workers differ by their ports, on several by their addresses: both at once does for either.
    workers = [f"{address}:{JOB['port'] + i}" for i, address in enumerate(JOB["addresses"])]
    os.environ["TF_CONFIG"] = json.dumps({"cluster": {"worker": workers}, "task": {"type": "worker", "index": RANK}})

import tensorflow as tf  # noqa: E402

tf.config.threading.set_intra_op_parallelism_threads(1)
tf.config.threading.set_inter_op_parallelism_threads(_AT_ONCE)
RING = tf.distribute.experimental.CommunicationOptions(
    implementation=tf.distribute.experimental.CommunicationImplementation.RING
)
STRATEGY = (
    tf.distribute.MultiWorkerMirroredStrategy(communication_options=RING)
    if WORKERS > 1
    else tf.distribute.get_strategy()
)

ACTIVATIONS = {"relu": tf.nn.relu, "tanh": tf.nn.tanh, "sigmoid": tf.nn.sigmoid, "gelu": tf.nn.gelu}
OPTIMIZERS = {
    "sgd": lambda: tf.keras.optimizers.SGD(1e-3),
    "momentum": lambda: tf.keras.optimizers.SGD(1e-3, momentum=0.9),
    "adam": lambda: tf.keras.optimizers.Adam(1e-4),
    "rmsprop": lambda: tf.keras.optimizers.RMSprop(1e-4),
}


def measure(build: Callable[[int, Case], Step]) -> None:
    """Serve the launcher's cases until there are no more, and leave.

    A worker that leaves in the usual way waits for collectives that nobody answers any more.
    """
    serve(MEETING, JOB, RANK, tf.__version__, build)
    os._exit(0)


class Network:
    """The network of a case: its variables, the same on every worker, and its loss."""

    def __init__(self, case: dict[str, Any]) -> None:
        kernel, filters, hidden = case["kernel_size"], case["filters"], case["hidden"]
        self.activation = ACTIVATIONS[case["activation"]]
        random = tf.random.Generator.from_seed(0)

        def new(*shape: int) -> tf.Variable:
            return tf.Variable(random.normal(shape) * 0.05)

        self.convolutions = [
            (new(kernel, kernel, 3 if i == 0 else filters, filters), new(filters)) for i in range(case["layers"])
        ]
        self.dense = [
            (new(filters, hidden), new(hidden)),
            (new(hidden, hidden), new(hidden)),
            (new(hidden, 10), new(10)),
        ]
        self.variables = [v for pair in self.convolutions + self.dense for v in pair]
        self.optimizer = OPTIMIZERS[case["optimizer"]]()
        self.optimizer.build(self.variables)

    def loss(self, x: tf.Tensor, y: tf.Tensor) -> tf.Tensor:
        h = x
        for weight, bias in self.convolutions:
            h = self.activation(tf.nn.conv2d(h, weight, 1, "SAME") + bias)
        h = tf.reduce_mean(h, [1, 2])
        for weight, bias in self.dense[:-1]:
            h = self.activation(h @ weight + bias)
        logits = h @ self.dense[-1][0] + self.dense[-1][1]
        return tf.reduce_mean(tf.nn.sparse_softmax_cross_entropy_with_logits(y, logits))
