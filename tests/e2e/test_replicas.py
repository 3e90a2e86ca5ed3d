"""Replicas of a data parallel training that diverge are found, with the parameter and the rank."""

from __future__ import annotations

import sys
from typing import Any

import pytest
from conftest import HOSTS


def run_of(debug_run: Any, training: str, ranks: int, *options: str, **environment: str) -> Any:
    launcher = [sys.executable, "-m", "torch.distributed.run", "--standalone", f"--nproc-per-node={ranks}"]
    command = [*launcher, str(HOSTS / "replicas.py"), training]
    options = ("--no-wait", "--break-on", "not_training", *options)
    return debug_run(*options, command=command, OMP_NUM_THREADS="1", **environment)


def test_the_rank_whose_replica_differs_is_named_within_a_step(debug_run) -> None:
    run = run_of(debug_run, "nudged", 3, "--on-hit", "terminate")
    (hit,) = run.result["hits"]
    assert (hit["condition"], hit["node"], hit["rank"]) == ("replicas_differ", "forward/3/weight", 2)
    assert hit["message"] == "rank 2 differs from ranks 0 and 1 in forward/3/weight"
    # It was changed after step 3.
    assert hit["step"] == 4
    assert run.result["status"] == "terminated"
    assert run.result["steps"] < 30


@pytest.mark.long
def test_both_ranks_are_named_if_there_are_only_two(debug_run) -> None:
    hits = run_of(debug_run, "unwrapped", 2, "--on-hit", "continue").result["hits"]
    assert {hit["condition"] for hit in hits} == {"replicas_differ"}
    assert {hit["rank"] for hit in hits} == {0, 1}
    first = min(hits, key=lambda hit: hit["step"])
    assert (first["step"], first["node"]) == (1, "forward/0/weight")
    assert first["message"].startswith("ranks 0 and 1 differ from each other in forward/0/weight and ")


def test_a_gradient_that_the_program_forgets_to_average_is_found(debug_run) -> None:
    run = run_of(debug_run, "forgotten", 2, "--on-hit", "terminate")
    hit = min(run.result["hits"], key=lambda hit: hit["step"])
    assert (hit["condition"], hit["node"]) == ("replicas_differ", "forward/3/weight")
    assert hit["step"] <= 2
    assert run.result["status"] == "terminated"


@pytest.mark.parametrize("training", ["alone", "divided"])
def test_a_program_that_averages_no_gradients_is_found(debug_run, training: str) -> None:
    run = run_of(debug_run, training, 2, "--on-hit", "terminate")
    hits = run.result["hits"]
    assert {(hit["condition"], hit["rank"]) for hit in hits} == {("replicas_differ", 0), ("replicas_differ", 1)}
    assert {hit["step"] for hit in hits} == {3}
    assert hits[0]["message"].startswith("ranks 0 and 1 differ from each other in forward/")
    assert run.result["status"] == "terminated"


@pytest.mark.parametrize("adapter", ["", "python"])
def test_replicas_that_are_equal_or_differ_on_purpose_have_no_finding(debug_run, adapter: str) -> None:
    run = run_of(debug_run, "sound", 2, "--on-hit", "terminate", GRAPHDBG_ADAPTER=adapter)
    assert run.result["hits"] == []
    assert run.result["status"] == "finished"
    assert "no longer tested" not in run.stderr
