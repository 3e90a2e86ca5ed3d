"""Every way to start a training is followed: real launchers, on CPU with gloo."""

from __future__ import annotations

import json
import os
import socket
import subprocess
import sys
import threading
import time
from collections.abc import Callable
from pathlib import Path

import pytest
from conftest import GRAPHDBG, HOSTS, Finished, Json, Server, clean_environment, losses, marked_line, wait_until
from environments import python_with
from graphdbg.cli.client import Client
from graphdbg.cli.running_servers import server_of

SCRIPTS = HOSTS / "launchers"
STEPS = SCRIPTS / "ddp_steps.py"
PYTHON = sys.executable
# One thread for each process: there are several.
ENVIRONMENT = {"OMP_NUM_THREADS": "1"}
# Importing these libraries takes a minute on a busy machine.
SECONDS = 600
WATCH = ("--no-wait", "--break-on", "nan", "--on-hit", "continue")

TORCHRUN = [PYTHON, "-m", "torch.distributed.run", "--standalone", "--nproc-per-node=2", str(SCRIPTS / "env_ranks.py")]
LONG = pytest.mark.long
OWN = {
    "mp.spawn": [PYTHON, str(SCRIPTS / "mp_spawn.py")],
    "multiprocessing spawn": [PYTHON, str(SCRIPTS / "mp_process.py"), "--method=spawn"],
    "multiprocessing fork": [PYTHON, str(SCRIPTS / "mp_process.py"), "--method=fork"],
    "multiprocessing forkserver": [PYTHON, str(SCRIPTS / "mp_process.py"), "--method=forkserver"],
    "torchrun": TORCHRUN,
    "LOCAL_RANK": [PYTHON, str(SCRIPTS / "local_rank.py")],
}


def script(name: str) -> str:
    return str(SCRIPTS / name)


def assert_found_on_rank_1(run: Finished, step: int, source: Path = STEPS, *, killed: bool = False) -> None:
    assert run.code == 0, run.stderr
    assert run.result["debugged"], run.stderr
    assert [job["world_size"] for job in run.result["jobs"]] == [2], run.stderr
    assert run.result["jobs"][0]["state"] in (("lost", "finished") if killed else ("finished",)), run.stderr
    first = run.result["hits"][0]
    assert (first["rank"], first["step"], first["origin"]) == (1, step, "origin")
    assert (first["node"], first["op_type"]) == ("forward/sqrt", "aten::sqrt")
    assert first["source"]["file"] == str(source)
    assert first["source"]["line"] == marked_line(source)


@pytest.mark.long(but=["torchrun", "mp.spawn"])
@pytest.mark.parametrize("launcher", OWN)
def test_a_nan_on_one_rank_is_found_with_its_rank(debug_run, launcher: str) -> None:
    command = [*OWN[launcher], "--corrupt-step=4"]
    run = debug_run(*WATCH, command=command, **ENVIRONMENT)
    assert_found_on_rank_1(run, 4)
    assert run.result["steps"] == 6
    assert len(losses(run.stdout)) == 12


@pytest.mark.long(but=["multiprocessing fork"])
@pytest.mark.parametrize("launcher", ["mp.spawn", "multiprocessing fork", "LOCAL_RANK"])
def test_losses_are_the_same_to_the_bit(debug_run, launcher: str) -> None:
    command = OWN[launcher]
    plain = subprocess.run(command, env=clean_environment(**ENVIRONMENT), capture_output=True, text=True, check=True)
    run = debug_run(*WATCH, command=command, **ENVIRONMENT)
    assert run.result["steps"] == 6
    assert len(losses(plain.stdout)) == 12
    assert sorted(losses(run.stdout)) == sorted(losses(plain.stdout))


@pytest.mark.long
@pytest.mark.parametrize(
    "launcher", ["multiprocessing fork", *(pytest.param(each, marks=LONG) for each in ("mp.spawn", "LOCAL_RANK"))]
)
def test_a_pause_outlasts_the_time_limit_of_collectives(server: Server, start_job, launcher: str) -> None:
    limit = 8
    environment = server.job_environment(GRAPHDBG_JOB="ranks", **ENVIRONMENT)
    process = start_job([*OWN[launcher], "--steps=40", f"--timeout={limit}"], environment)
    all_ranks_paused(server, step=0)
    server.control("ranks", "step", steps=3)
    all_ranks_paused(server, step=3)
    time.sleep(limit + 4)
    server.control("ranks", "continue")
    output, errors = process.communicate(timeout=SECONDS)
    assert process.returncode == 0, errors
    assert len(losses(output)) == 80
    assert server.wait_for_state("ranks", "finished")["world_size"] == 2


def all_ranks_paused(server: Server, step: int) -> None:
    def paused() -> bool:
        job = server.job("ranks")
        return bool(job and job["state"] == "paused" and [rank["step"] for rank in job["ranks"]] == [step, step])

    wait_until(f"both ranks paused after step {step}", paused, SECONDS)


