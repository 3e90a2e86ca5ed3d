"""Trains a small model with JAX in one of many ways, as users write them.

Prints a line per step with the loss to the bit, and in the end a digest of the weights. With
`--fault VALUE` the lines that are marked with the comment "the fault" compute NaN for values below 0.
"""

import argparse
import functools
import hashlib
import inspect

import jax
import jax.numpy as jnp
import numpy as np

parser = argparse.ArgumentParser(description=__doc__)
parser.add_argument("way")
parser.add_argument("--steps", type=int, default=4)
parser.add_argument("--fault", type=float, default=1.0)
arguments = parser.parse_args()

random = np.random.default_rng(0)
X = jnp.asarray(random.standard_normal((32, 16)), jnp.float32)
Y = jnp.asarray(random.standard_normal((32, 8)), jnp.float32)
FAULT = jnp.float32(arguments.fault)


def weights():
    key = jax.random.key(0)
    return {"layer": {"kernel": jax.random.normal(key, (16, 8)) * 0.1, "bias": jnp.zeros(8)}}


def linear(params, x):
    return x @ params["layer"]["kernel"] + params["layer"]["bias"]


def error(made, y):
    return ((made - y) ** 2).mean()


def descend(params, gradients):
    return jax.tree.map(lambda value, gradient: value - 0.1 * gradient, params, gradients)


# ---- losses


def forward(params, x, y):
    with jax.named_scope("head"):
        return error(jnp.tanh(linear(params, x)) + 0 * jnp.sqrt(FAULT * (1 + 0 * x.sum())), y)  # the fault of forward


def backward(params, x, y):
    shifted = jnp.abs(linear(params, x)).sum() * 0
    return error(linear(params, x), y) + jnp.sqrt(shifted)


def scan(params, x, y):
    def body(h, i):
        noise = jnp.sqrt(jnp.where(i == 2, FAULT, 1.0))  # the fault of scan
        return jnp.tanh(h @ params["layer"]["kernel"] @ params["layer"]["kernel"].T) + noise, h.sum()

    h, _ = jax.lax.scan(body, x, jnp.arange(5))
    return error(linear(params, h), y)


def loop(params, x, y):
    def body(carry):
        i, h = carry
        return i + 1, jnp.tanh(h) + jnp.sqrt(jnp.where(i == 2, FAULT, 1.0))  # the fault of loop

    _, h = jax.lax.while_loop(lambda carry: carry[0] < 4, body, (0, jax.lax.stop_gradient(x)))
    return error(linear(params, h), y)


def branch(params, x, y):
    def taken(h):
        return h + jnp.sqrt(FAULT * (1 + 0 * h))  # the fault of branch

    h = jax.lax.cond(x.sum() > 1e9, lambda h: h * 2, taken, x)
    return error(linear(params, h), y)


def batched(params, x, y):
    def one(x, y):
        return error(linear(params, jnp.sqrt(x * x * FAULT)), y)  # the fault of batched

    return jax.vmap(one)(x, y).mean()


def recomputed(params, x, y):
    @jax.checkpoint
    def layer(x):
        return jnp.tanh(jnp.sin(linear(params, x)) * jnp.sqrt(x.max() * FAULT))  # the fault of recomputed

    return error(layer(x), y)


@jax.custom_vjp
def own(x):
    return jnp.sin(x)


def own_forward(x):
    return jnp.sin(x), x


def own_backward(x, gradient):
    return (gradient * jnp.sqrt(FAULT * (1 + 0 * x)),)


own.defvjp(own_forward, own_backward)


def custom(params, x, y):
    return error(own(linear(params, x)), y)


def masked(params, x, y):
    roots = jnp.sqrt(x * FAULT)  # the fault of masked
    return error(linear(params, jnp.where(jnp.isnan(roots), 0.0, 1.0) + x), y)


def selected(params, x, y):
    """Numbers that are not finite are written into the function, by a library and by the program."""
    h = linear(params, x) / jnp.sqrt(jnp.var(x, axis=1, keepdims=True))
    return error(jax.nn.softmax(jnp.where(jnp.arange(8) < 6, h, -jnp.inf)), y)


def printing(params, x, y):
    made = forward(params, x, y)
    jax.debug.print("printed {made}", made=made)
    return made


def watching(params, x, y):
    """Has several callbacks, which are called in an order."""
    made = linear(params, x)
    jax.debug.callback(lambda value: print("first", float(value).hex()), made.max(), ordered=True)
    made = forward(params, x, y)
    jax.debug.callback(lambda value: print("second", float(value).hex()), made, ordered=True)
    jax.debug.print("third {made}", made=made, ordered=True)
    return made


def calling(params, x, y):
    made = forward(params, x, y)
    one = jax.experimental.io_callback(
        lambda value: print("called") or np.float32(0),
        jax.ShapeDtypeStruct((), jnp.float32),
        jax.lax.stop_gradient(made),
    )
    return made + one


# ---- loops


def report(step, loss):
    print(f"step {step} loss {float(np.asarray(loss).ravel()[0]).hex()}", flush=True)


