"""Recorded runs of real PyTorch jobs, read from Python: after their end, after a kill, and while they run."""

from __future__ import annotations

import json
import signal
import subprocess
import sys
from pathlib import Path

import graphdbg
import pytest
from conftest import PACKAGE, clean_environment

numpy = pytest.importorskip("numpy")
pytest.importorskip("duckdb")
pytest.importorskip("pandas")

from graphdbg.runs import open_run  # noqa: E402
from graphdbg.runs.pack_run import pack_run  # noqa: E402
from graphdbg.runs.unpack import unpack_run  # noqa: E402

TRAIN = """
import json, os, signal, sys, torch
torch.manual_seed(0)
model = torch.nn.Sequential(torch.nn.Linear(4, 8), torch.nn.ReLU(), torch.nn.Linear(8, 1))
optimizer = torch.optim.SGD(model.parameters(), lr=0.1)
x = torch.randn(64, 4)
for step in range(1, 21):
    loss = torch.nn.functional.mse_loss(model(x), x.sum(1, keepdim=True))
    optimizer.zero_grad()
    loss.backward()
    optimizer.step()
    print(json.dumps({"loss": loss.item(), "weight": model[0].weight.abs().max().item()}), flush=True)
    if sys.argv[1:] == ["kill"] and step == 17:
        os.kill(os.getpid(), signal.SIGKILL)
    if sys.argv[1:] == ["wait"] and step == 5:
        sys.stdin.read()
    if step % 5 == 0 and step < 20:
        model.eval()
        with torch.no_grad():
            model(x)
        model.train()
"""


@pytest.fixture
def start(tmp_path):
    """Starts the script with an argument, recording to runs/abc without a server."""
    script = tmp_path / "train.py"
    script.write_text(TRAIN)

    def start(argument: str = "", **variables: str) -> subprocess.Popen[str]:
        environment = clean_environment(
            GRAPHDBG_ENABLE="1",
            GRAPHDBG_RECORD=str(tmp_path / "runs"),
            GRAPHDBG_JOB="abc",
            GRAPHDBG_RECORD_OVERHEAD="0",
            # The tests pack it themselves.
            GRAPHDBG_RECORD_SETTINGS='{"record": {"parquet": false}}',
        )
        environment = {name: value for name, value in (environment | variables).items() if value}
        # Where graphdbg is not installed but imported from a directory, it is not loaded by itself.
        environment["PYTHONPATH"] = f"{PACKAGE.parent}:{PACKAGE / '_inject'}"
        command = [sys.executable, str(script), *filter(None, [argument])]
        return subprocess.Popen(
            command, env=environment, stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True
        )

    return start


def printed(output: str) -> list[dict[str, float]]:
    return [json.loads(line) for line in output.splitlines()]


def bytes_of(directory: Path) -> bytes:
    return b"".join(block.records.tobytes() for block in open_run(directory).rank(0).log.blocks())


def assert_recorded(run: graphdbg.runs.Run, expected: list[dict[str, float]]) -> None:
    """Compares the losses that were recorded with those that the script printed."""
    (loss,) = run.tensors(collection="losses")
    history = run.tensor(loss).history("mean")
    assert history["mode_step"].tolist() == list(range(1, len(expected) + 1))
    assert history["mean"].tolist() == pytest.approx([each["loss"] for each in expected], rel=1e-6)
    assert float(run.tensor(loss).value(3)) == pytest.approx(expected[2]["loss"], rel=1e-6)


