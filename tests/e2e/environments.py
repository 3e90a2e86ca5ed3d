"""Environments with the packages of tools/setup/requirements-NAME.txt."""

from __future__ import annotations

import fcntl
import hashlib
import shutil
import subprocess
import sys
import sysconfig
import venv
from pathlib import Path

import pytest

_ROOT = Path(__file__).resolve().parents[2]
_SECONDS = 1800


def python_with(name: str) -> Path:
    """The interpreter of the environment, which is created once; skips the test where that is impossible."""
    requirements = _ROOT / "tools" / "setup" / f"requirements-{name}.txt"
    digest = hashlib.sha256(requirements.read_bytes() + sys.version.encode()).hexdigest()[:12]
    folder = _ROOT / ".build" / f"{name}-{digest}"
    folder.parent.mkdir(exist_ok=True)
    with open(f"{folder}.lock", "w") as lock:
        fcntl.flock(lock, fcntl.LOCK_EX)
        failure = Path(f"{folder}.failed")
        if failure.exists():
            pytest.skip(
                f"{requirements.name} cannot be installed: {failure.read_text()} (delete {failure} to try again)"
            )
        if not (folder / "complete").exists():
            _create(folder, requirements, failure)
    return folder / "bin" / "python"


def packages_with(name: str) -> str:
    """The directory of the environment's own packages, for this interpreter to import them from, too."""
    return _packages(python_with(name).parents[1])


def _packages(folder: Path) -> str:
    return sysconfig.get_path("purelib", vars={"base": str(folder), "platbase": str(folder)})


def _create(folder: Path, requirements: Path, failure: Path) -> None:
    shutil.rmtree(folder, ignore_errors=True)
    venv.create(folder, with_pip=True)
    # PyTorch and the rest of the project's environment, which pip takes as installed.
    Path(_packages(folder), "project.pth").write_text(sysconfig.get_path("purelib") + "\n")
    # Most of these packages' modules are never imported, and need no bytecode.
    pip = [str(folder / "bin" / "python"), "-m", "pip", "install", "--quiet", "--no-compile", "-r", str(requirements)]
    installed = subprocess.run(pip, capture_output=True, text=True, timeout=_SECONDS)
    if installed.returncode != 0:
        reason = installed.stderr.strip().splitlines()[-1:] or ["pip failed"]
        failure.write_text(reason[0])
        pytest.skip(f"{requirements.name} cannot be installed: {reason[0]}")
    (folder / "complete").touch()
