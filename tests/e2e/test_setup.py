"""The packages that tools/dev installs for the demo, and those for the rest only."""

from __future__ import annotations

import subprocess
from pathlib import Path

ROOT = Path(__file__).resolve().parents[2]


def shell(command: str) -> list[str]:
    """The output's words of a command that may use the functions of setup.sh."""
    script = f"set -euo pipefail; source tools/setup/setup.sh; {command}"
    done = subprocess.run(["bash", "-c", script], cwd=ROOT, capture_output=True, text=True, check=True, timeout=60)
    return done.stdout.split()


def test_the_demo_needs_no_package_of_the_tests() -> None:
    demo, everything = shell("system_packages demo"), shell("system_packages")
    assert demo == everything[: len(demo)]
    assert {"build-essential", "libgrpc++-dev", "python3-venv"} <= set(demo)
    rest = set(everything) - set(demo)
    assert {"chromium", "python3-torch|none", "libgtest-dev", "clang-14", "debootstrap"} <= rest


def test_what_the_demo_imports_has_a_pinned_version() -> None:
    pinned = [line.split("==")[0].lower() for line in shell("cat tools/setup/requirements.txt") if "==" in line]
    names = shell('echo "${DEMO_PYTHON_PACKAGES[@]}"')
    assert "torch" in names
    assert [name for name in names if name not in pinned] == []
