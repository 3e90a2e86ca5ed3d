"""Random expressions of rules, and random series to evaluate them on."""

from __future__ import annotations

import random
import sys
from pathlib import Path

import numpy

sys.path.insert(0, str(Path(__file__).resolve().parents[2] / "agent" / "python" / "tests"))
from graphdbg.runs.record import BEGIN_KIND, CHANGE_MEASURES, COUNTS, END_KIND, MEASURES
from synthetic_run import (
    EVAL,
    TRAIN,
    Array,
    Node,
    SyntheticRank,
    change_record,
    mark,
    statistics_records,
    units_record,
    write_run_json,
)

# Sums of these have no rounding errors, whose size depends on the order of the terms.
_VALUES = (0.0, 0.0, 1.0, -1.0, 0.5, 2.0, 3.0, -4.0, 8.0, 0.125, 100.0)
_EXTREMES = (1e300, -1e300, 1e-300, numpy.inf, -numpy.inf)
_LIGHT, _INTENTIONAL = 1, 4
_CONSTANTS = ("0", "1", "2", "0.5", "3", "1e300", "1e-300", "100", "1e308")
_FUNCTIONS = ("prev", "mean_before", "min_before", "max_before")
_RELATIONS = ("<", "<=", ">", ">=", "==", "!=")


class Expressions:
    """Random conditions.

    Args:
        choose: The source of randomness.
        names: The statistics that occur.
    """

    def __init__(self, choose: random.Random, names: tuple[str, ...]) -> None:
        self._random = choose
        self._names = names

    def condition(self, depth: int = 3, within: bool = False) -> str:
        """A condition; `within` the argument of a function over a series."""
        kind = self._random.random()
        if depth > 0 and kind < 0.4:
            operator = self._random.choice(("&&", "||"))
            return f"({self.condition(depth - 1, within)} {operator} {self.condition(depth - 1, within)})"
        if depth > 0 and kind < 0.5:
            return f"!({self.condition(depth - 1, within)})"
        if not within and kind < 0.65:
            return f"held({self.condition(1, True)}, {self._window()})"
        return f"{self.number(2, within)} {self._random.choice(_RELATIONS)} {self.number(2, within)}"

    def number(self, depth: int, within: bool) -> str:
        kind = self._random.random()
        if depth == 0 or kind < 0.3:
            return self._random.choice((self._random.choice(self._names), self._random.choice(_CONSTANTS)))
        if kind < 0.6:
            operator = self._random.choice("+-*/")
            return f"({self.number(depth - 1, within)} {operator} {self.number(depth - 1, within)})"
        if kind < 0.7:
            return f"{self._random.choice(('abs', 'sqrt', 'log10', '-'))}({self.number(depth - 1, within)})"
        if kind < 0.8:
            function = self._random.choice(("min", "max"))
            return f"{function}({self.number(depth - 1, within)}, {self.number(depth - 1, within)})"
        if within:
            return self._random.choice(self._names)
        return f"{self._random.choice(_FUNCTIONS)}({self.number(1, True)}, {self._window()})"

    def _window(self) -> int:
        return self._random.choice((1, 1, 2, 3, 5, 8))


def mutated(choose: random.Random, text: str) -> str:
    """A text with a character or a word more, or a character less; most are no longer expressions."""
    place, kind = choose.randrange(len(text) + 1), choose.random()
    if kind < 0.4:
        return text[:place] + text[place + 1 :]
    words = (" prev(", "held(", " min(", "1e999", "not ", " and ", "== ", " ,0)", "0x1", "1_0", "1e", "\t")
    added = choose.choice("()<>=!&|+-*/,.e1 x_") if kind < 0.8 else choose.choice(words)
    return text[:place] + added + text[place:]


def write_random_run(directory: Path, seed: int, ranks: int = 2, steps: int = 40) -> None:
    """Writes a run of three tensors with random statistics, in which some steps and records are missing."""
    write_run_json(directory, ranks)
    for number in range(ranks):
        random_rank(directory, number, steps, random.Random(f"{seed}/{number}")).write(segments=2)


def random_rank(directory: Path, number: int, steps: int, choose: random.Random) -> SyntheticRank:
    rank = SyntheticRank(directory, number, 1, directory.name)
    rank.nodes = [
        Node(f"forward/op_{each}", each % 5, op_type=("aten::relu", "aten::mm")[each % 2]) for each in range(3)
    ]
    rank.collections["weights"] = [(2, 0)]
    for step in range(1, steps + 1):
        if choose.random() < 0.1:
            continue
        rank.add(mark(BEGIN_KIND, step))
        passes = [(TRAIN, 0, 1)] + [(EVAL, index, index) for index in range(1, choose.choice((1, 1, 2, 3)))]
        for mode, pass_, of_records in passes:
            if mode == EVAL:
                rank.add(mark(BEGIN_KIND, step, EVAL, pass_, mode_step=2 * step + pass_))
            for node in (1, 2, 3):
                if choose.random() < 0.15:
                    continue
                rank.add(_statistics(choose, step, node, mode, of_records))
                if choose.random() < 0.7:
                    rank.add(_change(choose, step, node, mode, of_records))
                if choose.random() < 0.5:
                    idle, units = choose.randrange(4), choose.choice((0, 4, 8))
                    place = {"mode": mode, "pass": of_records}
                    rank.add(units_record(step, node, units, idle, **place))
            if mode == EVAL:
                rank.add(mark(END_KIND, step, EVAL, pass_, mode_step=2 * step + pass_))
        rank.add(mark(END_KIND, step))
    return rank


def _value(choose: random.Random) -> float:
    """A number; NaN, which means that it is absent, in one of ten cases."""
    kind = choose.random()
    if kind < 0.1:
        return numpy.nan
    return choose.choice(_EXTREMES if kind < 0.2 else _VALUES)


def _statistics(choose: random.Random, step: int, node: int, mode: int, pass_: int) -> Array:
    counts = dict.fromkeys(COUNTS, 0)
    for name in COUNTS[1:]:
        counts[name] = choose.choice((0, 0, 1, 2, 3))
    counts["count"] = choose.choice((sum(counts.values()), 1, 0))
    values = {name: _value(choose) for name in MEASURES}
    bad = counts["nan_count"] + counts["pos_inf_count"] + counts["neg_inf_count"]
    if counts["count"] <= bad:
        # Nothing is finite.
        values = dict.fromkeys(MEASURES, numpy.nan)
        counts["count"] = bad
    record = statistics_records(numpy.array([node]), step, {**counts, **values}, mode, pass_)
    record["flags"] = choose.choice((0, 0, 0, _LIGHT, _INTENTIONAL))
    return record


def _change(choose: random.Random, step: int, node: int, mode: int, pass_: int) -> Array:
    count = choose.choice((0, 1, 4))
    # Differences have no sign.
    values = {name: abs(_value(choose)) for name in CHANGE_MEASURES}
    fields = {"count": count, "finite_count": min(count, choose.choice((0, 1)))}
    changed = choose.choice((0, 0, count))
    return change_record(step, node, mode=mode, changed_count=changed, **{"pass": pass_}, **fields, **values)
