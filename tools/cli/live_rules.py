"""The rules of a configuration file in a job of `graphdbg run` or `graphdbg start`."""

from __future__ import annotations

import time
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

from . import report
from .actions import Actions
from .client import ApiError, Client, Json, quote
from .finding_actions import FindingActions
from .hosted_rules import HostedRules
from .recorded_jobs import directory_of

if TYPE_CHECKING:
    from graphdbg.rules import ExpressionRule, PythonRule

_POLL_SECONDS = 0.5
# How long nothing may change until the last steps are evaluated.
_END_SECONDS = 30.0
# Reasons for which rules cannot be set yet: the job has not begun to record where the server looks.
_NOT_YET = ("not_recorded", "run_not_here")
_MOST_PATIENT_SECONDS = 60.0


@dataclass(frozen=True)
class LiveRule:
    """A rule, and the actions that its findings have.

    Attributes:
        rule: An expression, which the server evaluates, or a rule in Python, which a process of this command does.
        actions: What a finding does.
        entry: A rule in Python as the configuration writes it.
    """

    rule: ExpressionRule | PythonRule
    actions: Actions
    entry: Mapping[str, Any] = field(default_factory=dict)

    @property
    def in_python(self) -> bool:
        return bool(self.entry)

    def body(self) -> Json:
        """The rule as the HTTP API takes it."""
        # It was there from the first step, although it is sent once the job has begun to record.
        return {**self.rule.json(), "actions": list(self.actions.in_job), "act_from": 0}


@dataclass(frozen=True)
class RuleSet:
    """The rules of a job.

    Attributes:
        rules: The rules.
        files: Python files that define some of them.
    """

    rules: Sequence[LiveRule] = ()
    files: Sequence[str] = ()


