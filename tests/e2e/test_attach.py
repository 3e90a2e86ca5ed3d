"""`graphdbg attach --pid` and `graphdbg detach`, on trainings that were not started for debugging."""

from __future__ import annotations

import contextlib
import json
import os
import re
import shutil
import signal
import socket
import subprocess
import sys
import time
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest
from conftest import (
    GRAPHDBG,
    HOSTS,
    PIPE_BYTES,
    Json,
    Server,
    clean_environment,
    losses,
    marked_line,
    read_line,
    wait_until,
)
from dap_client import DapProcess
from graphdbg.cli.client import Client
from graphdbg.client import AccessDeniedError, ConflictError

TRAINING = HOSTS / "attached_training.py"
SLEEPING = """
import time, torch
print("ready", flush=True)
time.sleep(4)
print("slept", flush=True)
time.sleep(60)
"""
LOADING = """
import os, torch
class Data(torch.utils.data.IterableDataset):
    def __iter__(self):
        import time
        yield torch.tensor(os.getpid())
        time.sleep(120)
batches = iter(torch.utils.data.DataLoader(Data(), batch_size=None, num_workers=1))
print("ready", int(next(batches)), flush=True)
import time; time.sleep(120)
"""

PAGE_HINT = "graphdbg: this address works once and for 60 seconds; 'graphdbg url' prints a new one\n"

Program = subprocess.Popen[str]
Start = Callable[..., Program]


@pytest.fixture
def environment(tmp_path: Path) -> dict[str, str]:
    """Without servers that run anyway."""
    return clean_environment(XDG_DATA_HOME=str(tmp_path / "share"), TMPDIR=str(tmp_path))


@pytest.fixture
def start(environment: dict[str, str]) -> Iterator[Start]:
    """Starts a program, and returns it when it has printed a line that begins with "ready"."""
    started: list[Program] = []

    def start_program(*command: str, **extra: str) -> Program:
        process = subprocess.Popen(
            [sys.executable, *command],
            stdout=subprocess.PIPE,
            stderr=subprocess.DEVNULL,
            text=True,
            pipesize=PIPE_BYTES,
            env=environment | extra,
            start_new_session=True,
        )
        started.append(process)
        process.ready = read_line(process).split()  # type: ignore[attr-defined]
        assert process.ready[:1] == ["ready"]  # type: ignore[attr-defined]
        return process

    yield start_program
    for process in started:
        with contextlib.suppress(ProcessLookupError):
            os.killpg(process.pid, signal.SIGKILL)
        process.communicate()


@pytest.fixture
def training(start: Start, tmp_path: Path) -> Program:
    return start(str(TRAINING), str(tmp_path / "bad"))


@pytest.fixture
def graphdbg(environment: dict[str, str]) -> Callable[..., subprocess.CompletedProcess[str]]:
    def run(*arguments: str) -> subprocess.CompletedProcess[str]:
        command = [GRAPHDBG, *arguments]
        return subprocess.run(
            command, env=environment, stdin=subprocess.DEVNULL, capture_output=True, text=True, timeout=120
        )

    return run


def attach(graphdbg, process: Program, *options: str) -> Json:
    done = graphdbg("attach", "--pid", str(process.pid), "--json", *options)
    assert done.returncode == 0, done.stderr
    answer: Json = json.loads(done.stdout)
    assert answer["state"] == "attached" and answer["processes"][0]["pid"] == process.pid
    return answer


def refusal(graphdbg, pid: int, *options: str) -> str:
    done = graphdbg("attach", "--pid", str(pid), *options)
    assert done.returncode == 1, (done.stdout, done.stderr)
    lines = done.stderr.splitlines()
    assert len(lines) == 1
    return str(lines[0].removeprefix("graphdbg: "))


def losses_until_its_end(process: Program, end: Path) -> list[str]:
    """Has the training end after some more steps, and returns all its losses."""
    time.sleep(0.5)
    end.touch()
    output, _ = process.communicate(timeout=120)
    assert process.returncode == 0
    found = losses(output)
    assert len(found) > 50
    return found


