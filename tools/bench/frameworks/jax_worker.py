"""Trains with JAX and flax: see compare.py."""

from __future__ import annotations

import os
import sys
from typing import Any

from slices import serve

os.environ.setdefault("XLA_FLAGS", "--xla_cpu_multi_thread_eigen=false intra_op_parallelism_threads=1")
os.environ.setdefault("JAX_PLATFORMS", "cpu")

# Steps of a slice, and the batch: several of the larger networks, since machines differ in how long a step takes.
WORKLOADS = {
    "mlp": (200, 64),
    "batch_192": (20, 192),
    "batch_288": (20, 288),
    "batch_512": (20, 512),
    "batch_960": (20, 960),
    "cnn_2": (20, 2),
    "cnn": (4, 32),
}


def model_of(workload: str) -> tuple[Any, tuple[int, ...]]:
    import flax.linen as nn

    class Perceptron(nn.Module):
        width: int

        @nn.compact
        def __call__(self, x: Any) -> Any:
            for _ in range(2):
                x = nn.relu(nn.Dense(self.width)(x))
            return nn.Dense(10)(x)

    class Residual(nn.Module):
        @nn.compact
        def __call__(self, x: Any) -> Any:
            x = nn.Conv(32, (3, 3))(x)
            for _ in range(2):
                y = nn.relu(nn.LayerNorm()(nn.Conv(32, (3, 3))(x)))
                x = x + nn.Conv(32, (3, 3))(y)
            return nn.Dense(10)(x.mean((1, 2)))

    _, batch = WORKLOADS[workload]
    if workload.startswith("cnn"):
        return Residual(), (batch, 32, 32, 3)
    return Perceptron(128 if workload == "mlp" else 512), (batch, 64)


def main() -> None:
    if sys.argv[1] == "--list":
        for name, (steps, _) in WORKLOADS.items():
            print(name, steps)
        return
    import jax
    import numpy as np
    import optax

    model, shape = model_of(sys.argv[1])
    random = np.random.default_rng(0)
    x = jax.numpy.asarray(random.standard_normal(shape), np.float32)
    y = jax.numpy.asarray(random.integers(0, 10, shape[0]))
    params = model.init(jax.random.key(0), x)
    optimizer = optax.adam(1e-3)
    state = optimizer.init(params)

    def loss_of(params: Any, x: Any, y: Any) -> Any:
        return optax.softmax_cross_entropy_with_integer_labels(model.apply(params, x), y).mean()

    def train_step(params: Any, state: Any, x: Any, y: Any) -> Any:
        loss, gradients = jax.value_and_grad(loss_of)(params, x, y)
        updates, state = optimizer.update(gradients, state)
        return optax.apply_updates(params, updates), state, loss

    step = jax.jit(train_step, donate_argnums=(0, 1))

    def train() -> None:
        nonlocal params, state
        params, state, _ = step(params, state, x, y)

    serve(
        train,
        lambda: jax.block_until_ready(params),
        lambda: (np.asarray(leaf).tobytes() for leaf in jax.tree.leaves((params, state))),
    )


if __name__ == "__main__":
    main()