class LiveRules:
    """Has rules evaluated over what a job records, and handles their findings."""

    def __init__(self, rules: RuleSet, client: Client, job: str, actions: FindingActions) -> None:
        self._rules = {each.rule.name: each for each in rules.rules}
        self._files = rules.files
        self._client = client
        self._job = job
        self._path = f"/jobs/{quote(job)}"
        self._actions = actions
        self._set = False
        self._hosted: HostedRules | None = None
        self._next_poll = 0.0
        # Why rules are not set yet, and for how long to wait before the next attempt.
        self._obstacle = "the job has recorded nothing"
        self._patience = _POLL_SECONDS
        # Findings from before: those of a server that was started again.
        self._old: int | None = None
        # The number of findings that was seen last, and the one up to which all were collected.
        self._counted = self._collected = 0
        self.findings: list[Json] = []

    def update(self, paused: bool) -> None:
        """Called again and again while the job runs. `paused`: whether it is paused now."""
        if not self._rules or time.monotonic() < self._next_poll:
            return
        self._next_poll = time.monotonic() + _POLL_SECONDS
        if not self._try_to_set():
            self._next_poll = time.monotonic() + self._patience
        else:
            if self._hosted is not None:
                self._hosted.update(paused)
            self._collect()

    def finish(self) -> None:
        """Waits until all steps of the job, which has ended, have been evaluated."""
        if not self._rules:
            return
        if not self._try_to_set():
            if self._rules:
                report.log(f"the rules were not evaluated: {self._obstacle}")
            return
        if self._hosted is not None:
            self._hosted.job_is_over()
        self._await_the_end()
        self._log_states(self._states())

    def _await_the_end(self) -> None:
        """Waits until everything is evaluated, or nothing changes any more."""
        before: Sequence[Json] = ()
        deadline = 0.0
        while not self._complete(states := self._states()):
            if states != before:
                before, deadline = states, time.monotonic() + _END_SECONDS
            elif time.monotonic() > deadline:
                report.log(f"the last steps were not evaluated by all rules within {_END_SECONDS:g} s")
                return
            time.sleep(_POLL_SECONDS / 5)
            if self._hosted is not None:
                self._hosted.update(paused=False)
            self._collect()

    def close(self) -> None:
        """Ends the process of rules in Python."""
        if self._hosted is not None:
            self._hosted.close()

    def _log_states(self, states: Sequence[Json]) -> None:
        """Logs rules that have failed or seen nothing."""
        missing = self._hosted.missing() if self._hosted is not None else {}
        for each in states:
            name = each["name"]
            if each["error"]:
                # Rules in Python have been reported when they failed.
                if not each["class"]:
                    report.log(f"rule {name}: {each['error']}")
            elif each["observations"] == 0:
                report.log(f"rule {name}: nothing that it selects was recorded")
            elif missing.get(name):
                report.log(f"rule {name}: undecided: {missing[name]}")

    def _complete(self, states: Sequence[Json]) -> bool:
        """Whether all steps were evaluated, and all findings collected."""
        evaluated = all(each["state"] != "running" for each in states)
        return evaluated and _count(states) == self._collected

    def _states(self) -> list[Json]:
        states: list[Json] = self._client.get(f"{self._path}/rules")["rules"]
        return states

    def _try_to_set(self) -> bool:
        if self._set or not self._rules:
            return self._set
        directory = directory_of(self._client, self._path)
        if directory is None:
            return False
        if self._old is None:
            self._old = int(self._client.get(f"{self._path}/findings", limit=1)["total"])
        # A server that was started again has kept the expressions.
        kept = {each["name"] for each in self._states()}
        new = [each for each in self._rules.values() if each.rule.name not in kept]
        for in_python in (False, True):
            group = [each for each in new if each.in_python == in_python]
            if group and not self._send(group, directory):
                return False
        self._set = bool(self._rules)
        return self._set

    def _send(self, rules: Sequence[LiveRule], directory: str) -> bool:
        """Sends rules to the server. False if it cannot take any yet; rules that it refuses are dropped.

        Args:
            rules: Expressions, or rules in Python.
            directory: The run that the job records.
        """
        try:
            self._client.post(f"{self._path}/rules", {"rules": [each.body() for each in rules]})
        except ApiError as error:
            if error.code in _NOT_YET:
                self._wait_longer(str(error))
                return False
            # Training continues without them.
            report.log(f"the rules are not evaluated: {error}")
            for each in rules:
                del self._rules[each.rule.name]
            return True
        if rules[0].in_python:
            entries = {each.rule.name: each.entry for each in rules}
            self._hosted = HostedRules(self._client, self._path, entries, self._files, directory)
        return True

    def _wait_longer(self, obstacle: str) -> None:
        """The job may never record to where the server looks."""
        if self._patience >= 8 * _POLL_SECONDS and obstacle != self._obstacle:
            report.log(f"the rules are not evaluated yet: {obstacle}")
            self._obstacle = obstacle
        self._patience = min(2 * self._patience, _MOST_PATIENT_SECONDS)

    def _collect(self) -> None:
        count = _count(self._states())
        if count == self._collected:
            return
        answer = self._client.get(f"{self._path}/findings")
        old = self._old or 0
        # The server lists the newest ones.
        new = answer["total"] - old - len(self.findings)
        for finding in answer["findings"][-new:] if new > 0 else ():
            _log(finding)
            self.findings.append({"job": self._job, **finding})
            rule = self._rules.get(finding["rule"])
            if rule is not None:
                self._actions.perform(rule.actions, self.findings[-1])
        # The server counts a finding shortly before it lists it. One that is found again is counted, and not listed
        # again, so that the numbers differ.
        if count <= len(self.findings) or (old and count == self._counted):
            self._collected = count
        self._counted = count


def _count(states: Sequence[Json]) -> int:
    return sum(each["finding_count"] for each in states)


def _log(finding: Json) -> None:
    rank = "" if finding["rank"] is None else f" on rank {finding['rank']}"
    tensor = f" at {finding['tensor']}" if finding["tensor"] else ""
    report.log(f"rule {finding['rule']} fired in step {finding['step']}{rank}{tensor}: {finding['message']}")
