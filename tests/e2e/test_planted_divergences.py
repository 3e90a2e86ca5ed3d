"""Faults are found at the op and the step in which they take effect, and rounding does not count as a difference.

The models and faults are in tests/hosts/diverging_trainings.py, which records all tensors.
"""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import pytest
from conftest import HOSTS, PACKAGE, clean_environment, run_together

pytest.importorskip("numpy")
pytest.importorskip("torch")

from graphdbg.runs import Difference, Divergence, Run, open_run

FAULT_STEP = 3
# The tensor that differs first.
PLANTED = {
    "transformer-labels": "forward/nll_loss_forward",
    "transformer-element": "forward/tokens",
    "transformer-rate": "optimizer/AdamW/mul_",
    "transformer-epsilon": "optimizer/AdamW/add__1",
    "transformer-decay": "optimizer/AdamW/mul_",
    "transformer-beta2": "optimizer/AdamW/mul__1",
    "transformer-gelu": "forward/gelu/gelu",
    # Another op computes the loss, so that its gradient is the first that both have.
    "transformer-smoothing": "backward/nll_loss_backward",
    "transformer-reduction": "forward/nll_loss_forward",
    # Clipping is done by ops that only one run has.
    "transformer-clip": "optimizer/AdamW/lerp_",
    "transformer-residual": "forward/add",
    "transformer-softmax": "forward/attention/_softmax",
    "transformer-scale": "forward/attention/mul",
    "transformer-mask": "forward/attention/triu",
    "transformer-initialization": "forward/head/t",
    "transformer-norm_epsilon": "forward/before/native_layer_norm",
    "convolutions-momentum": "optimizer/SGD/mul_",
    "convolutions-dropout": "forward/drop/bernoulli_",
    "convolutions-transposed": "forward/head/addmm",
    "convolutions-padding": "forward/second/convolution",
    "convolutions-norm": "forward/norm/running_mean",
    "convolutions-cast": "forward/head/addmm",
    "dense-transposed": "forward/addmm",
}
MODELS = ("transformer", "amplified", "convolutions", "dense")
THREADS = ("2", "4", "8")
OTHER_WAYS = ("dense-bfloat16", "transformer-bfloat16+scale", "refactored-none", "refactored-transposed")


def record(runs: Path, *names: str, **variables: str) -> None:
    command = [sys.executable, str(HOSTS / "diverging_trainings.py"), str(runs), *names]
    subprocess.run(command, env=clean_environment(**variables), check=True, capture_output=True, timeout=600)


@pytest.fixture(scope="module")
def runs(tmp_path_factory: pytest.TempPathFactory) -> Path:
    directory = tmp_path_factory.mktemp("planted")
    threads = [f"{model}-none-{count}" for model in MODELS for count in THREADS]
    record(directory, *(f"{model}-none" for model in MODELS), *PLANTED, "transformer-frozen", *threads, *OTHER_WAYS)
    return directory


def compared(runs: Path, name: str, model: str | None = None) -> Divergence:
    good: Run = open_run(runs / f"{model or name.partition('-')[0]}-none")
    return good.diff(runs / name)


def first(found: Divergence) -> Difference:
    assert found.first is not None
    return found.first


@pytest.mark.parametrize(("name", "node"), PLANTED.items())
def test_a_fault_is_found_at_its_op_and_step(runs: Path, name: str, node: str) -> None:
    found = first(compared(runs, name))
    assert (found.node, found.there_node) == (node, node)
    assert found.step == (1 if name.endswith("initialization") else FAULT_STEP)
    # Some inputs, such as batches and states of optimizers, are not recorded.
    assert {each.state for each in found.inputs} <= {"equal", "not_recorded"}


@pytest.mark.long
def test_a_frozen_parameter_is_missing_in_the_ops_of_the_optimizer(runs: Path) -> None:
    found = first(compared(runs, "transformer-frozen"))
    assert (found.step, found.measure) == (FAULT_STEP, "count")
    assert found.node.startswith("optimizer/AdamW/mul_")


@pytest.mark.parametrize("model", MODELS)
@pytest.mark.parametrize("threads", THREADS)
def test_the_number_of_threads_makes_no_difference(runs: Path, model: str, threads: str) -> None:
    found = compared(runs, f"{model}-none-{threads}")
    assert (found.first, found.only_here, found.only_there) == (None, (), ())
    assert found.matched > 100


def test_bfloat16_is_compared_with_float32(runs: Path) -> None:
    assert compared(runs, "dense-bfloat16").first is None
    found = first(compared(runs, "transformer-bfloat16+scale"))
    assert (found.step, found.node) == (FAULT_STEP, "forward/attention/mul")


def test_a_model_is_compared_with_one_whose_modules_were_renamed(runs: Path) -> None:
    found = compared(runs, "refactored-none", "dense")
    assert (found.first, found.only_here, found.only_there) == (None, (), ())
    renamed = {each.old: each.new for each in found.renamings}
    assert renamed["forward/first"] == "forward/layers/0"
    assert renamed["forward/third"] == "forward/classifier/out"
    wrong = first(compared(runs, "refactored-transposed", "dense"))
    assert (wrong.step, wrong.node) == (FAULT_STEP, "forward/addmm")


def test_compiled_code_is_compared_with_eager_code(tmp_path: Path) -> None:
    record(tmp_path, "dense-none", "dense-compiled", "dense-compiled+rate", GRAPHDBG_COMPILED="keep")
    found = compared(tmp_path, "dense-compiled")
    assert found.first is None and found.matched > 80
    assert found.only_here_count > 0, "compiled code has ops of its own"
    wrong = first(compared(tmp_path, "dense-compiled+rate"))
    assert (wrong.step, wrong.node) == (FAULT_STEP, "optimizer/AdamW/mul_")


def train_sharded(runs: Path, job: str, ranks: int, **variables: str) -> Run:
    processes = []
    for rank in range(ranks):
        place = {"RANK": str(rank), "WORLD_SIZE": str(ranks)} if ranks > 1 else {}
        environment = clean_environment(
            PYTHONPATH=str(PACKAGE / "_inject"),
            GRAPHDBG_RECORD=str(runs),
            GRAPHDBG_JOB=job,
            GRAPHDBG_RECORD_OVERHEAD="0",
            **place,
            **variables,
        )
        command = [sys.executable, str(HOSTS / "sharded_training.py"), str(runs / f"{job}.meeting")]
        processes.append((command, environment))
    assert run_together(processes) == [0] * ranks
    return open_run(runs / job)


def test_one_process_is_compared_with_a_sharded_job(tmp_path: Path) -> None:
    whole = train_sharded(tmp_path, "whole", 1)
    found = whole.diff(train_sharded(tmp_path, "sharded", 2), sum_ranks=True)
    assert found.first is None and found.matched >= 10
    wrong = first(whole.diff(train_sharded(tmp_path, "faulty", 2, FAULTY="1"), sum_ranks=True))
    assert wrong.step == FAULT_STEP and wrong.node.startswith("forward/first/")
