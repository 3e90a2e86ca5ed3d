"""Trains a small model with Keras, with a fault: none, features, labels, nan, rate, gradients."""

import sys
from typing import Any

import keras
import numpy as np
import tensorflow as tf

fault = sys.argv[1]
keras.utils.set_random_seed(0)
X = np.random.default_rng(0).standard_normal((64, 8)).astype("f4")
Y = np.arange(64) % 3 + (1 if fault == "labels" else 0)

model = keras.Sequential([keras.layers.Dense(16, activation="relu"), keras.layers.Dense(3)])
model.build((None, 9 if fault == "features" else 8))
loss = keras.losses.SparseCategoricalCrossentropy(from_logits=True)


def not_finite(labels: Any, made: Any) -> Any:
    return tf.math.log(tf.reduce_sum(made) * 0.0 - 1.0)


def without_gradient() -> None:
    other = tf.Variable(1.0, name="other")
    with tf.GradientTape() as tape:
        error = tf.reduce_sum(other * 2.0)
    tape.gradient(error, model.trainable_variables)


if fault == "gradients":
    without_gradient()
else:
    optimizer = keras.optimizers.SGD(0.0 if fault == "rate" else 0.1)
    model.compile(optimizer, not_finite if fault == "nan" else loss)
    model.fit(X, Y, batch_size=16, verbose=0)