@pytest.mark.long
def test_ranks_agree_on_a_job_without_a_name(server: Server, start_job) -> None:
    environment = server.job_environment(GRAPHDBG_WAIT="0", **ENVIRONMENT)
    for launcher in ("mp.spawn", "LOCAL_RANK"):
        process = start_job(OWN[launcher], environment)
        assert process.wait(timeout=SECONDS) == 0
    jobs = server.client.get("/jobs")["jobs"]
    assert sorted((job["world_size"], job["step"], len(job["ranks"])) for job in jobs) == [(2, 6, 2)] * 2
    assert {job["id"].partition("-")[0] for job in jobs} == {"mp_spawn.py", "local_rank.py"}


def test_local_rank_is_enough(debug_run) -> None:
    run = debug_run(*WATCH, command=[PYTHON, script("local_rank_alone.py")], **ENVIRONMENT)
    assert [(job["world_size"], job["steps"]) for job in run.result["jobs"]] == [(2, 3)], run.stderr
    assert {hit["rank"] for hit in run.result["hits"]} == {1}
    assert run.result["hits"][0]["step"] == 2


def test_a_script_with_two_trainings_shows_and_steers_both(debug_run, tmp_path: Path) -> None:
    both = tmp_path / "both.sh"
    both.write_text(f"{PYTHON} {script('one_process.py')} 4 0\n{PYTHON} {script('one_process.py')} 5 3\n")
    run = debug_run(*WATCH, command=["bash", str(both)], **ENVIRONMENT)
    assert run.code == 0, run.stderr
    jobs = [(job["id"], job["state"], job["steps"], job["hit_count"] > 0) for job in run.result["jobs"]]
    assert jobs == [("bash", "finished", 4, False), ("bash-2", "finished", 5, True)]
    assert run.result["hits"][0]["job"] == "bash-2"
    assert "job bash-2: finished after 5 steps" in run.stderr


def test_two_trainings_at_the_same_time_are_two_jobs(debug_run, tmp_path: Path) -> None:
    both = tmp_path / "both.sh"
    one = f"{PYTHON} {script('one_process.py')} 4"
    both.write_text(f"{one} &\n{one} 3 &\nwait\n")
    run = debug_run(*WATCH, command=["bash", str(both)], **ENVIRONMENT)
    assert run.code == 0, run.stderr
    assert sorted((job["id"], job["steps"]) for job in run.result["jobs"]) == [("bash", 4), ("bash-2", 4)]


def test_steps_limits_each_job(debug_run, tmp_path: Path) -> None:
    both = tmp_path / "both.sh"
    both.write_text(f"{PYTHON} {script('one_process.py')} 9\n{PYTHON} {script('one_process.py')} 9\n")
    run = debug_run("--steps", "2", command=["bash", str(both)], **ENVIRONMENT)
    assert run.result["status"] == "terminated"
    assert [(job["state"], job["steps"]) for job in run.result["jobs"]] == [("terminated", 2)] * 2


def test_a_parent_that_imports_torch_takes_no_place(debug_run) -> None:
    command = [PYTHON, script("imports_torch.py"), script("one_process.py")]
    run = debug_run(*WATCH, command=command, **ENVIRONMENT)
    assert run.code == 0, run.stderr
    assert [(job["id"], job["steps"]) for job in run.result["jobs"]] == [("imports_torch", 4)]
    assert "taken" not in run.stderr


def test_a_parent_that_never_trains_is_no_job(server: Server, start_job) -> None:
    environment = server.job_environment(GRAPHDBG_WAIT="0", **ENVIRONMENT)
    process = start_job([PYTHON, script("imports_torch.py"), script("one_process.py")], environment)
    assert process.wait(timeout=SECONDS) == 0
    assert [job["step"] for job in server.client.get("/jobs")["jobs"]] == [4]


@pytest.mark.parametrize("method", ["fork", "spawn"])
def test_data_loader_workers_take_no_place(debug_run, method: str) -> None:
    run = debug_run(*WATCH, command=[PYTHON, script("loader_workers.py"), method], **ENVIRONMENT)
    assert run.code == 0, run.stderr
    assert [(job["world_size"], job["steps"]) for job in run.result["jobs"]] == [(1, 4)]


def test_nothing_debugged_is_said_and_exits_4(debug_run) -> None:
    run = debug_run("--no-wait", command=[PYTHON, script("imports_torch.py"), "-c"], **ENVIRONMENT)
    # The child fails, and so does its parent.
    assert run.code != 4
    run = debug_run("--no-wait", command=[PYTHON, "-c", "import torch"], **ENVIRONMENT)
    assert run.code == 4
    assert run.result["exit_code"] == 0
    assert run.result["debugged"] is False
    assert "nothing was debugged" in run.stderr


