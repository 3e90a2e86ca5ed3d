"""Unmodified programs that train with JAX, and with the libraries on top of it."""

from __future__ import annotations

import re
import signal
import subprocess
from collections.abc import Callable
from pathlib import Path

import graphdbg
import numpy as np
import pytest
from conftest import HOSTS, Finished, Json, Server, clean_environment, marked_line, wait_until
from environments import python_with

TRAININGS = HOSTS / "jax" / "trainings.py"
LOSSES = ("forward", "backward", "scan", "loop", "branch", "batched", "recomputed", "custom", "masked")
LOOPS = ("kept", "split", "many", "adversaries", "infer", "shapes")
LIBRARIES = ("flax_linen", "flax_nnx", "equinox", "keras")
DEVICES = ("sharded", "mapped", "pmapped", "pmapped_split")
# The op in which each way of training computes NaN, and the stage.
FAULTS = {
    "forward": "forward/train_step/head/sqrt",
    "scan": "forward/train_step/sqrt",
    "loop": "forward/train_step/sqrt",
    "branch": "forward/train_step/sqrt",
    "batched": "forward/train_step/sqrt",
    "recomputed": "forward/train_step/sqrt",
    "flax_linen": "forward/train_step/Net/log",
    "flax_nnx": "forward/train_step/log",
    "equinox": "forward/train_step/sqrt",
    "keras": "forward/train_step/root/log",
}
# The environment has no graphdbg of its own; `graphdbg run` brings it with this.
INJECT = str(Path(graphdbg.__file__).parent / "_inject")
# Every value is looked at, where NaN and infinities are sought in results first.
EVERY_VALUE = "expr:count > 0"


@pytest.fixture(scope="module", params=["jax", pytest.param("jax-0.5", marks=pytest.mark.long)])
def python(request: pytest.FixtureRequest) -> str:
    """Of the newest and of the oldest version that is supported."""
    return str(python_with(request.param))


def environment_of(way: str) -> dict[str, str]:
    several = {"XLA_FLAGS": "--xla_force_host_platform_device_count=4"} if way in DEVICES else {}
    return {"KERAS_BACKEND": "jax", "JAX_PLATFORMS": "cpu", **several}


def plain_run(python: str, way: str, *arguments: str) -> str:
    command = [python, str(TRAININGS), way, *arguments]
    environment = clean_environment(**environment_of(way))
    output = subprocess.run(command, env=environment, capture_output=True, text=True, check=True).stdout
    assert re.search(r"^digest \w+$", output, re.MULTILINE)
    return output


def watched_run(
    debug_run: Callable[..., Finished],
    python: str,
    condition: str,
    way: str,
    *arguments: str,
    no_overview: bool = False,
) -> Finished:
    options = ["--no-wait", "--break-on", condition, "--on-hit", "continue", *["--no-overview"] * no_overview]
    run: Finished = debug_run(*options, command=[python, str(TRAININGS), way, *arguments], **environment_of(way))
    assert run.code == 0, run.stderr
    return run


def assert_same_bits(debug_run: Callable[..., Finished], python: str, condition: str, way: str) -> Finished:
    run = watched_run(debug_run, python, condition, way)
    assert run.stdout == plain_run(python, way), run.stderr
    return run


@pytest.mark.long(but=["scan"])
@pytest.mark.parametrize("way", ["scan", "flax_linen"])
def test_results_are_the_same_to_the_bit(debug_run, python: str, way: str) -> None:
    run = assert_same_bits(debug_run, python, EVERY_VALUE, way)
    assert run.result["steps"] == 4
    # Parameters are tested before the first step, too.
    assert {hit["step"] for hit in run.result["hits"]} == {0, 1, 2, 3, 4}


@pytest.mark.long
@pytest.mark.parametrize("condition", ["nan,inf", EVERY_VALUE])
@pytest.mark.parametrize("way", [*LOSSES, *LOOPS, *LIBRARIES, *DEVICES])
def test_results_of_all_ways_are_the_same_to_the_bit(debug_run, python: str, way: str, condition: str) -> None:
    run = assert_same_bits(debug_run, python, condition, way)
    # Whether a program trains at all is only known after some calls.
    assert run.result["steps"] == {"infer": 2}.get(way, 4)