def losses_of_a_twin(start: Start, directory: Path, count: int) -> list[str]:
    """The first losses of the same training, without graphdbg."""
    twin = start(str(TRAINING), str(directory / "none"))
    return [read_line(twin).rstrip("\n") for _ in range(count)]


def threads(process: Program) -> int:
    return len(os.listdir(f"/proc/{process.pid}/task"))


def test_a_training_is_attached_to_left_and_attached_to_again(server: Server, training: Program, graphdbg) -> None:
    before = threads(training)
    for _ in range(2):
        job = attach(graphdbg, training)["job"]
        wait_until("steps", lambda job=job: server.job(job)["step"] >= 3)
        names = server.client.get(f"/jobs/{job}/graph/search", q="relu")["nodes"]
        assert "forward/1/relu" in [node["name"] for node in names]
        assert graphdbg("detach", str(training.pid)).returncode == 0
        wait_until("the job to have ended", lambda job=job: server.job(job)["state"] in ("finished", "lost"))
        wait_until("threads to have ended", lambda: threads(training) == before)
    assert training.poll() is None


def test_losses_are_those_of_an_untouched_twin(server: Server, start: Start, graphdbg, tmp_path: Path) -> None:
    process = start(str(TRAINING), str(tmp_path / "none"), str(tmp_path / "end"))
    attach(graphdbg, process, "--break-on", "nan")
    time.sleep(0.5)
    assert graphdbg("detach", str(process.pid)).returncode == 0
    found = losses_until_its_end(process, tmp_path / "end")
    assert found == losses_of_a_twin(start, tmp_path, len(found))


def test_it_stops_at_a_nan_and_detaching_lets_it_go_on(
    server: Server, training: Program, graphdbg, tmp_path: Path
) -> None:
    job = attach(graphdbg, training, "--break-on", "nan")["job"]
    (tmp_path / "bad").touch()
    server.wait_for_state(job, "paused", pause_reason="watchpoint")
    (hit,) = server.client.get(f"/jobs/{job}/hits")["hits"][:1]
    assert hit["node"] == "forward/log"
    assert (hit["source"]["file"], hit["source"]["line"]) == (str(TRAINING), marked_line(TRAINING))
    assert graphdbg("detach", str(training.pid)).returncode == 0
    assert training.stdout is not None
    for _ in range(10):
        assert training.stdout.readline()


def test_one_that_is_attached_is_debugged_in_the_terminal(server: Server, training: Program, graphdbg) -> None:
    job = attach(graphdbg, training)["job"]
    done = graphdbg("attach", "--pid", str(training.pid), "--batch", "--ex", "info job")
    assert done.returncode == 0 and job in done.stdout
    address = server.addresses["http_address"]
    assert refusal(graphdbg, training.pid, "--json") == (
        f"already attached, to {address} as job {job}; --move takes it over"
    )


def test_it_is_taken_over_from_another_server(training: Program, graphdbg, server: Server, tmp_path: Path) -> None:
    first = attach(graphdbg, training)["job"]
    other = Server(tmp_path / "other")
    try:
        address = other.addresses["http_address"]
        assert "--move takes it over" in refusal(graphdbg, training.pid, "--server", address)
        second = attach(graphdbg, training, "--server", address, "--move")
        assert second["server"] == address
        assert other.job(second["job"])["state"] == "running"
        wait_until("the first job to have ended", lambda: server.job(first)["state"] in ("finished", "lost"))
    finally:
        other.stop()


