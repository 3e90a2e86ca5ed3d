"""graphdbg-inject has running Python programs run a text, and they go on as without."""

from __future__ import annotations

import contextlib
import ctypes
import json
import os
import pwd
import re
import signal
import subprocess
import sys
import time
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest
from conftest import PACKAGE, SYSTEM_PYTHON, Json, clean_environment, read_line, wait_until
from graphdbg.cli.attach import injection
from graphdbg.cli.attach.processes import Process

INJECT = str(PACKAGE / "lib" / "graphdbg-inject")
TARGETS = Path(__file__).with_name("inject_targets.py")
TEXT = "import builtins; builtins.injected.append(1)"
STEPS = [
    "seized",
    "stopped",
    "frame_written",
    "mmap_prepared",
    "signals_blocked",
    "mmap_entered",
    "mmap_done",
    "text_written",
    "call_prepared",
    "called",
    "detached",
]
OLDEST, NEWEST = 9, 13
# A status that shows a tracer or blocked signals.
BLOCKED = re.compile(r"^(TracerPid:\t[1-9]|SigBlk:\t0*[1-9a-f])", re.MULTILINE)

TRAINING = """
import builtins, sys, torch
torch.set_num_threads(1)
builtins.injected = []
torch.manual_seed(0)
model = torch.nn.Sequential(torch.nn.Linear(32, 64), torch.nn.ReLU(), torch.nn.Linear(64, 1))
optimizer = torch.optim.Adam(model.parameters())
wanted, steps = int(sys.argv[1]), int(sys.argv[2])
print("ready", flush=True)
losses = []
step = 0
while step < steps or len(injected) < wanted:
    x = torch.randn(64, 32)
    loss = (model(x) - x.sum(1, keepdim=True)).square().mean()
    optimizer.zero_grad()
    loss.backward()
    optimizer.step()
    if step < steps:
        losses.append(loss.item().hex())
    step += 1
print(*losses, sep="\\n")
print("fine", flush=True)
"""

Start = Callable[..., "subprocess.Popen[str]"]


def interpreters() -> list[str]:
    """Pythons of this machine: this one, the system's, and those of pyenv."""
    found = sorted(Path.home().glob(".pyenv/versions/3.*/bin/python3"))
    return [sys.executable, SYSTEM_PYTHON, *map(str, found)]


def is_injectable(python: str) -> bool:
    version = subprocess.run(
        [python, "-c", "import sys; print(*sys.version_info[:2])"], capture_output=True, text=True
    ).stdout.split()
    return bool(version) and version[0] == "3" and OLDEST <= int(version[1]) <= NEWEST


@pytest.fixture
def start() -> Iterator[Start]:
    """Starts a program, and returns it when it has printed "ready"."""
    started: list[subprocess.Popen[str]] = []

    def start_program(*command: str, **options: object) -> subprocess.Popen[str]:
        process = subprocess.Popen(
            command,
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            text=True,
            env=clean_environment(),
            **options,  # type: ignore[call-overload]
        )
        started.append(process)
        assert read_line(process) == "ready\n"
        return process

    yield start_program
    for process in started:
        with contextlib.suppress(ProcessLookupError):
            process.send_signal(signal.SIGCONT)
        process.kill()
        process.communicate()


def inject(pid: int, text: str = TEXT, **environment: str) -> Json:
    done = subprocess.run(
        [INJECT, "--pid", str(pid), "--text-file", "-"],
        input=text,
        capture_output=True,
        text=True,
        timeout=30,
        env=os.environ | environment,
    )
    answer: Json = json.loads(done.stdout)
    assert done.returncode == (1 if answer["state"] == "failed" else 0)
    return answer


def finish(process: subprocess.Popen[str], timeout: float = 300) -> str:
    output, _ = process.communicate("\n", timeout=timeout)
    assert (output.splitlines()[-1:], process.returncode) == (["fine"], 0), output
    return output


