"""Rules that are Python classes: their parameters, their observations, their errors, and where they come from."""

from __future__ import annotations

import pickle
from pathlib import Path
from typing import Any

import graphdbg
import numpy
import pytest
from graphdbg.rules import (
    Observation,
    PythonRule,
    RuleWarning,
    SeriesKey,
    evaluate,
    rule_of,
)
from graphdbg.runs.record import BEGIN_KIND, END_KIND
from synthetic_run import EVAL, Node, SyntheticRank, mark, statistics_of, statistics_records, write_run_json

pytest.importorskip("duckdb")
pytest.importorskip("pyarrow")

VALUES = (8, 4, 2, float("nan"), 2, 2, 1)


class Falls(graphdbg.Rule):
    """Matches where a value is less than the one before. The state is that value."""

    id, title = "falls", "A value falls"
    params = {"by": graphdbg.Param(float, 0, min=0, max=100), "which": graphdbg.Param(str, "any")}
    select = graphdbg.Select(collections=["losses"])

    def observe(self, state: float | None, now: Observation) -> tuple[Any, graphdbg.Finding | None]:
        value = now.statistics.mean
        if value is None:
            return state, None
        found = None
        if state is not None and state - value > self.values["by"]:
            found = self.finding(f"{state:g} to {value:g}", before=state, value=value)
        return value, found


class Raises(Falls):
    id = "raises"

    def observe(self, state: float | None, now: Observation) -> tuple[Any, graphdbg.Finding | None]:
        if now.step == 3:
            raise KeyError("not there")
        return super().observe(state, now)


def make_rank(directory: Path, number: int, values: Any = VALUES) -> SyntheticRank:
    rank = SyntheticRank(directory, number, 1, directory.name)
    rank.nodes.append(Node("forward/loss", 3, op_type="aten::mean", shapes=((),)))
    for step, value in enumerate(values, 1):
        records = statistics_records(numpy.array([1]), step, statistics_of(numpy.array([value])))
        rank.add(mark(BEGIN_KIND, step), records, mark(END_KIND, step))
    rank.collections["losses"] = [(1, 0)]
    return rank


def open_run(directory: Path, *ranks: SyntheticRank) -> graphdbg.runs.Run:
    write_run_json(directory, len(ranks))
    for rank in ranks:
        rank.write()
    return graphdbg.open_run(directory)


@pytest.fixture
def losses(tmp_path: Path) -> graphdbg.runs.Run:
    return open_run(tmp_path / "run", make_rank(tmp_path / "run", 0))


def test_a_rule_finds_episodes(losses: graphdbg.runs.Run) -> None:
    (found,) = losses.check(Falls)
    place = ("falls", 0, "forward/loss:0", "train", 2)
    assert (found.rule, found.rank, found.tensor, found.mode, found.step) == place
    assert (found.message, found.values) == ("8 to 4", {"before": 8.0, "value": 4.0})
    assert [each.step for each in losses.check(Falls(by=3))] == [2]
    assert losses.check(Falls(by=4)) == []


@pytest.mark.parametrize(("hold", "cool_down"), [(1, 0), (1, 2), (1, 3), (2, 0), (2, 10), (3, 0)])
def test_episodes_are_those_of_expressions(losses: graphdbg.runs.Run, hold: int, cool_down: int) -> None:
    options = {"for": hold, "cool_down": cool_down}
    own = PythonRule("falls", Falls(), {"collections": ["losses"]}, hold, cool_down)
    expression = rule_of({"when": "value < prev(value, 1) || (value == 1 && step == 7)", **options})
    by_class, by_sql = evaluate(losses, [own], engine="duckdb"), evaluate(losses, [expression], engine="duckdb")
    assert [each.step for each in by_class[0].findings] == [each.step for each in by_sql[0].findings]


def test_a_rule_that_raises_is_switched_off_and_others_continue(losses: graphdbg.runs.Run) -> None:
    rules = [PythonRule.of(Raises), PythonRule.of(Falls)]
    failed, other = evaluate(losses, rules)
    assert failed.error.startswith("KeyError: 'not there' (") and "test_python_rules.py:" in failed.error
    assert [each.step for each in failed.findings] == [2]
    assert (other.error, [each.step for each in other.findings]) == ("", [2])
    with pytest.warns(RuleWarning, match="raises was switched off: KeyError"):
        assert [each.step for each in losses.check([Raises, Falls])] == [2, 2]


def test_an_answer_that_is_no_pair_is_an_error(losses: graphdbg.runs.Run) -> None:
    class Forgetful(Falls):
        id = "forgetful"

        def observe(self, state: Any, now: Observation) -> Any:
            return None

    (result,) = evaluate(losses, [PythonRule.of(Forgetful)])
    assert result.error == "observe must return a state with a finding or None, not None"


def test_steps_and_ranks_limit_the_observations(tmp_path: Path) -> None:
    run = open_run(tmp_path / "run", *(make_rank(tmp_path / "run", number) for number in range(3)))
    assert [(each.rank, each.step) for each in run.check(Falls)] == [(0, 2), (1, 2), (2, 2)]
    assert [(each.rank, each.step) for each in run.check(Falls, steps=(2, 5), ranks=[1, 2])] == [(1, 3), (2, 3)]


def test_a_series_has_what_it_distinguishes(tmp_path: Path) -> None:
    """With the series (), the observations of all ranks and modes are one sequence by step and rank."""

    class Places(graphdbg.Rule):
        id, title, series = "places", "Where observations are made", ()

        def start(self, key: SeriesKey) -> list[Any]:
            return [key]

        def observe(self, state: list[Any], now: Observation) -> tuple[Any, graphdbg.Finding | None]:
            place = (now.step, now.rank, now.mode, now.mode_step, now.collections, now.steps())
            return [*state, place], None

        def finish(self, state: list[Any]) -> graphdbg.Finding | None:
            assert pickle.loads(pickle.dumps(state)) == state
            return self.finding(repr(state))

    ranks = [make_rank(tmp_path / "run", number, [1]) for number in range(2)]
    for rank in ranks:
        rank.add(mark(BEGIN_KIND, 2), mark(BEGIN_KIND, 2, EVAL, 1))
        rank.add(statistics_records(numpy.array([1]), 2, statistics_of(numpy.array([2])), EVAL))
        rank.add(mark(END_KIND, 2, EVAL, 1), mark(END_KIND, 2))
    (found,) = open_run(tmp_path / "run", *ranks).check(Places)
    key, *places = eval(found.message, {"SeriesKey": SeriesKey})
    assert key == SeriesKey()
    names = ("losses",)
    assert places == [
        (1, 0, "train", 1, names, [1]),
        (1, 1, "train", 1, names, [1]),
        (2, 0, "eval", 2, names, [1, 2]),
        (2, 1, "eval", 2, names, [1, 2]),
    ]
    assert (found.rank, found.tensor, found.mode, found.step) == (None, None, None, 2)
