"""`graphdbg start`: runs the debugger server in the foreground."""

from __future__ import annotations

import argparse
import os

from .server_process import server_program

# Options that the server explains and checks.
FORWARDED = {
    "max-disk": "bytes of jobs on the disk, as 10GiB; above it the oldest ended job is forgotten",
    "max-memory": "the same for memory, as 4GiB",
    "max-jobs": "the same for the number of jobs",
    "tls-cert": "PEM file of the certificate, for an address beyond this machine; jobs then need GRAPHDBG_TLS_CA",
    "tls-key": "PEM file of its key",
    "tls-client-ca": "PEM file of the authority whose certificates browsers and jobs have to show",
    "mindspore-allow": "other machines whose MindSpore jobs may come, unauthenticated and in the clear: "
    "addresses and networks, as 10.1.0.0/16,192.168.7.5",
    "mindspore-port": "port that those jobs dial, on all addresses; 0 picks a free one (50052)",
}


def add_parser(subparsers: argparse._SubParsersAction[argparse.ArgumentParser]) -> None:
    parser = subparsers.add_parser(
        "start",
        help="run the debugger server",
        description="Runs the debugger server until Ctrl-C and prints the page's address with its "
        "one-time code. Jobs find it by GRAPHDBG_ENABLE=1 GRAPHDBG_PORT=<debugger port>.",
    )
    parser.add_argument(
        "--port",
        type=int,
        default=8080,
        help="port of the page and the HTTP interface; 0 picks a free one (%(default)s)",
    )
    parser.add_argument(
        "--debugger-port", type=int, default=50051, help="port that jobs dial; 0 picks a free one (%(default)s)"
    )
    parser.add_argument("--host", default="127.0.0.1", help="address to listen on (%(default)s)")
    parser.add_argument("--data-dir", help="where tokens and recorded runs lie (~/.local/share/graphdbg)")
    for option, explanation in FORWARDED.items():
        parser.add_argument(f"--{option}", help=explanation)
    parser.add_argument("--no-auth", action="store_true", help="no token needed; on loopback only")
    parser.add_argument("--json", action="store_true", help="print the addresses as one line of JSON")
    parser.add_argument("--enable-debugger", default="True", metavar="True", help="accepted for compatibility")
    parser.set_defaults(run=run)


def run(arguments: argparse.Namespace) -> int:
    program = str(server_program())
    command = [
        program,
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
    if arguments.no_auth:
        command.append("--no-auth")
    if arguments.json:
        command.append("--json")
    os.execv(program, command)
