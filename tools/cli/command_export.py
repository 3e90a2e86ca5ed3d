"""`graphdbg export JOB|RUN`: writes a job's graph, or what a run recorded, to files for other programs."""

from __future__ import annotations

import argparse
import json
from pathlib import Path

from . import connection
from .client import Client, quote
from .errors import USAGE, CliError
from .progress import Progress
from .recorded import add_ranks_and_steps, run_below
from .served_run import served_run
from .terminal import visible

_OF_GRAPHS = ("onnx", "json")
_OF_RUNS = ("npy", "safetensors", "csv", "tensorboard", "parquet")


def add_parser(subparsers: argparse._SubParsersAction[argparse.ArgumentParser]) -> None:
    parser = subparsers.add_parser(
        "export",
        help="write a job's graph or a recorded run to files",
        description="Writes the graph of a job or a recorded run as JSON or as an ONNX model, which Netron and other "
        "viewers can open. "
        "The model contains no tensor values; its metadata lists everything else that is not exported. "
        "Of a recorded run, writes saved tensors (npy, safetensors), statistics (csv), all tables (parquet), or "
        "scalars and histograms for TensorBoard, with the tags COLLECTION/TENSOR.",
    )
    parser.add_argument("job", metavar="JOB|RUN", help="id of a job, or directory, URL or id of a recorded run")
    parser.add_argument(
        "--format",
        choices=(*_OF_GRAPHS, *_OF_RUNS),
        default="onnx",
        help="file format: onnx (default) and json of graphs, the others of runs",
    )
    parser.add_argument("--graph", metavar="ID", help="id of the graph, if there are several (default: the first)")
    parser.add_argument(
        "--output",
        "-o",
        "--to",
        type=Path,
        metavar="PATH",
        help="output file, or directory (default: JOB.FORMAT, or RUN-FORMAT)",
    )
    add_ranks_and_steps(parser)
    connection.add_options(parser)
    parser.set_defaults(run=run)


def run(arguments: argparse.Namespace) -> int:
    if arguments.format in _OF_RUNS:
        return _export_run(arguments)
    directory = run_below(arguments.job)
    if directory is not None:
        with served_run(directory) as (client, path):
            return _export_graph(client, path, directory.resolve().name, arguments)
    client = connection.connect(arguments, arguments.job)
    return _export_graph(client, f"/jobs/{quote(arguments.job)}", arguments.job, arguments)


def _export_graph(client: Client, path: str, name: str, arguments: argparse.Namespace) -> int:
    output = arguments.output or Path(f"{name.replace('/', '_')}.{arguments.format}")
    with Progress("graphdbg: exporting the graph"):
        content = client.download(f"{path}/graph/export", format=arguments.format, graph=arguments.graph)
    part = output.with_name(f"{output.name}.part")
    try:
        part.write_bytes(content)
        part.replace(output)
    except OSError as error:
        raise CliError(f"cannot write {output}: {error.strerror}", USAGE) from None
    finally:
        part.unlink(missing_ok=True)
    written = {"file": str(output), "bytes": len(content)}
    print(json.dumps(written) if arguments.json else f"{visible(output)}: {len(content)} bytes")
    return 0


def _export_run(arguments: argparse.Namespace) -> int:
    from graphdbg.runs import open_run
    from graphdbg.runs.export import ExportSelection, export_run
    from graphdbg.runs.loading import load_logs
    from graphdbg.runs.summary import find_run

    recorded = open_run(find_run(arguments.job))
    first, last = arguments.steps or (None, None)
    ranks = tuple(arguments.rank) if arguments.rank else None
    selection = ExportSelection(ranks, first, last, arguments.tensors, arguments.collection)
    ending = ".csv" if arguments.format == "csv" else f"-{arguments.format}"
    output = arguments.output or Path(f"{recorded.id}{ending}")
    try:
        with Progress("graphdbg: exporting") as progress:
            load_logs(recorded, progress.of("graphdbg: reading the log"), ranks or recorded.ranks)
            exported = export_run(recorded, arguments.format, output, selection, progress.of("graphdbg: exporting"))
    except OSError as error:
        raise CliError(f"cannot write {output}: {error}", USAGE) from None
    size = sum(file.stat().st_size for file in exported.files)
    if arguments.json:
        print(json.dumps({"output": str(output), "files": [str(file) for file in exported.files], "bytes": size}))
    else:
        print(visible(f"{output}: {len(exported.files)} files, {size} bytes"))
    return 0
