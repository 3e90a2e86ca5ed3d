"""Where recorded runs diverge: `graphdbg diff`, and the server's answer, which is the same."""

from __future__ import annotations

import json
import subprocess
import sys
from pathlib import Path
from urllib.parse import quote, urlencode

import pytest
from conftest import GRAPHDBG, HOSTS, PACKAGE, Json, Server, clean_environment, wait_until

numpy = pytest.importorskip("numpy")
sys.path.insert(0, str(Path(__file__).resolve().parents[2] / "agent" / "python" / "tests"))

from graphdbg.cli.client import ApiError  # noqa: E402
from synthetic_run import (  # noqa: E402
    BEGIN_KIND,
    END_KIND,
    EVAL,
    FLOAT32,
    TRAIN,
    Node,
    SyntheticRank,
    change_record,
    mark,
    statistics_of,
    statistics_records,
    write_run_json,
)

BFLOAT16 = 11

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


def diff(*arguments: object, **environment: str) -> tuple[int, Json]:
    command = [GRAPHDBG, "diff", "--json", *map(str, arguments)]
    ran = subprocess.run(command, env=clean_environment(**environment), capture_output=True, text=True, timeout=120)
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


@pytest.mark.long
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
    linear = next(each for each in found["next"] if each["node"] == "forward/0/addmm")
    assert {each["node"].rpartition("/")[2]: each["state"] for each in linear["inputs"]} == {
        "randn": "not_recorded", "weight": "equal", "bias": "equal",
    }  # fmt: skip
    server = serve(runs)
    assert asked(server, "good", **{"with": "other"}) == found
    assert asked(server, "good", **{"with": "same"})["first"] is None


# The arguments: the number of threads, and the bug, which begins in step 4.
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


def test_rounding_that_an_optimizer_amplifies_is_no_difference(tmp_path, serve):
    names = ["amplified-none", "amplified-none-2", "amplified-none-4", "amplified-rate"]
    command = [sys.executable, str(HOSTS / "diverging_trainings.py"), str(tmp_path / "runs"), *names]
    subprocess.run(command, env=clean_environment(), check=True, capture_output=True, timeout=300)
    good, *others = (tmp_path / "runs" / name for name in names)
    server = serve(tmp_path / "runs")
    for other in others:
        code, found = diff(good, other)
        assert asked(server, good.name, **{"with": other.name}) == found
        assert code == (other.name == "amplified-rate")
    assert found["first"]["step"] == 3 and found["first"]["node"].startswith("optimizer/")


def record_large(runs: Path, job: str, threads: int = 1, bug: str = "none") -> Path:
    environment = clean_environment(
        PYTHONPATH=str(PACKAGE / "_inject"), GRAPHDBG_RECORD=str(runs), GRAPHDBG_JOB=job, GRAPHDBG_RECORD_OVERHEAD="0"
    )
    command = [sys.executable, "-c", LARGE_SCRIPT, str(threads), bug]
    subprocess.run(command, env=environment, check=True, capture_output=True, timeout=300)
    return runs / job


def record_nudged(runs: Path) -> Path:
    script = [sys.executable, "-c", LARGE_SCRIPT, "1", "none"]
    ran = subprocess.run(
        [GRAPHDBG, "run", "--no-hold", "--no-wait", "--nudge-inputs", "--record", str(runs / "new"), "--", *script],
        env=clean_environment(GRAPHDBG_RECORD_OVERHEAD="0"),
        capture_output=True,
        text=True,
        timeout=300,
    )
    assert ran.returncode == 0, ran.stderr
    assert "results differ from those of an ordinary run" in ran.stderr
    [recorded] = (runs / "new").iterdir()
    return recorded.rename(runs / "nudged")


# The first node that differs. With smoothed labels, other ops compute the loss, so that its
# gradient is the first that both have.
BUGS = {"rate": "forward/0/", "gelu": "forward/2/gelu"}
MORE_BUGS = {
    "labels": "forward/nll_loss_forward",
    "epsilon": "forward/1/native_layer_norm",
    "smoothing": "backward/5/",
    "clip": "",
}


