"""Commands find the servers of this user, whatever their data directories."""

from __future__ import annotations

import json
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import graphdbg
import pytest
from conftest import GRAPHDBG, HOSTS, Server, clean_environment

pytest.importorskip("websockets")


@pytest.fixture
def other_server(tmp_path: Path) -> Iterator[Server]:
    server = Server(tmp_path / "other")
    yield server
    server.stop()


@pytest.fixture
def environment(tmp_path: Path) -> dict[str, str]:
    """Without servers that run anyway."""
    return clean_environment(XDG_DATA_HOME=str(tmp_path / "share"), TMPDIR=str(tmp_path))


def command(*arguments: str, environment: dict[str, str]) -> subprocess.CompletedProcess[str]:
    return subprocess.run([GRAPHDBG, *arguments], env=environment, capture_output=True, text=True, timeout=60)


def test_a_server_is_found_without_options(server: Server, start_job, environment: dict[str, str]) -> None:
    start_job([sys.executable, str(HOSTS / "nested_modules.py")], server.job_environment(GRAPHDBG_JOB="nested"))
    server.wait_for_state("nested", "paused")
    listed = command("jobs", "--json", environment=environment)
    assert [job["id"] for job in json.loads(listed.stdout)["jobs"]] == ["nested"]


def test_of_several_servers_the_job_decides(
    server: Server, other_server: Server, start_job, environment: dict[str, str]
) -> None:
    start_job([sys.executable, str(HOSTS / "nested_modules.py")], other_server.job_environment(GRAPHDBG_JOB="nested"))
    other_server.wait_for_state("nested", "paused")
    unclear = command("jobs", environment=environment)
    assert unclear.returncode == 2
    assert f"{server.addresses['http_address']} (no jobs)" in unclear.stderr
    assert f"{other_server.addresses['http_address']} (nested)" in unclear.stderr
    # The token is that of the server with the address that the message has.
    chosen = command("jobs", f"--server={other_server.addresses['http_address']}/", environment=environment)
    assert chosen.stdout.startswith("nested "), chosen.stderr
    assert command("ctl", "nested", "step", environment=environment).returncode == 0
    other_server.wait_for_state("nested", "paused", step=1)
    assert command("ctl", "nobody", "step", environment=environment).returncode == 2


def test_a_server_that_was_killed_is_not_found(
    server: Server, other_server: Server, environment: dict[str, str], runtime_dir: Path
) -> None:
    other_server.process.kill()
    other_server.process.wait()
    assert len(list((runtime_dir / "graphdbg").iterdir())) == 2
    assert command("jobs", environment=environment).stdout == "no jobs\n"


def test_the_python_client_finds_it(server: Server, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("XDG_DATA_HOME", str(tmp_path / "share"))
    monkeypatch.setattr("tempfile.tempdir", str(tmp_path))
    with graphdbg.connect() as client:
        assert client.address == server.addresses["http_address"]
