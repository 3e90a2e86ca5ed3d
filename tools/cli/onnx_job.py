"""Runs ONNX models as jobs, with scripts of graphdbg."""

from __future__ import annotations

import subprocess
import sys
from collections.abc import Sequence
from pathlib import Path

from .errors import USAGE, CliError

_RUNNER = "graphdbg._onnxruntime.run_model"


def is_model(word: str) -> bool:
    return word.endswith(".onnx")


def model_command(command: Sequence[str]) -> list[str]:
    """The command that runs the model.

    Exits the process if its options are wrong, so that errors appear before a server
    is started. Raises CliError if the model does not exist.
    """
    if "--help" not in command[1:] and not Path(command[0]).is_file():
        raise CliError(f"no such model: {command[0]}", USAGE)
    runner = [sys.executable, "-m", _RUNNER, *command]
    checked = subprocess.run([*runner, "--check-only"], stdin=subprocess.DEVNULL)
    if checked.returncode != 0 or "--help" in command[1:]:
        sys.exit(checked.returncode)
    return runner


def show_command(model: Path) -> list[str]:
    """The command that shows the model without running it."""
    return [sys.executable, "-m", "graphdbg._onnxruntime.show_model", str(model)]
