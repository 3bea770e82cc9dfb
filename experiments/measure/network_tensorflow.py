"""The measured network of `networks.py` in TensorFlow."""

from __future__ import annotations

from typing import Any

from tensorflow_ring import tf

ACTIVATIONS = {"relu": tf.nn.relu, "tanh": tf.nn.tanh, "sigmoid": tf.nn.sigmoid, "gelu": tf.nn.gelu}
OPTIMIZERS = {
    "sgd": lambda: tf.keras.optimizers.SGD(1e-3),
    "momentum": lambda: tf.keras.optimizers.SGD(1e-3, momentum=0.9),
    "adam": lambda: tf.keras.optimizers.Adam(1e-4),
    "rmsprop": lambda: tf.keras.optimizers.RMSprop(1e-4),
}


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
        """Return the mean loss of a batch."""
        h = x
        for weight, bias in self.convolutions:
            h = self.activation(tf.nn.conv2d(h, weight, 1, "SAME") + bias)
        h = tf.reduce_mean(h, [1, 2])
        for weight, bias in self.dense[:-1]:
            h = self.activation(h @ weight + bias)
        logits = h @ self.dense[-1][0] + self.dense[-1][1]
        return tf.reduce_mean(tf.nn.sparse_softmax_cross_entropy_with_logits(y, logits))
