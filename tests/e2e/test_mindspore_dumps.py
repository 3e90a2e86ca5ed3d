"""MindSpore's dump directories as recorded runs, looked at through the server as the page does."""

from __future__ import annotations

import io
import json
import signal
import subprocess
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import mindspore_dump
import numpy
import pytest
from conftest import GRAPHDBG, clean_environment
from graphdbg.cli.client import ApiError, Client
from graphdbg.cli.mindspore_graph import dump_of
from mindspore_dump import Op, write_dump

BACKBONE = "Default/network-WithLossCell/_backbone-LeNet5"
CONV = f"{BACKBONE}/conv2-Conv2d/Conv2D-op5"
BAD = f"{BACKBONE}/relu-ReLU/ReLU-op12"
LAYOUTS = ["npy", "bin", "inline", "1.1"]
Json = dict[str, Any]


def op_named(name: str) -> Op:
    return next(op for op in mindspore_dump.ops() if op.full_name == name)


def with_nan(op: Op, rank: int, iteration: int) -> mindspore_dump.Array:
    """One NaN: in iteration 2 of rank 1."""
    array = mindspore_dump.values(op, rank, iteration)
    if op.full_name == BAD and rank == 1 and iteration == 2:
        array.flat[3] = numpy.nan
    return array


class Dump:
    """A dump on a server."""

    def __init__(self, client: Client) -> None:
        self.client = client
        runs = client.get("/runs")["runs"]
        assert [run["id"] for run in runs] == ["dump"]

    def get(self, path: str = "", **query: object) -> Json:
        return self.client.get(f"/runs/dump{path}", **query)

    def values(self, node: str, step: int, rank: int = 0) -> mindspore_dump.Array:
        name = f"{node}:0"
        file = self.client.download("/runs/dump/tensor/download", name=name, step=step, rank=rank, format="npy")
        array: mindspore_dump.Array = numpy.load(io.BytesIO(file))
        return array

    def check(self, condition: str, **params: float) -> Json:
        watchpoint = {"condition": {"id": condition, "params": params}}
        path = f"/runs/dump/checks/{self.client.post('/runs/dump/checks', {'watchpoint': watchpoint})['check_id']}"
        while True:
            report = self.client.get(path)
            if report["state"] != "running":
                return report
            time.sleep(0.05)


@contextmanager
def served(directory: Path) -> Iterator[Dump]:
    data_dir = directory.parent / "data"
    command = [GRAPHDBG, "start", "--json", "--port=0", "--debugger-port=0", f"--data-dir={data_dir}"]
    process = subprocess.Popen(
        [*command, f"--runs={directory}"], stdout=subprocess.PIPE, text=True, env=clean_environment()
    )
    try:
        assert process.stdout
        addresses = json.loads(process.stdout.readline())
        yield Dump(Client.from_data_dir(addresses["http_address"], data_dir))
    finally:
        process.terminate()
        process.wait(timeout=30)


@pytest.mark.parametrize("layout", LAYOUTS)
def test_values_and_statistics_are_those_of_the_files(tmp_path: Path, layout: str) -> None:
    with served(write_dump(tmp_path / "dump", layout=layout)) as dump:
        assert [step["step"] for step in dump.get("/steps")["steps"]] == [1, 2, 3]
        expected = mindspore_dump.values(op_named(CONV), 0, 1)
        numpy.testing.assert_array_equal(dump.values(CONV, 2), expected)
        answer = dump.get("/tensor/statistics", name=f"{CONV}:0", step=2)
        assert answer["shape"] == list(expected.shape)
        assert answer["statistics"]["max"] == expected.max()
        assert answer["statistics"]["mean"] == pytest.approx(expected.mean(dtype="float64"))
        assert dump.get()["damage"] == []


