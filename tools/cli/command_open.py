"""`graphdbg open MODEL|RUN|JOB`: shows a model, a recorded run, or a job that has ended; runs nothing."""

from __future__ import annotations

import argparse
import json
import signal
from pathlib import Path
from types import FrameType
from urllib.parse import quote

from graphdbg.client.errors import GraphdbgError

from . import report
from .debug_run import RunOptions, debug
from .errors import USAGE, CliError
from .fetched_run import fetched_run
from .kept_jobs import KeptJob, find_kept_job, no_such_job
from .last_ops import last_op_lines
from .mindspore_graph import dump_of, is_graph_file
from .onnx_job import show_command
from .progress import Progress
from .recorded import add_ranks, steps_range
from .run_directory import run_directory
from .scratch import scratch_directory
from .server_process import ServerProcess

_ALIVE_CHECK_SECONDS = 1.0
_NOTHING_TO_SELECT = "--rank and --steps select what is fetched from a URL, or unpacked"
_FETCHED = "of a run that is at a URL or packed"
_NO_RESULT = "--result applies to jobs; a recorded run has no result object"
_SIGNALS = {signal.SIGINT, signal.SIGTERM, signal.SIGHUP}


def add_parser(subparsers: argparse._SubParsersAction[argparse.ArgumentParser]) -> None:
    parser = subparsers.add_parser(
        "open",
        help="show a model, a recorded run, or a job that has ended",
        description="Starts a server on free ports and shows a model's graph and weights, a recorded run, or a job "
        "that has ended, on its page until Ctrl-C. Nothing is run. `graphdbg jobs --all` lists the jobs that are "
        "kept. A run that is being recorded is followed. A directory that MindSpore's dump has written is a run, too, "
        "and a .pb file with one of its graphs is shown like a model.",
    )
    parser.add_argument(
        "subject",
        metavar="MODEL|RUN|JOB",
        help="the ONNX file, a graph file of MindSpore (.pb), the directory of a recorded run or of several, the URL "
        "of a packed run, or the id or name of a job",
    )
    add_ranks(parser, f"{_FETCHED}: ")
    parser.add_argument(
        "--steps", type=steps_range, metavar="A:B", default=(None, None), help=f"{_FETCHED}: only these steps"
    )
    parser.add_argument("--port", type=int, default=0, help="port of the page (default: a free port)")
    parser.add_argument("--result", action="store_true", help="of a job: print its result object and exit")
    parser.add_argument("--json", action="store_true", help="of a job: print the address of the page as JSON")
    parser.set_defaults(run=run)


def run(arguments: argparse.Namespace) -> int:
    model = Path(arguments.subject)
    if "://" in arguments.subject or model.is_dir():
        if arguments.result:
            raise CliError(_NO_RESULT, USAGE)
        return _open_runs(_directory(arguments), arguments)
    if _selects(arguments):
        raise CliError(_NOTHING_TO_SELECT, USAGE)
    if model.is_file() and is_graph_file(model):
        with scratch_directory("graphdbg-graph-") as folder:
            return _open_runs(dump_of(model, folder), arguments)
    if model.is_file():
        return _open_model(model, arguments.port)
    job = find_kept_job(arguments.subject)
    if job is None:
        raise no_such_job(arguments.subject)
    if arguments.result:
        print(json.dumps(job.result(), indent=2))
        return 0
    return _open_job(job, arguments)


def _selects(arguments: argparse.Namespace) -> bool:
    return bool(arguments.rank) or arguments.steps != (None, None)


def _directory(arguments: argparse.Namespace) -> Path:
    """The directory that the server shows: of a run with its whole log, or whatever the user has named."""
    if "://" in arguments.subject:
        return _fetch(arguments.subject, arguments)
    here = Path(arguments.subject).resolve()
    try:
        from graphdbg.runs import open_run

        run = open_run(here)
    except GraphdbgError:
        # A directory of several runs, a dump of MindSpore, or NumPy is missing.
        run = None
    if run is not None and run.directory_with_log is None:
        if run.ended is None:
            report.log(f"{run.id} is being recorded and packed: what was recorded until now is shown")
        return _fetch(run.path, arguments)
    if _selects(arguments):
        raise CliError(_NOTHING_TO_SELECT, USAGE)
    return here


def _fetch(place: str, arguments: argparse.Namespace) -> Path:
    with Progress("graphdbg: fetching") as progress:
        return fetched_run(place, arguments.rank, arguments.steps, progress.of("graphdbg: fetching"))


def _open_model(model: Path, port: int) -> int:
    result = debug(show_command(model), RunOptions(port=port))
    code = int(result["exit_code"])
    # Ctrl-C is the usual way to exit.
    return 0 if code == 130 else code


def _open_job(job: KeptJob, arguments: argparse.Namespace) -> int:
    server = ServerProcess(job.directory, arguments.port)
    try:
        signals = _Signals()
        url = server.client.page(f"/jobs/{job.job}")["url"]
        if arguments.json:
            print(json.dumps({"url": url, "http_address": server.client.address, "job": job.job}), flush=True)
        else:
            report.log_page(url)
        signals.wait(server)
    finally:
        server.stop()
    return 0


def _open_runs(directory: Path, arguments: argparse.Namespace) -> int:
    """Shows a recorded run, or the list of runs in a directory of them."""
    with run_directory() as data_dir:
        server = ServerProcess(data_dir, arguments.port, temporary=True, runs=[directory])
        try:
            signals = _Signals()
            _log_last_ops(directory)
            runs = server.client.get("/runs")["runs"]
            if not runs:
                raise CliError(f"{directory} contains no recorded runs")
            name = runs[0]["id"] if len(runs) == 1 else None
            url = server.client.page("" if name is None else f"/runs/{quote(name, safe='')}")["url"]
            if arguments.json:
                print(json.dumps({"url": url, "http_address": server.client.address, "run": name}), flush=True)
            else:
                report.log_page(url)
            signals.wait(server)
        finally:
            server.stop()
    return 0


def _log_last_ops(directory: Path) -> None:
    """Prints what the ranks of a run that has died or hangs were doing."""
    try:
        from graphdbg.runs import open_run

        run = open_run(directory)
    except GraphdbgError:
        # A directory of several runs, or NumPy is missing.
        return
    for line in last_op_lines(run):
        report.log(line)


class _Signals:
    """Keeps Ctrl-C and the like for `wait`, from when it is made.

    It is made after the server was started, which would inherit what is blocked.
    """

    def __init__(self) -> None:
        self._received = False
        # Threads of libraries do not block signals: what they receive comes to the handlers.
        for number in _SIGNALS:
            signal.signal(number, self._receive)
        signal.pthread_sigmask(signal.SIG_BLOCK, _SIGNALS)

    def wait(self, server: ServerProcess) -> None:
        """Waits for a signal, or for the end of the server."""
        while not self._received and server.alive():
            if signal.sigtimedwait(_SIGNALS, _ALIVE_CHECK_SECONDS) is not None:
                return

    def _receive(self, number: int, frame: FrameType | None) -> None:
        self._received = True
