"""Values that real PyTorch jobs save: read from Python, by the library of the format, and through the server."""

from __future__ import annotations

import contextlib
import json
import os
import shutil
import signal
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

import graphdbg
import pytest
from conftest import GRAPHDBG, PACKAGE, clean_environment, wait_until
from graphdbg.client.http import HttpClient

numpy = pytest.importorskip("numpy")
safetensors = pytest.importorskip("safetensors")

# Writes each weight as it is at the end of its step, and the results of the listed ops.
TRAIN = """
import sys, numpy, torch
torch.manual_seed(0)
class Net(torch.nn.Module):
    def __init__(self):
        super().__init__()
        self.fc = torch.nn.Linear(8, 16)
        self.out = torch.nn.Linear(16, 1)
    def forward(self, x):
        y = torch.relu(self.fc(x))
        self.kept = {
            "bfloat16": y.to(torch.bfloat16), "half": y.half(), "double": y.double(), "int": (y * 100).long(),
            "bool": y > 0, "complex": torch.complex(y.double(), -y.double()), "transposed": (y + 1).t() * 1,
            "empty": y[:0] * 2,
        }
        return self.out(y)
model = Net()
optimizer = torch.optim.SGD(model.parameters(), lr=0.1)
x, y = torch.randn(64, 8), torch.randn(64, 1)
for step in range(1, int(sys.argv[1]) + 1):
    if step % 2 == 0:
        model.eval()
        with torch.no_grad():
            model(x[:4])
        model.train()
    optimizer.zero_grad()
    torch.nn.functional.mse_loss(model(x), y).backward()
    optimizer.step()
    numpy.save(f"weight-{step}.npy", model.fc.weight.detach().numpy())
    for name, value in model.kept.items():
        torch.save(value.detach(), f"{name}-{step}.pt")
    print(step, flush=True)
"""


def start(directory: Path, script: str, configuration: dict[str, Any], *arguments: str) -> subprocess.Popen[str]:
    """Starts a job that records to runs/abc, with this configuration."""
    (directory / "train.py").write_text(script)
    (directory / "job.json").write_text(json.dumps({"record": {"overhead": 0}} | configuration))
    environment = clean_environment(
        GRAPHDBG_RECORD="runs",
        GRAPHDBG_JOB="abc",
        GRAPHDBG_CONFIG="job.json",
        OMP_NUM_THREADS="1",
        PYTHONPATH=f"{PACKAGE.parent}:{PACKAGE / '_inject'}",
    )
    return subprocess.Popen(
        [sys.executable, "train.py", *arguments],
        cwd=directory,
        env=environment,
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
    )


def recorded(directory: Path, script: str, configuration: dict[str, Any], *arguments: str) -> graphdbg.runs.Run:
    """The run of a job that ended well."""
    job = start(directory, script, configuration, *arguments)
    _, errors = job.communicate(timeout=300)
    assert job.returncode == 0, errors
    assert "dropped" not in errors
    return graphdbg.open_run(directory / "runs" / "abc")


def everything(**settings: Any) -> dict[str, Any]:
    return {"collections": [{"name": "all", "level": "tensors"} | settings]}


def as_bytes(array: Any) -> bytes:
    return bytes(numpy.ascontiguousarray(array).tobytes())


def test_values_are_those_of_the_program_to_the_bit(tmp_path: Path) -> None:
    torch = pytest.importorskip("torch")
    run = recorded(tmp_path, TRAIN, everything(), "4")
    weight = run.tensor("forward/fc/weight")
    for step in range(1, 5):
        assert as_bytes(weight.value(step)) == as_bytes(numpy.load(tmp_path / f"weight-{step}.npy"))
    saved = run.table("tensors").to_pandas()
    assert run.damages == []
    train = saved[(saved["mode"] == 1) | (saved["mode"] == "train")]
    contents = {}
    for name in train[train["step"] == 3]["tensor"].unique():
        value = run.tensor(name).value(3, mode="train")
        contents.setdefault((value.dtype.name, value.shape), set()).add(as_bytes(value))
    for name, dtype in {
        "half": "float16",
        "double": "float64",
        "int": "int64",
        "bool": "bool",
        "complex": "complex128",
        "transposed": "float32",
    }.items():
        expected = torch.load(tmp_path / f"{name}-3.pt").numpy()
        assert as_bytes(expected) in contents[dtype, expected.shape], name
    expected = torch.load(tmp_path / "bfloat16-3.pt").float().numpy()
    bfloat16 = [each for (dtype, _), values in contents.items() if dtype in ("bfloat16", "float32") for each in values]
    as_floats = expected.astype("f4")
    truncated = (as_floats.view("u4") >> 16).astype("u2")
    assert as_bytes(as_floats) in bfloat16 or as_bytes(truncated) in bfloat16


