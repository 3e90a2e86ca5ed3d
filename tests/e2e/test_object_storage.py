"""A packed run in object storage: opened, queried and checked there."""

from __future__ import annotations

import os
import re
import subprocess
from collections.abc import Iterator
from pathlib import Path

import graphdbg
import pytest
from environments import python_with
from graphdbg.rules import ExpressionRule
from graphdbg.runs.pack_run import pack_run
from random_rules import write_random_run

pytest.importorskip("duckdb")
pytest.importorskip("pyarrow")

BUCKET = "bucket"
# Prints its address once it listens, and ends with its parent's pipe.
SERVER = """
import sys
from moto.moto_server.threaded_moto_server import ThreadedMotoServer
server = ThreadedMotoServer("127.0.0.1", 0, verbose=False)
server.start()
print("http://%s:%d" % server.get_host_and_port(), flush=True)
sys.stdin.read()
"""


@pytest.fixture
def s3(monkeypatch: pytest.MonkeyPatch) -> Iterator[str]:
    """The URL of a bucket of a server that speaks S3, with the credentials in the environment."""
    process = subprocess.Popen(
        [str(python_with("scale")), "-c", SERVER],
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        stderr=subprocess.DEVNULL,
        text=True,
    )
    try:
        assert process.stdout
        address = re.sub(r"^http://", "", process.stdout.readline().strip())
        for name in ("AWS_ACCESS_KEY_ID", "AWS_SECRET_ACCESS_KEY"):
            monkeypatch.setenv(name, "testing")
        monkeypatch.setenv("NO_PROXY", "127.0.0.1")
        from pyarrow.fs import S3FileSystem

        storage = S3FileSystem(endpoint_override=address, scheme="http", region="us-east-1", allow_bucket_creation=True)
        storage.create_dir(BUCKET)
        yield f"s3://{BUCKET}/runs/abc?scheme=http&endpoint_override={address}&region=us-east-1"
    finally:
        process.communicate()


def check(directory: Path, url: str) -> None:
    rules = [ExpressionRule("r", "prev(nan_count, 2) < nan_count"), ExpressionRule("s", "change_l2 > 1")]
    write_random_run(directory, 1)
    here = graphdbg.open_run(directory)
    pack_run(str(directory), to=url)
    there = graphdbg.open_run(url)
    assert there.ended == "exit" and there.ranks == [0, 1] and there.steps() == here.steps()
    query = "select rank, tensor, sum(nan_count) as n from statistics group by rank, tensor order by rank, tensor"
    assert there.sql(query).to_pylist() == here.sql(query).to_pylist() != []
    assert there.check(rules) == here.check(rules, engine="duckdb") != []


def test_a_run_in_memory_is_checked(tmp_path: Path) -> None:
    pytest.importorskip("fsspec")
    check(tmp_path / "abc", f"memory://bucket/{os.getpid()}/abc")


def test_a_run_in_s3_is_checked(tmp_path: Path, s3: str) -> None:
    check(tmp_path / "abc", s3)
