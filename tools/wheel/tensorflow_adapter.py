"""The compiled adapter for the newest TensorFlow that is supported, which a portable wheel contains.

It is compiled as on a user's machine, against the TensorFlow of the tests' own environment.
"""

from __future__ import annotations

import os
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parents[2]
sys.path.insert(0, str(ROOT / "tests" / "e2e"))

from environments import python_with  # noqa: E402

_COMPILE = """
import tensorflow
from graphdbg._build_adapter import build
from graphdbg._tensorflow import native, versions
print(versions.minor_of(tensorflow.__version__), build(native.library(tensorflow)))
"""


def add(package: Path) -> None:
    """Adds the adapter to the unpacked wheel's package; without TensorFlow, a line says that it is missing."""
    try:
        python = python_with("tensorflow")
    except pytest.skip.Exception as reason:
        print(f"the wheel has no adapter for TensorFlow: {reason}", file=sys.stderr)
        return
    environment = {k: v for k, v in os.environ.items() if not k.startswith("GRAPHDBG_")}
    environment |= {"PYTHONPATH": str(package.parent), "TF_CPP_MIN_LOG_LEVEL": "3", "CUDA_VISIBLE_DEVICES": ""}
    command = [str(python), "-c", _COMPILE]
    made = subprocess.run(command, env=environment, stdout=subprocess.PIPE, text=True, check=True).stdout
    minor, file = made.splitlines()[-1].split(" ", 1)
    target = package / "lib" / f"tensorflow-{minor}" / Path(file).name
    target.parent.mkdir()
    shutil.copy(file, target)
    subprocess.run(["strip", "--strip-unneeded", str(target)], check=True)
