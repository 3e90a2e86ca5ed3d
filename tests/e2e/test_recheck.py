"""`graphdbg recheck` finds in a recording what watchpoints found in the job."""

from __future__ import annotations

import io
import json
import shutil
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

import graphdbg
import pytest
from conftest import GRAPHDBG, HOSTS, Finished, clean_environment, wait_until
from graphdbg.cli.progress import Progress

# The logarithm of a negative prediction is NaN.
TRAINS = """
import torch
torch.manual_seed(0)
x = torch.randn(64, 8)
y = (x[:, 0] * 3).exp()
net = torch.nn.Sequential(torch.nn.Linear(8, 16), torch.nn.ReLU(), torch.nn.Linear(16, 1))
optimizer = torch.optim.Adam(net.parameters(), lr=1e-2)
for step in range(6):
    optimizer.zero_grad()
    prediction = net(x).squeeze(1) + 2 - step * 0.5
    loss = (prediction.log() - y.log()).pow(2).mean()
    loss.backward()
    optimizer.step()
"""
CONDITIONS = ["nan", "abs_max_gt:1.5", "expr:zero_count > 0 && step > 1", "min_lt:-1"]
# All conditions that need only statistics, with limits that tensors of the scripts exceed. `absorbed=stop`: by default,
# the conditions on infinities also depend on later ops, which statistics do not show.
EVERY = [
    "nan",
    *(f"{name}:absorbed=stop" for name in ("inf", "overflow", "tensor_overflow", "weight_overflow")),
    "gradient_exploding:absorbed=stop",
    "tensor_too_large:abs_mean_gt=0.4:max_gt=2",
    "tensor_too_small:mean_lt=-0.2",
    "tensor_all_zero",
    "tensor_range:max_min_gt=2",
    "tensor_variance:variance_gt=0.5",
    "weight_too_large:max_gt=0.3",
    "weight_too_small:abs_mean_lt=0.15",
    "weight_change_too_large:abs_mean_update_ratio_gt=0.002",
    "weight_change_too_small:abs_mean_update_ratio_lt=0.002",
    "gradient_too_large:max_gt=0.1",
    "gradient_vanishing:abs_mean_lt=0.02",
    "activation_range:max_min_gt=1",
    "activation_inactive:inactive_percentage_ge=40",
    *("max_gt:1", "max_lt:0", "min_gt:0", "min_lt:-1", "max_min_gt:2", "max_min_lt:0.1"),
    *("mean_gt:0.3", "mean_lt:-0.3", "sd_gt:1", "sd_lt:0.1"),
    *("abs_max_gt:2", "abs_max_lt:0.1", "abs_mean_gt:1", "abs_mean_lt:0.05"),
    "expr:l2 > 2 && zero_count < 3 || negative_count > 5 && step > 2",
]
SCRIPTS = sorted(path.stem for path in (HOSTS / "planted").glob("*.py"))


def recheck(*arguments: str) -> subprocess.CompletedProcess[str]:
    return subprocess.run(
        [GRAPHDBG, "recheck", *arguments], capture_output=True, text=True, timeout=120, env=clean_environment()
    )


def found(hits: list[dict[str, Any]], condition: str) -> set[tuple[int, str, int]]:
    """Without values from before the first step, which no step contains."""
    return {(hit["step"], hit["node"], hit["slot"]) for hit in hits if hit["condition"] == condition and hit["step"]}


@pytest.fixture
def recorded(debug_run: Callable[..., Finished], tmp_path: Path) -> tuple[Finished, Path]:
    """A job that was watched and recorded at the same time."""
    script = tmp_path / "train.py"
    script.write_text(TRAINS)
    config = tmp_path / "job.yaml"
    config.write_text("record: {overhead: 0, parquet: false}\ncollections: [{name: all}]\n")
    run = debug_run(
        "--no-wait",
        "--on-hit=continue",
        f"--break-on={','.join(CONDITIONS)}",
        f"--record={tmp_path / 'runs'}",
        f"--config={config}",
        command=[sys.executable, str(script)],
    )
    assert run.code == 0, run.stderr
    return run, Path(run.result["run"])


