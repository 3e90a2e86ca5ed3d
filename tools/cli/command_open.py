"""`graphdbg open model.onnx`: shows a model without running it."""

from __future__ import annotations

import argparse
from pathlib import Path

from .debug_run import RunOptions, debug
from .errors import USAGE, CliError
from .onnx_job import show_command


def add_parser(subparsers: argparse._SubParsersAction[argparse.ArgumentParser]) -> None:
    parser = subparsers.add_parser(
        "open",
        help="show an ONNX model without running it",
        description="Starts a server on free ports and shows the model's graph and weights on its page until Ctrl-C "
        "or Continue. The model is not run, and ONNX Runtime is not needed.",
    )
    parser.add_argument("model", type=Path, metavar="MODEL.onnx", help="the ONNX file")
    parser.add_argument("--port", type=int, default=0, help="port of the page (default: a free port)")
    parser.set_defaults(run=run)


def run(arguments: argparse.Namespace) -> int:
    if not arguments.model.is_file():
        raise CliError(f"no such model: {arguments.model}", USAGE)
    result = debug(show_command(arguments.model), RunOptions(port=arguments.port))
    code = int(result["exit_code"])
    # Ctrl-C is the usual way to exit.
    return 0 if code == 130 else code
