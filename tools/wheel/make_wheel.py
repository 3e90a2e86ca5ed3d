"""Packs the Python package, the command line and the native parts into a wheel.

The package `graphdbg` consists of agent/python/graphdbg, which runs inside a
training process, and tools/cli, which becomes graphdbg.cli. Bazel's outputs go to
graphdbg/lib. `wheel pack` writes the archive.
"""

from __future__ import annotations

import argparse
import shutil
import subprocess
import sys
import sysconfig
import tempfile
from pathlib import Path

from sbom import write_sbom

ROOT = Path(__file__).resolve().parents[2]
VERSION = (ROOT / "tools" / "wheel" / "VERSION").read_text().strip()

# Paths in the package, by Bazel's output.
NATIVE = {
    "server/main/graphdbg_server": "lib/graphdbg-server",
    "agent/abi/libgraphdbg.so": "lib/libgraphdbg.so",
    "agent/onnx_splitter/graphdbg_onnx": "lib/graphdbg-onnx",
}
# Lists further outputs, which depend on the versions of Python and PyTorch on the
# machine. Each line is an output and its path in the package.
NATIVE_LIST = "agent/adapters/pytorch/package.txt"
# Sources that the package compiles if it contains no adapter. They keep their
# paths, by which they include each other.
SOURCES = (
    "agent/include/graphdbg/agent.h",
    "agent/base/mutex.h",
    "agent/adapters/pytorch/*.cc",
    "agent/adapters/pytorch/*.h",
    "agent/adapters/pytorch/*.inc",
    "agent/adapters/pytorch/*.lds",
    "agent/adapters/pytorch/hooks/*.cc",
    "agent/adapters/pytorch/hooks/*.h",
)

METADATA = f"""Metadata-Version: 2.1
Name: graphdbg
Version: {VERSION}
Summary: A debugger for deep-learning training: gdb for computational graphs.
License: Apache-2.0
Requires-Python: >=3.10
Requires-Dist: websockets>=15
Requires-Dist: PyYAML>=6.0
"""

ENTRY_POINTS = """[console_scripts]
graphdbg = graphdbg.cli.main:main
"""


def wheel_tag() -> str:
    python = f"cp{sys.version_info.major}{sys.version_info.minor}"
    platform = sysconfig.get_platform().replace("-", "_").replace(".", "_")
    return f"{python}-{python}-{platform}"


def native_files(binaries: Path) -> dict[str, str]:
    """Paths in the package, by Bazel's output."""
    lines = (binaries / NATIVE_LIST).read_text().splitlines()
    return NATIVE | dict(line.split() for line in lines)


def stage(directory: Path, binaries: Path) -> None:
    """Copies the wheel's contents to `directory`."""
    package = directory / "graphdbg"
    ignore = shutil.ignore_patterns("__pycache__", "*_test.py", "BUILD.bazel")
    shutil.copytree(ROOT / "agent" / "python" / "graphdbg", package, ignore=ignore)
    shutil.copytree(ROOT / "tools" / "cli", package / "cli", ignore=ignore)
    shutil.copy(ROOT / "agent" / "python" / "graphdbg.pth", directory)
    for source, target in native_files(binaries).items():
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
    write_sbom(package, information, VERSION)
    (information / "entry_points.txt").write_text(ENTRY_POINTS)
    (information / "WHEEL").write_text(
        f"Wheel-Version: 1.0\nGenerator: graphdbg\nRoot-Is-Purelib: false\nTag: {wheel_tag()}\n"
    )


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--bin", type=Path, required=True, help="Bazel's output directory (bazel info bazel-bin)")
    parser.add_argument("--out", type=Path, required=True, help="directory for the wheel")
    arguments = parser.parse_args()
    for old in arguments.out.glob("graphdbg-*.whl"):
        old.unlink()
    with tempfile.TemporaryDirectory() as directory:
        stage(Path(directory), arguments.bin)
        subprocess.run(
            [sys.executable, "-m", "wheel", "pack", directory, "--dest-dir", str(arguments.out)],
            check=True,
            stdout=subprocess.DEVNULL,
        )


if __name__ == "__main__":
    main()
