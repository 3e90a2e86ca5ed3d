"""`graphdbg open RUN` and `graphdbg start --runs DIR` on a run that this test writes."""

from __future__ import annotations

import json
import os
import shutil
import signal
import struct
import subprocess
import sys
from pathlib import Path
from urllib.parse import urlsplit

import pytest
from conftest import GRAPHDBG, clean_environment
from graphdbg.cli.client import Client

RECORD_BYTES = 160
BEGIN, END = 3, 4
TRAIN = 1


def crc32c(data: bytes) -> int:
    crc = 0xFFFFFFFF
    for byte in data:
        crc ^= byte
        for _ in range(8):
            crc = crc >> 1 ^ (0x82F63B78 if crc & 1 else 0)
    return crc ^ 0xFFFFFFFF


def mark(position: int, kind: int, step: int) -> bytes:
    head = struct.pack("<HHQIHBBIHH", kind, 0, step, 0, 0, 0, TRAIN, 0, 0, 0)
    body = (head + struct.pack("<3Q", 1_700_000_000_000_000_000 + step, step, step)).ljust(RECORD_BYTES - 4, b"\0")
    return struct.pack("<I", crc32c(struct.pack("<Q", position) + body)) + body


@pytest.fixture
def run(tmp_path: Path) -> Path:
    """A run of one rank with three steps, whose process was killed."""
    run = tmp_path / "runs" / "night 7"
    rank = run / "rank-00000"
    (rank / "log").mkdir(parents=True)
    (run / "run.json").write_text(json.dumps({"format": 1, "program": "train.py"}))
    (rank / "rank.json").write_text(json.dumps({"format": 1, "rank": 0, "ended": None}))
    records = b"".join(mark(i, (BEGIN, END)[i % 2], i // 2 + 1) for i in range(6))
    header = b"GDBGLOG\1" + struct.pack("<IIQQ", 64, RECORD_BYTES, 0, 0)
    (rank / "log" / f"{0:020}.gdbl.open").write_bytes(header.ljust(64, b"\0") + records)
    return run


def opened(process: subprocess.Popen[str]) -> dict[str, str]:
    assert process.stdout
    addresses: dict[str, str] = json.loads(process.stdout.readline())
    return addresses


def test_open_shows_a_run_until_ctrl_c(run: Path) -> None:
    command = [GRAPHDBG, "open", str(run), "--json"]
    process = subprocess.Popen(command, stdout=subprocess.PIPE, text=True, env=clean_environment())
    try:
        addresses = opened(process)
        assert addresses["run"] == "night 7"
        assert urlsplit(addresses["url"]).fragment.startswith("/runs/night%207?code=")
    finally:
        process.send_signal(signal.SIGINT)
        assert process.wait(timeout=30) == 0


def test_a_run_at_a_url_is_fetched_once(tmp_path: Path) -> None:
    pytest.importorskip("pyarrow")
    script = tmp_path / "train.py"
    script.write_text(
        "import torch\nnet = torch.nn.Linear(2, 1)\noptimizer = torch.optim.SGD(net.parameters(), lr=0.1)\n"
        "for _ in range(3):\n    net(torch.ones(1, 2)).sum().backward()\n    optimizer.step()\n"
    )
    environment = clean_environment(
        GRAPHDBG_ENABLE="1",
        GRAPHDBG_RECORD=str(tmp_path / "runs"),
        GRAPHDBG_JOB="abc",
        # The test packs it itself.
        GRAPHDBG_RECORD_SETTINGS=json.dumps({"record": {"parquet": False}}),
        XDG_CACHE_HOME=str(tmp_path / "cache"),
    )
    subprocess.run([sys.executable, str(script)], check=True, timeout=120, env=environment)
    bucket = tmp_path / "bucket"
    pack = [GRAPHDBG, "pack", str(tmp_path / "runs" / "abc"), "--to", (bucket / "abc").as_uri()]
    subprocess.run(pack, check=True, timeout=120, env=environment, capture_output=True)
    for _ in range(2):
        process = subprocess.Popen(
            [GRAPHDBG, "open", (bucket / "abc").as_uri(), "--json"], stdout=subprocess.PIPE, text=True, env=environment
        )
        try:
            assert opened(process)["run"] == "abc"
        finally:
            process.send_signal(signal.SIGINT)
            assert process.wait(timeout=30) == 0
        # The second time, only the fetched copy exists.
        shutil.rmtree(bucket, ignore_errors=True)
    # A run whose log is packed is shown from such a copy, too.
    abc = tmp_path / "runs" / "abc"
    subprocess.run([GRAPHDBG, "pack", str(abc)], check=True, timeout=120, env=environment, capture_output=True)
    left_over = tmp_path / "cache" / "graphdbg" / "fetched" / ".part-left"
    left_over.mkdir()
    os.utime(left_over, (0, 0))
    process = subprocess.Popen(
        [GRAPHDBG, "open", str(abc), "--json"], stdout=subprocess.PIPE, text=True, env=environment
    )
    try:
        addresses = opened(process)
        code = urlsplit(addresses["url"]).fragment.partition("?code=")[2]
        session = Client(addresses["http_address"], None).post("/login", {"code": code})
        (shown,) = Client(addresses["http_address"], session["token"]).get("/runs")["runs"]
        assert (shown["id"], shown["last_step"], shown["damage"]) == ("abc", 3, [])
    finally:
        process.send_signal(signal.SIGINT)
        assert process.wait(timeout=30) == 0
    assert not left_over.exists()
    wrong = [GRAPHDBG, "open", (bucket / "none").as_uri()]
    done = subprocess.run(wrong, capture_output=True, text=True, timeout=60, env=environment)
    assert done.returncode == 3 and "no recorded run at" in done.stderr


def test_a_folder_without_runs_is_an_error(tmp_path: Path) -> None:
    done = subprocess.run([GRAPHDBG, "open", str(tmp_path)], capture_output=True, text=True, env=clean_environment())
    assert done.returncode == 3
    assert "contains no recorded runs" in done.stderr


def test_start_lists_the_runs_of_its_directories(run: Path, tmp_path: Path) -> None:
    data_dir = tmp_path / "data"
    command = [GRAPHDBG, "start", "--json", "--port=0", "--debugger-port=0", f"--data-dir={data_dir}"]
    command += ["--runs", str(run.parent), "--runs", str(run)]
    process = subprocess.Popen(command, stdout=subprocess.PIPE, text=True, env=clean_environment())
    try:
        client = Client.from_data_dir(opened(process)["http_address"], data_dir)
        runs = client.get("/runs")["runs"]
        assert [each["id"] for each in runs] == ["night 7", "night 7~2"]
        assert runs[0]["ended"] == "lost" and runs[0]["last_step"] == 3
        steps = client.get("/runs/night%207/steps")["steps"]
        assert [(step["step"], step["mode"], step["reason"]) for step in steps] == [
            (1, "train", None),
            (2, "train", None),
            (3, "train", None),
        ]
    finally:
        process.terminate()
        process.wait(timeout=30)
