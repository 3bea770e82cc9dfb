"""A TensorFlow worker: MultiWorkerMirroredStrategy, ring collectives over gRPC.

worker_tensorflow.py FOLDER RANK
"""

from __future__ import annotations

import json
import os

from work import Case, Step, job, serve

MEETING, JOB, RANK = job()
WORKERS: int = JOB["workers"]
os.environ.update(TF_CPP_MIN_LOG_LEVEL="3", OMP_NUM_THREADS="1", CUDA_VISIBLE_DEVICES="-1")
if WORKERS > 1:
    # On one host the workers differ by their ports, on several by their addresses: both at once does for either.
    workers = [f"{address}:{JOB['port'] + i}" for i, address in enumerate(JOB["addresses"])]
    os.environ["TF_CONFIG"] = json.dumps({"cluster": {"worker": workers}, "task": {"type": "worker", "index": RANK}})

import tensorflow as tf  # noqa: E402

tf.config.threading.set_intra_op_parallelism_threads(1)
tf.config.threading.set_inter_op_parallelism_threads(2)
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
