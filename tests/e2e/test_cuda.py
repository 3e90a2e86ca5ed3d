"""Training with PyTorch on a GPU, with conditions checked on the device. Skipped without a GPU."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import pytest
from conftest import HOSTS, clean_environment, losses, marked_line

PROBE = "import torch; assert torch.cuda.is_available(), f'PyTorch {torch.__version__} finds no GPU'"

# By script: the condition that matches first, and the op whose output matches.
SCRIPTS = {
    "autocast_bf16": ("inf", "forward/div"),
    "scaler_fp16": ("inf", "forward/mul"),
}


@pytest.fixture(autouse=True)
def gpu() -> None:
    done = subprocess.run([sys.executable, "-c", PROBE], capture_output=True, text=True, timeout=120)
    if done.returncode != 0:
        pytest.skip(f"no GPU: {done.stderr.strip().splitlines()[-1]}")


def script(name: str) -> Path:
    return HOSTS / "cuda" / f"{name}.py"


# "terminate" waits for the device at each node; "continue" never does.
@pytest.mark.parametrize("on_hit", ["terminate", "continue"])
@pytest.mark.parametrize("name", SCRIPTS)
def test_names_the_first_bad_value(debug_run, name: str, on_hit: str) -> None:
    condition, node = SCRIPTS[name]
    options = ("--no-wait", "--break-on", "nan,inf", "--on-hit", on_hit)
    run = debug_run(*options, command=[sys.executable, str(script(name))])
    hit = min(run.result["hits"], key=lambda h: (h["step"], h["order"]))
    assert hit["condition"] == condition
    assert hit["node"].startswith(node)
    assert hit["source"]["line"] == marked_line(script(name))
    assert hit["origin"] == "origin"


@pytest.mark.parametrize("name", SCRIPTS)
def test_losses_are_the_same_bits_with_and_without(debug_run, name: str) -> None:
    command = [sys.executable, str(script(name))]
    alone = subprocess.run(command, env=clean_environment(), capture_output=True, text=True, timeout=180)
    options = ("--no-wait", "--break-on", "nan,inf", "--on-hit", "continue")
    watched = debug_run(*options, command=command)
    assert losses(watched.stdout) == losses(alone.stdout)
