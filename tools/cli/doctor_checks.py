"""The checks of `graphdbg doctor`, one function each."""

from __future__ import annotations

import json
import os
import socket
import subprocess
import sys
from dataclasses import dataclass
from typing import Any, Literal

from graphdbg._boosting.versions import LIGHTGBM, XGBOOST, Versions
from graphdbg._jax import versions

from .client import ApiError, Client
from .errors import CliError
from .server_process import server_program

# "absent" is not an error: the machine does not need to have the thing.
State = Literal["ok", "absent", "broken"]
_PROBE_SECONDS = 120
_PROBED_VARIABLES = ("GRAPHDBG_ENABLE", "ENABLE_MS_DEBUGGER")


@dataclass(frozen=True)
class Check:
    """One result. `meaning` and `remedy`, which users see, are empty if there is no problem."""

    name: str
    state: State
    summary: str
    meaning: str = ""
    remedy: str = ""


def probe(what: str) -> dict[str, Any]:
    """Runs a probe and returns its output. Raises CliError with its last line of stderr."""
    environment = {k: v for k, v in os.environ.items() if k not in _PROBED_VARIABLES}
    command = [sys.executable, "-m", "graphdbg.cli.probe", what]
    try:
        done = subprocess.run(command, env=environment, capture_output=True, text=True, timeout=_PROBE_SECONDS)
    except subprocess.TimeoutExpired:
        raise CliError(f"the probe did not finish within {_PROBE_SECONDS} s") from None
    if done.returncode != 0:
        lines = done.stderr.strip().splitlines()
        raise CliError(lines[-1] if lines else f"the probe exited with code {done.returncode}")
    found: dict[str, Any] = json.loads(done.stdout.strip().splitlines()[-1])
    return found


def check_server(client: Client) -> Check:
    try:
        server = client.get("/server")
    except ApiError as error:
        return Check(
            "server",
            "broken",
            f"{client.address}: {error}",
            "a server is running but refuses access",
            "set --data-dir to the server's data directory, where its token is stored",
        )
    except CliError:
        return Check(
            "server",
            "absent",
            f"no server at {client.address}",
            "jobs started with GRAPHDBG_ENABLE=1 find no server; `graphdbg run` starts its own",
            "graphdbg start",
        )
    return Check(
        "server", "ok", f"{server['version']} at {client.address}, agents connect to {server['debugger_address']}"
    )


def check_server_program() -> Check:
    try:
        return Check("server program", "ok", str(server_program()))
    except CliError as error:
        return Check("server program", "broken", str(error), "no server can be started", "reinstall the graphdbg wheel")


def check_port(port: int, purpose: str, server_runs: bool) -> Check:
    name = f"port {port}"
    with socket.socket(socket.AF_INET, socket.SOCK_STREAM) as probe_socket:
        probe_socket.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
        try:
            probe_socket.bind(("127.0.0.1", port))
        except OSError as error:
            if server_runs:
                return Check(name, "ok", f"in use by the server as {purpose}")
            return Check(
                name,
                "absent",
                f"in use: {error.strerror}",
                f"`graphdbg start` cannot use this port, its default {purpose}",
                "use free ports: graphdbg start --port 0 --debugger-port 0",
            )
    return Check(name, "ok", f"free, default {purpose}")


def check_frameworks(found: dict[str, Any]) -> list[Check]:
    return [
        _check_torch(found["torch"]),
        _check_tensorflow(found["tensorflow"]),
        _check_installed(
            "ONNX Runtime",
            found["onnxruntime"],
            "programs that use ONNX Runtime, and ONNX models, can only be debugged where it is installed",
            "pip install onnxruntime",
        ),
        _check_jax(found["jax"]),
        _check_boosting(XGBOOST, found["xgboost"]),
        _check_boosting(LIGHTGBM, found["lightgbm"]),
        _check_installed(
            "MindSpore",
            found["mindspore"],
            "MindSpore jobs do not need graphdbg where they run: they connect to port 50052 of a server",
            "install MindSpore 1.0 to 2.3 where the jobs run",
        ),
    ]


def _check_jax(version: str | None) -> Check:
    if version is not None and not versions.is_supported(version):
        return Check(
            "JAX", "absent", version, f"only JAX {versions.RANGE} is debugged", "install another version of JAX"
        )
    return _check_installed(
        "JAX",
        version,
        "JAX programs can only be debugged where JAX is installed",
        "install graphdbg's wheel into the environment that has JAX",
    )


