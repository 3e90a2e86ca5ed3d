"""`graphdbg dap`: the Debug Adapter Protocol for editors."""

from __future__ import annotations

import argparse
import secrets


def add_parser(subparsers: argparse._SubParsersAction[argparse.ArgumentParser]) -> None:
    parser = subparsers.add_parser(
        "dap",
        help="debug from an editor: the Debug Adapter Protocol",
        description="Speaks the Debug Adapter Protocol on standard input and output, as editors start it, or on a port "
        "of this machine. Breakpoints are lines of the model, nodes of the graph and conditions on tensors.",
    )
    parser.add_argument(
        "--port",
        type=_port,
        metavar="N",
        help='listen on this port of 127.0.0.1 instead; 0 picks a free one. Prints {"port": N} first',
    )
    parser.add_argument(
        "--token",
        nargs="?",
        const="",
        metavar="TEXT",
        help="with --port: `launch` and `attach` must contain this text as `token`; without TEXT a random one is made, "
        "and printed beside the port. Without it, only your own processes can connect",
    )
    parser.set_defaults(run=run, parser=parser)


def run(arguments: argparse.Namespace) -> int:
    from .dap.serve import serve_port, serve_stdio

    if arguments.port is not None:
        return serve_port(arguments.port, secrets.token_urlsafe() if arguments.token == "" else arguments.token)
    if arguments.token is not None:
        arguments.parser.error("--token goes with --port")
    return serve_stdio()


def _port(text: str) -> int:
    if not text.isdigit() or int(text) > 65535:
        raise argparse.ArgumentTypeError(f"expected a port from 0 to 65535, not '{text}'")
    return int(text)
