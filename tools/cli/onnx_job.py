"""A bare ONNX model as a job: there is no script, so we bring one."""

from __future__ import annotations

import subprocess
import sys
from collections.abc import Sequence
from pathlib import Path

from .errors import USAGE, CliError

_RUNNER = "graphdbg._onnxruntime.bare"


def is_model(word: str) -> bool:
    return word.endswith(".onnx")


def model_command(command: Sequence[str]) -> list[str]:
    """The command that runs the model; CliError if it cannot be run at all.

    What is wrong with its options is said before a server is started.
    """
    if "--help" not in command[1:] and not Path(command[0]).is_file():
        raise CliError(f"there is no model {command[0]}", USAGE)
    runner = [sys.executable, "-m", _RUNNER, *command]
    checked = subprocess.run([*runner, "--check-only"], stdin=subprocess.DEVNULL)
    if checked.returncode != 0 or "--help" in command[1:]:
        sys.exit(checked.returncode)
    return runner


def show_command(model: Path) -> list[str]:
    """The command that shows the model and does not run it."""
    return [sys.executable, "-m", "graphdbg._onnxruntime.show", str(model)]
