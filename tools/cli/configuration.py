"""The configuration file of `graphdbg run` and `graphdbg check`."""

from __future__ import annotations

import argparse
import os
from collections.abc import Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import TYPE_CHECKING

from graphdbg._config import Configuration, ConfigurationError, Watchpoint, load
from graphdbg._config.job import APPLIED, file_of

from . import report
from .actions import Actions, actions_of
from .break_on import check_condition, parse_condition
from .client import Client, Json
from .errors import USAGE, CliError

if TYPE_CHECKING:
    from graphdbg.rules import CompoundRule, ExpressionRule

    from .live_rules import LiveRule


@dataclass
class JobConfiguration:
    """The settings of a configuration file for a job.

    Attributes:
        environment: Variables to add to the job's environment.
        watchpoints: Watchpoints to set before the first step.
        rules: Rules to evaluate while the job runs.
        file: The file, or "" if there is none.
    """

    environment: dict[str, str] = field(default_factory=dict)
    watchpoints: Sequence[Watchpoint] = ()
    rules: Sequence[LiveRule] = ()
    file: str = ""


def add_option(parser: argparse.ArgumentParser) -> None:
    parser.add_argument(
        "--config",
        type=Path,
        metavar="FILE",
        help="configuration file, YAML or JSON (default: $GRAPHDBG_CONFIG or $SMDEBUG_CONFIG_FILE_PATH)",
    )


def read(option: Path | None) -> JobConfiguration:
    """Reads the file that the option or the environment names, and prints notes about it.

    Raises:
        CliError: The file cannot be read, or has errors. The message has one line for each.
    """
    file = str(option) if option else file_of(os.environ)
    if file is None:
        return JobConfiguration()
    try:
        configuration = load(file)
    except ConfigurationError as error:
        *others, last = (problem.describe(error.file) for problem in error.problems)
        for line in others:
            report.log(line)
        raise CliError(last, USAGE) from None
    variables, notes = configuration.variables(os.environ)
    for note in notes + configuration.notes():
        report.log(note)
    # The job does not apply the file a second time.
    return JobConfiguration(
        variables | {"GRAPHDBG_CONFIG": file, APPLIED: file},
        configuration.watchpoints,
        _rules(configuration),
        configuration.file,
    )


def _rules(configuration: Configuration) -> list[LiveRule]:
    entries = configuration.values.get("rules")
    if not entries:
        return []
    try:
        from graphdbg.rules import PythonRule, RuleError, rule_of
    except ImportError as error:
        raise CliError(f"{configuration.file}: rules need {error.name}: pip install {error.name}", USAGE) from None

    from .live_rules import LiveRule

    rules: dict[str, LiveRule] = {}
    for number, entry in enumerate(entries):
        place = f"{configuration.file}: rules[{number}]"
        try:
            rule = rule_of(entry, place)
            if rule.name in rules:
                raise RuleError(f"{place}.name: there is a rule '{rule.name}' already")
            if isinstance(rule, PythonRule):
                report.log(f"{place}: {rule.name} is evaluated after the run only: `graphdbg rules RUN --config FILE`")
                continue
            actions = actions_of(entry, place)
            rules |= {part.name: LiveRule(part, actions) for part in _named_parts(rule)}
        except RuleError as error:
            raise CliError(str(error), USAGE) from None
    return list(rules.values())


def _named_parts(rule: ExpressionRule | CompoundRule) -> list[ExpressionRule]:
    """The expressions of a rule. The server distinguishes rules by their names."""
    if len(rule.parts) == 1:
        return list(rule.parts)
    return [replace(part, name=f"{part.name} ({number})") for number, part in enumerate(rule.parts, 1)]


def watchpoint_bodies(configuration: JobConfiguration, pause: str, client: Client) -> list[tuple[Json, Actions]]:
    """The watchpoints as the HTTP API takes them, and their actions.

    Args:
        pause: Where a hit of a watchpoint stops training if the file does not set it.

    Raises:
        CliError: A condition is unknown or has wrong parameters, or an action is unknown.
    """
    if not configuration.watchpoints:
        return []
    rows = {row["id"]: row for row in client.get("/conditions")["conditions"]}
    return [_body(each, configuration.file, pause, rows, client) for each in configuration.watchpoints]


def _body(watchpoint: Watchpoint, file: str, pause: str, rows: dict[str, Json], client: Client) -> tuple[Json, Actions]:
    actions = actions_of(watchpoint.fields, f"{file}: {watchpoint.key}")
    condition = watchpoint.condition
    try:
        if isinstance(condition, str):
            condition = parse_condition(condition, rows)
        check_condition(condition, client)
    except CliError as error:
        message = str(error).removeprefix("--break-on: ")
        raise CliError(f"{file}:{watchpoint.line}: {watchpoint.key}: {message}", USAGE) from None
    return {"condition": condition, "pause": pause, **watchpoint.fields, "actions": list(actions.in_job)}, actions