def finish(tree):
    digest = hashlib.sha256()
    for leaf in jax.tree.leaves(tree):
        if not jnp.issubdtype(leaf.dtype, jax.dtypes.prng_key):
            digest.update(np.asarray(leaf).tobytes())
    print("digest", digest.hexdigest()[:16])


def train(loss, donates=True):
    @functools.partial(jax.jit, donate_argnums=(0,) if donates else ())
    def train_step(params, x, y):
        made, gradients = jax.value_and_grad(loss)(params, x, y)
        return descend(params, gradients), made

    params = weights()
    for step in range(arguments.steps):
        params, made = train_step(params, X, Y)
        report(step, made)
    finish(params)


def kept():
    train(forward, donates=False)


def split():
    find = jax.jit(jax.value_and_grad(forward))
    update = jax.jit(descend)
    params = weights()
    for step in range(arguments.steps):
        made, gradients = find(params, X, Y)
        params = update(params, gradients)
        report(step, made)
    finish(params)


def many():
    """Several steps in one call."""

    @jax.jit
    def train_steps(params):
        def one(params, _):
            made, gradients = jax.value_and_grad(forward)(params, X, Y)
            return descend(params, gradients), made

        return jax.lax.scan(one, params, None, length=4)

    params = weights()
    for step in range(arguments.steps):
        params, made = train_steps(params)
        report(step, made)
    finish(params)


def adversaries():
    """Two functions that train in turns."""

    @jax.jit
    def train_critic(critic, maker, x):
        def loss(critic):
            return -linear(critic, x).mean() + linear(critic, jnp.tanh(linear(maker, x)) @ jnp.ones((8, 16))).mean()

        made, gradients = jax.value_and_grad(loss)(critic)
        return descend(critic, gradients), made

    @jax.jit
    def train_maker(maker, critic, x):
        def loss(maker):
            return -linear(critic, jnp.tanh(linear(maker, x)) @ jnp.ones((8, 16))).mean()

        made, gradients = jax.value_and_grad(loss)(maker)
        return descend(maker, gradients), made

    critic, maker = weights(), weights()
    for step in range(arguments.steps):
        critic, _ = train_critic(critic, maker, X)
        maker, made = train_maker(maker, critic, X)
        report(step, made)
    finish((critic, maker))


def infer():
    @jax.jit
    def predict(params, x):
        with jax.named_scope("body"):
            for _ in range(12):
                x = jnp.tanh(linear(params, x) @ params["layer"]["kernel"].T)
        return linear(params, x)

    params = weights()
    for step in range(arguments.steps):
        report(step, predict(params, X).sum())
    finish(params)


def shapes():
    """Batches of two sizes."""

    @jax.jit
    def train_step(params, x, y):
        made, gradients = jax.value_and_grad(forward)(params, x, y)
        return descend(params, gradients), made

    params = weights()
    for step in range(arguments.steps):
        size = 32 if step % 2 == 0 else 24
        params, made = train_step(params, X[:size], Y[:size])
        report(step, made)
    finish(params)


def sharded():
    from jax.sharding import Mesh, NamedSharding, PartitionSpec

    mesh = Mesh(np.array(jax.devices()), ("devices",))
    split_rows = NamedSharding(mesh, PartitionSpec("devices"))
    x, y = jax.device_put(X, split_rows), jax.device_put(Y, split_rows)
    params = jax.device_put(weights(), NamedSharding(mesh, PartitionSpec()))

    @functools.partial(jax.jit, donate_argnums=0)
    def train_step(params, x, y):
        made, gradients = jax.value_and_grad(forward)(params, x, y)
        return descend(params, gradients), made

    for step in range(arguments.steps):
        params, made = train_step(params, x, y)
        report(step, made)
    finish(params)


def mapped():
    from jax.sharding import Mesh, PartitionSpec

    # Older versions do not add up the gradients of values that all devices share.
    adds_up = hasattr(jax, "shard_map")
    if adds_up:
        from jax import shard_map
    else:
        from jax.experimental.shard_map import shard_map
    rows, whole = PartitionSpec("devices"), PartitionSpec()

    def one(params, x, y):
        made, gradients = jax.value_and_grad(lambda params: jax.lax.pmean(forward(params, x, y), "devices"))(params)
        return descend(params, gradients if adds_up else jax.lax.pmean(gradients, "devices")), made

    mesh = Mesh(np.array(jax.devices()), ("devices",))
    train_step = jax.jit(shard_map(one, mesh=mesh, in_specs=(whole, rows, rows), out_specs=(whole, whole)))
    params = weights()
    for step in range(arguments.steps):
        params, made = train_step(params, X, Y)
        report(step, made)
    finish(params)


def pmapped():
    count = jax.device_count()

    @functools.partial(jax.pmap, axis_name="devices", donate_argnums=0)
    def train_step(params, x, y):
        made, gradients = jax.value_and_grad(forward)(params, x, y)
        return descend(params, jax.lax.pmean(gradients, "devices")), jax.lax.pmean(made, "devices")

    params = jax.tree.map(lambda value: jnp.stack([value] * count), weights())
    for step in range(arguments.steps):
        params, made = train_step(params, X.reshape(count, -1, 16), Y.reshape(count, -1, 8))
        report(step, made)
    finish(params)