def test_files_are_read_by_the_library_of_the_format(tmp_path: Path) -> None:
    run = recorded(tmp_path, TRAIN, everything(), "4")
    directory = tmp_path / "runs" / "abc" / "rank-00000" / "tensors"
    # An evaluation within a step has a file of its own. The slice that it reads is made before, and something is
    # computed behind the last step.
    assert sorted(file.name for file in directory.iterdir()) == [
        "00000001.safetensors",
        "00000002-2.safetensors",
        "00000002-3.safetensors",
        "00000002.safetensors",
        "00000003.safetensors",
        "00000004-2.safetensors",
        "00000004-3.safetensors",
        "00000004.safetensors",
        "00000005.safetensors",
    ]
    for file, mode in (("00000002-2", "eval"), ("00000002-3", "train")):
        with safetensors.safe_open(directory / f"{file}.safetensors", "pt") as read:
            metadata = read.metadata()
            assert (metadata["run"], metadata["rank"], metadata["step"]) == ("abc", "0", "2")
            assert (metadata["mode"], metadata["pass"]) == (mode, "1")
            keys = set(read.keys())
            complex_keys = {key.removeprefix("complex128.") for key in metadata if key.startswith("complex128.")}
            assert complex_keys and complex_keys <= keys
            pairs = read.get_tensor(min(complex_keys))
            value = run.tensor(min(complex_keys)).value(2, mode=mode)
            assert as_bytes(pairs.numpy()) == as_bytes(value) and pairs.shape == (*value.shape, 2)
            if mode == "train":
                weight = read.get_tensor("forward/fc/weight:0").numpy()
                assert as_bytes(weight) == as_bytes(numpy.load(tmp_path / "weight-2.npy"))


def test_the_server_returns_recorded_values(tmp_path: Path) -> None:
    run = recorded(tmp_path, TRAIN, everything(), "3")
    data_dir = tmp_path / "data"
    command = [GRAPHDBG, "start", "--json", "--port=0", "--debugger-port=0", f"--data-dir={data_dir}"]
    process = subprocess.Popen(
        [*command, "--runs", str(tmp_path / "runs")], stdout=subprocess.PIPE, text=True, env=clean_environment()
    )
    try:
        assert process.stdout
        client = HttpClient.from_data_dir(json.loads(process.stdout.readline())["http_address"], data_dir)
        query: dict[str, Any] = {"name": "forward/fc/weight:0", "step": 2}
        data, _ = client.fetch("/runs/abc/tensor", "application/octet-stream", **query)
        assert data == as_bytes(run.tensor("forward/fc/weight").value(2))
        part, _ = client.fetch("/runs/abc/tensor", "application/octet-stream", slice="[3:5, ::2]", **query)
        assert part == as_bytes(run.tensor("forward/fc/weight").value(2)[3:5, ::2])
        history = client.get("/runs/abc/tensor/history", name="forward/fc/weight:0")
        assert history["saved_steps"] == [1, 2, 3]
    finally:
        process.terminate()
        process.wait(timeout=30)


def test_a_file_that_was_not_finished_is_read_and_finished(tmp_path: Path, start_job: Callable[..., Any]) -> None:
    job = start(tmp_path, TRAIN, everything(), "1000000")
    assert job.stdout
    for _ in range(20):
        job.stdout.readline()
    job.send_signal(signal.SIGKILL)
    job.wait(timeout=60)
    directory = tmp_path / "runs" / "abc" / "rank-00000" / "tensors"
    run = graphdbg.open_run(directory.parents[1])
    assert run.ended == "lost"
    weight = run.tensor("forward/fc/weight")
    finished = [int(file.name[:8]) for file in directory.glob("*.safetensors")]
    for step in sorted(set(finished) & set(weight.steps())):
        assert as_bytes(weight.value(step)) == as_bytes(numpy.load(tmp_path / f"weight-{step}.npy"))
    subprocess.run([GRAPHDBG, "pack", str(directory.parents[1])], check=True, env=clean_environment(), timeout=120)
    for file in directory.glob("*.safetensors"):
        with safetensors.safe_open(file, "pt") as read:
            assert read.metadata()["run"] == "abc"


