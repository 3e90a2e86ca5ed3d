"""Trains with Keras on the PyTorch backend, whose optimizers are not those of PyTorch."""

import os
import sys

os.environ["KERAS_BACKEND"] = "torch"

import keras
import numpy as np

if __name__ == "__main__":
    keras.utils.set_random_seed(0)
    model = keras.Sequential(
        [keras.layers.Input((8,)), keras.layers.Dense(16, activation="relu"), keras.layers.Dense(1)]
    )
    model.compile(optimizer=getattr(keras.optimizers, sys.argv[1])(0.01), loss="mse", jit_compile=False)
    x = np.random.default_rng(0).random((32, 8)).astype("float32")
    if len(sys.argv) > 2:
        x[int(sys.argv[2]) * 8 - 8] = np.nan
    history = model.fit(x, x.sum(axis=1), batch_size=8, epochs=2, shuffle=False, verbose=0)
    for epoch, loss in enumerate(history.history["loss"], 1):
        print(f"step {epoch} loss {loss:.9g}")