@pytest.mark.parametrize("layout", LAYOUTS)
def test_a_check_finds_a_nan_at_its_rank_step_and_op(tmp_path: Path, layout: str) -> None:
    with served(write_dump(tmp_path / "dump", ranks=2, iterations=4, layout=layout, values=with_nan)) as dump:
        report = dump.check("nan")
        assert [(hit["rank"], hit["step"], hit["node"], hit["slot"]) for hit in report["hits"]] == [(1, 3, BAD, 0)]
        assert report["hits"][0]["statistics"]["nan_count"] == 1
        assert report["hits"][0]["evidence"] == "tensor"
        assert (report["done"], report["total"], report["not_recorded"]) == (8, 8, 0)


def test_statistics_without_values_are_shown_and_checked(tmp_path: Path) -> None:
    with served(write_dump(tmp_path / "dump", ranks=2, layout="statistic", values=with_nan)) as dump:
        statistics = dump.get("/tensor/statistics", name=f"{BAD}:0", step=3, rank=1)["statistics"]
        assert (statistics["nan_count"], statistics["variance"]) == (1, None)
        report = dump.check("nan")
        assert [(hit["rank"], hit["step"], hit["node"]) for hit in report["hits"]] == [(1, 3, BAD)]
        assert report["hits"][0]["evidence"] == "statistics"
        with pytest.raises(ApiError, match="not recorded at step 3"):
            dump.values(BAD, 3, rank=1)


def test_graph_search_and_history(tmp_path: Path) -> None:
    with served(write_dump(tmp_path / "dump", ranks=2)) as dump:
        run = dump.get()
        assert (run["framework"], run["framework_version"], run["program"]) == ("mindspore", "2.0.0", "LeNet")
        assert [rank["rank"] for rank in run["ranks"]] == [0, 1]
        node = dump.get("/graph/node", name=CONV)
        assert node["op_type"] == "Conv2D"
        assert node["inputs"]
        assert CONV in [found["name"] for found in dump.get("/graph/search", q="conv2d-op5")["nodes"]]
        history = dump.get("/tensor/history", name=f"{CONV}:0", rank=1)
        maxima = [point["statistics"]["max"] for point in history["points"]]
        assert maxima == [mindspore_dump.values(op_named(CONV), 1, iteration).max() for iteration in range(3)]
        assert history["saved_steps"] == [1, 2, 3]
        around = dump.get("/graph/neighbours", name=CONV, step=2)
        assert any(tensor["name"] == f"{CONV}:0" and tensor["statistics_step"] == 2 for tensor in around["tensors"])


def test_any_two_steps_and_ranks_are_compared(tmp_path: Path) -> None:
    with served(write_dump(tmp_path / "dump", ranks=2)) as dump:
        first, third = (mindspore_dump.values(op_named(CONV), 0, iteration) for iteration in (0, 2))
        compared = dump.get("/tensor/compare", name=f"{CONV}:0", step=3, **{"with": "step:1"})
        assert compared["max_abs_difference"] == pytest.approx(numpy.abs(third - first).max())
        other = mindspore_dump.values(op_named(CONV), 1, 2)
        compared = dump.get("/tensor/compare", name=f"{CONV}:0", step=3, **{"with": "rank:1"})
        assert compared["max_abs_difference"] == pytest.approx(numpy.abs(third - other).max())


def test_changes_are_measured_against_the_iteration_before(tmp_path: Path) -> None:
    def standing(op: Op, rank: int, iteration: int) -> mindspore_dump.Array:
        """One op computes the same in iterations 1 and 2."""
        return mindspore_dump.values(op, rank, min(iteration, 1) if op.full_name == CONV else iteration)

    with served(write_dump(tmp_path / "dump", values=standing)) as dump:
        report = dump.check("tensor_not_changed")
        assert [(hit["step"], hit["node"]) for hit in report["hits"]] == [(3, CONV)]


def test_a_dump_without_graphs_has_the_nodes_of_its_files(tmp_path: Path) -> None:
    directory = write_dump(tmp_path / "dump", layout="1.1")
    for file in directory.glob("*/*/graphs/*"):
        file.unlink()
    with served(directory) as dump:
        assert dump.get("/graph/node", name=CONV)["inputs"] == []
        numpy.testing.assert_array_equal(dump.values(CONV, 3), mindspore_dump.values(op_named(CONV), 0, 2))


