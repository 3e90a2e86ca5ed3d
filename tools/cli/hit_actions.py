"""Webhooks and commands of watchpoints, for the hits of one job."""

from __future__ import annotations

from dataclasses import dataclass, field

from .actions import Actions
from .client import Client, Json, quote
from .finding_actions import FindingActions

# Steps without a hit after which a hit is another episode, as for the actions that the server carries out.
_COOL_DOWN = 10


@dataclass
class _Watched:
    actions: Actions
    # Where the last page of its hits begins, and those of that page that were handled.
    cursor: str = ""
    seen: set[int] = field(default_factory=set)
    last_step: int | None = None

    def begins(self, step: int) -> bool:
        """Whether a hit in this step begins an episode."""
        last, self.last_step = self.last_step, step
        return last is None or abs(step - last) > _COOL_DOWN


class HitActions:
    """Carries out the webhooks and commands that the configuration file has for hits."""

    def __init__(self, client: Client, job: str, actions: FindingActions) -> None:
        self._client = client
        self._job = job
        self._actions = actions
        self._watched: dict[int, _Watched] = {}
        self._hit_count = 0

    def watch(self, watchpoint: int, actions: Actions) -> None:
        """Begins to look at the hits of a watchpoint."""
        self._watched[watchpoint] = _Watched(actions)

    def update(self, job: Json) -> None:
        """Handles the hits that are new in the job's newest state."""
        if not self._watched or job["hit_count"] <= self._hit_count:
            return
        self._hit_count = job["hit_count"]
        for watchpoint, watched in self._watched.items():
            self._handle(watchpoint, watched)

    def _handle(self, watchpoint: int, watched: _Watched) -> None:
        path = f"/jobs/{quote(self._job)}/hits"
        while True:
            page = self._client.get(path, watchpoint=watchpoint, limit=1000, cursor=watched.cursor)
            new = [hit for hit in page["hits"] if hit["id"] not in watched.seen and not hit["absorbed"]]
            for hit in new:
                if watched.begins(hit["step"]):
                    self._actions.perform(watched.actions, {"job": self._job, **hit})
            watched.seen |= {hit["id"] for hit in new}
            if not page["next_cursor"]:
                return
            watched.cursor, watched.seen = page["next_cursor"], set()
