"""The steps of a job: boosting rounds."""

from __future__ import annotations

import contextlib
import json
import os
import threading
import weakref
from collections.abc import Iterator
from typing import Any

from .. import Terminated, _exit_report
from .._agent import Agent
from .._log import log
from .._process import default_job_name
from .followed import Followed
from .library import Library

_SETTINGS = "GRAPHDBG_RECORD_SETTINGS"
_RECORDED = {
    # Rounds are short, and no round is left out.
    "record": {"overhead": 0},
    "collections": [
        {"name": "all"},
        {"name": "losses"},
        # Rules on features need the values.
        {"name": "feature_importance", "level": "tensors", "include": ["(^|/)feature_importance/"]},
    ],
}


class Rounds:
    """Follows the boosters of a process.

    A round ends when its boosters are trained again, when the function that trains them
    returns, or when the program ends: metrics are computed after the trees. Boosters of
    the same group, such as the folds of a cross-validation, are trained side by side in
    the same rounds.
    """

    def __init__(self, library: Library) -> None:
        self._library = library
        # Also held while a thread waits for the user, so that others wait, too.
        self._lock = threading.RLock()
        # A process that is forked from this one is not debugged.
        self._is_forked = False
        os.register_at_fork(after_in_child=self._leave)
        self._agent: Agent | None = None
        self._is_opened = False
        self._boosters: weakref.WeakKeyDictionary[Any, Followed] = weakref.WeakKeyDictionary()
        # The graph of a booster that was named before its first round, and its group.
        self._named: weakref.WeakKeyDictionary[Any, tuple[str, object]] = weakref.WeakKeyDictionary()
        self._graphs: dict[str, int] = {}
        # The round in progress: its boosters and their group.
        self._trained: set[Followed] = set()
        self._group: object = None
        self._is_within = False
        # The booster that was trained last.
        self._last: Followed | None = None

    def name(self, booster: Any, graph: str, group: object) -> None:
        """Names the graph of a booster, and the group with which it is trained, which must not refer to it."""
        self._named[booster] = (graph, group)

    def begin(self, booster: Any) -> Followed | None:
        """Begins a round of a booster. None if it is not debugged. May wait for the user."""
        agent = self._opened()
        if agent is None or agent.is_off() or self._is_forked:
            return None
        with self._lock:
            last = self._last
            # Nearly always: the same booster as before, alone.
            if last is not None and last.group is None and self._is_within and last.booster() is booster:
                # Not ended again if this raises.
                self._is_within = False
                agent.step_end()
                self._is_within = True
                return last
            followed = self._followed(booster) or self._follow(agent, booster)
            if self._is_within and (
                followed.group is None or followed.group is not self._group or followed in self._trained
            ):
                self.end()
            if last is None:
                agent.start()
            self._trained.add(followed)
            self._group, self._is_within, self._last = followed.group, True, followed
            return followed

    def _leave(self) -> None:
        self._is_forked = True

    def _followed(self, booster: Any) -> Followed | None:
        last = self._last
        return last if last is not None and last.booster() is booster else self._boosters.get(booster)

    def _follow(self, agent: Agent, booster: Any) -> Followed:
        name, group = self._named.get(booster, ("booster", None))
        graph = self._graph_named(name)
        followed = self._boosters[booster] = Followed(agent, self._library, booster, graph, group, self._lock)
        return followed

    def followed(self, booster: Any) -> Followed | None:
        """The booster, if it has been trained and is debugged."""
        agent = self._agent
        if agent is None or agent.is_off() or self._is_forked:
            return None
        return self._followed(booster)

    def end(self) -> None:
        """Ends the round in progress, if there is one. May wait for the user."""
        agent = self._agent
        if agent is None or self._is_forked:
            return
        with self._lock:
            if self._is_within:
                self._is_within = False
                self._trained.clear()
                agent.step_end()

    def _graph_named(self, name: str) -> str:
        """A new graph of this name. The first booster's is the main graph, "", unless it has a name."""
        number = self._graphs[name] = self._graphs.get(name, 0) + 1
        if number == 1:
            return "" if name == "booster" else name
        return f"{name}_{number}"

    def _opened(self) -> Agent | None:
        if self._is_opened:
            return self._agent
        with self._lock:
            if not self._is_opened:
                self._is_opened = True
                self._agent = self._open()
        return self._agent

    def _open(self) -> Agent | None:
        title, module = self._library.title, self._library.module
        if not _exit_report.make_free():
            log(
                f"the program uses {title} and another framework, and only the other one is debugged; "
                f"set GRAPHDBG_FRAMEWORK={module} to debug {title} instead"
            )
            return None
        agent = Agent()
        with _recording_rounds():
            if not agent.open(module, self._library.version, default_job_name(), "cpu"):
                return None
        agent.before_wait = self._show_newest_trees
        _exit_report.set_agent(_ReportedAgent(agent, self))
        return agent

    def _show_newest_trees(self) -> None:
        """Adds the trees of the newest round to the graph, for a user who is going to look."""
        followed = self._last
        booster = followed.booster() if followed is not None else None
        if followed is not None and booster is not None:
            followed.show_trees(booster)


@contextlib.contextmanager
def _recording_rounds() -> Iterator[None]:
    """Has everything recorded, as there is little of it, unless the configuration says what."""
    if _SETTINGS in os.environ:
        yield
        return
    os.environ[_SETTINGS] = json.dumps(_RECORDED)
    try:
        yield
    finally:
        del os.environ[_SETTINGS]


class _ReportedAgent:
    """Reports the end of the program, with which the last round ends, too."""

    def __init__(self, agent: Agent, rounds: Rounds) -> None:
        self._agent = agent
        self._rounds = rounds
        self.failed = agent.failed
        self.close = agent.close

    def close_at_exit(self) -> None:
        with contextlib.suppress(Terminated):
            self._rounds.end()
        self._agent.close_at_exit()
