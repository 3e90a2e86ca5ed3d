"""Trains the same model with the same numbers in any framework: same_model.py pytorch|tensorflow|jax [late].

`late`: from the third step on, the activations of the hidden layer are a thousandth too large.
"""

import sys
from typing import Any

import numpy as np

STEPS, ROWS, INPUTS, HIDDEN, OUTPUTS, RATE = 4, 32, 6, 16, 3, 0.1
late = "late" in sys.argv
random = np.random.default_rng(0)
X = random.standard_normal((STEPS, ROWS, INPUTS)).astype("f4")
Y = random.standard_normal((STEPS, ROWS, OUTPUTS)).astype("f4")
# The kernels are of the shape (inputs, outputs).
WEIGHTS = [
    0.5 * random.standard_normal(shape).astype("f4")
    for shape in ((INPUTS, HIDDEN), (HIDDEN,), (HIDDEN, OUTPUTS), (OUTPUTS,))
]


def factor(step: int) -> float:
    return 1.001 if late and step >= 2 else 1.0


def pytorch() -> None:
    import torch
    from torch import nn

    class Net(nn.Module):
        def __init__(self) -> None:
            super().__init__()
            self.hidden = nn.Linear(INPUTS, HIDDEN)
            self.head = nn.Linear(HIDDEN, OUTPUTS)

        def forward(self, x: Any, factor: float) -> Any:
            return self.head(torch.relu(self.hidden(x)) * factor)

    net = Net()
    with torch.no_grad():
        for parameter, value in zip(net.parameters(), WEIGHTS, strict=True):
            parameter.copy_(torch.from_numpy(value.T))
    optimizer = torch.optim.SGD(net.parameters(), RATE)
    for step in range(STEPS):
        optimizer.zero_grad()
        loss = (net(torch.from_numpy(X[step]), factor(step)) - torch.from_numpy(Y[step])).square().mean()
        loss.backward()
        optimizer.step()
        print("step", step + 1, "loss", loss.item())


def tensorflow() -> None:
    import keras
    import tensorflow as tf

    class Net(keras.Model):
        def __init__(self) -> None:
            super().__init__(name="net")
            self.hidden = keras.layers.Dense(HIDDEN, activation="relu", name="hidden")
            self.head = keras.layers.Dense(OUTPUTS, name="head")

        def call(self, x: Any, factor: Any) -> Any:
            return self.head(self.hidden(x) * factor)

    net = Net()
    net(X[0], tf.constant(1.0))
    net.set_weights(WEIGHTS)
    optimizer = keras.optimizers.SGD(RATE)

    @tf.function
    def train_step(x: Any, y: Any, factor: Any) -> Any:
        with tf.GradientTape() as tape:
            loss = tf.reduce_mean(tf.square(net(x, factor) - y))
        gradients = tape.gradient(loss, net.trainable_variables)
        optimizer.apply_gradients(zip(gradients, net.trainable_variables, strict=True))
        return loss

    for step in range(STEPS):
        loss = train_step(tf.constant(X[step]), tf.constant(Y[step]), tf.constant(factor(step)))
        print("step", step + 1, "loss", float(loss))


def jax() -> None:
    import jax
    import jax.numpy as jnp

    def net(params: Any, x: Any, factor: Any) -> Any:
        hidden, head = params["hidden"], params["head"]
        with jax.named_scope("hidden"):
            h = jax.nn.relu(x @ hidden["kernel"] + hidden["bias"])
        h = h * factor
        with jax.named_scope("head"):
            return h @ head["kernel"] + head["bias"]

    @jax.jit
    def train_step(params: Any, x: Any, y: Any, factor: Any) -> Any:
        loss, gradients = jax.value_and_grad(lambda params: jnp.square(net(params, x, factor) - y).mean())(params)
        return jax.tree.map(lambda value, gradient: value - RATE * gradient, params, gradients), loss

    kernel, bias, last_kernel, last_bias = map(jnp.asarray, WEIGHTS)
    params = {"hidden": {"kernel": kernel, "bias": bias}, "head": {"kernel": last_kernel, "bias": last_bias}}
    for step in range(STEPS):
        params, loss = train_step(params, X[step], Y[step], jnp.float32(factor(step)))
        print("step", step + 1, "loss", float(loss))


{"pytorch": pytorch, "tensorflow": tensorflow, "jax": jax}[sys.argv[1]]()
