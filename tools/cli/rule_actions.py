"""The actions of rules that are evaluated while a job runs."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from .errors import USAGE, CliError

# Done by the server, which steers the job.
IN_JOB = ("pause", "stop", "log")


@dataclass(frozen=True)
class Actions:
    """The actions of a rule.

    Attributes:
        in_job: Some of "pause", "stop" and "log".
        webhooks: Addresses to which the finding is posted as JSON.
        commands: Programs with their arguments, which get the finding as JSON on standard input.
    """

    in_job: tuple[str, ...] = ()
    webhooks: tuple[str, ...] = ()
    commands: tuple[tuple[str, ...], ...] = ()


def actions_of(entry: Mapping[str, Any], place: str) -> Actions:
    """The actions of a rule as the configuration writes it.

    Args:
        entry: The rule's keys.
        place: Where it is, for errors: "job.yaml: rules[2]".

    Raises:
        CliError: An action is unknown. `record` is, but has no effect in this version.
    """
    in_job: list[str] = []
    webhooks: list[str] = []
    commands: list[tuple[str, ...]] = []
    for number, action in enumerate(entry.get("actions") or ()):
        where = f"{place}.actions[{number}]"
        if isinstance(action, str):
            if action not in IN_JOB:
                raise CliError(f"{where}: '{action}' is none of {', '.join(IN_JOB)}", USAGE)
            in_job.append(action)
            continue
        if not isinstance(action, Mapping) or len(action) != 1:
            raise CliError(f"{where}: expected one of {', '.join(IN_JOB)}, or one of webhook and command", USAGE)
        [(kind, value)] = action.items()
        if kind == "webhook":
            webhooks.append(str(value))
        elif kind == "command":
            commands.append(_words(value, where))
        elif kind != "record":
            raise CliError(f"{where}: there is no action {kind}", USAGE)
    return Actions(tuple(in_job), tuple(webhooks), tuple(commands))


def _words(value: Any, where: str) -> tuple[str, ...]:
    if isinstance(value, str) or not isinstance(value, Sequence) or not value:
        raise CliError(f"{where}: expected a program and its arguments as a list of texts", USAGE)
    return tuple(map(str, value))