def test_bad_files_are_named_and_the_rest_is_read(tmp_path: Path) -> None:
    directory = write_dump(tmp_path / "dump")
    bad = next(directory.glob("rank_0/LeNet/0/1/Conv2D.Conv2D-op5.*"))
    bad.write_bytes(bad.read_bytes()[:200])
    (directory / "rank_0/graphs/ms_output_trace_code_graph_7.pb").write_bytes(b"\xff\xff")
    with served(directory) as dump:
        with pytest.raises(ApiError, match=r"Conv2D-op5.*fewer than its type and shape need"):
            dump.values(CONV, 2)
        numpy.testing.assert_array_equal(dump.values(CONV, 1), mindspore_dump.values(op_named(CONV), 0, 0))
        assert dump.check("nan")["not_recorded"] == 1
        assert {Path(each["file"]).name for each in dump.get()["damage"]} == {
            bad.name,
            "ms_output_trace_code_graph_7.pb",
        }


def test_open_and_recheck_take_a_dump(tmp_path: Path) -> None:
    directory = write_dump(tmp_path / "dump", ranks=2, values=with_nan)
    process = subprocess.Popen(
        [GRAPHDBG, "open", str(directory), "--json"], stdout=subprocess.PIPE, text=True, env=clean_environment()
    )
    try:
        assert process.stdout
        assert json.loads(process.stdout.readline())["run"] == "dump"
    finally:
        process.send_signal(signal.SIGINT)
        assert process.wait(timeout=30) == 0
    done = subprocess.run(
        [GRAPHDBG, "recheck", str(directory), "nan"], capture_output=True, text=True, env=clean_environment()
    )
    assert done.returncode == 1
    assert f"step 3  rank 1  {BAD}:0  nan" in done.stdout


@pytest.mark.parametrize("bare", [False, True])
def test_a_single_graph_file_is_a_run_without_steps(tmp_path: Path, bare: bool) -> None:
    """A ModelProto, as dumps have, or the GraphProto in it, as the debugger's messages have."""
    file = tmp_path / "dump.pb"
    content = next(write_dump(tmp_path / "all", iterations=1).glob("rank_0/graphs/*.pb")).read_bytes()
    # Without the tag and the length, which has as many bytes as the numbers of 128 or more.
    begin = next(i for i in range(1, len(content)) if content[i] < 128) + 1
    file.write_bytes(content[begin:] if bare else content)
    with served(dump_of(file, tmp_path)) as dump:
        assert dump.get("/steps")["steps"] == []
        run = dump.get()
        assert (run["framework"], run["last_step"], run["damage"]) == ("mindspore", 0, [])
        assert dump.get("/graph/node", name=CONV)["op_type"] == "Conv2D"


def test_open_takes_a_graph_file(tmp_path: Path) -> None:
    file = tmp_path / "lenet.pb"
    file.write_bytes(next(write_dump(tmp_path / "all", iterations=1).glob("rank_0/graphs/*.pb")).read_bytes())
    process = subprocess.Popen(
        [GRAPHDBG, "open", str(file), "--json"], stdout=subprocess.PIPE, text=True, env=clean_environment()
    )
    try:
        assert process.stdout
        assert json.loads(process.stdout.readline())["run"] == "lenet"
    finally:
        process.send_signal(signal.SIGINT)
        assert process.wait(timeout=30) == 0


@pytest.mark.parametrize("command", ["runs", "show"])
def test_commands_that_read_files_name_those_for_dumps(tmp_path: Path, command: str) -> None:
    directory = write_dump(tmp_path / "dump", iterations=1)
    done = subprocess.run([GRAPHDBG, command, str(directory)], capture_output=True, text=True, env=clean_environment())
    assert done.returncode == 2
    assert f"{directory} is a dump of MindSpore: `graphdbg open` shows it" in done.stderr
