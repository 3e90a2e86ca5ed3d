"""`graphdbg dap` with nvim-dap in headless Neovim.

nvim-dap is in no package registry: $GRAPHDBG_TEST_NVIM_DAP names a copy of its repository.
"""

from __future__ import annotations

import os
import shutil
import subprocess
import sys
from pathlib import Path

import pytest
from conftest import GRAPHDBG, clean_environment

FOLDER = Path(__file__).resolve().parent / "dap"
SCRIPT = FOLDER / "train.py"
RELU = next(n for n, text in enumerate(SCRIPT.read_text().splitlines(), 1) if text.endswith("# line: relu"))


def test_neovim_stops_at_a_line_and_shows_a_value():
    if shutil.which("nvim") is None:
        pytest.skip("Neovim is not installed (Debian: neovim)")
    plugin = os.environ.get("GRAPHDBG_TEST_NVIM_DAP")
    if not plugin:
        pytest.skip("GRAPHDBG_TEST_NVIM_DAP does not name a copy of nvim-dap, which no package registry has")
    environment = clean_environment(
        NVIM_DAP=plugin, SCRIPT=str(SCRIPT), LINE=str(RELU), GRAPHDBG=GRAPHDBG, PYTHON=sys.executable
    )
    ran = subprocess.run(
        ["nvim", "--headless", "--clean", "-S", str(FOLDER / "neovim.lua")],
        env=environment,
        stdin=subprocess.DEVNULL,
        capture_output=True,
        text=True,
        timeout=300,
    )
    lines = ran.stdout.splitlines()
    assert lines[:3] == ["stopped entry", "stopped breakpoint", f"frame forward/blocks/0/relu {RELU}"], ran.stderr
    assert lines[3].startswith("value float32[16, 8]")
    assert lines[-1] == "terminated"
