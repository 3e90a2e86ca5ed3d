"""Where recorded runs part: `graphdbg diff`, and the server's answer, which is the same."""

from __future__ import annotations

import json
import subprocess
import sys
from pathlib import Path
from urllib.parse import quote, urlencode

import pytest
from conftest import GRAPHDBG, PACKAGE, Json, Server, clean_environment, wait_until

numpy = pytest.importorskip("numpy")
sys.path.insert(0, str(Path(__file__).resolve().parents[2] / "agent" / "python" / "tests"))

from graphdbg.cli.client import ApiError  # noqa: E402
from synthetic_run import (  # noqa: E402
    BEGIN_KIND,
    END_KIND,
    EVAL,
    TRAIN,
    Node,
    SyntheticRank,
    change_record,
    mark,
    statistics_of,
    statistics_records,
    write_run_json,
)

# The second argument is the step whose batch differs.
TRAIN_SCRIPT = """
import sys, torch
torch.manual_seed(0)
model = torch.nn.Sequential(torch.nn.Linear(4, 8), torch.nn.ReLU(), torch.nn.Linear(8, 1))
optimizer = torch.optim.SGD(model.parameters(), lr=0.1)
for step in range(1, 9):
    x = torch.randn(16, 4)
    if step == int(sys.argv[1]):
        x[0, 0] += 1
    loss = torch.nn.functional.mse_loss(model(x), x.sum(1, keepdim=True))
    optimizer.zero_grad()
    loss.backward()
    optimizer.step()
"""


def train(runs: Path, job: str, step: int) -> None:
    environment = clean_environment(
        PYTHONPATH=str(PACKAGE / "_inject"),
        GRAPHDBG_RECORD=str(runs),
        GRAPHDBG_JOB=job,
        GRAPHDBG_RECORD_OVERHEAD="0",
        OMP_NUM_THREADS="1",
    )
    command = [sys.executable, "-c", TRAIN_SCRIPT, str(step)]
    subprocess.run(command, env=environment, check=True, capture_output=True, timeout=300)


def diff(*arguments: object) -> tuple[int, Json]:
    ran = subprocess.run(
        [GRAPHDBG, "diff", "--json", *map(str, arguments)], capture_output=True, text=True, timeout=120
    )
    assert ran.returncode in (0, 1), ran.stderr
    return ran.returncode, json.loads(ran.stdout)


def asked(server: Server, run: str, **query: object) -> Json:
    return server.client.get(f"/runs/{quote(run, safe='')}/divergence?{urlencode(query)}")


@pytest.fixture
def serve(tmp_path):
    """Starts a server on directories of runs."""
    servers = []

    def start(runs: Path) -> Server:
        servers.append(Server(tmp_path / "data", "--runs", str(runs)))
        return servers[-1]

    yield start
    for each in servers:
        each.stop()


def test_the_batch_that_differs_is_the_first_divergence(tmp_path, serve):
    runs = tmp_path / "runs"
    train(runs, "good", 0)
    train(runs, "same", 0)
    train(runs, "other", 5)
    code, found = diff(runs / "good", runs / "same")
    assert code == 0 and found["first"] is None and found["matched"] > 10 and found["steps"] == 8
    code, found = diff(runs / "good", runs / "other")
    assert code == 1
    assert (found["first"]["step"], found["first"]["mode"]) == (5, "train")
    assert "input" in found["first"]["node"], "the model's input is the first tensor that differs"
    linear = next(each for each in found["next"] if each["node"] == "forward/0/linear")
    assert {each["node"].rpartition("/")[2]: each["state"] for each in linear["inputs"]} == {
        "input": "differs", "weight": "equal", "bias": "equal",
    }  # fmt: skip
    server = serve(runs)
    assert asked(server, "good", **{"with": "other"}) == found
    assert asked(server, "good", **{"with": "same"})["first"] is None


