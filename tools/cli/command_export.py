"""`graphdbg export JOB`: a job's graph as a file for other programs."""

from __future__ import annotations

import argparse
import json
from pathlib import Path

from . import connection
from .client import quote
from .errors import USAGE, CliError


def add_parser(subparsers: argparse._SubParsersAction[argparse.ArgumentParser]) -> None:
    parser = subparsers.add_parser(
        "export",
        help="write a job's graph to a file",
        description="Writes a job's graph as an ONNX model, which Netron and other viewers open, or as JSON. "
        "The model has no values; what else is lost stands in its metadata.",
    )
    parser.add_argument("job", metavar="JOB")
    parser.add_argument("--format", choices=("onnx", "json"), default="onnx", help="%(default)s")
    parser.add_argument("--graph", metavar="ID", help="which of the job's graphs (the first)")
    parser.add_argument("--output", "-o", type=Path, metavar="FILE", help="where to (JOB.onnx or JOB.json)")
    connection.add_options(parser)
    parser.set_defaults(run=run)


def run(arguments: argparse.Namespace) -> int:
    output = arguments.output or Path(f"{arguments.job.replace('/', '_')}.{arguments.format}")
    client = connection.connect(arguments)
    path = f"/jobs/{quote(arguments.job)}/graph/export"
    content = client.download(path, format=arguments.format, graph=arguments.graph)
    try:
        output.write_bytes(content)
    except OSError as error:
        raise CliError(f"cannot write {output}: {error.strerror}", USAGE) from None
    told = {"file": str(output), "bytes": len(content)}
    print(json.dumps(told) if arguments.json else f"{output}: {len(content)} bytes")
    return 0
