"""What the terminal debugger and the adapter say if something cannot be done, and what to do then."""

from __future__ import annotations

import subprocess
import sys
from collections.abc import Callable
from pathlib import Path

import pytest
from conftest import GRAPHDBG, HOSTS, Json, Server, clean_environment, wait_until
from dap_client import DapProcess

DIGITS = HOSTS / "digits_cnn.py"
JOB = [sys.executable, str(DIGITS), "--steps=3"]


@pytest.fixture
def dbg(tmp_path: Path) -> Callable[..., subprocess.CompletedProcess[str]]:
    """Runs a session by commands, and goes on after errors."""

    def run(commands: str, *target: str, **environment: str) -> subprocess.CompletedProcess[str]:
        return subprocess.run(
            [GRAPHDBG, "dbg", *target],
            env=clean_environment(HOME=str(tmp_path), **environment),
            input=commands,
            capture_output=True,
            text=True,
            timeout=300,
        )

    return run


def test_without_a_server_it_says_how_to_start_the_job(dbg, tmp_path: Path) -> None:
    alone = {name: str(tmp_path) for name in ("XDG_RUNTIME_DIR", "XDG_STATE_HOME", "TMPDIR")}
    done = dbg("", **alone)
    assert done.returncode == 3
    assert "no graphdbg server on this machine; start the job with: graphdbg dbg -- python train.py" in done.stderr


def test_a_program_is_debugged_behind_two_dashes(dbg) -> None:
    done = dbg("", str(DIGITS))
    assert done.returncode == 2
    assert f"graphdbg dbg -- python {DIGITS}" in done.stderr


# Each with a part of what is said.
ERRORS = {
    "print fc1/wieght": "no node is called fc1/wieght; did you mean forward/fc1/weight",
    "break forward/fc1/adm": "did you mean forward/fc1/addmm",
    "watch naan": "there is no condition naan; did you mean nan?",
    "print forward/fc1/addmm[0]": '"catch" keeps it at the next step',
    "print fc1/weight[0,0,0]": "has 3 dimensions, and the tensor has 2",
    'dprintf digits_cnn.py:30,"{loss}"': "a message cannot have {loss}; there are node, slot,",
    "source nothing.dbg": "cannot read nothing.dbg: No such file or directory",
    "foo": 'there is no command "foo"; "help" lists them',
    "rank 7": "there is no rank 7",
    "reverse-next": "a live job cannot go back; record it",
    "delete 9": "there is no breakpoint 9",
}


def test_each_error_says_what_to_do(dbg) -> None:
    commands = "".join(f"{command}\n" for command in ERRORS)
    # Values are kept only if somebody asks for them.
    done = dbg(f"step\n{commands}kill\ncontinue\n", "--", *JOB, GRAPHDBG_PARTIAL_MEM="1")
    answers = dict(each.split("\n", 1) for each in done.stdout.split("(graphdbg) ") if "\n" in each)
    for command, part in ERRORS.items():
        assert part in answers[command] + done.stderr, command
    assert "cannot continue: the job is terminated" in done.stdout
    assert "Traceback" not in done.stdout + done.stderr


def test_a_tensor_that_is_too_large_is_looked_at_in_parts(dbg, tmp_path: Path) -> None:
    script = tmp_path / "large.py"
    script.write_text(
        "import torch\n"
        "layer = torch.nn.Linear(1, 1)\n"
        "optimizer = torch.optim.SGD(layer.parameters(), 0.1)\n"
        "for _ in range(2):\n"
        "    large = torch.ones((1 << 24) + 1)\n"
        "    layer(large[:4, None]).sum().backward()\n"
        "    optimizer.step()\n"
    )
    done = dbg("until forward/ones\nprint max($ + 1)\nprint $[:2]\nkill\n", "--", sys.executable, str(script))
    text = done.stdout + done.stderr
    assert "16,777,217 elements, more than 16,777,216: name a slice, such as" in text
    assert "[1, 1]" in text or "1  1" in text


def test_a_command_that_does_not_fit_is_shown_to_the_user() -> None:
    client = DapProcess()
    try:
        client.initialize()
        client.send("launch", program=str(DIGITS), python=sys.executable, args=["--steps=100000"])
        client.event("initialized")
        client.send("configurationDone")
        client.event("thread")

        def refused() -> Json | None:
            response = client.response(client.send("continue", threadId=1))
            return None if response["success"] else response

        response = wait_until("a refusal while the job runs", refused)
        assert response["body"]["error"]["showUser"]
        assert "cannot continue" in response["message"]
        client.request("disconnect", terminateDebuggee=True)
    finally:
        client.close()


def test_a_server_that_goes_and_comes_back_is_told_once(tmp_path: Path, start_job) -> None:
    from graphdbg.cli.debugger import Event, attach

    first = Server(tmp_path / "data")
    start_job([sys.executable, str(DIGITS), "--steps=100000"], first.job_environment(GRAPHDBG_JOB="digits"))
    first.wait_for_state("digits", "paused")
    session = attach(first.client, "digits")
    told: list[Event] = []
    session.subscribe(told.append)
    try:
        first.process.kill()
        first.process.wait()
        wait_until("the loss", lambda: any(each.text == "the server is gone; waiting" for each in told))
        ports = [
            f"--{option}={first.addresses[name].rpartition(':')[2]}"
            for option, name in (("port", "http_address"), ("debugger-port", "debugger_address"))
        ]
        second = Server(tmp_path / "data", *ports)
        try:
            wait_until("the return", lambda: any(each.text == "the server is back" for each in told))
            second.wait_for_state("digits", "paused")
            assert [each.text for each in told if each.kind == "server"] == [
                "the server is gone; waiting", "the server is back",
            ]  # fmt: skip
            session.step()
            stop = session.wait(60)
            assert stop is not None and stop.step == 1
            session.terminate()
        finally:
            second.stop()
    finally:
        session.close()
        first.stop()
