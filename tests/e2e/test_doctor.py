"""`graphdbg doctor`: lists what is available, and explains the consequences and fixes of what is not."""

from __future__ import annotations

import json
import subprocess
from pathlib import Path

import pytest
from conftest import GRAPHDBG, Server, clean_environment
from environments import python_with
from graphdbg.cli import doctor_checks

# Nothing listens on this port.
NO_SERVER = "http://127.0.0.1:9"


def doctor(*options: str, **environment: str) -> subprocess.CompletedProcess[str]:
    return subprocess.run(
        [GRAPHDBG, "doctor", *options],
        env=clean_environment(**environment),
        capture_output=True,
        text=True,
        timeout=300,
    )


def test_lists_every_part_and_exits_with_zero_though_no_server_runs() -> None:
    done = doctor("--json", "--server", NO_SERVER)
    assert done.returncode == 0, done.stdout + done.stderr
    answer = json.loads(done.stdout)
    assert answer["ok"] is True
    checks = {check["name"]: check for check in answer["checks"]}
    assert {"server", "server program", "port 8080", "port 50051", "agent library"} <= checks.keys()
    assert {"PyTorch", "ONNX Runtime", "JAX", "XGBoost", "LightGBM", "MindSpore"} <= checks.keys()
    assert {"CUDA kernels", "CUDA driver", "Ascend ACL"} <= checks.keys()
    assert checks["server"]["state"] == "absent"
    assert checks["agent library"]["state"] == "ok"
    assert checks["PyTorch"]["state"] == "ok"
    for check in checks.values():
        assert check["state"] == "ok" or (check["meaning"] and check["remedy"]), check


def test_finds_a_server_that_runs(server: Server) -> None:
    done = doctor("--json", "--server", server.client.address, "--data-dir", str(server.data_dir))
    checks = {check["name"]: check for check in json.loads(done.stdout)["checks"]}
    assert checks["server"]["state"] == "ok", checks["server"]


def test_people_read_what_is_missing_and_how_to_get_it() -> None:
    text = doctor("--server", NO_SERVER).stdout
    assert "graphdbg start" in text
    assert "agent library" in text


def test_a_broken_library_is_told_and_fails_the_check(tmp_path: Path) -> None:
    # Simulates a driver library that crashes the process that loads it.
    if subprocess.run(["cc", "--version"], capture_output=True).returncode != 0:
        pytest.skip("no compiler for a library that crashes")
    source = tmp_path / "crash.c"
    source.write_text("__attribute__((constructor)) static void crash(void) { __builtin_trap(); }")
    library = tmp_path / "libcuda.so.1"
    subprocess.run(["cc", "-shared", "-fPIC", str(source), "-o", str(library)], check=True)
    done = doctor("--json", "--server", NO_SERVER, LD_LIBRARY_PATH=str(tmp_path))
    assert done.returncode == 1
    checks = {check["name"]: check for check in json.loads(done.stdout)["checks"]}
    assert checks["agent library"]["state"] == "broken"


@pytest.mark.parametrize(
    "driver, state", [("12.4", "absent"), ("13.0", "ok"), ("13.2", "ok")], ids=["older", "same", "newer"]
)
def test_a_driver_older_than_the_kernels_compiler_is_told(driver: str, state: str) -> None:
    cuda = {"error": None, "driver": driver, "devices": []}
    (check,) = doctor_checks.check_cuda({"kernels": ["sm_90"], "toolkit": "13.0", "cuda": cuda})
    assert check.state == state
    assert ("older than CUDA 13.0" in check.summary) == (state == "absent")


@pytest.mark.parametrize(
    ("environment", "name", "summary"),
    [("tensorflow", "TensorFlow", "2.21.0, "), ("jax", "JAX", "0.10.2"), ("boosting", "XGBoost", "3.2.0")],
)
def test_frameworks_of_the_environment_are_told(environment: str, name: str, summary: str) -> None:
    command = [str(python_with(environment)), "-m", "graphdbg.cli.main", "doctor", "--json", "--server", NO_SERVER]
    done = subprocess.run(command, env=clean_environment(CXX="", PATH=""), capture_output=True, text=True, timeout=300)
    check = next(each for each in json.loads(done.stdout)["checks"] if each["name"] == name)
    assert check["state"] == "ok" and check["summary"].startswith(summary), check
    if environment == "tensorflow":
        assert "no compiler" in check["summary"]
