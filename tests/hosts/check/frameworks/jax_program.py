"""Trains a small model with JAX and optax, with a fault: none, features, nan, rate."""

import sys
from typing import Any

import jax
import jax.numpy as jnp
import optax

fault = sys.argv[1]
X = jax.random.normal(jax.random.key(0), (16, 9 if fault == "features" else 8))
Y = jnp.arange(16) % 3
params = {"kernel": jax.random.normal(jax.random.key(1), (8, 3)), "bias": jnp.zeros(3)}
optimizer = optax.sgd(0.0 if fault == "rate" else 0.1)
state = optimizer.init(params)


def loss_of(params: Any, x: Any, y: Any) -> Any:
    made = x @ params["kernel"] + params["bias"]  # features
    loss = optax.softmax_cross_entropy_with_integer_labels(made, y).mean()
    return loss + jnp.log(loss * 0.0 - 1.0) if fault == "nan" else loss


@jax.jit
def train_step(params: Any, state: Any, x: Any, y: Any) -> Any:
    loss, gradients = jax.value_and_grad(loss_of)(params, x, y)
    updates, state = optimizer.update(gradients, state, params)
    return optax.apply_updates(params, updates), state, loss


for step in range(4):
    params, state, loss = train_step(params, state, X, Y)
    print("step", step + 1, "loss", float(loss))
