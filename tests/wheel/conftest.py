"""Fixtures for the tests of the wheel that users install.

It is $GRAPHDBG_WHEEL, or made of what Bazel has built. `tools/dev wheel --check` sets
GRAPHDBG_WHEEL_CHECK=all: every system and every Python, not only the first.
"""

from __future__ import annotations

import os
import subprocess
import sys
import zipfile
from pathlib import Path

import pytest
from bare_system import BareSystem, Unavailable

ROOT = Path(__file__).resolve().parents[2]
EVERYTHING = os.environ.get("GRAPHDBG_WHEEL_CHECK") == "all"


@pytest.fixture(scope="session")
def wheel(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The portable wheel's file."""
    if "GRAPHDBG_WHEEL" in os.environ:
        return Path(os.environ["GRAPHDBG_WHEEL"]).resolve()
    out = tmp_path_factory.mktemp("portable")
    maker = ROOT / "tools" / "wheel" / "make_wheel.py"
    command = [sys.executable, str(maker), "--portable", "--bin", str(ROOT / "bazel-bin"), "--out", str(out)]
    subprocess.run(command, check=True, timeout=600)
    (made,) = out.glob("*.whl")
    return made


@pytest.fixture(scope="session")
def unpacked(wheel: Path, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A directory with the wheel's contents."""
    directory = tmp_path_factory.mktemp("unpacked")
    with zipfile.ZipFile(wheel) as archive:
        archive.extractall(directory)
    return directory


@pytest.fixture(
    scope="session",
    params=[
        # The one that has the Python of most development machines, the newest, and the next one, which has
        # Python 3.14.
        "bookworm",
        *(
            pytest.param(
                release,
                marks=pytest.mark.skipif(not EVERYTHING, reason="a further system: tools/dev wheel --check"),
            )
            for release in ("trixie", "forky")
        ),
    ],
)
def system(request: pytest.FixtureRequest) -> BareSystem:
    try:
        return BareSystem.of_release(request.param)
    except Unavailable as error:
        pytest.skip(str(error))