# The arguments: the number of threads, the last bit of the input ("nudge"), and the bug and its step.
LARGE_SCRIPT = """
import sys, torch
threads, bug = int(sys.argv[1]), sys.argv[2]
torch.set_num_threads(threads)
torch.manual_seed(0)
model = torch.nn.Sequential(
    torch.nn.Linear(300, 512), torch.nn.LayerNorm(512), torch.nn.GELU(), torch.nn.Linear(512, 512), torch.nn.Tanh(),
    torch.nn.Linear(512, 10),
)
optimizer = torch.optim.SGD(model.parameters(), lr=0.01, momentum=0.9)
for step in range(1, 7):
    x, y = torch.randn(64, 300), torch.randint(0, 10, (64,))
    late = step >= 4
    if bug == "nudge":
        x = torch.nextafter(x, torch.full_like(x, torch.inf))
    if bug == "labels" and late:
        y = y.roll(1)
    if bug == "rate" and late:
        optimizer.param_groups[0]["lr"] = 0.0101
    if bug == "epsilon" and late:
        model[1].eps = 1e-3
    if bug == "gelu" and late:
        model[2].approximate = "tanh"
    loss = torch.nn.functional.cross_entropy(model(x), y, label_smoothing=0.01 if bug == "smoothing" and late else 0.0)
    optimizer.zero_grad()
    loss.backward()
    if bug == "clip" and late:
        torch.nn.utils.clip_grad_norm_(model.parameters(), 0.9 * float(model[5].weight.grad.norm()))
    optimizer.step()
"""


def record_large(runs: Path, job: str, threads: int = 1, bug: str = "none") -> Path:
    environment = clean_environment(
        PYTHONPATH=str(PACKAGE / "_inject"), GRAPHDBG_RECORD=str(runs), GRAPHDBG_JOB=job, GRAPHDBG_RECORD_OVERHEAD="0"
    )
    command = [sys.executable, "-c", LARGE_SCRIPT, str(threads), bug]
    subprocess.run(command, env=environment, check=True, capture_output=True, timeout=300)
    return runs / job


def test_a_calibrated_comparison_finds_bugs_and_no_rounding(tmp_path):
    good = record_large(tmp_path, "good")
    nudged = record_large(tmp_path, "nudged", bug="nudge")
    threads = record_large(tmp_path, "threads", threads=2)
    # A tolerance below what rounding does, so that all tolerance comes from the calibration.
    tight = ("--rtol", 1e-12)
    assert diff(good, nudged, *tight)[0] == 1
    code, found = diff(good, threads, *tight, "--calibrate", nudged)
    assert (code, found["first"]) == (0, None)
    for bug, node in {
        "labels": "forward/nll_loss_forward",
        "rate": "forward/0/",
        "epsilon": "forward/1/native_layer_norm",
        "gelu": "forward/2/gelu",
        # Other ops compute the loss, so that its gradient is the first that both have.
        "smoothing": "backward/5/",
        "clip": "",
    }.items():
        code, found = diff(good, record_large(tmp_path, bug, bug=bug), *tight, "--calibrate", nudged)
        assert code == 1 and found["first"]["step"] == 4, bug
        assert found["first"]["node"].startswith(node), (bug, found["first"])


def test_two_jobs_are_compared_while_they_are_recorded(tmp_path):
    script = TRAIN_SCRIPT.replace("range(1, 9)", "range(1, 10_000)").replace(
        "    loss =", "    time.sleep(0.01)\n    loss ="
    )
    jobs = []
    try:
        for job, step in (("one", 0), ("two", 30)):
            environment = clean_environment(
                PYTHONPATH=str(PACKAGE / "_inject"),
                GRAPHDBG_RECORD=str(tmp_path),
                GRAPHDBG_JOB=job,
                OMP_NUM_THREADS="1",
            )
            environment["GRAPHDBG_RECORD_OVERHEAD"] = "0"
            jobs.append(subprocess.Popen([sys.executable, "-c", "import time\n" + script, str(step)], env=environment))
        for job in ("one", "two"):
            wait_until("the job is recorded", lambda job=job: (tmp_path / job / "rank-00000" / "graph.gdbm").exists())
        code, found = diff(tmp_path / "one", tmp_path / "two", "--follow")
        assert code == 1 and found["first"]["step"] == 30
        assert all(job.poll() is None for job in jobs), "both still train"
    finally:
        for each in jobs:
            each.kill()
            each.wait()