@pytest.mark.parametrize("python", interpreters())
@pytest.mark.parametrize("target", ["computing", "sleeping", "joining"])
def test_every_interpreter_runs_the_text(start: Start, python: str, target: str) -> None:
    if not is_injectable(python):
        pytest.skip(f"{python} is no CPython from 3.{OLDEST} to 3.{NEWEST}")
    process = start(python, "-u", str(TARGETS), target)
    time.sleep(0.1)
    assert inject(process.pid)["state"] == "queued"
    finish(process)


def test_pythons_with_and_without_a_library_are_among_them() -> None:
    """The interpreter is in libpython or in the program."""
    libraries = set()
    for python in filter(is_injectable, interpreters()):
        with subprocess.Popen([python, "-c", "input()"], stdin=subprocess.PIPE, text=True) as process:
            found = wait_until("the interpreter", lambda pid=process.pid: inspect(pid).get("file"))
            libraries.add(".so" in found)
            process.communicate("\n")
    if libraries != {True, False}:
        pytest.skip("this machine has only one kind")


def inspect(pid: int) -> Json:
    done = subprocess.run([INJECT, "--pid", str(pid), "--inspect"], capture_output=True, text=True, timeout=30)
    answer: Json = json.loads(done.stdout)
    return answer


def test_the_version_is_found(start: Start) -> None:
    process = start(sys.executable, str(TARGETS), "computing")
    assert inspect(process.pid)["python"] == f"{sys.version_info.major}.{sys.version_info.minor}"
    finish(process)


@pytest.mark.parametrize(
    "target", ["sleeping_in_c", "acquiring_with_timeout", "waiting_in_c", "hashing", "forking", "raising"]
)
def test_programs_notice_nothing(start: Start, target: str) -> None:
    process = start(sys.executable, str(TARGETS), target)
    time.sleep(0.1)
    assert inject(process.pid)["state"] == "queued"
    finish(process)


def test_a_main_thread_that_waits_for_a_lock_is_woken(start: Start) -> None:
    process = start(sys.executable, str(TARGETS), "joining")
    time.sleep(0.3)
    assert inject(process.pid)["nudged"]
    finish(process)


def test_code_that_does_not_expect_to_be_woken_is_not(start: Start) -> None:
    process = start(sys.executable, str(TARGETS), "waiting_in_c")
    time.sleep(0.3)
    answer = inject(process.pid)
    assert not answer["nudged"]
    assert answer["where"].endswith("libc.so.6")
    finish(process)


def test_it_says_where_the_main_thread_is(start: Start) -> None:
    process = start(sys.executable, str(TARGETS), "sleeping_in_c")
    time.sleep(0.3)
    assert re.fullmatch(r"\w*nanosleep in libc\.so\.6", inject(process.pid)["where"])
    finish(process)


@pytest.mark.parametrize("step", STEPS)
@pytest.mark.parametrize("target", ["computing", "sleeping"])
def test_the_program_survives_the_injector(start: Start, step: str, target: str) -> None:
    process = start(sys.executable, str(TARGETS), target)
    for _ in range(5 if target == "computing" else 1):
        killed = subprocess.run(
            [INJECT, "--pid", str(process.pid), "--text-file", "-"],
            input=TEXT,
            text=True,
            capture_output=True,
            env=os.environ | {"GRAPHDBG_INJECT_DIE_AFTER": step},
        )
        assert killed.returncode == -signal.SIGKILL
    wait_until("the thread to be restored", lambda: not BLOCKED.search(status_of(process.pid)))
    assert inject(process.pid)["state"] == "queued"
    finish(process)


def test_the_text_learns_where_its_memory_is(start: Start) -> None:
    process = start(sys.executable, str(TARGETS), "computing")
    free = "import ctypes; injected.append(ctypes.CDLL(None).munmap(ctypes.c_void_p(0xGRAPHDBG_ADDRESS), 4096))"
    inject(process.pid, f"import builtins; from builtins import injected; {free}")
    inject(process.pid, "import builtins; assert builtins.injected == [0]; print('freed', flush=True)")
    assert read_line(process) == "freed\n"
    finish(process)


