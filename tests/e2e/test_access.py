"""Who may use a server: addresses, tokens, roles, the control of a job, and other users."""

from __future__ import annotations

import json
import os
import signal
import subprocess
import sys
from pathlib import Path

import pytest
from conftest import GRAPHDBG, HOSTS, Server, clean_environment, wait_until
from graphdbg.cli import run_directory
from graphdbg.cli.client import ApiError, Client
from graphdbg.cli.terminal import visible

DIGITS = [sys.executable, str(HOSTS / "digits_cnn.py"), "--steps", "60"]
NOBODY = 65534


def graphdbg(server: Server, *arguments: str) -> subprocess.CompletedProcess[str]:
    return subprocess.run(
        [GRAPHDBG, *arguments, f"--data-dir={server.data_dir}"],
        env=clean_environment(),
        capture_output=True,
        text=True,
        timeout=60,
    )


def log_in(url: str) -> dict[str, str]:
    address, _, code = url.partition("/#code=")
    session: dict[str, str] = Client(address, None).post("/login", {"code": code})
    return session


def test_url_prints_an_address_that_works_once(server: Server) -> None:
    printed = graphdbg(server, "url")
    assert printed.returncode == 0 and printed.stderr == ""
    url = printed.stdout.strip()
    assert url.startswith(f"{server.addresses['http_address']}/#code=")
    session = log_in(url)
    assert (session["name"], session["role"]) == ("owner", "admin")
    assert Client(server.addresses["http_address"], session["token"]).get("/jobs") == {"jobs": []}
    with pytest.raises(ApiError, match="graphdbg url") as error:
        log_in(url)
    assert error.value.code == "invalid_code"


def test_url_for_somebody_else_only_views(server: Server) -> None:
    page = json.loads(graphdbg(server, "url", "--name", "bob", "--json").stdout)
    session = log_in(page["url"])
    assert (session["name"], session["role"]) == ("bob", "view")


def test_tokens_are_made_used_and_revoked(server: Server, tmp_path: Path) -> None:
    created = graphdbg(server, "token", "create", "alice", "--role", "control", "--expires", "12h")
    assert created.returncode == 0, created.stderr
    file = tmp_path / "alice"
    file.write_text(created.stdout)
    listed = json.loads(graphdbg(server, "token", "list", "--json").stdout)["tokens"]
    assert [(token["name"], token["role"]) for token in listed] == [("alice", "control")]
    assert "alice" in graphdbg(server, "token", "list").stdout

    with_token = ("--token-file", str(file))
    assert graphdbg(server, "jobs", *with_token).returncode == 0
    refused = graphdbg(server, "token", "list", *with_token)
    assert refused.returncode == 3 and "'admin'" in refused.stderr

    revoked = graphdbg(server, "token", "revoke", listed[0]["id"])
    assert revoked.returncode == 0, revoked.stderr
    assert graphdbg(server, "jobs", *with_token).returncode == 3
    assert graphdbg(server, "token", "revoke", listed[0]["id"]).returncode == 3


def test_wrong_times_are_wrong_usage(server: Server) -> None:
    for time in ("12", "0h", "h", "1w", "-1h"):
        created = graphdbg(server, "token", "create", "alice", "--role", "view", f"--expires={time}")
        assert created.returncode == 2, time


def test_two_people_do_not_steer_against_each_other(server: Server, start_job) -> None:
    start_job(DIGITS, server.job_environment(GRAPHDBG_JOB="digits"))
    server.wait_for_state("digits", "paused")
    token = server.client.post("/tokens", {"name": "alice", "role": "control"})["token"]
    alice = Client(server.addresses["http_address"], token)

    server.control("digits", "step", steps=1)
    state = server.wait_for_state("digits", "paused", step=1)
    assert state["controller"]["name"] == "owner"
    with pytest.raises(ApiError, match="owner") as error:
        alice.post("/jobs/digits/control", {"command": "step"})
    assert (error.value.status, error.value.code) == (409, "not_controller")

    assert alice.post("/jobs/digits/lease", {})["controller"]["name"] == "alice"
    alice.post("/jobs/digits/control", {"command": "step"})
    server.wait_for_state("digits", "paused", step=2)
    with pytest.raises(ApiError, match="alice"):
        server.control("digits", "step")
    with pytest.raises(ApiError) as error:
        alice.post("/jobs/digits/control", {"command": "terminate"})
    assert (error.value.status, error.value.code) == (403, "role_too_low")
    taken = graphdbg(server, "ctl", "digits", "step", "--take-over")
    assert taken.returncode == 0, taken.stderr
    server.wait_for_state("digits", "paused", step=3)

    entries = server.client.get("/audit")["entries"]
    seen = [(entry["who"], entry["action"], entry["detail"], entry["result"]) for entry in entries]
    assert seen[:4] == [
        ("owner", "control", "step 1", "ok"),
        ("owner", "take_lease", "from alice", "ok"),
        ("alice", "control", "terminate", "role_too_low"),
        ("owner", "control", "step 1", "not_controller"),
    ]


