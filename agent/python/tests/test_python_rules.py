"""Rules that are Python classes: their parameters, their observations, their errors, and where they come from."""

from __future__ import annotations

import pickle
import re
import sys
from pathlib import Path
from typing import Any, ClassVar

import graphdbg
import numpy
import pytest
from graphdbg.rules import (
    Observation,
    PythonRule,
    RuleError,
    RuleWarning,
    SeriesKey,
    built_in,
    evaluate,
    listed,
    load_file,
    read_rules,
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
    params: ClassVar = {"by": graphdbg.Param(float, 0, min=0, max=100), "which": graphdbg.Param(str, "any")}
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


@pytest.mark.parametrize(
    ("param", "value", "message"),
    [
        (graphdbg.Param(int, 3), 2.5, "expected a whole number, not 2.5"),
        (graphdbg.Param(int, 3), True, "expected a whole number, not True"),
        (graphdbg.Param(float, 1), "1", "expected a number, not '1'"),
        (graphdbg.Param(float, 1), float("nan"), "expected a number, not nan"),
        (graphdbg.Param(float, 1, min=0, max=100, unit="%"), 101, r"expected a number from 0 to 100 \(%\), not 101"),
        (graphdbg.Param(int, 1, min=1), 0, "expected a whole number of at least 1, not 0"),
        (graphdbg.Param(bool, False), 1, "expected true or false, not 1"),
        (graphdbg.Param(str, ""), 1, "expected a text, not 1"),
    ],
)
def test_parameters_have_types_and_limits(param: graphdbg.Param, value: Any, message: str) -> None:
    with pytest.raises(ValueError, match=message):
        param.read(value)


def test_parameters_are_read_as_their_types() -> None:
    assert repr(graphdbg.Param(float, 1).read(2)) == "2.0"
    with pytest.raises(TypeError, match="int, float, bool or str"):
        graphdbg.Param(list)  # type: ignore[arg-type]
    with pytest.raises(ValueError, match="expected a number of at most 1, not 2"):
        graphdbg.Param(float, 2, max=1)


@pytest.mark.parametrize(
    ("entry", "message"),
    [
        ({"rule": "fals"}, "rule: there is no rule 'fals'; did you mean 'falls'?"),
        ({"rule": "falls", "params": {"bye": 1}}, "params.bye: unknown key; did you mean 'by'?"),
        ({"rule": "falls", "params": {"by": -1}}, "params.by: expected a number from 0 to 100, not -1"),
        ({"rule": "falls", "series": ["rank"]}, "series: falls has its own and accepts no other"),
        ({"rule": "falls", "for": 0}, "for: expected a whole number of at least 1, not 0"),
        ({"rule": "falls", "select": {"nodes": "a"}}, "select.nodes: expected a list of texts"),
        ({"rule": "similar_across_runs"}, "params.other: required: a text"),
        ({"rule": "poor_weight_initialization", "select": {}}, "select: poor_weight_initialization has its own"),
        (
            {"rule": "nlp_sequence_ratio", "params": {"token_values": "0,1"}},
            "params: nlp_sequence_ratio: 2 token_values",
        ),
    ],
)
def test_errors_of_uses_name_the_key(entry: dict[str, Any], message: str) -> None:
    with pytest.raises(RuleError) as error:
        rule_of(entry, "job.yaml: rules[2]", {"falls": Falls})
    assert str(error.value).startswith(f"job.yaml: rules[2].{message}")


RULES_FILE = """
import graphdbg

class _Base(graphdbg.Rule):
    def limit(self):
        return 3

class Large(_Base):
    id, title = "large", "A value is large"
    params = {"limit": graphdbg.Param(int, 3)}

    def observe(self, state, now):
        value = now.value()
        return state, self.finding(f"{value:g}", value=float(value)) if value > self.values["limit"] else None
"""


def test_rules_come_from_a_file(losses: graphdbg.runs.Run, tmp_path: Path) -> None:
    file = tmp_path / "my_rules.py"
    file.write_text(RULES_FILE)
    own = load_file(file)
    assert list(own) == ["large"]
    assert [each.step for each in losses.check(own["large"])] == [1]
    assert pickle.loads(pickle.dumps(own["large"](limit=5))).values == {"limit": 5}
    config = tmp_path / "job.yaml"
    config.write_text(
        "rules:\n- {rule: large, params: {limit: 1}, for: 2, cool_down: 0, name: mine}\n- {when: l2 > 7}\n"
    )
    large, expression = read_rules(config, own)
    found = [
        [each.step for each in result.findings] for result in evaluate(losses, [large, expression], engine="duckdb")
    ]
    assert found == [[2, 3, 6], [1]] and large.name == "mine"


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("x = 1", "my_rules.py: there are no rules; expected classes derived from graphdbg.Rule"),
        ("x =", "my_rules.py: SyntaxError: invalid syntax"),
        ("import no_such_module", "my_rules.py: ModuleNotFoundError: No module named 'no_such_module'"),
        (RULES_FILE.replace('"large"', '"Large One"'), "my_rules.py: class Large: id: expected lower case letters"),
        (RULES_FILE.replace('"large"', '"overfit"'), "my_rules.py: class Large: overfit is the id of a built-in rule"),
        (
            RULES_FILE.replace("graphdbg.Param(int, 3)", "3"),
            "my_rules.py: class Large: params: expected graphdbg.Param",
        ),
        (
            RULES_FILE + "    series = ('ranks',)",
            "my_rules.py: class Large: series: expected some of rank, tensor, mode",
        ),
        (RULES_FILE + "    select = 'weights'", "my_rules.py: class Large: select: expected graphdbg.Select"),
        (
            RULES_FILE + "class Other(graphdbg.Rule): id, title = 'large', 't'",
            "class Other: large is also the id of Large",
        ),
    ],
)
def test_errors_of_files_name_file_and_class(tmp_path: Path, text: str, message: str) -> None:
    file = tmp_path / "my_rules.py"
    file.write_text(text)
    with pytest.raises(RuleError) as error:
        load_file(file)
    assert message in str(error.value)


