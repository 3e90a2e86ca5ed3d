"""Trains with an op that returns another type than it declares, or fails: wrong_op.py tensorflow|jax|jax_fails."""

import sys
from typing import Any

import numpy as np

random = np.random.default_rng(0)
X = random.standard_normal((16, 4)).astype("f4")
Y = random.standard_normal((16, 1)).astype("f4")


def tensorflow() -> None:
    import keras
    import tensorflow as tf

    class Halved(keras.layers.Layer):
        def call(self, x: Any) -> Any:
            made = tf.numpy_function(lambda x: x / np.float64(2), [x], tf.float32, name="halve")
            return tf.ensure_shape(made, x.shape)

    model = keras.Sequential([keras.layers.Input((4,)), Halved(name="halved"), keras.layers.Dense(1)], name="net")
    model.compile("sgd", "mse")
    model.fit(X, Y, batch_size=16, verbose=0)


def jax(halve: Any = lambda x: np.asarray(x)[1:] / 2) -> None:
    import jax
    import jax.numpy as jnp

    def called(function: Any, x: Any) -> Any:
        return jax.pure_callback(function, jax.ShapeDtypeStruct(x.shape, x.dtype), jax.lax.stop_gradient(x))

    @jax.jit
    def train_step(kernel: Any, x: Any, y: Any) -> Any:
        y = called(lambda y: np.asarray(y) * 2, y)
        loss, gradient = jax.value_and_grad(lambda kernel: jnp.square(called(halve, x) @ kernel - y).mean())(kernel)
        return kernel - 0.1 * gradient, loss

    _, loss = train_step(jnp.zeros((4, 1)), X, Y)
    print(float(loss))


def jax_fails() -> None:
    def halve(x: Any) -> Any:
        return np.asarray(x)[len(x)]

    jax(halve)


{"tensorflow": tensorflow, "jax": jax, "jax_fails": jax_fails}[sys.argv[1]]()
