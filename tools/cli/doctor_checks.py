"""The checks of `graphdbg doctor`, one function each."""

from __future__ import annotations

import json
import os
import socket
import subprocess
import sys
from dataclasses import dataclass
from typing import Any, Literal

from .client import ApiError, Client
from .errors import CliError
from .server_process import server_program

# "absent" is an ordinary answer: something that a machine need not have.
State = Literal["ok", "absent", "broken"]
_PROBE_SECONDS = 120
_PROBED_VARIABLES = ("GRAPHDBG_ENABLE", "ENABLE_MS_DEBUGGER")


@dataclass(frozen=True)
class Check:
    """One finding. `meaning` and `remedy` are for people; empty if all is well."""

    name: str
    state: State
    summary: str
    meaning: str = ""
    remedy: str = ""


def probe(what: str) -> dict[str, Any]:
    """What a probe printed. Raises CliError with its last words."""
    environment = {k: v for k, v in os.environ.items() if k not in _PROBED_VARIABLES}
    command = [sys.executable, "-m", "graphdbg.cli.probe", what]
    try:
        done = subprocess.run(command, env=environment, capture_output=True, text=True, timeout=_PROBE_SECONDS)
    except subprocess.TimeoutExpired:
        raise CliError(f"no answer within {_PROBE_SECONDS} s") from None
    if done.returncode != 0:
        lines = done.stderr.strip().splitlines()
        raise CliError(lines[-1] if lines else f"the probe ended with {done.returncode}")
    answer: dict[str, Any] = json.loads(done.stdout.strip().splitlines()[-1])
    return answer


def check_server(client: Client) -> Check:
    try:
        server = client.get("/server")
    except ApiError as error:
        return Check(
            "server",
            "broken",
            f"{client.address}: {error}",
            "a server is there but does not let this user in",
            "name its data directory with --data-dir, where its token lies",
        )
    except CliError:
        return Check(
            "server",
            "absent",
            f"none at {client.address}",
            "jobs started with GRAPHDBG_ENABLE=1 find no server; `graphdbg run` brings its own",
            "graphdbg start",
        )
    return Check("server", "ok", f"{server['version']} at {client.address}, jobs at {server['debugger_address']}")


def check_server_program() -> Check:
    try:
        return Check("server program", "ok", str(server_program()))
    except CliError as error:
        return Check("server program", "broken", str(error), "no server can be started", "install the wheel again")


def check_port(port: int, purpose: str, server_runs: bool) -> Check:
    name = f"port {port}"
    with socket.socket(socket.AF_INET, socket.SOCK_STREAM) as probe_socket:
        probe_socket.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
        try:
            probe_socket.bind(("127.0.0.1", port))
        except OSError as error:
            if server_runs:
                return Check(name, "ok", f"in use, {purpose} of the server")
            return Check(
                name,
                "absent",
                f"taken: {error.strerror}",
                f"`graphdbg start` cannot use its default {purpose}",
                "graphdbg start --port 0 --debugger-port 0 picks free ones",
            )
    return Check(name, "ok", f"free, for the {purpose}")


def check_frameworks(found: dict[str, Any]) -> list[Check]:
    return [
        _check_torch(found["torch"]),
        _check_installed(
            "ONNX Runtime",
            found["onnxruntime"],
            "sessions in Python are followed, and bare models run, where ONNX Runtime is",
            "pip install onnxruntime",
        ),
        _check_installed(
            "MindSpore",
            found["mindspore"],
            "its jobs need nothing of graphdbg's where they run: they dial a server's port 50052",
            "install MindSpore 1.0 to 2.3 where its jobs run",
        ),
    ]


def _check_torch(torch: dict[str, Any] | None) -> Check:
    if torch is None:
        return Check(
            "PyTorch",
            "absent",
            f"not installed for {sys.executable}",
            "Python programs on PyTorch are followed where PyTorch is",
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
        return Check("CUDA kernels", "ok", f"{', '.join(kernels)}, compiled by CUDA {accelerators['toolkit']}")
    return Check(
        "CUDA kernels",
        "absent",
        "this build has none",
        "conditions on tensors in a GPU's memory are not checked",
        "build where nvcc of CUDA 12 or 13 is at hand (CUDA_HOME, /usr/local/cuda or PATH)",
    )


def check_cuda(accelerators: dict[str, Any]) -> list[Check]:
    cuda = accelerators["cuda"]
    if cuda["error"] is not None:
        return [
            Check(
                "CUDA driver",
                "absent",
                cuda["error"],
                "no NVIDIA GPU can be used here, by PyTorch neither",
                "install NVIDIA's driver, or pass the GPU into the container (--gpus all)",
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
                "no kernel of this build runs on it: its tensors are not checked",
                "use compute capability 8.0 or newer, and a build with kernels",
            )
        )
    return checks


def _check_driver_version(cuda: dict[str, Any], toolkit: str | None) -> Check:
    text = f"{cuda['driver']}, {len(cuda['devices'])} devices"
    # Within one major version drivers take what newer toolkits made.
    if toolkit is None or int(cuda["driver"].split(".")[0]) >= int(toolkit.split(".")[0]):
        return Check("CUDA driver", "ok", text)
    return Check(
        "CUDA driver",
        "absent",
        f"{text}, older than CUDA {toolkit}, which compiled the kernels",
        "the driver may refuse the kernels: then tensors in a GPU's memory are not checked",
        f"install a driver of CUDA {toolkit.split('.')[0]}, or build where nvcc is no newer than the driver",
    )


def check_ascend(accelerators: dict[str, Any]) -> Check:
    ascend = accelerators["ascend"]
    if ascend["error"] is not None:
        return Check(
            "Ascend ACL",
            "absent",
            ascend["error"],
            "no Ascend NPU can be used here",
            "install CANN and source its set_env.sh",
        )
    soc = f", {ascend['soc']}" if ascend["soc"] else ""
    return Check("Ascend ACL", "ok", f"{ascend['version']}{soc}, {ascend['device_count']} devices")