@pytest.mark.long
@pytest.mark.parametrize("bugs", [BUGS, MORE_BUGS], ids=["some", "more"])
def test_a_calibrated_comparison_finds_bugs_and_no_rounding(tmp_path, serve, bugs):
    good = record_large(tmp_path, "good")
    nudged = record_nudged(tmp_path)
    threads = record_large(tmp_path, "threads", threads=2)
    # A tolerance below what rounding does, so that all tolerance comes from the calibration.
    tight = ("--rtol", 1e-12)
    assert diff(good, nudged, *tight)[0] == 1
    code, found = diff(good, nudged, "--rtol", 0)
    assert found["first"]["node"] == "forward/input", "inputs differ in the last bit"
    assert abs(found["first"]["here"] - found["first"]["there"]) < 1e-6
    code, found = diff(good, threads, *tight, "--calibrate", nudged)
    assert (code, found["first"]) == (0, None)
    server = serve(tmp_path)
    query = {"with": "threads", "rtol": 1e-12}
    assert asked(server, "good", **query, calibrate="nudged") == found
    assert asked(server, "good", **query)["first"] is not None
    with pytest.raises(ApiError) as refused:
        asked(server, "good", **query, calibrate="nothing")
    assert (refused.value.code, refused.value.field) == ("unknown_run", "calibrate")
    for bug, node in bugs.items():
        code, found = diff(good, record_large(tmp_path, bug, bug=bug), *tight, "--calibrate", nudged)
        assert code == 1 and found["first"]["step"] == 4, bug
        assert found["first"]["node"].startswith(node), (bug, found["first"])


def test_two_jobs_are_compared_while_they_are_recorded(tmp_path, server, start_job):
    """The command takes the names of the jobs and finds the directories of their recordings."""
    script = TRAIN_SCRIPT.replace("range(1, 9)", "range(1, 10_000)").replace(
        "    loss =", "    time.sleep(0.01)\n    loss ="
    )
    jobs = []
    for job, step in (("one", 0), ("two", 30)):
        environment = server.job_environment(
            PYTHONPATH=str(PACKAGE / "_inject"),
            GRAPHDBG_RECORD=str(tmp_path / "runs"),
            GRAPHDBG_JOB=job,
            GRAPHDBG_RECORD_OVERHEAD="0",
            OMP_NUM_THREADS="1",
        )
        jobs.append(start_job([sys.executable, "-c", "import time\n" + script, str(step)], environment))
        server.wait_for_state(job, "paused")
        server.control(job, "continue")
    for job in ("one", "two"):
        graph = tmp_path / "runs" / job / "rank-00000" / "graph.gdbm"
        wait_until("the job is recorded", graph.exists)
    (tmp_path / "share").mkdir()
    (tmp_path / "share" / "graphdbg").symlink_to(server.data_dir)
    code, found = diff("one", "two", "--follow", XDG_DATA_HOME=str(tmp_path / "share"))
    assert code == 1 and found["first"]["step"] == 30
    assert all(job.poll() is None for job in jobs), "both still train"


def random_nodes(names: list[str], random: numpy.random.Generator) -> list[Node]:
    """Nodes of all categories, whose scope has another name in some runs."""
    nodes = []
    scope = random.choice(["block", "body"], p=[0.7, 0.3])
    for name in names:
        place = int(name[-1]) if name[-1].isdigit() else 6
        weight, gradient = "block/op_0", "block/op_3"
        nodes.append(
            Node(
                name.replace("block", str(scope)),
                category={0: 1, 3: 2, 4: 4}.get(place, 3),
                kind=2 if name == weight else 1,
                op_type=f"aten::{('mm', 'sum', 'softmax', 'add_' if random.random() < 0.7 else 'add')[place % 4]}",
                inputs=[(int(each), 0) for each in random.integers(1, len(names) + 1, random.integers(0, 3))],
                shapes=((4, 8 if random.random() < 0.9 else 9),),
                dtype=FLOAT32 if random.random() < 0.97 else BFLOAT16,
                text=f"line {place % 3}",
                alpha=str(random.choice(["1", "2"], p=[0.9, 0.1])),
                forward=names.index(weight) + 1 if name == gradient and weight in names else 0,
            )
        )
    return nodes