@pytest.mark.long
def test_functions_with_results_of_the_same_types_are_told_apart(debug_run, python: str) -> None:
    run = watched_run(debug_run, python, "nan,inf", "pmapped_split", "--steps=20")
    assert run.result["steps"] == 20


def test_numbers_that_are_written_into_a_function_are_no_hits(debug_run, python: str) -> None:
    assert watched_run(debug_run, python, "nan,inf", "selected").result["hits"] == []


def assert_found(debug_run: Callable[..., Finished], python: str, way: str) -> Json:
    command = [python, str(TRAININGS), way, "--fault=-1"]
    run: Finished = debug_run(
        "--no-wait", "--break-on", "nan", "--on-hit", "terminate", command=command, **environment_of(way)
    )
    assert run.code == 143, run.stderr
    first: Json = run.result["hits"][0]
    assert (first["node"], first["origin"], first["step"]) == (FAULTS[way], "origin", 1)
    assert first["source"]["file"] == str(TRAININGS)
    assert first["source"]["line"] == marked_line(TRAININGS, f"# the fault of {way}")
    return first


def test_a_nan_is_found_where_it_began(debug_run, python: str) -> None:
    assert_found(debug_run, python, "flax_linen")


@pytest.mark.long
@pytest.mark.parametrize("way", [way for way in FAULTS if way != "flax_linen"])
def test_a_nan_is_found_in_each_way(debug_run, python: str, way: str) -> None:
    first = assert_found(debug_run, python, way)
    if way in ("scan", "loop"):
        assert first["actual"]["iteration"] == 3


@pytest.mark.long
@pytest.mark.parametrize("way", DEVICES)
def test_a_nan_is_found_on_several_devices(debug_run, python: str, way: str) -> None:
    first = watched_run(debug_run, python, "nan", way, "--fault=-1").result["hits"][0]
    assert first["node"].endswith("/head/sqrt")
    assert (first["origin"], first["step"]) == ("origin", 1)
    assert first["source"]["line"] == marked_line(TRAININGS, "# the fault of forward")


@pytest.mark.long
@pytest.mark.parametrize("dtype", ["float16", "bfloat16", "float32", "float64"])
def test_one_infinity_in_the_results_is_found_in_each_type(debug_run, python: str, dtype: str) -> None:
    command = [python, str(HOSTS / "jax" / "one_infinity.py"), dtype]
    environment = {"JAX_PLATFORMS": "cpu", "JAX_ENABLE_X64": "1"}
    run = debug_run("--no-wait", "--break-on", "inf", "--on-hit", "continue", command=command, **environment)
    assert run.code == 0, run.stderr
    assert run.stdout == f"trained {dtype}\n"
    assert min(hit["step"] for hit in run.result["hits"]) == 3


@pytest.mark.long
def test_a_nan_that_only_the_backward_pass_has(debug_run, python: str) -> None:
    run = watched_run(debug_run, python, "nan", "backward")
    first = run.result["hits"][0]
    assert first["node"].startswith("backward/train_step/")
    assert (first["step"], first["origin"]) == (1, "origin")


@pytest.mark.long
def test_a_nan_that_is_masked_is_found_by_conditions_on_every_value(debug_run, python: str) -> None:
    seen = watched_run(debug_run, python, "nan", "masked", "--fault=-1", no_overview=True)
    # The graph is learned in the first step, in which every value is looked at.
    assert {hit["step"] for hit in seen.result["hits"]} <= {1}
    every = watched_run(debug_run, python, "expr:nan_count > 0", "masked", "--fault=-1")
    assert every.result["hits"][0]["node"] == "forward/train_step/sqrt"


@pytest.mark.long
@pytest.mark.parametrize("way", ["printing", "watching", "calling"])
@pytest.mark.parametrize("condition", ["nan", EVERY_VALUE])
def test_callbacks_run_as_often_as_without_a_debugger(debug_run, python: str, way: str, condition: str) -> None:
    assert_same_bits(debug_run, python, condition, way)