def test_an_exception_in_a_worker_is_reported(debug_run, tmp_path: Path) -> None:
    failing = tmp_path / "failing.py"
    failing.write_text(
        "import multiprocessing, sys, torch\n"
        "def work():\n"
        "    net = torch.nn.Linear(3, 2)\n"
        "    net(torch.ones(1, 3)).sum().backward()\n"
        "    raise ValueError('out of luck')\n"
        "if __name__ == '__main__':\n"
        "    worker = multiprocessing.get_context('fork').Process(target=work)\n"
        "    worker.start(); worker.join(); sys.exit(worker.exitcode)\n"
    )
    run = debug_run("--no-wait", command=[PYTHON, str(failing)], **ENVIRONMENT)
    assert run.code == 1
    assert run.result["exception"]["type"] == "ValueError"
    assert [job["state"] for job in run.result["jobs"]] == ["finished"]


# ---- launchers from PyPI


@pytest.fixture(scope="session")
def python() -> str:
    return str(python_with("launchers"))


@pytest.fixture
def debug_launcher(debug_run, python: str) -> Callable[..., Finished]:
    """Like debug_run, with the launchers' programs on the path."""

    def run(*options: str, command: list[str], **environment: str) -> Finished:
        path = f"{Path(python).parent}{os.pathsep}{os.environ['PATH']}"
        return debug_run(*options, command=command, PATH=path, **ENVIRONMENT, **environment)

    return run


@LONG
def test_accelerate_launch(debug_launcher, python: str) -> None:
    # Without MPI, accelerate starts several processes for GPUs only; the script itself uses none.
    launch = [str(Path(python).parent / "accelerate"), "launch", "--multi_gpu", "--num_processes=2", "--num_machines=1"]
    launch += ["--mixed_precision=no", "--dynamo_backend=no", "--main_process_port=0"]
    file = SCRIPTS / "accelerate_train.py"
    run = debug_launcher(*WATCH, command=[*launch, str(file), "--corrupt-step=4"])
    assert_found_on_rank_1(run, 4, file)


@pytest.mark.parametrize("strategy", ["ddp", pytest.param("ddp_spawn", marks=LONG)])
def test_lightning(debug_launcher, python: str, strategy: str) -> None:
    file = SCRIPTS / "lightning_train.py"
    run = debug_launcher(*WATCH, command=[python, str(file), strategy, "2", "4"])
    assert run.result["jobs"] and run.result["jobs"][0]["world_size"] == 2, run.stderr
    assert_found_on_rank_1(run, 4, file)


@pytest.mark.long
def test_names_are_the_same_whatever_the_launcher(server: Server, start_job, injected, python: str) -> None:
    names = {}
    for strategy, devices in (("auto", 1), ("ddp", 2)):
        job = f"lit-{strategy}"
        environment = server.job_environment(GRAPHDBG_JOB=job, GRAPHDBG_WAIT="0", **ENVIRONMENT, **injected)
        process = start_job([python, script("lightning_train.py"), strategy, str(devices), "0"], environment)
        assert process.wait(timeout=SECONDS) == 0, process.communicate()[1]
        found = server.client.get(f"/jobs/{job}/graph/search", q="forward/", limit=1000)["nodes"]
        # The inputs are those of the module that the launcher calls.
        names[strategy] = {node["name"] for node in found if "net/" in node["name"] and node["kind"] != "input"}
    assert names["auto"] == names["ddp"] >= {"forward/net/body/addmm", "forward/net/head/weight"}


def free_port() -> int:
    with socket.socket() as listener:
        listener.bind(("127.0.0.1", 0))
        return int(listener.getsockname()[1])


@LONG
def test_deepspeed_launcher(debug_launcher, python: str) -> None:
    launch = [str(Path(python).parent / "deepspeed"), "--num_accelerators=2", f"--master_port={free_port()}"]
    file = SCRIPTS / "deepspeed_train.py"
    run = debug_launcher(*WATCH, command=[*launch, str(file), "--corrupt-step=4"], DS_ACCELERATOR="cpu")
    assert_found_on_rank_1(run, 4, file)


@LONG
def test_ray_train(debug_launcher, python: str) -> None:
    file = SCRIPTS / "ray_train.py"
    run = debug_launcher(*WATCH, command=[python, str(file), "--corrupt-step=4"], RAY_USAGE_STATS_ENABLED="0")
    # Ray kills its workers when their function has returned.
    assert_found_on_rank_1(run, 4, file, killed=True)
    assert run.result["steps"] == 6