def random_run(directory: Path, random: numpy.random.Generator, ranks: int = 2) -> Path:
    """Ranks that agree in most of what they recorded, in another order and with other ids of nodes."""
    write_run_json(directory, ranks)
    names = [f"block/op_{each}" for each in range(6)] + ["head"]
    if random.random() < 0.3:
        names.remove(str(random.choice(names)))
    # The server has one graph for all ranks.
    nodes = random_nodes([str(name) for name in random.permutation(names)], random)
    for number in range(ranks):
        rank = SyntheticRank(directory, number, ranks, directory.name, nodes=nodes)
        for step in range(1, 9):
            if random.random() < 0.1:
                continue
            rank.add(mark(BEGIN_KIND, step))
            rows = []
            for node, each in enumerate(rank.nodes, 1):
                for execution in range(2 if each.name == "head" else 1):
                    order = 2 * names.index(each.name.replace("body", "block")) + execution + 1
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
    random = numpy.random.default_rng(5)
    for number in range(12):
        random_run(runs / f"run {number}", random)
    server = serve(runs)
    found = []
    compared_digests = 0
    for number in range(11):
        here, there = runs / f"run {number}", runs / f"run {number + 1}"
        found.append(diff(here, there)[1])
        assert asked(server, here.name, **{"with": there.name}) == found[-1]
        options = {"rtol": 1e-9, "atol": 0.001, "rank": 1}
        with_ranks = diff(here, there, "--rank", 1, "--rank", 0, "--rtol", 1e-9, "--atol", 0.001)[1]
        assert asked(server, here.name, **{"with": f"{there.name}:0"}, **options) == with_ranks
        renamed = diff(here, there, "--map", "head=block/op_1", "--map", "block/op_2=head")[1]
        assert asked(server, here.name, **{"with": there.name}, map="head=block/op_1,block/op_2=head") == renamed
        other = runs / f"run {(number + 5) % 12}"
        calibrated = diff(here, there, "--calibrate", other)[1]
        assert asked(server, here.name, **{"with": there.name}, calibrate=other.name) == calibrated
        by_digest = asked(server, here.name, **{"with": there.name}, by="digest")
        # The command refuses a comparison without any tensor.
        if by_digest["matched"]:
            assert diff(here, there, "--by", "digest")[1] == by_digest
            compared_digests += 1
    assert compared_digests > 2
    firsts = [each["first"] for each in found]
    assert len({each["measure"] for each in firsts if each}) > 2 and any(each["next"] for each in found)
    assert any(each["only_here"] for each in found)
    assert any(each["renamings"] for each in found)
    inputs = [each for one in found for difference in one["next"] for each in difference["inputs"]]
    assert {each["state"] for each in inputs} >= {"equal", "differs"}
    calls = [each for one in found for difference in one["next"] for each in difference["calls"]]
    assert {each["what"] for each in calls} >= {"attribute", "input"}


def clipped_run(directory: Path, clips: bool) -> Path:
    """A step of an optimizer, whose gradient an op may have changed in place."""
    write_run_json(directory, 1)
    rank = SyntheticRank(directory, 0, 1, directory.name)
    step = Node("step", op_type="aten::add", inputs=[(2 if clips else 1, 0)])
    clip = Node("clip", op_type="aten::mul_", inputs=[(1, 0)])
    rank.nodes = [Node("gradient"), *([clip] if clips else []), step]
    rank.add(mark(BEGIN_KIND, 1))
    for number, node in enumerate(rank.nodes, 1):
        halved = clips and node.name != "gradient"
        row = statistics_records(numpy.array([number]), 1, statistics_of(numpy.arange(4.0) / (2 if halved else 1)))
        row["exec_order"] = number
        rank.add(row)
    rank.add(mark(END_KIND, 1))
    rank.write()
    return directory


def test_a_change_in_place_of_one_run_is_named(tmp_path, serve):
    plain, clipped = clipped_run(tmp_path / "runs" / "plain", False), clipped_run(tmp_path / "runs" / "clipped", True)
    code, found = diff(plain, clipped)
    assert code == 1 and found["first"]["node"] == "step"
    assert found["first"]["calls"] == [
        {"what": "in_place", "subject": "gradient:0", "here": None, "there": "clip (/home/me/train.py:7)"}
    ]
    assert asked(serve(tmp_path / "runs"), "plain", **{"with": "clipped"}) == found


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
