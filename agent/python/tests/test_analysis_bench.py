"""The run of `tools/dev bench analysis`: it opens, and what was planted in it is found."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import pytest

pytest.importorskip("numpy")
pytest.importorskip("pyarrow")
pytest.importorskip("duckdb")

import graphdbg
from graphdbg.runs import Run

sys.path.insert(0, str(Path(__file__).resolve().parents[3] / "tools" / "bench"))
from analysis_facts import Facts, Size
from analysis_questions import Question, questions, rule_entries
from analysis_run import link_run, write_run

BENCH = Path(__file__).resolve().parents[3] / "tools" / "bench"
FACTS = Facts(Size(ranks=2, steps=4, tensors=5))
LINKED = 5


@pytest.fixture(scope="module")
def directory(tmp_path_factory: pytest.TempPathFactory) -> Path:
    path = tmp_path_factory.mktemp("runs") / "planted"
    write_run(path, FACTS.size, processes=1)
    return path


@pytest.fixture(scope="module")
def run(directory: Path) -> Run:
    return graphdbg.open_run(directory)


def assert_answers(run: Run, asked: list[Question]) -> None:
    for question in asked:
        rows = run.sql(question.sql).to_pylist()
        assert question.is_answered_by(rows), f"{question.name}: {rows}"


def test_is_a_packed_run(run: Run, directory: Path) -> None:
    assert run.ranks == [0, 1] and run.steps() == [1, 2, 3, 4] and run.ended == "exit" and not run.damages
    assert set(run.tensors()) == {each.name for each in FACTS.tensors}
    assert len(run.statistics()) == FACTS.size.rows
    assert not list(directory.glob("rank-*/log"))


def test_every_question_finds_what_was_planted(run: Run) -> None:
    assert_answers(run, questions(FACTS))


def test_an_answer_without_what_was_planted_is_wrong(run: Run) -> None:
    for question in questions(FACTS):
        rows = run.sql(question.sql).to_pylist()
        assert not question.is_answered_by(question.planted(rows)[1:]) and not question.is_answered_by([])


def test_rules_find_what_was_planted(run: Run) -> None:
    rules = rule_entries(FACTS)
    (parting,) = run.check(rules["parting"], engine="duckdb")
    assert (parting.tensor, parting.step) == (f"{FACTS.parting_node}:0", FACTS.parting_step)
    stalled = run.check(rules["stall"], engine="duckdb")
    assert [(each.rank, each.step) for each in stalled] == [
        (0, FACTS.stall_step + FACTS.patience),
        (1, FACTS.stall_step + FACTS.patience),
    ]
    (vanished,) = run.check(rules["vanishing"], engine="duckdb")
    assert (vanished.rank, vanished.tensor) == (1, f"{FACTS.vanishing_node}:0")
    nonfinite = run.check({"rule": "first_non_finite"})[0]
    assert (nonfinite.rank, nonfinite.step) == (FACTS.nonfinite_rank, FACTS.nonfinite_step)
    assert nonfinite.tensor == f"{FACTS.nonfinite_node}:0"


def test_diff_finds_where_the_ranks_diverge(run: Run) -> None:
    first = run.diff(other_rank=1).first
    assert first is not None and (first.node, first.step) == (FACTS.divergence_node, FACTS.divergence_step)


def test_links_are_a_run_of_more_ranks(directory: Path) -> None:
    linked = directory.with_name("linked")
    link_run(linked, directory, LINKED)
    run = graphdbg.open_run(linked)
    assert run.ranks == list(range(LINKED)) and run.ended == "exit" and not run.damages
    assert_answers(run, [each for each in questions(FACTS, LINKED) if each.is_for_links])


def test_the_table_names_the_size(tmp_path: Path) -> None:
    options = ["--ranks=2", "--steps=4", "--tensors=5", "--linked=5", "--rounds=1", "--engines", "duckdb"]
    command = [sys.executable, str(BENCH / "analysis_speed.py"), *options, f"--out={tmp_path}"]
    done = subprocess.run(command, capture_output=True, text=True, timeout=300)
    assert done.returncode == 0, done.stderr
    assert "\n2 ranks, 4 steps, 5 tensors: 40 rows (reduced from 96,000,000), " in done.stdout
    assert "\n5 ranks, 4 steps, 5 tensors: 100 rows (reduced from 96,000,000), linked\n" in done.stdout
    assert "first non-finite tensor of all ranks" in done.stdout


def test_sizes_without_room_for_the_facts_are_refused() -> None:
    with pytest.raises(ValueError, match="at least 2 ranks"):
        Size(1, 4, 5)
