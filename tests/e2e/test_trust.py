"""The data that a job entrusts to its server, and how it connects."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import pytest
from conftest import clean_environment

PYTHON = sys.executable

TRAINS = """
import torch
model = torch.nn.Linear(2, 1)
optimizer = torch.optim.SGD(model.parameters(), lr=0.1)
for step in range(3):
    optimizer.zero_grad()
    model(torch.ones(4, 2)).sum().backward()
    optimizer.step()
"""


@pytest.fixture
def trains(tmp_path: Path) -> Path:
    script = tmp_path / "trains.py"
    script.write_text(TRAINS)
    return script


def test_run_connects_its_job_by_a_socket_of_this_user(debug_run, tmp_path: Path) -> None:
    script = tmp_path / "connections.py"
    script.write_text(
        TRAINS + "import os, stat\n"
        "path = os.environ['GRAPHDBG_SOCKET']\n"
        "print(oct(os.stat(path).st_mode & 0o777), oct(os.stat(os.path.dirname(path)).st_mode & 0o777))\n"
        # One line for the server's socket, and one for each connection to it.
        "print(sum(line.split()[-1] == path for line in open('/proc/net/unix')))\n"
    )
    run = debug_run("--no-wait", command=[PYTHON, str(script)])
    assert run.result["steps"] == 3
    assert run.stdout == "0o600 0o700\n2\n"


def test_allow_limits_what_the_server_can_order(debug_run, trains: Path) -> None:
    run = debug_run("--break-on", "nan", "--steps", "1", command=[PYTHON, str(trains)], GRAPHDBG_ALLOW="view")
    assert run.result["status"] == "finished"
    assert run.result["steps"] == 3
    assert "GRAPHDBG_ALLOW" in run.stderr


@pytest.mark.parametrize("extra", [{}, {"GRAPHDBG_TOKEN": "secret"}])
def test_nothing_goes_to_another_machine_in_plain_text(trains: Path, extra: dict[str, str]) -> None:
    environment = clean_environment(GRAPHDBG_ENABLE="1", GRAPHDBG_HOST="192.0.2.1", **extra)
    done = subprocess.run([PYTHON, str(trains)], env=environment, capture_output=True, text=True, timeout=120)
    assert done.returncode == 0, done.stderr
    for part in ("192.0.2.1", "GRAPHDBG_TLS_CA", "ssh -L", "continues without debugging"):
        assert part in done.stderr
    assert "secret" not in done.stderr