SAVES = """
import sys, graphdbg, torch
model = torch.nn.Linear(4, 2)
optimizer = torch.optim.SGD(model.parameters(), lr=0.1)
x = torch.arange(12.0).reshape(3, 4)
for step in range(1, 5):
    optimizer.zero_grad()
    loss = model(x).square().mean()
    loss.backward()
    graphdbg.save_scalar("accuracy", step / 4)
    graphdbg.save_scalar("loss", loss)
    graphdbg.save_tensor("samples", x.t() * step)
    graphdbg.save_tensor("labels", [[step, 2 * step]], collection="labels")
    if step % 2 == 0:
        with graphdbg.mode("eval"):
            model(x)
            model(x)
            graphdbg.save_scalar("validation", step)
    optimizer.step()
"""


def test_a_program_saves_scalars_and_tensors(tmp_path: Path) -> None:
    run = recorded(tmp_path, SAVES, {"collections": [{"name": "losses"}, {"name": "labels", "level": "tensors"}]})
    assert sorted(run.tensors(collection="metrics")) == ["accuracy:0", "loss:0", "validation:0"]
    assert run.tensors(collection="default") == ["samples:0"]
    assert run.tensors(collection="labels") == ["labels:0"]
    accuracy = run.tensor("accuracy")
    assert [float(accuracy.value(step)) for step in range(1, 5)] == [0.25, 0.5, 0.75, 1.0]
    samples = run.tensor("samples").value(3)
    assert samples.dtype == numpy.float32
    assert (samples == numpy.arange(12.0).reshape(3, 4).T * 3).all()
    assert run.tensor("labels").value(2).tolist() == [[2, 4]]


def test_a_block_in_a_mode_is_one_pass(tmp_path: Path) -> None:
    run = recorded(tmp_path, SAVES, {})
    assert run.modes() == ["train", "eval"]
    assert run.steps("eval") == [2, 4]
    assert run.steps("train") == [1, 2, 3, 4]
    validation = run.tensor("validation").history("mean")
    assert validation[["step", "mode", "mode_step", "mean"]].values.tolist() == [
        [2, "eval", 1, 2.0],
        [4, "eval", 2, 4.0],
    ]
    accuracy = run.tensor("accuracy").history("mean")
    assert set(accuracy["mode"]) == {"train"}


def test_saving_without_graphdbg_does_nothing() -> None:
    script = (
        "import graphdbg\ngraphdbg.save_scalar('a', 1)\ngraphdbg.save_tensor('b', [1])\n"
        "with graphdbg.mode('eval'): pass\n"
        "try: graphdbg.mode('test')\nexcept ValueError as error: print(error)\n"
    )
    done = subprocess.run([sys.executable, "-c", script], env=clean_environment(), capture_output=True, text=True)
    assert done.stdout == "no mode 'test'; there are 'train', 'eval' and 'predict', and None\n"
    assert done.returncode == 0


def test_a_saved_value_cannot_have_the_name_of_an_op(tmp_path: Path) -> None:
    script = SAVES + "try: graphdbg.save_scalar('forward/weight', 1)\nexcept ValueError as error: print(error)\n"
    job = start(tmp_path, script, {})
    output, errors = job.communicate(timeout=300)
    assert job.returncode == 0, errors
    assert output == "cannot save 'forward/weight': an op or tensor of the program has this name\n"


def test_weights_are_compared_with_their_last_recorded_values(tmp_path: Path) -> None:
    run = recorded(tmp_path, TRAIN, {}, "4")
    changes = run.table("changes").to_pandas()
    changes = changes[changes["tensor"] == "forward/fc/weight:0"].sort_values("step")
    assert changes["step"].tolist() == [2, 3, 4]
    assert changes["compared_step"].tolist() == [1, 2, 3]
    for step, change in zip(changes["step"], changes.to_dict("records"), strict=True):
        now, before = (numpy.load(tmp_path / f"weight-{each}.npy").astype("f8") for each in (step, step - 1))
        assert change["change_abs_mean"] == pytest.approx(numpy.abs(now - before).mean(), rel=1e-12)
        assert change["change_l2"] == pytest.approx(numpy.linalg.norm(now - before), rel=1e-12)
        assert change["previous_l2"] == pytest.approx(numpy.linalg.norm(before), rel=1e-12)
        changed = ~numpy.isclose(now, before, rtol=1e-5, atol=1e-8)
        assert change["changed_count"] == changed.sum()


