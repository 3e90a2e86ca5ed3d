"""`graphdbg config`: checks configuration files, and prints their schema."""

from __future__ import annotations

import argparse
import json
from pathlib import Path

from graphdbg._config import ConfigurationError, load, schema_text

from .terminal import visible


def add_parser(subparsers: argparse._SubParsersAction[argparse.ArgumentParser]) -> None:
    parser = subparsers.add_parser("config", help="check a configuration file")
    actions = parser.add_subparsers(dest="action", metavar="ACTION", required=True)
    check = actions.add_parser(
        "check",
        help="check a configuration file",
        description="Lists all errors of a configuration file with lines and keys. Exits with 1 if there are any.",
    )
    check.add_argument("file", type=Path, help="YAML or JSON file, or a hook configuration of SageMaker Debugger")
    check.add_argument("--json", action="store_true", help="print errors, notes and the configuration as JSON")
    check.set_defaults(run=_check)
    schema = actions.add_parser(
        "schema", help="print the JSON Schema of the configuration", description="Prints the schema for editors."
    )
    schema.set_defaults(run=_schema)


def _check(arguments: argparse.Namespace) -> int:
    file = str(arguments.file)
    try:
        configuration = load(arguments.file)
    except ConfigurationError as error:
        if arguments.json:
            problems = [
                {"line": each.line or None, "key": each.key, "message": each.message} for each in error.problems
            ]
            print(json.dumps({"valid": False, "errors": problems, "notes": [], "configuration": None}))
        else:
            for problem in error.problems:
                print(visible(problem.describe(file)))
        return 1
    notes = configuration.notes()
    if arguments.json:
        print(json.dumps({"valid": True, "errors": [], "notes": notes, "configuration": configuration.values}))
    else:
        for note in notes:
            print(visible(note))
        kind = "a valid hook configuration of SageMaker Debugger" if configuration.is_sagemaker else "valid"
        print(visible(f"{file}: {kind}"))
    return 0


def _schema(arguments: argparse.Namespace) -> int:
    print(schema_text(), end="")
    return 0
