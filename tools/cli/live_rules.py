"""The rules of a configuration file in a job that runs under `graphdbg run`."""

from __future__ import annotations

import time
from collections.abc import Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING

from . import report
from .actions import Actions
from .client import ApiError, Client, Json, quote
from .finding_actions import FindingActions

if TYPE_CHECKING:
    from graphdbg.rules import ExpressionRule

_POLL_SECONDS = 0.5
# How long the server may take to evaluate the last steps.
_END_SECONDS = 30.0
# Reasons for which rules cannot be set yet: the job has not begun to record.
_NOT_YET = ("not_recorded", "run_not_here")


@dataclass(frozen=True)
class LiveRule:
    """A rule, and what is done when it fires."""

    rule: ExpressionRule
    actions: Actions

    def body(self) -> Json:
        # It was there from the first step, although it is sent once the job has begun to record.
        return {**self.rule.json(), "actions": list(self.actions.in_job), "act_from": 0}


class LiveRules:
    """Has the server evaluate rules over what a job records, and handles their findings."""

    def __init__(self, rules: Sequence[LiveRule], client: Client, job: str, actions: FindingActions) -> None:
        self._rules = {each.rule.name: each for each in rules}
        self._client = client
        self._job = job
        self._path = f"/jobs/{quote(job)}"
        self._actions = actions
        self._set = False
        self._next_poll = 0.0
        self.findings: list[Json] = []

    def update(self) -> None:
        """Called again and again while the job runs."""
        if not self._rules or time.monotonic() < self._next_poll:
            return
        self._next_poll = time.monotonic() + _POLL_SECONDS
        if self._try_to_set():
            self._collect()

    def finish(self) -> None:
        """Waits until all steps of the job, which has ended, have been evaluated."""
        if not self._rules:
            return
        if not self._try_to_set():
            if self._rules:
                report.log("the rules were not evaluated: the job has recorded nothing")
            return
        deadline = time.monotonic() + _END_SECONDS
        while not self._complete(states := self._states()) and time.monotonic() < deadline:
            time.sleep(_POLL_SECONDS / 5)
            self._collect()
        for each in states:
            if each["error"]:
                report.log(f"rule {each['name']}: {each['error']}")
            elif each["observations"] == 0:
                report.log(f"rule {each['name']}: nothing that it selects was recorded")

    def _complete(self, states: Sequence[Json]) -> bool:
        """Whether all steps were evaluated, and all findings collected."""
        evaluated = all(each["state"] != "running" for each in states)
        return evaluated and _count(states) <= len(self.findings)

    def _states(self) -> list[Json]:
        states: list[Json] = self._client.get(f"{self._path}/rules")["rules"]
        return states

    def _try_to_set(self) -> bool:
        if self._set:
            return True
        try:
            self._client.post(f"{self._path}/rules", {"rules": [each.body() for each in self._rules.values()]})
        except ApiError as error:
            if error.code not in _NOT_YET:
                # Training goes on without them.
                report.log(f"the rules are not evaluated: {error}")
                self._rules = {}
            return False
        self._set = True
        return True

    def _collect(self) -> None:
        if _count(self._states()) <= len(self.findings):
            return
        answer = self._client.get(f"{self._path}/findings")
        # The server lists the newest ones.
        new = answer["total"] - len(self.findings)
        for finding in answer["findings"][-new:] if new > 0 else ():
            _log(finding)
            self.findings.append({"job": self._job, **finding})
            rule = self._rules.get(finding["rule"])
            if rule is not None:
                self._actions.perform(rule.actions, self.findings[-1])


def _count(states: Sequence[Json]) -> int:
    return sum(each["finding_count"] for each in states)


def _log(finding: Json) -> None:
    rank = "" if finding["rank"] is None else f" on rank {finding['rank']}"
    tensor = f" at {finding['tensor']}" if finding["tensor"] else ""
    report.log(f"rule {finding['rule']} fired in step {finding['step']}{rank}{tensor}: {finding['message']}")
