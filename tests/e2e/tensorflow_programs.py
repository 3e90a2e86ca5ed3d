"""Programs of TensorFlow that tests debug, and what they look at."""

from __future__ import annotations

import functools
import os
import subprocess

import numpy as np
from conftest import HOSTS, PACKAGE, Server, clean_environment, wait_until
from environments import python_with

SCRIPTS = HOSTS / "tensorflow"
RELU = "forward/sequential/hidden/Relu"
KERNEL = "forward/sequential/hidden/kernel"
BAD = SCRIPTS / "bad_values.py"
# One thread each for ops and within them: the order of sums is the same in all runs.
QUIET = {"TF_CPP_MIN_LOG_LEVEL": "3", "CUDA_VISIBLE_DEVICES": ""}
SINGLE = QUIET | {"TF_NUM_INTRAOP_THREADS": "1", "TF_NUM_INTEROP_THREADS": "1"}
WATCH = ("--no-wait", "--break-on", "nan,inf", "--on-hit", "continue")
STOP = ("--no-wait", "--break-on", "nan,inf", "--on-hit", "terminate")
SECONDS = 300

TRAININGS = (
    "dense",
    "convolutions",
    "attention",
    "several_steps_per_call",
    "accumulated",
    "eager",
    "own_function",
    "control_flow",
    "mixed_precision",
)


NEWEST = "tensorflow"
EARLIER = tuple(f"tensorflow-2.{minor}" for minor in (16, 17, 18, 19, 20))


@functools.cache
def prepared(environment: str) -> str:
    """The interpreter for whose TensorFlow the adapter has been compiled, so that no test waits for that."""
    python = str(python_with(environment))
    compile_adapter = "import tensorflow; from graphdbg._tensorflow import native; native.load(tensorflow)"
    subprocess.run([python, "-c", compile_adapter], env=clean_environment(**QUIET), check=True, timeout=SECONDS)
    return python


def trained(output: str) -> list[str]:
    return [line for line in output.splitlines() if line.split(" ")[0] in (*TRAININGS, "compiled")]


def plain(python: str, *names: str) -> list[str]:
    command = [python, str(SCRIPTS / "trainings.py"), *names]
    done = subprocess.run(command, env=clean_environment(**SINGLE), capture_output=True, text=True, timeout=SECONDS)
    assert done.returncode == 0, done.stderr
    return trained(done.stdout)


def start(server: Server, start_job, python: str, *arguments: str, **environment: str) -> subprocess.Popen[str]:
    # The environment has the package, but not the file by which Python loads it at the start.
    paths = os.pathsep.join(filter(None, (str(PACKAGE / "_inject"), os.environ.get("PYTHONPATH"))))
    variables = server.job_environment(GRAPHDBG_JOB="paused", PYTHONPATH=paths, **QUIET, **environment)
    process: subprocess.Popen[str] = start_job([python, str(SCRIPTS / "paused.py"), *arguments], variables)
    # The adapter may have to be compiled first.
    wait_until("the job waits", lambda: (server.job("paused") or {}).get("state") == "paused", SECONDS)
    # The graph is known once the function has been called.
    server.control("paused", "step", steps=1)
    server.wait_for_state("paused", "paused", pause_reason="step", step=1)
    return process


def stop_inside(server: Server) -> None:
    server.control("paused", "continue_to", node=RELU)
    server.wait_for_state("paused", "paused", pause_reason="node", node=RELU)


def row(server: Server, node: str) -> list[float]:
    """The first row of a node's value, as 32-bit numbers."""
    data = server.client.get(f"/jobs/paused/tensor?name={node}:0&slice=[0,:]")["data"]
    return [float(value) for value in np.array(data, np.float32)]
