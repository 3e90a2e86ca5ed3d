"""`graphdbg relay`: stands for a server on one host of a large job."""

from __future__ import annotations

import argparse
import os

from .server_process import server_program

# Options that are passed on to the relay, which checks them.
_FORWARDED = {
    "host": "address to listen on (default: 127.0.0.1)",
    "debugger-port": "port for this host's ranks; 0 picks a free port (default: 50051)",
    "upstream-tls-ca": "PEM file with the authority of the server's certificate; needed for a server on another host",
    "upstream-tls-cert": "PEM file with the certificate to present, if the server asks for one",
    "upstream-tls-key": "PEM file with that certificate's private key",
    "tls-cert": "PEM file with the relay's certificate, for ranks on other hosts",
    "tls-key": "PEM file with that certificate's private key",
}


def add_parser(subparsers: argparse._SubParsersAction[argparse.ArgumentParser]) -> None:
    parser = subparsers.add_parser(
        "relay",
        help="pass the ranks of a host on to a server elsewhere",
        description="Listens as a server would, and passes the streams of this host's ranks on to the server over "
        "few connections. Of a rank that runs, it passes on the newest step, ten times a second. Start one on each "
        "host of a job with hundreds of ranks; the ranks connect with GRAPHDBG_ENABLE=1, the token of the server in "
        "GRAPHDBG_TOKEN_FILE, and the relay's port in GRAPHDBG_PORT. If the relay ends, its ranks train on, and "
        "connect again when it is back.",
    )
    parser.add_argument(
        "--upstream", required=True, metavar="HOST:PORT", help="the server's address for agents (--debugger-port)"
    )
    for option, explanation in _FORWARDED.items():
        parser.add_argument(f"--{option}", help=explanation)
    parser.add_argument("--json", action="store_true", help="print the addresses as one line of JSON")
    parser.set_defaults(run=run)


def run(arguments: argparse.Namespace) -> int:
    command = [str(server_program()), "relay", f"--upstream={arguments.upstream}"]
    for option in _FORWARDED:
        value = getattr(arguments, option.replace("-", "_"))
        if value is not None:
            command.append(f"--{option}={value}")
    if arguments.json:
        command.append("--json")
    os.execv(command[0], command)
