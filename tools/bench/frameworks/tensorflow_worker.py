"""Trains with Keras on TensorFlow: see compare.py."""

from __future__ import annotations

import os
import sys
import tempfile
from typing import Any

from slices import serve

os.environ.setdefault("TF_CPP_MIN_LOG_LEVEL", "3")
os.environ.setdefault("CUDA_VISIBLE_DEVICES", "")

# Steps of a slice.
WORKLOADS = {"mlp": 150, "cnn": 4}
# TensorFlow's own debuggers.
TOOLS = {
    "enable_check_numerics": lambda tf: tf.debugging.enable_check_numerics(),
    "enable_dump_debug_info": lambda tf: tf.debugging.experimental.enable_dump_debug_info(
        tempfile.mkdtemp(prefix="graphdbg-bench-"), "CONCISE_HEALTH", -1
    ),
}


def model_of(workload: str) -> tuple[Any, Any, tuple[int, ...]]:
    import keras

    layers = keras.layers
    if workload == "mlp":
        widths = [layers.Dense(width, activation="relu") for width in (128, 64)]
        model = keras.Sequential([layers.Input((64,)), *widths, layers.Dense(10)])
        return model, keras.optimizers.Adam(1e-3), (64, 64)
    image = layers.Input((32, 32, 3))
    hidden = layers.Conv2D(32, 3, padding="same")(image)
    for _ in range(2):
        inner = layers.ReLU()(layers.BatchNormalization()(layers.Conv2D(32, 3, padding="same")(hidden)))
        hidden = layers.Add()([hidden, layers.Conv2D(32, 3, padding="same")(inner)])
    model = keras.Model(image, layers.Dense(10)(layers.GlobalAveragePooling2D()(hidden)))
    return model, keras.optimizers.SGD(0.01, momentum=0.9), (32, 32, 32, 3)


def main() -> None:
    if sys.argv[1] == "--list":
        for name, steps in WORKLOADS.items():
            print(name, steps)
        return
    if sys.argv[1] == "--tools":
        print(*TOOLS)
        return
    import keras
    import numpy as np
    import tensorflow as tf

    tf.config.threading.set_intra_op_parallelism_threads(1)
    tf.config.threading.set_inter_op_parallelism_threads(1)
    for tool in sys.argv[2:]:
        TOOLS[tool](tf)
    keras.utils.set_random_seed(0)
    model, optimizer, shape = model_of(sys.argv[1])
    random = np.random.default_rng(0)
    x = tf.constant(random.standard_normal(shape), tf.float32)
    y = tf.constant(random.integers(0, 10, shape[0]))

    @tf.function
    def train_step() -> Any:
        with tf.GradientTape() as tape:
            made = model(x, training=True)
            loss = tf.reduce_mean(keras.losses.sparse_categorical_crossentropy(y, made, from_logits=True))
        gradients = tape.gradient(loss, model.trainable_variables)
        optimizer.apply_gradients(zip(gradients, model.trainable_variables, strict=True))
        return loss

    # It returns when the step is done.
    serve(train_step, lambda: None, lambda: (weight.numpy().tobytes() for weight in model.weights))


if __name__ == "__main__":
    main()
