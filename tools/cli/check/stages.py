"""Judges the stages from the events of all processes."""

from __future__ import annotations

import os
from collections.abc import Sequence
from dataclasses import dataclass

from ..client import Json
from . import advice, messages
from .job import Ending
from .records import STAGES, Record

# Exceptions with which launchers report that a process of theirs has failed.
_LAUNCHERS = ("CalledProcessError", "ChildFailedError", "ProcessRaisedException", "ProcessExitedException")


@dataclass
class Failure:
    """A fault in a stage: an event of a process, or one that follows from how the program ended."""

    stage: str
    type: str
    message: str
    rank: int
    time: float
    activity: str = ""
    source: Json | None = None
    traceback: str = ""
    step: int = 0

    @property
    def text(self) -> str:
        return f"{self.type}: {self.message}" if self.message else self.type


def judge(records: Sequence[Record], ending: Ending, command: Sequence[str]) -> tuple[list[Json], Failure | None]:
    """Returns the stages, as in the result object, and the exception that ended the program.

    A stage has passed if it has on all ranks. Of several exceptions the earliest is the
    cause: other ranks fail later because of it.
    """
    ranks = [record for record in records if record.is_training] or _last_started(records)
    cause = _cause(records, ranks, ending, command)
    failures = [cause] if cause else []
    failures += [failure for record in records for failure in _of_kind(record, "found")]
    for failure in failures:
        failure.stage = advice.stage_of(failure.text) or failure.stage
    several = len({record.rank for record in ranks}) > 1
    # The first failure of each stage.
    failed: dict[str, Failure] = {}
    for failure in sorted(failures, key=lambda each: each.time):
        failed.setdefault(failure.stage, failure)
    passed = _passed(ranks, ending, cause is not None)
    stages = [_stage(name, failed.get(name), passed, ranks, several) for name in STAGES]
    return stages, cause


def _last_started(records: Sequence[Record]) -> list[Record]:
    """The processes that have started no others, which leaves out launchers."""
    parents = {record.parent for record in records}
    return [record for record in records if record.pid not in parents]


def _stage(name: str, failure: Failure | None, passed: set[str], ranks: Sequence[Record], several: bool) -> Json:
    if failure is not None:
        return {
            "name": name,
            "state": "failed",
            "message": messages.failure(failure.text, failure.activity if failure.step else "", failure.step),
            "source": _without_text(failure.source),
            "code": failure.source.get("text") if failure.source else None,
            "advice": advice.advise(failure.text, failure.activity or name),
            "rank": failure.rank if several else None,
            "seconds": None,
            "facts": _facts(ranks, name),
        }
    facts = _facts(ranks, name)
    state = "passed" if name in passed else "not_reached"
    seconds = next((each.passed[name]["seconds"] for each in ranks if name in each.passed), None)
    behind = [each.rank for each in ranks if name not in each.passed] if state == "not_reached" else []
    return {
        "name": name,
        "state": state,
        "message": messages.success(name, facts, seconds) if state == "passed" else "",
        "source": None,
        "code": None,
        "advice": None,
        "rank": min(behind) if several and behind else None,
        "seconds": seconds if state == "passed" else None,
        "facts": facts,
    }


def _without_text(source: Json | None) -> Json | None:
    return {"file": source["file"], "line": source["line"]} if source else None


def _facts(ranks: Sequence[Record], stage: str) -> Json:
    """The facts that the lowest rank has reported."""
    if not ranks:
        return {}
    lowest = min(ranks, key=lambda each: each.rank)
    if stage != "run":
        return lowest.facts(stage)
    return next((event["facts"] for kind in ("complete", "exit") for event in lowest.of(kind)), {})


def _passed(ranks: Sequence[Record], ending: Ending, has_failed: bool) -> set[str]:
    """The stages that all ranks have passed."""
    passed = {stage for stage in STAGES if ranks and all(stage in each.passed for each in ranks)}
    if not has_failed and ranks and all(each.step >= 1 for each in ranks):
        passed.add("run")
    return passed


def _exceptions(record: Record) -> list[Failure]:
    """The exceptions of a process, except those after which it continued."""
    latest = max((event["time"] for kind in ("begin", "passed", "complete") for event in record.of(kind)), default=0.0)
    return [failure for failure in _of_kind(record, "exception") if failure.time >= latest]


def _of_kind(record: Record, kind: str) -> list[Failure]:
    return [
        Failure(
            event["stage"],
            event["type"],
            event["message"],
            event["rank"],
            event["time"],
            event.get("activity", ""),
            event["source"],
            event.get("traceback", ""),
            event["step"],
        )
        for event in record.of(kind)
    ]


def _cause(
    records: Sequence[Record], ranks: Sequence[Record], ending: Ending, command: Sequence[str]
) -> Failure | None:
    """The reason why the program ended before the check was complete."""
    if ranks and all(record.has("complete") for record in ranks):
        return None
    exceptions = sorted((failure for record in records for failure in _exceptions(record)), key=lambda each: each.time)
    own = [each for each in exceptions if not each.type.endswith(_LAUNCHERS)]
    if own or exceptions:
        return (own or exceptions)[0]
    if not records:
        return _nothing_observed(ending)
    if ending.timed_out:
        slowest = min(ranks, key=lambda each: STAGES.index(each.position()))
        message = f"the program was still in this stage after {ending.seconds:.0f} s"
        return Failure(slowest.position(), "Timeout", message, slowest.rank, 0.0)
    if ending.code != 0:
        return _ended_without_exception(ranks, ending, command)
    return _too_short(ranks)


def _nothing_observed(ending: Ending) -> Failure:
    how = f"killed by {ending.signal}" if ending.signal else f"exit code {ending.code}"
    message = f"the command has started no Python program that can be observed ({how})"
    return Failure("environment", "NoPython", message, 0, 0.0)


def _ended_without_exception(ranks: Sequence[Record], ending: Ending, command: Sequence[str]) -> Failure:
    missing = next((word for word in command[1:] if word.endswith(".py") and not os.path.exists(word)), None)
    if missing is not None and not any(record.is_training for record in ranks):
        return Failure("environment", "FileNotFoundError", f"no such script: '{missing}'", 0, 0.0)
    # A process that was killed has not reported its end.
    gone = next((record for record in ranks if not record.has_ended), ranks[0])
    if ending.signal:
        return Failure(gone.position(), "Killed", f"the program was killed by {ending.signal}", gone.rank, 0.0)
    message = f"the program ended with exit code {ending.code} and without an exception"
    return Failure(gone.position(), "ExitCode", message, gone.rank, 0.0)


def _too_short(ranks: Sequence[Record]) -> Failure | None:
    """A program that ended well without an optimizer step has trained nothing."""
    record = next((each for each in ranks if each.step == 0), None)
    if record is None:
        return None
    following = next((name for name in STAGES[2:] if name not in record.passed), "run")
    empty = record.facts("data").get("empty")
    if not record.facts("environment").keys() & {"torch", "frameworks"}:
        others = record.facts("environment").get("others") or []
        kind, used = ("OtherFramework", f"; it has imported {' and '.join(others)}") if others else ("NoTorch", "")
        return Failure(
            "imports",
            kind,
            f"the program ended without importing a framework whose programs are checked{used}",
            record.rank,
            0.0,
        )
    if empty and "forward" not in record.passed:
        message = f"the data loader yields no batch: {empty['samples']} samples, batch size {empty['batch_size']}"
        return Failure("data", "EmptyLoader", message, record.rank, 0.0, source=record.facts("data").get("source"))
    return Failure(following, "EndedEarly", f"the program ended before this stage ({following})", record.rank, 0.0)
