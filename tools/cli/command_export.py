"""`graphdbg export JOB`: writes a job's graph to a file for other programs."""

from __future__ import annotations

import argparse
import json
from pathlib import Path

from . import connection
from .client import quote
from .errors import USAGE, CliError
from .terminal import visible


def add_parser(subparsers: argparse._SubParsersAction[argparse.ArgumentParser]) -> None:
    parser = subparsers.add_parser(
        "export",
        help="write a job's graph to a file",
        description="Writes a job's graph as JSON or as an ONNX model, which Netron and other viewers can open. "
        "The model contains no tensor values; its metadata lists everything else that is not exported.",
    )
    parser.add_argument("job", metavar="JOB", help="id of the job (see `graphdbg jobs`)")
    parser.add_argument("--format", choices=("onnx", "json"), default="onnx", help="file format (default: %(default)s)")
    parser.add_argument("--graph", metavar="ID", help="id of the graph, if the job has several (default: the first)")
    parser.add_argument("--output", "-o", type=Path, metavar="FILE", help="output file (default: JOB.onnx or JOB.json)")
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
    written = {"file": str(output), "bytes": len(content)}
    print(json.dumps(written) if arguments.json else f"{visible(output)}: {len(content)} bytes")
    return 0
