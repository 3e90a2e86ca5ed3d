"""`graphdbg doctor`: checks what graphdbg needs and can use on this machine."""

from __future__ import annotations

import argparse
import json
from dataclasses import asdict
from typing import Any

from . import connection, doctor_checks
from .client import Client
from .doctor_checks import Check
from .errors import CliError

_MARKS = {"ok": "ok", "absent": "--", "broken": "!!"}


def add_parser(subparsers: argparse._SubParsersAction[argparse.ArgumentParser]) -> None:
    parser = subparsers.add_parser(
        "doctor",
        help="check what graphdbg needs and can use on this machine",
        description="Lists server, ports, agent library, frameworks, GPUs and NPUs, and for each that is "
        "missing what it means and how to get it. Exits with 1 if something is broken; what is merely "
        "absent, as a GPU, is no error.",
    )
    connection.add_options(parser)
    parser.set_defaults(run=run)


def run(arguments: argparse.Namespace) -> int:
    accelerators: dict[str, Any] | None = None
    client = connection.connect(arguments)
    checks = _server_checks(client)
    try:
        found = doctor_checks.probe("agent")
        accelerators = found["accelerators"]
        checks.append(Check("agent library", "ok", found["version"]))
    except CliError as error:
        checks.append(_broken("agent library", error, "no program can be debugged", "install the wheel again"))
    try:
        checks += doctor_checks.check_frameworks(doctor_checks.probe("frameworks"))
    except CliError as error:
        checks.append(_broken("PyTorch", error, "PyTorch does not load here", "import torch by hand and mend that"))
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
        doctor_checks.check_port(8080, "page", runs),
        doctor_checks.check_port(50051, "address of jobs", runs),
    ]


def _broken(name: str, error: CliError, meaning: str, remedy: str) -> Check:
    return Check(name, "broken", str(error), meaning, remedy)


def _print(checks: list[Check]) -> None:
    for check in checks:
        print(f"{_MARKS[check.state]}  {check.name:15} {check.summary}")
        if check.meaning:
            print(f"    {'':15} {check.meaning}")
        if check.remedy:
            print(f"    {'':15} to mend it: {check.remedy}")
