"""The configuration file of `graphdbg run`, `graphdbg check` and `graphdbg start`."""

from __future__ import annotations

import argparse
import os
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from graphdbg._config import INTENTIONAL_INFINITIES, ConfigurationError, Watchpoint, load
from graphdbg._config.job import APPLIED, file_of

from . import report
from .actions import Actions, actions_of
from .break_on import check_condition, parse_condition
from .client import Client, Json
from .errors import USAGE, CliError
from .live_rules import RuleSet


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
    rules: RuleSet = field(default_factory=RuleSet)
    file: str = ""


def add_option(parser: argparse.ArgumentParser, use: str = "") -> None:
    """Adds `--config`. `use`: what the command does with the file, if it does not apply all of it."""
    parser.add_argument(
        "--config",
        type=Path,
        metavar="FILE",
        help=f"configuration file, YAML or JSON{use} (default: $GRAPHDBG_CONFIG or $SMDEBUG_CONFIG_FILE_PATH)",
    )


def add_rules_option(parser: argparse.ArgumentParser) -> None:
    parser.add_argument(
        "--rules-from",
        action="append",
        default=[],
        metavar="F.py",
        help="evaluate the rules of this Python file, which is executed, while the job runs (again for more); if the "
        "configuration has rules, those that it names",
    )


def read(option: Path | None, rules_from: Sequence[str] = ()) -> JobConfiguration:
    """Reads the file that the option or the environment names, and prints notes about it.

    Args:
        option: The file.
        rules_from: Python files with rules.

    Raises:
        CliError: A file cannot be read, or has errors. The message has one line for each.
    """
    file = str(option) if option else file_of(os.environ)
    if file is None:
        return JobConfiguration(rules=_rules("", [], rules_from))
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
        _rules(configuration.file, configuration.values.get("rules") or [], rules_from),
        configuration.file,
    )


def add_intentional(configuration: JobConfiguration, patterns: Sequence[str]) -> None:
    """Adds to the nodes whose infinities are intentional."""
    variables = os.environ | configuration.environment
    all_patterns = [*filter(None, [variables.get(INTENTIONAL_INFINITIES)]), *patterns]
    if all_patterns:
        configuration.environment[INTENTIONAL_INFINITIES] = ",".join(all_patterns)


def _rules(file: str, entries: Sequence[Mapping[str, Any]], rules_from: Sequence[str]) -> RuleSet:
    if not entries and not rules_from:
        return RuleSet()
    try:
        from .read_live_rules import read_live_rules
    except ImportError as error:
        raise CliError(f"{file or rules_from[0]}: rules need {error.name}: pip install {error.name}", USAGE) from None
    return read_live_rules(file, entries, rules_from)


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