def test_without_a_server_it_starts_one_and_stays(training: Program, environment: dict[str, str]) -> None:
    before = threads(training)
    command = [GRAPHDBG, "attach", "--pid", str(training.pid)]
    process = subprocess.Popen(
        command,
        env=environment,
        stderr=subprocess.PIPE,
        text=True,
        preexec_fn=lambda: signal.signal(signal.SIGINT, signal.default_int_handler),
    )
    assert process.stderr is not None
    lines = list(iter(process.stderr.readline, PAGE_HINT))
    assert any(f"process {training.pid} (attached_training.py, torch " in line for line in lines)
    assert lines[-1].startswith("graphdbg: page: http://127.0.0.1:")
    assert process.poll() is None
    process.send_signal(signal.SIGINT)
    _, rest = process.communicate(timeout=60)
    assert process.returncode == 0
    assert "graphdbg: detaching; the training continues\n" in rest
    wait_until("threads to have ended", lambda: threads(training) == before)


def test_dbg_attaches_and_leaves(training: Program, graphdbg) -> None:
    before = threads(training)
    done = graphdbg("dbg", "--pid", str(training.pid), "--batch", "--ex", "pause", "--ex", "info job")
    assert done.returncode == 0, done.stderr
    assert "pytorch" in done.stdout
    wait_until("threads to have ended", lambda: threads(training) == before)
    assert training.poll() is None


def test_editors_attach_by_process_id(training: Program, environment: dict[str, str]) -> None:
    before = threads(training)
    client = DapProcess()
    try:
        client.initialize()
        client.request("attach", processId=str(training.pid))
        client.request("setExceptionBreakpoints", filters=["nan"])
        client.request("configurationDone")
        client.request("pause", threadId=1)
        assert client.event("stopped")["reason"] == "pause"
    finally:
        client.close()
    wait_until("threads to have ended", lambda: threads(training) == before)
    assert training.poll() is None


def test_trainings_are_listed(server: Server, training: Program, graphdbg) -> None:
    def listed() -> Json:
        rows = json.loads(graphdbg("attach", "--list", "--json").stdout)["trainings"]
        (row,) = [row for row in rows if row["pid"] == training.pid]
        return row

    row = listed()
    assert (row["script"], row["job"], row["rank"]) == ("attached_training.py", None, None)
    assert row["torch"][:2] in ("1.", "2.")
    assert row["since"][:2] == "20"
    assert re.fullmatch(r"20[\d-]+T[\d:]+Z", row["started_at"])
    job = attach(graphdbg, training)["job"]
    row = listed()
    assert (row["job"], row["server"]) == (job, server.addresses["http_address"])
    assert str(training.pid) in graphdbg("attach", "--list").stdout


def test_pages_list_trainings_attach_to_them_and_leave_them(server: Server, training: Program, graphdbg) -> None:
    before = threads(training)

    def listed() -> Json:
        answer = server.client.get("/trainings")
        assert answer["host"] == socket.gethostname()
        (row,) = [row for row in answer["trainings"] if row["pid"] == training.pid]
        return row

    assert server.client.get("/server")["attaches"] is True
    assert (listed()["script"], listed()["job"]) == ("attached_training.py", None)
    for _ in range(2):
        job = server.client.post(f"/trainings/{training.pid}/attach", {})["job"]
        wait_until("steps", lambda job=job: server.job(job)["step"] >= 3)
        assert (listed()["job"], listed()["server"]) == (job, None)
        with pytest.raises(ConflictError, match=f"already attached, to .* as job {job}"):
            server.client.post(f"/trainings/{training.pid}/attach", {})
        answer = server.client.post(f"/trainings/{training.pid}/detach", {})
        assert answer["message"].startswith("detached")
        wait_until("the job to have ended", lambda job=job: server.job(job)["state"] == "finished")
        wait_until("threads to have ended", lambda: threads(training) == before)
    entries = server.client.get("/audit")["entries"]
    assert [each["action"] for each in entries if each["result"] == "ok"][:2] == ["detach", "attach"]
    assert entries[0]["detail"] == f"process {training.pid}"