@pytest.fixture
def paused(server: Server, start_job, python: str) -> subprocess.Popen[str]:
    """A job that is paused before its first step."""
    environment = server.job_environment(GRAPHDBG_JOB="jax", PYTHONPATH=INJECT, **environment_of("flax_linen"))
    process: subprocess.Popen[str] = start_job([python, str(TRAININGS), "flax_linen", "--steps=100000"], environment)
    server.wait_for_state("jax", "paused", pause_reason="start")
    return process


def node(server: Server, name: str) -> Json:
    found: Json = server.client.get(f"/jobs/jax/graph/node?name={name}")
    return found


def value(server: Server, tensor: str) -> np.ndarray:
    found: Json = server.client.get(f"/jobs/jax/tensor?name={tensor}&step=current")
    return np.array(found["data"], dtype=np.float32)


def test_is_controlled_and_looked_into_like_any_job(server: Server, paused: subprocess.Popen[str]) -> None:
    dot = node(server, "forward/train_step/Net/Dense_0/dot_general")
    assert (dot["kind"], dot["op_type"], dot["category"]) == ("op", "dot_general", "activation")
    assert dot["outputs"][0]["shape"] == [32, 32]
    assert dot["source"]["file"] == str(TRAININGS)
    kernel = node(server, "forward/train_step/state/params/Dense_0/kernel")
    assert (kernel["kind"], kernel["category"], kernel["outputs"][0]["shape"]) == ("parameter", "weight", [16, 32])
    assert {each["node"] for each in dot["inputs"]} == {
        "forward/train_step/x",
        "forward/train_step/state/params/Dense_0/kernel",
    }

    server.control("jax", "continue_to", node="forward/train_step/Net/log")
    server.wait_for_state("jax", "paused", pause_reason="node", node="forward/train_step/Net/log", step=1)
    logarithm = value(server, "forward/train_step/Net/log:0")
    assert logarithm.shape == (32, 32) and np.isfinite(logarithm).all()
    assert server.recheck("jax", "forward/train_step/Net/log")["step"] == 1
    server.control("jax", "next_node")
    state = server.wait_for_state("jax", "paused", pause_reason="node")
    wait_until("the next node", lambda: server.job("jax")["node"] != "forward/train_step/Net/log")
    assert state["step"] == 1
    server.control("jax", "step")
    server.wait_for_state("jax", "paused", pause_reason="step", step=1)
    before = value(server, "forward/train_step/state/params/Dense_0/kernel:0")
    server.control("jax", "step", steps=2)
    server.wait_for_state("jax", "paused", pause_reason="step", step=3)
    after = value(server, "forward/train_step/state/params/Dense_0/kernel:0")
    assert before.shape == (16, 32) and not np.array_equal(before, after)

    watchpoint = {
        "condition": {"id": "expression", "params": {"expression": "max >= 0"}},
        "nodes": ["forward/train_step/Net/LayerNorm_0/rsqrt"],
    }
    server.client.post("/jobs/jax/watchpoints", watchpoint)
    server.control("jax", "continue")
    server.wait_for_state("jax", "paused", pause_reason="watchpoint", step=4)
    server.control("jax", "terminate")
    server.wait_for_state("jax", "terminated")
    assert paused.wait(60) == 143


@pytest.mark.long
def test_pauses_while_nobody_looks(server: Server, paused: subprocess.Popen[str]) -> None:
    server.control("jax", "continue")
    wait_until("ten steps", lambda: server.job("jax")["step"] > 10)
    server.control("jax", "pause")
    first = server.wait_for_state("jax", "paused")
    server.control("jax", "next_node")
    wait_until("a stop at a node", lambda: server.job("jax")["pause_reason"] == "node")
    assert server.job("jax")["step"] in (first["step"], first["step"] + 1)
    paused.send_signal(signal.SIGINT)
    _, errors = paused.communicate(timeout=60)
    assert "KeyboardInterrupt" in errors and paused.returncode != 0


