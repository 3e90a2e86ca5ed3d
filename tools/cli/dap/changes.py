"""Tells the client what has changed beside the place of the job: files, graphs, memory, and hits that come late."""

from __future__ import annotations

import contextlib

from graphdbg.client.errors import GraphdbgError
from graphdbg.client.models import Hit

from .context import Context
from .memory import Memory
from .sources import Sources


class Changes:
    """Called on the thread of events."""

    def __init__(self, context: Context, sources: Sources, memory: Memory) -> None:
        self._context = context
        self._sources = sources
        self._memory = memory
        self._has_grown = True
        self._is_shown = False
        self._files: set[str] = set()
        self._graphs: set[str] = set()

    def graph_has_grown(self) -> None:
        # Read at the next stop, because it comes in many parts.
        self._has_grown = True

    def has_continued(self) -> None:
        self._is_shown = False

    def has_stopped(self) -> None:
        """After the client has been told of a stop."""
        self._is_shown = True
        self._memory.has_changed()
        if self._has_grown:
            self._has_grown = False
            # A client that misses one can still ask for all.
            with contextlib.suppress(GraphdbgError):
                self._tell_new()

    def hit(self, hit: Hit) -> None:
        """A hit that comes while its step is shown, as after `recheck` or from a device that is behind."""
        if self._is_shown and self._context.client.supports("supportsInvalidatedEvent"):
            self._context.connection.event("invalidated", {"areas": ["variables"], "threadId": hit.rank + 1})

    def _tell_new(self) -> None:
        files = [each for each in self._context.need_session().graph_index().files() if each not in self._files]
        for file in files:
            source = self._sources.to_client(file)
            self._context.connection.event("loadedSource", {"reason": "new", "source": source})
        self._files.update(files)
        for module in self._sources.graphs():
            if module["id"] not in self._graphs:
                self._graphs.add(module["id"])
                self._context.connection.event("module", {"reason": "new", "module": module})
