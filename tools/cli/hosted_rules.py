"""A job's rules in Python: evaluated by a process of this command, which reports what they find to the server."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from . import report
from .client import ApiError, Client, Json
from .rule_process import RuleProcess

# The server accepts no more in one request.
_FINDINGS_AT_ONCE = 200


class HostedRules:
    """Reports to the server, which knows the rules, so that it publishes findings and acts.

    Args:
        client: The server.
        job: The path of the job there.
        rules: The rules by name, as the configuration writes them.
        files: Python files with rules.
        run: The directory of the job's recording.
    """

    def __init__(
        self, client: Client, job: str, rules: Mapping[str, Mapping[str, object]], files: Sequence[str], run: str
    ) -> None:
        self._client = client
        self._path = f"{job}/findings"
        self._findings: list[Json] = []
        self._reported: dict[str, Json] = {}
        self._process = RuleProcess(rules, files, run, self._findings.append)

    def update(self, paused: bool) -> None:
        """Called again and again while the job runs, and then until the rules are done."""
        self._process.set_paused(paused)
        self._process.update()
        self._report()

    def job_is_over(self) -> None:
        """Lets the rules look at what is left."""
        self._process.job_is_over()

    def close(self) -> None:
        """Ends the process."""
        self._process.close()

    def missing(self) -> dict[str, str]:
        """For each rule all of whose observations are unknown: what was not recorded."""
        counts = {name: rule.counts for name, rule in self._process.rules.items()}
        return {name: each["missing"] for name, each in counts.items() if each["unknown"] == each["observations"] > 0}

    def _report(self) -> None:
        changed = [state for state in self._states() if self._reported.get(state["name"]) != state]
        while self._findings or changed:
            findings = self._findings[:_FINDINGS_AT_ONCE]
            # States come last: a rule that is done has reported all that it found.
            is_last = len(findings) == len(self._findings)
            try:
                self._client.post(self._path, {"findings": findings, "rules": changed if is_last else []})
            except ApiError as error:
                report.log(f"{len(findings)} findings of rules in Python were refused: {error}")
            del self._findings[: len(findings)]
            if is_last:
                for state in changed:
                    self._set_reported(state)
                changed = []

    def _states(self) -> list[Json]:
        return [
            {
                "name": name,
                "state": rule.state,
                "observations": rule.counts["observations"],
                "unknown": rule.counts["unknown"],
                "error": rule.error or None,
            }
            for name, rule in self._process.rules.items()
        ]

    def _set_reported(self, state: Json) -> None:
        self._reported[state["name"]] = state
        if state["error"]:
            report.log(f"rule {state['name']} was switched off: {state['error']}")
