"""The arguments of `launch`."""

from __future__ import annotations

import shutil
import sys
from dataclasses import dataclass
from pathlib import Path
from typing import Literal

from . import arguments as read
from .errors import RequestError
from .wire import Json

Console = Literal["internalConsole", "integratedTerminal"]


@dataclass(frozen=True)
class LaunchArguments:
    """What is run, and how.

    Attributes:
        command: The program with its arguments.
        cwd: The working directory.
        environment: Variables to set; None removes one.
        console: Where its output appears.
        stop_on_entry: Whether it waits before its first step.
        break_on: Conditions to watch everything for, as those of `graphdbg run --break-on`.
        record: The directory of runs to record to, if any.
        python_port: The port at which debugpy waits for a Python debugger; None without one.
        no_debug: The program runs without the debugger.
    """

    command: list[str]
    cwd: str
    environment: dict[str, str | None]
    console: Console = "internalConsole"
    stop_on_entry: bool = False
    break_on: tuple[str, ...] = ()
    record: str | None = None
    python_port: int | None = None
    no_debug: bool = False


def launch_arguments(given: Json, free_port: int) -> LaunchArguments:
    """Checks the arguments of a request.

    Args:
        free_port: Used for debugpy if the Python code is debugged as well.

    Raises:
        RequestError: One is wrong; the message names it.
    """
    cwd = read.optional_text(given, "cwd") or str(Path.cwd())
    if not Path(cwd).is_dir():
        raise RequestError(f"cwd: there is no directory {cwd}")
    console = read.optional_text(given, "console") or "internalConsole"
    if console not in ("internalConsole", "integratedTerminal"):
        raise RequestError("console must be internalConsole or integratedTerminal")
    python_port = free_port if read.flag(given, "debugPython") else None
    record = read.optional_text(given, "record")
    return LaunchArguments(
        command=_command(given, cwd, python_port),
        cwd=cwd,
        environment=_environment(given),
        console="integratedTerminal" if console == "integratedTerminal" else "internalConsole",
        stop_on_entry=read.flag(given, "stopOnEntry"),
        break_on=tuple(read.texts(given, "breakOn")),
        record=str(Path(cwd) / record) if record else None,
        python_port=python_port,
        no_debug=read.flag(given, "noDebug"),
    )


def _command(given: Json, cwd: str, python_port: int | None) -> list[str]:
    named = [name for name in ("program", "module", "command") if given.get(name)]
    if len(named) != 1:
        raise RequestError("launch needs one of: program (a Python script), module, command (a list)")
    if named == ["command"]:
        return _own_command(given, python_port)
    python = read.optional_text(given, "python") or sys.executable
    if shutil.which(python, path=None) is None and not (Path(cwd) / python).is_file():
        raise RequestError(f"python: there is no program {python}")
    debugpy = ["-m", "debugpy", "--listen", f"127.0.0.1:{python_port}", "--wait-for-client"] if python_port else []
    return [python, *debugpy, *_python_program(given, cwd, named[0]), *read.texts(given, "args")]


def _own_command(given: Json, python_port: int | None) -> list[str]:
    if python_port:
        raise RequestError("debugPython needs program or module instead of command")
    if not isinstance(given["command"], list):
        raise RequestError("command must be a list: the program and its arguments")
    return [*read.texts(given, "command"), *read.texts(given, "args")]


def _python_program(given: Json, cwd: str, name: str) -> list[str]:
    value = read.text(given, name)
    if name == "module":
        return ["-m", value]
    if not (Path(cwd) / value).is_file():
        raise RequestError(f"program: there is no file {value}")
    return [value]


def _environment(given: Json) -> dict[str, str | None]:
    variables = given.get("env") or {}
    if not isinstance(variables, dict) or not all(isinstance(each, (str, type(None))) for each in variables.values()):
        raise RequestError("env must be an object of texts")
    return variables
