"""Trains in a tf.function, step by step, until it has taken enough steps: paused.py STEPS [INTER_OP_THREADS]."""

import os
import sys
import threading
from typing import Any

import keras
import tensorflow as tf

if len(sys.argv) > 2:
    tf.config.threading.set_inter_op_parallelism_threads(int(sys.argv[2]))
keras.utils.set_random_seed(1)
model = keras.Sequential([keras.layers.Input((8,)), keras.layers.Dense(8, activation="relu", name="hidden")])
optimizer = keras.optimizers.SGD(0.1)
x = tf.random.stateless_normal((16, 8), (1, 2))


@tf.function
def train() -> Any:
    with tf.GradientTape() as tape:
        loss = tf.reduce_mean(tf.square(model(x) - 1.0))
    gradients = tape.gradient(loss, model.trainable_variables)
    optimizer.apply_gradients(zip(gradients, model.trainable_variables, strict=True))
    return loss


def count() -> None:
    """Python code of another thread runs while the training stands."""
    number = 0
    while True:
        number += 1
        counted.wait(0.05)
        print("alive", number, flush=True)


counted = threading.Event()
if os.environ.get("COUNT"):
    threading.Thread(target=count, daemon=True).start()
try:
    for step in range(int(sys.argv[1])):
        print("step", step + 1, "loss", float(train()).hex(), flush=True)
        print("kernel", *(float(value).hex() for value in model.weights[0].numpy()[0]), flush=True)
except KeyboardInterrupt:
    print("interrupted", flush=True)
    print("after", float(train()).hex(), flush=True)