def test_only_administrators_attach_from_pages_and_not_where_that_is_off(
    server: Server, training: Program, tmp_path: Path
) -> None:
    token = server.client.post("/tokens", {"name": "carol", "role": "control"})["token"]
    client = Client(server.addresses["http_address"], token)
    for call in (lambda: client.get("/trainings"), lambda: client.post(f"/trainings/{training.pid}/attach", {})):
        with pytest.raises(AccessDeniedError, match="admin"):
            call()
    for option in ("--no-attach", "--no-auth"):
        closed = Server(tmp_path / option, option)
        try:
            assert closed.client.get("/server")["attaches"] is False
            with pytest.raises(ConflictError, match="does not attach"):
                closed.client.post(f"/trainings/{training.pid}/attach", {})
        finally:
            closed.stop()


@pytest.mark.long
def test_one_that_was_started_under_graphdbg_is_left_and_attached_to_again(
    server: Server, start: Start, graphdbg, tmp_path: Path
) -> None:
    debugged = {**server.job_environment(GRAPHDBG_JOB="started", GRAPHDBG_WAIT="0")}
    process = start(str(TRAINING), str(tmp_path / "none"), str(tmp_path / "end"), **debugged)
    wait_until("steps", lambda: (server.job("started") or {"step": 0})["step"] >= 3)
    done = graphdbg("detach", str(process.pid), "--json")
    assert done.returncode == 0, done.stderr
    assert json.loads(done.stdout)["message"] == "detached; it can be attached to again"
    wait_until("the job to have ended", lambda: server.job("started")["state"] == "finished")
    done = graphdbg("detach", str(process.pid))
    assert done.returncode == 1 and "has not joined this process" in done.stderr
    job = attach(graphdbg, process)["job"]
    wait_until("steps", lambda: server.job(job)["step"] >= 3)
    assert graphdbg("detach", str(process.pid)).returncode == 0
    found = losses_until_its_end(process, tmp_path / "end")
    assert found == losses_of_a_twin(start, tmp_path, len(found))


def wait_for_steps(server: Server, job: str) -> None:
    wait_until("steps", lambda: server.job(job)["step"] >= 3)


@pytest.mark.long
def test_gdb_injects_where_ptrace_is_not_wanted(server: Server, training: Program, graphdbg) -> None:
    if shutil.which("gdb") is None:
        pytest.skip("gdb is not installed")
    done = graphdbg("attach", "--pid", str(training.pid), "--json", "--method", "gdb")
    if "gdb cannot call functions on this machine" in done.stderr:
        # It was tried with another process, and this one trains on.
        assert done.returncode == 1
        wait_for_steps(server, attach(graphdbg, training)["job"])
        pytest.skip(done.stderr.strip())
    assert done.returncode == 0, done.stderr
    wait_for_steps(server, json.loads(done.stdout)["job"])


def test_giving_up_leaves_nothing(server: Server, start: Start, environment: dict[str, str]) -> None:
    sleeping = start("-c", SLEEPING)
    before = threads(sleeping)
    process = subprocess.Popen(
        [GRAPHDBG, "attach", "--pid", str(sleeping.pid)],
        env=environment,
        stderr=subprocess.PIPE,
        text=True,
        preexec_fn=lambda: signal.signal(signal.SIGINT, signal.default_int_handler),
    )
    assert process.stderr is not None
    assert process.stderr.readline() == (
        "graphdbg: waiting for the program's main thread to come back to Python (it is in clock_nanosleep in "
        "libc.so.6); Ctrl-C gives up\n"
    )
    process.send_signal(signal.SIGINT)
    _, rest = process.communicate(timeout=60)
    assert process.returncode == 130 and "gave up" in rest
    assert sleeping.stdout is not None
    assert sleeping.stdout.readline() == "slept\n"
    assert threads(sleeping) == before
    assert server.client.get("/jobs")["jobs"] == []


def test_all_ranks_of_a_training_are_attached_to(server: Server, start: Start, graphdbg, tmp_path: Path) -> None:
    launch = {"WORLD_SIZE": "2", "MASTER_ADDR": "127.0.0.1", "MASTER_PORT": "1"}
    ranks = [start(str(TRAINING), str(tmp_path / "bad"), RANK=str(rank), **launch) for rank in range(2)]
    answer = attach(graphdbg, ranks[0], "--all")
    assert [each["pid"] for each in answer["processes"]] == [each.pid for each in ranks]