@pytest.mark.long
def test_names_are_the_same_in_two_runs(debug_run, python: str) -> None:
    runs = [watched_run(debug_run, python, EVERY_VALUE, "flax_nnx", "--steps=1") for _ in range(2)]
    first, second = ([hit["node"] for hit in run.result["hits"]] for run in runs)
    assert first == second, runs[1].stderr
    assert len(set(first)) > 50, runs[0].stderr


@pytest.mark.long
@pytest.mark.parametrize("decorator", ["jit", "pmap"])
def test_nothing_is_traced_or_compiled_again(
    server: Server, start_job, python: str, tmp_path: Path, decorator: str
) -> None:
    script = tmp_path / "counts.py"
    script.write_text(
        f"""
import logging, jax, jax.numpy as jnp
traced = 0
@jax.{decorator}
def train_step(w):
    global traced
    traced += 1
    loss, gradient = jax.value_and_grad(lambda w: ((w * jnp.arange(4.0) - 1) ** 2).sum())(w)
    return w - 0.01 * gradient, loss
w = jnp.ones((4, 4))
for step in range(100000):
    w, loss = train_step(w)
    if step == 1:
        # Newer versions trace a function of pmap anew for its own outputs.
        traced = 1
    if step % 1000 == 0 or traced > 1:
        print("traced", traced, flush=True)
"""
    )
    process = start_job(
        [python, str(script)],
        server.job_environment(GRAPHDBG_JOB="jax", PYTHONPATH=INJECT, **environment_of("pmapped")),
    )
    server.wait_for_state("jax", "paused", pause_reason="start")
    for command, reason in (("step", "step"), ("next_node", "node"), ("step", "step")):
        server.control("jax", command)
        server.wait_for_state("jax", "paused", pause_reason=reason)
    server.control("jax", "continue")
    wait_until("many steps", lambda: server.job("jax")["step"] > 2000)
    server.control("jax", "terminate")
    output, _ = process.communicate(timeout=60)
    assert "traced 1" in output and "traced 2" not in output


# The second function is called twice a step, and its second results are NaN in step 51, 101 and so on. In most steps
# the agent records no statistics, for which it reads values again.
TWICE = """
import jax, jax.numpy as jnp

def loss(w, x):
    return jnp.square(jnp.sqrt(x) @ w).mean()

@jax.jit
def train_first(w, x):
    return w - 0.01 * jax.grad(loss)(w, x)

@jax.jit
def train_second(w, x):
    return w - 0.02 * jax.grad(loss)(w, x)

first = second = jnp.ones((4, 2))
x = jnp.ones((8, 4))
for step in range(1, 320):
    first = train_first(first, x)
    second = train_second(second, x)
    last = train_second(second, -x if step % 50 == 0 else x)
jax.block_until_ready((first, last))
"""


def test_a_parameter_is_tested_again_after_it_was_found_finite(debug_run, python: str, tmp_path: Path) -> None:
    (tmp_path / "train.py").write_text(TWICE)
    options = ["--no-wait", "--break-on", "nan", "--on-hit", "continue"]
    run = debug_run(*options, command=[python, str(tmp_path / "train.py")], **environment_of("twice"))
    assert run.code == 0, run.stderr
    assert [hit["step"] for hit in run.result["hits"] if hit["node"] == "forward/train_second/w"] == [
        *range(51, 320, 50)
    ]


def test_another_version_trains_undebugged(debug_run, python: str, tmp_path: Path) -> None:
    (tmp_path / "jax" / "_src").mkdir(parents=True)
    (tmp_path / "jax" / "__init__.py").write_text("__version__ = '0.4.1'\n")
    (tmp_path / "jax" / "_src" / "__init__.py").write_text("")
    (tmp_path / "jax" / "_src" / "pjit.py").write_text("")
    (tmp_path / "train.py").write_text("import jax\nprint('trained with', jax.__version__)\n")
    run = debug_run("--no-wait", command=[python, str(tmp_path / "train.py")])
    assert run.stdout == "trained with 0.4.1\n"
    assert "JAX 0.4.1 is not supported, only 0.5 to 0.10; the program continues without debugging" in run.stderr