def random_run(directory: Path, random: numpy.random.Generator, ranks: int = 2) -> Path:
    """Ranks that agree in most of what they recorded, in another order and with other ids of nodes."""
    write_run_json(directory, ranks)
    for number in range(ranks):
        rank = SyntheticRank(directory, number, ranks, directory.name)
        names = [f"block/op_{each}" for each in range(6)] + ["head"]
        if random.random() < 0.3:
            names.remove(str(random.choice(names)))
        inputs = random.integers(1, len(names) + 1, (len(names), 2)).tolist()
        rank.nodes = [
            Node(str(name), inputs=[(each, 0) for each in read])
            for name, read in zip(random.permutation(names), inputs, strict=True)
        ]
        for step in range(1, 9):
            if random.random() < 0.1:
                continue
            rank.add(mark(BEGIN_KIND, step))
            rows = []
            for node, each in enumerate(rank.nodes, 1):
                for execution in range(2 if each.name == "head" else 1):
                    order = 2 * names.index(each.name) + execution + 1
                    mode, pass_ = (EVAL, 1) if step == 4 else (TRAIN, 1 + step % 2)
                    elements = numpy.arange(1.0, 5.0) * step * order - 20
                    if random.random() < 0.03:
                        elements[0] = random.choice([numpy.nan, numpy.inf, 1e-3, elements[0] * (1 + 3e-7)])
                    row = statistics_records(numpy.array([node]), step, statistics_of(elements), mode, pass_)
                    row["exec_order"] = 0 if order == 5 else order
                    row["iteration"] = order % 3
                    if random.random() < 0.03:
                        row["flags"] = 1
                        for measure in ("mean", "abs_mean", "abs_max", "variance", "l1", "l2"):
                            row[measure] = numpy.nan
                    rows.append(row)
                    if order % 3 == 0:
                        digest = step * order + int(random.random() < 0.05)
                        rows.append(change_record(step, node, digest=digest + (1 << 63), exec_order=order))
            rank.add(*(rows[at] for at in random.permutation(len(rows))))
            rank.add(mark(END_KIND, step))
        rank.write(segments=int(random.integers(1, 4)))
    return directory


def test_the_server_and_the_command_find_the_same(tmp_path, serve):
    runs = tmp_path / "runs"
    random = numpy.random.default_rng(1)
    for number in range(12):
        random_run(runs / f"run {number}", random)
    server = serve(runs)
    found = []
    for number in range(11):
        here, there = runs / f"run {number}", runs / f"run {number + 1}"
        found.append(diff(here, there)[1])
        assert asked(server, here.name, **{"with": there.name}) == found[-1]
        options = {"rtol": 1e-9, "atol": 0.001, "rank": 1}
        with_ranks = diff(here, there, "--rank", 1, "--rank", 0, "--rtol", 1e-9, "--atol", 0.001)[1]
        assert asked(server, here.name, **{"with": f"{there.name}:0"}, **options) == with_ranks
        renamed = diff(here, there, "--map", "head=block/op_1", "--map", "block/op_2=head")[1]
        assert asked(server, here.name, **{"with": there.name}, map="head=block/op_1,block/op_2=head") == renamed
        by_digest = diff(here, there, "--by", "digest")[1]
        assert asked(server, here.name, **{"with": there.name}, by="digest") == by_digest
    firsts = [each["first"] for each in found]
    assert len({each["measure"] for each in firsts if each}) > 2 and any(each["next"] for each in found)
    assert any(each["only_here"] for each in found)
    assert {each["state"] for first in firsts if first for each in first["inputs"]} >= {"equal", "differs"}


@pytest.mark.parametrize(
    ("query", "code"),
    [
        ({"with": "first"}, "invalid_parameter"),
        ({"with": "first:0"}, "invalid_parameter"),
        ({"with": "nothing"}, "unknown_run"),
        ({"with": "nothing:1"}, "unknown_run"),
        ({"with": "first:7"}, "unknown_rank"),
        ({"with": "first:1", "rank": 9}, "unknown_rank"),
        ({"with": "first:1", "map": "a"}, "invalid_parameter"),
        ({"with": "first:1", "rtol": "-1"}, "invalid_parameter"),
        ({"with": "first:1", "by": "bits"}, "invalid_parameter"),
        ({}, "invalid_parameter"),
    ],
)
def test_what_cannot_be_compared_is_named(tmp_path, serve, query, code):
    random_run(tmp_path / "runs" / "first", numpy.random.default_rng(0))
    server = serve(tmp_path / "runs")
    with pytest.raises(ApiError) as caught:
        asked(server, "first", **query)
    assert caught.value.code == code