def test_rules_come_from_installed_packages(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    information = tmp_path / "acme_rules-1.0.dist-info"
    information.mkdir()
    (information / "METADATA").write_text("Metadata-Version: 2.1\nName: acme-rules\nVersion: 1.0\n")
    entries = "large = acme_rules:Large\nother = acme_rules:Large\nbroken = acme_rules:Missing\n"
    (information / "entry_points.txt").write_text(f"[graphdbg.rules]\n{entries}")
    (tmp_path / "acme_rules.py").write_text(RULES_FILE)
    monkeypatch.syspath_prepend(tmp_path)
    monkeypatch.delitem(sys.modules, "acme_rules", raising=False)
    rule = built_in("large")
    assert isinstance(rule, PythonRule) and type(rule.rule).__name__ == "Large"
    with pytest.raises(RuleError, match="entry point other = acme_rules:Large: the id of class Large is large"):
        built_in("other")
    with pytest.raises(RuleError, match="entry point broken = acme_rules:Missing: AttributeError"):
        built_in("broken")
    found = {each.id: each for each in listed({})}
    assert found["large"].origin == "package" and found["large"].params[0].accepts == "a whole number"
    assert "AttributeError" in found["broken"].error


def test_every_built_in_rule_has_advice_and_parameters_with_meaning() -> None:
    rules = listed({})
    assert len(rules) >= 22
    for rule in rules:
        assert rule.title and rule.advice.causes and rule.advice.next, rule.id
    assert {rule.id for rule in rules if rule.needs_selection} == {
        "all_zero",
        "tensor_variance",
        "unchanged_tensor",
    }


def test_the_first_non_finite_value_is_followed_to_its_inputs(tmp_path: Path) -> None:
    """Over ranks: by step, then by place in the step, then by rank."""
    ranks = []
    for number in range(2):
        rank = SyntheticRank(tmp_path / "run", number, 2, "run")
        rank.nodes += [Node("forward/a"), Node("forward/b", inputs=((1, 0),)), Node("forward/c", inputs=((2, 0),))]
        for step in range(1, 4):
            values = numpy.ones(3)
            if step == 3 - number:
                values[1 - number :] = numpy.inf
            rank.add(mark(BEGIN_KIND, step))
            for node, value in enumerate(values, 1):
                records = statistics_records(numpy.array([node]), step, statistics_of(numpy.array([value])))
                records["exec_order"] = node
                rank.add(records)
            rank.add(mark(END_KIND, step))
        ranks.append(rank)
    run = open_run(tmp_path / "run", *ranks)
    (found,) = run.check({"rule": "first_non_finite"})
    assert (found.rank, found.tensor, found.step) == (1, "forward/a:0", 2)
    assert found.message == "0 NaN and 1 infinities of 1 values; origin: it has no inputs"
    (found,) = run.check({"rule": "first_non_finite"}, ranks=[0])
    assert (found.tensor, found.step, "origin: the inputs were finite" in found.message) == ("forward/b:0", 3, True)
    (found,) = run.check({"rule": "first_non_finite", "select": {"nodes": ["forward/c"]}}, ranks=[0])
    assert "propagated from forward/b:0" in found.message


def write_rank(run: Path, number: int, nodes: list[Node], bad: dict[int, int]) -> SyntheticRank:
    """A rank that executes all nodes in their order in three steps.

    Args:
        bad: For some nodes, by number from 1, the first step with NaN.
    """
    rank = SyntheticRank(run, number, 2, "run")
    rank.nodes += nodes
    for step in range(1, 4):
        rank.add(mark(BEGIN_KIND, step))
        for node in range(1, len(nodes) + 1):
            value = numpy.nan if step >= bad.get(node, 9) else 1.0
            records = statistics_records(numpy.array([node]), step, statistics_of(numpy.array([value])))
            records["exec_order"] = node
            rank.add(records)
        rank.add(mark(END_KIND, step))
    return rank


REDUCE = "c10d::allreduce_"


@pytest.mark.parametrize("engine", ["log", "duckdb"])
def test_non_finite_values_are_traced_to_the_rank_that_sent_them(tmp_path: Path, engine: str) -> None:
    # The rank that receives them executes fewer ops before.
    receives = [Node("sum", op_type=REDUCE), Node("view", inputs=((1, 0),)), Node("add", inputs=((2, 0),))]
    sends = [Node(f"forward/{name}") for name in "abcd"] + [Node("forward/log", inputs=((4, 0),))]
    sends += [Node("sum", op_type=REDUCE, inputs=((5, 0),))]
    ranks = [
        # The collective was recorded before it had ended.
        write_rank(tmp_path / "run", 0, receives, {2: 2, 3: 2}),
        write_rank(tmp_path / "run", 1, sends, {5: 2, 6: 2}),
    ]
    run = open_run(tmp_path / "run", *ranks)
    (found,) = run.check({"rule": "first_non_finite"}, engine=engine)
    assert (found.rank, found.tensor, found.step) == (1, "forward/log:0", 2)
    assert found.message == (
        "1 NaN and 0 infinities of 1 values; origin: the inputs were finite; sent to rank 0 through sum"
    )
    # Without the rank that sent them, they are those of the op that has received them first.
    (found,) = run.check({"rule": "first_non_finite"}, ranks=[0], engine=engine)
    assert (found.rank, found.tensor, found.step) == (0, "view:0", 2)
    # There may be no later step.
    (found,) = run.check({"rule": "first_non_finite"}, ranks=[0], steps=(1, 2), engine=engine)
    assert (found.rank, found.tensor, found.step) == (0, "view:0", 2)


def test_the_example_of_the_page_works(tmp_path: Path) -> None:
    page = (Path(__file__).resolve().parents[2] / "docs" / "rules.md").read_text()
    (example,) = re.findall(r"^```python\n(import graphdbg\n\n\nclass .*?)^```$", page, re.MULTILINE | re.DOTALL)
    file = tmp_path / "my_rules.py"
    file.write_text(example)
    rank = SyntheticRank(tmp_path / "run", 0, 1, "run")
    rank.nodes.append(Node("forward/input", 3, kind=5))
    for step, zeros in enumerate((1, 2, 3), 1):
        rank.add(mark(BEGIN_KIND, step))
        rank.save(step, 1, numpy.array([0] * zeros + [7] * (4 - zeros)))
        rank.add(mark(END_KIND, step))
    rank.collections["inputs"] = [(1, 0)]
    run = open_run(tmp_path / "run", rank)
    (found,) = run.check(load_file(file)["token_ratio"])
    assert (found.step, found.message) == (3, "75 % of the batch")
    assert found.values == {"share": 75.0, "largest": 50.0}
