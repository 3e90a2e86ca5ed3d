"""The actions that a configuration file has for findings of rules and hits of watchpoints."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from .errors import USAGE, CliError

# Done by the server, which steers the job.
_IN_JOB = ("pause", "stop", "log", "record", "capture")


@dataclass(frozen=True)
class Actions:
    """The actions of a rule or a watchpoint.

    Attributes:
        in_job: Those that the server carries out, as the HTTP API takes them.
        webhooks: Addresses to which the finding or hit is posted as JSON.
        commands: Programs with their arguments, which get it as JSON on standard input.
    """

    in_job: tuple[str | Mapping[str, Any], ...] = ()
    webhooks: tuple[str, ...] = ()
    commands: tuple[tuple[str, ...], ...] = ()

    @property
    def elsewhere(self) -> bool:
        """Whether some are carried out by `graphdbg run`, and not by the server."""
        return bool(self.webhooks or self.commands)


def actions_of(entry: Mapping[str, Any], place: str) -> Actions:
    """The actions of a rule or a watchpoint as the configuration writes it.

    Args:
        entry: The keys of the rule or watchpoint.
        place: Where it is, for errors: "job.yaml: rules[2]".

    Raises:
        CliError: An action is unknown.
    """
    in_job: list[str | Mapping[str, Any]] = []
    webhooks: list[str] = []
    commands: list[tuple[str, ...]] = []
    for number, action in enumerate(entry.get("actions") or ()):
        where = f"{place}.actions[{number}]"
        if isinstance(action, str):
            if action not in _IN_JOB:
                raise CliError(f"{where}: '{action}' is none of {', '.join(_IN_JOB)}", USAGE)
            in_job.append(action)
            continue
        if not isinstance(action, Mapping) or len(action) != 1:
            raise CliError(
                f"{where}: expected one of {', '.join(_IN_JOB)}, or one of record, webhook and command", USAGE
            )
        [(kind, value)] = action.items()
        if kind == "webhook":
            webhooks.append(str(value))
        elif kind == "command":
            commands.append(_words(value, where))
        elif kind == "record":
            in_job.append(action)
        else:
            raise CliError(f"{where}: there is no action {kind}", USAGE)
    return Actions(tuple(in_job), tuple(webhooks), tuple(commands))


def _words(value: Any, where: str) -> tuple[str, ...]:
    if isinstance(value, str) or not isinstance(value, Sequence) or not value:
        raise CliError(f"{where}: expected a program and its arguments as a list of texts", USAGE)
    return tuple(map(str, value))