def test_a_full_queue_is_told(start: Start) -> None:
    """How many calls CPython's queue holds depends on its version: 31 until 3.12, at most 300 later."""
    process = start(sys.executable, str(TARGETS), "reading_in_c")
    system_call = Path(f"/proc/{process.pid}/syscall")
    wait_until("it to read standard input", lambda: system_call.read_text().split()[1:2] == ["0x0"])
    states = [inject(process.pid)["state"]]
    while states[-1] == "queued" and len(states) <= 300:
        states.append(inject(process.pid)["state"])
    assert states == ["queued"] * (len(states) - 1) + ["queue_full"]
    assert len(states) > 31
    assert inject(process.pid)["state"] == "queue_full"
    finish(process)


def test_a_training_gives_the_same_losses(start: Start, tmp_path: Path) -> None:
    script = tmp_path / "training.py"
    script.write_text(TRAINING)
    count = int(os.environ.get("GRAPHDBG_INJECTIONS", "100"))
    steps = 5 * count
    process = start(sys.executable, str(script), str(count), str(steps))
    stopped = []
    for _ in range(count):
        answer = inject(process.pid)
        assert answer["state"] == "queued"
        stopped.append(answer["stopped_us"])
    stopped.sort()
    print(f"stopped: median {stopped[count // 2]} us, p95 {stopped[count * 95 // 100]} us, most {stopped[-1]} us")
    output = finish(process, timeout=300 + 3 * count)
    plain = subprocess.run([sys.executable, str(script), "0", str(steps)], capture_output=True, text=True, check=True)
    assert output.splitlines() == plain.stdout.splitlines()[1:]


# --- sys.remote_exec, from CPython 3.14 on

THIS_VERSION = f"{sys.version_info.major}.{sys.version_info.minor}"


@pytest.fixture
def executed_remotely(monkeypatch: pytest.MonkeyPatch) -> list[str]:
    """The files that `sys.remote_exec` has a process run. An older interpreter gets one that does the same."""
    files: list[str] = []
    existing = getattr(sys, "remote_exec", None)

    def run(pid: int, file: str) -> None:
        files.append(file)
        if existing is not None:
            existing(pid, file)
        else:
            inject(pid, f"exec(open({file!r}).read(), {{}})")

    monkeypatch.setattr(sys, "remote_exec", run, raising=False)
    return files


@pytest.mark.parametrize("method", ["auto", "remote"])
def test_what_is_executed_remotely_leaves_no_file(start: Start, executed_remotely: list[str], method: str) -> None:
    process = start(sys.executable, str(TARGETS), "computing")
    text = f"{TEXT}; print('ran', flush=True)"
    assert injection.inject(Process(process.pid), THIS_VERSION, text, method) == injection.Queued()
    assert read_line(process) == "ran\n"
    (file,) = executed_remotely
    wait_until("the file to be removed", lambda: not Path(file).parent.exists())
    finish(process)


def test_where_remote_execution_is_off_the_process_is_traced(start: Start, monkeypatch: pytest.MonkeyPatch) -> None:
    files = []

    def refuse(pid: int, file: str) -> None:
        files.append(file)
        raise RuntimeError("Remote debugging is not enabled in the remote process")

    monkeypatch.setattr(sys, "remote_exec", refuse, raising=False)
    process = start(sys.executable, str(TARGETS), "computing")
    assert injection.inject(Process(process.pid), THIS_VERSION, TEXT, "auto").where
    assert not Path(files[0]).parent.exists()
    with pytest.raises(injection.Refused, match="Remote debugging is not enabled"):
        injection.inject(Process(process.pid), THIS_VERSION, TEXT, "remote")
    with pytest.raises(injection.Refused, match=r"has Python 3\.1: sys.remote_exec needs the same"):
        injection.inject(Process(process.pid), "3.1", TEXT, "remote")
    finish(process)


# --- processes that cannot be injected into


