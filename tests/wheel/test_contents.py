"""The portable wheel keeps its promises before anybody installs it."""

from __future__ import annotations

import json
import re
import subprocess
import sys
from pathlib import Path

from auditwheel.wheel_abi import analyze_wheel_abi

sys.path.insert(0, str(Path(__file__).resolve().parents[2] / "tools" / "wheel"))
sys.path.insert(0, str(Path(__file__).resolve().parents[1] / "e2e"))

import portable
from environments import python_with

MIB = 1 << 20


def output(*command: str) -> str:
    return subprocess.run(command, capture_output=True, text=True, check=True).stdout


def test_it_is_one_small_file_for_every_python_and_most_systems(wheel: Path) -> None:
    assert wheel.name.endswith(f"-cp310-abi3-{portable.POLICY}.whl")
    assert wheel.stat().st_size < 40 * MIB


def test_it_meets_the_policy_of_its_tag(wheel: Path) -> None:
    # `auditwheel show` would count PyTorch's libraries, which are the user's.
    found = analyze_wheel_abi(
        None, None, wheel, frozenset(portable.LOADED_BEFORE), disable_isa_ext_check=False, allow_graft=False
    )
    assert found.overall_policy.name == portable.POLICY


def test_its_programs_load_nothing_that_is_neither_bundled_nor_everywhere(unpacked: Path) -> None:
    bundled = {file.name for file in (unpacked / "graphdbg.libs").iterdir()}
    everywhere = {"libc.so.6", "libm.so.6", "libdl.so.2", "libstdc++.so.6", "libgcc_s.so.1", "libz.so.1"}
    everywhere.add("ld-linux-x86-64.so.2")
    for program in ("graphdbg-server", "graphdbg-onnx", "graphdbg-inject", "libgraphdbg.so"):
        needed = output("readelf", "-d", str(unpacked / "graphdbg" / "lib" / program))
        names = set(re.findall(r"\(NEEDED\).*\[(.+)\]", needed))
        assert names, program
        assert names - bundled - everywhere == set(), program


def test_adapters_look_only_into_their_own_directory(unpacked: Path) -> None:
    adapters = sorted((unpacked / "graphdbg" / "lib").glob("torch-*/*.so"))
    assert adapters
    for adapter in adapters:
        assert re.findall(r"\(R(?:UN)?PATH\).*\[(.*)\]", output("readelf", "-d", str(adapter))) == ["$ORIGIN"], adapter


def test_it_needs_no_compiler_for_the_newest_tensorflow(unpacked: Path, tmp_path: Path) -> None:
    load = "import tensorflow; from graphdbg._tensorflow import native; native.load(tensorflow)"
    # No compiler is found, and no adapter that was compiled before.
    without = {"PATH": str(tmp_path), "XDG_CACHE_HOME": str(tmp_path), "PYTHONPATH": str(unpacked)}
    quiet = {"TF_CPP_MIN_LOG_LEVEL": "3", "CUDA_VISIBLE_DEVICES": ""}
    run = subprocess.run(
        [str(python_with("tensorflow")), "-c", load], env=without | quiet, capture_output=True, text=True, timeout=120
    )
    assert run.returncode == 0, run.stderr


def test_the_agent_exports_its_interface_and_nothing_of_its_libraries(unpacked: Path) -> None:
    symbols = output("nm", "-D", "--defined-only", str(unpacked / "graphdbg" / "lib" / "libgraphdbg.so"))
    names = [line.split()[-1] for line in symbols.splitlines()]
    assert "graphdbg_version" in {name.partition("@")[0] for name in names}
    assert [name for name in names if not name.lower().startswith("graphdbg_")] == []


def test_the_extension_uses_only_the_limited_api(unpacked: Path) -> None:
    (extension,) = (unpacked / "graphdbg" / "_torch").glob("_hooks*.so")
    assert extension.name == "_hooks.abi3.so"
    symbols = output("nm", "-D", "--undefined-only", str(extension))
    used = {name for name in re.findall(r" U (_?Py\w+)", symbols)}
    # Looked up by name, see hooks/python_api.h.
    assert (
        used & {"PyGILState_Check", "PyFrame_GetBack", "PyMethod_New", "_Py_IsFinalizing", "PyVectorcall_Call"} == set()
    )
    # Functions that newer interpreters have and CPython 3.10 does not.
    assert used & {"PyObject_Vectorcall", "Py_IsFinalizing", "PyUnicode_AsUTF8"} == set()
    assert "PyModule_Create2" in used


def test_its_list_of_components_names_each_bundled_library_with_its_licence(unpacked: Path) -> None:
    (information,) = unpacked.glob("graphdbg-*.dist-info")
    document = json.loads((information / "sboms" / "graphdbg.spdx.json").read_text())
    packages = {package["SPDXID"]: package for package in document["packages"]}
    texts = {file.name for file in (information / "licenses").iterdir()}
    by_file: dict[str, str] = {}
    for relation in document["relationships"]:
        if relation["relationshipType"] != "CONTAINS":
            continue
        package = packages[relation["relatedSpdxElement"]]
        assert package["versionInfo"] and package["licenseDeclared"] != "NOASSERTION", package
        assert any(text.startswith(f"{package['name'].replace('/', '-')}.") for text in texts), package["name"]
        for file in relation["comment"].removeprefix("contained in ").split(", "):
            by_file[file] = package["name"]
    bundled = [file.relative_to(unpacked).as_posix() for file in (unpacked / "graphdbg.libs").iterdir()]
    assert bundled
    assert [file for file in bundled if file not in by_file] == []