def test_other_users_of_the_machine_need_a_token(server: Server, start_job) -> None:
    if os.geteuid() != 0:
        pytest.skip("only root can act as another user")

    def as_nobody(command: list[str], environment: dict[str, str]) -> subprocess.CompletedProcess[str]:
        return subprocess.run(
            command, env=environment, user=NOBODY, group=NOBODY, cwd="/", capture_output=True, text=True, timeout=180
        )

    # No token, so the server has to find out whose process it is.
    port = server.addresses["debugger_address"].rpartition(":")[2]
    environment = clean_environment(GRAPHDBG_ENABLE="1", GRAPHDBG_PORT=port, GRAPHDBG_WAIT="0", GRAPHDBG_JOB="digits")
    try:
        runs = as_nobody([sys.executable, "-c", "import torch"], clean_environment()).returncode == 0
    except PermissionError:
        runs = False
    if not runs:
        pytest.skip("other users cannot run this Python")
    stranger = as_nobody(DIGITS, environment)
    assert stranger.returncode == 0
    assert "token" in stranger.stderr
    assert server.job("digits") is None
    own = start_job(DIGITS, environment)
    own.communicate(timeout=180)
    server.wait_for_state("digits", "finished")


@pytest.fixture
def temporary(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """The directory for temporary files, also of this process."""
    directory = tmp_path / "tmp"
    directory.mkdir()
    monkeypatch.setattr(run_directory.tempfile, "tempdir", str(directory))
    return directory


def test_a_killed_run_leaves_nothing_and_url_finds_its_server(temporary: Path, tmp_path: Path) -> None:
    environment = clean_environment(TMPDIR=str(temporary), XDG_DATA_HOME=str(tmp_path / "data"))
    script = tmp_path / "waits.py"
    script.write_text("print('ready', flush=True)\nimport sys; sys.stdin.read()\n")
    # The shell ends with the script's standard input, which this test holds.
    run = subprocess.Popen(
        [GRAPHDBG, "run", "--", sys.executable, str(script)],
        env=environment,
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
    )
    try:
        assert run.stdout and run.stderr
        assert run.stdout.readline() == "ready\n"
        page = next(line for line in run.stderr if "page:" in line).split()[-1]
        url = subprocess.run([GRAPHDBG, "url"], env=environment, capture_output=True, text=True, timeout=60)
        assert url.stdout.partition("#")[0] == page.partition("#")[0]
        assert log_in(url.stdout.strip())["name"] == "owner"
        assert len(list(temporary.glob("graphdbg-*"))) == 1
        run.send_signal(signal.SIGKILL)
        wait_until("the directory is removed", lambda: not list(temporary.glob("graphdbg-*")))
    finally:
        run.kill()
        run.communicate()


def test_leftovers_of_ended_processes_are_removed(temporary: Path) -> None:
    with run_directory.run_directory() as alive:
        left = temporary / "graphdbg-left"
        left.mkdir(mode=0o700)
        (left / "run.lock").touch()
        (left / "token").write_text("secret")
        # Directories that `graphdbg run` has not made.
        others = [temporary / "graphdbg-other", temporary / "graphdbg-open"]
        for other in others:
            other.mkdir(mode=0o700)
        (others[1] / "run.lock").touch()
        others[1].chmod(0o755)
        link = temporary / "graphdbg-link"
        link.symlink_to(left)
        run_directory.remove_leftovers()
        assert not left.exists()
        assert alive.exists() and all(other.exists() for other in others) and link.is_symlink()
    assert not alive.exists()


def test_text_of_jobs_cannot_control_a_terminal() -> None:
    assert visible("forward/fc1 naïve 名前 🙂") == "forward/fc1 naïve 名前 🙂"
    assert visible("a\x1b[2Jb\n") == "a⟨U+001B⟩[2Jb⟨U+000A⟩"
    assert visible("a\u009b31m") == "a⟨U+009B⟩31m"
    assert visible("gpj.\u202egnp") == "gpj.⟨U+202E⟩gnp"
    assert visible(b"\x9b".decode(errors="surrogateescape")) == "⟨U+DC9B⟩"


def test_names_of_jobs_cannot_control_a_terminal(server: Server, start_job) -> None:
    name = "a\u009b31m\u202eb"
    start_job(DIGITS, server.job_environment(GRAPHDBG_JOB=name))
    server.wait_for_state(name, "paused")
    listed = graphdbg(server, "jobs").stdout
    assert visible(name) in listed and "\u009b" not in listed and "\u202e" not in listed
    server.process.terminate()
    assert server.process.stderr
    log = server.process.stderr.read()
    assert visible(name) in log and "\u009b" not in log and "\u202e" not in log
