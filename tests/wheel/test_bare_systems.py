"""The wheel works on systems that have none of the libraries it was built with."""

from __future__ import annotations

import json
import os
import shutil
import subprocess
import sys
import sysconfig
from pathlib import Path
from typing import Any

import pytest
from bare_system import BareSystem
from conftest import EVERYTHING
from onnx import TensorProto, helper

HERE = Path(__file__).resolve().parent
Json = dict[str, Any]


def tiny_model() -> bytes:
    values = [helper.make_tensor_value_info(name, TensorProto.FLOAT, [2]) for name in ("x", "y")]
    graph = helper.make_graph([helper.make_node("Relu", ["x"], ["y"], name="relu")], "tiny", values[:1], values[1:])
    model = helper.make_model(graph, opset_imports=[helper.make_opsetid("", 17)], ir_version=8)
    content: bytes = model.SerializeToString()
    return content


def python_version(system: BareSystem) -> tuple[int, int]:
    """The version of the system's Python, from its library's directory."""
    (library,) = (system.root / "usr" / "lib").glob("python3.*")
    major, _, minor = library.name.removeprefix("python").partition(".")
    return int(major), int(minor)


def download(wheel: Path, version: tuple[int, int], directory: Path) -> None:
    """Puts the wheel and the packages that it requires there, for a version of Python."""
    command = [sys.executable, "-m", "pip", "download", "--quiet", "--disable-pip-version-check", str(wheel)]
    command += ["--only-binary=:all:", f"--python-version={version[0]}.{version[1]}", f"--dest={directory}"]
    done = subprocess.run(command, capture_output=True, text=True, timeout=300)
    if done.returncode != 0:
        pytest.skip(f"the packages that the wheel requires cannot be downloaded: {done.stderr.strip()[-300:]}")


@pytest.fixture(scope="module")
def first_minutes(system: BareSystem, wheel: Path, tmp_path_factory: pytest.TempPathFactory) -> Json:
    """The output of first_minutes.py."""
    work = tmp_path_factory.mktemp("work")
    download(wheel, python_version(system), work)
    shutil.copy(HERE / "first_minutes.py", work)
    (work / "tiny.onnx").write_bytes(tiny_model())
    command = ["/usr/bin/python3", "/trial/first_minutes.py"]
    if python_version(system) == sys.version_info[:2]:
        command.append("torch")
    done = system.run(command, work, Path(sysconfig.get_path("purelib")), seconds=900)
    assert done.returncode == 0, done.stdout + done.stderr
    found: Json = json.loads(done.stdout.splitlines()[-1])
    return found


def test_the_command_line_starts_and_doctor_finds_its_programs(first_minutes: Json, wheel: Path) -> None:
    version = wheel.name.split("-")[1]
    assert first_minutes["version"] == f"graphdbg {version}\n"
    checks = {check["name"]: check["state"] for check in first_minutes["doctor"]["checks"]}
    assert first_minutes["doctor"]["ok"], first_minutes["doctor"]
    assert (checks["server program"], checks["agent library"]) == ("ok", "ok")


def test_the_agent_and_the_extension_load(first_minutes: Json, wheel: Path) -> None:
    assert first_minutes["native"]["agent"] == wheel.name.split("-")[1]
    assert first_minutes["native"]["hooks"].endswith("/_hooks.abi3.so")


def test_the_server_serves_its_page_and_splits_a_model(first_minutes: Json) -> None:
    assert "<title>graphdbg" in first_minutes["server"]["page"]
    assert first_minutes["server"]["model"] == "tiny.onnx"


def test_a_program_runs(first_minutes: Json) -> None:
    assert first_minutes["program"] == "ran\n"


def test_a_training_stops_at_its_first_nan(first_minutes: Json) -> None:
    if "training" not in first_minutes:
        pytest.skip("the project's environment has PyTorch for another version of Python")
    training = first_minutes["training"]
    (hit, *_) = training["result"]["hits"]
    assert (hit["node"], hit["step"]) == ("forward/log", 3), training
    # With the adapter that the wheel contains.
    assert "compiling" not in training["stderr"] and "slower" not in training["stderr"]


def other_pythons() -> list[str]:
    """Interpreters of other versions that pyenv or the system has."""
    versions = Path(os.environ.get("PYENV_ROOT") or Path.home() / ".pyenv") / "versions"
    found = sorted(str(path) for path in versions.glob("3.1[0-9].*/bin/python3"))
    return [path for path in found if int(path.split("/")[-3].split(".")[1]) != sys.version_info.minor]


@pytest.mark.skipif(not EVERYTHING, reason="other versions of Python: tools/dev wheel --check")
@pytest.mark.parametrize("python", other_pythons())
def test_other_versions_of_python_import_it(python: str, wheel: Path, tmp_path: Path) -> None:
    subprocess.run([python, "-m", "venv", str(tmp_path)], check=True, timeout=300)
    here = tmp_path / "bin"
    subprocess.run([str(here / "pip"), "install", "--quiet", str(wheel)], check=True, timeout=300)
    program = "import graphdbg._torch._hooks as hooks; print(hooks.__file__)"
    found = subprocess.run([str(here / "python"), "-c", program], capture_output=True, text=True, check=True)
    assert found.stdout.strip().endswith("/_hooks.abi3.so")
    done = subprocess.run([str(here / "graphdbg"), "doctor", "--json"], capture_output=True, text=True, timeout=300)
    assert json.loads(done.stdout)["ok"], done.stdout