def test_a_process_in_a_container_gets_a_copy_of_the_package(
    server: Server, environment: dict[str, str], graphdbg
) -> None:
    if os.geteuid() != 0 or shutil.which("unshare") is None:
        pytest.skip("needs root and unshare")
    script = f"mount -t tmpfs tmpfs /tmp && cd / && exec {sys.executable} -u {TRAINING} /none"
    command = ["unshare", "--mount", "sh", "-c", script]
    with subprocess.Popen(command, stdout=subprocess.PIPE, text=True, env=environment) as process:
        try:
            assert process.stdout is not None
            if process.stdout.readline() != "ready\n":
                pytest.skip("this machine allows no mount namespaces")
            job = attach(graphdbg, process)["job"]
            wait_until("steps", lambda: server.job(job)["step"] >= 3)
            (copy,) = Path(f"/proc/{process.pid}/root/tmp").glob("graphdbg-0-*")
            assert (copy / "graphdbg" / "_attach").is_dir() and copy.stat().st_mode & 0o777 == 0o700
            assert graphdbg("detach", str(process.pid)).returncode == 0
        finally:
            process.kill()


def test_a_process_without_pytorch(start: Start, graphdbg) -> None:
    process = start("-c", "import time; print('ready', flush=True); time.sleep(60)")
    assert refusal(graphdbg, process.pid) == f"process {process.pid} has not imported PyTorch"


def test_a_process_without_python(graphdbg) -> None:
    with subprocess.Popen(["sleep", "60"]) as process:
        assert refusal(graphdbg, process.pid) == (
            f"process {process.pid} runs no CPython; for a C++ program start it under graphdbg run"
        )
        process.kill()


def test_a_process_that_does_not_exist(graphdbg) -> None:
    process = subprocess.Popen(["true"])
    process.wait()
    assert refusal(graphdbg, process.pid) == f"no process {process.pid}"


def test_a_stopped_process(training: Program, graphdbg) -> None:
    training.send_signal(signal.SIGSTOP)
    assert refusal(graphdbg, training.pid) == (
        f"process {training.pid} is stopped (SIGSTOP); kill -CONT {training.pid} first"
    )


def test_a_job_that_forbids_it(start: Start, graphdbg, tmp_path: Path) -> None:
    process = start(str(TRAINING), str(tmp_path / "bad"), GRAPHDBG_ALLOW_ATTACH="0")
    assert refusal(graphdbg, process.pid) == (
        f"process {process.pid} was started with GRAPHDBG_ALLOW_ATTACH=0, which forbids attaching"
    )


def test_a_loader_worker(start: Start, graphdbg) -> None:
    process = start("-c", LOADING)
    worker = int(process.ready[1])  # type: ignore[attr-defined]
    if Path(f"/proc/{worker}/comm").read_text() != "pt_data_worker\n":
        pytest.skip("this PyTorch does not name its workers")
    assert refusal(graphdbg, worker) == (
        f"process {worker} is a loader worker of {process.pid}; attach to {process.pid}: "
        f"graphdbg attach --pid {process.pid}"
    )


def test_a_launcher(start: Start, graphdbg, tmp_path: Path) -> None:
    process = start("-m", "torch.distributed.run", "--nproc-per-node", "1", str(TRAINING), str(tmp_path / "bad"))
    message = refusal(graphdbg, process.pid)
    begin = f"process {process.pid} starts trainings (torch.distributed.run) and does not train itself; attach to "
    assert message.startswith(begin)
    rank = int(message.removeprefix(begin))
    try:
        assert "attached_training.py" in Path(f"/proc/{rank}/cmdline").read_text()
    finally:
        # It has a session of its own.
        os.kill(rank, signal.SIGKILL)


def test_detaching_from_what_is_not_attached(training: Program, graphdbg) -> None:
    done = graphdbg("detach", str(training.pid))
    assert done.returncode == 1
    assert "has not joined this process" in done.stderr
