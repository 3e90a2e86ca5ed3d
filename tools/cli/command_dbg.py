"""`graphdbg dbg`: debugs a job, a recorded run or a captured hit in the terminal."""

from __future__ import annotations

import argparse
import contextlib
import dataclasses
from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

from .client import Client
from .errors import USAGE, CliError

if TYPE_CHECKING:
    from .dbg.loop import Options


def add_parser(subparsers: argparse._SubParsersAction[argparse.ArgumentParser]) -> None:
    usage = (
        "graphdbg dbg [options] -- python train.py ...\n       graphdbg dbg [options] JOB|RUN|BUNDLE|URL\n"
        "       graphdbg dbg [options] --pid PID"
    )
    parser = subparsers.add_parser(
        "dbg",
        help="debug in the terminal, with the commands of gdb",
        usage=usage,
        description="Starts a job, or attaches to one, and reads commands: break, continue, next, print and so on; "
        '"help" lists them. Recorded runs and captured hits can also go back. Without a target: the only job that '
        "runs on this machine.",
        epilog="Exit codes: 0 success, 1 a command failed (--batch), 2 wrong usage, 3 no server or no job.",
    )
    add_arguments(parser, "target", "TARGET")


def add_arguments(parser: argparse.ArgumentParser, name: str, metavar: str) -> None:
    """Adds the options of a session in the terminal, and `run`."""
    parser.add_argument(
        name,
        nargs="?",
        metavar=metavar,
        help="id of a job, directory of a run, file of a bundle, or address of a server",
    )
    parser.add_argument(
        "--pid", type=int, metavar="PID", help="a process that trains, which need not have been started for debugging"
    )
    parser.add_argument(
        "-x",
        dest="files",
        type=Path,
        action="append",
        default=[],
        metavar="FILE",
        help="execute the commands of a file first; can be repeated",
    )
    parser.add_argument(
        "--ex",
        dest="lines",
        action="append",
        default=[],
        metavar="COMMAND",
        help="execute a command, after the files; can be repeated",
    )
    parser.add_argument(
        "--batch",
        action="store_true",
        help="exit after the files and commands, or at the end of standard input if there are none; with 1 at the "
        "first error",
    )
    parser.add_argument("--no-init", action="store_true", help="do not execute ~/.graphdbgrc")
    parser.add_argument("--server", metavar="URL", help="address of the job's server (default: those of this machine)")
    parser.add_argument("--token-file", type=Path, metavar="FILE", help="file with the token for that server")
    parser.set_defaults(run=run, parser=parser, command_line=[])
    _split_command(parser)


def _split_command(parser: argparse.ArgumentParser) -> None:
    """What follows -- is the command of the job, whatever it looks like; a target may precede options."""
    parse = parser.parse_known_args

    def parse_split(args: Any = None, namespace: Any = None) -> Any:
        words = list(args or ())
        at = words.index("--") if "--" in words else len(words)
        parsed, unknown = parse(words[:at], namespace)
        parsed.command_line = words[at + 1 :]
        return parsed, unknown

    parser.parse_known_args = parse_split  # type: ignore[method-assign]


def run(arguments: argparse.Namespace) -> int:
    from .dbg.loop import debug
    from .dbg.opened import launched, opened
    from .dbg.quit import Again

    command = arguments.command_line
    if command and (arguments.target or arguments.pid or arguments.server):
        arguments.parser.error("name a target, or a command after --, and not both")
    token = _token(arguments.token_file)
    options = _options(arguments)
    while True:
        with contextlib.ExitStack() as open_things:
            if command:
                session = open_things.enter_context(launched(command, {}))
            else:
                session = open_things.enter_context(opened(arguments.target, arguments.server, arguments.pid, token))
            try:
                return debug(session, options)
            except Again as again:
                options = dataclasses.replace(options, files=[], lines=again.lines, init=False)


def debug_job(client: Client, job: str, arguments: argparse.Namespace) -> int:
    """The same for a live job, by its id."""
    from .dbg.loop import debug
    from .debugger import attach

    session = attach(client, job)
    try:
        return debug(session, _options(arguments))
    finally:
        session.close()


def _options(arguments: argparse.Namespace) -> Options:
    from .dbg.loop import Options

    command = arguments.command_line
    return Options(
        arguments.files, arguments.lines, arguments.batch, not arguments.no_init, bool(command), _script(command)
    )


def _script(command: Sequence[str]) -> str:
    """The first Python file that a command names; "" if there is none."""
    found = (Path(word).resolve() for word in command if word.endswith(".py"))
    return next((str(file) for file in found if file.is_file()), "")


def _token(file: Path | None) -> str | None:
    """The token in the file that the user has named; None if none was named."""
    if file is None:
        return None
    try:
        return file.read_text().strip()
    except (OSError, UnicodeDecodeError) as error:
        raise CliError(f"cannot read the token: {error}", USAGE) from None
