"""`graphdbg dap` with dap-mode in Emacs."""

from __future__ import annotations

import shutil
import subprocess
import sys
from pathlib import Path

import pytest
from conftest import GRAPHDBG, clean_environment, marked_line

FOLDER = Path(__file__).resolve().parent / "dap"
SCRIPT = FOLDER / "train.py"
DAP_MODE = """(progn (package-initialize) (princ (locate-library "dap-mode")))"""


def test_emacs_stops_at_a_line_and_shows_a_value(tmp_path: Path) -> None:
    environment = clean_environment(HOME=str(tmp_path), SCRIPT=str(SCRIPT), GRAPHDBG=GRAPHDBG, PYTHON=sys.executable)
    line = marked_line(SCRIPT, "# line: relu")

    def emacs(*options: str) -> subprocess.CompletedProcess[str]:
        return subprocess.run(
            ["emacs", "--batch", *options],
            env={**environment, "LINE": str(line)},
            stdin=subprocess.DEVNULL,
            capture_output=True,
            text=True,
            timeout=300,
        )

    if shutil.which("emacs") is None or not emacs("--eval", DAP_MODE).stdout.endswith((".el", ".elc")):
        pytest.skip("Emacs or its dap-mode is not installed (Debian: emacs-nox, elpa-dap-mode)")
    ran = emacs("--load", str(FOLDER / "emacs.el"))
    said = ran.stdout.splitlines()
    assert said[:2] == ["stopped", f"frame forward/blocks/0/relu {line}"], ran.stderr
    assert said[2].startswith("value float32[16, 8]")
    assert said[-1] == "terminated"