def test_a_recording_has_the_hits_of_the_job(recorded: tuple[Finished, Path]) -> None:
    run, directory = recorded
    done = recheck(str(directory), *CONDITIONS, "--json")
    assert done.returncode == 1, done.stderr
    for check in json.loads(done.stdout)["checks"]:
        condition = check["condition"]["id"]
        live = found(run.result["hits"], condition)
        assert live, condition
        assert found(check["hits"], condition) == live
        assert check["hit_count"] == len(check["hits"])


@pytest.mark.long(but=["norm_of_zero"])
@pytest.mark.parametrize("script", SCRIPTS)
def test_every_condition_on_statistics_matches_the_same_tensors(
    debug_run: Callable[..., Finished], tmp_path: Path, script: str
) -> None:
    config = tmp_path / "job.yaml"
    config.write_text("record: {overhead: 0}\ncollections: [{name: all, reductions: {change: true}}]\n")
    options = [f"--break-on={each}" for each in EVERY]
    path = HOSTS / "planted" / f"{script}.py"
    run = debug_run(
        "--no-wait",
        "--on-hit=continue",
        *options,
        f"--record={tmp_path / 'runs'}",
        f"--config={config}",
        command=[sys.executable, str(path)],
    )
    assert run.code == 0, run.stderr
    done = recheck(run.result["run"], *EVERY, "--json")
    assert done.returncode == 1, done.stderr
    matched = 0
    for check in json.loads(done.stdout)["checks"]:
        condition = check["condition"]["id"]
        live = found(run.result["hits"], condition)
        if "change" in condition:
            # A watchpoint knows the values before the first step, but the recording does not have them.
            live = {place for place in live if place[0] > 1}
        assert found(check["hits"], condition) == live, check["condition"]
        matched += bool(live)
    assert matched > len(EVERY) // 2


def test_python_checks_as_the_command_does(recorded: tuple[Finished, Path]) -> None:
    run, directory = recorded
    opened = graphdbg.open_run(directory)
    hits = opened.check(CONDITIONS)
    for condition in ("nan", "abs_max_gt", "min_lt"):
        of_condition = {(hit.step, hit.node, hit.slot) for hit in hits if hit.condition == condition}
        assert of_condition == found(run.result["hits"], condition)
    assert {hit.step for hit in opened.check("nan", steps=(6, None))} == {6}
    assert opened.check("nan", ranks=[0]) == opened.check("nan")
    with pytest.raises(graphdbg.GraphdbgError, match="unknown condition 'nothing'"):
        opened.check("nothing")
    with pytest.raises(graphdbg.GraphdbgError, match="from the first to the last, without gaps"):
        opened.check("nan", steps=range(1, 6, 2))


def test_a_run_without_its_log_has_the_same_hits(
    recorded: tuple[Finished, Path], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    pytest.importorskip("pyarrow")
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path / "cache"))
    _, directory = recorded
    # As if the job had been started again.
    second = directory.with_name(f"{directory.name}.2")
    shutil.copytree(directory, second)
    (second / "run.json").write_text(json.dumps({"format": 1, "run": second.name, "resumes": directory.name}))
    expected = json.loads(recheck(str(directory), *CONDITIONS, "--json").stdout)
    url = (tmp_path / "bucket" / "abc").as_uri()
    for pack in ([str(directory), "--to", url], [str(directory)], [str(second)]):
        subprocess.run([GRAPHDBG, "pack", *pack], check=True, capture_output=True, env=clean_environment())
    assert list(directory.glob("rank-*/log/*")) == []
    for place in (url, str(directory)):
        done = recheck(place, *CONDITIONS, "--json", "--ranks=0:0")
        assert done.returncode == 1, done.stderr
        assert json.loads(done.stdout) == expected
    assert recheck(url, "nan", "--ranks=1").returncode != 0
    hits = graphdbg.open_run(directory).check(CONDITIONS, steps=(2, None))
    assert len(hits) == sum(hit["step"] >= 2 for check in expected["checks"] for hit in check["hits"])
    chained = graphdbg.open_run(second, chain=True).check(CONDITIONS[:2], steps=(2, 8))
    both = [(hit.condition, hit.step) for hit in hits if hit.condition in ("nan", "abs_max_gt")]
    again = [(condition, step + 6) for condition, step in both]
    again += [(hit["condition"], 7) for check in expected["checks"][:2] for hit in check["hits"] if hit["step"] == 1]
    assert sorted((hit.condition, hit.step) for hit in chained) == sorted(
        [*both, *(each for each in again if each[1] <= 8)]
    )


