"""The events of the program's processes."""

from __future__ import annotations

import json
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

from ..client import Json

STAGES = (
    "environment",
    "imports",
    "model",
    "data",
    "forward",
    "loss",
    "backward",
    "optimizer",
    "second_step",
    "run",
)


@dataclass
class Record:
    """One process.

    Attributes:
        events: In order. Those before an event `forked` are of the process that it was forked from.
    """

    events: list[Json]

    def of(self, kind: str) -> Iterator[Json]:
        return (event for event in self.events if event["event"] == kind)

    def has(self, kind: str) -> bool:
        return any(True for _ in self.of(kind))

    @property
    def pid(self) -> int:
        return int(self._process["pid"])

    @property
    def parent(self) -> int:
        return int(self._process["parent"])

    @property
    def _process(self) -> Json:
        return next(event for event in reversed(self.events) if event["event"] in ("process", "forked"))

    @property
    def passed(self) -> dict[str, Json]:
        """The events of stages that have succeeded, by stage."""
        return {event["stage"]: event for event in self.of("passed")}

    @property
    def is_training(self) -> bool:
        """Whether the process is a rank, rather than a launcher or a helper."""
        return any(stage in self.passed for stage in STAGES[2:])

    @property
    def rank(self) -> int:
        """The last rank that the process reported: frameworks set it late."""
        return next((int(event["rank"]) for event in reversed(self.events) if "rank" in event), 0)

    @property
    def step(self) -> int:
        return max((int(event.get("step", 0)) for event in self.events), default=0)

    @property
    def has_ended(self) -> bool:
        """Whether the process has ended by itself: it was not killed."""
        return self.has("complete") or self.has("exit")

    def facts(self, stage: str) -> Json:
        """The facts that the process reported about a stage."""
        facts: Json = {}
        for event in self.events:
            if event["event"] in ("note", "passed") and event["stage"] == stage:
                facts |= event["facts"]
        return facts

    def position(self) -> str:
        """The stage that the process was in at its last event."""
        if self.step >= 1:
            return "second_step" if self.step == 1 else "run"
        following = next((stage for stage in STAGES if stage not in self.passed), "run")
        began = [event["stage"] for event in self.of("begin") if event["stage"] not in self.passed]
        return began[-1] if began else following


def read_records(directory: Path) -> list[Record]:
    """The processes in the order of their start. A line that was cut off by a kill is left out."""
    records = [Record(list(_events(file))) for file in directory.glob("*.jsonl")]
    return sorted((each for each in records if each.has("process")), key=lambda each: each.events[0]["time"])


def _events(file: Path) -> Iterator[Json]:
    for line in file.read_text(errors="replace").splitlines():
        try:
            event = json.loads(line)
        except ValueError:
            continue
        if isinstance(event, dict):
            yield event