def test_hydra_multirun(debug_launcher, python: str, tmp_path: Path) -> None:
    options = ["--multirun", "+corrupt_step=0,3", f"hydra.sweep.dir={tmp_path}"]
    run = debug_launcher(*WATCH, command=[python, script("hydra_train.py"), *options])
    assert run.code == 0, run.stderr
    # Both trainings run in one process, one after the other, and are one job.
    assert sum(job["steps"] for job in run.result["jobs"]) == 8
    assert run.result["hits"][0]["step"] == 4 + 3


@pytest.mark.long
@pytest.mark.parametrize("optimizer", ["SGD", pytest.param("Adam", marks=LONG)])
def test_keras_has_steps(debug_launcher, python: str, optimizer: str) -> None:
    command = [python, script("keras_train.py"), optimizer]
    plain = subprocess.run(command, env=clean_environment(**ENVIRONMENT), capture_output=True, text=True, check=True)
    run = debug_launcher(*WATCH, command=command)
    assert run.code == 0, run.stderr
    assert run.result["steps"] == 8
    assert losses(run.stdout) == losses(plain.stdout) != []
    run = debug_launcher(*WATCH, command=[*command, "3"])
    assert run.result["hits"][0]["step"] == 3


# ---- late servers


def test_a_late_server_finds_the_job(tmp_path: Path, start_job) -> None:
    """The job starts without a server; one that is started later shows and stops it."""
    first = Server(tmp_path / "data")
    port = first.addresses["debugger_address"].rpartition(":")[2]
    environment = first.job_environment(GRAPHDBG_JOB="late", GRAPHDBG_CONNECT_TIMEOUT="0.2", **ENVIRONMENT)
    first.stop()
    process = start_job([PYTHON, script("one_process.py"), "1000000"], environment)
    assert process.stdout
    while "step 5 " not in process.stdout.readline():
        assert process.poll() is None
    # A full pipe would stop the program.
    threading.Thread(target=process.stdout.read, daemon=True).start()
    for _ in range(2):
        # The second server takes the place of the first.
        server = Server(tmp_path / "data", f"--debugger-port={port}")
        try:
            server.wait_for_state("late", "running")
            server.control("late", "pause")
            paused = server.wait_for_state("late", "paused", pause_reason="user")
            assert paused["step"] > 5
            server.control("late", "step", steps=2)
            # The end of a step within which it was paused counts as the first.
            server.wait_for_state("late", "paused", step=paused["step"] + (1 if paused["node"] else 2))
            server.control("late", "continue")
            server.wait_for_state("late", "running")
        finally:
            server.stop()
    process.kill()


# ---- `graphdbg run` and its options


def test_steps_hold_after_a_pause(tmp_path: Path, start_job) -> None:
    result = tmp_path / "result.json"
    options = ["--steps=5", "--break-on=expr:step == 3 && max > -1e9", f"--result={result}"]
    command = [GRAPHDBG, "run", *options, "--", PYTHON, script("one_process.py"), "20"]
    # The server of the run has its data directory there.
    process = start_job(command, clean_environment(**ENVIRONMENT, TMPDIR=str(tmp_path)))
    client = wait_until("the server of the run", lambda: client_of_run(tmp_path), SECONDS)

    def paused() -> bool:
        jobs = client.get("/jobs")["jobs"]
        return bool(jobs and jobs[0]["pause_reason"] == "watchpoint" and jobs[0]["state"] == "paused")

    wait_until("the pause in step 3", paused, SECONDS)
    watchpoint = client.get("/jobs/one_process/watchpoints")["watchpoints"][0]["id"]
    client.delete(f"/jobs/one_process/watchpoints/{watchpoint}")
    client.post("/jobs/one_process/control", {"command": "continue"})
    process.communicate(timeout=SECONDS)
    written: Json = json.loads(result.read_text())
    assert (written["status"], written["steps"]) == ("terminated", 5)


def client_of_run(folder: Path) -> Client | None:
    servers = [server_of(directory) for directory in folder.glob("graphdbg-*")]
    return Client.from_data_dir(servers[0].address, servers[0].data_dir) if servers and servers[0] else None


def test_exit_code_after_hits(debug_run) -> None:
    command = [PYTHON, script("one_process.py"), "4", "3"]
    run = debug_run(*WATCH, command=command, **ENVIRONMENT)
    assert run.result["hits"] and run.code == 0
    run = debug_run(*WATCH, "--hit-exit-code=9", command=command, **ENVIRONMENT)
    assert run.result["exit_code"] == 0
    assert run.code == 9
    run = debug_run(*WATCH, "--hit-exit-code=9", command=command[:-1], **ENVIRONMENT)
    assert run.code == 0


def test_enable_debugger_false_is_explained() -> None:
    start = [GRAPHDBG, "start", "--enable-debugger", "False"]
    run = subprocess.run(start, env=clean_environment(), capture_output=True, text=True, timeout=60)
    assert run.returncode == 2
    assert "leave GRAPHDBG_ENABLE out of its environment" in run.stderr
