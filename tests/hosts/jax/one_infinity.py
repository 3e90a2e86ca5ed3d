"""Trains weights of a type, one of which becomes infinite in step 3: one_infinity.py TYPE."""

from __future__ import annotations

import sys

import jax
import jax.numpy as jnp

COUNT, INFINITE = 5001, 4999
weights = jnp.full(COUNT, 0.5, sys.argv[1])


@jax.jit
def train_step(weights: jax.Array, rates: jax.Array) -> tuple[jax.Array, jax.Array]:
    loss, gradients = jax.value_and_grad(lambda each: (each * each).sum())(weights)
    return weights - rates * gradients, loss


for step in range(1, 5):
    rates = jnp.full(COUNT, -0.01, weights.dtype)
    weights, _ = train_step(weights, rates.at[INFINITE].set(jnp.inf) if step == 3 else rates)
print("trained", weights.dtype)