def test_hits_are_printed_with_their_source_and_limited_to_steps(recorded: tuple[Finished, Path]) -> None:
    _, directory = recorded
    done = recheck(str(directory), "nan", "--steps", "6:6")
    assert done.returncode == 1
    first = done.stdout.splitlines()[0]
    assert first.startswith("step 6  rank 0  ")
    assert "train.py:" in first
    assert all(line.startswith("step 6 ") for line in done.stdout.splitlines())
    assert "nan: " in done.stderr
    nothing = recheck(str(directory), "abs_max_gt:1e30")
    assert (nothing.returncode, nothing.stdout) == (0, "")


def test_wrong_arguments_are_named(recorded: tuple[Finished, Path], tmp_path: Path) -> None:
    _, directory = recorded
    unknown = recheck(str(directory), "nann")
    assert unknown.returncode == 2
    assert "unknown condition 'nann'" in unknown.stderr
    ranks = recheck(str(directory), "nan", "--ranks=0:x")
    assert ranks.returncode == 2 and "expected ranks such as 0:7,12, not 0:x" in ranks.stderr
    absent = recheck(str(tmp_path / "nothing"), "nan")
    assert absent.returncode != 0
    assert "nothing" in absent.stderr


def test_the_graph_of_a_recorded_run_is_exported(recorded: tuple[Finished, Path], tmp_path: Path) -> None:
    onnx = pytest.importorskip("onnx")
    _, directory = recorded
    for kind in ("onnx", "json"):
        file = tmp_path / f"graph.{kind}"
        command = [GRAPHDBG, "export", str(directory), "--format", kind, "-o", str(file), "--json"]
        ran = subprocess.run(command, capture_output=True, text=True, timeout=120, env=clean_environment())
        assert ran.returncode == 0, ran.stderr
        assert json.loads(ran.stdout) == {"file": str(file), "bytes": file.stat().st_size}
    nodes = json.loads((tmp_path / "graph.json").read_text())["nodes"]
    model = onnx.load(tmp_path / "graph.onnx")
    ops = [node["name"] for node in nodes if node["kind"] == "op"]
    assert len(ops) > 10 and set(ops) == {node.name for node in model.graph.node}
    # In the place of a job's id, the id of a run in the directory of runs.
    variables = clean_environment(GRAPHDBG_RECORD=str(directory.parent))
    ran = subprocess.run([GRAPHDBG, "export", directory.name], capture_output=True, cwd=tmp_path, env=variables)
    assert ran.returncode == 0
    assert (tmp_path / f"{directory.name}.onnx").read_bytes() == (tmp_path / "graph.onnx").read_bytes()


def test_what_takes_long_shows_how_far_it_is(monkeypatch: pytest.MonkeyPatch) -> None:
    terminal = io.StringIO()
    monkeypatch.setattr(terminal, "isatty", lambda: True)
    monkeypatch.setattr(sys, "stderr", terminal)
    with Progress("reading"):
        pass
    assert terminal.getvalue() == ""
    with Progress("reading") as progress:
        # Before anything is reported, and between two reports.
        wait_until("the time", lambda: "\rreading, 1 s" in terminal.getvalue())
        progress.show("packing \x1b[31m", 5, 10)
        bar = f"\rpacking ⟨U+001B⟩[31m [{'#' * 15}{'.' * 15}]  50%"
        wait_until("the bar", lambda: bar in terminal.getvalue())
    assert terminal.getvalue().endswith(f"{bar}\r{' ' * (len(bar) - 1)}\r")
