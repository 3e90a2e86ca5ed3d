"""Packs the Python package, the command line and the native parts into a wheel.

The package `graphdbg` consists of agent/python/graphdbg, which runs inside a
training process, and tools/cli, which becomes graphdbg.cli. Bazel's outputs go to
graphdbg/lib. `wheel pack` writes the archive.

The wheel is for this machine, or with --portable for others, too (portable.py). With
--demo it contains only what debugs Python programs in the project's environment.
"""

from __future__ import annotations

import argparse
import shutil
import subprocess
import sys
import sysconfig
import tempfile
import zipfile
from pathlib import Path

import portable
from sbom import write_sbom

ROOT = Path(__file__).resolve().parents[2]
VERSION = (ROOT / "tools" / "wheel" / "VERSION").read_text().strip()

# Paths in the package, by Bazel's output.
NATIVE = {
    "server/main/graphdbg_server": "lib/graphdbg-server",
    "agent/abi/libgraphdbg.so": "lib/libgraphdbg.so",
}
NATIVE_NOT_IN_DEMO = {
    "agent/adapters/tensorflow_taps/libgraphdbg_tensorflow_taps.so": "lib/libgraphdbg_tensorflow_taps.so",
    "agent/onnx_splitter/graphdbg_onnx": "lib/graphdbg-onnx",
    "agent/inject/graphdbg_inject": "lib/graphdbg-inject",
}
# List further outputs, which depend on the versions of PyTorch on the machine. Each
# line is an output and its path in the package.
NATIVE_LIST = "agent/adapters/pytorch/package.txt"
DEMO_LIST = "agent/adapters/pytorch/demo_package.txt"
# Sources that the package compiles if it contains no adapter. They keep their
# paths, by which they include each other.
SOURCES = (
    "agent/include/graphdbg/agent.h",
    "agent/base/*.h",
    "agent/adapters/jax/*.cc",
    "agent/adapters/pytorch/*.cc",
    "agent/adapters/pytorch/*.h",
    "agent/adapters/pytorch/*.inc",
    "agent/adapters/pytorch/*.lds",
    "agent/adapters/pytorch/hooks/*.cc",
    "agent/adapters/pytorch/hooks/*.h",
    "agent/adapters/tensorflow/*.cc",
    "agent/adapters/tensorflow/*.h",
)

METADATA = f"""Metadata-Version: 2.1
Name: graphdbg
Version: {VERSION}
Summary: A debugger for deep-learning training: gdb for computational graphs.
License: Apache-2.0
Requires-Python: >=3.10
Requires-Dist: websockets>=15
Requires-Dist: PyYAML>=6.0
Provides-Extra: debugger
Requires-Dist: prompt_toolkit>=3.0; extra == "debugger"
Requires-Dist: rich>=13; extra == "debugger"
Provides-Extra: analysis
Requires-Dist: numpy>=1.26; extra == "analysis"
Requires-Dist: pyarrow>=21; extra == "analysis"
Requires-Dist: duckdb>=1.3; extra == "analysis"
Requires-Dist: pandas>=2.2; extra == "analysis"
Provides-Extra: mcp
Requires-Dist: mcp>=2.3; extra == "mcp"
"""

ENTRY_POINTS = """[console_scripts]
graphdbg = graphdbg.cli.main:main
"""


def wheel_tag() -> str:
    # One wheel for all versions of CPython: see hooks/python_api.h of the adapter.
    return f"cp310-abi3-{sysconfig.get_platform().replace('-', '_').replace('.', '_')}"


def native_files(binaries: Path, demo: bool) -> dict[str, str]:
    """Paths in the package, by Bazel's output."""
    lines = (binaries / (DEMO_LIST if demo else NATIVE_LIST)).read_text().splitlines()
    return NATIVE | ({} if demo else NATIVE_NOT_IN_DEMO) | dict(line.split() for line in lines)


def stage(directory: Path, native: dict[str, str], binaries: Path) -> None:
    """Copies the wheel's contents, without the list of its components, to `directory`."""
    package = directory / "graphdbg"
    ignore = shutil.ignore_patterns("__pycache__", "*_test.py", "BUILD.bazel")
    shutil.copytree(ROOT / "agent" / "python" / "graphdbg", package, ignore=ignore)
    shutil.copytree(ROOT / "tools" / "cli", package / "cli", ignore=ignore)
    shutil.copy(ROOT / "agent" / "python" / "graphdbg.pth", directory)
    for source, target in native.items():
        file = package / target
        file.parent.mkdir(parents=True, exist_ok=True)
        shutil.copy(binaries / source, file)
        file.chmod(0o755)
        subprocess.run(["strip", "--strip-unneeded", str(file)], check=True)
    for source in (file for pattern in SOURCES for file in ROOT.glob(pattern)):
        copy = package / "native" / source.relative_to(ROOT)
        copy.parent.mkdir(parents=True, exist_ok=True)
        shutil.copy(source, copy)
    information = directory / f"graphdbg-{VERSION}.dist-info"
    information.mkdir()
    (information / "METADATA").write_text(METADATA)
    (information / "entry_points.txt").write_text(ENTRY_POINTS)
    (information / "WHEEL").write_text(
        f"Wheel-Version: 1.0\nGenerator: graphdbg\nRoot-Is-Purelib: false\nTag: {wheel_tag()}\n"
    )


def pack(directory: Path, out: Path) -> Path:
    """Packs the unpacked wheel, and returns the archive."""
    out.mkdir(parents=True, exist_ok=True)
    command = [sys.executable, "-m", "wheel", "pack", str(directory), "--dest-dir", str(out)]
    subprocess.run(command, check=True, stdout=subprocess.DEVNULL)
    (made,) = out.glob("graphdbg-*.whl")
    return made


def make_portable(directory: Path, scratch: Path) -> Path:
    """Returns the directory with the contents of the portable wheel."""
    portable.forget_build_directories(directory / "graphdbg")
    (scratch / "repaired").mkdir()
    wheel = portable.repair(pack(directory, scratch / "packed"), scratch / "repaired")
    unpacked = scratch / "unpacked"
    with zipfile.ZipFile(wheel) as archive:
        archive.extractall(unpacked)
        # zipfile does not restore them.
        for entry in archive.infolist():
            (unpacked / entry.filename).chmod((entry.external_attr >> 16) & 0o777 or 0o755)
    return unpacked


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--bin", type=Path, required=True, help="Bazel's output directory (bazel info bazel-bin)")
    parser.add_argument("--out", type=Path, required=True, help="directory for the wheel")
    parser.add_argument("--portable", action="store_true", help="for other machines, with all libraries")
    parser.add_argument("--demo", action="store_true", help="without what the demo does not need")
    arguments = parser.parse_args()
    for old in arguments.out.glob("graphdbg-*.whl"):
        old.unlink()
    with tempfile.TemporaryDirectory() as scratch:
        directory = Path(scratch) / "staged"
        directory.mkdir()
        stage(directory, native_files(arguments.bin, arguments.demo), arguments.bin)
        if arguments.portable:
            # Needs pytest, which the demo's environment lacks.
            import tensorflow_adapter

            tensorflow_adapter.add(directory / "graphdbg")
            directory = make_portable(directory, Path(scratch))
        write_sbom(directory / "graphdbg", directory / f"graphdbg-{VERSION}.dist-info", VERSION)
        pack(directory, arguments.out)


if __name__ == "__main__":
    main()
