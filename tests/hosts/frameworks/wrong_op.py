"""Trains with an op that returns another type than it declares: wrong_op.py tensorflow|jax."""

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


def jax() -> None:
    import jax
    import jax.numpy as jnp

    def halved(x: Any) -> Any:
        declared = jax.ShapeDtypeStruct(x.shape, x.dtype)
        return jax.pure_callback(lambda x: np.asarray(x)[1:] / 2, declared, jax.lax.stop_gradient(x))

    @jax.jit
    def train_step(kernel: Any, x: Any, y: Any) -> Any:
        loss, gradient = jax.value_and_grad(lambda kernel: jnp.square(halved(x) @ kernel - y).mean())(kernel)
        return kernel - 0.1 * gradient, loss

    _, loss = train_step(jnp.zeros((4, 1)), X, Y)
    print(float(loss))


{"tensorflow": tensorflow, "jax": jax}[sys.argv[1]]()