def test_after_a_hit_the_values_of_everything_are_saved(tmp_path: Path) -> None:
    configuration = {"record": {"overhead": 0, "after_hit": 2, "keep": "ring"}, "watchpoints": ["nan"]}
    script = TRAIN.replace("    optimizer.step()\n", "    optimizer.step()\n    if step == 3: x[0, 0] = float('nan')\n")
    run = recorded(tmp_path, script, configuration, "9")
    saved = sorted({int(step) for step in run.table("tensors").to_pandas()["step"]})
    (first, *_) = (hit.step for hit in run.hits())
    assert saved[0] in (first, first + 1) and saved[-1] == first + 2
    assert as_bytes(run.tensor("forward/fc/weight").value(first + 1)) == as_bytes(
        numpy.load(tmp_path / f"weight-{first + 1}.npy")
    )


def test_a_run_is_packed_when_its_job_ends(tmp_path: Path) -> None:
    pytest.importorskip("pyarrow")
    run = recorded(tmp_path, SAVES, {})
    directory = tmp_path / "runs" / "abc"
    # The process that packs gives way to all others.
    wait_until("the files", lambda: list(directory.glob("parquet/records/rank=0/*.parquet")), seconds=400)
    # Servers read the log.
    assert list(directory.glob("rank-00000/log/*.gdbl"))
    assert run.table("steps").equals(graphdbg.open_run(directory).table("steps"))


def test_a_run_is_not_packed_if_so_configured(tmp_path: Path) -> None:
    recorded(tmp_path, SAVES, {"record": {"parquet": False}})
    assert not [each for each in processes() if str(tmp_path) in each]


def processes() -> list[str]:
    """The command lines of all processes."""
    lines = []
    for file in Path("/proc").glob("[0-9]*/cmdline"):
        with contextlib.suppress(OSError):
            lines.append(file.read_bytes().decode(errors="replace"))
    return lines


LARGE = """
import graphdbg, torch
model = torch.nn.Linear(4, 2)
optimizer = torch.optim.SGD(model.parameters(), lr=0.1)
for step in range(1, 61):
    optimizer.zero_grad()
    model(torch.ones(3, 4)).square().mean().backward()
    graphdbg.save_tensor("large", torch.full((1 << 18,), float(step)))
    optimizer.step()
"""


@pytest.mark.skipif(os.geteuid() != 0 or shutil.which("mount") is None, reason="needs root to mount a small disk")
def test_values_stop_before_the_disk_is_full_and_statistics_go_on(tmp_path: Path) -> None:
    (tmp_path / "runs").mkdir()
    mount = ["mount", "-t", "tmpfs", "-o", "size=24m", "tmpfs", str(tmp_path / "runs")]
    subprocess.run(mount, check=True)
    try:
        settings = {"overhead": 0, "ring": "2MiB", "when_full": "block", "parquet": False}
        job = start(tmp_path, LARGE, {"record": settings})
        _, errors = job.communicate(timeout=300)
        assert job.returncode == 0, errors
        assert errors.count("is more than 90 % full; no values are recorded until there is room") == 1
        run = graphdbg.open_run(tmp_path / "runs" / "abc")
        large = run.tensor("large")
        written = 0
        for step in large.steps():
            with contextlib.suppress(graphdbg.runs.DataLossError, graphdbg.runs.NotRecorded):
                assert (large.value(step) == step).all()
                written += 1
        assert 10 < written < 30
        assert len(large.history("mean")) == 60
        assert (run.table("steps").to_pandas()["dropped"].fillna(0) == 0).all()
        ended = json.loads((run_directory(tmp_path) / "rank.json").read_text())["ended"]
        assert ended["tensors_dropped"] == 60 - written
    finally:
        subprocess.run(["umount", str(tmp_path / "runs")], check=True)


def test_values_stop_at_their_limit_and_statistics_go_on(tmp_path: Path) -> None:
    job = start(tmp_path, LARGE, {"record": {"overhead": 0, "max_bytes": "10MiB", "when_full": "block"}})
    _, errors = job.communicate(timeout=300)
    assert job.returncode == 0, errors
    assert errors.count("record.max_bytes") == 1
    run = graphdbg.open_run(tmp_path / "runs" / "abc")
    assert sorted(run.table("tensors").to_pandas()["step"].astype(int)) == list(range(1, 11))
    assert len(run.tensor("large").history("mean")) == 60
    ended = json.loads((run_directory(tmp_path) / "rank.json").read_text())["ended"]
    assert ended["tensors_dropped"] == 50


def run_directory(tmp_path: Path) -> Path:
    return tmp_path / "runs" / "abc" / "rank-00000"
