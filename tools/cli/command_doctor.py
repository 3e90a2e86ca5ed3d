"""`graphdbg doctor`: checks this machine for everything that graphdbg needs or can use."""

from __future__ import annotations

import argparse
import json
from dataclasses import asdict
from typing import Any

from . import connection, doctor_checks
from .client import Client
from .doctor_checks import Check
from .errors import CliError
from .terminal import visible

_MARKS = {"ok": "ok", "absent": "--", "broken": "!!"}


def add_parser(subparsers: argparse._SubParsersAction[argparse.ArgumentParser]) -> None:
    parser = subparsers.add_parser(
        "doctor",
        help="check this machine for everything that graphdbg needs or can use",
        description="Checks the server, ports, agent library, frameworks, GPUs and NPUs. For everything that is "
        "missing it explains the consequence and the fix. Exits with 1 if something is broken. A part that "
        "is merely absent, such as a GPU, is not an error.",
    )
    connection.add_options(parser)
    parser.set_defaults(run=run)


def run(arguments: argparse.Namespace) -> int:
    accelerators: dict[str, Any] | None = None
    client = connection.connect(arguments, any_server=True)
    checks = _server_checks(client)
    try:
        found = doctor_checks.probe("agent")
        accelerators = found["accelerators"]
        checks.append(Check("agent library", "ok", found["version"]))
    except CliError as error:
        checks.append(_broken("agent library", error, "no program can be debugged", "reinstall the graphdbg wheel"))
    try:
        checks += doctor_checks.check_frameworks(doctor_checks.probe("frameworks"))
    except CliError as error:
        checks.append(
            _broken(
                "PyTorch",
                error,
                "PyTorch cannot be imported",
                "run `python -c 'import torch'` and fix the error that it reports",
            )
        )
    if accelerators is not None:
        checks.append(doctor_checks.check_kernels(accelerators))
        checks += doctor_checks.check_cuda(accelerators)
        checks.append(doctor_checks.check_ascend(accelerators))
    broken = any(check.state == "broken" for check in checks)
    if arguments.json:
        print(json.dumps({"ok": not broken, "checks": [asdict(c) for c in checks], "accelerators": accelerators}))
    else:
        _print(checks)
    return 1 if broken else 0


def _server_checks(client: Client) -> list[Check]:
    server = doctor_checks.check_server(client)
    runs = server.state != "absent"
    return [
        doctor_checks.check_server_program(),
        server,
        doctor_checks.check_port(8080, "port of the page", runs),
        doctor_checks.check_port(50051, "port for agent connections", runs),
    ]


def _broken(name: str, error: CliError, meaning: str, remedy: str) -> Check:
    return Check(name, "broken", str(error), meaning, remedy)


def _print(checks: list[Check]) -> None:
    for check in checks:
        print(f"{_MARKS[check.state]}  {check.name:15} {visible(check.summary)}")
        if check.meaning:
            print(f"    {'':15} {visible(check.meaning)}")
        if check.remedy:
            print(f"    {'':15} fix: {visible(check.remedy)}")
