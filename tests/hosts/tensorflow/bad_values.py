"""Trains a model in which a value becomes NaN or infinite: bad_values.py layer|loop|gradient|eager|overflow."""

import sys
from typing import Any

import keras
import numpy as np
import tensorflow as tf

keras.utils.set_random_seed(1)
RANDOM = np.random.default_rng(0)
X, Y = RANDOM.random((64, 8)).astype("f4"), RANDOM.random((64, 4)).astype("f4")


def worse(batch: Any, value: Any) -> Any:
    """Makes the input of the op that fails too small in the third batch."""
    return value - 10.0 * tf.cast(batch >= 2, value.dtype)


class Net(keras.Model):
    def __init__(self, operation: Any) -> None:
        super().__init__(name="net")
        self.operation = operation
        self.encoder = keras.layers.Dense(16, activation="relu", name="encoder")
        self.head = keras.layers.Dense(4, name="head")
        self.batch = self.add_weight(shape=(), dtype="int32", initializer="zeros", trainable=False, name="batch")

    def call(self, x: Any) -> Any:
        hidden = worse(self.batch, self.encoder(x) + 0.5)
        self.batch.assign_add(1)
        return self.head(self.operation(hidden))


def in_layer(hidden: Any) -> Any:
    return tf.sqrt(hidden)  # layer


def in_loop(hidden: Any) -> Any:
    def body(i: Any, hidden: Any) -> Any:
        return i + 1, tf.math.log(hidden) + 2.0  # loop

    return tf.while_loop(lambda i, _: i < 2, body, (0, hidden))[1]


@tf.custom_gradient
def straight(hidden: Any) -> Any:
    def gradient(outer: Any) -> Any:
        return outer * tf.sqrt(tf.reduce_min(hidden))  # gradient

    return tf.identity(hidden), gradient


def in_half(hidden: Any) -> Any:
    return tf.cast(tf.cast(hidden * hidden * 1000.0, tf.float16), tf.float32)  # overflow


def fit(operation: Any) -> None:
    model = Net(operation)
    model.compile("adam", "mse")
    model.fit(X, Y, batch_size=16, epochs=1, shuffle=False, verbose=0)


def eager() -> None:
    weight = tf.Variable(tf.ones((8, 4)), name="weight")
    for step in range(4):
        with tf.GradientTape() as tape:
            hidden = worse(step, tf.matmul(X, weight))
            loss = tf.reduce_mean(tf.sqrt(hidden))  # eager
        weight.assign_sub(0.01 * tape.gradient(loss, weight))
        print("step", step, float(loss), flush=True)


case = sys.argv[1]
if case == "eager":
    eager()
else:
    fit({"layer": in_layer, "loop": in_loop, "gradient": straight, "overflow": in_half}[case])