def pmapped_split():
    count = jax.device_count()

    @functools.partial(jax.pmap, axis_name="devices")
    def find_gradients(params, x, y):
        return jax.lax.pmean(jax.grad(forward)(params, x, y), "devices")

    apply = jax.pmap(descend)
    params = jax.tree.map(lambda value: jnp.stack([value] * count), weights())
    for step in range(arguments.steps):
        gradients = find_gradients(params, X.reshape(count, -1, 16), Y.reshape(count, -1, 8))
        params = apply(params, gradients)
        report(step, params["layer"]["kernel"].sum())
    finish(params)


# ---- libraries


def flax_linen():
    import flax.linen as nn
    import optax
    from flax.training.train_state import TrainState

    class Net(nn.Module):
        @nn.compact
        def __call__(self, x):
            x = nn.relu(nn.Dense(32)(x))
            x = nn.LayerNorm()(x)
            x = jnp.log(x * x + 0.5 * FAULT)  # the fault of flax_linen
            return nn.Dense(8)(x)

    net = Net()
    state = TrainState.create(apply_fn=net.apply, params=net.init(jax.random.key(0), X)["params"], tx=optax.adamw(1e-3))

    @jax.jit
    def train_step(state, x, y):
        made, gradients = jax.value_and_grad(lambda params: error(state.apply_fn({"params": params}, x), y))(
            state.params
        )
        return state.apply_gradients(grads=gradients), made

    for step in range(arguments.steps):
        state, made = train_step(state, X, Y)
        report(step, made)
    finish((state.params, state.opt_state))


def flax_nnx():
    import optax
    from flax import nnx

    class Net(nnx.Module):
        def __init__(self, rngs):
            self.first = nnx.Linear(16, 32, rngs=rngs)
            self.dropout = nnx.Dropout(0.1, rngs=rngs)
            self.second = nnx.Linear(32, 8, rngs=rngs)

        def __call__(self, x):
            x = jnp.log(nnx.relu(self.first(x)) + 0.5 * FAULT)  # the fault of flax_nnx
            return self.second(self.dropout(x))

    net = Net(nnx.Rngs(0))
    optimizer = nnx.Optimizer(net, optax.adam(1e-3), wrt=nnx.Param)
    # Before flax 0.11 the optimizer had the model.
    takes_model = "model" in inspect.signature(optimizer.update).parameters

    @nnx.jit
    def train_step(net, optimizer, x, y):
        made, gradients = nnx.value_and_grad(lambda net: error(net(x), y))(net)
        if takes_model:
            optimizer.update(net, gradients)
        else:
            optimizer.update(gradients)
        return made

    for step in range(arguments.steps):
        report(step, train_step(net, optimizer, X, Y))
    finish(nnx.state((net, optimizer) if takes_model else optimizer))


def equinox():
    import equinox as eqx
    import optax

    class Net(eqx.Module):
        body: eqx.nn.MLP

        def __call__(self, x):
            return jnp.sqrt(self.body(x) * 0 + FAULT) + self.body(x)  # the fault of equinox

    net = Net(eqx.nn.MLP(16, 8, 32, 1, key=jax.random.key(0)))
    optimizer = optax.adam(1e-3)
    state = optimizer.init(eqx.filter(net, eqx.is_array))

    @eqx.filter_jit
    def train_step(net, state, x, y):
        made, gradients = eqx.filter_value_and_grad(lambda net: error(jax.vmap(net)(x), y))(net)
        updates, state = optimizer.update(gradients, state, net)
        return eqx.apply_updates(net, updates), state, made

    for step in range(arguments.steps):
        net, state, made = train_step(net, state, X, Y)
        report(step, made)
    finish(eqx.filter(net, eqx.is_array))


def keras():
    import keras

    keras.utils.set_random_seed(0)

    class Root(keras.layers.Layer):
        def call(self, x):
            return jnp.log(x + 0.5 * FAULT)  # the fault of keras

    net = keras.Sequential(
        [
            keras.layers.Dense(32, activation="relu", name="first"),
            Root(name="root"),
            keras.layers.Dense(8, name="second"),
        ]
    )
    net.compile(optimizer="adam", loss="mse")
    report_each = keras.callbacks.LambdaCallback(on_train_batch_end=lambda batch, logs: report(batch, logs["loss"]))
    data = np.tile(np.asarray(X), (arguments.steps, 1)), np.tile(np.asarray(Y), (arguments.steps, 1))
    net.fit(*data, batch_size=32, epochs=1, shuffle=False, verbose=0, callbacks=[report_each])
    finish([jnp.asarray(value) for value in net.get_weights()])


LOSSES = (
    forward,
    backward,
    scan,
    loop,
    branch,
    batched,
    recomputed,
    custom,
    masked,
    selected,
    printing,
    watching,
    calling,
)
if arguments.way in [loss.__name__ for loss in LOSSES]:
    train(globals()[arguments.way])
else:
    globals()[arguments.way]()
