"""The graph of a booster: the quantities of a round, and trees."""

from __future__ import annotations

import ctypes
from collections.abc import Sequence, Set
from typing import Any

from .. import _c_api
from .._agent import Agent, NodeDeclaration
from .arrays import Array, packed
from .quantity import Quantity
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
_REPORTED = tuple(name for name, (_, kind, _) in _QUANTITIES.items() if kind == "op")
_NONE: Set[str] = frozenset()
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
        learns: bool,
    ) -> None:
        """Declares the quantities of a round.

        `graph` is its id, "" for the main graph; names in other graphs begin with it.
        `stack` is where the program trains. Gradients are ops of the type `objective`
        at `objective_stack`, and `origin` says where their values come from. With `learns`,
        the first round is reported even if nobody asks for it, so that sizes are known.
        """
        self._agent = agent
        self._graph = graph
        self._prefix = f"{graph}/" if graph else ""
        self._learns = learns
        self._quantities: dict[str, Quantity] = {}
        # Handles of the round's values, which keep them alive.
        self._handles: list[int] = []
        self._given: set[str] = set()
        self._wanted: Set[str] = _NONE
        self._shown: set[int] = set()
        for order, (name, (inputs, kind, category)) in enumerate(_QUANTITIES.items(), 1):
            is_gradient = name in ("train/gradient", "train/hessian")
            attributes = {"values": origin} if is_gradient else {}
            if name == "train/tree":
                attributes = {"outputs": _SLOTS_OF_TREE}
            producers = [self._quantities[each] for each in inputs]
            number = agent.declare(
                NodeDeclaration(
                    graph=graph,
                    name=self._prefix + name,
                    kind=kind,
                    category=category,
                    op_type=objective if is_gradient else _OP_TYPES.get(name, ""),
                    stack=objective_stack if is_gradient else stack,
                    inputs=[(each.number, 0) for each in producers],
                    attributes=attributes,
                    order=order if kind == "op" else 0,
                )
            )
            self._quantities[name] = Quantity(number, producers)
        # The nodes that are asked about in each round, and memory for the interest in them.
        self._reported = (ctypes.c_uint32 * len(_REPORTED))(*(self._quantities[name].number for name in _REPORTED))
        self._interests = (ctypes.c_uint8 * len(_REPORTED))()

    # ---- quantities

    def look(self) -> bool:
        """Looks which quantities are to be reported in this round, and returns whether any is."""
        interests = self._interests
        greatest = self._agent.interests(self._reported, interests)
        if greatest == _c_api.INTEREST_REQUIRED:
            self._learns = True
        # Most rounds end here.
        if not (greatest and self._learns):
            self._wanted = _NONE
            return False
        self._wanted = {name for name, interest in zip(_REPORTED, interests, strict=True) if interest}
        return True

    def wants(self, name: str) -> bool:
        """Whether a quantity that was looked for is to be reported. A user who has waited since may ask for more."""
        return name in self._wanted or (bool(self._handles) and self._agent.interest(self._quantities[name].number))

    def give(self, name: str, value: Array) -> None:
        """Sets a quantity that others are computed from. Inputs stay the same, so they are reported once."""
        quantity = self._described(name, [value])
        if name not in self._given and _QUANTITIES[name][1] == "input" and self._agent.interest(quantity.number):
            self._given.add(name)
            self._agent.report(quantity.execution(_c_api.GIVEN))

    def report(self, name: str, values: Sequence[Array]) -> None:
        """Reports a quantity; waits while the job is paused there."""
        self._agent.report(self._described(name, [packed(value) for value in values]).execution())

    def _described(self, name: str, values: Sequence[Array]) -> Quantity:
        handles = [self._agent.new_handle(value) for value in values]
        self._handles += handles
        quantity = self._quantities[name]
        quantity.describe(values, handles)
        return quantity

    def end_round(self) -> None:
        if not self._handles:
            return
        for handle in self._handles:
            self._agent.forget(handle)
        self._handles.clear()
        for quantity in self._quantities.values():
            quantity.end_round()

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
