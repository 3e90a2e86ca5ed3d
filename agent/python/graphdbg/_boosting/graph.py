"""The graph of a booster: the quantities of a round, and trees."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from .. import _c_api
from .._agent import Agent, NodeDeclaration
from .arrays import Array, describe, packed
from .trees import Tree, node_name

# Quantities in the order of a round: what each is computed from, kind and category.
_QUANTITIES: dict[str, tuple[Sequence[str], str, str]] = {
    "data/label": ((), "input", "other"),
    "train/previous_margin": ((), "buffer", "activation"),
    "train/gradient": (("train/previous_margin", "data/label"), "op", "gradient"),
    "train/hessian": (("train/previous_margin", "data/label"), "op", "other"),
    "train/tree": (("train/gradient", "train/hessian"), "op", "other"),
    "train/tree_depth": (("train/tree",), "op", "other"),
    "feature_importance/weight": (("train/tree",), "op", "other"),
    "feature_importance/gain": (("train/tree",), "op", "other"),
    "train/margin": (("train/previous_margin", "train/tree"), "op", "activation"),
}
_OP_TYPES = {
    "train/tree": "tree",
    "train/tree_depth": "tree depth",
    "feature_importance/weight": "feature importance",
    "feature_importance/gain": "feature importance",
    "train/margin": "margin",
}
_SLOTS_OF_TREE = "0: values of leaves, 1: thresholds of splits, 2: gains of splits, 3: covers of all nodes"


class Graph:
    def __init__(
        self,
        agent: Agent,
        graph: str,
        stack: Sequence[Any],
        objective: str,
        origin: str,
        objective_stack: Sequence[Any],
    ) -> None:
        """Declares the quantities of a round.

        `graph` is its id, "" for the main graph; names in other graphs begin with it.
        `stack` is where the program trains. Gradients are ops of the type `objective`
        at `objective_stack`, and `origin` says where their values come from.
        """
        self._agent = agent
        self._graph = graph
        self._prefix = f"{graph}/" if graph else ""
        self._numbers: dict[str, int] = {}
        # Descriptions and handles of the round's values, by quantity. Handles keep values alive.
        self._described: dict[str, list[Any]] = {}
        self._handles: list[int] = []
        self._given: set[str] = set()
        self._wanted: set[str] = set()
        self._shown: set[int] = set()
        for order, (name, (inputs, kind, category)) in enumerate(_QUANTITIES.items(), 1):
            is_gradient = name in ("train/gradient", "train/hessian")
            attributes = {"values": origin} if is_gradient else {}
            if name == "train/tree":
                attributes = {"outputs": _SLOTS_OF_TREE}
            self._numbers[name] = agent.declare(
                NodeDeclaration(
                    graph=graph,
                    name=self._prefix + name,
                    kind=kind,
                    category=category,
                    op_type=objective if is_gradient else _OP_TYPES.get(name, ""),
                    stack=objective_stack if is_gradient else stack,
                    inputs=[(self._numbers[each], 0) for each in inputs],
                    attributes=attributes,
                    order=order if kind == "op" else 0,
                )
            )

    # ---- quantities

    def look(self, names: Sequence[str]) -> bool:
        """Looks which of the quantities are to be reported in this round, and returns whether any is."""
        interest = self._agent.interest
        self._wanted = {name for name in names if interest(self._numbers[name])}
        return bool(self._wanted)

    def wants(self, name: str) -> bool:
        """Whether a quantity that was looked for is to be reported. A user who has waited since may ask for more."""
        return name in self._wanted or (bool(self._handles) and self._agent.interest(self._numbers[name]))

    def give(self, name: str, value: Array) -> None:
        """Sets a quantity that others are computed from. Inputs stay the same, so they are reported once."""
        outputs = self._described[name] = [self._describe(value)]
        number = self._numbers[name]
        if name not in self._given and _QUANTITIES[name][1] == "input" and self._agent.interest(number):
            self._given.add(name)
            self._agent.executed(number, _c_api.GIVEN, [], outputs, _c_api.TRAIN)

    def report(self, name: str, values: Sequence[Array]) -> None:
        """Reports a quantity; waits while the job is paused there."""
        outputs = self._described[name] = [self._describe(packed(value)) for value in values]
        inputs = [
            _c_api.Input(node=self._numbers[each], slot=0, tensor=self._described.get(each, _NOTHING)[0])
            for each in _QUANTITIES[name][0]
        ]
        self._agent.executed(self._numbers[name], 0, inputs, outputs, _c_api.TRAIN)

    def end_round(self) -> None:
        for handle in self._handles:
            self._agent.forget(handle)
        self._handles.clear()
        self._described.clear()

    def _describe(self, value: Array) -> Any:
        handle = self._agent.new_handle(value)
        self._handles.append(handle)
        return describe(value, handle)

    # ---- trees

    def has_trees(self, round_: int) -> bool:
        return round_ in self._shown

    def add_trees(self, round_: int, trees: Sequence[Tree], features: Sequence[str]) -> None:
        """Adds the trees of a round, from 1. Those of one round are numbered from 0 if there are several."""
        self._shown.add(round_)
        scope = f"{self._prefix}tree/{round_}"
        for number, tree in enumerate(trees):
            self._add_tree(f"{scope}/{number}" if len(trees) > 1 else scope, tree, features)

    def _add_tree(self, scope: str, tree: Tree, features: Sequence[str]) -> None:
        rows = [(0, 0)] if len(tree.left) else []
        while rows:
            row, parent = rows.pop()
            is_leaf = not tree.is_split[row]
            number = self._agent.declare(
                NodeDeclaration(
                    graph=self._graph,
                    name=f"{scope}/{node_name(tree, row, features)}",
                    kind="constant" if is_leaf else "op",
                    op_type="leaf" if is_leaf else "split",
                    inputs=[(parent, 0)] if parent else [],
                    attributes=_attributes_of(tree, row, features),
                )
            )
            if not is_leaf:
                rows += [(int(tree.right[row]), number), (int(tree.left[row]), number)]


def _attributes_of(tree: Tree, row: int, features: Sequence[str]) -> dict[str, str]:
    cover = f"{tree.cover[row]:g}"
    if not tree.is_split[row]:
        return {"value": str(tree.value[row]), "cover": cover}
    return {
        "feature": features[tree.feature[row]],
        "threshold": str(tree.threshold[row]),
        "gain": f"{tree.gain[row]:g}",
        "cover": cover,
    }


_NOTHING = [describe(packed([]))]