def status_of(pid: int) -> str:
    return Path(f"/proc/{pid}/status").read_text()


def refusal(pid: int) -> tuple[str, str]:
    answer = inject(pid)
    return answer["code"], answer["message"]


def test_no_process() -> None:
    child = subprocess.Popen(["true"])
    child.wait()
    assert refusal(child.pid) == ("no_process", f"no process {child.pid}")


def test_a_zombie() -> None:
    child = subprocess.Popen(["true"])
    wait_until("the zombie", lambda: "State:\tZ" in status_of(child.pid))
    assert refusal(child.pid) == ("no_process", f"no process {child.pid}")
    child.wait()


def test_another_program() -> None:
    with subprocess.Popen(["sleep", "60"]) as other:
        wait_until("sleep", lambda: Path(f"/proc/{other.pid}/comm").read_text() == "sleep\n")
        code, message = refusal(other.pid)
        assert (code, message) == (
            "no_python",
            f"process {other.pid} runs no CPython; for a C++ program start it under graphdbg run",
        )
        assert other.poll() is None
        other.kill()


def test_a_stopped_process(start: Start) -> None:
    process = start(sys.executable, str(TARGETS), "computing")
    process.send_signal(signal.SIGSTOP)
    wait_until("the stop", lambda: "State:\tT" in status_of(process.pid))
    assert refusal(process.pid) == (
        "stopped",
        f"process {process.pid} is stopped (SIGSTOP); kill -CONT {process.pid} first",
    )
    process.send_signal(signal.SIGCONT)
    finish(process)


def test_a_traced_process(start: Start) -> None:
    process = start(sys.executable, str(TARGETS), "computing")
    seize, detach = 0x4206, 17
    ptrace = ctypes.CDLL(None, use_errno=True).ptrace
    if ptrace(seize, process.pid, None, None) != 0:
        pytest.skip("this process may not trace")
    code, message = refusal(process.pid)
    assert code == "traced"
    assert message.endswith(f"(pid {os.getpid()}) is tracing process {process.pid}")
    process.send_signal(signal.SIGSTOP)
    os.waitpid(process.pid, os.WUNTRACED)
    assert ptrace(detach, process.pid, None, None) == 0
    process.send_signal(signal.SIGCONT)
    finish(process)


def test_a_process_of_another_user(start: Start) -> None:
    if os.geteuid() != 0:
        pytest.skip("needs root, to have a process of another user")
    process = start(sys.executable, str(TARGETS), "computing")
    name = pwd.getpwuid(0).pw_name
    done = subprocess.run(
        [INJECT, "--pid", str(process.pid), "--text-file", "/dev/null"],
        capture_output=True,
        text=True,
        user="nobody",
        group="nogroup",
    )
    if not done.stdout:
        pytest.skip("other users cannot run the installed program")
    assert json.loads(done.stdout) == {
        "state": "failed",
        "code": "other_user",
        "message": f"process {process.pid} belongs to {name}; attach as that user "
        f"(sudo -u {name} graphdbg attach --pid {process.pid})",
    }
    finish(process)


def test_a_process_that_forbids_tracing(start: Start, tmp_path: Path) -> None:
    if os.geteuid() == 0:
        pytest.skip("root may trace it")
    script = tmp_path / "secret.py"
    script.write_text(
        "import ctypes\nctypes.CDLL(None).prctl(4, 0)\nprint('ready', flush=True)\ninput()\nprint('fine')\n"
    )
    process = start(sys.executable, str(script))
    assert refusal(process.pid) == ("not_dumpable", f"process {process.pid} forbids tracing")
    finish(process)


def test_wrong_usage() -> None:
    for arguments in ([], ["--pid", "x"], ["--pid", "1"], ["--pid", "1", "--inspect", "--text-file", "-"]):
        assert subprocess.run([INJECT, *arguments], capture_output=True).returncode == 2


def test_texts_that_are_too_long_are_refused() -> None:
    assert "64 KiB" in inject(os.getpid(), "#" * (64 << 10))["message"]
