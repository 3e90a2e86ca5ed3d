"""Trains in one framework with data from another: fed.py torch_to_jax|tensorflow_to_pytorch|tensorflow_to_jax|both."""

import sys
from collections.abc import Iterator
from typing import Any

import numpy as np

STEPS = 4
random = np.random.default_rng(0)
X = random.standard_normal((STEPS * 8, 6)).astype("f4")
Y = random.standard_normal((STEPS * 8, 2)).astype("f4")


def batches_of_pytorch() -> Iterator[tuple[Any, Any]]:
    import torch
    from torch.utils.data import DataLoader, TensorDataset

    for x, y in DataLoader(TensorDataset(torch.from_numpy(X), torch.from_numpy(Y)), batch_size=8):
        yield (2 * x).numpy(), y.numpy()


def batches_of_tensorflow() -> Iterator[tuple[Any, Any]]:
    import tensorflow as tf

    @tf.function
    def scaled(x: Any) -> Any:
        return tf.multiply(x, 2.0, name="scaled")

    data = tf.data.Dataset.from_tensor_slices((X, Y)).map(lambda x, y: (x, y)).batch(8)
    for x, y in data:
        yield scaled(x).numpy(), y.numpy()


def train_pytorch(batches: Iterator[tuple[Any, Any]]) -> None:
    import torch

    net = torch.nn.Linear(6, 2)
    optimizer = torch.optim.SGD(net.parameters(), 0.1)
    for x, y in batches:
        optimizer.zero_grad()
        loss = (net(torch.from_numpy(x)) - torch.from_numpy(y)).square().mean()
        loss.backward()
        optimizer.step()
    print("pytorch", loss.item())


def train_jax(batches: Iterator[tuple[Any, Any]]) -> None:
    import jax
    import jax.numpy as jnp

    @jax.jit
    def train_step(kernel: Any, x: Any, y: Any) -> Any:
        loss, gradient = jax.value_and_grad(lambda kernel: jnp.square(x @ kernel - y).mean())(kernel)
        return kernel - 0.1 * gradient, loss

    kernel = jnp.zeros((6, 2))
    for x, y in batches:
        kernel, loss = train_step(kernel, x, y)
    print("jax", float(loss))


if sys.argv[1] == "torch_to_jax":
    train_jax(batches_of_pytorch())
elif sys.argv[1] == "tensorflow_to_pytorch":
    import tensorflow  # noqa: F401  before the framework that trains

    train_pytorch(batches_of_tensorflow())
elif sys.argv[1] == "tensorflow_to_jax":
    import jax  # noqa: F401

    train_jax(batches_of_tensorflow())
else:
    train_pytorch(batches_of_pytorch())
    train_jax(batches_of_pytorch())