def _check_boosting(supported: Versions, version: str | None) -> Check:
    title = supported.title
    if version is not None and not supported.contain(version):
        return Check(
            title, "absent", version, f"only {title} {supported} is debugged", f"install another version of {title}"
        )
    return _check_installed(
        title,
        version,
        f"programs that use {title} can only be debugged where it is installed",
        f"pip install {title.lower()}",
    )


def _check_tensorflow(tensorflow: dict[str, Any] | None) -> Check:
    if tensorflow is None or tensorflow["supported"]:
        return _check_installed(
            "TensorFlow",
            None if tensorflow is None else f"{tensorflow['version']}, {tensorflow['adapter']}",
            "programs that use TensorFlow or Keras can only be debugged where TensorFlow is installed",
            "pip install tensorflow",
        )
    return Check(
        "TensorFlow",
        "absent",
        f"{tensorflow['version']} is not supported",
        "programs that use it run, but are not debugged",
        f"install TensorFlow {tensorflow['versions']}",
    )


def _check_torch(torch: dict[str, Any] | None) -> Check:
    if torch is None:
        return Check(
            "PyTorch",
            "absent",
            f"not installed for {sys.executable}",
            "PyTorch programs can only be debugged where PyTorch is installed",
            "install graphdbg's wheel into the environment that has PyTorch",
        )
    built = f"CUDA {torch['cuda']}" if torch["cuda"] else "torch_npu" if torch["npu"] else "CPU only"
    return Check("PyTorch", "ok", f"{torch['version']} ({built}), adapter {torch['adapter']}")


def _check_installed(name: str, version: str | None, meaning: str, remedy: str) -> Check:
    if version is not None:
        return Check(name, "ok", version)
    return Check(name, "absent", f"not installed for {sys.executable}", meaning, remedy)


def check_kernels(accelerators: dict[str, Any]) -> Check:
    kernels = accelerators["kernels"]
    if kernels:
        return Check("CUDA kernels", "ok", f"{', '.join(kernels)}, compiled with CUDA {accelerators['toolkit']}")
    return Check(
        "CUDA kernels",
        "absent",
        "not in this build",
        "conditions on tensors in GPU memory are not checked",
        "build graphdbg where nvcc of CUDA 12 or 13 is installed (CUDA_HOME, /usr/local/cuda or PATH)",
    )


def check_cuda(accelerators: dict[str, Any]) -> list[Check]:
    cuda = accelerators["cuda"]
    if cuda["error"] is not None:
        return [
            Check(
                "CUDA driver",
                "absent",
                cuda["error"],
                "NVIDIA GPUs cannot be used here, not even by PyTorch",
                "install NVIDIA's driver, or start the container with access to the GPU (--gpus all)",
            )
        ]
    checks = [_check_driver_version(cuda, accelerators["toolkit"])]
    for number, device in enumerate(cuda["devices"]):
        text = f"{device['name']}, {device['memory_bytes'] / 2**30:.0f} GiB, {device['architecture']}"
        if device["supported"]:
            checks.append(Check(f"GPU {number}", "ok", text))
            continue
        checks.append(
            Check(
                f"GPU {number}",
                "absent",
                text,
                "no kernel of this build supports this GPU, so its tensors are not checked",
                "use a GPU of compute capability 8.0 or newer, and a build with CUDA kernels",
            )
        )
    return checks


def _check_driver_version(cuda: dict[str, Any], toolkit: str | None) -> Check:
    text = f"{cuda['driver']}, {len(cuda['devices'])} devices"
    # A driver runs code of newer toolkits of the same major version.
    if toolkit is None or int(cuda["driver"].split(".")[0]) >= int(toolkit.split(".")[0]):
        return Check("CUDA driver", "ok", text)
    return Check(
        "CUDA driver",
        "absent",
        f"{text}, older than CUDA {toolkit}, with which the kernels were compiled",
        "the driver may refuse the kernels; tensors in GPU memory are then not checked",
        f"install a driver for CUDA {toolkit.split('.')[0]}, or build with an nvcc no newer than the driver",
    )


def check_ascend(accelerators: dict[str, Any]) -> Check:
    ascend = accelerators["ascend"]
    if ascend["error"] is not None:
        return Check(
            "Ascend ACL",
            "absent",
            ascend["error"],
            "Ascend NPUs cannot be used here",
            "install CANN and source its set_env.sh",
        )
    soc = f", {ascend['soc']}" if ascend["soc"] else ""
    return Check("Ascend ACL", "ok", f"{ascend['version']}{soc}, {ascend['device_count']} devices")
