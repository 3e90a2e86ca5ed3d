"""`graphdbg start`: runs the debugger server in the foreground."""

from __future__ import annotations

import argparse
import os
import sys
from collections.abc import Sequence
from pathlib import Path

from . import configuration, report
from .client import default_data_dir
from .configuration import JobConfiguration
from .errors import USAGE, CliError
from .recorded_run import recorded_to
from .run_directory import remove_leftovers
from .server_process import server_program
from .started_server import serve_with_rules

# Options that are passed on to the server, which checks them.
FORWARDED = {
    "max-disk": "limit for jobs on disk, such as 10GiB; beyond it the oldest finished job is deleted",
    "max-memory": "memory of the server, such as 4GiB; shortly before it is reached, the oldest finished jobs are "
    "deleted, then new jobs and large requests are refused",
    "max-jobs": "the same limit for the number of jobs",
    "max-age": "days after which finished jobs are deleted (default: never)",
    "debugger-socket": "path of a Unix socket for agents of the same user, beside the port; "
    "jobs use it with GRAPHDBG_HOST=unix:PATH",
    "tls-cert": "PEM file with the certificate, for remote access; jobs then need GRAPHDBG_TLS_CA",
    "tls-key": "PEM file with the certificate's private key",
    "tls-client-ca": "PEM file with the authority that must have issued the certificates of browsers and jobs",
    "forwarded-port": "ports at which tunnels make the page available, such as 9000,9001 (default: that of --port)",
    "frame-ancestors": "origins of pages that may show the page in a frame, such as http://localhost:8888",
    "mindspore-allow": "other machines whose MindSpore jobs may connect, unauthenticated and unencrypted: "
    "addresses and networks, such as 10.1.0.0/16,192.168.7.5",
    "mindspore-port": "port for these jobs, on all addresses; 0 picks a free port (default: 50052)",
}


def add_parser(subparsers: argparse._SubParsersAction[argparse.ArgumentParser]) -> None:
    parser = subparsers.add_parser(
        "start",
        help="run the debugger server",
        description="Runs the debugger server until Ctrl-C, and prints the page's address with its "
        "one-time code. Jobs connect if GRAPHDBG_ENABLE=1 and GRAPHDBG_PORT=<debugger port> are set.",
    )
    parser.add_argument(
        "--port",
        type=int,
        default=8080,
        help="port of the page and the HTTP interface; 0 picks a free port (default: %(default)s)",
    )
    parser.add_argument(
        "--debugger-port",
        type=int,
        default=50051,
        help="port for agent connections; 0 picks a free port (default: %(default)s)",
    )
    parser.add_argument("--host", default="127.0.0.1", help="address to listen on (default: %(default)s)")
    parser.add_argument("--data-dir", help="where tokens and jobs are stored (default: ~/.local/share/graphdbg)")
    parser.add_argument(
        "--runs",
        action="append",
        default=[],
        metavar="DIR",
        help="directory of recorded runs, or a single one, to show beside the jobs; may be repeated",
    )
    configuration.add_option(parser, ", whose rules are evaluated over what jobs record while they run")
    configuration.add_rules_option(parser)
    for option, explanation in FORWARDED.items():
        parser.add_argument(f"--{option}", help=explanation)
    parser.add_argument("--no-auth", action="store_true", help="do not require a token; on loopback only")
    parser.add_argument(
        "--no-attach",
        action="store_true",
        help="do not let administrators attach to your trainings on this machine from the page",
    )
    parser.add_argument("--json", action="store_true", help="print the addresses as one line of JSON")
    parser.add_argument(
        "--enable-debugger",
        type=_enabled,
        default="True",
        metavar="True",
        help="accepted for compatibility; graphdbg has nothing to run without its debugger",
    )
    parser.set_defaults(run=run)


def _enabled(text: str) -> str:
    if text.lower() not in ("true", "1"):
        raise argparse.ArgumentTypeError(
            f"cannot be {text}, because the debugger is all that graphdbg start runs: to run a job without "
            "debugging, leave GRAPHDBG_ENABLE out of its environment"
        )
    return "True"


def run(arguments: argparse.Namespace) -> int:
    configured = configuration.read(arguments.config, arguments.rules_from)
    rules = configured.rules
    if configured.file and not rules.rules:
        report.log(f"{configured.file} has no rules, which are all that graphdbg start takes from it")
    runs = arguments.runs or (_recorded_to(configured) if rules.rules else [])
    command = _command(arguments, runs)
    remove_leftovers()
    if rules.rules:
        return serve_with_rules(command, Path(arguments.data_dir or default_data_dir()), rules)
    os.execv(command[0], command)


def _recorded_to(configured: JobConfiguration) -> list[str]:
    """The directory of runs that the configuration or the environment names, which is made.

    Raises:
        CliError: None is named.
    """
    directory = recorded_to(os.environ | configured.environment)
    if not directory or "://" in directory:
        raise CliError("rules look at what jobs record: --runs DIR names the directory that they record to", USAGE)
    Path(directory).mkdir(parents=True, exist_ok=True)
    return [directory]


def _own_program() -> Path | None:
    """The program that this process runs, which the server runs to attach to trainings."""
    candidates = [Path(sys.argv[0]).absolute(), Path(sys.executable).with_name("graphdbg")]
    return next(
        (each for each in candidates if each.name == "graphdbg" and each.is_file() and os.access(each, os.X_OK)), None
    )


def _command(arguments: argparse.Namespace, runs: Sequence[str]) -> list[str]:
    """The server's program and its options."""
    command = [
        str(server_program()),
        f"--port={arguments.port}",
        f"--debugger-port={arguments.debugger_port}",
        f"--host={arguments.host}",
        f"--enable-debugger={arguments.enable_debugger}",
    ]
    if arguments.data_dir:
        command.append(f"--data-dir={arguments.data_dir}")
    for option in FORWARDED:
        value = getattr(arguments, option.replace("-", "_"))
        if value is not None:
            command.append(f"--{option}={value}")
    command += [f"--runs={directory}" for directory in runs]
    program = None if arguments.no_attach else _own_program()
    if program is not None:
        command.append(f"--attach-program={program}")
    if arguments.no_auth:
        command.append("--no-auth")
    if arguments.json:
        command.append("--json")
    return command