def test_what_was_recorded_is_what_the_job_computed(start, tmp_path):
    output, errors = start().communicate(timeout=300)
    directory = tmp_path / "runs" / "abc"
    run = open_run(directory)
    assert run.ended == "exit" and run.damages == [], errors
    assert_recorded(run, printed(output))
    assert run.steps() == list(range(1, 21)) and set(run.modes()) >= {"train"}
    assert run.info["program"] == "train.py" and run.graph().select_nodes("*relu*")
    before = bytes_of(directory)
    query = "select tensor, count(*) as n, sum(mean) as m from statistics group by tensor order by tensor"
    answer = run.sql(query).to_pylist()
    report = pack_run(str(directory))
    assert report.ended and report.rows == len(before) // 160
    packed = open_run(directory)
    assert packed.sql(query).to_pylist() == answer
    assert_recorded(packed, printed(output))
    unpack_run(str(directory))
    assert bytes_of(directory) == before


def test_a_killed_job_lost_nothing_that_it_recorded(start, tmp_path):
    process = start("kill")
    output, errors = process.communicate(timeout=300)
    assert process.returncode == -signal.SIGKILL
    directory = tmp_path / "runs" / "abc"
    run = open_run(directory)
    assert run.ended == "lost" and run.damages == [], errors
    assert_recorded(run, printed(output))
    assert run.steps()[-1] == 17
    before = bytes_of(directory)
    assert pack_run(str(directory)).ended
    unpack_run(str(directory))
    assert bytes_of(directory) == before
    assert_recorded(open_run(directory), printed(output))


def test_a_hook_configuration_of_sagemaker_says_what_is_recorded(start, tmp_path):
    hook = {
        "LocalPath": str(tmp_path / "runs"),
        "HookParameters": {"save_interval": "5", "reductions": "mean,l2_norm"},
        "CollectionConfigurations": [
            {"CollectionName": "losses", "CollectionParameters": {"save_interval": "4", "save_steps": "2"}},
            {"CollectionName": "relu", "CollectionParameters": {"include_regex": "relu", "end_step": "11"}},
        ],
    }
    file = tmp_path / "hook.json"
    file.write_text(json.dumps(hook))
    output, errors = start(GRAPHDBG_RECORD="", GRAPHDBG_CONFIG=str(file)).communicate(timeout=300)
    run = open_run(tmp_path / "runs" / "abc")
    assert run.steps() == list(range(1, 21)) and list(run.collections()) == ["losses", "relu"], errors
    (loss,) = run.tensors(collection="losses")
    # The first step is always saved.
    assert run.tensor(loss).steps(mode="train") == [1, 2, 4, 8, 12, 16, 20]
    (relu,) = run.tensors(collection="relu")
    assert run.tensor(relu).steps(mode="train") == [1, 5, 10]
    assert float(run.tensor(loss).value(8)) == pytest.approx(printed(output)[7]["loss"], rel=1e-6)


def test_a_job_that_was_started_again_is_read_as_one(start, tmp_path):
    start("kill").communicate(timeout=300)
    start().communicate(timeout=300)
    run = open_run(tmp_path / "runs" / "abc", chain=True)
    assert run.id == "abc.2" and run.info["resumes"] == "abc" and run.ended == "exit"
    assert run.steps() == list(range(1, 17 + 20 + 1))
    (loss,) = run.tensors(collection="losses")
    losses = run.tensor(loss).history("mean")
    # The script has a fixed seed.
    assert losses["mean"].tolist()[:17] == losses["mean"].tolist()[17:34]


def test_a_running_job_is_read_and_waited_for(start, tmp_path):
    process = start("wait")
    directory = tmp_path / "runs" / "abc"
    try:
        lines = [process.stdout.readline() for _ in range(5)]
        run = open_run(directory)
        run.wait_for(5, timeout=60)
        assert run.ended is None and not (rest := run.steps()[5:]), rest
        assert_recorded(run, printed("".join(lines)))
        process.stdin.close()
        process.stdin = None
        run.wait_for(20, timeout=60)
        assert [step.step for step in run.follow()] == list(range(1, 21))
    finally:
        process.stdin = None
        output, errors = process.communicate(timeout=300)
    run.refresh()
    assert run.ended == "exit", errors
    assert_recorded(run, printed("".join(lines) + output))
