"""Trains small models with TensorFlow, each in another way, and prints losses and weights to the bit.

trainings.py NAME...
"""

import hashlib
import sys
from collections.abc import Callable, Iterable
from typing import Any

import keras
import numpy as np
import tensorflow as tf

RANDOM = np.random.default_rng(0)


def data(count: int, *shape: int) -> tuple[Any, Any]:
    return RANDOM.standard_normal((count, *shape)).astype("f4"), RANDOM.integers(0, 10, count)


def mlp() -> Any:
    layers = keras.layers
    return keras.Sequential(
        [
            layers.Input((64,)),
            layers.Dense(128, activation="relu"),
            layers.Dense(64, activation="relu"),
            layers.Dense(10),
        ]
    )


def fit(model: Any, optimizer: Any, x: Any, y: Any, **options: Any) -> tuple[list[float], Any]:
    loss = keras.losses.SparseCategoricalCrossentropy(from_logits=True)
    model.compile(optimizer, loss, metrics=["accuracy"], **options)
    history = model.fit(x, y, batch_size=16, epochs=2, verbose=0, validation_data=(x, y)).history
    return [*history["loss"], *history["val_loss"]], model.weights


def dense() -> Any:
    return fit(mlp(), keras.optimizers.Adam(1e-3), *data(64, 64))


def convolutions() -> Any:
    layers = keras.layers
    image = layers.Input((16, 16, 3))
    hidden = layers.Conv2D(8, 3, padding="same")(image)
    for _ in range(2):
        inner = layers.BatchNormalization()(layers.Conv2D(8, 3, padding="same")(hidden))
        hidden = layers.Add()([hidden, layers.ReLU()(inner)])
    model = keras.Model(image, layers.Dense(10)(layers.GlobalAveragePooling2D()(hidden)))
    return fit(model, keras.optimizers.SGD(0.1, momentum=0.9), *data(64, 16, 16, 3))


def attention() -> Any:
    layers = keras.layers
    tokens = layers.Input((12, 16))
    hidden = layers.LayerNormalization()(tokens + layers.MultiHeadAttention(2, 8, dropout=0.1)(tokens, tokens))
    model = keras.Model(tokens, layers.Dense(10)(layers.GlobalAveragePooling1D()(hidden)))
    return fit(model, keras.optimizers.AdamW(1e-3), *data(64, 12, 16))


def several_steps_per_call() -> Any:
    return fit(mlp(), keras.optimizers.Adam(1e-3), *data(64, 64), steps_per_execution=4)


def accumulated() -> Any:
    return fit(mlp(), keras.optimizers.Adam(1e-3, gradient_accumulation_steps=2), *data(64, 64))


def mixed_precision() -> Any:
    keras.mixed_precision.set_global_policy("mixed_float16")
    try:
        return fit(mlp(), keras.optimizers.Adam(1e-3), *data(64, 64))
    finally:
        keras.mixed_precision.set_global_policy("float32")


def own_step(wrap: Callable[[Any], Any]) -> Any:
    model, optimizer = mlp(), keras.optimizers.Adam(1e-2)
    x, y = map(tf.constant, data(16, 64))

    def step() -> Any:
        with tf.GradientTape() as tape:
            loss = tf.reduce_mean(keras.losses.sparse_categorical_crossentropy(y, model(x), from_logits=True))
        gradients = tape.gradient(loss, model.trainable_variables)
        optimizer.apply_gradients(zip(gradients, model.trainable_variables, strict=True))
        return loss

    step = wrap(step)
    return [float(step()) for _ in range(4)], model.weights


def eager() -> Any:
    return own_step(lambda step: step)


def own_function() -> Any:
    return own_step(tf.function)


def compiled() -> Any:
    return own_step(tf.function(jit_compile=True))


def control_flow() -> Any:
    weight = tf.Variable(tf.fill((8, 8), 0.1), name="weight")
    x = tf.constant(RANDOM.standard_normal((4, 8)).astype("f4"))

    @tf.function
    def step() -> Any:
        with tf.GradientTape() as tape:
            hidden = x
            for _ in tf.range(3):
                hidden = tf.tanh(tf.matmul(hidden, weight))
            hidden = tf.cond(tf.reduce_sum(hidden) > 0, lambda: hidden * 2.0, lambda: hidden * 3.0)
            sums = tf.scan(lambda before, row: before + row, hidden)
            loss = tf.reduce_sum(tf.map_fn(tf.square, sums))
        weight.assign_sub(0.01 * tape.gradient(loss, weight))
        return loss

    return [float(step()) for _ in range(4)], [weight]


def digest(weights: Iterable[Any]) -> str:
    return hashlib.sha256(b"".join(np.asarray(weight.numpy()).tobytes() for weight in weights)).hexdigest()[:12]


for name in sys.argv[1:]:
    keras.utils.set_random_seed(3)
    losses, weights = globals()[name]()
    print(name, *(float(loss).hex() for loss in losses), digest(weights), flush=True)
