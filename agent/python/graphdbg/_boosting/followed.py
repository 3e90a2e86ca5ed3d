"""A booster that is debugged."""

from __future__ import annotations

import contextlib
import threading
import weakref
from collections.abc import Iterator, Sequence
from typing import Any

import numpy as np

from .. import _c_api
from .._agent import Agent
from .arrays import Array, describe, own_copy, packed
from .graph import Graph
from .library import Library, NotCaptured, Objective
from .objectives import gradients
from .trees import Importance, Tree, joined
from .user_code import calling_stack, definition_of, name_of

# The graphs of the boosters that are trained first.
_FIRST_GRAPHS = ("", "fold_0")
_GRADIENTS = ("train/gradient", "train/hessian")
# An objective without a function: the program computes the gradients itself.
GIVEN = object()


class Followed:
    """Reports the rounds of a booster to the agent.

    A round is `before`, the training itself, and, if it is to be reported, `after`. With an objective of the
    user's own, `given` is called in between. Each may wait for the user.
    """

    def __init__(
        self, agent: Agent, library: Library, booster: Any, graph: str, group: object, lock: threading.RLock
    ) -> None:
        """`graph` is the id of the booster's graph, and `group` that with which it is trained, None if it has none."""
        self.booster = weakref.ref(booster)
        self.group = group
        self._agent = agent
        self._library = library
        self._lock = lock
        self._name = graph
        self._graph: Graph | None = None
        self._objective = Objective("")
        self._importance: Importance | None = None
        self._importance_round = 0
        # Of the round in progress: its number, the trees if they were read, and the
        # margins before it, if the gradients are to be computed from them.
        self._round = 0
        self._trees: list[Tree] | None = None
        self._previous: Array | None = None
        self._computes_gradients = False
        self._is_reported = False
        # The data of the latest round; None before the first round.
        self._data: weakref.ref[Any] | None = None
        # The margins after the last round in which they were reported, its number and its data.
        self._margins: tuple[int, weakref.ref[Any], Array] | None = None
        self._told: set[str] = set()

    def trained_on(self, data: Any) -> None:
        """Remembers the data of a round, unless it is something that the library is going to refuse."""
        if not self.is_trained_on(data):
            with contextlib.suppress(TypeError):
                self._data = weakref.ref(data)

    def is_trained_on(self, data: Any) -> bool:
        return self._data is not None and self._data() is data

    # ---- a round

    def before(self, booster: Any, data: Any, own: Any = None) -> bool:
        """Called before a round. Returns whether it is to be reported.

        `own` is an objective of the user's own, or GIVEN.
        """
        self._is_reported = False
        self._trees = None
        agent = self._agent
        if not agent.follows_ops() or (self._graph is not None and not self._graph.look()):
            return False
        agent.begin_pass(_c_api.TRAIN)
        with self._guarded("the quantities"):
            graph = self._graph
            if graph is None:
                graph = self._declared(booster, own)
                if not graph.look():
                    return False
            self._is_reported = True
            self._previous = None
            self._computes_gradients = own is None and any(graph.wants(name) for name in _GRADIENTS)
            if self._computes_gradients and self._objective.formula is not None:
                done = self._library.rounds(booster)
                if done:
                    self._previous = self._margins_before(booster, data, done)
        return self._is_reported

    def given(self, margin: Any, gradient: Any, hessian: Any) -> None:
        """Called with what the user's own objective has returned; margin None: it is not known."""
        graph = self._graph
        if graph is None or not self._is_reported or not any(graph.wants(name) for name in _GRADIENTS):
            return
        with self._guarded("the gradients"):
            graph.end_round()
            if margin is not None:
                graph.give("train/previous_margin", own_copy(margin))
            graph.report("train/gradient", [own_copy(gradient)])
            graph.report("train/hessian", [own_copy(hessian)])

    def after(self, booster: Any, data: Any) -> None:
        """Called after a round that is to be reported."""
        graph = self._graph
        if graph is None or not self._agent.follows_ops():
            return
        try:
            if self._computes_gradients:
                with self._guarded("the gradients"):
                    self._report_gradients(graph, booster, data)
            self._round = self._library.rounds(booster)
            with self._guarded("the trees"):
                self._report_trees(graph, booster)
            if graph.wants("train/margin"):
                with self._guarded("the margins"):
                    margins = self._library.margins(booster, data)
                    self._margins = (self._round, weakref.ref(data), margins)
                    graph.report("train/margin", [margins])
        finally:
            graph.end_round()

    def metric(self, name: str, value: float, is_loss: bool, is_training: bool) -> None:
        """Reports a metric of the round: `name` is DATA-METRIC."""
        if not self._agent.follows_ops():
            return
        number = np.array(value, np.float64)
        name = f"{self._name}/train/metric/{name}" if self._name else f"train/metric/{name}"
        with self._lock:
            if is_training:
                self._agent.begin_pass(_c_api.TRAIN)
            else:
                self._agent.begin_pass(_c_api.EVAL, within_step=True)
            try:
                self._agent.save(name, "losses" if is_loss else "metrics", describe(number))
            finally:
                if not is_training:
                    self._agent.end_pass()

    def show_trees(self, booster: Any) -> None:
        """Adds the newest trees to the graph. Never raises."""
        with contextlib.suppress(Exception):
            graph = self._declared(booster, None)
            done = self._library.rounds(booster)
            if done and not graph.has_trees(done):
                graph.add_trees(done, self._newest_trees(booster), self._library.features(booster))

    # ---- its parts

    def _report_gradients(self, graph: Graph, booster: Any, data: Any) -> None:
        formula = self._objective.formula
        if formula is None:
            raise NotCaptured(self._objective.reason)
        previous = self._previous
        if previous is None:
            previous = self._library.first_margins(booster, data, self._library.margins(booster, data))
        if previous is None:
            return
        label, weight = self._library.labels(booster, data)
        gradient, hessian = gradients(formula, previous, label, weight, self._objective.parameters)
        graph.end_round()
        graph.give("train/previous_margin", previous)
        graph.give("data/label", packed(label))
        graph.report("train/gradient", [gradient])
        graph.report("train/hessian", [hessian])

    def _margins_before(self, booster: Any, data: Any, done: int) -> Array:
        """The margins after `done` rounds."""
        if self._margins is not None:
            round_, kept, margins = self._margins
            if round_ == done and kept() is data:
                return margins
        return self._library.margins(booster, data)

    def _report_trees(self, graph: Graph, booster: Any) -> None:
        if graph.wants("train/tree"):
            graph.report("train/tree", joined(self._newest_trees(booster)))
        if graph.wants("train/tree_depth"):
            depth = max((tree.depth() for tree in self._newest_trees(booster)), default=0)
            graph.report("train/tree_depth", [np.array(depth, np.int32)])
        for kind in ("weight", "gain"):
            name = f"feature_importance/{kind}"
            if graph.wants(name):
                graph.report(name, [getattr(self._importance_of(booster), kind).copy()])

    def _newest_trees(self, booster: Any) -> list[Tree]:
        if self._trees is None:
            self._trees = self._library.newest_trees(booster)
        return self._trees

    def _importance_of(self, booster: Any) -> Importance:
        """Counted on from round to round; from the whole model if rounds have been left out."""
        if self._importance is not None and self._importance_round == self._round - 1:
            self._importance.add(self._newest_trees(booster))
        elif self._importance is None or self._importance_round != self._round:
            self._importance = self._library.importance(booster)
        self._importance_round = self._round
        return self._importance

    def _declared(self, booster: Any, own: Any) -> Graph:
        if self._graph is None:
            stack: Sequence[Any] = calling_stack()
            if own is None:
                self._objective = self._library.objective(booster)
                op_type, origin, source = self._objective.name, "computed by graphdbg from the margins", stack
            else:
                op_type = name_of(own) if own is not GIVEN else "gradient"
                origin, source = "as the program gave them", definition_of(own) or stack
            learns = self._name in _FIRST_GRAPHS
            self._graph = Graph(self._agent, self._name, stack, op_type, origin, source, learns)
        return self._graph

    @contextlib.contextmanager
    def _guarded(self, what: str) -> Iterator[None]:
        """An error of graphdbg must not affect the program: the first one is reported."""
        with self._lock:
            try:
                yield
            except Exception as error:
                if error is self._agent.raised:
                    raise
                self._tell_once(what, error)

    def _tell_once(self, what: str, error: Exception) -> None:
        if what not in self._told:
            self._told.add(what)
            reason = str(error).partition("\n")[0]
            if not isinstance(error, NotCaptured):
                reason = f"{type(error).__name__}: {reason}"
            self._agent.notify(f"{what} of {self._name or 'the booster'} are not captured: {reason}")
